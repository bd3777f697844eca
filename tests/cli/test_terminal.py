"""On a terminal: the live picture is drawn, goes on, and the summary follows it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

import pytest

from tests.cli.program import PROGRAM, environment
from tests.waiting import LONGEST_WAIT_S

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
SMALL = (
    "run",
    "--executor",
    "in-process",
    "--set",
    "scenarios=[the-borrowed-hour]",
    "--run-id",
    "seen",
)


def on_terminal(folder: Path, *args: str, columns: int = 80, answer: str = "") -> tuple[str, int]:
    """All that the program writes to a terminal of its own, and its exit code."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    variables = environment(folder, {"TERM": "xterm-256color"})
    del variables["COLUMNS"]
    with subprocess.Popen(
        [PROGRAM, *args], cwd=folder, env=variables, stdin=theirs, stdout=theirs, stderr=theirs
    ) as program:
        os.close(theirs)
        if answer:
            os.write(ours, answer.encode())
        written = b"".join(iter(lambda: _read(ours), b""))
        code = program.wait(timeout=LONGEST_WAIT_S)
    os.close(ours)
    return written.decode().replace("\r\n", "\n"), code


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # how Linux says that the other end is closed
        return b""


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 200])
def test_the_live_picture_is_drawn_and_the_summary_follows(project: Path, columns: int) -> None:
    written, code = on_terminal(project, *SMALL, "--per-cell", "6", columns=columns)
    text = ESCAPES.sub("", written)
    assert code == 0
    plan, _, rest = text.partition("run seen in results/seen\n")
    live, _, summary = rest.rpartition("run seen (complete) in ")
    assert plan.startswith("my-prompts: 1 scenario x 2 prompts, on simulated models\n")
    assert "so far (no verdict before the end):" in live
    assert "played" in live
    assert "sessions  12 of 12 ended (12 completed), 0 open" in live
    assert re.search(r"^baseline +\d\d\.\d +\d\d\.\d to \d\d\.\d +n = 6$", live, re.MULTILINE)
    assert "Verdict: " in summary
    assert "\x1b[?25h" in written, "the cursor is shown again"
    commands = ("  python -c", "  matrix show")  # to be copied whole
    lines = [line.rstrip() for line in (plan + live + summary).splitlines()]
    too_long = [
        line for line in lines if len(line) > min(columns, 120) and not line.startswith(commands)
    ]
    assert too_long == []


def test_every_part_of_the_live_picture_has_a_line_of_its_own(project: Path) -> None:
    written, _ = on_terminal(project, *SMALL, "--per-cell", "1")
    live = ESCAPES.sub("", written).partition("run seen in results/seen\n")[2]
    for label in ("sessions", "calls", "money", "trouble"):
        assert re.search(rf"^{label} +\d|^{label} +\$", live, re.MULTILINE), label


def test_quiet_draws_nothing_on_a_terminal_either(project: Path) -> None:
    written, code = on_terminal(project, *SMALL, "--sessions", "2", "--quiet")
    assert code == 0
    assert written.startswith("Not enough data to name a winner")
    assert written.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "code"), [("n\n", 0), ("y\n", 4)])
def test_above_its_cap_a_run_asks_first(project: Path, answer: str, code: int) -> None:
    args = (*SMALL, "--per-cell", "20", "--max-cost", "0.3", "--open-sessions", "4")
    written, ended = on_terminal(project, *args, answer=answer)
    assert "Start it all the same? [y/N]: " in written
    assert ended == code
    assert (project / "results").exists() == (answer == "y\n")


@pytest.mark.slow
def test_yes_does_not_ask(project: Path) -> None:
    args = (*SMALL, "--per-cell", "20", "--max-cost", "0.3", "--open-sessions", "4", "--yes")
    written, code = on_terminal(project, *args)
    assert "Start it" not in written
    assert code == 4
