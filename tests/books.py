"""The ledger of a whole journal, as a governor that comes after the last one would read it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from matrix.engine.governor.books import History
from matrix.engine.governor.money_fold import MoneyFold
from matrix.model.entries import Entry, Held


class MoneyHistory(NamedTuple):
    """The ledger as the journal left it, and the holds that nobody settled."""

    history: History
    open_holds: list[Held]


def fold_money(entries: Iterable[Entry]) -> MoneyHistory:
    """Fold a whole journal's holds and settlements."""
    money = MoneyFold()
    money.take(entries)
    return MoneyHistory(money.history(), list(money.attempts.open.values()))
