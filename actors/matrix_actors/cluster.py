"""Starting and leaving Ray: a local one that comes and goes with the run, or a cluster."""

from __future__ import annotations

import logging
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from matrix.model.errors import MatrixError

OBJECT_STORE_BYTES = 80 * 1024 * 1024
"""Nothing big goes through the object store, so a laptop need not set much memory aside."""


CONNECT_S = 3.0
"""Longest wait for a cluster to take a connection, in seconds."""


def prepare_environment() -> None:
    """Settings that Ray reads when it is imported; call before the first ``import ray``."""
    # otherwise `uv run` makes Ray upload the working directory, results and all
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_DEDUP_LOGS", "0")
    # a signal that this program handles is no failure, and needs no stack trace
    os.environ.setdefault("RAY_DISABLE_FAILURE_SIGNAL_HANDLER", "1")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Ray would keep a record of every actor call in its GCS, for a dashboard that nobody opens
    os.environ.setdefault("RAY_task_events_report_interval_ms", "0")
    home = Path.home()
    if not os.access(home, os.W_OK) and "RAY_AUTH_TOKEN_PATH" not in os.environ:
        # Ray writes a token for its local cluster under HOME; give it another private place
        folder = Path(tempfile.mkdtemp(prefix="matrix-ray-"))
        os.environ["RAY_AUTH_MODE"] = "token"
        os.environ["RAY_AUTH_TOKEN_PATH"] = str(folder / "token")


class RayUnavailable(MatrixError):
    """Ray did not start, or the cluster cannot be joined."""


def is_local(address: str | None) -> bool:
    """Whether an address means a Ray that comes and goes with the run."""
    return address in (None, "", "local")


def start_ray(address: str | None) -> None:
    """Start a local Ray, or join the cluster at ``address``.

    Raises:
        RayUnavailable: It did not work out; nothing is left behind.
    """
    import ray

    logging.getLogger("ray").setLevel(logging.ERROR)
    if ray.is_initialized():
        return
    local = is_local(address)
    try:
        if local:
            _start_local()
        else:
            ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False)
        _say_nothing()
    except Exception as error:  # Ray raises bare exceptions of many kinds here
        ray.shutdown()
        what = "a local Ray did not start" if local else f"cannot join the Ray at {address}"
        raise RayUnavailable(
            f"{what}: {str(error).strip() or type(error).__name__}; try again when the machine is "
            "less busy, or run with --in-process"
        ) from error


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

    with _in_groups_of_their_own():
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


def check_ray(address: str | None) -> str:
    """See whether Ray would start: a local one is started and stopped, an address is connected to.

    Returns:
        What was found, in words.

    Raises:
        RayUnavailable: It would not.
    """
    if address in (None, "", "local", "auto"):
        start_ray(address)
        leave_ray()
        return "joined the running Ray" if address == "auto" else "a local Ray starts"
    assert address is not None
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_S):
            return f"{address} takes connections"
    except (OSError, ValueError) as error:
        raise RayUnavailable(f"cannot reach the Ray at {address}: {error}") from None


def leave_ray() -> None:
    """Shut a local Ray down, or leave the cluster."""
    import ray

    ray.shutdown()
