"""A loopback service, worlds around it, and a wall around everything else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.badinput.waiting_loop import WaitingLoop
from tests.badinput.world import World
from tests.providers_litellm.conftest import loopback_only, service
from tests.providers_litellm.service import Service

__all__ = ["loopback_only", "service", "worlds"]

Worlds = Callable[..., World]


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, type[WaitingLoop]]:
    """The loop of every test here."""
    return {"waiting": WaitingLoop}


@pytest.fixture
async def worlds(service: Service, tmp_path: Path) -> AsyncIterator[Worlds]:
    """Makes worlds whose model is at the loopback service; each has a journal of its own."""
    made: list[World] = []

    def make(**changes: Any) -> World:
        folder = tmp_path / f"run-{len(made)}"
        folder.mkdir()
        made.append(World(folder, service, **changes))
        return made[-1]

    yield make
    for world in made:
        await world.close()
