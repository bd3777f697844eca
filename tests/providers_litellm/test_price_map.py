"""The price list of the installed litellm, read without litellm."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from matrix.admission.tariffs import ATTO_PER_NANO, Tariff
from matrix.providers.price_map import FILE_NAME, PriceMap, PriceUnknown, bundled

CHEAP = {"litellm_provider": "shop", "mode": "chat", "input_cost_per_token": 1e-6,
         "output_cost_per_token": 2e-6}  # fmt: skip


def listed(name: str = "shop/m", **more: Any) -> PriceMap:
    entry = {key: value for key, value in {**CHEAP, **more}.items() if value is not ...}
    return PriceMap({name: entry}, "0" * 64)


def test_reading_the_list_is_quick_and_imports_no_litellm() -> None:
    script = (
        "import time, sys\n"
        "from matrix.providers.price_map import bundled\n"
        "started = time.process_time()\n"
        "found = bundled()\n"
        "took = time.process_time() - started\n"
        "assert bundled() is found and 'litellm' not in sys.modules\n"
        "print(took, found.sha256)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    took, sha256 = done.stdout.split()
    assert float(took) < 0.12  # 0.02 to 0.03 s; the margin is for busy machines
    assert sha256 == bundled().sha256


def test_a_model_is_found_with_and_without_its_provider() -> None:
    prices = bundled()
    assert prices.find("anthropic/claude-opus-4-5") == prices.find("claude-opus-4-5")
    assert prices.find("OpenAI/GPT-4o") is None
    assert prices.find("openai/GPT-4o") == prices.find("gpt-4o")
    assert prices.find("xai/claude-opus-4-5") is None


def test_facts_about_a_model() -> None:
    found = bundled().find("openai/gpt-4o")
    assert found is not None
    assert (found.provider, found.mode) == ("openai", "chat")
    assert (found.max_output_tokens, found.context_window) == (16_384, 128_000)
    assert found.supports_response_schema
    assert found.supports_prompt_caching


def test_everything_priced_can_be_priced() -> None:
    """Every chat model with both token prices has a tariff, or is refused for a stated reason."""
    refused = []
    prices = bundled()
    for name in prices.names():
        facts = prices.find(name)
        if facts is not None and facts.mode in ("chat", "responses"):
            try:
                assert not prices.tariff(name).is_free
            except PriceUnknown as error:
                refused.append(str(error))
    assert len(refused) < 400
    assert all("; give it one under models.<name>.price" in message for message in refused)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"input_cost_per_token": ...}, "its input price is missing"),
        ({"output_cost_per_token": None}, "its output price is missing"),
        ({"output_cost_per_token": 0}, "its output price is zero"),
        ({"mode": "embedding"}, "listed as 'embedding', which is not a chat model"),
        ({"citation_cost_per_token": 1e-6}, "bills searches and citations"),
        (
            {"input_cost_per_token": ..., "output_cost_per_token": ..., "input_cost_per_second": 1},
            "billed by time",
        ),
        ({"input_cost_per_token": -1e-6}, "cannot be read"),
        ({"input_cost_per_token": "cheap"}, "cannot be read"),
    ],
)
def test_a_price_that_is_not_known_is_an_error_that_says_what_is_missing(
    more: dict[str, Any], reason: str
) -> None:
    with pytest.raises(PriceUnknown, match=reason):
        listed(**more).tariff("shop/m")


def test_an_unknown_model_gets_a_hint_from_the_same_provider() -> None:
    with pytest.raises(PriceUnknown, match="did you mean 'anthropic/claude-opus-4-5'"):
        bundled().tariff("anthropic/claude-opus-45")
    with pytest.raises(PriceUnknown, match="does not know it"):
        bundled().tariff("nowhere/at-all")


def test_a_tier_keeps_what_it_does_not_change() -> None:
    tariff = listed(
        cache_read_input_token_cost=1e-7,
        input_cost_per_token_above_128k_tokens=3e-6,
        output_cost_per_token_above_256_tokens=9e-6,
    ).tariff("shop/m")
    low, high = tariff.tiers
    assert (low.from_tokens, high.from_tokens) == (257, 128_001)
    assert (low.rates.input, low.rates.output) == (10**12, 9 * 10**12)
    assert (high.rates.input, high.rates.output) == (3 * 10**12, 9 * 10**12)
    assert high.rates.cached == 10**11


def test_ranges_become_tiers_open_below() -> None:
    ranges = [
        {"range": [0, 32_000], "input_cost_per_token": 1e-6, "output_cost_per_token": 4e-6},
        {"range": [32_000, 128_000], "input_cost_per_token": 2e-6},
    ]
    tariff = listed(tiered_pricing=ranges).tariff("shop/m")
    assert tariff.rates.output == 4 * 10**12
    assert [tier.from_tokens for tier in tariff.tiers] == [32_001]
    assert tariff.tiers[0].rates.output == 2 * 10**12, "the model's own output price"


def test_searching_on_every_request_costs_its_dearest_fee_each_time() -> None:
    sizes = {"search_context_size_low": 0.005, "search_context_size_high": 0.012}
    sonar = listed("m", litellm_provider="perplexity", search_context_cost_per_query=sizes)
    assert sonar.tariff("perplexity/m").request_fee == 12_000_000
    assert listed("m", search_context_cost_per_query=sizes).tariff("m").request_fee == 0


def test_regions_that_cost_more_do() -> None:
    prices = listed("m", litellm_provider="openai", regional_processing_uplift_multiplier_eu=1.1)
    plain, dear = prices.tariff("m"), prices.tariff("m", "https://eu.api.openai.com/v1")
    assert dear.rates.input * 10 == plain.rates.input * 11
    assert prices.tariff("openai/m", "https://api.openai.com/v1") == plain
    assert prices.tariff("openai/m", "https://us.api.openai.com/v1") == plain
    on_vertex = listed("m", litellm_provider="vertex_ai", regional_endpoint_uplift_multiplier=1.1)
    assert on_vertex.tariff("vertex_ai/m") == dear


def test_a_cheap_price_stays_exact() -> None:
    tariff = listed(input_cost_per_token=3.75e-08).tariff("shop/m")
    assert tariff.rates.input == 37_500_000_000 == int(37.5 * ATTO_PER_NANO)


def test_a_hand_written_price_equals_the_listed_one() -> None:
    assert (
        bundled().tariff("openai/gpt-4o-mini").rates[:2]
        == (Tariff.from_usd_per_mtok(0.15, 0.6).rates[:2])
    )


def test_without_litellm_the_error_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matrix.providers.price_map.find_spec", lambda name: None)
    with pytest.raises(PriceUnknown, match=FILE_NAME):
        bundled.__wrapped__()
