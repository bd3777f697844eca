"""What shells offer after TAB: names that exist, quickly, and no word that does anything."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from matrix import api
from tests.cli.program import run_program
from tests.cli.test_imports import loaded_by

HEAVY = frozenset({"ray", "litellm", "pandas", "numpy", "scipy", "pyarrow", "rich"})


def offered(folder: Path, *words: str, **variables: str) -> list[str]:
    """What bash is offered for the last of the words."""
    line = " ".join(["matrix", *words])
    own = {"COMP_WORDS": line, "COMP_CWORD": str(len(words)), "_MATRIX_COMPLETE": "complete_bash"}
    done = run_program(folder, variables=own | variables)
    assert (done.stderr, done.code) == ("", 0)
    return done.stdout.split()


@pytest.mark.slow
def test_runs_are_offered_where_one_is_meant(finished: Path) -> None:
    assert offered(finished, "show", "") == ["last", "first"]
    assert offered(finished, "resume", "f") == ["first"]
    assert offered(finished, "run", "--resume", "f") == ["first"]
    assert offered(finished, "compare", "first", "fi") == ["first"]
    assert offered(finished, "compare", "first", "--baseline", "fi") == ["first"]


def test_runs_lie_where_the_flag_or_the_variable_says(finished: Path) -> None:
    (finished / "results").rename(finished / "elsewhere")
    assert offered(finished, "show", "f") == []
    assert offered(finished, "show", "--results", "elsewhere", "f") == ["first"]
    assert offered(finished, "show", "f", MATRIX_RESULTS="elsewhere") == ["first"]


def test_sessions_are_those_of_the_run_that_is_named(finished: Path) -> None:
    played = list(api.open_run("first", results=finished / "results").sessions()["session_id"])
    found = offered(finished, "show", "first", "")
    assert set(played) <= set(found)
    assert {"best", "worst", "longest", "failed"} <= set(found)
    assert played[0] in offered(finished, "replay", "last", played[0][:3])
    assert offered(finished, "show", "none", "") == ["best", "worst", "longest", "failed"]


def test_metrics_are_those_that_the_run_s_sessions_have(finished: Path) -> None:
    found = offered(finished, "compare", "first", "--metric", "")
    scores = api.open_run("first", results=finished / "results").frame("scores")
    assert set(scores["name"]) <= set(found)
    assert {"score", "failed", "cost_usd"} <= set(found)
    assert offered(finished, "label", "first", "--metric", "quality_pa") == ["quality_pacing"]


def test_specs_are_names_files_and_folders(project: Path) -> None:
    (project / "mine").mkdir()
    (project / "mine" / "matrix.yaml").write_text("scenarios: []\n")
    assert {"smoke", "matrix.yaml", "mine"} <= set(offered(project, "run", ""))
    assert offered(project, "plan", "min") == ["mini", "mine"]


@pytest.mark.parametrize("name", ["$(touch pwned)", "`x`", "a b", "a'b", 'a"b', "a;b", "a\x1b[2J"])
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_no_name_is_offered_that_a_shell_could_read_as_more(
    finished: Path, name: str, shell: str
) -> None:
    shutil.copytree(finished / "results" / "first", finished / "results" / name)
    (finished / f"{name}.yaml").write_text("scenarios: []\n")
    for command in ("show", "run"):
        done = run_program(
            finished,
            variables={
                "COMP_WORDS": f"matrix {command} ",
                "COMP_CWORD": "2",
                "_TYPER_COMPLETE_ARGS": f"matrix {command} ",
                "_TYPER_COMPLETE_FISH_ACTION": "get-args",
                "_MATRIX_COMPLETE": f"complete_{shell}",
            },
        )
        assert name not in done.stdout
        assert done.code == 0
        assert ("first" if command == "show" else "smoke") in done.stdout


def test_a_journal_that_cannot_be_read_offers_what_needs_none(finished: Path) -> None:
    (finished / "results" / "first" / "journal.sqlite").write_bytes(b"not a journal")
    assert offered(finished, "show", "first", "b") == ["best"]


@pytest.mark.slow
@pytest.mark.parametrize("words", ["show", "show first", "compare first --metric", "run"])
def test_completion_loads_nothing_heavy(finished: Path, words: str) -> None:
    variables = {
        "COMP_WORDS": f"matrix {words} ",
        "COMP_CWORD": str(len(words.split()) + 1),
        "_MATRIX_COMPLETE": "complete_bash",
    }
    loaded = loaded_by(finished, variables=variables)
    assert "matrix" in loaded
    assert loaded & HEAVY == set()
