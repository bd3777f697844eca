"""What a judge finds in labelled transcripts, beside what the patterns of the detectors find.

The transcripts are said again in sessions of one run, and judged by the shipped rubrics of
play-tests as sessions of play-tests are: the same requests, read in the same way, under a cap.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from matrix.judging.listed import cited
from matrix.kinds.library import shipped_root
from matrix.model.money import NANO_PER_USD
from matrix.model.records import Message
from matrix.stats import wilson

RUBRICS: Final = ("contradiction", "character_break")
"""Types of issue that a judge is asked about: each has a rubric of its name."""

FAIL: Final = "FAIL"
NEAR: Final = 1
"""Turns between a label and a message that is taken for its place."""

_SIMULATED: Final = "sim/"
_WIDTH: Final = 36
_KIND: Final = '''
import matrix


@matrix.scenario(cases="transcripts.jsonl", scores=["messages_said"])
async def transcript(ctx: matrix.ScenarioContext, guide: str, messages: list):
    """A labelled transcript, said again as it was."""
    for speaker, text, channel, label in messages:
        ctx.say(speaker, text, channel=channel, label=label)
    ctx.score("messages_said", len(messages))
'''


class Case(NamedTuple):
    """A transcript, with what is known of it.

    Attributes:
        name: Its id.
        guide: The story's guide.
        messages: What a session's log has of it.
        labels: Type -> turns that are labelled with it.
        patterns: Types that the patterns report, wherever.
    """

    name: str
    guide: str
    messages: Sequence[Message]
    labels: dict[str, tuple[int, ...]]
    patterns: frozenset[str]


class Verdict(NamedTuple):
    """A judge's word on one transcript: ``PASS``, ``FAIL``, ``UNCERTAIN``, or empty for none."""

    word: str
    reason: str


Verdicts = dict[tuple[str, str], Verdict]
"""(transcript, type) -> the verdict; without those that the run did not come to."""


class Judging(NamedTuple):
    """All verdicts of a model.

    Attributes:
        model: Its name.
        verdicts: One for each transcript and type.
        max_cost: The run's cap, in US dollars.
        spent_usd: What it cost; made up for simulated models.
        status: How the run ended.
    """

    model: str
    verdicts: Verdicts
    max_cost: float
    spent_usd: float
    status: str


def judge(
    cases: Sequence[Case], model: str, max_cost: float, more: Mapping[str, Any] | None = None
) -> Judging:
    """Have a model judge every transcript by every rubric, in one run.

    Args:
        cases: The transcripts.
        model: Who judges: a model, or an agent of ``more``.
        max_cost: Cap of the run, in US dollars.
        more: Further parts of the run spec.

    Raises:
        MatrixError: The model cannot be asked.
    """
    from matrix import api
    from matrix.store.reading.reader import RunTables

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = api.run(
            _project(folder, cases, model, more or {}),
            sessions=len(cases),
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
        spent = run.summary().spent_nano / NANO_PER_USD
        return Judging(model, found, max_cost, spent, run.status)


def _project(folder: Path, cases: Sequence[Case], model: str, more: Mapping[str, Any]) -> Path:
    (folder / "transcripts.py").write_text(_KIND, encoding="utf-8")
    lines = [
        json.dumps(
            {
                "name": one.name,
                "guide": one.guide,
                "messages": [[m.speaker, m.text, m.channel, m.label] for m in one.messages],
            }
        )
        for one in cases
    ]
    (folder / "transcripts.jsonl").write_text("\n".join(lines), encoding="utf-8")
    rubrics = shipped_root() / "scenarios" / "playtest" / "rubrics"
    spec: dict[str, Any] = {
        "version": 1,
        "name": "judged-transcripts",
        "kind": "./transcripts.py",
        "judges": [{"rubric": f"file://{rubrics / name}.md", "model": model} for name in RUBRICS],
        **more,
    }
    path = folder / "matrix.yaml"
    path.write_text(json.dumps(spec), encoding="utf-8")
    return path


def names_the_turn(case: Case, kind: str, verdict: Verdict) -> bool:
    """Whether the reason names a message that is near to a label of this type."""
    said = [case.messages[n].turn for n in cited(verdict.reason) if n < len(case.messages)]
    return any(abs(turn - label) <= NEAR for turn in said for label in case.labels[kind])


def table(cases: Sequence[Case], judging: Judging) -> Iterator[str]:
    """Lines that say what was found by patterns alone, by the judge alone, and by either."""
    money = f"spent ${judging.spent_usd:.4f} of at most ${judging.max_cost:g}"
    yield f"judged by {judging.model}: {money}; the run is {judging.status}"
    if judging.model.startswith(_SIMULATED):
        yield "a simulated judge does not read: what stands of it below means nothing"
    yield "by transcript; in brackets 95 % intervals (Wilson)"
    for kind in RUBRICS:
        yield ""
        reached = [one for one in cases if (one.name, kind) in judging.verdicts]
        if len(reached) < len(cases):
            lost = len(cases) - len(reached)
            yield f"{lost} of {len(cases)} transcripts were not judged; they are left out here"
        yield from _of_type(kind, reached, judging.verdicts)


def _of_type(kind: str, cases: Sequence[Case], verdicts: Verdicts) -> Iterator[str]:
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
