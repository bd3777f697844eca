"""Rolling budgets over several runs: so much money per day or month, whoever runs what.

A budget lives in one SQLite file beside the runs. A run that draws on it *reserves* its whole cap
before it starts, so that two runs at once cannot both spend the last dollar; when it ends, the
reservation shrinks to what was really spent. A run that dies leaves its reservation standing, as
money presumed spent, until it is resumed and ends, or the window has passed.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from matrix.model.errors import BadInput, Mistake, StoreError
from matrix.model.money import NanoUSD, from_usd, show_usd

BUDGETS_NAME: Final = "budgets.sqlite"

WINDOWS: Final = {"day": 86_400, "week": 7 * 86_400, "month": 30 * 86_400}
"""Names of windows and their lengths in seconds; windows roll, they do not start at midnight."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS draws (
    budget TEXT NOT NULL, run TEXT NOT NULL, at REAL NOT NULL, amount INTEGER NOT NULL,
    PRIMARY KEY (budget, run)
) WITHOUT ROWID
"""


@dataclass(frozen=True, slots=True)
class Budget:
    """So much money within any window of this length."""

    name: str
    amount: NanoUSD
    window: str

    def __str__(self) -> str:
        return f"{self.name} ({show_usd(self.amount)} per {self.window})"


def parse_budget(text: str) -> Budget:
    """Read ``nightly=50/day``.

    Raises:
        BadInput: It is not of this form.
    """
    match = re.fullmatch(r"([A-Za-z0-9._-]{1,60})=(\d+(?:\.\d+)?)/([a-z]+)", text)
    if match is None or match[3] not in WINDOWS:
        windows = ", ".join(WINDOWS)
        message = (
            f"found {text!r}; write NAME=USD/WINDOW with one of {windows}, e.g. nightly=50/day"
        )
        raise BadInput([Mistake("--budget", None, "", message)])
    return Budget(match[1], from_usd(match[2]), match[3])


class BudgetFile:
    """The budgets beside one results folder. Every operation is one locked transaction."""

    def __init__(self, results: Path) -> None:
        """Raises ``StoreError`` if the file cannot be opened or made."""
        self._path = results / BUDGETS_NAME
        try:
            results.mkdir(parents=True, exist_ok=True)
            with self._transaction() as db:
                db.execute(_SCHEMA)
        except OSError as error:
            raise StoreError(f"cannot use {self._path}: {error.strerror}") from None

    def left(self, budget: Budget, now: float, *, besides: str = "") -> NanoUSD:
        """What the window ending at ``now`` (UTC seconds) has left, other runs' draws counted."""
        with self._transaction() as db:
            return self._left(db, budget, now, besides)

    def reserve(self, budget: Budget, run: str, wanted: NanoUSD, now: float) -> NanoUSD:
        """Set money aside for a run; a run that reserves again replaces its earlier draw.

        Returns:
            What was reserved: ``wanted``, or what is left if that is less.

        Raises:
            BadInput: Nothing is left.
        """
        with self._transaction() as db:
            left = self._left(db, budget, now, run)
            if left <= 0:
                raise BadInput(
                    [Mistake("--budget", None, "", f"nothing is left of {budget} for now")]
                )
            granted = min(wanted, left)
            db.execute(
                "INSERT OR REPLACE INTO draws VALUES (?, ?, ?, ?)",
                (budget.name, run, now, granted),
            )
        return granted

    def settle(self, budget: Budget, run: str, spent: NanoUSD) -> None:
        """Shrink a run's reservation to what it spent."""
        with self._transaction() as db:
            db.execute(
                "UPDATE draws SET amount = ? WHERE budget = ? AND run = ?",
                (spent, budget.name, run),
            )

    def _left(self, db: sqlite3.Connection, budget: Budget, now: float, besides: str) -> NanoUSD:
        (drawn,) = db.execute(
            "SELECT COALESCE(SUM(amount), 0) FROM draws WHERE budget = ? AND run != ? AND at > ?",
            (budget.name, besides, now - WINDOWS[budget.window]),
        ).fetchone()
        return budget.amount - int(drawn)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            db = sqlite3.connect(self._path, isolation_level=None, timeout=30.0)
            try:
                db.execute("PRAGMA synchronous=FULL")
                db.execute("BEGIN IMMEDIATE")
                try:
                    yield db
                except BaseException:
                    db.execute("ROLLBACK")
                    raise
                db.execute("COMMIT")
            finally:
                db.close()
        except sqlite3.Error as error:
            raise StoreError(f"cannot use {self._path}: {error}") from None
