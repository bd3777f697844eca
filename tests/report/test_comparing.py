"""From sessions to a verdict on a factor: pairing, denominators, and what cannot be compared."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from matrix.model.errors import BadInput
from matrix.model.records import Outcome
from tests.report.synthetic import Row, make_run, paired

pytestmark = pytest.mark.usefixtures("flags")

TWO = {"prompt": ("plain", "warm")}


def test_a_planted_difference_is_found_with_its_size_and_direction(tmp_path: Path) -> None:
    rows = paired({"plain": 0.0, "warm": 4.0}, 21, scenarios=("a", "b", "c"))
    comparison = make_run(tmp_path / "run", rows, TWO, scenarios=("a", "b", "c")).compare()
    assert comparison.verdict.kind == "winner"
    assert comparison.sentence.startswith("warm beats plain by 3.98")
    (pair,) = comparison.verdict.comparisons
    assert pair.difference == pytest.approx(4.0, abs=0.3)
    assert comparison.rests_on == (
        "21 complete rounds of 21, paired by round; score, more is better; 95 % t intervals on "
        "round differences; about the scenarios played, not others like them; simulated models"
    )


def test_lower_is_better_where_it_is_money(tmp_path: Path) -> None:
    rows = [
        Row(
            {"prompt": level}, round_, scenario, cost=(2 if level == "warm" else 3) * 10**6 + round_
        )
        for round_, scenario, level in itertools.product(range(21), "abc", ("plain", "warm"))
    ]
    rows = [
        Row(row.levels, row.round, row.scenario, cost=row.cost + 1000 * (index % 7))
        for index, row in enumerate(rows)
    ]
    comparison = make_run(tmp_path / "run", rows, TWO, scenarios="abc").compare(metric="cost_usd")
    assert comparison.sentence.startswith("warm beats plain on cost_usd by 0.001")
    low, high = comparison.rows[0].low, comparison.rows[0].high
    assert low is not None
    assert high is not None
    assert 0.003 < low < high < 0.004, "the scale of scores is not that of money"


def test_every_session_of_a_variant_is_in_one_of_its_counts(tmp_path: Path) -> None:
    outcomes: list[Outcome | None] = ["completed", "timeout", "failed", "errored", "censored", None]
    rows = [
        Row({"prompt": level}, round_, outcome=outcome, score=70.0)
        for level, shift in (("plain", 0), ("warm", 2))
        for round_, outcome in enumerate(outcomes[shift:] + outcomes[:shift])
    ]
    run = make_run(tmp_path / "run", rows, TWO, status="incomplete", end_reason="cap")
    for row in run.compare().rows:
        assert row.sessions == 6
        assert (row.ended, row.errored, row.censored) == (2, 1, 2), "an open one is censored"
        assert row.failed == 1, "the one at the turn limit is scored like any other"
        assert row.ended + row.failed + row.errored + row.censored == row.sessions
    summary = run.summary()
    assert sum(summary.outcomes.values()) == len(rows) == summary.run.plan.sessions
    assert summary.outcomes == {
        "completed": 2, "timeout": 2, "failed": 2, "errored": 2, "censored": 4,
    }  # fmt: skip


def test_money_of_failures_counts_for_those_that_completed(tmp_path: Path) -> None:
    rows = [
        Row({"prompt": "plain"}, 0),
        Row({"prompt": "plain"}, 1, outcome="failed", score=None),
        Row({"prompt": "warm"}, 0, outcome="errored", score=None),
        Row({"prompt": "warm"}, 1, outcome="errored", score=None),
    ]
    plain, warm = make_run(tmp_path / "run", rows, TWO).compare().rows
    assert plain.cost_per_completed_usd == pytest.approx(0.02)
    assert warm.cost_per_completed_usd is None
    assert (warm.mean, warm.low, warm.high) == (None, None, None)


def test_a_mean_never_has_an_interval_beyond_the_scale(tmp_path: Path) -> None:
    rows = [
        Row({"prompt": level}, round_, score=score)
        for level in ("plain", "warm")
        for round_, score in enumerate((99.0, 20.0, 100.0))
    ]
    for row in make_run(tmp_path / "run", rows, TWO).compare().rows:
        assert row.low == 0.0
        assert row.high == 100.0


# --- several factors ------------------------------------------------------------------------------

CROSSED = {"prompt": ("plain", "warm"), "narrator": ("sim/opus", "sim/grok")}


def crossed(rounds: int) -> list[Row]:
    """Warm is 3 better than plain with either narrator; opus is 20 better than grok."""
    rows = []
    cells = list(enumerate(itertools.product(*CROSSED.values())))
    for round_, (cell, (prompt, narrator)) in itertools.product(range(rounds), cells):
        score = 40.0 + 3 * (prompt == "warm") + 20 * (narrator == "sim/opus")
        noise = (round_ * (cell + 3) + cell**2) % 7 / 10
        rows.append(Row({"prompt": prompt, "narrator": narrator}, round_, score=score + noise))
    return rows


def test_variants_are_paired_within_the_levels_of_every_other_factor(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", crossed(30), CROSSED)
    by_prompt, by_narrator = run.compare("prompt"), run.compare("narrator")
    assert by_prompt.verdict.comparisons[0].difference == pytest.approx(3.0, abs=0.2)
    assert by_narrator.verdict.comparisons[0].difference == pytest.approx(-20.0, abs=0.2)
    assert by_narrator.sentence.startswith("sim/opus beats sim/grok by 20")
    for comparison in (by_prompt, by_narrator):
        interval = comparison.verdict.comparisons[0].interval
        assert interval is not None
        assert 0 < interval.half_width < 0.5, "the other factor's spread is taken out by pairing"


def test_what_one_stratum_lost_is_lost_for_every_variant_of_it(tmp_path: Path) -> None:
    rows = crossed(12)
    rows[0] = Row(rows[0].levels, 0, outcome="errored", score=None)
    verdict = make_run(tmp_path / "run", rows, CROSSED).compare("prompt").verdict
    assert (verdict.rounds_used, verdict.pairs_errored) == (12, 1)


def test_the_order_of_levels_is_that_of_the_spec(tmp_path: Path) -> None:
    factors = {"prompt": ("zebra", "ant", "moth")}
    rows = paired(dict.fromkeys(factors["prompt"], 0.0), 3)
    comparison = make_run(tmp_path / "run", rows, factors).compare()
    assert [row.level for row in comparison.rows] == ["zebra", "ant", "moth"]


def test_a_factor_named_like_a_column_is_still_the_factor(tmp_path: Path) -> None:
    rows = [
        Row({"turns": level}, round_, turns=int(level) + round_ % 3, score=10.0 * int(level))
        for level, round_ in itertools.product(("2", "4"), range(12))
    ]
    run = make_run(tmp_path / "run", rows, {"turns": ("2", "4")}, compared="turns")
    assert [row.mean for row in run.compare().rows] == [20.0, 40.0]
    assert run.compare(metric="turns").rows[0].mean == pytest.approx(3.0)


# --- a run that still goes on ---------------------------------------------------------------------


def test_a_live_run_has_no_verdict_and_its_rounds_are_complete_when_they_are(
    tmp_path: Path,
) -> None:
    rows = paired({"plain": 0.0, "warm": 30.0}, 12)  # scenario b has not ended anywhere
    rows += paired({"plain": 0.0, "warm": 30.0}, 3, scenarios=("b",))
    run = make_run(
        tmp_path / "run", rows, TWO, rounds=40, scenarios=("a", "b"), status="running", totals=False
    )
    comparison = run.compare()
    assert comparison.verdict.rounds_complete == 3
    assert comparison.verdict.kind == "not_enough_data"
    assert comparison.sentence.startswith("Not enough data yet: 3 complete rounds so far")


def test_a_run_in_which_nothing_has_ended_can_be_looked_at(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", [], TWO, rounds=20, status="running", totals=False)
    comparison = run.compare()
    assert comparison.verdict.rounds_complete == 0
    assert [row.sessions for row in comparison.rows] == [0, 0]
    assert sum(run.summary().outcomes.values()) == 0


# --- what cannot be compared ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("factor", "metric", "said"),
    [
        ("promt", None, "--factor: found 'promt'; .*: prompt; did you mean 'prompt'"),
        ("narrator", None, "--factor: 'narrator' has only one level"),
        (None, "scroe", "--metric: found 'scroe'; this run has: score, .*, fun; did you mean 's"),
        (None, "funn", "did you mean 'fun'"),
    ],
)
def test_an_unknown_factor_or_metric_is_named_with_what_there_is(
    tmp_path: Path, factor: str | None, metric: str | None, said: str
) -> None:
    rows = [
        Row({"prompt": level, "narrator": "sim/opus"}, scores={"fun": 3.0})
        for level in ("plain", "warm")
    ]
    run = make_run(tmp_path / "run", rows, TWO | {"narrator": ("sim/opus",)})
    with pytest.raises(BadInput, match=said):
        run.compare(factor, metric)


def test_without_a_factor_there_is_nothing_to_compare_and_the_summary_says_so(
    tmp_path: Path,
) -> None:
    run = make_run(tmp_path / "run", [Row({}), Row({}, 1)], {}, compared=None)
    with pytest.raises(BadInput, match="no factor given; factors with several levels: none"):
        run.compare()
    summary = run.summary()
    assert summary.comparison is None
    assert summary.no_comparison.startswith("No factor with several levels")


def test_any_score_of_a_whole_session_can_be_compared(tmp_path: Path) -> None:
    rows = [
        Row(
            {"prompt": level},
            round_,
            scores={"fun": 3.0 + (level == "warm") + round_ % 3 / 10 + (round_ * at) % 5 / 50},
        )
        for round_ in range(60)
        for at, level in enumerate(("plain", "warm"), start=1)
    ]
    comparison = make_run(tmp_path / "run", rows, TWO).compare(metric="fun")
    assert comparison.sentence.startswith("warm beats plain on fun by 1.0")
