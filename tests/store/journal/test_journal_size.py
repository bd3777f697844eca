"""How much of the journal a play-test takes: bounded, and in proportion to its turns."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from matrix import api
from matrix.store.journal.codec import TURN_DONE
from matrix.store.journal.journal import JOURNAL_NAME

SPEC = """
name: size
kind: playtest
scenarios: [put-it-back, house-too-many]
factors: {prompt: [baseline, pulse-aware]}
per_cell: 1
limits: {cost_usd: 50, turns: 50}
"""
MOST_PER_50_TURNS = 185_000
"""Of a few sessions: what a journal learns from its first half MiB is of no use to these yet."""

ROW_BYTES = 28
"""What SQLite needs for a row and its place in the index."""


@pytest.fixture(scope="module")
def sizes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    """Session -> bytes of the journal up to each checkpoint; preludes left out."""
    folder = tmp_path_factory.mktemp("size")
    (folder / "matrix.yaml").write_text(SPEC)
    run = api.run(folder / "matrix.yaml", results=folder, executor="in-process")
    return _sizes(run.path / JOURNAL_NAME)


def _sizes(journal: Path) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    total: dict[str, int] = {}
    with sqlite3.connect(journal) as db:
        rows = db.execute(
            "SELECT s.session_id, e.kind, LENGTH(e.body) FROM entries e "
            "JOIN sessions s ON s.id = e.session ORDER BY e.seq"
        )
        for session_id, kind, size in rows:
            total[session_id] = total.get(session_id, 0) + size + ROW_BYTES
            if kind == TURN_DONE:
                found.setdefault(session_id, []).append(total[session_id])
    return {session_id: steps for session_id, steps in found.items() if len(steps) > 1}


@pytest.mark.slow
def test_fifty_turns_of_a_play_test_fit_into_185_kilobytes(sizes: dict[str, list[int]]) -> None:
    turns = sum(len(steps) for steps in sizes.values())
    assert turns > 60, "too short to be of ordinary length"
    each = sum(steps[-1] for steps in sizes.values()) / turns
    assert each * 50 <= MOST_PER_50_TURNS


def test_bytes_grow_in_proportion_to_turns(sizes: dict[str, list[int]]) -> None:
    """If history were stored with every turn, the second half would take three times the first."""
    for steps in sizes.values():
        half = steps[len(steps) // 2]
        assert steps[-1] - half <= 1.5 * half
