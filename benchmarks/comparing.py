"""`matrix compare` on a large results folder, in a process of its own.

The folder is made from a real one: a few play-tests are played to their end, and their sessions
and scores are written again and again as those of further rounds, through the declared schemas and
the writer of Parquet files that the publisher has. Costs and scores are moved a little in each
round, by draws with a fixed seed, so that no two rounds are alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.figures import Section, mebibytes
from benchmarks.measuring import watch
from benchmarks.runs import Job, matrix_command, play
from benchmarks.sizes import Sizes
from matrix.store.reading.reader import RunTables
from matrix.store.run.run_folder import RunFile, read_run, write_run
from matrix.store.tables.parquet import arrow_schema, write_tables
from matrix.store.tables.tables import table_named

_PLAYED: Final = 40
"""Sessions that are played: two rounds of the built-in matrix."""

_SPREAD: Final = 0.05
"""Standard deviation of what a round's values are multiplied by, around 1."""

_AT_ONCE: Final = 100
"""Copies that are made in memory before they are written."""

_CHANGED: Final = frozenset({"session_id", "round", "cost_usd", "score", "value"})
_LIMIT_S: Final = 300.0
_COMPACTED: Final = "all-000000000001.parquet"
_TABLES: Final = ("sessions", "scores")


def measure(sizes: Sizes, section: Section) -> None:
    """Fill the section."""
    job = Job(_PLAYED, open_sessions=_PLAYED, in_process=True)
    played = play(sizes.folder, "compared", job)
    source, copies = RunTables(played.run_dir), -(-sizes.compared_sessions // _PLAYED)
    run_dir = sizes.folder / "many"
    rows = _multiplied(source, read_run(played.run_dir), copies, run_dir)
    for arguments in ([], ["--metric", "quality_pacing", "--by", "story"]):
        command = ["compare", str(run_dir), *arguments]
        watched = watch(matrix_command(*command), folder=sizes.folder, limit_s=_LIMIT_S)
        said = f"matrix {' '.join(['compare', 'RUN', *arguments])}"
        section.add(f"{said}: seconds", watched.wall_s, "s", f"{copies * _PLAYED:,} sessions")
        section.add(f"{said}: peak memory, PSS", mebibytes(watched.peak_pss), "MiB", "same process")
    section.note(
        f"{_PLAYED} sessions are played, and written as further rounds through schemas and writer."
    )
    for name, count in rows.items():
        section.add(f"rows of {name}", count, "rows", f"{_PLAYED} sessions, {copies:,} times")


def _multiplied(source: RunTables, run: RunFile, copies: int, run_dir: Path) -> dict[str, int]:
    """Write a run with so many times the rounds; rows of each table."""
    run_dir.mkdir()
    plan = run.plan.model_copy(
        update={"rounds": run.plan.rounds * copies, "sessions": run.plan.sessions * copies}
    )
    write_run(run_dir, run.model_copy(update={"run_id": run_dir.name, "plan": plan}))
    rows = {}
    for name in _TABLES:
        table, declared = source.table(name), table_named(name)
        folder = run_dir / name
        folder.mkdir()
        schema = arrow_schema(declared, run.info)
        with (folder / _COMPACTED).open("wb") as sink:
            write_tables(sink, schema, declared, _copies(table, run.plan.rounds, copies))
        rows[name] = table.num_rows * copies
    return rows


def _copies(table: pa.Table, rounds: int, copies: int) -> Iterator[pa.Table]:
    """The rows of a table once for each copy, as further rounds with values of their own."""
    rng = np.random.default_rng(1)
    for first in range(0, copies, _AT_ONCE):
        numbers = np.arange(first, min(first + _AT_ONCE, copies))
        block = pa.concat_tables([table] * len(numbers))
        copy = np.repeat(numbers, table.num_rows)
        for place, field in enumerate(table.schema):
            column: Any = block[field.name]
            if field.name in _CHANGED:
                values = _changed(field.name, column, copy, rounds, rng)
                block = block.set_column(
                    place, field, pa.array(values, field.type, from_pandas=True)
                )
        yield block


def _changed(
    name: str, column: Any, copy: npt.NDArray[np.int64], rounds: int, rng: np.random.Generator
) -> Any:
    if name == "session_id":
        ids = zip(copy.tolist(), column.to_pylist(), strict=True)
        return [f"{number:05x}{session_id[5:]}" for number, session_id in ids]
    if name == "round":
        return column.to_numpy() + copy * rounds
    moved = column.to_numpy() * rng.normal(1.0, _SPREAD, len(column))
    return np.minimum(moved, 100.0) if name == "score" else moved
