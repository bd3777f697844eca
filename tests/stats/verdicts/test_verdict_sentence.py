"""The sentence: what it says, to the letter, and that it always says something."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matrix.stats import (
    OUTCOMES,
    Interval,
    Rules,
    Verdict,
    fixed_n_verdict,
    rounds_needed,
    verdict_of,
    verdict_sentence,
)
from matrix.stats.estimates.figures import ends
from matrix.stats.verdicts.wording import with_unit
from tests.sampling import examples

NAMES = ["baseline", "pulse-aware", "terse"]


def with_interval(verdict: Verdict, difference: float, low: float, high: float) -> Verdict:
    """The verdict with its decisive comparison's numbers replaced."""
    assert verdict.decisive is not None
    confidence = 1 - verdict.decisive.level
    pair = replace(
        verdict.decisive, difference=difference, interval=Interval(low, high, confidence)
    )
    return replace(verdict, decisive=pair)


def test_a_winner_is_one_plain_sentence(normal_table: Any) -> None:
    verdict = with_interval(fixed_n_verdict(normal_table([0, 9], n_rounds=25)), 3.1, 1.9, 4.3)
    assert verdict_sentence(verdict, NAMES[:2], unit="points") == (
        "pulse-aware beats baseline by 3.1 points (95 % interval 1.9 to 4.3) over 25 complete "
        "rounds."
    )
    assert verdict_sentence(verdict, NAMES[:2], "quality") == (
        "pulse-aware beats baseline on quality by 3.1 (95 % interval 1.9 to 4.3) over 25 complete "
        "rounds."
    )


def test_a_fragile_winner_says_so(normal_table: Any) -> None:
    rules = Rules(failure_margin=0.5)
    verdict = fixed_n_verdict(normal_table([0, 5], fail={1: 20}), rules)
    assert "but fragile: the scores that are missing could overturn it." in verdict_sentence(
        verdict, NAMES[:2]
    )


def test_a_winner_where_lower_is_better_leads_by_a_positive_amount(normal_table: Any) -> None:
    verdict = fixed_n_verdict(normal_table([9, 0], n_rounds=25), Rules(higher_is_better=False))
    verdict = with_interval(verdict, -0.031, -0.043, -0.019)
    assert verdict_sentence(verdict, NAMES[:2], "cost", "USD") == (
        "pulse-aware beats baseline on cost by 0.031 USD (95 % interval 0.019 to 0.043) over 25 "
        "complete rounds."
    )


def test_a_winner_of_three_names_the_closest_rival_and_the_stricter_interval(
    normal_table: Any,
) -> None:
    verdict = fixed_n_verdict(normal_table([0, 15, 6], n_rounds=25))
    assert verdict_sentence(with_interval(verdict, 9.2, 7.7, 10.7), NAMES, "quality", "points") == (
        "pulse-aware beats both other variants on quality, the closest being terse, by 9.2 points "
        "(95 % interval 7.7 to 10.7) over 25 complete rounds."
    )


def test_no_difference_states_what_stays_possible(normal_table: Any) -> None:
    verdict = with_interval(fixed_n_verdict(normal_table([0, 0])), 0.4, -1.2, 2.0)
    sentence = verdict_sentence(verdict, ["a", "b"], "quality", "points")
    assert sentence.startswith("No difference shown between a and b on quality: over 40 complete ")
    assert "averaged 0.4 points higher than" in sentence
    assert "anywhere from 1.2 lower to 2.0 higher for b (95 % interval)." in sentence


def test_failures_within_the_margin_are_told_where_no_difference_of_scores_is(
    normal_table: Any,
) -> None:
    rules = Rules(failure_margin=0.2)
    verdict = fixed_n_verdict(normal_table([0, 0], fail={0: 20}), rules)
    assert verdict.kind == "no_difference"
    told = verdict_sentence(verdict, NAMES[:2])
    assert "; how often they fail is no part of that, and differs (failed: " in told
    assert "20 of 120" in told
    same = fixed_n_verdict(normal_table([0, 0], fail={0: 2, 1: 1}), rules)
    assert "how often they fail" not in verdict_sentence(same, NAMES[:2])


def test_a_lead_beyond_nine_in_ten_is_probable_and_said_not_to_be_proven(
    normal_table: Any,
) -> None:
    verdict = with_interval(fixed_n_verdict(normal_table([0, 0])), 1.8, -0.1, 3.7)
    assert verdict.decisive is not None
    near, far = (
        replace(verdict, decisive=replace(verdict.decisive, se=se)) for se in (1.5, 1.8 / 1.2817)
    )
    better = ["a", "b"][verdict.decisive.b]
    assert "probably" not in verdict_sentence(near, ["a", "b"], "quality")
    told = verdict_sentence(far, ["a", "b"], "quality")
    assert f"{better} is probably better than" in told
    assert "not proven: over 40 complete rounds it averaged 1.8 higher" in told
    assert "anywhere from 0.1 lower to 3.7 higher for b (95 % interval)." in told


def test_no_difference_where_lower_is_better_keeps_the_direction_right(normal_table: Any) -> None:
    verdict = fixed_n_verdict(normal_table([0, 0]), Rules(higher_is_better=False))
    verdict = with_interval(verdict, -0.4, -2.0, 1.2)
    sentence = verdict_sentence(verdict, ["a", "b"], "cost", "USD")
    assert "averaged 0.4 USD lower than" in sentence
    assert "anywhere from 1.2 higher to 2.0 lower for a (95 % interval)." in sentence


def test_figures_have_no_negative_zero_and_two_significant_figures() -> None:
    assert ends(Interval(-0.0, 1.0, 0.95)) == ("0.00", "1.00")
    assert ends(Interval(-31.4, 112.3, 0.95)) == ("-31", "112")
    assert ends(Interval(0.0123, 0.0456, 0.95)) == ("0.012", "0.046")


def test_too_few_rounds_say_how_many_more(normal_table: Any) -> None:
    assert verdict_sentence(fixed_n_verdict(normal_table([0, 9], n_rounds=7)), NAMES[:2]) == (
        "Not enough data to name a winner: 7 complete rounds so far, and at least 10 are needed "
        "for any verdict, 21 to name a winner; 21 rounds needed, in a new run."
    )
    lenient = Rules(failure_margin=0.1)
    one_short = fixed_n_verdict(normal_table([0, 9], n_rounds=9), lenient)
    assert verdict_sentence(one_short, NAMES[:2]) == (
        "Not enough data to name a winner: 9 complete rounds so far, and at least 10 are needed; "
        "10 rounds needed, in a new run."
    )


def test_rounds_without_a_score_are_told_apart_from_complete_ones(normal_table: Any) -> None:
    lost = normal_table([0, 9], n_rounds=7, n_scenarios=1, fail={1: 2})
    assert verdict_sentence(fixed_n_verdict(lost), NAMES[:2]).startswith(
        "Not enough data to name a winner: 7 complete rounds so far, 5 with scores of both "
        f"{NAMES[0]} and {NAMES[1]}, and at least 10 of those are needed "
    )


@pytest.mark.parametrize("lead", [-2.0, 2.0])
def test_a_margin_takes_other_rounds_than_a_winner_whose_lead_has_to_be_shown(
    normal_table: Any, lead: float
) -> None:
    table = normal_table([0, lead], n_rounds=12, n_scenarios=1, sd=9.0)
    verdict = fixed_n_verdict(table, Rules(delta=3.5, failure_margin=0.9))
    assert verdict.reasons[0] == "interval wider than margin"
    pair, wins = verdict.comparisons[0], None
    assert pair.se is not None
    if (seen := abs(pair.difference or 0.0)) >= pair.se:
        wins = rounds_needed(seen, pair.se * 12**0.5)
    assert (wins is None) == (lead < 0), "one lead of each sort"
    winner = f"{wins} to name a winner" if wins else "how many to name a winner cannot be said"
    assert verdict_sentence(verdict, NAMES[:2]).endswith(
        f"; about {12 + (verdict.extra_rounds or 0)} rounds needed for that, in a new run, "
        f"and {winner}."
    )


def test_a_winner_that_fails_too_often_is_promised_no_number(normal_table: Any) -> None:
    table = normal_table([0, 2], n_rounds=14, n_scenarios=1, seed=3, fail={1: 2})
    verdict = fixed_n_verdict(table, Rules(delta=1.0))
    assert verdict.winner_rounds is None
    assert verdict_sentence(verdict, NAMES[:2]).endswith(
        "rounds needed for that, in a new run, and how many to name a winner cannot be said."
    )


def test_an_unfinished_plan_says_how_much_is_left(normal_table: Any) -> None:
    verdict = fixed_n_verdict(normal_table([0, 9], n_rounds=12, planned=40))
    assert verdict_sentence(verdict, NAMES[:2]) == (
        "Not enough data yet: 12 of 40 planned rounds are complete, and this comparison looks "
        "once, at the end; 28 more rounds needed."
    )
    short = fixed_n_verdict(normal_table([0, 9], n_rounds=12, n_scenarios=1, planned=40))
    assert verdict_sentence(short, NAMES[:2]).endswith(
        "; 28 more rounds needed for a verdict, and 40 to name a winner."
    )


def test_identical_differences_are_called_identical_so_far(table_of: Any) -> None:
    verdict = fixed_n_verdict(table_of(np.ones((20, 1, 2)) * [1.0, 4.0]))
    assert verdict_sentence(verdict, NAMES[:2], "", "points") == (
        "Not enough data to name a winner: pulse-aware and baseline differ by the same amount "
        "(3 points) in each of 20 complete rounds, identical so far, so chance cannot be judged; "
        "how many more rounds it takes cannot be said."
    )


def test_a_gate_that_is_not_settled_gives_both_failure_counts(normal_table: Any) -> None:
    verdict = fixed_n_verdict(normal_table([0, 9], n_rounds=51, n_scenarios=1))
    sentence = verdict_sentence(verdict, NAMES[:2])
    assert sentence.startswith("Not enough data to name a winner: pulse-aware scores better")
    assert "at most 5 percentage points more often" in sentence
    assert sentence.endswith(
        "(failed: 0 of 51 sessions, against 0 of 51, which leaves up to 5.1 points more); about 52 "
        "rounds needed, in a new run."
    )


def test_a_better_score_with_more_failures_is_no_winner(normal_table: Any) -> None:
    sentence = verdict_sentence(fixed_n_verdict(normal_table([0, 9], fail={1: 12})), NAMES[:2])
    assert sentence.startswith("No winner: pulse-aware scores better than baseline by ")
    assert "it fails more often (failed: 12 of 120 sessions, against 0 of 120" in sentence


def test_a_few_failures_more_are_not_said_to_be_more_than_chance(normal_table: Any) -> None:
    verdict = fixed_n_verdict(normal_table([0, 9], n_rounds=20, fail={1: 3}))
    assert verdict.decisive is not None
    seen = verdict.decisive.failures.interval
    assert seen is not None
    assert seen.low < 0, "or this test shows nothing"
    assert verdict_sentence(verdict, NAMES[:2]).endswith(
        ", but it failed more often, by chance or not (failed: 3 of 60 sessions, against 0 of "
        f"60, which leaves up to {ceil(1000 * seen.high) / 10:.1f} points more): that it fails at "
        "most 5 percentage points more often is not shown."
    )


def test_equivalence_names_the_margin_and_who_is_ahead(normal_table: Any) -> None:
    verdict = fixed_n_verdict(normal_table([0, 2], n_rounds=400), Rules(delta=4.0))
    verdict = with_interval(verdict, 2.0, 1.6, 2.4)
    assert verdict_sentence(verdict, NAMES[:2], "quality", "points") == (
        "baseline and pulse-aware are practically equivalent on quality: the difference lies "
        "within 4 points either way (95 % interval of pulse-aware's lead over baseline: 1.60 to "
        "2.40) over 400 complete rounds; "
        "pulse-aware is statistically ahead."
    )


@pytest.mark.parametrize("low", [0.04, 0.0004])
def test_a_winners_lower_end_is_never_printed_as_zero(normal_table: Any, low: float) -> None:
    verdict = with_interval(fixed_n_verdict(normal_table([0, 9], n_rounds=25)), 2.0, low, 4.0)
    assert f"interval {low} to 4.0" in verdict_sentence(verdict, NAMES[:2])


@settings(max_examples=examples(150))
@given(
    st.integers(1, 30), st.integers(1, 2), st.integers(2, 4), st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 1.0, 8.0]), st.sampled_from([0.0, 0.05, 0.3]),
    st.sampled_from([None, 0.5, 6.0]), st.booleans(), st.booleans(),
)  # fmt: skip
def test_every_verdict_has_one_sentence_that_matches_its_kind(
    table_of: Any, n: int, s: int, k: int, seed: int, effect: float, failing: float,
    delta: float | None, higher: bool, binary: bool,
) -> None:  # fmt: skip
    rng = np.random.default_rng(seed)
    scores = (rng.normal(50, 4, (n, s, k)) + effect * np.arange(k)).clip(0, 100)
    scores = (scores > 52).astype(float) if binary else scores
    outcomes = np.where(rng.random(scores.shape) < failing, "failed", "completed")
    verdict = fixed_n_verdict(
        table_of(scores, outcomes), Rules(delta=delta, higher_is_better=higher)
    )
    names = [f"v{i}" for i in range(k)]
    sentence = verdict_sentence(verdict, names, "quality", "points")
    probable = [f"{name} is probably better than " for name in ("v0", "v1")]
    opening: dict[str, tuple[str, ...]] = {
        "winner": (f"v{verdict.winner} beats ", f"v{verdict.winner} is the one to keep: "),
        "equivalent": ("v0 and v1 are practically", f"All {k} variants are practically"),
        "no_difference": ("No difference shown", "No winner shown", *probable),
        "not_enough_data": ("Not enough data", "No winner: "),
    }
    assert sentence.startswith(opening[verdict.kind])
    assert sentence.endswith(".")
    assert not any(bad in sentence for bad in ("None", "nan", "inf ", "-0.0 ", "  "))


def test_names_must_fit_the_variants(normal_table: Any) -> None:
    with pytest.raises(ValueError, match="2 variants"):
        verdict_sentence(fixed_n_verdict(normal_table([0, 9])), NAMES)


# --- looking after every round ---------------------------------------------------------------


def test_a_winner_found_by_looking_says_when_it_was_found(normal_table: Any) -> None:
    verdict = verdict_of(normal_table([0, 9], n_rounds=60), Rules(engine="planned"))
    verdict = with_interval(verdict, 8.6, 6.9, 10.3)
    assert verdict_sentence(verdict, NAMES[:2], unit="points") == (
        "pulse-aware beats baseline by 8.6 points (95 % interval 6.9 to 10.3) over 32 complete "
        "rounds, looked at after every round and decided after round 32 of 60."
    )


def test_a_winner_of_three_says_who_was_beaten_before(table_of: Any) -> None:
    scores = np.random.default_rng(4).normal(50, 4, (80, 3, 3)) + np.array([0.0, 11.0, 9.0])
    verdict = verdict_of(table_of(scores), Rules(engine="open-ended"))
    (first,) = verdict.beaten
    assert first.variant == 0
    sentence = verdict_sentence(verdict, NAMES)
    assert sentence.startswith("pulse-aware beats both other variants, the closest being terse, by")
    assert f"decided after round {verdict.decided_at} of 80; baseline was beaten by " in sentence
    assert sentence.endswith(f" after round {first.at}.")


def test_a_variant_that_fails_too_often_is_said_to_be_out_for_that(table_of: Any) -> None:
    scores = np.random.default_rng(4).normal(50, 4, (80, 3, 3)) + np.array([0.0, 11.0, 0.0])
    outcomes = np.zeros(scores.shape, dtype=np.int64)
    outcomes[:, 0, 0] = OUTCOMES.index("failed")
    verdict = verdict_of(table_of(scores, outcomes), Rules(engine="planned"))
    first = verdict.beaten[0]
    assert (first.variant, first.why) == (0, "failures")
    sentence = verdict_sentence(verdict, NAMES)
    assert f"baseline was out after round {first.at}, as it fails too often" in sentence


def test_the_only_one_that_does_not_fail_too_often_is_the_one_to_keep(normal_table: Any) -> None:
    verdict = fixed_n_verdict(normal_table([0, 0], fail={0: 20}))
    assert verdict_sentence(verdict, NAMES[:2]) == (
        "pulse-aware is the one to keep: baseline fails more often by more than 5 percentage "
        "points (failed: 0 of 120 sessions, against 20 of 120) over 40 complete rounds. Scores do "
        "not decide it: none of the others is shown to score better."
    )


def test_what_is_left_undecided_names_only_what_is_left(normal_table: Any) -> None:
    table = normal_table([0, 12, 12.1], n_rounds=60, seed=3)
    verdict = verdict_of(table, Rules(engine="open-ended"))
    assert (verdict.kind, len(verdict.beaten)) == ("no_difference", 1)
    sentence = verdict_sentence(verdict, NAMES)
    assert sentence.startswith(
        "No difference shown between pulse-aware and terse: over 60 complete"
    )
    assert "rounds, looked at after every round, " in sentence
    assert "; baseline was beaten by " in sentence


def test_equivalence_of_what_is_left_names_only_what_is_left(normal_table: Any) -> None:
    table = normal_table([-12, 0.1, 0], n_rounds=120, seed=7)
    verdict = verdict_of(table, Rules(engine="open-ended", delta=3.0, failure_margin=0.1))
    sentence = verdict_sentence(verdict, NAMES)
    assert sentence.startswith("pulse-aware and terse are practically equivalent: the difference ")
    assert "; baseline was beaten by " in sentence
    with_four = verdict_of(
        normal_table([-12, 0.1, 0, 0], n_rounds=200, seed=7),
        Rules(engine="open-ended", delta=4.0, failure_margin=0.1),
    )
    assert [one.variant for one in with_four.beaten] == [0]
    assert verdict_sentence(with_four, [*NAMES, "calm"]).startswith(
        "The 3 variants left are practically equivalent: even the largest difference lies"
    )


def test_a_run_without_a_verdict_so_far_says_what_was_seen_and_how_long_it_may_take(
    normal_table: Any,
) -> None:
    rules = Rules(engine="open-ended", failure_margin=0.5)
    verdict = verdict_of(normal_table([0, 1.5], n_rounds=15, planned=40, seed=2), rules)
    assert verdict.extra_rounds is not None
    sentence = verdict_sentence(verdict, NAMES[:2], unit="points")
    assert sentence.startswith(
        "Not enough data yet: 15 of 40 planned rounds are complete, looked at after every one, "
        "without a verdict so far (pulse-aware averages better than baseline by "
    )
    assert sentence.endswith(f"; about {verdict.extra_rounds} more rounds needed.")


def test_a_gate_that_is_not_settled_yet_is_named_while_the_run_goes_on(normal_table: Any) -> None:
    verdict = verdict_of(normal_table([0, 9], n_rounds=20, planned=40), Rules(engine="planned"))
    sentence = verdict_sentence(verdict, NAMES[:2])
    assert "looked at after every one; pulse-aware scores better than baseline by " in sentence
    assert "it is not settled that it fails at most 5 percentage points more often" in sentence
    assert sentence.endswith("; about 12 more rounds needed.")


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(
    st.integers(1, 60), st.integers(0, 30), st.integers(2, 4), st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 1.0, 8.0]), st.sampled_from([0.0, 0.05, 0.3]),
    st.sampled_from([None, 0.5, 6.0]), st.booleans(), st.booleans(),
    st.sampled_from(["planned", "open-ended"]),
)  # fmt: skip
def test_every_verdict_by_looking_has_one_sentence_that_matches_its_kind(
    table_of: Any, n: int, missing: int, k: int, seed: int, effect: float, failing: float,
    delta: float | None, higher: bool, binary: bool, engine: Any,
) -> None:  # fmt: skip
    rng = np.random.default_rng(seed)
    scores = (rng.normal(50, 4, (n, 2, k)) + effect * np.arange(k)).clip(0, 100)
    scores = (scores > 52).astype(float) if binary else scores
    outcomes = np.where(rng.random(scores.shape) < failing, "failed", "completed")
    rules = Rules(delta=delta, higher_is_better=higher, engine=engine, failure_margin=0.1)
    verdict = verdict_of(table_of(scores, outcomes, planned=n + missing), rules)
    sentence = verdict_sentence(verdict, [f"v{i}" for i in range(k)], "quality", "points")
    probable = [f"{name} is probably better than " for name in (f"v{i}" for i in range(k))]
    opening: dict[str, tuple[str, ...]] = {
        "winner": (f"v{verdict.winner} beats ", f"v{verdict.winner} is the one to keep: "),
        "equivalent": ("v", "All ", "The "),
        "no_difference": ("No difference shown", "No winner shown", *probable),
        "not_enough_data": ("Not enough data", "No winner: "),
    }
    assert sentence.startswith(opening[verdict.kind])
    assert sentence.endswith(".")
    assert ("looked at after every" in sentence) >= (verdict.decided_at is not None)
    assert not any(bad in sentence for bad in ("None", "nan", "inf ", "-0.0 ", "  "))


def test_who_never_has_a_score_fails_over_all_rounds(table_of: Any) -> None:
    scores = np.random.default_rng(1).normal(60, 3, (40, 1, 2))
    scores[:, :, 0] = np.nan
    outcomes = np.zeros(scores.shape, dtype=np.int64)
    outcomes[:, :, 0] = OUTCOMES.index("failed")
    found = verdict_of(table_of(scores, outcomes), Rules())
    assert "against 40 of 40) over 40 complete rounds" in verdict_sentence(found, NAMES[:2])
    assert found.rounds_used == 40


def test_one_point_is_no_points() -> None:
    assert [with_unit(one, "points") for one in ("1", "2", "1.0")] == [
        "1 point", "2 points", "1.0 points"
    ]  # fmt: skip
    assert with_unit("1", "") == "1"
