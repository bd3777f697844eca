"""The same through Python, as the README has it."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import matrix
from matrix.engine.run.progress import Progress, Silent
from matrix.model.errors import BadInput, RunNotFound
from matrix.store.journal.transcript import SessionNotFound
from tests.cli.program import Result

SMALL = {"scenarios": ["the-borrowed-hour"], "options.group_size_max": 2}


@pytest.fixture
def at_home(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new project, as the working directory."""
    monkeypatch.chdir(project)
    return project


@pytest.mark.slow
def test_a_run_as_in_the_readme(at_home: Path) -> None:
    run = matrix.run("matrix.yaml", sessions=6, max_cost=5, settings=SMALL, executor="in-process")
    assert (run.status, len(run.sessions())) == ("complete", 6)
    assert run.path.parent == Path("results")
    comparison = run.compare("prompt")
    assert comparison.sentence.startswith("Not enough data to name a winner: 3 complete rounds")
    assert run.file.spec["limits"]["cost_usd"] == 5
    assert matrix.open_run().id == matrix.open_run(run.id[:-2]).id == run.id
    assert [listed.path for listed in matrix.list_runs()] == [run.path]


def test_a_listener_hears_of_the_run(at_home: Path) -> None:
    heard: list[str] = []

    class Ears(Silent):
        def starting(self, *_: object) -> None:
            heard.append("starting")

        def progress(self, progress: Progress) -> None:
            assert progress.ended <= progress.opened <= progress.planned == 2
            heard.append("progress")

    matrix.run(sessions=2, settings=SMALL, executor="in-process", listener=Ears())
    assert heard[:2] == ["starting", "progress"]


def test_a_plan_takes_what_a_run_takes_and_starts_nothing(at_home: Path) -> None:
    taken = set(inspect.signature(matrix.plan).parameters)
    only_to_run = {"results", "run_id", "executor", "listener", "clock", "finish_last"}
    assert taken == set(inspect.signature(matrix.run).parameters) - only_to_run
    prepared = matrix.plan(sessions=9, max_cost=7, models={"judge": "sim/opus"}, seed=4)
    assert (prepared.plan.sessions, prepared.plan.seed) == (9, 4)
    assert prepared.spec.roles["judge"] == "sim/opus"
    assert not (at_home / "results").exists()


def test_variables_go_under_arguments(at_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MATRIX_SESSIONS", "20")
    monkeypatch.setenv("MATRIX_SEED", "5")
    plan = matrix.plan(sessions=9).plan
    assert (plan.sessions, plan.seed) == (9, 5)


def test_every_command_has_its_function() -> None:
    for name in ("run", "resume", "plan", "validate", "list_runs", "open_run", "init", "schema"):
        assert callable(getattr(matrix, name))
        assert inspect.getdoc(getattr(matrix, name))
    assert set(matrix.__all__) <= set(dir(matrix)) | {*matrix.__all__}
    with pytest.raises(AttributeError, match="no attribute 'runn'"):
        matrix.runn  # noqa: B018


def test_importing_the_package_loads_nothing_slow(here: Path) -> None:
    import subprocess
    import sys

    code = "import sys, matrix; print(sorted({'pydantic', 'ray', 'numpy'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=here, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_mistakes_come_back_as_values_or_as_one_error(at_home: Path) -> None:
    (at_home / "bad.yaml").write_text("sesions: 3\ncolour: red\n")
    mistakes = matrix.validate("bad.yaml")
    assert [(mistake.line, mistake.path) for mistake in mistakes] == [(1, "sesions"), (2, "colour")]
    assert matrix.validate() == []
    for start in (matrix.plan, matrix.run):
        with pytest.raises(BadInput) as raised:
            start("bad.yaml")
        assert list(raised.value.mistakes) == mistakes


def test_settings_are_named_as_they_were_given(at_home: Path) -> None:
    with pytest.raises(BadInput, match=r"^limits\.trns: limits\.trns: unknown key"):
        matrix.plan(settings={"limits.trns": 3})
    with pytest.raises(BadInput, match=r"^sessions: sessions: found 0"):
        matrix.run(sessions=0)


def test_a_finished_run_gives_tables_comparisons_and_sessions(
    played: tuple[Path, Result],
) -> None:
    run = matrix.open_run("first", results=played[0] / "results")
    assert repr(run) == "<matrix.Run first (complete)>"
    assert run.table("turns").num_rows == len(run.frame("turns"))
    assert list(run.frame("sessions", ["score", "prompt"]).columns) == ["score", "prompt"]
    assert run.compare().factor == "prompt"
    assert run.compare(metric="cost_usd").metric == "cost_usd"
    assert run.compare(margin=5).verdict.rules.delta == 5
    assert run.session("best").ended is not None
    assert run.summary().outcomes["completed"] == 8


def test_what_is_not_there_is_an_error_of_its_own(played: tuple[Path, Result]) -> None:
    results = played[0] / "results"
    with pytest.raises(RunNotFound, match="near it: first"):
        matrix.open_run("frist", results=results)
    run = matrix.open_run("first", results=results)
    with pytest.raises(SessionNotFound, match="no session 'zz'"):
        run.session("zz")
    with pytest.raises(BadInput, match=r"found 'promt'.*did you mean 'prompt'"):
        run.compare("promt")
