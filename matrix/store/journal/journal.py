"""The journal: an append-only sequence of entries in SQLite, with one writer.

The writer holds an operating-system lock for as long as it lives, and checks its *epoch* in every
transaction: whoever opens the journal for writing raises the epoch, so that a writer which was
stopped, taken over and woken again finds out before it writes. A batch of entries is one
transaction with ``synchronous=FULL``: when ``append`` returns, it is on the disk. A batch that
need not outlive a power cut is handed to the operating system alone: it outlives every process.
"""

from __future__ import annotations

import re
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import orjson

from matrix.model.entries import RUN, Entry, Looked, session_of
from matrix.model.errors import FencedOff, StoreError
from matrix.model.lines import in_line
from matrix.model.records import JSON
from matrix.model.seeds import content_hash
from matrix.store.journal.codec import (
    ENDED,
    JOURNAL_VERSION,
    OPENED,
    READ_BEFORE,
    decode,
    encode,
    unreadable,
)
from matrix.store.journal.journal_errors import damaged, store_error
from matrix.store.journal.pressing import Press, Sample
from matrix.store.journal.wal import torn_end
from matrix.store.run.journal_lock import lock, require_unpacked
from matrix.store.run.own_files import make_private

JOURNAL_NAME = "journal.sqlite"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sessions (id INTEGER PRIMARY KEY, session_id TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS entries (
    seq INTEGER PRIMARY KEY, kind INTEGER NOT NULL, session INTEGER NOT NULL, body BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS entries_by_session ON entries (session, seq);
CREATE TABLE IF NOT EXISTS resources (hash TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;
"""

_DICTIONARY: Final = "dictionary"
_KEPT: Final = "kept:"
"""What begins the keys in ``meta`` of values that are kept."""

_RUN: Final = "run"
"""The key in ``meta`` of the run's id; journals of earlier versions have none."""

_AT_ONCE: Final = 2000
"""Entries that are read by one query."""

_OWN: Final = {("table", name) for name in ("meta", "sessions", "entries", "resources")} | {
    ("index", name)
    for name in ("entries_by_session", "sqlite_autoindex_sessions_1", "sqlite_autoindex_sessions_2")
}
"""What a journal consists of: a view or a trigger of somebody else's could do anything."""

_SHORTEST_HASH: Final = 16
_SHOWN: Final = 80
MAX_SEQ: Final = 2**62
"""Above every sequence number."""


class RowQuery(Protocol):
    """Runs one query and gives all its rows."""

    def __call__(self, sql: str, values: Sequence[object] = (), /) -> list[tuple[Any, ...]]: ...


class JournalRow(NamedTuple):
    """A decoded entry and its place in the sequence."""

    seq: int
    entry: Entry


class StoredFold(NamedTuple):
    """What somebody has made of the entries up to a place, kept beside them."""

    up_to: int
    value: JSON


class JournalWriter:
    """The one writer of a journal, for the thread that opened it: SQLite refuses every other."""

    def __init__(self, path: Path, *, thorough: bool = False) -> None:
        """Open for writing, creating the journal if need be.

        ``torn`` is then how many bytes the last writer's death has left of a write that was cut
        off; they are left out. A ``thorough`` opening reads the whole structure before it writes.

        Raises:
            RunLocked: Another process is writing; the run is alive.
            StoreError: Not a journal, of a later version, damaged, or not writable.
        """
        self._lock = lock(path)
        try:
            make_private(path)
            self._db = _connect(path)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._flushes = False
            self._flush_or_not(True)
            self.torn = torn_end(self._db, path)  # before anything is written
            _require_own(self._db, path)
            if thorough:
                self._check(path)
            self._db.executescript(_SCHEMA)
            self._epoch = self._raise_epoch(path)
            self._ids: dict[str, int] = dict(
                self._db.execute("SELECT session_id, id FROM sessions").fetchall()
            )
            self._seq = _newest(self._db, path)
            self._press, self._sample = Press(lambda: _dictionary(self._read)), Sample()
        except sqlite3.Error as error:
            self._lock.close()
            raise store_error(error, path) from None
        except OSError as error:
            self._lock.close()
            raise StoreError(f"cannot write {path}: {error.strerror}") from None
        except StoreError:
            self._lock.close()
            raise
        self._path = path

    @property
    def last_seq(self) -> int:
        """Sequence number of the newest entry; 0 for an empty journal."""
        return self._seq

    @property
    def epoch(self) -> int:
        """How often this journal has been opened for writing."""
        return self._epoch

    def knows(self, session_id: str) -> bool:
        """Whether any entry belongs to this session."""
        return session_id in self._ids

    def append(self, entries: Sequence[Entry], *, flush: bool = True) -> None:
        """Write a batch durably, as one transaction.

        Args:
            entries: The batch.
            flush: It outlives a power cut, with all that was written before it; else it does so
                with the next batch that is flushed, or when the journal is closed.

        Raises:
            FencedOff: Somebody has taken the journal over.
            JournalFull: No space; nothing of the batch was written.
        """
        encoded = [(session_of(entry), *encode(entry)) for entry in entries]
        new = {session for session, _, _ in encoded} - self._ids.keys()
        press, learned = self._press.press, b""
        if not self._press.has_learned:
            learned = self._sample.dictionary([body for _, _, body in encoded])
        try:
            self._flush_or_not(flush)
            with self._transaction():
                if learned:
                    self._db.execute("INSERT INTO meta VALUES (?, ?)", (_DICTIONARY, learned))
                fresh = {}
                for session in sorted(new):
                    cursor = self._db.execute(
                        "INSERT INTO sessions (session_id) VALUES (?)", (session,)
                    )
                    fresh[session] = int(cursor.lastrowid or 0)
                ids = self._ids | fresh if fresh else self._ids
                self._db.executemany(
                    "INSERT INTO entries VALUES (?, ?, ?, ?)",
                    (
                        (self._seq + index, kind, ids[session], press(body))
                        for index, (session, kind, body) in enumerate(encoded, start=1)
                    ),
                )
        except sqlite3.Error as error:
            raise store_error(error, self._path) from None
        self._ids.update(fresh)
        self._seq += len(encoded)
        self._press.learn(learned)

    def add_resources(self, resources: Mapping[str, JSON]) -> None:
        """Store texts and data by content hash; those already there are left alone."""
        rows = [(key, orjson.dumps(value)) for key, value in resources.items()]
        try:
            with self._transaction():
                self._db.executemany("INSERT OR IGNORE INTO resources VALUES (?, ?)", rows)
        except sqlite3.Error as error:
            raise store_error(error, self._path) from None

    def session(self, session_id: str) -> list[Entry]:
        """Every entry of one session, in order."""
        rows = _session_rows(self._read, self._press, session_id, MAX_SEQ)
        return [row.entry for row in rows]

    def since(self, after: int, kinds: Iterable[int] | None = None) -> Iterator[JournalRow]:
        """Entries with ``after < seq``, in order, optionally of some kinds only."""
        return _rows(self._read, self._press, after, self._seq, kinds)

    def name_run(self, run_id: str) -> None:
        """Say whose journal this is, so that it is never taken for another run's."""
        try:
            with self._transaction():
                self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_RUN, run_id))
        except sqlite3.Error as error:
            raise store_error(error, self._path) from None

    def require_run(self, run_id: str) -> None:
        """As :meth:`JournalReader.require_run`."""
        _require_run(self._read, run_id, self._path)

    def keep(self, name: str, value: JSON) -> None:
        """Keep what was made of all entries so far, in place of what was kept by this name.

        It saves reading the entries again, and says nothing that they do not say.
        """
        text = orjson.dumps([self._seq, value]).decode()
        try:
            with self._transaction():
                self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_KEPT + name, text))
        except sqlite3.Error as error:
            raise store_error(error, self._path) from None

    def kept(self, name: str) -> StoredFold | None:
        """What was kept by this name; nothing if the journal has lost entries since."""
        return _kept(self._read, name, self._seq)

    def _flush_or_not(self, flush: bool) -> None:
        if flush is not self._flushes:
            self._db.execute(f"PRAGMA synchronous={'FULL' if flush else 'NORMAL'}")
            self._flushes = flush

    def close(self) -> None:
        """Let go of the journal; if nobody reads it now, one file is left, readable anywhere."""
        try:
            with suppress(sqlite3.Error):  # a full disk or a reader: the entries are safe in WAL
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                self._db.execute("PRAGMA journal_mode=DELETE")
            self._db.close()
        finally:
            self._lock.close()

    def _read(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise store_error(error, self._path) from None

    def _check(self, path: Path) -> None:
        ((said,),) = self._db.execute("PRAGMA integrity_check(1)").fetchall()
        if said != "ok":
            raise damaged(path, said)

    def _raise_epoch(self, path: Path) -> int:
        with self._transaction(check_epoch=False):
            _require_readable(path, self._meta("version"))
            epoch = int(self._meta("epoch") or 0) + 1
            self._db.executemany(
                "INSERT OR REPLACE INTO meta VALUES (?, ?)",
                [("version", str(JOURNAL_VERSION)), ("epoch", str(epoch))],
            )
        return epoch

    def _meta(self, key: str) -> str | None:
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    @contextmanager
    def _transaction(self, *, check_epoch: bool = True) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            if check_epoch and self._meta("epoch") != str(self._epoch):
                raise FencedOff(
                    f"another process has taken over {self._path}; this one stops writing"
                )
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise


class JournalReader:
    """Reads a journal while it is being written; every read is a short transaction."""

    def __init__(self, path: Path) -> None:
        """Open an existing journal.

        Raises:
            StoreError: There is none, or it is not a journal.
        """
        require_unpacked(path)
        if not path.is_file():
            from matrix.store.run.run_folder import RUN_FILE, require_played

            if (path.parent / RUN_FILE).is_file():
                require_played(path.parent)
            raise StoreError(f"no journal at {path}; is this a results folder of matrix?")
        self._path = path
        try:
            self._db = sqlite3.connect(
                f"file:{path}?mode=ro",
                uri=True,
                isolation_level=None,
                check_same_thread=False,
                timeout=30.0,
            )
            _require_own(self._db, path)
            found = self._db.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()
            _newest(self._db, path)
            self._press = Press(lambda: _dictionary(self._rows_of))
        except sqlite3.Error as error:
            raise store_error(error, path) from None
        _require_readable(path, found and found[0])

    def require_run(self, run_id: str) -> None:
        """See that this is the journal of a run, as far as it says whose it is.

        Raises:
            StoreError: It is another's.
        """
        _require_run(self._rows_of, run_id, self._path)

    def last_seq(self) -> int:
        """Sequence number of the newest entry; 0 for an empty journal."""
        ((last,),) = self._rows_of("SELECT COALESCE(MAX(seq), 0) FROM entries")
        return int(last)

    def rows(
        self, after: int, up_to: int, kinds: Iterable[int] | None = None
    ) -> Iterator[JournalRow]:
        """Entries with ``after < seq <= up_to``, in order, optionally of some kinds only."""
        return _rows(self._rows_of, self._press, after, up_to, kinds)

    def since(self, after: int, kinds: Iterable[int] | None = None) -> Iterator[JournalRow]:
        """Entries with ``after < seq``, in order, optionally of some kinds only."""
        return self.rows(after, self.last_seq(), kinds)

    def kept(self, name: str) -> StoredFold | None:
        """As :meth:`JournalWriter.kept`."""
        return _kept(self._rows_of, name, self.last_seq())

    def session(self, session_id: str) -> list[Entry]:
        """Every entry of one session, in order."""
        return [row.entry for row in self.session_rows(session_id)]

    def session_rows(self, session_id: str, *, before: int = MAX_SEQ) -> Iterator[JournalRow]:
        """Entries of one session with ``seq < before``, in order."""
        return _session_rows(self._rows_of, self._press, session_id, before)

    def has_ended(self, session_id: str) -> bool:
        """Whether the session is over, and has not been opened again since."""
        rows = self._rows_of(
            "SELECT e.kind FROM entries e JOIN sessions s ON s.id = e.session "
            "WHERE s.session_id = ? AND e.kind IN (?, ?) ORDER BY e.seq DESC LIMIT 1",
            (session_id, OPENED, ENDED),
        )
        return bool(rows) and rows[0][0] == ENDED

    def session_ids(self) -> list[str]:
        """Every session the journal knows."""
        rows = self._rows_of("SELECT session_id FROM sessions ORDER BY id")
        return [session_id for (session_id,) in rows if session_id != RUN]

    def newest_look(self) -> Looked | None:
        """The newest look at the scores; it says everything that was decided before it."""
        looks = [entry for entry in self.session(RUN) if isinstance(entry, Looked)]
        return max(looks, key=lambda look: look.rounds, default=None)

    def resources(self) -> dict[str, JSON]:
        """Every stored text and data by content hash.

        Raises:
            StoreError: One is not what its hash says.
        """
        rows = self._rows_of("SELECT hash, body FROM resources")
        return {str(key): self._resource(str(key), body) for key, body in rows}

    def _resource(self, key: str, body: Any) -> JSON:
        """A text or data, if it is what its hash says."""
        with suppress(ValueError, TypeError):  # no JSON, or deeper than any of ours
            value = orjson.loads(body)
            if len(key) >= _SHORTEST_HASH and content_hash(value, length=len(key)) == key:
                return value
        raise StoreError(
            f"{self._path} is damaged: the text {in_line(key)[:_SHOWN]} in it is another one; "
            "restore the run's folder from a copy"
        )

    def _rows_of(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """One short read transaction.

        Raises:
            StoreError: SQLite refused; the message says what and where.
        """
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise store_error(error, self._path) from None

    def close(self) -> None:
        """Close the connection."""
        self._db.close()


def newest_look(run_dir: Path) -> Looked | None:
    """The newest look of a run; ``None`` where there is no journal, or it was not looked at."""
    if not (run_dir / JOURNAL_NAME).is_file():
        return None
    with closing(JournalReader(run_dir / JOURNAL_NAME)) as reader:
        return reader.newest_look()


def _require_readable(path: Path, version: str | None) -> None:
    """See that this code reads a journal of this version; ``None`` for a new one.

    Raises:
        StoreError: It does not; the message says what does.
    """
    if version is not None and not re.fullmatch(r"[0-9]{1,9}", str(version)):
        raise StoreError(
            f"{path} says that its version is {str(version)[:40]!r}, which is none; it was left as "
            "it is"
        )
    found = JOURNAL_VERSION if version is None else int(version)
    if found > JOURNAL_VERSION:
        raise StoreError(
            f"{path} was written by a later version of matrix (journal version {found}, this one "
            f"reads {JOURNAL_VERSION}); upgrade matrix to open it"
        )
    if found < JOURNAL_VERSION:
        raise StoreError(
            f"{path} was written before the first release (journal version {found}, this one reads "
            f"{JOURNAL_VERSION}); `git checkout {READ_BEFORE}` in a clone of matrix reads it"
        )


def _require_own(db: sqlite3.Connection, path: Path) -> None:
    """See that nothing is in a journal but what belongs there.

    Raises:
        StoreError: Something is.
    """
    for kind, name in db.execute("SELECT type, name FROM sqlite_master").fetchmany(100):
        if (kind, name) not in _OWN:
            raise StoreError(
                f"{path} holds the {kind} {str(name)[:40]!r}, which is no part of a journal; it "
                "was left as it is"
            )


def _newest(db: sqlite3.Connection, path: Path) -> int:
    """The number of the newest entry; 0 if there is none.

    Raises:
        StoreError: It is none that was counted up to.
    """
    (last,) = db.execute("SELECT COALESCE(MAX(seq), 0) FROM entries").fetchone()
    if not isinstance(last, int) or not 0 <= last < MAX_SEQ:
        raise damaged(path, f"its newest entry has the number {str(last)[:40]}")
    return last


def _dictionary(read: RowQuery) -> bytes:
    """What bodies were pressed with; one that is none makes bodies that cannot be read."""
    found = read("SELECT value FROM meta WHERE key = ?", (_DICTIONARY,))
    return found[0][0] if found and isinstance(found[0][0], bytes) else b""


def _rows(
    read: RowQuery, press: Press, after: int, up_to: int, kinds: Iterable[int] | None
) -> Iterator[JournalRow]:
    requested = "" if kinds is None else f"AND kind IN ({','.join(str(int(k)) for k in kinds)})"
    sql = (
        "SELECT e.seq, e.kind, s.session_id, e.body FROM entries e JOIN sessions s "  # noqa: S608
        f"ON s.id = e.session WHERE e.seq > ? AND e.seq <= ? {requested} ORDER BY e.seq LIMIT ?"
    )
    found = _AT_ONCE
    while found == _AT_ONCE:
        rows = read(sql, (after, up_to, _AT_ONCE))
        found = len(rows)
        for seq, kind, session_id, body in rows:
            yield JournalRow(seq, _entry(press, kind, session_id, body))
            after = seq


def _kept(read: RowQuery, name: str, last_seq: int) -> StoredFold | None:
    found = read("SELECT value FROM meta WHERE key = ?", (_KEPT + name,))
    if not found:
        return None
    up_to, value = orjson.loads(found[0][0])
    return StoredFold(up_to, value) if up_to <= last_seq else None


def _require_run(read: RowQuery, run_id: str, path: Path) -> None:
    found = read("SELECT value FROM meta WHERE key = ?", (_RUN,))
    if found and found[0][0] != run_id:
        told = in_line(str(found[0][0]))[:_SHOWN]
        raise StoreError(
            f"{path} is the journal of another run, {told}; put the one of {run_id} in its place"
        )


def _session_rows(
    read: RowQuery, press: Press, session_id: str, before: int
) -> Iterator[JournalRow]:
    rows = read(
        "SELECT e.seq, e.kind, e.body FROM entries e JOIN sessions s ON s.id = e.session "
        "WHERE s.session_id = ? AND e.seq < ? ORDER BY e.seq",
        (session_id, before),
    )
    return (JournalRow(seq, _entry(press, kind, session_id, body)) for seq, kind, body in rows)


def _entry(press: Press, kind: int, session_id: str, body: bytes) -> Entry:
    try:
        plain = press.unpress(body)
    except (ValueError, TypeError, zlib.error) as error:  # TypeError: SQLite keeps any type
        raise unreadable(session_id, error) from None
    return decode(kind, session_id, plain)


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, timeout=30.0)
