"""Attempts that are out, with the money that is set aside for each and what it becomes."""

from __future__ import annotations

from collections.abc import Iterator

from matrix.admission.ledger import Ledger
from matrix.admission.pricing import Dearness
from matrix.engine.governor.books import History, OpenHold
from matrix.engine.governor.refusals import Overrun, who_asked
from matrix.engine.wire.messages import Settle
from matrix.model.entries import Held
from matrix.model.errors import ProtocolError
from matrix.model.money import NanoUSD


class OpenHolds:
    """Open attempts beside the ``ledger``, which the gate reserves their money in.

    Every way in which an attempt can end takes it off, moves its money, and adds what it cost to
    its role.

    ``overrun`` is the first attempt that cost more than its hold, which closed the ledger.
    """

    def __init__(self, ledger: Ledger, past: History) -> None:
        self._ledger = ledger
        self._open: dict[int, OpenHold] = {}
        self._dearness = Dearness(past.inflation)
        self.spent_by_role: dict[str, NanoUSD] = dict(past.spent_by_role)
        self.overrun: Overrun | None = None

    def __len__(self) -> int:
        return len(self._open)

    def bound(self, model: str, bound: NanoUSD) -> NanoUSD:
        """The most an attempt can cost, dearer where its model has cost more than it should."""
        return self._dearness.raised(model, bound)

    def add(self, hold_id: int, held: OpenHold) -> None:
        """The gate has reserved the money of an attempt."""
        self._open[hold_id] = held

    def oldest(self) -> OpenHold | None:
        """The attempt that has been out for longest; they are kept in the order of their grants."""
        return next(iter(self._open.values()), None)

    def restore(self, held: Held, group: str, since: float) -> None:
        """A hold from before this governor, whose owner lives and will settle it."""
        self._ledger.restore(held.hold_id, held.amount, held.owner)
        self._open[held.hold_id] = OpenHold(
            held.key,
            held.role,
            held.model,
            group,
            held.amount,
            held.attempt,
            0.0,
            held.bound or held.amount,
            held.agent,
            held.tag,
            since,
        )

    @property
    def sessions(self) -> set[str]:
        """Those that have an attempt out."""
        return {held.key.session_id for held in self._open.values()}

    def of_session(self, session_id: str) -> Iterator[tuple[int, OpenHold, str]]:
        """Id, attempt and owner of whatever a session has out."""
        for hold_id, held in self._open.items():
            if held.key.session_id == session_id:
                yield hold_id, held, self._ledger.holds[hold_id].owner

    def of_owner(self, owner: str) -> list[int]:
        """Ids of what a process has out."""
        return self._ledger.holds_of(owner)

    def settle(self, message: Settle) -> tuple[OpenHold, NanoUSD] | None:
        """An attempt is over as its process says.

        Returns:
            The attempt and what it costs, at most its hold; ``None`` if it was over before.
        """
        held = self._open.pop(message.hold_id, None)
        if held is None:
            return None
        cost = self._closed(message, held)
        self._charge(held.role, cost)
        return held, cost

    def release(self, hold_id: int) -> OpenHold:
        """An attempt was never sent."""
        held = self._open.pop(hold_id)
        self._ledger.release(hold_id)
        return held

    def presume(self, hold_id: int) -> tuple[OpenHold, NanoUSD]:
        """Nobody will say what an attempt has cost: all of its hold counts as spent."""
        held = self._open.pop(hold_id)
        cost = self._ledger.presume(hold_id)
        self._charge(held.role, cost)
        return held, cost

    def _closed(self, message: Settle, held: OpenHold) -> NanoUSD:
        match message.disposition:
            case "settled":
                overrun = self._ledger.settle(message.hold_id, message.cost)
                if overrun:
                    self._note(message.cost, held)
                    self._dearness.note(held.model, message.cost, held.bound)
                return message.cost - overrun
            case "released":
                self._ledger.release(message.hold_id)
                return 0
            case "presumed":
                return self._ledger.presume(message.hold_id)
            case "cached":
                raise ProtocolError("an answer from the cache has no hold to settle")

    def _note(self, cost: NanoUSD, held: OpenHold) -> None:
        """The first attempt that overran is what everybody is stopped for."""
        if self.overrun is None:
            who = who_asked(held.role, held.model, held.agent)
            self.overrun = Overrun(held.key.session_id, who, cost, held.amount)

    def _charge(self, role: str, cost: NanoUSD) -> None:
        self.spent_by_role[role] = self.spent_by_role.get(role, 0) + cost
