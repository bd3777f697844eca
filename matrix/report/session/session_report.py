"""A session as Markdown: how it was set up, what happened, what it came to, and all that was said.

Everything that was said or named in a session is somebody else's text: in it no tag is one, no
picture is fetched, no link hides where it leads, and no line passes for one of ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Final

from matrix.kinds.protocol import Kind, is_said
from matrix.kinds.reporting import (
    OwnsSections,
    SessionSections,
    SessionSoFar,
    TimelineEntry,
    TimelineLine,
)
from matrix.model.decimals import in_digits
from matrix.model.entries import RoleShare
from matrix.model.money import show_usd
from matrix.model.records import Event, Message
from matrix.report.session.transcript import parent_of
from matrix.report.text import aside_of, duration, harmless, noted, one_line
from matrix.store.journal.transcript import Transcript

_SPECIAL: Final = re.compile(r"[\\<]|(?<=!)\[|(?<=\])[(:\[]")
"""What makes a tag, a picture or a link, and a backslash, which would undo the one before these."""

_BEGINS: Final = tuple("#>-+*=|~`_")
"""What makes a line a heading, an item, a quotation, a rule or a table."""


def session_as_markdown(
    session: Transcript, so_far: SessionSoFar, kind: Kind | None, *, simulated: str
) -> str:
    """The report of a session.

    Args:
        session: The whole session.
        so_far: The same for its kind.
        kind: Its kind; ``None`` where it is not installed.
        simulated: What to say of simulated models in it; empty if there are none.
    """
    own = _sections(session, so_far, kind)
    return _joined(
        "# Session Report\n",
        *_beginning(session, so_far, own, simulated),
        *_summary(session, so_far.turn, own),
        "\n## Timeline\n",
        *_timeline(session, own),
        "\n## Issues\n",
        *(_issues(session, own) or ["None detected."]),
        *_metrics(session, own),
        *_transcript(session, own),
        *_money(session),
    )


def transcript_as_markdown(
    session: Transcript, so_far: SessionSoFar, kind: Kind | None, *, simulated: str
) -> str:
    """All that was said, in lines as they were, and who played; for whoever is to read it.

    The arguments are those of :func:`session_as_markdown`.
    """
    own = _sections(session, so_far, kind)
    return _joined(
        "# Session Transcript\n",
        *_beginning(session, so_far, own, simulated),
        *_transcript(session),
    )


def _joined(*parts: str) -> str:
    return harmless("\n".join(parts).rstrip() + "\n")


def _sections(session: Transcript, so_far: SessionSoFar, kind: Kind | None) -> SessionSections:
    """What its kind says; without words of its own the scenario and the models."""
    if isinstance(kind, OwnsSections):
        return kind.sections(so_far)
    models = tuple(session.plan.roles.items())
    return SessionSections(config=(("Scenario", session.plan.scenario), *models))


def _beginning(
    session: Transcript, so_far: SessionSoFar, own: SessionSections, simulated: str
) -> Iterator[str]:
    yield "## Config\n"
    yield f"- Session: {session.session_id} of run {so_far.run_id}{noted(simulated)}"
    yield from _facts(own.config)
    yield from _facts(("From", told) for _, told in parent_of(session.plan))
    yield f"- Duration: {duration(session.tally.clock_s)} of model time"
    yield f"- Cost: {show_usd(session.tally.cost)}"
    for title, text in own.sections.items():
        yield f"\n## {title}\n\n{text}"


def _summary(session: Transcript, turn: int, own: SessionSections) -> Iterator[str]:
    yield "\n## Summary\n"
    yield f"- Turns: {turn}"
    yield from _facts(own.summary)
    if session.ended is not None:
        why = _line(one_line(session.ended.reason)) or "no reason given"
        yield f"- Outcome: {session.ended.outcome}, {why}"
    for score in session.scores:
        if score.turn is None and score.name == "score" and score.value is not None:
            yield f"- Score: {in_digits(score.value, 1)}"


def _facts(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    return (f"- {_line(name)}: {_line(value)}" for name, value in rows)


def _timeline(session: Transcript, own: SessionSections) -> Iterator[str]:
    entries = _entries(session, own) if own.timeline is None else own.timeline
    for entry in entries:
        until = f"-{entry.last}" if entry.last > entry.first else ""
        yield f"### Turn {entry.first}{until}: {_line(entry.title)}\n"
        yield from (f"{_told(line)}\n" for line in entry.lines)


def _told(line: TimelineLine) -> str:
    text = _line(line.text)
    if not line.label:
        return f"> {_begun(text)}" if line.quoted else _begun(text)
    return f"**{_line(line.label)}**: " + (f"\u201c{text}\u201d" if line.quoted else text)


def _entries(session: Transcript, own: SessionSections) -> Iterator[TimelineEntry]:
    """What any kind has: its beginning, and every event by itself."""
    for done in session.turns:
        if done.phase == "start":
            said = filter(is_said, done.messages)
            lines = [TimelineLine(one.text, one.speaker, quoted=True) for one in said]
            yield TimelineEntry(0, 0, own.beginning, lines)
        for event in done.events:
            yield _entry(event, own)


def _entry(event: Event, own: SessionSections) -> TimelineEntry:
    if _is_issue(event, own):
        return TimelineEntry(event.turn, event.turn, f"\u26a0\ufe0f {_issue(event)}")
    value = f"{event.value:g}" if event.value else ""
    title = own.events.get(event.kind, event.kind.replace("_", " ")).replace("{value}", value)
    about = f" - {event.subject}" if event.subject else ""
    lines = [TimelineLine(event.detail, quoted=True)] if event.detail else []
    return TimelineEntry(event.turn, event.turn, f"{title.rstrip()}{about}", lines)


def _issues(session: Transcript, own: SessionSections) -> list[str]:
    return [
        f"- Turn {event.turn} ({event.severity or 'warning'}): {_line(_issue(event))}"
        for event in session.events
        if _is_issue(event, own)
    ]


def _is_issue(event: Event, own: SessionSections) -> bool:
    return bool(event.severity) if own.issues is None else event.kind in own.issues


def _issue(event: Event) -> str:
    about = ": ".join(part for part in (event.subject, event.detail) if part)
    return f"{event.kind.replace('_', ' ')}: {about}".rstrip(": ")


def _metrics(session: Transcript, own: SessionSections) -> Iterator[str]:
    rows = own.metrics
    if rows is None:
        whole = [one for one in session.scores if one.turn is None and one.value is not None]
        rows = [(one.name, in_digits(one.value, 3)) for one in whole if one.value is not None]
    if rows:
        yield "\n## Metrics\n"
        yield from _facts(rows)


def _transcript(session: Transcript, flagged: SessionSections | None = None) -> Iterator[str]:
    """What was said, turn by turn; for whoever reviews it with the issues where they are."""
    yield "\n## Full Transcript\n"
    issues = [one for one in session.events if flagged is not None and _is_issue(one, flagged)]
    for done in session.turns:
        said = list(filter(is_said, done.messages))
        if said:
            yield f"### Turn {done.turn}\n"
            here = (one for one in issues if one.turn == done.turn)
            yield from (f"\u26a0\ufe0f *{_line(_issue(one))}*\n" for one in here)
        for message in said:
            yield f"{_head(message)} {_quoted(message.text)}\n"


def _money(session: Transcript) -> Iterator[str]:
    """What was used by whom: a role that several have is added up below them."""
    shares: dict[str, dict[tuple[str, str], RoleShare]] = {}
    for call in session.calls:
        if call.answer is not None:
            own, who = shares.setdefault(call.role, {}), (call.agent, call.model)
            own[who] = own.get(who, RoleShare()).plus(call.answer)
    if not shares:
        return
    yield "\n## Tokens and Money\n"
    yield "| Role | Agent | Model | Calls | Tokens in | Tokens out | Cost |"
    yield "|------|-------|-------|------:|----------:|-----------:|-----:|"
    for role, own in shares.items():
        yield from (_row(role, agent, model, share) for (agent, model), share in own.items())
        if len(own) > 1:
            yield _row(role, "all", "", _whole(own.values()))
    yield _row("all", "", "", _whole(_whole(own.values()) for own in shares.values()))


def _whole(shares: Iterable[RoleShare]) -> RoleShare:
    return reduce(RoleShare.and_more, shares, RoleShare())


def _row(role: str, agent: str, model: str, share: RoleShare) -> str:
    used = [f"{share.calls:,}", f"{share.tokens_in:,}", f"{share.tokens_out:,}"]
    names = [_line(name).replace("|", "\\|") for name in (role, agent, model)]
    return f"| {' | '.join([*names, *used, show_usd(share.cost)])} |"


def _head(message: Message) -> str:
    return f"**{_line(message.speaker)}**{_line(aside_of(message))}:"


def _quoted(text: str) -> str:
    """What somebody said; all but the first line is marked, as it might pass for ours."""
    first, *rest = _plain(text).split("\n")
    return "\n".join([first, *(f"> {line}".rstrip() for line in rest)])


def _begun(text: str) -> str:
    """A line that begins nothing but a paragraph."""
    return f"\\{text}" if text[:1] in _BEGINS else text


def _line(text: str) -> str:
    return _plain(" ".join(text.split()))


def _plain(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)
