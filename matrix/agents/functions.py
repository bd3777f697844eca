"""A turn of an agent that is a function of Python.

It runs in a thread with an event loop of its own, so that one that blocks holds up nobody else.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, cast

from matrix.agents.answers import read_reply
from matrix.agents.turns import Played, Turn, WorkedFor
from matrix.model.errors import AgentFailed, AgentMissing, AgentTimedOut

Function = Callable[[Turn], Awaitable[Any]]
LOOK_S: Final = 0.5
"""How often it is looked whether an agent has worked too long, in seconds."""
_SHOWN: Final = 300


def load_function(reference: str, project: Path) -> Function:
    """The function behind ``module:function``; the project's own modules come first.

    Raises:
        AgentMissing: There is none, or it is not async.
    """
    module, colon, name = reference.partition(":")
    if not colon or not module or not name:
        raise AgentMissing(f"{reference!r} names no function; write module:function")
    if str(project) not in sys.path:
        sys.path.insert(0, str(project))
    try:
        function = getattr(importlib.import_module(module), name)
    except AttributeError:
        raise AgentMissing(f"module {module!r} has no {name!r}") from None
    except Exception as error:
        raise AgentMissing(
            f"module {module!r} cannot be imported: {type(error).__name__}: {error}"
        ) from None
    if not inspect.iscoroutinefunction(function):
        raise AgentMissing(f"{reference} is no async function; write `async def {name}(turn)`")
    return cast(Function, function)


async def run_function(reference: str, turn: Turn, worked: WorkedFor, *, project: Path) -> Played:
    """Call the function once.

    Raises:
        AgentFailed: It raised, or gave back what is no reply.
        AgentTimedOut: It took too long.
        AgentMissing: There is no such function.
    """
    function = load_function(reference, project)

    running = _Thread(function, turn)
    try:
        while not running.done.done():
            left = turn.timeout_s - worked()
            if left <= 0:
                raise AgentTimedOut(f"still worked after {turn.timeout_s:g} s, and was left")
            await asyncio.wait([running.done], timeout=min(left, LOOK_S))
        reply = running.done.result()
    except AgentTimedOut:
        raise
    except Exception as error:
        raise AgentFailed(_told(error, project)) from None
    finally:
        running.stop()
    return Played(read_reply(reply), worked())


def _told(error: Exception, project: Path) -> str:
    """An exception of a function, with the last line of the project's own code that it went by."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [one for one in frames if Path(one.filename).is_relative_to(project)]
    place = f" ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else ""
    return f"{type(error).__name__}: {error}"[:_SHOWN] + place


class _Thread:
    """A coroutine in a thread of its own, which keeps no program from ending."""

    def __init__(self, function: Function, turn: Turn) -> None:
        self._loop = asyncio.get_running_loop()
        self.done: asyncio.Future[Any] = self._loop.create_future()
        self._task: asyncio.Task[Any] | None = None
        self._function, self._turn = function, turn
        threading.Thread(target=self._run, name=f"agent {turn.agent}", daemon=True).start()

    def stop(self) -> None:
        """Cancel it, if it is not over; one that blocks goes on until it ends by itself."""
        self.done.cancel()
        if (task := self._task) is not None:
            with suppress(RuntimeError):  # its loop has ended meanwhile
                task.get_loop().call_soon_threadsafe(task.cancel)

    def _run(self) -> None:
        try:
            said = asyncio.run(self._whole())
            self._tell(lambda: self.done.set_result(said))
        except BaseException as error:
            ended = f"it ended itself ({type(error).__name__}: {error})"
            raised = error if isinstance(error, Exception) else RuntimeError(ended)
            self._tell(lambda: self.done.set_exception(raised))

    async def _whole(self) -> Any:
        self._task = asyncio.current_task()
        return await self._function(self._turn)

    def _tell(self, how: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the run has ended meanwhile
            self._loop.call_soon_threadsafe(lambda: None if self.done.done() else how())
