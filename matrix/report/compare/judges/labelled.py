"""Variants by what people say, made sharper by a judge who has rated every session."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from matrix.engine.prepare.judges import names_of
from matrix.model.errors import MatrixError
from matrix.report.compare.judges.judge_bias import BiasDifference, BiasRow, bias_of
from matrix.report.compare.judges.judge_check import (
    Standing,
    alpha_among_people,
    people_differ,
    standing_of,
)
from matrix.report.text import names_listed, plural
from matrix.stats import Interval, PoweredMean, powered_mean, powered_share
from matrix.store.reading.reader import RunTables
from matrix.store.run.made_here import is_made_here
from matrix.store.run.run_folder import RUN_ID, RunFile, read_run
from matrix.store.shared.labels import (
    JudgeId,
    Label,
    LabelledTranscript,
    judged_values,
    judges_of,
    people_say,
    read_labels,
)

if TYPE_CHECKING:
    from matrix.report.compare.matchup import Matchup

LEAST_WITH_JUDGE = 10
"""Labelled sessions of a variant from which its judge has a part in its mean."""


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """One variant: what its judge says of all sessions, and people of some.

    Attributes:
        level: The variant.
        labelled: Sessions that people labelled, among those that the judge scored.
        sessions: Sessions that the judge scored.
        judge: Mean of the judge, all sessions: the raw one.
        people: Mean of people, labelled sessions.
        mean: The two together: right however wrong the judge is.
        interval: For ``mean``.
        judge_weight: How much of the judge's rating goes into ``mean``; 0 for nothing.
    """

    level: str
    labelled: int
    sessions: int
    judge: float | None
    people: float | None
    mean: float | None
    interval: Interval | None
    judge_weight: float


@dataclass(frozen=True, slots=True)
class ByPeople:
    """Prediction-powered means of the variants, and whether the judge favours one.

    Attributes:
        metric: The score.
        rows: The variants.
        bias: How the judge errs for each, as far as labels can show it.
        differs: Pairs for which it is shown to err differently.
        people_alpha: How far people agree with each other, where several labelled the same; where
            that is too little, ``bias`` and ``differs`` are empty: it may be they who err.
    """

    metric: str
    rows: tuple[LabelledRow, ...]
    bias: tuple[BiasRow, ...]
    differs: tuple[BiasDifference, ...]
    people_alpha: float | None = None

    def knows(self, error: BiasDifference) -> bool:
        """Whether enough of both variants is labelled here to see an error for oneself."""
        counts = {row.level: row.labelled for row in self.rows}
        return min(counts.get(one, 0) for one in (error.first, error.second)) >= LEAST_WITH_JUDGE

    def error_between(self, first: str, second: str) -> BiasDifference | None:
        """How much more the judge errs for ``first``, where it is shown to err differently."""
        found = (one.turned(first) for one in self.differs if one.concerns(first, second))
        return next(found, None)


def _powered(
    people: NDArray[np.float64], judge: NDArray[np.float64], elsewhere: NDArray[np.float64]
) -> PoweredMean:
    """The judge helps as far as enough labels show that it does, and never turns people round.

    Its weight is estimated from the labels. From few of them it can be anything, and beyond 0 and
    1 it would count a judge against itself, or for more than its own points (PPI++ clips it, too).
    """
    few = people.size < LEAST_WITH_JUDGE
    if np.isin(np.concatenate([people, judge, elsewhere]), (0.0, 1.0)).all():
        found = powered_share(people, judge, elsewhere, with_judge=not few)
        against = found.judge_weight < 0
        return powered_share(people, judge, elsewhere, with_judge=False) if against else found
    if few:
        return powered_mean(people, judge, elsewhere, judge_weight=0.0)
    found = powered_mean(people, judge, elsewhere)
    if 0 <= found.judge_weight <= 1:
        return found
    clipped = min(1.0, max(0.0, found.judge_weight))
    return powered_mean(people, judge, elsewhere, judge_weight=clipped)


def names_of_transcripts(tables: RunTables) -> dict[str, tuple[LabelledTranscript, ...]]:
    """Session -> what its transcript is labelled under.

    Itself, and where a run judges another's sessions again, the session there.
    """
    run, branched = tables.run, tables.run.branched
    again = branched.run_id if branched is not None and branched.mode == "rejudge" else ""
    frame = tables.frame("sessions", ["session_id", "parent_session_id"])
    found: dict[str, tuple[LabelledTranscript, ...]] = {}
    for own, parent in zip(frame.session_id, frame.parent_session_id, strict=True):
        there = (
            [LabelledTranscript(again, str(parent))] if again and isinstance(parent, str) else []
        )
        found[str(own)] = (*there, LabelledTranscript(run.run_id, str(own)))
    return found


def labels_beside(sources: Sequence[RunTables]) -> list[Label]:
    """All labels that are kept beside these runs."""
    return [label for labels in _labels_by_folder(sources).values() for label in labels]


def _labels_by_folder(sources: Sequence[RunTables]) -> dict[Path, list[Label]]:
    return {tables.run_dir.parent: read_labels(tables.run_dir.parent) for tables in sources}


def standing_in(metric: str, sources: Sequence[RunTables]) -> Standing | None:
    """How the judges of a score stand, in these runs; ``None`` where no judge has part in it.

    A transcript of these runs counts with what its judge gave it here, others with what was given
    when they were labelled. An agent is a program that may have been edited since, so of a judge
    that is one, labels of other runs count only where these have none, and not of a run that
    declares another agent by that name.
    """
    judges: set[JudgeId] = set()
    for tables in sources:
        there = judges_of(tables)
        parts = [metric] if metric in there else _parts(metric, tables, there)
        judges |= {judge for name in parts for judge in there[name]}
    if not judges:
        return None
    beside = _labels_by_folder(sources)
    labels = [one for labels in beside.values() for one in labels]
    here, elsewhere = _judged_here(sources, labels)
    agents = {judge for judge in judges if any(_declared(judge, one.run) for one in sources)}
    unknown = agents - {one.judge for one in here}
    asked = {(one.judge, one.run) for one in elsewhere if one.judge in unknown}
    same = {one for one in asked if not _is_another(*one, sources)}
    of_agents = [one for one in elsewhere if (one.judge, one.run) in same]
    others = [one for one in elsewhere if one.judge not in agents]
    standing = standing_of(metric, judges, [*here, *of_agents, *others])
    if standing is None:
        return None
    told = [standing.sentence, _labelled_there(of_agents), _strange_labels(judges, beside)]
    return replace(standing, sentence=" ".join(filter(None, told)))


def _declared(judge: JudgeId, run: RunFile) -> list[tuple[str, Any]]:
    """The agents of a run that are members of a judge, as its spec declares them."""
    agents = run.spec.get("agents") or {}
    return [(name, agents[name]) for name in judge.model.split(", ") if name in agents]


def _is_another(judge: JudgeId, run_id: str, sources: Sequence[RunTables]) -> bool:
    """Whether a run that is here declares other agents by these names; one that is not may be."""
    if not re.fullmatch(RUN_ID, run_id):
        return False
    here = [_declared(judge, tables.run) for tables in sources]
    for folder in {tables.run_dir.parent for tables in sources}:
        try:
            there = _declared(judge, read_run(folder / run_id))
        except MatrixError:
            continue
        return there not in here
    return False


def _labelled_there(of_agents: Sequence[Label]) -> str:
    """Which runs agents were labelled in, where these have no labels of them."""
    if not of_agents:
        return ""
    agents = names_listed(sorted({one.judge.model for one in of_agents}))
    runs = names_listed(sorted({one.run for one in of_agents}))
    return (
        f"The labels of {agents} are of {runs}: a program that was edited since is another judge."
    )


def _judged_here(
    sources: Sequence[RunTables], labels: Sequence[Label]
) -> tuple[list[Label], list[Label]]:
    """Labels of these runs' transcripts, with what their judges gave here; and the others."""
    here, left = list[Label](), list(labels)
    for tables in sources if labels else ():
        homes: dict[LabelledTranscript, list[str]] = {}
        for session, names in names_of_transcripts(tables).items():
            for name in names:
                homes.setdefault(name, []).append(session)
        mine = [one for one in left if one.place in homes or one.transcript in homes]
        left = [one for one in left if not (one.place in homes or one.transcript in homes)]
        sessions = [s for one in mine for s in _at_home(one, homes)]
        values = {
            name: judged_values(tables, name, sessions) for name in {one.metric for one in mine}
        }
        for one in mine:
            for session in _at_home(one, homes):
                if session in values[one.metric]:
                    here.append(_with_judge(one, *values[one.metric][session]))
    return here, left


def _at_home(label: Label, homes: Mapping[LabelledTranscript, list[str]]) -> list[str]:
    return homes.get(label.place) or homes[label.transcript]


def _with_judge(label: Label, value: float | None, judge: JudgeId) -> Label:
    return label.model_copy(
        update={
            "judge_value": value,
            "judge_model": judge.model,
            "rubric_hash": judge.rubric,
            "of": label.transcript.session,
            "of_run": label.transcript.run,
        }
    )


def _strange_labels(judges: Collection[JudgeId], beside: Mapping[Path, Sequence[Label]]) -> str:
    """Which labels somebody else may have written, because what they are of is not here."""
    own: dict[Path, bool] = {}
    strange: dict[str, int] = {}
    for folder, labels in beside.items():
        for label in labels:
            place = folder / Path(label.run).name
            if label.value is None or label.judge not in judges:
                continue
            if place not in own:
                own[place] = _is_own(place)
            if not own[place]:
                strange[label.run] = strange.get(label.run, 0) + 1
    if not strange:
        return ""
    count = plural(sum(strange.values()), "label")
    runs = names_listed(sorted(strange))
    return f"Of {runs}, not here or not made by you, come {count}: the word of whoever wrote them."


def _is_own(run_dir: Path) -> bool:
    if not re.fullmatch(RUN_ID, run_dir.name):
        return False
    try:
        return is_made_here(run_dir, read_run(run_dir))
    except MatrixError:
        return False


def judged_parts(metric: str, sources: Sequence[RunTables]) -> list[str]:
    """Scores of judges that go into another: a kind's own into ``score``, criteria into a rubric's.

    None where a judge of the kind gives ``score`` itself.
    """
    found: set[str] = set()
    for tables in sources:
        if metric != "score" and metric not in names_of(tables.run.spec):
            continue
        there = judges_of(tables)
        if metric == "score" and metric in there:
            return []
        found.update(_parts(metric, tables, there))
    return sorted(found)


def _parts(metric: str, tables: RunTables, there: Iterable[str]) -> list[str]:
    """A rubric is made of its criteria; ``score`` of nothing that judges beside the kind give."""
    listed = names_of(tables.run.spec)
    if metric in listed:
        return [name for name in there if name.startswith(f"{metric}.")]
    if metric != "score":
        return []
    return [name for name in there if name.partition(".")[0] not in ("judge", *listed)]


def by_people(matchup: Matchup, metric: str, least: int = 2) -> ByPeople | None:
    """The variants by labels of their sessions.

    Args:
        matchup: Who competes.
        metric: By what score.
        least: Variants that must have labels, or all where there are fewer.

    Returns:
        What people say; ``None`` with labels of fewer variants.
    """
    labels = [one for one in labels_beside(matchup.sources) if one.metric == metric]
    if not labels:
        return None
    names = [names_of_transcripts(tables) for tables in matchup.sources]
    known = [
        names[source][str(session)]
        for source, session in zip(matchup.source, matchup.ids, strict=True)
    ]
    people = people_say(labels, metric, known)
    judge, rows = matchup.values(metric), list[LabelledRow]()
    for side, level in enumerate(matchup.variants):
        mine = (matchup.sides == side) & np.isfinite(judge)
        both = mine & np.isfinite(people)
        found = _powered(people[both], judge[both], judge[mine & ~both])
        rows.append(
            LabelledRow(
                level=level,
                labelled=found.n_labelled,
                sessions=found.n_all,
                judge=float(judge[mine].mean()) if mine.any() else None,
                people=found.people_only,
                mean=found.mean,
                interval=found.interval,
                judge_weight=found.judge_weight,
            )
        )
    if sum(row.labelled > 0 for row in rows) < min(least, len(rows)):
        return None
    both = np.isfinite(people) & np.isfinite(judge)
    levels = [matchup.variants[side] for side in matchup.sides[both]]
    alpha = _alpha_of(labels, known)
    if people_differ(alpha):
        return ByPeople(metric, tuple(rows), (), (), alpha)
    return ByPeople(metric, tuple(rows), *bias_of(people[both], judge[both], levels), alpha)


def by_parts(matchup: Matchup, metric: str) -> list[ByPeople]:
    """The variants by labels of a score's parts, where it has parts that judges give.

    How much of a score an error in one of its parts makes is not worked out: that one is there has
    to be told.
    """
    labelled = {label.metric for label in labels_beside(matchup.sources)} - {metric}
    if not labelled:
        return []  # as most runs; the table of scores is large
    parts = judged_parts(metric, matchup.sources)
    found = (by_people(matchup, name, least=1) for name in parts if name in labelled)
    return [one for one in found if one is not None]


def _alpha_of(
    labels: Iterable[Label], known: Iterable[Iterable[LabelledTranscript]]
) -> float | None:
    """How far people agree with each other on these transcripts; each counts once for each."""
    there = {name for names in known for name in names}
    places: dict[LabelledTranscript, dict[str, Label]] = {}
    for label in labels:
        if label.place in there and label.value is not None:
            places.setdefault(label.transcript, {})[label.rater] = label
    return alpha_among_people([list(group.values()) for group in places.values()])
