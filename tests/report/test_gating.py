"""Gates: a regression fails, equal runs do not, and whatever is unsure is called so."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from matrix.api.gating import check_gates
from matrix.api.opened import Run
from matrix.model.errors import BadInput
from matrix.report.compare.matching import runs_matchup
from matrix.report.gates.gate_wish import read_wish
from matrix.report.gates.gating import GateReport, gate_as_data
from matrix.report.gates.regression import regression_as_data
from matrix.stats import gate_paired
from matrix.stats.verdicts.one_look import difference_once
from matrix.store.reading.reader import RunTables
from matrix.store.run.run_folder import read_run
from tests.report.synthetic import MadeUp, Row, make_run

ONE = {"prompt": ("warm",)}
ROUNDS = 60


def rows(
    shift: float = 0.0, *, rounds: int = ROUNDS, phase: int = 0, failing: int = 0, **more: Any
) -> list[Row]:
    """Scores of about 70 + ``shift`` with a spread of their own, the first rounds failing."""
    return [
        Row(
            {"prompt": "warm"},
            number,
            score=None if number < failing else 70 + shift + (number * 7 + phase) % 11 - 5,
            outcome="failed" if number < failing else "completed",
            **more,
        )
        for number in range(rounds)
    ]


def made(path: Path, of: Sequence[Row], **more: Any) -> MadeUp:
    return make_run(path, of, ONE, compared=None, **more)


def gated(tmp_path: Path, candidate: Sequence[Row], margin: float = 3.0, **more: Any) -> GateReport:
    made(tmp_path / "before", rows())
    made(tmp_path / "after", candidate)
    return Run(tmp_path / "after").gate("before", margin=margin, **more)


# --- against a baseline ---------------------------------------------------------------------------


def test_a_run_that_is_as_good_passes(tmp_path: Path) -> None:
    report = gated(tmp_path, rows(phase=3))
    assert report.against is not None
    assert report.against.kind == "pass"
    assert not report.failed
    (line,) = report.lines
    assert line.startswith("gate passed: after is not worse than before by the margin: score ")


def test_a_run_that_scores_worse_has_regressed_and_the_line_says_by_how_much(
    tmp_path: Path,
) -> None:
    report = gated(tmp_path, rows(-8, phase=3))
    assert report.failed
    (line,) = report.lines
    assert line.startswith("gate FAILED: REGRESSION against before: score -7.9 (90 % interval -")


def test_a_run_that_fails_more_often_has_regressed_whatever_it_scores(tmp_path: Path) -> None:
    report = gated(tmp_path, rows(+5, phase=3, failing=12))
    assert report.against is not None
    assert report.against.scores is not None
    assert report.against.scores.kind == "pass"
    assert report.failed
    assert "failed: 12 of 60 sessions against 0, which is shown to be more often" in report.lines[0]


def test_too_few_pairs_for_the_failure_gate_are_not_enough_data_and_do_not_fail(
    tmp_path: Path,
) -> None:
    made(tmp_path / "before", rows(rounds=30))
    made(tmp_path / "after", rows(rounds=30, phase=3))
    run = Run(tmp_path / "after")
    report = run.gate("before", margin=3)
    assert report.against is not None
    assert (report.against.kind, report.against.extra) == ("not_enough_data", 22)
    assert not report.failed
    assert report.lines[0].startswith(
        "gate undecided (fails the run only with --fail-on not-enough"
    )
    needed = "about 22 more rounds until it decides, of both: before has 30 rounds, so it takes a "
    assert f"{needed}longer baseline first" in report.lines[0]
    made(tmp_path / "whole", rows(rounds=60))
    assert "about 22 more rounds until it decides; 30 " in run.gate("whole", margin=3).lines[0]
    strict = run.gate("before", margin=3, fail_on=["not-enough-data"])
    assert strict.failed


def longer(failing: int, rounds: int = ROUNDS) -> list[Row]:
    """A run that goes on for as long again, in which as many of the later sessions fail."""
    later = rows(rounds=2 * rounds, phase=3)
    late = range(rounds, rounds + failing)
    return [
        replace(row, score=None, outcome="failed") if row.round in late else row for row in later
    ]


@pytest.mark.parametrize(("failing", "kind"), [(ROUNDS, "not_enough_data"), (1, "pass")])
def test_rounds_beyond_the_baselines_are_told_and_take_a_pass_back_where_they_fail(
    tmp_path: Path, failing: int, kind: str
) -> None:
    report = gated(tmp_path, longer(failing))
    assert report.against is not None
    assert report.against.kind == kind
    line = report.lines[0]
    assert (
        f"60 rounds of after have no partner in before and are left out: {failing} of their 60 "
        "sessions failed, 0 have no score"
    ) in line
    assert f"failed of all sessions: {failing} of 120 against 0 of 60" in line
    assert ("so the rounds in common prove no pass" in line) == (kind != "pass")
    data = regression_as_data(report.against)
    assert isinstance(data, dict)
    assert data["failures"]["of_all"] == [
        {"failed": 0, "of": 60}, {"failed": failing, "of": 120},
    ]  # fmt: skip


def test_a_declared_failure_margin_is_the_one_of_the_gate(tmp_path: Path) -> None:
    made(tmp_path / "before", rows(rounds=30))
    spec = {"compare": {"failure_margin": 10, "margin": 3}}
    made(tmp_path / "after", rows(rounds=30, phase=3), spec=spec)
    report = Run(tmp_path / "after").gate("before")
    assert report.against is not None
    assert report.against.kind == "pass", "25 pairs show 10 points; the margin is the spec's"


def test_without_fail_on_a_gate_only_tells(tmp_path: Path) -> None:
    report = gated(tmp_path, rows(-8, phase=3), fail_on=[])
    assert not report.failed
    assert report.lines[0].startswith(
        "gate not passed (fails the run only with --fail-on regression): RE"
    )


def test_the_very_same_scores_are_no_regression(tmp_path: Path) -> None:
    report = gated(tmp_path, rows())
    assert report.against is not None
    assert report.against.scores is not None
    assert report.against.scores.kind == "pass"
    assert "score +0.0 in every round, margin" in report.lines[0]


def test_the_interval_of_a_gate_is_that_of_a_verdict_where_scenarios_have_unlike_many(
    tmp_path: Path,
) -> None:
    """Topics of 4, 4 and 60 units: 6.4 degrees of freedom by Bell and McCaffrey, not 67."""
    draws, own = random.Random(3), {"a": range(4), "b": range(4, 8), "c": range(8, 68)}
    sides: list[list[Row]] = [[], []]
    for topic, there in own.items():
        for number in range(68):
            for rows_of in sides:
                score = draws.gauss(60, 3) if number in there else None
                rows_of.append(Row({"prompt": "warm"}, number, topic, score=score))
    runs = [
        made(tmp_path / name, of, scenarios=tuple(own))
        for name, of in zip(("before", "after"), sides, strict=True)
    ]
    report = Run(runs[1].path).gate("before", margin=9.0)
    assert report.against is not None
    assert report.against.scores is not None
    tables, file = RunTables(runs[0].path), read_run(runs[0].path)
    other = (RunTables(runs[1].path), read_run(runs[1].path))
    table, _ = runs_matchup((tables, file), other).round_table("score")
    expected = difference_once(table, 0, 1, 0.1)
    assert expected.df == pytest.approx(6.4, abs=0.1)
    assert report.against.scores.interval == expected.interval
    assert expected.interval is not None
    before, after = table.paired(0, 1).T
    narrow = gate_paired(before, after, 9.0).interval
    assert narrow is not None
    assert narrow.half_width < 0.9 * expected.interval.half_width


def yes_or_no(passing: float, rounds: int = 40, seed: int = 1) -> list[Row]:
    draws = random.Random(seed)
    values = [float(draws.random() < passing) for _ in range(rounds)]
    return [Row({"prompt": "a"}, n, score=value) for n, value in enumerate(values)]


def test_what_always_passed_and_never_does_now_is_a_regression(tmp_path: Path) -> None:
    one = {"prompt": ("a",)}
    make_run(tmp_path / "before", yes_or_no(1.0), one, compared=None)
    make_run(tmp_path / "after", yes_or_no(0.0), one, compared=None)
    report = Run(tmp_path / "after").gate("before", margin=0.05)
    assert report.failed
    assert "REGRESSION against before: score -1.0" in report.lines[0]


@pytest.mark.parametrize(("rounds", "kind"), [(40, "not_enough_data"), (60, "pass")])
def test_yes_or_no_scores_pass_as_rates_do(tmp_path: Path, rounds: int, kind: str) -> None:
    """52 pairs without a failure show at most five points; t would pass any number of them."""
    for name in ("before", "after"):
        make_run(tmp_path / name, yes_or_no(1.0, rounds), {"prompt": ("a",)}, compared=None)
    report = Run(tmp_path / "after").gate("before", margin=0.05)
    assert report.against is not None
    assert report.against.scores is not None
    assert report.against.scores.kind == kind


@pytest.mark.parametrize("share", [0.3, 0.5])
def test_a_gate_passes_nothing_of_which_many_sessions_have_no_score(
    tmp_path: Path, share: float
) -> None:
    """Of either run by itself: that the other has all its scores makes up for nothing."""
    one = {"prompt": ("a",)}
    noise = random.Random(3)
    for name, lost in (("before", 0.0), ("after", share)):
        scored = [
            Row({"prompt": "a"}, n, score=None if noise.random() < lost else noise.gauss(50, 1))
            for n in range(120)
        ]
        make_run(tmp_path / name, scored, one, compared=None)
    report = Run(tmp_path / "after").gate("before", margin=5)
    assert report.against is not None
    assert report.against.kind == "not_enough_data"
    assert "without a score (nothing passes with more than 20 % of them)" in report.lines[0]


@pytest.mark.parametrize(("lost", "fragile"), [(0, False), (6, True)])
def test_a_gate_that_missing_scores_could_turn_says_so(
    tmp_path: Path, lost: int, fragile: bool
) -> None:
    """They may be missing because they are bad: a pass rests on that they are not."""
    one, noise = {"prompt": ("a",)}, random.Random(3)
    for name, absent in (("before", 0), ("after", lost)):
        scored = [
            Row({"prompt": "a"}, n, score=None if n < absent else noise.gauss(50, 1))
            for n in range(120)
        ]
        make_run(tmp_path / name, scored, one, compared=None)
    report = Run(tmp_path / "after").gate("before", margin=1.5)
    assert report.against is not None
    assert (report.against.kind, report.against.fragile) == ("pass", fragile)
    assert ("had gone as badly as can be" in report.lines[0]) is fragile
    assert "what befalls fewer than 2.5 % of sessions may not have shown" in report.lines[0]


def test_lower_is_better_where_it_is_money(tmp_path: Path) -> None:
    cheap = [Row(row.levels, row.round, cost=10**7 + row.round % 5 * 10**5) for row in rows()]
    dear = [Row(row.levels, row.round, cost=2 * 10**7 + row.round % 7 * 10**5) for row in rows()]
    made(tmp_path / "before", cheap)
    made(tmp_path / "after", dear)
    forth = Run(tmp_path / "after").gate("before", metric="cost_usd", margin=0.002)
    back = Run(tmp_path / "before").gate("after", metric="cost_usd", margin=0.002)
    assert forth.failed
    assert not back.failed
    assert back.against is not None
    assert back.against.kind == "pass"


def test_failures_alone_can_be_compared_and_need_no_margin_of_scores(tmp_path: Path) -> None:
    made(tmp_path / "before", rows())
    made(tmp_path / "after", rows(failing=12))
    report = Run(tmp_path / "after").gate("before", metric="failed")
    assert report.failed
    assert report.against is not None
    assert report.against.scores is None


# --- thresholds -----------------------------------------------------------------------------------


def test_a_mean_is_held_against_its_threshold(tmp_path: Path) -> None:
    made(tmp_path / "run", rows())
    run = Run(tmp_path / "run")
    kinds = [run.gate(thresholds={"score": x}).thresholds[0].kind for x in (68, 70, 72)]
    assert kinds == ["pass", "not_enough_data", "fail"]
    line = run.gate(thresholds={"score": 72}).lines[0]
    assert line.startswith("gate FAILED: score at least 72.0: NOT MET: run 70.0 (90 % interval ")


def test_of_several_variants_every_one_has_to_reach_it(tmp_path: Path) -> None:
    both = rows() + [
        Row({"prompt": "cold"}, row.round, score=(row.score or 0) - 9) for row in rows()
    ]
    make_run(tmp_path / "run", both, {"prompt": ("warm", "cold")})
    (found,) = Run(tmp_path / "run").gate(thresholds={"score": 68}).thresholds
    assert [(one.level, one.kind) for one in found.variants] == [("warm", "pass"), ("cold", "fail")]
    assert found.kind == "fail"


@pytest.mark.parametrize(("passing", "kind"), [(60, "pass"), (56, "not_enough_data"), (40, "fail")])
def test_a_score_of_yes_and_no_is_a_pass_rate(tmp_path: Path, passing: int, kind: str) -> None:
    found = [
        Row({"prompt": "warm"}, number, scores={"concluded": float(number < passing)})
        for number in range(ROUNDS)
    ]
    made(tmp_path / "run", found)
    (threshold,) = Run(tmp_path / "run").gate(thresholds={"concluded": 0.9}).thresholds
    assert (threshold.kind, threshold.rate) == (kind, True)
    assert threshold.variants[0].value == pytest.approx(passing / ROUNDS)


@pytest.mark.parametrize(("passing", "kind"), [(12, "not_enough_data"), (60, "pass")])
def test_yes_or_no_on_a_scale_to_a_hundred_is_a_pass_rate_too(
    tmp_path: Path, passing: int, kind: str
) -> None:
    found = [Row({"prompt": "warm"}, number, score=100.0) for number in range(passing)]
    made(tmp_path / "run", found)
    report = Run(tmp_path / "run").gate(thresholds={"score": 90})
    assert (report.thresholds[0].kind, report.thresholds[0].rate) == (kind, True)
    assert "score at least 90 %" in report.thresholds[0].sentence
    data = gate_as_data(report)["thresholds"][0]
    assert (data["threshold"], data["variants"][0]["value"]) == (90, 100.0)


def test_a_mean_that_passes_says_what_may_not_have_shown(tmp_path: Path) -> None:
    made(tmp_path / "run", rows())
    line = Run(tmp_path / "run").gate(thresholds={"score": 68}).lines[0]
    assert "what befalls fewer than" in line


def test_a_session_that_failed_has_not_passed(tmp_path: Path) -> None:
    found = [
        Row(
            {"prompt": "warm"},
            number,
            scores={"concluded": 1.0} if number >= 20 else {},
            outcome="completed" if number >= 20 else "failed",
        )
        for number in range(ROUNDS)
    ]
    made(tmp_path / "run", found)
    (threshold,) = Run(tmp_path / "run").gate(thresholds={"concluded": 0.9}).thresholds
    assert threshold.kind == "fail"
    assert "20 of them failed" in threshold.sentence


def test_failures_may_be_at_most_so_many(tmp_path: Path) -> None:
    made(tmp_path / "run", rows(failing=20))
    made(tmp_path / "fine", rows())
    bad = Run(tmp_path / "run").gate(thresholds={"failed": 0.05})
    good = Run(tmp_path / "fine").gate(thresholds={"failed": 0.05})
    assert bad.lines[0].startswith("gate FAILED: failed at most 5 %: NOT MET: run 33.3 %")
    assert good.thresholds[0].kind == "pass", "60 sessions without a failure; 59 are needed"


# --- bad input ------------------------------------------------------------------------------------


def test_every_mistake_in_the_options_is_found_at_once() -> None:
    with pytest.raises(BadInput) as caught:
        read_wish(None, -1, ["score", "a=1", "a=2", "b=inf"], ["regresion", "regression"])
    assert [mistake.with_flags for mistake in caught.value.mistakes] == [
        "--threshold: found 'score'; must be NAME=NUMBER, e.g. score=75 or failed=.05",
        "--threshold: a is given twice; each metric once",
        "--threshold: found 'b=inf'; must be NAME=NUMBER, e.g. score=75 or failed=.05",
        "--fail-on: found 'regresion'; can be regression, threshold, not-enough-data; did you mean"
        " 'regression'?",
        "--fail-on: regression against what? name a run with --baseline",
        "--margin: found -1; must be above 0, in units of the metric",
    ]
    with pytest.raises(
        BadInput, match=r"threshold of what.*\n.*not-enough-data for what.*\n.*name"
    ):
        read_wish(None, 2, [], ["threshold", "not-enough-data"])


def test_every_gate_that_cannot_be_decided_is_found_at_once(tmp_path: Path) -> None:
    made(tmp_path / "before", rows(scenario="b"), scenarios=("b",))
    made(tmp_path / "after", rows())
    wish = read_wish("before", None, ["failed=0"], [])
    with pytest.raises(BadInput) as caught:
        check_gates(wish, Run(tmp_path / "after").file, tmp_path)
    told = "\n".join(mistake.with_flags for mistake in caught.value.mistakes)
    assert len(caught.value.mistakes) == 3
    for part in ("no scenario is in both", "needs a margin", "failed=0"):
        assert part in told


def test_an_unknown_baseline_is_told_with_the_other_mistakes(tmp_path: Path) -> None:
    made(tmp_path / "after", rows())
    wish = read_wish("befor", 2, ["failed=0"], [])
    with pytest.raises(BadInput, match=r"^baseline: no run .*\n(.*\n)*thresholds: found failed=0"):
        check_gates(wish, Run(tmp_path / "after").file, tmp_path)


def test_plans_that_are_too_short_are_told_before_the_start(tmp_path: Path) -> None:
    made(tmp_path / "before", rows(rounds=9))
    made(tmp_path / "after", rows(rounds=5))
    gates = check_gates(read_wish("before", 2, [], []), Run(tmp_path / "after").file, tmp_path)
    assert [note.partition(",")[0] for note in gates.notes] == [
        "this run plans 5 whole rounds",
        "the baseline plans 9 whole rounds",
    ]


def test_the_report_for_programs_has_what_the_lines_say(tmp_path: Path) -> None:
    data: Any = gate_as_data(gated(tmp_path, rows(-8, phase=3), thresholds={"score": 50}))
    assert data["failed"]
    assert data["baseline"]["verdict"] == "regression"
    assert data["baseline"]["high"] < 0 < data["baseline"]["margin"]
    assert data["thresholds"][0]["verdict"] == "pass"
    assert len(data["lines"]) == 2
