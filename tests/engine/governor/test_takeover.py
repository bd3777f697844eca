"""A governor, a worker or a provider client dies in the middle, and the run goes on without it.

Everything runs in this process, and a process "dies" by being cut off at a random moment: nothing
it would have said is heard any more, and nothing is finished. That every message may be lost or
come twice is what these tests are for; that real processes die is in ``tests/faults``.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from matrix.engine.calls.provider_client import ProviderClient, RemoteCalls
from matrix.engine.governor.core import DRIVER
from matrix.engine.governor.governor import Governor
from matrix.engine.prepare.registry import load_kind
from matrix.engine.session.worker import SessionWorker
from matrix.engine.wire.link import Link, Mail, ServerGone, Transport
from matrix.engine.wire.messages import (
    AskEnded,
    EndSession,
    RunFailed,
    SessionEnded,
    SessionSuspended,
)
from matrix.engine.wire.setup import RunSetup
from matrix.model.entries import Ended, Held, Settled, TurnDone
from tests.engine.live import journal_entries
from tests.engine.plans import plan, setup
from tests.engine.waiting import settled, until
from tests.waiting import LONGEST_WAIT_S

SESSIONS = 12
OPTIONS = {"step": 2, "turns": 4, "width": 3}


class Line:
    """The way to a server that can be cut: then it is as if its process had died."""

    def __init__(self, server: Transport) -> None:
        self._server = server
        self._cut = asyncio.Event()

    def cut(self) -> None:
        self._cut.set()

    async def post(self, peer: str, number: int, batch: Sequence[Any]) -> None:
        if self._cut.is_set():
            raise ServerGone("cut off")
        await self._server.post(peer, number, list(batch))
        await settled(1)  # the acknowledgement may be lost although the batch was taken
        if self._cut.is_set():
            raise ServerGone("cut off")

    async def poll(self, peer: str, after: int) -> Mail:
        polled = asyncio.ensure_future(self._server.poll(peer, after))
        cut = asyncio.ensure_future(self._cut.wait())
        await asyncio.wait([polled, cut], return_when=asyncio.FIRST_COMPLETED)
        if self._cut.is_set():
            polled.cancel()
            raise ServerGone("cut off")
        cut.cancel()
        return polled.result()


class World:
    """One life of a run: a governor, a client, a worker and the driver's ear, all replaceable."""

    def __init__(self, run: RunSetup) -> None:
        self.run = run
        self.plans = [plan(f"s{n}", order=n, options=OPTIONS) for n in range(SESSIONS)]
        self.ended: dict[str, SessionEnded] = {}
        self.failures: list[RunFailed] = []
        self._generation = Counter[str]()
        self._born_governor()
        self._born_client()
        self._born_worker()
        self._ear = Link(DRIVER, self.line, self._hear)

    # --- births -----------------------------------------------------------------------------------

    def _name(self, what: str) -> str:
        self._generation[what] += 1
        return f"{what}-{self._generation[what]}"

    def _born_governor(self, alive: Sequence[str] = ()) -> None:
        self.governor = Governor(self.run, alive=alive)
        self.governor.start()
        self.line = Line(self.governor)

    def _born_client(self) -> None:
        self.client = ProviderClient(self._name("client"), "sim", self.run, self.line)
        self.client_line = Line(self.client)

    def _born_worker(self) -> None:
        kinds = {"counter": load_kind("counter")}
        name = self._name("worker")
        self.worker = SessionWorker(name, self.run, kinds, self.line)
        self.calls = RemoteCalls(name, self.client_line)

    def start(self) -> None:
        self.client.start()
        self._start_worker()
        self._ear.start()
        self.worker.open(self.plans)

    def _start_worker(self) -> None:
        self.calls.start()
        self.worker.start(host=None, routes={"sim": self.calls})

    # --- deaths -----------------------------------------------------------------------------------

    async def governor_dies(self) -> None:
        self.line.cut()
        await self.governor.stop(at_once=True)
        self._born_governor(alive=[self.worker.name, self.client.name])
        await self.client.reconnect(self.line)
        await self.worker.reconnect(self.line)
        await self._ear.reconnect(self.line, first=self._still_waited_for)

    def _still_waited_for(self) -> list[AskEnded]:
        return [AskEnded(tuple(p for p in self.plans if p.session_id not in self.ended))]

    async def client_dies(self) -> None:
        self.client_line.cut()
        dead = self.client
        await _silence(dead)
        self._born_client()
        await self.governor.lose(dead.name)
        self.client.start()
        await self.calls.reconnect(self.client_line)

    async def worker_dies(self) -> None:
        dead = self.worker
        await self.calls.stop()
        await _silence(dead)
        self._born_worker()
        lost = await self.governor.lose(dead.name)
        self._start_worker()
        given = {one.plan.session_id for one in lost}
        # those that it was given but had not yet told the governor of are the driver's to give
        self.worker.open([p for p in self.plans if p.session_id not in self.ended])
        assert given <= {p.session_id for p in self.plans}

    # --- the end ----------------------------------------------------------------------------------

    async def stop(self) -> None:
        await self.worker.stop()
        await self.calls.stop()
        await self.client.stop()
        await self._ear.stop()
        await self.governor.stop()

    @property
    def over(self) -> bool:
        return len(self.ended) == SESSIONS or bool(self.failures)

    def _hear(self, news: SessionEnded | SessionSuspended | RunFailed) -> None:
        match news:
            case SessionEnded(told, _):
                self.ended[told.session_id] = news
            case RunFailed():
                self.failures.append(news)
            case SessionSuspended():
                raise AssertionError("nobody drained this run")


async def _silence(process: ProviderClient | SessionWorker) -> None:
    """Cut a process off before anything that its tasks do in their last moments is heard."""
    process.send = process._link.send = _to_nobody  # type: ignore[method-assign]
    await process.stop()


def _to_nobody(message: Any) -> None:
    """A dead process says nothing."""


Death = Callable[[World], Any]
DEATHS: dict[str, Sequence[Death]] = {
    "governor": [World.governor_dies],
    "client": [World.client_dies],
    "worker": [World.worker_dies],
    "any": [World.governor_dies, World.client_dies, World.worker_dies],
}


async def live(run: RunSetup, deaths: Sequence[Death], seed: int, pause: int = 60) -> World:
    """Play a run to its end, with up to six deaths; ``pause`` turns of the loop between them."""
    draw = random.Random(seed)
    world = World(run)
    world.start()
    for _ in range(6):
        if not deaths:
            break
        await settled(draw.randrange(1, pause))
        if world.over:
            break
        await draw.choice(deaths)(world)
    await until(lambda: world.over)
    await world.stop()
    assert world.failures == []
    return world


def told(run_dir: Path) -> dict[str, Any]:
    """What must be the same whatever died."""
    entries = journal_entries(run_dir)
    ends = {
        e.session_id: (e.outcome, e.turns, e.score, e.tally) for e in entries if type(e) is Ended
    }
    turns = Counter(
        (e.session_id, e.phase, e.turn, e.state) for e in entries if type(e) is TurnDone
    )
    return {"ends": ends, "turns": turns}


def money(run_dir: Path) -> tuple[int, int]:
    """Settled and presumed, by the journal."""
    settled_ = [e for e in journal_entries(run_dir) if type(e) is Settled]
    assert len({e.hold_id for e in settled_}) == len(settled_), "an attempt was closed twice"
    held = {e.hold_id for e in journal_entries(run_dir) if type(e) is Held}
    assert {e.hold_id for e in settled_} == held, "a hold was left open"
    by = {d: sum(e.cost for e in settled_ if e.disposition == d) for d in ("settled", "presumed")}
    return by["settled"], by["presumed"]


@pytest.mark.parametrize("what", list(DEATHS))
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("pause", [60, 6], ids=["now and then", "in haste"])
async def test_whoever_dies_the_run_comes_to_the_same_end(
    tmp_path: Path, what: str, seed: int, pause: int
) -> None:
    quiet, rough = setup(tmp_path / "quiet"), setup(tmp_path / "rough")
    for run in (quiet, rough):
        Path(run.run_dir).mkdir()
    await live(quiet, (), seed)
    world = await live(rough, DEATHS[what], seed, pause)
    assert told(tmp_path / "rough") == told(tmp_path / "quiet")
    paid, presumed = money(tmp_path / "rough")
    assert paid == money(tmp_path / "quiet")[0], "nothing is paid twice"
    if what in ("governor", "worker"):
        assert presumed == 0, "what is in flight elsewhere goes on and is settled"
    assert {p.session_id for p in world.plans} == set(world.ended)


async def test_answers_are_given_once_per_call(tmp_path: Path) -> None:
    run = setup(tmp_path / "run")
    Path(run.run_dir).mkdir()
    await live(run, DEATHS["governor"], seed=99)
    answers = [e.key for e in journal_entries(tmp_path / "run") if type(e) is Settled and e.answer]
    assert len(answers) == len(set(answers)) == SESSIONS * 4 * 3


class CutAtEnds(Line):
    """A line that is cut by the first end of a session that would pass over it."""

    def __init__(self, server: Transport, died: asyncio.Event) -> None:
        super().__init__(server)
        self._died = died

    async def post(self, peer: str, number: int, batch: Sequence[Any]) -> None:
        if any(isinstance(message, EndSession) for message in batch):
            self.cut()
            self._died.set()
        await super().post(peer, number, batch)


async def test_an_end_that_no_governor_wrote_is_told_to_the_next_one(tmp_path: Path) -> None:
    """The session is not played any more, so it must be rejoined for its end alone."""
    run = setup(tmp_path / "run")
    Path(run.run_dir).mkdir()
    world = World(run)
    died = asyncio.Event()
    world.line = CutAtEnds(world.governor, died)
    await world.worker.reconnect(world.line)
    await world.worker.stop()
    world.client._link._transport = world._ear._transport = world.line
    world.start()
    await asyncio.wait_for(died.wait(), LONGEST_WAIT_S)
    await world.governor_dies()
    await until(lambda: world.over)
    await world.stop()
    assert {p.session_id for p in world.plans} == set(world.ended)


class StuckLine(Line):
    """A line on which, from some moment on, nothing arrives any more, until it is cut."""

    def __init__(self, server: Transport) -> None:
        super().__init__(server)
        self.stuck = False

    async def post(self, peer: str, number: int, batch: Sequence[Any]) -> None:
        if self.stuck:
            await self._cut.wait()
        await super().post(peer, number, batch)


class Moving(World):
    """Two workers between whom sessions are moved while governors die."""

    def __init__(self, run: RunSetup) -> None:
        super().__init__(run)
        name = self._name("worker")
        self.other = SessionWorker(name, run, {"counter": load_kind("counter")}, self.slow)
        self.other_calls = RemoteCalls(name, self.client_line)
        self._moves: list[asyncio.Task[None]] = []

    def _born_worker(self) -> None:
        self.slow = StuckLine(self.governor)
        name = self._name("worker")
        self.worker = SessionWorker(name, self.run, {"counter": load_kind("counter")}, self.slow)
        self.calls = RemoteCalls(name, self.client_line)

    def start(self) -> None:
        self.other_calls.start()
        self.other.start(host=None, routes={"sim": self.other_calls})
        super().start()

    async def governor_dies(self) -> None:
        """It heard nothing more of the workers before; who takes sessions on comes back first."""
        self.slow.cut()
        self.line.cut()
        await self.governor.stop(at_once=True)
        names = [self.worker.name, self.other.name, self.client.name]
        self._born_governor(alive=names)
        self.slow = StuckLine(self.governor)
        await self.client.reconnect(self.line)
        await self.other.reconnect(self.slow)
        await self.worker.reconnect(self.slow)
        await self._ear.reconnect(self.line, first=self._still_waited_for)

    async def move_some(self) -> None:
        """From one worker to the other, as each is let go; returns when their turns are over."""
        asked = set(self.worker.sessions[::2])
        self._moves.append(asyncio.create_task(self._move(sorted(asked))))
        await until(lambda: not asked & self.worker._tasks.keys())

    async def _move(self, asked: Sequence[str]) -> None:
        gone = await self.worker.release(asked)
        self.other.open([plan for plan in self.plans if plan.session_id in gone])

    async def stop(self) -> None:
        for move in self._moves:
            move.cancel()
        await self.other.stop()
        await self.other_calls.stop()
        await super().stop()

    def _hear(self, news: SessionEnded | SessionSuspended | RunFailed) -> None:
        if not isinstance(news, SessionSuspended):
            super()._hear(news)


@pytest.mark.parametrize("seed", range(20))
async def test_a_session_that_is_moved_while_governors_die_is_played_and_paid_once(
    tmp_path: Path, seed: int
) -> None:
    """It goes on elsewhere only from what is durable, or it would play its last turn again."""
    quiet, rough = setup(tmp_path / "quiet"), setup(tmp_path / "rough")
    for run in (quiet, rough):
        Path(run.run_dir).mkdir()
    await live(quiet, (), seed)
    draw, world = random.Random(seed), Moving(rough)
    world.start()
    for turns in sorted(draw.sample(range(1, SESSIONS * 3), 3)):
        await until(lambda: world.over or world.governor.picture().counters.turns >= turns)  # noqa: B023
        world.slow.stuck = True
        await world.move_some()
        if world.over:
            break
        await world.governor_dies()
    await until(lambda: world.over)
    await world.stop()
    assert world.failures == []
    assert told(tmp_path / "rough") == told(tmp_path / "quiet")
    assert money(tmp_path / "rough") == money(tmp_path / "quiet")
