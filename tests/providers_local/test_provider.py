"""Laws of the provider over a stand-in for llama.cpp: slots, limits, hanging up, closing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web

from matrix.model.errors import (
    ContextOverflow,
    MalformedAnswer,
    ProviderTimeout,
    ProviderUnavailable,
    RequestRejected,
)
from matrix.model.records import Call, ChatMessage, Tool, Usage
from matrix.providers.local.provider import (
    LEFT_OUT_CHARS,
    LEFT_OUT_MESSAGES,
    LocalModelProvider,
)
from matrix.providers.local.settings import LocalSettings
from matrix.providers.local.weights import LocalModelUnavailable
from tests.providers_local.calls import assistant, make_call, system, user
from tests.providers_local.fake_llama import FakeLlama, FakeLoader
from tests.waiting import LONGEST_WAIT_S

Making = Callable[..., LocalModelProvider]


@pytest.fixture
async def llama() -> AsyncIterator[FakeLlama]:
    found = FakeLlama()
    runner = web.AppRunner(
        found.app(), access_log=None, shutdown_timeout=0.1, handler_cancellation=True
    )
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    found.address = f"http://{host}:{port}"
    yield found
    await runner.cleanup()


@pytest.fixture
def weights(tmp_path: Path) -> str:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF")
    return f"local/{file}"


@pytest.fixture
async def making(llama: FakeLlama, weights: str) -> AsyncIterator[Making]:
    """Makes providers whose model ``m`` is the stand-in."""
    made: list[LocalModelProvider] = []

    def make(
        *,
        loader: FakeLoader | None = None,
        clock: Callable[[], float] = time.perf_counter,
        **settings: Any,
    ) -> LocalModelProvider:
        own = LocalSettings(models={"m": weights}, **settings)
        made.append(LocalModelProvider(own, loader=loader or FakeLoader(llama), clock=clock))
        return made[-1]

    yield make
    for provider in made:
        await provider.aclose()


def asking(text: str = "hello", **more: Any) -> Call:
    return make_call(system("be"), user(text), model="m", **more)


class Gate:
    """An answer that waits until it is let through."""

    def __init__(self) -> None:
        self.opened, self.reached = asyncio.Event(), asyncio.Event()

    async def __call__(self, body: dict[str, Any]) -> str:
        self.reached.set()
        await self.opened.wait()
        return "at last"


async def test_an_answer_comes_with_usage_duration_and_reason(making: Making) -> None:
    reply = await making().complete(asking(), 1)
    assert (reply.text, reply.finish_reason) == ("you said hello", "stop")
    assert reply.usage == Usage(10, 3)
    assert reply.duration_s > 0
    assert not reply.headers


async def test_nothing_is_loaded_before_the_first_call_and_one_model_serves_all(
    llama: FakeLlama, making: Making
) -> None:
    loader = FakeLoader(llama)
    provider = making(loader=loader)
    assert loader.loaded == 0
    await asyncio.gather(*(provider.complete(asking(), 1) for _ in range(5)))
    assert (loader.loaded, loader.users) == (1, 1)
    await provider.aclose()
    assert loader.users == 0


async def test_no_more_calls_are_under_way_than_there_are_slots(
    llama: FakeLlama, making: Making
) -> None:
    provider = making(slots=3)
    await asyncio.gather(*(provider.complete(asking(), 1) for _ in range(12)))
    assert len(llama.bodies) == 12
    assert llama.most_open <= 3
    assert (await making(slots=3, repeatable=True).complete(asking(), 1)).text
    assert llama.bodies[-1]["cache_prompt"] is False


async def test_waiting_for_a_slot_is_not_the_model_s_working_time(
    llama: FakeLlama, making: Making
) -> None:
    now = [0.0]

    async def say(body: dict[str, Any]) -> str:
        now[0] += 10.0
        return "done"

    llama.say = say
    provider = making(slots=1, clock=lambda: now[0])
    replies = await asyncio.gather(*(provider.complete(asking(), 1) for _ in range(4)))
    assert [reply.duration_s for reply in replies] == [10.0] * 4


async def test_a_cancelled_call_hangs_up_and_gives_its_slot_back(
    llama: FakeLlama, making: Making
) -> None:
    gate = Gate()
    llama.say = gate
    provider = making(slots=1)
    task = asyncio.create_task(provider.complete(asking(), 1))
    await gate.reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(LONGEST_WAIT_S):
        while not llama.hung_up:
            await asyncio.sleep(0.001)
    gate.opened.set()
    assert (await provider.complete(asking(), 1)).text == "at last"


async def test_closing_ends_what_is_under_way_and_refuses_what_comes_later(
    llama: FakeLlama, making: Making
) -> None:
    gate, loader = Gate(), FakeLoader(llama)
    llama.say = gate
    provider = making(loader=loader, slots=1)
    tasks = [asyncio.create_task(provider.complete(asking(), 1)) for _ in range(3)]
    await gate.reached.wait()
    await provider.aclose()
    assert loader.users == 0
    for task in tasks:
        with pytest.raises(ProviderUnavailable, match="closed"):
            await task
    with pytest.raises(ProviderUnavailable, match="closed"):
        await provider.complete(asking(), 1)
    await provider.aclose()


async def test_an_answer_that_takes_too_long_is_a_time_out(
    llama: FakeLlama, making: Making
) -> None:
    llama.say = Gate()
    with pytest.raises(ProviderTimeout, match=r"m: no answer within 0\.05 s"):
        await making(timeout_s=0.05).complete(asking(), 1)


async def test_a_model_that_cannot_be_loaded_may_be_loaded_later(
    llama: FakeLlama, making: Making
) -> None:
    loader = FakeLoader(llama, failures=[LocalModelUnavailable("no memory")])
    provider = making(loader=loader)
    with pytest.raises(LocalModelUnavailable, match="no memory"):
        await provider.complete(asking(), 1)
    assert (await provider.complete(asking(), 1)).text
    assert loader.users == 1


async def test_refusals_and_a_vanished_server_are_this_project_s_errors(
    llama: FakeLlama, making: Making
) -> None:
    async def refuse(body: dict[str, Any]) -> str:
        raise web.HTTPBadRequest(text='{"error": {"message": "bad grammar"}}')

    llama.say = refuse
    provider = making()
    with pytest.raises(RequestRejected, match="m: bad grammar"):
        await provider.complete(asking(), 1)
    llama.address = "http://127.0.0.1:9"
    with pytest.raises(ProviderUnavailable, match="is gone"):
        await making().complete(asking(), 1)


async def test_unknown_models_are_refused_before_anything_is_loaded(making: Making) -> None:
    with pytest.raises(LocalModelUnavailable, match="unknown local model 'nope'"):
        await making().complete(make_call(user("x"), model="nope"), 1)


async def test_a_long_history_loses_its_oldest_part_and_the_reply_says_so(
    llama: FakeLlama, making: Making
) -> None:
    talk = [turn for i in range(30) for turn in (user("word " * 30 + f"u{i}"), assistant(f"a{i}"))]
    call = make_call(system("guide"), *talk, user("now"), model="m", max_tokens=100)
    first, again = [await making().complete(call, 1) for _ in range(2)]
    sent = llama.bodies[0]["messages"]
    assert sent == llama.bodies[1]["messages"]
    assert sent[0]["content"] == "guide"
    assert sent[-1]["content"] == "now"
    left_out = int(first.headers[LEFT_OUT_MESSAGES])
    assert left_out + len(sent) == len(call.messages)
    assert 0 < left_out < 40
    assert int(first.headers[LEFT_OUT_CHARS]) > 0
    assert first.headers == again.headers


async def test_texts_are_counted_once(llama: FakeLlama, making: Making) -> None:
    provider = making()
    talk = [user("word " * 300), assistant("a " * 300)]
    await provider.complete(make_call(*talk, user("b " * 300), model="m"), 1)
    counted = llama.counted
    await provider.complete(make_call(*talk, user("b " * 300), model="m"), 1)
    assert llama.counted == counted


async def test_a_message_that_is_too_long_by_itself_loses_its_middle(
    llama: FakeLlama, making: Making
) -> None:
    transcript = "beginning " + "word " * 5_000 + "end"
    call = make_call(system("rubric"), user(transcript), model="m", max_tokens=100)
    reply = await making().complete(call, 1)
    sent = llama.bodies[0]["messages"][-1]["content"]
    assert sent.startswith("beginning word")
    assert sent.endswith("word end")
    assert 700 < len(sent.split()) < 900
    assert LEFT_OUT_MESSAGES not in reply.headers
    assert int(reply.headers[LEFT_OUT_CHARS]) > 10_000


async def test_a_system_prompt_without_end_is_an_overflow(making: Making) -> None:
    with pytest.raises(ContextOverflow, match="system prompt"):
        await making().complete(make_call(system("word " * 2_000), user("hi"), model="m"), 1)


READ = Tool("read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
SAYS = Tool("note", "", {"type": "object", "properties": {"text": {"type": "string"}}})


def with_tools(*messages: ChatMessage, choice: str = "") -> Call:
    call = make_call(*messages, model="m")
    tools = orjson.dumps([READ._asdict(), SAYS._asdict()]).decode()
    return replace(call, params=call.params._replace(tools=tools, tool_choice=choice))


async def test_tools_are_told_in_words_and_called_in_json(llama: FakeLlama, making: Making) -> None:
    async def say(body: dict[str, Any]) -> str:
        last = body["messages"][-1]["content"]
        if last.startswith("Result of read:"):
            return '{"say": "done"}'
        return '{"tool": "read", "path": "a.md"}'

    llama.say = say
    provider = making()
    reply = await provider.complete(with_tools(system("be"), user("look")), 1)
    (call,) = reply.tool_calls
    assert (call.name, orjson.loads(call.arguments)) == ("read", {"path": "a.md"})
    assert (reply.text, reply.finish_reason) == ("", "tool_calls")
    told = llama.bodies[-1]["messages"][0]["content"]
    assert told.startswith("be\n")
    assert '- {"tool": "read", "path": (string)}: Read a file.' in told
    assert '"say": ' in llama.bodies[-1]["grammar"].replace("\\", "")
    result = ChatMessage("tool", "its text", tool_call_id=call.id)
    asked = ChatMessage("assistant", "", tool_calls=(call,))
    reply = await provider.complete(with_tools(user("look"), asked, result), 1)
    assert (reply.text, reply.tool_calls) == ("done", ())
    first, _, earlier, given = llama.bodies[-1]["messages"]
    assert first["role"] == "system"
    assert orjson.loads(earlier["content"]) == {"tool": "read", "path": "a.md"}
    assert given == {"role": "user", "content": "Result of read:\nits text"}


async def test_a_tool_that_has_to_be_called_is_the_only_way_to_answer(
    llama: FakeLlama, making: Making
) -> None:
    async def say(body: dict[str, Any]) -> str:
        return '{"tool": "note", "text": "x"}'

    llama.say = say
    reply = await making().complete(with_tools(user("look"), choice="note"), 1)
    assert [call.name for call in reply.tool_calls] == ["note"]
    grammar = llama.bodies[-1]["grammar"].replace("\\", "")
    assert '"read"' not in grammar
    assert '"say"' not in grammar


async def test_an_answer_that_calls_nothing_and_says_nothing_is_malformed(
    llama: FakeLlama, making: Making
) -> None:
    for text in ('{"tool": "re', "[1]", "words"):

        async def say(body: dict[str, Any], text: str = text) -> str:
            return text

        llama.say = say
        with pytest.raises(MalformedAnswer):
            await making().complete(with_tools(user("look")), 1)


async def test_tools_that_may_not_be_used_are_not_told(llama: FakeLlama, making: Making) -> None:
    reply = await making().complete(with_tools(system("be"), user("look"), choice="none"), 1)
    assert reply.text == "you said look"
    assert "grammar" not in llama.bodies[-1]
