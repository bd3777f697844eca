"""A session as Markdown: config, summary, timeline, issues, transcript, and what its kind adds."""

from __future__ import annotations

from collections.abc import Iterator

from matrix.kinds.protocol import Kind, is_said
from matrix.kinds.reporting import OwnsSections, SessionSections, SessionSoFar
from matrix.model.decimals import in_digits
from matrix.model.entries import TurnDone
from matrix.model.money import show_usd
from matrix.model.records import Event, Message
from matrix.report.text import aside_of, duration, harmless, noted, one_line
from matrix.store.journal.transcript import Transcript


def session_as_markdown(
    session: Transcript, newest: SessionSoFar, kind: Kind | None, *, simulated: str
) -> str:
    """The report of a session.

    Args:
        session: The whole session.
        newest: As it stood after its newest turn.
        kind: Its kind; ``None`` where it is not installed.
        simulated: What to say of simulated models in it; empty if there are none.
    """
    own = kind.sections(newest) if isinstance(kind, OwnsSections) else _of_any(session)
    parts = [
        "# Session Report\n",
        *_config(session, newest.run_id, own, simulated),
        *(f"\n## {title}\n\n{text}" for title, text in own.sections.items()),
        *_summary(session, newest.turn, own),
        "\n## Timeline\n",
        *(line for done in session.turns for line in _timeline(done, own)),
        "\n## Issues\n",
        *(_issues(session, own) or ["None detected."]),
        "\n## Full Transcript\n",
        *(line for done in session.turns for line in _transcript(done)),
    ]
    return harmless("\n".join(parts).rstrip() + "\n")


def _of_any(session: Transcript) -> SessionSections:
    """What a kind without words of its own has: the scenario and the models."""
    models = tuple(session.plan.roles.items())
    return SessionSections(config=(("Scenario", session.plan.scenario), *models))


def _config(
    session: Transcript, run_id: str, own: SessionSections, simulated: str
) -> Iterator[str]:
    yield "## Config\n"
    yield f"- Session: {session.session_id} of run {run_id}{noted(simulated)}"
    yield from (f"- {name}: {value}" for name, value in own.config)
    yield f"- Duration: {duration(session.tally.clock_s)} of model time"
    yield f"- Cost: {show_usd(session.tally.cost)}"
    for role, share in session.tally.roles.items():
        used = f"{share.tokens_in:,} tokens in, {share.tokens_out:,} out"
        yield f"  - {role}: {used}, {show_usd(share.cost)}"


def _summary(session: Transcript, turn: int, own: SessionSections) -> Iterator[str]:
    yield "\n## Summary\n"
    yield f"- Turns: {turn}"
    yield from (f"- {name}: {value}" for name, value in own.summary)
    if session.ended is not None:
        why = one_line(session.ended.reason) or "no reason given"
        yield f"- Outcome: {session.ended.outcome}, {why}"
    for score in session.scores:
        if score.turn is None and score.name == "score" and score.value is not None:
            yield f"- Score: {in_digits(score.value, 1)}"


def _timeline(done: TurnDone, own: SessionSections) -> Iterator[str]:
    if done.phase == "start":
        yield f"### Turn 0: {own.beginning}\n"
        for message in filter(is_said, done.messages):
            yield f"- **{_line(message.speaker)}**: {_line(message.text)}"
        yield ""
    for event in done.events:
        if _is_issue(event, own):
            yield f"### Turn {event.turn}: \u26a0\ufe0f {_issue(event)}\n"
        else:
            about = f" - {_line(event.subject)}" if event.subject else ""
            value = f"{event.value:g}" if event.value else ""
            title = own.events.get(event.kind, event.kind.replace("_", " "))
            yield f"### Turn {event.turn}: {title.replace('{value}', value).rstrip()}{about}\n"
            if event.detail:
                yield f"> {_line(event.detail)}\n"


def _issues(session: Transcript, own: SessionSections) -> list[str]:
    return [
        f"- Turn {event.turn} ({event.severity or 'warning'}): {_issue(event)}"
        for event in session.events
        if _is_issue(event, own)
    ]


def _is_issue(event: Event, own: SessionSections) -> bool:
    return bool(event.severity) if own.issues is None else event.kind in own.issues


def _issue(event: Event) -> str:
    about = " ".join(part for part in (event.subject, event.detail) if part)
    return _line(f"{event.kind.replace('_', ' ')}: {about}".rstrip(": "))


def _transcript(done: TurnDone) -> Iterator[str]:
    said = list(filter(is_said, done.messages))
    if said:
        yield f"### Turn {done.turn}\n"
    for message in said:
        yield f"{_head(message)} {_quoted(message.text)}\n"


def _quoted(text: str) -> str:
    """What somebody said; all but the first line is marked, as it might pass for ours."""
    first, *rest = _plain(text).split("\n")
    return "\n".join([first, *(f"> {line}".rstrip() for line in rest)])


def _plain(text: str) -> str:
    """Text in which no tag is one, and no picture is fetched, wherever the page is shown."""
    return text.replace("<", "\\<").replace("![", "!\\[")


def _head(message: Message) -> str:
    return f"**{_line(message.speaker)}**{aside_of(message)}:"


def _line(text: str) -> str:
    return _plain(" ".join(text.split()))
