"""Imported rows that nothing pairs: what is said of them follows from their scores alone."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import matrix as python_api
from matrix.api import results_csv
from matrix.report.study.study_text import study_as_text
from matrix.stats import Rules, complete_rounds, fixed_n_verdict, welch
from matrix.stats.estimates.unpaired_rates import Count, unpaired_rates
from tests.cli.tables import write_csv

NAMES = (("one", "other"), ("xen", "ypsilon"))


def studied(here: Path, name: str, headers: Sequence[str], rows: Iterable[Sequence[object]]) -> Any:
    path = write_csv(here / f"{name}.csv", headers, rows)
    return python_api.import_results(path, run_id=name, results=here / "results").compare()


def exported_again(here: Path, name: str) -> Any:
    """The comparison of a run that was exported to CSV, and imported from that."""
    run = python_api.open_run(name, results=here / "results")
    (here / "again.csv").write_text(results_csv(run))
    again = here / "again.csv"
    return python_api.import_results(again, run_id="after", results=here / "results").compare()


def test_the_names_of_variants_have_no_part_in_a_verdict_on_yes_no_rows(here: Path) -> None:
    studies = []
    for one, two in NAMES:
        rows = [[one, 1]] * 20 + [[two, int(row < 42)] for row in range(60)]
        studies.append(studied(here, one + two, ("model", "correct"), rows))
    expected = unpaired_rates([Count(20, 20)], [Count(42, 60)])
    for study, (one, two) in zip(studies, NAMES, strict=True):
        assert study.winner == one
        assert f"over 20 rows of {one} and 60 of {two}" in study.sentence
        assert "paired sessions" not in study.sentence
        assert "complete row" not in study.sentence
        assert f"20 rows of {one}, 60 rows of {two}" in study.rests_on
        assert study.verdict.comparisons[0].interval == expected.interval
        text = " ".join(study_as_text(study).split())
        assert f": 20 rows of {one}, 60 rows of {two} caveat" in text
    told = [
        study.sentence.replace(one, "A").replace(two, "B")
        for study, (one, two) in zip(studies, NAMES, strict=True)
    ]
    assert told[0] == told[1]


def test_too_few_rows_of_one_are_told_as_they_are(here: Path) -> None:
    rows = [["a", 1]] * 5 + [["b", row % 2] for row in range(60)]
    study = studied(here, "few", ("model", "correct"), rows)
    assert "5 rows of a with a score so far, and at least 10 of each variant" in study.sentence
    assert "complete row" not in study.sentence


def test_what_rows_cost_is_by_variant(here: Path) -> None:
    draws = random.Random(2)
    rows = [["big", draws.gauss(0.4, 0.3), 0.5] for _ in range(30)]
    rows += [["small", draws.gauss(0.35, 0.3), 0.005] for _ in range(300)]
    study = studied(here, "money", ("model", "score", "cost_usd"), rows)
    assert study.settling.round_nano == 505_000_000
    found = python_api.power(pilot="money", effect=0.2, results=here / "results")
    assert found.needed is not None
    assert found.needed.cost_nano == found.needed.rounds.total * 505_000_000
    paid = python_api.power(pilot="money", budget=20.0, results=here / "results").shown
    assert paid is not None
    assert paid.rounds == 39


def test_the_spread_of_a_plan_is_from_all_rows(here: Path) -> None:
    draws = np.random.default_rng(5)
    scores = {"a": draws.normal(0, 1, 15), "b": draws.normal(0, 3, 400)}
    rows = [[model, repr(float(one))] for model, own in scores.items() for one in own]
    studied(here, "spread", ("model", "score"), rows)
    found = python_api.power(pilot="spread", effect=1.0, results=here / "results")
    expected = np.sqrt(sum(own.var(ddof=1) for own in scores.values()))
    assert found.question.sd == pytest.approx(expected)


def test_other_metrics_and_costs_are_of_all_rows_whatever_the_names(here: Path) -> None:
    draws = np.random.default_rng(9)
    own = {
        "first": (draws.normal(50, 5, 15), draws.lognormal(0, 0.3, 15), draws.gamma(2, 1, 15)),
        "second": (draws.normal(40, 5, 400), draws.lognormal(0, 0.3, 400), draws.gamma(4, 1, 400)),
    }
    studies = []
    for names in (("a", "b"), ("q", "r")):
        rows = [
            [name, *map(float, one)]
            for name, columns in zip(names, own.values(), strict=True)
            for one in zip(*columns, strict=True)
        ]
        random.Random(names[0]).shuffle(rows)
        studies.append(
            studied(here, "".join(names), ("model", "score", "latency", "cost_usd"), rows)
        )
    expected = welch(own["second"][1], own["first"][1])
    ratio = own["second"][2].mean() / own["first"][2].mean()
    told = []
    for study, (first, second) in zip(studies, (("a", "b"), ("q", "r")), strict=True):
        row = next(one for one in study.secondary.rows if one.metric == "latency")
        assert (row.difference, row.p) == pytest.approx((expected.difference, expected.p))
        costs = {one.level: one for one in study.cost_quality.rows}
        assert costs[second].ratio == pytest.approx(ratio)
        assert costs[second].low < ratio < costs[second].high
        assert study.risk is None
        of_each = [costs[name] for name in (first, second)]
        told.append([(one.ratio, one.low, one.high, one.on_frontier) for one in of_each])
    assert told[0][0] == told[1][0]
    assert told[0][1] == pytest.approx(told[1][1])


@pytest.mark.slow
def test_a_plan_counts_the_pairs_that_are_complete(here: Path) -> None:
    """Where b has a third of the questions, a third of the pairs are complete, not (2/3)^2."""
    draws = random.Random(7)
    rows = []
    for unit in range(60):
        base = draws.gauss(0, 2)
        rows.append([f"q{unit}", "a", base + draws.gauss(0, 1)])
        if unit % 3 == 0:
            rows.append([f"q{unit}", "b", base + draws.gauss(0, 1)])
    studied(here, "third", ("id", "model", "score"), rows)
    found = python_api.power(pilot="third", effect=1.0, results=here / "results")
    assert found.question.lacking == pytest.approx(1 - (1 / 3) ** 0.5)
    assert found.needed is not None
    rng, runs, shown = np.random.default_rng(8), 1500, 0
    n, sd = found.needed.rounds.total, found.question.sd
    rules = Rules(failure_margin=1.0, score_bounds=None)
    rounds, scenarios, variants = (one.ravel() for one in np.indices((n, 1, 2)))
    for _ in range(runs):
        scores = np.stack([np.zeros(n), 1.0 + rng.normal(0, sd, n)], axis=1)[:, None]
        scores[rng.random(n) >= 1 / 3, 0, 1] = np.nan
        outcome = np.where(np.isnan(scores), "errored", "completed").ravel()
        table = complete_rounds(
            rounds,
            scenarios,
            variants,
            scores.ravel(),
            outcome,
            n_rounds_planned=n,
            n_scenarios=1,
            n_variants=2,
        )
        shown += fixed_n_verdict(table, rules).winner == 1
    assert shown / runs == pytest.approx(0.8, abs=0.02 + 3 * (0.16 / runs) ** 0.5)


def test_rows_without_a_score_are_not_what_it_rests_on(here: Path) -> None:
    draws = random.Random(3)
    rows: list[list[object]] = [
        ["a", draws.gauss(60, 5) if row < 40 else "", "" if row < 40 else "timeout"]
        for row in range(60)
    ]
    rows += [["b", draws.gauss(40, 5), ""] for _ in range(50)]
    study = studied(here, "unscored", ("model", "score", "error"), rows)
    assert "40 rows of a with a score (of 60), 50 rows of b" in study.rests_on
    assert "fragile" not in study.verdict.flags or "needs no more" not in study.settling.sentence


def test_means_of_other_units_are_told_to_be_that(here: Path) -> None:
    draws, rows = random.Random(4), list[list[object]]()
    for unit in range(60):
        hard = unit < 28
        base = draws.gauss(30 if hard else 58, 4)
        rows.append([f"q{unit}", "a", base + 1.8 + draws.gauss(0, 1)])
        if not hard:
            rows.append([f"q{unit}", "b", base + draws.gauss(0, 1)])
    study = studied(here, "others", ("id", "model", "score"), rows)
    told = " ".join(study.comparison.cautions)
    assert "these are not the same ones: their difference is over the 32 that both have" in told
    if "fragile" in study.verdict.flags:
        assert "needs no more" not in study.settling.sentence


def test_noise_of_large_scores_is_noise(here: Path) -> None:
    draws, rows = np.random.default_rng(4), list[list[object]]()
    for unit in range(40):
        rows += [[f"q{unit}", one, repr(1e12 + float(draws.normal(0, 0.3)))] for one in "ab"]
    study = studied(here, "large", ("id", "model", "score"), rows)
    assert "by the same amount" not in study.sentence
    assert study.verdict.comparisons[0].interval is not None


def users(rows_each: int = 10, seed: int = 3) -> list[list[object]]:
    """Two equal variants with 12 users each, whose rows go together."""
    draws, rows = random.Random(seed), list[list[object]]()
    for model in "ab":
        for user in range(12):
            level = draws.gauss(50, 10)
            rows += [[f"{model}{user}", model, level + draws.gauss(0, 3)] for _ in range(rows_each)]
    return rows


def test_rows_of_units_that_one_variant_has_are_averaged(here: Path) -> None:
    rows = users()
    study = studied(here, "nested", ("unit", "model", "score"), rows)
    scores = np.array([row[2] for row in rows], dtype=float)
    means = scores.reshape(2, 12, 10).mean(axis=2)
    pair, oracle = study.verdict.comparisons[0], welch(*means)
    assert pair.sizes == (12, 12)
    assert pair.difference == pytest.approx(oracle.difference)
    assert oracle.interval is not None
    assert pair.interval.low == pytest.approx(oracle.interval.low)
    assert "12 units of a, 12 units of b" in study.rests_on
    assert "averaged over up to 10 rows" in study.rests_on
    assert "units" in study.settling.sentence
    assert not [one for one in study.comparison.cautions if "Nothing here is about" in one]
    path = write_csv(here / "said.csv", ("user", "model", "score"), rows)
    said = python_api.import_results(
        path, unit="user", run_id="said", results=here / "results"
    ).compare()
    assert said.verdict.comparisons == study.verdict.comparisons
    found = python_api.power(pilot="nested", effect=5.0, results=here / "results")
    assert found.question.sd == pytest.approx(float(np.sqrt(means.var(axis=1, ddof=1).sum())))


@pytest.mark.parametrize("owner", ["user", "user_id", "kunde", "Session ID", "shop_id"])
def test_rows_of_one_owner_are_no_independent_ones(here: Path, owner: str) -> None:
    rows = [[number, *row] for number, row in enumerate(users(), 1)]
    found = studied(here, "whose", ("row_id", owner, "model", "score"), rows)
    named = studied(here, "named", ("unit", "model", "score"), users())
    assert found.verdict.comparisons == named.verdict.comparisons
    assert [one for one in found.caveats if f"no {owner} is in two variants" in one]
    assert "more units of each variant" in found.settling.sentence


def test_a_few_classes_are_no_sample_whatever_their_rows_say(here: Path) -> None:
    rows = [[f"{row[1]}{int(row[0][1:]) % 3}", *row[1:]] for row in users()]  # type: ignore[index]
    study = studied(here, "few", ("class_id", "model", "score"), rows)
    assert study.verdict.kind == "not_enough_data"
    assert "3 units of a" in study.rests_on
    path = write_csv(here / "rows.csv", ("class_id", "model", "score"), rows)
    rows_of_their_own = python_api.import_results(
        path, unit="none", run_id="rows", results=here / "results"
    )
    assert "120 rows of a, 120 rows of b" in rows_of_their_own.compare().rests_on


def test_people_that_have_seen_both_sides_by_accident_pair_nothing(here: Path) -> None:
    rows = users()
    rows[120][0] = "a0"  # one row of b, of a user of a
    study = studied(here, "slipped", ("user_id", "model", "score"), rows)
    told = "no more than 1 of 24 of user_id are in two variants"
    assert [one for one in study.caveats if told in one]
    assert "12 units of a, 13 units of b" in study.rests_on
    path = write_csv(here / "said.csv", ("user_id", "model", "score"), rows)
    said = python_api.import_results(path, unit="user_id", run_id="said", results=here / "results")
    assert said.compare().verdict.kind == "not_enough_data"


def test_people_that_have_seen_both_sides_are_pairs(here: Path) -> None:
    rows = [[row[0][1:], *row[1:]] for row in users()]  # type: ignore[index]
    study = studied(here, "crossed", ("user_id", "model", "score"), rows)
    assert "12 complete units" in study.sentence


def test_a_small_sample_without_spread_beats_nobody(here: Path) -> None:
    scores = [0.0] * 8 + [0.5] * 3 + [1.0] * 139
    rows = [["a", 1]] * 15 + [["b", one] for one in scores]
    assert studied(here, "half", ("model", "score"), rows).verdict.kind == "no_difference"


def test_all_or_nothing_has_an_interval(here: Path) -> None:
    rows = [["a", 1]] * 15 + [["b", 1]] * 150
    shown = studied(here, "all", ("model", "correct"), rows).comparison.rows
    assert [(round(one.low, 3), one.high) for one in shown] == [(0.782, 1.0), (0.976, 1.0)]


def test_skewed_scores_touch_the_difference_of_samples(here: Path) -> None:
    draws = np.random.default_rng(1)
    rows = [[model, float(one)] for model in "ab" for one in draws.lognormal(0, 1, 12)]
    told = [
        one for one in studied(here, "skew", ("model", "score"), rows).caveats if "approx" in one
    ]
    assert told
    assert "not touched" not in told[0]
    assert "So is that of a difference" in told[0]


def test_one_value_far_from_all_others_touches_the_difference_of_pairs_too(here: Path) -> None:
    draws = np.random.default_rng(2)
    rows = [[f"q{at}", model, draws.normal(5, 1)] for at in range(20) for model in "ab"]
    rows[7][2] = 90.0
    told = [
        one
        for one in studied(here, "far", ("id", "model", "score"), rows).caveats
        if "approx" in one
    ]
    assert told
    assert "So is that of a difference: a and b" in told[0]


@pytest.mark.parametrize("headers", [("unit", "model", "score"), ("", "model", "score")])
def test_an_export_is_read_back_to_the_same_verdict(here: Path, headers: Sequence[str]) -> None:
    before = studied(here, "before", headers, users())
    after = exported_again(here, "before")
    assert after.sentence == before.sentence
    assert after.verdict.comparisons[0].interval == before.verdict.comparisons[0].interval


def test_copies_are_told_where_chance_makes_none(here: Path) -> None:
    draws = random.Random(5)
    rows = [[model, draws.randint(0, 1), draws.gauss(900, 90)] for model in "ab" for _ in range(60)]
    headers = ("model", "correct", "latency_ms")
    assert not [one for one in studied(here, "own", headers, rows).caveats if "identical" in one]
    told = studied(here, "copied", headers, rows + rows[:7]).caveats
    assert [one for one in told if "7 of 127 rows are identical to an earlier one" in one]


@pytest.mark.parametrize("digits", [0, 1])
def test_rows_that_are_alike_by_chance_are_no_copies(here: Path, digits: int) -> None:
    draws = random.Random(6)
    for seed in range(5):
        rows = [
            [model, draws.randint(0, 1), round(draws.gauss(9, 2), digits)]
            for model in "ab"
            for _ in range(150)
        ]
        study = studied(here, f"chance{seed}", ("model", "correct", "latency_s"), rows)
        assert not [one for one in study.caveats if "identical" in one]
