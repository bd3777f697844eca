"""Has a run become worse than a baseline run? Scores and failures, both as gates, in one line.

The run passes when it is shown to score worse by less than a margin, if at all, and to fail more
often by less than the failure margin. It has regressed when either is shown to be worse. Each of
the two errs at the error rate that the run declares. Scores of a judge that labels show to err
differently for the two runs decide nothing that would not be so without what it errs by.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np

from matrix.engine.run.interim_looks import declared_rules
from matrix.model.metrics import FAILED
from matrix.model.records import JSON
from matrix.report.compare.changes import changes_between, other_rules
from matrix.report.compare.judges.judge_bias import BiasDifference, gate_without_error
from matrix.report.compare.judges.labelled import by_parts, by_people
from matrix.report.compare.left_out import (
    LeftOut,
    errors_of_all,
    failures_of_all,
    left_out_of,
    more_often_of_all,
)
from matrix.report.compare.matchup import Matchup
from matrix.report.gates.thresholds import MOST_UNSCORED, parts_told, unseen
from matrix.report.text import (
    digits_shown,
    ends_as_data,
    ends_of,
    metric_value,
    models_told,
    names_listed,
    plural,
)
from matrix.stats import (
    FailureContrast,
    GateDecision,
    GateKind,
    Interval,
    failure_contrast,
)
from matrix.stats.estimates.figures import percent
from matrix.stats.estimates.unpaired_rates import Count
from matrix.stats.gates.gate import all_alike, check_gate, gate_of_interval
from matrix.stats.looks.failures import bounded_by
from matrix.stats.rounds.round_table import RoundTable
from matrix.stats.rounds.rules import MIN_ROUNDS, Rules
from matrix.stats.verdicts.comparisons import paired_rates
from matrix.stats.verdicts.one_look import difference_once
from matrix.stats.verdicts.sensitivity import filled, worst_and_best
from matrix.store.run.made_here import NOT_MADE_HERE, is_made_here

BASELINE, CANDIDATE = 0, 1
"""Variants of a matchup of two runs."""


@dataclass(frozen=True, slots=True)
class Regression:
    """What the gate against a baseline came to.

    Attributes:
        kind: ``pass``, ``regression`` or ``not_enough_data``.
        metric: What was compared.
        baseline: The baseline's run id.
        rounds: Complete rounds that both runs have, or what else a ``unit`` of theirs is.
        scores: The gate on scores; ``None`` where the metric is failures alone.
        unscored: Sessions without a score, and of how many, of the run that lacks more, where the
            gate is on scores.
        judge_error: How much more the judge errs for the run than for its baseline, where labels
            show that it does.
        untold_by: Runs whose files do not tell what failed: then nothing is made of failures.
        pairs: Pairs of sessions.
        failures: Failures of both on the same pairs; b is the candidate. ``None`` where they are
            not told.
        failure_margin: Fraction by which the candidate may fail more often.
        failures_kind: The gate on failures, where they are told.
        extra: Further rounds until it decides, if things go on as they are; ``None`` where no
            number can be given, 0 once it has.
        baseline_has: Rounds that the baseline has, complete or not.
        left_out: Rounds of the longer run that are in no pair; ``None`` where all are in one.
        all_failed: Then, failures over all sessions of the baseline and of the run.
        broke: Whether these show that the run fails more often, which takes a pass back.
        errored: Sessions of the baseline and of the run that errored, of all there are; ``None``
            where none did.
        erred: Whether these show that the run errs more often, which takes a pass back, too: what
            is left of it may be the part that went well.
        other: What is other in the run than in the baseline beside what is compared, in words.
        sentence: All of it for people.
    """

    kind: GateKind
    metric: str
    baseline: str
    rounds: int
    scores: GateDecision | None
    unscored: tuple[int, int]
    fragile: bool
    judge_error: BiasDifference | None
    untold_by: tuple[str, ...]
    pairs: int
    failures: FailureContrast | None
    failure_margin: float
    failures_kind: GateKind | None
    extra: int | None
    sentence: str
    score_digits: int = 1
    other: str = ""
    unit: str = "round"
    baseline_has: int = 0
    left_out: LeftOut | None = None
    all_failed: tuple[Count, Count] | None = None
    broke: bool = False
    errored: tuple[Count, Count] | None = None
    erred: bool = False

    @property
    def lacks_baseline(self) -> bool:
        """Whether the rounds that are needed would have no partner, as the baseline ends before."""
        extra = self.extra or 0
        return extra > 0 and self.rounds + extra > self.baseline_has


def regression(matchup: Matchup, metric: str | None = None, margin: float = 0.0) -> Regression:
    """Gate the second run of a matchup against the first.

    Args:
        matchup: Two runs, the baseline first.
        metric: The declared one if left out; ``failed`` for failures alone.
        margin: How much worse the run may be, in units of the metric; unused for ``failed``.

    Raises:
        BadInput: No session has such a metric, or the files of imported results tell nothing of it.
    """
    chosen = metric or matchup.metric
    matchup.require_told(chosen)
    rules = declared_rules(matchup.spec, matchup.kind, metric=chosen)
    seen, rounds = _failures(matchup, rules)
    failures = None if matchup.failures_untold_by else seen
    all_failed = None if failures is None else failures_of_all(matchup)
    scores, unscored, fragile, error = None, (0, 0), False, None
    if chosen != FAILED:
        table, _ = matchup.round_table(chosen)
        rules = bounded_by(table, rules)
        scores, rounds = _on_scores(table, margin, rules), len(table.paired(BASELINE, CANDIDATE))
        if scores.kind == "pass" and matchup.is_due(chosen):
            fragile = _at_worst(table, margin, rules).kind != "pass"
        unscored = max(
            zip(table.unscored.tolist(), table.sessions.tolist(), strict=True),
            key=lambda one: one[0] / max(one[1], 1),
        )
        if unscored[0] > MOST_UNSCORED * unscored[1] and scores.kind == "pass":
            scores = replace(scores, kind="not_enough_data", reason="no data", extra=None)
        error = _judge_error(matchup, chosen)
        scores = gate_without_error(scores, error, better=rules.higher_is_better)
    failed = None if failures is None else _failures_kind(failures, rules.failure_margin)
    broke = (
        failed == "pass"
        and all_failed is not None
        and more_often_of_all(all_failed, rules.alpha, seen.per_effective)
    )
    failed = "not_enough_data" if broke else failed
    kind, errored = _joined(None if scores is None else scores.kind, failed), errors_of_all(matchup)
    erred = (
        kind == "pass"
        and errored is not None
        and more_often_of_all(errored, rules.alpha, seen.per_effective)
    )
    left_out = left_out_of(matchup, chosen)
    more = left_out.rounds if left_out and left_out.run == matchup.variants[BASELINE] else 0
    found = Regression(
        kind="not_enough_data" if erred else kind,
        metric=chosen,
        baseline=matchup.variants[BASELINE],
        rounds=rounds,
        scores=scores,
        unscored=unscored,
        fragile=fragile,
        judge_error=error,
        untold_by=matchup.failures_untold_by,
        pairs=seen.pairs,
        failures=failures,
        failure_margin=rules.failure_margin,
        failures_kind=failed,
        extra=None if broke or erred else _extra(scores, failures, rounds, rules.failure_margin),
        baseline_has=len(np.unique(matchup.units)) + more,
        left_out=left_out,
        all_failed=all_failed,
        broke=broke,
        errored=errored,
        erred=erred,
        sentence="",
        score_digits=matchup.score_digits,
        unit=matchup.unit,
    )
    found = replace(found, other=changes_between(*matchup.sources))
    return replace(found, sentence=_sentence(found, matchup))


def _on_scores(table: RoundTable, margin: float, rules: Rules) -> GateDecision:
    better = rules.higher_is_better
    check_gate(margin, rules.alpha)
    # as a verdict has it: where pairs are missing, with fewer degrees of freedom than n - 1
    seen = difference_once(table, BASELINE, CANDIDATE, 2 * rules.alpha)
    interval = seen.interval or all_alike(seen.mean, seen.n, rules.alpha) if seen.n > 1 else None
    scores = gate_of_interval(seen.mean, interval, margin, seen.n, higher_is_better=better)
    return _with_rates(scores, table, rules, better=better)


def _judge_error(matchup: Matchup, metric: str) -> BiasDifference | None:
    people, names = by_people(matchup, metric), matchup.variants
    return None if people is None else people.error_between(names[CANDIDATE], names[BASELINE])


def _at_worst(table: RoundTable, margin: float, rules: Rules) -> GateDecision:
    """The gate if the run's missing scores were the worst possible, the baseline's the best."""
    ends = worst_and_best(table, rules)
    assert ends is not None  # some scores passed
    worst, best = ends
    return _on_scores(filled(table, {CANDIDATE: worst, BASELINE: best}), margin, rules)


def _with_rates(
    scores: GateDecision, table: RoundTable, rules: Rules, *, better: bool
) -> GateDecision:
    """Of yes/no scores: as far as both the rounds and the rates of their pairs let the gate go.

    Round means of rates near 0 or 1 are too skewed for t, and may have no spread at all.
    """
    rates, _ = paired_rates(table, (BASELINE, CANDIDATE), 2 * rules.alpha, _worth(table, rules))
    if rates is None or scores.difference is None:
        return scores
    ends = [rates] if scores.interval is None else [rates, scores.interval]
    wide = Interval(min(one.low for one in ends), max(one.high for one in ends), rates.confidence)
    return gate_of_interval(
        scores.difference, wide, scores.margin, scores.n, higher_is_better=better
    )


def _worth(table: RoundTable, rules: Rules) -> float:
    return rules.pairs_per_effective(table.pairs_per_round)


def _failures(matchup: Matchup, rules: Rules) -> tuple[FailureContrast, int]:
    table, _ = matchup.round_table(FAILED)
    marked = replace(table, failed=table.scores == 1.0)
    found = failure_contrast(marked, BASELINE, CANDIDATE, rules.alpha, _worth(table, rules))
    return found, len(table.paired(BASELINE, CANDIDATE))


def _failures_kind(failures: FailureContrast, margin: float) -> GateKind:
    if failures.b_non_inferior(margin):
        return "pass"
    worse = failures.interval is not None and failures.interval.low > 0
    return "regression" if worse else "not_enough_data"


def _joined(*gates: GateKind | None) -> GateKind:
    """The gates in one; ``None`` for one of which nothing is asked or known."""
    kinds = {kind for kind in gates if kind is not None}
    if "regression" in kinds:
        return "regression"
    return "pass" if kinds == {"pass"} else "not_enough_data"


def _extra(
    scores: GateDecision | None, failures: FailureContrast | None, rounds: int, margin: float
) -> int | None:
    if failures is None:
        return None if scores is None else scores.extra
    more = failures.rounds_to_pass(rounds, margin)
    if scores is None:
        return more
    if scores.extra is None or more is None:
        return None
    return max(scores.extra, more)


def _sentence(found: Regression, matchup: Matchup) -> str:
    passed = f"{matchup.variants[CANDIDATE]} is not worse than {found.baseline}"
    if found.scores is not None and found.scores.margin:
        passed += " by the margin"
    head = {
        "pass": passed,
        "regression": f"REGRESSION against {found.baseline}",
        "not_enough_data": f"not enough data against {found.baseline}",
    }[found.kind]
    parts = [_score_words(found), _judge_words(found), *_part_words(found, matchup)]
    parts += [_unscored_words(found), _failure_words(found), *_left_out_words(found)]
    parts.append(_errored_words(found))
    if found.kind == "pass":
        parts.append(unseen(found.pairs))
    if found.kind == "not_enough_data":
        parts.append(_still_needed(found))
    rests = f"{plural(found.rounds, f'complete {found.unit}')} in common, {matchup.basis}"
    if found.other:
        parts.append(f"other than in {found.baseline}: {found.other}")
    if rules := other_rules(*matchup.sources):
        parts.append(f"by this run's rules: {rules}")
    parts += [
        f"{tables.run.run_id} {NOT_MADE_HERE}"
        for tables in matchup.sources
        if not is_made_here(tables.run_dir, tables.run)
    ]
    parts += [rests, *([matchup.scope] if matchup.scope else [])]
    parts += [models_told(matchup.simulated)] if matchup.simulated else []
    return f"{head}: {'; '.join(part for part in parts if part)}"


def _still_needed(found: Regression) -> str:
    if found.scores is not None and found.scores.reason == "judge errs":
        told = f"more {found.unit}s would not settle it: go by people, or mend the judge"
        return f"{told} (`matrix rejudge`)"
    if found.erred:
        return ""
    if found.extra is None:
        return f"no number of {found.unit}s can be given until it decides"
    told = f"about {plural(found.extra, f'more {found.unit}')} until it decides"
    if found.lacks_baseline:
        has = plural(found.baseline_has, found.unit)
        told += f", of both: {found.baseline} has {has}, so it takes a longer baseline first"
    return told


def _judge_words(found: Regression) -> str:
    error = found.judge_error
    if error is None or found.scores is None:
        return ""
    by = metric_value(found.metric, error.difference, signed=True, score=found.score_digits)
    told = f"labels show that the judge errs by {by} ({error.sure}) for {error.first} against "
    undone = found.scores.reason == "judge errs"
    return f"{told}{error.second}, " + ("which undoes this" if undone else "which changes nothing")


def _part_words(found: Regression, matchup: Matchup) -> list[str]:
    """That a judge is shown to err differently for the two on what the score is made of."""
    if found.scores is None:
        return []
    run, base = matchup.variants[CANDIDATE], matchup.variants[BASELINE]
    erring = [
        f"{part.metric} ({error.difference:+.2f})"
        for part in by_parts(matchup, found.metric)
        if (error := part.error_between(run, base)) is not None
    ]
    return [parts_told(run, erring, found.metric)] if erring else []


def _score_words(found: Regression) -> str:
    gate, metric = found.scores, found.metric
    if gate is None:
        return ""
    digits = digits_shown(found.score_digits, *ends_of(gate.interval))
    shown = partial(metric_value, metric, signed=True, score=digits)
    margin = f"margin {metric_value(metric, gate.margin, score=found.score_digits)}"
    if gate.difference is None:
        return f"no value of {metric} in both yet"
    seen = f"{metric} {shown(gate.difference)}"
    if gate.reason == "too few rounds":
        return f"{seen}, {margin}; at least {MIN_ROUNDS} {found.unit}s are needed"
    if gate.interval is None:
        return f"{seen} in every {found.unit}, so there is no spread to judge by"
    if gate.interval.low == gate.interval.high:
        return f"{seen} in every {found.unit}, {margin}"
    low, high = shown(gate.interval.low), shown(gate.interval.high)
    sure = "; surely worse, but by less than the margin" if gate.worse_within_margin else ""
    return f"{seen} ({percent(gate.interval)} interval {low} to {high}), {margin}{sure}"


def _unscored_words(found: Regression) -> str:
    count, of = found.unscored
    if not count:
        return ""
    told = f"{count:,} of {plural(of, 'session')} without a score"
    if found.fragile and found.kind == "pass":
        told += ", which could turn this if they had gone as badly as can be"
    if count > MOST_UNSCORED * of:
        told += f" (nothing passes with more than {100 * MOST_UNSCORED:g} % of them)"
    return told


def _failure_words(found: Regression) -> str:
    contrast = found.failures
    if contrast is None:
        return f"failures: not told by {names_listed(found.untold_by)}"
    one, two = contrast.both + contrast.only_a, contrast.both + contrast.only_b
    told = f"failed: {two:,} of {contrast.pairs:,} sessions against {one:,}"
    if found.failures_kind == "pass" or found.broke:
        return told
    margin = f"{100 * found.failure_margin:.3g} points"
    if found.failures_kind == "regression":
        return f"{told}, which is shown to be more often"
    return f"{told}{contrast.leaves}; at most {margin} more has to be shown"


def _left_out_words(found: Regression) -> list[str]:
    """What the longer run did where the other has no partner, and failures with that."""
    if found.left_out is None:
        return []
    if found.all_failed is None:
        return [found.left_out.told]
    base, run = found.all_failed
    told = f"failed of all sessions: {run.successes:,.0f} of {run.trials:,.0f} against "
    told += f"{base.successes:,.0f} of {base.trials:,.0f}"
    if found.broke:
        told += f", which is shown to be more often, so the {found.unit}s in common prove no pass"
    return [found.left_out.told, told]


def _errored_words(found: Regression) -> str:
    """Sessions that are in no figure, as they errored."""
    if found.errored is None:
        return ""
    base, run = found.errored
    told = f"errored: {run.successes:,.0f} of {run.trials:,.0f} sessions against "
    told += f"{base.successes:,.0f} of {base.trials:,.0f}, which are in no figure here"
    if found.erred:
        told += "; that is shown to be more often, so what is left of it proves no pass"
    return told


def regression_as_data(found: Regression) -> JSON:
    """The same for programs."""
    gate = found.scores
    bounds = None if gate is None else gate.interval
    return {
        "verdict": found.kind,
        "metric": found.metric,
        "baseline": found.baseline,
        "sentence": found.sentence,
        "rounds": found.rounds,
        "difference": None if gate is None else gate.difference,
        **ends_as_data(bounds),
        "margin": None if gate is None else gate.margin,
        "unscored": {"sessions": found.unscored[0], "of": found.unscored[1]},
        "fragile": found.fragile,
        "judge_error": None if found.judge_error is None else found.judge_error.data,
        "scores": None if gate is None else gate.kind,
        "failures": _failures_as_data(found),
        "errored": None
        if found.errored is None
        else [{"errored": one.successes, "of": one.trials} for one in found.errored],
        "left_out": None if found.left_out is None else asdict(found.left_out),
        "still_needed": found.extra,
    }


def _failures_as_data(found: Regression) -> JSON:
    seen = found.failures
    return {
        "verdict": found.failures_kind,
        "not_told_by": list(found.untold_by),
        "pairs": found.pairs,
        "baseline": None if seen is None else seen.both + seen.only_a,
        "run": None if seen is None else seen.both + seen.only_b,
        "margin": None if seen is None else found.failure_margin,
        "of_all": None if found.all_failed is None else [_count(one) for one in found.all_failed],
    }


def _count(one: Count) -> JSON:
    return {"failed": one.successes, "of": one.trials}
