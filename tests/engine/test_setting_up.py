"""What the processes of a run are told about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from matrix import api
from matrix.engine.run.setting_up import setup_of
from tests.executors.programs import counter_spec, play_spec

AGENTS = {"own": {"python": "mine:own", "free": True}}


@pytest.mark.parametrize(
    ("spec", "flushes"),
    [
        (play_spec(), False),
        (play_spec(simulation={"fsync": True}), True),
        (play_spec(roles={"narrator": "openai/gpt-4o-mini"}), True),
        (play_spec(agents=AGENTS, judges=[{"rubric": "contradiction", "model": "own"}]), True),
        (counter_spec(), False),
    ],
)
def test_a_run_that_can_lose_nothing_but_a_rehearsal_does_not_wait_for_the_disk(
    spec: dict[str, Any], flushes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none is asked")
    (tmp_path / "mine.py").write_text("async def own(turn):\n    return 'VERDICT: PASS - so'\n")
    (tmp_path / "spec.yaml").write_text(json.dumps(spec))
    prepared = api.plan(tmp_path / "spec.yaml")
    assert setup_of(prepared, "it", tmp_path / "it").flushes is flushes


def test_a_run_that_works_in_folders_waits_for_the_disk() -> None:
    """What an agent has done there cannot be had again for nothing."""
    prepared = api.plan("trajectory")
    assert prepared.play_money
    assert setup_of(prepared, "it", Path("it")).flushes
