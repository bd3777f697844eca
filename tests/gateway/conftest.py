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

from matrix.store.reader import RunTables
from tests.cli.program import Result, run_program
from tests.gateway.provider import Provider
from tests.providers_litellm.service import served


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    found = Provider()
    async with served(found.handle) as port:
        found.port = port
        yield found


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
