"""What ``litellm.acompletion`` does by itself: a bare asyncio loop in each of some processes.

As a program it is one of those processes: it warms up, says ``ready``, waits for a line, then asks
for as long as it was told and prints what it did as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import Any, Final, NamedTuple

from benchmarks.measuring import cpu_s
from matrix.kinds.counter import conversation
from matrix.model.records import ChatMessage

IN_FLIGHT: Final = 100
"""Calls at a time of one process."""
_WARM_UP: Final = 20


class Pace(NamedTuple):
    """How fast calls were made, by all processes together, and what they cost.

    Attributes:
        calls_per_s: Calls per second.
        cpu_ms: Processor milliseconds per call, in the processes that made them.
        server_cpu_ms: The same in the server's process, if it was looked at.
    """

    calls_per_s: float
    cpu_ms: float
    server_cpu_ms: float = 0.0


class Work(NamedTuple):
    """What every process asks: an address, and how many messages in each call; for how long."""

    base_url: str
    messages: int
    seconds: float


async def pace(ask: Callable[[], Awaitable[Any]], seconds: float) -> Pace:
    """Ask with :data:`IN_FLIGHT` calls at a time for a while, after a few to warm up."""
    await asyncio.gather(*(ask() for _ in range(_WARM_UP)))
    return await _pace(ask, seconds)


async def _pace(ask: Callable[[], Awaitable[Any]], seconds: float) -> Pace:
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


def bare_ask(
    target: str, base_url: str, messages: list[dict[str, str]]
) -> Callable[[], Awaitable[Any]]:
    """``litellm.acompletion`` and nothing else, set up as the adapter sets it up."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # or it looks for one on the network
    import litellm

    def ask() -> Awaitable[Any]:
        answer: Awaitable[Any] = litellm.acompletion(
            model=target, messages=messages, api_base=base_url, api_key="none",
            max_tokens=16, timeout=60, max_retries=0, num_retries=0, drop_params=False,
        )  # fmt: skip
        return answer

    return ask


def together(work: Work, processes: int, server_pid: int) -> Pace:
    """The pace of some processes that ask one server at the same time."""
    command = [sys.executable, "-m", "benchmarks.bare_litellm", json.dumps(work)]
    with ExitStack() as stack:
        started = [stack.enter_context(_child(command)) for _ in range(processes)]
        for child in started:
            _read(child)
        before = cpu_s(server_pid)
        for child in started:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        found = [Pace(*json.loads(_read(child))) for child in started]
        server_s = cpu_s(server_pid) - before
    rate = sum(each.calls_per_s for each in found)
    cpu_ms = sum(each.cpu_ms * each.calls_per_s for each in found) / rate
    return Pace(rate, cpu_ms, server_s * 1000 / (rate * work.seconds))


def _child(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _read(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    line = child.stdout.readline()
    if not line:
        raise RuntimeError("a process of litellm.acompletion ended early; see its output")
    return line


async def _ask_when_told(work: Work) -> Pace:
    asked: list[dict[str, str]] = [
        {"role": message.role, "content": message.content}
        for message in (ChatMessage("system", "Count."), *conversation(work.messages - 2))
    ]
    asked.append({"role": "user", "content": "Count on from 1."})
    ask = bare_ask("openai/echo", work.base_url, asked)
    await asyncio.gather(*(ask() for _ in range(_WARM_UP)))
    print("ready", flush=True)
    sys.stdin.readline()
    return await _pace(ask, work.seconds)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_ask_when_told(Work(*json.loads(sys.argv[1]))))), flush=True)
