"""Observing a turn: a classified output in, a new state and findings out. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from matrix.kinds.context import MessageLog
from matrix.kinds.playtest.detect import issues, tangents
from matrix.kinds.playtest.detect.asides import SplitOutput
from matrix.kinds.playtest.detect.classify import Classification
from matrix.kinds.playtest.detect.history import NARRATOR, REACTION, RELAY, SYSTEM, TABLE, of_late
from matrix.kinds.playtest.detect.issues import IssueFound, quoted
from matrix.kinds.playtest.detect.loops import SHORT
from matrix.kinds.playtest.detect.moments import (
    find_payoffs,
    find_spoiled,
    guide_names,
    open_moment,
    placing_of,
)
from matrix.kinds.playtest.detect.reading import (
    HeardOutput,
    closes,
    marker_of,
    read,
    spoken,
    title_of,
    winds_up,
)
from matrix.kinds.playtest.detect.relaying import carried
from matrix.kinds.playtest.detect.story import beats
from matrix.kinds.playtest.detect.story.deaths import deaths
from matrix.kinds.playtest.detect.story.facts import Utterance
from matrix.kinds.playtest.detect.strangers import KEPT_STRANGERS, known_words
from matrix.kinds.playtest.detect.tangents import has_forced_segue
from matrix.kinds.playtest.setup.state import (
    PULSE_TURNS_KEPT,
    MomentBook,
    PlaytestState,
    TangentBook,
)
from matrix.kinds.playtest.setup.vocabulary import ISSUE_TYPES, PRIVATE, PULSE, RECAP, TANGENT
from matrix.model.records import Message

LOOP_LIMIT: Final = 3
LOOP_WINDOW: Final = 6
"""So many repeated outputs among so many in a row, and the narrator is beyond recovery."""

LOOP_REACH: Final = 12
"""Turns back to which a repetition counts for that: an old phrase again is an issue, no circle."""

_SHORT_RETURN: Final = 30
"""Words up to which a forced return has no scene in it that it could repeat."""

EARLY_END: Final = 0.5
"""Share of the expected pulses below which an ending comes too early, unless options say
another."""

_NUMBER: Final = re.compile(r"\d{1,3}\b")
_QUESTION: Final = re.compile(r"[^.!?\n\":\u201c]{1,300}\?")
_TOLD_KEPT: Final = 60
"""People whose death, or whose break of character, is remembered."""


class World(NamedTuple):
    """What does not change over a session.

    Attributes:
        guide: The story guide.
        about: Title and setting as one text.
        expected: Pulses that a full session has; 0 if that is not known.
        early_end: Share of them before which an ending is too early.
    """

    guide: str
    about: str
    expected: int = 0
    early_end: float = EARLY_END


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
        cut: It ended where its most tokens were reached, which is no fault of its words.
    """

    turn: int
    text: str
    label: Classification
    parts: SplitOutput
    reading: HeardOutput
    announced: bool
    cut: bool = False

    @staticmethod
    def of(
        turn: int, text: str, label: Classification, parts: SplitOutput, *, cut: bool = False
    ) -> Output:
        """Read an output once, for all the books."""
        reading = read(text)
        return Output(turn, text, label, parts, reading, has_forced_segue(reading.spoken), cut)


def observe(
    state: PlaytestState, output: Output, world: World, log: MessageLog, stuck_after: int
) -> Observation:
    """Take a narrator's output into account; what was found in it is not among its counts yet.

    Args:
        state: The state before it.
        output: The output.
        world: Guide, title and setting.
        log: The session's log, before the output was added to it.
        stuck_after: Turns without a pulse that count as a stuck moment.
    """
    findings: list[IssueFound] = []
    update: dict[str, Any] = {"turns": output.turn, "blanks": 0}
    looped = _loop(state, output, log, findings)
    update |= looped
    is_new = "repeats" not in looped
    pulses = _pulses(state, output, world, findings) if is_new else _none(state, output)
    update |= pulses
    advanced = pulses["last_pulse"] == output.turn
    update["tangents"] = _tangent(state, output, log, findings, advanced=advanced)
    update["moments"] = _moments(state, output, world, log, findings)
    # what is said word for word again was found when it was first said
    update |= _contradictions(state, output, world, log, findings if is_new else [])
    update |= _people(state, output, world, findings)
    update |= _strangers(state, output, world, log, findings)
    told = state.model_copy(update=update)
    for found in (
        issues.detect_forced_segue(output.reading, output.label.segue, worded=output.announced),
        issues.detect_stuck(output.turn, told.last_pulse, stuck_after)
        or _stands_still(told, output, world, log, stuck_after),
        issues.detect_character_break(output.reading),
        issues.detect_lost_narrator(output.reading),
        issues.detect_cut(output.reading) if output.cut else None,
        issues.detect_breakdown(output.reading, world.guide, cut=output.cut),
        *(_ending(told, output, world, log) if _takes_leave(told, output, world) else ()),
    ):
        if found:
            findings.append(found)
    if any(found.kind == "breakdown" for found in findings):
        told = told.model_copy(update={"blanks": state.blanks + 1})
    return Observation(told, findings)


def _stands_still(
    state: PlaytestState, output: Output, world: World, log: MessageLog, after: int
) -> IssueFound | None:
    """Outputs that bring nothing new although they look like progress; said once per stretch."""
    texts = [*_narrated(log), output.reading.spoken]
    looped = any(turn > output.turn - after for turn in state.repeats)
    since = output.turn - state.last_told
    if looped or not beats.stands_still(texts, after, world.guide, since):
        return None
    if beats.stands_still(texts[:-1], after, world.guide, since - 1):
        return None
    detail = f"nothing new in {after} outputs: {quoted(output.reading.spoken)}"
    return IssueFound("stuck", "story", detail, issues.WARNING, float(after))


def has_ended(output: Output) -> bool:
    """Whether an output ends the story."""
    return output.label.concluded or closes(output.text)


def _takes_leave(state: PlaytestState, output: Output, world: World) -> bool:
    """Whether an output ends the story, or tells what came of it all when little has been told."""
    if has_ended(output):
        return True
    expected = world.expected or len(beats.beats_of(world.guide))
    return state.pulses < world.early_end * expected and winds_up(output.reading.spoken)


def _none(state: PlaytestState, output: Output) -> dict[str, Any]:
    """What an output without progress leaves of the pulses."""
    gap = max(state.widest_gap, output.turn - state.last_told)
    return {"widest_gap": gap, "last_pulse": state.last_pulse}


def _pulses(
    state: PlaytestState, output: Output, world: World, findings: list[IssueFound]
) -> dict[str, Any]:
    """The guide's beats that an output tells; one for each pulse where the guide lists none."""
    turn, label = output.turn, output.label
    update = _none(state, output)
    listed = beats.beats_of(world.guide)
    if listed:
        told = _beats(state, output, listed)
        fresh = [(place + 1, listed[place].title) for place in told.beats]
        update["beats"] = (*state.beats, *told.beats)
        if told.jumped_to is not None:
            findings.append(_jumped(state, listed, told.jumped_to))
    else:
        title = spoken(label.pulse) or title_of(output.text)
        fresh = [(state.pulses + 1, title)] if label.type == PULSE else []
    words = quoted(output.reading.spoken, 200)
    findings += [IssueFound("pulse", title, words, value=float(at)) for at, title in fresh]
    if fresh:
        update["pulses"] = state.pulses + len(fresh)
        update["pulse_turns"] = (*state.pulse_turns, *[turn] * len(fresh))[:PULSE_TURNS_KEPT]
    if fresh or label.type == PULSE:
        update["last_pulse"] = turn
    return update


def _beats(
    state: PlaytestState, output: Output, listed: Sequence[beats.GuideBeat]
) -> beats.BeatsTold:
    """Beats told for the first time: by the narrator's own marker, or by the words."""
    marker = marker_of(output.text)
    number = _NUMBER.match(marker.argument) if marker and marker.name == "PULSE" else None
    if number is not None:
        place = int(number[0]) - 1
        fresh = (place,) if 0 <= place < len(listed) and place not in state.beats else ()
        return beats.BeatsTold(fresh, None)
    if output.label.type != PULSE and not has_ended(output):
        return beats.BeatsTold((), None)
    since = max(1, output.turn - state.last_told)
    return beats.told_by(_public(output).spoken, listed, state.beats, since)


def _jumped(state: PlaytestState, listed: Sequence[beats.GuideBeat], place: int) -> IssueFound:
    before = max(state.beats, default=-1)
    after = f"right after pulse {before + 1}" if before >= 0 else "before any other"
    detail = f"pulse {place + 1} of the guide is told {after}"
    return IssueFound("guide_deviation", listed[place].title, detail, issues.WARNING)


def _ending(
    state: PlaytestState, output: Output, world: World, log: MessageLog
) -> Iterator[IssueFound]:
    """What is wrong with an ending: it comes too early, or is not the guide's."""
    listed = beats.beats_of(world.guide)
    expected, told = world.expected or len(listed), state.pulses
    share = round(state.pulses / expected, 3) if expected else 0.0
    if listed:
        met = beats.touched([*_narrated(log), output.reading.spoken], listed)
        told = max(told, len(met)) if told < world.early_end * expected else told
        if beats.lacks_its_end(state.beats, met, listed):
            detail = "the story ended without the guide's last pulses, after "
            detail += f"{state.pulses} of {expected}"
            yield IssueFound("early_end", "story", detail, issues.ERROR, share)
            return
    if expected and told < world.early_end * expected:
        detail = f"the story ended after {state.pulses} of {expected} pulses"
        yield IssueFound("early_end", "story", detail, issues.ERROR, share)
        return
    if not has_ended(output):
        return  # what is told of later times may be anybody's
    lines = of_late(log, len(state.seats))
    last = [line.text for line in lines if line.speaker == NARRATOR]
    if beats.is_other_ending([*last[-1:], output.reading.spoken], world.guide):
        detail = f"an ending that is not the guide's: {quoted(output.reading.spoken)}"
        yield IssueFound("guide_deviation", "ending", detail, issues.WARNING)


def _tangent(
    state: PlaytestState,
    output: Output,
    log: MessageLog,
    findings: list[IssueFound],
    *,
    advanced: bool,
) -> TangentBook:
    label, running = output.label, state.tangents.since > 0
    before = [m for m in of_late(log, len(state.seats)) if m.turn == output.turn - 1]
    relay = next((message.text for message in before if message.label == RELAY), "")
    off_story = bool(relay) and (
        label.group_off_story or (label.type == TANGENT and tangents.looks_off_story(relay))
    )
    book, ended = tangents.follow(
        _explored(state.tangents, output, relay, met=label.type != TANGENT),
        tangents.Met(
            output.turn,
            output.reading.spoken,
            off_story=off_story,
            back=_is_at_the_story(relay) and not label.group_off_story,
            advanced=advanced or has_ended(output),
            leads=label.type not in (TANGENT, PRIVATE),
            segue="forced" if output.announced and (off_story or running) else label.segue,
            quality=label.segue_quality,
            left=_who_left(before, relay, label) if off_story else None,
            taken_up=label.taken_up,
        ),
    )
    if ended:
        findings.append(tangent_finding(ended))
    return book


def _is_at_the_story(relay: str) -> bool:
    """Whether a group that has said something has said nothing off the story."""
    return bool(relay) and not tangents.looks_off_story(relay)


def _explored(book: TangentBook, output: Output, relay: str, *, met: bool) -> TangentBook:
    """Whether the group looked around in the story, and the output met that as play."""
    if output.label.group_off_story or not tangents.explores(relay):
        return book
    met = met and not output.announced and output.label.segue != "forced"
    return book.model_copy(update={"explored": book.explored + 1, "followed": book.followed + met})


def _who_left(before: Sequence[Message], relay: str, label: Classification) -> tangents.Left | None:
    """Who seems to have led the group off the story in the turn before."""
    told = " ".join(message.text for message in before if message.speaker == NARRATOR)
    said = [(message.speaker, message.text) for message in before if message.label == REACTION]
    heard = carried(" ".join([relay, *(text for _, text in said)]))
    about = "" if carried(label.tangent).isdisjoint(heard) else label.tangent
    left = tangents.left_by(said, relay, read(told).vocabulary, about)
    return left and left._replace(kind=label.tangent_type or left.kind)


def tangent_finding(ended: tangents.EndedTangent) -> IssueFound:
    """The event of a tangent that is over; one that never ended is a warning.

    A forced return is one already, as a forced segue.
    """
    severity = issues.WARNING if ended.recovery == "none" else ""
    value = float(ended.length)
    return IssueFound("tangent", ended.initiator, ended.detail, severity, value, ended.data)


def close_tangent(state: PlaytestState, log: MessageLog) -> Observation:
    """End a tangent that is still under way when the session ends.

    Where the newest output has led back, and the group has gone along, it was over with that.
    """
    last = [line for line in log.tail(TABLE, 1) if line.label == RELAY]
    if state.tangents.returned and any(_is_at_the_story(line.text) for line in last):
        book, ended = tangents.close_returned(state.tangents)
    else:
        until = max(state.turns, state.tangents.since)
        book, ended = tangents.close(state.tangents, until, "none")
    found = [tangent_finding(ended)] if ended else []
    return Observation(state.model_copy(update={"tangents": book}), found)


def _moments(
    state: PlaytestState, output: Output, world: World, log: MessageLog, findings: list[IssueFound]
) -> MomentBook:
    book, parts = state.moments, output.parts
    if book.kept and parts.public:
        story = output.label.type == PULSE or has_ended(output)
        book, spoiled = find_spoiled(book, parts.public, output.turn, log, story=story)
        findings += [spoiled_finding(turn, name) for turn, name in spoiled]
    if book.open and parts.public:
        book, paid = find_payoffs(book, _public(output), output.turn, log)
        for secret, words in paid:
            detail = f"moment of turn {secret.turn}: {', '.join(words) or 'read out to all'}"
            value = float(secret.turn)
            findings.append(IssueFound("private_payoff", secret.target, detail, value=value))
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


def _loop(
    state: PlaytestState, output: Output, log: MessageLog, findings: list[IssueFound]
) -> dict[str, Any]:
    forced = output.announced or output.label.segue == "forced"
    if output.label.type == RECAP or (forced and output.reading.length <= _SHORT_RETURN):
        return {}  # these may say something again
    told: dict[int, list[str]] = {}
    for line in (log[position] for position in range(len(log))):
        if line.speaker == NARRATOR:
            told.setdefault(line.turn, []).append(line.text)
    public, asides = output.parts
    pieces = [text for text in (public, *(aside.text for aside in asides)) if text]
    loop = issues.detect_loop(pieces, told)
    if loop is None or (output.reading.length < SHORT and _asked_again(output.turn, loop, log)):
        return {}
    findings.append(loop)
    circles = max(loop.data["turns"] if loop.data else ()) >= output.turn - LOOP_REACH
    repeats = (*state.repeats, output.turn)[-LOOP_LIMIT:] if circles else state.repeats
    return {"repeats": repeats}


def _asked_again(turn: int, loop: IssueFound, log: MessageLog) -> bool:
    """Whether the group has asked again what it was told where an output was said before."""
    turns = loop.data["turns"] if loop.data else ()
    relays = {line.turn: line.text for line in log.channel(TABLE) if line.label == RELAY}
    now = _questions(relays.get(turn - 1, ""))
    before = [one for then in turns for one in _questions(relays.get(then - 1, ""))]
    return any(2 * len(one & two) >= max(len(one), len(two)) for one in now for two in before)


def _questions(text: str) -> list[frozenset[str]]:
    """What each question of a text asks, by the words that carry meaning."""
    return [words for one in _QUESTION.findall(text) if (words := carried(one))]


def _contradictions(
    state: PlaytestState, output: Output, world: World, log: MessageLog, findings: list[IssueFound]
) -> dict[str, Any]:
    told = [*_said_since(log, output.turn - 1), Utterance(output.turn, output.reading.spoken)]

    def narrated(turn: int) -> list[str]:
        lines = (log[position] for position in range(state.story_at, len(log)))
        return [line.text for line in lines if line.turn == turn and line.speaker == NARRATOR]

    found, facts = issues.detect_contradictions(state.facts, told, world.guide, narrated)
    findings += found
    findings += issues.detect_returned(output.reading, world.guide, state.dead)
    return {"facts": facts}


def _said_since(log: MessageLog, turn: int) -> list[Utterance]:
    """What players have said since a turn, oldest first."""
    found: list[Utterance] = []
    for position in range(len(log) - 1, -1, -1):
        line = log[position]
        if line.turn < turn:
            break
        if line.speaker not in (NARRATOR, SYSTEM):
            found.append(Utterance(line.turn, line.text, narrated=False))
    return found[::-1]


def _people(
    state: PlaytestState, output: Output, world: World, findings: list[IssueFound]
) -> dict[str, Any]:
    """Who dies, and who acts against what the guide says of them."""
    if has_ended(output):
        return {}  # what people become in the end is no break
    update: dict[str, Any] = {}
    findings += issues.detect_confessions(output.reading, world.guide)
    breaks = issues.detect_people_breaks(output.reading, world.guide, state.broken)
    if breaks:
        findings += breaks
        names = (*state.broken, *(one.subject for one in breaks))
        update["broken"] = names[-_TOLD_KEPT:]
    dead = dict.fromkeys(deaths(output.reading.spoken, world.guide), output.turn)
    if dead and len(state.dead) < _TOLD_KEPT:
        update["dead"] = dead | state.dead
    return update


def _strangers(
    state: PlaytestState, output: Output, world: World, log: MessageLog, findings: list[IssueFound]
) -> dict[str, Any]:
    known = known_words(world.guide, world.about)
    seen = {word for name in state.strangers for word in name.split()}
    lines, narrated = _lines(log), _narrated(log)
    found = [
        finding
        for finding in issues.detect_deviations(output.reading, known, lines, narrated, world.guide)
        if seen.isdisjoint(finding.subject.split())
    ]
    if not found:
        return {}
    findings += found
    names = (*state.strangers, *(finding.subject for finding in found))
    return {"strangers": names[-KEPT_STRANGERS:]}


def _lines(log: MessageLog) -> Iterator[tuple[bool, str]]:
    """All that was said, and who the players are: whether by the narrator, and the words."""
    for position in range(len(log)):
        line = log[position]
        yield line.speaker == NARRATOR, line.text


def _narrated(log: MessageLog) -> Iterator[str]:
    """What the narrator has told before."""
    for position in range(len(log)):
        if log[position].speaker == NARRATOR:
            yield log[position].text


def repeats_of_late(state: PlaytestState) -> list[int]:
    """Turns among the last ``LOOP_WINDOW`` at which the narrator repeated itself.

    With ``LOOP_LIMIT`` of them the session is over.
    """
    return [turn for turn in state.repeats if turn > state.turns - LOOP_WINDOW]


def count_issues(state: PlaytestState, findings: Sequence[IssueFound]) -> PlaytestState:
    """The state with the issues among ``findings`` added to its counts."""
    new = Counter(found.kind for found in findings if found.kind in ISSUE_TYPES)
    if not new:
        return state
    return state.model_copy(update={"issues": dict(Counter(state.issues) + new)})
