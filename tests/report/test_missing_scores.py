"""Scores that are missing more often where they are low: what they may not turn, wherever shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matrix.api.opened import Run
from matrix.report.compare.matching import factor_matchup
from matrix.report.study.study import study_of
from matrix.store.reading.reader import RunTables
from matrix.store.run.run_folder import read_run
from tests.report.synthetic import CENT, MadeUp, Row, make_run, paired

LEVELS = {"easy": 80.0, "hard": 35.0}
ROUNDS = 30


def played(
    path: Path, lead: dict[str, float], lost: float, *, lost_as: str = "completed", seed: int = 1
) -> MadeUp:
    """Two variants, one ``lead`` ahead by scenario; ``lost`` of its hard sessions have no score."""
    rng = np.random.default_rng(seed)
    rows = []
    for number, (scenario, level) in ((n, one) for n in range(ROUNDS) for one in LEVELS.items()):
        for name in ("plain", "warm"):
            ahead = lead[scenario] if name == "warm" else 0.0
            score: float | None = float(level + ahead + rng.normal(0, 2))
            gone = name == "warm" and scenario == "hard" and rng.random() < lost
            rows.append(
                Row(
                    {"prompt": name},
                    number,
                    scenario,
                    score=None if gone else score,
                    outcome=lost_as if gone else "completed",  # type: ignore[arg-type]
                )
            )
    spec = {"name": "made-up", "kind": "playtest", "compare": {"failure_margin": 90}}
    return make_run(path, rows, {"prompt": ("plain", "warm")}, scenarios=tuple(LEVELS), spec=spec)


def study(run: MadeUp, **more: Any) -> Any:
    return study_of(factor_matchup(RunTables(run.path), read_run(run.path), None), None, **more)


@pytest.mark.parametrize("seed", range(4))
def test_sessions_lost_from_one_scenario_do_not_turn_the_sign(tmp_path: Path, seed: int) -> None:
    run = played(tmp_path / "it", {"easy": 6.0, "hard": -10.0}, 0.8, seed=seed)
    found = run.compare()
    means = {row.level: row.mean for row in found.rows}
    assert (means["plain"] or 0.0) > (means["warm"] or 0.0)
    assert found.verdict.winner != 1, found.sentence
    (pair,) = found.verdict.comparisons
    assert pair.difference == pytest.approx(-2.0, abs=1.5)


def test_what_it_risks_to_ship_either_rests_on_the_same_sessions(tmp_path: Path) -> None:
    found = study(played(tmp_path / "it", {"easy": 0.0, "hard": 0.0}, 0.35, seed=3))
    assert found.risk is not None
    chances = {row.level: row.chance_best for row in found.risk.rows}
    assert 0.02 < chances["warm"] < 0.98
    assert max(row.expected_loss for row in found.risk.rows) < 2.0


def threshold(run: MadeUp, level: float) -> Any:
    (found,) = Run(run.path).gate(thresholds={"score": level}).thresholds
    return found


@pytest.mark.parametrize("lost_as", ["completed", "failed"])
def test_no_threshold_passes_on_the_sessions_that_are_left(tmp_path: Path, lost_as: str) -> None:
    lead = {"easy": 0.0, "hard": 0.0}
    few = threshold(played(tmp_path / "few", lead, 0.3, lost_as=lost_as), 60.0)
    assert few.kind == "fail", few.sentence
    (warm,) = (one for one in few.variants if one.level == "warm")
    assert warm.value == pytest.approx(57.5, abs=1.0), "scenarios weigh equally"
    half = threshold(played(tmp_path / "half", lead, 1.0, lost_as=lost_as), 60.0)
    assert half.kind != "pass", half.sentence
    assert "of 60 sessions without a score (nothing passes with more than 20 %" in half.sentence


def test_a_rate_over_the_sessions_that_could_be_judged_is_no_pass(tmp_path: Path) -> None:
    rows = [
        Row({"prompt": "warm"}, n, scores={"concluded": None if n < 30 else float(n < 72)})
        for n in range(80)
    ]
    make_run(tmp_path / "it", rows, {"prompt": ("warm",)}, compared=None)
    (found,) = Run(tmp_path / "it").gate(thresholds={"concluded": 0.65}).thresholds
    assert (found.rate, found.kind) == (True, "not_enough_data")
    assert "30 of 80 sessions without a score" in found.sentence


def muted(path: Path, *, failing: bool, heard: int = ROUNDS) -> MadeUp:
    """Three variants, of which one has a score in every so manieth round only, or never."""
    rng = np.random.default_rng(3)
    rows = []
    for n in range(ROUNDS):
        for name, mean in (("plain", 50.0), ("warm", 60.0)):
            rows.append(Row({"prompt": name}, n, score=float(mean + rng.normal(0, 4))))
        lost = "failed" if failing else "completed"
        some = None if (n + 1) % heard or n + 1 == ROUNDS else 45.0 + n % 3
        how = lost if some is None else "completed"
        rows.append(Row({"prompt": "mute"}, n, score=some, outcome=how))  # type: ignore[arg-type]
    spec = {"name": "made-up", "kind": "playtest", "compare": {"failure_margin": 20}}
    return make_run(path, rows, {"prompt": ("plain", "warm", "mute")}, spec=spec)


@pytest.mark.slow
def test_a_variant_with_hardly_a_score_keeps_nobody_waiting_and_is_beaten_by_nobody(
    tmp_path: Path,
) -> None:
    never = muted(tmp_path / "never", failing=False).compare()
    assert (never.verdict.kind, never.verdict.winner) == ("winner", 1)
    assert never.sentence.startswith("warm beats plain by ")
    assert "; mute is out, as too few of its sessions have a score to compare it." in never.sentence
    hardly = muted(tmp_path / "hardly", failing=False, heard=6).compare()
    assert (hardly.verdict.kind, hardly.verdict.winner) == ("winner", 1)
    assert "; mute is out, as too few of its sessions have" in hardly.sentence
    often = muted(tmp_path / "often", failing=False, heard=2).compare()
    assert not often.verdict.beaten
    failed = muted(tmp_path / "failed", failing=True).compare()
    assert failed.verdict.winner == 1
    assert failed.sentence.startswith("warm beats plain by ")
    assert "; mute cannot win, as it fails too often (against plain)." in failed.sentence


def test_a_margin_holds_for_what_it_was_declared_for_and_before_launch(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    rows = [
        Row({"prompt": name}, n, score=float(50 + rng.normal(0, 1)), cost=cost * CENT)
        for n in range(ROUNDS)
        for name, cost in (("plain", 1), ("warm", 3))
    ]
    spec = {
        "name": "made-up",
        "kind": "playtest",
        "compare": {"margin": 2.0, "failure_margin": 20},
    }
    run = make_run(tmp_path / "it", rows, {"prompt": ("plain", "warm")}, spec=spec)
    assert run.compare().verdict.kind == "equivalent"
    assert run.compare(None, "cost_usd").verdict.kind != "equivalent"
    late = study(run, margin=3.0)
    assert late.comparison.sentence.endswith(
        "The margin was given after launch, so this describes, and proves nothing."
    )
    assert "Nothing is settled" in late.settling.sentence


def test_a_fixed_plan_that_was_cut_short_takes_all_its_rounds(tmp_path: Path) -> None:
    rows = [
        Row({"prompt": name}, n, score=50.0 + n % 7, outcome="completed" if n < 21 else "censored")
        for n in range(22)
        for name in ("plain", "warm")
    ]
    run = make_run(
        tmp_path / "it", rows, {"prompt": ("plain", "warm")}, rounds=30, status="incomplete"
    )
    assert run.compare().verdict.extra_rounds == 9


def test_with_sessions_as_the_unit_what_that_takes_for_granted_is_said(tmp_path: Path) -> None:
    rows = [
        Row({"prompt": name}, n, scenario=scenario, score=float((n * 7 + len(name)) % 11))
        for n in range(12)
        for scenario in LEVELS
        for name in ("plain", "warm")
    ]
    spec = {"name": "made-up", "kind": "playtest", "compare": {"unit": "session"}}
    factors = {"prompt": ("plain", "warm")}
    run = make_run(tmp_path / "it", rows, factors, scenarios=tuple(LEVELS), spec=spec)
    told = run.compare().rests_on
    assert "pairs of sessions within their scenario, taken as independent" in told
    assert "differences" not in told


def test_a_pass_that_missing_scores_could_undo_says_so_and_where_they_are(tmp_path: Path) -> None:
    """One scenario of seven has no score at all, fewer than the share that nothing passes with."""
    easy = tuple("abcdef")
    rows = [
        Row(row.levels, row.round, row.scenario, score=None if row.scenario == "hard" else 80.0)
        for row in paired({"warm": 0.0}, 30, scenarios=(*easy, "hard"))
    ]
    run = make_run(
        tmp_path / "it", rows, {"prompt": ("warm",)}, scenarios=(*easy, "hard"), compared=None
    )
    found = threshold(run, 75.0)
    (one,) = found.variants
    assert (found.kind, one.fragile, one.silent) == ("pass", True, ("hard, warm",))
    assert "it has none in hard, warm, so this is not about that" in found.sentence
    assert "fragile: not met if those without a score had averaged below 45.0" in found.sentence
    (safe,) = threshold(run, 60.0).variants
    assert (safe.fragile, safe.silent) == (False, ("hard, warm",))
