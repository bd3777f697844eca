"""The tables of a run whose results were made elsewhere: there is no journal to make them of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Final

from matrix.model.entries import Tally, TurnDone
from matrix.model.errors import StoreError
from matrix.model.records import Event, Message, Score, SessionPlan
from matrix.model.seeds import derive_seed
from matrix.store.foreign.arranging import Arranged, PlacedRow
from matrix.store.foreign.results import outcome_of
from matrix.store.journal.session_state import SessionTotals
from matrix.store.reading.told import UNIT_EVENT
from matrix.store.run.disk import Disk
from matrix.store.run.own_files import FOLDER_MODE
from matrix.store.run.schema import Row, RunInfo, TableName
from matrix.store.tables.folders import WORK_FOLDER, TableFolders
from matrix.store.tables.rows import Cells, event_rows, message_rows, score_rows, session_row
from matrix.store.tables.tables import TABLES, columns_of

CHANNEL: Final = "table"
_BATCH: Final = 50_000
_LONGEST_REASON: Final = 300
_NO_TALLY: Final = Tally()


def write_results(run_dir: Path, info: RunInfo, kind: str, arranged: Arranged) -> None:
    """Write all tables of a new run.

    Args:
        run_dir: Its folder.
        info: What the tables need to know of it.
        kind: Its kind.
        arranged: Its results.

    Raises:
        StoreError: They cannot be written.
    """
    try:
        (run_dir / WORK_FOLDER).mkdir(mode=FOLDER_MODE)
        folders = TableFolders(run_dir, info, Disk())
        folders.recover()
        last = 0
        for batch, last in _batches(arranged, info, kind):
            folders.publish(batch, last)
        for name in TABLES:
            folders.compact(name, last)
    except OSError as error:
        raise StoreError(f"cannot write in {run_dir}: {error.strerror}") from None


def _batches(
    arranged: Arranged, info: RunInfo, kind: str
) -> Iterator[tuple[Mapping[TableName, list[Row]], int]]:
    cells_of = {name: itemgetter(*_columns(name, info)) for name in TABLES}
    for start in range(0, len(arranged.placed), _BATCH):
        rows: dict[TableName, list[Row]] = {name: [] for name in TABLES}
        part = arranged.placed[start : start + _BATCH]
        for seq, placed in enumerate(part, start + 1):
            for name, cells in _rows(placed, seq, arranged, info, kind):
                rows[name].append(cells_of[name](cells))
        yield rows, start + len(part)


def _columns(name: TableName, info: RunInfo) -> list[str]:
    return [column.name for column in columns_of(TABLES[name], info.factors)][1:]


def _rows(
    placed: PlacedRow, seq: int, arranged: Arranged, info: RunInfo, kind: str
) -> Iterator[tuple[TableName, Cells]]:
    row, outcome = placed.row, outcome_of(placed.row)
    told = _told(placed, seq)
    yield (
        "sessions",
        session_row(
            _plan(placed, seq, arranged, info, kind),
            info,
            outcome=outcome,
            error_class=row.error_class or ("error" if row.error else ""),
            turns=row.turns,
            totals=SessionTotals(
                calls=row.calls,
                tokens_in=row.tokens_in,
                tokens_out=row.tokens_out,
                cost=row.cost_nano,
                clock_s=row.duration_s,
            ),
            score=row.score,
            reason=(row.reason or row.error)[:_LONGEST_REASON],
            started_at=None,
            ended_at=None,
            seq=seq,
        ),
    )
    yield from _all("messages", message_rows(seq, told, 0))
    yield from _all("scores", score_rows(seq, told))
    yield from _all("events", event_rows(seq, told, 0))


def _all(name: TableName, rows: Iterable[Cells]) -> Iterator[tuple[TableName, Cells]]:
    return ((name, cells) for cells in rows)


def _plan(placed: PlacedRow, seq: int, arranged: Arranged, info: RunInfo, kind: str) -> SessionPlan:
    return SessionPlan(
        session_id=placed.session_id,
        part="play",
        order=seq - 1,
        round=placed.round,
        seed=derive_seed("imported", placed.scenario, placed.round),
        scenario=placed.scenario,
        kind=kind,
        levels=dict(zip(arranged.levels, placed.row.levels, strict=True)),
        options={},
        roles={role: levels[0] for role, levels in (info.stand_ins or {}).items()},
        resources={},
        prelude_id=None,
        max_turns=1,
        max_session_s=1.0,
        repeat=placed.repeat if arranged.repeats > 1 else None,
    )


def _told(placed: PlacedRow, seq: int) -> TurnDone:
    """What a result says, in the form that rows are made of."""
    row = placed.row
    named = dict(row.metrics)
    if row.score is not None and not row.error:
        named["score"] = row.score
    return TurnDone(
        session_id=placed.session_id,
        turn=1,
        phase="turn",
        state=b"",
        messages=tuple(Message(CHANNEL, who, text, 1) for who, text in row.said),
        events=(Event(UNIT_EVENT, 1, row.unit),) if row.unit else (),
        scores=tuple(Score(name, value) for name, value in named.items()),
        players=(),
        tally=_NO_TALLY,
        ended=None,
        versions=(1, 1),
        at=0.0,
    )
