"""The verdict of a run that is looked at after every complete round.

All looks are made again from the table, in order, from the tenth round on. The first that decides
is the decision: rounds that were under way then and complete later are paid for and shown, but
never revise it. Nothing is kept between calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from matrix.stats.boundary import Boundary
from matrix.stats.comparisons import Comparison
from matrix.stats.multiplicity import pairwise_level
from matrix.stats.projection import project
from matrix.stats.round_table import RoundTable
from matrix.stats.rules import MIN_ROUNDS, Rules
from matrix.stats.ruling import (
    Ruling,
    crowned,
    decide,
    equivalent_among,
    fewest_to_win,
    inside,
    too_early,
)
from matrix.stats.tracks import Track, tracker

Tracks = Mapping[tuple[int, int], Track]


@dataclass(frozen=True, slots=True)
class Beaten:
    """A variant that cannot win any more, so that no further round needs it.

    Attributes:
        variant: Index of the variant.
        by: Index of the one that beats it.
        at: Length of the prefix at the look that showed it.
    """

    variant: int
    by: int
    at: int


@dataclass(frozen=True, slots=True)
class Finding:
    """What the looks came to; fields as in `matrix.stats.verdict.Verdict`."""

    ruling: Ruling
    comparisons: tuple[Comparison, ...]
    decided_at: int | None
    beaten: tuple[Beaten, ...]


def look(table: RoundTable, rules: Rules, *, plan_over: bool) -> Finding:
    """Make all looks at ``table`` and tell the first that decides, or how things stand at the last.

    Variant b is beaten by a at the first look by which a's score was shown to be better, and a's
    failure rate to be at most the margin above b's, each at that look or an earlier one, and at
    which a's mean is still the better one. The winner is the one variant left when every other is
    beaten, by it or by another that was beaten later.

    Each of the k (k - 1) ways in which one variant can be shown to be better than another is a
    one-sided test at ``alpha / (2 (k - 1))`` over all looks together, for equals. A false winner
    among k equals takes k - 1 such errors at the least. Their expected number is at most
    ``k alpha / 2``, so by Markov's inequality the chance is at most ``alpha k / (2 (k - 1))``,
    whatever was dropped and whoever beat whom. In the same way a false winner among m equals that
    are better than the rest has chance ``alpha m / (2 (m - 1))`` at most, and a single best variant
    is beaten with chance ``alpha / 2`` at most: k - 1 others could each err once. Gates have the
    error rate alpha each, as both claims must hold for one to be beaten.

    Args:
        table: Complete prefix of rounds for at least two variants.
        rules: What was declared before launch, with an engine that looks repeatedly.
        plan_over: Whether no session is running or will be launched.
    """
    level = pairwise_level(rules.alpha, table.n_variants)
    boundary = Boundary(rules.engine, level, table.n_rounds_planned)
    track = tracker(table, boundary, rules)
    tracks = {pair: track(*pair) for pair in combinations(range(table.n_variants), 2)}
    beaten = _eliminations(tracks, table.n_variants, rules)
    equal_at = _first_equivalence(tracks, beaten, table)
    crowned_at = beaten[-1].at if len(beaten) == table.n_variants - 1 else None
    ends = [end for end in (equal_at, crowned_at) if end is not None]
    if ends:
        return _decided(tracks, beaten, min(ends), rules, equivalent=equal_at == min(ends))
    comparisons = tuple(pair.comparison(table.prefix_length) for pair in tracks.values())
    ruling = _undecided(tracks, comparisons, beaten, table, rules, plan_over=plan_over)
    return Finding(ruling, comparisons, None, beaten)


def _eliminations(tracks: Tracks, n_variants: int, rules: Rules) -> tuple[Beaten, ...]:
    """Who was beaten by whom and when, in that order; at most all but one."""
    found = []
    for (a, b), track in tracks.items():
        for by, loser, sign in ((b, a, 1), (a, b, -1)):
            sign = sign if rules.higher_is_better else -sign
            shown = track.shown_at(sign)
            gate = None if shown is None else track.gate_at(of_b=by == b)
            if shown is None or gate is None:
                continue
            at = track.still_shown_at(sign, max(shown, gate, MIN_ROUNDS))
            if at is not None:
                found.append(Beaten(loser, by, at))
    gone: dict[int, Beaten] = {}
    for one in sorted(found, key=lambda one: (one.at, -_beaten_by(one, found), one.variant)):
        beater = gone.get(one.by)
        # Whoever was beaten earlier takes part no more; of two that beat each other, one stays.
        out = beater is not None and (beater.at < one.at or beater.by == one.variant)
        if one.variant not in gone and not out and len(gone) < n_variants - 1:
            gone[one.variant] = one
    return tuple(gone.values())


def _beaten_by(one: Beaten, found: Sequence[Beaten]) -> int:
    """How many variants the beater of ``one`` has beaten by that look."""
    return sum(other.by == one.by and other.at <= one.at for other in found)


def _first_equivalence(tracks: Tracks, beaten: Sequence[Beaten], table: RoundTable) -> int | None:
    """First look at which all pairs are inside the margin, or all of at least two left unbeaten."""
    lengths = np.arange(table.prefix_length + 1)
    gone = np.zeros((table.n_variants, lengths.size), dtype=np.bool_)
    for one in beaten:
        gone[one.variant] = lengths >= one.at
    within = {pair: track.inside(table.prefix_length) for pair, track in tracks.items()}
    everyone = np.logical_and.reduce(list(within.values()))
    left = [inside | gone[a] | gone[b] for (a, b), inside in within.items()]
    remaining = np.logical_and.reduce(left) & ((~gone).sum(axis=0) >= 2)
    hits = (everyone | remaining) & (lengths >= MIN_ROUNDS)
    return int(hits.argmax()) if hits.any() else None


def _decided(
    tracks: Tracks, beaten: Sequence[Beaten], end: int, rules: Rules, *, equivalent: bool
) -> Finding:
    """The decision of the look at a prefix of ``end`` rounds, from what that look saw."""
    comparisons = tuple(track.comparison(end) for track in tracks.values())
    by_then = tuple(one for one in beaten if one.at <= end)
    left = _left(tracks, by_then)
    if not equivalent:
        return Finding(crowned(comparisons, left[0], rules), comparisons, end, by_then)
    if all(inside(pair, rules.delta) for pair in comparisons):
        among, ahead = comparisons, left[0] if len(left) == 1 else None
    else:
        among, ahead = _of(left, comparisons), None
    return Finding(equivalent_among(among, rules, ahead), comparisons, end, by_then)


def _undecided(
    tracks: Tracks,
    comparisons: tuple[Comparison, ...],
    beaten: Sequence[Beaten],
    table: RoundTable,
    rules: Rules,
    *,
    plan_over: bool,
) -> Ruling:
    """How things stand after the last look, none having decided."""
    if table.n_rounds < MIN_ROUNDS:
        early = too_early(table, rules, plan_over=plan_over)
        if early is not None:  # the first look is due at the tenth round, not at the plan's end
            first = MIN_ROUNDS - table.n_rounds
            wins = max(first, fewest_to_win(table, rules))
            return replace(early, extra_rounds=first, winner_rounds=wins)
    left = _left(tracks, beaten)
    ruling = decide(_of(left, comparisons), table, rules, left)
    if plan_over and rules.engine == "planned":
        return ruling  # beyond its plan this engine has no boundary to project against
    if ruling.kind == "not_enough_data" or not plan_over:
        among = [tracks[pair] for pair in combinations(left, 2)]
        ahead = project(among, _of(left, comparisons), table, rules)
        ruling = replace(ruling, extra_rounds=ahead.verdict, winner_rounds=ahead.winner)
    if plan_over:
        return ruling
    why = ruling.reasons if ruling.kind == "not_enough_data" else ()
    return replace(ruling, kind="not_enough_data", reasons=("plan not over", *why))


def _left(tracks: Tracks, beaten: Sequence[Beaten]) -> list[int]:
    everyone = {variant for pair in tracks for variant in pair}
    return sorted(everyone - {one.variant for one in beaten})


def _of(variants: Sequence[int], comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    return tuple(pair for pair in comparisons if pair.a in variants and pair.b in variants)
