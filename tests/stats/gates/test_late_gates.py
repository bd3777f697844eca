"""A failure gate that opens late: who is named then is shown by that look, and no earlier one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from matrix.stats import Rules, verdict_of


@pytest.mark.parametrize("engine", ["planned", "open-ended"])
@pytest.mark.parametrize("lead", [0.0, 1.5])
def test_no_winner_has_an_interval_that_holds_0(table_of: Any, engine: Any, lead: float) -> None:
    rules, named = Rules(engine=engine, failure_margin=0.1, score_bounds=None), 0
    for seed in range(250):
        rng = np.random.default_rng(seed)
        scores = rng.normal(50, 5, (60, 1, 2)) + np.array([0.0, lead])
        verdict = verdict_of(table_of(scores), rules)
        if verdict.kind != "winner":
            continue
        named += 1
        assert verdict.decisive is not None
        assert verdict.decisive.interval is not None
        assert not verdict.decisive.interval.low <= 0.0 <= verdict.decisive.interval.high
    assert (named > 20) if lead else (named <= 0.05 * 250 + 10)
