"""What labels of other runs show of a judge that compares the same variants here.

A judge is a model and a rubric, and counts as checked by labels of any run. Where these show that
it errs differently for two variants, it may do so again for those of the same names, whose sessions
nobody has labelled here: that undoes nothing, and has to be told before anybody leans on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from matrix.model.errors import MatrixError
from matrix.report.compare.judges.judge_bias import BiasDifference
from matrix.report.compare.judges.judge_check import judge_differs
from matrix.report.compare.judges.labelled import labels_beside, names_of_transcripts
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


def errs_elsewhere(matchup: Matchup, metric: str) -> tuple[ErrsElsewhere, ...]:
    """Other runs whose labels show that; of judges who have part in this, and of this factor."""
    labels = {
        tables.run_dir.parent: [one for one in labels_beside([tables]) if one.metric == metric]
        for tables in matchup.sources
    }
    if not any(labels.values()):
        return ()  # most runs have none, and tables are large
    here = {name for tables in matchup.sources for name in _names(tables)}
    judges = {judge for tables in matchup.sources for judge in judges_of(tables).get(metric, ())}
    found = (
        error
        for folder, own in labels.items()
        for error in _by_run(
            folder,
            [one for one in own if one.judge in judges and not {one.place, one.transcript} & here],
            matchup,
        )
    )
    return tuple(dict.fromkeys(found))


def _names(tables: RunTables) -> Iterator[LabelledTranscript]:
    for names in names_of_transcripts(tables).values():
        yield from names


def _by_run(folder: Path, labels: Sequence[Label], matchup: Matchup) -> Iterator[ErrsElsewhere]:
    runs: dict[str, list[Label]] = {}
    for one in labels:
        runs.setdefault(one.run, []).append(one)
    for run in sorted(runs, key=lambda name: -len(runs[name]))[:MOST_RUNS]:
        levels = {
            place: level
            for place, level in _levels(folder, run, matchup.factor).items()
            if level in matchup.variants
        }
        judges: dict[JudgeId, list[Label]] = {}
        for one in runs[run]:
            if one.place in levels:
                judges.setdefault(one.judge, []).append(one)
        for mine in judges.values():
            yield from (ErrsElsewhere(run, error) for error in judge_differs(mine, levels))


def _levels(folder: Path, run: str, factor: str) -> dict[LabelledTranscript, str]:
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
    sessions = zip(frame.session_id.astype(str), frame[column].astype(str), strict=True)
    return {LabelledTranscript(run, session): level for session, level in sessions}
