"""Rebuilding a run's tables from its journal, and saying what was wrong with them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from matrix.model.errors import StoreError
from matrix.model.records import SessionPlan
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader
from matrix.store.reading.reader import RunTables
from matrix.store.run.journal_lock import lock
from matrix.store.run.run_folder import RunFile, why_unfinished
from matrix.store.run.schema import SCHEMA_VERSION
from matrix.store.tables.parts import parts_in
from matrix.store.tables.publisher import Publisher
from matrix.store.tables.tables import TABLES

_VERSION = b"matrix.schema_version"


@dataclass(frozen=True, slots=True)
class Repaired:
    """What a repair found and did.

    Attributes:
        found: Table -> what it was like before, in words.
        rows: Table -> rows after.
        entries: Journal entries that the tables were made from.
        turns: Turns that the run's sessions have played. The table of that name has a row for each
            checkpoint: starts, ends and what a session has from its parent are rows, too.
    """

    found: Mapping[str, str]
    rows: Mapping[str, int]
    entries: int
    turns: int


def repair_tables(
    run_dir: Path, run: RunFile, planned: Callable[[], Iterable[SessionPlan]]
) -> Repaired:
    """Drop every table of a run and make it again from the journal.

    Args:
        run_dir: The run's folder.
        run: Its ``run.json``.
        planned: Gives every session of the plan; asked only if the run was ended in order, whose
            sessions that never ended have rows too.

    Raises:
        RunLocked: The run is alive; nothing was touched.
        StoreError: There is no readable journal (nothing was dropped), or no room for the tables.
    """
    journal = run_dir / JOURNAL_NAME
    reader = JournalReader(journal)
    with closing(reader):
        reader.require_run(run.run_id)
        entries = reader.last_seq()
    held = lock(journal)  # to the end, so that nobody resumes the run meanwhile
    try:
        found = {str(name): inspected(run_dir / name) for name in TABLES}
        for name in TABLES:
            if (run_dir / name).exists() and not (run_dir / name).is_dir():
                (run_dir / name).unlink()
        with _kept_aside(run_dir), Publisher(run_dir, run.info) as publisher:
            publisher.rebuild()
            if run.status in ("complete", "incomplete"):
                publisher.finalize(planned(), why_unfinished(run.end_reason))
    finally:
        held.close()
    turns = RunTables(run_dir).turns_played()
    return Repaired(found, {name: _rows(run_dir / name) for name in TABLES}, entries, turns)


@contextmanager
def _kept_aside(run_dir: Path) -> Iterator[None]:
    """The tables as they are, put aside until there are new ones; back in their place if not."""
    aside = run_dir / f".before-repair-{uuid4().hex}"
    aside.mkdir()
    there = [name for name in TABLES if (run_dir / name).is_dir()]
    try:
        for name in there:
            (run_dir / name).rename(aside / name)
        yield
    except BaseException:
        for name in there:
            if (aside / name).is_dir():
                shutil.rmtree(run_dir / name, ignore_errors=True)
                (aside / name).rename(run_dir / name)
        aside.rmdir()  # only if all are back: what cannot be put back stays there
        raise
    shutil.rmtree(aside, ignore_errors=True)


def inspected(folder: Path) -> str:
    """What a table's folder is like: ``missing``, ``damaged: ...``, an earlier schema, or rows."""
    parts = parts_in(folder)
    if not parts:
        return "missing"
    rows, old = 0, set[str]()
    for part in parts:
        try:
            with pq.ParquetFile(part.path) as file:
                file.read()
                version = (file.schema_arrow.metadata or {}).get(_VERSION, b"none").decode()
                rows += file.metadata.num_rows
        except (OSError, pa.ArrowException) as error:
            return f"damaged: {part.path.name}: {str(error).splitlines()[0][:70]}"
        if version != str(SCHEMA_VERSION):
            old.add(version)
    told = f"{rows:,} rows"
    return f"{told} of schema version {', '.join(sorted(old))}" if old else told


def _rows(folder: Path) -> int:
    try:
        return sum(pq.read_metadata(part.path).num_rows for part in parts_in(folder))
    except (OSError, pa.ArrowException) as error:
        raise StoreError(f"{folder} cannot be read right after its repair: {error}") from None
