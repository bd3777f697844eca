"""`matrix replay` and `matrix branch` from their first line to their exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from matrix import api
from tests.cli.program import GoldenRun, Matrix, Result, run_program
from tests.cli.test_terminal import on_terminal

SPEC = {
    "name": "count",
    "kind": "counter",
    "scenarios": ["one"],
    "factors": {"step": [1, 2]},
    "options": {"turns": 5, "width": 2},
    "per_cell": 2,
    "limits": {"cost_usd": 10},
}


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    folder = tmp_path_factory.mktemp("counted")
    (folder / "matrix.yaml").write_text(yaml.safe_dump(SPEC))
    return folder, run_program(
        folder, "run", "--executor", "in-process", "--run-id", "first", "--quiet"
    )


@pytest.fixture
def project(here: Path, counted: tuple[Path, Result]) -> Path:
    """``here``, with a counter's project and its run ``first``."""
    import shutil

    shutil.copytree(counted[0], here, dirs_exist_ok=True)
    return here


def first_session(project: Path) -> str:
    rows = api.open_run("first", results=project / "results").sessions()
    return str(rows.sort_values("launch_order")["session_id"].iloc[0])


@pytest.mark.slow
def test_a_replay_says_where_it_starts_and_what_came_of_it(
    project: Path, golden_run: GoldenRun
) -> None:
    args = (
        "--turn",
        "2",
        "--set",
        "step=3",
        "--times",
        "2",
        "--executor",
        "in-process",
        "--run-id",
        "again",
    )
    result = golden_run("replay", "replay", "first", first_session(project), *args)
    assert result.code == 0


@pytest.mark.slow
def test_a_replay_says_the_scores_of_its_sessions_and_of_their_parent(
    project: Path, matrix: Matrix
) -> None:
    parent = first_session(project)
    args = ("replay", "first", parent, "--turn", "2", "--executor", "in-process", "--run-id")
    same = json.loads(matrix(*args, "same", "--json").stdout)["replayed"]
    before = api.open_run("first", results=project / "results").sessions()
    score = float(before.set_index("session_id")["score"][parent])
    assert (same["parent"], same["parent_score"]) == (parent, score)
    assert list(same["scores"].values()) == [score], "nothing was changed"
    assert matrix("export", "first", parent, "--turn", "2", "-o", "2.json").code == 0
    file = matrix(
        "replay", "--checkpoint", "2.json", "--executor", "in-process", "--run-id", "file"
    ).stdout
    assert f"  score     {score:.1f}; the parent had {score:.1f}\n" in file
    told = matrix(*args, "again", "--times", "3", "--set", "step=30").stdout
    scores = api.open_run("again", results=project / "results").sessions()["score"]
    line = f"  score     mean {scores.mean():.2f}, from {scores.min():.2f} to {scores.max():.2f}, "
    assert f"{line}of 3 sessions; the parent had {score:.2f}\n" in told, told


@pytest.mark.slow
def test_a_branch_ends_in_a_verdict_on_its_moment(project: Path, golden_run: GoldenRun) -> None:
    args = (
        "--turn",
        "2",
        "--variants",
        "step=1,30",
        "--executor",
        "in-process",
        "--run-id",
        "apart",
    )
    assert golden_run("branch", "branch", "first", first_session(project), *args).code == 0


@pytest.mark.slow
def test_a_branch_from_many_moments_ends_in_a_verdict_on_moments(
    project: Path, golden_run: GoldenRun
) -> None:
    where = ("--where", 'events.kind == "counted" and events.turn > 1')
    args = (
        "--variants",
        "step=1,30",
        "--times",
        "3",
        "--executor",
        "in-process",
        "--run-id",
        "apart",
    )
    assert golden_run("branch-where", "branch", "first", *where, *args).code == 0


@pytest.mark.slow
def test_a_short_branch_says_how_many_repeats_its_plan_says_that_a_winner_takes(
    project: Path, matrix: Matrix
) -> None:
    args = ("branch", "first", first_session(project), "--turn", "2", "--variants", "step=1,30")
    done = matrix(*args, "--times", "3", "--executor", "in-process", "--quiet")
    assert "= 52 repeats" in matrix(*args, "--dry-run").stdout
    assert done.stdout.splitlines()[-1] == (
        "Not enough data to name a winner: 3 complete repeats so far, and at least 10 are needed "
        "for any verdict, 52 to name a winner; 49 more repeats needed. (simulated)"
    )


def test_the_plan_of_a_branch_is_shown_and_nothing_started(
    project: Path, golden_run: GoldenRun
) -> None:
    args = ("--turn", "2", "--variants", "step=1,2", "--dry-run")
    golden_run("branch-dry-run", "branch", "first", first_session(project), *args)
    assert [path.name for path in (project / "results").iterdir()] == ["first"]


@pytest.mark.slow
def test_lineage_is_in_the_json_of_a_run_and_of_a_session(project: Path, matrix: Matrix) -> None:
    parent = first_session(project)
    done = matrix(
        "replay",
        "first",
        parent,
        "--turn",
        "2",
        "--executor",
        "in-process",
        "--json",
        "--run-id",
        "again",
    )
    branched = json.loads(done.stdout)["branched"]
    assert branched["run_id"] == "first"
    assert branched["moments"] == [[parent, 2]]
    shown = json.loads(matrix("show", "again", "best", "--json").stdout)
    assert (shown["parent_run"], shown["parent_session_id"]) == ("first", parent)
    assert (shown["parent_turn"], shown["changed"], shown["repeat"]) == (2, None, 1)


@pytest.mark.slow
def test_a_continued_session_says_what_it_goes_on_from(
    project: Path, matrix: Matrix, golden_run: GoldenRun
) -> None:
    args = ("--turn", "2", "--set", "step=3", "--executor", "in-process", "--run-id", "again")
    matrix("replay", "first", first_session(project), *args)
    golden_run("show-continued", "show", "again", "best")


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("no-turn", ("--turn", "9", "--set", "step=3")),
        ("mistakes", ("--turn", "2", "--set", "stpe=3", "--set", "step=0", "--max-cost", "-1")),
    ],
)
def test_mistakes_in_a_replay_are_all_shown(
    project: Path, golden_run: GoldenRun, name: str, args: tuple[str, ...]
) -> None:
    result = golden_run(f"replay-{name}", "replay", "first", first_session(project), *args)
    assert (result.code, result.stdout) == (2, "")


def test_mistakes_in_a_condition_are_shown_with_their_place(
    project: Path, golden_run: GoldenRun
) -> None:
    args = ("--variants", "step=1", "--variants", "step=2", "--variants", "x", "--times", "3")
    assert golden_run("branch-forms", "branch", "first", *args).code == 2
    where = ("--where", "events.kind == 3 and counted and events.knd == 'x'")
    assert golden_run("branch-place", "branch", "first", *where, "--variants", "step=1").code == 2
    where = ("--where", "events.kind == 3 and events.knd == 'x'")
    result = golden_run("branch-table", "branch", "first", *where, "--variants", "step=1,2")
    assert result.code == 2


@pytest.mark.slow
def test_a_replay_from_a_file_needs_no_run(
    project: Path, matrix: Matrix, golden_run: GoldenRun
) -> None:
    import shutil

    assert (
        matrix("export", "first", first_session(project), "--turn", "2", "-o", "2.json").code == 0
    )
    shutil.rmtree(project / "results")
    args = ("--set", "step=3", "--times", "2", "--executor", "in-process", "--run-id", "again")
    assert golden_run("replay-file", "replay", "--checkpoint", "2.json", *args).code == 0
    assert matrix("show", "again", "best").code == 0


@pytest.mark.slow
def test_where_a_replay_starts_is_said_in_one_way(project: Path, golden_run: GoldenRun) -> None:
    assert golden_run("replay-where", "replay", "--set", "x", "--trust").code == 2
    assert golden_run("replay-half", "replay", "first", "--turn", "2").code == 2
    both = ("replay", "first", "best", "--turn", "2", "--checkpoint", "2.json")
    assert golden_run("replay-both", *both).code == 2
    assert (
        golden_run("replay-no-file", "replay", "--checkpoint", "2.json", "--times", "0").code == 2
    )


MANY = ("branch", "first", "--where", "events.turn > 1", "--variants", "step=1,30")


def test_a_large_branch_is_not_started_unasked(project: Path, golden_run: GoldenRun) -> None:
    result = golden_run("branch-unasked", *MANY, "--times", "4", "--executor", "in-process")
    assert (result.code, result.stdout) == (2, "")
    assert [path.name for path in (project / "results").iterdir()] == ["first"]


@pytest.mark.slow
def test_the_same_is_started_when_that_was_said(project: Path, matrix: Matrix) -> None:
    args = (*MANY, "--times", "4", "--executor", "in-process", "--quiet", "--run-id", "many")
    assert matrix(*args, "--yes").code == 0
    assert matrix(*MANY, "--executor", "in-process", "--quiet", "--run-id", "once").code == 0, (
        "32 sessions"
    )
    runs = [api.open_run(name, results=project / "results") for name in ("many", "once")]
    assert [run.file.plan.sessions for run in runs] == [128, 32]


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(("answer", "started"), [("n\n", False), ("y\n", True)])
def test_on_a_terminal_it_asks(project: Path, answer: str, started: bool) -> None:
    args = (*MANY, "--times", "4", "--executor", "in-process", "--run-id", "many")
    written, code = on_terminal(project, *args, answer=answer)
    question = " ".join(written.partition("Start it? [y/N]: ")[0].split())
    size = "This branch is 16 moments x 2 variants x 4 repeats = 128 sessions, expected to cost $"
    assert size in question
    assert code == 0
    assert (project / "results" / "many").exists() == started
