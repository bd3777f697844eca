"""What sessions are compared on: values by outcome, and what an outcome counts as."""

from __future__ import annotations

import pytest

from matrix.model.entries import Ended, RoleShare, Tally
from matrix.model.metrics import (
    LOWER_IS_BETTER,
    SESSION_METRICS,
    counted_as,
    judged_outcome,
    measured,
)
from matrix.model.records import Outcome


def ended(outcome: Outcome, **changes: object) -> Ended:
    tally = Tally(
        2.5, {"narrator": RoleShare(3, 100, 20, 4_000_000), "judge": RoleShare(1, 50, 5, 10)}
    )
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
    assert measured(metric, ended(outcome), "fail") == value


@pytest.mark.parametrize(
    ("metric", "outcome", "counted"),
    [
        ("score", "completed", "completed"),
        ("score", "timeout", "timeout"),
        ("score", "failed", "failed"),
        ("recovery_rate", "completed", "completed"),
        ("recovery_rate", "timeout", "timeout"),
        ("recovery_rate", "failed", "failed"),
        ("recovery_rate", "censored", "censored"),
        ("failed", "failed", "timeout"),
        ("cost_usd", "timeout", "timeout"),
        ("cost_usd", "censored", "censored"),
    ],
)
def test_what_an_outcome_counts_as_depends_on_the_metric(
    metric: str, outcome: Outcome, counted: Outcome
) -> None:
    assert counted_as(metric, outcome) == counted


@pytest.mark.parametrize(
    ("outcome", "error_class", "kept", "failed"),
    [
        ("completed", "", "completed", "completed"),
        ("timeout", "", "completed", "timeout"),  # it had all its turns
        ("timeout", "TimeLimit", "failed", "failed"),
        ("timeout", "SessionCapReached", "failed", "failed"),
        ("failed", "AgentFailed", "failed", "failed"),
        ("errored", "RateLimited", "errored", "errored"),
        ("censored", "cap", "censored", "censored"),
    ],
)
def test_only_a_limit_of_turns_may_be_kept_as_an_end_like_any_other(
    outcome: Outcome, error_class: str, kept: Outcome, failed: Outcome
) -> None:
    assert judged_outcome(outcome, error_class, "keep") == kept
    assert judged_outcome(outcome, error_class, "fail") == failed
