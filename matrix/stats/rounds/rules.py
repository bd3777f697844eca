"""What is declared before launch, and the words a verdict is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

VerdictKind = Literal["not_enough_data", "equivalent", "winner", "no_difference"]

Engine = Literal["fixed", "planned", "open-ended"]
"""When scores may be looked at. ``fixed``: once, at the end of the plan. ``planned``: after every
complete round of a number planned before launch, which must not grow. ``open-ended``: after every
complete round, however many are added later."""

Reason = Literal[
    "too few rounds",
    "plan not over",
    "too few discordant pairs",
    "identical so far",
    "interval wider than margin",
    "failure gate not passed",
    "inside the margin",
    "beats every other variant",
    "interval includes 0",
    "stopped early",
    "ended by censored session",
    "others fail too often",
]
"""Machine codes. The first of a verdict is its main reason."""

Flag = Literal["fragile", "these scenarios only"]
"""``fragile``: the sessions without a score could overturn the claim. ``these scenarios only``: the
verdict is about the scenarios that were run, not about others like them."""

Unit = Literal["round", "session", "unpaired"]
"""What counts as one independent observation of a difference. ``round``: the mean over its
scenarios, whatever sessions of one round share. ``session``: each pair of sessions, pooled within
its scenario; false winners become likelier where sessions of one round go together. ``unpaired``:
nothing says which sessions belong together, so each variant is a sample of its own; for one look
only."""

MIN_ROUNDS = 10
"""Complete rounds below which nothing is claimed: skewed scores need about that many."""

MIN_ROUNDS_OF_SESSIONS = 5
"""The same where sessions are the unit, of which there must be `MIN_SESSIONS` besides."""

MIN_SESSIONS = 20
"""Pairs of sessions below which nothing is claimed where they are the unit."""


def design_effect(size: float, icc: float) -> float:
    """How many values of a cluster are worth one independent value: ``1 + (m - 1) rho``.

    Source: Kish (1965), Survey Sampling, section 5.4; Donner & Klar (2000), Cluster Randomization
    Trials, chapter 5.

    Args:
        size: Values in a cluster, m; on average.
        icc: Intraclass correlation rho, from 0 to 1.
    """
    return 1.0 + (size - 1) * icc


@dataclass(frozen=True, slots=True)
class Rules:
    """What is declared before launch, so that the data cannot choose it.

    Attributes:
        alpha: Error rate: at most this chance of naming a winner among equals.
        delta: Margin within which scores count as practically equivalent, in units of the score;
            ``None`` for no such claim.
        higher_is_better: Direction of the score.
        failure_margin: How much higher, as a fraction, a winner's failure rate may be.
        failure_icc: How far failures of one round go together, as an intraclass correlation from 0
            (independent) to 1 (all or none): the failure gate holds up to it. Without failures the
            data cannot tell it, so it is declared.
        score_bounds: Least and greatest possible score, for bounding missing ones; ``None`` for
            an unbounded score.
        engine: When the scores are looked at, which fixes how wide intervals must be.
        unit: What counts as one observation.
    """

    alpha: float = 0.05
    delta: float | None = None
    higher_is_better: bool = True
    failure_margin: float = 0.05
    failure_icc: float = 0.1
    score_bounds: tuple[float, float] | None = (0.0, 100.0)
    engine: Engine = "fixed"
    unit: Unit = "round"

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for rules that mean nothing."""
        if not 0.0 < self.alpha < 0.5:
            raise ValueError(f"alpha is an error rate below 0.5, such as 0.05; got {self.alpha}")
        if self.delta is not None and not self.delta > 0.0:
            raise ValueError(f"delta is a positive margin in score units; got {self.delta}")
        if not 0.0 < self.failure_margin <= 1.0:
            raise ValueError(f"failure_margin is a fraction above 0; got {self.failure_margin}")
        if not 0.0 <= self.failure_icc <= 1.0:
            raise ValueError(f"failure_icc lies between 0 and 1; got {self.failure_icc}")
        if self.score_bounds is not None and not self.score_bounds[0] < self.score_bounds[1]:
            raise ValueError(f"score_bounds go from least to greatest; got {self.score_bounds}")
        if self.engine not in get_args(Engine):
            known = ", ".join(get_args(Engine))
            raise ValueError(f"engine is one of {known}; got {self.engine!r}")
        if self.unit not in get_args(Unit):
            raise ValueError(f"unit is round, session or unpaired; got {self.unit!r}")
        if self.unit == "unpaired" and self.engine != "fixed":
            raise ValueError("samples that are not paired are looked at once: engine is fixed")

    @property
    def first_look(self) -> int:
        """Complete rounds before which nothing is claimed."""
        return MIN_ROUNDS_OF_SESSIONS if self.unit == "session" else MIN_ROUNDS

    def pairs_per_effective(self, pairs_per_round: int) -> float:
        """How many pairs of a round are worth one to the failure gate."""
        return design_effect(pairs_per_round, self.failure_icc)
