"""The chance to pass the failure gate where variants fail unlike each other: by own simulation."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from matrix.stats.estimates.proportions import newcombe_paired
from matrix.stats.planning.gate_chance import FailureGate

DRAWS = 2000


def simulated(margin: float, mine: float, rivals: tuple[float, ...], n: int) -> float:
    """Share of draws in which Newcombe's upper end lies below the margin against every rival."""
    draws, passed = np.random.default_rng(7), 0
    for _ in range(DRAWS):
        own = draws.random(n) < mine
        kept = True
        for rate in rivals:
            other = draws.random(n) < rate
            both, only_own = int((own & other).sum()), int((own & ~other).sum())
            only_other = int((~own & other).sum())
            rest = n - both - only_own - only_other
            bounds = newcombe_paired(both, only_own, only_other, rest, 0.1)
            kept &= bounds is not None and bounds.high < margin
        passed += kept
    return passed / DRAWS


@pytest.mark.parametrize(
    ("mine", "rivals", "n"),
    [
        (0.0, (0.1,), 60),
        (0.05, (0.0,), 300),
        (0.02, (0.02, 0.3), 120),
        (0.01, (0.05, 0.0), 200),
    ],
)
def test_a_chance_is_that_of_the_gates_rule(mine: float, rivals: tuple[float, ...], n: int) -> None:
    gate = FailureGate(0.05, mine, 1, rivals=len(rivals), of_rivals=rivals)
    found, own = gate.chance(n), simulated(0.05, mine, rivals, n)
    assert found == pytest.approx(own, abs=4 * sqrt(0.5 / DRAWS))


def test_rivals_that_fail_alike_are_as_without_their_own_rates() -> None:
    for sequential in (False, True):
        alike = FailureGate(0.05, 0.02, 2, rivals=3, sequential=sequential)
        told = FailureGate(0.05, 0.02, 2, rivals=3, sequential=sequential, of_rivals=(0.02,) * 3)
        assert told.chance(60) == pytest.approx(alike.chance(60), abs=0.05)


@pytest.mark.slow
def test_a_rival_that_fails_more_makes_the_gate_no_harder() -> None:
    for sequential in (False, True):
        gates = [
            FailureGate(0.05, 0.02, 1, sequential=sequential, of_rivals=(rate,))
            for rate in (0.0, 0.02, 0.1, 0.5)
        ]
        chances = [gate.chance(150) for gate in gates]
        assert chances == sorted(chances)
        assert chances[-1] > 0.99


def test_each_rival_has_a_rate() -> None:
    with pytest.raises(ValueError, match="each of 2 rivals has a rate"):
        FailureGate(0.05, 0.02, 1, rivals=2, of_rivals=(0.1,))
    with pytest.raises(ValueError, match="lie between 0 and 1"):
        FailureGate(0.05, 0.02, 1, of_rivals=(1.1,))
