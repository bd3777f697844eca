"""Reading a run's tables as Arrow, pandas or polars, while the run goes on or afterwards."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from matrix.model.errors import StoreError, did_you_mean
from matrix.model.lines import in_line
from matrix.store.reading.soundness import unsound, unsound_numbers
from matrix.store.run.driven import run_as_it_stands
from matrix.store.run.run_folder import RUN_FILE, RunFile
from matrix.store.run.schema import RunInfo
from matrix.store.tables.folders import WORK_FOLDER
from matrix.store.tables.parquet import VERSION_KEY, arrow_schema, conform
from matrix.store.tables.parts import PublishedPart, parts_in
from matrix.store.tables.tables import factor_columns, table_named

if TYPE_CHECKING:
    import pandas
    import polars

_TRIES = 5
_BATCH_ROWS = 200_000
_MOST_TOLD = 300


class RunTables:
    """The tables of one run.

    A table is read as it is at that moment: of a live run, the sessions that have ended and been
    published. A table that has no rows yet is empty but has its columns. Files of older schema
    versions are united by column name; columns that they lack are null.
    """

    def __init__(self, run_dir: Path) -> None:
        """Name the run's folder; nothing is read yet."""
        self.run_dir = run_dir

    @cached_property
    def run(self) -> RunFile:
        """The run's ``run.json``, as it stands: interrupted, if nobody drives it any more.

        Raises:
            StoreError: It is missing or damaged.
        """
        return run_as_it_stands(self.run_dir)

    def table(
        self,
        name: str,
        columns: Sequence[str] | None = None,
        *,
        only: Mapping[str, str] | None = None,
    ) -> pa.Table:
        """A table, or some of its columns, as Arrow.

        Args:
            name: The table.
            columns: The columns wanted; all of them if left out.
            only: Column -> the text that it has in the rows wanted. Files are read in pieces, and
                what is not wanted is let go of at once.

        Raises:
            StoreError: There is no such table or column, or a file is damaged.
        """
        declared = arrow_schema(table_named(name), self._info)
        for _ in range(_TRIES):
            parts = self._parts(name)
            try:
                found = _read(parts, declared, columns, only or {})
            except FileNotFoundError:  # compacted since it was listed
                continue
            except (OSError, pa.ArrowException) as error:
                raise self._damaged(name, error) from None
            if odd := unsound(name, found, self._levels):
                raise self._damaged(name, odd)
            return found
        raise self._vanishing(name)

    def pieces(self, name: str, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Some columns of a table, piece by piece, for what is too large to be read whole.

        All of it is the table as it is when the first piece is asked for.

        Raises:
            StoreError: As :meth:`table`.
        """
        declared = arrow_schema(table_named(name), self._info)
        files = self._opened(name)
        try:
            schema = pa.unify_schemas(
                [declared, *(file.schema_arrow for file in files)], promote_options="default"
            )
            schema = _selected(schema, columns)
            for file in files:
                for piece in _read_rows(file, schema, {}):
                    if odd := unsound_numbers(piece):
                        raise self._damaged(name, odd)
                    yield piece
        except (OSError, pa.ArrowException) as error:
            raise self._damaged(name, error) from None
        finally:
            for file in files:
                file.close()

    def of_sessions(
        self, name: str, columns: Sequence[str], sessions: Collection[str]
    ) -> Iterator[dict[str, Any]]:
        """Rows of some sessions, one by one, without the whole table in memory.

        Raises:
            StoreError: As :meth:`table`.
        """
        wanted = pa.array(sorted(sessions), pa.string())
        for piece in self.pieces(name, ["session_id", *columns]):
            mine = pc.is_in(piece["session_id"].cast(pa.string()), value_set=wanted)
            yield from piece.filter(mine).to_pylist()

    def schema_versions(self, name: str) -> frozenset[str]:
        """Versions of the schema that a table's rows were written with, from the files' footers.

        Raises:
            StoreError: As :meth:`table`.
        """
        files = self._opened(name)
        try:
            filled = (file for file in files if file.metadata.num_rows)
            footers = [file.schema_arrow.metadata or {} for file in filled]
        finally:
            for file in files:
                file.close()
        return frozenset(footer.get(VERSION_KEY, b"?").decode() for footer in footers)

    def distinct(self, name: str, column: str, *, where_null: str) -> list[object]:
        """The different values of a column, of rows that have no value in another one.

        Raises:
            StoreError: As :meth:`table`.
        """
        table = self.table(name, [column, where_null])
        kept = table.filter(pc.is_null(table[where_null]))
        return pc.unique(kept[column]).to_pylist()

    def files(self, name: str) -> list[Path]:
        """The Parquet files of a table that have rows, as they are at that moment.

        Raises:
            StoreError: As :meth:`table`.
        """
        found = []
        for part in self._parts(name):
            try:
                if pq.read_metadata(part.path).num_rows:
                    found.append(part.path)
            except (OSError, pa.ArrowException) as error:
                raise self._damaged(name, error) from None
        return found

    def frame(self, name: str, columns: Sequence[str] | None = None) -> pandas.DataFrame:
        """A table, or some of its columns, as a pandas data frame."""
        return self.table(name, columns).to_pandas()

    def answered_by(self) -> dict[str, dict[str, int]]:
        """Model -> the provider's own names of what answered -> answers; without unnamed ones."""
        counted = self.table("calls", ["model", "answered_by"]).group_by(["model", "answered_by"])
        found: dict[str, dict[str, int]] = {}
        for row in counted.aggregate([([], "count_all")]).to_pylist():
            if row["answered_by"]:
                found.setdefault(row["model"], {})[row["answered_by"]] = row["count_all"]
        return found

    def turns_played(self) -> int:
        """Turns that sessions of this run have played; those before a parting are the parents'."""
        sessions = self.frame("sessions", ["turns", "parent_turn"])
        return int((sessions["turns"] - sessions["parent_turn"].fillna(0)).sum())

    def polars(self, name: str, columns: Sequence[str] | None = None) -> polars.DataFrame:
        """A table, or some of its columns, as a polars data frame.

        Raises:
            StoreError: The package ``polars`` is not installed.
        """
        try:
            import polars
        except ImportError:
            raise StoreError(
                "the package polars is not installed; `pip install polars`, or use .frame() for "
                "pandas or .table() for Arrow"
            ) from None
        frame = polars.from_arrow(self.table(name, columns))
        assert isinstance(frame, polars.DataFrame)
        return frame

    def _opened(self, name: str) -> list[pq.ParquetFile]:
        """The files of a table, open: they stay whole even if they are compacted meanwhile."""
        for _ in range(_TRIES):
            files: list[pq.ParquetFile] = []
            try:
                for part in self._parts(name):
                    files.append(pq.ParquetFile(part.path))
                return files
            except (OSError, pa.ArrowException) as error:
                for file in files:
                    file.close()
                if not isinstance(error, FileNotFoundError):
                    raise self._damaged(name, error) from None
        raise self._vanishing(name)

    def _damaged(self, name: str, error: Exception | str) -> StoreError:
        told = in_line(str(error))[:_MOST_TOLD]
        return StoreError(
            f"cannot read table {name} of {self.run_dir}: {told}; `matrix repair {self.run_dir}` "
            "makes the tables again from the journal"
        )

    def _vanishing(self, name: str) -> StoreError:
        return StoreError(f"the files of table {name} of {self.run_dir} vanish while being read")

    @property
    def _info(self) -> RunInfo:
        if (self.run_dir / RUN_FILE).is_file():
            return self.run.info
        return RunInfo(self.run_dir.name, "", "", ())

    @cached_property
    def _levels(self) -> dict[str, tuple[str, ...]]:
        """Column of ``sessions`` -> the levels that the run has of that factor."""
        if not (self.run_dir / RUN_FILE).is_file():
            return {}
        factors = self.run.plan.factors
        return {column: tuple(factors[name]) for name, column in factor_columns(factors).items()}

    def _parts(self, name: str) -> list[PublishedPart]:
        """Parts in the table's folder; while it is being swapped, those of the old folder."""
        folder = self.run_dir / name
        found = (
            parts_in(folder)
            or parts_in(self.run_dir / WORK_FOLDER / f"{name}.old")
            or parts_in(folder)
        )
        if not found and self._ended_in_order:
            raise StoreError(
                f"table {name} of {self.run_dir} is missing; `matrix repair {self.run_dir}` makes "
                "it again from the journal"
            )
        return found

    @property
    def _ended_in_order(self) -> bool:
        """Whether the run has ended, so that every table has its file, with rows or without."""
        if not (self.run_dir / RUN_FILE).is_file():
            return False
        run = self.run
        return run.status in ("complete", "incomplete") and run.totals is not None


def _read(
    parts: Sequence[PublishedPart],
    declared: pa.Schema,
    columns: Sequence[str] | None,
    only: Mapping[str, str],
) -> pa.Table:
    files = [pq.ParquetFile(part.path) for part in parts]
    try:
        schemas = [declared, *(file.schema_arrow for file in files)]
        schema = pa.unify_schemas(schemas, promote_options="default")
        if columns is not None:
            schema = _selected(schema, columns)
        if only:
            _selected(declared, list(only))
            pieces = [piece for file in files for piece in _read_rows(file, schema, only)]
        else:
            pieces = [_read_file(file, schema) for file in files]
    finally:
        for file in files:
            file.close()
    return pa.concat_tables(pieces) if pieces else schema.empty_table()


def _read_file(file: pq.ParquetFile, schema: pa.Schema) -> pa.Table:
    there = set(file.schema_arrow.names)
    requested = [name for name in schema.names if name in there]
    table = file.read(columns=requested)
    if not requested:
        return pa.Table.from_arrays(
            [pa.nulls(file.metadata.num_rows, field.type) for field in schema], schema=schema
        )
    return conform(table, schema)


def _read_rows(
    file: pq.ParquetFile, schema: pa.Schema, only: Mapping[str, str]
) -> Iterator[pa.Table]:
    """The wanted rows of a file, row group by row group."""
    there = set(file.schema_arrow.names)
    if not only.keys() <= there:  # an older file without the column: no row has the text
        return
    requested = [name for name in dict.fromkeys([*schema.names, *only]) if name in there]
    for batch in file.iter_batches(_BATCH_ROWS, columns=requested):
        table = pa.Table.from_batches([batch])
        for name, text in only.items():
            table = table.filter(pc.equal(table[name].cast(pa.string()), pa.scalar(text)))
        yield conform(table, schema)


def _selected(schema: pa.Schema, columns: Sequence[str]) -> pa.Schema:
    fields: list[Any] = []
    for name in columns:
        if name not in schema.names:
            raise StoreError(
                f"no column {name!r}; the columns are {', '.join(schema.names)}"
                f"{did_you_mean(name, schema.names)}"
            )
        fields.append(schema.field(name))
    return pa.schema(fields)
