"""Working folders of sessions: made, kept by content at checkpoints, restored, removed.

A session's folder is on the node where the session is played. On the node of the journal it is in
the run's folder, and its content goes straight into the run's blobs; on any other it is in a folder
of that node (:mod:`matrix.engine.executors.node_folder`), and its content travels to the run's
blobs before a checkpoint names it (:mod:`matrix.store.blobs.remote_blobs`), past the governor,
which nobody makes wait.

Whoever plays a session holds the lock of its folder, and so does every process of its commands. A
session that is taken up again therefore starts only when nothing of its earlier life can write any
more.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar
from weakref import WeakValueDictionary

from matrix.agents.processes import Command, Running
from matrix.agents.sandbox import Sandbox
from matrix.agents.turns import WorkedFor
from matrix.kinds.context import ChangedFiles, CommandResult
from matrix.model.errors import FolderUnavailable
from matrix.model.records import FolderLimits
from matrix.store.blobs.blobs import BlobStore
from matrix.store.blobs.folder_store import FolderStore
from matrix.store.blobs.initial import copy_tree
from matrix.store.blobs.restoring import (
    empty_folder,
    keep_usable,
    remove_folder,
    restore_tree,
)
from matrix.store.blobs.trees import FolderIndex, store_tree
from matrix.store.upkeep.sweeping import FOLDERS

T = TypeVar("T")

COMMANDS_AT_ONCE: Final = 64
"""Commands of one worker's sessions that run at the same time; more wait for their turn."""

LOCK_PATIENCE_S: Final = 30.0
"""How long the earlier life of a session may take to be gone."""

_LOOK_EVERY_S: Final = 0.05


class Workspaces:
    """The working folders of one worker's sessions."""

    def __init__(
        self,
        place: Path,
        contents: FolderStore | None,
        *,
        give_up: Callable[[], None] = lambda: None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        """Nothing is made before a session needs it.

        Args:
            place: Where the folders are: the run's folder, or another one of this node.
            contents: Where what is in them is kept; ``None`` if sessions have none that is kept.
            give_up: Ends every wait for ``contents``; for good.
            sleep: Pauses so many seconds.
            now_ns: The time by the clock of the file system, in ns since 1970.
        """
        self._place, self._sleep, self._now_ns = place, sleep, now_ns
        self._contents, self.give_up = contents, give_up
        self._open: WeakValueDictionary[str, Workspace] = WeakValueDictionary()
        self._disk_work = ThreadPoolExecutor(2, "folders")
        self._commands = ThreadPoolExecutor(COMMANDS_AT_ONCE, "commands")

    async def open(self, session_id: str, limits: FolderLimits) -> Workspace:
        """The folder of a session, which nobody else has.

        Raises:
            FolderUnavailable: Nothing is kept here, or an earlier life of the session is still
                there.
        """
        if self._contents is None:
            raise FolderUnavailable("this process cannot reach the blobs of the run")
        place = self._place / FOLDERS / session_id
        lock = await self._lock(place)
        self._open[session_id] = opened = Workspace(
            place, limits, lock, self._contents, self._now_ns, self._disk_work, self._commands
        )
        return opened

    @asynccontextmanager
    async def place(
        self, session_id: str, *, apart: bool = False
    ) -> AsyncIterator[Workspace | Scratch]:
        """Where an agent of this session works: its folder, or one that goes with the block."""
        opened = None if apart else self._open.get(session_id)
        if opened is not None:
            yield opened
            return
        scratch = Scratch(await _in(self._disk_work, self._scratch), self._commands)
        try:
            yield scratch
        finally:
            with suppress(OSError):  # what is left is in nobody's way, and archiving removes it
                await _in(self._disk_work, lambda: remove_folder(scratch.path.parent))

    def _scratch(self) -> Path:
        folders = self._place / FOLDERS
        if self._place.is_dir():
            folders.mkdir(exist_ok=True)
        return Path(tempfile.mkdtemp(prefix="scratch-", dir=folders if folders.is_dir() else None))

    async def _lock(self, place: Path) -> int:
        waited = 0.0
        while (lock := _try_lock(place.with_suffix(".lock"))) is None:
            if waited >= LOCK_PATIENCE_S:
                raise FolderUnavailable(
                    f"another process still uses {place}; end it, then resume the run"
                )
            await self._sleep(_LOOK_EVERY_S)
            waited += _LOOK_EVERY_S
        return lock


def workspaces_in(run_dir: Path) -> Workspaces:
    """Working folders on the node of the journal, in the run's folder."""
    return Workspaces(run_dir, BlobStore(run_dir))


class Workspace:
    """The folder of one session. One thing at a time; ``restore`` it before anything else."""

    def __init__(
        self,
        place: Path,
        limits: FolderLimits,
        lock: int,
        blobs: FolderStore,
        now_ns: Callable[[], int],
        disk_work: ThreadPoolExecutor,
        commands: ThreadPoolExecutor,
    ) -> None:
        self.path = place / "files"
        self._place, self._limits, self._lock = place, limits, lock
        self._blobs, self._now_ns = blobs, now_ns
        self._disk_work, self._commands = disk_work, commands
        self._index, self._begun_with = FolderIndex(), dict[str, str]()
        self.stored_bytes = 0
        """Bytes of files that were new or changed, over every time that the folder was stored."""

    async def restore(self, tree: str) -> None:
        """Make the folder what it was when ``tree`` was stored; empty if ``tree`` is.

        Raises:
            StoreError: Its content is gone or damaged.
        """
        self._index = await _in(
            self._disk_work, lambda: restore_tree(self.path, tree, self._blobs, self._now_ns())
        )

    async def store(self) -> str:
        """Store what has changed; returns the folder's tree, which is durable.

        Raises:
            FolderRefused: It holds what cannot be kept.
            BlobsRefused: The disk took no more.
        """
        before = self._index.files
        await self._keep_usable()
        self._index = await _in(
            self._disk_work,
            lambda: store_tree(self.path, self._blobs, self._index, self._limits, self._now_ns()),
        )
        self.stored_bytes += sum(
            known.stamp.size
            for name, known in self._index.files.items()
            if name not in before or before[name].digest != known.digest
        )
        return self._index.tree

    async def copy_in(self, tree: str, to: str = "") -> None:
        """Put the content of a stored tree into the folder, over what is there.

        Raises:
            FolderRefused: Something else is in the way.
            StoreError: Its content is gone or damaged.
        """
        await _in(self._disk_work, lambda: copy_tree(self.path, to, tree, self._blobs))

    def begin(self) -> None:
        """A turn begins with the folder as it was just stored or restored."""
        self._begun_with = self._digests()

    async def changes(self) -> ChangedFiles:
        """Files that are other than when the turn began.

        Raises:
            FolderRefused: The folder holds what cannot be kept.
            BlobsRefused: The disk took no more.
        """
        await self.store()
        before, now = self._begun_with, self._digests()
        return ChangedFiles(
            tuple(sorted(now.keys() - before.keys())),
            tuple(sorted(name for name in now.keys() & before if now[name] != before[name])),
            tuple(sorted(before.keys() - now.keys())),
        )

    async def read_before(self, path: str) -> bytes | None:
        """A file as it was when the turn began; ``None`` if it was not there.

        Raises:
            StoreError: Its content is gone or damaged.
        """
        digest = self._begun_with.get(path)
        if digest is None:
            return None
        return await _in(self._disk_work, lambda: b"".join(self._blobs.pieces(digest)))

    def _digests(self) -> dict[str, str]:
        return {name: known.digest for name, known in self._index.files.items()}

    async def command(
        self,
        arguments: Sequence[str],
        stdin: str,
        environment: Mapping[str, str],
        timeout_s: float,
        worked: WorkedFor | None = None,
        sandbox: Sandbox | None = None,
    ) -> CommandResult:
        """Run a command in the folder; it does not outlive this call, nor this process."""
        scratch, lock = self._place / "scratch", self._lock
        await _in(self._disk_work, lambda: empty_folder(scratch))
        await self._keep_usable()
        command = Command(
            arguments, self.path, scratch, stdin, environment, timeout_s, lock, worked, sandbox
        )
        return await _run(self._commands, command)

    async def _keep_usable(self) -> None:
        with suppress(OSError):  # it is gone, or somebody else's: whoever needs it says so
            await _in(self._disk_work, lambda: keep_usable(self.path))

    async def work_on(self, work: Callable[[Path], None]) -> None:
        """Do something to the folder, in a thread; it is over when this returns."""
        await _in(self._disk_work, lambda: work(self.path))

    @property
    def tree(self) -> str:
        """The folder when it was last stored or restored."""
        return self._index.tree

    async def remove(self) -> None:
        """The session is over or let go: its folder goes, what was stored stays."""
        with suppress(OSError):  # what is left is in nobody's way, and archiving removes it
            await _in(self._disk_work, lambda: remove_folder(self._place))
            self._place.with_suffix(".lock").unlink()

    def release(self) -> None:
        """Let go of the folder's lock."""
        os.close(self._lock)


class Scratch:
    """A folder for one turn of an agent, in a session that keeps none."""

    stored_bytes = 0

    def __init__(self, place: Path, commands: ThreadPoolExecutor) -> None:
        self.path, self._scratch = place / "files", place / "scratch"
        self.path.mkdir()
        self._scratch.mkdir()
        self._commands = commands

    async def store(self) -> str:
        """Nothing is kept."""
        return ""

    async def restore(self, tree: str) -> None:
        """It goes with its turn, whatever is in it."""

    async def work_on(self, work: Callable[[Path], None]) -> None:
        """Nobody looks at it after the turn."""

    async def command(
        self,
        arguments: Sequence[str],
        stdin: str,
        environment: Mapping[str, str],
        timeout_s: float,
        worked: WorkedFor | None = None,
        sandbox: Sandbox | None = None,
    ) -> CommandResult:
        """As :meth:`Workspace.command`."""
        scratch = self._scratch
        command = Command(
            arguments, self.path, scratch, stdin, environment, timeout_s, None, worked, sandbox
        )
        return await _run(self._commands, command)


async def _run(pool: ThreadPoolExecutor, command: Command) -> CommandResult:
    running = Running(command)
    return await _in(pool, running.run, running.kill)


async def _in(
    pool: ThreadPoolExecutor, work: Callable[[], T], stop: Callable[[], None] | None = None
) -> T:
    """Work in a thread. If nobody wants it any more it is stopped, and it is over at the return."""
    future = asyncio.get_running_loop().run_in_executor(pool, work)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        if stop is not None:
            stop()
        await asyncio.wait([future])
        raise


def _try_lock(path: Path) -> int | None:
    """A lock that dies with its processes; ``None`` while somebody else has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(handle).st_ino == path.stat().st_ino:
            return handle
    except OSError:
        pass  # taken, or its file was removed by who had it
    os.close(handle)
    return None
