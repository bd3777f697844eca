"""Parameters of calls: what goes over what, how much room reasoning gets, what no spec may say."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from matrix.model.records import CallParams
from matrix.model.spec.params import (
    OWN,
    ROOM,
    TYPICAL_REASONING,
    Params,
    layers_of,
    refused,
    resolved,
    typical_reasoning,
)

NAMES = st.sampled_from(["temperature", "top_p", "seed", "stop", "top_k", "effort"])
LAYER = st.dictionaries(NAMES, st.sampled_from(["low", "high", 0.5, 1]), max_size=4)


def in_full(params: CallParams) -> dict[str, Any]:
    """Every parameter that was given, by name."""
    more = orjson.loads(params.more) if params.more else {}
    given = {} if params.temperature is None else {"temperature": params.temperature}
    return more | given


@given(own=LAYER, everyone=LAYER, model=LAYER, role=LAYER)
def test_the_strongest_layer_that_says_something_is_heard(
    own: dict[str, Any], everyone: dict[str, Any], model: dict[str, Any], role: dict[str, Any]
) -> None:
    layers = layers_of({"all": everyone, "judge": role, "other": {"seed": 9}}, model, "judge")
    found = resolved(CallParams(100), own, layers)
    assert in_full(found.params) == {**own, **everyone, **model, **role}


def test_a_call_that_nothing_is_said_of_stays_as_it_is() -> None:
    asked = CallParams(100, 0.3, "{}", "[]", "auto")
    assert resolved(asked, {}, [{}, {}, {}]) == (asked, None)
    assert asked.parts == [100, 0.3, "{}", "[]", "auto", ""]
    assert CallParams(100, 0.3, "{}").parts == [100, 0.3, "{}"], "as before there were tools"


@given(st.integers(1, 5_000), st.sampled_from(sorted(ROOM)))
def test_room_for_reasoning_is_added_to_what_the_text_may_have(text: int, effort: str) -> None:
    found = resolved(CallParams(text), {}, [{"effort": effort}]).params
    assert found.max_tokens == text + ROOM[effort]


def test_a_budget_says_how_much_room_and_a_limit_of_the_spec_is_the_whole() -> None:
    budget, whole = {"effort": "low", "thinking_tokens": 3_000}, {"max_tokens": 4_000}
    assert resolved(CallParams(700), {}, [budget]).params.max_tokens == 3_700
    assert resolved(CallParams(700), {}, [budget | whole]).params.max_tokens == 4_000


def test_more_effort_is_expected_to_take_more_tokens_and_always_fits_its_room() -> None:
    expected = [typical_reasoning({"effort": effort}) for effort in ROOM]
    assert expected == sorted(expected) == list(TYPICAL_REASONING.values())
    assert all(2 * typical <= ROOM[effort] for effort, typical in TYPICAL_REASONING.items())
    assert typical_reasoning({"effort": "high", "thinking_tokens": 0}) == 0


def test_a_timeout_is_no_parameter_of_the_request() -> None:
    found = resolved(CallParams(), {}, [{"timeout_s": 3.0}])
    assert found.timeout_s == 3.0
    assert not found.params.more


@pytest.mark.parametrize("name", ["n", "stream", "api_key", "extra_headers", "tools", "thinking"])
def test_what_the_engine_owns_or_no_cap_could_hold_is_refused_everywhere(name: str) -> None:
    assert refused(name)
    assert refused("extra_body", {name: 1})


@pytest.mark.parametrize("name", sorted(OWN))
def test_nothing_goes_behind_the_engines_back(name: str) -> None:
    assert refused(name) is None
    assert refused("extra_body", {name: 1})


def test_a_tier_that_may_be_dearer_is_refused() -> None:
    assert refused("service_tier", "flex") is None
    assert refused("service_tier", "priority")
    assert refused("service_tier", "auto")


def test_any_other_parameter_may_be_given() -> None:
    params = Params.model_validate({"top_k": 4, "effort": "low", "stop": ["a", "b"]})
    assert params.given == {"top_k": 4, "effort": "low", "stop": ["a", "b"]}


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_tokens": 0},
        {"temperature": 3},
        {"top_p": 0},
        {"effort": "hihg"},
        {"thinking_tokens": -1},
        {"timeout_s": 0},
        {"timeout_s": float("inf")},
    ],
)
def test_values_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Params.model_validate(wrong)
