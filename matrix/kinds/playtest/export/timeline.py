"""The timeline of a play-test's report: what belongs together told in one place, turn by turn.

A tangent is told with who left the story, how the narrator brought the group back and how well; a
private moment with what became of the secret; a pulse with what the group then decided to do; the
problems of a turn all at once. Values only: the report says how they are written.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from matrix.kinds.playtest.detect import history
from matrix.kinds.playtest.detect.issues import quoted
from matrix.kinds.playtest.detect.reading import spoken
from matrix.kinds.playtest.export.document import PrivateMoment, Tangent
from matrix.kinds.playtest.setup.vocabulary import ISSUE_TYPES
from matrix.kinds.reporting import TimelineEntry, TimelineLine
from matrix.model.records import Event, Message, Player

QUOTED: Final = 240
"""Characters of what somebody said that a timeline has; the transcript has all of it."""

SEGUE_QUOTED: Final = 160
"""The same of a return to the story, which is in an output's first words."""

_LEFT_FOR: Final = {
    "humour": "for a joke",
    "media": "for films, games and the like",
    "everyday": "for everyday things",
    "table": "for the game itself",
}

_RETURNS: Final = {
    "announced": "announced in so many words",
    "woven": "the distraction became part of the story",
    "hook": "by what happened next",
    "by-itself": "the group came back by itself",
}
"""How a tangent ended -> what a report says of it."""

_QUALITY: Final = ("poor", "weak", "fair", "good", "excellent")
"""What a segue of quality 1 to 5 is called."""

_TOLD_ELSEWHERE: Final = (
    "pulse",
    "tangent",
    "private_moment",
    "private_reply",
    "private_payoff",
    "private_spoiled",
    *ISSUE_TYPES,
)
_TITLES: Final = {
    "misattribution": "Words of One Player Relayed as Another's",
    "classification_fallback": "Output Classified by Its Wording",
    "survey": "Survey",
}


class Session:
    """What a timeline is made of, with the log by turn and speaker."""

    def __init__(
        self, events: Sequence[Event], log: Sequence[Message], players: Sequence[Player]
    ) -> None:
        self.events = events
        self._said: dict[tuple[int, str], list[Message]] = {}
        for message in log:
            self._said.setdefault((message.turn, message.speaker), []).append(message)
        self.players = {player.name: player for player in players}

    def of_kind(self, *kinds: str) -> list[Event]:
        """Events of these kinds, in order."""
        return [event for event in self.events if event.kind in kinds]

    def said(self, turn: int, speaker: str, label: str = "", limit: int = QUOTED) -> str:
        """What somebody said to all in a turn, the first of such messages; empty for nothing."""
        for message in self._said.get((turn, speaker), ()):
            if message.channel == history.TABLE and label in ("", message.label):
                return quoted(spoken(message.text), limit)
        return ""

    @property
    def spokesperson(self) -> str:
        """Who speaks for the group."""
        return next((name for name, one in self.players.items() if one.is_spokesperson), "")


def timeline_of(
    events: Sequence[Event],
    log: Sequence[Message],
    players: Sequence[Player],
    tangents: Sequence[Tangent],
    moments: Sequence[PrivateMoment],
) -> list[TimelineEntry]:
    """Entries in the order of the turns they begin in.

    Args:
        events: Everything that was found.
        log: Everything that was said.
        players: The group; one that was replaced is in it once more.
        tangents: As the play-test document has them.
        moments: Likewise.
    """
    session = Session(events, log, players)
    entries = [
        _creation(session),
        *(_tangent(session, one) for one in tangents),
        *_pulses(session, {one.startTurn for one in tangents}),
        *(_moment(session, one) for one in moments),
        *_issues(session),
        *_others(session),
    ]
    return sorted(entries, key=lambda entry: entry.first)


def _creation(session: Session) -> TimelineEntry:
    lines = []
    for name, player in session.players.items():
        who = f"{name} ({player.archetype})"
        for label in (history.INTRODUCTION, history.ANSWER):
            if said := session.said(0, name, label):
                lines.append(TimelineLine(said, who, quoted=True))
    return TimelineEntry(0, 0, "Character Creation", lines)


def _pulses(session: Session, off_story: Container[int]) -> Iterator[TimelineEntry]:
    for turn, found in _by_turn(session.of_kind("pulse")):
        numbers = [f"{event.value:g}" for event in found if event.value is not None]
        titles = "; ".join(event.subject for event in found if event.subject)
        count = "Pulse" if len(numbers) == 1 else "Pulses"
        title = f"{count} {', '.join(numbers)}" + (f" - {titles}" if titles else "")
        told = session.said(turn, history.NARRATOR) or found[0].detail
        lines = [TimelineLine(told, quoted=True)]
        if said := session.said(turn, history.SPOKESPERSON, history.RELAY):
            what = "Group's answer" if turn + 1 in off_story else "Group decision"
            speaker = f", told by {session.spokesperson}" if session.spokesperson else ""
            lines.append(TimelineLine(said, f"{what}{speaker}", quoted=True))
        yield TimelineEntry(turn, turn, title, lines)


def _tangent(session: Session, tangent: Tangent) -> TimelineEntry:
    first, over = tangent.startTurn, tangent.endTurn is not None
    last = tangent.endTurn if tangent.endTurn is not None else first + tangent.length - 1
    who = tangent.initiator or "The group"
    about = f" {_LEFT_FOR[tangent.type]}" if tangent.type in _LEFT_FOR else ""
    size = f" ({tangent.intensity})" if tangent.intensity else ""
    lines = [TimelineLine(f"{who} left the story{about}{size}.")]
    if said := session.said(first - 1, tangent.initiator, history.REACTION):
        lines.append(TimelineLine(said, tangent.initiator, quoted=True))
    method = tangent.recoveryMethod or "none"
    if not over or method == "none":
        lines.append(TimelineLine("\u2192 Not recovered."))
        return TimelineEntry(first, last, "Tangent", lines)
    how = f", {_RETURNS[method]}" if method in _RETURNS else ""
    outputs = "1 output" if tangent.length == 1 else f"{tangent.length} outputs"
    told = f"Turn {last}, after {outputs}{how}."
    lines.append(TimelineLine(told, "Recovery"))
    segue = session.said(_segue_turn(session, tangent, last), history.NARRATOR, limit=SEGUE_QUOTED)
    if method != "by-itself" and segue:
        lines.append(TimelineLine(segue, "Segue", quoted=True))
    lines.append(TimelineLine(f"\u2192 {_verdict(tangent)}"))
    return TimelineEntry(first, last, "Tangent", lines)


def _segue_turn(session: Session, tangent: Tangent, last: int) -> int:
    """The turn in which the narrator led back: that of an announcement may be an earlier one."""
    if not _is_forced(tangent):
        return last
    announced = [event.turn for event in session.of_kind("forced_segue")]
    return max((turn for turn in announced if tangent.startTurn <= turn <= last), default=last)


def _is_forced(tangent: Tangent) -> bool:
    return tangent.recoveryMethod in ("announced", "forced")


def _verdict(tangent: Tangent) -> str:
    kind = "Forced" if _is_forced(tangent) else "Natural"
    if tangent.segueQuality is None:
        return f"{kind} recovery."
    place = round(min(5.0, max(1.0, tangent.segueQuality)))
    return f"{kind} recovery, {_QUALITY[place - 1]} ({tangent.segueQuality:g} of 5)."


def _moment(session: Session, moment: PrivateMoment) -> TimelineEntry:
    lines = [TimelineLine(quoted(spoken(moment.content), QUOTED), quoted=True)]
    if moment.response:
        lines.append(TimelineLine(quoted(moment.response, QUOTED), moment.target, quoted=True))
    lines += [TimelineLine(told) for told in _fate(session, moment)]
    title = f"Private Moment \u2192 {moment.target}"
    return TimelineEntry(moment.turn, moment.turn, title, lines)


def _fate(session: Session, moment: PrivateMoment) -> Iterator[str]:
    """What became of a secret, and how well it was placed."""
    own = [event for event in session.events if event.subject == moment.target]
    shared = any(
        event.kind == "private_reply" and event.turn == moment.turn and event.value for event in own
    )
    yield f"{moment.target} {'told the others' if shared else 'kept it secret from the group'}."
    for event in own:
        if event.kind == "private_spoiled" and event.value == moment.turn:
            yield f"\u26a0\ufe0f The narrator gave it away to all in turn {event.turn}."
    paid = f"It paid off in turn {moment.payoffTurn}" if moment.payoffDetected else "No payoff"
    rated = {
        "backstory alignment": moment.backstoryAlignment,
        "narrative appropriateness": moment.narrativeAppropriateness,
    }
    told = [f"{name} {value:.2f}" for name, value in rated.items() if value is not None]
    yield f"\u2192 {'; '.join([paid, *told])}."


def _issues(session: Session) -> Iterator[TimelineEntry]:
    for turn, found in _by_turn(session.of_kind(*ISSUE_TYPES)):
        lines = []
        for event in found:
            about = ": ".join(part for part in (event.subject, event.detail) if part)
            name = f"{event.kind.replace('_', ' ').capitalize()} ({event.severity or 'warning'})"
            lines.append(TimelineLine(about or "-", name))
        title = "Issue Detected" if len(found) == 1 else "Issues Detected"
        yield TimelineEntry(turn, turn, f"\u26a0\ufe0f {title}", lines)


def _others(session: Session) -> Iterator[TimelineEntry]:
    """Whatever else was found, a kind of it in a turn at once."""
    rest = [event for event in session.events if event.kind not in _TOLD_ELSEWHERE]
    for turn, found in _by_turn(rest):
        for kind in dict.fromkeys(event.kind for event in found):
            title = _TITLES.get(kind, kind.replace("_", " ").capitalize())
            own = [event for event in found if event.kind == kind]
            lines = [TimelineLine(event.detail or "-", event.subject) for event in own]
            yield TimelineEntry(turn, turn, title, lines)


def _by_turn(events: Iterable[Event]) -> Iterator[tuple[int, list[Event]]]:
    ordered = sorted(events, key=lambda event: event.turn)
    return ((turn, list(found)) for turn, found in groupby(ordered, key=lambda event: event.turn))
