"""One session for people to read: who plays, what was said turn by turn, what was noticed."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from matrix.engine.wire.defects import is_defect
from matrix.kinds.protocol import is_read
from matrix.model.decimals import in_digits
from matrix.model.entries import TurnDone
from matrix.model.lines import in_line
from matrix.model.money import show_usd, to_usd
from matrix.model.records import JSON, Event, Message, Score, SessionPlan
from matrix.report.text import WIDTH, aside_of, columns, duration, facts, harmless, noted, plural
from matrix.store.journal.transcript import Transcript


def session_as_text(session: Transcript, *, simulated: str = "", width: int = WIDTH) -> str:
    """The transcript as text, about ``width`` wide; control characters are made harmless."""
    parts = [_head(session, noted(simulated), width)]
    if session.players:
        parts += ["", _players(session)]
    for turn, events in zip(session.turns, _events_by_turn(session), strict=True):
        if turn.messages or events:
            parts += ["", *_turn(turn, events, width)]
    parts += ["", _end(session, width)]
    return harmless("\n".join(parts))


def _head(session: Transcript, note: str, width: int) -> str:
    plan, tally = session.plan, session.tally
    levels = ", ".join(f"{factor} {level}" for factor, level in plan.levels.items())
    return f"session {session.session_id}\n" + facts(
        [
            ("scenario", f"{plan.scenario} ({plan.kind}), round {plan.round}"),
            ("cell", levels or "no factors"),
            *parent_of(plan),
            (
                "used",
                f"{plural(tally.calls, 'call')}, {show_usd(tally.cost)}, "
                f"{duration(tally.clock_s)} of model time{note}",
            ),
        ],
        width=width,
    )


def parent_of(plan: SessionPlan) -> list[tuple[str, str]]:
    """For a continued session: what it goes on from."""
    if plan.parent_session_id is None:
        return []
    changed = f"with {plan.changed}" if plan.changed else "with nothing changed"
    return [
        (
            "from",
            f"session {plan.parent_session_id} of run {plan.parent_run} after turn "
            f"{plan.parent_turn}, {changed}; repeat {plan.repeat}",
        )
    ]


def _players(session: Transcript) -> str:
    rows = [
        [
            player.name + (" *" if player.is_spokesperson else ""),
            player.archetype,
            player.model,
            player.mood,
        ]
        for player in session.players
    ]
    return columns(["player (* speaks for all)", "archetype", "model", "mood"], rows)


def _events_by_turn(session: Transcript) -> list[list[Event]]:
    """For each turn what happened in it, and what was found of it later.

    What is about a turn that is not told by itself stays where it was found.
    """
    places = {turn.turn: n for n, turn in enumerate(session.turns) if turn.phase == "turn"}
    found: list[list[Event]] = [[] for _ in session.turns]
    for n, turn in enumerate(session.turns):
        for event in turn.events:
            place = n if event.turn == turn.turn else places.get(event.turn, n)
            found[place].append(event)
    return found


def _turn(turn: TurnDone, events: Sequence[Event], width: int) -> list[str]:
    title = {"start": "before the first turn", "finish": "afterwards"}.get(
        turn.phase, f"turn {turn.turn}"
    )
    lines = [f"--- {title} " + "-" * max(0, width - len(title) - 5)]
    read = [message for message in turn.messages if is_read(message)]
    lines += [_message(message, width) for message in read]
    said = [" ".join(message.text.split()) for message in read]
    lines += [_event(event, width, told=_quotes(event.detail, said)) for event in events]
    return lines


def _quotes(detail: str, said: Sequence[str]) -> bool:
    """Whether it is one of these texts, or the beginning of one and dots."""
    begins = detail.removesuffix("...") if detail.endswith("...") else None
    return any(text == detail or (begins is not None and text.startswith(begins)) for text in said)


def _message(message: Message, width: int) -> str:
    label = f" [{message.label}]" if message.label else ""
    head = in_line(f"{message.speaker}{aside_of(message)}{label}: ")
    paragraphs = message.text.split("\n")
    first = textwrap.fill(paragraphs[0], width, initial_indent=head, subsequent_indent="    ")
    rest = [
        textwrap.fill(text, width, initial_indent="    ", subsequent_indent="    ")
        for text in paragraphs[1:]
        if text.strip()
    ]
    return "\n".join([first or head.rstrip(), *rest])


def _event(event: Event, width: int, *, told: bool) -> str:
    """In a line; its detail is left out where that was ``told`` just above."""
    severity = f" ({event.severity})" if event.severity else ""
    about = f" {event.subject}" if event.subject else ""
    detail = f": {event.detail}" if event.detail and not told else ""
    return textwrap.fill(
        f"  * {event.kind.replace('_', ' ')}{severity}{about}{detail}",
        width,
        subsequent_indent="    ",
    )


def _end(session: Transcript, width: int) -> str:
    if session.ended is None:
        return "still open"
    ended = session.ended
    why, where = ended.reason, ""
    if is_defect(ended.error_class):
        why, _, where = ended.reason.partition("\n")
    ended_with = f"{ended.outcome} after {plural(ended.turns, 'turn')}"
    rows = [("ended", f"{ended_with}: {why}" if why else ended_with)]
    whole = [score for score in session.scores if score.turn is None]
    reason = ""
    for score in sorted(whole, key=lambda item: item.name != "score"):
        value = "missing" if score.value is None else in_digits(score.value, 2)
        news = score.reason if score.reason != reason else ""  # a judge gives one for all it scored
        rows.append((score.name, f"{value}   {news}".rstrip()))
        reason = score.reason
    return "\n".join([facts(rows, indent="", width=width), *where.splitlines()])


def session_as_data(session: Transcript) -> JSON:
    """The same for programs."""
    plan = session.plan
    return {
        "session_id": plan.session_id,
        "scenario": plan.scenario,
        "kind": plan.kind,
        "round": plan.round,
        "seed": plan.seed,
        "parent_run": plan.parent_run,
        "parent_session_id": plan.parent_session_id,
        "parent_turn": plan.parent_turn,
        "changed": plan.changed or None,
        "repeat": plan.repeat,
        "levels": dict(plan.levels),
        "roles": dict(plan.roles),
        "outcome": None if session.ended is None else session.ended.outcome,
        "reason": None if session.ended is None else session.ended.reason,
        "error_class": None if session.ended is None else session.ended.error_class or None,
        "turns": session.last_turn,
        "cost_usd": to_usd(session.tally.cost),
        "players": [player._asdict() for player in session.players],
        "messages": _dicts(session.messages),
        "events": _dicts(session.events),
        "scores": _dicts(session.scores),
    }


def _dicts(items: Iterable[Message | Event | Score]) -> list[JSON]:
    return [item._asdict() for item in items]
