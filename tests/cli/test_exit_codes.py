"""How a run ended, as its exit code says it, and what is told when it did not go well."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from matrix import api
from tests.cli.program import Matrix, Result

PLUGINS = Path(__file__).parents[1] / "plugins"
KEY = "sk-abcdef1234567890"
"""A key that the flawed kind lets slip."""

Flawed = Callable[..., Result]


@pytest.fixture
def flawed(here: Path, matrix: Matrix) -> Flawed:
    """``flawed(options)`` runs 12 rounds of two variants that go wrong as ``options`` say."""
    pack = here / "scenarios" / "flawed" / "one"
    pack.mkdir(parents=True)
    (pack / "scenario.yaml").write_text("kind: flawed\ntitle: One\n")

    def run(options: dict[str, object], *args: str) -> Result:
        spec = {
            "kind": "flawed",
            "scenarios": ["one"],
            "factors": {"step": [1, 2]},
            "options": options,
            "per_cell": 12,
            "limits": {"cost_usd": 1},
        }
        (here / "matrix.yaml").write_text(yaml.safe_dump(spec))
        play = ("run", "--executor", "in-process", "--run-id", "it", *args)
        return matrix(*play, variables={"PYTHONPATH": str(PLUGINS)})

    return run


@pytest.fixture
def installed() -> Iterator[None]:
    """The flawed kind is installed here, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(PLUGINS))
        yield


def sessions_of(here: Path, outcome: str) -> set[str]:
    table = api.open_run("it", results=here / "results").sessions()
    return set(table[table["outcome"] == outcome]["session_id"])


# --- nothing, or too little, was scored -----------------------------------------------------------


@pytest.mark.slow
def test_a_run_in_which_nothing_was_scored_ends_with_1_and_says_why(
    here: Path, flawed: Flawed
) -> None:
    result = flawed({"flaw": "outage"})
    assert result.code == 1
    assert "error: nothing was scored: 24 of 24 sessions errored" in result.stderr
    told = " ".join(result.stdout.split())
    assert "AuthenticationFailed: the key [redacted] | was # refused in round " in told
    assert KEY not in result.stdout + result.stderr
    (line,) = [line for line in result.stdout.splitlines() if "matrix show it " in line]
    assert line.split()[3] in sessions_of(here, "errored")


@pytest.mark.slow
def test_more_errored_than_scored_ends_with_1_and_as_many_with_0(flawed: Flawed) -> None:
    most = flawed({"flaw": "outage", "rounds": 7})
    assert most.code == 1
    assert "error: more sessions errored (14) than were scored (10)" in most.stderr


@pytest.mark.long
@pytest.mark.slow
def test_a_run_with_fewer_errors_than_scores_ends_with_0_and_tells_of_them(
    flawed: Flawed,
) -> None:
    result = flawed({"flaw": "outage", "rounds": 6})
    assert result.code == 0
    assert "AuthenticationFailed 12" in result.stdout
    assert "the key [redacted]" in " ".join(result.stdout.split())


@pytest.mark.slow
def test_quiet_tells_how_a_run_was_cut_short_and_how_it_goes_on(here: Path, matrix: Matrix) -> None:
    spec = {"kind": "counter", "scenarios": ["one"], "per_cell": 400, "limits": {"cost_usd": 0.002}}
    (here / "matrix.yaml").write_text(yaml.safe_dump(spec))
    result = matrix(
        "run", "--executor", "in-process", "--run-id", "it", "--quiet", "--at-cap", "spend-all"
    )
    assert result.code == 4
    assert "run it (incomplete: cap)" in result.stderr
    assert "matrix resume it" in result.stderr


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), ("--quiet",)])
def test_why_the_kind_let_sessions_fail_is_told_with_the_newest(
    here: Path, flawed: Flawed, flags: tuple[str, ...]
) -> None:
    result = flawed({"flaw": "failing"}, *flags)
    assert result.code == 1
    told = " ".join((result.stderr if flags else result.stdout).split())
    assert "failed 24 sessions: as far as it goes (newest: " in told
    if not flags:
        (newest,) = {word for word in told.split() if word in sessions_of(here, "failed")}
        assert f"matrix show it {newest} # the newest failed" in told


@pytest.mark.slow
def test_sessions_that_had_all_their_turns_are_told_and_what_they_count_as(
    here: Path, matrix: Matrix
) -> None:
    spec = {"kind": "counter", "scenarios": ["one"], "per_cell": 3, "limits": {"turns": 1}}
    (here / "matrix.yaml").write_text(yaml.safe_dump(spec))
    result = matrix("run", "--executor", "in-process", "--run-id", "it")
    told = " ".join(result.stdout.split())
    kept = "timeout 3 had all their turns: 1 turn; they are scored like any other (newest: "
    assert kept in told
    counted = matrix("run", "--executor", "in-process", "--set", "compare.turn_limit=fail").stdout
    assert "had all their turns: 1 turn; they count as failed, too" in " ".join(counted.split())
    assert re.search(r"^all +\S+ .* 3/3 +3 ", counted, re.MULTILINE), "the table has them as failed"
    reasons = json.loads(matrix("show", "it", "--json").stdout)["reasons"]
    assert [(one["class"], one["sessions"], one["reason"]) for one in reasons] == [
        ("timeout", 3, "1 turn")
    ]


@pytest.mark.slow
def test_quiet_tells_the_reasons_as_well(flawed: Flawed) -> None:
    result = flawed({"flaw": "outage"}, "--quiet")
    assert result.code == 1
    assert result.stdout.count("\n") == 1
    assert "AuthenticationFailed: the key [redacted]" in result.stderr


@pytest.mark.slow
def test_scores_that_nobody_could_read_are_no_scores(flawed: Flawed) -> None:
    result = flawed({"flaw": "unscored"})
    assert result.code == 1
    assert "error: nothing was scored: 24 of 24 sessions ended without a score" in result.stderr


@pytest.mark.long
@pytest.mark.slow
def test_only_failed_sessions_are_nothing_scored(flawed: Flawed) -> None:
    result = flawed({"flaw": "failing"}, "--json")
    assert result.code == 1
    assert json.loads(result.stdout)["scored"] == 0


@pytest.mark.long
@pytest.mark.slow
def test_a_kind_that_scores_nothing_by_design_has_done_its_work(flawed: Flawed) -> None:
    result = flawed({"flaw": "scoreless"}, "--json")
    told = json.loads(result.stdout)
    assert (result.code, told["scored"], told["sessions"]["completed"]) == (0, 0, 24)


@pytest.mark.long
@pytest.mark.slow
def test_a_run_that_did_not_reach_its_end_ends_with_4_whatever_was_scored(flawed: Flawed) -> None:
    cap = ("--at-cap", "spend-all", "--max-cost", "0.0001", "--open-sessions", "1", "--yes")
    gate = ("--threshold", "score=10", "--fail-on", "not-enough-data")
    result = flawed({"flaw": "outage", "where": "finish"}, *cap, *gate)
    assert "24 of 24 planned" in result.stdout
    assert "errored" in result.stdout
    assert result.code == 4


# --- gates ----------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.slow
def test_no_gate_passes_a_run_with_too_many_errors(
    here: Path, flawed: Flawed, matrix: Matrix
) -> None:
    gate = ("--threshold", "score=10")
    more = ("--per-cell", "13", "--fail-on", "threshold")
    result = flawed({"flaw": "outage", "rounds": 3}, *gate, *more)
    assert result.code == 3
    line = "gate FAILED: not enough data: 6 of 26 sessions errored (23.1 %), and a gate passes "
    line += "at most 20 % (--allow-errored)"
    assert line in result.stdout
    assert "gate passed" not in result.stdout
    variables = {"PYTHONPATH": str(PLUGINS)}
    again = matrix("compare", "it", *gate, variables=variables)
    assert (again.code, line in again.stdout) == (3, True), "whatever --fail-on says"
    wider = matrix("compare", "it", *gate, "--allow-errored", ".24", variables=variables)
    assert wider.code == 0
    assert "gate passed: score at least 10.0: met: " in wider.stdout


@pytest.mark.long
@pytest.mark.slow
def test_errors_up_to_the_share_stop_no_gate(flawed: Flawed) -> None:
    gate = ("--threshold", "score=10", "--fail-on", "threshold", "--allow-errored", "0.5")
    result = flawed({"flaw": "outage", "rounds": 3}, "--per-cell", "13", *gate)
    assert (result.code, "gate passed: " in result.stdout) == (0, True)


@pytest.mark.long
@pytest.mark.slow
def test_a_gate_that_fails_comes_after_a_run_that_scored_nothing(flawed: Flawed) -> None:
    gate = ("--threshold", "turns=100", "--fail-on", "threshold", "--fail-on", "not-enough-data")
    result = flawed({"flaw": "outage"}, *gate)
    assert "gate FAILED" in result.stdout
    assert result.code == 1


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("share", ["30", "-1", "nan"])
def test_a_share_that_is_none_is_refused_before_the_start(flawed: Flawed, share: str) -> None:
    result = flawed({}, "--threshold", "score=10", "--allow-errored", share)
    assert result.code == 2
    assert f"--allow-errored: found {float(share):g}; a share between 0 and 1" in result.stderr


@pytest.mark.slow
def test_a_share_without_a_gate_is_refused(flawed: Flawed) -> None:
    result = flawed({}, "--allow-errored", "0.3")
    assert result.code == 2
    assert result.stderr.startswith("--allow-errored: is for a gate")


@pytest.mark.long
@pytest.mark.slow
def test_python_has_the_same_gate(here: Path, flawed: Flawed, installed: None) -> None:
    flawed({"flaw": "outage", "rounds": 3}, "--per-cell", "13")
    run = api.open_run("it", results=here / "results")
    assert run.gate(thresholds={"score": 10}, fail_on=[]).failed
    assert not run.gate(thresholds={"score": 10}, allow_errored=0.3).failed


# --- defects of a kind ----------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("where", ["prelude", "start", "turn", "finish"])
def test_a_kinds_own_exception_is_called_its_defect_and_shown_whole_once(
    here: Path, flawed: Flawed, where: str
) -> None:
    result = flawed({"flaw": "defect", "where": where, "shared_start": where == "prelude"})
    assert result.code == 1
    assert "KindDefect 24" in result.stdout
    assert "a defect of the kind 'flawed'" in result.stdout
    assert result.stdout.count("Traceback (most recent call last):") == 1
    assert "in _go_wrong\n" in result.stdout
    assert "in _look_up\n" in result.stdout
    assert "KeyError: \"no such mood among ['[redacted]'] in round" in result.stdout
    assert KEY not in result.stdout + result.stderr
    log = (here / "results" / "it" / "log.jsonl").read_text()
    assert KEY not in log
    told = [json.loads(line) for line in log.splitlines() if "KindDefect" in line]
    assert any("in _look_up" in line for line in told[0]["traceback"])
    table = api.open_run("it", results=here / "results").sessions()
    assert not table["end_reason"].str.contains(KEY).any()


@pytest.mark.slow
def test_what_surrounds_a_kind_is_no_defect_of_it(flawed: Flawed) -> None:
    result = flawed({"flaw": "outage"}, "--json")
    summary = json.loads(result.stdout)
    assert summary["errors"] == {"AuthenticationFailed": 24}
    assert summary["defect"] is None
