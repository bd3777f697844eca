"""A command that runs, with all that it has started: who they are, and how they are ended.

A process number alone is given to others later, so a process is known by its number and the time
it was started. What has lost its parents is still known by the look before.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

GRACE_S: Final = 5.0
"""How long a command that is asked to end, and what it has started, have for it, in seconds."""
_LOOK_S: Final = 0.05
_GONE: Final = "ZX"
"""States of processes that have ended and are only not yet taken note of."""


class Process(NamedTuple):
    """A process: its number, its parent's, its group's, and when it was started (clock ticks)."""

    number: int
    parent: int
    group: int
    started: int


def read_stat(text: str) -> Process | None:
    """A process by its `stat` file (Linux: proc_pid_stat(5)); ``None`` if it has ended."""
    number, _, rest = text.partition(" (")
    fields = rest.rpartition(")")[2].split()  # the name before it may hold anything
    if fields[0] in _GONE:
        return None
    return Process(int(number), int(fields[1]), int(fields[2]), int(fields[19]))


def running() -> list[Process]:
    """Every process; none where the system has no ``/proc``."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            if (process := read_stat((folder / "stat").read_text(errors="replace"))) is not None:
                found.append(process)
    return found


def family(
    table: Iterable[Process], leader: int, group: int | None, known: Iterable[Process] = ()
) -> list[Process]:
    """What is running of a command.

    Args:
        table: Every process.
        leader: The number of the command's own process.
        group: Of the command alone; ``None`` if it shares one with others.
        known: What was running of it before.
    """
    table = list(table)
    before = {(one.number, one.started) for one in known}
    found = {
        one.number: one
        for one in table
        if one.number == leader or one.group == group or (one.number, one.started) in before
    }
    while more := {
        one.number: one for one in table if one.parent in found and one.number not in found
    }:
        found |= more
    return list(found.values())


class RunningCommand:
    """One command."""

    def __init__(self, process: asyncio.subprocess.Process, *, own_group: bool) -> None:
        """``own_group`` says that it has a process group of its own, and not its starter's."""
        self._process, self._own_group = process, own_group
        self._ending: asyncio.Task[None] | None = None

    def interrupt(self) -> None:
        """Pass Ctrl-C on, where the terminal does not tell it by itself."""
        if self._own_group:
            self._tell(signal.SIGINT, ())

    def ask_to_end(self) -> None:
        """Ask it to end with all that it has started, and end after a while what does not."""
        if self._ending is None:
            self._ending = asyncio.get_running_loop().create_task(self._end())

    async def wait(self) -> int:
        """Wait for its end; its exit code, negative for a signal.

        Once it was asked to end, what it has started is waited for as well.
        """
        code = await self._process.wait()
        if self._ending is not None:
            await self._ending
        return code

    async def end(self) -> None:
        """Ask it to end, unless it was, and wait until nothing of it is left."""
        self.ask_to_end()
        await self.wait()

    async def _end(self) -> None:
        loop = asyncio.get_running_loop()
        over = loop.time() + GRACE_S
        left = self._family(())
        self._tell(signal.SIGTERM, left)
        while (self._process.returncode is None or left) and loop.time() < over:
            await asyncio.sleep(_LOOK_S)
            left = self._family(left)
        self._tell(signal.SIGKILL, left)
        await self._process.wait()

    def _family(self, known: Iterable[Process]) -> list[Process]:
        leader = self._process.pid
        return family(running(), leader, leader if self._own_group else None, known)

    def _tell(self, number: signal.Signals, found: Iterable[Process]) -> None:
        """Signal it and all that was found of it, each once: a second one may mean more."""
        leader = self._process.pid
        with suppress(ProcessLookupError, PermissionError):
            if self._own_group:
                os.killpg(leader, number)
            else:
                self._process.send_signal(number)
        for one in found:
            if one.number != leader and not (self._own_group and one.group == leader):
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(one.number, number)
