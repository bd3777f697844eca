"""Journals of every version since the third are read, projected and gone on with by this code.

``journals_v3`` has journals of version 3, and so on; the files are never made anew. Versions before
were in no release and are refused. ``story`` holds everything that can happen, ``play`` a finished
play-test and ``counter`` a run whose driver was killed half-way.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from matrix import api
from matrix.model.entries import TurnDone
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader
from matrix.store.reading.reader import RunTables
from matrix.store.run.run_folder import read_run
from matrix.store.tables.publisher import Publisher
from matrix.store.tables.tables import TABLES
from tests.comparer import compare_tables
from tests.store.journals import INFO, LONG_STORY, expected, tell
from tests.store.read_back import shown

KEPT = Path(__file__).parents[1]
VERSIONS = (3,)
COUNTER = """
name: count
kind: counter
scenarios: [one]
factors: {step: [1, 2]}
options: {turns: 6, width: 2, shared_start: true}
per_cell: 3
limits: {cost_usd: 10, turns: 60}
"""
"""The spec of the run ``counter``."""


@pytest.fixture(params=VERSIONS)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of the journals of one version."""
    copy = tmp_path / "kept"
    shutil.copytree(KEPT / f"journals_v{request.param}", copy)
    return copy


def test_every_entry_is_read(kept: Path) -> None:
    reader = JournalReader(kept / "story" / JOURNAL_NAME)
    assert [row.entry for row in reader.rows(0, reader.last_seq())] == tell(LONG_STORY)
    reader.close()


def test_its_tables_are_what_the_rules_say(kept: Path) -> None:
    with Publisher(kept / "story", INFO) as publisher:
        publisher.rebuild()
    assert shown(kept / "story") == expected(tell(LONG_STORY))


def test_a_finished_play_test_has_all_its_rows_and_texts(kept: Path) -> None:
    run_dir = kept / "play"
    with Publisher(run_dir, read_run(run_dir).info) as publisher:
        publisher.rebuild()
    tables = RunTables(run_dir)
    rows = {name: tables.table(name).num_rows for name in TABLES}
    assert rows["sessions"] == 2
    assert rows["turns"] == 13, "two sessions of a start, four turns and a finish; a prelude"
    assert rows.pop("effects") == 0, "a play-test does nothing to the world"
    assert min(rows.values()) > 0
    said = tables.frame("messages")["text"]
    assert said.str.len().min() > 0
    assert {len(found) for found in api.open_run(run_dir).sessions()["session_id"]} == {16}


@pytest.mark.slow
def test_a_killed_run_is_resumed_to_the_tables_of_an_undisturbed_one(kept: Path) -> None:
    run_dir = kept / "counter"
    reader = JournalReader(run_dir / JOURNAL_NAME)
    before = [row.entry for row in reader.rows(0, reader.last_seq())]
    reader.close()
    done = api.resume("counter", results=kept, executor="in-process")
    assert done.status == "complete"
    (kept / "counter.yaml").write_text(COUNTER)
    fresh = api.run(
        kept / "counter.yaml", results=kept, run_id="undisturbed", executor="in-process"
    )
    assert compare_tables(run_dir, fresh.path) == []
    reader = JournalReader(run_dir / JOURNAL_NAME)
    after = [row.entry for row in reader.rows(0, reader.last_seq())]
    reader.close()
    assert after[: len(before)] == before, "what is in a journal is never written anew"
    assert sum(isinstance(entry, TurnDone) for entry in after) == 6 * 8 + 3
