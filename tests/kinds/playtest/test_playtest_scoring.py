"""Laws of the score: bounded, monotone in everything it rewards, fair to what is missing."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.kinds.playtest.kind import KIND
from matrix.kinds.playtest.setup.options import Weights
from matrix.kinds.playtest.setup.state import PlaytestState, TangentBook
from matrix.kinds.playtest.setup.vocabulary import ISSUE_TYPES
from matrix.kinds.playtest.table.judge import QUALITIES, rubric_of
from matrix.kinds.playtest.table.scoring import (
    BURDEN,
    COUNT_NAMES,
    CompositeParts,
    composite,
    parts_of,
    progress_part,
    pulse_thirds,
    soundness_part,
    tangents_part,
)
from tests.kinds.playtest.script import BEATS, PROSE, Script, label
from tests.kinds.playtest.test_playtest_session import play

part = st.floats(0, 1)
weight = st.floats(0.01, 10)
weights = st.builds(Weights, progress=weight, tangents=weight, quality=weight, failures=weight)
parts = st.builds(CompositeParts, part, st.none() | part, st.none() | part, part)


@given(parts, weights)
def test_the_composite_is_between_0_and_100(values: CompositeParts, chosen: Weights) -> None:
    score = composite(values, chosen)
    assert score is not None
    assert 0.0 <= score <= 100.0


@given(parts, weights, st.sampled_from(CompositeParts._fields), part)
def test_the_composite_never_falls_when_a_part_rises(
    values: CompositeParts, chosen: Weights, name: str, more: float
) -> None:
    before = getattr(values, name)
    if before is None:
        return
    risen = values._replace(**{name: max(before, more)})
    low, high = composite(values, chosen), composite(risen, chosen)
    assert low is not None
    assert high is not None
    assert high >= low - 1e-9


@given(part, weights)
def test_missing_parts_leave_their_weight_to_the_others(value: float, chosen: Weights) -> None:
    assert composite(CompositeParts(value, None, None, value), chosen) == pytest.approx(100 * value)
    assert composite(CompositeParts(value, value, value, value), chosen) == pytest.approx(
        100 * value
    )


@given(part, part, part | st.none(), weights)
def test_a_judge_that_could_not_be_read_leaves_no_score_where_quality_counts(
    progress: float, sound: float, tangents: float | None, chosen: Weights
) -> None:
    lost = CompositeParts(progress, tangents, None, sound)
    assert composite(lost, chosen, judged=True) is None
    unweighed = chosen.model_copy(update={"quality": 0.0})
    assert composite(lost, unweighed, judged=True) == composite(lost, unweighed)
    read = lost._replace(quality=sound)
    assert composite(read, chosen, judged=True) == composite(read, chosen)


def test_weights_of_zero_take_a_part_out_and_nothing_left_is_no_score() -> None:
    only_quality = Weights(progress=0, tangents=0, failures=0)
    assert composite(CompositeParts(0.1, 0.2, 0.9, 0.3), only_quality) == pytest.approx(90.0)
    assert composite(CompositeParts(0.1, 0.2, None, 0.3), only_quality) is None


@given(part, part, st.floats(1, 60), st.floats(1, 60), st.booleans())
def test_progress_rewards_pulses_pace_and_an_ending(
    done: float, more: float, slow: float, slower: float, concluded: bool
) -> None:
    low, high = sorted((done, more))
    fast, slow = sorted((slow, slower))
    assert progress_part(low, slow, False) <= progress_part(high, fast, concluded)
    assert 0.0 <= progress_part(done, slow, concluded) <= 1.0


@given(part, part, st.floats(1, 50), st.floats(1, 50), st.floats(1, 5), st.floats(1, 5))
def test_tangents_reward_recovery_speed_and_good_returns(
    one: float, two: float, length: float, longer: float, worse: float, better: float
) -> None:
    low, high = sorted((one, two))
    short, long = sorted((length, longer))
    bad, good = sorted((worse, better))
    assert tangents_part(low, long, bad) <= tangents_part(high, short, good) + 1e-12
    assert tangents_part(low, long, None) <= tangents_part(high, short, None) + 1e-12
    assert 0.0 <= tangents_part(one, length, worse) <= 1.0


@given(
    st.dictionaries(st.sampled_from(ISSUE_TYPES), st.integers(0, 50)), st.sampled_from(ISSUE_TYPES)
)
def test_every_further_issue_costs_something(counts: dict[str, int], kind: str) -> None:
    worse = {**counts, kind: counts.get(kind, 0) + 1}
    assert 0.0 <= soundness_part(worse) < soundness_part(counts) <= 1.0


@given(st.dictionaries(st.sampled_from(QUALITIES), st.floats(1, 5)))
def test_quality_is_the_mean_of_all_qualities_moved_to_the_unit_interval(
    scores: dict[str, float],
) -> None:
    value = rubric_of().composed(scores)
    if len(scores) < len(QUALITIES):
        assert value is None
    else:
        assert value == pytest.approx((sum(scores.values()) / len(scores) - 1) / 4)


def test_a_session_without_a_single_issue_is_wholly_sound_and_with_issues_less() -> None:
    sound = play(Script(), max_turns=3)
    assert [event for event in sound.events if event.kind in ISSUE_TYPES] == []
    assert sound.values["part_soundness"] == 1.0
    labels = dict.fromkeys(range(1, 9), label("clarification"))
    stuck = play(Script(labels=labels), max_turns=8).values
    assert stuck["stuck_moments"] == 1.0
    assert stuck["part_soundness"] == pytest.approx(math.exp(-BURDEN["stuck"] / 5))
    assert "part_failures" not in KIND.score_names


def test_every_kind_of_issue_has_a_weight_and_a_column() -> None:
    assert set(BURDEN) == set(COUNT_NAMES) == set(ISSUE_TYPES)


def test_scores_are_spread_out_rather_than_tied() -> None:
    base = PlaytestState(seats=(), spokesperson=0, relay_prompt=0, story_at=0)
    seen = {
        composite(
            parts_of(
                base.model_copy(
                    update={
                        "turns": turns,
                        "pulses": pulses,
                        "tangents": TangentBook(count=2, turns=length, natural=2),
                    }
                ),
                20,
                quality,
            ),
            Weights(),
        )
        for turns in range(20, 40)
        for pulses in (17, 18, 19)
        for length in (2, 3, 5)
        for quality in (0.5, 0.625)
    }
    assert len(seen) > 0.98 * 20 * 3 * 3 * 2


def test_metrics_are_counted_as_the_names_say() -> None:
    labels = {2: label("clarification"), 3: label("recap"), 6: label("clarification")}
    told = [BEATS[0], PROSE[1], PROSE[2], BEATS[1], BEATS[2], PROSE[3], *BEATS[3:7]]
    played = play(Script(narrator=told, labels=labels), max_turns=9)
    values = played.values
    assert values["pulses_detected"] == 6.0
    assert values["pulses_expected"] == 20.0
    assert values["pulse_completion"] == pytest.approx(0.3)
    assert values["turns_per_pulse"] == pytest.approx(1.5)
    assert values["pulse_longest_gap"] == 3.0
    assert values["concluded"] == 0.0
    assert values["tangent_count"] == 0.0
    assert values["tangent_avg_length"] is None
    assert values["part_tangents"] is None
    thirds = [values[f"pulses_{third}"] for third in ("opening", "middle", "closing")]
    assert thirds == pytest.approx([1 / 6, 2 / 6, 3 / 6])
    assert [event.value for event in played.of_kind("pulse")] == [1, 2, 3, 4, 5, 6]


def test_the_kind_names_beforehand_what_its_sessions_are_scored_on() -> None:
    """Runs are refused for a metric that it does not name."""
    played = play(Script(), max_turns=2, survey=["fun", "play_again"])
    assert set(played.values) == KIND.score_names
    assert KIND.lower_is_better < KIND.score_names
    assert set(COUNT_NAMES.values()) < KIND.lower_is_better


def test_a_session_without_pulses_scores_low_but_scores() -> None:
    labels = dict.fromkeys(range(1, 9), label("clarification"))
    verdict = json.dumps(dict.fromkeys(QUALITIES, 4))
    played = play(Script(labels=labels, verdicts=[verdict]), max_turns=8)
    assert played.values["turns_per_pulse"] is None
    assert played.values["stuck_moments"] == 1.0
    score = played.values["score"]
    assert score is not None
    assert 0 < score < 50


def test_quality_scores_carry_judge_rubric_and_reason() -> None:
    played = play(Script(), max_turns=2)
    score = next(score for score in played.scores if score.name == "quality_fun_factor")
    assert (score.value, score.reason, score.judge_model) == (3.0, "fine", "sim/gpt-4o-mini")
    assert len(score.rubric_hash) == 16
    primary = next(score for score in played.scores if score.name == "score")
    assert primary.turn is None


@given(st.lists(st.integers(1, 30), min_size=1, max_size=20, unique=True))
def test_thirds_are_shares(turns: list[int]) -> None:
    state = PlaytestState(
        seats=(), spokesperson=0, relay_prompt=0, story_at=0, turns=30, pulse_turns=tuple(turns)
    )
    shares = pulse_thirds(state)
    assert shares is not None
    assert math.isclose(sum(shares), 1.0)


def test_the_score_says_by_what_its_parts_were_weighed() -> None:
    chosen = {"progress": 2, "tangents": 1.5, "quality": 1, "failures": 0.25}
    verdict = json.dumps({**dict.fromkeys(QUALITIES, 4), "reason": "fine"})
    played = play(Script(verdicts=[verdict]), max_turns=3, weights=chosen)
    (score,) = [one for one in played.scores if one.name == "score"]
    assert score.reason == "weights: progress 2, quality 1, soundness 0.25", "there was no tangent"
    values = played.values
    parts = {"progress": 2.0, "quality": 1.0, "soundness": 0.25}
    whole = sum(by * (values[f"part_{name}"] or 0.0) for name, by in parts.items())
    assert score.value == pytest.approx(100 * whole / sum(parts.values()))
