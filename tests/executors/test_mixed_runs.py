"""Runs in which real models play beside simulated ones: every screen and row says so.

The real one is the server of simulated models behind a loopback address: as far as the run can
tell, it is real.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import matrix
from matrix import api
from matrix.api import Run
from matrix.model.spec.aliases import simulated_words
from matrix.report.run.runs import runs_as_text
from matrix.report.run.summary_data import summary_as_data
from matrix.report.run.summary_text import summary_as_text, verdict_line
from matrix.report.study.study_text import study_as_text
from matrix.serving.options import ServeOptions
from matrix.serving.process import SimServer

ROLES = "simulated: classifier, players, spokesperson, judge"


def spec(url: str) -> dict[str, Any]:
    """Two narrators, one of them real, with everybody else simulated under any name."""
    model = {"target": "openai/sim-gpt", "api_base": url, "price": {"input": 3, "output": 15}}
    judge = {"target": "sim/gpt-4o-mini"}
    return {
        "name": "mixed",
        "kind": "playtest",
        "scenarios": ["house-too-many"],
        "factors": {"narrator": ["real", "real-too"]},
        "roles": {"judge": "scorer"},
        "models": {"real": model, "real-too": dict(model), "scorer": judge},
        "options": {"group": ["joker", "curious"]},
        "per_cell": 1,
        "limits": {"cost_usd": 10, "turns": 2, "budget": "nightly=50/day"},
    }


@pytest.fixture
async def mixed(tmp_path: Path) -> Run:
    async with SimServer(ServeOptions()) as server:
        (tmp_path / "matrix.yaml").write_text(json.dumps(spec(server.url)))
        return await asyncio.to_thread(
            matrix.run,
            tmp_path / "matrix.yaml",
            results=tmp_path / "results",
            run_id="mixed",
            executor="in-process",
        )


@pytest.mark.slow
async def test_every_screen_and_row_of_a_mixed_run_says_which_roles_are_simulated(
    mixed: Run,
) -> None:
    file, summary = mixed.file, mixed.summary()
    assert (file.simulated, file.mixed) == (True, True)
    assert set(mixed.sessions()["simulated"]) == {True}
    assert summary_as_data(summary)["simulated_roles"] == list(file.stand_ins or {})
    assert file.simulation == ROLES
    flat = " ".join(summary_as_text(summary).split())
    assert f"of $10.00 ({ROLES})" in flat
    assert verdict_line(summary).endswith(f"({ROLES})")
    assert f"({ROLES})" in " ".join(study_as_text(mixed.compare()).split())
    assert ROLES in mixed.compare().rests_on
    assert ROLES in runs_as_text(api.list_runs(mixed.path.parent))


def test_of_a_role_that_both_play_the_levels_that_are_simulated_are_named() -> None:
    stand_ins = {"agent": ("sim/opus-4.5",), "judge": ("sim/gpt-4o-mini",)}
    told = simulated_words(stand_ins, mixed=True, factors={"agent": ("mine", "sim/opus-4.5")})
    assert told == "simulated: agent sim/opus-4.5, judge"
    assert simulated_words(stand_ins, mixed=True) == "simulated: agent, judge"
    assert simulated_words(stand_ins, mixed=False, factors={"agent": ("a", "b")}) == "simulated"


@pytest.mark.slow
async def test_a_mixed_run_spends_real_money(mixed: Run) -> None:
    (drawn,) = api.budgets(mixed.path.parent)
    assert drawn.budget.name == "nightly"


@pytest.mark.slow
async def test_a_row_is_marked_by_its_own_roles(tmp_path: Path) -> None:
    counted = {
        "name": "apart",
        "kind": "counter",
        "scenarios": ["one"],
        "options": {"turns": 2},
        "per_cell": 1,
        "limits": {"cost_usd": 10},
    }
    async with SimServer(ServeOptions()) as server:
        models = {
            "real": dict(spec(server.url)["models"]["real"]),
            "stood-in": {"target": "sim/haiku"},
        }
        counted |= {"models": models, "factors": {"counter": ["real", "stood-in"]}}
        (tmp_path / "matrix.yaml").write_text(json.dumps(counted))
        run = await asyncio.to_thread(
            matrix.run,
            tmp_path / "matrix.yaml",
            results=tmp_path / "results",
            executor="in-process",
        )
    rows = run.sessions()
    assert dict(zip(rows["counter"], rows["simulated"], strict=True)) == {
        "real": False,
        "stood-in": True,
    }
    assert run.file.simulation == "simulated: counter stood-in"
    assert api.repair(run.path).rows["sessions"] == 2
    assert set(run.sessions()["simulated"]) == {False, True}
