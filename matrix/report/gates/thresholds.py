"""Is every variant of a run good enough by itself? Thresholds for rates and means.

A score that is yes or no (0 or 1, or 0 or 100, in every session, with a threshold between them) is
a pass rate, and a session that failed has not passed. Any other is a mean over scenarios; failed
sessions have no score and are counted beside it. Where results from elsewhere have several
sessions of a unit, both are of units: nobody knows how far those go together. What is left of a
variant of which many sessions have no score may be the lucky part, so then nothing passes. Nor
does a judge's word decide what labels of a variant show to be otherwise once what the judge errs
by is taken off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from matrix.engine.run.interim_looks import declared_rules
from matrix.model.metrics import FAILED, SESSION_METRICS
from matrix.model.records import JSON
from matrix.report.compare.judges.judge_bias import BiasRow, without_error
from matrix.report.compare.judges.labelled import by_parts, by_people
from matrix.report.compare.matchup import Floats, Matchup
from matrix.report.text import (
    digits_shown,
    ends_of,
    metric_value,
    models_told,
    names_listed,
    plural,
)
from matrix.stats import (
    Interval,
    MeanThreshold,
    ThresholdKind,
    clopper_pearson_upper,
    clustered_threshold,
    fixed_threshold,
    mean_threshold,
)
from matrix.stats.estimates.figures import percent
from matrix.stats.looks.failures import bounded_by
from matrix.stats.rounds.round_table import RoundTable
from matrix.stats.verdicts.sensitivity import STEPS, filled, worst_and_best

WHOLES = (1.0, 100.0)
"""What yes is as a number: of a share, and on a scale to 100."""

SMALLEST = 1e-6
"""Of a mean without spread, the first step of the search for where it turns, as a share of it."""

_AMOUNTS = frozenset(SESSION_METRICS) - {"score"}
"""Metrics that are never yes or no."""

MOST_UNSCORED = 0.2
"""Larger shares of sessions without a score, and a variant passes no threshold."""


@dataclass(frozen=True, slots=True)
class VariantThreshold:
    """One variant against the threshold.

    Attributes:
        level: The variant.
        kind: ``pass``, ``fail`` or ``not_enough_data``.
        value: Its rate or mean; ``None`` without data.
        interval: One-sided bounds around it; ``None`` where none can be stated.
        n: Sessions of a rate, rounds of a mean; units of both where ``of_units``.
        failed: Sessions without a score because they failed.
        unscored: Further ones without a score: of a judge that could not be read.
        sessions: All that were at risk of either.
        parts_erring: Parts of the score on which labels show the judge to err for it.
        fragile: Whether it would not pass if those without a score had gone as badly as can be;
            of a score that nothing bounds, as badly as it takes.
        turns_at: Mean of those without a score at which it no longer passes; of means only.
        silent: Scenarios (with levels of other factors) of which it has no score at all.
        errored: Sessions that errored, which are in no figure of it.
        of_units: Whether units are what is counted, as several sessions of each may go together.
        judge_error: How much too high the judge rates it, where labels show that this undoes what
            its word alone would decide; in the units of ``value``.
    """

    level: str
    kind: ThresholdKind
    value: float | None
    interval: Interval | None
    n: int
    failed: int
    unscored: int = 0
    sessions: int = 0
    judge_error: float | None = None
    parts_erring: tuple[str, ...] = ()
    fragile: bool = False
    turns_at: float | None = None
    silent: tuple[str, ...] = ()
    of_units: bool = False
    errored: int = 0

    @property
    def too_few(self) -> bool:
        """Whether so many have no score that no figure about the others can pass."""
        return self.unscored > MOST_UNSCORED * self.sessions


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold on one metric: passed if every variant passes, failed if any fails."""

    metric: str
    threshold: float
    at_most: bool
    rate: bool
    unit: str
    simulated: str
    variants: tuple[VariantThreshold, ...]
    score_digits: int = 1
    whole: float = 1.0
    failures_told: bool = True

    @property
    def kind(self) -> ThresholdKind:
        """The verdict over all variants."""
        kinds = {one.kind for one in self.variants}
        if "fail" in kinds:
            return "fail"
        return "pass" if kinds == {"pass"} else "not_enough_data"

    @property
    def sentence(self) -> str:
        """All of it for people."""
        head = {"pass": "met", "fail": "NOT MET", "not_enough_data": "not enough data"}[self.kind]
        bound = "at most" if self.at_most else "at least"
        asked = f"{self.metric} {bound} {_shown(self, self.threshold / self.whole, None)}"
        told = "; ".join(_told(self, one) for one in self.variants)
        models = f"; {models_told(self.simulated)}" if self.simulated else ""
        return f"{asked}: {head}: {told}{models}"


def threshold_of(matchup: Matchup, metric: str, threshold: float, alpha: float) -> Threshold:
    """Hold every variant of a matchup against a threshold.

    The chance that a run passes wrongly is at most ``alpha``, whatever the number of variants; so
    is the chance that it fails wrongly, because each of k variants fails at ``alpha / k``.

    Args:
        matchup: The variants.
        metric: What is asked about; ``failed`` for the rate of failures.
        threshold: Least rate or mean; the largest where lower is better.
        alpha: One-sided error rate.

    Raises:
        BadInput: No session has such a metric.
    """
    table, _ = matchup.round_table(metric)
    lower = matchup.lower_is_better(metric)
    seen = table.scores[~np.isnan(table.scores)]
    # dollars and seconds that are all 0 or 1 are no rates
    whole = None if metric in _AMOUNTS else _whole(seen, threshold)
    rate = whole is not None
    parts = by_parts(matchup, metric)
    people = by_people(matchup, metric, least=1)
    bias = {row.level: row for row in people.bias} if people else {}
    found = []
    for index, level in enumerate(matchup.variants):
        scores = table.scores[:, :, index] / (whole or 1.0)
        gone = table.failed[:, :, index] & np.isnan(scores)
        lost = int(gone.sum())
        if rate and matchup.clustered:
            scores = np.where(gone, 1.0 if lower else 0.0, scores)
        bounds = (alpha, alpha / len(matchup.variants))
        judge = _rate
        if not rate or matchup.clustered:
            judge = partial(_bounded, clustered_threshold if rate else mean_threshold)
        least = threshold / (whole or 1.0)
        one = judge(level, scores, lost, least, bounds, lower)
        missing, sessions = int(table.unscored[index]), int(table.sessions[index])
        # of a rate, sessions that failed count, as they have not passed
        one = replace(one, unscored=missing - lost if rate else missing, sessions=sessions)
        if one.too_few and one.kind == "pass":
            one = replace(one, kind="not_enough_data")
        one = _by_labels(one, bias.get(level), threshold, whole or 1.0, lower=lower)
        erring = [
            f"{part.metric} ({row.bias:+.2f})"
            for part in parts
            for row in part.bias
            if row.level == level and row.shown
        ]
        fragile, turns = False, None
        if one.kind == "pass" and missing and metric != FAILED:
            judged = partial(judge, level, lost=0, threshold=least, alphas=bounds, lower=lower)
            holds = partial(_passes, table, index, whole or 1.0, judged)
            worst = (whole if lower else 0.0) if rate else _worst(matchup, metric, table)
            turns = _turns_at(holds, worst, table.scores[:, :, index], lower=lower)
            fragile, turns = turns is not None, None if rate else turns
        heard = np.any(~np.isnan(scores), axis=0)
        if table.never is not None:  # a place where nothing was meant to be is not silent
            heard |= table.never[:, :, index].all(axis=0)
        heard = heard.tolist()
        silent = [name for name, known in zip(matchup.strata, heard, strict=True) if not known]
        found.append(
            replace(
                one,
                parts_erring=tuple(erring),
                fragile=fragile,
                turns_at=turns,
                of_units=matchup.clustered,
                errored=matchup.ended_as(index, ("errored",)),
                silent=tuple(silent) if any(heard) and metric != FAILED else (),
            )
        )
    return Threshold(
        metric=metric,
        threshold=threshold,
        at_most=lower,
        rate=rate,
        unit=matchup.unit,
        simulated=matchup.simulated,
        variants=tuple(found),
        score_digits=matchup.score_digits,
        whole=whole or 1.0,
        failures_told=not matchup.failures_untold_by,
    )


def _worst(matchup: Matchup, metric: str, table: RoundTable) -> float | None:
    """The worst that a score can be; ``None`` where nothing bounds it."""
    rules = bounded_by(table, declared_rules(matchup.spec, matchup.kind, metric=metric))
    ends = None if rules.score_bounds is None else worst_and_best(table, rules)
    return None if ends is None else ends[0]


def _passes(
    table: RoundTable,
    index: int,
    whole: float,
    judged: Callable[[Floats], VariantThreshold],
    missing: float,
) -> bool:
    """Whether a variant passes with one score for all that it has none of."""
    there = filled(table, {index: missing}).scores[:, :, index]
    return judged(there / whole).kind == "pass"


def _turns_at(
    holds: Callable[[float], bool], worst: float | None, scores: Floats, *, lower: bool
) -> float | None:
    """The mean of missing scores from which on a pass no longer holds: a tipping point.

    ``None`` where it holds at the ``worst`` that there can be; without such an end, some mean is
    always bad enough.
    """
    good = float(np.nanmean(scores))
    away = max(float(np.nanstd(scores)), abs(good) * SMALLEST, SMALLEST) * (1 if lower else -1)
    bad = good + away if worst is None else worst
    while worst is None and holds(bad):
        away *= 2
        bad = good + away
    if holds(bad):
        return None
    for _ in range(STEPS if holds(good) else 0):
        middle = (good + bad) / 2
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good


def _by_labels(
    one: VariantThreshold, bias: BiasRow | None, threshold: float, whole: float, *, lower: bool
) -> VariantThreshold:
    """The same as far as it is so without what labels show the judge to err by."""
    if bias is None or not bias.shown or one.value is None or one.interval is None:
        return one
    error, around = bias.bias / whole, bias.interval
    scaled = around and Interval(around.low / whole, around.high / whole, around.confidence)
    left, least = without_error(one.value, one.interval, error, scaled), threshold / whole
    high_enough = left.high <= least if lower else left.low >= least
    too_low = left.low > least if lower else left.high < least
    if {"pass": high_enough, "fail": too_low}.get(one.kind, True):
        return one
    return replace(one, kind="not_enough_data", judge_error=error)


def _whole(seen: Floats, threshold: float) -> float | None:
    """What a score that is yes or no has for yes; ``None`` of any other."""
    for whole in WHOLES:
        if 0.0 < threshold < whole and bool(np.isin(seen, (0.0, whole)).all()):
            return whole
    return None


def _rate(
    level: str,
    scores: Floats,
    lost: int,
    threshold: float,
    alphas: tuple[float, float],
    lower: bool,
) -> VariantThreshold:
    values = scores[~np.isnan(scores)]
    good = int((values == (0.0 if lower else 1.0)).sum())
    n = int(values.size) + lost
    asked = 1.0 - threshold if lower else threshold
    passing, failing = (fixed_threshold(good, n, asked, alpha) for alpha in alphas)
    kind = _either(passing.kind, failing.kind)
    rate, interval = passing.rate, passing.interval
    if lower:
        rate = None if rate is None else 1.0 - rate
        if interval is not None:
            interval = Interval(1.0 - interval.high, 1.0 - interval.low, interval.confidence)
    return VariantThreshold(level, kind, rate, interval, n, lost)


def _bounded(
    rule: Callable[..., MeanThreshold],
    level: str,
    scores: Floats,
    lost: int,
    threshold: float,
    alphas: tuple[float, float],
    lower: bool,
) -> VariantThreshold:
    """By the bounds of a mean; of a rate of units, what was lost stands in it as not passed."""
    passing, failing = (
        rule(scores, threshold, alpha, higher_is_better=not lower) for alpha in alphas
    )
    kind = _either(passing.kind, failing.kind)
    return VariantThreshold(level, kind, passing.mean, passing.interval, passing.n, lost)


def _either(passing: ThresholdKind, failing: ThresholdKind) -> ThresholdKind:
    if passing == "pass":
        return "pass"
    return "fail" if failing == "fail" else "not_enough_data"


def _shown(found: Threshold, value: float, one: VariantThreshold | None) -> str:
    if found.rate:
        return f"{100 * value:.3g} %"
    digits = digits_shown(found.score_digits, *ends_of(one.interval if one else None))
    return metric_value(found.metric, value, score=digits)


def _told(found: Threshold, one: VariantThreshold) -> str:
    if one.value is None:
        return f"{one.level} has no complete {found.unit} yet"
    text = f"{one.level} {_shown(found, one.value, one)}"
    if one.interval is not None:
        low, high = (_shown(found, end, one) for end in (one.interval.low, one.interval.high))
        text += f" ({percent(one.interval)} interval {low} to {high})"
    by_session = found.rate and not one.of_units
    text += f" over {plural(one.n, 'session' if by_session else found.unit)}"
    if one.of_units and found.rate:
        text += f" ({plural(one.sessions, 'session')})"
    if one.failed and found.metric != FAILED:
        text += f", {one.failed:,} of them failed" if found.rate else f", {one.failed:,} failed"
    if one.unscored and found.metric != FAILED:
        text += f", {one.unscored:,} of {plural(one.sessions, 'session')} without a score"
    if one.errored:
        text += f", {one.errored:,} more errored and in no figure here"
    if one.judge_error is not None:
        by = f"{100 * one.judge_error:+.3g} points"
        if not found.rate:
            by = metric_value(found.metric, one.judge_error, signed=True, score=found.score_digits)
        text += f", which labels undo: the judge errs by {by} for it"
    if one.parts_erring:
        text += f"; {parts_told('it', one.parts_erring, found.metric)}"
    if one.kind == "pass" and not found.rate:
        least = one.n if one.of_units else one.sessions - one.unscored
        text += f"; {unseen(least, found.unit if one.of_units else 'session')}"
    if one.too_few:
        text += f" (nothing passes with more than {100 * MOST_UNSCORED:g} % of them)"
    if one.silent:
        text += f"; it has none in {names_listed(one.silent)}, so this is not about that"
    if one.turns_at is not None:
        mean, side = _shown(found, one.turns_at, one), "above" if found.at_most else "below"
        text += f"; fragile: not met if those without a score had averaged {side} {mean}"
    elif one.fragile:
        text += "; fragile: not met if those without a score had gone as badly as can be"
    return text


def parts_told(who: str, erring: Sequence[str], metric: str) -> str:
    """That a judge is shown to err on what a score is made of.

    Args:
        who: For whom it errs.
        erring: Parts of the score, each with by how much.
        metric: The score.
    """
    told = f"labels show that the judge errs for {who} on {names_listed(erring)}"
    return f"{told}, of which {metric} is made: gate those by themselves"


def unseen(count: int, noun: str = "session") -> str:
    """How rare a disaster may be that none of so many sessions, or units, has shown."""
    rarest = 100 * clopper_pearson_upper(0, max(count, 1))
    return f"what befalls fewer than {rarest:.2g} % of {noun}s may not have shown"


def threshold_as_data(found: Threshold) -> JSON:
    """The same for programs."""
    return {
        "verdict": found.kind,
        "metric": found.metric,
        "threshold": found.threshold,
        "at_most": found.at_most,
        "rate": found.rate,
        "sentence": found.sentence,
        "variants": [
            {
                "level": one.level,
                "verdict": one.kind,
                "value": None if one.value is None else found.whole * one.value,
                "low": None if one.interval is None else found.whole * one.interval.low,
                "high": None if one.interval is None else found.whole * one.interval.high,
                "n": one.n,
                "failed": one.failed if found.failures_told else None,
                "unscored": one.unscored,
                "errored": one.errored,
                "fragile": one.fragile,
                "turns_at": one.turns_at,
                "without_scores_in": list(one.silent),
                "judge_error": None if one.judge_error is None else found.whole * one.judge_error,
            }
            for one in found.variants
        ],
    }
