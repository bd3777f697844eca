"""Where a stranger's names may lead what is written: nowhere but into the project and the run."""

from __future__ import annotations

import csv
import json
import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from matrix.model.errors import StoreError
from matrix.store.shared.answers import AnswerFile
from tests.executors.programs import Done, Project, play_spec
from tests.kinds.criteria.test_runs import FILE, project_of
from tests.kinds.trajectory import folders
from tests.strangers.test_elsewhere import at_home, sent

SIM = "sim/gpt-4o-mini"


def refused(done: Done, *told: str) -> None:
    assert done.code in (1, 2), done
    assert any(one in done.err for one in told), done
    assert "Traceback" not in done.err


@pytest.fixture
def trajectory(tmp_path: Path) -> Project:
    """A run of one scenario whose working folder is wanted, made by somebody."""
    here = tmp_path / "here"
    here.mkdir()
    project = replace(folders.project(here), environment=at_home(here))
    expected = {"turns": [{"turn": 1, "structural": [{"file_exists": "a.md"}]}]}
    folders.scenario(here, "01", {"turn-01-a.md": "one", "turn-02-b.md": "two"}, expected)
    adapter = {"scenarios": "scenarios", "agent": SIM, "judge": SIM}
    (here / "trajectory.yaml").write_text(json.dumps(adapter))
    flags = (
        "--keep-workdir",
        "--json-results",
        "--executor",
        "in-process",
        "--run-id",
        "it",
        "--quiet",
    )
    done = project.matrix("run", "scenarios/01", *flags)
    assert done.code in (0, 3), done
    assert project.matrix("export", "it", "best", "--turn", "1", "-o", "it.json").code == 0
    return project


NAMES = ["{outside}/cp", "../../../../outside/cp", "..", "a/../../../outside/cp", "two\nlines"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_no_name_of_a_scenario_leads_anywhere(
    trajectory: Project, tmp_path: Path, name: str
) -> None:
    outside, there = tmp_path / "outside", tmp_path / "there"
    (outside / "cp-1").mkdir(parents=True)
    (outside / "cp-1" / "mine").write_text("mine")
    there.mkdir()
    name = name.format(outside=outside)
    file = json.loads((trajectory.folder / "it.json").read_text())
    file["continuation"]["plan"]["scenario"] = name
    file["continuation"]["spec"]["scenarios"] = [name]
    (there / "it.json").write_text(json.dumps(file))
    victim = Project(there, environment=at_home(there))
    done = victim.matrix(
        "replay", "--checkpoint", "it.json", "--executor", "in-process", "--max-cost", "1"
    )
    refused(done, "plan.scenario: found ")
    received = sent(trajectory, there)
    for one in ("run.json", "plan.json"):
        path = received.path("it") / one
        path.write_text(path.read_text().replace('"01"', json.dumps(name)))
    go = ("resume", "it", "--executor", "in-process", "--max-cost", "1", "--per-cell", "2")
    refused(received.matrix(*go), "cannot be read (", "cannot read results/it/run.json")
    assert [path.name for path in outside.rglob("*")] == ["cp-1", "mine"]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["pipe", "zero"])
def test_a_kept_folder_that_never_ends_is_told(trajectory: Project, how: str) -> None:
    for blob in list((trajectory.path("it") / "blobs").glob("*/*")):
        blob.unlink()
        os.mkfifo(blob) if how == "pipe" else blob.symlink_to("/dev/zero")
    told = "it is no plain file, and no other is read"
    for command in (
        ("export", "it", "best", "--turn", "1", "-o", "out.json"),
        ("replay", "it", "best", "--turn", "1", "--executor", "in-process"),
        ("rejudge", "it", "--judge", SIM, "--executor", "in-process"),
    ):
        done = trajectory.matrix(*command)
        assert done.code in (1, 2, 3), done
        assert told in done.err + done.out, done
        assert "Traceback" not in done.err


@pytest.mark.slow
def test_what_a_run_leaves_goes_into_its_own_folder_and_the_project(trajectory: Project) -> None:
    (json_result,) = (trajectory.path("it") / "json").iterdir()
    assert json_result.name.endswith("-01-1.json")
    assert (trajectory.path("it") / "workdirs" / "01-1").is_dir()
    assert (trajectory.folder / "reports" / "trajectory" / "it.json").is_file()


@pytest.mark.slow
def test_a_report_goes_through_no_link_out_of_the_project(
    trajectory: Project, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (trajectory.folder / "reports" / "trajectory" / "it.json").unlink()
    (trajectory.folder / "reports" / "trajectory").rmdir()
    (trajectory.folder / "reports" / "trajectory").symlink_to(outside)
    done = trajectory.matrix("run", "scenarios/01", "--executor", "in-process", "--run-id", "again")
    assert done.code == 1, done
    assert "reports/trajectory/again.json leads out of " in done.err
    assert not list(outside.iterdir())


@pytest.mark.slow
def test_who_takes_up_a_run_finds_its_report_at_home(trajectory: Project, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    received = sent(trajectory, there)
    go = ("resume", "it", "--executor", "in-process", "--max-cost", "1", "--per-cell", "2")
    done = received.matrix(*go)
    assert done.code in (0, 3), done
    assert (there / "reports" / "trajectory" / "it.json").is_file()
    plan = json.loads((received.path("it") / "plan.json").read_text())
    assert plan["env_file"] == str(there / ".env")


@pytest.mark.slow
def test_a_plan_that_is_not_the_journals_costs_nothing(trajectory: Project, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    received = sent(trajectory, there)
    path = received.path("it") / "plan.json"
    plan = json.loads(path.read_text())
    plan["cells"][0]["options"]["skip_content"] = True
    path.write_text(json.dumps(plan))
    go = ("resume", "it", "--executor", "in-process", "--max-cost", "1", "--per-cell", "2")
    refused(received.matrix(*go), "has sessions that its plan.json does not plan")


@pytest.mark.slow
def test_a_strangers_recording_is_written_only_if_that_is_said(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    value: dict[str, Any] = {**FILE, "judge": {"model": SIM}, "agents": dict(FILE["agents"])}
    value["agents"] = {
        "first": {"prompt": "do it", "model": SIM, "criteria": ["it is there"]},
    }
    project = replace(project_of(here, value), environment=at_home(here))
    command = (
        "run",
        "agents.yaml",
        "--record",
        "--executor",
        "in-process",
        "--run-id",
        "it",
        "--quiet",
    )
    done = project.matrix(*command)
    assert done.code in (0, 3), done
    received = sent(project, there)
    for name in ("run.json", "plan.json"):
        path = received.path("it") / name
        path.write_text(path.read_text().replace("agents.recorded.json", "../outside.json"))
    go = (
        "resume",
        "it",
        "--executor",
        "in-process",
        "--max-cost",
        "5",
        "--per-cell",
        "2",
        "--quiet",
    )
    refused(received.matrix(*go), "writes what its agents say to '../outside.json'")
    assert not (tmp_path / "outside.json").exists()


# --- what runs share ----------------------------------------------------------------------------


@pytest.fixture
def shared(tmp_path: Path) -> Project:
    (tmp_path / "there").mkdir()
    project = Project(tmp_path / "there")
    project.write(play_spec(per_cell=1, factors={}, limits={"cost_usd": 1, "turns": 2}))
    done = project.matrix(
        "run", "--executor", "in-process", "--run-id", "it", "--budget", "n=50/day"
    )
    assert done.code == 0, done
    return project


SHARED: dict[str, list[tuple[str, ...]]] = {
    "labels.jsonl": [("show", "it"), ("label", "it", "--check")],
    "budgets.sqlite": [("budgets",), ("run", "--executor", "in-process", "--budget", "n=50/day")],
}


@pytest.mark.slow
@pytest.mark.parametrize("how", ["pipe", "zero", "link"])
@pytest.mark.parametrize("name", list(SHARED))
def test_what_runs_share_is_a_plain_file(
    shared: Project, tmp_path: Path, name: str, how: str
) -> None:
    path, outside = shared.folder / "results" / name, tmp_path / "outside"
    path.unlink(missing_ok=True)
    outside.write_text("")
    if how == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero" if how == "zero" else outside)
    for command in SHARED[name]:
        done = shared.matrix(*command)
        if name == "labels.jsonl" and how == "link":
            continue  # read, it is as good as empty
        refused(done, "it is no plain file")
    assert outside.read_text() == ""


@pytest.mark.parametrize("how", ["/dev/zero", "outside"])
def test_answers_that_runs_share_are_in_a_plain_file(tmp_path: Path, how: str) -> None:
    (tmp_path / "answers.sqlite").symlink_to(tmp_path / how)
    with pytest.raises(StoreError, match="it is no plain file"):
        AnswerFile(tmp_path / "answers.sqlite")
    assert not (tmp_path / "outside").exists()


@pytest.mark.slow
def test_labels_are_appended_to_no_link(shared: Project, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("")
    (shared.folder / "results" / "labels.jsonl").symlink_to(outside)
    written = shared.matrix("label", "it", "--write", "l.csv")
    assert written.code == 0, written
    with (shared.folder / "l.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    with (shared.folder / "l.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows({**row, "label": "3"} for row in rows)
    done = shared.matrix("label", "it", "--read", "l.csv", "--rater", "ana")
    refused(done, "it is no plain file")
    assert outside.read_text() == ""


BUDGETS = {
    "a draw below nothing": "update draws set amount = -900000000000000",
    "a draw in words": "update draws set amount = 'x'",
    "a far time": "update time set latest = 9e300",
    "a draw that ends never": "update draws set ended = 1e308",
    "a window of ones own": "update budgets set window = 'second'",
    "an amount in words": "update budgets set amount = 'abc'",
    "an amount below nothing": "update budgets set amount = -5",
    "a view without end": "drop table time; create view time(latest) as with recursive r(x) as "
    "(select 1 union all select x + 1 from r) select max(x) from r",
    "a trigger": "create trigger t after insert on draws begin delete from draws; end",
}


@pytest.mark.slow
@pytest.mark.parametrize("how", list(BUDGETS))
def test_a_budget_that_no_run_has_drawn_on_is_told(shared: Project, how: str) -> None:
    with closing(sqlite3.connect(shared.folder / "results" / "budgets.sqlite")) as db:
        db.executescript(BUDGETS[how])
    for command in SHARED["budgets.sqlite"]:
        refused(shared.matrix(*command), "it was made by no run; move it away")
