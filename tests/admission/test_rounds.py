"""Launching rounds: estimates against numpy, and a cap used up to less than one round."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matrix.admission.ledger import Balance, Ledger
from matrix.admission.rounds import MIN_OBSERVED, UPPER_Z, CostEstimate, Launch, may_start
from tests.sampling import examples

COSTS = st.lists(st.integers(0, 10**12), min_size=MIN_OBSERVED, max_size=60)
AMOUNTS = st.integers(0, 1_000)


def observed(costs: list[int], prior: int = 0) -> CostEstimate:
    estimate = CostEstimate(prior)
    for cost in costs:
        estimate.observe(cost)
    return estimate


# --- what a session may cost ---------------------------------------------------------------------


@given(COSTS)
def test_mean_and_variance_are_those_of_numpy(costs: list[int]) -> None:
    estimate = observed(costs)
    exact = np.asarray(costs, dtype=np.float64)
    assert estimate.count == len(costs)
    assert estimate.mean == pytest.approx(exact.mean(), rel=1e-9)
    variance = estimate.squares / (estimate.count - 1)
    assert variance == pytest.approx(exact.var(ddof=1), rel=1e-6, abs=1e-3)


@given(COSTS, st.integers(0, 10**13))
def test_enough_sessions_replace_the_profile_by_mean_and_spread(
    costs: list[int], prior: int
) -> None:
    exact = np.asarray(costs, dtype=np.float64)
    upper = max(exact.max(), exact.mean() + UPPER_Z * exact.std(ddof=1))
    assert observed(costs, prior).upper == pytest.approx(upper, rel=1e-6, abs=1.0)


@given(st.lists(st.integers(0, 10**12), max_size=MIN_OBSERVED - 1), st.integers(0, 10**13))
def test_few_sessions_only_raise_the_profile(costs: list[int], prior: int) -> None:
    assert observed(costs, prior).upper == max([prior, *costs])


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=60), st.integers(0, 10**13))
def test_an_upper_estimate_is_never_below_what_was_seen(costs: list[int], prior: int) -> None:
    assert observed(costs, prior).upper >= max(costs)


def test_equal_costs_leave_nothing_to_add() -> None:
    assert observed([700] * 20, prior=9_999).upper == 700


# --- whether a round may start -------------------------------------------------------------------

RANK: dict[Launch, int] = {"never": 0, "wait": 1, "start": 2}


@st.composite
def situations(draw: st.DrawFn) -> tuple[Balance, dict[str, int], bool]:
    balance = Balance(*(draw(AMOUNTS) for _ in range(5)))
    amounts = {name: draw(AMOUNTS) for name in ("open_upper", "open_spent", "round_upper")}
    return balance, amounts, draw(st.booleans())


def decide(balance: Balance, amounts: dict[str, int], anything_open: bool) -> Launch:
    return may_start(balance, **amounts, anything_open=anything_open)


@given(situations(), st.sampled_from(["cap", "open_spent"]), AMOUNTS)
def test_more_cap_or_more_of_the_open_paid_never_hinders(
    situation: tuple[Balance, dict[str, int], bool], name: str, more: int
) -> None:
    balance, amounts, anything_open = situation
    before = decide(balance, amounts, anything_open)
    if name == "cap":
        balance = Balance(
            balance.cap + more, balance.settled, balance.presumed, balance.held, balance.overrun
        )
    else:
        amounts = {**amounts, name: amounts[name] + more}
    assert RANK[decide(balance, amounts, anything_open)] >= RANK[before]


@given(
    situations(),
    st.sampled_from(["settled", "presumed", "held", "overrun", "open_upper", "round_upper"]),
    AMOUNTS,
)
def test_more_spent_held_or_to_come_never_helps(
    situation: tuple[Balance, dict[str, int], bool], name: str, more: int
) -> None:
    balance, amounts, anything_open = situation
    before = decide(balance, amounts, anything_open)
    if name in amounts:
        amounts = {**amounts, name: amounts[name] + more}
    else:
        fields = {field: getattr(balance, field) for field in Balance.__slots__}
        balance = Balance(**{**fields, name: fields[name] + more})
    assert RANK[decide(balance, amounts, anything_open)] <= RANK[before]


@given(situations())
def test_only_open_sessions_turn_never_into_wait(
    situation: tuple[Balance, dict[str, int], bool],
) -> None:
    balance, amounts, _ = situation
    pair = (decide(balance, amounts, False), decide(balance, amounts, True))
    assert pair in {("start", "start"), ("never", "wait")}


@given(situations())
def test_a_round_that_starts_fits_with_all_that_is_open_and_held(
    situation: tuple[Balance, dict[str, int], bool],
) -> None:
    balance, amounts, anything_open = situation
    if decide(balance, amounts, anything_open) == "start":
        assert balance.spent + balance.held + amounts["round_upper"] <= balance.cap
        rest = amounts["open_upper"] - amounts["open_spent"]
        assert balance.spent + rest + amounts["round_upper"] <= balance.cap


# --- a whole run ---------------------------------------------------------------------------------


@settings(max_examples=examples(100))
@given(
    seed=st.integers(0, 2**32),
    cells=st.integers(1, 4),
    overlap=st.integers(1, 5),
    spread=st.just(0.0) | st.floats(0, 1),
    cap=st.integers(10_000, 60_000),
)
def test_whole_rounds_leave_less_than_one_round_unspent_and_never_exceed_the_cap(
    seed: int, cells: int, overlap: int, spread: float, cap: int
) -> None:
    """Sessions of random cost within the profile; up to ``overlap`` rounds are open at once."""
    draw = random.Random(seed)
    most = 1_000
    ledger = Ledger(cap)
    estimates = [CostEstimate(most) for _ in range(cells)]
    open_sessions: list[tuple[int, int]] = []  # (cell, what it will cost)
    for session in itertools.count():
        launch = may_start(
            ledger.balance,
            open_upper=sum(estimates[cell].upper for cell, _ in open_sessions),
            open_spent=0,
            round_upper=sum(estimate.upper for estimate in estimates),
            anything_open=bool(open_sessions),
        )
        if launch == "never":
            assert ledger.balance.free < sum(estimate.upper for estimate in estimates)
            break
        if launch == "start" and len(open_sessions) < overlap * cells:
            costs = [round(most * (1 - spread * draw.random())) for _ in estimates]
            open_sessions += enumerate(costs)
            continue
        cell, cost = open_sessions.pop(draw.randrange(len(open_sessions)))
        if not ledger.fits(cost):  # estimates are learned and can be too low; the cap still holds
            assert spread > 0
            assert ledger.balance.free < most
            break
        ledger.reserve(session, cost, "client-0")
        ledger.settle(session, cost)
        estimates[cell].observe(cost)
    assert ledger.settled <= cap
