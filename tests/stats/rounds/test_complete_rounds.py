"""Complete rounds: what enters a comparison, and that every denominator adds up."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matrix.stats import OUTCOMES, RoundTable, complete_rounds
from matrix.stats.verdicts.comparisons import lost_pairs
from tests.sampling import examples

NAN = float("nan")


@st.composite
def plans(draw: st.DrawFn) -> tuple[tuple[int, int, int], list[tuple[int, int, int, float, str]]]:
    """A plan's shape and one row per session that has an outcome, mostly completed."""
    shape = (draw(st.integers(1, 7)), draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    rare = st.sampled_from(["open", "censored", "unscored", "errored", "failed", "timeout"])
    rows = []
    for r, s, v in np.ndindex(shape):
        fate = draw(rare) if draw(st.integers(0, 11)) == 0 else "completed"
        score = NAN if fate == "unscored" else float(draw(st.integers(0, 100)))
        if fate != "open":
            rows.append((r, s, v, score, "completed" if fate == "unscored" else fate))
    return shape, rows


def table_from(
    shape: tuple[int, int, int], rows: list[tuple[int, int, int, float, str]]
) -> RoundTable:
    columns: list[npt.NDArray[Any]] = [
        np.array([row[i] for row in rows], dtype=kind)
        for i, kind in enumerate((np.int64, np.int64, np.int64, np.float64, np.str_))
    ]
    return complete_rounds(
        *columns, n_rounds_planned=shape[0], n_scenarios=shape[1], n_variants=shape[2]
    )


def model(
    shape: tuple[int, int, int], rows: list[tuple[int, int, int, float, str]], a: int, b: int
) -> tuple[int, list[list[tuple[int, float, float]]], int, int]:
    """The same rules, written as plainly as possible, of two variants.

    Prefix, scored pairs of each scenario with their round, failures of b, pairs at risk.
    """
    cells = {(r, s, v): (score, outcome) for r, s, v, score, outcome in rows}
    known: list[list[tuple[int, float, float]]] = [[] for _ in range(shape[1])]
    failures = at_risk = prefix = 0
    for r in range(shape[0]):
        sessions = [cells.get((r, s, v)) for s in range(shape[1]) for v in range(shape[2])]
        if any(session is None or session[1] == "censored" for session in sessions):
            break
        prefix += 1
        for s in range(shape[1]):
            pair = [cells[r, s, a], cells[r, s, b]]
            if any(outcome == "errored" for _, outcome in pair):
                continue
            at_risk += 1
            failures += pair[1][1] in ("failed", "timeout")
            if all(o in ("completed", "timeout") and score == score for score, o in pair):
                known[s].append((r, pair[0][0], pair[1][0]))
    return prefix, known, failures, at_risk


@settings(max_examples=examples(200))
@given(plans(), st.data())
def test_the_table_agrees_with_the_plain_model(plan: Any, data: Any) -> None:
    table = table_from(*plan)
    a, b = (data.draw(st.integers(0, plan[0][2] - 1)) for _ in range(2))
    shape, rows = plan
    prefix, known, failures, at_risk = model(shape, rows, a, b)
    assert table.prefix_length == prefix
    enough = 2 if any(len(pairs) > 1 for pairs in known) else 1
    used = [pairs for pairs in known if len(pairs) >= enough]
    assert len(table.paired(a, b)) == len({r for pairs in used for r, _, _ in pairs})
    if used:
        means = [[sum(pair[i] for pair in pairs) / len(pairs) for i in (1, 2)] for pairs in used]
        assert table.paired(a, b).mean(axis=0) == pytest.approx(np.mean(means, axis=0))
    assert int(table.at_risk(a, b).sum()) == at_risk
    assert int((table.failed[:, :, b] & table.at_risk(a, b)).sum()) == failures


@settings(max_examples=examples(100))
@given(plans())
def test_denominators_add_up(plan: Any) -> None:
    shape, rows = plan
    table = table_from(*plan)
    per_variant = shape[0] * shape[1]
    assert table.outcome_counts.sum(axis=1).tolist() == [per_variant] * shape[2]
    assert table.open_sessions == per_variant * shape[2] - len(rows)
    in_prefix = table.prefix_length * shape[1]
    errored = table.errored.sum(axis=(0, 1))
    assert (table.sessions + errored).tolist() == [in_prefix] * shape[2]
    scored = (~np.isnan(table.scores)).sum(axis=(0, 1))
    assert (table.unscored + scored).tolist() == table.sessions.tolist()
    assert (table.failures <= table.sessions).all()
    assert (table.prefix_end == "plan complete") == (table.prefix_length == shape[0])
    if shape[2] > 1:
        lost, unscored = lost_pairs(table, 0, 1)
        assert lost + unscored + int(table.scored(0, 1).sum()) == in_prefix


@settings(max_examples=examples(60))
@given(plans(), st.integers(0, 2**32 - 1))
def test_the_order_of_rows_does_not_matter(plan: Any, seed: int) -> None:
    shape, rows = plan
    order = np.random.default_rng(seed).permutation(len(rows))
    one, other = table_from(shape, rows), table_from(shape, [rows[i] for i in order])
    for field in fields(RoundTable):
        first, second = getattr(one, field.name), getattr(other, field.name)
        assert np.array_equal(first, second, equal_nan=np.asarray(first).dtype.kind == "f"), field


@settings(max_examples=examples(60))
@given(plans(), st.data())
def test_what_happens_after_the_prefix_cannot_reach_the_means(plan: Any, data: Any) -> None:
    shape, rows = plan
    table = table_from(*plan)
    later = [row for row in rows if row[0] > table.prefix_length]
    dropped = data.draw(st.lists(st.sampled_from(later), unique=True)) if later else []
    other = table_from(shape, [row for row in rows if row not in dropped])
    assert np.array_equal(table.scores, other.scores, equal_nan=True)
    assert table.prefix_end == other.prefix_end


def test_names_and_codes_of_outcomes_mean_the_same(table_of: Any) -> None:
    scores = np.arange(40.0).reshape(10, 2, 2)
    codes = np.zeros(scores.shape, dtype=np.int64)
    codes[2, 1, 0], codes[4, 0, 1], codes[7, 0, 0] = 1, 3, 4
    by_code = table_of(scores, codes)
    by_name = table_of(scores, np.asarray(OUTCOMES)[codes])
    by_object = table_of(scores, np.asarray(OUTCOMES, dtype=object)[codes])
    assert by_code.prefix_length == by_name.prefix_length == by_object.prefix_length == 7
    assert np.array_equal(by_code.scores, by_name.scores, equal_nan=True)
    assert np.array_equal(by_code.outcome_counts, by_object.outcome_counts)


def test_an_infrastructure_error_drops_the_pairs_of_its_variant_and_no_others(
    table_of: Any,
) -> None:
    scores = np.array([[[10.0, 20.0, 30.0], [0.0, 5.0, 7.0]]])
    table = table_of(scores, [[["completed"] * 3, ["errored", "completed", "completed"]]])
    assert table.paired(0, 1).tolist() == [[10.0, 20.0]]
    assert table.paired(1, 2).tolist() == [[12.5, 18.5]]
    assert lost_pairs(table, 0, 1) == (1, 0)
    assert lost_pairs(table, 1, 2) == (0, 0)
    assert table.sessions.tolist() == [1, 2, 2]


def test_a_product_failure_counts_and_leaves_the_others_their_score_means(table_of: Any) -> None:
    scores = np.array([[[10.0, 20.0], [50.0, 99.0]]])
    for outcome in ("failed", "timeout"):
        scores[0, 1, 1] = NAN if outcome == "timeout" else 99.0
        table = table_of(scores, [[["completed"] * 2, ["completed", outcome]]])
        assert table.paired(0, 1).tolist() == [[10.0, 20.0]]
        assert lost_pairs(table, 0, 1) == (0, 1)
        assert table.sessions.tolist() == [2, 2]
        assert table.failures.tolist() == [0, 1]
        assert table.scores[0, 1, 0] == 50.0
        assert np.isnan(table.scores[0, 1, 1]), "a failed session has no score"


def test_a_missing_score_costs_its_pair_and_no_later_round(table_of: Any) -> None:
    scores = np.arange(40.0).reshape(10, 2, 2)
    scores[1, 0, 1] = NAN
    table = table_of(scores)
    assert (table.prefix_length, table.prefix_end) == (10, "plan complete")
    assert lost_pairs(table, 0, 1) == (0, 1)
    known = np.delete(scores[:, 0], 1, axis=0).mean(axis=0), scores[:, 1].mean(axis=0)
    assert table.sides(0, 1).mean(axis=0) == pytest.approx(np.mean(known, axis=0))
    assert table.failures.tolist() == [0, 0]
    assert table.unscored.tolist() == [0, 1]


def test_a_round_without_a_scored_pair_is_no_observation(table_of: Any) -> None:
    scores = np.array([[[1.0, 2.0]], [[3.0, 4.0]], [[5.0, 6.0]]])
    outcomes = [[["completed"] * 2], [["failed", "completed"]], [["completed"] * 2]]
    table = table_of(scores, outcomes)
    assert np.isnan(table.sides(0, 1)).any(axis=1).tolist() == [False, True, False]
    assert table.paired(0, 1).tolist() == [[1.0, 2.0], [5.0, 6.0]]
    assert table.prefix_length == 3


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [("censored", "censored session"), ("open", "open session")],
)
def test_the_prefix_ends_at_the_first_incomplete_round_and_says_why(
    spoil: str, reason: str
) -> None:
    rows = [(r, 0, v, 1.0, "completed") for r in range(5) for v in range(2)]
    changed = {
        "censored": [(2, 0, 1, NAN, "censored")],
        "open": [],
    }
    table = table_from((5, 1, 2), [row for row in rows if row[:3] != (2, 0, 1)] + changed[spoil])
    assert (table.prefix_length, table.prefix_end) == (2, reason)


def test_no_rows_at_all_are_an_open_plan() -> None:
    table = table_from((3, 2, 2), [])
    assert (table.prefix_length, table.open_sessions) == (0, 12)
    assert table.paired(0, 1).shape == (0, 2)


def test_a_table_cannot_be_changed(table_of: Any) -> None:
    table = table_of([[[1.0, 2.0]]])
    with pytest.raises(ValueError, match="read-only"):
        table.scores[0, 0, 0] = 9.0


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((3, 0, 0, 1.0, "completed"), "round index"),
        ((-1, 0, 0, 1.0, "completed"), "round index"),
        ((0, 1, 0, 1.0, "completed"), "scenario index"),
        ((0, 0, 2, 1.0, "completed"), "variant index"),
        ((0, 0, 1, 1.0, "crashed"), "unknown outcome 'crashed'"),
        ((0, 0, 0, 2.0, "failed"), "two rows for one session"),
    ],
)
def test_rows_that_fit_no_plan_are_refused(
    row: tuple[int, int, int, float, str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        table_from((3, 1, 2), [(0, 0, 0, 1.0, "completed"), row])


def test_columns_of_unequal_length_are_refused() -> None:
    one, two = np.array([0]), np.array([0, 0])
    with pytest.raises(ValueError, match="equal length"):
        complete_rounds(
            one, one, two, np.array([1.0]), np.array(["completed"]),
            n_rounds_planned=1, n_scenarios=1, n_variants=1,
        )  # fmt: skip
