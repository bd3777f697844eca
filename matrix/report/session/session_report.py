"""A session as Markdown: config, group, summary, timeline, issues, and the whole transcript.

The headings are those of the play-test document, so that reports read alike wherever they are from.
"""

from __future__ import annotations

from collections.abc import Iterator

from matrix.kinds.playtest.setup.vocabulary import ISSUE_TYPES
from matrix.model.decimals import in_digits
from matrix.model.entries import TurnDone
from matrix.model.moments.checkpoint_file import CheckpointFile
from matrix.model.money import show_usd
from matrix.model.records import Event, Message
from matrix.report.text import aside_of, duration, harmless, noted, one_line
from matrix.store.journal.transcript import Transcript

_TOLD = {
    "pulse": "Pulse",
    "tangent": "Tangent",
    "private_moment": "Private moment",
    "private_payoff": "Payoff of a private moment",
}


def session_as_markdown(session: Transcript, last: CheckpointFile, *, simulated: str) -> str:
    """The report of a session.

    Args:
        session: The whole session.
        last: Its newest checkpoint, exported.
        simulated: What to say of simulated models in it; empty if there are none.
    """
    parts = [
        "# Session Report\n",
        *_config(session, last, simulated),
        *_group(last),
        *_summary(session, last),
        "\n## Timeline\n",
        *(line for done in session.turns for line in _timeline(done)),
        "\n## Issues\n",
        *(_issues(session) or ["None detected."]),
        "\n## Full Transcript\n",
        *(line for done in session.turns for line in _transcript(done)),
    ]
    return harmless("\n".join(parts).rstrip() + "\n")


def _config(session: Transcript, last: CheckpointFile, simulated: str) -> Iterator[str]:
    config, plan = last.sessionConfig, session.plan
    yield "## Config\n"
    yield f"- Session: {plan.session_id} of run {last.run}"
    yield f"- Story: {config.story}"
    yield f"- Narrator: {config.narratorModel or '-'}" + noted(simulated)
    yield f"- System prompt: {plan.options.get('prompt', '-')}"
    yield f"- Duration: {duration(session.tally.clock_s)} of model time"
    yield f"- Cost: {show_usd(session.tally.cost)}"
    for role, share in session.tally.roles.items():
        used = f"{share.tokens_in:,} tokens in, {share.tokens_out:,} out"
        yield f"  - {role}: {used}, {show_usd(share.cost)}"


def _group(last: CheckpointFile) -> Iterator[str]:
    yield "\n## Group\n"
    yield "| Player | Archetype | Model |"
    yield "|--------|-----------|-------|"
    for agent in last.playerAgents:
        speaker = " (spokesperson)" if agent.name == last.spokespersonId else ""
        yield f"| {_cell(agent.name)}{speaker} | {_cell(agent.archetype)} | {_cell(agent.model)} |"


def _summary(session: Transcript, last: CheckpointFile) -> Iterator[str]:
    over = [tangent for tangent in last.detectedTangents if tangent.endTurn is not None]
    average = (
        f" (avg {sum(t.length for t in over) / len(over):.1f} turns to recover)" if over else ""
    )
    yield "\n## Summary\n"
    yield f"- Turns: {last.turn}"
    yield f"- Pulses detected: {len(last.detectedPulses)}{_expected(last)}"
    yield f"- Tangents: {len(last.detectedTangents)}{average}"
    yield f"- Private moments: {len(last.privateMoments)}"
    if session.ended is not None:
        why = one_line(session.ended.reason) or "no reason given"
        yield f"- Outcome: {session.ended.outcome}, {why}"
    for score in session.scores:
        if score.turn is None and score.name == "score" and score.value is not None:
            yield f"- Score: {in_digits(score.value, 1)}"


def _expected(last: CheckpointFile) -> str:
    there = last.continuation
    scenario = there.resources.get(there.plan.resources.get("scenario", ""))
    found = scenario.get("pulses_expected") if isinstance(scenario, dict) else None
    return f"/{found}" if found else ""


def _timeline(done: TurnDone) -> Iterator[str]:
    if done.phase == "start":
        yield "### Turn 0: Character Creation\n"
        for message in done.messages:
            if message.speaker != "system":
                yield f"- **{message.speaker}**: {_line(message.text)}"
        yield ""
    for event in done.events:
        if event.kind in ISSUE_TYPES:
            yield f"### Turn {event.turn}: \u26a0\ufe0f {_issue(event)}\n"
        else:
            number = f" {event.value:g}" if event.kind == "pulse" and event.value else ""
            about = f" - {_line(event.subject)}" if event.subject else ""
            title = _TOLD.get(event.kind, event.kind.replace("_", " "))
            yield f"### Turn {event.turn}: {title}{number}{about}\n"
            if event.detail:
                yield f"> {_line(event.detail)}\n"


def _issues(session: Transcript) -> list[str]:
    return [
        f"- Turn {event.turn} ({event.severity or 'warning'}): {_issue(event)}"
        for event in session.events
        if event.kind in ISSUE_TYPES
    ]


def _issue(event: Event) -> str:
    about = " ".join(part for part in (event.subject, event.detail) if part)
    return _line(f"{event.kind.replace('_', ' ')}: {about}".rstrip(": "))


def _transcript(done: TurnDone) -> Iterator[str]:
    said = [message for message in done.messages if message.speaker != "system"]
    if said:
        yield f"### Turn {done.turn}\n"
    for message in said:
        yield f"{_head(message)} {message.text}\n"


def _head(message: Message) -> str:
    return f"**{message.speaker}**{aside_of(message)}:"


def _line(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return _line(text).replace("|", "\\|")
