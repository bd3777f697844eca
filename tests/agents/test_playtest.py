"""Roles of a play-test that agents play."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.executors.programs import Project, play_spec

NARRATOR = """
import random
from matrix.agents import Reply, Turn

WORDS = "tide lamp gull rope ledger keeper storm bell salt door stair wick glass oar".split()

async def narrate(turn: Turn) -> Reply:
    assert turn.role == "narrator" and turn.messages[0].role == "system"
    assert list(turn.folder.iterdir()) == [], "nobody keeps what it leaves"
    (turn.folder / "left").write_text("x")
    words = " ".join(random.Random(turn.seed).choices(WORDS, k=30))
    return Reply(f"Turn {turn.turn}: {words}.", cost_usd=0.001)
"""


@pytest.mark.slow
def test_a_narrator_may_be_an_agent_beside_one_that_is_a_model(tmp_path: Path) -> None:
    project = Project(tmp_path)
    (tmp_path / "mine.py").write_text(NARRATOR)
    project.write(
        play_spec(
            agents={"mine": {"python": "mine:narrate", "max_usd": 0.01}},
            factors={"narrator": ["sim/opus-4.5", "mine"]},
            per_cell=1,
        )
    )
    done = project.matrix("run", "--executor", "in-process", "--run-id", "it", "--quiet")
    assert done.code == 0, done.err
    tables = project.tables("it")
    messages = tables.frame("messages")
    sessions = tables.frame("sessions").set_index("narrator")
    assert set(sessions.outcome) <= {"completed", "timeout"}
    mine = messages[messages.session_id == sessions.loc["mine"].session_id]
    told = mine[(mine.speaker == "narrator") & mine.text.str.startswith("Turn ")]
    assert len(told) >= 4
    calls = tables.frame("calls")
    assert set(calls[calls.model == "mine"].role) == {"narrator"}
    assert (calls[calls.model == "mine"].cost_nano == 1_000_000).all()


PLAYER = """
import random
from matrix.agents import Reply, Turn

WORDS = "climb light look wait follow ask listen open turn leave hold pull watch".split()

async def play(turn: Turn) -> Reply:
    assert turn.role == "players"
    words = " ".join(random.Random(turn.seed).choices(WORDS, k=6))
    return Reply(f"I {words}.", cost_usd=0.0005)
"""


@pytest.mark.slow
def test_players_may_be_agents_beside_those_that_are_models(tmp_path: Path) -> None:
    project = Project(tmp_path)
    (tmp_path / "theirs.py").write_text(PLAYER)
    project.write(
        play_spec(
            agents={"theirs": {"python": "theirs:play", "max_usd": 0.01}},
            factors={"players": ["sim/by-archetype", "theirs"]},
            per_cell=1,
            options={"survey": ["fun"]},
        )
    )
    done = project.matrix("run", "--executor", "in-process", "--run-id", "it", "--quiet")
    assert done.code == 0, done.err
    tables = project.tables("it")
    messages, calls = tables.frame("messages"), tables.frame("calls")
    sessions = tables.frame("sessions").set_index("players")
    assert set(sessions.outcome) <= {"completed", "timeout"}
    played = messages[messages.session_id == sessions.loc["theirs"].session_id]
    said = played[played.text.str.match(r"I (\w+ ){5}\w+\.$")]
    assert len(said) >= 4
    assert said.speaker.nunique() > 1, "each player of the group"
    theirs = calls[calls.model == "theirs"]
    assert set(theirs.role) == {"players"}
    assert (theirs.cost_nano == 500_000).all()
    judged = ("rejudge", "it", "--judge", "sim/opus-4.5", "--no-cache", "--run-id", "again")
    done = project.matrix(*judged, "--executor", "in-process", "--quiet")
    assert done.code == 0, done
    calls = project.tables("again").frame("calls")
    surveyed = calls[calls.role == "players"]
    assert set(surveyed.disposition) == {"cached"}
    assert {"theirs"} < set(surveyed.model), "agents and models"
