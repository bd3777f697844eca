"""What labels of other runs show of a judge that compares the same variants here.

A judge is a model and a rubric, and counts as checked by labels of any run. Where these show that
it errs differently for two variants, it may do so again for those of the same names, whose sessions
nobody has labelled here: that undoes nothing, and has to be told before anybody leans on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from matrix.model.errors import MatrixError
from matrix.report.compare.judge_bias import BiasDifference, bias_of
from matrix.report.compare.judge_check import alpha_among_people, people_differ
from matrix.report.compare.labelled import labels_beside, names_of_transcripts
from matrix.report.compare.matchup import Matchup
from matrix.store.reading.reader import RunTables
from matrix.store.run.run_folder import RUN_ID, read_run
from matrix.store.shared.labels import JudgeId, Label, LabelledTranscript, judges_of
from matrix.store.tables.tables import factor_columns

MOST_RUNS: Final = 20
"""Labelled runs that are looked at, those first that have most labels."""


class ErrsElsewhere(NamedTuple):
    """A run by whose labels the judge errs differently for two variants of the same names."""

    run: str
    error: BiasDifference


def errs_elsewhere(matchup: Matchup, metric: str) -> list[ErrsElsewhere]:
    """Other runs whose labels show that; of judges who have part in this, and of this factor."""
    here = {name for tables in matchup.sources for name in _names(tables)}
    judges = {judge for tables in matchup.sources for judge in judges_of(tables).get(metric, ())}
    found: list[ErrsElsewhere] = []
    for folder in {tables.run_dir.parent for tables in matchup.sources} if judges else ():
        labels = [
            one
            for one in labels_beside([t for t in matchup.sources if t.run_dir.parent == folder])
            if one.metric == metric and one.judge in judges and one.judge_value is not None
        ]
        left = [one for one in labels if not {one.place, one.transcript} & here]
        found += [one for one in _by_run(folder, left, matchup) if one not in found]
    return found


def _names(tables: RunTables) -> Iterator[LabelledTranscript]:
    for names in names_of_transcripts(tables).values():
        yield from names


def _by_run(folder: Path, labels: Sequence[Label], matchup: Matchup) -> Iterator[ErrsElsewhere]:
    runs: dict[str, list[Label]] = {}
    for one in labels:
        runs.setdefault(one.run, []).append(one)
    for run in sorted(runs, key=lambda name: -len(runs[name]))[:MOST_RUNS]:
        levels = _levels(folder, run, matchup.factor)
        judges: dict[JudgeId, list[Label]] = {}
        for one in runs[run]:
            if levels.get(one.session) in matchup.variants:
                judges.setdefault(one.judge, []).append(one)
        for mine in judges.values():
            for error in _differs(mine, levels):
                yield ErrsElsewhere(run, error)


def _differs(labels: Sequence[Label], levels: Mapping[str, str]) -> tuple[BiasDifference, ...]:
    sessions: dict[str, list[Label]] = {}
    for one in labels:
        sessions.setdefault(one.session, []).append(one)
    if people_differ(alpha_among_people(sessions.values())):
        return ()
    people = np.array([np.mean([one.value or 0.0 for one in own]) for own in sessions.values()])
    judge = np.array([own[-1].judge_value for own in sessions.values()], dtype=np.float64)
    return bias_of(people, judge, [levels[session] for session in sessions])[1]


def _levels(folder: Path, run: str, factor: str) -> dict[str, str]:
    """Session -> level of the factor, in a run that is here and has it."""
    if not re.fullmatch(RUN_ID, run):
        return {}
    try:
        column = factor_columns(read_run(folder / run).plan.factors).get(factor)
        if column is None:
            return {}
        frame = RunTables(folder / run).frame("sessions", ["session_id", column])
    except (MatrixError, OSError):
        return {}
    return dict(zip(frame.session_id.astype(str), frame[column].astype(str), strict=True))
