"""Laws of the draw: one group per round, the same for every variant."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.kinds.playtest.kind import KIND
from matrix.kinds.playtest.setup.group import draw_group, passing_mood
from matrix.kinds.playtest.setup.options import PlaytestOptions
from matrix.kinds.playtest.setup.vocabulary import MOODS
from tests.kinds.fakes import make_prelude
from tests.kinds.playtest.script import Script, binding, plan

POOL = ("joker", "engaged", "drifter", "curious")
NAMES = ("Agnes", "Bruno", "Cyril", "Delphine", "Emil", "Farida", "Gwen", "Hector")


@given(st.integers(0, 2**60), st.integers(2, 8), st.integers(0, 6))
def test_a_group_has_a_size_within_bounds_and_members_from_the_pool(
    seed: int, low: int, more: int
) -> None:
    options = PlaytestOptions(group_size_min=low, group_size_max=min(8, low + more))
    group = draw_group(seed, options, POOL, NAMES)
    assert low <= len(group.players) <= min(8, low + more)
    assert 0 <= group.spokesperson < len(group.players)
    assert {player.archetype for player in group.players} <= set(POOL)
    assert {player.mood for player in group.players} <= set(MOODS)


@given(st.integers(0, 2**60))
def test_the_draw_depends_on_the_seed_and_the_group_options_only(seed: int) -> None:
    plain = draw_group(seed, PlaytestOptions(), POOL, NAMES)
    other = PlaytestOptions(
        prompt="pulse-aware", stuck_after=9, with_judge=False, recent_messages=1
    )
    assert draw_group(seed, other, POOL[::-1], NAMES) == plain


def test_archetypes_repeat_and_every_size_and_archetype_comes_up() -> None:
    groups = [draw_group(seed, PlaytestOptions(), POOL, NAMES) for seed in range(400)]
    sizes = Counter(len(group.players) for group in groups)
    assert set(sizes) == {2, 3, 4, 5}
    assert min(sizes.values()) > 60
    assert any(
        len({player.archetype for player in group.players}) < len(group.players) for group in groups
    )
    assert {player.archetype for group in groups for player in group.players} == set(POOL)
    assert {group.spokesperson for group in groups} >= {0, 1, 2, 3}


def test_a_larger_group_keeps_the_players_of_a_smaller_one() -> None:
    for seed in range(50):
        small = draw_group(seed, PlaytestOptions(group_size_min=2, group_size_max=2), POOL, ())
        large = draw_group(seed, PlaytestOptions(group_size_min=5, group_size_max=5), POOL, ())
        assert large.players[:2] == small.players


def test_a_fixed_group_is_taken_as_it_is() -> None:
    group = draw_group(3, PlaytestOptions(group=("joker", "joker", "drifter")), POOL, NAMES)
    assert [player.archetype for player in group.players] == ["joker", "joker", "drifter"]


@given(st.integers(0, 2**60), st.sampled_from(POOL))
def test_a_pinned_spokesperson_moves_nothing_else_of_the_draw(seed: int, pinned: str) -> None:
    drawn = draw_group(seed, PlaytestOptions(), POOL, NAMES)
    group = draw_group(seed, PlaytestOptions(spokesperson_archetype=pinned), POOL, NAMES)
    assert group.players[group.spokesperson].archetype == pinned
    before = [player.archetype for player in drawn.players]
    if pinned in before:
        assert group.players == drawn.players
    else:
        assert group.spokesperson == drawn.spokesperson
        moved = drawn.players[drawn.spokesperson]._replace(archetype=pinned)
        assert group.players[group.spokesperson] == moved
        others = [seat for seat in range(len(before)) if seat != drawn.spokesperson]
        assert [group.players[seat] for seat in others] == [drawn.players[seat] for seat in others]
    if before[drawn.spokesperson] == pinned:
        assert group == drawn


def test_every_player_of_a_pinned_archetype_may_speak() -> None:
    options = PlaytestOptions(group=("joker", "drifter", "joker"), spokesperson_archetype="joker")
    seats = {draw_group(seed, options, POOL, NAMES).spokesperson for seed in range(60)}
    assert seats == {0, 2}


def test_names_are_dealt_so_that_no_two_players_are_offered_the_same() -> None:
    group = draw_group(3, PlaytestOptions(group=("joker", "joker", "drifter")), POOL, NAMES)
    dealt = [name for player in group.players for name in player.names]
    assert sorted(dealt) == sorted(NAMES)


@pytest.mark.parametrize("prompt", ["baseline", "pulse-aware", "structured", "tangent-focused"])
def test_every_variant_of_a_round_meets_the_same_group(prompt: str) -> None:
    expected = make_prelude(KIND, plan(), binding().resources, Script())
    bound = binding(options=f'{{"prompt": "{prompt}"}}')
    variant = plan(options={"prompt": prompt}, levels={"prompt": prompt})
    assert make_prelude(KIND, variant, bound.resources, Script()) == expected


def test_a_mood_passes_as_often_as_it_is_said_to() -> None:
    drawn = [passing_mood(random.Random(seed), 0.25) for seed in range(4000)]
    assert sum(map(bool, drawn)) / len(drawn) == pytest.approx(0.25, abs=0.025)
    assert {mood for mood in drawn if mood} == set(MOODS)
    assert not any(passing_mood(random.Random(seed), 0.0) for seed in range(100))
    always = [passing_mood(random.Random(seed), 1.0) for seed in range(4000)]
    assert all(now == then for now, then in zip(drawn, always, strict=True) if now)
