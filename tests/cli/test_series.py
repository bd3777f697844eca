"""Runs of one name as a series: `--baseline latest`, `--finish-last`, one at a time."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

import matrix as library
from matrix import api
from matrix.cli.main import main
from matrix.store.shared.name_lock import only_one
from tests.cli.program import PROGRAM, Matrix, Result, environment
from tests.executors.programs import SLOW, entries_of, wait_for
from tests.waiting import LONGEST_WAIT_S

SPEC: dict[str, Any] = {
    "name": "tally",
    "kind": "counter",
    "scenarios": ["one"],
    "compare": {"metric": "score", "margin": 3},
    "per_cell": 12,
    "options": {"turns": 3, "step": 9},
    "at_cap": "spend-all",
    "limits": {"cost_usd": 10},
}
GATE = ("--baseline", "latest", "--fail-on", "regression")
RUN = ("run", "--executor", "in-process", "--quiet")
SERIES = (*RUN, *GATE, "--finish-last")
CUT_OFF = ("--max-cost", "0.00002", "--yes")
"""Ends a run before its plan, which a later start with the cap of the spec can finish."""


@pytest.fixture
def matrix(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Matrix:
    """``matrix(*args)`` runs the program in ``here``, without a process of its own."""
    monkeypatch.chdir(here)
    for name in set(os.environ) - set(environment(here)):
        monkeypatch.delenv(name)

    def run(*args: str) -> Result:
        with pytest.raises(SystemExit) as ended:
            main(args)
        printed = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Result(printed.out, printed.err, ended.value.code)

    return run


@pytest.fixture
def tally(here: Path) -> Path:
    """``here``, with a spec of a cheap run, and nothing played."""
    write(here)
    return here


def write(folder: Path, **changes: Any) -> None:
    (folder / "matrix.yaml").write_text(yaml.safe_dump({**SPEC, **changes}), encoding="utf-8")


def played(folder: Path) -> dict[str, str]:
    """Every run and how it stands, oldest first."""
    return {one.path.name: one.run.status for one in api.list_runs(folder / "results") if one.run}


# --- the newest complete run of the name ----------------------------------------------------------


@pytest.mark.slow
def test_latest_is_the_newest_complete_run_of_the_name_and_no_replay(
    tally: Path, matrix: Matrix
) -> None:
    for more in (("--run-id", "a"), ("--run-id", "b"), ("--run-id", "other", "--name", "else")):
        assert matrix(*RUN, *more).code == 0
    session = api.open_run("b", results=tally / "results").sessions().session_id[0]
    replayed = matrix(
        "replay", "b", session, "--turn", "1", "--executor", "in-process", "--run-id", "again"
    )
    assert replayed.code == 0, replayed.stderr
    assert matrix(*RUN, *CUT_OFF, "--run-id", "short").code == 4
    result = matrix(*RUN, *GATE, "--run-id", "c")
    assert "gate: held against b, the newest complete run of the name 'tally'\n" in result.stderr
    assert (result.code, "not enough data against b: " in result.stdout) == (0, True)


@pytest.mark.slow
def test_the_first_run_of_a_name_has_no_such_gate_and_a_later_one_is_gated_after_the_fact(
    tally: Path, matrix: Matrix
) -> None:
    first = matrix(*RUN, *GATE, "--run-id", "a", "--json")
    assert first.code == 0
    assert "so this run is played without that gate" in first.stderr
    assert json.loads(first.stdout)["gate"]["baseline"] is None
    write(tally, options={"turns": 3, "step": 1})
    assert matrix(*RUN, "--run-id", "b").code == 0
    assert api.open_run("b", results=tally / "results").gate("latest").failed
    after = matrix("compare", "b", *GATE)
    assert (after.code, "gate FAILED" in after.stdout) == (3, True)
    nothing = matrix("compare", "a", *GATE)
    assert nothing.code == 2
    assert "no complete run of the name 'tally' came before a" in nothing.stderr


def test_a_gate_without_a_margin_is_refused_on_the_first_night_already(
    tally: Path, matrix: Matrix
) -> None:
    write(tally, compare={"metric": "score"})
    result = matrix(*RUN, *GATE)
    assert result.code == 2
    assert "needs a margin" in result.stderr
    assert played(tally) == {}


def test_no_run_may_have_the_name_that_means_the_newest(tally: Path, matrix: Matrix) -> None:
    result = matrix(*RUN, "--run-id", "latest")
    assert result.code == 2
    assert "not 'last' or 'latest'" in result.stderr


# --- the last run first ---------------------------------------------------------------------------


@pytest.mark.slow
def test_an_unfinished_run_goes_on_first_and_its_own_missed_gate_is_decided(
    tally: Path, matrix: Matrix
) -> None:
    """A change that came with the run that was cut off is told, though the next is no worse."""
    assert matrix(*SERIES, "--run-id", "good").code == 0
    write(tally, options={"turns": 3, "step": 1})
    assert matrix(*SERIES, *CUT_OFF, "--run-id", "cut").code == 4
    result = matrix(*SERIES, "--run-id", "next")
    assert "cut did not reach its end, and goes on first" in result.stderr
    failed, undecided = (line for line in result.stdout.splitlines() if line.startswith("gate "))
    assert failed.startswith("gate FAILED: ")
    assert undecided.startswith("gate undecided ")
    assert result.code == 3
    assert played(tally) == dict.fromkeys(("good", "cut", "next"), "complete")


@pytest.mark.slow
def test_programs_get_one_document_and_what_was_finished_is_told_beside_it(
    tally: Path, matrix: Matrix
) -> None:
    assert matrix(*RUN, *CUT_OFF, "--run-id", "cut").code == 4
    result = matrix(*SERIES, "--run-id", "next", "--json")
    assert json.loads(result.stdout)["run_id"] == "next"
    assert result.code == 0


@pytest.mark.slow
def test_a_run_that_does_not_reach_its_end_now_either_comes_before_the_next(
    tally: Path, matrix: Matrix
) -> None:
    write(tally, options={"turns": 9_000}, limits={"cost_usd": 10, "turns": 9_000})
    at_once = ("--time-limit", "0.00001", "--open-sessions", "1")
    assert matrix(*RUN, *at_once, "--run-id", "cut").code == 4
    result = matrix(*SERIES, *at_once, "--run-id", "next")
    assert result.code == 4
    assert "cut comes first: no other run of its name was started" in result.stderr
    assert played(tally) == {"cut": "incomplete"}


@pytest.mark.slow
def test_a_run_of_another_spec_is_not_finished_and_nothing_starts(
    tally: Path, matrix: Matrix
) -> None:
    assert matrix(*RUN, *CUT_OFF, "--run-id", "cut").code == 4
    write(tally, options={"turns": 4}, limits={"cost_usd": 11, "turns": 50})
    result = matrix(*SERIES)
    assert result.code == 2
    assert "cut did not reach its end and is of another spec (different: " in result.stderr
    assert "options, limits.turns); finish it as it was with `matrix resume cut`" in result.stderr
    assert played(tally) == {"cut": "incomplete"}
    assert matrix(*RUN, *GATE, "--run-id", "next").code == 0, "without the flag it is left alone"
    assert matrix(*SERIES, "--run-id", "third").code == 0, "and a later run has followed it"
    assert played(tally) == {"cut": "incomplete", "next": "complete", "third": "complete"}


@pytest.mark.slow
def test_a_run_at_its_cap_is_finished_only_under_a_higher_one(tally: Path, matrix: Matrix) -> None:
    assert matrix(*RUN, *CUT_OFF, "--run-id", "poor").code == 4
    result = matrix(*RUN, *CUT_OFF, "--finish-last", "--run-id", "as-poor")
    assert "note: poor ended at its cap, and this one is no higher" in result.stderr
    assert played(tally) == {"poor": "incomplete", "as-poor": "incomplete"}
    assert matrix(*RUN, "--finish-last", "--run-id", "rich").code == 0
    assert played(tally) == {"poor": "incomplete", "as-poor": "complete", "rich": "complete"}


def test_a_run_is_finished_or_named_but_not_both(tally: Path, matrix: Matrix) -> None:
    result = matrix(*RUN, "--finish-last", "--resume", "last")
    assert result.code == 2
    assert "--finish-last: a run is named with --resume already" in result.stderr


@pytest.mark.slow
def test_python_finishes_the_last_run_first_too(tally: Path, matrix: Matrix) -> None:
    assert matrix(*RUN, *CUT_OFF, "--run-id", "cut").code == 4
    run = library.run(
        tally / "matrix.yaml",
        results=tally / "results",
        run_id="next",
        executor="in-process",
        finish_last=True,
        clock=lambda: 4e9,
    )
    assert run.id == "next"
    assert run.file.created_at.year == 2096
    assert played(tally) == {"cut": "complete", "next": "complete"}
    assert not run.gate("latest").failed


# --- one at a time --------------------------------------------------------------------------------


@contextmanager
def alive(folder: Path, *args: str) -> Iterator[int]:
    """A program whose models take all day to answer, and its process; it is killed at the end."""
    slow = {**SLOW, "latency": {"first_token_s": LONGEST_WAIT_S, "tokens_per_s": 1e6, "jitter": 0}}
    write(folder, simulation=slow)
    with subprocess.Popen(
        [PROGRAM, *args],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield process.pid
        finally:
            process.kill()


@pytest.mark.slow
def test_a_second_start_is_refused_with_the_process_that_runs_and_the_lock_dies_with_it(
    tally: Path, matrix: Matrix
) -> None:
    with alive(tally, *SERIES, "--run-id", "first") as process:
        wait_for(lambda: "first" in played(tally))
        for flags in (SERIES, (*RUN, *GATE)):
            result = matrix(*flags, "--run-id", "second")
            assert result.code == 2
            assert f"is still going on in results (process {process});" in result.stderr
        write(tally, name="else")
        assert matrix(*SERIES, "--run-id", "of-another-name").code == 0
    with only_one(tally / "results", "tally"):
        assert list(played(tally)) == ["first", "of-another-name"]


@pytest.mark.slow
def test_a_run_that_was_started_without_the_flags_is_not_gone_on_with_while_it_is_alive(
    tally: Path, matrix: Matrix
) -> None:
    with alive(tally, *RUN, "--run-id", "plain") as process:
        run_dir = tally / "results" / "plain"
        wait_for(lambda: entries_of(run_dir) > 0)  # its governor has the journal from then on
        result = matrix(*SERIES, "--run-id", "second")
    assert result.code == 2
    assert f"plain is still running (process {process} plays it)" in result.stderr
    assert result.stderr.endswith("; nothing was started\n")
    assert list(played(tally)) == ["plain"]
