"""How many rounds an effect takes, and what a number of rounds, or a budget for them, can show.

All sizes are in units of the score. ``sd`` is the standard deviation of the difference of two
variants from round to round (`sd_of_difference` makes it from what is known of each). Power is the
chance that the better variant is shown to beat every other one, each by the same effect: what
naming it the winner takes, besides the failure gate.

Numbers start from the normal distribution and are refined with the noncentral t.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, inf, isfinite, log2, pi, sqrt
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.samples import refuse
from matrix.stats.estimates.student import (
    noncentral_t_cdf,
    normal_cdf,
    normal_quantile,
    t_quantile,
)
from matrix.stats.looks.boundary import Boundary
from matrix.stats.rounds.rules import MIN_ROUNDS, Engine

ENGINE_FACTORS = MappingProxyType({"fixed": 1.0, "planned": 1.1, "open-ended": 1.7})
"""How many times the rounds of a fixed plan each engine may need at most, for the same power.
``planned`` is Lan-DeMets spending alpha t^2, ``open-ended`` the t-mixture confidence sequence. On
average both stop earlier. (Five looks with O'Brien-Fleming boundaries would take 1.025.)"""

LESS_PER_DOUBLING = 0.03
"""How much of the factor of ``open-ended`` each doubling of the rivals takes off: beating more of
them takes more rounds, and with them come more looks at which it may be shown. Fitted to
``python -m benchmarks.calibrate promised``."""

SIMULATED_UP_TO = 256
"""Rounds up to which the power of ``open-ended`` is counted: of few rounds no factor holds (.80 by
the factor is .68 at twelve, and with eight variants .61 is .52 at forty)."""

SIMULATED = 8_000
"""Simulated plans for it; the same draws every time. A chance of 80 % is known to .005."""

PRECISION = 1e-9
MOST_PAIRS = 1e12
QUADRATURE = 40
"""Nodes: more change nothing in the first ten digits."""


@dataclass(frozen=True, slots=True)
class PowerGoal:
    """What is asked of a plan.

    Attributes:
        alpha: Error rate of naming a winner, below 0.5; also that of each comparison with a rival.
        power: Wanted chance to show the effect; above ``alpha``, below 1.
        n_variants: Variants compared, k; a winner must beat each of the k - 1 others.
        engine: How the run is looked at.
    """

    alpha: float = 0.05
    power: float = 0.8
    n_variants: int = 2
    engine: Engine = "fixed"

    def __post_init__(self) -> None:
        """Raise ``ValueError`` that names every mistake."""
        problems = []
        if not 0.0 < self.alpha < 0.5:
            problems.append(f"alpha is an error rate below 0.5, such as 0.05; got {self.alpha}")
        elif not self.alpha < self.power < 1.0:
            problems.append(f"power is a chance above alpha and below 1; got {self.power}")
        if self.n_variants < 2:
            problems.append(f"a comparison needs at least two variants; got {self.n_variants}")
        if self.engine not in ENGINE_FACTORS:
            known = ", ".join(ENGINE_FACTORS)
            problems.append(f"unknown engine {self.engine!r}; known are {known}")
        refuse(problems)

    @property
    def factor(self) -> float:
        """Rounds of this engine per round of a fixed plan."""
        factor = ENGINE_FACTORS[self.engine]
        if self.engine != "open-ended":
            return factor
        return max(1.0, factor - LESS_PER_DOUBLING * log2(self.n_variants - 1))


DEFAULT_GOAL = PowerGoal()


def sd_of_difference(sd_a: float, sd_b: float, correlation: float) -> float:
    """Standard deviation of b minus a in one round, from each one's own and their correlation.

    Args:
        sd_a: Standard deviation of the first variant's rounds, not negative.
        sd_b: That of the second.
        correlation: From -1 to 1; 0 for variants that share nothing in a round.
    """
    problems = _negative(sd_a=sd_a, sd_b=sd_b)
    if not -1.0 <= correlation <= 1.0:
        problems.append(f"a correlation lies between -1 and 1; got {correlation}")
    refuse(problems)
    return sqrt(max(0.0, sd_a**2 + sd_b**2 - 2 * correlation * sd_a * sd_b))


def pairs_by_normal(effect: float, sd: float, goal: PowerGoal = DEFAULT_GOAL) -> float:
    """Pairs for one look by the normal distribution, unrounded; too few where they are few.

    ``(z(1 - level/2) + z(power))^2 sd^2 / effect^2``.
    """
    _check_effect(effect, sd)
    return ((normal_quantile(goal.power) - normal_quantile(goal.alpha / 2)) * sd / effect) ** 2


def pairs_needed(effect: float, sd: float, goal: PowerGoal = DEFAULT_GOAL) -> float:
    """Pairs for one look by the noncentral t, unrounded and at least 2; see `rounds_needed`."""
    return _refined(pairs_by_normal(effect, sd, goal), effect, sd, goal)


def rounds_needed(effect: float, sd: float, goal: PowerGoal = DEFAULT_GOAL) -> int:
    """Most rounds that the goal's engine needs; never below the ten that any verdict needs.

    Args:
        effect: True difference to be shown, in units of the score; its sign does not matter.
        sd: Standard deviation of the difference from round to round.
        goal: Error rate, power, variants and engine.

    Raises:
        ValueError: If the effect is 0 or ``sd`` is not positive.
    """
    found = max(MIN_ROUNDS, ceil(goal.factor * pairs_needed(effect, sd, goal)))
    while found <= SIMULATED_UP_TO and power_of_rounds(found, effect, sd, goal) < goal.power:
        found += 1
    return found


def power_of_rounds(n: int, effect: float, sd: float, goal: PowerGoal = DEFAULT_GOAL) -> float:
    """Chance that ``n`` rounds show ``effect``; 0 below the ten rounds that any verdict needs.

    For an engine that looks after every round, as if its plan were that many times smaller; of few
    rounds of ``open-ended`` by simulation.
    """
    _check_effect(effect, sd)
    if goal.engine == "open-ended" and MIN_ROUNDS <= n <= SIMULATED_UP_TO:
        least = _shown_from(n, goal)
        return float((least <= abs(effect) / sd).mean())
    return _power(n / goal.factor, effect, sd, goal) if n >= MIN_ROUNDS else 0.0


def smallest_effect(n: int, sd: float, goal: PowerGoal = DEFAULT_GOAL) -> float | None:
    """Smallest difference that ``n`` rounds show with the power wanted, in units of the score.

    Returns:
        The difference; ``None`` below ten rounds, which can show nothing.
    """
    _check_effect(1.0, sd)
    if n < MIN_ROUNDS:
        return None
    if goal.engine == "open-ended" and n <= SIMULATED_UP_TO:
        least = np.sort(_shown_from(n, goal))
        return sd * max(0.0, float(least[ceil(goal.power * SIMULATED) - 1]))
    pairs = n / goal.factor
    return sd * _least(lambda d: _power(pairs, d, 1.0, goal) >= goal.power, 1.0, 0.0)


def rounds_for(budget_nano: int, nano_per_round: int) -> int:
    """Whole rounds that a budget in nano-dollars pays for.

    Raises:
        ValueError: If the budget is negative, or rounds cost nothing and so are not limited by it.
    """
    problems = _negative(budget_nano=budget_nano)
    if nano_per_round < 1:
        problems.append(f"a round costs at least 1 nano-dollar; got {nano_per_round}")
    refuse(problems)
    return budget_nano // nano_per_round


def _shown_from(n: int, goal: PowerGoal) -> npt.NDArray[np.float64]:
    """Of each simulated plan, the difference in deviations that is shown by round ``n``."""
    return _simulated(goal.alpha, goal.n_variants - 1)[:, n - MIN_ROUNDS]


@lru_cache(maxsize=8)
def _simulated(alpha: float, rivals: int) -> npt.NDArray[np.float64]:
    """The same by each round from the tenth on, [plans, rounds].

    Differences to all rivals are normal and share the winner's noise; a look shows them all at
    once, or none.
    """
    looks = np.arange(MIN_ROUNDS, SIMULATED_UP_TO + 1)
    radii = Boundary("open-ended", alpha, SIMULATED_UP_TO).radii(looks)
    rng, shape = np.random.default_rng(0), (SIMULATED, SIMULATED_UP_TO)
    counts = np.arange(1, SIMULATED_UP_TO + 1)
    own, needed = rng.normal(size=shape), np.full((SIMULATED, looks.size), -inf)
    for _ in range(rivals):
        drawn = (own - rng.normal(size=shape)) / sqrt(2.0)
        mean = np.cumsum(drawn, axis=1) / counts
        squares = np.cumsum(drawn**2, axis=1) - counts * mean**2
        se = np.sqrt(np.maximum(squares, 0.0) / np.maximum(counts - 1, 1) / counts)
        np.maximum(needed, radii * se[:, looks - 1] - mean[:, looks - 1], out=needed)
    return np.minimum.accumulate(needed, axis=1)


def _power(n: float, effect: float, sd: float, goal: PowerGoal) -> float:
    df = n - 1
    shift = abs(effect) / sd * sqrt(n)
    one = 1.0 - noncentral_t_cdf(-t_quantile(goal.alpha / 2, df), df, shift)
    return one if goal.n_variants == 2 else _of_all(one, goal.n_variants - 1)


def _of_all(one: float, rivals: int) -> float:
    """Chance to beat all of several rivals, each of which is beaten with the chance ``one``.

    Their differences share the winner's noise, so they correlate by one half: with z the normal
    quantile of ``one``, it is the mean of ``Phi(sqrt(2) z + b)^rivals`` over a normal b (Dunnett
    1955, JASA 50:1096), by Gauss and Hermite's quadrature.
    """
    if not 0.0 < one < 1.0:
        return one
    nodes, weights = _gauss_hermite()
    z = sqrt(2.0) * normal_quantile(one)
    chances = [normal_cdf(z + node) ** rivals for node in nodes]
    return float(weights @ chances / sqrt(2.0 * pi))


@lru_cache(maxsize=1)
def _gauss_hermite() -> tuple[list[float], npt.NDArray[np.float64]]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(QUADRATURE)
    return nodes.tolist(), weights


def _refined(start: float, effect: float, sd: float, goal: PowerGoal) -> float:
    def enough(n: float) -> bool:
        return _power(n, effect, sd, goal) >= goal.power

    if start > MOST_PAIRS:
        return start
    return 2.0 if enough(2.0) else _least(enough, max(start, 2.0), 2.0)


def _least(enough: Callable[[float], bool], guess: float, low: float) -> float:
    """Smallest x above ``low`` that is enough, where everything above such an x is, too."""
    high = guess
    while not enough(high):
        low, high = high, high * 2
    while high - low > PRECISION * high:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _check_effect(effect: float, sd: float) -> None:
    problems = []
    if effect == 0 or not isfinite(effect):
        problems.append(f"an effect is a finite difference other than 0; got {effect}")
    if not 0.0 < sd < inf:
        problems.append(f"a standard deviation is finite and above 0; got {sd}")
    refuse(problems)


def _negative(**values: float) -> list[str]:
    return [f"{name} cannot be negative; got {x}" for name, x in values.items() if not x >= 0]
