"""The one retry layer: what is tried again, what it costs, and who is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from matrix.admission.pricing import BEYOND_DOUBT, input_bound
from matrix.admission.rates import RateGroup
from matrix.engine.calls.provider_host import MAX_WAIT_S, ProviderHost
from matrix.engine.governor.core import GovernorCore
from matrix.engine.governor.history import NOTHING_KNOWN
from matrix.engine.wire.messages import Acquire, Granted, Recorded, Refused, Settle, ToGovernor
from matrix.engine.wire.setup import ModelEntry
from matrix.model.entries import Held, Settled
from matrix.model.errors import (
    AuthenticationFailed,
    Censored,
    ContentRefused,
    ContextOverflow,
    DigestMismatch,
    MalformedAnswer,
    ProviderError,
    ProviderTimeout,
    ProviderUnavailable,
    RateLimited,
    RequestRejected,
    Suspended,
)
from matrix.model.records import Call, Usage
from matrix.providers.base import ProviderReply
from matrix.providers.scripted import Handler, ScriptedProvider
from tests.engine.plans import GROUP, MODEL, TARIFF, USD, call, key, plan
from tests.engine.waiting import settled, until
from tests.waiting import LONGEST_WAIT_S

RETRYABLE = [RateLimited, ProviderUnavailable, ProviderTimeout, MalformedAnswer]
FINAL = [ContextOverflow, RequestRejected]
ATTEMPTS = 3
BOUND = TARIFF.bound(input_bound(call().messages), 16)


class World:
    """A host and a governor's core that talk at once; ``slept`` is every pause it made."""

    def __init__(
        self,
        handler: Handler,
        *,
        cap: int = USD,
        attempts: int = ATTEMPTS,
        max_wait_s: float = MAX_WAIT_S,
    ) -> None:
        self.core = GovernorCore(cap, {GROUP: RateGroup()})
        self.core.open_session("host", plan(), NOTHING_KNOWN, NOTHING_KNOWN.snapshot, 0.0, 0.0)
        self.core.tick(0.0, 0.0)
        self.provider = ScriptedProvider(handler)
        self.entries: list[Any] = []
        self.slept: list[float] = []
        self.said: list[ToGovernor] = []
        self.host = ProviderHost(
            {"sim": self.provider},
            {MODEL: ModelEntry("sim", "counter", TARIFF, GROUP)},
            self.send,
            attempts=attempts,
            sleep=self._sleep,
            max_wait_s=max_wait_s,
            clock=lambda: 7.0,
        )
        self.now = 0.0

    @property
    def attempts(self) -> int:
        return len(self.provider.asked)

    @property
    def settlements(self) -> list[tuple[str, int, str]]:
        """Disposition, cost and error class of every settlement, in order."""
        return [
            (e.disposition, e.cost, e.error_class) for e in self.entries if isinstance(e, Settled)
        ]

    def send(self, message: ToGovernor) -> None:
        self.said.append(message)
        self.core.handle("host", message, self.now, 0.0)
        self.tick()

    def tick(self) -> None:
        tick = self.core.tick(self.now, 0.0)
        self.entries += tick.entries
        for _, letter in tick.mail:
            if isinstance(letter, Granted | Recorded | Refused):
                asyncio.get_running_loop().call_soon(self.host.deliver, letter)

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds  # the governor's clock goes on while a host waits
        await asyncio.sleep(0)
        self.tick()


def fails(times: int, error: Callable[[], Exception]) -> Handler:
    def handler(of: Call, attempt: int) -> str:
        if attempt <= times:
            raise error()
        return "6"

    return handler


async def test_an_answer_is_settled_at_its_usage_and_recorded_before_it_is_handed_over() -> None:
    world = World(lambda of, attempt: ProviderReply("6", Usage(20, 1), 0.5))
    answer = await world.host.ask(call())
    assert (answer.text, answer.usage, answer.duration_s) == ("6", Usage(20, 1), 0.5)
    assert answer.cost == 20 * 10 + 1 * 40
    held, done = world.entries
    assert isinstance(held, Held)
    assert (held.amount, held.model) == (BOUND, MODEL)
    assert (done.answer, done.disposition, done.cost) == (answer, "settled", answer.cost)


@pytest.mark.parametrize("error", RETRYABLE, ids=lambda error: error.__name__)
async def test_a_retryable_error_is_tried_again_as_a_new_attempt(
    error: type[ProviderError],
) -> None:
    world = World(fails(2, lambda: error("trouble")))
    answer = await world.host.ask(call())
    assert (answer.text, answer.failure) == ("6", None)
    assert [attempt for _, attempt in world.provider.asked] == [1, 2, 3]
    assert len({e.hold_id for e in world.entries}) == 3
    assert len(world.slept) == 2


@pytest.mark.parametrize("error", RETRYABLE, ids=lambda error: error.__name__)
async def test_after_the_last_attempt_the_error_is_the_answer(error: type[ProviderError]) -> None:
    world = World(fails(99, lambda: error("trouble")))
    answer = await world.host.ask(call())
    assert answer.failure == (error.__name__, "trouble")
    assert world.attempts == ATTEMPTS
    assert len(world.slept) == ATTEMPTS - 1


@pytest.mark.parametrize("error", FINAL, ids=lambda error: error.__name__)
async def test_a_final_error_is_never_tried_again_and_costs_nothing(
    error: type[ProviderError],
) -> None:
    world = World(fails(99, lambda: error("no")))
    answer = await world.host.ask(call())
    assert answer.failure == (error.__name__, "no")
    assert world.attempts == 1
    assert world.settlements == [("released", 0, error.__name__)]
    again = await world.host.ask(call())
    assert again == answer, "a final error is recorded like any answer"
    assert world.attempts == 1


async def test_a_content_filter_is_final_and_may_be_billed() -> None:
    world = World(fails(99, lambda: ContentRefused("no")))
    await world.host.ask(call())
    ((disposition, cost, name),) = world.settlements
    assert (disposition, name) == ("presumed", "ContentRefused")
    assert cost > 0
    assert world.attempts == 1


async def test_a_refused_account_is_no_try_of_its_call_and_no_pause_of_the_host() -> None:
    def handler(of: Call, attempt: int) -> str:
        if attempt == 1:
            raise ProviderUnavailable("503")
        if attempt <= 3:
            raise AuthenticationFailed("401")
        return "6"

    world = World(handler, attempts=2)
    asking = asyncio.ensure_future(world.host.ask(call()))
    while not asking.done():
        await settled()
        world.now += 1.0
        world.tick()
    assert (await asking).text == "6"
    assert [disposition for disposition, _, _ in world.settlements] == [
        "presumed", "released", "released", "settled",
    ]  # fmt: skip
    assert len(world.slept) == 1


@pytest.mark.parametrize("error", RETRYABLE, ids=lambda error: error.__name__)
async def test_only_what_was_provably_not_billed_is_given_back(error: type[ProviderError]) -> None:
    world = World(fails(1, lambda: error("trouble")))
    await world.host.ask(call())
    (disposition, cost, name), _ = world.settlements
    expected = ("released", 0) if error.unsent else ("presumed", BOUND)
    assert (disposition, cost, name) == (*expected, error.__name__)
    assert world.core.ledger.presumed == expected[1]


def test_a_timeout_may_have_been_billed_and_a_429_was_not() -> None:
    assert (ProviderTimeout.unsent, RateLimited.unsent) == (False, True)


async def test_an_answer_that_broke_off_is_believed_as_little_as_a_whole_one() -> None:
    broken = MalformedAnswer("broke off", usage=Usage(20, 1), written="word " * 100)
    world = World(fails(1, lambda: broken))
    assert (await world.host.ask(call())).text == "6"
    assert world.settlements[0] == ("presumed", BOUND, "MalformedAnswer")


@pytest.mark.parametrize(
    "usage",
    [None, Usage(-1, 1), Usage(1, -1), Usage(1, 1, cached=-5)],
    ids=["missing", "negative input", "negative output", "negative cached"],
)
async def test_usage_that_cannot_be_believed_is_presumed_in_full(usage: Usage | None) -> None:
    world = World(lambda of, attempt: ProviderReply("6", usage, 0.5))
    answer = await world.host.ask(call())
    assert (answer.text, answer.cost, answer.usage) == ("6", BOUND, Usage())
    assert world.settlements == [("presumed", BOUND, "")]
    assert world.core.ledger.balance.spent == BOUND


async def test_a_report_far_beyond_its_request_is_presumed_and_called_implausible() -> None:
    world = World(lambda of, attempt: ProviderReply("6", Usage(20, BEYOND_DOUBT + 1), 0.5))
    await world.host.ask(call())
    assert world.settlements == [("presumed", BOUND, "ImplausibleUsage")]
    assert world.core.ledger.balance.overrun == 0


async def test_more_use_than_was_held_is_an_overrun_that_closes_admission() -> None:
    world = World(lambda of, attempt: ProviderReply("6", Usage(10_000, 10_000), 0.5))
    answer = await world.host.ask(call())
    balance = world.core.ledger.balance
    assert (balance.settled, balance.overrun) == (BOUND, TARIFF.cost(answer.usage) - BOUND)
    with pytest.raises(Censored):
        await world.host.ask(call(key(slot="1")))


async def test_a_pause_that_a_provider_asks_for_is_kept_up_to_a_ceiling() -> None:
    waits = {1: 0.0, 2: 11.0, 3: 1e9}

    def handler(of: Call, attempt: int) -> str:
        if attempt in waits:
            raise RateLimited("429", retry_after_s=waits[attempt])
        return "6"

    world = World(handler, attempts=4)
    await world.host.ask(call())
    first, second, third = world.slept
    assert 0 <= first <= 1
    assert 11 <= second <= MAX_WAIT_S
    assert third == MAX_WAIT_S
    pauses = [m.pause_s for m in world.said if isinstance(m, Settle) and m.answer is None]
    assert pauses == [0.0, 11.0, MAX_WAIT_S], "the whole limit group pauses as long"


async def test_pauses_grow_with_attempts_but_never_above_the_ceiling() -> None:
    longest = [0.0] * 12
    for _ in range(40):
        world = World(fails(12, lambda: ProviderUnavailable("503")), attempts=13)
        await world.host.ask(call())
        assert all(0 <= pause <= MAX_WAIT_S for pause in world.slept)
        longest = [max(pair) for pair in zip(longest, world.slept, strict=True)]
    assert longest[0] <= 1
    assert longest[1] <= 2
    assert longest[11] > 10


async def test_in_virtual_time_neither_a_host_nor_a_limit_group_waits() -> None:
    world = World(fails(2, lambda: RateLimited("429", retry_after_s=30.0)), max_wait_s=0.0)
    await world.host.ask(call())
    assert world.slept == [0.0, 0.0]
    assert [m.pause_s for m in world.said if isinstance(m, Settle)] == [0.0, 0.0, 0.0]


async def test_who_joins_a_call_that_is_under_way_gets_the_same_answer() -> None:
    door = asyncio.Event()

    async def slow(of: Call, attempt: int) -> str:
        await door.wait()
        return "6"

    world = World(slow)
    asking = [asyncio.ensure_future(world.host.ask(call())) for _ in range(3)]
    await settled()
    assert world.attempts == 1
    door.set()
    answers = await asyncio.wait_for(asyncio.gather(*asking), LONGEST_WAIT_S)
    assert answers[0] is answers[1] is answers[2]
    assert len(world.settlements) == 1


async def test_a_joined_caller_that_gives_up_does_not_end_the_call() -> None:
    door = asyncio.Event()

    async def slow(of: Call, attempt: int) -> str:
        await door.wait()
        return "6"

    world = World(slow)
    first, second = (asyncio.ensure_future(world.host.ask(call())) for _ in range(2))
    await settled()
    second.cancel()
    await settled()
    door.set()
    assert (await asyncio.wait_for(first, LONGEST_WAIT_S)).text == "6"


async def test_a_call_that_the_cap_cannot_admit_is_censored_without_being_sent() -> None:
    world = World(lambda of, attempt: "6", cap=BOUND - 1)
    with pytest.raises(Censored, match="cap"):
        await world.host.ask(call())
    assert world.attempts == 0
    assert world.entries == []


async def test_a_draining_run_suspends_the_call_even_between_two_attempts() -> None:
    def drains_and_fails(of: Call, attempt: int) -> str:
        world.core.drain()
        raise ProviderUnavailable("503")

    world = World(drains_and_fails)
    with pytest.raises(Suspended):
        await world.host.ask(call())
    assert world.attempts == 1


async def test_an_answer_of_another_request_under_this_key_is_an_error_that_says_so() -> None:
    world = World(lambda of, attempt: "6")
    await world.host.ask(call(text="one"))
    with pytest.raises(DigestMismatch, match=r"call turn:1:0 of session s1 .* another request"):
        await world.host.ask(call(text="two"))
    assert world.attempts == 1


async def test_a_defect_of_a_provider_leaves_no_hold_open() -> None:
    world = World(fails(99, lambda: ZeroDivisionError("in the adapter")))
    answer = await world.host.ask(call())
    assert answer.failure == ("ZeroDivisionError", "in the adapter")
    assert world.attempts == 1
    assert world.settlements == [("presumed", BOUND, "ZeroDivisionError")]
    assert world.core.ledger.balance.held == 0


async def test_text_that_no_journal_could_take_is_repaired_before_it_gets_there() -> None:
    world = World(lambda of, attempt: "cut in half \ud83d")
    assert (await world.host.ask(call())).text == "cut in half ?"
    world = World(fails(99, lambda: RequestRejected("half \ud83d")))
    failure = (await world.host.ask(call())).failure
    assert failure is not None
    assert failure.message == "half ?"


async def test_many_calls_at_once_each_get_their_own_answer() -> None:
    async def handler(of: Call, attempt: int) -> str:
        for _ in range(int(of.key.slot) % 7):
            await asyncio.sleep(0)
        if attempt == 1 and int(of.key.slot) % 5 == 0:
            raise ProviderUnavailable("503")
        return f"answer {of.key.slot}"

    world = World(handler, cap=1000 * USD)
    calls = [call(key(slot=str(n)), text=f"question {n}") for n in range(200)]
    answers = await asyncio.wait_for(asyncio.gather(*map(world.host.ask, calls)), LONGEST_WAIT_S)
    assert [answer.text for answer in answers] == [f"answer {n}" for n in range(200)]
    await until(lambda: world.core.ledger.balance.held == 0)


async def test_the_estimate_of_tokens_lies_below_the_bound_that_is_held() -> None:
    world, long = World(lambda of, attempt: "6"), call(text="x" * 400)
    await world.host.ask(long)
    (request,) = (message for message in world.said if isinstance(message, Acquire))
    assert 100 < sum(request.load) < input_bound(long.messages) + 16


async def test_a_call_costs_what_all_its_attempts_were_billed() -> None:
    spoiled = Usage(5, 4)
    world = World(fails(2, lambda: MalformedAnswer("no text", usage=spoiled)))
    answer = await world.host.ask(call())
    billed = [cost for disposition, cost, _ in world.settlements if disposition == "settled"]
    assert len(billed) == ATTEMPTS
    assert answer.cost == sum(billed)
    assert answer.usage.input > 2 * spoiled.input
    world = World(fails(9, lambda: MalformedAnswer("no text", usage=spoiled)))
    answer = await world.host.ask(call())
    assert answer.failure is not None
    assert answer.cost == ATTEMPTS * TARIFF.cost(spoiled)
    assert answer.usage == Usage(ATTEMPTS * 5, ATTEMPTS * 4)
