"""One function does what a class with all that a kind has does, in a fraction of its lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from matrix import testing
from matrix.engine.session.durable_session import DurableSession
from matrix.engine.wire.messages import Snapshot
from matrix.model.entries import TurnDone
from matrix.model.records import Answer, Call, SessionPlan, Usage
from matrix.model.seeds import stream
from tests.kinds.function.support import support
from tests.kinds.function.support_kind import SupportKind

HERE = Path(__file__).parent


def says(role: str, text: str, mood: str) -> str:
    """What is said depends on what was heard, and not on its place."""
    draw = stream(role, text, mood).random()
    return "It is solved." if role == "customer" and draw < 0.3 else f"{role} {draw:.3f}"


class Models:
    def __init__(self, mood: str) -> None:
        self.mood = mood
        self.asked: list[tuple[str, list[str]]] = []

    async def ask(self, call: Call) -> Answer:
        self.asked.append((call.role, [one.content for one in call.messages]))
        return Answer(says(call.role, call.messages[-1].content, self.mood), Usage(), 0, 0.0, "m")


@pytest.mark.parametrize("mood", ["calm", "angry", "tired", "odd"])
@pytest.mark.parametrize("problem", ["No network.", "A wrong bill.", "Where is my parcel?"])
async def test_a_function_asks_says_and_scores_what_the_class_does(mood: str, problem: str) -> None:
    options: dict[str, Any] = {"problem": problem, "mood": mood, "turns": 4}
    models, turns = Models(mood), list[TurnDone]()
    plan = SessionPlan(
        "it", "play", 0, 0, 1, "support", "support", {}, options,
        {"agent": "m", "customer": "m"}, {}, None, 60, 1e9,
    )  # fmt: skip
    snapshot = Snapshot(None, (), None, None)
    await DurableSession(SupportKind(), plan, snapshot, {}, models, turns.append).play()
    scores = {one.name: one.value for done in turns for one in done.scores}
    said = [(one.speaker, one.text) for done in turns for one in done.messages]

    played = await testing.play_async(
        support, lambda asked: says(asked.role, asked.last, mood), **options
    )
    assert [(c.role, [m.content for m in c.messages]) for c in played.asked] == models.asked
    assert list(played.said) == said
    assert played.scores == scores


def test_it_takes_under_thirty_lines() -> None:
    lines = (HERE / "support.py").read_text().splitlines()
    assert len([one for one in lines if one.strip()]) < 30
    of_the_class = (HERE / "support_kind.py").read_text().splitlines()
    assert len([one for one in of_the_class if one.strip()]) > 60
