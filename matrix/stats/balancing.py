"""Rounds made comparable where scores are missing: every scenario weighs the same in all of them.

A round that lost its hard scenario has a mean of the easy ones. Compared as it is, it says more
about which sessions were lost than about the variants. So each round is given the value that it
adds to the mean over scenarios: with e = score - its scenario's mean, N_s scores of scenario s, n
rounds and S scenarios,

    v_r = mean over s of (scenario s's mean) + sum over its scores of e sqrt(n (n - 1)) /
          (S sqrt(N_s (N_s - 1)))

Their mean is the mean over scenarios, and their standard error that of CR2 (Bell & McCaffrey 2002,
Survey Methodology 28:169; see `matrix.stats.own_mean`). With no score missing they are the means of
the rounds.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]


def weighing(known: BoolArray) -> BoolArray:
    """Scenarios that count, [S]: those with two known scores or, while none has, with one."""
    counts = known.sum(axis=0)
    return np.asarray(counts >= min(2, max(1, int(counts.max(initial=0)))), np.bool_)


def balanced(values: FloatArray, known: BoolArray) -> FloatArray:
    """What each round adds to the mean over scenarios.

    Args:
        values: Scores, one or several columns that are known together, shape [P, S, c].
        known: Where they are, shape [P, S].

    Returns:
        Shape [P, c]; NaN in rounds without any score.
    """
    used = weighing(known)
    here: BoolArray = np.logical_and(known, used)
    there = np.asarray(here.any(axis=1))
    n, counts = int(there.sum()), here.sum(axis=0)
    if not n:
        return np.full((values.shape[0], values.shape[2]), np.nan)
    kept = np.where(here[:, :, None], values, 0.0)
    scenarios, least = int(used.sum()), np.maximum(counts, 1)
    means = kept.sum(axis=0) / least[:, None]
    apart = np.where(here[:, :, None], values - means, 0.0)
    weights = np.sqrt(n * (n - 1.0) / np.maximum(counts * (counts - 1.0), 1.0)) / scenarios
    found = means[used].mean(axis=0) + np.einsum("psc,s->pc", apart, weights)
    return np.asarray(np.where(there[:, None], found, np.nan))
