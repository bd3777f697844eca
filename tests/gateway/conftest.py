"""A provider on the loopback, and `matrix gateway` in front of it."""

from __future__ import annotations

import asyncio
import json
import sys
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from matrix.store.reading.reader import RunTables
from tests.cli.program import Result, run_program
from tests.gateway.provider import Provider
from tests.providers_litellm.service import served


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    found = Provider()
    async with served(found.handle) as port:
        found.port = port
        yield found


POST = """
    import json, os, sys, urllib.request, urllib.error
    def post(path, body, key=None, raw=None):
        root = os.environ["ANTHROPIC_BASE_URL"]
        data = raw if raw is not None else json.dumps(body).encode()
        key = key or os.environ["OPENAI_API_KEY"]
        headers = {"content-type": "application/json", "authorization": "Bearer " + key}
        try:
            with urllib.request.urlopen(urllib.request.Request(root + path, data, headers)) as got:
                return got.status, got.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
    CHAT, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/messages", "/v1/responses"
    def asked(**more):
        return {"model": "gpt-4o", "messages": [{"role": "user", "content": "hail"}], **more}
"""


def program(body: str) -> str:
    """A Python program that can ask the address it was given: ``post(CHAT, asked())``."""
    return textwrap.dedent(POST) + textwrap.dedent(body)


class Done(NamedTuple):
    """What came of a program at a metered address: its exit code, what it said, and its run."""

    result: Result
    said: Any
    run_dir: Path

    @property
    def calls(self) -> Any:
        return RunTables(self.run_dir).frame("calls")

    @property
    def tables(self) -> RunTables:
        return RunTables(self.run_dir)


Gateway = Callable[..., Awaitable[Done]]


@pytest.fixture
def gateway(tmp_path: Path, provider: Provider) -> Gateway:
    """``await gateway(python, *flags)`` runs a program, whose last line of output is JSON."""

    async def run(python: str, *flags: str, cost: str = "5", run_id: str = "it") -> Done:
        (tmp_path / "agent.py").write_text(textwrap.dedent(python))
        args = ["gateway", "--max-cost", cost, "--run-id", run_id, *flags]
        done = await asyncio.to_thread(
            run_program,
            tmp_path,
            *args,
            "--",
            sys.executable,
            "agent.py",
            variables=provider.environment,
        )
        lines = done.stdout.strip().splitlines()
        said = json.loads(lines[-1]) if lines else None
        return Done(done, said, tmp_path / "results" / run_id)

    return run
