"""``matrix.testing``: a kind of one's own is tried without a run."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import pytest

import matrix
from matrix.kinds.function.options import described_in
from matrix.model.errors import BadInput
from matrix.testing import Asked, play, tool_call
from tests.kinds.function.chat import chat
from tests.kinds.function.support import support


def test_answers_are_texts_lists_in_order_and_functions() -> None:
    answers = {"agent": "Restart it.", "customer": ["Hm.", "It is solved."]}
    played = play(support, answers, problem="No network.")
    assert played.scores == {"resolved": 1.0, "replies": 2.0, "score": 1.0}
    assert [text for who, text in played.said if who == "customer"] == [
        "No network.", "Hm.", "It is solved.",
    ]  # fmt: skip
    assert (played.outcome, played.turns) == ("completed", 1)
    heard = play(support, lambda asked: f"{asked.role} {len(asked.messages)}", problem="x", turns=1)
    assert heard.said[1:] == (("agent", "agent 2"), ("customer", "customer 2"))


def test_whoever_is_asked_too_often_or_has_no_answer_is_named() -> None:
    with pytest.raises(AssertionError, match="'customer' is asked more than its 1 answers"):
        play(support, {"agent": "x", "customer": ["Hm."]}, problem="x")
    with pytest.raises(AssertionError, match="nobody answers for the role 'customer'"):
        play(support, {"agent": "x"}, problem="x")


def test_an_answer_of_a_role_that_is_none_is_refused() -> None:
    with pytest.raises(BadInput, match=r"answers: found 'agnt'; the roles are: .*did you mean 'ag"):
        play(support, {"agnt": ["x"], "customer": "y"}, problem="x")


def raising(asked: Asked) -> str:
    return {"a": "b"}[asked.last]


async def waiting(asked: Asked) -> str:
    return asked.last


def silent(asked: Asked) -> None:
    asked.rng.random()


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (raising, r"answers\['agent'\] raised KeyError: 'x' \(test_testing\.py, line \d+\)"),
        (
            silent,
            r"answers\['agent'\] returned nothing \(test_testing\.py, line \d+\); an answer is",
        ),
        (waiting, r"answers\['agent'\] is an async function; write `def` \(test_testing"),
        (lambda _: 3, r"answers\['agent'\] says int \(test_testing"),
    ],
)
def test_a_function_that_answers_and_breaks_is_named_with_its_line(
    function: Any, told: str
) -> None:
    with pytest.raises(AssertionError, match=told):
        play(asking, {"agent": function})


def test_a_function_for_all_roles_leaves_some_to_what_is_simulated() -> None:
    assert play(asking, lambda _: None).said == (("agent", "simulated"),)


@matrix.scenario
async def scoring(ctx: matrix.ScenarioContext) -> None:
    ctx.score("right", 0)
    ctx.score("right", 1)


def test_a_score_that_is_given_twice_counts_as_it_was_given_last() -> None:
    assert play(scoring).scores == {"right": 1.0, "score": 1.0}


@matrix.scenario(simulated={"agent": "simulated"})
async def asking(ctx: matrix.ScenarioContext) -> None:
    await ctx.ask("agent", "x")


def test_options_are_checked() -> None:
    with pytest.raises(BadInput) as found:
        play(support, {}, mod="calm")
    told = [f"{one.path}: {one.message}" for one in found.value.mistakes]
    assert told[0] == "problem: is required and missing"
    assert told[1].startswith("mod: unknown key; allowed: problem, mood, turns")


def test_a_case_is_chosen_by_its_name_and_simulated_answers_serve() -> None:
    calm = play(chat, {"judge": "12"}, case="bill", levels={"mood": "calm"})
    assert calm.said[0] == ("customer", "A wrong bill.")
    with pytest.raises(BadInput, match="there are: wifi, bill"):
        play(chat, case="bil")


@pytest.mark.parametrize("each", [1, 2, 100])
def test_checkpoints_change_nothing_but_the_turns(each: int) -> None:
    """The function is run anew after each, and is given what it was given."""
    answers = {
        "agent": lambda asked: f"Advice {len(asked.messages)}",
        "customer": ["Hm."] * 4 + ["It is solved."],
        "judge": "12",
    }
    played = play(chat, answers, case="wifi", each=each)
    assert played.scores["replies"] == 5.0
    assert played.turns == 1 + 4 // each
    assert len(played.asked) == 5 * 2 + 3
    assert [who for who, _ in played.said].count("agent") == 5


@matrix.scenario
async def lookup(ctx: matrix.ScenarioContext, most: int = 3) -> float:
    """An agent with a tool."""
    said: list[Any] = [{"role": "user", "content": "Find the answer."}]
    tool = matrix.Tool("find", "Finds.", {"type": "object", "properties": {}})
    for _ in range(most):
        answer = await ctx.ask("agent", said, tools=[tool])
        if not answer.tool_calls:
            return float(answer.text == "42")
        said.append(answer.message)
        said += [
            {"role": "tool", "content": "42", "tool_call_id": call.id} for call in answer.tool_calls
        ]
    return 0.0


def test_an_answer_may_call_tools_and_a_number_given_back_is_the_score() -> None:
    played = play(lookup, {"agent": [tool_call("find", what="it"), "42"]})
    assert played.scores == {"score": 1.0}
    assert played.asked[1].messages[-1].content == "42"
    assert play(lookup, {"agent": tool_call("find")}).scores == {"score": 0.0}


@matrix.scenario(roles={"agent": "sim/gpt-4o-mini"})
class Countdown:
    """Counts down."""

    start_at: int
    step: int = 1

    async def start(self, ctx: matrix.ScenarioContext) -> dict[str, int]:
        return {"left": self.start_at}

    async def turn(self, ctx: matrix.ScenarioContext, state: dict[str, int]) -> dict[str, int]:
        await ctx.ask("agent", f"{state['left']}")
        left = state["left"] - self.step
        if left <= 0:
            ctx.end()
        return {"left": left}

    async def finish(self, ctx: matrix.ScenarioContext, state: dict[str, int]) -> None:
        ctx.score("left", state["left"])


@matrix.scenario
class Pausing:
    async def turn(self, ctx: matrix.ScenarioContext, state: None) -> None:
        await ctx.checkpoint()


def test_a_class_has_its_checkpoints_between_its_turns() -> None:
    with pytest.raises(AssertionError, match=r"Pausing\.turn: a class has its checkpoints between"):
        play(Pausing)


def test_a_class_has_a_turn_and_its_fields_are_options() -> None:
    played = play(Countdown, {"agent": "on"}, start_at=5, step=2)
    assert (played.turns, played.scores) == (3, {"left": -1.0, "score": -1.0})
    assert [one.messages[0].content for one in played.asked] == ["5", "3", "1"]


@matrix.scenario
async def drawing(ctx: matrix.ScenarioContext) -> None:
    await ctx.ask("agent", str(next(NUMBERS)))
    await ctx.checkpoint()


NUMBERS = itertools.count()


@matrix.scenario
async def both(ctx: matrix.ScenarioContext) -> None:
    await ctx.parallel([lambda child: child.checkpoint()])


def test_a_checkpoint_is_between_turns_only() -> None:
    with pytest.raises(AssertionError, match=r"inside ctx\.parallel; put it after the block"):
        play(both)


def test_code_that_does_something_else_when_it_is_played_again_is_told_of() -> None:
    with pytest.raises(AssertionError, match="asks 'agent' something else than before checkpoint"):
        play(drawing, {"agent": "x"})


def test_an_error_names_the_line() -> None:
    with pytest.raises(AssertionError, match="no role 'agnt'"):
        play(misspelt)
    with pytest.raises(AssertionError, match="is no message; write"):
        play(wrong_message)


@matrix.scenario
async def misspelt(ctx: matrix.ScenarioContext) -> None:
    await ctx.ask("agnt", "x")


@matrix.scenario
async def wrong_message(ctx: matrix.ScenarioContext) -> None:
    await ctx.ask("agent", [{"rol": "user", "content": "x"}])


def test_what_a_docstring_says_of_parameters_is_read() -> None:
    doc = """Plays.

    Args:
        one: The first,
            over two lines: with a colon.
        two (int): The second.

    Returns:
        three: Nothing.
    """
    assert described_in(inspect.cleandoc(doc)) == {
        "one": "The first, over two lines: with a colon.",
        "two": "The second.",
    }
