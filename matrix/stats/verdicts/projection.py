"""How many more rounds would settle a comparison, if today's differences and spread went on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matrix.stats.estimates.proportions import discordant_needed
from matrix.stats.rounds.round_table import RoundTable
from matrix.stats.rounds.rules import Rules
from matrix.stats.verdicts.comparisons import Comparison
from matrix.stats.verdicts.tracks import Track


@dataclass(frozen=True, slots=True)
class Projection:
    """Further rounds, at least 1; ``None`` if none can be expected in the plan, or sensibly.

    Attributes:
        verdict: Until there is a winner or equivalence, whichever comes first.
        winner: Until there is a winner.
    """

    verdict: int | None
    winner: int | None


def project(
    tracks: Sequence[Track], comparisons: Sequence[Comparison], table: RoundTable, rules: Rules
) -> Projection:
    """What would settle a comparison, and what would name a winner.

    Args:
        tracks: All pairs of the variants still in question.
        comparisons: What the last look says of each of them, in the same order.
        table: Counts of rounds.
        rules: What was declared before launch.
    """
    pairs = list(zip(tracks, comparisons, strict=True))
    wins = _winning(pairs, table, rules)
    ways = [needed for needed in (wins, _equalling(pairs, table, rules)) if needed is not None]
    return Projection(
        verdict=max(1, min(ways)) if ways else None,
        winner=None if wins is None else max(1, wins),
    )


def _winning(
    pairs: Sequence[tuple[Track, Comparison]], table: RoundTable, rules: Rules
) -> int | None:
    """Rounds until the variant that leads now has beaten every other one."""
    better = 1 if rules.higher_is_better else -1
    wins: dict[int, list[int | None]] = {}
    for track, pair in pairs:
        ahead = pair if better * (pair.difference or 0.0) >= 0 else pair.reversed()
        shown = 0 if ahead.sign == better else _until_shown(track, pair, table)
        gate = ahead.failures.rounds_to_pass(table.prefix_length, rules.failure_margin)
        needed = None if shown is None or gate is None else max(shown, gate)
        wins.setdefault(ahead.b, []).append(needed)
        wins.setdefault(ahead.a, [])
    leading = max(wins.values(), key=len)
    known = [needed for needed in leading if needed is not None]
    return max(known) if known and len(known) == len(wins) - 1 else None


def _until_shown(track: Track, pair: Comparison, table: RoundTable) -> int | None:
    """Rounds until the interval leaves 0 out, and enough yes/no pairs differ."""
    sd = _spread(track, pair)
    if sd is None or pair.difference is None:
        return None
    needed = track.boundary.rounds_until(table.prefix_length, abs(pair.difference) / sd)
    differing = _until_discordant(pair)
    return None if needed is None or differing is None else max(needed, differing)


def _until_discordant(pair: Comparison) -> int | None:
    """Rounds until enough yes/no pairs differ for any claim; 0 of other scores."""
    if pair.enough_discordant:
        return 0
    if not pair.discordant:
        return None
    requested = pair.n * (discordant_needed(pair.level) / pair.discordant - 1)
    return -int(-requested // 1)


def _equalling(
    pairs: Sequence[tuple[Track, Comparison]], table: RoundTable, rules: Rules
) -> int | None:
    """Rounds until all intervals lie inside the margin."""
    if rules.delta is None:
        return None
    most = 0
    for track, pair in pairs:
        sd = _spread(track, pair)
        if sd is None or pair.difference is None:
            return None
        room = rules.delta - abs(pair.difference)
        needed = track.boundary.rounds_until(table.prefix_length, room / sd)
        differing = _until_discordant(pair)
        if needed is None or differing is None:
            return None
        most = max(most, needed, differing)
    return most


def _spread(track: Track, pair: Comparison) -> float | None:
    """Spread of a round's difference; ``None`` where it is not known."""
    sd = float(track.seen.sd[-1]) if track.seen.sd.size else 0.0
    return sd if sd > 0.0 else None  # not known: NaN
