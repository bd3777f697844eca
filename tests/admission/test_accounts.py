"""Refused accounts: when one is closed, when a call is given up, and how long a call waits."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from matrix.admission.accounts import FIRST_PAUSE_S, IN_A_ROW, MOST_OF_A_CALL, Accounts
from matrix.model.records import CallKey

ACCOUNTS = st.sampled_from(["one", "other"])
CALLS = st.integers(0, 3)


def call(number: int) -> CallKey:
    return CallKey("s1", "turn", 1, str(number))


def test_three_in_a_row_close_an_account_whichever_calls_met_them() -> None:
    for calls in ((1, 2, 3), (1, 1, 1)):
        accounts = Accounts()
        verdicts = [accounts.refused("a", call(number), 0.0) for number in calls]
        assert verdicts == ["parked", "parked", "closed"]


def test_a_call_that_is_refused_while_others_are_answered_is_given_up_in_the_end() -> None:
    accounts = Accounts()
    verdicts = []
    for _ in range(MOST_OF_A_CALL):
        verdicts.append(accounts.refused("a", call(1), 0.0))
        accounts.answered("a", call(2))
    assert verdicts == ["parked"] * (MOST_OF_A_CALL - 1) + ["final"]


def test_each_refusal_of_a_call_is_waited_on_twice_as_long() -> None:
    accounts = Accounts()
    for n in range(4):
        accounts.refused("a", call(1), 100.0)
        accounts.answered("a", call(2))
        assert accounts.wait(call(1), 100.0) == FIRST_PAUSE_S * 2**n
        assert accounts.wait(call(1), 100.0 + FIRST_PAUSE_S * 2**n) == 0.0
    assert accounts.wait(call(2), 100.0) == 0.0


class AccountsMachine(RuleBasedStateMachine):
    """Against a plain list of what happened to each account."""

    def __init__(self) -> None:
        super().__init__()
        self.accounts, self.now = Accounts(), 0.0
        self.happened: dict[str, list[int]] = {"one": [], "other": []}
        self.errors: dict[CallKey, int] = {}

    @rule(account=ACCOUNTS, number=CALLS)
    def refused(self, account: str, number: int) -> None:
        key = CallKey(account, "turn", 1, str(number))
        verdict = self.accounts.refused(account, key, self.now)
        self.happened[account].append(0)
        self.errors[key] = self.errors.get(key, 0) + 1
        closed = self.happened[account][-IN_A_ROW:] == [0] * IN_A_ROW
        last = self.errors[key] >= MOST_OF_A_CALL
        assert verdict == ("closed" if closed else "final" if last else "parked")
        assert self.accounts.wait(key, self.now) > 0

    @rule(account=ACCOUNTS, number=CALLS)
    def answered(self, account: str, number: int) -> None:
        key = CallKey(account, "turn", 1, str(number))
        self.accounts.answered(account, key)
        self.happened[account].append(1)
        self.errors.pop(key, None)

    @rule(account=ACCOUNTS)
    def session_is_over(self, account: str) -> None:
        self.accounts.forget(account)
        self.errors = {key: n for key, n in self.errors.items() if key.session_id != account}

    @rule(seconds=st.floats(0, 100))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @invariant()
    def only_calls_that_were_refused_wait(self) -> None:
        for account in self.happened:
            for number in range(4):
                key = CallKey(account, "turn", 1, str(number))
                assert key in self.errors or not self.accounts.wait(key, self.now)


TestAccounts = AccountsMachine.TestCase
