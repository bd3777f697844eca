"""A turn of an agent that is a function of Python.

It runs in a thread with an event loop of its own, so that one that blocks holds up nobody else.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import os
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NoReturn, cast

from matrix.agents.answers import read_reply
from matrix.agents.turns import Played, Turn, WorkedFor
from matrix.model.errors import AgentFailed, AgentMissing, AgentTimedOut, ProviderError

Function = Callable[[Turn], Awaitable[Any]]
LOOK_S: Final = 0.5
"""How often it is looked whether an agent has worked too long, in seconds."""
_SHOWN: Final = 300
_EXIT: Final = os._exit


def load_function(reference: str, project: Path) -> Function:
    """The function behind ``module:function``, which may be a module of the project.

    Raises:
        AgentMissing: There is none, or it is not async.
    """
    module, colon, name = reference.partition(":")
    if not colon or not module or not name:
        raise AgentMissing(f"{reference!r} names no function; write module:function")
    see_project(project)
    try:
        found = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        raise AgentMissing(
            f"module {module!r} cannot be imported: {type(error).__name__}: {error}"
        ) from None
    function = getattr(found, name, None)
    if function is None:
        raise AgentMissing(f"module {module!r} has no {name!r}{_taken(found, project)}")
    if not inspect.iscoroutinefunction(function):
        raise AgentMissing(f"{reference} is no async function; write `async def {name}(turn)`")
    return cast(Function, function)


def see_project(project: Path) -> None:
    """Let modules of the project be found, after all that Python and its packages have.

    Before them a file of the project would be taken for the module of its name by whoever imports
    that, this program included. Ray puts the folder that a run is started in there by itself.
    """
    folder = str(project)
    if sys.path[-1:] != [folder]:
        sys.path[:] = [*(one for one in sys.path if one != folder), folder]


def _taken(module: ModuleType, project: Path) -> str:
    """Why a file of the project is not the module that was found, if there is one of its name."""
    own = project / f"{module.__name__.replace('.', '/')}.py"
    if not own.is_file() or own.samefile(getattr(module, "__file__", None) or project):
        return ""
    return f": it is not {own.name} of the project, whose name is taken; give it another"


async def run_function(reference: str, turn: Turn, worked: WorkedFor, *, project: Path) -> Played:
    """Call the function once.

    Raises:
        AgentFailed: It raised, or gave back what is no reply.
        AgentTimedOut: It took too long.
        AgentMissing: There is no such function.
    """
    function = load_function(reference, project)
    worked.begin()
    running = _Thread(function, turn)
    try:
        while not running.done.done():
            left = turn.timeout_s - worked()
            if left <= 0:
                raise AgentTimedOut(f"still worked after {turn.timeout_s:g} s, and was left")
            await asyncio.wait([running.done], timeout=min(left, LOOK_S))
        return Played(read_reply(running.done.result()), worked())
    except ProviderError:
        raise
    except (
        Exception
    ) as error:  # its own, or of what it gave back, which may be of a type of its own
        raise AgentFailed(_told(error, project)) from None
    finally:
        running.stop()


def _told(error: Exception, project: Path) -> str:
    """An exception of a function, with the last line of the project's own code that it went by."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [one for one in frames if Path(one.filename).is_relative_to(project)]
    place = f" ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else ""
    return _said(error)[:_SHOWN] + place


def _said(error: BaseException) -> str:
    """An exception in one line; it may be of a type that cannot even be told."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return f"{type(error).__name__} (its text cannot be read)"


def _keep_process() -> None:
    """Make ``os._exit`` of an agent a failure of its turn.

    It would end the whole run at once, and with code 0, as if all had been played. Elsewhere, as in
    a process that the agent has forked, it does what it always did.
    """
    if os._exit is _leave:
        return
    os._exit = _leave


def _leave(status: int) -> NoReturn:
    here = threading.current_thread()
    if isinstance(here, _AgentThread) and here.process == os.getpid():
        raise SystemExit(f"os._exit({status})")
    _EXIT(status)


class _AgentThread(threading.Thread):
    """The thread of an agent's turn, and the process that it belongs to."""

    def __init__(self, target: Callable[[], None], name: str) -> None:
        super().__init__(target=target, name=name, daemon=True)
        self.process = os.getpid()


class _Thread:
    """A coroutine in a thread of its own, which keeps no program from ending."""

    def __init__(self, function: Function, turn: Turn) -> None:
        self._loop = asyncio.get_running_loop()
        self.done: asyncio.Future[Any] = self._loop.create_future()
        self._task: asyncio.Task[Any] | None = None
        self._function, self._turn = function, turn
        _keep_process()
        _AgentThread(self._run, f"agent {turn.agent}").start()

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
            ended = f"it ended itself ({_said(error)})"
            raised = error if isinstance(error, Exception) else RuntimeError(ended)
            self._tell(lambda: self.done.set_exception(raised))

    async def _whole(self) -> Any:
        self._task = asyncio.current_task()
        depth = sys.getrecursionlimit()
        try:
            return await self._function(self._turn)
        finally:  # it is the process's, which would stand still where an agent lowered it
            if sys.getrecursionlimit() < depth:
                sys.setrecursionlimit(depth)

    def _tell(self, how: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the run has ended meanwhile
            self._loop.call_soon_threadsafe(lambda: None if self.done.done() else how())
