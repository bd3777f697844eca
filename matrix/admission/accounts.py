"""Refused accounts: a key that is revoked, an account out of money, a model that is not allowed.

Such an error says something about the account and nothing about the call that met it, so the call
is not over: it is *parked*, and asked again after a pause. Three errors in a row from one account,
with no answer between them, decide that the account is *closed*: nothing more should be asked for
in this life of the run, whose sessions stay open for the next, when somebody has seen to it.

While other calls of the account are answered, a call may only be parked so often. Then the error is
*final* for it: it asks for what the account may not have, which waiting will not change.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from matrix.model.records import CallKey

IN_A_ROW = 3
"""Account errors without an answer between them after which an account is closed."""

MOST_OF_A_CALL = 6
"""Account errors of one call after which it is given up, if its account is not closed."""

FIRST_PAUSE_S = 1.0
"""Pause after a call's first account error; each further one is twice as long."""

Verdict = Literal["parked", "final", "closed"]


class _Parked(NamedTuple):
    errors: int
    until: float


class Accounts:
    """What is known of each account, and of the calls that met its refusals. Times handed in."""

    def __init__(self) -> None:
        self._in_a_row: dict[str, int] = {}
        self._calls: dict[CallKey, _Parked] = {}

    def refused(self, account: str, call: CallKey, now: float) -> Verdict:
        """An attempt of a call ended in an account error."""
        in_a_row = self._in_a_row[account] = self._in_a_row.get(account, 0) + 1
        errors = self._calls[call].errors + 1 if call in self._calls else 1
        self._calls[call] = _Parked(errors, now + FIRST_PAUSE_S * 2 ** (errors - 1))
        if in_a_row >= IN_A_ROW:
            return "closed"
        return "final" if errors >= MOST_OF_A_CALL else "parked"

    def answered(self, account: str, call: CallKey) -> None:
        """A call was answered: its account is good."""
        self._in_a_row.pop(account, None)
        self._calls.pop(call, None)

    def wait(self, call: CallKey, now: float) -> float:
        """Seconds until this call may be asked again; 0 is now."""
        parked = self._calls.get(call)
        return 0.0 if parked is None else max(0.0, parked.until - now)

    def forget(self, session_id: str) -> None:
        """A session is over or let go, with all its calls."""
        for call in [call for call in self._calls if call.session_id == session_id]:
            del self._calls[call]
