"""Everything else that sessions measure: where the leading pair differs there, corrected."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp

import numpy as np

from matrix.report.compare.compare import MatchupVerdict
from matrix.report.compare.judges.judge_bias import lead_falls
from matrix.report.compare.judges.labelled import by_people, labels_beside
from matrix.report.compare.leading import Lead
from matrix.stats import (
    MIN_ROUNDS,
    benjamini_hochberg,
    e_benjamini_hochberg,
    own_mean,
    t_mixture_log_e,
)
from matrix.stats.rounds.round_table import RoundTable
from matrix.stats.verdicts.one_look import MeanDifference, difference_once

LARGEST_LOG_E = 700.0
"""Beyond it an e-value does not fit a float; it is shown as this one."""


@dataclass(frozen=True, slots=True)
class SecondaryRow:
    """One metric; the difference is ``first`` minus ``second`` of the leading pair.

    Attributes:
        metric: Its name.
        rounds: Rounds with a value of both; where nothing pairs them, those of the variant that
            has fewer.
        left_out: Pairs left out because a session has no value.
        first: Mean of the first variant over these rounds.
        second: Mean of the second.
        difference: Mean difference; ``None`` without rounds.
        p: p-value by itself; ``None`` where nothing was tested, and for an e-value.
        e: e-value by itself, of a run that was looked at after every round.
        adjusted: p-value corrected for all metrics that were tested.
        found: Whether a difference is shown after the correction.
        untested: Why nothing was tested; empty if it was.
        void: Whether a difference is shown by a judge, and labels undo it: then it is not found.
    """

    metric: str
    rounds: int
    left_out: int
    first: float | None
    second: float | None
    difference: float | None
    p: float | None
    e: float | None
    adjusted: float | None
    found: bool
    untested: str
    void: bool = False


@dataclass(frozen=True, slots=True)
class Secondary:
    """All other metrics of the leading pair, corrected together.

    Attributes:
        first: The variant with the better mean on the metric compared.
        second: The other one.
        method: ``BH``, or ``e-BH`` where the run was looked at after every round.
        alpha: Share of false ones among those found, at most.
        tested: How many were tested.
        rows: Every metric, those found first, then by corrected p-value and name.
    """

    first: str
    second: str
    method: str
    alpha: float
    tested: int
    rows: tuple[SecondaryRow, ...]

    @property
    def found(self) -> tuple[SecondaryRow, ...]:
        """Metrics on which a difference is shown."""
        return tuple(row for row in self.rows if row.found)


@dataclass(frozen=True, slots=True)
class _Test:
    metric: str
    left_out: int
    first: float | None
    second: float | None
    result: MeanDifference
    untested: str


def secondary_of(judged: MatchupVerdict, lead: Lead) -> Secondary:
    """Test every other metric on the leading pair, and correct for their number.

    A kind's main score is `score` under a name of its own: that is no other metric.
    """
    names, rules = judged.matchup.variants, judged.verdict.rules
    compared = judged.matchup.values(judged.metric)
    tests = [
        _test(judged, lead, metric)
        for metric in judged.matchup.measured()
        if not np.array_equal(judged.matchup.values(metric), compared, equal_nan=True)
    ]
    done = [test for test in tests if not test.untested]
    sequential = judged.matchup.spec.engine != "fixed"
    if sequential:
        adjusted = e_benjamini_hochberg([_e_value(test.result) for test in done])
    else:
        adjusted = benjamini_hochberg([test.result.p or 0.0 for test in done])
    corrected = dict(zip((test.metric for test in done), adjusted.tolist(), strict=True))
    rows = [_row(test, corrected.get(test.metric), sequential, rules.alpha) for test in tests]
    labelled = {label.metric for label in labels_beside(judged.matchup.sources)}
    undone = {
        test.metric
        for test, row in zip(tests, rows, strict=True)
        if row.found and test.metric in labelled and _undone(judged, lead, test)
    }
    rows = [replace(row, found=False, void=True) if row.metric in undone else row for row in rows]
    rows.sort(key=lambda row: (not row.found, row.adjusted is None, row.adjusted or 0, row.metric))
    return Secondary(
        first=names[lead.first],
        second=names[lead.second],
        method="e-BH" if sequential else "BH",
        alpha=rules.alpha,
        tested=len(done),
        rows=tuple(rows),
    )


def _test(judged: MatchupVerdict, lead: Lead, metric: str) -> _Test:
    table, left_out = judged.matchup.round_table(metric)
    paired = judged.matchup.paired
    result = difference_once(
        table,
        lead.second,
        lead.first,
        judged.verdict.rules.alpha,
        "round" if paired else "unpaired",
    )
    n = result.n
    if not n:
        why = "no values"
    elif n < MIN_ROUNDS:
        why = f"fewer than {MIN_ROUNDS} {judged.matchup.unit}s"
    elif judged.matchup.spec.engine == "fixed" and not judged.matchup.over:
        why = "the run goes on"
    else:
        why = "" if result.p is not None else f"the same difference in every {judged.matchup.unit}"
    one, two = _means(table, lead, paired=paired) if n else (None, None)
    return _Test(metric, left_out, one, two, result, why)


def _means(table: RoundTable, lead: Lead, *, paired: bool) -> tuple[float | None, float | None]:
    """Means of the two: over their pairs or, where there are none, over all that each has."""
    if not paired:
        first, second = (
            own_mean(table.scores[:, :, one]).mean for one in (lead.first, lead.second)
        )
        return first, second
    one, two = table.paired(lead.first, lead.second).mean(axis=0)
    return float(one), float(two)


def _undone(judged: MatchupVerdict, lead: Lead, test: _Test) -> bool:
    """Whether labels show a judge to err by enough to make the difference that was found."""
    names, found = judged.matchup.variants, test.result
    people = by_people(judged.matchup, test.metric)
    if people is None or found.interval is None or found.mean is None:
        return False
    error = people.error_between(names[lead.first], names[lead.second])
    if error is None:
        return False
    return lead_falls(found.mean, found.interval, error)


def _e_value(result: MeanDifference) -> float:
    n = np.array([result.n])
    t = (result.mean or 0.0) / result.se if result.se else 0.0
    log_e = float(t_mixture_log_e(np.array([t]), n)[0])
    return exp(min(log_e, LARGEST_LOG_E))


def _row(test: _Test, adjusted: float | None, sequential: bool, alpha: float) -> SecondaryRow:
    difference, tested = test.result, adjusted is not None
    return SecondaryRow(
        metric=test.metric,
        rounds=difference.n,
        left_out=test.left_out,
        first=test.first,
        second=test.second,
        difference=difference.mean,
        p=test.result.p if tested and not sequential else None,
        e=_e_value(test.result) if tested and sequential else None,
        adjusted=adjusted,
        found=adjusted is not None and adjusted <= alpha,
        untested=test.untested,
    )
