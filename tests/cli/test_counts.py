"""Numbers that commands give of a run: they agree with each other and with what there is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from matrix.model.entries import Held, Opened
from matrix.store.journal.journal import JOURNAL_NAME, JournalWriter
from matrix.store.run.run_folder import read_run, write_run
from tests.cli.program import Matrix


@pytest.mark.slow
def test_what_a_round_shares_is_no_session(finished: Path, matrix: Matrix) -> None:
    planned = json.loads(matrix("show", "first", "--json").stdout)["sessions"]["planned"]
    result = matrix("show", "first", "zzzz")
    assert f"no session 'zzzz' among the {planned} that were started" in result.stderr
    assert result.code == 2


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "command"),
    [
        ("sessions", ("show", "first")),
        ("calls", ("show", "first", "--json")),
        ("sessions", ("compare", "first")),
        ("scores", ("compare", "first")),
    ],
)
def test_a_table_that_is_gone_is_said_to_be_missing(
    finished: Path, matrix: Matrix, table: str, command: tuple[str, ...]
) -> None:
    before = matrix(*command)
    shutil.rmtree(finished / "results" / "first" / table)
    result = matrix(*command)
    assert (result.code, result.stdout) == (1, "")
    assert f"table {table} of results/first is missing; `matrix repair results/first`" in (
        result.stderr
    )
    assert matrix("repair", "results/first").code == 0
    assert matrix(*command) == before


@pytest.mark.slow
def test_tables_that_a_stop_at_once_left_unfinished_say_so_until_they_are_repaired(
    finished: Path, matrix: Matrix
) -> None:
    """As after a second Ctrl-C: the journal goes further than what was published."""
    run_dir = finished / "results" / "first"
    file = read_run(run_dir)
    write_run(
        run_dir, file.model_copy(update={"status": "incomplete", "end_reason": "interrupted"})
    )
    journal = JournalWriter(run_dir / JOURNAL_NAME)
    opened = next(row.entry for row in journal.since(0) if isinstance(row.entry, Opened))
    journal.append([opened])
    journal.close()
    said = matrix("show", "first").stdout
    assert "unfinished" in said
    assert "`matrix repair first`" in " ".join(said.split())
    assert json.loads(matrix("show", "first", "--json").stdout)["unfinished"] is True
    assert matrix("repair", "first").code == 0
    assert "unfinished" not in matrix("show", "first").stdout


@pytest.mark.slow
def test_money_that_was_out_when_a_run_died_is_shown_after_a_repair_too(
    finished: Path, matrix: Matrix
) -> None:
    run_dir = finished / "results" / "first"
    file = read_run(run_dir)
    write_run(run_dir, file.model_copy(update={"status": "incomplete", "end_reason": "died"}))
    journal = JournalWriter(run_dir / JOURNAL_NAME)
    last = next(row.entry for row in journal.since(0) if isinstance(row.entry, Held))
    journal.append([last._replace(hold_id=10**6, amount=3 * 10**9)])
    journal.close()
    for _ in range(2):
        assert "by the journal, what is out counted in" in matrix("show", "first").stdout
        said = json.loads(matrix("show", "first", "--json").stdout)
        assert round(said["journal_usd"] - said["spent_usd"], 6) >= 3
        assert matrix("repair", "first").code == 0
