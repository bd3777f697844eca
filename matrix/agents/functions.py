"""A turn of an agent that is a function of Python.

It runs in a thread with an event loop of its own, so that one that blocks holds up nobody else.
"""

from __future__ import annotations

import ast
import asyncio
import importlib
import inspect
import os
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from importlib.machinery import BuiltinImporter, FrozenImporter, ModuleSpec, PathFinder
from pathlib import Path
from typing import Any, Final, NoReturn, cast

from matrix.agents.answers import read_reply
from matrix.agents.turns import Played, Turn, WorkedFor
from matrix.model.errors import AgentFailed, AgentMissing, AgentTimedOut, ProviderError
from matrix.model.files import MOST_TEXT_BYTES, read_plain

Function = Callable[[Turn], Awaitable[Any]]
LOOK_S: Final = 0.5
"""How often it is looked whether an agent has worked too long, in seconds."""
_SHOWN: Final = 300
_MAKERS: Final = frozenset(["globals", "locals", "vars", "setattr", "exec"])
_EXIT: Final = os._exit


def load_function(reference: str, project: Path) -> Function:
    """The function behind ``module:function``, which may be a module of the project.

    Raises:
        AgentMissing: There is none, or it is not async.
    """
    module, name = _named(reference)
    see_project(project)
    try:
        found = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        raise AgentMissing(
            f"module {module!r} cannot be imported: {type(error).__name__}: {error}"
        ) from None
    function = getattr(found, name, None)
    if function is None:
        place = getattr(found, "__file__", None) or ""
        raise AgentMissing(f"module {module!r} has no {name!r}{_taken(module, place, project)}")
    if not inspect.iscoroutinefunction(function):
        raise AgentMissing(f"{reference} is no async function; write `async def {name}(turn)`")
    return cast(Function, function)


def find_function(reference: str, project: Path) -> None:
    """See that ``module:function`` is there by reading its file: none of its code is run.

    What only running would show, as what a module imports, is taken to be right.

    Raises:
        AgentMissing: There is none, or it is not async.
    """
    module, name = _named(reference)
    spec = _spec_of(module, project)
    if spec is None:
        told = f"ModuleNotFoundError: No module named {module!r}"
        raise AgentMissing(f"module {module!r} cannot be imported: {told}")
    if spec.origin is None or not spec.origin.endswith(".py"):
        return
    try:
        tree = ast.parse(read_plain(Path(spec.origin), MOST_TEXT_BYTES))
    except (OSError, SyntaxError, ValueError) as error:
        told = f"{type(error).__name__}: {error}"
        raise AgentMissing(f"module {module!r} cannot be imported: {told}") from None
    defined = _defined_in(tree.body)
    if name in defined or defined & {"*", "__getattr__"} or _makes_names(tree):
        found = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == name]
        if found and not found[-1].decorator_list:
            raise AgentMissing(f"{reference} is no async function; write `async def {name}(turn)`")
        return
    raise AgentMissing(f"module {module!r} has no {name!r}{_taken(module, spec.origin, project)}")


def _named(reference: str) -> tuple[str, str]:
    module, colon, name = reference.partition(":")
    if not colon or not module or not name:
        raise AgentMissing(f"{reference!r} names no function; write module:function")
    return module, name


def _spec_of(module: str, project: Path) -> ModuleSpec | None:
    """Where a module is, by the places that an import would look in, without importing any."""
    inside: Sequence[str] | None = [*sys.path, str(project)]
    spec = BuiltinImporter.find_spec(module) or FrozenImporter.find_spec(module)
    parts = module.split(".")
    for end in range(1, len(parts) + 1) if spec is None else ():
        spec = None if inside is None else PathFinder.find_spec(".".join(parts[:end]), inside)
        inside = None if spec is None else spec.submodule_search_locations
    return spec


def _makes_names(tree: ast.Module) -> bool:
    """Whether it makes names that cannot be read in it: ``globals()[name] = ...``."""
    called = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return any(isinstance(one, ast.Name) and one.id in _MAKERS for one in called)


def _defined_in(statements: Iterable[ast.stmt]) -> set[str]:
    """Names that a module has once it has run, whichever way it went; ``*`` for what it takes."""
    names = set[str]()
    for one in statements:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(one.name)
            continue
        for node in ast.walk(one):
            if isinstance(node, ast.alias):
                names.add((node.asname or node.name).partition(".")[0])
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(node.name)
    return names


def see_project(project: Path) -> None:
    """Let modules of the project be found, after all that Python and its packages have.

    Before them a file of the project would be taken for the module of its name by whoever imports
    that, this program included. Ray puts the folder that a run is started in there by itself.
    """
    folder = str(project)
    if sys.path[-1:] != [folder]:
        sys.path[:] = [*(one for one in sys.path if one != folder), folder]


def _taken(module: str, place: str, project: Path) -> str:
    """Why a file of the project is not the module that was found, if there is one of its name."""
    own = project / f"{module.replace('.', '/')}.py"
    if not own.is_file() or own.samefile(place or project):
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
