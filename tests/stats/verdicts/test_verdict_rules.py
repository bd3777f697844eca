"""The verdict: each rule, their order, and the symmetries every verdict must have."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from matrix.stats import (
    OUTCOMES,
    Rules,
    discordant_needed,
    failure_contrast,
    fixed_n_comparisons,
    fixed_n_verdict,
    mcnemar,
    paired_t,
    verdict_of,
)
from tests.sampling import examples

FAILED, ERRORED, CENSORED = (OUTCOMES.index(name) for name in ("failed", "errored", "censored"))


# --- which verdict ---------------------------------------------------------------------------


def test_a_planted_effect_is_found_with_the_interval_of_the_paired_t(normal_table: Any) -> None:
    table = normal_table([0, 6], n_rounds=25)
    verdict = fixed_n_verdict(table)
    assert (verdict.kind, verdict.winner, verdict.ahead) == ("winner", 1, 1)
    assert verdict.reasons == ("beats every other variant",)
    (pair,) = verdict.comparisons
    oracle = paired_t(*table.paired(0, 1).T)
    assert pair.interval is not None
    assert oracle.difference.interval is not None
    assert (pair.difference, pair.interval.low, pair.interval.high, pair.p) == pytest.approx(
        (
            oracle.difference.mean,
            oracle.difference.interval.low,
            oracle.difference.interval.high,
            oracle.p,
        )
    )
    assert (pair.n, pair.level) == (25, 0.05)


def test_a_winner_must_beat_every_other(normal_table: Any) -> None:
    assert fixed_n_verdict(normal_table([0, 5, 12])).winner == 2
    tied = fixed_n_verdict(normal_table([0, 12, 12]))
    assert (tied.kind, tied.winner, tied.ahead) == ("no_difference", None, None)
    assert tied.decisive is not None
    assert {tied.decisive.a, tied.decisive.b} == {1, 2}


def test_pairs_hold_together_and_a_winner_is_claimed_at_the_plain_level(normal_table: Any) -> None:
    verdict = fixed_n_verdict(normal_table([0, 0, 0, 0]), Rules(alpha=0.06))
    assert len(verdict.comparisons) == 6
    assert {pair.level for pair in verdict.comparisons} == {0.06 / 3}
    assert {pair.level for pair in verdict.claims} == {0.06}
    assert all(v.interval and v.interval.confidence == 0.94 for v in verdict.variants)


def test_nine_rounds_are_not_enough_whatever_they_say(normal_table: Any) -> None:
    verdict = fixed_n_verdict(normal_table([0, 30], n_rounds=9, n_scenarios=10))
    assert (verdict.kind, verdict.winner) == ("not_enough_data", None)
    assert (verdict.reasons, verdict.extra_rounds) == (("too few rounds",), 1)
    assert fixed_n_verdict(normal_table([0, 30], n_rounds=10, n_scenarios=10)).kind == "winner"


def test_nothing_is_claimed_before_the_plan_is_over(normal_table: Any) -> None:
    table = normal_table([0, 30], n_rounds=30, planned=40)
    for rules in (Rules(), Rules(delta=50.0)):
        verdict = fixed_n_verdict(table, rules)
        assert (verdict.kind, verdict.reasons) == ("not_enough_data", ("plan not over",))
        assert verdict.extra_rounds == 10
    assert fixed_n_verdict(table, plan_over=True).kind == "winner"


def test_a_cap_ends_the_plan_and_is_a_reason_not_a_verdict(table_of: Any) -> None:
    scores = np.random.default_rng(1).normal(50, 5, (40, 3, 2)) + np.array([0.0, 12.0])
    outcomes = np.zeros(scores.shape, dtype=np.int64)
    outcomes[25, 1, 0] = CENSORED
    table = table_of(scores, outcomes)
    unasked = fixed_n_verdict(table)
    assert (unasked.kind, unasked.winner) == ("not_enough_data", None)
    assert unasked.reasons == ("plan not over", "ended by censored session")
    verdict = fixed_n_verdict(table, plan_over=True)
    assert verdict.kind == "winner"
    assert verdict.reasons == ("beats every other variant", "ended by censored session")
    assert (verdict.rounds_used, verdict.rounds_planned) == (25, 40)


@pytest.mark.parametrize("shift", [0.0, 0.1, 10.0])
def test_a_constant_difference_names_no_winner(table_of: Any, shift: float) -> None:
    first = np.random.default_rng(3).uniform(0, 80, (60, 2, 1))
    table = table_of(np.concatenate([first, first + shift], axis=2))
    verdict = fixed_n_verdict(table, Rules(score_bounds=None))
    assert (verdict.kind, verdict.winner) == ("not_enough_data", None)
    assert verdict.reasons[0] == "identical so far"
    assert verdict.comparisons[0].interval is None


def test_a_yes_no_score_needs_six_pairs_that_differ(table_of: Any) -> None:
    for differing, kind in ((5, "not_enough_data"), (6, "winner")):
        scores = np.zeros((60, 1, 2))
        scores[:differing, 0, 1] = 1.0
        verdict = fixed_n_verdict(table_of(scores))
        assert (verdict.kind, verdict.comparisons[0].discordant) == (kind, differing)
        assert (verdict.comparisons[0].p or 1.0) < 0.05, "the t test alone would have claimed it"
    scores[5, 0, 1] = 0.0
    verdict = fixed_n_verdict(table_of(scores))
    assert (verdict.reasons, verdict.extra_rounds) == (("too few discordant pairs",), 12)


def test_a_yes_no_score_that_always_differs_is_judged_as_rates(table_of: Any) -> None:
    """60 of 60 against 0 of 60 leaves no spread, and no doubt."""
    scores = np.zeros((20, 3, 2))
    scores[:, :, 1] = 1.0
    verdict = fixed_n_verdict(table_of(scores), Rules(score_bounds=(0.0, 1.0), failure_icc=0.0))
    assert (verdict.kind, verdict.winner) == ("winner", 1)
    (pair,) = verdict.comparisons
    assert pair.interval is not None
    assert 0.85 < pair.interval.low < pair.interval.high == 1.0
    same = fixed_n_verdict(table_of(np.ones((20, 3, 2))), Rules(score_bounds=(0.0, 1.0)))
    assert same.reasons[0] == "identical so far"


def test_the_discordant_pairs_needed_are_what_an_exact_test_needs() -> None:
    for level in (0.2, 0.05, 0.025, 0.05 / 3, 0.001):
        needed = discordant_needed(level)
        assert mcnemar(0, needed).p_exact <= level < mcnemar(0, needed - 1).p_exact


# --- the declared margin ---------------------------------------------------------------------


def test_without_a_declared_margin_nothing_is_equivalent(normal_table: Any) -> None:
    table = normal_table([0, 0], n_rounds=400)
    assert fixed_n_verdict(table).kind == "no_difference"
    assert fixed_n_verdict(table, Rules(delta=3.0)).kind == "equivalent"


@pytest.mark.parametrize(("margin", "kind"), [(2.4599, "equivalent"), (2.4598, "winner")])
def test_equivalence_is_the_shown_interval_inside_the_margin(
    table_of: Any, margin: float, kind: str
) -> None:
    """Student's sleep data, whose 95 % interval is (0.700114, 2.459886)."""
    first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    table = table_of(np.stack([first, second], axis=1)[:, None])
    rules = Rules(delta=margin, failure_margin=1.0, score_bounds=None)
    assert fixed_n_verdict(table, rules).kind == kind


def test_equivalence_says_who_is_statistically_ahead(normal_table: Any) -> None:
    verdict = fixed_n_verdict(normal_table([0, 2], n_rounds=400), Rules(delta=4.0))
    assert (verdict.kind, verdict.winner, verdict.ahead) == ("equivalent", None, 1)


def test_of_three_variants_every_pair_must_lie_inside_the_margin(table_of: Any) -> None:
    rng = np.random.default_rng(0)
    noise, steady = rng.normal(0, 3, (60, 1)), rng.normal(50, 0.2, (60, 1))
    noise -= noise.mean()
    table = table_of(np.stack([steady + 0.1, steady + noise, steady - noise], axis=2))
    reach = {(p.a, p.b): p.interval for p in fixed_n_verdict(table).comparisons}
    best_to_one, best_to_other, between = reach[0, 1], reach[0, 2], reach[1, 2]
    assert best_to_one is not None
    assert best_to_other is not None
    assert between is not None
    margin = 1.1 * max(-min(best_to_one.low, best_to_other.low), best_to_one.high)
    assert best_to_one.inside(margin)
    assert best_to_other.inside(margin)
    assert not between.inside(margin), "two that differ from the best in opposite ways"
    assert fixed_n_verdict(table, Rules(delta=margin)).kind != "equivalent"
    assert fixed_n_verdict(table, Rules(delta=2 * margin)).kind == "equivalent"


def test_equivalence_of_three_names_the_largest_difference(normal_table: Any) -> None:
    verdict = fixed_n_verdict(normal_table([1, 2, 0], n_rounds=100), Rules(delta=6.0))
    assert verdict.kind == "equivalent"
    assert verdict.decisive is not None
    assert (verdict.decisive.a, verdict.decisive.b) == (2, 1)


def test_what_keeps_the_best_from_winning_is_its_closest_rival(normal_table: Any) -> None:
    verdict = fixed_n_verdict(normal_table([0, 0.6, 0.9], n_rounds=12, sd=8.0, seed=6))
    assert verdict.kind == "no_difference"
    means = [v.mean for v in verdict.variants if v.mean is not None]
    order = np.argsort(means)
    assert verdict.decisive is not None
    assert (verdict.decisive.b, verdict.decisive.a) == (order[-1], order[-2])


def test_a_margin_the_data_cannot_resolve_asks_for_the_rounds_it_takes(normal_table: Any) -> None:
    verdict = fixed_n_verdict(normal_table([0, 0], n_rounds=25), Rules(delta=0.5))
    assert (verdict.kind, verdict.reasons) == ("not_enough_data", ("interval wider than margin",))
    interval = verdict.comparisons[0].interval
    assert interval is not None
    assert verdict.extra_rounds == pytest.approx(25 * ((interval.half_width / 0.5) ** 2 - 1), abs=1)


def test_an_interval_as_narrow_as_the_margin_shows_no_difference(normal_table: Any) -> None:
    table = normal_table([0, 0.0], n_rounds=30, seed=2)
    pair = fixed_n_verdict(table).comparisons[0]
    assert pair.interval is not None
    just_wide_enough = pair.interval.half_width * 1.0001
    assert not pair.interval.inside(just_wide_enough)
    assert fixed_n_verdict(table, Rules(delta=just_wide_enough)).kind == "no_difference"
    assert fixed_n_verdict(table, Rules(delta=just_wide_enough * 0.99)).kind == "not_enough_data"


def test_a_shown_difference_wins_even_if_wider_than_the_margin(normal_table: Any) -> None:
    verdict = fixed_n_verdict(normal_table([0, 12]), Rules(delta=0.3))
    assert (verdict.kind, verdict.winner) == ("winner", 1)
    assert verdict.reasons == ("beats every other variant", "interval wider than margin")


# --- failures --------------------------------------------------------------------------------


def test_a_better_score_that_fails_more_often_does_not_win(normal_table: Any) -> None:
    verdict = fixed_n_verdict(normal_table([0, 9], fail={1: 12}))
    assert (verdict.kind, verdict.winner, verdict.ahead) == ("not_enough_data", None, 1)
    assert (verdict.reasons[0], verdict.extra_rounds) == ("failure gate not passed", None)
    assert [v.failures for v in verdict.variants] == [0, 12]
    assert {v.sessions for v in verdict.variants} == {120}


def test_failing_less_often_is_no_obstacle_wherever_the_variant_stands(normal_table: Any) -> None:
    assert fixed_n_verdict(normal_table([0, 9], fail={0: 12})).winner == 1
    assert fixed_n_verdict(normal_table([9, 0], fail={1: 12})).winner == 0
    assert fixed_n_verdict(normal_table([9, 0], fail={0: 12})).winner is None


def test_a_reversed_contrast_is_the_contrast_of_the_exchanged_variants(normal_table: Any) -> None:
    table = normal_table([0, 0], fail={0: 12, 1: 5})
    forward, backward = failure_contrast(table, 0, 1, 0.05), failure_contrast(table, 1, 0, 0.05)
    turned = forward.reversed()
    assert (turned.both, turned.only_a, turned.only_b) == (5, 0, 7)
    assert (turned.only_a, turned.only_b) == (backward.only_a, backward.only_b)
    assert turned.difference == backward.difference == 7 / 120
    assert turned.interval is not None
    assert backward.interval is not None
    assert turned.interval.low == pytest.approx(backward.interval.low)
    assert turned.interval.high == pytest.approx(backward.interval.high)


def test_every_gate_must_open_and_the_worst_is_named(normal_table: Any) -> None:
    verdict = fixed_n_verdict(normal_table([0, 9, 0], fail={0: 11, 1: 12, 2: 3}))
    assert (verdict.winner, verdict.reasons[0]) == (None, "failure gate not passed")
    assert verdict.decisive is not None
    assert (verdict.decisive.a, verdict.decisive.b) == (2, 1)
    clean = fixed_n_verdict(normal_table([0, 9, 0], fail={0: 11, 1: 2, 2: 5}))
    assert clean.winner == 1
    both_closed = fixed_n_verdict(normal_table([0, 9, 0], fail={0: 4, 1: 12, 2: 8}))
    assert both_closed.decisive is not None
    assert both_closed.decisive.a == 0


def test_pairs_of_a_round_that_go_together_count_for_fewer(normal_table: Any) -> None:
    """52 independent pairs: 11 rounds of five if they are, 15 at a correlation of .1, 52 of 1."""
    for icc, rounds in ((0.0, 11), (0.1, 15), (0.2, 19), (1.0, 52)):
        rules = Rules(failure_icc=icc)
        short = fixed_n_verdict(normal_table([0, 30], rounds - 1, 5), rules)
        assert (short.kind, short.extra_rounds) == ("not_enough_data", 1)
        assert fixed_n_verdict(normal_table([0, 30], rounds, 5), rules).kind == "winner"


def test_without_failures_the_gate_opens_at_the_published_52_pairs(normal_table: Any) -> None:
    closed = fixed_n_verdict(normal_table([0, 30], n_rounds=51, n_scenarios=1))
    assert (closed.kind, closed.reasons[0]) == ("not_enough_data", "failure gate not passed")
    assert closed.extra_rounds == 1
    assert fixed_n_verdict(normal_table([0, 30], n_rounds=52, n_scenarios=1)).kind == "winner"
    three = normal_table([0, 15, 30], n_rounds=52, n_scenarios=1)
    assert fixed_n_verdict(three).winner == 2, "each gate is at alpha, however many variants"
    ten_points = Rules(failure_margin=0.10)
    assert fixed_n_verdict(normal_table([0, 30], 24, 1), ten_points).kind == "not_enough_data"
    assert fixed_n_verdict(normal_table([0, 30], 25, 1), ten_points).kind == "winner"


@pytest.mark.parametrize("engine", ["fixed", "planned", "open-ended"])
def test_an_open_gate_is_told_of_the_closest_however_variants_are_listed(
    normal_table: Any, table_of: Any, engine: Any
) -> None:
    leads = [0.0, 20.0, 30.0]
    scores = normal_table(leads, n_rounds=12, n_scenarios=1).scores
    for order in permutations(range(3)):
        verdict = verdict_of(table_of(scores[:, :, list(order)]), Rules(engine=engine))
        assert verdict.reasons[0] == "failure gate not passed"
        assert verdict.decisive is not None
        pair = {leads[order[one]] for one in (verdict.decisive.a, verdict.decisive.b)}
        assert pair == {20.0, 30.0}


def test_the_rounds_a_gate_asks_for_are_those_that_open_it(normal_table: Any) -> None:
    short = fixed_n_verdict(normal_table([0, 30], n_rounds=20, n_scenarios=1, seed=4))
    assert short.extra_rounds == 32
    again = fixed_n_verdict(normal_table([0, 30], n_rounds=52, n_scenarios=1, seed=4))
    assert again.kind == "winner"


def test_failures_in_errored_pairs_are_not_counted(table_of: Any) -> None:
    outcomes = np.zeros((20, 1, 2), dtype=np.int64)
    outcomes[3, 0] = (ERRORED, FAILED)
    contrast = failure_contrast(table_of(np.ones((20, 1, 2)), outcomes), 0, 1, 0.05)
    assert (contrast.pairs, contrast.only_b, contrast.neither) == (19, 0, 19)


def filled(table: Any, variant: int, score: float) -> Any:
    """The table with a score for every session of a variant that has none."""
    scores = table.scores.copy()
    own = scores[:, :, variant]
    own[np.isnan(own)] = score
    return replace(table, scores=scores)


@settings(max_examples=examples(40))
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.floats(3.0, 8.0))
def test_a_claim_turns_just_where_filling_the_missing_scores_in_says(
    normal_table: Any, seed: int, lost: int, lead: float
) -> None:
    rules = Rules(failure_margin=0.5)
    table = normal_table([0, lead], seed=seed, fail={1: lost})
    verdict = fixed_n_verdict(table, rules)
    assume(verdict.winner == 1)
    (found,) = verdict.sensitivity
    assert (found.variant, found.missing, found.rival_missing) == (1, lost, 0)
    if found.turns_at is None:
        assert not found.overturned
        assert fixed_n_verdict(filled(table, 1, 0.0), rules).winner == 1
    else:
        assert fixed_n_verdict(filled(table, 1, found.turns_at + 0.01), rules).winner == 1
        assert fixed_n_verdict(filled(table, 1, found.turns_at - 0.01), rules).winner is None


def test_a_winner_that_missing_scores_could_overturn_is_fragile(normal_table: Any) -> None:
    for lost, flags in ((1, ()), (20, ("fragile",))):
        verdict = fixed_n_verdict(normal_table([0, 5], fail={1: lost}), Rules(failure_margin=0.5))
        assert verdict.kind == "winner"
        assert verdict.flags == (*flags, "these scenarios only")


def test_tighter_score_bounds_can_clear_a_winner(table_of: Any) -> None:
    rng = np.random.default_rng(0)
    scores = 50 + rng.uniform(-1, 1, (40, 2, 2)) + np.array([0.0, 5.0])
    outcomes = np.zeros(scores.shape, dtype=np.int64)
    outcomes[:10, 0, 1] = FAILED
    table, margin = table_of(scores, outcomes), 0.5
    tight = Rules(score_bounds=(40.0, 65.0), failure_margin=margin)
    assert "fragile" not in fixed_n_verdict(table, tight).flags
    wide = Rules(score_bounds=(0.0, 100.0), failure_margin=margin)
    assert "fragile" in fixed_n_verdict(table, wide).flags
    seen = Rules(score_bounds=None, failure_margin=margin)
    assert "fragile" not in fixed_n_verdict(table, seen).flags, "between the scores that were seen"


def test_a_variant_that_fails_too_often_cannot_win_and_blinds_nobody(table_of: Any) -> None:
    rng = np.random.default_rng(2)
    scores = 50 + rng.normal(0, 5, (30, 3, 4)) + np.array([0.0, 6.0, 1.0, 0.0])
    outcomes = np.zeros(scores.shape, dtype=np.int64)
    outcomes[:, :, 3] = FAILED
    verdict = fixed_n_verdict(table_of(scores, outcomes))
    assert (verdict.kind, verdict.winner) == ("winner", 1)
    assert [(one.variant, one.why) for one in verdict.beaten] == [(3, "failures")]
    assert verdict.decisive is not None
    assert verdict.decisive.pairs == 90


def test_where_all_others_fail_too_often_one_is_left_unless_they_score_better(
    normal_table: Any,
) -> None:
    alike = fixed_n_verdict(normal_table([0, 0], fail={1: 20}))
    assert (alike.kind, alike.winner) == ("winner", 0)
    assert alike.reasons == ("others fail too often",)
    better = fixed_n_verdict(normal_table([0, 9], fail={1: 20}))
    assert (better.kind, better.winner, better.ahead) == ("not_enough_data", None, 1)


def test_a_tie_among_the_losers_makes_no_winner_fragile(normal_table: Any) -> None:
    verdict = fixed_n_verdict(normal_table([0, 0, 30], fail={0: 12}))
    assert (verdict.winner, verdict.flags) == (2, ("these scenarios only",))


def test_equivalence_that_missing_scores_could_break_is_fragile(normal_table: Any) -> None:
    for lost, flags in ((40, ()), (100, ("fragile",))):
        table = normal_table([0, 0], n_rounds=400, fail={0: lost})
        verdict = fixed_n_verdict(table, Rules(delta=3.0, failure_margin=0.2))
        assert verdict.kind == "equivalent"
        assert verdict.flags == (*flags, "these scenarios only")


def test_scores_outside_the_declared_bounds_are_refused(normal_table: Any) -> None:
    with pytest.raises(ValueError, match="outside the declared bounds"):
        fixed_n_verdict(normal_table([0, 0]), Rules(score_bounds=(0.0, 1.0)))


# --- counts ----------------------------------------------------------------------------------


def test_every_loss_is_counted(normal_table: Any, table_of: Any) -> None:
    scores = np.random.default_rng(5).uniform(0, 100, (20, 2, 2))
    outcomes = np.zeros(scores.shape, dtype=np.int64)
    outcomes[4, :, 0] = FAILED
    outcomes[7, 1, 1] = ERRORED
    verdict = fixed_n_verdict(table_of(scores, outcomes))
    assert verdict.rounds_complete == 20
    (pair,) = verdict.comparisons
    assert (pair.n, pair.pairs, pair.errored, pair.unscored) == (19, 37, 1, 2)
    assert [(v.sessions, v.failures, v.unscored, v.n_rounds) for v in verdict.variants] == [
        (40, 2, 2, 19), (39, 0, 0, 20),
    ]  # fmt: skip


def test_an_empty_run_is_not_enough_data(table_of: Any) -> None:
    verdict = fixed_n_verdict(table_of(np.ones((12, 1, 2)), np.full((12, 1, 2), CENSORED)))
    assert (verdict.kind, verdict.rounds_used) == ("not_enough_data", 0)
    assert verdict.reasons == ("too few rounds", "plan not over", "ended by censored session")
    assert all(v.mean is None and v.interval is None for v in verdict.variants)


def test_one_variant_cannot_win(table_of: Any) -> None:
    with pytest.raises(ValueError, match="two variants"):
        fixed_n_verdict(table_of(np.ones((12, 1, 1))))


@pytest.mark.parametrize(
    ("bad", "name"),
    [
        ({"alpha": 0.5}, "alpha"),
        ({"alpha": 0.0}, "alpha"),
        ({"delta": 0.0}, "delta"),
        ({"failure_margin": 0.0}, "failure_margin"),
        ({"score_bounds": (1.0, 0.0)}, "score_bounds"),
    ],
)
def test_rules_that_mean_nothing_are_refused(bad: dict[str, Any], name: str) -> None:
    with pytest.raises(ValueError, match=name):
        Rules(**bad)


# --- symmetries ------------------------------------------------------------------------------

cubes = st.tuples(
    st.integers(8, 24), st.integers(1, 3), st.integers(2, 4), st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.5, 2.0]), st.sampled_from([0.0, 0.02, 0.1]),
)  # fmt: skip
rule_sets = st.sampled_from([Rules(), Rules(delta=4.0), Rules(failure_margin=0.3, delta=25.0)])


def random_cube(
    case: tuple[int, int, int, int, float, float],
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Whole-numbered scores well inside 0 to 100, so that sums are exact, and outcomes."""
    n_rounds, n_scenarios, n_variants, seed, effect, failing = case
    rng = np.random.default_rng(seed)
    shape = (n_rounds, n_scenarios, n_variants)
    scores = np.rint(rng.normal(50, 6, shape) + 4 * effect * np.arange(n_variants)).clip(0, 100)
    outcomes = np.where(rng.random(shape) < failing, FAILED, 0)
    return scores, np.where(rng.random(shape) < failing / 2, ERRORED, outcomes)


@settings(max_examples=examples(80))
@given(cubes, rule_sets, st.data())
def test_renaming_the_variants_renames_the_verdict(
    table_of: Any, case: Any, rules: Rules, data: Any
) -> None:
    scores, outcomes = random_cube(case)
    order = data.draw(st.permutations(range(case[2])))
    one = fixed_n_verdict(table_of(scores, outcomes), rules)
    other = fixed_n_verdict(table_of(scores[:, :, order], outcomes[:, :, order]), rules)
    ties = any(pair.difference == 0.0 for pair in one.comparisons)
    assume(not ties)
    assert (one.kind, one.reasons, one.flags) == (other.kind, other.reasons, other.flags)
    assert one.winner == (None if other.winner is None else order[other.winner])
    assert one.ahead == (None if other.ahead is None else order[other.ahead])
    before = {(pair.a, pair.b): pair.difference for pair in one.comparisons}
    for pair in other.comparisons:
        a, b = order[pair.a], order[pair.b]
        assert pair.difference == (before[a, b] if a < b else -(before[b, a] or 0.0))


@settings(max_examples=examples(60))
@given(cubes, rule_sets, st.sampled_from([-1000.0, 0.25, 37.0, 4096.0]))
def test_adding_a_constant_to_every_score_changes_no_verdict(
    table_of: Any, case: Any, rules: Rules, constant: float
) -> None:
    scores, outcomes = random_cube(case)
    shifted_rules = Rules(
        delta=rules.delta,
        failure_margin=rules.failure_margin,
        score_bounds=(constant, 100.0 + constant),
    )
    one = fixed_n_verdict(table_of(scores, outcomes), rules)
    other = fixed_n_verdict(table_of(scores + constant, outcomes), shifted_rules)
    assert (one.kind, one.winner, one.reasons, one.flags, one.extra_rounds) == (
        other.kind, other.winner, other.reasons, other.flags, other.extra_rounds,
    )  # fmt: skip
    for before, after in zip(one.comparisons, other.comparisons, strict=True):
        assert after.difference == pytest.approx(before.difference, abs=1e-9)


@settings(max_examples=examples(60))
@given(cubes, rule_sets)
def test_turning_the_scale_upside_down_changes_no_verdict(
    table_of: Any, case: Any, rules: Rules
) -> None:
    scores, outcomes = random_cube(case)
    turned = Rules(delta=rules.delta, failure_margin=rules.failure_margin, higher_is_better=False)
    one = fixed_n_verdict(table_of(scores, outcomes), rules)
    other = fixed_n_verdict(table_of(100.0 - scores, outcomes), turned)
    assert (one.kind, one.winner, one.ahead) == (other.kind, other.winner, other.ahead)
    assert (one.reasons, one.flags) == (other.reasons, other.flags)


@settings(max_examples=examples(60))
@given(cubes, rule_sets)
def test_a_winner_beats_all_passes_every_gate_and_is_alone(
    table_of: Any, case: Any, rules: Rules
) -> None:
    scores, outcomes = random_cube(case)
    table = table_of(scores, outcomes)
    verdict = fixed_n_verdict(table, rules)
    beaten = {
        (pair.a if (pair.difference or 0) > 0 else pair.b)
        for pair in fixed_n_comparisons(table, rules, rules.alpha)
        if pair.p is not None and pair.p < pair.level
        and verdict.winner == (pair.b if (pair.difference or 0) > 0 else pair.a)
    }  # fmt: skip
    assert (verdict.winner is not None) == (verdict.kind == "winner")
    if verdict.winner is not None:
        out = {one.variant for one in verdict.beaten}
        assert beaten | out == set(range(case[2])) - {verdict.winner}
        best = verdict.variants[verdict.winner]
        for rival in verdict.variants:
            excess = best.failures / best.sessions - rival.failures / rival.sessions
            assert excess < rules.failure_margin
