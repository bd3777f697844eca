"""The process of a simulated server: it runs until it is told to stop, and never outlives orders.

As a program (``python -m matrix.serving.main``) it reads its options as one line of JSON from
standard input, so that nothing secret stands in the list of processes.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import resource
import signal
import stat
import sys
from collections.abc import Callable
from typing import Final, NamedTuple

import orjson
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from matrix.model.errors import BadInput, MatrixError, Mistake
from matrix.serving.app import build_app
from matrix.serving.options import ServeOptions

HOST: Final = "127.0.0.1"
_BACKLOG: Final = 4096
_GRACE_S: Final = 0.5
"""Seconds that requests in flight get when the server stops."""
_LOOK_S: Final = 0.25
"""Seconds between looks at the parent process."""
_STDIN: Final = 0


class ListenAddress(NamedTuple):
    """Where a server listens."""

    port: int
    pid: int

    @property
    def base_url(self) -> str:
        """What clients take as their base URL."""
        return f"http://{HOST}:{self.port}/v1"

    def as_line(self) -> str:
        """One line of JSON."""
        data = {"base_url": self.base_url, "port": self.port, "pid": self.pid, "simulated": True}
        return orjson.dumps(data).decode()


Announce = Callable[[ListenAddress], None]


def run(options: ServeOptions, announce: Announce) -> None:
    """Serve until a signal, the time or the parent says stop.

    Args:
        options: What to serve and when to stop.
        announce: Called once, as soon as connections are accepted.

    Raises:
        BadInput: The port is taken.
    """
    _raise_file_limit()
    asyncio.run(_serve(options, announce, os.getppid()))


async def _serve(options: ServeOptions, announce: Announce, parent: int) -> None:
    runner = web.AppRunner(
        build_app(options),
        access_log=None,
        logger=_logger(),
        handler_cancellation=True,
        shutdown_timeout=_GRACE_S,
    )
    await runner.setup()
    try:
        site = web.TCPSite(runner, HOST, options.port, backlog=_BACKLOG)
        try:
            await site.start()
        except OSError as error:
            reason = f"cannot listen on port {options.port}: {error.strerror}; 0 picks a free one"
            raise BadInput([Mistake("--port", None, "", reason)]) from None
        gc.collect()
        gc.freeze()  # what is here now stays: keep the collector from looking at it again
        stop = asyncio.Event()
        _watch(options, stop)
        announce(ListenAddress(site.port, os.getpid()))
        await _until(stop, parent if options.stop_with_parent else None)
    finally:
        await runner.cleanup()


def _logger() -> logging.Logger:
    """A logger that tells of this server's defects, not of what clients send."""
    logger = logging.getLogger("matrix.serving")
    logger.addFilter(lambda record: not _is_by_client(record))
    return logger


def _is_by_client(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return isinstance(error, HttpProcessingError | web.RequestPayloadError)


def _watch(options: ServeOptions, stop: asyncio.Event) -> None:
    """Let signals, the clock and the end of standard input set ``stop``."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if options.stop_after is not None:
        loop.call_later(options.stop_after, stop.set)
    if options.stop_with_parent and _is_pipe(_STDIN):
        loop.add_reader(_STDIN, _read_away, loop, stop)


def _read_away(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    try:
        more = os.read(_STDIN, 65_536)
    except BlockingIOError:
        return
    except OSError:
        more = b""
    if not more:
        loop.remove_reader(_STDIN)
        stop.set()


def _is_pipe(descriptor: int) -> bool:
    """Whether somebody holds the other end; /dev/null or a terminal says nothing about a parent."""
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


async def _until(stop: asyncio.Event, parent: int | None) -> None:
    """Wait for ``stop``, or until another process has adopted this one."""
    while not stop.is_set():
        if parent is not None and os.getppid() != parent:
            return
        try:
            await asyncio.wait_for(stop.wait(), _LOOK_S if parent is not None else None)
        except TimeoutError:
            continue


def _raise_file_limit() -> None:
    """As many open connections as the system lets this process have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def main() -> int:
    """Serve with the options on standard input, and print the address as a line of JSON."""
    line = sys.stdin.buffer.readline()
    if not line:
        return 0  # whoever started this is gone already
    try:
        options = ServeOptions.model_validate_json(line)
        run(options, _print_address)
    except MatrixError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


def _print_address(address: ListenAddress) -> None:
    sys.stdout.write(address.as_line() + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
