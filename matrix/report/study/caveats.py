"""What to know before believing a comparison, in whole sentences; most comparisons have few."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from matrix.model.metrics import OF_FAILURES_TOO
from matrix.model.records import PLAYED
from matrix.report.compare.changes import changes_between, other_rules
from matrix.report.compare.compare import MatchupVerdict, turned_told
from matrix.report.compare.left_out import left_out_of
from matrix.report.compare.unscored import (
    unscored_of,
    unscored_told,
)
from matrix.report.run.summary import moved_models
from matrix.report.run.summary_text import moved_alias
from matrix.report.text import plural
from matrix.stats.rounds.own_mean import own_mean
from matrix.stats.verdicts.one_look import two_values
from matrix.store.reading.reader import RunTables
from matrix.store.reading.told import notes_of
from matrix.store.run.made_here import NOT_MADE_HERE, is_made_here

ENOUGH_LEFT = 0.05
"""Share of pairs left out for want of a value from which that is a caveat."""


def caveats_of(judged: MatchupVerdict, margin: float | None) -> tuple[str, ...]:
    """All that applies, the most serious first.

    Args:
        judged: The comparison.
        margin: The margin that was asked for, if one was.
    """
    return (
        *_left_out(judged),
        *_from_elsewhere(judged),
        *_imported(judged),
        *_undeclared(judged),
        *_turned(judged),
        *_late_margin(judged, margin),
        *_peeked(judged),
        *_unscored(judged),
        *_values(judged),
        *_approximate(judged),
        *_moved(judged),
        *_changed(judged),
        *_schemas(judged),
    )


def _left_out(judged: MatchupVerdict) -> Iterator[str]:
    """Rounds of the longer of two runs, which nothing here counts."""
    found = left_out_of(judged.matchup, judged.metric)
    if found is not None:
        yield f"{found.told}."


def _from_elsewhere(judged: MatchupVerdict) -> Iterator[str]:
    """Whether somebody else may have written what is compared."""
    for tables in judged.matchup.sources:
        if not is_made_here(tables.run_dir, tables.run):
            yield f"{tables.run.run_id} {NOT_MADE_HERE}."


def _imported(judged: MatchupVerdict) -> Iterator[str]:
    """What imported files leave open, as it was told when they were imported."""
    for tables in judged.matchup.sources:
        yield from notes_of(tables.run)


def _undeclared(judged: MatchupVerdict) -> Iterator[str]:
    """Whether what is compared was declared before launch, in every run that takes part."""
    matchup = judged.matchup
    plans = [tables.run.plan for tables in matchup.sources]
    declared = [plan.compared for plan in plans]
    if matchup.factor != "run" and matchup.factor not in declared:
        yield (
            f"{matchup.factor} was not declared before launch as what is compared "
            f"({declared[0] or 'nothing'} was): look at this as a hint, and play a run of its own "
            "to be sure."
        )
    metrics = list(dict.fromkeys(plan.metric for plan in plans))
    if judged.metric not in metrics:
        yield (
            f"{judged.metric} was not declared before launch as the metric "
            f"({' and '.join(metrics)} was): look at this as a hint. The more metrics are tried, "
            "the more of them differ by chance."
        )


def _turned(judged: MatchupVerdict) -> Iterator[str]:
    """That the direction is another than was declared, and what rests on the declared one."""
    if not judged.turned:
        return
    told = f"{turned_told(judged)} Differences are the same either way; what they mean is your word"
    if all(tables.run.imported for tables in judged.matchup.sources):
        yield f"{told}; `matrix import` with the same flag makes a run that has it everywhere."
        return
    if judged.verdict.rules.engine != "fixed":
        told += ", and who got no more sessions was decided by the other direction"
    yield f"{told}. Reports of the run, and its gates, go by what was declared."


def _late_margin(judged: MatchupVerdict, margin: float | None) -> Iterator[str]:
    declared = judged.matchup.spec.compare.margin
    if margin is None or margin == declared:
        return
    before = "none was" if declared is None else f"{declared:g} was"
    # what was imported has no spec, and nothing could be declared before
    imported = all(tables.run.imported for tables in judged.matchup.sources)
    where = "" if imported else "; declare it as compare.margin"
    yield (
        f"Post hoc: the margin of {margin:g} was given after launch ({before} declared before). A "
        f"margin chosen when the scores are known proves nothing{where}."
    )


def _peeked(judged: MatchupVerdict) -> Iterator[str]:
    """Sections that look once do not allow for a run that was stopped by looking."""
    spec = judged.matchup.spec
    if spec.engine == "fixed" or judged.verdict.rules.engine != "fixed":
        return
    yield (
        f"The run was looked at after every {judged.matchup.unit}, on {spec.compare.metric}; the "
        f"intervals of {judged.metric} do not allow for that, and are a little too narrow."
    )


def _unscored(judged: MatchupVerdict) -> Iterator[str]:
    """Whose sessions have no score though they came to an end; of none but such, another says."""
    found = unscored_of(judged.matchup, judged.metric)
    told = unscored_told(found, judged.metric)
    if told and any(one.without < one.ended for one in found):
        yield told


def _values(judged: MatchupVerdict) -> Iterator[str]:
    """Metrics that have no value, or one and the same, in sessions that should have one."""
    matchup, table = judged.matchup, judged.table
    values = matchup.values(judged.metric)
    ended = np.isin(matchup.outcomes, ("completed", "timeout"))
    if judged.metric in OF_FAILURES_TOO:
        ended = np.isin(matchup.outcomes, PLAYED)
    infinite = int(np.isinf(values[ended]).sum())
    if infinite:
        yield (
            f"{plural(infinite, 'session')} of {int(ended.sum()):,} that ended "
            f"{'has' if infinite == 1 else 'have'} an infinite {judged.metric}, which counts as "
            "no value."
        )
    known = values[ended & np.isfinite(values)]
    if ended.any() and not known.size:
        yield f"None of the {int(ended.sum()):,} sessions that ended has a {judged.metric}."
    elif known.size > 1 and np.ptp(known) == 0:
        yield f"Every session has the same {judged.metric}, {known[0]:g}: it tells nobody apart."
    pairs = table.prefix_length * table.n_scenarios if matchup.paired else len(matchup.ids)
    noun = "pair" if matchup.paired else matchup.unit
    if pairs and known.size and judged.left_out > ENOUGH_LEFT * pairs:
        yield (
            f"{judged.left_out:,} of {plural(pairs, noun)} have no {judged.metric} and are left "
            "out: this is about the sessions that have one, which may not be alike."
        )
    if matchup.factor == "run" and table.prefix_length == 0:
        yield f"The runs have no complete {matchup.unit} in common, so nothing can be paired."


def _approximate(judged: MatchupVerdict) -> Iterator[str]:
    """Variants whose own interval may cover less than it says."""
    names = judged.matchup.variants
    found = [names[one.index] for one in judged.verdict.variants if one.approximate]
    if found:
        beside = " That of a difference is not touched by it."
        if skewed := _skewed_differences(judged):
            beside = f" So is that of a difference: {skewed}."
        if not judged.matchup.paired:  # a difference is of these very means, if not of counts
            counted = two_values(judged.table) is not None
            beside = "" if counted else " So is that of a difference of it."
        told = f"The interval of the mean of {', '.join(found)} is approximate: few scores, or "
        yield f"{told}skewed ones.{beside}"


def _skewed_differences(judged: MatchupVerdict) -> str:
    """Which pairs of variants have differences as skewed as that, or as few, in words."""
    table, names = judged.table, judged.matchup.variants
    found = []
    for one in judged.verdict.comparisons:
        differences = table.scores[:, :, one.b] - table.scores[:, :, one.a]
        if own_mean(differences[table.both_live(one.a, one.b)]).approximate:
            found.append(f"{names[one.a]} and {names[one.b]}")
    return ", ".join(found)


def _moved(judged: MatchupVerdict) -> Iterator[str]:
    """Models whose name stood for something else in one part of what is compared."""
    for model, names in moved_models(judged.matchup.sources).items():
        yield f"{moved_alias(model, names)}."


def _changed(judged: MatchupVerdict) -> Iterator[str]:
    """What is other in one of two runs: it may be what is compared, or all there is to it."""
    one, two = judged.matchup.sources[0], judged.matchup.sources[-1]
    if one is two:
        return
    twice = judged.matchup.judged_twice
    if other := changes_between(one, two, judged_twice=twice):
        yield f"Other in {two.run.run_id} than in {one.run.run_id}: {other}."
    if judged.verdict.rules.engine != "open-ended":
        yield from _grown(one, two)
    if rules := other_rules(one, two):
        yield (
            f"The rules of {two.run.run_id} hold here, and the runs declare others: {rules}. The "
            "verdict may be another the other way round."
        )
    if twice:
        yield (
            f"{two.run.run_id} and {one.run.run_id} judge the same transcripts: what differs is "
            "their judging, and what they cost says nothing of a variant."
        )


def _grown(*sources: RunTables) -> Iterator[str]:
    """Runs that got more sessions than they were begun with, maybe after they were compared."""
    for run in (tables.run for tables in sources):
        if run.grown_from is not None:
            yield (
                f"{run.run_id} was planned with {plural(run.grown_from, 'session')} and has got "
                f"{run.plan.sessions:,} since: if it was compared before that, this errs more "
                "often than it says (.08 to .16 instead of .05)."
            )


def _schemas(judged: MatchupVerdict) -> Iterator[str]:
    """Tables that were written by versions with other columns."""
    found = {
        version
        for tables in judged.matchup.sources
        for name in ("sessions", "scores")
        for version in tables.schema_versions(name)
    }
    if len(found) > 1:
        told = " and ".join(sorted(found))
        yield (
            f"The tables are of schema versions {told}: what the older ones did not record counts "
            "as missing. `matrix repair RUN` writes a run's tables anew."
        )
