"""A cap that is given when a run is resumed holds in its later lives too, until another one is."""

from __future__ import annotations

import signal
from datetime import UTC, datetime
from pathlib import Path

import pytest

from matrix.api.runs.caps_given import FINISH_LAST, as_overrides, cap_given_at, with_given
from matrix.model.documents.overrides import Override
from matrix.store.run.run_folder import read_run
from tests.executors.programs import SLOW, Project, counter_spec, entries_of, wait_for

TIGHT, AMPLE = "0.0004", "5"
"""Dollars that end the run early, and that do not."""


@pytest.fixture
def capped(tmp_path: Path) -> Project:
    """A run that its cap has ended."""
    project = Project(tmp_path)
    project.write(counter_spec(at_cap="spend-all", simulation=SLOW))
    done = project.matrix("run", "--executor", "in-process", "--run-id", "it", "--max-cost", TIGHT)
    assert done.code == 4, done.err
    return project


@pytest.mark.slow
def test_a_raised_cap_outlives_a_kill(capped: Project) -> None:
    run_dir = capped.path("it")
    before = entries_of(run_dir)
    with capped.started("resume", "it", "--executor", "in-process", "--max-cost", AMPLE) as process:
        wait_for(lambda: entries_of(run_dir) > before + 20 or process.poll() is not None)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert read_run(run_dir).status == "running", "it was killed in the middle"
    again = capped.matrix("resume", "it", "--executor", "in-process")
    assert again.code == 0, again.err + again.out
    said = " ".join(again.err.split())
    assert "cap $5.00, as given when it was resumed at 20" in said
    assert set(capped.tables("it").frame("sessions").outcome) == {"completed"}


@pytest.mark.slow
def test_the_newest_cap_holds_also_if_it_is_the_lower_one(capped: Project) -> None:
    for cap in ("0.0006", "0.0005"):
        given = capped.matrix(
            "resume", "it", "--executor", "in-process", "--set", f"limits.cost_usd={cap}"
        )
        assert given.code in (2, 4), given.err
        if given.code == 2:
            assert "has spent" in given.err, "below what is spent is refused, and changes nothing"
    plain = capped.matrix("resume", "it", "--executor", "in-process")
    assert plain.code == 4
    assert "of $0.0006" in " ".join(plain.out.split())


OWN = ("limits", "cost_usd")
ROLE = ("limits", "role_usd", "counter")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_only_caps_are_kept_and_the_newest_of_each() -> None:
    first: list[Override] = [
        (OWN, 5, "--max-cost"),
        (ROLE, 1, "--set limits.role_usd.counter"),
        (("limits", "open_sessions"), 3, "--open-sessions"),
    ]
    once = with_given((), first, NOON)
    assert [(path, value) for path, value, _ in as_overrides(once)] == [(OWN, 5), (ROLE, 1)]
    twice = with_given(once, [(OWN, 2, "--max-cost")], NOON.replace(hour=13))
    assert [(path, value) for path, value, _ in as_overrides(twice)] == [(ROLE, 1), (OWN, 2)]
    assert cap_given_at(twice, []) == NOON.replace(hour=13)
    whole = with_given(twice, [(ROLE[:2], {"counter": 3}, "--set limits.role_usd")], NOON)
    assert ROLE not in [path for path, _, _ in as_overrides(whole)]


def test_the_cap_of_another_spec_is_nobody_s_word_on_this_run() -> None:
    nightly: list[Override] = [(OWN, 9, FINISH_LAST)]
    assert with_given((), nightly, NOON) == ()
    given = with_given((), [(OWN, 5, "--max-cost")], NOON)
    assert with_given(given, nightly, NOON) == given
    assert cap_given_at(given, nightly) is None
