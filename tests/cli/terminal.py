"""A terminal of a program's own: what is written to it, and what stands on it in the end."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.cli.program import PROGRAM, environment
from tests.waiting import LONGEST_WAIT_S

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_STEPS = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)")


class Terminal:
    """``matrix`` on a pseudo-terminal; use it as a context manager."""

    def __init__(
        self,
        folder: Path,
        *args: str,
        columns: int = 80,
        answer: str = "",
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self._columns = columns
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        own = environment(folder, {"TERM": "xterm-256color"})
        for name in ("COLUMNS", "CI", "NO_COLOR"):
            own.pop(name, None)
        self._program = subprocess.Popen(
            [PROGRAM, *args],
            cwd=folder,
            env=own | dict(variables or {}),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        self._bytes = b""
        if answer:
            os.write(self._ours, answer.encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._program.poll() is None:
            self._program.kill()
            self._program.wait()
        os.close(self._ours)

    @property
    def written(self) -> str:
        """All that was written so far."""
        return self._bytes.decode(errors="replace").replace("\r\n", "\n")

    def wait_for(self, pattern: str) -> None:
        """Read until something is written, colours and movements apart."""
        while not re.search(pattern, ESCAPES.sub("", self.written)):
            assert self._read(), f"ended before {pattern!r} was written: {self.written}"

    def press_ctrl_c(self) -> None:
        self._program.send_signal(signal.SIGINT)

    def ended(self) -> int:
        """Read the rest; the exit code."""
        while self._read():
            pass
        return self._program.wait(timeout=LONGEST_WAIT_S)

    def screen(self) -> list[str]:
        """The lines that stand on the terminal, those that scrolled away included."""
        return screen_of(self.written, self._columns)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._ours], [], [], LONGEST_WAIT_S)
        assert ready, "the program has said nothing for long"
        try:
            more = os.read(self._ours, 65536)
        except OSError:  # how Linux says that the other end is closed
            more = b""
        self._bytes += more
        return bool(more)


def screen_of(written: str, columns: int) -> list[str]:
    """What a terminal of so many columns and endless height shows after all that was written."""
    lines, row, column = [""], 0, 0
    for number, what, control, text in _STEPS.findall(written):
        if control == "\n":
            row, column = row + 1, 0
        elif control == "\r":
            column = 0
        elif what == "A":
            row -= int(number or 1)
        elif what == "K":
            lines[row] = ""
        for character in text:
            if column == columns:
                row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
            line = lines[row].ljust(column)
            lines[row] = line[:column] + character + line[column + 1 :]
            column += 1
        lines += [""] * (row + 1 - len(lines))
    return [line.rstrip() for line in lines]
