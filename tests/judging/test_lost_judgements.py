"""A judge that cannot be read moves no score: its sessions have none, and that is counted.

Two variants differ in their judge alone, so that both play the same sessions. The judges give the
same, but one of them is unreadable where a quarter of the sessions, the better ones, end: what the
other parts of those alone would make lies above any score that was given.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tests.executors.programs import Project

JUDGES = """
import json, re, zlib
from matrix.kinds.playtest.table.judge import QUALITIES

def given(turn):
    good = zlib.crc32(turn.prompt.rpartition(">>>")[0].encode()) % 4 == 0
    return good, json.dumps({**dict.fromkeys(QUALITIES, 3 if good else 1), "reason": "so"})

async def steady(turn):
    return given(turn)[1]

async def flaky(turn):
    good, said = given(turn)
    return "I cannot say." if good else said
"""
ROUNDS = 16
SPEC: dict[str, Any] = {
    "kind": "playtest",
    "scenarios": ["house-too-many"],
    "factors": {"judge": ["steady", "flaky"]},
    "agents": {name: {"python": f"mine:{name}", "free": True} for name in ("steady", "flaky")},
    "options": {
        "group": ["joker", "curious"],
        "weights": {"progress": 0, "tangents": 0, "quality": 1, "failures": 1},
    },
    "per_cell": ROUNDS,
    "limits": {"cost_usd": 50, "turns": 3},
}
COUNTS = ("part_progress", "part_soundness", "pulses_detected", "loops", "breakdowns")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("lost")
    (folder / "mine.py").write_text(JUDGES)
    (folder / "matrix.yaml").write_text(yaml.safe_dump(SPEC))
    project = Project(folder)
    done = project.matrix("run", "--executor", "in-process", "--run-id", "it", "--quiet")
    assert done.code == 0, done
    return project


@pytest.fixture(scope="module")
def sessions(project: Project) -> Any:
    """A row of each session, by judge and round: its score, and every score of the whole of it."""
    tables = project.tables("it")
    scores = tables.frame("scores")
    scores = scores[scores.turn.isna()]
    wide = scores.pivot(index="session_id", columns="name", values="value").drop(columns="score")
    found = tables.frame("sessions").set_index("session_id")[["judge", "round", "score"]]
    return found.join(wide).set_index(["judge", "round"]).sort_index()


@pytest.fixture(scope="module")
def lost(sessions: Any) -> list[int]:
    """Rounds in which the flaky judge could not be read."""
    flaky = sessions.loc["flaky"]
    return list(flaky.index[flaky.part_quality.isna()])


@pytest.mark.slow
def test_a_session_without_its_judgement_has_no_score_and_keeps_all_else(
    project: Project, sessions: Any, lost: list[int]
) -> None:
    steady, flaky = sessions.loc["steady"], sessions.loc["flaky"]
    assert 2 <= len(lost) <= ROUNDS // 2
    assert flaky.loc[lost].score.isna().all()
    for name in COUNTS:
        assert list(flaky[name]) == list(steady[name])
    # else nothing could have risen: what is left without the judge is above all that was given
    assert (100 * steady.loc[lost].part_soundness > steady.loc[lost].score).all()
    scores = project.tables("it").frame("scores")
    reasons = scores[(scores.name == "score") & scores.value.isna()].reason
    assert set(reasons) == {"the judge's answer could not be read"}


def test_the_other_sessions_scores_stay_as_they_are(sessions: Any, lost: list[int]) -> None:
    others = [one for one in range(ROUNDS) if one not in lost]
    steady, flaky = sessions.loc["steady"].loc[others], sessions.loc["flaky"].loc[others]
    assert list(flaky.score) == list(steady.score)
    assert steady.score.notna().all()


def test_no_mean_of_a_verdict_rises_because_judgements_were_lost(project: Project) -> None:
    compared = json.loads(project.matrix("compare", "it", "--json").out)
    mean = {row["level"]: row["mean"] for row in compared["variants"]}
    assert mean["flaky"] <= mean["steady"] + 1e-9
    (pair,) = compared["pairs"]
    assert pair["difference"] == pytest.approx(0.0, abs=1e-9)
    assert compared["winner"] is None


@pytest.mark.slow
def test_how_many_have_no_score_is_told_wherever_the_means_are(
    project: Project, lost: list[int]
) -> None:
    data = json.loads(project.matrix("show", "it", "--json").out)
    assert data["scored"] == 2 * ROUNDS - len(lost)
    assert data["unscored"] == {"steady": 0, "flaky": len(lost)}
    told = f"Without a score, and in no mean: {len(lost)} of {ROUNDS} ended sessions of flaky."
    shown = project.matrix("show", "it").out
    assert told in " ".join(shown.split())
    rows = {line.split()[0]: line for line in shown.splitlines() if f"{ROUNDS}/{ROUNDS}" in line}
    (head,) = (line for line in shown.splitlines() if line.startswith("judge "))
    end = head.index("no score") + len("no score")
    assert [rows[name][:end].split()[-1] for name in ("steady", "flaky")] == ["0", str(len(lost))]
    assert told in " ".join(project.matrix("compare", "it").out.split())
