"""A survey is of the session that was played: judging it again asks no player, and pays none."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.executors.programs import Project, play_spec
from tests.judging.served_judges import ServedJudge, served_judge

AGAIN = ("--executor", "in-process", "--quiet", "--run-id")


@pytest.fixture
def judge() -> Iterator[ServedJudge]:
    """Whoever scores, whom no two questions get the same number from; players say what they say."""
    with served_judge() as server:
        numbers = itertools.cycle(range(1, 6))

        def says(asked: str) -> str:
            return json.dumps({"fun": next(numbers)}) if '"fun"' in asked else "I wait."

        server.says = says
        yield server


def surveyed(folder: Path, url: str, **roles: str) -> Project:
    """A run of one session with a survey, in which the served model plays these roles."""
    served = {"target": "openai/served", "api_base": url, "price": {"input": 3, "output": 15}}
    project = Project(folder, environment={"OPENAI_API_KEY": "x"})
    options = {"survey": ["fun"]}
    models = {"served": served}
    project.write(play_spec(factors={}, per_cell=1, models=models, roles=roles, options=options))
    done = project.matrix("run", *AGAIN, "it")
    assert done.code == 0, done
    return project


def survey_of(project: Project, run: str) -> list[float]:
    frame = project.tables(run).frame("scores")
    (found,) = frame[frame.name == "survey_fun"].value
    assert found >= 1, "there is one"
    return [found]


@pytest.mark.slow
@pytest.mark.parametrize("cache", ["--cache", "--no-cache"])
@pytest.mark.parametrize("players", ["served", "sim/haiku"])
def test_players_are_not_asked_again_where_a_session_is_judged_again(
    tmp_path: Path, judge: ServedJudge, players: str, cache: str
) -> None:
    """Whoever plays them, and whatever else is to be asked anew."""
    project = surveyed(tmp_path, judge.url, players=players)
    before = len(judge.asked)
    assert sum('"fun"' in asked for asked in judge.asked) >= (2 if players == "served" else 0)
    command = ("rejudge", "it", "--rubric", "contradiction", "--judge", "sim/haiku", cache)
    done = project.matrix(*command, *AGAIN, "again")
    assert done.code == 0, done
    assert len(judge.asked) == before
    calls = project.tables("again").frame("calls")
    of_players = calls[calls.role == "players"]
    assert set(of_players.disposition) == {"cached"}
    assert of_players.cost_nano.sum() == 0
    assert set(calls[calls.role == "judges"].disposition) == {"settled"}
    own = "settled" if cache == "--no-cache" else "cached"
    assert set(calls[calls.role == "judge"].disposition) == {own}
    assert survey_of(project, "it") == survey_of(project, "again")
