"""Gates of a run: asked for before it starts, decided when it is over.

`read_wish` says what is asked for, `check_wish` whether that can be decided at all, without any
table of the run, and `gate` decides. Every mistake is found by the first two, so that no session
is played for a gate that could not be read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Literal, get_args

from matrix.engine.check_comparison import known_metrics
from matrix.engine.registry import load_kind
from matrix.model.errors import BadInput, Mistake, did_you_mean
from matrix.model.metrics import FAILED, SESSION_METRICS
from matrix.model.records import JSON
from matrix.model.spec import RunSpec
from matrix.report.matching import factor_matchup, not_paired, runs_matchup, whole_matchup
from matrix.report.matchup import Matchup
from matrix.report.regression import Regression, regression, regression_as_data
from matrix.report.text import plural
from matrix.report.thresholds import Threshold, threshold_as_data, threshold_of
from matrix.stats.rules import MIN_ROUNDS
from matrix.store.reader import RunTables
from matrix.store.run_folder import RunFile

FailOn = Literal["regression", "threshold", "not-enough-data"]
FAIL_ON: tuple[FailOn, ...] = get_args(FailOn)
"""What can make a gate fail."""

NO_MARGIN = (
    "a gate against a baseline needs a margin, because no number of sessions shows that a run is "
    "not worse at all; say how much worse it may be, as --margin or as compare.margin in the spec"
)


@dataclass(frozen=True, slots=True)
class GateWish:
    """What is to be gated.

    Attributes:
        baseline: The run to be no worse than, as people say it; ``None`` for no such gate.
        margin: How much worse the run may be, in units of the metric; ``None`` for that of the
            spec.
        thresholds: Metric -> least mean or rate; the largest where lower is better.
        fail_on: What makes the gate fail; the rest is only told.
        metric: What is compared with the baseline; ``None`` for the run's declared metric.
    """

    baseline: str | None = None
    margin: float | None = None
    thresholds: Mapping[str, float] | None = None
    fail_on: frozenset[FailOn] = frozenset()
    metric: str | None = None

    def margin_for(self, spec: RunSpec) -> float | None:
        """The margin that holds; that of the spec is only for its own metric."""
        own = self.metric in (None, spec.compare.metric)
        return self.margin or (spec.compare.margin if own else None)

    @property
    def anything(self) -> bool:
        """Whether there is a gate at all."""
        return self.baseline is not None or bool(self.thresholds)


@dataclass(frozen=True, slots=True)
class GateReport:
    """What the gates of a run came to."""

    wish: GateWish
    against: Regression | None
    thresholds: tuple[Threshold, ...]

    @property
    def failures(self) -> list[str]:
        """What fails the run, one sentence each."""
        return [sentence for kind, sentence in self._all() if kind in self.wish.fail_on]

    @property
    def failed(self) -> bool:
        """Whether anything does."""
        return bool(self.failures)

    @property
    def lines(self) -> list[str]:
        """One line for each gate, for people."""
        return [f"{self._head(kind)}: {sentence}" for kind, sentence in self._all()]

    def _head(self, kind: FailOn | None) -> str:
        if kind is None:
            return "gate passed"
        if kind in self.wish.fail_on:
            return "gate FAILED"
        return (
            f"gate undecided (fails only with --fail-on {kind})"
            if (kind == "not-enough-data")
            else f"gate not passed (fails only with --fail-on {kind})"
        )

    def _all(self) -> list[tuple[FailOn | None, str]]:
        """What each gate would have to be failed on, and what it says."""
        found: list[tuple[FailOn | None, str]] = []
        if (against := self.against) is not None:
            found.append((_reason(against.kind, "regression"), against.sentence))
        for one in self.thresholds:
            found.append((_reason(one.kind, "threshold"), one.sentence))
        return found


def _reason(kind: str, bad: FailOn) -> FailOn | None:
    if kind == "pass":
        return None
    return "not-enough-data" if kind == "not_enough_data" else bad


def read_wish(
    baseline: str | None,
    margin: float | None,
    thresholds: Sequence[str],
    fail_on: Sequence[str],
) -> GateWish:
    """Read the options of a gate.

    Args:
        baseline: A run, as people say it.
        margin: How much worse the run may be.
        thresholds: ``NAME=VALUE`` each.
        fail_on: Any of `FAIL_ON`.

    Raises:
        BadInput: Every mistake.
    """
    mistakes: list[Mistake] = []

    def fault(source: str, message: str) -> None:
        mistakes.append(Mistake(source, None, "", message))

    found: dict[str, float] = {}
    for text in thresholds:
        name, value = _threshold(text)
        if not name or value is None:
            fault(
                "--threshold", f"found {text!r}; must be NAME=NUMBER, e.g. score=75 or failed=.05"
            )
        elif name in found:
            fault("--threshold", f"{name} is given twice; each metric once")
        else:
            found[name] = value
    for word in fail_on:
        if word not in FAIL_ON:
            hint = did_you_mean(word, FAIL_ON)
            fault("--fail-on", f"found {word!r}; can be {', '.join(FAIL_ON)}{hint}")
    if "regression" in fail_on and baseline is None:
        fault("--fail-on", "regression against what? name a run with --baseline")
    if "threshold" in fail_on and not thresholds:
        fault("--fail-on", "threshold of what? give one with --threshold, e.g. score=75")
    if "not-enough-data" in fail_on and baseline is None and not thresholds:
        fault("--fail-on", "not-enough-data for what? give a --baseline or a --threshold")
    if margin is not None and not (margin > 0 and isfinite(margin)):
        fault("--margin", f"found {margin:g}; must be above 0, in units of the metric")
    elif margin is not None and baseline is None:
        fault("--margin", "is for a gate against another run; name it with --baseline")
    if mistakes:
        raise BadInput(mistakes)
    chosen = frozenset(word for word in FAIL_ON if word in fail_on)
    return GateWish(baseline, margin, found, chosen)


def _threshold(text: str) -> tuple[str, float | None]:
    name, _, number = text.partition("=")
    try:
        value = float(number)
    except ValueError:
        return name.strip(), None
    return name.strip(), value if isfinite(value) else None


def check_wish(
    wish: GateWish, run: RunFile, baseline: tuple[RunTables, RunFile] | None
) -> list[str]:
    """Whether the gates can be decided for a run that may not have started.

    Args:
        wish: The gates.
        run: The run.
        baseline: The baseline run, where one is wanted.

    Returns:
        What to tell before the start: why there will not be enough data to decide.

    Raises:
        BadInput: Every mistake.
    """
    spec, mistakes = RunSpec.model_validate(run.spec), []
    if baseline is not None:
        mistakes += [Mistake("--baseline", None, "", text) for text in not_paired(baseline[1], run)]
        mistakes += _unmeasured(*baseline, wish.metric or run.plan.metric)
        if wish.margin_for(spec) is None and wish.metric != FAILED:
            mistakes.append(Mistake("--baseline", None, "", NO_MARGIN))
    mistakes += _unknown_thresholds(wish, run)
    if mistakes:
        raise BadInput(mistakes)
    return _too_short(run, None if baseline is None else baseline[1])


def _unmeasured(tables: RunTables, run: RunFile, metric: str) -> list[Mistake]:
    if metric in (*SESSION_METRICS, FAILED):
        return []
    there = {str(name) for name in tables.distinct("scores", "name", where_null="turn")}
    if metric in there:
        return []
    told = f"{run.run_id} has no {metric!r}, which is to be compared"
    hint = f"; it has: {', '.join(sorted(there))}" if there else "; it has no scores"
    return [Mistake("--baseline", None, "", told + hint)]


def _unknown_thresholds(wish: GateWish, run: RunFile) -> list[Mistake]:
    known = known_metrics(load_kind(run.kind))
    mistakes = []
    for name, value in (wish.thresholds or {}).items():
        if known is not None and name not in known:
            told = f"found {name!r}; sessions have: {', '.join(known)}"
            told += did_you_mean(name, list(known))
            mistakes.append(Mistake("--threshold", None, "", told))
        elif name == FAILED and not 0.0 < value < 1.0:
            told = (
                f"found {name}={value:g}; a share of sessions between 0 and 1, such as 0.05, "
                "because no number of sessions shows that none fails"
            )
            mistakes.append(Mistake("--threshold", None, "", told))
    return mistakes


def _too_short(run: RunFile, baseline: RunFile | None) -> list[str]:
    notes = []
    for one, name in ((run, "this run"), (baseline, "the baseline")):
        if one is None:
            continue
        rounds = one.plan.sessions // max(1, one.plan.cells)
        if rounds < MIN_ROUNDS:
            notes.append(
                f"{name} plans {plural(rounds, 'whole round')}, and a gate on means takes at least "
                f"{MIN_ROUNDS}: there will not be enough data for it"
            )
    return notes


def gate(
    wish: GateWish,
    run: tuple[RunTables, RunFile],
    baseline: tuple[RunTables, RunFile] | None,
) -> GateReport:
    """Decide the gates of a run that is over, or as far as it has come.

    Args:
        wish: The gates.
        run: The run.
        baseline: The baseline run, where one is wanted.

    Raises:
        BadInput: There is nothing in common with the baseline, no margin, or no such metric.
    """
    spec = RunSpec.model_validate(run[1].spec)
    against = None
    if baseline is not None:
        margin = wish.margin_for(spec)
        if margin is None and wish.metric != FAILED:
            raise BadInput([Mistake("--baseline", None, "", NO_MARGIN)])
        against = regression(runs_matchup(baseline, run), wish.metric, margin or 0.0)
    found: list[Threshold] = []
    if wish.thresholds:
        plan = run[1].plan
        several = plan.compared is not None and len(plan.factors[plan.compared]) > 1
        matchup = factor_matchup(*run) if several else whole_matchup(*run)
        alpha = round(1.0 - spec.compare.confidence, 12)
        found = [_threshold_of(matchup, *asked, alpha) for asked in wish.thresholds.items()]
    return GateReport(wish, against, tuple(found))


def _threshold_of(matchup: Matchup, metric: str, threshold: float, alpha: float) -> Threshold:
    try:
        return threshold_of(matchup, metric, threshold, alpha)
    except BadInput as error:
        raise BadInput(replace(one, source="--threshold") for one in error.mistakes) from None


def gate_as_data(report: GateReport) -> JSON:
    """The same for programs."""
    return {
        "failed": report.failed,
        "fail_on": [word for word in FAIL_ON if word in report.wish.fail_on],
        "lines": report.lines,
        "baseline": None if report.against is None else regression_as_data(report.against),
        "thresholds": [threshold_as_data(one) for one in report.thresholds],
    }
