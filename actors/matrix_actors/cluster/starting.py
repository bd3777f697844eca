"""Starting and leaving Ray: a local one that comes and goes with the run, or a cluster."""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from matrix_actors.cluster.joining import RayUnavailable
from matrix_actors.waiting import patiently

OBJECT_STORE_BYTES = 80 * 1024 * 1024
"""Nothing big goes through the object store, so a laptop need not set much memory aside."""

JOINING_S: Final = 60.0
"""Longest wait for a cluster that has just been joined by another process, in seconds."""


def _keep_token_somewhere() -> None:
    """Ray writes a token for its local cluster under HOME; else give it another private place."""
    if not os.access(Path.home(), os.W_OK) and "RAY_AUTH_TOKEN_PATH" not in os.environ:
        folder = Path(tempfile.mkdtemp(prefix="matrix-ray-"))
        os.environ["RAY_AUTH_MODE"] = "token"
        os.environ["RAY_AUTH_TOKEN_PATH"] = str(folder / "token")


def start_ray(address: str | None) -> None:
    """Start a local Ray, or join the cluster at ``address``.

    Raises:
        RayUnavailable: It did not work out; nothing is left behind.
    """
    if address is None:
        _keep_token_somewhere()  # Ray reads that when it is imported
    import ray

    logging.getLogger("ray").setLevel(logging.ERROR)
    if ray.is_initialized():
        return
    try:
        if address is None:
            _start_local()
        else:
            ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False)
        _say_nothing()
    except Exception as error:  # Ray raises bare exceptions of many kinds here
        ray.shutdown()
        local = address is None
        what = "a local Ray did not start" if local else f"cannot join the Ray at {address}"
        raise RayUnavailable(
            f"{what}: {str(error).strip() or type(error).__name__}; try again when the machine is "
            "less busy"
        ) from error


class Starting:
    """Starts or joins Ray beside the event loop, which goes on hearing signals meanwhile."""

    def __init__(self, address: str | None) -> None:
        """Begin; ``None`` starts a Ray that comes and goes with the run."""
        self._address = address
        self._loop = asyncio.get_running_loop()
        self._over: asyncio.Future[None] = self._loop.create_future()
        # a thread of its own, which nobody waits for when the program ends
        threading.Thread(target=self._start, name="ray-starting", daemon=True).start()

    def _start(self) -> None:
        error: BaseException | None = None
        try:
            start_ray(self._address)
        except BaseException as raised:  # told to whoever waits
            error = raised
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            self._loop.call_soon_threadsafe(self._tell, error)
        if error is None:
            threading.Event().wait()  # Ray spins for ever where the thread that joined it has ended

    def _tell(self, error: BaseException | None) -> None:
        if self._over.done():
            return
        if error is None:
            self._over.set_result(None)
        else:
            self._over.set_exception(error)
            self._over.exception()  # looked at here, because it may be too late for others

    @property
    def is_over(self) -> bool:
        """Whether Ray is there, or will not be."""
        return self._over.done()

    async def wait(self) -> None:
        """Until Ray is there.

        Raises:
            RayUnavailable: It is not.
        """
        if self._address is None:
            await asyncio.shield(self._over)
            return
        try:
            await patiently(asyncio.shield(self._over), JOINING_S)
        except TimeoutError:
            raise RayUnavailable(
                f"the Ray at {self._address} was joined by another process, and lets this one wait "
                "for a minute; see what it does (`ray status`)"
            ) from None

    async def give_up(self) -> None:
        """Nobody wants it any more: a Ray of ours must not outlive the run, another one may."""
        if self._address is None:
            await asyncio.wait([self._over])


def _say_nothing() -> None:
    """Ray tells of every process that dies on standard output, which belongs to the command.

    There is no setting for it. What a death means, the run itself says.
    """
    with suppress(Exception):
        from ray._private import worker

        worker.print_to_stdstream = _ignore


def _ignore(*_: Any, **__: Any) -> None:
    """Print nothing."""


def _start_local() -> None:
    import ray

    with _in_groups_of_their_own(), _without_onlookers():
        ray.init(
            address="local",
            include_dashboard=False,
            configure_logging=False,
            logging_level=logging.ERROR,
            log_to_driver=False,
            object_store_memory=OBJECT_STORE_BYTES,
            _node_ip_address="127.0.0.1",
        )


@contextmanager
def _in_groups_of_their_own() -> Iterator[None]:
    """Ray's own processes do not get the signals that end a run: it needs them for its last calls.

    A terminal, and whoever ends a program with all that belongs to it, signals a process group.
    Ray keeps only ``SIGINT`` from its processes, and has no setting for their group.
    """
    from ray._private import services

    usual: Any = services.ConsolePopen

    def apart(*arguments: Any, **options: Any) -> Any:
        return usual(*arguments, process_group=0, **options)

    services.ConsolePopen = apart
    try:
        yield
    finally:
        services.ConsolePopen = usual


@contextmanager
def _without_onlookers() -> Iterator[None]:
    """A run's own Ray has no dashboard's server, no autoscaler and nobody who forwards its logs.

    Each is a Python of its own, which takes a second of processor time to load just when the run's
    own processes do; and the first is waited for. Ray has no setting for them; one that calls them
    by other names starts them.
    """
    from ray._private.node import Node

    nothing: dict[str, Any] = {
        "start_monitor": lambda _: None,
        "start_log_monitor": lambda _: None,
        "start_api_server": _no_api_server,
    }
    usual = {name: vars(Node)[name] for name in nothing if name in vars(Node)}
    for name in usual:
        setattr(Node, name, nothing[name])
    try:
        yield
    finally:
        for name, method in usual.items():
            setattr(Node, name, method)


def _no_api_server(node: Any, **_: Any) -> None:
    node._webui_url = ""  # what it is where that server could not be started


def check_ray() -> str:
    """See whether a local Ray would start: it is started and stopped.

    Returns:
        What was found, in words.

    Raises:
        RayUnavailable: It would not.
    """
    start_ray(None)
    leave_ray()
    return "a local Ray starts"


def leave_ray() -> None:
    """Shut a local Ray down, or leave the cluster."""
    import ray

    ray.shutdown()
