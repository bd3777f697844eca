"""Repeats of a judge on one transcript: their names among scores, their mean, their spread.

What differs between repeats is the judge alone, because the transcript is the same. That is what
tells a judge that wavers from sessions that differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isnan
from typing import Final, NamedTuple

MAX_REPEATS: Final = 20
"""How often one transcript can be judged."""

SESSION_SCORE: Final = "score"


REPEAT: Final = "judge."
"""What names of single repeats begin with."""


def repeat_name(number: int, metric: str = SESSION_SCORE) -> str:
    """Name among ``scores`` of what repeat ``number`` (from 1) alone makes of ``metric``.

    ``judge.3`` is the session's score if there were only the third repeat,
    ``judge.3.quality_pacing`` what that repeat gave for pacing.
    """
    return f"{REPEAT}{number}" + ("" if metric == SESSION_SCORE else f".{metric}")


def mean_of(values: Iterable[float | None]) -> float | None:
    """The mean of the values that are there; ``None`` if none is."""
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None


class Spread(NamedTuple):
    """How far repeats on one transcript lie apart, pooled over transcripts.

    Attributes:
        variance: Of one repeat around its transcript's mean, in squared points of the score, from
            sums of squares over ``df``; ``None`` without two repeats of any transcript.
        df: Degrees of freedom: readable repeats less one for each transcript.
        transcripts: Transcripts with at least two readable repeats, which are the ones it is from.
    """

    variance: float | None
    df: int
    transcripts: int


def spread(repeats: Iterable[Sequence[float | None]]) -> Spread:
    """Pool the variance between repeats: a row per transcript; NaN or ``None`` is missing."""
    squares, df, transcripts = 0.0, 0, 0
    for row in repeats:
        there = [value for value in row if value is not None and not isnan(value)]
        if len(there) < 2:
            continue
        mean = sum(there) / len(there)
        squares += sum((value - mean) ** 2 for value in there)
        df += len(there) - 1
        transcripts += 1
    return Spread(squares / df if df else None, df, transcripts)
