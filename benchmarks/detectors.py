"""Labelled transcripts of play-tests, against the detectors that sessions use.

python -m benchmarks.detectors                          the set that the detectors are made with
python -m benchmarks.detectors held-out                 the set that is kept from them
python -m benchmarks.detectors sixth-author             another author's, kept from them as well
python -m benchmarks.detectors third-author             a third author's, made with as well since
python -m benchmarks.detectors fourth-author            a fourth's, and a fifth's: an attempt to
                                                        make with them was read, and is not in
python -m benchmarks.detectors development --misses     each miss and false alarm, with its words
python -m benchmarks.detectors --files 'more-*'         the part that a second author wrote
python -m benchmarks.detectors --judge MODEL --max-cost 2   and what a judge adds
python -m benchmarks.detectors held-out --answers FILE      the same, of one asked before

No model is asked, unless it is said: what is measured is what the patterns find. A label is found
if its type is reported within one turn of it; whatever else is reported is a false alarm.

With a judge, contradictions, breaks of character and deviations are counted by transcript as well:
by the patterns alone, by the judge alone (it says FAIL), by either, and as sessions do that have
the option `check_issues`: the judge is asked about what patterns report, and reads what they
report nothing of. A second table has all types, counted in that way.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from benchmarks import judged_transcripts
from benchmarks.judged_transcripts import Case, Judging, Report, with_judge
from matrix.kinds.playtest.detect import history
from matrix.kinds.playtest.detect.asides import SplitOutput, split_tagged
from matrix.kinds.playtest.detect.challenges import detect_remarks
from matrix.kinds.playtest.detect.classify import label_from_text
from matrix.kinds.playtest.detect.issues import IssueFound
from matrix.kinds.playtest.detect.observe import Output, World, observe
from matrix.kinds.playtest.detect.reading import is_usable
from matrix.kinds.playtest.setup.state import PlaytestState, Seat
from matrix.kinds.playtest.table.review import report_of
from matrix.model.documents.yaml_documents import check, parse_document
from matrix.model.errors import MatrixError
from matrix.model.records import Message

FOLDER: Final = Path(__file__).parent / "labelled"
SETS: Final = (
    *("development", "third-author", "fourth-author", "fifth-author"),
    *("held-out", "sixth-author"),
)
STUCK_AFTER: Final = 3
"""What the labels call stuck: so many turns without any progress."""

NEAR: Final = 1
"""Turns between a label and a finding that is taken for it."""

IssueType = Literal[
    "contradiction",
    "character_break",
    "guide_deviation",
    "breakdown",
    "loop",
    "forced_segue",
    "stuck",
    "confusion",
    "early_end",
]
TYPES: Final[tuple[str, ...]] = get_args(IssueType)


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Turn(_Part):
    """What was said in one turn."""

    narrator: str
    players: dict[str, str] = {}
    relay: str = ""
    answers: dict[str, str] = {}


class Label(_Part):
    """What somebody who read the transcript found in it."""

    type: IssueType
    turn: int = Field(ge=1)
    note: str = ""


class Transcript(_Part):
    """A session as it was played, and what is wrong with it."""

    id: str
    guide: str
    group: tuple[str, ...]
    turns: tuple[Turn, ...]
    labels: tuple[Label, ...]


class Transcripts(_Part):
    """A file of them."""

    transcripts: tuple[Transcript, ...]


class Finding(NamedTuple):
    """An issue that a detector reported.

    Attributes:
        turn: Its turn.
        type: Its type.
        words: What was found.
        told: What a judge is told of it.
        heard: How many messages there were before it.
    """

    turn: int
    type: str
    words: str
    told: str = ""
    heard: int = 0


class Tally(NamedTuple):
    """How one detector did."""

    labels: int
    found: int
    false_alarms: int

    @property
    def precision(self) -> float | None:
        """Share of what it reported that is one."""
        reported = self.found + self.false_alarms
        return self.found / reported if reported else None

    @property
    def recall(self) -> float | None:
        """Share of the labels that it found."""
        return self.found / self.labels if self.labels else None


class ReadAloud:
    """A session's log, in memory."""

    def __init__(self) -> None:
        self._messages: list[Message] = []

    def __len__(self) -> int:
        return len(self._messages)

    def __getitem__(self, position: int) -> Message:
        return self._messages[position]

    def append(self, message: Message) -> int:
        self._messages.append(message)
        return len(self._messages) - 1

    def channel(self, channel: str) -> Sequence[Message]:
        return [message for message in self._messages if message.channel == channel]

    def tail(self, channel: str, count: int) -> list[Message]:
        return list(self.channel(channel)[-count:]) if count else []


def read_set(folder: Path, files: str = "*.yaml") -> list[Transcript]:
    """Every transcript of a folder, or of those of its ``files``, in the order of their names.

    Raises:
        BadInput: A file that is not in the format; every mistake in it.
    """
    found: list[Transcript] = []
    for path in sorted(folder.glob(files)):
        text = "".join(f"  {line}" for line in path.read_text("utf-8").splitlines(keepends=True))
        document = parse_document(f"transcripts:\n{text}", str(path))
        found += check(document, Transcripts).transcripts
    return found


def reported(transcript: Transcript) -> list[Finding]:
    """What the detectors report of a transcript."""
    return read_aloud(transcript)[0]


def read_aloud(transcript: Transcript) -> tuple[list[Finding], list[Message]]:
    """What the detectors report of a transcript, and the log of its session."""
    log, world = ReadAloud(), World(transcript.guide, "")
    seats = tuple(
        Seat(name=name, archetype="engaged", persona=_persona(log, name))
        for name in transcript.group
    )
    state = PlaytestState(seats=seats, spokesperson=0, relay_prompt=0, story_at=len(log))
    relay = ""
    found: list[Finding] = []
    for number, turn in enumerate(transcript.turns, start=1):
        text, heard = turn.narrator.strip(), len(log)
        if is_usable(text):
            label = label_from_text(text, relay, transcript.group)
            parts = split_tagged(text, transcript.group)
            output = Output.of(number, text, label, parts)
            state, findings = observe(state, output, world, log, STUCK_AFTER)
            _log_narration(log, number, parts, label.type)
        else:
            findings = [IssueFound("breakdown", history.NARRATOR, "an output without words")]
            state = state.model_copy(update={"turns": number})
        said = [(name, words) for name, words in turn.players.items() if words]
        _log_said(log, number, said, turn)
        findings = [*findings, *detect_remarks(said, [one.kind for one in findings], text)]
        found += [
            Finding(number, one.kind, f"{one.subject}: {one.detail}", report_of(one), heard)
            for one in findings
            if one.kind in TYPES
        ]
        relay = turn.relay
    return found, [log[position] for position in range(len(log))]


def _persona(log: ReadAloud, name: str) -> int:
    return log.append(Message(history.persona_channel(name), history.SYSTEM, f"Name: {name}", 0))


def _log_narration(log: ReadAloud, turn: int, parts: SplitOutput, label: str) -> None:
    if parts.public:
        log.append(Message(history.TABLE, history.NARRATOR, parts.public, turn, label))
    for aside in parts.asides:
        channel = history.private_channel(aside.target)
        log.append(Message(channel, history.NARRATOR, aside.text, turn, "private-moment"))


def _log_said(log: ReadAloud, number: int, said: Sequence[tuple[str, str]], turn: Turn) -> None:
    for name, words in turn.answers.items():
        channel = history.private_channel(name)
        log.append(Message(channel, name, words, number, history.REACTION))
    for name, words in said:
        log.append(Message(history.TABLE, name, words, number, history.REACTION))
    if turn.relay:
        speaker = history.SPOKESPERSON
        log.append(Message(history.TABLE, speaker, turn.relay, number, history.RELAY))


def _near(label: Label, finding: Finding) -> bool:
    return label.type == finding.type and abs(label.turn - finding.turn) <= NEAR


def missed(transcript: Transcript, found: Sequence[Finding]) -> list[Label]:
    """Labels that no finding is near to."""
    return [one for one in transcript.labels if not any(_near(one, each) for each in found)]


def false_alarms(transcript: Transcript, found: Sequence[Finding]) -> list[Finding]:
    """Findings that no label is near to."""
    return [one for one in found if not any(_near(label, one) for label in transcript.labels)]


def tallied(
    pairs: Sequence[tuple[Transcript, Sequence[Finding]]], types: Sequence[str] = TYPES
) -> Tally:
    """Counts over transcripts with what was found in them, of some types of issue."""
    labels = lost = wrong = 0
    for transcript, found in pairs:
        labels += sum(label.type in types for label in transcript.labels)
        lost += sum(label.type in types for label in missed(transcript, found))
        wrong += sum(finding.type in types for finding in false_alarms(transcript, found))
    return Tally(labels, labels - lost, wrong)


def table(pairs: Sequence[tuple[Transcript, Sequence[Finding]]]) -> Iterator[str]:
    """Lines of the table: one for each type, and one for all."""
    yield f"{'type':<16}{'labels':>8}{'found':>7}{'false':>7}{'precision':>11}{'recall':>8}"
    rows = [(name, tallied(pairs, (name,))) for name in TYPES] + [("all", tallied(pairs))]
    for name, tally in rows:
        shares = f"{_share(tally.precision):>11}{_share(tally.recall):>8}"
        yield f"{name:<16}{tally.labels:>8}{tally.found:>7}{tally.false_alarms:>7}{shares}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def as_case(transcript: Transcript) -> Case:
    """A transcript as a judge is given it, and what patterns and labels say of it."""
    found, messages = read_aloud(transcript)
    turns = {
        name: tuple(label.turn for label in transcript.labels if label.type == name)
        for name in TYPES
    }
    reports = [
        Report(one.type, one.turn, one.told, _heard(transcript, one, messages)) for one in found
    ]
    return Case(transcript.id, transcript.guide, messages, turns, reports)


def _heard(
    transcript: Transcript, finding: Finding, messages: Sequence[Message]
) -> Sequence[Message]:
    """What had been said when something was found, and the output that it was found in."""
    text = transcript.turns[finding.turn - 1].narrator.strip()
    output = Message(history.TABLE, history.NARRATOR, text, finding.turn)
    return [*messages[: finding.heard], output]


def as_judged(case: Case, judging: Judging) -> list[Finding]:
    """What a session counts that asks the judge."""
    return [Finding(*one) for one in with_judge(case, judging)]


def listed(pairs: Sequence[tuple[Transcript, Sequence[Finding]]]) -> Iterator[str]:
    """Lines that say what was missed and what was reported wrongly."""
    for transcript, found in pairs:
        for label in missed(transcript, found):
            narrated = " ".join(transcript.turns[label.turn - 1].narrator.split())
            yield f"missed  {transcript.id}, turn {label.turn}: {label.type} ({label.note})"
            yield f"        {narrated[:300]}"
        for finding in false_alarms(transcript, found):
            yield f"false   {transcript.id}, turn {finding.turn}: {finding.type}"
            yield f"        {finding.words[:300]}"


def main() -> int:
    """Measure one set; 0 if it is there."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.detectors",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("set", nargs="?", choices=SETS, default=SETS[0], help="which set")
    parser.add_argument("--misses", action="store_true", help="list misses and false alarms")
    parser.add_argument("--files", default="*.yaml", help="only files of this pattern")
    parser.add_argument("--judge", metavar="MODEL", help="have this model judge them, too")
    parser.add_argument("--max-cost", type=float, default=1.0, help="cap of that, in US dollars")
    parser.add_argument("--answers", type=Path, help="or what a judge has answered: JSON lines")
    options = parser.parse_args()
    folder = FOLDER / options.set
    transcripts = read_set(folder, options.files)
    if not transcripts:
        print(f"no transcripts in {folder}", file=sys.stderr)
        return 1
    pairs = [(transcript, reported(transcript)) for transcript in transcripts]
    clean = sum(not transcript.labels for transcript in transcripts)
    print(f"{options.set}: {len(transcripts)} transcripts, {clean} of them clean")
    print("\n".join(table(pairs)))
    if options.misses:
        print("\n".join(listed(pairs)))
    if not (options.judge or options.answers):
        return 0
    both = [(one, as_case(one)) for one in transcripts]
    cases = [case for _, case in both]
    try:
        if options.answers:
            judging = judged_transcripts.recorded(cases, options.answers)
        else:
            judging = judged_transcripts.judge(cases, options.judge, options.max_cost)
    except (MatrixError, ValidationError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    _print_judged(both, judging, options.misses)
    return 0


def _print_judged(both: Sequence[tuple[Transcript, Case]], judging: Judging, misses: bool) -> None:
    cases = [case for _, case in both]
    print()
    print("\n".join(judged_transcripts.table(cases, judging)))
    print("\nall types, as sessions count that ask the judge:")
    print("\n".join(table([(one, as_judged(case, judging)) for one, case in both])))
    if misses:
        print("\n".join(judged_transcripts.listed(cases, judging)))


if __name__ == "__main__":
    sys.exit(main())
