"""Taking up a run whose processes have died: is its journal sound, and how far does it go?"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from matrix.store.journal.journal import JOURNAL_NAME, JournalReader, JournalWriter
from matrix.store.run.run_folder import read_run
from matrix.store.tables.parts import parts_in
from matrix.store.tables.tables import TABLES


def recover_run(run_dir: Path) -> list[str]:
    """Make sure that a run is dead, that its journal can be gone on with, and its tables too.

    If a disk has lost the journal's end, tables that say more than it are made again from it.

    Returns:
        What was found, in words for people; nothing after an orderly end or a simple kill.

    Raises:
        RunLocked: The run is alive; nothing was touched.
        StoreError: The journal is damaged; nothing was touched.
    """
    writer = JournalWriter(run_dir / JOURNAL_NAME, thorough=True)
    with closing(writer):
        writer.require_run(run_dir.name)
        last, torn = writer.last_seq, writer.torn
    published = published_up_to(run_dir)
    found = []
    if torn:
        found.append(
            f"the last write to the journal was cut off ({torn:,} bytes cannot be read and are "
            f"left out); the run goes on from entry {last:,}"
        )
    if published > last:
        found.append(
            f"the disk has lost the journal's end: tables go up to entry {published:,}, the "
            f"journal to {last:,}; the tables are made again, and calls answered after that are "
            "paid again"
        )
        _rebuild(run_dir)
    return found


def published_up_to(run_dir: Path) -> int:
    """The newest journal entry that the tables of a run have."""
    return max((part.last for name in TABLES for part in parts_in(run_dir / name)), default=0)


def tables_lag(run_dir: Path) -> bool:
    """Whether a run's journal has entries that its tables do not have, as after a sudden stop."""
    if not (run_dir / JOURNAL_NAME).is_file():
        return False
    with closing(JournalReader(run_dir / JOURNAL_NAME)) as reader:
        return reader.last_seq() > published_up_to(run_dir)


def _rebuild(run_dir: Path) -> None:
    from matrix.store.tables.publisher import Publisher  # Arrow, which is hardly ever needed here

    with Publisher(run_dir, read_run(run_dir).info) as publisher:
        publisher.rebuild()
