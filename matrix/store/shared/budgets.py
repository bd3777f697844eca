"""The file that keeps rolling budgets between runs: ``budgets.sqlite`` beside them.

A run that draws on a budget *reserves* money before it starts, so that two runs at once cannot both
spend the last dollar. When it ends, its draw shrinks to what it really spent. A draw counts in full
until its run has *ended* and a whole window has passed since: money that a long run spends at its
end is as fresh as the end, not as the start. That is what makes "never more than the amount within
any window" true.

Whether a run is still alive is told by an operating-system lock, which dies with its process. A
draw whose run died counts in full until the run is resumed and ends, or until a window has passed
since its death was noticed.

Time in the file never goes back: a clock that jumps back frees nothing, and the file's time stands
still until the clock has caught up. A clock that jumps ahead is believed.
"""

from __future__ import annotations

import fcntl
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, NamedTuple

from matrix.model.errors import BadInput, Mistake, RunLocked, StoreError
from matrix.model.lines import in_line
from matrix.model.money import NanoUSD, show_usd
from matrix.model.spec.budgets import WINDOWS, Budget
from matrix.store.run.own_files import make_private, open_lock
from matrix.store.run.run_folder import STAGING

BUDGETS_NAME: Final = "budgets.sqlite"
_LOCKS = ".budget-locks"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS time (latest REAL NOT NULL);
CREATE TABLE IF NOT EXISTS budgets (
    name TEXT PRIMARY KEY, amount INTEGER NOT NULL, window TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS draws (
    id INTEGER PRIMARY KEY, budget TEXT NOT NULL, run TEXT NOT NULL, base INTEGER NOT NULL,
    amount INTEGER NOT NULL, began REAL NOT NULL, ended REAL, settled INTEGER NOT NULL DEFAULT 0
);
"""
_OWN: Final = frozenset(["time", "budgets", "draws", "sqlite_autoindex_budgets_1"])
_FAR_S: Final = 366 * 86_400.0
_MOST: Final = 10_000
_LATEST_S: Final = 1e11
"""UTC seconds that no clock of ours shows: the year 5138."""
_SETTLE = (
    "UPDATE draws SET amount = MAX(0, ? - base), ended = ?, settled = 1 "
    "WHERE run = ? AND NOT settled"
)
_COUNTED = "budget = ? AND (ended IS NULL OR ended > ?)"


class DrawState(NamedTuple):
    """One run's draw: ``free_at`` is when it stops counting, or ``None`` while its run goes on."""

    run: str
    amount: NanoUSD
    free_at: float | None


class SpentRun(NamedTuple):
    """A run that is over: what it has spent in all its lives, and when it was made (Unix time)."""

    spent: NanoUSD
    created: float


class BudgetState(NamedTuple):
    """How a budget stands; ``now`` is the file's time, in Unix seconds."""

    budget: Budget
    draws: tuple[DrawState, ...]
    now: float

    @property
    def drawn(self) -> NanoUSD:
        """What counts against the budget now."""
        return sum(draw.amount for draw in self.draws)

    @property
    def left(self) -> NanoUSD:
        """What a run could reserve now."""
        return self.left_of(self.budget)

    def left_of(self, budget: Budget) -> NanoUSD:
        """The same for a run that gives the budget another amount."""
        return max(0, budget.amount - self.drawn)


class BudgetFile:
    """The budgets beside one results folder. Every operation is one locked transaction."""

    def __init__(self, results: Path) -> None:
        self._results, self._path = results, results / BUDGETS_NAME
        self._held: dict[str, IO[bytes]] = {}
        self._own: dict[str, int | None] = {}

    def reserve(
        self,
        budget: Budget,
        run: str,
        *,
        cap: NanoUSD,
        now: float,
        spent: NanoUSD | None = None,
        least: NanoUSD = 1,
        least_buys: str = "one round",
    ) -> NanoUSD:
        """Set money aside for a run that is about to start or go on.

        Args:
            budget: What it draws on, as this run sees it.
            run: The run's id.
            cap: The run's own cap on all its money.
            now: Unix time in seconds.
            spent: What the run had spent before, in earlier lives, whose draws are now settled;
                ``None`` for a new run, which knows of no draw but its own.
            least: What there has to be for it to be worth starting.
            least_buys: What may cost that much, for the message.

        Returns:
            The cap that holds for the run: its own, or less if less is left.

        Raises:
            BadInput: Less than ``least`` is left; the message says when more comes free.
            RunLocked: The run is alive already.
        """
        try:
            with self._transaction(now) as (db, at):
                self._lock(run)  # in here, where nobody else is just trying whether it is held
                db.execute(
                    "INSERT OR REPLACE INTO budgets VALUES (?, ?, ?)",
                    (budget.name, budget.amount, budget.window),
                )
                if spent is not None:
                    self._settle_all(db, run, spent, at)
                state = self._state(db, budget, at)
                requested = cap - (spent or 0)
                granted = min(requested, state.left)
                if granted < min(least, requested) or granted <= 0:
                    words = _too_little(state, least, least_buys)
                    raise BadInput([Mistake("--budget", None, "", words)])
                self._own[run] = db.execute(
                    "INSERT INTO draws (budget, run, base, amount, began) VALUES (?, ?, ?, ?, ?)",
                    (budget.name, run, spent or 0, granted, at),
                ).lastrowid
        except RunLocked:
            raise
        except BaseException:
            self._unlock(run)
            raise
        return (spent or 0) + granted

    def settle(self, run: str, *, spent: NanoUSD, now: float) -> None:
        """A run has ended: its draw shrinks to what this life of it spent of ``spent`` in all."""
        with self._transaction(now) as (db, at):
            db.execute(f"{_SETTLE} AND id = ?", (spent, at, run, self._own.get(run)))
            self._lock_path(run).unlink(missing_ok=True)  # nobody asks about a settled run
        self._unlock(run)

    def abandon(self, run: str) -> None:
        """A run stopped without saying what it spent: its draw stands, as after a crash."""
        self._unlock(run)

    def settle_dead(self, ended_of: Callable[[str], SpentRun | None], now: float) -> None:
        """Settle draws of runs that are dead, and of which it is known what they spent.

        That is so of one that was complete when it was stopped, before it could say so here:
        nobody will ever go on with it, and its whole draw would stand.

        Args:
            ended_of: Run -> how it ended; ``None`` if that is not known.
            now: Unix time in seconds.
        """
        if not self._path.exists():
            return
        with self._transaction(now) as (db, at):
            rows = db.execute("SELECT DISTINCT run FROM draws WHERE NOT settled").fetchall()
            for (run,) in rows:
                if not self._alive(run) and (ended := ended_of(run)) is not None:
                    # an earlier one of its name may have left draws that nobody knows about
                    db.execute(f"{_SETTLE} AND began >= ?", (ended.spent, at, run, ended.created))

    def states(self, now: float) -> list[BudgetState]:
        """How every budget of the file stands, by name. Makes no file where there is none."""
        if not self._path.exists():
            return []
        with self._transaction(now) as (db, at):
            found = db.execute("SELECT name, amount, window FROM budgets ORDER BY name").fetchall()
            return [self._state(db, Budget(*row), at) for row in found]

    def _state(self, db: sqlite3.Connection, budget: Budget, at: float) -> BudgetState:
        self._notice_deaths(db, at)
        rows = db.execute(
            f"SELECT run, amount, ended FROM draws WHERE {_COUNTED} ORDER BY began, id",  # noqa: S608
            (budget.name, at - budget.window_s),
        )
        draws = (
            DrawState(run, amount, None if ended is None else ended + budget.window_s)
            for run, amount, ended in rows
        )
        return BudgetState(budget, tuple(draws), at)

    def _settle_all(self, db: sqlite3.Connection, run: str, spent: NanoUSD, at: float) -> None:
        """What earlier lives of a run drew becomes what they spent, now that it is known."""
        db.execute(_SETTLE, (spent, at, run))

    def _notice_deaths(self, db: sqlite3.Connection, at: float) -> None:
        for (run,) in db.execute("SELECT DISTINCT run FROM draws WHERE ended IS NULL").fetchall():
            if not self._alive(run):
                db.execute("UPDATE draws SET ended = ? WHERE run = ? AND ended IS NULL", (at, run))
                if (self._results / f"{STAGING}{run}").is_dir():  # it was never begun
                    db.execute(_SETTLE, (0, at, run))

    # --- locks ------------------------------------------------------------------------------------

    def _lock(self, run: str) -> None:
        path = self._lock_path(run)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = open_lock(path)
        except OSError as error:
            raise StoreError(f"cannot write in {self._results}: {error.strerror}") from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            handle.close()
            raise RunLocked(f"{run} is still running; wait for it or stop it first") from None
        self._held[run] = handle

    def _unlock(self, run: str) -> None:
        if (handle := self._held.pop(run, None)) is not None:
            handle.close()

    def _alive(self, run: str) -> bool:
        if run in self._held:
            return True
        try:
            with self._lock_path(run).open("rb") as handle:
                fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return False
        except FileNotFoundError:
            return False
        except OSError:
            return True

    def _lock_path(self, run: str) -> Path:
        return self._results / _LOCKS / run

    @contextmanager
    def _transaction(self, now: float) -> Iterator[tuple[sqlite3.Connection, float]]:
        """A transaction that excludes all others, and the file's time in it."""
        try:
            self._results.mkdir(parents=True, exist_ok=True)
            make_private(self._path)
            db = sqlite3.connect(self._path, isolation_level=None, timeout=30.0)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"cannot use {self._path}: {error}") from None
        try:
            db.execute("PRAGMA synchronous=FULL")
            db.execute("BEGIN IMMEDIATE")
            for statement in _SCHEMA.split(";"):
                db.execute(statement)
            self._require_sound(db, now)
            yield db, _pass_time(db, now)
            db.execute("COMMIT")
        except sqlite3.Error as error:
            raise StoreError(f"cannot use {self._path}: {error}") from None
        finally:
            db.close()  # which rolls back what was not committed

    def _require_sound(self, db: sqlite3.Connection, now: float) -> None:
        """See that the file holds what only runs write: it may have come with somebody's folder.

        Raises:
            StoreError: It does not; nothing is drawn on it.
        """
        found = db.execute("SELECT type, name FROM sqlite_master").fetchmany(100)
        # asked before any row is: a view of a table's name may have no end
        other = [
            f"a {kind} {in_line(str(name))[:40]!r}"
            for kind, name in found
            if name not in _OWN or kind not in ("table", "index")
        ]
        if other:
            raise self._strange(other[0])
        wrong = db.execute(
            "SELECT run FROM draws WHERE NOT (typeof(amount) = 'integer' AND amount >= 0 AND "
            "typeof(base) = 'integer' AND base >= 0 AND typeof(began) IN ('real', 'integer') AND "
            "abs(began) < ? AND (ended IS NULL OR "
            "(typeof(ended) IN ('real', 'integer') AND abs(ended) < ?)))",
            (_LATEST_S, _LATEST_S),
        ).fetchmany(1)
        other += [f"a draw of {in_line(str(run))[:40]!r} that none can be" for (run,) in wrong]
        other += [
            f"a budget {in_line(str(name))[:40]!r} that none can be"
            for name, amount, window in db.execute("SELECT * FROM budgets").fetchmany(_MOST)
            if not (isinstance(amount, int) and amount >= 0 and window in WINDOWS)
        ]
        (latest,) = db.execute("SELECT MAX(latest) FROM time").fetchone()
        if latest is not None and not (isinstance(latest, float) and latest < now + _FAR_S):
            other.append("a time that has not come yet, by more than a year")
        if other:
            raise self._strange(other[0])

    def _strange(self, what: str) -> StoreError:
        told = "it was made by no run; move it away, and budgets begin anew"
        return StoreError(f"{self._path} holds {what}: {told}")


def _pass_time(db: sqlite3.Connection, now: float) -> float:
    (latest,) = db.execute("SELECT MAX(latest) FROM time").fetchone()
    at = now if latest is None else max(now, float(latest))
    db.execute("DELETE FROM time")
    db.execute("INSERT INTO time VALUES (?)", (at,))
    return at


def _too_little(state: BudgetState, least: NanoUSD, least_buys: str) -> str:
    found = f"{show_usd(state.left)} is left of {state.budget}"
    if state.left > 0:
        found += f", and {least_buys} may cost {show_usd(least)}"
    if not state.draws:
        return f"{found}; make it larger, or the matrix smaller"
    times = [draw.free_at for draw in state.draws if draw.free_at is not None]
    if not times:
        return f"{found}; more comes free when the runs that hold it have ended"
    hours = max(0.0, min(times) - state.now) / 3600
    return f"{found}; more comes free in {hours:,.1f} hours, or make it larger"
