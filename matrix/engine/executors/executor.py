"""What an executor is: the processes of a run, started, fed with sessions, watched and stopped.

Two exist: everything in this process (:mod:`matrix.engine.executors.inprocess`) and Ray actors (the
``matrix_actors`` package). They are found by entry point, so that nothing imports upwards.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import entry_points
from inspect import signature
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from matrix.engine.wire.messages import (
    NodeNews,
    Picture,
    ProcessDied,
    ProcessReplaced,
    ProviderClosed,
    RunFailed,
    SessionEnded,
    SessionSuspended,
)
from matrix.engine.wire.setup import RunSetup
from matrix.model.entries import Looked
from matrix.model.errors import BadInput, Mistake, did_you_mean
from matrix.model.plan import Plan
from matrix.model.records import SessionPlan

if TYPE_CHECKING:
    from matrix.engine.prepare.prepared import Prepared

PUBLISH_EVERY_S = 5.0
"""How long finished sessions wait, about, until readers can see them."""

PUBLISH_SHARE = 0.01
"""In long runs the wait grows to this share of the time so far, so that parts stay few."""


async def publishing(closing: asyncio.Event, publish: Callable[[], Awaitable[object]]) -> None:
    """Publish after every pause until ``closing`` is set, and once more then."""
    began = time.monotonic()
    while not closing.is_set():
        with suppress(TimeoutError):
            async with asyncio.timeout(publish_pause(time.monotonic() - began)):
                await closing.wait()
        await publish()


def publish_pause(elapsed_s: float) -> float:
    """Seconds until tables are published again, ``elapsed_s`` into a run."""
    return max(PUBLISH_EVERY_S, PUBLISH_SHARE * elapsed_s)


News = (
    SessionEnded
    | SessionSuspended
    | ProviderClosed
    | ProcessDied
    | ProcessReplaced
    | NodeNews
    | RunFailed
)


class Executor(Protocol):
    """The processes of one run."""

    async def start(self, setup: RunSetup) -> None:
        """Bring everything up; returns when sessions can be opened."""
        ...

    def open(self, plans: Sequence[SessionPlan]) -> None:
        """Give sessions to workers."""
        ...

    async def news(self) -> list[News]:
        """What has happened since the last call; waits until there is something."""
        ...

    async def picture(self) -> Picture:
        """Money and counters now."""
        ...

    async def record(self, look: Looked) -> None:
        """Journal a look at the scores; returns when it is durable, and may be acted on."""
        ...

    async def drain(self) -> None:
        """Let attempts in flight settle and sessions go."""
        ...

    async def finish(self, plan: Plan, reason: str) -> None:
        """Publish the final tables; ``reason`` goes to planned sessions that did not end."""
        ...

    async def stop(self, *, at_once: bool = False) -> None:
        """Take everything down; safe at any time, also after a failed start.

        ``at_once`` does not wait for anybody: what is journalled is kept, the rest is lost.
        """
        ...


@runtime_checkable
class Requiring(Protocol):
    """An executor that can look for what a run needs, before its folder is made."""

    @property
    def joined(self) -> str:
        """The machines it plays on, if they were there before it; empty otherwise."""
        ...

    @property
    def rejoins(self) -> str:
        """Options by which a run that is resumed plays on the same machines; empty for none."""
        ...

    def require(self, prepared: Prepared) -> list[str]:
        """See that the run can be played; returns what is worth knowing, a sentence each.

        Raises:
            MatrixError: It cannot; the message says why.
        """
        ...


@runtime_checkable
class Checkable(Protocol):
    """An executor that can say beforehand whether it would start."""

    def check(self) -> str:
        """What it would run on, in words.

        Raises:
            MatrixError: It cannot start; the message says why.
        """
        ...


AUTO = "auto"
IN_PROCESS = "in-process"
RAY = "ray"

CLUSTER_VARIABLES = ("MATRIX_RAY_ADDRESS", "RAY_ADDRESS")
"""Where an address stands that no flag says; Ray sets the second one in submitted jobs."""

RAY_START_S = 8.0
"""From the command to the first session on a Ray that has to be started, in seconds."""

OWN_CALL_S = 0.0003
"""What everything but the model takes for a call in one process, in seconds. Both are those of
docs/performance.md."""


ANY_CALLS = 100.0
"""Calls of a session of a kind that does not say how many it makes."""


class ExecutorChoice(NamedTuple):
    """Where a run is played.

    Attributes:
        name: ``auto`` (see :func:`chosen`), ``ray``, ``in-process``, or one that is installed.
        address: The cluster to join, ``HOST:PORT`` or ``auto``; for Ray.
        workers: Processes that play sessions; as many as there are CPUs for, if left out.
    """

    name: str = AUTO
    address: str | None = None
    workers: int | None = None


AnyExecutor = str | ExecutorChoice
"""An executor by its name, or with how it is wanted."""


def as_choice(requested: AnyExecutor) -> ExecutorChoice:
    """What was requested, by its name or in full."""
    return ExecutorChoice(requested) if isinstance(requested, str) else requested


def chosen(
    prepared: Prepared, requested: AnyExecutor, environ: Mapping[str, str]
) -> tuple[ExecutorChoice, str]:
    """The executor that is meant, and why if nobody named it; the results are the same on each.

    ``auto`` plays in this process what is over there before Ray would be up, by the plan's own
    estimate, and all else on Ray. Whoever names a cluster, or a number of workers, means Ray.
    """
    choice = as_choice(requested)
    if choice.name != AUTO:
        return choice, ""
    cluster = choice.address is not None or any(map(environ.get, CLUSTER_VARIABLES))
    if cluster or choice.workers is not None:
        return choice._replace(name=RAY), ""
    timed = prepared.play_money or prepared.time.middle > 0
    own = OWN_CALL_S * (prepared.calls_each or ANY_CALLS) * prepared.plan.sessions
    seconds = max(prepared.time.middle, own)
    if not timed or seconds > RAY_START_S:
        return choice._replace(name=RAY), ""
    return choice._replace(name=IN_PROCESS), (
        "played in this process, which is over before Ray would be up (--executor ray plays on it)"
    )


def load_executor(requested: AnyExecutor) -> Executor:
    """A new executor of this name; what ``auto`` means for a run says :func:`chosen`.

    Raises:
        BadInput: No such executor is installed, or it takes no such setting.
    """
    name, *_ = choice = as_choice(requested)
    found = {entry.name: entry for entry in entry_points(group="matrix.executors")}
    if name not in found:
        known = sorted({AUTO, *found})
        raise BadInput(
            [
                Mistake(
                    "--executor",
                    None,
                    "",
                    f"found {name!r}; installed: {', '.join(known)}{did_you_mean(name, known)}",
                )
            ]
        )
    made, options = found[name].load(), choice._asdict()
    given = {key: value for key, value in options.items() if key != "name" and value is not None}
    takes = signature(made).parameters
    if wrong := [
        Mistake(f"--{key}", None, "", f"found {given[key]!r}, and {name} takes none; leave it out")
        for key in given
        if key not in takes
    ]:
        raise BadInput(wrong)
    executor: Executor = made(**given)
    return executor
