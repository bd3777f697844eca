"""A crowd of callers over real provider hosts and a real governor's core, with an adversary inside.

The adversary decides what each attempt reports or raises, how long it takes, which callers are
cancelled, which processes die with everything they had in flight, and when the governor itself
dies and starts again from its journal. The laws of money are checked after every message.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter

from matrix.admission.rates import RateGroup
from matrix.admission.tariffs import Tariff
from matrix.engine.calls.provider_host import ProviderHost
from matrix.engine.governor.books import presumed_entry
from matrix.engine.governor.core import GovernorCore, Tick
from matrix.engine.governor.history import NOTHING_KNOWN, fold_session
from matrix.engine.wire.messages import Granted, Recorded, Refused, ToGovernor
from matrix.engine.wire.setup import ModelEntry
from matrix.model.entries import Entry, Held, Settled, session_of
from matrix.model.errors import Censored, Suspended
from matrix.model.money import NanoUSD
from matrix.model.records import Answer, Call, CallKey, CallParams, ChatMessage
from matrix.providers.base import ProviderReply
from matrix.providers.scripted import ScriptedProvider
from tests.badinput.adversary import MOST_TOKENS, Adversary, Strategy
from tests.books import fold_money
from tests.engine.plans import plan

GROUPS = {"wide": None, "narrow": 2}
MODELS = {
    "cheap": ModelEntry("litellm", "cheap", Tariff.from_usd_per_mtok(1, 4), "wide"),
    "dear": ModelEntry(
        "litellm", "dear", Tariff.from_usd_per_mtok(15, 75, cached_usd=1.5), "narrow"
    ),
}
MOST_STEPS = 5_000
"""Turns of the loop after which a crowd that is not done is stuck."""


class Crowd:
    """One run: sessions with calls, two provider processes, one governor."""

    def __init__(
        self, dice: random.Random, strategy: Strategy, *, cap: NanoUSD, sessions: int, width: int
    ) -> None:
        self._adversary, self._cap = Adversary(dice, strategy), cap
        self._calls = [
            call_of(f"s{session}", slot, session, dice.choice(sorted(MODELS)))
            for session in range(sessions)
            for slot in range(width)
        ]
        self.journal: list[Entry] = []
        self._committed: NanoUSD = 0
        self._now = 0.0
        self.told: Counter[CallKey] = Counter()
        self.cancelled: set[CallKey] = set()
        self.stopped: set[CallKey] = set()
        self.core = self._new_core()
        self._hosts: dict[str, ProviderHost] = {}
        self._tasks: dict[CallKey, asyncio.Task[None]] = {}
        for peer in ("a", "b"):
            self._hosts[peer] = self._new_host(peer)

    async def play(self) -> None:
        """Ask everything, let the adversary act, and wait until nobody waits any more."""
        for call in self._calls:
            self._ask(call)
        for _ in range(MOST_STEPS):
            await asyncio.sleep(0)
            if all(task.done() for task in self._tasks.values()) and self._quiet:
                break
            self._act()
            self._pass_time()
        assert self._quiet, "something is open for ever"
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        for key, task in self._tasks.items():
            if not task.cancelled() and (error := task.exception()) is not None:
                raise AssertionError(f"call {key} broke") from error

    @property
    def _quiet(self) -> bool:
        """Whether nobody waits at the gate and nothing is in flight."""
        counters = self.core.picture(0.0).counters
        return not counters.in_flight and not counters.waiting

    def _pass_time(self) -> None:
        """Calls whose account was refused are held back until it is later."""
        counters = self.core.picture(0.0).counters
        if counters.waiting and not counters.in_flight:
            self._now += 0.5
            self._tick()

    # --- the adversary ----------------------------------------------------------------------------

    def _act(self) -> None:
        """One step of the adversary; who is done is left alone."""
        adversary, strategy = self._adversary, self._adversary.strategy
        if adversary.chance(strategy.cancel):
            self._cancel(adversary.dice.choice(self._calls).key)
        if adversary.chance(strategy.kill):
            self._kill(adversary.dice.choice(sorted(self._hosts)))
        if adversary.chance(strategy.restart):
            self._restart()

    def _cancel(self, key: CallKey) -> None:
        if not self._tasks[key].done():
            self.cancelled.add(key)
            self._tasks[key].cancel()

    def _kill(self, peer: str) -> None:
        """A process is gone with all it had; its successor asks again for what was not answered."""
        orphans = self._bury(peer)
        self.core.lose(peer, 0.0)
        self._tick()
        for call in orphans:
            self._ask(call)

    def _restart(self) -> None:
        """The governor's machine is gone, and every process with it; the journal is left."""
        orphans = [call for peer in sorted(self._hosts) for call in self._bury(peer)]
        self.core = self._new_core()
        for call in orphans:
            self._ask(call)

    def _bury(self, peer: str) -> list[Call]:
        """Replace a process without a word from it; returns what was still wanted of it."""
        self._hosts[peer] = self._new_host(peer)
        orphans = []
        for call in self._calls:
            task = self._tasks[call.key]
            if peer_of(call) == peer and not task.done():
                task.cancel()
                if call.key not in self.cancelled:
                    orphans.append(call)
        return orphans

    async def _attempt(self, call: Call, attempt: int) -> ProviderReply:
        for _ in range(self._adversary.dice.randrange(4)):
            await asyncio.sleep(0)
        if self._adversary.chance(self._adversary.strategy.error):
            raise self._adversary.failure()
        return ProviderReply("said", self._adversary.usage(), 0.1)

    # --- the product ------------------------------------------------------------------------------

    def _new_core(self) -> GovernorCore:
        """A governor that takes up where the journal stands, as the real one does."""
        lost = fold_money(self.journal).open_holds
        self.journal += [presumed_entry(held.hold_id, held, 0.0) for held in lost]
        groups = {name: RateGroup(concurrency=most) for name, most in GROUPS.items()}
        core = GovernorCore(self._cap, groups, fold_money(self.journal).history)
        for session in dict.fromkeys(call.key.session_id for call in self._calls):
            mine = [entry for entry in self.journal if session_of(entry) == session]
            past = fold_session(mine) if mine else NOTHING_KNOWN
            core.open_session("a", plan(session), past, past.snapshot, 0.0, 0.0)
        self.journal += core.tick(0.0, 0.0).entries
        return core

    def _new_host(self, peer: str) -> ProviderHost:
        """A process; what an earlier one of its name still says is not heard."""

        def send(message: ToGovernor) -> None:
            if self._hosts.get(peer) is host:
                self.core.handle(peer, message, self._now, 0.0)
                self._check()
                self._tick()

        host = ProviderHost(
            {"litellm": ScriptedProvider(self._attempt)},
            MODELS,
            send,
            attempts=3,
            sleep=_no_wait,
            clock=lambda: 0.0,
        )
        return host

    def _ask(self, call: Call) -> None:
        self._tasks[call.key] = asyncio.ensure_future(
            self._asking(call, self._hosts[peer_of(call)])
        )

    async def _asking(self, call: Call, host: ProviderHost) -> None:
        try:
            answer = await host.ask(call)
        except (Censored, Suspended):
            self.stopped.add(call.key)
        else:
            assert isinstance(answer, Answer)
            self.told[call.key] += 1

    def _tick(self) -> None:
        tick = self.core.tick(self._now, 0.0)
        self.journal += tick.entries
        for entry in tick.entries:
            if isinstance(entry, Held):
                self._committed += entry.amount
            elif isinstance(entry, Settled):
                self._committed += entry.cost - entry.held
        self._check()
        balance = self.core.ledger.balance
        assert self._committed == balance.spent + balance.held, "the journal knows of it all"
        self.core.sent(tick.mail)
        self._post(tick)

    def _post(self, tick: Tick) -> None:
        for peer, letter in tick.mail:
            if isinstance(letter, Granted | Recorded | Refused):
                host = self._hosts[peer]
                asyncio.get_running_loop().call_soon(self._deliver, peer, host, letter)

    def _deliver(self, peer: str, host: ProviderHost, letter: Granted | Recorded | Refused) -> None:
        if self._hosts.get(peer) is host:
            host.deliver(letter)

    # --- laws -------------------------------------------------------------------------------------

    def _check(self) -> None:
        """The cap is kept at every step, whatever anybody reports."""
        balance = self.core.ledger.balance
        assert min(balance.settled, balance.presumed, balance.held, balance.overrun) >= 0
        assert balance.settled + balance.presumed + balance.held <= self._cap

    def check_end(self) -> None:
        """Nothing is left open, every call has its end, and the journal says the same."""
        balance, picture = self.core.ledger.balance, self.core.picture(0.0)
        assert (balance.held, self.core.ledger.holds) == (0, {})
        assert (picture.counters.in_flight, picture.counters.waiting) == (0, 0)
        over = [entry for entry in self.journal if isinstance(entry, Settled)]
        held = [entry for entry in self.journal if isinstance(entry, Held)]
        ids = [entry.hold_id for entry in over]
        assert sorted(ids) == sorted(entry.hold_id for entry in held), "each hold ends once"
        assert len(set(ids)) == len(ids)
        assert (
            sum(entry.cost for entry in over)
            == balance.spent
            == sum(picture.spent_by_role.values())
        )
        money = fold_money(self.journal)
        assert money.history.settled == balance.settled
        assert money.history.presumed == balance.presumed
        assert money.history.overrun == balance.overrun
        self._check_calls(over)

    def _check_calls(self, over: list[Settled]) -> None:
        recorded = Counter(entry.key for entry in over if entry.answer is not None)
        assert set(recorded.values()) <= {1}, "a call was paid for twice"
        for call in self._calls:
            key = call.key
            assert self.told[key] <= 1
            if key not in self.cancelled | self.stopped:
                assert (self.told[key], recorded[key]) == (1, 1)


def call_of(session: str, slot: int, order: int, model: str) -> Call:
    key = CallKey(session, "turn", 1, str(slot))
    messages = (ChatMessage("user", "x" * 60),)
    params = CallParams(MOST_TOKENS)
    return Call(key, "digest", order, model, model, messages, params, 1)


def peer_of(call: Call) -> str:
    """The process that has a session's calls."""
    return "a" if call.order % 2 else "b"


async def _no_wait(seconds: float) -> None:
    await asyncio.sleep(0)
