"""Sessions die anywhere and come out the same; what ends them is a row that says why."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest

from matrix.engine.prepare.registry import load_kind
from matrix.kinds.context import Context
from matrix.model.entries import Ended, Tally
from matrix.model.errors import Censored, DigestMismatch, Suspended
from matrix.model.records import (
    Answer,
    Call,
    CallKey,
    ChatMessage,
    Event,
    Failure,
    Message,
    Player,
    Score,
    SessionPlan,
)
from tests.engine.lone_session import Journal, speak
from tests.engine.mixed_kind import ForgivingKind, MixedKind, MixedState, say
from tests.engine.plans import MODEL, plan

COUNTER = load_kind("counter")


def mixed(**changes: Any) -> SessionPlan:
    return plan(
        **{"kind": "mixed", "options": {"turns": 3}, "roles": {"speaker": MODEL}, **changes}
    )


JOBS: dict[str, Callable[[], Journal]] = {
    "counter": lambda: Journal(COUNTER, plan()),
    "counter with shared start": lambda: Journal(COUNTER, plan(), prelude=40),
    "mixed": lambda: Journal(MixedKind(), mixed(), prelude=["Ada", "Bo"]),
    "mixed, timeout": lambda: Journal(MixedKind(), mixed(max_turns=2)),
    "forgiving, with failing calls": lambda: Journal(ForgivingKind(), mixed(), model=half_broken),
}


def half_broken(call: Call) -> Answer:
    """Children of the second slot of a turn fail for good."""
    said = speak(call)
    if call.key.phase == "turn" and call.key.slot.startswith("0.1"):
        return said._replace(text="", failure=Failure("ContentRefused", "it will not say that"))
    return said


class Told(NamedTuple):
    """Everything that a session leaves behind and that must not depend on what died."""

    log: tuple[Message, ...]
    states: list[tuple[str, int, bytes]]
    tallies: list[Tally]
    events: list[Event]
    scores: list[Score]
    players: list[Player]
    end: Ended | None
    calls: dict[CallKey, tuple[str, int]]


def told(journal: Journal, end: Ended | None) -> Told:
    turns = journal.turns
    return Told(
        journal.history.snapshot.log,
        [(turn.phase, turn.turn, turn.state) for turn in turns],
        [turn.tally for turn in turns],
        [event for turn in turns for event in turn.events],
        [score for turn in turns for score in turn.scores],
        [player for turn in turns for player in turn.players],
        end,
        {call.key: (call.digest, call.seed) for call in journal.asked},
    )


async def undisturbed(job: str) -> tuple[Journal, Told]:
    journal = JOBS[job]()
    end = await journal.play()
    return journal, told(journal, end)


@pytest.mark.parametrize("job", JOBS)
async def test_killed_after_any_answer_a_session_comes_out_the_same(job: str) -> None:
    whole, expected = await undisturbed(job)
    assert len(whole.paid) > 5
    for answers in range(len(whole.paid)):
        journal = JOBS[job]()
        assert await journal.play(answers) is None
        end = await journal.play()
        assert told(journal, end) == expected, f"killed after {answers} answers"
        assert sorted(journal.paid) == sorted(whole.paid)


@pytest.mark.parametrize("job", JOBS)
async def test_killed_again_and_again_a_session_comes_out_the_same(job: str) -> None:
    _, expected = await undisturbed(job)
    for seed in range(10):
        journal, rng = JOBS[job](), random.Random(seed)
        end = None
        while end is None:
            end = await journal.play(rng.randrange(4))
        assert told(journal, end) == expected
        assert len(set(journal.paid)) == len(journal.paid), "an answer was paid for twice"


@pytest.mark.parametrize("job", JOBS)
async def test_the_order_in_which_parallel_answers_come_makes_no_difference(job: str) -> None:
    _, expected = await undisturbed(job)
    for seed in range(8):
        journal = JOBS[job]()
        journal.restless = random.Random(seed)
        assert told(journal, await journal.play()) == expected


async def test_resumed_after_its_last_checkpoint_a_session_ends_without_asking() -> None:
    whole, expected = await undisturbed("mixed")
    journal = JOBS["mixed"]()
    journal.entries = [entry for entry in whole.entries if not isinstance(entry, Ended)]
    assert await journal.play() == expected.end
    assert journal.asked == []


async def test_slots_are_the_path_of_a_call_inside_its_turn() -> None:
    journal, _ = await undisturbed("mixed")
    keys = [call.key for call in journal.asked]
    slots = {key.slot for key in keys if (key.phase, key.turn) == ("turn", 2)}
    assert slots == {"0", "1.0.0.0.0", "1.0.0.1.0", "1.1.0", "2"}


async def test_the_clock_is_the_sum_of_durations_with_the_longest_of_parallel_ones() -> None:
    journal, expected = await undisturbed("mixed")
    took = {(c.key.phase, c.key.turn, c.key.slot): speak(c).duration_s for c in journal.asked}
    clock = took[("start", 0, "0")]
    for number in (1, 2, 3):
        at = {slot: seconds for (phase, turn, slot), seconds in took.items()
              if (phase, turn) == ("turn", number)}  # fmt: skip
        pair = max(at["1.0.0.0.0"], at["1.0.0.1.0"])
        clock += at["0"] + max(pair, at["1.1.0"]) + at["2"]
        done = journal.turns[number]
        assert done.tally.clock_s == pytest.approx(clock, abs=1e-6)
        assert MixedState.model_validate_json(done.state).clock[-1] == pytest.approx(clock)
    clock += took[("finish", 3, "0")]
    assert expected.end is not None
    assert expected.end.tally.clock_s == pytest.approx(clock, abs=1e-6)


async def test_draws_are_named_fresh_per_turn_and_different_per_scope() -> None:
    journal, _ = await undisturbed("mixed")
    state = MixedState.model_validate_json(journal.turns[-1].state)
    pairs = list(zip(state.draws[::2], state.draws[1::2], strict=True))
    assert all(first == second for first, second in pairs), "asking again starts the stream afresh"
    assert len(set(pairs)) == 3
    inside = [e.value for turn in journal.turns for e in turn.events if e.kind == "pair"]
    assert len({*inside, *state.draws}) == 6


async def test_events_of_parallel_children_stand_in_list_order() -> None:
    journal, _ = await undisturbed("mixed")
    kinds = [(event.kind, event.subject) for event in journal.turns[2].events]
    first = speak_of(journal, "0")
    assert kinds == [
        ("pair", ""), ("child", "left"), ("child", "right"), ("child", first), ("turn", ""),
    ]  # fmt: skip


def speak_of(journal: Journal, slot: str) -> str:
    """What was said at a slot of turn 2."""
    (said,) = {speak(c).text for c in journal.asked if c.key == CallKey("s1", "turn", 2, slot)}
    return said


async def test_a_turn_limit_is_a_timeout_that_is_still_scored() -> None:
    end = await Journal(COUNTER, plan(max_turns=2)).play()
    assert end is not None
    assert (end.outcome, end.reason, end.turns) == ("timeout", "2 turns", 2)
    assert end.score is not None


async def test_a_limit_of_the_sessions_clock_is_a_timeout_after_the_turn_that_passed_it() -> None:
    def slow(call: Call) -> Answer:
        return speak(call)._replace(duration_s=100.0)

    end = await Journal(COUNTER, plan(max_session_s=180.0), model=slow).play()
    assert end is not None
    assert (end.outcome, end.turns, end.tally.clock_s) == ("timeout", 2, 200.0)
    assert end.reason == "3 minutes of model time"


async def test_the_tally_is_by_role_and_adds_up() -> None:
    journal, expected = await undisturbed("counter")
    assert expected.end is not None
    tally = expected.end.tally
    answers = [speak(call) for call in journal.asked]
    assert set(tally.roles) == {"counter"}
    assert (tally.calls, tally.cost) == (6, sum(a.cost for a in answers))
    assert tally.tokens_in == sum(a.usage.input for a in answers)
    assert tally.tokens_out == sum(a.usage.output for a in answers)


# --- what ends a session --------------------------------------------------------------------------


class Scripted(MixedKind):
    """A kind whose turn is a function."""

    def __init__(self, turn: Callable[[Context], Awaitable[None]]) -> None:
        self._turn = turn

    async def turn(self, ctx: Context, state: MixedState) -> MixedState:
        await self._turn(ctx)
        return state


async def end_of(
    turn: Callable[[Context], Awaitable[None]], model: Callable[[Call], Answer] = speak
) -> Ended:
    end = await Journal(Scripted(turn), mixed(max_turns=1), model=model).play()
    assert end is not None
    return end


async def test_two_asks_at_once_outside_parallel_are_refused() -> None:
    async def both(ctx: Context) -> None:
        await asyncio.gather(say(ctx, "one"), say(ctx, "two"))

    end = await end_of(both)
    assert (end.outcome, end.error_class) == ("errored", "UndeclaredConcurrency")
    assert "ctx.parallel" in end.reason


async def test_asking_beside_a_parallel_block_is_refused() -> None:
    async def both(ctx: Context) -> None:
        async def child(scope: Context) -> str:
            return await say(scope, "inside")

        await asyncio.gather(ctx.parallel([child]), say(ctx, "beside"))

    assert (await end_of(both)).error_class == "UndeclaredConcurrency"


async def test_asking_through_the_outer_scope_inside_a_child_is_refused() -> None:
    async def crossed(ctx: Context) -> None:
        async def child(scope: Context) -> str:
            return await say(ctx, "wrong scope")

        await ctx.parallel([child])

    assert (await end_of(crossed)).error_class == "UndeclaredConcurrency"


async def test_a_defect_of_a_kind_ends_its_session_with_its_class_and_place() -> None:
    async def broken(ctx: Context) -> None:
        raise ZeroDivisionError("a defect of this kind")

    end = await end_of(broken)
    assert (end.outcome, end.error_class, end.turns) == ("errored", "KindDefect", 0)
    first, second, third, *_ = end.reason.splitlines()
    assert first == "ZeroDivisionError: a defect of this kind"
    assert second == "Traceback (most recent call last):"
    assert "test_durable_session.py" in third, "it begins in the code of the kind"
    assert end.score is None


async def test_a_call_that_failed_for_good_makes_the_session_errored_with_its_class() -> None:
    def refuse(call: Call) -> Answer:
        said = speak(call)
        if call.key.phase != "turn":
            return said
        return said._replace(text="", failure=Failure("ContextOverflow", "too long"))

    async def asks(ctx: Context) -> None:
        await say(ctx, "anything")

    end = await end_of(asks, refuse)
    assert (end.outcome, end.error_class, end.reason) == ("errored", "ContextOverflow", "too long")
    assert end.tally.calls == 2, "a final error is a call that was made"


async def test_of_several_failing_children_the_first_in_list_order_is_named() -> None:
    async def both(ctx: Context) -> None:
        async def late(scope: Context) -> None:
            for _ in range(10):
                await asyncio.sleep(0)
            raise KeyError("first in the list")

        async def early(scope: Context) -> None:
            raise IndexError("first in time")

        await ctx.parallel([late, early])

    end = await end_of(both)
    assert (end.error_class, end.reason.splitlines()[0]) == (
        "KindDefect",
        "KeyError: 'first in the list'",
    )


async def test_a_session_that_the_cap_cuts_short_is_censored_and_keeps_its_tally() -> None:
    def until_the_cap(call: Call) -> Answer:
        if call.key.turn == 2:
            raise Censored("cap")
        return speak(call)

    end = await Journal(COUNTER, plan(), model=until_the_cap).play()
    assert end is not None
    assert (end.outcome, end.error_class, end.score) == ("censored", "cap", None)
    assert end.tally.calls == 2


async def test_a_session_of_a_draining_run_is_let_go_and_goes_on_later() -> None:
    _, expected = await undisturbed("counter")
    journal = JOBS["counter"]()

    def drained(call: Call) -> Answer:
        if call.key.turn == 2:
            raise Suspended("interrupted")
        return speak(call)

    journal.model = drained
    assert await journal.play() is None
    assert not any(isinstance(entry, Ended) for entry in journal.entries)
    journal.model = speak
    journal.asked.clear()
    end = await journal.play()
    assert told(journal, end)[:7] == expected[:7]


async def test_an_answer_recorded_for_another_request_ends_the_session_and_says_so() -> None:
    journal = JOBS["mixed"]()
    assert await journal.play(4) is None

    class Edited(MixedKind):
        async def turn(self, ctx: Context, state: MixedState) -> MixedState:
            await say(ctx, "another prompt than before")
            return state

    journal.kind = Edited()
    end = await journal.play()
    assert end is not None
    assert (end.outcome, end.error_class) == ("errored", DigestMismatch.__name__)
    assert "turn:1:0" in end.reason


async def test_model_role_messages_and_parameters_all_decide_the_digest() -> None:
    async def vary(ctx: Context) -> None:
        message = ChatMessage("user", "a")
        await ctx.ask("speaker", [message])
        await ctx.ask("speaker", [ChatMessage("system", "a")])
        await ctx.ask("speaker", [message, message])
        await ctx.ask("speaker", [message], model="sim/another")
        await ctx.ask("another role", [message], model=MODEL)
        await ctx.ask("speaker", [message], max_tokens=511)
        await ctx.ask("speaker", [message], temperature=0.5)
        await ctx.ask("speaker", [message], schema={"type": "object"})
        await ctx.ask("speaker", [message])

    journal = Journal(Scripted(vary), mixed(max_turns=1))
    await journal.play()
    digests = [call.digest for call in journal.asked if call.key.phase == "turn"]
    assert len(digests) == 9
    assert len(set(digests)) == 8
    assert digests[0] == digests[-1], "the place of a call is no part of its request"
    assert len({call.seed for call in journal.asked}) == len(journal.asked)


async def test_a_failed_session_is_not_scored() -> None:
    async def gives_up(ctx: Context) -> None:
        ctx.end("failed", "the model broke the rules")

    end = await end_of(gives_up)
    assert (end.outcome, end.reason, end.score) == ("failed", "the model broke the rules", None)


@pytest.mark.parametrize(
    "strange",
    [
        Message("table", "speaker", "half a pair: \ud83d", 1),
        Message("table", "speaker", object(), 1),  # type: ignore[arg-type]
    ],
    ids=["a lone surrogate", "not a text"],
)
async def test_what_the_journal_cannot_take_ends_its_session_and_not_the_run(
    strange: Message,
) -> None:
    async def says(ctx: Context) -> None:
        ctx.log.append(strange)

    end = await end_of(says)
    assert end.outcome == "errored"
    assert end.error_class == "KindDefect"
    assert end.reason.startswith("TypeError: ")


async def test_a_log_is_not_written_to_by_parallel_children() -> None:
    async def both(ctx: Context) -> None:
        async def child(scope: Context) -> int:
            return scope.log.append(Message("table", "speaker", "when?", scope.turn))

        await ctx.parallel([child, child])

    end = await end_of(both)
    assert (end.outcome, end.error_class) == ("errored", "UndeclaredConcurrency")


# --- preludes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("answers", [None, 0, 1])
async def test_a_preludes_result_is_its_end_and_what_its_sessions_are_given(
    answers: int | None,
) -> None:
    prelude = Journal(MixedKind(), mixed(session_id="p1", part="prelude"))
    if answers is not None:
        assert await prelude.play(answers) is None
    end = await prelude.play()
    assert end is not None
    names = [speak(call).text for call in {c.key: c for c in prelude.asked}.values()]
    assert (end.outcome, end.result, end.tally.calls) == ("completed", names, 2)
    for level in ("1", "2"):
        sharing = Journal(MixedKind(), mixed(levels={"step": level}), prelude=end.result)
        await sharing.play()
        assert [player.name for player in sharing.turns[0].players] == names


async def test_a_prelude_that_fails_is_an_errored_row_without_a_result() -> None:
    def refuse(call: Call) -> Answer:
        return speak(call)._replace(failure=Failure("RequestRejected", "no"))

    end = await Journal(COUNTER, plan(part="prelude"), model=refuse).play()
    assert end is not None
    assert (end.outcome, end.error_class, end.result) == ("errored", "RequestRejected", None)
