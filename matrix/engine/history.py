"""Reading back: what a journal says of one session, and of the run's money."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from matrix.engine.books import History
from matrix.engine.messages import Counters, Snapshot
from matrix.model.entries import (
    Acted,
    Disposition,
    Ended,
    Entry,
    Held,
    Opened,
    Settled,
    Tally,
    TurnDone,
)
from matrix.model.money import NanoUSD
from matrix.model.records import JSON, CallKey, Message, SessionPlan


class SessionHistory(NamedTuple):
    """One session out of the journal, up to now.

    ``answers`` and ``attempts`` are those of calls since the newest checkpoint (answers: since the
    turn in flight was begun anew, if it was); ``spent`` is what
    all its attempts have cost, settled or presumed.
    """

    plan: SessionPlan | None
    snapshot: Snapshot
    answers: dict[CallKey, Settled]
    attempts: dict[CallKey, int]
    spent: NanoUSD = 0

    @property
    def used(self) -> Tally:
        """What the session has used, with the answers since its checkpoint."""
        return _with_answers(self.snapshot.used, self.answers.values())


NOTHING_KNOWN = SessionHistory(None, Snapshot(None, (), None, None), {}, {})


def fold_session(entries: Sequence[Entry], prelude: JSON = None) -> SessionHistory:
    """Fold a session's entries, in journal order, into where it stands."""
    plan: SessionPlan | None = None
    checkpoint: TurnDone | None = None
    done: Ended | None = None
    scores: dict[str, float | None] = {}
    log: list[Message] = []
    answers: dict[CallKey, Settled] = {}
    attempts: dict[CallKey, int] = {}
    acted: dict[CallKey, Acted] = {}
    costs: dict[int, NanoUSD] = {}
    used = Tally()
    for entry in entries:
        match entry:
            case Opened():
                plan, done = entry.plan, None
                if entry.redo:
                    used = _with_answers(used, answers.values())
                    answers, acted = {}, {}
            case Held():
                attempts[entry.key] = max(attempts.get(entry.key, 0), entry.attempt)
            case Settled():
                costs[entry.hold_id] = entry.cost
                if entry.answer is not None:
                    answers[entry.key] = entry
            case TurnDone():
                checkpoint, used = entry, entry.tally
                log.extend(entry.messages)
                scores |= {found.name: found.value for found in entry.scores if found.turn is None}
                finished = (entry.phase, entry.turn)
                answers = {k: v for k, v in answers.items() if (k.phase, k.turn) != finished}
                attempts = {k: v for k, v in attempts.items() if (k.phase, k.turn) != finished}
                acted = {k: v for k, v in acted.items() if (k.phase, k.turn) != finished}
            case Acted():
                acted[entry.key] = entry
            case Ended():
                done = entry
    return SessionHistory(
        plan,
        Snapshot(
            checkpoint, tuple(log), prelude, done, scores, acted=tuple(acted.values()), used=used
        ),
        answers,
        attempts,
        sum(costs.values()),
    )


def _with_answers(used: Tally, answers: Iterable[Settled]) -> Tally:
    for settled in answers:
        if settled.answer is not None:
            used = used.plus(settled.role, settled.answer)
    return used


class MoneyHistory(NamedTuple):
    """The ledger as the journal left it, and the holds that nobody settled."""

    history: History
    open_holds: list[Held]


@dataclass(slots=True)
class MoneyFold:
    """Folds a journal's holds and settlements; an attempt's last settlement counts.

    Attributes:
        open_holds: Hold id -> hold that nobody has settled.
        open_sessions: Sessions that were opened and have not ended.
    """

    open_holds: dict[int, Held] = field(default_factory=dict)
    open_sessions: set[str] = field(default_factory=set)
    _closed: dict[int, Settled] = field(default_factory=dict)
    _last_hold_id: int = 0
    _attempts: int = 0
    _retries: int = 0
    _turns: int = 0

    def take(self, entries: Iterable[Entry]) -> None:
        """Take in more entries, in journal order."""
        for entry in entries:
            match entry:
                case Held():
                    self.open_holds[entry.hold_id] = entry
                    self._last_hold_id = max(self._last_hold_id, entry.hold_id)
                    self._attempts += 1
                    self._retries += entry.attempt > 1
                case Settled():
                    self.open_holds.pop(entry.hold_id, None)
                    self._closed[entry.hold_id] = entry
                    self._last_hold_id = max(self._last_hold_id, entry.hold_id)
                case TurnDone():
                    self._turns += entry.phase == "turn"
                case Opened():
                    self.open_sessions.add(entry.plan.session_id)
                case Ended():
                    self.open_sessions.discard(entry.session_id)

    def history(self) -> History:
        """Money and attempts so far."""
        closed = self._closed.values()
        spent: dict[Disposition, dict[str, NanoUSD]] = {
            "settled": {},
            "presumed": {},
            "released": {},
            "cached": {},
        }
        for entry in closed:
            by_role = spent[entry.disposition]
            by_role[entry.role] = by_role.get(entry.role, 0) + entry.cost
        roles = {
            role: spent["settled"].get(role, 0) + spent["presumed"].get(role, 0)
            for role in spent["settled"] | spent["presumed"]
        }
        sent = [entry for entry in closed if entry.disposition != "cached"]
        return History(
            settled=sum(spent["settled"].values()),
            presumed=sum(spent["presumed"].values()),
            overrun=sum(entry.overrun for entry in closed),
            last_hold_id=self._last_hold_id,
            spent_by_role=roles,
            counters=Counters(
                answered=sum(entry.answer is not None for entry in closed),
                attempts=self._attempts,
                retries=self._retries,
                rate_limited=sum(entry.error_class == "RateLimited" for entry in closed),
                turns=self._turns,
                tokens_in=sum(entry.usage.input for entry in sent),
                tokens_out=sum(entry.usage.output for entry in sent),
                from_cache=len(closed) - len(sent),
                saved=sum(entry.saved for entry in closed),
            ),
            inflation=_inflation(sent),
        )


def fold_money(entries: Iterable[Entry]) -> MoneyHistory:
    """Fold a whole journal's holds and settlements."""
    fold = MoneyFold()
    fold.take(entries)
    return MoneyHistory(fold.history(), list(fold.open_holds.values()))


def _inflation(entries: Iterable[Settled]) -> dict[str, float]:
    """Model -> the factor that its bounds are to be raised by, after all its overruns.

    Each hold was already raised for the overruns before it, so the factors multiply.
    """
    factors: dict[str, float] = {}
    for entry in entries:
        if entry.overrun and entry.held:
            dearer = (entry.cost + entry.overrun) / entry.held
            factors[entry.model] = factors.get(entry.model, 1.0) * dearer
    return factors
