"""The ledger against a trusted model: a table of attempts whose totals are summed afresh."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from matrix.admission.ledger import Ledger, LedgerError
from tests.sampling import examples

State = Literal["reserved", "sent", "settled", "released", "presumed"]
OPEN: tuple[State, ...] = ("reserved", "sent")
OWNERS = st.sampled_from(["client-0", "client-1", "worker-7"])
AMOUNTS = st.integers(0, 60) | st.integers(0, 10**18)
COSTS = st.integers(0, 120) | st.integers(0, 10**30)


@dataclass
class Attempt:
    """One attempt, as the trusted model keeps it."""

    amount: int
    owner: str
    state: State = "reserved"
    actual: int = 0


class LedgerLaws(RuleBasedStateMachine):
    """Any interleaving of operations, with usage reports from an adversary."""

    attempts = Bundle("attempts")

    def __init__(self) -> None:
        super().__init__()
        self.table: dict[int, Attempt] = {}
        self.next_id = 1

    @initialize(cap=st.integers(0, 200) | st.integers(0, 10**18))
    def open_the_run(self, cap: int) -> None:
        self.ledger = Ledger(cap)

    @rule(target=attempts, amount=AMOUNTS, owner=OWNERS, skipped=st.integers(0, 2))
    def reserve(self, amount: int, owner: str, skipped: int) -> int:
        hold_id = self.next_id + skipped
        if self.overrun or amount > self.ledger.cap - self.settled - self.presumed - self.held:
            assert not self.ledger.fits(amount)
            self.refused(lambda: self.ledger.reserve(hold_id, amount, owner))
        else:
            assert self.ledger.fits(amount)
            self.ledger.reserve(hold_id, amount, owner)
            self.table[hold_id] = Attempt(amount, owner)
            self.next_id = hold_id + 1
        return hold_id

    @rule(hold_id=attempts, owner=OWNERS)
    def an_id_is_never_used_again(self, hold_id: int, owner: str) -> None:
        if hold_id in self.table:
            self.refused(lambda: self.ledger.reserve(hold_id, 0, owner))

    @rule(amount=st.integers(max_value=-1), owner=OWNERS)
    def nothing_negative_is_set_aside(self, amount: int, owner: str) -> None:
        self.refused(lambda: self.ledger.reserve(self.next_id, amount, owner))

    @rule(hold_id=attempts)
    def mark_sent(self, hold_id: int) -> None:
        if (attempt := self.attempt(hold_id, *OPEN)) is None:
            self.refused(lambda: self.ledger.mark_sent(hold_id))
        else:
            self.ledger.mark_sent(hold_id)
            attempt.state = "sent"

    @rule(hold_id=attempts, actual=COSTS)
    def settle(self, hold_id: int, actual: int) -> None:
        if (attempt := self.attempt(hold_id, *OPEN, "presumed")) is None:
            self.refused(lambda: self.ledger.settle(hold_id, actual))
        else:
            assert self.ledger.settle(hold_id, actual) == max(0, actual - attempt.amount)
            attempt.state, attempt.actual = "settled", actual

    @rule(hold_id=attempts, actual=st.integers(max_value=-1))
    def no_cost_is_negative(self, hold_id: int, actual: int) -> None:
        self.refused(lambda: self.ledger.settle(hold_id, actual))

    @rule(hold_id=attempts)
    def release(self, hold_id: int) -> None:
        if (attempt := self.attempt(hold_id, *OPEN)) is None:
            self.refused(lambda: self.ledger.release(hold_id))
        else:
            self.ledger.release(hold_id)
            attempt.state = "released"

    @rule(hold_id=attempts)
    def presume(self, hold_id: int) -> None:
        if (attempt := self.attempt(hold_id, *OPEN)) is None:
            self.refused(lambda: self.ledger.presume(hold_id))
        else:
            assert self.ledger.presume(hold_id) == attempt.amount
            attempt.state = "presumed"

    @rule(owner=OWNERS)
    def a_process_dies(self, owner: str) -> None:
        for hold_id in self.ledger.holds_of(owner):
            self.ledger.presume(hold_id)
            self.table[hold_id].state = "presumed"
        assert self.ledger.holds_of(owner) == []

    @invariant()
    def the_cap_holds(self) -> None:
        balance = self.ledger.balance
        assert balance.settled + balance.presumed + balance.held <= balance.cap
        assert balance.spent == balance.settled + balance.presumed

    @invariant()
    def totals_are_the_sums_over_attempts(self) -> None:
        balance = self.ledger.balance
        assert balance.settled == self.settled
        assert balance.presumed == self.presumed
        assert balance.held == self.held
        assert balance.overrun == self.overrun

    @invariant()
    def no_amount_is_negative(self) -> None:
        balance = self.ledger.balance
        assert min(balance.settled, balance.presumed, balance.held, balance.overrun) >= 0
        assert 0 <= balance.free <= balance.cap

    @invariant()
    def an_overrun_closes_admission_for_good(self) -> None:
        if self.overrun:
            assert not self.ledger.fits(0)

    @invariant()
    def what_is_free_fits_and_not_one_more(self) -> None:
        if not self.overrun:
            assert self.ledger.fits(self.ledger.balance.free)
            assert not self.ledger.fits(self.ledger.balance.free + 1)

    @invariant()
    def every_open_hold_has_one_owner(self) -> None:
        owners = {attempt.owner for attempt in self.table.values()}
        for owner in owners:
            assert self.ledger.holds_of(owner) == [
                hold_id
                for hold_id, attempt in self.table.items()
                if attempt.owner == owner and attempt.state in OPEN
            ]
        assert sum(len(self.ledger.holds_of(owner)) for owner in owners) == len(self.ledger.holds)

    # --- the trusted model --------------------------------------------------------------------

    @property
    def settled(self) -> int:
        return sum(min(a.actual, a.amount) for a in self.table.values() if a.state == "settled")

    @property
    def presumed(self) -> int:
        return sum(a.amount for a in self.table.values() if a.state == "presumed")

    @property
    def held(self) -> int:
        return sum(a.amount for a in self.table.values() if a.state in OPEN)

    @property
    def overrun(self) -> int:
        settled = (a for a in self.table.values() if a.state == "settled")
        return sum(max(0, a.actual - a.amount) for a in settled)

    def attempt(self, hold_id: int, *states: State) -> Attempt | None:
        found = self.table.get(hold_id)
        return found if found is not None and found.state in states else None

    def refused(self, operation: Callable[[], object]) -> None:
        """A refused operation raises, and the invariants then see that it changed nothing."""
        with pytest.raises(LedgerError):
            operation()


LedgerLaws.TestCase.settings = settings(max_examples=examples(100), stateful_step_count=40)
TestLedgerLaws = LedgerLaws.TestCase


def test_late_usage_turns_a_presumption_into_what_it_really_cost() -> None:
    ledger = Ledger(100)
    ledger.reserve(1, 80, "client-0")
    ledger.mark_sent(1)
    assert ledger.presume(1) == 80
    assert not ledger.fits(30)
    assert ledger.settle(1, 5) == 0
    assert (ledger.settled, ledger.presumed, ledger.balance.free) == (5, 0, 95)


def test_usage_above_the_hold_is_kept_apart_from_what_the_cap_covers() -> None:
    ledger = Ledger(100)
    ledger.reserve(1, 60, "client-0")
    assert ledger.settle(1, 10**12) == 10**12 - 60
    assert (ledger.settled, ledger.overrun) == (60, 10**12 - 60)
    assert ledger.balance.free == 0


def test_a_run_that_already_spent_more_than_a_lowered_cap_has_nothing_free() -> None:
    ledger = Ledger(50, settled=40, presumed=30)
    assert ledger.balance.free == 0
    assert not ledger.fits(1)
