"""Files that never end, or that nobody ever writes to: told in one line, and waited for never."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.executors.programs import Done, Project, play_spec


def refused(done: Done, told: str) -> None:
    assert done.code in (1, 2), done
    assert told in done.err, done
    assert "Traceback" not in done.err
    assert len(done.err.splitlines()) == 1, done.err


COMMANDS = [
    ("show", "it"),
    ("resume", "it", "--executor", "in-process"),
    ("repair", "it"),
    ("archive", "it"),
]
OWN = ["run.json", "plan.json", "journal.sqlite-shm", ".publish", "sessions/part-0.parquet"]


@pytest.mark.parametrize("name", OWN)
def test_a_pipe_among_a_runs_own_files_is_refused_by_name(sent: Project, name: str) -> None:
    own = sent.path("it") / name
    if own.is_dir():
        shutil.rmtree(own)
    own.unlink(missing_ok=True)
    os.mkfifo(own)
    for command in COMMANDS[: 4 if name == "run.json" else 1]:
        refused(sent.matrix(*command), f"{name} in ")
    listed = sent.matrix("list")
    assert (listed.code, f"{name} in " in listed.out + listed.err) == (0, True), listed


@pytest.mark.parametrize("name", ["run.json", "plan.json"])
def test_a_file_that_is_larger_than_any_is_not_read(sent: Project, name: str) -> None:
    os.truncate(sent.path("it") / name, 30 * 10**9)
    command = ("show", "it") if name == "run.json" else ("resume", "it", "--sessions", "9")
    refused(sent.matrix(*command), "it is larger than the 64,000,000 bytes that it may have")


@pytest.mark.parametrize("how", ["pipe", "zero"])
@pytest.mark.parametrize("command", [("plan",), ("validate",), ("run", "--executor", "in-process")])
def test_a_spec_that_never_ends_is_no_spec(
    tmp_path: Path, how: str, command: tuple[str, ...]
) -> None:
    project, spec = Project(tmp_path), tmp_path / "matrix.yaml"
    if how == "pipe":
        os.mkfifo(spec)
    else:
        spec.symlink_to("/dev/zero")
    refused(project.matrix(*command), "cannot be read: it is no plain file")


def test_a_file_of_a_session_that_never_ends_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "it.json")
    done = Project(tmp_path).matrix("replay", "--checkpoint", "it.json", "--executor", "in-process")
    refused(done, "cannot be read: it is no plain file")


@pytest.mark.parametrize("part", ["prompts/mine.md", "short/guide.md"])
def test_a_part_of_a_pack_that_never_ends_is_told(tmp_path: Path, part: str) -> None:
    project = Project(tmp_path)
    pack = tmp_path / "scenarios" / "playtest" / "short"
    pack.mkdir(parents=True)
    (pack / "scenario.yaml").write_text("kind: playtest\ntitle: S\nguide: guide.md\n")
    path = tmp_path / "scenarios" / "playtest" / part
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)
    project.write(play_spec(scenarios=["short"], factors={}, options={"prompt": "mine"}))
    done = project.matrix("validate")
    assert done.code == 2, done
    assert "Traceback" not in done.err
