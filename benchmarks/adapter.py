"""How much faster the litellm adapter asks than ``litellm.acompletion`` itself, in one run.

Client and server are separate processes on loopback, and the server does nothing: what is measured
is the client's own work. Each way has a process to itself, so that none profits from what another
has warmed up. As a program this module is one of those processes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from benchmarks.bare_litellm import Pace, bare_ask, pace
from benchmarks.figures import Section
from benchmarks.sizes import Sizes
from matrix.model.records import Call, CallKey, CallParams, ChatMessage
from matrix.providers.litellm_adapter.provider import LiteLLMProvider
from matrix.providers.litellm_adapter.settings import LiteLLMSettings, ModelSettings, Transport

HISTORIES = (2, 50, 200)
MESSAGE = "word " * 100
TARGETS = {"openai": "openai/gpt-4o", "anthropic": "anthropic/claude-opus-4-5"}
WAYS: dict[str, Transport] = {"bare": "litellm", "adapter": "direct"}
GOALS = {50: ">= 3", 200: ">= 8"}


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


def measure(sizes: Sizes, section: Section) -> None:
    """Fill the section: both ways for both services, one after the other."""
    server = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.adapter", "--serve"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        for service in TARGETS:
            bare = _in_own_process("bare", service, port, sizes.adapter_seconds)
            ours = _in_own_process("adapter", service, port, sizes.adapter_seconds)
            for history, slow, fast in zip(HISTORIES, bare, ours, strict=True):
                name = f"{service}, {history} messages"
                how = f"{slow.calls_per_s:,.0f} calls/s"
                section.add(f"{name}: litellm.acompletion, CPU", slow.cpu_ms, "ms/call", how)
                how = f"{fast.calls_per_s:,.0f} calls/s"
                section.add(f"{name}: adapter, CPU", fast.cpu_ms, "ms/call", how)
                goal = GOALS.get(history, "") if service == "openai" else ""
                section.add(f"{name}: CPU ratio", slow.cpu_ms / fast.cpu_ms, "ratio", "", goal)
    finally:
        server.terminate()
        server.wait()
    section.note("The client's own processor time, one process; the server is another process.")


async def _paces(way: str, service: str, port: int, seconds: float) -> list[Pace]:
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
    messages = [{"role": m.role, "content": m.content} for m in call.messages]
    return bare_ask(model.target, str(model.api_base), messages)


def _in_own_process(way: str, service: str, port: int, seconds: float) -> list[Pace]:
    command = [sys.executable, "-m", "benchmarks.adapter", "--way", way]
    command += ["--service", service, "--port", str(port), "--seconds", str(seconds)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [Pace(*row) for row in json.loads(done.stdout.splitlines()[-1])]


def main() -> None:
    """One of the processes that :func:`measure` starts: the server, or one way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--serve", action="store_true")
    parser.add_argument("--way", choices=WAYS, default="adapter")
    parser.add_argument("--service", choices=TARGETS, default="openai")
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args()
    if given.serve:
        serve()
    else:
        print(json.dumps(asyncio.run(_paces(given.way, given.service, given.port, given.seconds))))


if __name__ == "__main__":
    main()
