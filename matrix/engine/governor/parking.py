"""Calls whose account was refused: held back for a while, then asked for again.

:class:`Accounts` decides; here are the calls that wait, and what is done about a verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from matrix.admission.accounts import Accounts
from matrix.engine.governor.asked_calls import AskedCalls
from matrix.engine.governor.books import CallBook, OpenHold
from matrix.engine.wire.messages import Acquire, ProviderClosed, Settle
from matrix.model.records import CallKey


class Parking:
    """The calls that are held back.

    A limit group stands for an account: models share one where they share a key.
    """

    def __init__(self, calls: AskedCalls, close: Callable[[ProviderClosed], None]) -> None:
        """``close`` is told of an account that nothing more should be asked of."""
        self._calls, self._close = calls, close
        self._accounts, self._parked = Accounts(), dict[CallKey, None]()

    def __len__(self) -> int:
        return len(self._parked)

    def judged(self, held: OpenHold, message: Settle, now: float) -> Settle:
        """The end of an attempt, after a look at its account: a parked call has no answer yet."""
        if message.answer is not None and message.answer.failure is None:
            self._accounts.answered(held.group, held.key)
        if not message.is_account_error:
            return message
        verdict = self._accounts.refused(held.group, held.key, now)
        if verdict == "final":
            return message
        if verdict == "closed":
            self._close(ProviderClosed(held.group, held.model, message.reason))
        return message._replace(answer=None)

    def holds_back(self, peer: str, call: CallBook, message: Acquire, now: float) -> bool:
        """Whether a call may not be asked yet: it then waits here."""
        if not self._accounts.wait(message.key, now):
            return False
        call.owner, call.queued = peer, True
        self._parked[message.key] = None
        return True

    def due(self, now: float) -> Iterator[tuple[str, CallBook, Acquire]]:
        """Calls that have waited long enough, and who asks for them."""
        for key in [key for key in self._parked if not self._accounts.wait(key, now)]:
            del self._parked[key]
            call = self._calls.find(key)
            if call is not None and call.queued and call.owner is not None and call.asked:
                yield call.owner, call, call.asked

    def wake_in_s(self, now: float) -> float | None:
        """Seconds until the next call has waited long enough, if one waits."""
        return min((self._accounts.wait(key, now) for key in self._parked), default=None)

    def take_out(self, key: CallKey) -> None:
        """Somebody else asks for this call now, or nobody."""
        self._parked.pop(key, None)

    def forget(self, session_id: str) -> None:
        """A session is over or let go."""
        self._accounts.forget(session_id)
        for key in [key for key in self._parked if key.session_id == session_id]:
            del self._parked[key]

    def clear(self) -> None:
        """Nothing is asked any more."""
        self._parked.clear()
