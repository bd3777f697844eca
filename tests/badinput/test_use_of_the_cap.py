"""How much of a cap a whole run uses: nearly all of it under ``spend-all``, never more."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest
import yaml

from matrix import api
from matrix.model.money import from_usd
from tests.executors.billing import most_committed
from tests.executors.programs import counter_spec, play_spec
from tests.faults.laws import assert_books


class Used(NamedTuple):
    """What a run of a capped spec came to, in nano-dollars."""

    cap: int
    spent: int
    round_upper: int
    sessions: pd.DataFrame
    calls: pd.DataFrame


def play(folder: Path, spec: dict[str, Any]) -> Used:
    """Play a spec in this process, to the end that its cap allows."""
    path = folder / "matrix.yaml"
    path.write_text(yaml.safe_dump(spec))
    prepared = api.plan(path, overrides=())
    run = api.run(path, results=folder / "results", run_id="it", executor="in-process")
    assert_books(run.path)
    calls, cap = run.frame("calls"), from_usd(spec["limits"]["cost_usd"])
    assert most_committed(run.path) <= cap
    round_upper = prepared.prelude.total.high + sum(cost.total.high for cost in prepared.cell_costs)
    return Used(cap, int(calls.cost_nano.sum()), round_upper, run.sessions(), calls)


SPEND_ALL: dict[str, dict[str, Any]] = {
    "one session at a time": {"limits": {"cost_usd": 0.01, "open_sessions": 1}},
    "many sessions at once": {"limits": {"cost_usd": 0.01, "open_sessions": 60}},
    "more open than the cap can pay for": {"limits": {"cost_usd": 0.004, "open_sessions": 200}},
    "a fan-out in every turn": {
        "options": {"turns": 5, "width": 20},
        "limits": {"cost_usd": 0.01, "open_sessions": 40},
    },
    "prompts that grow": {
        "options": {"turns": 10, "history": 6},
        "limits": {"cost_usd": 0.1, "open_sessions": 20},
    },
    "attempts that are lost": {
        "limits": {"cost_usd": 0.01, "open_sessions": 20, "attempts": 9},
        "simulation": {"faults": {"timeout": 0.05, "server_error": 0.05, "rate_limited": 0.05}},
    },
}


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("case", SPEND_ALL)
def test_spend_all_spends_nearly_all_of_a_cap_that_binds(case: str, tmp_path: Path) -> None:
    used = play(tmp_path, counter_spec(per_cell=400, at_cap="spend-all", **SPEND_ALL[case]))
    assert used.calls.held_nano.max() <= 0.01 * used.cap
    assert 0.99 * used.cap <= used.spent <= used.cap
    assert set(used.sessions.outcome) == {"completed", "censored"}


@pytest.mark.long
@pytest.mark.slow
def test_spend_all_of_play_tests_spends_nearly_all_as_well(tmp_path: Path) -> None:
    limits = {"cost_usd": 2.0, "turns": 6, "open_sessions": 20}
    used = play(tmp_path, play_spec(per_cell=60, at_cap="spend-all", limits=limits))
    assert used.calls.held_nano.max() <= 0.01 * used.cap
    assert 0.99 * used.cap <= used.spent <= used.cap
    assert "censored" in set(used.sessions.outcome)


@pytest.mark.slow
@pytest.mark.parametrize("open_sessions", [1, 7, 200])
def test_whole_rounds_leave_less_than_one_round(open_sessions: int, tmp_path: Path) -> None:
    limits = {"cost_usd": 0.006, "open_sessions": open_sessions}
    used = play(tmp_path, counter_spec(per_cell=400, limits=limits))
    assert used.cap - used.round_upper < used.spent <= used.cap
    played = used.sessions[used.sessions.outcome == "completed"]
    assert len(played) == 2 * played["round"].nunique() > 0, "no round is played by half"
    assert set(used.sessions.outcome) == {"completed", "censored"}
