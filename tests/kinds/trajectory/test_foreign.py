"""Folders that somebody else wrote: what is refused before anything of it is read or played."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kinds.trajectory.folders import ADAPTER, ANYTHING, project, scenario

INPUTS = {"turn-01-mail.md": "WRITE a.md | x", "turn-02-bulk/b.md": "x", "turn-02-bulk/c/d.md": "x"}


def a_socket(path: Path) -> None:
    home = Path.cwd()
    os.chdir(path.parent)  # its name may have a hundred characters, and tests are far down
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(home)


@pytest.mark.slow
@pytest.mark.parametrize("make", [os.mkfifo, a_socket])
@pytest.mark.parametrize(
    "place", ["inputs/turn-03-x.md", "inputs/turn-02-bulk/c/x.md", "x.md", "notes/x", "README.md"]
)
def test_what_is_no_file_is_refused_and_never_waited_for(
    tmp_path: Path, make: Callable[[Path], None], place: str
) -> None:
    made = project(tmp_path)
    folder = scenario(tmp_path, "01", INPUTS, {}, readme="")
    (folder / place).parent.mkdir(exist_ok=True)
    make(folder / place)
    for verb in (("validate",), ("run", "--executor", "in-process")):
        done = made.matrix(verb[0], "scenarios", *verb[1:])
        assert done.code == 2, done
        (line,) = done.err.splitlines()
        assert line.startswith(f"01/{place}: is a {'pipe' if make is os.mkfifo else 'socket'};")


@pytest.mark.slow
def test_a_scaffold_with_a_pipe_or_a_link_that_leads_out_is_refused(tmp_path: Path) -> None:
    made = project(tmp_path, {**ADAPTER, "scaffold": "start"})
    scenario(tmp_path, "01", INPUTS, ANYTHING)
    (tmp_path / "start" / "in").mkdir(parents=True)
    (tmp_path / "start" / "in" / "ok.md").symlink_to("../start.md")
    (tmp_path / "start" / "start.md").write_text("x")
    assert made.matrix("validate", "scenarios").code == 0
    os.mkfifo(tmp_path / "start" / "in" / "x")
    (tmp_path / "start" / "out.md").symlink_to("/etc/hostname")
    done = made.matrix("validate", "scenarios")
    assert done.code == 2
    assert "start/in/x: is a pipe; only files and folders are read" in done.err
    assert "start/out.md: is a link to '/etc/hostname', out of its folder" in done.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "refused"),
    [
        ("/etc/passwd", True),
        ("../../../../mine.py", True),
        ("../../turn-01-mail.md", True),  # of the scenario, but another place in the inbox
        ("../../turn-02-bulk/b.md", True),  # the folder is called otherwise there
        ("../b.md", False),
        ("d.md", False),
        ("nowhere.md", False),  # a link that leads nowhere is nobody's secret
    ],
)
def test_a_link_inside_a_folder_item_stays_inside(
    tmp_path: Path, target: str, refused: bool
) -> None:
    made = project(tmp_path)
    folder = scenario(tmp_path, "01", INPUTS, ANYTHING)
    (folder / "inputs/turn-02-bulk/c/link.md").symlink_to(target)
    for verb in (("validate",), ("run", "--executor", "in-process")):
        done = made.matrix(verb[0], "scenarios", *verb[1:])
        assert (done.code == 2) is refused, done
        told = "01/inputs/turn-02-bulk/c/link.md: is a link to"
        assert (told in done.err) is refused


@pytest.mark.slow
def test_a_link_of_an_absolute_path_is_refused_also_where_it_leads_inside(tmp_path: Path) -> None:
    made = project(tmp_path)
    folder = scenario(tmp_path, "01", INPUTS, ANYTHING)
    bulk = folder / "inputs/turn-02-bulk"
    (bulk / "link.md").symlink_to(bulk / "b.md")
    done = made.matrix("validate", "scenarios")
    assert done.code == 2
    assert "turn-02-bulk/link.md: is a link to" in done.err
