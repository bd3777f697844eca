"""Looking at runs: `matrix list` and `matrix show`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from matrix import api
from tests.cli.program import GoldenRun, Matrix


def test_runs_are_listed_oldest_first(finished: Path, golden_run: GoldenRun) -> None:
    later = finished / "results" / "second"
    shutil.copytree(finished / "results" / "first", later)
    text = (later / "run.json").read_text().replace('"first"', '"second"')
    text = text.replace('"created_at": "2', '"created_at": "3')
    (later / "run.json").write_text(text.replace('"complete"', '"incomplete"'))
    broken = finished / "results" / "broken"
    broken.mkdir()
    (broken / "run.json").write_text("{}")
    golden_run("list", "list")


def test_a_list_for_programs_has_every_run_and_its_problem(finished: Path, matrix: Matrix) -> None:
    (listed,) = json.loads(matrix("list", "--json").stdout)
    assert (listed["run_id"], listed["status"], listed["problem"]) == ("first", "complete", "")


def test_an_empty_results_folder_says_what_fills_it(here: Path, matrix: Matrix) -> None:
    said = "no runs in results; `matrix run --sessions 500` makes one\n"
    assert matrix("list") == (said, "", 0)


def test_a_run_is_shown_as_it_ended(finished: Path, matrix: Matrix, golden_run: GoldenRun) -> None:
    result = golden_run("show", "show", "last")
    assert matrix("show") == result


def test_a_run_is_found_by_its_id_the_beginning_of_it_and_its_path(finished: Path) -> None:
    results = finished / "results"
    for name in ("first", "fir", "last", str(results / "first"), str(results / "first/run.json")):
        assert api.open_run(name, results=results).path == results / "first"


def test_a_session_is_a_transcript(finished: Path, golden_run: GoldenRun) -> None:
    golden_run("show-best", "show", "last", "best")


def test_sessions_are_found_by_name_and_by_the_beginning_of_their_id(finished: Path) -> None:
    run = api.open_run("first", results=finished / "results")
    frame = run.sessions().set_index("session_id")
    assert run.session("best").session_id == frame["score"].idxmax()
    assert run.session("worst").session_id == frame["score"].idxmin()
    assert (
        run.session("longest").plan.session_id
        in frame.index[frame["turns"] == frame["turns"].max()]
    )
    for session_id in frame.index:
        assert run.session(session_id[:10]).session_id == session_id


def test_a_transcript_for_programs_is_the_same_session(finished: Path, matrix: Matrix) -> None:
    fewer = matrix("show", "last", "--since", "first").stdout
    assert "Issues since first" in fewer
    assert "Every metric" not in fewer
    data = json.loads(matrix("show", "last", "worst", "--json").stdout)
    run = api.open_run("first", results=finished / "results")
    frame = run.sessions().set_index("session_id")
    row = frame.loc[data["session_id"]]
    assert row["score"] == frame["score"].min()
    assert (data["outcome"], data["turns"]) == (row["outcome"], row["turns"])
    assert data["cost_usd"] == pytest.approx(row["cost_usd"])
    messages = run.frame("messages").groupby("session_id").size()
    assert len(data["messages"]) == messages[data["session_id"]]


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("show-no-run", ("nope",)),
        ("show-no-session", ("last", "nope")),
        ("show-none-failed", ("last", "failed")),
    ],
)
def test_what_is_not_there_is_named_with_what_is(
    finished: Path, golden_run: GoldenRun, name: str, args: tuple[str, ...]
) -> None:
    result = golden_run(name, "show", *args)
    assert (result.stdout, result.code) == ("", 2)


def test_there_is_no_last_run_before_the_first(here: Path, matrix: Matrix) -> None:
    said = "error: no runs in results yet; start one with `matrix run`\n"
    assert matrix("show") == ("", said, 2)


def test_sessions_of_different_scenarios_are_said_to_be_that(
    finished: Path, matrix: Matrix
) -> None:
    frame = api.open_run("first", results=finished / "results").sessions()
    ids = {name: group["session_id"].iloc[0] for name, group in frame.groupby("scenario")}
    one, two = ids["put-it-back"], ids["the-borrowed-hour"]
    told = "of different scenarios, put-it-back and the-borrowed-hour: "
    assert told in " ".join(matrix("diff", "first", one, two).stdout.split())
    data = json.loads(matrix("diff", "first", one, two, "--json").stdout)
    assert data["same_scenario"] is False
    same = frame[frame["scenario"] == "put-it-back"]["session_id"].tolist()[:2]
    assert "different scenarios" not in matrix("diff", "first", *same).stdout


def test_sessions_are_shown_in_groups_ranked_and_with_what_went_wrong(
    finished: Path, golden_run: GoldenRun, matrix: Matrix
) -> None:
    shown = golden_run(
        "show-by", "show", "last", "--by", "prompt", "--top", "1", "--since", "first"
    )
    assert shown.code == 0
    data = json.loads(matrix("show", "last", "--by", "all", "--json").stdout)
    assert {"scenario", "prompt", "archetype", "group_size"} <= set(data["by"])
    assert len(data["issues"]) > 0


def test_what_is_told_of_a_whole_run_is_not_told_of_a_session(
    finished: Path, golden_run: GoldenRun
) -> None:
    assert golden_run("show-by-session", "show", "last", "best", "--by", "prompt").code == 2
    assert golden_run("show-by-mistake", "show", "last", "--by", "promt").code == 2
