"""Arrow schemas from the declarations, and Parquet files in this project's one manner.

zstd; dictionary encoding for ids, roles and models but never for text; row groups bounded by
bytes, not rows; schema version, run id, spec and price hashes in the footer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import IO, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from matrix.model.errors import StoreError
from matrix.store.run.schema import SCHEMA_VERSION, ColumnType, Row, RunInfo, Table
from matrix.store.tables.tables import columns_of

ROW_GROUP_BYTES: Final = 64 * 1024 * 1024
"""Bound on the uncompressed size of a row group, in bytes."""

VERSION_KEY: Final = b"matrix.schema_version"
"""Where a file's footer has the version of the schema that it was written with."""

_ARROW_TYPES: Final[dict[ColumnType, pa.DataType]] = {
    "text": pa.string(),
    "id": pa.string(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "flag": pa.bool_(),
    "time": pa.timestamp("us", tz="UTC"),
}


def arrow_schema(table: Table, info: RunInfo) -> pa.Schema:
    """Schema of a table in a run, with the metadata that goes into the footer."""
    fields = [
        pa.field(column.name, _ARROW_TYPES[column.type])
        for column in columns_of(table, info.factors)
    ]
    return pa.schema(
        fields,
        metadata={
            VERSION_KEY.decode(): str(SCHEMA_VERSION),
            "matrix.table": table.name,
            "matrix.run_id": info.run_id,
            "matrix.spec_hash": info.spec_hash,
            "matrix.prices_hash": info.prices_hash,
        },
    )


def arrow_table(schema: pa.Schema, run_id: str, rows: Sequence[Row]) -> pa.Table:
    """Rows without their ``run_id`` as a table of this schema."""
    if not rows:
        return schema.empty_table()
    columns: list[pa.Array[Any]] = [pa.repeat(pa.scalar(run_id, pa.string()), len(rows))]
    for values, column in zip(zip(*rows, strict=True), list(schema)[1:], strict=True):
        columns.append(_arrow_column(values, column))
    return pa.Table.from_arrays(columns, schema=schema)


def conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with exactly the columns of ``schema``; those it lacks are null."""
    if table.schema.equals(schema):
        return table
    columns: list[Any] = [
        table[field.name].cast(field.type)
        if field.name in table.schema.names
        else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _arrow_column(values: Sequence[object], column: pa.Field[Any]) -> pa.Array[Any]:
    try:
        made: pa.Array[Any] = pa.array(values, column.type)
    except (pa.ArrowException, TypeError, OverflowError) as error:
        raise StoreError(
            f"a value of column {column.name} does not fit its type {column.type} ({error}); "
            "the kind that recorded it should record another type"
        ) from None
    return made


def sorted_by(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """The rows in ascending order of these columns; equal rows keep their order."""
    return table.sort_by([(column, "ascending") for column in columns])


def write_tables(
    sink: IO[bytes],
    schema: pa.Schema,
    declared: Table,
    parts: Iterable[pa.Table],
    row_group_bytes: int = ROW_GROUP_BYTES,
) -> None:
    """Write tables one after another as one Parquet file, gathering them into row groups.

    At most one row group, and one of ``parts``, is in memory.
    """
    plain = {column.name for column in declared.columns if column.type != "id"}
    options: dict[str, Any] = {
        "compression": "zstd",
        "use_dictionary": [name for name in schema.names if name not in plain],
    }
    with pq.ParquetWriter(sink, schema, **options) as writer:
        gathered: list[pa.Table] = []
        for part in parts:
            gathered.append(part)
            if sum(table.nbytes for table in gathered) >= row_group_bytes:
                _write(writer, gathered, row_group_bytes)
                gathered = []
        if gathered:
            _write(writer, gathered, row_group_bytes)


def _write(writer: pq.ParquetWriter, gathered: list[pa.Table], row_group_bytes: int) -> None:
    whole = pa.concat_tables(gathered)
    if whole.num_rows:
        row_bytes = max(whole.nbytes / whole.num_rows, 1.0)
        writer.write_table(whole, row_group_size=max(1, int(row_group_bytes / row_bytes)))
