"""The summary: what a run came to, in numbers that add up, and in words."""

from __future__ import annotations

import json
from pathlib import Path

import orjson

from matrix.report.run.runs import runs_as_text
from matrix.report.run.summary import extreme_session
from matrix.report.run.summary_data import summary_as_data
from matrix.report.run.summary_text import summary_as_text, verdict_line
from matrix.store.run.run_folder import ListedRun, list_runs
from tests.report.synthetic import CENT, MadeUp, Row, make_run, paired

TWO = {"prompt": ("plain", "warm")}


def mixed(path: Path) -> MadeUp:
    rows = [
        Row({"prompt": "plain"}, 0, score=90.0, cost=5 * CENT),
        Row({"prompt": "warm"}, 0, score=10.0, turns=9),
        Row({"prompt": "plain"}, 1, outcome="failed", score=None, error_class="StoryStuck"),
        Row({"prompt": "warm"}, 1, outcome="errored", score=None, error_class="RateLimited"),
        Row({"prompt": "plain"}, 2, outcome="censored", score=None, error_class="cap"),
        Row({"prompt": "warm"}, 2, outcome=None),
    ]
    return make_run(path, rows, TWO, status="incomplete", end_reason="cap")


def test_the_extremes_are_those_of_the_scores_and_turns(tmp_path: Path) -> None:
    run = mixed(tmp_path / "run")
    assert run.summary().extremes == {
        "best": "a-plain-0", "worst": "a-warm-0", "longest": "a-warm-0", "failed": "a-plain-1",
    }  # fmt: skip
    assert extreme_session(run.path, "worst") == "a-warm-0"


def test_errors_and_what_was_cut_short_are_told_apart(tmp_path: Path) -> None:
    summary = mixed(tmp_path / "run").summary()
    assert summary.errors == {"StoryStuck": 1, "RateLimited": 1}
    assert summary.censored == {"cap": 2}
    text = summary_as_text(summary)
    assert "  sessions  2 completed, 1 failed, 1 errored, 2 censored; 6 of 6 planned\n" in text
    assert "  censored  2 by cap (cut short or not begun, so they count for no variant)\n" in text


def test_money_is_that_of_the_calls_and_splits_by_role(tmp_path: Path) -> None:
    summary = mixed(tmp_path / "run").summary()
    assert summary.settled_nano == summary.spent_nano == 10 * CENT
    assert summary.role_nano == {"narrator": 10 * CENT}
    assert (summary.calls, summary.tokens_in, summary.tokens_out) == (6, 6000, 600)


def test_data_and_text_say_the_same(tmp_path: Path) -> None:
    summary = mixed(tmp_path / "run").summary()
    data = json.loads(orjson.dumps(summary_as_data(summary)))
    assert data["sessions"] == {
        "planned": 6, "completed": 2, "timeout": 0, "failed": 1, "errored": 1, "censored": 2,
    }  # fmt: skip
    assert data["comparison"]["sentence"] in " ".join(summary_as_text(summary).split())
    assert data["comparison"]["winner"] is None
    assert data["spent_usd"] == 0.1


def test_a_metric_that_no_session_has_is_the_reason_for_no_verdict(tmp_path: Path) -> None:
    rows = paired({"plain": 0.0, "warm": 0.0}, 2)
    summary = make_run(tmp_path / "run", rows, TWO, metric="scroe").summary()
    line = verdict_line(summary)
    assert line.startswith("No verdict on prompt by scroe: found 'scroe'; this run has: score")
    assert line.endswith("did you mean 'score'?")
    assert line in " ".join(summary_as_text(summary).split())


def test_a_live_run_is_summed_up_without_a_time(tmp_path: Path) -> None:
    rows = paired({"plain": 0.0, "warm": 0.0}, 2)
    run = make_run(tmp_path / "run", rows, TWO, rounds=40, status="running", totals=False)
    text = summary_as_text(run.summary())
    assert text.startswith("run run (running)\n  sessions  4 completed; 4 of 80 planned\n")
    assert "matrix resume" not in text


def test_text_is_as_wide_as_it_is_told(tmp_path: Path) -> None:
    summary = mixed(tmp_path / "run").summary()
    for width in (80, 100, 120):
        text = summary_as_text(summary, width=width)
        prose = text.partition("\nNext:")[0].splitlines()
        assert max(len(line) for line in prose) <= width
        assert "matrix resume run --results" in text


def test_sessions_that_failed_for_several_reasons_are_told_by_reason(tmp_path: Path) -> None:
    why = ["slow", "slow", "slow", "mute", "mute", "lost", "odd", "rude"]
    rows = [
        Row({"prompt": "warm"}, n, outcome="failed", score=None, reason=reason)
        for n, reason in enumerate(why)
    ]
    made = make_run(tmp_path / "run", rows, {"prompt": ("warm",)}, compared=None)
    told = " ".join(summary_as_text(made.summary()).split())
    newest = rows[-1].session_id
    assert (
        "failed 8 sessions: 3 for: slow; 2 for: mute; 1 for: lost; 2 for other reasons "
        f"(newest: {newest})"
    ) in told
    (one,) = orjson.loads(orjson.dumps(summary_as_data(made.summary())))["reasons"]
    assert [(each["reason"], each["sessions"]) for each in one["by_reason"]][:2] == [
        ("slow", 3), ("mute", 2),
    ]  # fmt: skip
    alike = [Row({"prompt": "warm"}, n, outcome="failed", score=None) for n in range(2)]
    same = make_run(tmp_path / "same", alike, {"prompt": ("warm",)}, compared=None)
    assert "failed 2 sessions: because (newest:" in " ".join(
        summary_as_text(same.summary()).split()
    )


def test_a_run_whose_error_is_long_and_wild_takes_one_line_of_the_list(tmp_path: Path) -> None:
    make_run(
        tmp_path / "run", [], TWO, rounds=1, status="failed",
        end_reason="boom\n\x1b[2J" + "x" * 1000,
    )  # fmt: skip
    text = runs_as_text(list_runs(tmp_path))
    assert text.count("\n") == 1
    assert "\x1b" not in text
    assert text.endswith("...")
    assert max(map(len, text.splitlines())) < 140


def test_a_run_that_cannot_be_read_is_listed_with_its_problem(tmp_path: Path) -> None:
    text = runs_as_text([ListedRun(tmp_path / "odd", None, "damaged")])
    assert text.splitlines()[1].split() == ["odd", "-", "-", "-", "-", "damaged"]
