"""What a judge finds in labelled transcripts, and what it makes of what the patterns report.

The transcripts are said again in sessions of runs, and judged by the shipped rubrics of
play-tests as sessions of play-tests are: the same requests, read in the same way, under one cap.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict

from matrix.judging.listed import cited
from matrix.judging.rubric_file import RubricFile, read_rubric
from matrix.kinds.library import shipped_root
from matrix.kinds.playtest.setup.options import CheckedIssue
from matrix.kinds.playtest.table.review import confirming, turn_cited
from matrix.model.money import NANO_PER_USD
from matrix.model.records import Message
from matrix.stats import wilson

RUBRICS: Final[tuple[str, ...]] = get_args(CheckedIssue)
"""Types of issue that a judge is asked about: each has a rubric of its name."""

FAIL, PASS = "FAIL", "PASS"
NEAR: Final = 1
"""Turns between a label and a message that is taken for its place."""

_COMPLETE: Final = "complete"
_RUBRICS: Final = shipped_root() / "scenarios" / "playtest" / "rubrics"
_SIMULATED: Final = "sim/"
_WIDTH: Final = 36
_KIND: Final = '''
import matrix


@matrix.scenario(cases="transcripts.jsonl", scores=["messages_said"])
async def transcript(ctx: matrix.ScenarioContext, guide: str, report: str, messages: list):
    """A labelled transcript, said again as it was."""
    for speaker, text, channel, label in messages:
        ctx.say(speaker, text, channel=channel, label=label)
    ctx.score("messages_said", len(messages))
'''


class Report(NamedTuple):
    """What a pattern reports of an output.

    Attributes:
        kind: Type of the issue.
        turn: Turn of the output.
        told: What a judge is told of it.
        messages: What had been said by then, the output last.
    """

    kind: str
    turn: int
    told: str
    messages: Sequence[Message]


class Case(NamedTuple):
    """A transcript, with what is known of it.

    Attributes:
        name: Its id.
        guide: The story's guide.
        messages: What a session's log has of it.
        labels: Type -> turns that are labelled with it.
        reports: What the patterns report of it.
    """

    name: str
    guide: str
    messages: Sequence[Message]
    labels: dict[str, tuple[int, ...]]
    reports: Sequence[Report]

    @property
    def patterns(self) -> frozenset[str]:
        """Types that the patterns report, wherever."""
        return frozenset(one.kind for one in self.reports)


class Verdict(NamedTuple):
    """A judge's word on one transcript: ``PASS``, ``FAIL``, ``UNCERTAIN``, or empty for none."""

    word: str
    reason: str


Verdicts = dict[tuple[str, str], Verdict]
"""(transcript, type) -> the verdict; without those that the run did not come to."""

Confirmed = dict[tuple[str, int], Verdict]
"""(transcript, place among its reports) -> the verdict on the report."""


class Judging(NamedTuple):
    """All verdicts of a model.

    Attributes:
        model: Its name.
        verdicts: One for each transcript and type.
        confirmed: One for each report of a pattern.
        max_cost: The cap, in US dollars.
        spent_usd: What it cost; made up for simulated models.
        status: How the runs ended; the first that was not complete.
    """

    model: str
    verdicts: Verdicts
    confirmed: Confirmed
    max_cost: float
    spent_usd: float
    status: str


class Answer(BaseModel):
    """A line of a file of answers: of a transcript, or of a report of a pattern about it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    transcript: str
    kind: CheckedIssue
    report: str = ""
    word: Literal["PASS", "FAIL", "UNCERTAIN"]
    reason: str


def recorded(cases: Sequence[Case], file: Path) -> Judging:
    """What a judge has said before, who was asked the same questions elsewhere.

    A report that patterns make since then has no answer, and counts as they have it.

    Args:
        cases: The transcripts.
        file: JSON lines, each an :class:`Answer`.
    """
    lines = file.read_text(encoding="utf-8").splitlines()
    answers = [Answer.model_validate_json(line) for line in lines]
    verdicts: Verdicts = {
        (one.transcript, one.kind): Verdict(one.word, one.reason)
        for one in answers
        if not one.report
    }
    of_reports = {(one.transcript, one.report): one for one in answers if one.report}
    confirmed: Confirmed = {
        (case.name, place): Verdict(answer.word, answer.reason)
        for case in cases
        for place, report in enumerate(case.reports)
        if (answer := of_reports.get((case.name, report.told)))
    }
    return Judging(f"the answers in {file.name}", verdicts, confirmed, 0.0, 0.0, _COMPLETE)


class _Said(NamedTuple):
    """A session of a run of judges: what is said again in it."""

    name: str
    guide: str
    report: str
    messages: Sequence[Message]


def judge(
    cases: Sequence[Case], model: str, max_cost: float, more: Mapping[str, Any] | None = None
) -> Judging:
    """Have a model judge every transcript by every rubric, and then every report of a pattern.

    Args:
        cases: The transcripts.
        model: Who judges: a model, or an agent of ``more``.
        max_cost: Cap of all that, in US dollars.
        more: Further parts of the run spec.

    Raises:
        MatrixError: The model cannot be asked.
    """
    rubrics = {name: read_rubric(_RUBRICS / f"{name}.md") for name in RUBRICS}
    whole = [_Said(one.name, one.guide, "", one.messages) for one in cases]
    found, spent, status = _run(whole, rubrics, model, max_cost, more or {})
    confirmed: Confirmed = {}
    for kind in RUBRICS:
        reports = {
            f"{one.name}-report-{place}": (one, place)
            for one in cases
            for place, report in enumerate(one.reports)
            if report.kind == kind
        }
        if not reports or spent >= max_cost:
            continue
        said = [_reported(name, one, place) for name, (one, place) in reports.items()]
        asked = {kind: confirming(rubrics[kind])}
        verdicts, more_spent, ended = _run(said, asked, model, max_cost - spent, more or {})
        confirmed |= {
            (reports[name][0].name, reports[name][1]): verdict
            for (name, _), verdict in verdicts.items()
        }
        spent, status = spent + more_spent, status if status != _COMPLETE else ended
    return Judging(model, found, confirmed, max_cost, spent, status)


def _reported(name: str, case: Case, place: int) -> _Said:
    report = case.reports[place]
    return _Said(name, case.guide, report.told, report.messages)


def _run(
    said: Sequence[_Said],
    rubrics: Mapping[str, RubricFile],
    model: str,
    max_cost: float,
    more: Mapping[str, Any],
) -> tuple[Verdicts, float, str]:
    """Verdicts on each by each rubric, what they cost in US dollars, and how the run ended."""
    from matrix import api
    from matrix.store.reading.reader import RunTables

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = api.run(
            _project(folder, said, rubrics, model, more),
            sessions=len(said),
            max_cost=max_cost,
            at_cap="spend-all",
            results=folder / "results",
            executor="in-process",
        )
        tables = RunTables(run.path)
        frame = tables.frame("sessions", ["session_id", "scenario"])
        scenarios = dict(zip(frame.session_id, frame.scenario.astype(str), strict=True))
        found: Verdicts = {}
        scores: Any = tables.frame("scores", ["session_id", "name", "label", "reason"])
        for row in scores[scores["name"].isin(RUBRICS)].itertuples():
            words = (one if isinstance(one, str) else "" for one in (row.label, row.reason))
            found[scenarios[row.session_id], str(row.name)] = Verdict(*words)
        return found, run.summary().spent_nano / NANO_PER_USD, run.status


def _project(
    folder: Path,
    said: Sequence[_Said],
    rubrics: Mapping[str, RubricFile],
    model: str,
    more: Mapping[str, Any],
) -> Path:
    (folder / "transcripts.py").write_text(_KIND, encoding="utf-8")
    lines = [
        json.dumps(
            {
                "name": one.name,
                "guide": one.guide,
                "report": one.report,
                "messages": [[m.speaker, m.text, m.channel, m.label] for m in one.messages],
            }
        )
        for one in said
    ]
    (folder / "transcripts.jsonl").write_text("\n".join(lines), encoding="utf-8")
    for name, rubric in rubrics.items():
        front = f"answer: {rubric.answer}\ntexts: [{', '.join(rubric.texts)}]"
        text = f"---\n{front}\n---\n{rubric.instructions}\n"
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    spec: dict[str, Any] = {
        "version": 1,
        "name": "judged-transcripts",
        "kind": "./transcripts.py",
        "judges": [{"rubric": f"./{name}.md", "model": model} for name in rubrics],
        **more,
    }
    path = folder / "matrix.yaml"
    path.write_text(json.dumps(spec), encoding="utf-8")
    return path


def with_judge(case: Case, judging: Judging) -> list[tuple[int, str, str]]:
    """What a session counts that asks the judge: turn, type, and whose word it is.

    Reports that it does not pass, and where none of a type is left, what its reading found.
    """
    found: list[tuple[int, str, str]] = []
    for place, report in enumerate(case.reports):
        verdict = judging.confirmed.get((case.name, place))
        if verdict is None or verdict.word != PASS:
            found.append((report.turn, report.kind, report.told))
    said = dict(enumerate(case.messages))
    for kind in RUBRICS:
        word, reason = judging.verdicts.get((case.name, kind), Verdict("", ""))
        turn = turn_cited(reason, said)
        if word == FAIL and turn is not None and all(one != kind for _, one, _ in found):
            found.append((turn, kind, reason))
    return found


def names_the_turn(case: Case, kind: str, verdict: Verdict) -> bool:
    """Whether the reason names a message that is near to a label of this type."""
    said = [case.messages[n].turn for n in cited(verdict.reason) if n < len(case.messages)]
    return any(abs(turn - label) <= NEAR for turn in said for label in case.labels[kind])


def table(cases: Sequence[Case], judging: Judging) -> Iterator[str]:
    """Lines that say who found what: patterns, the judge, either, or both as sessions ask it."""
    money = f"spent ${judging.spent_usd:.4f} of at most ${judging.max_cost:g}"
    how = f": {money}; the run is {judging.status}" if judging.max_cost else ""
    yield f"judged by {judging.model}{how}"
    if judging.model.startswith(_SIMULATED):
        yield "a simulated judge does not read: what stands of it below means nothing"
    yield "by transcript; in brackets 95 % intervals (Wilson)"
    for kind in RUBRICS:
        yield ""
        reached = [one for one in cases if (one.name, kind) in judging.verdicts]
        if len(reached) < len(cases):
            lost = len(cases) - len(reached)
            yield f"{lost} of {len(cases)} transcripts were not judged; they are left out here"
        yield from _of_type(kind, reached, judging)


def _of_type(kind: str, cases: Sequence[Case], judging: Judging) -> Iterator[str]:
    verdicts = judging.verdicts
    labelled = [one for one in cases if one.labels.get(kind)]
    others = [one for one in cases if not one.labels.get(kind)]

    def judged(one: Case) -> bool:
        return verdicts[one.name, kind].word == FAIL

    def matched(one: Case) -> bool:
        return kind in one.patterns

    finders: dict[str, Callable[[Case], bool]] = {
        "patterns alone": matched,
        "judge alone": judged,
        "either": lambda one: matched(one) or judged(one),
        "with the judge": lambda one: any(
            found == kind for _, found, _ in with_judge(one, judging)
        ),
    }
    head = "".join(f"{name:<{_WIDTH}}" for name in ("labelled, found", "others, reported"))
    yield f"{kind:<18}{head}right of what was reported"
    for name, finds in finders.items():
        found, wrong = sum(map(finds, labelled)), sum(map(finds, others))
        shares = ((found, len(labelled)), (wrong, len(others)), (found, found + wrong))
        yield f"  {name:<16}{''.join(f'{_share(*one):<{_WIDTH}}' for one in shares)}".rstrip()
    right = [one for one in labelled if judged(one)]
    placed = sum(names_the_turn(one, kind, verdicts[one.name, kind]) for one in right)
    words = [verdicts[one.name, kind].word for one in cases]
    yield f"  {placed} of the judge's {len(right)} name a message within a turn of the label"
    yield f"  without a verdict: {words.count('UNCERTAIN')} UNCERTAIN, {words.count('')} none"


def _share(count: int, of: int) -> str:
    interval = wilson(count, of)
    if interval is None:
        return f"{count} of {of}"
    return f"{count} of {of}  {count / of:.2f} [{interval.low:.2f}, {interval.high:.2f}]"


def listed(cases: Sequence[Case], judging: Judging) -> Iterator[str]:
    """Lines that say where the judge is not of one mind with the labels, and why."""
    for one in cases:
        for kind in RUBRICS:
            if (one.name, kind) not in judging.verdicts:
                continue
            word, reason = judging.verdicts[one.name, kind]
            if (word == FAIL) is not bool(one.labels.get(kind)):
                which = "false " if word == FAIL else "missed"
                yield f"{which}  {one.name}: {kind}, judged {word or 'without a verdict'}"
                yield f"        {' '.join(reason.split())[:300]}"
