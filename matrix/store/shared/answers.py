"""Answers bought by earlier runs, by content hash, in one SQLite file that many processes share.

Looking up is one indexed read on the caller's thread. Keeping is put in a queue, and a thread of
its own writes what has gathered in one transaction, so that no event loop waits for the disk.
Nothing here is the truth of any run: what is lost is bought again. The first trouble with the file
ends its use by this process, and :meth:`AnswerFile.find` and :meth:`AnswerFile.keep` say so.

All processes must be on the machine that has the file: SQLite's write-ahead log is shared memory.
"""

from __future__ import annotations

import queue
import secrets
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from msgspec import MsgspecError
from msgspec.json import Decoder, encode

from matrix.model.errors import StoreError
from matrix.model.records import Answer
from matrix.store.run.made_here import mark_of_file
from matrix.store.run.own_files import make_private

ANSWERS_NAME: Final = "answers.sqlite"
"""File of kept answers, in the results folder beside the runs."""

MAX_BYTES: Final = 2 * 1024**3
"""Size of the file above which the oldest answers go."""

VERSION: Final = 1
"""Version of the file, in SQLite's ``user_version``."""

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS answers"
    " (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, body BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS origin"
    " (one INTEGER PRIMARY KEY CHECK (one = 1), name TEXT NOT NULL, mark TEXT NOT NULL)",
)
LONGEST_WAIT_S: Final = 5.0
"""How long a writer waits for the writers of other processes."""

_READER_PATIENCE_S = 0.2
"""Readers do not wait for writers, so a longer lock is somebody's exclusive use of the file."""
_GATHER_S = 0.05
_BATCH = 500
_QUEUED = 10_000
"""Answers waiting to be written; beyond it they are not kept, rather than filling the memory."""
_SHRINK_TO = 0.9
_EVICTED_AT_ONCE = 200
_DECODER: Final = Decoder(Answer)


class AnswerFile:
    """One process's use of the file. ``find`` and ``keep`` belong to one thread."""

    def __init__(
        self,
        path: Path,
        *,
        max_bytes: int = MAX_BYTES,
        gather_s: float = _GATHER_S,
        patience_s: float = LONGEST_WAIT_S,
    ) -> None:
        """Open the file, creating it if need be.

        Args:
            path: The file; its folder must be there.
            max_bytes: Size above which the oldest answers go.
            gather_s: How long the writer lets answers gather, in seconds.
            patience_s: How long to wait for other processes' writers, in seconds.

        Raises:
            StoreError: It cannot be used, and why.
        """
        self.path, self._max_bytes = path, max_bytes
        self._gather_s, self._patience_s = gather_s, patience_s
        self._queue: queue.SimpleQueue[tuple[str, Answer] | None] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._trouble: StoreError | None = None
        try:
            _create(path, patience_s)
            self._db = _connect(path, _READER_PATIENCE_S)
        except (sqlite3.Error, OSError) as error:
            raise _unusable(path, error) from None
        self._writer = threading.Thread(target=self._write, name="answers", daemon=True)
        self._writer.start()

    def find(self, key: str) -> Answer | None:
        """The answer kept under this key, with what it cost then.

        Raises:
            StoreError: The file cannot be used any more.
        """
        self._raise_trouble()
        try:
            found = self._db.execute("SELECT body FROM answers WHERE key = ?", (key,)).fetchone()
            return None if found is None else _answer_in(found[0])
        except (sqlite3.Error, ValueError) as error:
            raise _unusable(self.path, error) from None

    def keep(self, key: str, answer: Answer) -> None:
        """Have an answer written soon; the first one kept under a key stays.

        Raises:
            StoreError: The file cannot be used any more.
        """
        self._raise_trouble()
        if self._queue.qsize() < _QUEUED:
            self._queue.put((key, answer))

    def close(self) -> None:
        """Write what is waiting and let go of the file; may take as long as that takes."""
        self._closing.set()
        self._queue.put(None)
        self._writer.join()
        self._db.close()

    def _raise_trouble(self) -> None:
        if self._trouble is not None:
            raise self._trouble

    # --- the writer's thread ----------------------------------------------------------------------

    def _write(self) -> None:
        try:
            with closing(_connect(self.path, self._patience_s)) as db:
                while batch := self._gathered():
                    self._store(db, batch)
        except (sqlite3.Error, OSError) as error:
            self._trouble = _unusable(self.path, error)

    def _gathered(self) -> list[tuple[str, Answer]]:
        """What there is to write, waiting for the first; nothing at the end."""
        item = self._queue.get()
        self._closing.wait(self._gather_s)
        batch = []
        while item is not None:
            batch.append(item)
            if len(batch) == _BATCH or self._queue.empty():
                return batch
            item = self._queue.get()
        if batch:
            self._queue.put(None)  # the end, for the next look
        return batch

    def _store(self, db: sqlite3.Connection, batch: list[tuple[str, Answer]]) -> None:
        rows = [(key, encode(answer)) for key, answer in batch]
        db.execute("BEGIN IMMEDIATE")
        try:
            db.executemany("INSERT OR IGNORE INTO answers (key, body) VALUES (?, ?)", rows)
            if _used(db) > self._max_bytes:
                self._evict(db)
            db.execute("COMMIT")
        except sqlite3.Error:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise

    def _evict(self, db: sqlite3.Connection) -> None:
        """Let the oldest answers go until there is room for a while."""
        while _used(db) > _SHRINK_TO * self._max_bytes:
            gone = db.execute(
                "DELETE FROM answers WHERE id IN (SELECT id FROM answers ORDER BY id LIMIT ?)",
                (_EVICTED_AT_ONCE,),
            )
            if not gone.rowcount:
                return


def _create(path: Path, patience_s: float) -> None:
    make_private(path)
    with closing(_connect(path, patience_s)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version not in (0, VERSION):
            raise sqlite3.DatabaseError(f"it has version {version}, this matrix knows {VERSION}")
        if not version:
            _begin(db)
        db.execute("SELECT key, body FROM answers LIMIT 1").fetchone()


def _begin(db: sqlite3.Connection) -> None:
    for table in _SCHEMA:
        db.execute(table)
    name = secrets.token_hex(16)
    db.execute("INSERT OR IGNORE INTO origin VALUES (1, ?, ?)", (name, mark_of_file(name)))
    db.execute(f"PRAGMA user_version = {VERSION}")


def require_own(path: Path) -> None:
    """See that a file of answers was begun by this user: its answers are taken for a model's.

    Raises:
        StoreError: It came from elsewhere.
    """
    try:
        with closing(_connect(path, LONGEST_WAIT_S)) as db:
            found = db.execute("SELECT name, mark FROM origin").fetchall()
    except sqlite3.Error:
        found = []  # of a time before files had a mark
    if [(name, mark) for name, mark in found if mark and mark == mark_of_file(str(name))]:
        return
    raise StoreError(
        f"kept answers are not used: {path} was not begun by you on this machine, so that what it "
        "says a model answered is the word of whoever wrote it; delete it, and a new one is begun "
        "(what carries it from machine to machine has to carry matrix/runs.key of "
        "$XDG_STATE_HOME, too)"
    )


def _connect(path: Path, patience_s: float) -> sqlite3.Connection:
    # whoever builds this may be another thread than the event loop's, which then uses it alone
    db = sqlite3.connect(path, timeout=patience_s, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA synchronous = NORMAL")  # a power cut loses answers, never the file
    db.execute("PRAGMA journal_size_limit = 16777216")
    return db


def _used(db: sqlite3.Connection) -> int:
    """Bytes of the file that hold something."""
    pages, free, size = (
        db.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _answer_in(body: Any) -> Answer:
    """The inverse; a row that is not of this shape is damage.

    Raises:
        ValueError: It is not.
    """
    try:
        answer = _DECODER.decode(body)
    except (MsgspecError, TypeError) as error:
        raise ValueError(f"a kept answer is damaged: {error}") from None
    if min(*answer.usage, answer.cost) < 0:
        raise ValueError("a kept answer is damaged")
    return answer


def _unusable(path: Path, error: Exception) -> StoreError:
    return StoreError(
        f"kept answers cannot be used ({path}: {error}); the run goes on without them; if nothing "
        "else is using the file, delete it"
    )
