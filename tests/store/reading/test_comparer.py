"""The comparer sees every deterministic difference and no volatile one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from matrix.model.entries import Acted, Ended, Entry, Held, Lent, Looked, Opened, Settled, TurnDone
from matrix.store.run.schema import RunInfo
from matrix.store.tables.publisher import Publisher
from tests.comparer import compare_tables
from tests.store.journals import FastDisk, tell, write_journal

STORY = [
    (index, action)
    for index in (0, 1)
    for action in ("turn", "call", "turn", "call", "turn", "finish", "end")
]


def publish(run_dir: Path, entries: list[Entry]) -> Path:
    write_journal(run_dir, entries)
    with Publisher(run_dir, RunInfo(run_dir.name, "", "", ("prompt",)), disk=FastDisk()) as one:
        one.finalize([], "cap")
    return run_dir


def elsewhere(entry: Entry) -> Entry:
    """The same entry as another run on another day would have it."""
    match entry:
        case Settled():
            return entry._replace(
                hold_id=entry.hold_id + 70, attempt=3, held=1, waited_s=9.0, took_s=8.0, at=1.0
            )
        case Held():
            return entry._replace(hold_id=entry.hold_id + 70, at=1.0)
        case Opened() | Acted() | Looked():
            return entry._replace(at=1.0)
        case TurnDone() | Ended():
            return replace(entry, at=1.0)
        case Lent():
            return entry


def test_runs_that_differ_in_timing_retries_and_order_are_equal(tmp_path: Path) -> None:
    entries = tell(STORY)
    half = len(entries) // 2
    other = [elsewhere(entry) for entry in entries[half:] + entries[:half]]
    lost = next(entry for entry in entries if isinstance(entry, Settled))
    retry = lost._replace(hold_id=999, attempt=0, disposition="presumed", answer=None)
    a = publish(tmp_path / "a", entries)
    b = publish(tmp_path / "b", [*other, retry])
    assert compare_tables(a, b) == []


def test_another_value_is_named_by_table_column_and_key(tmp_path: Path) -> None:
    entries = tell(STORY)
    changed = [replace(entry, turns=9) if isinstance(entry, Ended) else entry for entry in entries]
    a, b = publish(tmp_path / "a", entries), publish(tmp_path / "b", changed)
    (difference,) = compare_tables(a, b)
    assert difference == (
        "sessions: turns differs in 2 rows, e.g. session_id session-1: 2 against 9"
    )


def test_missing_and_repeated_rows_are_named(tmp_path: Path) -> None:
    entries = tell(STORY)
    fewer = [
        replace(entry, messages=(), scores=entry.scores[:1] * 2)
        if isinstance(entry, TurnDone) and entry.turn == 1
        else entry
        for entry in entries
    ]
    a, b = publish(tmp_path / "a", entries), publish(tmp_path / "b", fewer)
    found = compare_tables(a, b, ["messages", "scores"])
    assert any("messages:" in line and "in the first run only" in line for line in found)
    assert any(line.startswith("scores: value differs") for line in found)
    once = [
        replace(entry, scores=entry.scores[:1]) if isinstance(entry, TurnDone) else entry
        for entry in entries
    ]
    c = publish(tmp_path / "c", once)
    (line,) = compare_tables(a, c, ["scores"])
    assert "keys have another number of rows" in line
