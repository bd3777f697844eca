"""The run's money out of its journal: a fold that is kept in the journal now and then.

A journal of a long run has hundreds of thousands of holds and settlements. What all of them come to
is a few sums, so a governor keeps these beside the entries, with the place up to which they count;
whoever comes after it reads on from there.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

from matrix.admission.pricing import Dearness
from matrix.engine.governor.books import History
from matrix.engine.wire.messages import Counters
from matrix.model.entries import Entry, Held, Opened, Settled, TurnDone, session_of
from matrix.model.errors import StoreError
from matrix.model.money import NanoUSD
from matrix.model.records import JSON
from matrix.store.journal.codec import HELD, OPENED, SETTLED, TURN_DONE, decode, encode
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader, JournalWriter
from matrix.store.journal.session_state import Attempts, Placed

KEPT_AS: Final = "money"
"""What the sums are called in the journal."""

KEEP_EVERY: Final = 10_000
"""Entries after which the sums are kept again: about a second of reading."""

_FORM: Final = 1
"""Sums of another form are not believed, but made again from the entries."""

_COUNTED: Final = ("answered", "limited", "tokens_in", "tokens_out", "from_cache", "saved")


class MoneyFold:
    """Folds a journal's holds and settlements; take entries in the order of the journal.

    Attributes:
        attempts: Holds that nobody has settled, and presumed attempts that may be settled yet.
    """

    def __init__(self) -> None:
        self.attempts = Attempts()
        self._dearness = Dearness()
        self._settled: dict[str, NanoUSD] = {}
        self._presumed: dict[str, NanoUSD] = {}
        self._overrun: NanoUSD = 0
        self._last_hold_id = self._attempts = self._retries = self._turns = 0
        self._counts = dict.fromkeys(_COUNTED, 0)
        self._playing = False

    def take(self, entries: Iterable[Entry]) -> None:
        """Take in more entries.

        Raises:
            StoreError: One has an amount that none can be; a cap would not hold by it.
        """
        for entry in entries:
            match entry:
                case Held():
                    _require_amounts(entry, entry.amount, entry.bound)
                    self.attempts.hold(entry)
                    self._last_hold_id = max(self._last_hold_id, entry.hold_id)
                    self._attempts += 1
                    self._retries += entry.attempt > 1
                case Settled():
                    _require_amounts(entry, entry.cost, entry.held, entry.overrun, entry.saved)
                    self._take_end(entry)
                case Opened():
                    self._playing = self._playing or entry.plan.part == "play"
                case TurnDone():
                    # what continuations have from their parents comes before anything is played
                    self._turns += self._playing and entry.phase == "turn"

    def _take_end(self, entry: Settled) -> None:
        if entry.overrun:
            # an older journal does not say what a raised hold's bound was; its amount has to do
            held = self.attempts.open.get(entry.hold_id)
            bound = held.bound if held is not None else 0
            self._dearness.note(entry.model, entry.cost + entry.overrun, bound or entry.held)
        before = self.attempts.settle(0, entry)
        if before is not None:
            self._count(before.settled, -1)
        self._count(entry, 1)
        self._last_hold_id = max(self._last_hold_id, entry.hold_id)

    def _count(self, entry: Settled, sign: int) -> None:
        if entry.disposition in ("settled", "presumed"):
            costs = self._settled if entry.disposition == "settled" else self._presumed
            costs[entry.role] = costs.get(entry.role, 0) + sign * entry.cost
        self._overrun += sign * entry.overrun
        cached, counts = entry.disposition == "cached", self._counts
        counts["answered"] += sign * (entry.answer is not None)
        counts["limited"] += sign * (entry.error_class == "RateLimited")
        counts["from_cache"] += sign * cached
        counts["saved"] += sign * entry.saved
        if not cached:
            counts["tokens_in"] += sign * entry.usage.input
            counts["tokens_out"] += sign * entry.usage.output

    @property
    def charged(self) -> NanoUSD:
        """What is gone or may be: settled, presumed, overruns, and holds that nobody settled."""
        held = sum(held.amount for held in self.attempts.open.values())
        return sum(self._settled.values()) + sum(self._presumed.values()) + self._overrun + held

    def history(self) -> History:
        """Money and attempts so far."""
        roles = {
            role: self._settled.get(role, 0) + self._presumed.get(role, 0)
            for role in self._settled | self._presumed
        }
        counts = self._counts
        return History(
            settled=sum(self._settled.values()),
            presumed=sum(self._presumed.values()),
            overrun=self._overrun,
            last_hold_id=self._last_hold_id,
            spent_by_role=roles,
            counters=Counters(
                answered=counts["answered"],
                attempts=self._attempts,
                retries=self._retries,
                rate_limited=counts["limited"],
                turns=self._turns,
                tokens_in=counts["tokens_in"],
                tokens_out=counts["tokens_out"],
                from_cache=counts["from_cache"],
                saved=counts["saved"],
            ),
            inflation=dict(self._dearness.factors),
        )

    def to_json(self) -> JSON:
        """Everything, to go on from."""
        return {
            "form": _FORM,
            "open": [_out(held) for held in self.attempts.open.values()],
            "presumed": [_out(at.settled) for at in self.attempts.presumed.values()],
            "dearness": dict(self._dearness.factors),
            "settled_by_role": self._settled,
            "presumed_by_role": self._presumed,
            "overrun": self._overrun,
            "numbers": [self._last_hold_id, self._attempts, self._retries, self._turns],
            "counts": self._counts,
            "playing": self._playing,
        }

    @classmethod
    def from_json(cls, found: Any) -> MoneyFold:
        """The fold that :meth:`to_json` has written.

        Raises:
            ValueError: It is of another form.
        """
        if found["form"] != _FORM:
            raise ValueError(f"form {found['form']}")
        money = cls()
        money.attempts.open = {held.hold_id: held for held in map(_in, found["open"])}
        presumed = (Placed(0, settled) for settled in map(_in, found["presumed"]))
        money.attempts.presumed = {placed.settled.hold_id: placed for placed in presumed}
        money._dearness = Dearness(found["dearness"])
        money._settled, money._presumed = found["settled_by_role"], found["presumed_by_role"]
        money._overrun, money._counts = found["overrun"], found["counts"]
        money._playing = found["playing"]
        sums = (*money._settled.values(), *money._presumed.values(), money._overrun)
        for amount in (*sums, *money._counts.values(), *found["numbers"]):
            if not _is_amount(amount):
                raise ValueError(f"{amount!r} is no sum")
        for held in money.attempts.open.values():
            _require_amounts(held, held.amount, held.bound)
        numbers = found["numbers"]
        money._last_hold_id, money._attempts, money._retries, money._turns = numbers
        return money


def money_so_far(journal: JournalWriter | JournalReader, *, turns: bool = True) -> MoneyFold:
    """The money of a whole journal; reads only what came after the sums were last kept.

    Without ``turns`` these are not counted: their entries hold whole checkpoints and take longest,
    and who only wants sums of money need not wait for them. Such a fold is not to be kept.
    """
    money, after = MoneyFold(), 0
    kept = journal.kept(KEPT_AS)
    if kept is not None:
        with suppress(ValueError, LookupError, TypeError, StoreError):  # else from the beginning
            money, after = MoneyFold.from_json(kept.value), kept.up_to
    kinds = (HELD, SETTLED, TURN_DONE, OPENED) if turns else (HELD, SETTLED)
    money.take(row.entry for row in journal.since(after, kinds))
    return money


def money_in(run_dir: Path) -> MoneyFold:
    """The money of a run according to its journal; turns are not counted."""
    with closing(JournalReader(run_dir / JOURNAL_NAME)) as reader:
        return money_so_far(reader, turns=False)


def charged_in(run_dir: Path) -> NanoUSD:
    """What a run has spent according to its journal, open holds counted as spent."""
    return money_in(run_dir).charged


_MOST: Final = 10**18
"""A billion dollars: no entry is about more."""


def _is_amount(found: object) -> bool:
    return isinstance(found, int) and 0 <= found <= _MOST


def _require_amounts(entry: Held | Settled, *amounts: object) -> None:
    """See that what an entry says of money can be; it may be somebody else's journal."""
    for amount in amounts:
        if not _is_amount(amount):
            raise StoreError(
                f"the journal is damaged: an entry of session {session_of(entry)[:16]} is about "
                f"{str(amount)[:40]} nano-dollars, which no call can cost; get the run anew, or "
                "restore it from a backup"
            )


def _out(entry: Held | Settled) -> JSON:
    kind, body = encode(entry)
    return [kind, session_of(entry), body.hex()]


def _in(found: Any) -> Any:
    kind, session_id, body = found
    return decode(kind, session_id, bytes.fromhex(body))
