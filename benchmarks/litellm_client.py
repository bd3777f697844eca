"""How much faster the litellm adapter asks than ``litellm.acompletion`` itself, in one run.

Client and server are separate processes on loopback, and the server does nothing: what is measured
is the client's own work. Each way has a process to itself, so that none profits from what another
has warmed up. Prints calls per second, CPU per call and ratios, by length of history::

    python -m benchmarks.litellm_client --seconds 4
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple

from matrix.model.records import Call, CallKey, CallParams, ChatMessage
from matrix.providers.litellm_adapter.provider import LiteLLMProvider
from matrix.providers.litellm_adapter.settings import LiteLLMSettings, ModelSettings, Transport

HISTORIES = (2, 50, 200)
MESSAGE = "word " * 100
TARGETS = {"openai": "openai/gpt-4o", "anthropic": "anthropic/claude-opus-4-5"}
WAYS: dict[str, Transport] = {"bare": "litellm", "adapter": "direct"}
IN_FLIGHT = 100


class Pace(NamedTuple):
    """One way's speed at one length of history."""

    calls_per_s: float
    cpu_ms: float


def serve() -> None:
    """Answer every request at once; print the port first."""
    from aiohttp import web

    said = {"role": "assistant", "content": "hello " * 40}
    usage = {"prompt_tokens": 100, "completion_tokens": 40, "total_tokens": 140}
    chat = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "usage": usage,
            "choices": [{"index": 0, "message": said, "finish_reason": "stop"}]}  # fmt: skip
    claude = {"id": "x", "type": "message", "role": "assistant", "model": "m",
              "content": [{"type": "text", "text": "hello " * 40}], "stop_reason": "end_turn",
              "usage": {"input_tokens": 100, "output_tokens": 40}}  # fmt: skip
    bodies = {True: json.dumps(claude).encode(), False: json.dumps(chat).encode()}

    async def answer(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(
            body=bodies[request.path.endswith("/messages")], content_type="application/json"
        )

    async def run() -> None:
        app = web.Application(client_max_size=1 << 26)
        app.router.add_post("/{path:.*}", answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        print(runner.addresses[0][1], flush=True)
        await asyncio.Event().wait()

    asyncio.run(run())


def call_with(history: int) -> Call:
    """A call whose conversation has this many messages of 500 characters."""
    messages = [ChatMessage("system", MESSAGE)]
    for number in range(history - 1):
        messages.append(ChatMessage("assistant" if number % 2 else "user", MESSAGE))
    params = CallParams(max_tokens=100)
    return Call(CallKey("s", "turn", 1, "0"), "", 0, "r", "m", tuple(messages), params, 1)


async def pace(ask: Callable[[], Awaitable[Any]], seconds: float) -> Pace:
    """Ask with :data:`IN_FLIGHT` calls at a time for a while."""
    await asyncio.gather(*(ask() for _ in range(20)))
    done = 0
    started, cpu = time.perf_counter(), time.process_time()

    async def keep_asking() -> None:
        nonlocal done
        while time.perf_counter() - started < seconds:
            await ask()
            done += 1

    await asyncio.gather(*(keep_asking() for _ in range(IN_FLIGHT)))
    took, used = time.perf_counter() - started, time.process_time() - cpu
    return Pace(done / took, used / done * 1000)


async def measure(way: str, service: str, port: int, seconds: float) -> list[Pace]:
    """The pace of one way at every length of history."""
    base = f"http://127.0.0.1:{port}" + ("/v1" if service == "openai" else "")
    model = ModelSettings(TARGETS[service], base)
    provider = LiteLLMProvider(LiteLLMSettings({"m": model}, transport=WAYS[way]))
    found = []
    for history in HISTORIES:
        call = call_with(history)
        ask = _bare(model, call) if way == "bare" else partial(provider.complete, call, 1)
        found.append(await pace(ask, seconds))
    await provider.aclose()
    return found


def _bare(model: ModelSettings, call: Call) -> Callable[[], Awaitable[Any]]:
    """``litellm.acompletion`` and nothing else, set up as the adapter sets it up."""
    import litellm

    messages = [{"role": m.role, "content": m.content} for m in call.messages]

    def ask() -> Awaitable[Any]:
        answer: Awaitable[Any] = litellm.acompletion(
            model=model.target, messages=messages, api_base=model.api_base, api_key="none",
            max_tokens=100, timeout=60, max_retries=0, num_retries=0, drop_params=False,
        )  # fmt: skip
        return answer

    return ask


def _in_own_process(way: str, service: str, port: int, seconds: float) -> list[Pace]:
    command = [sys.executable, "-m", "benchmarks.litellm_client", "--way", way]
    command += ["--service", service, "--port", str(port), "--seconds", str(seconds)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [Pace(*row) for row in json.loads(done.stdout.splitlines()[-1])]


def compare(seconds: float) -> None:
    """Measure both ways for both services and print the table."""
    server = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.litellm_client", "--serve"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        print("service    messages   bare calls/s (CPU ms)   adapter calls/s (CPU ms)   CPU ratio")
        for service in TARGETS:
            bare = _in_own_process("bare", service, port, seconds)
            ours = _in_own_process("adapter", service, port, seconds)
            for history, slow, fast in zip(HISTORIES, bare, ours, strict=True):
                print(
                    f"{service:<10} {history:>8}   {slow.calls_per_s:>12.0f} ({slow.cpu_ms:6.2f})"
                    f"   {fast.calls_per_s:>15.0f} ({fast.cpu_ms:6.2f})"
                    f"   {slow.cpu_ms / fast.cpu_ms:>9.1f}x"
                )
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    """Parse, then compare; ``--serve`` and ``--way`` are for the processes it starts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0, help="per way and history")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--service", choices=TARGETS, default="openai", help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, default=0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve()
    elif given.way:
        print(json.dumps(asyncio.run(measure(given.way, given.service, given.port, given.seconds))))
    else:
        compare(given.seconds)


if __name__ == "__main__":
    main()
