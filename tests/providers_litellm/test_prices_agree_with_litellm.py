"""Our costs against litellm's own calculator: kind by kind for a table, and over its whole list."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from matrix.admission.tariffs import Tariff
from matrix.model.records import Usage
from matrix.providers.litellm_adapter.library import Library
from matrix.providers.price_map import PriceUnknown, bundled

TABLE = """
anthropic/claude-opus-4-5 anthropic/claude-sonnet-4-5 anthropic/claude-haiku-4-5
anthropic/claude-opus-5-5 openai/gpt-4o openai/gpt-4o-mini openai/gpt-5 openai/gpt-5-mini
openai/gpt-5.4 openai/o3 openai/gpt-4.1-nano azure/gpt-5.4 gemini/gemini-2.5-pro
gemini/gemini-2.5-flash gemini/gemini-3.5-flash xai/grok-4.5 xai/grok-4.7 deepseek/deepseek-chat
deepseek/deepseek-reasoner dashscope/qwen-plus dashscope/qwen-flash dashscope/qwen-turbo
moonshot/kimi-k2.5 deepseek/deepseek-v4-pro mistral/mistral-large-latest
mistral/mistral-small-latest minimax/MiniMax-M3 perplexity/sonar groq/openai/gpt-oss-120b
together_ai/meta-llama/Llama-3.3-70B-Instruct-Turbo cerebras/gpt-oss-120b
bedrock/anthropic.claude-sonnet-4-20250514-v1:0 zai/glm-4.6
"""
MODELS = TABLE.split()

USAGES = {
    "plain": Usage(1_000, 500),
    "cached": Usage(1_000, 500, cached=600),
    "cache write": Usage(1_000, 500, cache_write=300),
    "cached and cache write": Usage(10_007, 501, cached=6_001, cache_write=3_003),
    "reasoning": Usage(1_000, 500, reasoning=200),
    "above every tier": Usage(999_983, 60_013, cached=600_011, cache_write=1_009),
    "above every tier, thinking": Usage(700_001, 60_013, reasoning=50_021),
}

KINDS = 5
"""Kinds of token; each may differ by one nano-dollar, litellm's floats being what they are."""


DEARER = {
    "perplexity": "the search fee is charged per request; litellm adds it if the usage counts any",
    "openai": "models that search on every request: litellm adds the fee if the usage counts any",
    "deepseek": "off-peak hours are cheaper; which hours a call falls in is not known beforehand",
    "tencent": "off-peak hours, as for deepseek",
    "fireworks_ai": "litellm assumes a discount on cached tokens that the list does not state",
    "vertex_ai": "regional endpoints cost a tenth more, and the address says nothing about them",
}
"""Providers some of whose models we price above litellm, and why."""

CHEAPER = {
    "perplexity": "litellm's calculator for it forgets the listed price of cached tokens",
}
"""Providers some of whose models we price below litellm, because litellm is wrong there."""


@pytest.fixture(scope="module")
def litellm() -> Any:
    Library(connections=10)
    import litellm

    return litellm


SATURDAY = datetime(2026, 11, 21, 12, tzinfo=UTC)
"""Off-peak for every provider that has such hours."""
WORKING_HOURS = datetime(2026, 11, 18, 2, tzinfo=UTC)


def theirs(litellm: Any, target: str, usage: Usage, moment: datetime = WORKING_HOURS) -> float:
    """litellm's cost in nano-dollars, at a moment."""
    from litellm._internal_context import pinned_billing_time
    from litellm.types.utils import (
        CompletionTokensDetailsWrapper,
        PromptTokensDetailsWrapper,
    )

    provider, _, model = target.partition("/")
    given = PromptTokensDetailsWrapper(
        cached_tokens=usage.cached, cache_creation_tokens=usage.cache_write
    )
    gave = CompletionTokensDetailsWrapper(reasoning_tokens=usage.reasoning)
    reported = litellm.Usage(
        prompt_tokens=usage.input,
        completion_tokens=usage.output,
        total_tokens=usage.input + usage.output,
        prompt_tokens_details=given,
        completion_tokens_details=gave,
    )
    with pinned_billing_time(moment):
        costs = litellm.cost_per_token(
            model=model, custom_llm_provider=provider, usage_object=reported,
            prompt_tokens=usage.input, completion_tokens=usage.output,
        )  # fmt: skip
    return float(sum(costs)) * 1e9


def test_the_table_is_wide_enough() -> None:
    assert len(MODELS) >= 25
    assert len({target.partition("/")[0] for target in MODELS}) >= 10
    tiered = [target for target in MODELS if bundled().tariff(target).tiers]
    assert len(tiered) >= 6
    reasoned = [t for t in MODELS if (r := bundled().tariff(t).rates).reasoning != r.output]
    assert reasoned


@pytest.mark.parametrize("case", USAGES)
@pytest.mark.parametrize("target", MODELS)
def test_cost_equals_litellms_or_the_test_says_why(litellm: Any, target: str, case: str) -> None:
    tariff, usage = bundled().tariff(target), USAGES[case]
    assert tariff.cost(usage) <= tariff.bound(usage.input, usage.output)
    if tariff.request_fee:
        assert target.partition("/")[0] in DEARER
        tariff = Tariff(tariff.rates, tariff.tiers)
    assert tariff.cost(usage) == pytest.approx(theirs(litellm, target, usage), abs=KINDS)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["cached and cache write", "above every tier, thinking"])
def test_over_the_whole_list_only_stated_disagreements_remain(litellm: Any, case: str) -> None:
    usage, compared, unpriced = USAGES[case], 0, 0
    unexplained: list[tuple[str, float]] = []
    dearer: set[str] = set()
    cheaper: set[str] = set()
    for target, provider in listed_targets():
        try:
            listed = theirs(litellm, target, usage, SATURDAY)
            difference = bundled().tariff(target).cost(usage) - listed
        except litellm.exceptions.ModelNotMappedError:  # its calculator loses some of its list
            unpriced += 1
            continue
        compared += 1
        if abs(difference) <= KINDS:
            continue
        stated = DEARER if difference > 0 else CHEAPER
        (dearer if difference > 0 else cheaper).add(provider)
        if provider not in stated:
            unexplained.append((target, difference))
    assert not unexplained
    assert compared > 2_000
    assert unpriced < 60
    if case == "cached and cache write":
        assert dearer == set(DEARER), "a stated reason no longer holds"
        assert cheaper == set(CHEAPER), "litellm has become right"


def listed_targets() -> Iterator[tuple[str, str]]:
    """Every listed chat model that can be priced, with its provider's prefix."""
    prices = bundled()
    for name in prices.names():
        facts = prices.find(name)
        if facts is None:
            continue
        provider = "vertex_ai" if facts.provider.startswith("vertex_ai") else facts.provider
        target = name if name.startswith(f"{provider}/") else f"{provider}/{name}"
        try:
            prices.tariff(target)
        except PriceUnknown:
            continue
        yield target, provider
