"""What a run shows of the spread, cost and failures that another one will meet."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import combinations
from math import inf, sqrt
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from matrix.engine.run.interim_looks import declared_rules
from matrix.model.errors import BadInput, Mistake
from matrix.model.metrics import FAILED
from matrix.report.compare.compare import judge
from matrix.report.compare.matchup import Matchup
from matrix.report.planning.planning import Failed, Pilot
from matrix.report.text import plural
from matrix.stats.estimates.means import REPRESENTED
from matrix.stats.estimates.unpaired_rates import Count, fisher_mid_p
from matrix.stats.rounds.differences import spread_is_pooled
from matrix.stats.rounds.round_table import FloatArray, RoundTable
from matrix.store.run.run_folder import RunFile


def among(matchup: Matchup, variants: Collection[str]) -> Matchup:
    """The variants of a pilot that are planned with; all where fewer than two of them are."""
    kept = [index for index, name in enumerate(matchup.variants) if name in variants]
    if len(kept) < 2 or len(kept) == len(matchup.variants):
        return matchup
    number = np.full(len(matchup.variants), -1)
    number[kept] = range(len(kept))
    there = number[matchup.sides] >= 0

    def places(found: npt.ArrayLike) -> npt.NDArray[np.int64]:
        rows = np.array(found, dtype=np.int64).reshape(-1, 3)
        rows = rows[number[rows[:, 2]] >= 0]
        return np.column_stack([rows[:, :2], number[rows[:, 2]]])

    return replace(
        matchup,
        variants=tuple(matchup.variants[index] for index in kept),
        ids=matchup.ids[there],
        source=matchup.source[there],
        units=matchup.units[there],
        places=matchup.places[there],
        sides=number[matchup.sides[there]],
        outcomes=matchup.outcomes[there],
        at_limit=matchup.at_limit[there],
        cost_usd=matchup.cost_usd[there],
        dropped_later=[(a, b, c) for a, b, c in places(matchup.dropped_later).tolist()],
        unjudged=[(a, b, c) for a, b, c in places(matchup.unjudged).tolist()],
        absent=None if matchup.absent is None else places(matchup.absent),
        padding=places(matchup.padding),
        metrics={name: values[there] for name, values in matchup.metrics.items()},
    )


def pilot_of(matchup: Matchup, metric: str, run: RunFile) -> Pilot:
    """Read a pilot off a run's complete rounds, finished or not.

    Rounds from which a variant was dropped cost less and are left out of the cost of a round.

    Args:
        matchup: The variants of the run.
        metric: What is compared.
        run: The run.

    Raises:
        BadInput: There is no such metric, or no spread in it to plan with.
    """
    round_nano, out = (
        _round_nano(matchup, matchup.round_table(metric)[0], run),
        _out(matchup, metric),
    )
    rate, failed = _failure_rate(matchup), _failed_unlike(matchup, metric, out)
    # who cannot win, whatever its scores, says nothing of what telling the others apart takes
    matchup = among(matchup, {*matchup.variants} - out)
    table, _ = matchup.round_table(metric)
    found = _spread(table) if matchup.paired else _spread_unpaired(table)
    unit = matchup.unit
    if found.rounds < 2:
        told = (
            f"{run.run_id} has {plural(found.rounds, f'complete {unit}')} with {metric} of two "
            "variants, and a spread takes at least 2; play more, or give --sd"
        )
        raise BadInput([Mistake("--from", None, "", told)])
    if found.sd == 0:
        told = (
            f"in {run.run_id} variants differ by the same {metric} in every one of "
            f"{plural(found.rounds, unit)}, so there is no spread to plan with; give --sd"
        )
        raise BadInput([Mistake("--from", None, "", told)])
    return Pilot(
        run_id=run.run_id,
        rounds=found.rounds,
        sd=found.sd,
        round_nano=round_nano,
        failure_rate=rate,
        missing=_missing(table),
        complete=_complete(table) if matchup.paired else _complete_unpaired(table),
        simulated=matchup.simulated,
        yes_no=_two_values(table) if matchup.paired or table.n_scenarios == 1 else None,
        failed=failed,
    )


def _out(matchup: Matchup, metric: str) -> frozenset[str]:
    """Variants that the pilot's verdict has out for another reason than their scores.

    They fail too often, or have hardly a score. Empty where fewer than two would be left.
    """
    verdict = judge(matchup, metric).verdict
    out = {matchup.variants[one.variant] for one in verdict.beaten if one.why != "score"}
    return frozenset(out if len(matchup.variants) - len(out) >= 2 else ())


def _two_values(table: RoundTable) -> tuple[float, float] | None:
    """The values of a yes/no score; ``None`` of any other, as a verdict on it would have it."""
    values = np.unique(table.scores[~np.isnan(table.scores)])
    return (float(values[0]), float(values[1])) if values.size == 2 else None


class _Spread(NamedTuple):
    """A standard deviation, and the rounds that any two variants have at least for it."""

    sd: float
    rounds: int


def _spread(table: RoundTable) -> _Spread:
    """Root mean square, over pairs of variants, of the spread of their round differences.

    Two variants without two rounds have no part in it; where no two have, it is none.
    """
    sides = [table.paired(a, b) for a, b in combinations(range(table.n_variants), 2)]
    enough = [one for one in sides if len(one) >= 2]
    if not enough:
        return _Spread(0.0, max(map(len, sides), default=0))
    return _Spread(sqrt(sum(map(_variance, enough)) / len(enough)), min(map(len, enough)))


def _spread_unpaired(table: RoundTable) -> _Spread:
    """The same of samples that share nothing, from all their scores.

    The variance of a difference is the sum of the two within scenarios, or twice the pooled one
    where a verdict goes by that. What they are known by is told as the rounds that would leave as
    much doubt, Satterthwaite's degrees of freedom (1946, Biometrics Bull 2:110) and one.
    """
    own = [_within(table, variant) for variant in range(table.n_variants)]
    known = [index for index, one in enumerate(own) if one.df >= 1]
    if len(known) < 2:
        return _Spread(0.0, 1 if any(one.df >= 0 for one in own) else 0)
    variances = []
    for a, b in combinations(known, 2):
        (v, n), (w, m) = own[a], own[b]
        pooled = spread_is_pooled(table, a, b)
        variances.append(2 * (n * v + m * w) / (n + m) if pooled else v + w)
    total = sum(own[one].variance for one in known)
    spent = sum(own[one].variance ** 2 / own[one].df for one in known)
    df = total**2 / spent if spent else sum(own[one].df for one in known)
    return _Spread(sqrt(sum(variances) / len(variances)), round(df) + 1)


class _Within(NamedTuple):
    variance: float
    df: int


def _within(table: RoundTable, variant: int) -> _Within:
    """Variance of a variant's scores within scenarios, and its degrees of freedom."""
    scores = table.scores[:, :, variant]
    there = np.isfinite(scores).any(axis=0)
    known = [column[np.isfinite(column)] for column in scores.T[there]]
    df = sum(column.size - 1 for column in known)
    squares = sum(float(((column - column.mean()) ** 2).sum()) for column in known)
    return _Within(squares / max(df, 1), df if known else -1)


def _variance(sides: FloatArray) -> float:
    variance = float((sides[:, 1] - sides[:, 0]).var(ddof=1))
    return 0.0 if sqrt(variance) <= REPRESENTED * float(np.abs(sides).max()) else variance


def _missing(table: RoundTable) -> float:
    """Share of the sessions of complete rounds that have no score, whatever the reason."""
    there = np.broadcast_to(table.live[:, None, :], table.scores.shape)
    if table.never is not None:
        there = there & ~table.never
    return float(np.isnan(table.scores)[there].mean())


def _complete(table: RoundTable) -> float:
    """Share of pairs that have both scores, of the two variants that have fewest.

    Where a variant lacks more than another, or both lack the same ones, it is not what follows
    from the share of all sessions.
    """
    shares = []
    for a, b in combinations(range(table.n_variants), 2):
        places = np.broadcast_to(table.both_live(a, b)[:, None], table.scores.shape[:2])
        if table.never is not None:
            places = places & ~(table.never[:, :, a] & table.never[:, :, b])
        if places.any():
            shares.append(float(table.scored(a, b)[places].mean()))
    return min(shares, default=1.0)


def _complete_unpaired(table: RoundTable) -> float:
    """Share of the rows, or units, that have a score, of the variant that has the fewest such."""
    there = table.not_errored
    if table.never is not None:
        there &= ~table.never
    return float(1.0 - (table.unscored / np.maximum(there.sum(axis=(0, 1)), 1)).max())


def _failed_unlike(matchup: Matchup, metric: str, out: Collection[str]) -> tuple[Failed, ...]:
    """Failures of each variant, the best mean first; empty where nothing shows them to differ.

    Fisher's mid-p of any two below .1, as of ends at the turn limit; rates that may be the same are
    better known together. Who is ``out`` comes last: what is left of their scores may be those of
    easy rounds.
    """
    table, _ = matchup.round_table(FAILED)
    scores, _ = matchup.round_table(metric)
    higher = declared_rules(matchup.spec, matchup.kind, metric=metric).higher_is_better
    found = []
    for variant, level in enumerate(matchup.variants):
        own, values = table.scores[:, :, variant], scores.scores[:, :, variant]
        known, scored = own[~np.isnan(own)], values[~np.isnan(values)]
        mean = float(scored.mean()) if scored.size else -inf if higher else inf
        one = Failed(level, round(float(known.sum())), int(known.size))
        found.append((level in out, -mean if higher else mean, one))
    counts = [Count(one.failed, one.sessions) for *_, one in found if one.sessions]
    if not any(fisher_mid_p(a, b) < _UNLIKE for a, b in combinations(counts, 2)):
        return ()
    return tuple(one for *_, one in sorted(found, key=lambda one: one[:2]))


_UNLIKE: Final = 0.1


def _failure_rate(matchup: Matchup) -> float:
    table, _ = matchup.round_table(FAILED)
    counted = table.scores[~np.isnan(table.scores)]
    return float(counted.mean()) if counted.size else 0.0


def _round_nano(matchup: Matchup, table: RoundTable, run: RunFile) -> int:
    """Cost of a round with all variants, its share of what sessions share included."""
    whole = int(table.live.all(axis=1).sum())
    if not whole or matchup.unpriced:
        return 0
    if (imported := matchup.round_usd()) is not None:
        return round(imported * 1e9)
    inside = float(matchup.cost_usd[matchup.units < whole].sum())
    return round(inside / whole * _shared(matchup, run) * 1e9)


def _shared(matchup: Matchup, run: RunFile) -> float:
    """Everything spent over what sessions spent themselves: preludes are shared by many."""
    own = float(matchup.cost_usd.sum()) * 1e9
    if run.totals is None or own <= 0:
        return 1.0
    return max(1.0, (run.totals.settled_nano + run.totals.presumed_nano) / own)
