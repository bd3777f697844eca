"""A survey is of the session that was played: judging it again asks no player, and pays none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.executors.programs import Project, play_spec
from tests.judging.served_judges import served_judge


@pytest.mark.slow
def test_players_are_not_asked_again_where_a_session_is_judged_again(tmp_path: Path) -> None:
    with served_judge() as server:
        server.says = lambda asked: json.dumps({"fun": 4}) if '"fun"' in asked else "I wait."
        models = {
            "served": {
                "target": "openai/served",
                "api_base": server.url,
                "price": {"input": 3, "output": 15},
            }
        }
        project = Project(tmp_path, environment={"OPENAI_API_KEY": "x"})
        project.write(
            play_spec(
                factors={},
                per_cell=1,
                models=models,
                roles={"players": "served"},
                options={"survey": ["fun"]},
            )
        )
        done = project.matrix("run", "--run-id", "it", "--executor", "in-process", "--quiet")
        assert done.code == 0, done
        before = len(server.asked)
        assert sum('"fun"' in asked for asked in server.asked) >= 2
        done = project.matrix(
            *("rejudge", "it", "--rubric", "contradiction", "--judge", "sim/haiku"),
            *("--run-id", "again", "--executor", "in-process"),
        )
        assert done.code == 0, done
        assert len(server.asked) == before
    calls = project.tables("again").frame("calls")
    assert calls[calls.role == "players"].cost_nano.sum() == 0
    scores = {}
    for run in ("it", "again"):
        frame = project.tables(run).frame("scores")
        scores[run] = list(frame[frame.name == "survey_fun"].value)
    assert scores["it"] == scores["again"] == [4.0]
