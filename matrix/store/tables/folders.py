"""The tables' folders on disk: which parts are there, and how they change without ever being torn.

A *part* covers a range of the journal's sequence and is named by it, so what is published can be
read off the names: a table's parts tile the sequence from 0 to its *mark*. A range becomes visible
table by table, ``sessions`` last and always, so the mark of ``sessions`` is what is published in
all tables; a table that is ahead of it, because the process died in between, keeps its part and
takes only later rows when the range is read again.

New files are written in a hidden folder beside the tables (``.publish``), synced, renamed into
place, and the folder is synced.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Final, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from matrix.store.run.disk import Disk
from matrix.store.run.schema import Row, RunInfo, TableName
from matrix.store.tables.merging import FAN_IN, merged
from matrix.store.tables.parquet import arrow_schema, arrow_table, sorted_by, write_tables
from matrix.store.tables.parts import PublishedPart, parts_in
from matrix.store.tables.tables import TABLES

WORK_FOLDER: Final = ".publish"
"""Folder beside the tables for files that are not finished."""


class TableFolders:
    """The folders of one run's tables. One owner at a time; raises plain ``OSError``."""

    def __init__(self, run_dir: Path, info: RunInfo, disk: Disk) -> None:
        """Look at what is there; :meth:`recover` makes it usable."""
        self._run_dir = run_dir
        self._work = run_dir / WORK_FOLDER
        self._info = info
        self._disk = disk
        self._schemas = {name: arrow_schema(table, info) for name, table in TABLES.items()}
        self._parts: dict[TableName, list[PublishedPart]] = {}

    @property
    def published(self) -> int:
        """Every row of the entries up to here is visible."""
        return self._mark("sessions")

    @property
    def compacted_to(self) -> int | None:
        """The entry up to which a table has been compacted; ``None`` while there are parts only."""
        marks = [part.last for parts in self._parts.values() for part in parts if part.whole]
        return max(marks, default=None)

    def is_compacted(self, name: TableName) -> bool:
        """Whether all rows of this table are in one sorted file."""
        return self._parts[name][0].whole

    def recover(self) -> None:
        """Undo or complete whatever was going on when the last owner died."""
        for leftover in self._work.glob("*.tmp"):
            self._disk.remove(leftover)
        for name in TABLES:
            old = self._work / f"{name}.old"
            if not self._folder(name).is_dir() and old.is_dir():
                self._disk.rename(old, self._folder(name))
            self._disk.remove(old)
            self._disk.remove(self._work / f"{name}.new")
        self._look()
        if self._dropping.exists() or not all(map(_tiled, self._parts.values())):
            self.drop()

    def drop(self) -> None:
        """Remove all rows of all tables; killed half-way, :meth:`recover` completes it."""
        self._disk.write(self._dropping, lambda handle: None)
        self._disk.sync_folder(self._work)
        for name in TABLES:
            old = self._work / f"{name}.old"
            if self._folder(name).is_dir():
                self._disk.rename(self._folder(name), old)
            self._disk.remove(old)
        self._look()
        self._disk.remove(self._dropping)
        self._disk.sync_folder(self._work)

    def publish(self, rows: Mapping[TableName, Sequence[Row]], up_to: int) -> None:
        """Make rows visible that cover the entries after :attr:`published` up to ``up_to``."""
        waiting: list[tuple[TableName, PublishedPart, Path]] = []
        try:
            for name in TABLES:
                mark = self._mark(name)
                new = rows[name]
                if mark > self.published:
                    new = [row for row in new if _seq(row) > mark]
                if mark < up_to and (new or name == "sessions"):
                    part = self._part(name, mark + 1, up_to)
                    waiting.append((name, part, self._work / f"{name}-{part.path.name}.tmp"))
                    self._write(waiting[-1][2], name, [self._sorted(name, new)])
            for name, part, temporary in waiting:
                self._disk.rename(temporary, part.path)
                self._parts[name].append(part)
                self._disk.sync_folder(part.path.parent)
        except OSError:
            _remove_all(temporary for _, _, temporary in waiting)
            raise

    def retract(self, superseded: Mapping[TableName, Collection[int]]) -> None:
        """Remove the rows of these entries from the parts that have them."""
        for name, requested in superseded.items():
            for part in self._parts[name] if requested else ():
                gone = [seq for seq in requested if part.first <= seq <= part.last]
                if gone:
                    self._retract_from(name, part, gone)

    def compact(self, name: TableName, up_to: int, added: Iterable[Sequence[Row]] = ()) -> None:
        """Replace all parts of a table by one sorted file; ``added`` are more rows, in batches.

        Rows added by an earlier compaction are dropped.
        """
        sources = [part.path for part in self._parts[name]]
        made: list[Path] = []
        try:
            if name == "sessions" and any(part.whole for part in self._parts[name]):
                made.append(self._temporary(name, 0, self._recorded(sources)))
                sources = list(made)
            for batch in added:
                made.append(self._temporary(name, len(made), [self._sorted(name, batch)]))
                sources.append(made[-1])
            while len(sources) > FAN_IN:
                groups = [sources[i : i + FAN_IN] for i in range(0, len(sources), FAN_IN)]
                sources = []
                for group in groups:
                    made.append(self._temporary(name, len(made), self._merged(name, group)))
                    sources.append(made[-1])
            self._swap_in(name, up_to, self._merged(name, sources))
        except OSError:
            _remove_all(made)
            raise
        for path in made:
            self._disk.remove(path)

    def _swap_in(self, name: TableName, up_to: int, tables: Iterable[pa.Table]) -> None:
        new, old = self._work / f"{name}.new", self._work / f"{name}.old"
        self._disk.remove(new)
        new.mkdir()
        self._write(new / f"all-{up_to:012d}.parquet", name, tables)
        self._disk.sync_folder(new)
        self._disk.rename(self._folder(name), old)
        self._disk.rename(new, self._folder(name))
        self._parts[name] = parts_in(self._folder(name))
        self._disk.sync_folder(self._run_dir)
        self._disk.sync_folder(self._work)
        self._disk.remove(old)

    def _retract_from(self, name: TableName, part: PublishedPart, gone: Sequence[int]) -> None:
        values = pa.array(gone, pa.int64())
        column = pq.read_table(part.path, columns=["seq"], partitioning=None)["seq"]
        if not pc.any(pc.is_in(column, value_set=values)).as_py():
            return
        table = pq.read_table(part.path, partitioning=None)
        kept = table.filter(pc.invert(pc.is_in(table["seq"], value_set=values)))
        temporary = self._work / f"{name}-{part.path.name}.tmp"
        try:
            self._write(temporary, name, [kept])
            self._disk.rename(temporary, part.path)
        except OSError:
            _remove_all([temporary])
            raise
        self._disk.sync_folder(part.path.parent)

    def _look(self) -> None:
        """Take stock, giving every table a first, empty part, so that every reader finds one."""
        for name in TABLES:
            folder = self._folder(name)
            folder.mkdir(exist_ok=True)
            if not parts_in(folder):
                part = self._part(name, 0, 0)
                temporary = self._work / f"{name}-{part.path.name}.tmp"
                self._write(temporary, name, [])
                self._disk.rename(temporary, part.path)
                self._disk.sync_folder(folder)
            self._parts[name] = parts_in(folder)
        self._disk.sync_folder(self._run_dir)

    @property
    def _dropping(self) -> Path:
        return self._work / "dropping"

    def _folder(self, name: TableName) -> Path:
        return self._run_dir / name

    def _mark(self, name: TableName) -> int:
        return self._parts[name][-1].last

    def _part(self, name: TableName, first: int, last: int) -> PublishedPart:
        path = self._folder(name) / f"part-{first:012d}-{last:012d}.parquet"
        return PublishedPart(first, last, path, False)

    def _sorted(self, name: TableName, rows: Sequence[Row]) -> pa.Table:
        table = arrow_table(self._schemas[name], self._info.run_id, rows)
        return sorted_by(table, TABLES[name].sort)

    def _merged(self, name: TableName, sources: Sequence[Path]) -> Iterator[pa.Table]:
        return merged(sources, self._schemas[name], TABLES[name].sort)

    def _recorded(self, sources: Sequence[Path]) -> Iterator[pa.Table]:
        """Sessions that the journal knows to have ended: without rows added for the others."""
        for table in self._merged("sessions", sources):
            yield table.filter(pc.is_valid(table["seq"]))

    def _temporary(self, name: TableName, number: int, tables: Iterable[pa.Table]) -> Path:
        path = self._work / f"{name}-{number:06d}.tmp"
        self._write(path, name, tables)
        return path

    def _write(self, path: Path, name: TableName, tables: Iterable[pa.Table]) -> None:
        fill = partial(_fill, schema=self._schemas[name], name=name, tables=tables)
        self._disk.write(path, fill)


def _fill(
    handle: IO[bytes], schema: pa.Schema, name: TableName, tables: Iterable[pa.Table]
) -> None:
    write_tables(handle, schema, TABLES[name], tables)


def _seq(row: Row) -> int:
    return cast(int, row[-1])


def _remove_all(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _tiled(parts: Sequence[PublishedPart]) -> bool:
    """Whether parts follow one another without gap or overlap, from the beginning."""
    expected = 0
    for part in parts:
        if part.first != expected:
            return False
        expected = part.last + 1
    return True
