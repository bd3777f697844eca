"""Sessions that are judged again: whoever does it has the word on all that judges are asked about.

A survey is of the session that was played: no player is asked again, and none is paid.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from matrix.api.sessions.rejudging import plan_rejudge
from matrix.engine.prepare.estimate import CostInterval
from tests.executors.programs import Project, play_spec
from tests.judging.served_judges import ServedJudge, served_judge

OUT_OF_ROLE = "As an AI language model, I cannot tell what is behind the door."
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


def judged(folder: Path, judge: ServedJudge, says: Callable[[str], str], **more: Any) -> Project:
    """A run of one session whose narrator is out of role, and whom the served model judges."""

    def said(asked: str) -> str:
        if "## report" in asked or "## guide" in asked:
            return says(asked)
        return "no marks" if "## Story guide" in asked else OUT_OF_ROLE

    judge.says = said
    served = {"target": "openai/served", "api_base": judge.url, "price": {"input": 3, "output": 15}}
    project = Project(folder, environment={"OPENAI_API_KEY": "x"})
    options = {"check_issues": ["character_break"], "with_judge": False, "end_on": []}
    spec = {
        "factors": {},
        "per_cell": 1,
        "models": {"served": served, "other": served},
        "roles": {"narrator": "served", "judge": "served"},
        "options": options | more.pop("options", {}),
    }
    project.write(play_spec(**(spec | more)))
    assert project.matrix("run", *AGAIN, "it").code in (0, 1, 3)
    return project


@pytest.mark.slow
@pytest.mark.parametrize(("first", "then"), [("FAIL", "PASS"), ("PASS", "FAIL")])
def test_what_rules_reported_is_left_to_whoever_judges(
    tmp_path: Path, judge: ServedJudge, first: str, then: str
) -> None:
    """Confirmed or passed by the first judge, the second is asked about it all the same."""
    words = [first]

    def says(asked: str) -> str:
        told = f"VERDICT: {words[-1]} - so it is"
        return told if "## report" in asked else "VERDICT: PASS - it is not"

    project = judged(tmp_path, judge, says)
    words.append(then)
    assert project.matrix("rejudge", "it", "--judge", "other", *AGAIN, "again").code in (0, 3)
    for run, said in (("it", first), ("again", then)):
        frame, events = (project.tables(run).frame(name) for name in ("scores", "events"))
        (counted,) = frame[frame.name == "character_breaks"].value
        passed = events[events.kind == "not_confirmed"]
        found = events[events.kind == "character_break"]
        assert counted == len(found) == (4 if said == "FAIL" else 0)
        assert len(passed) == (0 if said == "FAIL" else 4)
        assert sorted({*passed.turn, *found.turn}) == [1, 2, 3, 4]


@pytest.mark.slow
def test_a_judge_whose_marks_cannot_be_read_is_asked_for_nothing_else_again(
    tmp_path: Path, judge: ServedJudge
) -> None:
    project = judged(
        tmp_path, judge, lambda _: "VERDICT: FAIL - so it is", options={"with_judge": True}
    )
    asked = len(judge.asked)
    project.matrix("rejudge", "it", "--judge", "served", *AGAIN, "again")
    anew = judge.asked[asked:]
    assert len(anew) == 2, "the marks, twice"
    assert all("## Story guide" in one for one in anew)


@pytest.mark.slow
def test_questions_without_a_verdict_are_counted_where_a_run_is_summed_up(
    tmp_path: Path, judge: ServedJudge
) -> None:
    """Without them rules stand by themselves, and a session looks as good as they leave it."""
    project = judged(tmp_path, judge, lambda _: "VERDICT: UNCERTAIN - who knows")
    told = " ".join(project.matrix("show", "it").out.split())
    assert "character_break: 4 questions about issues without a verdict that counts" in told


@pytest.mark.slow
def test_a_session_that_its_own_cap_has_stopped_is_not_played_on(
    tmp_path: Path, judge: ServedJudge
) -> None:
    limits = {"cost_usd": 150, "turns": 40, "session_usd": 0.06}
    project = judged(tmp_path, judge, lambda _: "VERDICT: PASS - no", limits=limits)
    stopped: Any = project.tables("it").frame("sessions").iloc[0]
    assert (stopped.outcome, stopped.error_class) == ("timeout", "SessionCapReached")
    assert 1 < stopped.turns < 40
    asked = len(judge.asked)
    done = project.matrix("rejudge", "it", "--judge", "other", *AGAIN[:2], "--run-id", "again")
    assert "1 session of it stopped by limits.session_usd" in done.err + done.out
    assert len(judge.asked) == asked, done
    again: Any = project.tables("again").frame("sessions").iloc[0]
    assert (again.outcome, again.turns, again.cost_nano) == ("failed", stopped.turns, 0)
    assert again.end_reason == stopped.end_reason
    for more in ("--missing", "--no-cache"):
        done = project.matrix("rejudge", "it", more, *AGAIN, f"more{more}")
        assert len(judge.asked) == asked, done


@pytest.mark.slow
def test_of_a_judge_whose_answers_are_at_hand_nothing_is_expected(
    tmp_path: Path, judge: ServedJudge
) -> None:
    project = surveyed(tmp_path, judge.url)

    def estimate(**wanted: Any) -> CostInterval:
        planned = plan_rejudge(project.path("it"), **wanted)
        return planned.continuation.prepared.estimate

    again = estimate(judge="sim/gpt-4o-mini")
    assert again.low == again.middle == 0 < again.high, "one that cannot be read is asked again"
    assert estimate(judge="sim/opus-4.5").low > 0
    assert estimate(overrides=[(("cache",), False, "--no-cache")]).low > 0


@pytest.mark.slow
def test_who_failed_stands_beside_those_that_are_compared_and_is_not_forgotten(
    tmp_path: Path, judge: ServedJudge
) -> None:
    levels = ["sim/opus-4.5", "sim/haiku", "served"]
    (tmp_path / "which.md").write_text("---\nanswer: choice\n---\nWhich is better told?\n")
    project = judged(
        tmp_path,
        judge,
        lambda _: "VERDICT: PASS - no",
        factors={"narrator": levels},
        roles={"judge": "served"},
        options={"check_issues": [], "end_on": ["loop"]},
        compare={"factor": "narrator"},
    )
    outcomes = project.tables("it").frame("sessions").set_index("narrator").outcome
    assert outcomes["served"] == "failed", "or this test shows nothing"
    command = ("rejudge", "it", "--rubric", "which.md", "--judge", "sim/gpt-4o-mini")
    done = project.matrix(*command, "--against", levels[0], *AGAIN, "again")
    assert done.code == 0, done
    again = project.tables("again").frame("sessions").set_index("narrator").outcome
    assert again["served"] == "failed"
    assert set(again.index) == set(levels)
    scores = project.tables("again").frame("scores")
    assert len(scores[(scores.name == "which") & scores.value.notna()]) == 2
    done = project.matrix(*command, "--against", "served", *AGAIN, "none")
    assert done.code == 2, done
    assert "no session of another variant came to its end in a round where one of served did" in (
        done.err
    )
