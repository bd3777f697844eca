"""What a run is said to have come to afterwards: shown again, gated, labelled, judged again."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import pytest
import yaml

from tests.executors.programs import Project
from tests.kinds.trajectory.folders import project, scenario

RUBRIC = "judges/says.md"
SAID = {"judge": "said", "rubric": RUBRIC, "expected_meaning": "asked"}
FILED = {"judge": "filed", "rubric": RUBRIC, "expected_meaning": "x", "target_file": "a.md"}
FIRST = {
    "turns": [
        {"turn": 1, "structural": [{"file_exists": "a.md"}, {"file_exists": "b.md"}]},
        {"turn": 2, "content": [SAID, FILED]},
    ]
}
SECOND = {"turns": [{"turn": 1, "structural": [{"file_exists": "a.md"}], "content": [SAID]}]}


@pytest.fixture(scope="module")
def missed(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A run of two scenarios, one of which misses an assertion in every run."""
    made = project(tmp_path_factory.mktemp("told"))
    inputs = {"turn-01-a.md": "WRITE a.md | x", "turn-02-b.md": "y"}
    scenario(made.folder, "01", inputs, FIRST)
    scenario(made.folder, "02", {"turn-01-a.md": "WRITE a.md | x"}, SECOND)
    done = made.matrix(
        "run", "scenarios", "--runs", "10", "--executor", "in-process", "--run-id", "it"
    )
    assert done.code == 3, done
    return made


MISSED = "MISSED 01 t01.file_exists.2: 0 of 10"


@pytest.mark.slow
def test_what_was_missed_is_told_wherever_the_run_is_shown(missed: Project) -> None:
    shown = missed.matrix("show", "it")
    assert shown.code == 0, shown
    assert MISSED in shown.out
    assert MISSED in (missed.path("it") / "report.md").read_text()
    data = json.loads(missed.matrix("show", "it", "--json").out)
    assert data["report"]["summary"]["missed"] == 1


@pytest.mark.slow
def test_a_share_is_told_in_figures_that_it_has(missed: Project) -> None:
    flags = (
        "--baseline",
        "it",
        "--margin",
        "0.05",
        "--executor",
        "in-process",
        "--run-id",
        "again",
    )
    done = missed.matrix("run", "scenarios", "--runs", "10", *flags)
    assert "margin 0.050" in done.out, done
    assert "  0.875" in done.out, "of two scenarios, with 3 of 4 and all of theirs"


@pytest.mark.slow
@pytest.mark.parametrize("change", ["expected", "agent"])
def test_a_gate_says_what_else_is_other_than_it_was(missed: Project, change: str) -> None:
    path = missed.folder / (
        "scenarios/02/expected.yaml" if change == "expected" else "trajectory.yaml"
    )
    before = path.read_text()
    if change == "expected":
        path.write_text(yaml.safe_dump({"turns": [{"turn": 1, "content": [SAID]}]}))
    else:
        adapter = yaml.safe_load(before)
        adapter["agents"]["judge"]["max_usd"] = 0.06
        path.write_text(json.dumps(adapter))
    flags = ("--baseline", "it", "--margin", "0.05", "--executor", "in-process", "--run-id", change)
    done = missed.matrix("run", "scenarios", "--runs", "10", *flags)
    path.write_text(before)
    told = "scenario of 02" if change == "expected" else "agents.judge"
    assert f"other than in it: {told}" in done.out, done
    compared = missed.matrix("compare", "it", change)
    assert f"Other in {change} than in it: {told}" in " ".join(compared.out.split()), compared


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "count", "shows"),
    [("t02.said", 10, "agent: asked "), ("t01.said", 10, "agent: asked "), ("t02.filed", 10, "x")],
)
def test_people_are_shown_what_the_judge_was_shown(
    missed: Project, tmp_path: Path, metric: str, count: int, shows: str
) -> None:
    table = tmp_path / "l.csv"
    flags = ("--metric", metric, "--write", str(table), "--sessions", "20")
    done = missed.matrix("label", "it", *flags)
    assert done.code == 0, done
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == count
    assert all(shows in row["transcript"] for row in rows), rows[0]
    if metric == "t02.filed":
        assert all(row["transcript"].endswith("\n\nFile a.md:\nx\n") for row in rows), rows[0]
        assert all(row["transcript"].startswith("input: ") for row in rows), "what came in"


@pytest.mark.slow
def test_who_judges_again_goes_by_what_the_run_keeps(missed: Project) -> None:
    done = missed.matrix(
        "rejudge", "it", "--judge", "judge", "--executor", "in-process", "--run-id", "anew"
    )
    told = "goes by what run it keeps of rubrics and scenarios: what was changed in their files"
    assert told in " ".join(done.err.split()), done
    refused = missed.matrix("rejudge", "it", "--rubric", RUBRIC, "--executor", "in-process")
    assert refused.code == 2
    assert "say how the judge answers, such as answer: verdict" in refused.err


@pytest.mark.slow
def test_who_failed_counts_when_the_rest_is_judged_again(tmp_path: Path) -> None:
    made = project(tmp_path)
    turns = {"turns": [{"turn": 1, "structural": [{"file_exists": "a.md"}], "content": [SAID]}]}
    scenario(tmp_path, "01", {"turn-01-a.md": "WRITE a.md | x"}, turns)
    scenario(tmp_path, "02", {"turn-01-a.md": "RAISE"}, turns)
    run = made.matrix(
        "run", "scenarios", "--runs", "2", "--executor", "in-process", "--run-id", "it"
    )
    assert run.code == 3, run
    assert "FAILED 02, run 1" in run.out, run
    flags = ("--judge", "judge", "--executor", "in-process", "--run-id", "anew")
    again = made.matrix("rejudge", "it", *flags)
    assert again.code == 3, again
    told = "2 sessions of it failed: nobody is asked about them, and they count as before"
    assert told in again.err, again
    failed = "02, where turns failed (above): t01.file_exists 0 of 2, t01.said 0 of 2"
    for line in ("FAILED 02, run 1", failed, "2 completed, 2 failed"):
        assert line in again.out, again
    assert len(made.tables("anew").frame("calls", ["role"])) == 2


@pytest.mark.slow
def test_runs_that_all_failed_are_held_against_their_own_thresholds(tmp_path: Path) -> None:
    made = project(tmp_path)
    own = {"structural": 0.5, "content": 0.25}
    turns = [{"turn": 1, "structural": [{"file_exists": "a.md"}], "content": [SAID]}]
    scenario(tmp_path, "02", {"turn-01-a.md": "RAISE"}, {"pass_threshold": own, "turns": turns})
    done = made.matrix(
        "run", "scenarios", "--runs", "2", "--executor", "in-process", "--run-id", "it"
    )
    table = " ".join(done.out.split())
    assert "02 2 0 of 2 at 0.5 0 of 1 at 0.25" in table, done
    report = json.loads((tmp_path / "reports/trajectory/it.json").read_text())
    assert {one["threshold"] for one in report["assertions"]} == {0.5, 0.25}


@pytest.mark.slow
def test_an_agent_that_was_rewritten_meanwhile_is_told(tmp_path: Path) -> None:
    made = project(tmp_path)
    turns = [{"turn": 1, "structural": [{"file_exists": "a.md"}]}]
    scenario(tmp_path, "01", {"turn-01-a.md": "WRITE a.md | x"}, {"turns": turns})
    flags = ("--runs", "3", "--max-cost", "0.06", "--executor", "in-process", "--run-id", "it")
    assert made.matrix("run", "scenarios", *flags).code == 4
    path = tmp_path / "mine.py"
    later = path.stat().st_mtime + 1000
    os.utime(path, (later, later))
    done = made.matrix("resume", "it", "--max-cost", "5", "--executor", "in-process")
    told = "mine.py (agent mine) was written since the run began"
    assert told in " ".join(done.err.split()), done


@pytest.mark.slow
def test_what_passed_with_nothing_to_look_at_is_told(tmp_path: Path) -> None:
    made = project(tmp_path)
    kept = [{"no_orphan_evidence": True}, {"all_internal_links_valid": True}]
    turns = {"turns": [{"turn": 1, "structural": kept}]}
    scenario(tmp_path, "01", {"turn-01-a.md": "WRITE hypotheses/H1.md | # H1"}, turns)
    scenario(tmp_path, "02", {"turn-01-a.md": "WRITE b.md | [H](b.md)"}, turns)
    done = made.matrix(
        "run", "scenarios", "--runs", "2", "--executor", "in-process", "--run-id", "it"
    )
    told = (
        "passed with nothing to look at, or with some of it not read, in every run: "
        "01 t01.no_orphan_evidence (no row of evidence was recognised); "
        "01 t01.all_internal_links_valid (0 links); "
        "02 t01.no_orphan_evidence (no row of evidence was recognised)"
    )
    assert told in done.out, done


def test_repeats_are_of_rubrics(missed: Project) -> None:
    done = missed.matrix(
        "rejudge", "it", "--judge", "sim/haiku", "--repeats", "5", "--executor", "in-process"
    )
    assert done.code == 2, done
    assert "--repeats: is how often each rubric is judged: name rubrics with --rubric" in done.err


@pytest.mark.slow
def test_who_judges_a_part_says_so(tmp_path: Path) -> None:
    made = project(tmp_path)
    judged = [
        {"judge": "long", "rubric": RUBRIC, "expected_meaning": "x", "target_file": "long.md"},
        {"judge": "both", "rubric": RUBRIC, "expected_meaning": "x", "target_glob": "*.md"},
        {"judge": "short", "rubric": RUBRIC, "expected_meaning": "x", "target_file": "a.md"},
    ]
    final = {"content": [{"judge": "all", "rubric": RUBRIC, "expected_meaning": "x"}]}
    text = "x" * 5_000
    inputs = {"turn-01-a.md": f"WRITE long.md | {text}\nWRITE a.md | x"}
    expected = {"turns": [{"turn": 1, "content": judged}], "final_state": final}
    scenario(tmp_path, "01", inputs, expected)
    adapter = yaml.safe_load((tmp_path / "trajectory.yaml").read_text())
    adapter["options"] = {"judged_chars": 2000}
    (tmp_path / "trajectory.yaml").write_text(json.dumps(adapter))
    done = made.matrix("run", "scenarios/01", "--executor", "in-process", "--run-id", "it")
    assert "judgements were about files shown in part, such as t01.long (shown 2," in done.out, done
    (run,) = json.loads((tmp_path / "reports" / "trajectory" / "it.json").read_text())["runs"]
    parts = {one["id"]: one["part"] for one in run["results"]}
    assert parts["t01.short"] == ""
    assert parts["t01.long"].endswith(" of 5,001 characters")
    assert parts["t01.both"].endswith(" of 5,003 characters")
    assert parts["final.all"] == "shown 2 of 5,003 characters, 1 of 2 files not at all"
    whys = {one["id"]: one["why"] for one in run["results"]}
    assert whys["t01.long"].startswith("(shown 2,")


def test_a_comment_names_what_was_missed(missed: Project) -> None:
    done = missed.matrix("report", "it", "--format", "github")
    assert "Not passed: 01 t01.file\\_exists.2" in done.out.replace(
        "01 t01.file_", "01 t01.file\\_"
    )


@pytest.mark.slow
def test_six_turns_are_as_many_as_their_costs(tmp_path: Path) -> None:
    made = project(tmp_path)
    inputs = {f"turn-0{n}-a.md": f"WRITE a.md | {n}" for n in range(1, 7)}
    scenario(tmp_path, "01", inputs, {"turns": [{"turn": 1, "structural": [{"file_exists": "a"}]}]})
    done = made.matrix("run", "scenarios", "--executor", "in-process", "--run-id", "it")
    costs = next(one for one in done.out.splitlines() if one.startswith("cost of turns"))
    assert costs.count("01 turn") == 6, costs
    assert "more" not in costs


@pytest.mark.parametrize(
    ("readme", "holds"),
    [
        ("Content 0.75 as judges waver.", True),
        ("75 % of runs, as judges waver.", True),
        ("The threshold is low, as judges waver.", True),
        ("Made on 10.75 days.", False),
        ("What it covers.", False),
    ],
)
def test_a_reason_for_a_threshold_may_name_its_value(
    tmp_path: Path, readme: str, holds: bool
) -> None:
    made = project(tmp_path)
    turns = [{"turn": 1, "structural": [{"file_exists": "a.md"}]}]
    expected = {"pass_threshold": {"content": 0.75}, "turns": turns}
    scenario(tmp_path, "01", {"turn-01-a.md": "x"}, expected, readme=f"# It\n\n{readme}\n")
    done = made.matrix("validate", "scenarios")
    told = "README.md gives no reason for its pass_threshold"
    assert (told not in " ".join((done.out + done.err).split())) is holds, done
