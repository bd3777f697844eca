"""The verdict of a run that is looked at after every complete round.

All looks are made again from the table, in order, from the tenth round on. The first that decides
is the decision: rounds that were under way then and complete later are paid for and shown, but
never revise it. Nothing is kept between calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np

from matrix.stats.estimates.multiplicity import pairwise_level
from matrix.stats.looks.boundary import Boundary
from matrix.stats.looks.early_stop import AdjustedLead, adjusted_lead
from matrix.stats.rounds.round_table import BoolArray, RoundTable
from matrix.stats.rounds.rules import Rules
from matrix.stats.verdicts.comparisons import Comparison
from matrix.stats.verdicts.projection import project
from matrix.stats.verdicts.ruling import (
    Ruling,
    crowned,
    decide,
    equivalent_among,
    fewest_to_win,
    inside,
    too_early,
)
from matrix.stats.verdicts.tracks import Track, tracker

Tracks = Mapping[tuple[int, int], Track]


@dataclass(frozen=True, slots=True)
class Beaten:
    """A variant that cannot win any more, so that no further round needs it.

    Attributes:
        variant: Index of the variant.
        by: Index of the one that it falls short of.
        at: Length of the prefix at the look that showed it.
        why: ``score``: the other is shown to be better, and not to fail noticeably more often.
            ``failures``: it is shown to fail more often than the other by more than the margin.
            ``unscored``: too few of its rounds have a score for it to be compared.
    """

    variant: int
    by: int
    at: int
    why: Literal["score", "failures", "unscored"] = "score"


@dataclass(frozen=True, slots=True)
class LookOutcome:
    """What the looks came to; fields as in `matrix.stats.verdicts.verdict.Verdict`."""

    ruling: Ruling
    comparisons: tuple[Comparison, ...]
    claims: tuple[Comparison, ...]
    decided_at: int | None
    beaten: tuple[Beaten, ...]


def look(table: RoundTable, rules: Rules, *, plan_over: bool) -> LookOutcome:
    """Make all looks at ``table`` and tell the first that decides, or how things stand at the last.

    **Out of the race.** Variant b is beaten by a at the first look that shows a's score to be
    better at ``alpha / (k - 1)``, and by which a's failure rate was shown to be at most the margin
    above b's; or at which b is shown, at ``alpha / (k - 1)``, to fail more often than a by more
    than the margin. What an earlier look showed of the scores, before the failures were known well
    enough, does not count: a claim has its own look's interval behind it. Each of the
    k (k - 1) ways in which one variant can be shown to be better than another is a one-sided test
    at ``alpha / (2 (k - 1))`` over all looks together, so a single best variant is beaten by scores
    with chance ``alpha / 2`` at most.

    **The winner** is the variant that at one look is better than every other one still in the race,
    each at plain level ``alpha``, two-sided, on the rounds that both took part in, and has passed
    the failure gate against each. That needs no division by k - 1: to name the wrong one of two
    variants that are best by as much, it must be shown to beat the other, whatever else happens
    (an intersection of claims; Berger 1982, Technometrics 24:295). That the *sample* chooses which
    variant is claimed to be best costs nothing more at one look (Gutmann & Maymin 1987, Ann Stat
    15:1254; Stefansson, Kim & Hsu 1988; Hung & Fithian 2019, Ann Stat 47:1990: proved for
    independent normal means with one variance); for correlated variants, other shapes, and looks
    with early dropping it is calibrated (docs/statistics.md).

    Args:
        table: Complete prefix of rounds for at least two variants.
        rules: What was declared before launch, with an engine that looks repeatedly.
        plan_over: Whether no session is running or will be launched.
    """
    strict = pairwise_level(rules.alpha, table.n_variants)
    boundary = Boundary(rules.engine, strict, table.n_rounds_planned, rules.first_look)
    track = tracker(table, boundary, rules, strict)
    tracks = {pair: track(*pair) for pair in combinations(range(table.n_variants), 2)}
    claims = tracks
    if strict != rules.alpha:
        claims = {pair: one.at_level(rules.alpha) for pair, one in tracks.items()}
    beaten = _eliminations(tracks, table, rules)
    gone = _gone(beaten, table)
    equal_at = _first_equivalence(tracks, gone)
    won = _first_winner(claims, gone, rules)
    ends = [end for end in (equal_at, None if won is None else won[0]) if end is not None]
    if ends and equal_at == min(ends):
        return _equal(tracks, claims, beaten, equal_at, rules)
    if won is not None:
        return _won(tracks, claims, beaten, won, rules)
    last = table.prefix_length
    found = tuple(pair.comparison(last) for pair in tracks.values())
    claimed = tuple(pair.comparison(last, by_itself=True) for pair in claims.values())
    ruling = _undecided(claims, claimed, found, beaten, table, rules, plan_over=plan_over)
    return LookOutcome(ruling, found, claimed, None, beaten)


def lead_after_looks(
    table: RoundTable, rules: Rules, winner: int, rival: int, decided_at: int
) -> AdjustedLead | None:
    """A winner's lead over a rival, corrected for having been looked at until it was shown.

    It is that of the first look at which this lead was shown and the failure gate passed: later
    ones, which waited for other rivals, depend on scores in ways that no correction knows.

    Args:
        table: Complete prefix of rounds.
        rules: What was declared before launch, with an engine that looks repeatedly.
        winner: Index of the winner.
        rival: Index of the rival.
        decided_at: Length of the prefix at the look that named it.

    Returns:
        Winner minus rival; ``None`` where the lead was not shown by itself, or has no spread.
    """
    boundary = Boundary(rules.engine, rules.alpha, table.n_rounds_planned, rules.first_look)
    strict = pairwise_level(rules.alpha, table.n_variants)
    track = tracker(table, boundary, rules, strict)(rival, winner)
    gate = _first_from(track.within[1], rules.first_look)
    if gate is None:
        return None
    at = _first_from(track.shows(1 if rules.higher_is_better else -1), gate)
    if at is None or at > decided_at:
        return None
    ended = np.arange(1, table.prefix_length + 1)
    looks = ended[boundary.looked_at(ended)]
    decided = int(np.searchsorted(looks, at))
    return adjusted_lead(
        float(track.seen.mean[at - 1]),
        float(track.seen.sd[at - 1]),
        looks=looks,
        radii=boundary.radii(looks),
        decided=decided,
        first=min(int(np.searchsorted(looks, gate)), decided),
        alpha=rules.alpha,
    )


def _sides(tracks: Tracks, rules: Rules) -> Iterator[tuple[Track, int, int, int, bool]]:
    """Each track seen from both sides: it, who may be better, the other, the sign, and if b is."""
    better = 1 if rules.higher_is_better else -1
    for (a, b), track in tracks.items():
        yield track, b, a, better, True
        yield track, a, b, -better, False


FEW_SCORES = 3
"""A variant of which at most one round in so many has a score cannot be compared."""


def with_few_scores(table: RoundTable, rules: Rules, first: int) -> list[Beaten]:
    """Variants with hardly a score after some rounds, as long as two others have more.

    They are missing from nearly every pair, and would keep the others waiting, or for ever. Which
    they are depends on what has a score, and on none of the scores. Of unpaired samples, which may
    be of any size, those without any score.

    Args:
        table: Complete prefix of rounds.
        rules: What was declared before launch.
        first: Rounds at the first look that may find one; each later round is another.
    """
    length = table.prefix_length
    lived = np.cumsum(table.live[:length], axis=0)
    scored = (~np.isnan(table.scores[:length])).any(axis=1).cumsum(axis=0)
    few = scored == 0 if rules.unit == "unpaired" else FEW_SCORES * scored <= lived
    few &= ((~few).sum(axis=1) >= 2)[:, None]
    found = []
    for one in range(table.n_variants):
        at = _first_from(few[:, one], first)
        if at is not None:
            found.append(Beaten(one, int((~few[at - 1]).argmax()), at, "unscored"))
    return found


def _eliminations(tracks: Tracks, table: RoundTable, rules: Rules) -> tuple[Beaten, ...]:
    """Who is out of the race, by whom and when, in that order; at most all but one."""
    n_variants = table.n_variants
    found: list[Beaten] = []
    for track, by, loser, sign, by_is_b in _sides(tracks, rules):
        exceeds = _first_from(track.beyond[int(not by_is_b)], rules.first_look)
        if exceeds is not None:
            found.append(Beaten(loser, by, exceeds, "failures"))
        better = np.asarray(track.shows(sign) & track.within[int(by_is_b)])
        at = _first_from(better, rules.first_look)
        if at is not None:
            found.append(Beaten(loser, by, at))
    found += with_few_scores(table, rules, rules.first_look)
    gone: dict[int, Beaten] = {}
    for one in sorted(found, key=lambda one: _order(one, found)):
        beater = gone.get(one.by)
        # Whoever was beaten earlier takes part no more; of two that beat each other, one stays.
        out = beater is not None and (beater.at < one.at or beater.by == one.variant)
        if one.variant not in gone and not out and len(gone) < n_variants - 1:
            gone[one.variant] = one
    return tuple(gone.values())


def _order(one: Beaten, found: Sequence[Beaten]) -> tuple[int, bool, int, int]:
    return one.at, one.why == "unscored", -_beaten_by(one, found), one.variant


def _beaten_by(one: Beaten, found: Sequence[Beaten]) -> int:
    """How many variants the beater of ``one`` has beaten by that look."""
    return sum(other.by == one.by and other.at <= one.at for other in found)


def _gone(beaten: Sequence[Beaten], table: RoundTable) -> BoolArray:
    """Whether each variant is out after each round, shape [k, P]."""
    lengths = np.arange(1, table.prefix_length + 1)
    gone = np.zeros((table.n_variants, lengths.size), dtype=np.bool_)
    for one in beaten:
        gone[one.variant] = lengths >= one.at
    return gone


def _first_winner(claims: Tracks, gone: BoolArray, rules: Rules) -> tuple[int, int] | None:
    """First look at which one variant has shown itself against all still in the race: (P, who)."""
    wins = ~gone
    for track, by, other, sign, by_is_b in _sides(claims, rules):
        wins[by] &= gone[other] | (track.shows(sign) & track.within[int(by_is_b)])
    anyone: BoolArray = np.asarray(wins.any(axis=0))
    at = _first_from(anyone, rules.first_look)
    return None if at is None else (at, int(wins[:, at - 1].argmax()))


def _first_equivalence(tracks: Tracks, gone: BoolArray) -> int | None:
    """First look at which all pairs are inside the margin, or all of at least two still in it.

    Inside by score, and neither shown to be able to fail by more than the failure margin more
    often: a run that stops before that could not tell any more that one of two equals fails.
    """
    within = {
        pair: track.inside() & track.within[0] & track.within[1] for pair, track in tracks.items()
    }
    everyone: BoolArray = np.logical_and.reduce(list(within.values()))
    left = [inside | gone[a] | gone[b] for (a, b), inside in within.items()]
    remaining = np.logical_and.reduce(left) & ((~gone).sum(axis=0) >= 2)
    hits: BoolArray = np.asarray(everyone | remaining)
    return _first_from(hits, 1)


def _won(
    tracks: Tracks,
    claims: Tracks,
    beaten: Sequence[Beaten],
    won: tuple[int, int],
    rules: Rules,
) -> LookOutcome:
    """The winner of the look at a prefix of some rounds, from what that look saw."""
    end, winner = won
    found = tuple(track.comparison(end) for track in tracks.values())
    claimed = tuple(track.comparison(end, by_itself=True) for track in claims.values())
    by_then = tuple(one for one in beaten if one.at <= end)
    failing = {one.variant for one in by_then if one.why != "score"}
    left = set(_left(tracks, by_then))
    return LookOutcome(crowned(claimed, winner, left, failing, rules), found, claimed, end, by_then)


def _equal(
    tracks: Tracks, claims: Tracks, beaten: Sequence[Beaten], end: int, rules: Rules
) -> LookOutcome:
    """Equivalence at the look at a prefix of ``end`` rounds, from what that look saw."""
    found = tuple(track.comparison(end) for track in tracks.values())
    claimed = tuple(track.comparison(end, by_itself=True) for track in claims.values())
    by_then = tuple(one for one in beaten if one.at <= end)
    left = _left(tracks, by_then)
    if all(inside(pair, rules.delta) for pair in found):
        among, ahead = found, left[0] if len(left) == 1 else None
    else:
        among, ahead = _of(left, found), None
    return LookOutcome(equivalent_among(among, rules, ahead), found, claimed, end, by_then)


def _undecided(
    claims: Tracks,
    claimed: tuple[Comparison, ...],
    found: tuple[Comparison, ...],
    beaten: Sequence[Beaten],
    table: RoundTable,
    rules: Rules,
    *,
    plan_over: bool,
) -> Ruling:
    """How things stand after the last look, none having decided."""
    if table.prefix_length < rules.first_look:
        early = too_early(table, rules, plan_over=plan_over)
        if early is not None:  # the first look is due long before the plan's end
            first = rules.first_look - table.prefix_length
            wins = max(first, fewest_to_win(table, rules))
            return replace(early, extra_rounds=first, winner_rounds=wins)
    left = _left(claims, beaten)
    ruling = decide(_of(left, claimed), _of(left, found), table, rules, left)
    if plan_over and rules.engine == "planned":
        return ruling  # beyond its plan this engine has no boundary to project against
    if ruling.kind == "not_enough_data" or not plan_over:
        among = [claims[pair] for pair in combinations(left, 2)]
        ahead = project(among, _of(left, claimed), table, rules)
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


def _first_from(hits: BoolArray, length: int) -> int | None:
    """First prefix of at least ``length`` rounds that is hit."""
    later = hits[length - 1 :]
    return length + int(later.argmax()) if later.any() else None
