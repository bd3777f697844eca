"""The server as a process: it comes up, says where, and goes when it should."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import aiohttp
import orjson
import pytest

from matrix.model.errors import BadInput
from matrix.serving.main import run
from matrix.serving.options import ServeOptions
from matrix.serving.process import ServerDidNotStart, SimServer
from tests.serving.asking import request_body
from tests.waiting import LONGEST_WAIT_S

ROOT = Path(__file__).parents[2]
COMMAND = """
import typer
from matrix.cli import serve_sim_command
app = typer.Typer(callback=lambda: None)
serve_sim_command.register(app)
app()
"""
PARENT = """
import subprocess, sys, time
child = subprocess.Popen(
    [sys.executable, "-c", {command!r}, "serve-sim", "--json", "--stop-with-parent"],
    stdin=subprocess.{stdin},
)
time.sleep(3600)
"""


def start(program: str, *flags: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *flags], stdout=subprocess.PIPE, cwd=ROOT
    )


def address_of(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    """Port and process of a server that prints JSON."""
    assert process.stdout is not None
    found = orjson.loads(process.stdout.readline())
    assert found["base_url"] == f"http://127.0.0.1:{found['port']}/v1"
    return found["port"], found["pid"]


def is_open(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@pytest.mark.slow
def test_it_says_where_it_is_and_stops_after_the_time_given() -> None:
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "serve-sim", "--stop-after", "0.2"],
        capture_output=True, text=True, cwd=ROOT, timeout=LONGEST_WAIT_S, check=True,
    )  # fmt: skip
    assert time.monotonic() - began > 0.2
    assert done.stdout.startswith("simulated models at http://127.0.0.1:")
    assert done.stdout.endswith("/v1\n")
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


@pytest.mark.slow
def test_a_signal_stops_it_quietly() -> None:
    with (
        start(COMMAND, "serve-sim", "--json", "--stop-after", "3600") as one,
        start(COMMAND, "serve-sim", "--json", "--stop-after", "3600") as other,
    ):
        for process, number in ((one, signal.SIGTERM), (other, signal.SIGINT)):
            port, _ = address_of(process)
            assert is_open(port)
            process.send_signal(number)
            assert process.wait(LONGEST_WAIT_S) == 0
            assert not is_open(port)


@pytest.mark.slow
def test_it_does_not_outlive_a_parent_that_is_killed() -> None:
    """Whether the parent holds a pipe to it or not."""
    programs = [PARENT.format(command=COMMAND, stdin=stdin) for stdin in ("PIPE", "DEVNULL")]
    with start(programs[0]) as one, start(programs[1]) as other:
        for parent in (one, other):
            port, _ = address_of(parent)
            assert is_open(port)
            parent.kill()
            assert parent.stdout is not None
            assert parent.stdout.read() == b"", "ends when the server, the last writer, has gone"
            assert not is_open(port)


def test_a_taken_port_is_bad_input() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(BadInput, match="0 picks a free one"),
    ):
        run(ServeOptions(port=taken.getsockname()[1]), lambda address: None)


@pytest.mark.slow
async def test_two_hundred_clients_at_once_get_their_answers() -> None:
    async with SimServer(ServeOptions(latency_ms=100)) as server:

        async def ask(number: int) -> str:
            body = request_body(seed=number)
            async with client.post(f"{server.url}/chat/completions", json=body) as response:
                return str((await response.json())["choices"][0]["message"]["content"])

        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:
            texts = await asyncio.gather(*(ask(number) for number in range(200)))
        stats = await server.stats()
    assert len(set(texts)) > 1
    assert (stats["requests"], stats["accepted"], stats["in_flight"]) == (200, 200, 0)


@pytest.mark.slow
async def test_a_server_of_a_block_is_gone_after_it_and_kept_its_key_to_itself() -> None:
    options = ServeOptions(api_key="very-secret", rpm=600)
    async with SimServer(options) as server:
        assert await server.schedule(["429", "503"]) == 2
        assert (await server.stats())["requests"] == 0
        assert (await server.reset_stats())["requests"] == 0
        with pytest.raises(ValueError, match="unknown fault"):
            await server.schedule(["nonsense"])
        command = Path(f"/proc/{server.pid}/cmdline")
        if command.exists():
            assert b"very-secret" not in command.read_bytes()
        port = int(server.root.rpartition(":")[2])
        assert is_open(port)
    assert not is_open(port)
    with pytest.raises(ProcessLookupError):
        os.kill(server.pid, 0)


@pytest.mark.slow
async def test_a_server_that_cannot_start_is_an_error_and_leaves_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        server = SimServer(ServeOptions(port=taken.getsockname()[1]))
        with pytest.raises(ServerDidNotStart):
            await server.__aenter__()
