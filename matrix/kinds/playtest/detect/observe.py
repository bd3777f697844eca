"""Observing a turn: a classified output in, a new state and findings out. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from matrix.kinds.context import MessageLog
from matrix.kinds.playtest.detect import issues, tangents
from matrix.kinds.playtest.detect.asides import SplitOutput
from matrix.kinds.playtest.detect.classify import PULSE, RECAP, TANGENT, Classification
from matrix.kinds.playtest.detect.history import NARRATOR, REACTION, RELAY, TABLE
from matrix.kinds.playtest.detect.issues import IssueFound, ToldSince, quoted
from matrix.kinds.playtest.detect.moments import (
    find_payoffs,
    find_spoiled,
    guide_names,
    open_moment,
    placing_of,
)
from matrix.kinds.playtest.detect.reading import HeardOutput, read, title_of
from matrix.kinds.playtest.detect.strangers import KEPT_STRANGERS, known_words
from matrix.kinds.playtest.detect.tangents import has_forced_segue
from matrix.kinds.playtest.setup.state import MomentBook, PlaytestState, TangentBook
from matrix.kinds.playtest.setup.vocabulary import ISSUE_TYPES
from matrix.model.records import Message

LOOP_LIMIT: Final = 3
LOOP_WINDOW: Final = 6
"""So many repeated outputs among so many in a row, and the narrator is beyond recovery."""

PULSE_TURNS_KEPT: Final = 120


class World(NamedTuple):
    """What does not change over a session: the guide, and title and setting as one text."""

    guide: str
    about: str


class Observation(NamedTuple):
    """The state after an output, and what there is to record."""

    state: PlaytestState
    findings: list[IssueFound]


class Output(NamedTuple):
    """A narrator's output on its way into the books.

    Attributes:
        turn: Its turn.
        text: The whole of it.
        label: Its classification.
        parts: What of it all hear, and what single players hear.
        reading: Its words.
        announced: It announces a return to the story in so many words.
    """

    turn: int
    text: str
    label: Classification
    parts: SplitOutput
    reading: HeardOutput
    announced: bool

    @staticmethod
    def of(turn: int, text: str, label: Classification, parts: SplitOutput) -> Output:
        """Read an output once, for all the books."""
        reading = read(text)
        return Output(turn, text, label, parts, reading, has_forced_segue(reading.spoken))


def observe(
    state: PlaytestState, output: Output, world: World, log: MessageLog, stuck_after: int
) -> Observation:
    """Take a narrator's output into account.

    Args:
        state: The state before it.
        output: The output.
        world: Guide, title and setting.
        log: The session's log, before the output was added to it.
        stuck_after: Turns without a pulse that count as a stuck moment.
    """
    findings: list[IssueFound] = []
    update: dict[str, Any] = {"turns": output.turn, "blanks": 0}
    update |= _pulse(state, output, findings)
    update["tangents"] = _tangent(state, output, log, findings)
    update["moments"] = _moments(state, output, world, log, findings)
    update |= _loop(state, output, findings)
    update |= _contradictions(state, output, log, findings)
    update |= _strangers(state, output, world, log, findings)
    last_pulse = update.get("last_pulse", state.last_pulse)
    for found in (
        issues.detect_forced_segue(output.reading, output.label.segue, worded=output.announced),
        issues.detect_stuck(output.turn, last_pulse, stuck_after),
        issues.detect_character_break(output.reading),
        issues.detect_breakdown(output.reading),
    ):
        if found:
            findings.append(found)
    return Observation(count_issues(state.model_copy(update=update), findings), findings)


def _pulse(state: PlaytestState, output: Output, findings: list[IssueFound]) -> dict[str, Any]:
    turn, label = output.turn, output.label
    gap = max(state.widest_gap, turn - state.last_pulse)
    if label.type != PULSE:
        return {"widest_gap": gap}
    number = state.pulses + 1
    title = label.pulse or title_of(output.text)
    findings.append(IssueFound("pulse", title, quoted(output.text, 200), value=float(number)))
    return {
        "pulses": number,
        "pulse_turns": (*state.pulse_turns, turn)[:PULSE_TURNS_KEPT],
        "last_pulse": turn,
        "widest_gap": gap,
    }


def _tangent(
    state: PlaytestState, output: Output, log: MessageLog, findings: list[IssueFound]
) -> TangentBook:
    label, running = output.label, state.tangents.since > 0
    off_story = label.group_off_story or label.type == TANGENT
    before = [m for m in log.tail(TABLE, 2 * len(state.seats) + 4) if m.turn == output.turn - 1]
    relay = next((message.text for message in before if message.label == RELAY), "")
    book, ended = tangents.follow(
        _explored(state.tangents, output, relay, met=not off_story),
        output.turn,
        off_story=off_story,
        pulse=label.type == PULSE,
        segue="forced" if output.announced and (off_story or running) else label.segue,
        quality=label.segue_quality,
        left=_who_left(before, relay) if off_story else None,
        told=output.reading.spoken,
    )
    if ended:
        findings.append(tangent_finding(ended))
    return book


def _explored(book: TangentBook, output: Output, relay: str, *, met: bool) -> TangentBook:
    """Whether the group looked around in the story, and the output met that as play."""
    if not tangents.explores(relay):
        return book
    met = met and not output.announced and output.label.segue != "forced"
    return book.model_copy(update={"explored": book.explored + 1, "followed": book.followed + met})


def _who_left(before: Sequence[Message], relay: str) -> tangents.Left | None:
    """Who seems to have led the group off the story in the turn before."""
    told = " ".join(message.text for message in before if message.speaker == NARRATOR)
    said = [(message.speaker, message.text) for message in before if message.label == REACTION]
    return tangents.left_by(said, relay, read(told).vocabulary)


def tangent_finding(ended: tangents.EndedTangent) -> IssueFound:
    """The event of a tangent that is over; one that did not end well is a warning."""
    severity = "" if ended.recovery == "natural" else issues.WARNING
    value = float(ended.length)
    return IssueFound("tangent", ended.initiator, ended.detail, severity, value, ended.data)


def close_tangent(state: PlaytestState) -> Observation:
    """End a tangent that is still under way when the session ends."""
    book, ended = tangents.close(state.tangents, max(state.turns, state.tangents.since), "none")
    found = [tangent_finding(ended)] if ended else []
    return Observation(state.model_copy(update={"tangents": book}), found)


def _moments(
    state: PlaytestState, output: Output, world: World, log: MessageLog, findings: list[IssueFound]
) -> MomentBook:
    book, parts = state.moments, output.parts
    if book.open and parts.public:
        book, paid = find_payoffs(book, _public(output), output.turn)
        for secret, words in paid:
            detail = f"moment of turn {secret.turn}: {', '.join(words)}"
            value = float(secret.turn)
            findings.append(IssueFound("private_payoff", secret.target, detail, value=value))
    if book.kept and parts.public:
        book, spoiled = find_spoiled(book, parts.public, log)
        findings += [spoiled_finding(turn, name) for turn, name in spoiled]
    for aside in parts.asides:
        table = (message.text for message in log.channel(TABLE))
        familiar = (*table, parts.public, *guide_names(world.guide))
        placing = placing_of(state, aside, output.turn, log, world.guide, parts.public)
        book = open_moment(book, aside, output.turn, familiar, placing)
        detail, data = quoted(aside.text, 200), placing._asdict()
        findings.append(IssueFound("private_moment", aside.target, detail, data=data))
    return book


def spoiled_finding(turn: int, name: str) -> IssueFound:
    """The event of a secret that the narrator has read out to all."""
    told = f"moment of turn {turn}, which {name} keeps, was read out to all"
    return IssueFound("private_spoiled", name, told, issues.WARNING, float(turn))


def _public(output: Output) -> HeardOutput:
    """What of an output all hear."""
    return output.reading if not output.parts.asides else read(output.parts.public)


def _loop(state: PlaytestState, output: Output, findings: list[IssueFound]) -> dict[str, Any]:
    loop, sketches = issues.detect_loop(
        output.reading, state.sketches, may_repeat=output.label.type == RECAP
    )
    if loop is None:
        return {"sketches": sketches}
    findings.append(loop)
    return {"sketches": sketches, "repeats": (*state.repeats, output.turn)[-LOOP_LIMIT:]}


def _contradictions(
    state: PlaytestState, output: Output, log: MessageLog, findings: list[IssueFound]
) -> dict[str, Any]:
    stated = issues.state_facts(output.reading, output.turn)
    told = _told(log, state.story_at, output)
    found, facts = issues.detect_contradictions(stated, state.facts, told)
    findings += found
    return {"facts": facts}


def _told(log: MessageLog, start: int, output: Output) -> Iterator[ToldSince]:
    for position in range(start, len(log)):
        yield ToldSince(log[position].turn, log[position].text)
    yield ToldSince(output.turn, output.text)


def _strangers(
    state: PlaytestState, output: Output, world: World, log: MessageLog, findings: list[IssueFound]
) -> dict[str, Any]:
    known = known_words(world.guide, world.about)
    found = [
        finding
        for finding in issues.detect_deviations(output.reading, known, _not_narrated(log))
        if finding.subject not in state.strangers
    ]
    if not found:
        return {}
    findings += found
    names = (*state.strangers, *(finding.subject for finding in found))
    return {"strangers": names[-KEPT_STRANGERS:]}


def _not_narrated(log: MessageLog) -> Iterator[str]:
    """What players have said, and who they are: all that does not come from the narrator."""
    for position in range(len(log)):
        if log[position].speaker != NARRATOR:
            yield log[position].text


def is_hopeless(state: PlaytestState) -> bool:
    """Whether the narrator repeated itself so often of late that the session is over."""
    recent = [turn for turn in state.repeats if turn > state.turns - LOOP_WINDOW]
    return len(recent) >= LOOP_LIMIT


def count_issues(state: PlaytestState, findings: Sequence[IssueFound]) -> PlaytestState:
    """The state with the issues among ``findings`` added to its counts."""
    new = Counter(found.kind for found in findings if found.kind in ISSUE_TYPES)
    if not new:
        return state
    return state.model_copy(update={"issues": dict(Counter(state.issues) + new)})
