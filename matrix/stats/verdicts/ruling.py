"""The rules of a verdict, in priority order, on comparisons from any engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, sqrt

from matrix.stats.estimates.proportions import discordant_needed
from matrix.stats.planning.planning import rounds_to_win
from matrix.stats.planning.power import PowerGoal, rounds_needed
from matrix.stats.rounds.round_table import RoundTable
from matrix.stats.rounds.rules import Reason, Rules, VerdictKind
from matrix.stats.verdicts.comparisons import Comparison


@dataclass(frozen=True, slots=True)
class Ruling:
    """A decision; fields as in `matrix.stats.verdicts.verdict.Verdict`."""

    kind: VerdictKind
    reasons: tuple[Reason, ...]
    ahead: int | None = None
    decisive: Comparison | None = None
    extra_rounds: int | None = None
    winner_rounds: int | None = None


def too_early(table: RoundTable, rules: Rules, *, plan_over: bool) -> Ruling | None:
    """The first rule: not enough data below ten rounds, or before the one look of a fixed plan.

    Args:
        table: Counts of rounds.
        rules: What was declared before launch.
        plan_over: Whether no session is running or will be launched.

    Returns:
        A ruling, or ``None`` if the comparisons may be looked at.
    """
    short = rules.first_look - table.prefix_length
    if short <= 0 and plan_over:
        return None
    waiting = not plan_over and (rules.engine == "fixed" or table.prefix_end == "open session")
    left = table.n_rounds_planned - table.prefix_length if waiting else 0
    reasons: tuple[Reason, ...] = ("too few rounds",) if short > 0 else ()
    reasons += () if plan_over else ("plan not over",)
    extra = max(short, left)
    wins = max(extra, fewest_to_win(table, rules))
    return Ruling(
        "not_enough_data",
        reasons + _prefix_reasons(table),
        extra_rounds=extra or None,
        winner_rounds=wins or None,
    )


def fewest_to_win(table: RoundTable, rules: Rules) -> int:
    """Further rounds without which no winner can be named, whatever the scores: as a plan says."""
    goal = PowerGoal(rules.alpha, n_variants=table.n_variants, engine=rules.engine)
    pairs = table.pairs_per_round
    requested = rounds_to_win(goal, rules.failure_margin, pairs, icc=rules.failure_icc)
    return max(0, max(rules.first_look, requested.failures) - table.prefix_length)


def decide(
    claims: Sequence[Comparison],
    comparisons: Sequence[Comparison],
    table: RoundTable,
    rules: Rules,
    variants: Sequence[int],
) -> Ruling:
    """Apply the other rules to intervals that may be looked at now; the first match wins.

    1. All intervals strictly inside +-delta: equivalent. The interval shown is the one that
       decides, so this is stricter than two one-sided tests.
    2. One variant beats every other: winner, if it also passes the failure gate against each;
       otherwise not enough data. A half-width above delta does not void a difference that is
       shown, but is listed.
    3. Otherwise, looking at the pairs that keep the variant with the best mean from winning: not
       enough data if one is identical so far, differs in too few yes/no pairs, or is known less
       closely than +-delta; else no difference shown.

    Args:
        claims: All pairs of ``variants`` at plain level ``alpha``, for naming a winner.
        comparisons: The same pairs at ``alpha / (k - 1)``: those of one variant hold together.
        table: Counts of rounds.
        rules: What was declared before launch.
        variants: Variants still in the race, at least two.
    """
    ended = _prefix_reasons(table)
    oriented = [_better_last(pair, rules) for pair in claims]
    top = max(variants, key=lambda i: sum(pair.b == i for pair in oriented))
    pairs = [p if p.b == top else p.reversed() for p in oriented if top in (p.a, p.b)]
    ahead = top if all(_shown(pair, rules) for pair in pairs) else None
    if comparisons and all(inside(pair, rules.delta) for pair in comparisons):
        ruling = equivalent_among(comparisons, rules, ahead)
        return replace(ruling, reasons=ruling.reasons + ended)
    ruling = _undecided(pairs, table, rules) if ahead is None else _gated(pairs, table, rules)
    return replace(ruling, ahead=ahead, reasons=ruling.reasons + ended)


def crowned(
    claims: Sequence[Comparison],
    winner: int,
    left: set[int],
    failing: set[int],
    rules: Rules,
) -> Ruling:
    """Ruling where one variant has beaten all others that do not fail too often.

    It rests on the closest of its rivals, those still in the race first. Where all others fail too
    often there is nothing more to find out, and it wins unless one of them is shown to score
    better: then nobody does.

    Args:
        claims: All pairs at plain level ``alpha``.
        winner: Index of the winner.
        left: Variants still in the race.
        failing: Variants that are out because they fail too often.
        rules: What was declared before launch.
    """
    pairs = [p if p.b == winner else p.reversed() for p in claims if winner in (p.a, p.b)]
    rivals = [pair for pair in pairs if pair.a in left]
    scored = [pair for pair in pairs if pair.a not in failing]
    beaten = [pair for pair in scored if _shown(pair, rules)]
    if rivals or scored:
        return _won(rivals or beaten or scored, winner, rules)
    better = [pair.reversed() for pair in pairs if _shown(pair.reversed(), rules)]
    if better:  # it fails too often to win, and scores too well to be beaten
        reason: Reason = "failure gate not passed"
        best = max(better, key=_size)
        return Ruling("not_enough_data", (reason,), best.b, best)
    worst = min(pairs, key=lambda pair: (pair.failures.difference or 0.0, _size(pair)))
    return Ruling("winner", ("others fail too often",), winner, worst)


def equivalent_among(
    comparisons: Sequence[Comparison], rules: Rules, ahead: int | None = None
) -> Ruling:
    """Ruling where the differences of all ``comparisons`` are shown to lie inside the margin."""
    widest = max((_better_last(pair, rules) for pair in comparisons), key=_size)
    return Ruling("equivalent", ("inside the margin",), ahead, widest)


def _gated(pairs: list[Comparison], table: RoundTable, rules: Rules) -> Ruling:
    """Ruling on the variant b, whose score is shown to be better in all of ``pairs``."""
    margin = rules.failure_margin
    closed = [pair for pair in pairs if not pair.failures.b_non_inferior(margin)]
    if closed:
        needed = _rounds_to_gate(closed, table, rules)
        # who fails least beside it; of those that fail alike the closest, however they are listed
        worst = max(closed, key=lambda pair: (pair.failures.difference or 0.0, -_size(pair)))
        reason: Reason = "failure gate not passed"
        return Ruling("not_enough_data", (reason,), None, worst, needed, needed)
    return _won(pairs, None, rules)


def _won(pairs: list[Comparison], winner: int | None, rules: Rules) -> Ruling:
    reasons: tuple[Reason, ...] = ("beats every other variant",)
    if any(_too_wide(pair, rules.delta) for pair in pairs):
        reasons += ("interval wider than margin",)
    return Ruling("winner", reasons, winner, min(pairs, key=_size))


def _undecided(pairs: list[Comparison], table: RoundTable, rules: Rules) -> Ruling:
    """Ruling where the top variant b is not shown to be better in some of ``pairs``."""
    rivals = [pair for pair in pairs if not _shown(pair, rules)]
    closest = min(rivals, key=_size)
    if any(pair.identical for pair in rivals):
        same = next(pair for pair in rivals if pair.identical)
        return Ruling("not_enough_data", ("identical so far",), None, same)
    unknown = [pair for pair in rivals if pair.interval is None or not pair.enough]
    if unknown:
        return Ruling("not_enough_data", ("too few rounds",), None, unknown[0])
    shown = [_rounds_to_show(pair) for pair in rivals]
    gate = _most([_rounds_to_gate(pairs, table, rules), *shown])
    few = [pair for pair in rivals if not pair.enough_discordant]
    if few:
        extra = _most([_rounds_to_discordant(pair) for pair in few])
        wins = _most([extra, gate])
        return Ruling("not_enough_data", ("too few discordant pairs",), None, few[0], extra, wins)
    wide = [pair for pair in rivals if _too_wide(pair, rules.delta)]
    if wide:
        extra = _most([_rounds_to_margin(pair, rules.delta) for pair in wide])
        widest, wins = max(wide, key=_half_width), _most([extra, gate])
        return Ruling("not_enough_data", ("interval wider than margin",), None, widest, extra, wins)
    return Ruling("no_difference", ("interval includes 0",), None, closest)


def _prefix_reasons(table: RoundTable) -> tuple[Reason, ...]:
    if table.prefix_end == "stopped":
        return ("stopped early",)
    if table.prefix_end == "censored session":
        return ("ended by censored session",)
    return ()


def _better_last(pair: Comparison, rules: Rules) -> Comparison:
    gain = (pair.difference or 0.0) * (1 if rules.higher_is_better else -1)
    return pair.reversed() if gain < 0 else pair


def _shown(pair: Comparison, rules: Rules) -> bool:
    """Whether b is shown to be better than a."""
    return pair.sign == (1 if rules.higher_is_better else -1)


def inside(pair: Comparison, delta: float | None) -> bool:
    """Whether the difference is shown to lie strictly inside +-delta."""
    if delta is None or pair.interval is None or not pair.decidable:
        return False
    return pair.interval.inside(delta)


def _too_wide(pair: Comparison, delta: float | None) -> bool:
    return delta is not None and _half_width(pair) > delta


def _half_width(pair: Comparison) -> float:
    return pair.interval.half_width if pair.interval else inf


def _size(pair: Comparison) -> float:
    return abs(pair.difference or 0.0)


def _rounds_to_gate(pairs: Sequence[Comparison], table: RoundTable, rules: Rules) -> int | None:
    """Further rounds until b passes the failure gate in all ``pairs``, at today's rates."""
    margin = rules.failure_margin
    return _most([pair.failures.rounds_to_pass(table.prefix_length, margin) for pair in pairs])


def _rounds_to_show(pair: Comparison) -> int | None:
    """Further rounds until a lead like today's is shown in four of five runs, by one look.

    ``None`` where the lead is less than its standard error: it may as well be none.
    """
    lead, se = abs(pair.difference or 0.0), pair.se
    if se is None or not 0.0 < se <= lead:
        return None
    return max(1, rounds_needed(lead, se * sqrt(pair.n), PowerGoal(alpha=pair.level)) - pair.n)


def _rounds_to_margin(pair: Comparison, delta: float | None) -> int | None:
    """Further rounds until the half-width is ``delta``: it shrinks with the root of n."""
    if delta is None or pair.interval is None:
        return None
    return ceil(pair.n * ((pair.interval.half_width / delta) ** 2 - 1))


def _rounds_to_discordant(pair: Comparison) -> int | None:
    """Further rounds until enough yes/no pairs differ, at today's rate."""
    if not pair.discordant:
        return None
    return ceil(pair.n * (discordant_needed(pair.level) / pair.discordant - 1))


def _most(needed: Iterable[int | None]) -> int | None:
    """The most rounds any part needs; ``None`` if one of them cannot be projected."""
    known = list(needed)
    return None if None in known else max(n for n in known if n is not None)
