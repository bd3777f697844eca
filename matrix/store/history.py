"""A journal reader that can also look back into one session."""

from __future__ import annotations

from collections.abc import Iterator

from matrix.store.codec import ENDED, OPENED, decode
from matrix.store.journal import JournalReader, Row


class HistoryReader(JournalReader):
    """Reads a journal in order, and single sessions by id."""

    def session_rows(self, session_id: str, *, before: int) -> Iterator[Row]:
        """Entries of one session with ``seq < before``, in order."""
        rows = self._db.execute(
            "SELECT e.seq, e.kind, e.body FROM entries e JOIN sessions s ON s.id = e.session "
            "WHERE s.session_id = ? AND e.seq < ? ORDER BY e.seq",
            (session_id, before),
        ).fetchall()
        return (Row(seq, decode(kind, session_id, body)) for seq, kind, body in rows)

    def has_ended(self, session_id: str) -> bool:
        """Whether the session is over, and has not been opened again since."""
        row = self._db.execute(
            "SELECT e.kind FROM entries e JOIN sessions s ON s.id = e.session "
            "WHERE s.session_id = ? AND e.kind IN (?, ?) ORDER BY e.seq DESC LIMIT 1",
            (session_id, OPENED, ENDED),
        ).fetchone()
        return row is not None and row[0] == ENDED
