"""The ledger: money set aside before each attempt, settled after it, never more than the cap.

Every attempt of every call has one hold, whose life is

    reserved -> sent -> settled | presumed
    reserved -> released                      (never sent: nothing can have been spent)
    sent     -> released                      (refused with a 4xx: provably unbilled)
    presumed -> settled                       (late usage)

A hold is an upper bound on what its attempt can cost. ``settled + presumed + held <= cap`` holds
after every operation, whatever usage a provider reports: an actual cost above its hold is settled
at the hold, and the excess is kept apart as an *overrun*, which also closes admission for the rest
of this life of the run: the price table or the provider is not what it was taken for.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from matrix.model.errors import MatrixError
from matrix.model.money import NanoUSD


class LedgerError(MatrixError):
    """An operation that the life of a hold does not allow; a programming error."""


@dataclass(slots=True)
class Hold:
    """Money set aside for one attempt, and the provider process that has it."""

    amount: NanoUSD
    owner: str
    sent: bool = False


@dataclass(frozen=True, slots=True)
class Balance:
    """The ledger's totals at one moment, in nano-dollars."""

    cap: NanoUSD
    settled: NanoUSD
    presumed: NanoUSD
    held: NanoUSD
    overrun: NanoUSD

    @property
    def spent(self) -> NanoUSD:
        """What is gone for certain or must be taken as gone."""
        return self.settled + self.presumed

    @property
    def charged(self) -> NanoUSD:
        """What providers have charged, as far as anybody can know: overruns included."""
        return self.spent + self.overrun

    @property
    def free(self) -> NanoUSD:
        """What may still be set aside; never negative."""
        return max(0, self.cap - self.charged - self.held)


@dataclass(slots=True)
class Ledger:
    """Holds and totals of one run. Amounts are non-negative integers in nano-dollars."""

    cap: NanoUSD
    settled: NanoUSD = 0
    presumed: NanoUSD = 0
    overrun: NanoUSD = 0
    held: NanoUSD = 0
    holds: dict[int, Hold] = field(default_factory=dict)
    closed: bool = False
    _presumptions: dict[int, NanoUSD] = field(default_factory=dict)
    _last_id: int = -1

    @property
    def balance(self) -> Balance:
        return Balance(self.cap, self.settled, self.presumed, self.held, self.overrun)

    def fits(self, amount: NanoUSD) -> bool:
        """Whether ``amount`` more may be set aside now."""
        return not self.closed and amount <= self.balance.free

    def reserve(self, hold_id: int, amount: NanoUSD, owner: str) -> None:
        """Set ``amount`` aside. Ids are whole numbers that rise, so that none is ever used again.

        Raises:
            LedgerError: The id was used before, the amount is negative, or it does not fit.
        """
        if hold_id <= self._last_id:
            raise LedgerError(
                f"hold {hold_id} came before {self._last_id}; every attempt needs its own"
            )
        if amount < 0:
            raise LedgerError(f"hold {hold_id} is for {amount}; an amount cannot be negative")
        if not self.fits(amount):
            raise LedgerError(f"hold {hold_id} of {amount} does not fit: {self.balance}")
        self._last_id = hold_id
        self.holds[hold_id] = Hold(amount, owner)
        self.held += amount

    def restore(self, hold_id: int, amount: NanoUSD, owner: str) -> None:
        """Take over a hold of an earlier owner of this ledger; it was admitted then.

        Raises:
            LedgerError: The id was used before.
        """
        if hold_id <= self._last_id:
            raise LedgerError(f"hold {hold_id} came before {self._last_id}; restore in order")
        self._last_id = hold_id
        self.holds[hold_id] = Hold(amount, owner, sent=True)
        self.held += amount

    def mark_sent(self, hold_id: int) -> None:
        """From here on the attempt may have been billed."""
        self._hold(hold_id).sent = True

    def settle(self, hold_id: int, actual: NanoUSD) -> NanoUSD:
        """Replace a hold, or an earlier presumption, by what the attempt really cost.

        Returns:
            The overrun: what ``actual`` exceeds the hold by, usually 0.
        """
        if actual < 0:
            raise LedgerError(f"hold {hold_id} settled at {actual}; a cost cannot be negative")
        if (presumed := self._presumptions.pop(hold_id, None)) is not None:
            self.presumed -= presumed
            bound = presumed
        else:
            bound = self._take(hold_id).amount
        self.settled += min(actual, bound)
        excess = max(0, actual - bound)
        self.overrun += excess
        self.closed = self.closed or excess > 0
        return excess

    def release(self, hold_id: int) -> None:
        """Give a hold back: the attempt was never sent, or refused without charge."""
        self._take(hold_id)

    def presume(self, hold_id: int) -> NanoUSD:
        """Count the whole hold as spent: timeout, crash, or an answer without usage."""
        amount = self._take(hold_id).amount
        self.presumed += amount
        self._presumptions[hold_id] = amount
        return amount

    def holds_of(self, owner: str) -> list[int]:
        """Open holds of one provider process, for when it is confirmed dead."""
        return [hold_id for hold_id, hold in self.holds.items() if hold.owner == owner]

    def _hold(self, hold_id: int) -> Hold:
        try:
            return self.holds[hold_id]
        except KeyError:
            raise LedgerError(f"hold {hold_id} is not open") from None

    def _take(self, hold_id: int) -> Hold:
        hold = self._hold(hold_id)
        del self.holds[hold_id]
        self.held -= hold.amount
        return hold
