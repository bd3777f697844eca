"""The counter kind: what it sends and when it is done."""

from __future__ import annotations

from matrix.engine.prepare.registry import load_kind
from matrix.model.records import SessionPlan
from tests.kinds.fakes import Asked, play_session


def planned(**options: int) -> SessionPlan:
    return SessionPlan(
        session_id="s1",
        part="play",
        order=0,
        round=0,
        seed=77,
        scenario="one",
        kind="counter",
        levels={},
        options=options,
        roles={"counter": "sim/counter"},
        resources={"scenario": "text-1"},
        prelude_id=None,
        max_turns=60,
        max_session_s=3600.0,
    )


def test_every_call_takes_the_made_up_conversation_along() -> None:
    asked: list[Asked] = []

    def answer(request: Asked) -> str:
        asked.append(request)
        return "7"

    plan = planned(turns=3, width=2, history=48)
    play_session(load_kind("counter"), plan, {"scenario": {"start": 0}}, answer)
    assert [len(each.messages) for each in asked] == [50] * 6
    first = asked[0].messages
    assert [message.role for message in first[:3]] == ["system", "user", "assistant"]
    assert len({message.content for message in first}) == 50, "no two messages are alike"
    assert min(len(message.content) for message in first[1:-1]) >= 500
    assert all(each.messages[1:-1] == first[1:-1] for each in asked)


def test_without_history_a_call_is_two_messages_and_the_turns_are_counted() -> None:
    asked: list[Asked] = []

    def answer(request: Asked) -> str:
        asked.append(request)
        return str(len(asked))

    played = play_session(
        load_kind("counter"), planned(turns=4), {"scenario": {"start": 0}}, answer
    )
    assert [len(each.messages) for each in asked] == [2] * 4
    assert played.said() == [f"counter: {count}" for count in (1, 2, 3, 4)]
