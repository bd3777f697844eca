"""Judge noise that was planted in simulated models is found again in the tables of a run."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import matrix
from matrix.judging.repeats import spread
from matrix.kinds.playtest.table.judge import QUALITIES, QUALITY
from matrix.store.reading.judgings import judge_repeats
from matrix.store.reading.reader import RunTables
from tests.comparer import compare_tables

NOISE = 0.4
"""Planted standard deviation of one criterion's score, in points of 1 to 5."""

ROUNDING = 0.5**2 / 12
"""Variance that rounding to half points adds, which the simulated judge does."""

ROUNDS, REPEATS = 30, 4
WEIGHTS = {"progress": 1, "tangents": 0, "quality": 1, "failures": 1}

Play = Callable[..., Path]


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> Play:
    """Plays sessions of two prompts, judged so often; gives the run's folder."""

    def run(repeats: int, rounds: int = ROUNDS, **traits: float) -> Path:
        options = {"group": ["joker", "curious"], "weights": WEIGHTS, "judge_repeats": repeats}
        spec: dict[str, Any] = {
            "kind": "playtest",
            "scenarios": ["house-too-many"],
            "factors": {"prompt": ["baseline", "pulse-aware"]},
            "options": options,
            "per_cell": rounds,
            "limits": {"cost_usd": 150, "turns": 6},
            "simulation": {"traits": {"judge_noise": NOISE, **traits}},
        }
        folder = tmp_path_factory.mktemp("noise")
        (folder / "matrix.yaml").write_text(yaml.safe_dump(spec))
        done = matrix.run(
            folder / "matrix.yaml", results=folder, run_id="run", executor="in-process"
        )
        assert done.status == "complete"
        return done.path

    return run


@pytest.fixture(scope="module")
def noisy(play: Play) -> RunTables:
    return RunTables(play(REPEATS))


@pytest.mark.slow
def test_planted_noise_is_recovered_from_repeats(noisy: RunTables) -> None:
    """Within four standard errors: a variance on 7 x 180 degrees of freedom has one of 4 %."""
    found = [spread(judge_repeats(noisy, QUALITY + name).tolist()) for name in QUALITIES]
    assert {(one.transcripts, one.df) for one in found} == {(60, 60 * (REPEATS - 1))}
    variances = [one.variance for one in found if one.variance is not None]
    planted, df = NOISE**2 + ROUNDING, sum(one.df for one in found)
    assert np.mean(variances) == pytest.approx(planted, rel=4 * sqrt(2 / df))


@pytest.mark.slow
def test_the_judges_part_in_the_score_is_what_the_planted_noise_makes_of_it(
    noisy: RunTables,
) -> None:
    """Quality is a third of these scores: seven criteria averaged, from 1..5 to 0..100."""
    share = WEIGHTS["quality"] / sum(WEIGHTS.values())
    found = spread(judge_repeats(noisy).tolist())
    planted = (100 * share / 4) ** 2 * (NOISE**2 + ROUNDING) / len(QUALITIES)
    assert found.variance == pytest.approx(planted, rel=4 * sqrt(2 / found.df))


def test_the_score_of_a_session_is_the_mean_of_its_repeats(noisy: RunTables) -> None:
    repeats = judge_repeats(noisy)
    assert repeats.shape == (60, REPEATS)
    np.testing.assert_allclose(noisy.frame("sessions")["score"], repeats.mean(axis=1))


@pytest.mark.slow
def test_a_judge_without_noise_agrees_with_itself(play: Play) -> None:
    tables = RunTables(play(3, rounds=2, judge_noise=0.0))
    found = spread(judge_repeats(tables).tolist())
    assert found.variance == pytest.approx(0.0, abs=1e-18)
    assert found.df == 4 * 2


@pytest.mark.slow
def test_every_repeat_is_a_call_of_its_own_and_the_same_again(play: Play) -> None:
    first, second = play(3, rounds=2), play(3, rounds=2)
    assert compare_tables(first, second) == []
    calls = RunTables(first).frame("calls", ["session_id", "role", "slot", "answered"])
    judged = calls[(calls["role"] == "judge") & calls["answered"]]
    by_session = judged.groupby("session_id")["slot"].apply(lambda slots: sorted(slots))
    assert list(by_session) == [["0.0.0", "0.1.0", "0.2.0"]] * 4


@pytest.mark.slow
def test_unreadable_answers_leave_missing_repeats_and_the_run_goes_on(tmp_path: Path) -> None:
    spec = {
        "kind": "playtest",
        "scenarios": ["house-too-many"],
        "options": {"group": ["joker", "curious"], "judge_repeats": 4},
        "per_cell": 6,
        "limits": {"cost_usd": 50, "turns": 3},
        "simulation": {"faults": {"cut_off": 0.6}},
    }
    (tmp_path / "matrix.yaml").write_text(yaml.safe_dump(spec))
    done = matrix.run(
        tmp_path / "matrix.yaml", results=tmp_path, run_id="run", executor="in-process"
    )
    tables = RunTables(done.path)
    repeats, sessions = judge_repeats(tables), tables.frame("sessions")
    missing = np.isnan(repeats)
    assert missing.any()
    assert not missing.all()
    events = tables.frame("events", ["kind"])["kind"]
    assert (events == "judge_unparsed").sum() == missing[sessions["score"].notna()].sum()
    read = ~missing.all(axis=1)
    scores = sessions["score"].to_numpy(dtype=float)
    np.testing.assert_allclose(scores[read], np.nanmean(repeats[read], axis=1))
