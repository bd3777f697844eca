"""Where the noise of a comparison comes from, what to buy against it, and how far judges agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
import numpy.typing as npt

from matrix.report.compare.compare import MatchupVerdict
from matrix.report.compare.matchup import Matchup
from matrix.stats import (
    AGREEMENT_WARN_BELOW,
    Noise,
    cohen_kappa,
    krippendorff_alpha,
    noise_shares,
    paired_scores,
)

MOST_JUDGED = 5_000
"""Transcripts that agreement is taken from, at most; more would not move it."""

STEPS = 100
"""Steps of the range of scores that ratings are rounded to for agreement."""

CLEARLY = 0.9
"""Share of the width that an interval has to fall below for a purchase to be worth naming."""

HALF = 0.5

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class NoiseRow:
    """One source of noise; ``share`` is ``None`` where it cannot be told from another."""

    source: str
    share: float | None
    sd: float | None
    includes: tuple[str, ...]
    below_zero: bool


@dataclass(frozen=True, slots=True)
class NoiseReport:
    """Sources of the noise of one session's value, and what to buy.

    Attributes:
        rounds: Rounds with a value of every session, which it is from.
        ratings: Ratings of each transcript that a value is the mean of.
        rows: The sources.
        widths: What is doubled -> the width of the intervals then, as a share of today's:
            ``rounds``, ``scenarios``, ``judge`` for these scenarios; ``new: rounds`` and
            ``new: scenarios`` for claims about scenarios like these.
        advice: What that means, in words.
    """

    rounds: int
    ratings: int
    rows: tuple[NoiseRow, ...]
    widths: dict[str, float]
    advice: str
    strata: str = "scenario"
    lone: bool = False


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far judgings of one transcript agree beyond chance: of one judge, or of a panel.

    Attributes:
        members: The models of a panel; empty where one model judged several times.
        kappa: Cohen's kappa, by squared distances, of two judgings; ``None`` of more.
        alpha: Krippendorff's alpha; ``None`` where it is not defined.
        transcripts: Transcripts with at least two ratings that it is from.
        ratings: Most ratings of one transcript.
        low: Whether it is too low to lean on.
        parts: Where the score is made of more than judges say: of how many of their scores it is,
            each rating being their mean; 0 otherwise.
        least: The score among those that agrees least, with its alpha.
        whole: Alpha of the score itself, which what is counted makes higher than the judge's.
    """

    alpha: float | None
    transcripts: int
    ratings: int
    low: bool
    members: tuple[str, ...] = ()
    kappa: float | None = None
    parts: int = 0
    least: tuple[str, float] | None = None
    whole: float | None = None


_SCENARIO = "scenario"


def noise_of(judged: MatchupVerdict, repeats: Floats) -> NoiseReport | None:
    """Sources of noise; ``None`` with fewer than two whole rounds, in a branch, or unpaired.

    Args:
        judged: The comparison.
        repeats: What each repeat of the judge makes of each session, [sessions, repeats].
    """
    matchup, table = judged.matchup, judged.table
    if "scenario" not in matchup.within or not table.prefix_length or not matchup.paired:
        return None
    live = np.flatnonzero(table.live.all(axis=0))
    ratings = max(1, repeats.shape[1])
    found = noise_shares(paired_scores(table)[:, :, live], repeats, ratings=ratings)
    if found is None or found.total <= 0:
        return None
    rows = tuple(
        NoiseRow(
            source=part.name,
            share=part.share,
            sd=None if part.variance is None else sqrt(part.variance),
            includes=part.includes,
            below_zero=part.below_zero,
        )
        for part in found.sources
    )
    widths = _widths(found)
    names = _strata(matchup)
    advice = _of_units(widths) if matchup.absent is not None else _advice(found, widths)
    return NoiseReport(
        found.n_rounds,
        ratings,
        rows,
        widths,
        advice,
        " x ".join(names) or _SCENARIO,
        lone=not names and matchup.absent is not None,
    )


def _strata(matchup: Matchup) -> list[str]:
    """What sessions of a round differ in beside the variant: scenarios, or else other factors."""
    factors = list(dict.fromkeys(n for tables in matchup.sources for n in tables.run.plan.factors))
    several = [n for n in (_SCENARIO, *factors) if len(set(matchup.within.get(n, ()))) > 1]
    return [_SCENARIO] if _SCENARIO in several else several


def _of_units(widths: dict[str, float]) -> str:
    """What more results would do: nothing here can be judged again, and nothing be repeated."""
    more = widths.get("rounds")
    if more is None:
        return "What narrows the intervals is more units."
    return f"Twice the units would narrow the intervals by {_narrower(more)}."


def _widths(noise: Noise) -> dict[str, float]:
    """Widths of intervals with twice of each thing, over today's."""
    widths: dict[str, float] = {}
    here, there = noise.doubled(), noise.doubled(new_scenarios=True)
    if here is not None and here.now > 0:
        widths |= {"rounds": here.rounds / here.now, "scenarios": here.scenarios / here.now}
        if here.judge is not None:
            widths["judge"] = here.judge / here.now
    if there is not None and there.now > 0:
        widths["new: rounds"] = there.rounds / there.now
        widths["new: scenarios"] = there.scenarios / there.now
    return {name: sqrt(variance) for name, variance in widths.items()}


def _advice(noise: Noise, widths: dict[str, float]) -> str:
    told = []
    if "rounds" in widths:
        told.append(
            "About these scenarios: twice the sessions would narrow the intervals by "
            f"{_narrower(widths['rounds'])}"
            + (
                f", twice the ratings by the judge by {_narrower(widths['judge'])}"
                if "judge" in widths
                else ""
            )
            + "."
        )
    if "new: rounds" in widths:
        told.append(
            "About scenarios like these: twice the rounds would narrow them by "
            f"{_narrower(widths['new: rounds'])}, twice the scenarios by "
            f"{_narrower(widths['new: scenarios'])}."
        )
    return " ".join([*told, _purchase(noise, widths)])


def _purchase(noise: Noise, widths: dict[str, float]) -> str:
    """What to buy first, in one sentence."""
    session, judge = noise.source("session").variance, noise.source("judge").variance
    if judge is None:
        hint = (
            "without repeats (`judge_repeats` of a kind, `repeats` of listed judges) the "
            "judge's own part cannot be told apart"
        )
    elif session is not None and judge / noise.ratings > HALF * (session + judge / noise.ratings):
        return (
            "Most of what can be reduced is the judge's: a better one, or more ratings, would "
            "narrow them most."
        )
    else:
        hint = "the judge is not what limits it"
    new, more = widths.get("new: scenarios"), widths.get("new: rounds")
    if new is not None and more is not None and new < CLEARLY * more:
        return (
            "What narrows them most is sessions for a verdict on these scenarios, and scenarios "
            f"for one on others; {hint}."
        )
    return f"What narrows them most is sessions; {hint}."


def _narrower(width: float) -> str:
    return f"{100 * (1 - width):.0f} %"


def agreement_of(
    repeats: Floats, members: Sequence[str] = (), parts: Mapping[str, Floats] | None = None
) -> Agreement | None:
    """How far judgings agree; ``None`` where no transcript was judged twice.

    Args:
        repeats: What each judging makes of each session, [sessions, judgings].
        members: Who judged, if it was more than one model.
        parts: What each judging gives alone, where ``repeats`` are made of that and of counts.
    """
    whole = _agreement(repeats, members)
    known = {name: values for name, values in (parts or {}).items() if values.size}
    if whole is None or not known:
        return whole
    each = {name: _agreement(values, members) for name, values in known.items()}
    alphas = {name: one.alpha for name, one in each.items() if one and one.alpha is not None}
    worst = min(alphas, key=lambda name: alphas[name], default=None)
    own = _agreement(_mean(list(known.values())), members)
    if own is None:
        return whole
    return replace(
        own,
        parts=len(known),
        least=None if worst is None else (worst, alphas[worst]),
        whole=whole.alpha,
    )


def _mean(parts: Sequence[Floats]) -> Floats:
    """The mean of the parts by session and judging; NaN where one of them is missing."""
    judgings = max(one.shape[1] for one in parts)
    wide = [
        np.pad(one, ((0, 0), (0, judgings - one.shape[1])), constant_values=np.nan) for one in parts
    ]
    return np.asarray(np.mean(wide, axis=0))


def _agreement(repeats: Floats, members: Sequence[str]) -> Agreement | None:
    judged = repeats[(~np.isnan(repeats)).sum(axis=1) >= 2] if repeats.size else repeats
    if not judged.size:
        return None
    # Sorted, so that what is left out does not depend on the order of rows.
    order = np.lexsort(judged.T)
    some = order[np.linspace(0, len(order) - 1, min(len(order), MOST_JUDGED)).astype(int)]
    rated = judged[some]
    step = float(np.nanmax(rated) - np.nanmin(rated)) / STEPS
    if step > 0:  # alpha takes memory with the square of the number of different ratings
        rated = np.round(rated / step) * step
    alpha = krippendorff_alpha(rated.T, "interval")
    low = alpha is not None and alpha < AGREEMENT_WARN_BELOW
    two = rated.shape[1] == 2
    kappa = cohen_kappa(rated[:, 0], rated[:, 1]) if two else None
    panel = tuple(members) if len(members) > 1 else ()
    return Agreement(alpha, len(judged), repeats.shape[1], low, panel, kappa)
