"""Reading back: what a journal says of one session, and of the run's money."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from matrix.engine.governor_core import History
from matrix.engine.messages import Counters, Snapshot
from matrix.model.entries import Ended, Entry, Held, Opened, Settled, TurnDone
from matrix.model.money import NanoUSD
from matrix.model.records import JSON, CallKey, Message, SessionPlan


class SessionHistory(NamedTuple):
    """One session out of the journal, up to now.

    ``answers`` and ``attempts`` are those of calls since the newest checkpoint.
    """

    plan: SessionPlan | None
    snapshot: Snapshot
    answers: dict[CallKey, Settled]
    attempts: dict[CallKey, int]


NOTHING_KNOWN = SessionHistory(None, Snapshot(None, (), None, None, None), {}, {})


def fold_session(entries: Sequence[Entry], prelude: JSON = None) -> SessionHistory:
    """Fold a session's entries, in journal order, into where it stands."""
    plan: SessionPlan | None = None
    checkpoint: TurnDone | None = None
    done: Ended | None = None
    score: float | None = None
    log: list[Message] = []
    answers: dict[CallKey, Settled] = {}
    attempts: dict[CallKey, int] = {}
    for entry in entries:
        match entry:
            case Opened():
                plan, done = entry.plan, None
            case Held():
                attempts[entry.key] = max(attempts.get(entry.key, 0), entry.attempt)
            case Settled():
                if entry.answer is not None:
                    answers[entry.key] = entry
            case TurnDone():
                checkpoint = entry
                log.extend(entry.messages)
                for found in entry.scores:
                    score = found.value if found.name == "score" else score
                finished = (entry.phase, entry.turn)
                answers = {k: v for k, v in answers.items() if (k.phase, k.turn) != finished}
                attempts = {k: v for k, v in attempts.items() if (k.phase, k.turn) != finished}
            case Ended():
                done = entry
    return SessionHistory(
        plan, Snapshot(checkpoint, tuple(log), prelude, done, score), answers, attempts
    )


class MoneyHistory(NamedTuple):
    """The ledger as the journal left it, and the holds that nobody settled."""

    history: History
    open_holds: list[Held]


def fold_money(entries: Iterable[Entry]) -> MoneyHistory:
    """Fold the journal's holds and settlements; an attempt's last settlement counts."""
    open_holds: dict[int, Held] = {}
    closed: dict[int, Settled] = {}
    last_hold_id = attempts = retries = turns = 0
    for entry in entries:
        match entry:
            case Held():
                open_holds[entry.hold_id] = entry
                last_hold_id = max(last_hold_id, entry.hold_id)
                attempts += 1
                retries += entry.attempt > 1
            case Settled():
                open_holds.pop(entry.hold_id, None)
                closed[entry.hold_id] = entry
            case TurnDone():
                turns += entry.phase == "turn"
    spent: dict[str, dict[str, NanoUSD]] = {"settled": {}, "presumed": {}, "released": {}}
    for entry in closed.values():
        by_role = spent[entry.disposition]
        by_role[entry.role] = by_role.get(entry.role, 0) + entry.cost
    roles = {
        role: spent["settled"].get(role, 0) + spent["presumed"].get(role, 0)
        for role in spent["settled"] | spent["presumed"]
    }
    history = History(
        settled=sum(spent["settled"].values()),
        presumed=sum(spent["presumed"].values()),
        overrun=sum(map(_overrun, closed.values())),
        last_hold_id=last_hold_id,
        spent_by_role=roles,
        counters=Counters(
            answered=sum(entry.answer is not None for entry in closed.values()),
            attempts=attempts,
            retries=retries,
            rate_limited=sum(entry.error_class == "RateLimited" for entry in closed.values()),
            turns=turns,
            tokens_in=sum(entry.usage.input for entry in closed.values()),
            tokens_out=sum(entry.usage.output for entry in closed.values()),
        ),
    )
    return MoneyHistory(history, list(open_holds.values()))


def _overrun(entry: Settled) -> NanoUSD:
    """What an attempt cost above its hold, at which it was settled."""
    if entry.answer is None or entry.disposition != "settled":
        return 0
    return max(0, entry.answer.cost - entry.cost)
