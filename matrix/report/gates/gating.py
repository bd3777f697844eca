"""Gates of a run: asked for before it starts, decided when it is over.

`matrix.report.gates.gate_wish` says what is asked for, `check_wish` whether that can be decided at
all, without any table of the run, and `gate` decides. Every mistake is found before that, so that
no session is played for a gate that could not be read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from matrix.engine.prepare.check_comparison import known_metrics
from matrix.engine.prepare.judges import names_of
from matrix.engine.prepare.registry import load_kind
from matrix.model.errors import BadInput, Mistake, did_you_mean
from matrix.model.metrics import FAILED, SESSION_METRICS
from matrix.model.records import JSON
from matrix.report.compare.matching import factor_matchup, not_paired, runs_matchup, whole_matchup
from matrix.report.compare.matchup import Matchup
from matrix.report.gates.gate_wish import FAIL_ON, FailOn, GateWish
from matrix.report.gates.regression import Regression, regression, regression_as_data
from matrix.report.gates.thresholds import Threshold, threshold_as_data, threshold_of
from matrix.report.run.endings import Endings, endings_of
from matrix.report.text import plural
from matrix.stats.rounds.rules import MIN_ROUNDS
from matrix.store.reading.reader import RunTables
from matrix.store.run.run_folder import RunFile

NO_MARGIN = (
    "a gate against a baseline needs a margin, because no number of sessions shows that a run is "
    "not worse at all; say how much worse it may be, as --margin or as compare.margin in the spec"
)
NO_MARGIN_OF_IMPORTS = NO_MARGIN.removesuffix(" or as compare.margin in the spec")
"""The same of results that were imported, which have no spec."""


OF_ONE_VARIANT = (
    "; a baseline is the results of one variant: play it alone, as `matrix run FILE --run-id base` "
    "without factors (`--set options.{factor}=LEVEL` for another level than the option's own), and "
    "name that run, or what `matrix export base --to csv` writes of it"
)


@dataclass(frozen=True, slots=True)
class GateReport:
    """What the gates of a run came to."""

    wish: GateWish
    against: Regression | None
    thresholds: tuple[Threshold, ...]
    endings: Endings

    @property
    def too_many_errored(self) -> str:
        """Why no gate passes this run, whatever its scores say; empty if they can decide."""
        seen, allowed = self.endings, self.wish.allow_errored
        if seen.errored_share <= allowed:
            return ""
        return (
            f"not enough data: {seen.errored:,} of {plural(seen.ended, 'session')} errored "
            f"({100 * seen.errored_share:.3g} %), and a gate passes at most {100 * allowed:.3g} % "
            "(--allow-errored)"
        )

    @property
    def failures(self) -> list[str]:
        """What fails the run, one sentence each."""
        errored = [self.too_many_errored] if self.too_many_errored else []
        return errored + [said for kind, said in self._all() if kind in self.wish.fail_on]

    @property
    def failed(self) -> bool:
        """Whether anything does."""
        return bool(self.failures)

    @property
    def lines(self) -> list[str]:
        """One line for each gate, for people."""
        errored = [f"gate FAILED: {self.too_many_errored}"] if self.too_many_errored else []
        return errored + [f"{self._head(kind)}: {said}" for kind, said in self._all()]

    def _head(self, kind: FailOn | None) -> str:
        if kind is None:
            return f"gate {'undecided for its errors' if self.too_many_errored else 'passed'}"
        if kind in self.wish.fail_on:
            return "gate FAILED"
        word = "undecided" if kind == "not-enough-data" else "not passed"
        return f"gate {word} (fails the run only with --fail-on {kind})"

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


def no_margin(run: RunFile) -> str:
    """That a run needs a margin to be held against another, and where it is said."""
    return NO_MARGIN_OF_IMPORTS if run.imported else NO_MARGIN


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
    spec, mistakes = run.run_spec, []
    if baseline is not None:
        several = next(
            (
                OF_ONE_VARIANT.format(factor=name)
                for name, levels in baseline[1].plan.factors.items()
                if len(levels) > 1 and name not in run.plan.factors
            ),
            "",
        )
        mistakes += [
            Mistake("--baseline", None, "", text + several) for text in not_paired(baseline[1], run)
        ]
        mistakes += _unmeasured(*baseline, wish.metric or run.plan.metric)
        if wish.margin_for(spec) is None and wish.metric != FAILED:
            mistakes.append(Mistake("--baseline", None, "", no_margin(run)))
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
    known = known_metrics(load_kind(run.kind, kept=run.kind_facts), names_of(run.spec))
    criteria, mistakes = tuple(f"{name}." for name in names_of(run.spec)), []
    for name, value in (wish.thresholds or {}).items():
        if known is not None and name not in known and not name.startswith(criteria):
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
            has = "has about" if one.imported else "plans"
            whole = plural(rounds, "unit" if one.imported else "whole round")
            notes.append(
                f"{name} {has} {whole}, and a gate on means takes at least "
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
    endings = endings_of(run[0])
    try:
        against, thresholds = _decided(wish, run, baseline)
    except BadInput:  # so many may have errored that nothing is left to measure
        report = GateReport(wish, None, (), endings)
        if report.too_many_errored:
            return report
        raise
    return GateReport(wish, against, thresholds, endings)


def _decided(
    wish: GateWish,
    run: tuple[RunTables, RunFile],
    baseline: tuple[RunTables, RunFile] | None,
) -> tuple[Regression | None, tuple[Threshold, ...]]:
    spec = run[1].run_spec
    against = None
    if baseline is not None:
        margin = wish.margin_for(spec)
        if margin is None and wish.metric != FAILED:
            raise BadInput([Mistake("--baseline", None, "", no_margin(run[1]))])
        against = regression(runs_matchup(baseline, run), wish.metric, margin or 0.0)
    found: list[Threshold] = []
    if wish.thresholds:
        plan = run[1].plan
        several = plan.compared is not None and len(plan.factors[plan.compared]) > 1
        matchup = factor_matchup(*run) if several else whole_matchup(*run)
        alpha = round(1.0 - spec.compare.confidence, 12)
        found = [_threshold_of(matchup, *asked, alpha) for asked in wish.thresholds.items()]
    return against, tuple(found)


def _threshold_of(matchup: Matchup, metric: str, threshold: float, alpha: float) -> Threshold:
    try:
        matchup.require_told(metric)
        return threshold_of(matchup, metric, threshold, alpha)
    except BadInput as error:
        raise BadInput(replace(one, source="--threshold") for one in error.mistakes) from None


def gate_as_data(report: GateReport) -> JSON:
    """The same for programs."""
    return {
        "failed": report.failed,
        "errored": {
            "sessions": report.endings.errored,
            "of": report.endings.ended,
            "allowed": report.wish.allow_errored,
        },
        "fail_on": [word for word in FAIL_ON if word in report.wish.fail_on],
        "lines": report.lines,
        "baseline": None if report.against is None else regression_as_data(report.against),
        "thresholds": [threshold_as_data(one) for one in report.thresholds],
    }
