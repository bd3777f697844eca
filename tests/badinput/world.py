"""One session of three calls on a real model at a loopback service, through everything there is.

Session, worker, provider host, adapter, HTTP, governor, journal: all are the product's own. Only
time is handed in: pauses are noted and take none.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from aiohttp import web

from matrix.admission.ledger import Balance
from matrix.admission.tariffs import Tariff
from matrix.engine.calls.provider_host import ProviderHost
from matrix.engine.governor.core import DRIVER
from matrix.engine.governor.governor import Governor
from matrix.engine.prepare.registry import load_kind
from matrix.engine.session.worker import SessionWorker
from matrix.engine.wire.link import Link
from matrix.engine.wire.messages import (
    AskEnded,
    ProviderClosed,
    RunFailed,
    SessionEnded,
    SessionSuspended,
)
from matrix.engine.wire.setup import ModelEntry
from matrix.model.entries import Ended, Held, Settled
from matrix.model.money import NanoUSD
from matrix.model.records import Usage
from matrix.providers.litellm_adapter.provider import LiteLLMProvider
from matrix.providers.litellm_adapter.settings import LiteLLMSettings, ModelSettings
from tests.books import fold_money
from tests.engine.live import journal_entries
from tests.engine.plans import GROUP, MODEL, USD, plan, setup
from tests.engine.waiting import settled, until
from tests.providers_litellm.service import Answer, Service, chat

PRICE = Tariff.from_usd_per_mtok(3, 15, cached_usd=0.3)
REPORTED = {
    "prompt_tokens": 50,
    "completion_tokens": 2,
    "total_tokens": 52,
    "prompt_tokens_details": {"cached_tokens": 20},
}
USED = Usage(input=50, output=2, cached=20)
COST: NanoUSD = 30 * 3_000 + 20 * 300 + 2 * 15_000
"""What a call costs whose usage is :data:`REPORTED`: every token once, by its own price."""

SECOND_ASKS_FROM = 6
"""The counter starts at 5, so its second call asks to count on from here."""


class Attempt(NamedTuple):
    """One attempt as the journal has it."""

    error_class: str
    disposition: str
    cost: NanoUSD
    held: NanoUSD


class Played(NamedTuple):
    """How a session ended, and what came of each attempt, by turn."""

    ended: Ended
    attempts: dict[int, list[Attempt]]

    @property
    def second(self) -> list[Attempt]:
        """Attempts of the second call."""
        return self.attempts[2]


def trouble_at_the_second_call(service: Service, trouble: Answer, times: int) -> None:
    """The service answers well, but ``times`` requests of the second call meet ``trouble``."""
    left = times

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal left
        count = asked_from(service)
        if count == SECOND_ASKS_FROM and left:
            left -= 1
            return await trouble(request)
        return web.json_response(chat(str(count + 1), usage=REPORTED))

    service.answer = answer


def asked_from(service: Service) -> int:
    """The number that the newest request asks to count on from."""
    text = service.seen[-1].body["messages"][-1]["content"]
    return int(text.rstrip(".").rpartition(" ")[2])


class World:
    """A run of one session; ``pauses`` are those between attempts, in seconds."""

    def __init__(
        self,
        run_dir: Path,
        service: Service,
        *,
        target: str = "openai/gpt-4o",
        cap: NanoUSD = 10 * USD,
        attempts: int = 3,
        utc: Callable[[], float] = lambda: 0.0,
        **settings: Any,
    ) -> None:
        """``settings`` are fields of the adapter's settings, of the process or of the model."""
        entry = ModelEntry("litellm", target, PRICE, GROUP)
        self._setup = setup(run_dir, models={MODEL: entry}, cap_nano=cap, attempts=attempts)
        self.run_dir, self.pauses, self.now = run_dir, list[float](), 1_000.0
        own = {k: settings.pop(k) for k in ModelSettings._fields if k in settings}
        model = ModelSettings(target, **{"api_base": service.base(target), **own})
        self.provider = LiteLLMProvider(LiteLLMSettings({MODEL: model}, **settings), wall=utc)
        self.governor = Governor(self._setup, clock=lambda: self.now, utc=utc)
        kinds = {"counter": load_kind("counter")}
        self._worker = SessionWorker("worker-0", self._setup, kinds, self.governor)
        self._host = ProviderHost(
            {"litellm": self.provider},
            self._setup.models,
            self._worker.send,
            attempts=attempts,
            sleep=self._sleep,
            clock=lambda: self.now,
        )
        self.waited_s = 0.0
        self._news: list[SessionEnded | SessionSuspended | ProviderClosed | RunFailed] = []
        self._link = Link(DRIVER, self.governor, self._news.append)
        self._open = True

    async def play(self, turns: int = 3) -> Played:
        """Play the session to its end, stop everything, and read the journal."""
        self._start(turns)
        await until(lambda: self._passes() and bool(self._news))
        balance = self.governor.picture().balance
        counters = self.governor.picture().counters
        await self.close()
        (news,) = self._news
        assert isinstance(news, SessionEnded), news
        assert (counters.in_flight, counters.waiting, balance.held) == (0, 0, 0)
        return Played(news.ended, self._attempts(balance))

    def _start(self, turns: int = 3) -> None:
        self.governor.start()
        self._worker.start(host=self._host, routes={"litellm": self._host})
        self._link.start()
        options = {"step": 1, "turns": turns, "width": 1}
        self._worker.open([plan(options=options)])

    async def play_until_drained(self) -> dict[int, list[Attempt]]:
        """Play until the account is closed and the session let go; gives attempts by turn."""
        self._start()
        await until(lambda: self._passes() and len(self._news) > 1)
        balance = self.governor.picture().balance
        await self.close()
        closed, suspended = self._news
        assert isinstance(closed, ProviderClosed)
        assert isinstance(suspended, SessionSuspended)
        assert (closed.group, closed.model) == (GROUP, MODEL)
        assert closed.reason
        return self._attempts(balance)

    def _passes(self) -> bool:
        """Time passes while nothing is out and a call is held back."""
        counters = self.governor.picture().counters
        if counters.waiting and not counters.in_flight:
            self.now += 0.25
            self.waited_s += 0.25
            self._link.send(AskEnded(()))  # so that the governor looks at the clock
        return True

    def _attempts(self, balance: Balance) -> dict[int, list[Attempt]]:
        """Attempts by turn, after a look at all the books: they agree, and keep the cap."""
        entries = journal_entries(self.run_dir)
        money = fold_money(entries)
        assert money.open_holds == []
        assert money.history.settled == balance.settled
        assert money.history.presumed == balance.presumed
        assert balance.spent + balance.held <= balance.cap
        over = [entry for entry in entries if isinstance(entry, Settled)]
        assert sum(entry.cost for entry in over) == balance.spent
        held = [entry.hold_id for entry in entries if isinstance(entry, Held)]
        assert sorted(entry.hold_id for entry in over) == sorted(held)
        found: dict[int, list[Attempt]] = {}
        for entry in over:
            attempt = Attempt(entry.error_class, entry.disposition, entry.cost, entry.held)
            found.setdefault(entry.key.turn, []).append(attempt)
        return found

    async def close(self) -> None:
        """Stop everything; harmless if it has stopped."""
        if self._open:
            self._open = False
            await self._worker.stop()
            await self._link.stop()
            await self.governor.stop()
            await self.provider.aclose()

    async def _sleep(self, seconds: float) -> None:
        """The governor has heard of the attempt; then time has passed."""
        await until(lambda: not self.governor.picture().counters.in_flight)
        self.pauses.append(seconds)
        self.now += seconds
        await settled(1)
