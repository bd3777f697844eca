"""Every two variants against each other, or every one against a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from matrix.report.compare.compare import MatchupVerdict
from matrix.report.compare.voiding import is_undone
from matrix.stats import MIN_ROUNDS, Comparison, holm
from matrix.stats.verdicts.ruling import inside


@dataclass(frozen=True, slots=True)
class PairRow:
    """Two variants; the difference is ``first`` minus ``second``, in units of the metric.

    Attributes:
        first: The one with the better mean.
        second: The other one.
        rounds: Rounds in which both took part.
        difference: Mean difference; ``None`` without rounds.
        low: Lower end of its interval at ``1 - level``.
        high: Upper end.
        level: Error rate of this pair.
        p: Two-sided p-value; of the open-ended engine one that holds at every look.
        e: The open-ended engine's e-value, which is ``1 / p``; ``None`` for other engines.
        adjusted: Holm's p-value, of comparisons with a baseline.
        finding: ``better``, ``equivalent``, ``not shown``, ``identical``, ``too few``,
            ``too early`` or ``void``.
    """

    first: str
    second: str
    rounds: int
    difference: float | None
    low: float | None
    high: float | None
    level: float
    p: float | None
    e: float | None
    adjusted: float | None
    finding: str


def pair_rows(judged: MatchupVerdict, against: int | None = None) -> tuple[PairRow, ...]:
    """All pairs, or those with a baseline, the better mean first; the latter with Holm's p."""
    pairs = [
        pair
        for pair in judged.verdict.comparisons
        if against is None or against in (pair.a, pair.b)
    ]
    rows = [_row(judged, pair) for pair in pairs]
    return tuple(rows if against is None else _with_holm(judged, rows))


def _row(judged: MatchupVerdict, pair: Comparison) -> PairRow:
    better = pair if judged.sign * (pair.difference or 0.0) >= 0 else pair.reversed()
    names, interval = judged.matchup.variants, better.interval
    sequential = judged.verdict.rules.engine == "open-ended"
    return PairRow(
        first=names[better.b],
        second=names[better.a],
        rounds=better.n,
        difference=better.difference,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        level=better.level,
        p=better.p,
        e=1.0 / better.p if sequential and better.p else None,
        adjusted=None,
        finding=_finding(judged, better),
    )


def _finding(judged: MatchupVerdict, pair: Comparison) -> str:
    """What a pair shows, b being the one with the better mean."""
    verdict = judged.verdict
    if pair.n < MIN_ROUNDS or not pair.enough_discordant:
        return "too few"
    if verdict.rules.engine == "fixed" and "plan not over" in verdict.reasons:
        return "too early"
    if pair.identical and pair.interval is None:
        return "identical"
    if is_undone(judged, pair):
        return "void"
    if inside(pair, verdict.rules.delta):
        return "equivalent"
    return "better" if pair.sign == judged.sign else "not shown"


def _with_holm(judged: MatchupVerdict, rows: Sequence[PairRow]) -> list[PairRow]:
    """Holm's p-values; he finds at least what the intervals, which hold all together, show."""
    tested = [row for row in rows if row.p is not None]
    adjusted = dict(zip(tested, holm([row.p or 0.0 for row in tested]).tolist(), strict=True))
    told = []
    for row in rows:
        p, finding = adjusted.get(row), row.finding
        if p is not None and p <= judged.verdict.rules.alpha and finding == "not shown":
            error = judged.error_between(row.first, row.second)
            favoured = error is not None and judged.sign * error.difference > 0
            finding = "void" if favoured else "better"
        told.append(replace(row, adjusted=p, finding=finding))
    return told
