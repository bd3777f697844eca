"""Whatever happens in one tick happens in order: the governor over a journal, against a model.

Every rule only says something to the governor; what was said gathers until a tick, as it does
while a transaction is being written. Workers here are honest: they play on from what they get, and
a session that is opened elsewhere asks anew what it had asked in its turn, as real ones do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from matrix.engine.governor.core import DRIVER
from matrix.engine.governor.governor import Governor
from matrix.engine.wire.messages import (
    EndSession,
    Granted,
    OpenSession,
    Recorded,
    Rejoin,
    SaveTurn,
    SessionEnded,
    SessionOpened,
    ToGovernor,
)
from matrix.model.entries import Ended, Held, Looked, Settled, Tally, TurnDone, session_of
from matrix.model.records import Answer, CallKey, Message, Phase
from matrix.store.journal.session_state import fold
from tests.engine.live import journal_entries
from tests.engine.plans import answer, ask, plan, settle, setup
from tests.engine.waiting import settled
from tests.sampling import examples


@dataclass
class Played:
    """A session as its workers know it.

    Attributes:
        calls: Asked by this worker in the turn; ``most`` by any worker.
    """

    worker: str | None = None
    opened: bool = False
    begun: bool = False
    turn: int = -1
    calls: int = 0
    most: int = 0
    waiting: set[CallKey] = field(default_factory=set)
    granted: dict[CallKey, int] = field(default_factory=dict)
    used: Tally = field(default_factory=Tally)
    saved: int = -1
    over: bool = False
    given_up: bool = False

    def take(self, key: CallKey, given: Answer) -> None:
        """A call was answered, as its worker hears once."""
        if key in self.waiting:
            self.waiting.remove(key)
            self.used = self.used.plus("counter", given)


def _idle(played: Played) -> bool:
    return played.worker is None and not played.over


def _given(played: Played) -> bool:
    return played.worker is not None


def _playing(played: Played) -> bool:
    return played.worker is not None and played.begun


def _in_flight(played: Played) -> bool:
    return _playing(played) and bool(played.granted)


def _between(played: Played) -> bool:
    """All calls of the turn were made and heard of, as when sessions save or end."""
    return _playing(played) and not played.waiting and played.calls >= played.most


def _worked(played: Played) -> bool:
    return _between(played) and played.used.calls > 0


def _left(played: Played) -> bool:
    return _idle(played) and played.opened


class GovernorInbox(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.run_dir = Path(self.folder.name)
        self.runner = asyncio.Runner()
        self.sessions = {name: Played() for name in ("s1", "s2", "s3")}
        self.workers: dict[str, int] = {}
        self.born = self.looks = 0
        self.script: list[Callable[[], Coroutine[Any, Any, None]]] = []
        self.mail: list[tuple[str, Any]] = []
        self.ends: list[SessionEnded] = []
        self.listening: dict[str, asyncio.Task[None]] = {}
        self.promises: list[asyncio.Task[Any]] = []
        self.runner.run(self._govern(()))

    # --- what is said -----------------------------------------------------------------------------

    @precondition(lambda self: self._where(_idle))
    @rule(data=st.data(), same=st.booleans())
    def open(self, data: st.DataObject, same: bool) -> None:
        """A session goes to a new worker, or to one that already plays another."""
        session, played = self._draw(data, _idle)
        known = sorted(self.workers)
        played.worker = known[-1] if same and known else self._new_worker()
        played.opened, played.begun = True, False
        self._say(played.worker, OpenSession(plan(session)))

    @precondition(lambda self: self._where(_playing))
    @rule(data=st.data())
    def ask(self, data: st.DataObject) -> None:
        self._ask(*self._draw(data, _playing))

    @precondition(lambda self: self._where(_in_flight))
    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        self._settle(self._draw(data, _in_flight)[1])

    @precondition(lambda self: self._where(_between))
    @rule(data=st.data())
    def save(self, data: st.DataObject) -> None:
        session, played = self._draw(data, _between)
        played.turn += 1
        played.calls, played.most, played.saved = 0, 0, played.turn
        self._say(played.worker, SaveTurn(_turn(session, played.turn, played.used)))

    @precondition(lambda self: self._where(_between))
    @rule(data=st.data())
    def play(self, data: st.DataObject) -> None:
        """A call of a turn that goes well, up to the moment at which its answer is told."""
        session, played = self._draw(data, _between)
        self._ask(session, played)
        self.tick()
        self._settle(played)

    @precondition(lambda self: self._where(_worked))
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        session, played = self._draw(data, _worked)
        end = Ended(session, "completed", "", "", played.turn, 1.0, played.used, 0.0)
        self._say(played.worker, EndSession(end))
        played.over, played.worker = True, None

    @precondition(lambda self: self._where(_given))
    @rule(data=st.data(), then=st.sampled_from(["nothing", "open", "end_poisoned"]))
    def lose(self, data: st.DataObject, then: str) -> None:
        """A worker dies, and often something follows at once."""
        session, played = self._draw(data, _given)
        dead = played.worker
        assert dead is not None
        del self.workers[dead]
        self.script.append(lambda: self._promise(self.governor.lose(dead)))
        for one in self.sessions.values():
            if one.worker == dead:
                one.worker, one.granted, one.waiting = None, {}, set()
        match then:
            case "open":
                played.worker, played.begun = self._new_worker(), False
                self._say(played.worker, OpenSession(plan(session)))
            case "end_poisoned":
                self._condemn(session, played)

    @precondition(lambda self: self._where(_left))
    @rule(data=st.data())
    def end_poisoned(self, data: st.DataObject) -> None:
        """A session that nobody plays any more is given up."""
        self._condemn(*self._draw(data, _left))

    @rule()
    def rejoin(self) -> None:
        """Another governor takes over, and every worker says what it plays."""
        self.tick()
        self.runner.run(self._take_over())

    @rule()
    def tick(self) -> None:
        self.runner.run(self._tick())

    # --- laws -------------------------------------------------------------------------------------

    @invariant()
    def nothing_is_paid_twice(self) -> None:
        answered: set[CallKey] = set()
        for entry in journal_entries(self.run_dir):
            match entry:
                case Held():
                    assert entry.key not in answered, "asked again although it was answered"
                case Settled() if entry.answer is not None:
                    answered.add(entry.key)

    @invariant()
    def an_end_counts_everything_that_was_paid_before_it(self) -> None:
        entries = journal_entries(self.run_dir)
        for index, entry in enumerate(entries):
            if isinstance(entry, Ended):
                before = [e for e in entries[:index] if session_of(e) == entry.session_id]
                assert entry.tally == fold(before).used_so_far

    def teardown(self) -> None:
        self.tick()
        given_up = {name for name, played in self.sessions.items() if played.given_up}
        told = {end.plan.session_id for end in self.ends if end.ended.outcome == "errored"}
        assert told == given_up, "the driver hears of every session that was given up"
        self.runner.run(self._stop())
        self.runner.close()
        self.folder.cleanup()

    # --- the world --------------------------------------------------------------------------------

    def _where(self, what: Callable[[Played], bool]) -> list[str]:
        return [session for session, played in self.sessions.items() if what(played)]

    def _draw(self, data: st.DataObject, what: Callable[[Played], bool]) -> tuple[str, Played]:
        session = data.draw(st.sampled_from(self._where(what)))
        return session, self.sessions[session]

    def _ask(self, session: str, played: Played) -> None:
        key = CallKey(session, _phase(played.turn + 1), played.turn + 1, str(played.calls))
        played.calls += 1
        played.most = max(played.most, played.calls)
        played.waiting.add(key)
        self._say(played.worker, ask(key))

    def _settle(self, played: Played) -> None:
        key, hold_id = played.granted.popitem()
        given = answer(f"answer of {key}")
        played.take(key, given)
        self._say(played.worker, settle(key, hold_id, answer=given))

    def _condemn(self, session: str, played: Played) -> None:
        played.over = played.given_up = True
        self.script.append(
            lambda: self._promise(self.governor.end_poisoned(plan(session), "enough"))
        )

    def _new_worker(self) -> str:
        self.born += 1
        name = f"w{self.born}"
        self.workers[name] = 0
        return name

    def _say(self, worker: str | None, message: ToGovernor) -> None:
        assert worker is not None
        self.workers[worker] += 1
        number = self.workers[worker]
        self.script.append(lambda: self.governor.post(worker, number, [message]))

    async def _promise(self, promised: Coroutine[Any, Any, Any]) -> None:
        """Say it now, and hear at the end of the tick what became of it."""
        self.promises.append(asyncio.ensure_future(promised))
        await asyncio.sleep(0)

    async def _govern(self, alive: tuple[str, ...]) -> None:
        self.governor = Governor(setup(self.run_dir), alive=alive)
        self.governor.start()
        self.listening = {}

    async def _take_over(self) -> None:
        await self._stop()
        await self._govern(tuple(self.workers))
        for worker in self.workers:
            played = tuple(plan(s) for s, p in self.sessions.items() if p.worker == worker)
            self.workers[worker] = 1
            await self.governor.post(worker, 1, [Rejoin(played)])

    async def _stop(self) -> None:
        await self.governor.stop()
        await asyncio.gather(*self.listening.values())

    async def _tick(self) -> None:
        for peer in (*self.workers, DRIVER):
            if peer not in self.listening:
                self.listening[peer] = asyncio.create_task(self._listen(peer))
        script, self.script = self.script, []
        for say in script:
            await say()
        self.looks += 1
        await self.governor.record(Looked(self.looks, "step", (), "", None, 0.0))
        await asyncio.gather(*self.promises)
        self.promises.clear()
        await settled()
        heard, self.mail = self.mail, []
        for peer, letter in heard:
            self._hear(peer, letter)

    async def _listen(self, peer: str) -> None:
        governor, last = self.governor, 0
        while True:
            mail = await governor.poll(peer, last)
            if not mail.messages:
                return
            last = mail.last
            self.mail += [(peer, letter) for letter in mail.messages]

    def _hear(self, peer: str, letter: object) -> None:
        match letter:
            case SessionOpened(session, snapshot):
                played = self.sessions[session]
                if played.worker != peer:
                    return
                done = snapshot.checkpoint
                assert (-1 if done is None else done.turn) == played.saved, "a turn was forgotten"
                assert [m.turn for m in snapshot.log] == list(range(played.saved + 1))
                played.begun, played.turn, played.calls = True, played.saved, 0
                played.used = snapshot.used
            case Granted(key, hold_id):
                if self.sessions[key.session_id].worker == peer:
                    self.sessions[key.session_id].granted[key] = hold_id
            case Recorded(key, _, given):
                played = self.sessions[key.session_id]
                if played.worker == peer:
                    played.take(key, given)
            case SessionEnded():
                self.ends.append(letter)


def _turn(session: str, turn: int, used: Tally) -> TurnDone:
    said = (Message("table", "x", f"turn {turn}", turn),)
    return TurnDone(session, _phase(turn), turn, b"{}", said, (), (), (), used, None, (1, 1), 0.0)


def _phase(turn: int) -> Phase:
    return "turn" if turn else "start"


TestGovernorInbox = GovernorInbox.TestCase
TestGovernorInbox.settings = settings(max_examples=examples(60), stateful_step_count=40)
