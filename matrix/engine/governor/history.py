"""Reading back: what a journal says of one session.

Which entries count is decided by :mod:`matrix.store.journal.session_state`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from matrix.engine.wire.messages import Snapshot
from matrix.model.entries import Entry, Lent, Settled, Tally
from matrix.model.money import NanoUSD
from matrix.model.records import JSON, CallKey, SessionPlan
from matrix.store.journal.session_state import fold


class SessionHistory(NamedTuple):
    """One session out of the journal, up to now.

    ``answers`` and ``attempts`` are those of calls since the newest checkpoint (answers: since the
    turn in flight was begun anew, if it was); ``spent`` is what
    all its attempts have cost, settled or presumed, ``used`` its tally with these answers; ``lent``
    are answers of its parent's, for calls that ask the very same.
    """

    plan: SessionPlan | None
    snapshot: Snapshot
    answers: dict[CallKey, Settled]
    attempts: dict[CallKey, int]
    spent: NanoUSD = 0
    used: Tally = Tally()
    lent: Mapping[CallKey, Lent] = MappingProxyType({})


NOTHING_KNOWN = SessionHistory(None, Snapshot(None, (), None, None), {}, {})


def fold_session(entries: Iterable[Entry], prelude: JSON = None) -> SessionHistory:
    """Where a session stands, from its entries in the order of the journal."""
    state = fold(entries)
    scores = {
        found.name: found.value
        for done in state.turns
        for found in done.scores
        if found.turn is None
    }
    snapshot = Snapshot(
        state.checkpoint,
        state.log,
        prelude,
        state.ended,
        scores,
        acted=tuple(state.acted.values()),
        used=state.used,
    )
    return SessionHistory(
        state.plan,
        snapshot,
        state.answers,
        state.tries,
        state.spent,
        state.used_so_far,
        state.lent,
    )
