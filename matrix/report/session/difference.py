"""Two sessions side by side, from where they part."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from matrix.kinds.protocol import is_said
from matrix.model.decimals import in_digits
from matrix.model.entries import TurnDone
from matrix.model.money import show_usd, to_usd
from matrix.model.records import JSON, Event, Message, Score
from matrix.report.text import WIDTH, aside_of, columns, harmless, plural
from matrix.store.journal.transcript import Transcript

GAP = " | "


@dataclass(frozen=True, slots=True)
class Difference:
    """Two sessions and where they part.

    Attributes:
        a: The one.
        b: The other.
        messages: Messages that both begin with.
        turn: The turn in which they part; ``None`` if all was said alike.
    """

    a: Transcript
    b: Transcript
    messages: int
    turn: int | None

    @property
    def same_scenario(self) -> bool:
        """Whether both play the same scenario; otherwise they differ in everything."""
        return self.a.plan.scenario == self.b.plan.scenario


def difference_of(a: Transcript, b: Transcript) -> Difference:
    """Where two sessions part: at the first message that differs."""
    one, two = a.messages, b.messages
    same = next(
        (place for place, (x, y) in enumerate(zip_longest(one, two)) if x != y),
        max(len(one), len(two)),
    )
    turns = [said[same].turn for said in (one, two) if same < len(said)]
    return Difference(a, b, same, min(turns) if turns else None)


def difference_as_text(found: Difference, *, width: int = WIDTH) -> str:
    """The sessions beside each other, at most ``width`` wide; control characters made harmless."""
    half = (width - len(GAP)) // 2
    lines = [*_heads(found, half), ""]
    if not found.same_scenario:
        told = (
            f"of different scenarios, {found.a.plan.scenario} and {found.b.plan.scenario}: they "
            "have nothing in common, whatever the variant; two sessions of one scenario and round "
            "show what a variant changes"
        )
        lines += [*textwrap.wrap(told, width), ""]
    if found.turn is None:
        lines.append(f"all {plural(found.messages, 'message')} are alike")
    else:
        alike = f"{plural(found.messages, 'message')} alike; they part in turn {found.turn}"
        lines += [alike, *_parted(found, half)]
    lines += ["", *_figures(found)]
    return "\n".join(line.rstrip() for line in lines)


def difference_as_data(found: Difference) -> JSON:
    """The same for programs: what is alike is counted, the rest is there in full."""
    return {
        "same_scenario": found.same_scenario,
        "alike_messages": found.messages,
        "parts_in_turn": found.turn,
        "a": _side_as_data(found.a, found.messages, found.turn),
        "b": _side_as_data(found.b, found.messages, found.turn),
        "scores": {
            name: {"a": one, "b": two} for name, (one, two) in _scores(found).items() if one != two
        },
    }


def _side_as_data(session: Transcript, alike: int, turn: int | None) -> JSON:
    plan = session.plan
    return {
        "session_id": plan.session_id,
        "scenario": plan.scenario,
        "round": plan.round,
        "levels": dict(plan.levels),
        "outcome": None if session.ended is None else session.ended.outcome,
        "turns": _turns(session),
        "cost_usd": to_usd(session.tally.cost),
        "messages": [message._asdict() for message in session.messages[alike:]],
        "events": [
            event._asdict() for event in session.events if turn is not None and event.turn >= turn
        ],
    }


def _heads(found: Difference, half: int) -> Iterator[str]:
    yield from _beside(
        *(
            [
                f"session {side.session_id}",
                f"{side.plan.scenario}, round {side.plan.round}",
                ", ".join(f"{name} {level}" for name, level in side.plan.levels.items())
                or "no factors",
            ]
            for side in (found.a, found.b)
        ),
        half=half,
    )


def _parted(found: Difference, half: int) -> Iterator[str]:
    first = found.turn or 0
    sides = [_steps(side, first, found.messages) for side in (found.a, found.b)]
    for turn in sorted({turn for side in sides for turn in side}):
        title = (
            "afterwards"
            if turn == _AFTERWARDS
            else f"turn {turn}"
            if turn
            else "before the first turn"
        )
        yield f"--- {title} " + "-" * max(0, 2 * half + len(GAP) - len(title) - 5)
        yield from _beside(*(side.get(turn, ["(over)"]) for side in sides), half=half)


_AFTERWARDS = 2**62


def _steps(session: Transcript, first: int, alike: int) -> dict[int, list[str]]:
    """Turn -> paragraphs, from the turn in which the sessions part, without what is alike."""
    steps: dict[int, list[str]] = {}
    place = 0
    for done in session.turns:
        said = done.messages[max(0, alike - place) :]
        place += len(done.messages)
        if done.turn < first and done.phase != "finish":
            continue
        paragraphs = [_message(message) for message in filter(is_said, said)]
        paragraphs += [_event(event) for event in done.events]
        if paragraphs or done.phase != "finish":
            steps[_AFTERWARDS if done.phase == "finish" else done.turn] = paragraphs
    return steps


def _message(message: Message) -> str:
    return f"{message.speaker}{aside_of(message)}: {message.text}"


def _event(event: Event) -> str:
    return f"* {event.kind.replace('_', ' ')} {event.subject}".rstrip()


def _beside(left: Sequence[str], right: Sequence[str], *, half: int) -> Iterator[str]:
    """Paragraphs of both sides, wrapped to ``half`` a line each; the nth beside the nth."""
    for one, two in zip_longest(left, right, fillvalue=""):
        for x, y in zip_longest(_wrapped(one, half), _wrapped(two, half), fillvalue=""):
            yield f"{x.ljust(half)}{GAP}{y}"


def _wrapped(text: str, half: int) -> list[str]:
    # made harmless before it is wrapped, so that no column is shifted
    text = " ".join(harmless(text).split())
    return textwrap.wrap(text, half, subsequent_indent="  ", break_long_words=True)


def _figures(found: Difference) -> list[str]:
    a, b = found.a, found.b
    rows = [
        ["outcome", *(side.ended.outcome if side.ended else "still open" for side in (a, b))],
        ["turns", str(_turns(a)), str(_turns(b))],
        ["calls", f"{a.tally.calls:,}", f"{b.tally.calls:,}"],
        ["cost", show_usd(a.tally.cost), show_usd(b.tally.cost)],
    ]
    for name, (one, two) in _scores(found).items():
        if one != two:
            rows.append([name, _shown(one), _shown(two)])
    return columns(["", "a", "b"], rows, right=[1, 2]).splitlines()


def _scores(found: Difference) -> dict[str, tuple[float | None, float | None]]:
    """Scores of the whole session, the primary one first."""
    a, b = ({s.name: s for s in side.scores if s.turn is None} for side in (found.a, found.b))
    names = sorted({*a, *b}, key=lambda name: (name != "score", name))
    return {name: (_value(a.get(name)), _value(b.get(name))) for name in names}


def _value(score: Score | None) -> float | None:
    return None if score is None else score.value


def _shown(value: float | None) -> str:
    return "missing" if value is None else in_digits(value, 2)


def _turns(session: Transcript) -> int:
    return sum(_is_turn(done) for done in session.turns)


def _is_turn(done: TurnDone) -> bool:
    return done.phase == "turn"
