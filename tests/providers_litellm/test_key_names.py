"""The table of key variables says what litellm would say, which the CLI cannot afford to ask."""

from __future__ import annotations

import os
from typing import Any

import pytest

from matrix.providers.key_names import KEY_NAMES, KEYLESS, key_names
from matrix.providers.litellm_adapter.library import Library

PLANTED = "planted-key-of-this-test"


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if "_KEY" in name or "_TOKEN" in name:
            monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def litellm() -> Any:
    """litellm as the adapter imports it, without its side effects."""
    Library(1)
    import litellm

    return litellm


def found_by_litellm(litellm: Any, provider: str) -> bool:
    """Whether litellm has a key for a model of this provider."""
    _, _, key, _ = litellm.get_llm_provider(f"{provider}/some-model")
    known = litellm.validate_environment(f"{provider}/x")["keys_in_environment"]
    return key == PLANTED or bool(known)


@pytest.mark.parametrize(
    ("provider", "name"), [(provider, name) for provider, names in KEY_NAMES.items()
                           for name in names]
)  # fmt: skip
def test_litellm_finds_the_key_in_every_variable_that_is_listed(
    litellm: Any, provider: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, PLANTED)
    assert found_by_litellm(litellm, provider)


@pytest.mark.parametrize("provider", KEY_NAMES)
def test_no_variable_that_litellm_asks_for_is_missing_from_the_table(
    litellm: Any, provider: str
) -> None:
    asked = set(litellm.validate_environment(f"{provider}/x")["missing_keys"])
    assert asked <= set(KEY_NAMES[provider])


@pytest.mark.parametrize("provider", sorted(KEYLESS - {"ollama", "ollama_chat"}))
def test_a_server_of_ones_own_needs_no_key(litellm: Any, provider: str) -> None:
    assert key_names(provider) == ()
    assert litellm.validate_environment(f"{provider}/x")["missing_keys"] == []


def test_nothing_is_claimed_of_a_provider_that_is_not_in_the_table() -> None:
    assert key_names("unheard-of") is None
