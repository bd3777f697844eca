"""Checking what is given to a statistic, before anything is computed from it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def finite_sample(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """One sample as an array, shape [n]; ``ValueError`` unless it is one row of finite numbers."""
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1:
        raise ValueError(f"a sample is one-dimensional; got shape {sample.shape}")
    if not np.isfinite(sample).all():
        raise ValueError("a sample holds finite values only; decide what a missing one means first")
    return sample


def finite_table(values: npt.ArrayLike, shape: str) -> npt.NDArray[np.float64]:
    """A finite two-dimensional array, as rows of rounds; ``shape`` names it in the message."""
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"expected an array of shape {shape}; got shape {table.shape}")
    if not np.isfinite(table).all():
        raise ValueError(f"an array of shape {shape} holds finite values only; leave out the rest")
    return table


def refuse(problems: Sequence[str]) -> None:
    """Raise one ``ValueError`` that names every problem, if there is any."""
    if problems:
        raise ValueError("; ".join(problems))
