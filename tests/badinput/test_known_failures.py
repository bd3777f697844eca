"""What went wrong with money and limits in other people's engines, and does not here.

Each test is a failure that was seen: in the reservations and rate limits of litellm's own router
and proxy, in its client, or with a provider. Those about waits and retries are in
``test_retry_policy.py``, those about an unpriced model in ``test_before_the_start.py``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from matrix.admission.pricing import input_bound
from matrix.admission.rates import RateGroup, per_minute
from matrix.admission.tariffs import Tariff
from matrix.engine.wire.messages import Settle
from matrix.model.entries import Held
from matrix.model.errors import (
    Censored,
    ContentRefused,
    MalformedAnswer,
    ProviderTimeout,
    ProviderUnavailable,
    RateLimited,
)
from matrix.model.records import Answer, Call, CallParams, Usage
from matrix.providers.base import ProviderReply
from matrix.providers.price_map import bundled
from tests.badinput.conftest import Worlds
from tests.badinput.desk import PEER, Desk
from tests.badinput.trouble import used
from tests.badinput.world import COST, REPORTED, trouble_at_the_second_call
from tests.books import fold_money
from tests.engine.live import journal_entries
from tests.engine.plans import USD, call, key
from tests.engine.waiting import settled
from tests.providers_litellm.service import Service

PRICE = Tariff.from_usd_per_mtok(3, 15)


def calls(count: int, text: str = "x" * 40, max_tokens: int = 16) -> list[Call]:
    params = CallParams(max_tokens)
    return [call(key(slot=str(n)), text, params=params) for n in range(count)]


def tenth(usage: Usage) -> Callable[[Call, int], ProviderReply]:
    return lambda of, attempt: ProviderReply("said", usage, 0.1)


# --- reservations --------------------------------------------------------------------------------

ENDS: dict[str, Callable[[], Exception]] = {
    "refusal": lambda: ContentRefused("no"),
    "time-out": lambda: ProviderTimeout("late"),
    "5xx": lambda: ProviderUnavailable("503"),
    "429": lambda: RateLimited("429", retry_after_s=0.0),
    "broken answer": lambda: MalformedAnswer("{", usage=Usage(10, 1)),
    "defect": lambda: ZeroDivisionError("in the adapter"),
}


@pytest.mark.parametrize("end", ENDS)
async def test_no_end_of_an_attempt_leaks_a_place_or_a_hold(end: str) -> None:
    """A counter that is raised at the start and not lowered at one of the ends locks all out."""

    def handler(of: Call, attempt: int) -> str:
        if of.key.slot != "49":
            raise ENDS[end]()
        return "said"

    desk = Desk(handler, PRICE, group=RateGroup(concurrency=1))
    said = await desk.serve(calls(50))
    assert isinstance(said[49], Answer)
    assert said[49].failure is None
    assert desk.core.ledger.held == 0


async def test_cancelled_callers_leak_no_place_and_no_hold_wherever_they_were() -> None:
    """Waiting at the gate, just let in, or with the request under way."""
    for patience in range(8):

        async def slow(of: Call, attempt: int) -> str:
            await settled(3)
            return "said"

        desk = Desk(slow, PRICE, group=RateGroup(concurrency=2))
        asking = [asyncio.ensure_future(desk.host.ask(one)) for one in calls(6)]
        await settled(patience)
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        await settled()
        counters = desk.core.picture(0.0).counters
        assert (counters.in_flight, counters.waiting, desk.core.ledger.held) == (0, 0, 0)
        said = await desk.serve(calls(6))
        assert all(isinstance(one, Answer) for one in said), "and the same calls may be asked again"


async def test_a_call_that_names_no_length_holds_a_bounded_amount() -> None:
    """Reserving the model's longest answer (128,000 tokens) let one request pin a whole budget."""
    desk = Desk(tenth(Usage(20, 5)), PRICE, cap=USD // 4)
    asked = [call(key(slot=str(n)), params=CallParams()) for n in range(20)]
    said = await desk.serve(asked)
    assert all(isinstance(one, Answer) for one in said)
    held = [entry.amount for entry in desk.entries if isinstance(entry, Held)]
    assert held == [PRICE.bound(input_bound(asked[0].messages), CallParams().max_tokens)] * 20
    assert desk.most_held == sum(held), "all of them at once"


async def test_a_fan_out_above_the_budget_waits_and_is_not_refused() -> None:
    bound = PRICE.bound(input_bound(calls(1)[0].messages), 16)
    desk = Desk(tenth(Usage(10, 1)), PRICE, cap=50 * PRICE.cost(Usage(10, 1)) + 3 * bound)
    said = await desk.serve(calls(50))
    assert all(isinstance(one, Answer) for one in said)
    assert desk.most_held <= desk.core.ledger.cap
    assert desk.core.ledger.settled == 50 * PRICE.cost(Usage(10, 1))


async def test_a_prompt_in_a_long_context_tier_is_held_and_paid_at_its_rates() -> None:
    tariff = bundled().tariff("gemini/gemini-2.5-pro")
    assert tariff.tiers, "the model that this test is about has tiers"
    usage = Usage(240_000, 16)
    base = Tariff(tariff.rates, (), tariff.request_fee)
    desk = Desk(tenth(usage), tariff)
    await desk.serve(calls(1, text="x" * 250_000))
    (done,) = desk.settled
    assert done.cost == tariff.cost(usage) > base.cost(usage)
    assert done.held >= done.cost
    assert desk.core.ledger.overrun == 0


async def test_a_hold_that_is_cleaned_up_and_settled_counts_once() -> None:
    door = asyncio.Event()

    async def slow(of: Call, attempt: int) -> ProviderReply:
        await door.wait()
        return ProviderReply("late", Usage(20, 5), 0.1)

    desk = Desk(slow, PRICE)
    asking = asyncio.ensure_future(desk.host.ask(call()))
    await settled()
    (held,) = (entry for entry in desk.entries if isinstance(entry, Held))
    for _ in range(2):
        desk.core.lose(PEER, 0.0)
        assert desk.core.ledger.presumed == held.amount
    door.set()
    await settled()
    late = Settle(held.key, held.hold_id, "settled", 9, Usage(3, 0), 0.0, "", None)
    desk.core.handle(PEER, late, 0.0, 0.0)
    desk.entries += desk.core.tick(0.0, 0.0).entries
    assert [entry.disposition for entry in desk.settled] == ["presumed"]
    assert desk.core.ledger.balance.spent == held.amount == sum(e.cost for e in desk.settled)
    asking.cancel()


# --- usage ---------------------------------------------------------------------------------------


async def test_cached_tokens_are_part_of_the_prompt_and_paid_once(
    service: Service, worlds: Worlds
) -> None:
    """And the answer is paid for, which litellm's budget manager forgets."""
    trouble_at_the_second_call(service, used(REPORTED), times=0)
    played = await worlds().play()
    assert [one.cost for turn in (1, 2, 3) for one in played.attempts[turn]] == [COST] * 3


async def test_thinking_beyond_its_budget_is_settled_at_the_hold_and_closes_the_till(
    service: Service, worlds: Worlds
) -> None:
    """One provider thought 355,987 tokens on a budget of 8,000."""
    thought = {**REPORTED, "completion_tokens": 355_987, "total_tokens": 356_037,
               "completion_tokens_details": {"reasoning_tokens": 355_985}}  # fmt: skip
    trouble_at_the_second_call(service, used(thought), times=1)
    world = worlds()
    played = await world.play()
    ((_, disposition, cost, held),) = played.second
    assert (disposition, cost) == ("settled", held)
    money = fold_money(journal_entries(world.run_dir)).history
    assert money.overrun == COST + (355_987 - 2) * 15_000 - held
    assert (played.ended.outcome, played.ended.error_class) == ("censored", "overrun")
    assert 3 not in played.attempts, "nothing more is sent"


async def test_an_overrun_of_an_attempt_that_failed_is_known_to_the_next_life() -> None:
    """It has no answer to carry its cost."""

    def handler(of: Call, attempt: int) -> str:
        raise MalformedAnswer("{", usage=Usage(10, 50_000))

    desk = Desk(handler, PRICE)
    (said,) = await desk.serve(calls(1))
    assert isinstance(said, Censored)
    past = fold_money(desk.entries).history
    ledger = desk.core.ledger
    assert (past.settled, past.overrun) == (ledger.settled, ledger.overrun)
    assert past.settled + past.overrun == PRICE.cost(Usage(10, 50_000))


async def test_a_session_that_the_cap_stops_is_censored_and_not_failed(
    service: Service, worlds: Worlds
) -> None:
    trouble_at_the_second_call(service, used(REPORTED), times=0)
    played = await worlds(cap=2 * COST).play()
    assert (played.ended.outcome, played.ended.error_class) == ("censored", "cap")
    assert played.ended.score is None


# --- rate limits ---------------------------------------------------------------------------------


def in_any_minute(marks: list[tuple[float, float]]) -> Iterator[float]:
    """What was sent in every minute that starts with a request; ``marks`` are (time, amount)."""
    for start, _ in marks:
        yield sum(amount for at, amount in marks if start <= at < start + 60)


async def test_a_crowd_sends_as_many_requests_a_minute_as_allowed_and_not_one_more() -> None:
    desk = Desk(tenth(Usage(10, 1)), PRICE, group=RateGroup(requests=per_minute(60, 0.0)))
    await desk.serve(calls(400), until=300)
    marks = [(sent.at, 1.0) for sent in desk.sent]
    assert max(in_any_minute(marks)) <= 60
    assert 0.95 * 300 <= len(marks) <= 300


@pytest.mark.parametrize("each", [4, 17, 60])
async def test_a_crowd_cannot_get_past_a_limit_on_tokens(each: int) -> None:
    """Where usage was counted afterwards, a crowd sent 663 tokens against a limit of 100."""
    limit = 3_000
    usage = Usage(each, 1)
    desk = Desk(tenth(usage), PRICE, group=RateGroup(tokens=per_minute(limit, 0.0)))
    await desk.serve(calls(1_200), until=240)
    marks = [(sent.at, float(sum(usage))) for sent in desk.sent]
    assert max(in_any_minute(marks)) <= limit
    assert sum(amount for _, amount in marks) >= min(0.9 * 4 * limit, 1_200 * sum(usage))


async def test_a_clock_that_jumps_ahead_saves_nothing_up() -> None:
    """A machine that was asleep for a day does not send a day's requests at once."""
    desk = Desk(tenth(Usage(10, 1)), PRICE, group=RateGroup(requests=per_minute(60, 0.0)))
    await desk.serve(calls(1))
    desk.now += 86_400
    await desk.serve(calls(50)[1:], until=desk.now + 0.5)
    assert len(desk.sent) == 2
