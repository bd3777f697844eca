"""Exporting, comparing, repairing and archiving on the command line, as users see it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.program import CHECKOUT, GoldenRun, Matrix

KEPT = CHECKOUT / "tests" / "store" / "journals_v3"


@pytest.fixture
def kept(here: Path) -> Path:
    """A project with one finished play-test, whose tables are gone."""
    shutil.copytree(KEPT / "play", here / "results" / "play")
    return here


def test_repair_says_what_it_found_and_did(golden_run: GoldenRun, kept: Path) -> None:
    assert golden_run("repair", "repair", "last").code == 0
    assert golden_run("repair-again", "repair", "last").code == 0


@pytest.mark.slow
def test_diff_shows_two_sessions_side_by_side(
    golden_run: GoldenRun, matrix: Matrix, kept: Path
) -> None:
    matrix("repair", "last")
    assert golden_run("diff", "diff", "play", "best", "worst").code == 0
    data = json.loads(matrix("diff", "play:best", "play:worst", "--json").stdout)
    keys = {"same_scenario", "alike_messages", "parts_in_turn", "a", "b", "scores"}
    assert set(data) == keys
    assert golden_run("diff-one-name", "diff", "best").code == 2


@pytest.mark.slow
def test_export_writes_one_file_or_a_folder_and_overwrites_nothing(
    golden_run: GoldenRun, matrix: Matrix, kept: Path
) -> None:
    matrix("repair", "last")
    one = ("export", "play", "best", "--turn", "2", "-o", "turn-2.json")
    assert golden_run("export", *one).code == 0
    assert json.loads((kept / "turn-2.json").read_text())["turn"] == 2
    assert golden_run("export-taken", *one).code == 2
    assert matrix(*one, "--force").code == 0
    assert golden_run("export-all", "export", "play", "best", "--all", "sessions/best").code == 0
    assert (kept / "sessions" / "best" / "report.md").is_file()
    assert (
        golden_run("export-no-such-turn", "export", "play", "best", "--turn", "9", "-o", "x").code
        == 2
    )
    assert golden_run("export-where", "export", "play", "best").code == 2


@pytest.mark.slow
def test_archive_packs_and_restores(golden_run: GoldenRun, matrix: Matrix, kept: Path) -> None:
    matrix("repair", "last")
    journal = kept / "results" / "play" / "journal.sqlite"
    before = journal.read_bytes()
    assert golden_run("archive", "archive", "play").code == 0
    assert not journal.exists()
    assert matrix("show", "play").code == 0
    assert golden_run("show-archived", "show", "play", "best").code == 1
    assert golden_run("archive-restore", "archive", "play", "--restore").code == 0
    assert journal.read_bytes() == before
    assert golden_run("archive-which", "archive").code == 2
    assert golden_run("archive-age", "archive", "--older-than", "soon").code == 2
