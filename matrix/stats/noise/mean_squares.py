"""Mean squares of a balanced layout of rounds, scenarios and variants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.means import ROUNDING


@dataclass(frozen=True, slots=True)
class MeanSquare:
    """A sum of squares over its degrees of freedom.

    Attributes:
        value: In squared units of the score.
        df: Degrees of freedom, at least 1.
    """

    value: float
    df: int


@dataclass(frozen=True, slots=True)
class MeanSquares:
    """Mean squares; each is ``None`` where the layout leaves it no degrees of freedom.

    Attributes:
        scenario: Between scenarios.
        scenario_variant: Of scenarios favouring variants.
        round: Between rounds.
        round_scenario: Of cells (round x scenario) beyond their round and scenario.
        residual: Of sessions beyond their cell and their scenario's variant.
    """

    scenario: MeanSquare | None
    scenario_variant: MeanSquare | None
    round: MeanSquare
    round_scenario: MeanSquare | None
    residual: MeanSquare | None


def mean_squares(scores: npt.NDArray[np.float64]) -> MeanSquares:
    """Analysis of variance of complete scores, shape [R, S, k], with R at least 2.

    A round that favours a variant is not a part of the model: it counts as residual.
    """
    n, s, k = scores.shape
    # Squares below the rounding of the scores themselves are none.
    least = (ROUNDING * float(np.abs(scores).max(initial=0.0))) ** 2
    centred = scores - scores.mean()
    by_scenario, by_round = centred.mean(axis=(0, 2)), centred.mean(axis=(1, 2))
    by_variant = centred.mean(axis=(0, 1))
    cells, tilts = centred.mean(axis=2), centred.mean(axis=0)
    beyond_cell = cells - by_round[:, None] - by_scenario[None]
    beyond_tilt = tilts - by_scenario[:, None] - by_variant[None]
    rest = centred - cells[:, :, None] - tilts[None] + by_scenario[None, :, None]

    def mean_square(parts: npt.NDArray[np.float64], times: int, df: int) -> MeanSquare | None:
        if df == 0:
            return None
        value = times * float((parts**2).sum()) / df
        return MeanSquare(value if value > times * least else 0.0, df)

    between_rounds = mean_square(by_round, s * k, n - 1)
    if between_rounds is None:
        raise ValueError(f"noise takes at least 2 complete rounds; got {n}")
    return MeanSquares(
        scenario=mean_square(by_scenario, n * k, s - 1),
        scenario_variant=mean_square(beyond_tilt, n, (s - 1) * (k - 1)),
        round=between_rounds,
        round_scenario=mean_square(beyond_cell, k, (n - 1) * (s - 1)),
        residual=mean_square(rest, 1, (n - 1) * (k - 1) * s),
    )
