"""Verdicts by looking after every round: when they come, that they stay, and who is beaten."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import stdtrit

from matrix.stats import (
    OUTCOMES,
    Engine,
    Rules,
    fixed_n_verdict,
    paired_t,
    t_mixture_radii,
    verdict_of,
)
from matrix.stats.looks.boundary import Boundary
from matrix.stats.looks.spending import planned_tails
from matrix.stats.rounds.round_table import FloatArray
from matrix.stats.verdicts.ruling import inside
from matrix.stats.verdicts.tracks import tracker
from tests.sampling import examples

DROPPED, FAILED = OUTCOMES.index("dropped"), OUTCOMES.index("failed")
ENGINES: tuple[Engine, ...] = ("planned", "open-ended")
EVERY_ENGINE: tuple[Engine, ...] = ("fixed", *ENGINES)
OPEN_GATE = 1.0
"""A failure margin that every variant keeps, so that scores alone decide."""

runs = st.tuples(
    st.integers(10, 60), st.integers(1, 3), st.integers(2, 4), st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 1.0, 3.0, 6.0]), st.sampled_from([0.0, 0.03, 0.15]), st.booleans(),
)  # fmt: skip
rule_sets = st.builds(
    Rules,
    engine=st.sampled_from(ENGINES),
    delta=st.sampled_from([None, 2.0, 8.0]),
    failure_margin=st.sampled_from([0.05, 0.2, OPEN_GATE]),
    higher_is_better=st.booleans(),
)


def cube_of(run: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Scores and outcomes; some runs have yes/no scores."""
    n, s, k, seed, effect, failing, binary = run
    rng = np.random.default_rng(seed)
    scores = np.rint(rng.normal(50, 6, (n, s, k)) + effect * np.arange(k)).clip(0, 100)
    scores = (scores > 52).astype(float) if binary else scores
    outcomes = np.where(rng.random(scores.shape) < failing, FAILED, 0)
    return scores, outcomes


def planned_radii(level: float, n_planned: int) -> FloatArray:
    """The t with the tail of each round's boundary; infinite where there is no look."""
    df = np.maximum(np.arange(n_planned + 1) - 1, 1)
    return np.asarray(-stdtrit(df, planned_tails(level, n_planned)))


# --- looks -----------------------------------------------------------------------------------


@settings(max_examples=examples(120))
@given(runs, rule_sets, st.data())
def test_a_decision_is_never_revised_by_later_rounds(
    table_of: Any, run: Any, rules: Rules, data: Any
) -> None:
    """Every prefix of a run agrees with every longer one on all that was decided by then."""
    scores, outcomes = cube_of(run)
    n = scores.shape[0]
    cut = data.draw(st.integers(1, n))
    early = verdict_of(table_of(scores[:cut], outcomes[:cut], planned=n), rules)
    late = verdict_of(table_of(scores, outcomes), rules)
    assert early.beaten == tuple(one for one in late.beaten if one.at <= cut)
    if early.decided_at is None:
        assert late.decided_at is None or late.decided_at > cut
    else:
        assert (early.kind, early.winner, early.decided_at) == (
            late.kind, late.winner, late.decided_at,
        )  # fmt: skip
        assert early.comparisons == late.comparisons
        assert (early.reasons, early.flags, early.decisive) == (
            late.reasons, late.flags, late.decisive,
        )  # fmt: skip


@settings(max_examples=examples(120))
@given(runs, rule_sets, st.integers(0, 4))
def test_dropping_the_beaten_changes_nothing_that_was_decided_before(
    table_of: Any, run: Any, rules: Rules, lag: int
) -> None:
    scores, outcomes = cube_of(run)
    full = verdict_of(table_of(scores, outcomes), rules)
    if not full.beaten:
        return
    first = full.beaten[0]
    pruned = outcomes.copy()
    pruned[first.at + lag :, :, first.variant] = DROPPED
    verdict = verdict_of(table_of(scores, pruned), rules)
    assert verdict.beaten[0] == first
    if full.decided_at is not None and full.decided_at <= first.at + lag:
        assert (verdict.kind, verdict.winner, verdict.decided_at, verdict.comparisons) == (
            full.kind, full.winner, full.decided_at, full.comparisons,
        )  # fmt: skip


def test_every_look_is_made_so_the_first_that_shows_it_decides(normal_table: Any) -> None:
    for engine in ENGINES:
        rules = Rules(engine=engine, failure_margin=OPEN_GATE)
        whole = normal_table([0, 3], n_rounds=60)
        verdict = verdict_of(whole, rules)
        assert verdict.kind == "winner"
        assert verdict.decided_at is not None
        assert verdict.decided_at < 60
        level = verdict.comparisons[0].level
        n = np.arange(61)
        radii = planned_radii(level, 60) if engine == "planned" else t_mixture_radii(n, level)
        sides = whole.sides(0, 1)
        t = [abs(paired_t(*sides[:m].T).t or 0.0) for m in range(10, 61)]
        assert verdict.decided_at == 10 + int((np.array(t) > radii[10:]).argmax())


@pytest.mark.parametrize("engine", ENGINES)
def test_the_interval_is_the_mean_and_so_many_standard_errors(
    normal_table: Any, engine: Any
) -> None:
    table = normal_table([0, 0.5], n_rounds=30, planned=40)
    pair = verdict_of(table, Rules(engine=engine)).comparisons[0]
    oracle = paired_t(*table.paired(0, 1).T).difference
    radius = {"planned": planned_radii(0.05, 40)[30], "open-ended": 3.2612}[engine]
    assert pair.interval is not None
    assert oracle.mean is not None
    assert oracle.se is not None
    assert pair.difference == pytest.approx(oracle.mean)
    assert pair.interval.half_width == pytest.approx(radius * oracle.se, rel=1e-4)
    assert pair.interval.confidence == 0.95


def with_holes(scores: Any, one_in: int) -> Any:
    """Scores whose last variant has one in every so many rounds only."""
    holed = scores.copy()
    holed[np.arange(len(holed)) % one_in > 0, :, -1] = np.nan
    return holed


@pytest.mark.parametrize("engine", ["planned", "open-ended"])
def test_who_has_hardly_a_score_is_out_whatever_the_scores_and_others_are_decided_as_before(
    normal_table: Any, table_of: Any, engine: Any
) -> None:
    """At most one round in three, as long as two others have more."""
    scores = normal_table([0, 9, 4], n_rounds=40).scores
    rules = Rules(engine=engine, alpha=0.05)
    alone = verdict_of(table_of(scores[:, :, :2]), rules)
    for shift in (0.0, 50.0):
        shifted = scores + np.array([0.0, 0.0, shift])
        found = verdict_of(table_of(with_holes(shifted, 5)), rules)
        first = found.beaten[0]
        assert (first.variant, first.at, first.why) == (2, 10, "unscored")
        assert (found.kind, found.winner) == ("winner", 1)
    assert (alone.kind, alone.winner) == ("winner", 1)
    every_other = verdict_of(table_of(with_holes(scores, 2)), rules)
    assert not [one for one in every_other.beaten if one.why == "unscored"]
    two = verdict_of(table_of(with_holes(scores[:, :, :2], 5)), rules)
    assert not two.beaten, "nobody else is left to be compared with"


@pytest.mark.parametrize("late", [12, 25])
def test_who_falls_silent_later_is_out_from_then_on(
    normal_table: Any, table_of: Any, late: int
) -> None:
    scores = normal_table([0, 0, 0], n_rounds=60).scores
    scores = scores.copy()
    scores[late // 3 :, :, 2] = np.nan
    (out,) = verdict_of(table_of(scores), Rules(engine="planned")).beaten
    assert (out.variant, out.at, out.why) == (2, max(10, 3 * (late // 3)), "unscored")


def test_nothing_is_decided_below_ten_rounds(normal_table: Any) -> None:
    for engine in ENGINES:
        rules = Rules(engine=engine, delta=200.0, failure_margin=OPEN_GATE)
        verdict = verdict_of(normal_table([0, 30], n_rounds=9, planned=40), rules)
        assert (verdict.kind, verdict.decided_at, verdict.beaten) == ("not_enough_data", None, ())
        assert verdict.reasons == ("too few rounds", "plan not over")
        assert verdict.extra_rounds == 1, "until the first look"
        assert verdict_of(normal_table([0, 30], n_rounds=10, planned=40), rules).decided_at == 10


def test_no_difference_is_said_only_when_the_plan_is_over(normal_table: Any) -> None:
    for engine in ENGINES:
        rules = Rules(engine=engine)
        open_run = verdict_of(normal_table([0, 0], n_rounds=30, planned=40), rules)
        assert (open_run.kind, open_run.reasons[0]) == ("not_enough_data", "plan not over")
        assert verdict_of(normal_table([0, 0], n_rounds=40), rules).kind == "no_difference"


def test_the_open_ended_p_value_reaches_the_level_exactly_when_the_interval_excludes_zero(
    normal_table: Any,
) -> None:
    rules = Rules(engine="open-ended", failure_margin=1e-6)  # a gate that never opens: looks go on
    for seed in range(12):
        pair = verdict_of(normal_table([0, 2], n_rounds=40, seed=seed), rules).comparisons[0]
        assert pair.p is not None
        assert (pair.p < pair.level) == (pair.crossed == 1)


@pytest.mark.slow
def test_a_very_long_plan_reports_the_last_look_that_was_made(normal_table: Any) -> None:
    boundary = Boundary("planned", 0.05, 2000)
    looks = [n for n in range(10, 60) if boundary.last_look(n) == n]
    between = next(n for n in range(looks[3], 60) if n not in looks)
    verdict = verdict_of(
        normal_table([0, 0], n_rounds=between, planned=2000), Rules(engine="planned")
    )
    assert verdict.comparisons[0].n == boundary.last_look(between) < between
    assert verdict.comparisons[0].interval is not None


def test_the_fixed_engine_is_the_old_verdict_and_others_are_refused_there(
    normal_table: Any,
) -> None:
    table = normal_table([0, 6], n_rounds=25)
    assert verdict_of(table) == fixed_n_verdict(table)
    with pytest.raises(ValueError, match="use verdict_of"):
        fixed_n_verdict(table, Rules(engine="planned"))
    with pytest.raises(ValueError, match="engine is one of fixed, planned, open-ended"):
        Rules(engine="whenever")  # type: ignore[arg-type]


# --- who is beaten ---------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_a_variant_is_beaten_when_both_score_and_gate_have_shown_it(
    normal_table: Any, engine: Any
) -> None:
    table = normal_table([0, 12], n_rounds=90, n_scenarios=1)
    verdict = verdict_of(table, Rules(engine=engine))
    assert [(one.variant, one.by, one.at) for one in verdict.beaten] == [(0, 1, 79)]
    assert verdict.decided_at == 79
    early = verdict_of(table, Rules(engine=engine, failure_margin=0.10))
    assert early.decided_at == 39, "the score has shown it long before"


def test_a_better_score_that_fails_too_often_beats_nobody(normal_table: Any) -> None:
    for engine in ENGINES:
        verdict = verdict_of(normal_table([0, 9], n_rounds=60, fail={1: 30}), Rules(engine=engine))
        assert (verdict.kind, verdict.winner, verdict.ahead) == ("not_enough_data", None, 1)
        assert verdict.reasons[0] == "failure gate not passed"
        assert [(one.variant, one.by, one.why) for one in verdict.beaten] == [(1, 0, "failures")]
        assert verdict.decided_at == 10, "one is left, and there is nothing more to find out"


def test_the_winner_is_whoever_is_left_even_if_others_did_the_beating(table_of: Any) -> None:
    """1 beats 0 early and is itself beaten by 2, which never met 0 long enough."""
    rng = np.random.default_rng(4)
    scores = rng.normal(50, 4, (80, 2, 3)) + np.array([0.0, 9.0, 12.0])
    outcomes = np.zeros(scores.shape, np.int64)
    outcomes[24:, :, 0] = DROPPED
    # Failing a lot at first keeps the best from passing its gate against 0 before 0 is gone.
    outcomes[:4, 0, 2] = FAILED
    verdict = verdict_of(table_of(scores, outcomes), Rules(engine="open-ended", failure_margin=0.1))
    assert (verdict.kind, verdict.winner) == ("winner", 2)
    assert (verdict.beaten[0].variant, verdict.beaten[0].by) == (0, 1)
    assert verdict.decisive is not None
    assert (verdict.decisive.a, verdict.decisive.b) == (1, 2), (
        "rests on what the winner beat itself"
    )


@settings(max_examples=examples(120))
@given(runs, rule_sets)
def test_beaten_ones_are_beaten_once_in_order_by_one_still_there_and_one_is_left(
    table_of: Any, run: Any, rules: Rules
) -> None:
    scores, outcomes = cube_of(run)
    verdict = verdict_of(table_of(scores, outcomes), rules)
    gone: dict[int, int] = {}
    for one in verdict.beaten:
        assert one.variant not in gone
        assert gone.get(one.by, one.at) >= one.at
        gone[one.variant] = one.at
    assert [one.at for one in verdict.beaten] == sorted(one.at for one in verdict.beaten)
    assert all(one.at >= 10 for one in verdict.beaten)
    assert len(gone) < run[2]
    left = set(range(run[2])) - set(gone)
    if verdict.kind == "winner":
        assert verdict.winner in left
        claims = {frozenset((pair.a, pair.b)): pair for pair in verdict.claims}
        for rival in left - {verdict.winner}:
            pair = claims[frozenset((rival, verdict.winner))]
            pair = pair if pair.b == verdict.winner else pair.reversed()
            assert pair.sign == (1 if rules.higher_is_better else -1)
            assert pair.failures.b_non_inferior(rules.failure_margin)
    elif verdict.kind != "equivalent" and verdict.decided_at is None:
        assert len(left) > 1
    if verdict.decided_at is not None:
        assert all(one.at <= verdict.decided_at for one in verdict.beaten)
        if verdict.kind == "not_enough_data":
            assert len(left) == 1


@settings(max_examples=examples(80))
@given(runs, rule_sets)
def test_turning_the_scale_upside_down_changes_nobody_beaten(
    table_of: Any, run: Any, rules: Rules
) -> None:
    scores, outcomes = cube_of(run)
    other = replace(rules, higher_is_better=not rules.higher_is_better)
    one = verdict_of(table_of(scores, outcomes), rules)
    turned = verdict_of(table_of(100.0 - scores, outcomes), other)
    assert (one.kind, one.winner, one.decided_at) == (
        turned.kind, turned.winner, turned.decided_at,
    )  # fmt: skip
    assert one.beaten == turned.beaten


# --- equivalence -----------------------------------------------------------------------------


@settings(max_examples=examples(60))
@given(runs, st.sampled_from(ENGINES), st.floats(0.5, 12.0))
def test_a_look_shows_equivalence_exactly_where_its_interval_lies_inside_the_margin(
    table_of: Any, run: Any, engine: Engine, delta: float
) -> None:
    table = table_of(*cube_of(run))
    rules = Rules(engine=engine, delta=delta)
    boundary = Boundary(engine, rules.alpha, table.n_rounds_planned, rules.first_look)
    track = tracker(table, boundary, rules, rules.alpha)(0, 1)
    for look, shown in enumerate(track.inside().tolist(), start=1):
        if boundary.looked_at(np.array([look]))[0]:
            assert shown == inside(track.comparison(look, by_itself=True), delta)


def test_equivalence_is_found_as_soon_as_all_intervals_fit_the_margin(normal_table: Any) -> None:
    verdict = verdict_of(
        normal_table([0, 0.1, 0], n_rounds=120, seed=7), Rules(engine="open-ended", delta=3.0)
    )
    assert (verdict.kind, verdict.beaten) == ("equivalent", ())
    assert verdict.decided_at is not None
    assert 10 < verdict.decided_at < 120
    assert all(pair.interval and pair.interval.inside(3.0) for pair in verdict.comparisons)


@pytest.mark.parametrize("engine", ["planned", "open-ended"])
def test_equal_scores_end_no_run_while_one_variant_may_fail_more_often(
    table_of: Any, engine: Any
) -> None:
    """A run that stopped for equality at 0 against a fifth of failures hid who was to be kept."""
    rng = np.random.default_rng(3)
    scores = rng.normal(50, 2, (60, 2, 2))
    failing = rng.random((60, 2)) < 0.2
    outcomes = np.full(scores.shape, "completed", dtype=object)
    outcomes[:, :, 1][failing] = "failed"
    scores[:, :, 1][failing] = np.nan
    rules = Rules(engine=engine, delta=3.0, failure_margin=0.05)
    assert verdict_of(table_of(scores, outcomes), rules).kind != "equivalent"
    fine = np.where(np.isnan(scores), 50.0, scores)
    assert verdict_of(table_of(fine), replace(rules, failure_margin=0.2)).kind == "equivalent"


def test_what_is_left_may_be_equivalent_when_the_rest_is_beaten(normal_table: Any) -> None:
    verdict = verdict_of(
        normal_table([-12, 0.1, 0], n_rounds=120, seed=7),
        Rules(engine="open-ended", delta=3.0, failure_margin=0.1),
    )
    assert verdict.kind == "equivalent"
    assert [one.variant for one in verdict.beaten] == [0]
    assert verdict.decisive is not None
    assert {verdict.decisive.a, verdict.decisive.b} == {1, 2}


@pytest.mark.parametrize("engine", ENGINES)
def test_missing_scores_of_a_beaten_variant_make_no_equivalence_of_the_others_fragile(
    table_of: Any, engine: Any
) -> None:
    rng = np.random.default_rng(7)
    scores = rng.normal(50, 2, (100, 3, 3)) + np.array([-12.0, 0.0, 0.0])
    outcomes = np.zeros(scores.shape, np.int64)
    outcomes[10:, :, 0] = DROPPED
    outcomes[0, 0, 0] = FAILED
    for lost, flags in ((0, ()), (60, ("fragile",))):
        outcomes[:lost, 1, 1] = FAILED
        rules = Rules(engine=engine, delta=1.5, failure_margin=OPEN_GATE)
        verdict = verdict_of(table_of(scores, outcomes), rules)
        assert verdict.kind == "equivalent"
        assert verdict.flags == (*flags, "these scenarios only")


def test_means_have_intervals_that_allow_for_the_looks(normal_table: Any) -> None:
    table = normal_table([0, 0.5], n_rounds=30, planned=40)
    once = verdict_of(table).variants[0].interval
    often = verdict_of(table, Rules(engine="planned")).variants[0].interval
    always = verdict_of(table, Rules(engine="open-ended")).variants[0].interval
    assert once is not None
    assert often is not None
    assert always is not None
    assert once.half_width < often.half_width < always.half_width
    before = verdict_of(normal_table([0, 1], n_rounds=9), Rules(engine="planned"))
    assert before.variants[0].interval is None


# --- edge cases ------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", EVERY_ENGINE)
@pytest.mark.parametrize("shift", [0.0, 0.1, 10.0])
def test_identical_differences_of_unbounded_scores_decide_nothing(
    table_of: Any, engine: Any, shift: float
) -> None:
    first = np.random.default_rng(3).uniform(0, 80, (60, 2, 1))
    rules = Rules(engine=engine, delta=50.0, score_bounds=None)
    verdict = verdict_of(table_of(np.concatenate([first, first + shift], axis=2)), rules)
    assert (verdict.kind, verdict.reasons[0]) == ("not_enough_data", "identical so far")
    assert verdict.comparisons[0].interval is None
    assert verdict.extra_rounds is None


@pytest.mark.parametrize("engine", EVERY_ENGINE)
@pytest.mark.parametrize("bounds", [None, (0.0, 1.0)])
def test_who_always_passes_beats_who_never_does(table_of: Any, engine: Any, bounds: Any) -> None:
    scores = np.zeros((60, 1, 2))
    scores[:, :, 1] = 1.0
    table = table_of(scores)
    verdict = verdict_of(table, Rules(engine=engine, score_bounds=bounds, failure_margin=OPEN_GATE))
    assert (verdict.kind, verdict.winner) == ("winner", 1)
    pair = verdict.comparisons[0]
    assert pair.interval is not None
    assert 0.0 < pair.interval.low < 1.0
    assert pair.interval.high <= 1.0
    assert pair.p is None or pair.p < 0.05


@pytest.mark.parametrize("engine", EVERY_ENGINE)
def test_a_bounded_score_that_differs_alike_in_every_round_is_judged_by_its_bounds(
    table_of: Any, engine: Any
) -> None:
    """5 of 5 against 1 of 5 is shown in ten rounds; one point of five takes more of them."""
    for lead, shown in ((4.0, {10: True, 60: True}), (1.0, {10: False, 60: True})):
        for n, decided in shown.items():
            scores = np.ones((n, 1, 2))
            scores[:, :, 1] += lead
            rules = Rules(engine=engine, score_bounds=(1.0, 5.0), failure_margin=OPEN_GATE)
            verdict = verdict_of(table_of(scores, planned=n), rules)
            assert (verdict.kind == "winner") is decided, (lead, n)
            assert decided or verdict.reasons[0] == "identical so far"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_yes_no_score_needs_six_pairs_that_differ_at_the_look(table_of: Any, engine: Any) -> None:
    scores = np.zeros((60, 4, 2))
    scores[::2, 0, 1] = 1.0
    verdict = verdict_of(table_of(scores), Rules(engine=engine))
    assert verdict.decided_at is not None
    at_least = np.flatnonzero(scores[:, 0, 1])[5] + 1
    assert verdict.decided_at >= at_least
    few = scores.copy()
    few[10:] = 0.0
    assert verdict_of(table_of(few), Rules(engine=engine)).reasons[0] == "too few discordant pairs"


def test_scores_that_stop_being_yes_no_do_not_reach_back(table_of: Any) -> None:
    """A third value in the last round must not lift the rule from the looks before it."""
    scores = np.zeros((60, 4, 2))
    scores[:50:10, 0, 1] = 1.0
    scores[59, 0, 0] = 0.5
    rules = Rules(engine="open-ended", failure_margin=OPEN_GATE)
    early = verdict_of(table_of(scores[:59], planned=60), rules)
    late = verdict_of(table_of(scores), rules)
    assert early.decided_at is None
    assert late.decided_at in (None, 60)


def test_a_variant_dropped_before_it_met_anyone_is_not_enough_data(table_of: Any) -> None:
    scores = np.random.default_rng(2).normal(50, 5, (30, 2, 3))
    outcomes = np.zeros(scores.shape, np.int64)
    outcomes[3:, :, 2] = DROPPED
    for engine in ENGINES:
        verdict = verdict_of(table_of(scores, outcomes), Rules(engine=engine))
        assert verdict.kind == "not_enough_data"
        assert verdict.variants[2].n_rounds == 3


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("n", [0, 1, 2])
def test_hardly_any_rounds_are_not_enough_and_have_no_interval(
    table_of: Any, engine: Any, n: int
) -> None:
    scores = np.random.default_rng(1).normal(50, 5, (12, 2, 3))
    outcomes = np.zeros(scores.shape, np.int64)
    outcomes[n:] = OUTCOMES.index("censored")
    verdict = verdict_of(table_of(scores, outcomes), Rules(engine=engine, delta=100.0))
    assert (verdict.kind, verdict.rounds_used, verdict.decisive) == ("not_enough_data", n, None)
    assert verdict.reasons == ("too few rounds", "ended by censored session")
    assert all(pair.interval is None and not pair.identical for pair in verdict.comparisons)
    assert all((pair.difference is None) == (n == 0) for pair in verdict.comparisons)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_ended_by_the_cap_keeps_its_level_and_says_so(table_of: Any, engine: Any) -> None:
    scores = np.random.default_rng(1).normal(50, 5, (40, 2, 2))
    outcomes = np.zeros(scores.shape, np.int64)
    outcomes[25:] = OUTCOMES.index("censored")
    verdict = verdict_of(table_of(scores, outcomes), Rules(engine=engine))
    assert (verdict.kind, verdict.reasons) == (
        "no_difference", ("interval includes 0", "ended by censored session"),
    )  # fmt: skip
    going_on = verdict_of(table_of(scores[:25], planned=40), Rules(engine=engine))
    assert verdict.comparisons == going_on.comparisons


def test_one_variant_cannot_be_compared(table_of: Any) -> None:
    for engine in ENGINES:
        with pytest.raises(ValueError, match="two variants"):
            verdict_of(table_of(np.ones((12, 1, 1))), Rules(engine=engine))


# --- how much longer -------------------------------------------------------------------------


def test_the_projection_says_when_todays_means_and_spread_would_decide(table_of: Any) -> None:
    """Rounds that repeat the first ones keep mean and spread, so the projection must come true."""
    base = np.random.default_rng(8).normal(0, 6, (12, 1, 2))
    base -= base.mean(axis=0)
    scores = 50 + np.concatenate([base] * 40) + np.array([0.0, 3.0])
    rules = Rules(engine="open-ended", failure_margin=OPEN_GATE)
    now = verdict_of(table_of(scores[:12], planned=480), rules)
    assert (now.kind, now.reasons) == ("not_enough_data", ("plan not over",))
    then = verdict_of(table_of(scores), rules)
    assert now.extra_rounds is not None
    assert then.decided_at == pytest.approx(12 + now.extra_rounds, abs=6)


def test_a_plan_that_cannot_decide_in_time_projects_nothing(normal_table: Any) -> None:
    table = normal_table([0, 0.1], n_rounds=20, planned=40, seed=3)
    assert verdict_of(table, Rules(engine="planned")).extra_rounds is None
    assert (verdict_of(table, Rules(engine="open-ended")).extra_rounds or 0) > 20


@pytest.mark.parametrize("engine", ENGINES)
def test_the_gates_projection_comes_true_when_nobody_fails(normal_table: Any, engine: Any) -> None:
    now = verdict_of(normal_table([0, 30], 20, 1, planned=100, seed=4), Rules(engine=engine))
    assert now.reasons == ("plan not over", "failure gate not passed")
    assert now.extra_rounds == 79 - 20
