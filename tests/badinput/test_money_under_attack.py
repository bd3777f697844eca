"""The laws of money with many callers at once, an adversary's reports, cancels, kills, restarts."""

from __future__ import annotations

import asyncio
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.badinput.adversary import MOST_TOKENS, Strategy
from tests.badinput.crowd import MODELS, Crowd
from tests.sampling import examples

HOLD = max(entry.tariff.bound(76, MOST_TOKENS) for entry in MODELS.values())
"""The most that one attempt holds."""

CHANCES = st.sampled_from([0.0, 0.05, 0.4])
STRATEGIES = st.builds(
    Strategy,
    lie=CHANCES,
    excess=st.sampled_from([0.0, 0.0, 0.02]),
    error=CHANCES,
    cancel=CHANCES,
    kill=st.sampled_from([0.0, 0.02, 0.1]),
    restart=st.sampled_from([0.0, 0.0, 0.02]),
)


@settings(max_examples=examples(150))
@given(
    seed=st.integers(0, 2**32),
    strategy=STRATEGIES,
    holds=st.sampled_from([0, 1, 2, 7, 1_000]),
    sessions=st.integers(1, 6),
    width=st.integers(1, 8),
)
def test_whatever_happens_the_cap_is_kept_and_every_call_has_one_end(
    seed: int, strategy: Strategy, holds: int, sessions: int, width: int
) -> None:
    async def play() -> Crowd:
        crowd = Crowd(
            random.Random(seed), strategy, cap=holds * HOLD, sessions=sessions, width=width
        )
        await crowd.play()
        return crowd

    asyncio.run(play()).check_end()


def test_with_money_for_two_attempts_at_once_a_crowd_of_sixty_is_served_in_turn() -> None:
    """A fan-out waits for holds to settle; it is not refused."""

    async def play() -> Crowd:
        crowd = Crowd(random.Random(1), Strategy(), cap=30 * HOLD, sessions=6, width=10)
        await crowd.play()
        return crowd

    crowd = asyncio.run(play())
    crowd.check_end()
    assert sum(crowd.told.values()) == 60
    assert not crowd.stopped
