"""Gates against a baseline, and samples that share no rounds."""

from __future__ import annotations

from math import nan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from matrix.stats import GateDecision, gate_paired, newcombe_paired, welch
from matrix.stats.gates.gate import gate_of_interval

SLEEP_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SLEEP_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]

samples = st.lists(st.integers(-50, 50), min_size=10, max_size=40)
pairs = st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=10, max_size=40)
cells = st.tuples(*[st.integers(0, 40)] * 4).filter(lambda counts: sum(counts) > 0)
margins = st.floats(0.1, 40)


def sides(rounds: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return [a for a, _ in rounds], [b for _, b in rounds]


def gate_of_rates(
    counts: tuple[int, int, int, int], margin: float, *, higher_is_better: bool = True
) -> GateDecision:
    """Gate on pairs of yes/no scores: both, the candidate alone, the baseline alone, neither."""
    n = sum(counts)
    return gate_of_interval(
        (counts[1] - counts[2]) / n,
        newcombe_paired(*counts, 0.1),
        margin,
        n,
        higher_is_better=higher_is_better,
    )


# --- gates ----------------------------------------------------------------------------------------


def test_the_sleep_data_are_worse_by_surely_less_than_two_and_a_half_hours() -> None:
    """Each side of a gate is one of Schuirmann's two one-sided tests; p = .021117 here."""
    gate = gate_paired(SLEEP_2, SLEEP_1, 2.5)
    assert (gate.kind, gate.worse_within_margin) == ("pass", True)
    assert gate.interval is not None
    assert (gate.interval.low, gate.interval.high) == pytest.approx((-2.2930, -0.8670), abs=6e-5)
    kinds = [gate_paired(SLEEP_2, SLEEP_1, 2.5, alpha).kind for alpha in (0.021118, 0.021116)]
    assert kinds == ["pass", "regression"]


@pytest.mark.parametrize(("margin", "needed"), [(0.05, 52), (0.10, 25)])
def test_without_failures_rates_pass_at_exactly_the_published_number(
    margin: float, needed: int
) -> None:
    assert gate_of_rates((needed, 0, 0, 0), margin).kind == "pass"
    short = gate_of_rates((needed - 1, 0, 0, 0), margin)
    assert (short.kind, short.reason) == ("not_enough_data", "interval too wide")


def test_the_three_verdicts_on_scores() -> None:
    rng = np.random.default_rng(1)
    base = rng.normal(50, 5, 40)
    same, worse, unclear = (base + rng.normal(shift, 3, 40) for shift in (0, -6, -2.6))
    assert gate_paired(base, same, 2.0).kind == "pass"
    assert gate_paired(base, worse, 2.0).kind == "regression"
    assert gate_paired(base[:12], unclear[:12], 0.5).kind in ("regression", "not_enough_data")
    assert gate_paired(base[:25], rng.normal(30, 5, 25), 2.0).kind == "regression"


def test_surely_worse_but_within_the_margin_passes_and_says_so() -> None:
    base = np.arange(20.0)
    gate = gate_paired(base, base - 1 + 0.1 * (np.arange(20) % 2), 2.0)
    assert gate.kind == "pass"
    assert gate.worse_within_margin


@given(pairs, margins)
def test_a_score_turned_round_gets_the_same_verdict(
    rounds: list[tuple[int, int]], margin: float
) -> None:
    a, b = np.asarray(rounds, float).T
    up = gate_paired(a, b, margin)
    down = gate_paired(-a, -b, margin, higher_is_better=False)
    assert (up.kind, up.reason, up.extra) == (down.kind, down.reason, down.extra)


@given(cells, st.floats(0.01, 0.5))
def test_rates_of_failures_get_the_verdict_of_the_pass_rates(
    counts: tuple[int, int, int, int], margin: float
) -> None:
    passes = gate_of_rates(counts, margin)
    failures = gate_of_rates(counts[::-1], margin, higher_is_better=False)
    assert passes.kind == failures.kind
    assert passes.extra == pytest.approx(failures.extra, abs=1), "up to rounding"
    assert passes.difference == pytest.approx(-(failures.difference or 0.0), abs=1e-12)


@given(pairs, margins, st.floats(1, 10))
def test_a_wider_margin_never_turns_a_pass_into_anything_else(
    rounds: list[tuple[int, int]], margin: float, times: float
) -> None:
    if gate_paired(*sides(rounds), margin).kind == "pass":
        assert gate_paired(*sides(rounds), margin * times).kind == "pass"


@given(pairs, margins, st.sampled_from([0.05, 0.0001]))
def test_a_verdict_follows_from_its_interval(
    rounds: list[tuple[int, int]], margin: float, alpha: float
) -> None:
    gate = gate_paired(*sides(rounds), margin, alpha)
    if gate.interval is None:
        assert gate.reason == "identical so far"
    else:
        assert (gate.kind == "pass") == (gate.interval.low > -margin)
        assert (gate.kind == "regression") == (
            gate.interval.high < 0 and gate.interval.low <= -margin
        )


def test_at_the_edge_of_the_margin_a_wrong_pass_is_as_rare_as_declared() -> None:
    rng = np.random.default_rng(5)
    runs, n, margin = 3000, 20, 2.0
    base = rng.normal(50, 5, (runs, n))
    other = base - margin + rng.normal(0, 4, (runs, n))
    kinds = [gate_paired(a, b, margin).kind for a, b in zip(base, other, strict=True)]
    share = kinds.count("pass") / runs
    assert share == pytest.approx(0.05, abs=3 * sqrt(0.05 * 0.95 / runs))
    equal = base + rng.normal(0, 4, (runs, n))
    kinds = [gate_paired(a, b, margin).kind for a, b in zip(base, equal, strict=True)]
    assert kinds.count("regression") / runs <= 0.05 + 3 * sqrt(0.05 * 0.95 / runs)


def test_the_rounds_still_needed_do_settle_it_when_nothing_else_changes() -> None:
    pattern = np.tile([3.0, -3.0, 1.0, -1.0], 3)
    gate = gate_paired(np.zeros(12), pattern, 0.8)
    assert gate.extra is not None
    assert gate.kind == "not_enough_data"
    rounds = 12 + gate.extra
    grown = np.resize(pattern, rounds + (-rounds) % 4)
    assert gate_paired(np.zeros(grown.size), grown, 0.8).kind == "pass"


def test_what_gates_cannot_decide_has_a_reason() -> None:
    def why(gate: GateDecision) -> tuple[str, int | None]:
        assert gate.kind == "not_enough_data"
        return gate.reason, gate.extra

    assert why(gate_paired([], [], 1.0)) == ("no data", 10)
    assert why(gate_paired([1.0] * 9, [2.0] * 9, 1.0)) == ("too few rounds", 1)
    assert why(gate_paired([1.0] * 12, [1.0] * 12, 1.0, 0.0001)) == ("identical so far", None)
    assert why(gate_of_interval(None, None, 0.1, 3)) == ("no data", 7)


@pytest.mark.parametrize(
    ("drop", "kind"), [(0.0, "pass"), (0.5, "pass"), (1.0, "regression"), (80.0, "regression")]
)
def test_ten_rounds_that_came_out_alike_are_taken_at_their_word(drop: float, kind: str) -> None:
    """All on one side of a bound, as a fair coin's ten throws are once in a thousand times."""
    for n, found in ((9, "not_enough_data"), (10, kind), (40, kind)):
        assert gate_paired(np.full(n, 100.0), np.full(n, 100.0 - drop), 1.0).kind == found
    strict = gate_paired(np.full(10, 100.0), np.full(10, 100.0 - drop), 1.0, 0.0005)
    assert strict.reason == "identical so far"


def test_every_mistake_is_named_at_once() -> None:
    with pytest.raises(ValueError, match=r"margin is above 0.*got 0.0; alpha is.*got 0.5"):
        gate_paired([1.0], [1.0], 0.0, alpha=0.5)
    with pytest.raises(ValueError, match="margin is above 0"):
        gate_paired([1.0], [1.0], nan)


# --- samples that share no rounds -----------------------------------------------------------------


@given(samples, samples)
def test_welch_agrees_with_an_independent_library(first: list[int], second: list[int]) -> None:
    result = welch(first, second)
    if len(set(first)) == 1 or len(set(second)) == 1:
        return
    expected = ttest_ind(second, first, equal_var=False)
    low, high = expected.confidence_interval(0.95)
    assert (result.t, result.p, result.df) == pytest.approx(
        (expected.statistic, expected.pvalue, expected.df), rel=1e-9, abs=1e-12
    )
    assert result.interval is not None
    assert (result.interval.low, result.interval.high) == pytest.approx((low, high), abs=1e-8)


def test_one_sample_without_spread_still_has_an_error_and_two_have_none() -> None:
    one = welch([1.0] * 5, [1.0, 2.0, 3.0])
    assert one.df == pytest.approx(2.0)
    assert one.se == pytest.approx(1 / sqrt(3))
    both = welch([1.0] * 5, [2.0] * 5)
    assert (both.difference, both.se, both.p) == (1.0, None, None)
    assert welch([1.0], [1.0, 2.0]).interval is None
    assert welch([], [1.0, 2.0]).difference is None
