"""Rounds made comparable where scores are missing: every scenario weighs the same in all of them.

A round that lost its hard scenario has a mean of the easy ones. Compared as it is, it says more
about which sessions were lost than about the variants. So each round is given the value that it
adds to the mean over scenarios: with e = score - its scenario's mean, N_s scores of scenario s, n
rounds and S scenarios,

    v_r = mean over s of (scenario s's mean) + sum over its scores of e sqrt(n (n - 1)) /
          (S sqrt(N_s (N_s - 1)))

Their mean is the mean over scenarios, and their standard error that of CR2 (Bell & McCaffrey 2002,
Survey Methodology 28:169; see `matrix.stats.rounds.own_mean`). With no score missing they are the
means of the rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

LARGEST: Final = 2_000_000
"""Figures that are worked on at once: rounds times scenarios times scenarios."""


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


@dataclass(frozen=True, slots=True, eq=False)
class BalancedMeans:
    """The mean over scenarios after each of P rounds; all arrays of shape [P].

    Attributes:
        rounds: Rounds that count.
        pairs: Values that count.
        mean: 0 without any.
        se: Standard error; NaN where a scenario that counts has one value only.
        df: Degrees of freedom of that, for values that are independent and equally noisy: at most
            one less than the rounds; 0 where ``se`` is not known. See
            `matrix.stats.rounds.own_mean`.
    """

    rounds: npt.NDArray[np.int64]
    pairs: npt.NDArray[np.int64]
    mean: FloatArray
    se: FloatArray
    df: FloatArray


def balance(values: FloatArray) -> BalancedMeans:
    """Mean over scenarios, its standard error and degrees of freedom after each round.

    Args:
        values: Shape [P, S]; NaN where there is none.
    """
    known = ~np.isnan(values)
    counts = np.cumsum(known, axis=0)
    most = np.maximum(counts.max(axis=1, initial=0), 1)
    used = np.asarray(counts >= np.minimum(2, most)[:, None])
    first = np.where(known.any(axis=0), values[known.argmax(axis=0), np.arange(known.shape[1])], 0)
    shifted = np.where(known, values - first, 0.0)  # sums of large numbers lose digits
    apart = np.cumsum(shifted, axis=0) / np.maximum(counts, 1)
    scenarios = np.maximum(used.sum(axis=1), 1)
    weights = np.where(used, 1.0 / np.maximum(counts * (counts - 1.0), 1.0), 0.0)
    weights /= np.square(scenarios)[:, None]
    squares, freedom = _errors(shifted, known, apart, counts, weights)
    rounds = _rounds(known, used)
    usable = (counts >= 2).any(axis=1)
    return BalancedMeans(
        rounds=rounds,
        pairs=np.asarray(np.where(used, counts, 0).sum(axis=1), np.int64),
        mean=np.asarray(np.where(used, first + apart, 0.0).sum(axis=1) / scenarios),
        se=np.asarray(np.where(usable, np.sqrt(squares), np.nan)),
        df=np.asarray(np.where(usable, np.minimum(freedom, rounds - 1.0), 0.0)),
    )


def _errors(
    values: FloatArray,
    known: BoolArray,
    means: FloatArray,
    counts: npt.NDArray[np.int64],
    weights: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Squared standard errors and degrees of freedom, from sums over pairs of scenarios."""
    rows, scenarios = values.shape
    squares, freedom = np.zeros((2, rows))
    step = max(1, LARGEST // max(1, scenarios * scenarios))
    both, only, common = np.zeros((3, scenarios, scenarios))
    for start in range(0, rows, step):
        part = slice(start, start + step)
        own, there = values[part], known[part].astype(np.float64)
        products = both + np.cumsum(np.einsum("ps,pt->pst", own, own), axis=0)
        sums = only + np.cumsum(np.einsum("ps,pt->pst", own, there), axis=0)
        shared = common + np.cumsum(np.einsum("ps,pt->pst", there, there), axis=0)
        both, only, common = products[-1], sums[-1], shared[-1]
        m, w = means[part], weights[part]
        cross = sums * m[:, None, :]
        apart = products - cross - cross.transpose(0, 2, 1)
        apart += m[:, :, None] * m[:, None, :] * shared
        root = np.sqrt(w)
        squares[part] = np.maximum(_form(root, apart), 0.0)
        freedom[part] = degrees_of_freedom(w, counts[part], shared)
    return squares, freedom


def degrees_of_freedom(
    weights: FloatArray, counts: npt.NDArray[np.int64], common: FloatArray
) -> FloatArray:
    """Degrees of freedom of the squared standard error of a mean over scenarios, as the t's.

    They are tr(B)^2 / tr(B^2) for B, the matrix of the squared standard error as a form in the
    scores: the sum over scenarios of w_s P_s, where P_s centres the scores of s, and
    tr(P_s P_t) = K_st (1 - 1/N_s - 1/N_t) + K_st^2 / (N_s N_t). Source: Bell & McCaffrey (2002).

    Args:
        weights: w_s = 1 / (S^2 N_s (N_s - 1)), 0 of a scenario that does not count, shape [..., S].
        counts: N_s, scores of each scenario, shape [..., S].
        common: K_st, rounds with a score in both s and t, shape [..., S, S].

    Returns:
        Shape [...]; 0 where no scenario counts.
    """
    inverse = 1.0 / np.maximum(counts, 1)
    one, other = inverse[..., :, None], inverse[..., None, :]
    overlap = common * (1.0 - one - other) + common**2 * (one * other)
    spread = _form(weights, overlap)
    trace = (weights * np.maximum(counts - 1.0, 0.0)).sum(axis=-1)
    found = np.where(spread > 0.0, trace**2 / np.where(spread > 0.0, spread, 1.0), 0.0)
    return np.asarray(found, dtype=np.float64)


def _form(weights: FloatArray, matrix: FloatArray) -> FloatArray:
    """The form w'Mw of each row, to the last digit the same whatever rows follow."""
    return np.asarray((weights[..., :, None] * matrix * weights[..., None, :]).sum(axis=(-1, -2)))


def _rounds(known: BoolArray, used: BoolArray) -> npt.NDArray[np.int64]:
    """Rounds so far with a value of a scenario that counts by then, [P]."""
    found = np.zeros(len(known), np.int64)
    for pattern in np.unique(used, axis=0):
        rows = (used == pattern).all(axis=1)
        found[rows] = np.cumsum((known & pattern).any(axis=1))[rows]
    return found
