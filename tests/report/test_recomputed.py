"""Every comparison can be recomputed from Parquet files by code that shares nothing with it."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from matrix.model.records import Outcome
from matrix.report.compare.matching import factor_matchup
from matrix.report.study.study import study_of
from matrix.report.study.study_data import study_as_data
from matrix.store.reading.reader import RunTables
from matrix.store.run.run_folder import read_run
from tests.report import recomputed
from tests.report.recomputed import (
    Declared,
    Recomputed,
    boundaries,
    differences,
    failure_rise,
    log_evidence,
    recompute,
    scenario_mean,
    sessions_of,
    student,
)
from tests.report.synthetic import CENT, Row, make_run, paired

ENGINES = ("fixed", "planned", "open-ended")
SHAPES = ("normal", "skewed", "yes-no")
MISSING = ("nothing", "at random", "for a reason", "ended badly")
LEVELS = "wxyz"
SCENARIOS = "abcde"


@dataclass(frozen=True)
class Design:
    """What a made-up run is like."""

    seed: int
    engine: str = "fixed"
    variants: int = 2
    scenarios: int = 3
    rounds: int = 16
    shape: str = "normal"
    missing: str = "nothing"
    effect: float = 2.0
    confidence: float = 0.95
    failure_margin: float = 100.0
    failure_icc: float = 0.1
    cut_at: int | None = None

    def __str__(self) -> str:
        what = f"{self.engine}, {self.variants} variants, {self.scenarios} scenarios"
        return f"{self.seed}: {what}, {self.rounds} rounds, {self.shape}, missing {self.missing}"

    @property
    def declared(self) -> Declared:
        return Declared(
            variants=tuple(LEVELS[: self.variants]),
            engine=self.engine,
            rounds=self.rounds,
            alpha=1 - self.confidence,
            failure_margin=self.failure_margin,
            failure_icc=self.failure_icc,
        )


def designs(first: int, many: int) -> list[Design]:
    """Numbered designs in which every engine meets everything that may be missing."""
    found = []
    for seed in range(first, first + many):
        rng = np.random.default_rng([seed, 1])
        engine, missing = ENGINES[seed % 3], MISSING[seed // 3 % 4]
        found.append(
            Design(
                seed,
                engine,
                variants=2 + seed % 4 % 3 if seed % 5 else 4,
                scenarios=(3, 5, 1)[(seed + seed // 3) % 3],
                rounds=int(rng.integers(9, 26)),
                shape=SHAPES[(seed + seed // 12) % 3],
                missing=missing,
                effect=(0.0, 3.0, 6.0)[int(rng.integers(3))],
                confidence=(0.9, 0.95, 0.99)[int(rng.integers(3))],
                failure_margin=(5.0, 20.0, 40.0)[int(rng.integers(3))]
                if engine == "fixed"
                else 100.0,
                failure_icc=(0.0, 0.1, 0.5)[int(rng.integers(3))],
            )
        )
    return found


def rows_of(design: Design) -> list[Row]:
    """Sessions that share their round's luck and their scenario's difficulty."""
    rng = np.random.default_rng([design.seed, 2])
    names = SCENARIOS[: design.scenarios]
    lean = {name: float(rng.normal(0, 10)) for name in names}
    fails = rng.choice([0.02, 0.1, 0.5], size=design.variants, p=[0.5, 0.35, 0.15])
    rows = []
    for round_ in range(design.rounds):
        luck = float(rng.normal(0, 3))
        for name in names:
            for index, level in enumerate(LEVELS[: design.variants]):
                mean = 50 + lean[name] + luck + design.effect * index
                score = _score(rng, design, mean, index)
                row = Row(
                    {"prompt": level},
                    round_,
                    name,
                    score=score,
                    cost=int(CENT * (1 + rng.random())),
                )
                rows.append(_ended(rng, design, row, name == names[-1], float(fails[index])))
    return rows


def _score(rng: np.random.Generator, design: Design, mean: float, index: int) -> float:
    if design.shape == "yes-no":
        return 100.0 * (rng.random() < 0.35 + 0.04 * design.effect * index)
    noise = rng.normal(0, 6) if design.shape == "normal" else 8 - rng.exponential(8)
    return float(np.clip(mean + noise, 0, 100))


def _ended(rng: np.random.Generator, design: Design, row: Row, hard: bool, fails: float) -> Row:
    chance = rng.random()
    if design.cut_at is not None and (
        chance < 0.6 if row.round > design.cut_at else row.round == design.cut_at and hard
    ):
        outcome: Outcome | None = "censored" if chance < 0.3 else None
        return replace(row, outcome=outcome, score=None, error_class="cap")
    if design.missing == "at random" and chance < 0.12:
        return replace(row, score=None)
    low = row.score is not None and row.score < 48
    if design.missing == "for a reason" and hard and low and chance < 0.6:
        return replace(row, score=None)
    if design.missing == "ended badly":
        if chance < fails:
            return _badly(row, chance / fails)
        if chance > 0.95:
            return replace(row, outcome="timeout")
    return row


def _badly(row: Row, chance: float) -> Row:
    if chance < 0.6:
        return replace(row, outcome="failed", score=None, error_class="crash")
    if chance < 0.8:
        return replace(row, outcome="timeout", score=None, error_class="time limit")
    return replace(row, outcome="errored", score=None, error_class="provider")


def told(folder: Path, design: Design, rows: Sequence[Row] | None = None) -> Mapping[str, Any]:
    """What the program says of a design's run, which it writes first."""
    wish: dict[str, Any] = {
        "engine": design.engine,
        "failure_margin": design.failure_margin,
        "failure_icc": design.failure_icc,
        "confidence": design.confidence,
    }
    spec: dict[str, Any] = {"compare": wish}
    if design.engine != "fixed":
        spec["stop"] = "when-decided"
    cut = design.cut_at is not None
    make_run(
        folder,
        rows_of(design) if rows is None else rows,
        {"prompt": design.declared.variants},
        scenarios=tuple(SCENARIOS[: design.scenarios]),
        spec=spec,
        status="incomplete" if cut else "complete",
        end_reason="cap" if cut else "",
    )
    data = study_as_data(study_of(factor_matchup(RunTables(folder), read_run(folder), None), None))
    assert isinstance(data, dict)
    return data


def assert_agree(mine: Recomputed, data: Mapping[str, Any], design: Design) -> None:
    """All figures are the same, to a millionth."""
    assert (mine.complete, mine.verdict, mine.winner) == (
        data["rounds"]["complete"],
        data["verdict"],
        data["winner"],
    ), data["sentence"]
    for variant, row in zip(mine.variants, data["variants"], strict=True):
        figures = variant._asdict()
        del figures["rounds"]
        _assert_same(figures, row)
    for pair, row in zip(mine.pairs, data["pairs"], strict=True):
        _assert_same(pair._asdict(), row)
    both_ways = {(pair.a, pair.b): pair for pair in mine.pairs}
    assert len(data["differences"]) == len(both_ways)
    for row in data["differences"]:
        sign = 1 if (row["second"], row["first"]) in both_ways else -1
        pair = both_ways[(row["first"], row["second"])[::-sign]]
        low, high = (pair.low, pair.high)[::sign]
        expected = {"difference": pair.difference, "low": low, "high": high}
        signed = {name: None if end is None else sign * end for name, end in expected.items()}
        _assert_same({**signed, "rounds": pair.rounds, "p": pair.p, "level": pair.level}, row)


def _assert_same(figures: Mapping[str, Any], row: Mapping[str, Any]) -> None:
    for name, value in figures.items():
        given = row[name]
        if isinstance(value, float) and given is not None:
            assert value == pytest.approx(given, rel=1e-6, abs=1e-9), (name, figures, row)
        else:
            assert value == given, (name, figures, row)


# --- the law --------------------------------------------------------------------------------------


@pytest.mark.parametrize("design", designs(0, 24), ids=str)
def test_every_figure_of_a_comparison_follows_from_the_tables(
    tmp_path: Path, design: Design
) -> None:
    data = told(tmp_path / "run", design)
    assert_agree(recompute(tmp_path / "run", design.declared), data, design)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(
    "first",
    [24, 48, *(pytest.param(first, marks=pytest.mark.long) for first in range(72, 264, 24))],
)
def test_every_figure_of_many_comparisons_follows_from_the_tables(
    tmp_path: Path, first: int
) -> None:
    for design in designs(first, 24):
        data = told(tmp_path / str(design.seed), design)
        assert_agree(recompute(tmp_path / str(design.seed), design.declared), data, design)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("cut_at", [7, 13])
def test_a_run_that_was_cut_short_is_compared_on_its_first_complete_rounds(
    tmp_path: Path, engine: str, cut_at: int
) -> None:
    design = Design(cut_at, engine, variants=3, scenarios=3, rounds=20, cut_at=cut_at, effect=1.0)
    data = told(tmp_path / "run", design)
    mine = recompute(tmp_path / "run", design.declared)
    assert mine.complete == cut_at
    assert any(variant.censored for variant in mine.variants)
    assert_agree(mine, data, design)


def test_levels_of_other_factors_weigh_as_equally_as_scenarios(tmp_path: Path) -> None:
    design = Design(3, rounds=14, missing="at random")
    factors = {"prompt": design.declared.variants, "tone": ("dry", "warm")}
    rng = np.random.default_rng(4)
    rows = [
        replace(
            row,
            levels={**row.levels, "tone": tone},
            score=None if rng.random() < 0.2 else float(rng.normal(45 + 20 * index, 5)),
        )
        for row in rows_of(design)
        for index, tone in enumerate(factors["tone"])
    ]
    run = tmp_path / "run"
    spec = {"compare": {"failure_margin": 100}}
    make_run(run, rows, factors, scenarios=tuple(SCENARIOS[:3]), spec=spec)
    data = study_as_data(study_of(factor_matchup(RunTables(run), read_run(run), "prompt"), None))
    assert isinstance(data, dict)
    declared = replace(design.declared, other_factors=("tone",))
    assert_agree(recompute(run, declared), data, design)


@pytest.mark.slow
def test_the_designs_come_to_every_verdict_with_every_engine(tmp_path: Path) -> None:
    """Otherwise agreement would say little."""
    kinds = set()
    for design in designs(0, 24):
        rows = rows_of(design)
        make_run(
            tmp_path / str(design.seed),
            rows,
            {"prompt": design.declared.variants},
            scenarios=tuple(SCENARIOS[: design.scenarios]),
        )
        kinds.add((design.engine, recompute(tmp_path / str(design.seed), design.declared).verdict))
    verdicts = ("winner", "no_difference", "not_enough_data")
    assert kinds == {(engine, verdict) for engine in ENGINES for verdict in verdicts}


# --- failures -------------------------------------------------------------------------------------

HARDLY = 1e-6
"""A share of a margin, by which it lies to one side of an interval's end."""


def failing(scenarios: int, chances: Sequence[float], seed: int) -> list[Row]:
    """Thirty rounds of well separated scores, with failures and a few errors."""
    rng = np.random.default_rng([seed, 3])
    rows = []
    for round_ in range(30):
        for name in SCENARIOS[:scenarios]:
            for index, chance in enumerate(chances):
                row = Row(
                    {"prompt": LEVELS[index]},
                    round_,
                    name,
                    score=float(30 + 9 * index + rng.normal(0, 4)),
                )
                if rng.random() < chance:
                    row = replace(row, outcome="failed", score=None, error_class="crash")
                elif rng.random() < 0.03:
                    row = replace(row, outcome="errored", score=None, error_class="provider")
                rows.append(row)
    return rows


def winner_at(folder: Path, design: Design, rows: Sequence[Row], margin: float) -> str | None:
    data = told(folder, replace(design, failure_margin=margin), rows)
    winner = data["winner"]
    assert winner is None or isinstance(winner, str)
    return winner


@pytest.mark.parametrize(
    ("scenarios", "icc", "chances"),
    [
        (1, 0.1, (0.1, 0.12)),
        (3, 0.5, (0.4, 0.45)),
        (5, 0.0, (0.2, 0.22)),
        (3, 0.1, (0.02, 0.1, 0.1)),
    ],
)
def test_the_failure_gate_opens_where_newcombes_interval_ends(
    tmp_path: Path, scenarios: int, icc: float, chances: Sequence[float]
) -> None:
    rows = failing(scenarios, chances, seed=scenarios)
    design = Design(0, variants=len(chances), scenarios=scenarios, rounds=30, failure_icc=icc)
    declared = design.declared
    winner_at(tmp_path / "first", design, rows, 100.0)
    seen = sessions_of(tmp_path / "first", "prompt")
    best, *others = reversed(declared.variants)
    edge = max(failure_rise(seen, best, other, declared, declared.alpha)[1] for other in others)
    assert edge > 0
    assert winner_at(tmp_path / "below", design, rows, edge * (1 - HARDLY)) is None
    assert winner_at(tmp_path / "above", design, rows, edge * (1 + HARDLY)) == best


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenarios", "icc", "chances"),
    [(1, 0.1, (0.05, 0.05, 0.5)), (4, 0.3, (0.05, 0.05, 0.5))],
)
def test_a_variant_is_out_as_long_as_it_is_shown_to_fail_more_than_the_margin(
    tmp_path: Path, scenarios: int, icc: float, chances: Sequence[float]
) -> None:
    rows = failing(scenarios, chances, seed=scenarios + 10)
    design = Design(0, variants=len(chances), scenarios=scenarios, rounds=30, failure_icc=icc)
    declared = design.declared
    winner_at(tmp_path / "first", design, rows, 100.0)
    seen = sessions_of(tmp_path / "first", "prompt")
    *others, worst = declared.variants
    edge = max(failure_rise(seen, worst, one, declared, declared.pair_level)[0] for one in others)
    assert edge > 5
    assert winner_at(tmp_path / "below", design, rows, edge * (1 - HARDLY)) == others[-1]
    assert winner_at(tmp_path / "above", design, rows, edge * (1 + HARDLY)) is None


# --- the code that recomputes ---------------------------------------------------------------------


@pytest.mark.parametrize("scenarios", [1, 3, 5])
def test_with_nothing_missing_a_difference_is_students_t_on_round_means(
    tmp_path: Path, scenarios: int
) -> None:
    design = Design(scenarios, scenarios=scenarios, rounds=14, shape="skewed")
    data = told(tmp_path / "run", design)
    values = differences(sessions_of(tmp_path / "run", "prompt"), "w", "x")
    means = values.groupby("round")["value"].mean()
    classic = stats.ttest_1samp(means, 0.0)
    low, high = classic.confidence_interval(0.95)
    (pair,) = data["pairs"]
    found = scenario_mean(values)
    assert found is not None
    assert found.t == pytest.approx(float(classic.statistic), rel=1e-9)
    assert found.df == pytest.approx(13, rel=1e-9)
    assert (pair["low"], pair["high"]) == pytest.approx((float(low), float(high)), rel=1e-9)
    assert pair["p"] == pytest.approx(float(classic.pvalue), rel=1e-9)


@pytest.mark.parametrize(("alpha", "planned"), [(0.05, 11), (0.0125, 12)])
def test_boundaries_are_crossed_as_often_as_was_spent(alpha: float, planned: int) -> None:
    edges = boundaries(alpha, planned)
    looks = np.array(list(edges))
    z = np.array(list(edges.values()))
    shared = np.sqrt(np.minimum.outer(looks, looks) / np.maximum.outer(looks, looks))
    inside = stats.multivariate_normal.cdf(z, cov=shared, lower_limit=-z)
    assert 1 - float(inside) == pytest.approx(alpha, rel=1e-3)
    assert z[0] == pytest.approx(stats.norm.isf(alpha * (10 / planned) ** 2 / 2), rel=1e-9)


def test_the_recomputation_imports_nothing_of_the_program() -> None:
    tree = ast.parse(Path(recomputed.__file__).read_text("utf-8"))
    names = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    names |= {node.module or "." for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} <= {
        "__future__", "collections", "dataclasses", "functools", "itertools", "math", "numpy",
        "pandas", "pathlib", "scipy", "typing",
    }  # fmt: skip


def _unweighted(values: pd.DataFrame, *, keep_single: bool = False) -> recomputed.Estimate | None:
    return scenario_mean(values.assign(scenario="all"), keep_single=keep_single)


def _uncapped(level: float, df: float) -> float:
    return student(level, df + 1)


def _eager(t: float, df: float) -> float:
    return log_evidence(t, df + 1)


SLIPS: Mapping[str, tuple[str, Any, str]] = {
    "one degree of freedom more": ("student", _uncapped, "fixed"),
    "sessions weigh equally": ("scenario_mean", _unweighted, "fixed"),
    "no allowance for skewness": ("hall_inverse", lambda _, quantile: quantile, "fixed"),
    "evidence of one more round": ("log_evidence", _eager, "open-ended"),
    "another mixture": ("MIXTURE_PRECISION", 3.1137, "open-ended"),
    "boundaries of one more round": ("boundaries", lambda a, n: boundaries(a, n + 1), "planned"),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_in_a_formula_is_noticed(
    tmp_path: Path, slip: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, wrong, engine = SLIPS[slip]
    design = Design(8, engine, rounds=14, shape="skewed", missing="at random", effect=0.0)
    data = told(tmp_path / "run", design)
    assert_agree(recompute(tmp_path / "run", design.declared), data, design)
    monkeypatch.setattr(recomputed, name, wrong)
    with pytest.raises(AssertionError):
        assert_agree(recompute(tmp_path / "run", design.declared), data, design)


# --- what it has found ----------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["planned", "open-ended"])
def test_an_own_mean_of_an_engine_that_looks_early_is_never_surer_than_students_t(
    tmp_path: Path, engine: str
) -> None:
    design = Design(5, engine, scenarios=1, rounds=18, effect=0.0)
    rows = [
        replace(row, score=None) if row.round >= 3 and row.levels["prompt"] == "x" else row
        for row in rows_of(design)
    ]
    data = told(tmp_path / "run", design, rows)
    own = [row.score for row in rows if row.levels["prompt"] == "x" and row.score is not None]
    low, high = stats.t.interval(0.95, 2, float(np.mean(own)), float(stats.sem(own)))
    shown = data["variants"][1]
    assert math.isclose(shown["mean"], float(np.mean(own)))
    if engine == "open-ended":
        assert shown["low"] is shown["high"] is None, "three rounds bound nothing"
    else:
        assert shown["low"] <= max(0.0, low)
        assert shown["high"] >= min(100.0, high)


@pytest.mark.parametrize(("variants", "confidence"), [(2, 0.999), (12, 0.95)])
def test_levels_beyond_the_draws_of_a_bootstrap_are_no_crash(
    tmp_path: Path, variants: int, confidence: float
) -> None:
    names = [f"v{number}" for number in range(variants)]
    rows = paired(dict.fromkeys(names, 0.0), 12)
    spec = {"compare": {"confidence": confidence}}
    run = make_run(tmp_path / "run", rows, {"prompt": names}, spec=spec)
    found = study_of(factor_matchup(RunTables(run.path), read_run(run.path), None), None)
    assert found.cost_quality is not None
    assert len(found.cost_quality.rows) == variants
