"""Runs of real models that are not real: ``matrix run`` through litellm against loopback servers.

Every server is a process of its own on the same machine, so it takes its share of the same
processors; its time is measured and given apart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from benchmarks.runs import Job, Played, play
from matrix.serving.options import ServeOptions
from matrix.serving.process import SimServer

SERVER: Final = "server"
"""Role of the servers' processes among those of a run."""

_PRICE: Final = {"input": 0.1, "output": 0.4}


class ServedModel(NamedTuple):
    """A model behind one of the servers, and the limit group that its calls belong to."""

    name: str
    server: int
    group: str = "served"


class Rehearsal(NamedTuple):
    """What is played against the servers.

    Attributes:
        servers: What each serves.
        models: Levels of the run's only factor.
        groups: Limit group -> its limits in the spec.
        sessions: Sessions in all; every one is open from the beginning.
        options: Options of the counter kind.
        processes: Provider clients.
        memory: Whether to follow the memory of the run's processes.
    """

    servers: Sequence[ServeOptions]
    models: Sequence[ServedModel]
    groups: Mapping[str, Mapping[str, float]]
    sessions: int
    options: Mapping[str, int]
    processes: int = 2
    memory: bool = False


class Rehearsed(NamedTuple):
    """A rehearsal that was played: the run, and what each server counted."""

    played: Played
    stats: list[dict[str, Any]]


def rehearse(folder: Path, name: str, what: Rehearsal) -> Rehearsed:
    """Play a rehearsal in ``folder/name``.

    Raises:
        CommandFailed: The run failed.
        WrongRun: It did less than it was asked to do.
    """
    return asyncio.run(_rehearse(what, lambda job: play(folder, name, job)))


async def _rehearse(what: Rehearsal, play_job: Callable[[Job], Played]) -> Rehearsed:
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(SimServer(each)) for each in what.servers]
        job = Job(
            what.sessions,
            _spec(what, [server.url for server in servers]),
            what.sessions,
            memory=what.memory,
            beside=dict.fromkeys((server.pid for server in servers), SERVER),
        )
        played = await asyncio.to_thread(play_job, job)
        return Rehearsed(played, [await server.stats() for server in servers])


def _spec(what: Rehearsal, urls: Sequence[str]) -> str:
    return yaml.safe_dump(
        {
            "name": "served",
            "kind": "counter",
            "scenarios": ["one"],
            "factors": {"counter": [model.name for model in what.models]},
            "options": dict(what.options),
            "limits": {"turns": what.options["turns"]},
            "models": {
                model.name: {
                    "target": "openai/echo",
                    "api_base": urls[model.server],
                    "price": dict(_PRICE),
                    "group": model.group,
                }
                for model in what.models
            },
            "groups": {name: dict(limits) for name, limits in what.groups.items()},
            "providers": {"processes": what.processes},
        }
    )


def plain(latency_ms: float, **changes: Any) -> Rehearsal:
    """A rehearsal with one server, one model and no limit but an ample concurrency."""
    what = Rehearsal(
        servers=[ServeOptions(latency_ms=latency_ms)],
        models=[ServedModel("one", 0)],
        groups={"served": {"concurrency": 100_000}},
        sessions=200,
        options={"turns": 20},
    )
    return what._replace(**changes)
