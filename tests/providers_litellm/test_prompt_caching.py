"""Marks for the provider's prompt cache, as they are on the wire, and what they may cost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.admission.tariffs import Tariff
from matrix.engine.calls.hosting import build_provider
from matrix.engine.prepare.catalogue import resolve_model
from matrix.engine.wire.providers import LITELLM
from matrix.engine.wire.setup import ModelEntry
from matrix.model.records import Usage
from matrix.model.spec.run_spec import ModelSpec, Price
from matrix.providers.litellm_adapter.asking import CACHED_FROM_CHARS, messages_of, wants_mark
from matrix.providers.litellm_adapter.provider import LiteLLMProvider
from tests.engine.plans import setup
from tests.providers_litellm.service import Seen, Service, call
from tests.providers_litellm.test_adapter import BOTH, Make

CLAUDE = "anthropic/claude-opus-4-5"
GUIDE = "You narrate a long story. " * (CACHED_FROM_CHARS // 20)
TURNS = [f"{who} {number}" for number in range(4) for who in ("A question", "An answer")]


def blocks(request: Seen) -> list[tuple[str, bool]]:
    """Every text of a request, in order, and whether a mark is on it."""
    said = [*request.body["system"], *(b for m in request.body["messages"] for b in m["content"])]
    return [(block["text"], "cache_control" in block) for block in said]


def marked(request: Seen) -> list[str]:
    return [text for text, mark in blocks(request) if mark]


@BOTH
@pytest.mark.parametrize("turns", [2, 4, 6])
async def test_the_guide_and_the_history_but_for_its_last_message_are_marked(
    transport: str, turns: int, service: Service, providers: Make
) -> None:
    provider = providers(CLAUDE, transport=transport)
    texts = [*TURNS[:turns], "What now?"]
    await provider.complete(call(*texts, system=GUIDE), 1)
    [request] = service.seen
    assert [text.strip() for text in marked(request)] == [GUIDE.strip(), TURNS[turns - 1]]
    assert orjson.dumps(request.body).count(b"cache_control") == 2, "of at most four"
    assert request.body["system"][0]["cache_control"] == {"type": "ephemeral"}


@BOTH
async def test_what_one_turn_marked_the_next_turn_sends_again_word_for_word(
    transport: str, service: Service, providers: Make
) -> None:
    provider = providers(CLAUDE, transport=transport)
    for turns in (2, 4, 6):
        await provider.complete(call(*TURNS[:turns], "What now?", system=GUIDE), 1)
    for before, after in zip(service.seen, service.seen[1:], strict=False):
        prefix = [text for text, _ in blocks(before)][:-1]
        assert [text for text, _ in blocks(after)][: len(prefix)] == prefix


@BOTH
async def test_a_question_asked_once_marks_the_guide_alone(
    transport: str, service: Service, providers: Make
) -> None:
    await providers(CLAUDE, transport=transport).complete(call("hi " * 5_000, system=GUIDE), 1)
    assert [text.strip() for text in marked(service.seen[0])] == [GUIDE.strip()]


@BOTH
async def test_a_short_guide_is_marked_with_its_history_once_that_is_long(
    transport: str, service: Service, providers: Make
) -> None:
    provider = providers(CLAUDE, transport=transport)
    await provider.complete(call("hi", "well met", "go on"), 1)
    assert marked(service.seen[0]) == []
    long = "once upon a time " * (CACHED_FROM_CHARS // 10)
    await provider.complete(call("hi", long, "go on"), 1)
    assert [text.strip() for text in marked(service.seen[1])] == [long.strip()]


@BOTH
async def test_providers_that_cache_by_themselves_get_no_marks(
    transport: str, service: Service, providers: Make
) -> None:
    for target in ("openai/gpt-4o", "deepseek/deepseek-chat", "xai/grok-4", "hosted_vllm/own"):
        await providers(target, transport=transport).complete(call(*TURNS, "?", system=GUIDE), 1)
    assert all(b"cache_control" not in orjson.dumps(seen.body) for seen in service.seen)


@given(st.lists(st.text("ab ", max_size=9_000), min_size=1, max_size=12), st.booleans())
def test_there_are_two_marks_at_most_and_none_on_the_last_message_or_an_empty_one(
    texts: list[str], with_system: bool
) -> None:
    asked = call(*texts[1:] or ["?"], system=texts[0]).messages[not with_system :]
    sent = messages_of(asked, mark_cache=True)
    places = [at for at, message in enumerate(sent) if isinstance(message["content"], list)]
    assert len(places) <= 2
    assert len(sent) - 1 not in places
    assert all(asked[at].content.strip() for at in places)
    plain = messages_of(asked, mark_cache=False)
    for at in places:
        [block] = sent[at]["content"]
        assert block["text"] == plain[at]["content"], "marks change no word"
        assert sum(len(m["content"]) for m in plain[: at + 1]) >= CACHED_FROM_CHARS


# --- money ----------------------------------------------------------------------------------------


@asynccontextmanager
async def hosted(entry: ModelEntry, service: Service) -> AsyncIterator[Any]:
    """The provider as a run builds it, with its model at the loopback service."""
    here = entry._replace(api_base=service.base(CLAUDE))
    provider = build_provider(LITELLM, setup(Path(), models={"m": here}))
    assert isinstance(provider, LiteLLMProvider)
    yield provider
    await provider.aclose()


async def test_marks_are_sent_only_where_the_price_has_a_rate_for_writing(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    listed = resolve_model("opus-4.5", {})
    bare = ModelSpec(target=CLAUDE, price=Price(input=5, output=25))
    full = ModelSpec(target=CLAUDE, price=Price(input=5, output=25, cached=0.5, cache_write=6.25))
    counts = []
    for entry in (listed, resolve_model("x", {"x": bare}), resolve_model("x", {"x": full})):
        async with hosted(entry, service) as provider:
            await provider.complete(call(*TURNS, "What now?", system=GUIDE), 1)
        counts.append(len(marked(service.seen[-1])))
    assert counts == [2, 0, 2]


PRICED = [resolve_model("opus-4.5", {}).tariff, resolve_model("sonnet", {}).tariff]


@given(
    st.sampled_from(PRICED), st.integers(0, 400_000), st.floats(0, 1), st.floats(0, 1),
    st.integers(0, 8_000),
)  # fmt: skip
def test_a_hold_covers_a_prompt_that_is_written_to_the_cache(
    tariff: Tariff, size: int, written: float, read: float, out: int
) -> None:
    write = int(size * written)
    usage = Usage(size, out, int((size - write) * read), write)
    assert tariff.rates.cache_write > tariff.rates.input
    assert tariff.cost(usage) <= tariff.bound(size, out)


def test_only_providers_that_take_marks_want_them() -> None:
    assert wants_mark("anthropic", allowed=True)
    assert not wants_mark("anthropic", allowed=False)
    assert not wants_mark("openai", allowed=True)
