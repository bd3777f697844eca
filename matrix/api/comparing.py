"""Comparing the variants of a run, or two runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from matrix.api.opened import NEWEST, RESULTS, Run, open_run
from matrix.model.errors import BadInput, Mistake

if TYPE_CHECKING:
    from matrix.report.study.study import Study


def compare(
    run: str | Path | Run = NEWEST,
    other: str | Path | Run | None = None,
    *,
    factor: str | None = None,
    metric: str | None = None,
    margin: float | None = None,
    by: str | None = None,
    against: str | None = None,
    lower_is_better: bool | None = None,
    results: str | Path = RESULTS,
) -> Study:
    """Say which variant is better, how sure that is, and what it rests on.

    Args:
        run: A run, by id, unique beginning of an id, path, or ``last``.
        other: A second run: then the two runs are compared, paired by round.
        factor: The factor whose levels compete; by default the one that the spec declares.
        metric: A score, ``composite`` (the primary one), ``failed``, or a column of ``sessions``
            such as ``cost_usd``; by default the one that the spec declares.
        margin: Differences up to this count as none, in units of the metric. Given here it is
            labelled as post hoc; declare it in the spec as ``compare.margin``.
        by: Break the difference of the leading pair down by ``scenario`` or another factor.
        against: Compare every variant with this one only.
        lower_is_better: Whether less of the metric is better, where that was not declared before
            launch; it is labelled as said after it. Declare it with the kind's scores.
        results: Folder of runs.

    Returns:
        The verdict and all sections: ``sentence``, ``verdict``, ``winner``, ``pairs``,
        ``settling``, ``breakdown``, ``elsewhere``, ``secondary``, ``cost_quality``, ``noise``,
        ``agreement``.

    Raises:
        RunNotFound: No such run.
        BadInput: No such factor, metric, variant or breakdown, or nothing to compare; all at once.
    """
    from matrix.report.compare.matching import factor_matchup, runs_matchup
    from matrix.report.study.study import study_of
    from matrix.store.reading.reader import RunTables

    first = _opened(run, results)
    tables = (RunTables(first.path), first.file)
    if other is None:
        matchup = factor_matchup(*tables, factor)
    elif factor is not None:
        told = f"found {factor!r} beside two runs; two runs are compared as they are"
        raise BadInput([Mistake("--factor", None, "", told)])
    else:
        second = _opened(other, results)
        matchup = runs_matchup(tables, (RunTables(second.path), second.file))
    return study_of(matchup, metric, margin=margin, by=by, against=against, lower=lower_is_better)


def _opened(run: str | Path | Run, results: str | Path) -> Run:
    return run if isinstance(run, Run) else open_run(run, results=results)
