"""What sessions are compared on: values by outcome, and what an outcome counts as."""

from __future__ import annotations

import pytest

from matrix.model.entries import Ended, Share, Tally
from matrix.model.metrics import LOWER_IS_BETTER, SESSION_METRICS, counted_as, measured
from matrix.model.records import Outcome


def ended(outcome: Outcome, **changes: object) -> Ended:
    tally = Tally(2.5, {"narrator": Share(3, 100, 20, 4_000_000), "judge": Share(1, 50, 5, 10)})
    score = 70.0 if outcome in ("completed", "timeout") else None
    fields = {"measured": 0.5 if score is not None else None} | changes
    return Ended("s1", outcome, "", "", 7, score, tally, 0.0, **fields)  # type: ignore[arg-type]


def test_every_session_metric_is_read_from_a_session_that_ended() -> None:
    values = {metric: measured(metric, ended("completed")) for metric in SESSION_METRICS}
    assert values == {
        "score": 70.0,
        "cost_usd": pytest.approx(0.00400001),
        "turns": 7.0,
        "calls": 4.0,
        "duration_s": 2.5,
        "tokens_in": 150.0,
        "tokens_out": 25.0,
    }
    assert {"score"} == set(SESSION_METRICS) - LOWER_IS_BETTER
    assert measured("recovery_rate", ended("timeout")) == 0.5


@pytest.mark.parametrize(
    ("metric", "outcome", "value"),
    [
        ("failed", "completed", 0.0),
        ("failed", "timeout", 1.0),
        ("failed", "failed", 1.0),
        ("failed", "errored", None),
        ("failed", "censored", None),
        ("cost_usd", "failed", pytest.approx(0.00400001)),
        ("cost_usd", "errored", None),
        ("score", "failed", None),
        ("turns", "failed", None),
    ],
)
def test_a_failed_session_failed_and_cost_and_has_nothing_else(
    metric: str, outcome: Outcome, value: float | None
) -> None:
    assert measured(metric, ended(outcome)) == value


@pytest.mark.parametrize(
    ("metric", "outcome", "value", "counted"),
    [
        ("score", "completed", 1.0, "completed"),
        ("score", "completed", None, "completed"),  # it should have one: nothing is left out
        ("score", "timeout", 1.0, "timeout"),
        ("score", "failed", None, "failed"),
        ("recovery_rate", "completed", None, "errored"),
        ("recovery_rate", "timeout", 0.5, "timeout"),
        ("recovery_rate", "failed", None, "failed"),
        ("recovery_rate", "censored", None, "censored"),
        ("failed", "failed", 1.0, "timeout"),
        ("cost_usd", "timeout", 0.1, "timeout"),
        ("cost_usd", "censored", None, "censored"),
    ],
)
def test_what_an_outcome_counts_as_depends_on_the_metric(
    metric: str, outcome: Outcome, value: float | None, counted: Outcome
) -> None:
    assert counted_as(metric, outcome, value) == counted
