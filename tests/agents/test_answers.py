"""Reading what an agent says: never a surprise, and never money that nobody meant."""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.agents.answers import BAD_COST, read_cost, read_reply, read_text
from matrix.agents.processes import Command, Running
from matrix.agents.turns import (
    Reply,
    WallTime,
    WorkingTime,
    carried,
    conversation_of,
    prompt_of,
)
from matrix.model.errors import AgentFailed
from matrix.model.money import from_usd
from matrix.model.records import ChatMessage
from matrix.model.spec.agents import AnswerFields, field_at, filled, filled_in

FIELDS = AnswerFields(text="a.text", cost_usd="a.cost", tokens_in="a.in")
values = st.recursive(
    st.none() | st.booleans() | st.integers(-10, 10**6) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)


def as_it_is(value: Any) -> Any:
    return value


@given(st.text())
def test_whatever_is_printed_is_an_answer_or_a_failure_of_the_agent(printed: str) -> None:
    with suppress(AgentFailed):
        told = read_text(FIELDS, printed, as_it_is)
        assert isinstance(told.text, str)
        assert told.cost is None or told.cost >= 0


@given(values, values)
def test_whatever_json_says_only_a_plain_amount_is_a_cost(text: Any, cost: Any) -> None:
    printed = orjson.dumps({"a": {"text": text, "cost": cost}}).decode()
    sound = isinstance(cost, int | float) and not isinstance(cost, bool)
    plain = sound and math.isfinite(cost) and 0 <= cost <= 1e9
    try:
        told = read_text(FIELDS, printed, as_it_is)
    except AgentFailed as failed:
        assert not isinstance(text, str)
        found = failed.cost
    else:
        assert told.text == text
        found = told.cost
        lost = isinstance(cost, float) and not math.isfinite(cost)  # JSON has no such number
        assert (told.doubt == BAD_COST) == (not plain and cost is not None and not lost)
    assert found == (from_usd(repr(cost)) if plain else None)


@pytest.mark.parametrize(
    ("said", "cost"),
    [
        ('"0.25"', 250_000_000),
        ('" 12 "', 12 * 10**9),
        ('"1e-3"', 1_000_000),
        ('"-1"', None),
        ('"NaN"', None),
        ('"0x10"', None),
        ('"1,5"', None),
        ('"$1"', None),
        ("NaN", None),
        ("-Infinity", None),
        ("1e999", None),
        ("1" + "0" * 400, None),
    ],
)
def test_digits_in_quotes_are_an_amount_and_no_number_costs_the_answer(
    said: str, cost: int | None
) -> None:
    told = read_text(FIELDS, f'{{"a": {{"text": "well", "cost": {said}}}}}', as_it_is)
    assert (told.text, told.cost) == ("well", cost)
    assert told.doubt == ("" if cost is not None else BAD_COST)


@pytest.mark.parametrize("more", ["", ', "b": NaN'])
def test_half_a_surrogate_pair_costs_neither_the_answer_nor_its_amount(more: str) -> None:
    said = '{"a": {"text": "5 \\ud83d", "cost": 0.001}' + more + "}"
    told = read_text(FIELDS, said, as_it_is)
    assert (told.text, told.cost, told.doubt) == ("5 ?", 1_000_000, "")


def test_nor_does_it_in_what_a_function_gives_back() -> None:
    told = read_reply(Reply("5 \ud83d", cost_usd=0.001, status="\ud800"))
    assert (told.text, told.status, told.cost) == ("5 ?", "?", 1_000_000)


@pytest.mark.parametrize("text", ["[" * 100_000, "{'a': 1}", ""])
def test_what_is_no_json_in_any_language_is_none(text: str) -> None:
    with pytest.raises(AgentFailed):
        read_text(FIELDS, text, as_it_is)


def test_the_exact_amount_is_read() -> None:
    assert read_cost(0.1) == (100_000_000, "")
    assert read_cost(1e-9) == (1, "")
    assert read_cost(True) == (None, BAD_COST)
    assert read_cost(None) == (None, "")


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        ("", "said nothing"),
        ("hello", "no JSON value: 'hello'"),
        ('{"a": 1}\n{"a": 2}', "printed 2 JSON values"),
        ('{"b": 1}', "no text at 'a.text'; found none"),
        ('{"a": {"text": 5}}', "found a int"),
    ],
)
def test_what_cannot_be_read_is_named(printed: str, told: str) -> None:
    with pytest.raises(AgentFailed, match=told):
        read_text(FIELDS, printed, as_it_is)


def test_a_function_gives_back_a_reply_or_text() -> None:
    assert read_reply("well met").text == "well met"
    assert read_reply(Reply("a", 0.5, 3, -4))[:3] == ("a", 500_000_000, (3, 0, 0, 0, 0))
    with pytest.raises(AgentFailed, match="gave back a list"):
        read_reply([])


def test_paths_lead_through_objects_and_lists() -> None:
    value = {"a": [{"b": 1}], "0": 2}
    assert field_at(value, "a.0.b") == 1
    assert field_at(value, "0") == 2
    for path in ("a.1", "a.b", "c", "a.0.b.c"):
        with pytest.raises(LookupError):
            field_at(value, path)


def test_only_known_names_in_braces_are_filled_in() -> None:
    assert filled("{a} {b} {A} {}", {"a": "{b}", "b": "2"}) == "{b} 2 {A} {}"
    assert filled_in({"k": ["{a}", 1, None]}, {"a": "x"}) == {"k": ["x", 1, None]}


def test_a_request_as_one_text() -> None:
    system, user = ChatMessage("system", "Be brief."), ChatMessage("user", "Hi")
    assert prompt_of([system, user]) == "Be brief.\n\nHi"
    several = [system, user, ChatMessage("assistant", "Ho"), ChatMessage("user", "Hu")]
    assert prompt_of(several) == "Be brief.\n\n[user]\nHi\n\n[assistant]\nHo\n\n[user]\nHu"


def test_a_conversation_is_found_again_by_the_agent_that_led_it() -> None:
    said = ChatMessage("assistant", "Ho", carry=carried("desk", "17"))
    assert conversation_of([said, ChatMessage("user", "Hu")], "desk") == "17"
    assert conversation_of([said], "desk2") == ""
    assert conversation_of([], "desk") == ""


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_waits_for_money_and_limits_are_no_working_time() -> None:
    clock = Clock()
    working = WorkingTime(clock)
    clock.now += 2
    with working.asking() as durations:
        clock.now += 50
        assert working() == 2, "while a call is out, the agent's own time stands still"
        durations.append(3.0)
    assert working() == 5
    clock.now += 1
    assert working() == 6


@pytest.mark.parametrize("kind", [WallTime, WorkingTime])
def test_what_comes_before_an_agent_begins_is_no_working_time(
    tmp_path: Path, kind: type[WallTime | WorkingTime]
) -> None:
    clock = Clock()
    worked = kind(clock)
    clock.now += 1000  # its folder was stored, others' folders before it, and a thread came free
    for timeout_s, timed_out in ((10.0, False), (0.0, True)):
        command = Command(("true",), tmp_path, tmp_path, "", {}, timeout_s, None, worked)
        assert Running(command).run().timed_out is timed_out
    clock.now += 3
    assert worked() == 3


def test_calls_side_by_side_count_as_the_longest() -> None:
    clock = Clock()
    working = WorkingTime(clock)
    with working.asking() as one, working.asking() as other:
        clock.now += 9
        one.append(4.0)
        other.append(7.0)
    assert working() == 7
