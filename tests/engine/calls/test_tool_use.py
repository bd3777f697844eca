"""A model with tools in a durable session: recorded, resumed, held and attributed like any call."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import orjson
import pytest

from matrix.engine.calls.provider_host import _acquire
from matrix.engine.wire.setup import ModelEntry
from matrix.model.errors import DigestMismatch, RequestRejected
from matrix.model.records import Answer, Call, CallKey, CallParams, ChatMessage, ToolCall
from matrix.providers.simulated.language.schemas import conforms
from matrix.providers.simulated.provider import SimulatedProvider
from matrix.providers.simulated.settings import SimulationSettings
from matrix.store.journal.codec import decode, encode
from tests.engine.errand_kind import NAME, TOOLS, ErrandKind, ErrandState
from tests.engine.lone_session import Journal
from tests.engine.plans import GROUP, MODEL, TARIFF, plan

SIMULATED = SimulatedProvider(SimulationSettings(), asyncio.sleep)
ERRANDS = plan(kind="errand", options={}, roles={"speaker": MODEL})


def simulated(call: Call) -> Answer:
    """What a simulated model says, as the provider host records it."""
    reply = SIMULATED.reply_to(call)
    assert reply.usage is not None
    return Answer(
        reply.text,
        reply.usage,
        TARIFF.cost(reply.usage),
        reply.duration_s,
        call.model,
        reply.finish_reason,
        tool_calls=reply.tool_calls,
        answered_by="sim-2026-11-01",
    )


def state_of(journal: Journal) -> ErrandState:
    return ErrandState.model_validate_json(journal.turns[-1].state)


async def test_killed_after_any_answer_a_tool_loop_comes_out_the_same() -> None:
    whole = Journal(ErrandKind(), ERRANDS, simulated)
    end = await whole.play()
    expected = state_of(whole)
    assert end is not None
    assert len(expected.called) >= 3
    assert len(expected.said) == 3
    for answers in range(len(whole.paid)):
        journal = Journal(ErrandKind(), ERRANDS, simulated)
        assert await journal.play(answers) is None
        journal.entries = [decode(kind, "s1", body) for kind, body in map(encode, journal.entries)]
        assert await journal.play() == end, f"killed after {answers} answers"
        assert state_of(journal) == expected
        assert sorted(journal.paid) == sorted(whole.paid)


async def test_a_loop_whose_tools_changed_is_not_given_answers_of_another_request() -> None:
    journal = Journal(ErrandKind(), ERRANDS, simulated)
    assert await journal.play(1) is None
    journal.plan = replace(ERRANDS, params={"speaker": {"seed": 4}})
    end = await journal.play()
    assert end is not None
    assert (end.outcome, end.error_class) == ("errored", DigestMismatch.__name__)
    assert "a parameter changed" in end.reason


async def test_every_call_says_who_asked_and_what_for() -> None:
    journal = Journal(ErrandKind(), ERRANDS, simulated)
    await journal.play()
    asked = [(call.agent, call.tag, call.key.turn) for call in journal.asked]
    assert {turn for _, _, turn in asked} == {1, 2, 3}
    assert all(agent == "clerk" and tag == f"errand {turn}" for agent, tag, turn in asked)


async def test_the_hold_of_a_call_covers_its_tools_and_everything_that_was_called() -> None:
    journal = Journal(ErrandKind(), ERRANDS, simulated)
    await journal.play()
    entry = ModelEntry("sim", "counter", TARIFF, GROUP)
    for call in journal.asked:
        reply = SIMULATED.reply_to(call)
        assert reply.usage is not None
        bound = _acquire(call, entry).bound
        bare = replace(call, params=call.params._replace(tools=""))
        described = TARIFF.bound(len(orjson.dumps([tool._asdict() for tool in TOOLS])), 0)
        assert bound >= _acquire(bare, entry).bound + described
        assert bound >= TARIFF.cost(reply.usage)


def asking(choice: str = "", seed: int = 1, *said: ChatMessage, more: str = "") -> Call:
    tools = orjson.dumps([tool._asdict() for tool in TOOLS]).decode()
    messages = (ChatMessage("user", "See to it."), *said)
    params = CallParams(tools=tools, tool_choice=choice, more=more)
    return Call(CallKey("s", "turn", 1, "0"), "", 0, "r", MODEL, messages, params, seed)


@pytest.mark.parametrize("choice", ["required", "write"])
def test_a_simulated_model_calls_what_it_must_with_arguments_of_the_schema(choice: str) -> None:
    for seed in range(30):
        reply = SIMULATED.reply_to(asking(choice, seed))
        assert reply.finish_reason == "tool_calls"
        assert not reply.text
        for call in reply.tool_calls:
            assert call.name == choice or choice == "required"
            assert conforms(orjson.loads(call.arguments), NAME, NAME)


def test_a_simulated_model_that_is_free_to_choose_ends_its_loop() -> None:
    rng = random.Random(5)
    for _ in range(30):
        said: list[ChatMessage] = []
        for _step in range(4):
            reply = SIMULATED.reply_to(asking("", rng.getrandbits(60), *said))
            if not reply.tool_calls:
                break
            said.append(ChatMessage("assistant", "", reply.tool_calls))
            said += [ChatMessage("tool", "done", tool_call_id=c.id) for c in reply.tool_calls]
        assert reply.text, "still calling tools after four steps"


def test_a_simulated_model_calls_nothing_when_it_may_not_and_one_at_a_time_when_told() -> None:
    seeds = range(60)
    assert not any(SIMULATED.reply_to(asking("none", seed)).tool_calls for seed in seeds)
    alone = [
        SIMULATED.reply_to(asking("required", seed, more='{"parallel_tool_calls":false}'))
        for seed in seeds
    ]
    assert {len(reply.tool_calls) for reply in alone} == {1}
    free = [SIMULATED.reply_to(asking("required", seed)) for seed in seeds]
    assert {len(reply.tool_calls) for reply in free} == {1, 2}


def test_a_tool_that_there_is_not_is_rejected_as_a_provider_would() -> None:
    with pytest.raises(RequestRejected, match="there is no tool 'drop'"):
        SIMULATED.reply_to(asking("drop"))


def test_more_effort_reasons_longer_within_the_limit_and_says_so() -> None:
    def thought(effort: str, limit: int = 20_000) -> int:
        call = asking("none", 3, more=f'{{"effort":"{effort}"}}')
        usage = SIMULATED.reply_to(
            replace(call, params=call.params._replace(max_tokens=limit))
        ).usage
        assert usage is not None
        assert usage.reasoning <= usage.output <= limit
        return usage.reasoning

    efforts = [thought(e) for e in ("none", "minimal", "low", "medium", "high", "xhigh")]
    assert efforts == sorted(efforts)
    assert efforts[0] == 0
    assert thought("xhigh", 100) == 99


def test_an_answer_goes_back_into_the_next_request_as_it_was() -> None:
    calls = (ToolCall("1", "read", "{}", '{"gemini":{}}'),)
    answer = simulated(asking())._replace(tool_calls=calls, carry='{"anthropic":{}}', text="so")
    message = answer.message
    assert message == ChatMessage("assistant", "so", calls, "", '{"anthropic":{}}')
    assert message.parts != ChatMessage("assistant", "so").parts
