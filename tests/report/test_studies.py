"""A whole comparison: every section, its labels, and what it refuses to say."""

from __future__ import annotations

import itertools
import random
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from matrix.model.decimals import in_digits
from matrix.model.errors import BadInput
from matrix.model.money import NANO_PER_USD
from matrix.report.compare.matching import factor_matchup, runs_matchup
from matrix.report.study.noise_sources import agreement_of
from matrix.report.study.study import Study, study_of
from matrix.report.study.study_data import study_as_data
from matrix.report.study.study_text import study_as_text
from matrix.store.reading.reader import RunTables
from matrix.store.run.run_folder import BranchedFrom, read_run, write_run
from tests.report.synthetic import CENT, MadeUp, Row, make_run, paired

TWO = {"prompt": ("plain", "warm")}
THREE = {"prompt": ("plain", "warm", "cold")}
FIVE = ("a", "b", "c", "d", "e")


def half(row: Row) -> float:
    """Half of a row's score: a metric that goes along with it."""
    assert row.score is not None
    return row.score / 2


def study(run: MadeUp, factor: str | None = None, metric: str | None = None, **more: Any) -> Study:
    return study_of(factor_matchup(RunTables(run.path), read_run(run.path), factor), metric, **more)


def both(one: MadeUp, two: MadeUp, **more: Any) -> Study:
    first, second = ((RunTables(run.path), read_run(run.path)) for run in (one, two))
    return study_of(runs_matchup(first, second), **more)


def planted(
    folder: Path, effect: Mapping[str, float], rounds: int = 60, **more: Any
) -> tuple[MadeUp, list[Row]]:
    rows = paired(effect, rounds, scenarios=more.get("scenarios", ("a",)))
    return make_run(folder, rows, {"prompt": tuple(effect)}, **more), rows


# --- the verdict and its laws ---------------------------------------------------------------------


def test_a_planted_effect_is_named_and_everything_says_the_same(tmp_path: Path) -> None:
    run, _ = planted(tmp_path / "run", {"plain": 0.0, "warm": 4.0, "cold": -2.0})
    found = study(run)
    assert found.winner == "warm"
    assert found.sentence.startswith("warm beats both other variants, the closest being plain")
    assert [(row.first, row.second, row.finding) for row in found.pairs] == [
        ("warm", "plain", "better"),
        ("plain", "cold", "better"),
        ("warm", "cold", "better"),
    ]
    assert found.settling.rounds == 0
    assert found.caveats == ()


def test_a_variant_that_scores_worse_is_not_left_while_failures_are_open(tmp_path: Path) -> None:
    """And is, once they are not; that nothing is shown is said of neither."""
    effect = {"current": 0.0, "new": 5.0, "newer": 5.0}
    for rounds, advice in (
        (30, "Do not leave it for that alone while it is open whether what scores better fails"),
        (200, "leave current, which scores worse than new and newer."),
    ):
        run, _ = planted(tmp_path / f"run{rounds}", effect, rounds=rounds)
        found = study(run)
        assert found.winner is None
        assert advice in found.advice
        assert "neither that they differ is shown" not in found.advice
        assert ("52 pairs without a failure" in found.advice) is (rounds < 52)


def test_without_an_effect_there_is_no_winner_and_more_rounds_have_a_price(tmp_path: Path) -> None:
    run, _ = planted(tmp_path / "run", {"plain": 0.0, "warm": 0.0}, rounds=20)
    found = study(run)
    assert found.winner is None
    told = (
        "takes a new run of 80 rounds (about $1.60 for all variants), as what was planned may not"
    )
    assert told in found.settling.sentence
    grows = make_run(
        tmp_path / "grows",
        paired({"plain": 0.0, "warm": 0.0}, 20),
        TWO,
        spec={"compare": {"engine": "open-ended"}},
    )
    assert "may not grow" not in study(grows).settling.sentence


def test_the_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    rows = paired({"plain": 0.0, "warm": 1.0, "cold": 0.5}, 15, scenarios=FIVE)
    rows = [
        Row(row.levels, row.round, row.scenario, score=row.score, scores={"fun": half(row)},
            cost=CENT + 1000 * ((row.round * 7) % 13))
        for row in rows
    ]  # fmt: skip
    mixed = list(rows)
    random.Random(3).shuffle(mixed)
    told = [
        study_as_data(study(make_run(tmp_path / name, given, THREE, scenarios=FIVE)))
        for name, given in (("one", rows), ("two", mixed))
    ]
    assert told[0] == told[1]


def test_the_figures_of_the_data_are_those_of_the_text(tmp_path: Path) -> None:
    run, _ = planted(tmp_path / "run", {"plain": 0.0, "warm": 1.3}, rounds=12, scenarios=FIVE)
    found = study(run)
    data, text = study_as_data(found), study_as_text(found, all_metrics=True)
    assert isinstance(data, dict)
    assert " ".join(data["sentence"].split()) in " ".join(text.split())
    (pair,) = data["differences"]
    (row,) = [line for line in text.splitlines() if line.startswith("warm ") and "+" in line]
    assert in_digits(pair["difference"], 1, "+") in row
    for variant in data["variants"]:
        (row, *_) = [line for line in text.splitlines() if line.startswith(variant["level"])]
        assert in_digits(variant["mean"], 1) in row
        assert f"{variant['ended']}/{variant['sessions']}" in row
    for level in data["breakdown"]["rows"]:
        assert any(
            line.split()[:2] == [level["level"], str(level["pairs"])]
            and line.endswith(in_digits(level["difference"], 1, "+"))
            for line in text.splitlines()
        )
    listed = text.split("Other metrics")[1].split("Cost beside")[0]
    assert all(f"\n{other['metric']} " in listed for other in data["other_metrics"]["rows"])


def test_the_same_tables_give_the_same_draws(tmp_path: Path) -> None:
    run, _ = planted(tmp_path / "run", {"plain": 0.0, "warm": 0.1}, rounds=12)
    assert study_as_data(study(run)) == study_as_data(study(run))


@pytest.mark.parametrize("engine", ["planned", "open-ended"])
def test_a_run_that_was_looked_at_has_its_own_intervals_and_correction(
    tmp_path: Path, engine: str
) -> None:
    rows = [
        Row(row.levels, row.round, score=row.score, scores={"fun": half(row)})
        for row in paired({"plain": 0.0, "warm": 4.0}, 90)
    ]
    run = make_run(
        tmp_path / "run", rows, TWO, spec={"stop": "when-decided", "compare": {"engine": engine}}
    )
    found = study(run)
    assert found.winner == "warm"
    (pair,) = found.pairs
    assert (pair.e is not None) is (pair.p is not None) is (engine == "open-ended")
    assert found.secondary is not None
    assert found.secondary.method == "e-BH"
    assert [row.metric for row in found.secondary.found] == ["fun"]
    assert found.secondary.found[0].p is None
    assert ("e  finding" in study_as_text(found)) is (engine == "open-ended")


# --- against a baseline ---------------------------------------------------------------------------


def test_against_a_baseline_only_its_pairs_are_told_with_holms_p(tmp_path: Path) -> None:
    run, _ = planted(tmp_path / "run", {"plain": 0.0, "warm": 4.0, "cold": 0.0}, rounds=20)
    found = study(run, against="plain")
    assert {frozenset((row.first, row.second)) for row in found.pairs} == {
        frozenset(("warm", "plain")),
        frozenset(("cold", "plain")),
    }
    for row in found.pairs:
        assert row.p is not None
        assert row.adjusted is not None
        assert row.p <= row.adjusted <= 1
    assert [row.finding == "better" for row in found.pairs] == [
        row.adjusted is not None and row.adjusted <= 0.05 for row in found.pairs
    ]
    assert found.breakdown is None, "one scenario"
    assert found.secondary is not None
    assert (found.secondary.first, found.secondary.second) == ("warm", "plain")


# --- breakdown and other scenarios ----------------------------------------------------------------


def test_differences_by_scenario_average_to_the_difference_of_the_pair(tmp_path: Path) -> None:
    run, _ = planted(tmp_path / "run", {"plain": 0.0, "warm": 2.0}, rounds=12, scenarios=FIVE)
    for by in (None, "scenario", "story"):
        found = study(run, by=by)
        assert found.breakdown is not None
        assert [row.level for row in found.breakdown.rows] == list(FIVE)
        assert {row.pairs for row in found.breakdown.rows} == {12}
        differences = [row.difference or 0.0 for row in found.breakdown.rows]
        assert sum(differences) / 5 == pytest.approx(found.pairs[0].difference)


def test_a_breakdown_by_another_factor_has_its_levels(tmp_path: Path) -> None:
    factors = {"prompt": ("plain", "warm"), "turns": ("2", "4")}
    rows = [
        Row({"prompt": row.levels["prompt"], "turns": turns}, row.round,
            score=(row.score or 0) + (5 if (turns, row.levels["prompt"]) == ("4", "warm") else 0))
        for row in paired({"plain": 0.0, "warm": 1.0}, 12)
        for turns in ("2", "4")
    ]  # fmt: skip
    found = study(make_run(tmp_path / "run", rows, factors), by="turns").breakdown
    assert found is not None
    two, four = found.rows
    assert (two.level, four.level) == ("2", "4")
    assert (four.difference or 0) - (two.difference or 0) == pytest.approx(5.0)


def test_nothing_is_said_of_other_scenarios_below_five(tmp_path: Path) -> None:
    few, _ = planted(tmp_path / "few", {"plain": 0.0, "warm": 4.0}, 12, scenarios=FIVE[:4])
    many, _ = planted(tmp_path / "many", {"plain": 0.0, "warm": 4.0}, 12, scenarios=FIVE)
    refused = study(few).elsewhere
    assert (refused.difference, refused.p) == (None, None)
    assert "at least 5 scenarios, and here are 4" in refused.sentence
    same = study(many).elsewhere
    assert "the same in all of these" in same.sentence, "synthetic scenarios are all alike"


def test_scenarios_that_disagree_carry_no_claim_about_others(tmp_path: Path) -> None:
    lean = dict(zip(FIVE, (9.0, -8.0, 7.0, -5.0, 4.0), strict=True))
    rows = [
        Row(row.levels, row.round, row.scenario,
            score=(row.score or 0) + (lean[row.scenario] if row.levels["prompt"] == "warm" else 0))
        for row in paired({"plain": 0.0, "warm": 0.0}, 60, scenarios=FIVE)
    ]  # fmt: skip
    found = study(make_run(tmp_path / "run", rows, TWO, scenarios=FIVE))
    assert found.winner == "warm", "of these scenarios it is surely the better one"
    assert "warm is not shown to be better than plain" in found.elsewhere.sentence
    assert found.elsewhere.low is not None
    assert found.elsewhere.low < 0
    assert found.elsewhere.holds is False
    told = " ".join(study_as_text(found).split())
    assert "mind: this is shown of the scenarios that were played, and not of new ones" in told
    assert found.noise is not None
    (tilt,) = [row for row in found.noise.rows if row.source == "scenario x variant"]
    assert (tilt.share or 0) > 0.5
    assert "scenarios for one on others" in found.noise.advice


@pytest.mark.slow
def test_a_claim_that_holds_of_new_scenarios_says_so_beside_the_verdict(tmp_path: Path) -> None:
    def of(name: str, effect: float) -> Study:
        lean = dict(zip(FIVE, (0.3, -0.3, 0.2, -0.2, 0.1), strict=True))
        rows = [
            Row(row.levels, row.round, row.scenario,
                score=(row.score or 0)
                + (lean[row.scenario] if row.levels["prompt"] == "warm" else 0))
            for row in paired({"plain": 0.0, "warm": effect}, 60, scenarios=FIVE)
        ]  # fmt: skip
        return study(make_run(tmp_path / name, rows, TWO, scenarios=FIVE), margin=3.0)

    for found, kind in ((of("far", 9.0), "winner"), (of("near", 0.0), "equivalent")):
        assert found.verdict.kind == kind
        assert found.elsewhere.holds is True
        assert " as well (5 scenarios" in found.elsewhere.sentence
        told = " ".join(study_as_text(found).split())
        assert "of new ones like them it is shown too" in told


def test_every_rival_that_may_still_equal_the_winner_is_named(tmp_path: Path) -> None:
    """The winner beats both at the plain level, and neither at that of the table."""
    rows = paired({"plain": 0.0, "warm": 0.13, "cold": 0.0}, 77)
    found = study(make_run(tmp_path / "run", rows, THREE))
    assert found.winner == "warm"
    pairs = [row.finding for row in found.pairs if row.first == "warm"]
    assert pairs == ["not shown", "not shown"]
    assert "plain and cold may still equal it" in " ".join(study_as_text(found).split())


# --- other metrics --------------------------------------------------------------------------------


def test_other_metrics_are_corrected_together_and_repeats_are_none_of_them(tmp_path: Path) -> None:
    rows = [
        Row(row.levels, row.round, score=row.score, turns=5 + row.round % 2,
            scores={"fun": half(row), "same": 1.0, "gone": None, "judge.1": row.score,
                    "by its own name": row.score,
                    "dull": float((row.round * 5 + len(row.levels["prompt"])) % 7)})
        for row in paired({"plain": 0.0, "warm": 4.0}, 20)
    ]  # fmt: skip
    found = study(make_run(tmp_path / "run", rows, TWO)).secondary
    assert found is not None
    by_name = {row.metric: row for row in found.rows}
    assert "judge.1" not in by_name
    assert not by_name.keys() & {"score", "by its own name"}
    assert [row.metric for row in found.found] == ["fun"]
    assert by_name["gone"].untested == "no values"
    assert by_name["same"].untested == "the same difference in every round"
    assert found.tested == sum(not row.untested for row in found.rows) == 2
    p = by_name["fun"].p
    assert p is not None
    assert by_name["fun"].adjusted == pytest.approx(2 * p), "the smaller of two p-values"


def test_only_metrics_that_differ_are_listed_unless_all_are_asked_for(tmp_path: Path) -> None:
    rows = [
        Row(row.levels, row.round, score=row.score, scores={"fun": half(row), "same": 1.0})
        for row in paired({"plain": 0.0, "warm": 4.0}, 20)
    ]
    found = study(make_run(tmp_path / "run", rows, TWO))
    short, whole = study_as_text(found), study_as_text(found, all_metrics=True)
    assert "1 of 1 other metric tested differ" in short
    assert "\nfun " in short
    assert "\nsame " not in short
    assert "\nsame " in whole


def test_what_settles_yes_no_scores_counts_the_pairs_that_have_to_differ(tmp_path: Path) -> None:
    """Within a margin, too: one of fifteen pairs differs, and it takes six for any claim."""
    for engine in ("fixed", "planned", "open-ended"):
        rows = [
            Row({"prompt": name}, number, score=float(name == "warm" or number > 0))
            for number in range(15)
            for name in ("plain", "warm")
        ]
        compare = {"engine": engine, "margin": 0.3, "failure_margin": 50}
        run = make_run(tmp_path / engine, rows, TWO, spec={"compare": compare})
        found = study(run)
        assert found.winner is None
        assert (found.verdict.extra_rounds or 0) >= 75


# --- cost beside quality --------------------------------------------------------------------------


def test_scores_that_are_the_same_in_every_round_make_nobody_dominate(tmp_path: Path) -> None:
    rows = [
        Row(row.levels, row.round, score=50.0 + row.round,
            cost=(CENT if row.levels["prompt"] == "warm" else 2 * CENT) + 10_000 * (row.round % 7))
        for row in paired({"plain": 0.0, "warm": 4.0}, 20)
    ]  # fmt: skip
    found = study(make_run(tmp_path / "run", rows, TWO)).cost_quality
    assert found is not None
    assert found.dominating == ()


def test_who_is_better_and_cheaper_dominates_and_is_alone_on_the_frontier(tmp_path: Path) -> None:
    rows = [
        Row(row.levels, row.round, score=row.score,
            cost=(CENT if row.levels["prompt"] == "warm" else 2 * CENT) + 10_000 * (row.round % 7))
        for row in paired({"plain": 0.0, "warm": 4.0}, 20)
    ]  # fmt: skip
    found = study(make_run(tmp_path / "run", rows, TWO)).cost_quality
    assert found is not None
    assert found.dominating == (("warm", "plain"),)
    plain, warm = found.rows
    assert (warm.on_frontier, warm.membership, warm.ratio) == (True, 1.0, None)
    assert (plain.on_frontier, plain.membership) == (False, 0.0)
    assert plain.ratio == pytest.approx(2.0, abs=0.02)
    assert plain.low is not None
    assert plain.low > 1


@pytest.mark.slow
def test_domination_is_held_to_the_error_rate_over_all_pairs(tmp_path: Path) -> None:
    """Equal variants of which one is cheaper: who dominates is as rare with four as with two."""
    dominated = {2: 0, 4: 0}
    for k in dominated:
        names = [f"v{n}" for n in range(k)]
        for seed in range(40):
            rng = np.random.default_rng([k, seed])
            rows = [
                Row({"prompt": name}, n, score=float(50 + rng.normal(0, 5)),
                    cost=int(CENT * (1 + at) * (1 + rng.random() / 10)))
                for n in range(20)
                for at, name in enumerate(names)
            ]  # fmt: skip
            run = make_run(tmp_path / f"run-{k}-{seed}", rows, {"prompt": tuple(names)})
            found = study(run).cost_quality
            assert found is not None
            assert found.strict == pytest.approx(0.05 / (k * (k - 1) / 2))
            dominated[k] += bool(found.dominating)
    assert max(dominated.values()) <= 40 * 0.05 + 3 * (40 * 0.05 * 0.95) ** 0.5


def test_money_itself_is_not_set_beside_money(tmp_path: Path) -> None:
    run, _ = planted(tmp_path / "run", {"plain": 0.0, "warm": 4.0}, rounds=12)
    assert study(run, metric="cost_usd").cost_quality is None


def test_a_round_costs_what_its_sessions_cost(tmp_path: Path) -> None:
    rows = [
        Row({"prompt": level}, round_, scenario, cost=CENT * (1 + (level == "warm")))
        for level in ("plain", "warm")
        for round_ in range(4)
        for scenario in FIVE
    ]
    settling = study(make_run(tmp_path / "run", rows, TWO, scenarios=FIVE)).settling
    assert settling.round_nano == 15 * CENT
    assert settling.rounds == 6
    assert settling.cost_nano == 6 * 15 * CENT
    assert study_as_data(study(MadeUp(tmp_path / "run")))["settling"]["cost_usd"] == (
        6 * 15 * CENT / NANO_PER_USD
    )


# --- judges ---------------------------------------------------------------------------------------


def judged(folder: Path, wander: float) -> Study:
    draws = random.Random(5)
    rows = []
    for row in paired({"plain": 0.0, "warm": 2.0}, 20):
        repeats = [(row.score or 0) + draws.gauss(0, wander) for _ in range(3)]
        named: dict[str, float | None] = {f"judge.{i}": x for i, x in enumerate(repeats, 1)}
        rows.append(Row(row.levels, row.round, score=sum(repeats) / 3, scores=named))
    return study(make_run(folder, rows, TWO))


def test_a_judge_that_wavers_is_warned_of_beside_the_verdict(tmp_path: Path) -> None:
    steady, wavering = judged(tmp_path / "steady", 0.5), judged(tmp_path / "wavering", 12.0)
    assert steady.agreement is not None
    assert wavering.agreement is not None
    assert (steady.agreement.low, wavering.agreement.low) == (False, True)
    assert (steady.agreement.transcripts, steady.agreement.ratings) == (40, 3)
    assert "Warning: below 0.6" in study_as_text(wavering)
    assert "Warning" not in study_as_text(steady)
    assert wavering.noise is not None
    assert "a better one, or more ratings, would narrow" in wavering.noise.advice
    assert study(planted(tmp_path / "none", {"plain": 0.0, "warm": 1.0})[0]).agreement is None


def test_what_is_counted_does_not_make_a_judge_look_steady() -> None:
    draws = np.random.default_rng(5)
    counted = np.repeat(draws.normal(0, 20, (40, 1)), 3, axis=1)
    steady = np.repeat(draws.normal(0, 1, (40, 1)), 3, axis=1) + draws.normal(0, 0.2, (40, 3))
    wild = draws.normal(0, 4, (40, 3))
    whole = agreement_of(counted + steady + wild)
    found = agreement_of(counted + steady + wild, parts={"calm": steady, "wild": wild})
    assert whole is not None
    assert found is not None
    assert (whole.low, found.low, found.whole) == (False, True, whole.alpha)
    assert whole.alpha is not None
    assert whole.alpha > 0.9
    assert found.least is not None
    assert (found.parts, found.least[0]) == (2, "wild")
    assert found.least[1] < 0.2


# --- what was declared ----------------------------------------------------------------------------


def test_a_margin_given_afterwards_is_post_hoc_and_the_declared_one_is_not(tmp_path: Path) -> None:
    spec = {"compare": {"margin": 3.0}}
    run, _ = planted(tmp_path / "run", {"plain": 0.0, "warm": 0.1}, 20, spec=spec)
    assert study(run).caveats == study(run, margin=3.0).caveats == ()
    (caveat,) = study(run, margin=5.0).caveats
    assert caveat.startswith("Post hoc: the margin of 5 was given after launch (3 was declared")
    assert study(run, margin=5.0).verdict.kind == "equivalent"
    bare, _ = planted(tmp_path / "bare", {"plain": 0.0, "warm": 0.1}, 20)
    assert "none was declared" in study(bare, margin=5.0).caveats[0]


def test_another_metric_or_factor_than_the_declared_one_is_said_to_be_so(tmp_path: Path) -> None:
    factors = {"prompt": ("plain", "warm"), "narrator": ("x", "y")}
    rows = [
        Row({"prompt": row.levels["prompt"], "narrator": narrator}, row.round, score=row.score)
        for row in paired({"plain": 0.0, "warm": 4.0}, 12)
        for narrator in ("x", "y")
    ]
    run = make_run(tmp_path / "run", rows, factors)
    assert study(run).caveats == ()
    assert study(run, metric="composite").caveats == ()
    assert "narrator was not declared before launch" in study(run, "narrator").caveats[0]
    caveats = study(run, metric="cost_usd").caveats
    assert "cost_usd was not declared before launch as the metric (score was)" in caveats[0]


# --- what cannot be compared ----------------------------------------------------------------------


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    run, _ = planted(tmp_path / "run", {"plain": 0.0, "warm": 1.0}, rounds=3)
    with pytest.raises(BadInput) as raised:
        study(run, metric="scroe", margin=-1.0, by="prompt", against="worm")
    text = str(raised.value)
    assert "metric: found 'scroe'" in text
    assert "margin: found -1; a margin is a number above 0" in text
    assert "by: 'prompt' is what is compared; differences can be broken down by: scen" in text
    assert "against: found 'worm'; the variants are: plain, warm; did you mean 'warm'" in text


@pytest.mark.parametrize("margin", [0.0, float("nan"), float("inf")])
def test_a_margin_is_a_number_above_zero(tmp_path: Path, margin: float) -> None:
    run, _ = planted(tmp_path / "run", {"plain": 0.0, "warm": 1.0}, rounds=3)
    with pytest.raises(BadInput, match=r"^margin: found .*; a margin is a number above 0"):
        study(run, margin=margin)


def test_a_metric_without_any_value_is_named(tmp_path: Path) -> None:
    rows = [
        Row({"prompt": level}, round_, scores={"gone": None, "nan": float("nan")})
        for level in ("plain", "warm")
        for round_ in range(12)
    ]
    run = make_run(tmp_path / "run", rows, TWO)
    for metric in ("gone", "nan"):
        with pytest.raises(BadInput, match=f"none of the 24 sessions .* a value of '{metric}'"):
            study(run, metric=metric)


def sayings(found: Study) -> str:
    """All that is said of a comparison, and that nobody has won."""
    assert found.winner is None
    return " ".join(study_as_text(found).split())


def values_of(values: Sequence[float | None]) -> list[Row]:
    return [
        Row({"prompt": level}, round_, score=value)
        for level in ("plain", "warm")
        for round_, value in enumerate(values)
    ]


def test_a_constant_metric_tells_nobody_apart(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", values_of([50.0] * 12), TWO)
    said = sayings(study(run))
    assert "Every session has the same score, 50: it tells nobody apart." in said
    assert "identical so far" in said


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), 1e308])
def test_a_score_that_no_mean_can_have_counts_as_none(tmp_path: Path, value: float) -> None:
    """An earlier version took them; a table that has one is refused (``tests/strangers``)."""
    found = study(make_run(tmp_path / "run", values_of([50.0] * 11 + [value]), TWO))
    assert [pair.rounds for pair in found.pairs] == [11]


@pytest.mark.parametrize("value", [None, float("nan")])
def test_scores_that_are_all_missing_make_no_winner(tmp_path: Path, value: float | None) -> None:
    run = make_run(tmp_path / "run", values_of([value] * 12), TWO)
    assert "None of the 24 sessions that ended has a score." in sayings(study(run))


def test_a_missing_score_costs_its_pair_and_is_told_by_variant(tmp_path: Path) -> None:
    scores: list[float | None] = [40.0 + round_ % 5 for round_ in range(12)]
    scores[4] = None
    found = study(make_run(tmp_path / "run", values_of(scores), TWO))
    assert found.verdict.rounds_complete == 12
    assert [pair.rounds for pair in found.pairs] == [11]
    assert "1 of 12 ended sessions of plain" in sayings(found)


def test_scores_beyond_the_declared_range_are_told_and_bound_nothing(tmp_path: Path) -> None:
    rows = values_of([90.0 + 3 * (round_ % 7) for round_ in range(12)])
    found = study(make_run(tmp_path / "run", rows, TWO))
    assert (
        "scores from 90 to 108, beyond the range that is declared of them (`score_range`"
        in found.rests_on
    )


def test_one_variant_is_nothing_to_compare_and_the_remedy_is_named(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", [Row({"prompt": "plain"})], {"prompt": ("plain",)})
    with pytest.raises(BadInput, match="'prompt' has only one level"):
        study(run, "prompt")
    bare = make_run(tmp_path / "bare", [Row({})], {}, compared=None)
    with pytest.raises(BadInput, match="none; `matrix compare RUN_A RUN_B` compares two runs"):
        study(bare)


def test_a_run_that_has_just_begun_can_be_looked_at(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", [], TWO, rounds=20, status="running", totals=False)
    found = study(run)
    assert found.verdict.kind == "not_enough_data"
    assert (found.secondary, found.noise, found.cost_quality, found.breakdown) == (None,) * 4
    assert "0 complete rounds" in study_as_text(found)


def test_a_live_run_tests_nothing_that_looks_once(tmp_path: Path) -> None:
    rows = [
        Row(row.levels, row.round, score=row.score, scores={"fun": half(row)})
        for row in paired({"plain": 0.0, "warm": 9.0}, 15)
    ]
    run = make_run(tmp_path / "run", rows, TWO, rounds=40, status="running", totals=False)
    found = study(run)
    assert {row.finding for row in found.pairs} == {"too early"}
    assert found.secondary is not None
    assert found.secondary.tested == 0
    assert found.settling.rounds == 25
    assert found.cost_quality is None or found.cost_quality.dominating == ()


# --- two runs -------------------------------------------------------------------------------------


def test_two_runs_are_compared_and_the_better_one_is_named(tmp_path: Path) -> None:
    rows = paired({"plain": 0.0, "warm": 4.0}, 60)
    runs = [
        make_run(tmp_path / name, [row for row in rows if row.levels["prompt"] == name],
                 {"prompt": (name,)}, compared=None)
        for name in ("plain", "warm")
    ]  # fmt: skip
    found = both(*runs)
    assert (found.factor, found.winner) == ("run", "warm")
    assert [row.level for row in found.rows] == ["plain", "warm"]
    assert found.breakdown is None
    with pytest.raises(BadInput, match="plain cannot be compared with itself"):
        both(runs[0], runs[0])


def test_rounds_of_the_longer_run_are_told_with_what_became_of_them(tmp_path: Path) -> None:
    short = make_run(tmp_path / "b12", [Row({"prompt": "warm"}, n) for n in range(12)],
                     {"prompt": ("warm",)}, compared=None)  # fmt: skip
    rows = [Row({"prompt": "warm"}, n) for n in range(12)]
    rows += [Row({"prompt": "warm"}, n, outcome="failed", score=None) for n in range(12, 23)]
    rows += [Row({"prompt": "warm"}, 23, outcome="errored", score=None)]
    long = make_run(tmp_path / "c24", rows, {"prompt": ("warm",)}, compared=None)
    told = (
        "12 rounds of c24 have no partner in b12 and are left out: 11 of their 12 sessions failed, "
        "1 has no score"
    )
    for runs in ((short, long), (long, short)):
        found = both(*runs)
        assert found.caveats[0] == f"{told}."
        text = " ".join(study_as_text(found).split())
        assert f"caveat: {told}." in text
        assert "12 complete rounds of 12 that both runs planned" in text
        assert "of 12 planned" not in text
        assert "counts the 12 rounds that both runs planned, and nothing of the 12 more" in text
        data = study_as_data(found)
        assert isinstance(data, dict)
        assert data["left_out"] == {
            "run": "c24", "other": "b12", "unit": "round", "rounds": 12, "sessions": 12,
            "failed": 11, "unscored": 1,
        }  # fmt: skip
    again = both(short, MadeUp(shutil.copytree(short.path, tmp_path / "again")))
    assert study_as_data(again)["left_out"] is None
    assert "12 complete rounds of 12 planned" in study_as_text(again)


def test_runs_without_a_complete_round_in_common_name_no_winner(tmp_path: Path) -> None:
    full = make_run(tmp_path / "full", values_of([50.0, 60.0]), TWO)
    rows = [Row({"prompt": level}, outcome="censored", score=None) for level in ("plain", "warm")]
    cut = make_run(tmp_path / "cut", rows, TWO, status="incomplete", end_reason="cap")
    assert "The runs have no complete round in common" in sayings(both(full, cut))


def test_tables_of_several_schema_versions_are_united_and_it_is_said(tmp_path: Path) -> None:
    one, two = (
        planted(tmp_path / name, {"plain": 0.0, "warm": 1.0}, rounds=12)[0]
        for name in ("one", "two")
    )
    (path,) = (two.path / "sessions").glob("*.parquet")
    table = pq.read_table(path).drop_columns(["changed", "tokens_in"])
    metadata = {**(table.schema.metadata or {}), b"matrix.schema_version": b"0"}
    pq.write_table(table.replace_schema_metadata(metadata), path)
    found = both(one, two)
    assert any("schema versions 0 and 1" in caveat for caveat in found.caveats)
    assert found.secondary is not None
    (tokens,) = [row for row in found.secondary.rows if row.metric == "tokens_in"]
    assert tokens.untested == "no values"


def test_a_variant_that_is_cheaper_because_it_crashes_is_no_winner(tmp_path: Path) -> None:
    rows = [
        Row({"prompt": level}, round_, outcome="failed" if crash else "completed",
            score=None if crash else 60.0 + round_ % 3,
            cost=(CENT // 2 if level == "warm" else CENT) + 1000 * (round_ * len(level) % 7))
        for round_ in range(60)
        for level in ("plain", "warm")
        for crash in [level == "warm" and round_ % 3 == 0]
    ]  # fmt: skip
    said = sayings(study(make_run(tmp_path / "run", rows, TWO), metric="cost_usd"))
    assert "No winner: warm scores better than plain on cost_usd" in said
    assert "failed: 20 of 60 sessions, against 0 of 60" in said


def test_two_runs_that_declare_other_rules_say_whose_hold(tmp_path: Path) -> None:
    rows, fail = paired({"plain": 0.0, "warm": 0.5}, 15), {"compare": {"turn_limit": "fail"}}
    one = make_run(tmp_path / "one", rows, TWO, spec=fail)
    two = make_run(tmp_path / "two", rows, TWO)
    told = sayings(both(one, two))
    assert "The rules of two hold here" in told
    assert "compare.turn_limit is fail in one and keep in two" in told
    assert "The rules of one hold here" in sayings(both(two, one))
    same = make_run(tmp_path / "same", rows, TWO, spec=fail)
    assert "The rules of" not in sayings(both(one, same))


def test_transcripts_that_are_judged_twice_have_no_cost_of_their_own(tmp_path: Path) -> None:
    rows = paired({"plain": 0.0, "warm": 0.5}, 15)
    one = make_run(tmp_path / "one", rows, TWO)
    again = make_run(tmp_path / "again", rows, TWO)
    file = read_run(again.path)
    branched = BranchedFrom(run_id="one", mode="rejudge", changes={}, times=1, moments=())
    write_run(again.path, file.model_copy(update={"branched": branched}))
    found = both(one, again)
    assert found.cost_quality is None
    assert "again and one judge the same transcripts" in sayings(found)
    third = make_run(tmp_path / "third", rows, TWO)
    of_again = branched.model_copy(update={"run_id": "again"})
    write_run(third.path, read_run(third.path).model_copy(update={"branched": of_again}))
    assert "third and one judge the same transcripts" in sayings(both(one, third))
    other = make_run(tmp_path / "other", rows, TWO)
    assert "judge the same transcripts" not in sayings(both(other, third))


def test_how_many_rounds_a_winner_takes_goes_by_its_lead(tmp_path: Path) -> None:
    narrow = {"compare": {"margin": 0.01, "engine": "fixed"}}
    run = make_run(tmp_path / "run", paired({"plain": 0.0, "warm": 0.0}, 12), TWO, spec=narrow)
    found = study(run)
    assert found.verdict.reasons[0] == "interval wider than margin"
    assert "needed for that, in a new run, and how many to name a winner cannot be said" in (
        found.sentence
    )


def test_a_scenario_without_scores_is_no_part_of_what_is_settled(tmp_path: Path) -> None:
    lenient = {"compare": {"failure_margin": 50}}
    rows = [
        Row(row.levels, row.round, row.scenario, score=None) if row.scenario == "b" else row
        for row in paired({"plain": 0.0, "warm": 9.0}, 30, scenarios=("a", "b"))
    ]
    run = make_run(tmp_path / "run", rows, TWO, scenarios=("a", "b"), spec=lenient)
    found = study(run)
    assert found.winner == "warm"
    told = " ".join(study_as_text(found).split())
    assert "Nothing here is about b: of a variant or more, no session there has a score." in told
    assert "Settled for the scenarios that it counts (not b)" in found.settling.sentence


def test_a_scenario_that_only_a_third_variant_lacks_is_told_as_its_own(tmp_path: Path) -> None:
    lenient = {"compare": {"failure_margin": 50}}
    effects = {"plain": 0.0, "warm": 9.0, "cold": -9.0}
    rows = [
        Row(row.levels, row.round, row.scenario, score=None)
        if (row.scenario, row.levels["prompt"]) == ("b", "cold")
        else row
        for row in paired(effects, 30, scenarios=("a", "b"))
    ]
    run = make_run(tmp_path / "run", rows, THREE, scenarios=("a", "b"), spec=lenient)
    found = study(run)
    assert found.winner == "warm"
    told = " ".join(study_as_text(found).split())
    assert "No session has a score in b of cold" in told
    assert any("in b of cold" in one for one in found.comparison.cautions)  # for every form
    assert "Nothing here is about" not in told
    assert "Settled for the scenarios that it counts (not b of cold)" in found.settling.sentence


def test_a_run_that_was_decided_is_not_said_to_go_on(tmp_path: Path) -> None:
    """Compared on another factor than the one that stopped it."""
    factors = {"prompt": ("plain", "warm"), "tone": ("dry", "wet")}
    rows = [
        Row({"prompt": prompt, "tone": tone}, round_, "a", score=50.0 + (7 * round_ + at) % 5)
        if round_ < 12
        else Row({"prompt": prompt, "tone": tone}, round_, "a", outcome="censored", score=None)
        for round_ in range(30)
        for at, (prompt, tone) in enumerate(itertools.product(*factors.values()))
    ]
    spec = {"stop": "when-decided", "compare": {"margin": 0.01, "engine": "open-ended"}}
    run = make_run(tmp_path / "run", rows, factors, spec=spec)
    found = study(run, "tone")
    assert "all in a new run" in found.settling.sentence
    assert "this one stopped when it was decided" in found.settling.sentence
    told = " ".join(study_as_text(found).split())
    assert "or a run that was decided" in told
    assert "matrix resume" not in told
