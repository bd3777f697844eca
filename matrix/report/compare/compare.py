"""From a run's tables to a verdict on one factor: pairing, statistics, one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf

import numpy as np
import numpy.typing as npt

from matrix.engine.run.interim_looks import declared_rules
from matrix.kinds.protocol import measure_told
from matrix.model.errors import BadInput, Mistake
from matrix.model.metrics import direction_told, name_of, unit_of
from matrix.report.compare.cautions import cautions_of
from matrix.report.compare.judges.judge_bias import BiasDifference
from matrix.report.compare.judges.labelled import ByPeople
from matrix.report.compare.judges.labels_elsewhere import ErrsElsewhere
from matrix.report.compare.left_out import LeftOut, left_out_of
from matrix.report.compare.matching import factor_matchup, whole_matchup
from matrix.report.compare.matchup import AVERAGED, Matchup
from matrix.report.compare.unscored import Unscored, unscored_of
from matrix.report.compare.voiding import Void, is_undone, voided
from matrix.report.text import (
    models_told,
    names_listed,
    plural,
)
from matrix.stats import (
    OwnMean,
    RoundTable,
    VariantSummary,
    Verdict,
    own_mean,
    verdict_of,
    verdict_sentence,
)
from matrix.stats.looks.failures import beyond_bounds, bounded_by
from matrix.stats.rounds.rules import Flag
from matrix.stats.verdicts.one_look import two_values
from matrix.stats.verdicts.verdict import known_bounds
from matrix.store.reading.reader import RunTables
from matrix.store.reading.told import tells_costs
from matrix.store.run.run_folder import RunFile

FLAGS: Mapping[Flag, str] = {
    "fragile": "fragile: the scores that are missing could overturn it",
    "these scenarios only": "about the scenarios played, not others like them",
}
"""What the flags of a verdict say to people."""

_ENGINES = {
    "fixed": "t intervals",
    "planned": "intervals that allow for a look after every round",
    "open-ended": "intervals that allow for looks at any time",
}

SCENARIOS_ONLY: Flag = "these scenarios only"


@dataclass(frozen=True, slots=True)
class VariantRow:
    """One level of the compared factor, with every denominator.

    ``failed`` is ``None`` where the files of imported results do not tell it.
    ``cost_per_completed_usd`` is what all sessions have cost but those that were cut short, over
    those that completed, in US dollars; ``None`` where none did.
    """

    level: str
    sessions: int
    ended: int
    failed: int | None
    errored: int
    censored: int
    mean: float | None
    low: float | None
    high: float | None
    cost_per_completed_usd: float | None


@dataclass(frozen=True, slots=True)
class WholeRun:
    """All sessions of a run with one variant: what a row of a comparison says, with no verdict."""

    metric: str
    confidence: float
    row: VariantRow
    unscored: tuple[Unscored, ...]
    score_digits: int = 1


@dataclass(frozen=True, slots=True)
class FactorComparison:
    """A factor's levels compared on one metric: table, verdict, and the sentence that says it.

    ``cautions`` are sentences that belong beside it, such as what missing scores could change;
    ``unscored`` has the sessions without a value of each variant; ``measure`` is the metric with
    its direction, in words. ``void`` says why nothing is
    claimed, where the judge's own verdict does not stand, and ``undone`` which pairs of it show
    nothing for the same reason, one by one. ``left_out`` has rounds of the longer of two runs that
    have no partner, and ``shared_only`` says that one was planned to be longer.
    """

    factor: str
    metric: str
    rows: tuple[VariantRow, ...]
    verdict: Verdict
    sentence: str
    rests_on: str
    cautions: tuple[str, ...]
    unscored: tuple[Unscored, ...]
    simulated: str
    measure: str
    void: Void | None
    undone: tuple[bool, ...] = ()
    score_digits: int = 1
    unit: str = "round"
    left_out: LeftOut | None = None
    shared_only: bool = False


def compare_factor(
    tables: RunTables,
    run: RunFile,
    factor: str | None = None,
    metric: str | None = None,
    margin: float | None = None,
) -> FactorComparison:
    """Compare the levels of a factor, paired by round, scenario and every other factor.

    Raises:
        BadInput: No such factor or metric, or nothing to compare.
    """
    return compare(factor_matchup(tables, run, factor), metric, margin)


def whole_run(tables: RunTables, run: RunFile) -> WholeRun:
    """All sessions of a run in one row, on its declared metric.

    Raises:
        BadInput: No session has the metric.
    """
    matchup = whole_matchup(tables, run)
    table, _ = matchup.round_table(matchup.metric)
    rules = declared_rules(matchup.spec, matchup.kind)
    bounds = known_bounds(table, bounded_by(table, rules))
    own = own_mean(table.scores[:, :, 0], rules.alpha, bounds=bounds)
    row = _row(matchup, 0, own, bounds)
    name = _name_of_all(run)
    unscored = tuple(one._replace(level=name) for one in unscored_of(matchup, matchup.metric))
    return WholeRun(
        matchup.metric, 1.0 - rules.alpha, replace(row, level=name), unscored, matchup.score_digits
    )


def _name_of_all(run: RunFile) -> str:
    """What all sessions are called together: a single variant that was imported has a name."""
    levels = [names[0] for names in run.plan.factors.values() if len(names) == 1]
    alone = run.imported and len(levels) == len(run.plan.factors)
    return ", ".join(levels) if alone and levels else "all"


def compare(
    matchup: Matchup, metric: str | None = None, margin: float | None = None
) -> FactorComparison:
    """Compare the variants of a matchup on one metric, the declared one if left out.

    Raises:
        BadInput: There is no such metric, or the margin is none.
    """
    return comparison_of(judge(matchup, metric, margin))


@dataclass(frozen=True, slots=True, eq=False)
class MatchupVerdict:
    """A matchup with its verdict on one metric: what every section of a comparison starts from.

    Attributes:
        matchup: Who competes.
        metric: On what.
        table: Complete rounds of it.
        left_out: Pairs left out because a session has no value.
        outside: Lowest and highest score, if they lie outside the range that the kind declares.
        verdict: What can be said.
        people: What labels say of the variants; ``None`` without labels.
        elsewhere: Errors of the judge that only labels of other runs show.
        void: Why that is less than the scores alone say, where labels undo them.
    """

    matchup: Matchup
    metric: str
    table: RoundTable
    left_out: int
    outside: tuple[float, float] | None
    verdict: Verdict
    people: ByPeople | None = None
    elsewhere: tuple[ErrsElsewhere, ...] = ()
    void: Void | None = None

    def error_between(self, first: str, second: str) -> BiasDifference | None:
        """How much more the judge errs for ``first``, where labels show that it errs otherwise."""
        return None if self.people is None else self.people.error_between(first, second)

    @property
    def sign(self) -> int:
        """1 if more of the metric is better, -1 if less."""
        return 1 if self.verdict.rules.higher_is_better else -1

    @property
    def turned(self) -> bool:
        """Whether it goes in another direction than was declared before launch."""
        declared = declared_rules(self.matchup.spec, self.matchup.kind, metric=self.metric)
        return self.verdict.rules.higher_is_better != declared.higher_is_better

    @property
    def measure(self) -> str:
        """The metric with its direction, in words."""
        lower = not self.verdict.rules.higher_is_better
        return measure_told(self.matchup.kind, self.metric, lower=lower)

    @property
    def by_late_margin(self) -> bool:
        """Whether an equivalence rests on a margin that nobody declared before launch."""
        declared = declared_rules(self.matchup.spec, self.matchup.kind, metric=self.metric).delta
        return self.verdict.kind == "equivalent" and self.verdict.rules.delta != declared


def judge(
    matchup: Matchup,
    metric: str | None = None,
    margin: float | None = None,
    *,
    lower: bool | None = None,
) -> MatchupVerdict:
    """Give the verdict on one metric, the declared one if left out.

    Args:
        matchup: Who competes.
        metric: On what.
        margin: Differences that count as none; the declared ones if left out.
        lower: Whether less of the metric is better, whatever was declared of it.

    Raises:
        BadInput: There is no such metric, or the margin is none.
    """
    chosen = metric or matchup.metric
    if margin is not None and not 0.0 < margin < inf:
        told = f"found {margin:g}; a margin is a number above 0, in units of the metric"
        raise BadInput([Mistake("--margin", None, "", told)])
    table, left_out = matchup.round_table(chosen)
    rules = declared_rules(matchup.spec, matchup.kind, metric=chosen, margin=margin)
    outside = beyond_bounds(table, rules.score_bounds)
    rules = replace(
        bounded_by(table, rules),
        unit=rules.unit if matchup.paired else "unpaired",
        higher_is_better=rules.higher_is_better if lower is None else not lower,
        # what one of two runs does not tell decides nothing between them
        failure_margin=1.0 if matchup.failures_untold_by else rules.failure_margin,
    )
    over = matchup.over
    if matchup.looked_at_cap is not None:
        table, over = table.up_to(matchup.looked_at_cap), True
    elif rules.engine == "fixed":
        # a cap is no reason to look: adding rounds and looking again errs .08 to .16 of the time
        over &= table.prefix_length >= matchup.n_whole
    verdict = verdict_of(table, rules, plan_over=over)
    return voided(MatchupVerdict(matchup, chosen, table, left_out, outside, verdict))


def comparison_of(judged: MatchupVerdict) -> FactorComparison:
    """The table, the verdict and the sentence that says it."""
    matchup, verdict, metric = judged.matchup, judged.verdict, judged.metric
    bounds = known_bounds(judged.table, verdict.rules)
    return FactorComparison(
        factor=matchup.factor,
        metric=metric,
        rows=tuple(
            _row(matchup, index, summary, bounds) for index, summary in enumerate(verdict.variants)
        ),
        verdict=verdict,
        sentence=_sentence(judged),
        rests_on=_rests_on(judged),
        cautions=cautions_of(judged),
        unscored=unscored_of(matchup, metric),
        simulated=matchup.simulated,
        measure=judged.measure,
        void=judged.void,
        undone=tuple(is_undone(judged, pair) for pair in verdict.comparisons),
        score_digits=matchup.score_digits,
        unit=matchup.unit,
        left_out=left_out_of(matchup, metric),
        shared_only=matchup.shared_only,
    )


def _sentence(judged: MatchupVerdict) -> str:
    if judged.void is not None:
        return judged.void.sentence
    matchup, metric = judged.matchup, judged.metric
    said = verdict_sentence(
        judged.verdict,
        matchup.variants,
        name_of(metric),
        unit_of(metric, matchup.kind.score_range),
        matchup.unit,
    )
    late = " The margin was given after launch, so this describes, and proves nothing."
    if judged.turned:
        said += f" {turned_told(judged)}"
    return said + late if judged.by_late_margin else said


def turned_told(judged: MatchupVerdict) -> str:
    """That what is compared goes in another direction than the run says, in a sentence."""
    told = direction_told(lower=judged.sign < 0)
    if all(tables.run.imported for tables in judged.matchup.sources):
        return f"That {told} is said here, and not in the run."
    return f"That {told} was not declared before launch."


def _row(
    matchup: Matchup,
    index: int,
    summary: VariantSummary | OwnMean,
    score_bounds: tuple[float, float] | None,
) -> VariantRow:
    mine = matchup.sides == index
    outcomes = Counter(matchup.outcomes[mine])
    completed = outcomes["completed"]
    # failures are part of the price of a success; what was cut short might yet have been one
    spent = float(matchup.cost_usd[mine & (matchup.outcomes != "censored")].sum())
    bounds = score_bounds or (-inf, inf)  # a mean cannot lie outside them either
    return VariantRow(
        level=matchup.variants[index],
        sessions=int(mine.sum()) - outcomes["dropped"],
        ended=completed + outcomes["timeout"],
        failed=None if _is_untold(matchup, mine) else outcomes["failed"] + outcomes["timeout"],
        errored=outcomes["errored"],
        censored=outcomes["censored"],
        mean=summary.mean,
        low=None if summary.interval is None else max(summary.interval.low, bounds[0]),
        high=None if summary.interval is None else min(summary.interval.high, bounds[1]),
        # what no imported file says is not nothing
        cost_per_completed_usd=None
        if not completed or not (spent or _tells_costs(matchup, mine))
        else spent / completed,
    )


def _tells_costs(matchup: Matchup, mine: npt.NDArray[np.bool_]) -> bool:
    """Whether a variant that cost nothing is known to have cost nothing."""
    return all(
        tells_costs(matchup.sources[int(one)].run) for one in np.unique(matchup.source[mine])
    )


def _is_untold(matchup: Matchup, mine: npt.NDArray[np.bool_]) -> bool:
    """Whether the files of a variant's results do not say what failed."""
    own = {matchup.sources[int(one)].run.run_id for one in np.unique(matchup.source[mine])}
    return bool(own & set(matchup.failures_untold_by))


PAIRS_OF_SESSIONS = (
    "pairs of sessions within their scenario, taken as independent: where sessions of one round go "
    "together, a winner among equals is likelier (one look: 7, 8, 14 % at a correlation of .05, "
    ".1, .2)"
)
"""What a comparison with sessions as its unit rests on; the figures are those of the docs."""


BY_COUNTS = (
    "intervals of the difference of two rates that share nothing, from their counts (Newcombe's "
    "and, of one scenario, Fisher's mid-p)"
)
"""What a comparison of yes/no scores rests on where nothing pairs them."""


def _intervals_on(judged: MatchupVerdict) -> str:
    """What the intervals are, and of what."""
    verdict = judged.verdict
    if verdict.rules.unit == "unpaired" and two_values(judged.table) is not None:
        return BY_COUNTS
    of = _differences_of(verdict, judged.matchup.unit)
    return f"{_ENGINES[verdict.rules.engine]} on {of}"


def _differences_of(verdict: Verdict, unit: str) -> str:
    """What intervals are of."""
    return {
        "round": f"{unit} differences",
        "session": PAIRS_OF_SESSIONS,
        "unpaired": "the difference of two samples that share nothing (Welch's, or with the spread "
        "of both where that is wider)",
    }[verdict.rules.unit]


def _of_import(matchup: Matchup) -> list[str]:
    """What nobody can know of results that were made elsewhere."""
    if matchup.absent is None:
        return []
    there = np.bincount(matchup.sides, minlength=len(matchup.variants))
    parts = []
    if matchup.paired:
        # a unit of a scenario that some variant has and another has not; what none has was never
        # asked, and the repeats of a unit are averaged
        within = [levels for name, levels in matchup.within.items() if name not in AVERAGED]
        numbers = {key: at for at, key in enumerate(dict.fromkeys(zip(*within, strict=True)))}
        strata = np.array([numbers.get(key, 0) for key in zip(*within, strict=True)] or [0])
        places = matchup.units * len(matchup.strata) + strata[matchup.places]
        sides = [np.unique(places[matchup.sides == one]) for one in range(len(there))]
        some, all_ = np.unique(np.concatenate(sides)), sides[0]
        for own in sides[1:]:
            all_ = np.intersect1d(all_, own)
        if lost := len(some) - len(all_):
            told = f"{'is' if lost == 1 else 'are'} not there for every variant"
            parts.append(f"{plural(lost, matchup.unit)} {told}, and in no pair that lacks it")
    parts.append(
        "imported: nothing was declared before these results were made, how often they were "
        "looked at is not known, and this takes them for one look at all there is"
    )
    if untold := matchup.failures_untold_by:
        whose = "" if len(untold) == len(matchup.sources) else f" of {names_listed(untold)}"
        parts.append(f"on scores alone, as the files{whose} do not say what failed")
    return parts


def _scored_rows(judged: MatchupVerdict) -> str:
    """Rows or units of each variant that its score is from, and of how many where it has more."""
    matchup, scores = judged.matchup, judged.table.scores
    own = matchup.units[:, None] if matchup.grouped else np.arange(len(matchup.sides))[:, None]
    apart = np.unique(np.column_stack([own, matchup.sides]), axis=0)
    counts = np.bincount(apart[:, 1], minlength=len(matchup.variants)).tolist()
    scored = np.isfinite(scores).sum(axis=(0, 1)).tolist()
    parts = []
    for name, known, of in zip(matchup.variants, scored, counts, strict=True):
        told = f"{plural(known, matchup.unit)} of {name}"
        parts.append(told if known == of else f"{told} with a {judged.metric} (of {of:,})")
    return ", ".join(parts)


def _rests_on(judged: MatchupVerdict) -> str:
    matchup, verdict, left_out = judged.matchup, judged.verdict, judged.left_out
    unit = matchup.unit
    of_all = f"{plural(verdict.rounds_used, f'complete {unit}')} of {verdict.rounds_planned:,}"
    if matchup.shared_only:
        of_all += " that both runs planned"
    if not matchup.paired:
        of_all = _scored_rows(judged)
    parts = [
        f"{of_all}, {matchup.basis}",
        judged.measure,
        f"{100 * (1 - verdict.rules.alpha):.4g} % {_intervals_on(judged)}"
        + (
            f" ({100 * (1 - verdict.comparisons[0].level):.4g} % ones in the table of pairs)"
            if len(verdict.variants) > 2
            else ""
        ),
    ]
    again = matchup.sources[0].run.branched
    if matchup.factor != "run" and again is not None and again.design is not None:
        parts.append(f"judged again, and compared by the plan and the looks of run {again.run_id}")
        if matchup.unjudged:
            told = plural(len(matchup.unjudged), "session")
            parts.append(f"{told} of it that cannot be judged again cost their pairs")
    if left_out and matchup.paired:
        parts.append(
            f"{plural(left_out, 'pair')} left out for want of a value, which may favour a variant"
        )
    since = verdict.rounds_complete - (verdict.decided_at or verdict.rounds_complete)
    if since > 0:
        parts.append(
            f"the table of variants also counts {plural(since, unit)} that ended after that"
        )
    if verdict.pairs_errored and matchup.absent is None:
        lost = plural(verdict.pairs_errored, "pair")
        parts.append(f"{lost} dropped because a session errored")
    parts += _of_import(matchup)
    if verdict.pairs_unscored and not left_out and matchup.paired:
        told = plural(verdict.pairs_unscored, "pair")
        parts.append(f"{told} left out of scores because one of the two has none")
    if judged.outside is not None:
        low, high = judged.outside
        parts.append(
            f"scores from {low:g} to {high:g}, beyond the range that is declared of them "
            "(`score_range`, from 0 to 1 where a kind says nothing), so nothing is known of their "
            "bounds"
        )
    flags = [flag for flag in verdict.flags if not (matchup.scope and flag == SCENARIOS_ONLY)]
    parts += [*(FLAGS[flag] for flag in flags), *([matchup.scope] if matchup.scope else [])]
    if matchup.simulated:
        parts.append(models_told(matchup.simulated))
    return "; ".join(parts)
