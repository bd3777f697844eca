"""The further sections of a comparison; ``None`` for what there is nothing to say of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matrix.report.compare.judges.judge_bias import BiasDifference
from matrix.report.compare.judges.judge_check import people_differ
from matrix.report.compare.judges.labelled import LEAST_WITH_JUDGE
from matrix.report.compare.study_words import chance, short
from matrix.report.study.cost_quality import CostQuality
from matrix.report.study.noise_sources import NoiseRow
from matrix.report.study.secondary import Secondary, SecondaryRow
from matrix.report.text import Section, ends_of, interval, names_listed, number, plural, usd_each
from matrix.stats import MIN_ROUNDS

if TYPE_CHECKING:
    from matrix.report.study.study import Study

_NOISE = {
    "scenario": "scenario (some are harder)",
    "scenario x variant": "scenario x variant (favours one)",
    "round": "round (its seed)",
    "group": "group (round in one scenario)",
    "session": "session (same group, same variant)",
    "judge": "judge (same transcript)",
}

_NOISE_OF_UNITS = {
    "round": "unit in all scenarios",
    "group": "unit (some are harder)",
    "session": "result (same unit, same variant)",
}
"""The same of imported results."""


def risk_section(study: Study) -> Section | None:
    """What shipping each variant now would risk, where nothing is shown."""
    found = study.risk
    if found is None:
        return None
    figures = study.figures
    headers = [study.factor, "chance of being best", "gives up on average", "$ per completed"]
    rows = [
        [
            row.level,
            "-" if row.chance_best is None else f"{row.chance_best:.0%}",
            figures.number(row.expected_loss),
            usd_each(row.cost_usd),
        ]
        for row in found.rows
    ]
    note = (
        f"From {plural(found.rounds, study.unit)} and a weak prior (one more "
        f"{study.unit} in which all are equal). `Gives up` is the {study.metric} lost on average "
        "if that one is shipped now and another is better. Scores only: failures are not in it."
    )
    title = "If it had to be decided now (a bet, no verdict):"
    return Section(title, headers, rows, (1, 2, 3), (note,))


def people_section(study: Study) -> Section | None:
    """What people say of the variants, beside what the judge says."""
    found = study.people
    if found is None:
        return None
    figures = study.figures
    headers = [study.factor, "labelled", "judge", "people", "people, by judge", "95 % interval"]
    rows = [
        [
            row.level,
            f"{row.labelled:,}/{row.sessions:,}",
            figures.number(row.judge),
            figures.number(row.people),
            *figures.mean(row.mean, *ends_of(row.interval)),
        ]
        for row in found.rows
    ]
    told = [
        f"The judge errs differently for {one.first} and {one.second}, by "
        f"{figures.difference(one.difference)} ({one.sure}): {_so(study, one)}."
        for one in found.differs
    ]
    if people_differ(found.people_alpha):
        told.append(
            f"People agree with each other too little (alpha {found.people_alpha:.2f}) for their "
            "labels to show how the judge errs, so nothing is held against it here."
        )
    if few := [row.level for row in found.rows if 0 < row.labelled < LEAST_WITH_JUDGE]:
        told.append(
            f"Fewer than {LEAST_WITH_JUDGE} labels of {', '.join(few)}: people alone, as the "
            "judge's part cannot be told from so few."
        )
    told.append(
        "People, by judge: the mean that people would give all sessions, from the labelled ones "
        "and the judge (prediction-powered); right even where the judge is wrong."
    )
    title = f"By people, on {found.metric}:"
    return Section(title, headers, rows, (1, 2, 3, 4), (" ".join(told),))


def _so(study: Study, error: BiasDifference) -> str:
    """What that means for this verdict."""
    void = study.comparison.void
    if void is not None and void.concerns(error.first, error.second):
        return "a verdict by it alone is void"
    row = next((one for one in study.pairs if error.concerns(one.first, one.second)), None)
    if row is None:
        return "what it says of these two is no comparison"
    if row.finding == "void":
        return "what it says of these two is void"
    favours = error.turned(row.first).difference > 0
    if favours != study.verdict.rules.higher_is_better:
        return "not in favour of the one of them that is ahead"
    if study.verdict.kind in ("winner", "equivalent"):
        return "too little to undo this verdict"
    return "too little to undo what it shows of these two"


def breakdown_section(study: Study) -> Section | None:
    """The leading pair at every level."""
    found = study.breakdown
    if found is None:
        return None
    figures = study.figures
    headers = [found.by, "pairs", found.first, found.second, "difference"]
    rows = [
        [
            row.level,
            f"{row.pairs:,}",
            figures.number(row.first),
            figures.number(row.second),
            figures.difference(row.difference),
        ]
        for row in found.rows
    ]
    note = "Descriptive: with so many looks, some level differs by chance. It tests nothing."
    title = f"By {found.by}, {found.first} minus {found.second}:"
    return Section(title, headers, rows, (1, 2, 3, 4), (note,))


def elsewhere_told(study: Study) -> str:
    """What is said about new scenarios."""
    found = study.elsewhere
    told = found.sentence
    if found.difference is not None:
        figures = study.figures
        told += (
            f" Difference {figures.difference(found.difference, found.low, found.high)}, "
            f"{100 * (1 - found.level):.4g} % interval {figures.interval(found.low, found.high)}, "
            f"p {chance(found.p)}."
        )
    return told


def secondary_section(study: Study, *, all_metrics: bool) -> Section | None:
    """Other metrics on which the leading pair differs, or all of them."""
    found = study.secondary
    if found is None:
        return None
    shown = found.rows if all_metrics else found.found
    untested = len(found.rows) - found.tested
    counted = f"{len(found.found)} of {plural(found.tested, 'other metric')} tested differ"
    if not found.tested:
        counted = "none could be tested"
    title = f"Other metrics, {found.first} minus {found.second}: {counted}"
    headers, rows = _secondary_table(found, shown, study.unit, all_metrics=all_metrics)
    if study.verdict.rules.unit == "unpaired":
        headers[1] = f"{study.unit}s of fewer"
    notes = []
    if found.tested:
        notes.append(
            f"Corrected for their number by {found.method}: of those found, about "
            f"{100 * found.alpha:.3g} % at most are expected to be chance. They decide nothing."
        )
    if void := [row.metric for row in found.rows if row.void]:
        notes.append(f"{names_listed(void)}: the difference is void, as the judge errs.")
    if untested:
        notes.append(f"{untested} could not be tested ({_why_not(found)}).")
    if not all_metrics and len(found.rows) > len(shown):
        notes.append("`--all-metrics` lists every one.")
    title += ":" if shown else "."
    return Section(title, headers, rows, (1, 2, 3, 4, 5), (" ".join(notes),))


def _secondary_table(
    found: Secondary, shown: tuple[SecondaryRow, ...], unit: str, *, all_metrics: bool
) -> tuple[list[str], list[list[str]]]:
    headers = ["metric", f"{unit}s", found.first, found.second, "difference", "corrected p"]
    rows = [
        [
            row.metric,
            f"{row.rounds:,}",
            short(row.first),
            short(row.second),
            "-" if row.difference is None else short(row.difference),
            chance(row.adjusted),
        ]
        for row in shown
    ]
    if all_metrics:
        headers.append("differs")
        for cells, row in zip(rows, shown, strict=True):
            told = row.untested or ("void, as the judge errs" if row.void else "not shown")
            cells.append("yes" if row.found else told)
    return headers, rows


def _why_not(found: Secondary) -> str:
    counts: dict[str, int] = {}
    for row in found.rows:
        if row.untested:
            counts[row.untested] = counts.get(row.untested, 0) + 1
    return ", ".join(f"{count} with {why}" for why, count in counts.items())


def cost_quality_section(study: Study) -> Section | None:
    """Cost beside quality."""
    found = study.cost_quality
    if found is None:
        return None
    figures = study.figures
    confidence = f"about {100 * found.confidence:.4g} %"
    headers = [
        study.factor, study.metric, "$ a session", f"x {found.reference}", confidence,
        "on frontier", "share of draws",
    ]  # fmt: skip
    rows = [
        [
            row.level,
            figures.number(row.mean),
            usd_each(row.cost_per_session_usd),
            number(row.ratio, 2),
            interval(row.low, row.high, 2),
            "-" if row.on_frontier is None else "yes" if row.on_frontier else "no",
            "-" if row.membership is None else f"{100 * row.membership:.0f} %",
        ]
        for row in found.rows
    ]
    told = _dominance(found)
    if found.margin is None:
        told.append("Without a margin, only what is shown to be better counts as no worse.")
    told.append(
        "Intervals of costs are approximate. On the frontier: no other is at least as good and as "
        "cheap; the share of draws describes how firmly, and tests nothing."
    )
    shared = "" if study.comparison.left_out is None else f" of the {study.unit}s of both runs"
    title = f"Cost beside {study.metric}, failed sessions{shared} included:"
    return Section(title, headers, rows, (1, 2, 3, 6), (" ".join(told),))


def _dominance(found: CostQuality) -> list[str]:
    """Who dominates whom, a sentence for each who does."""
    beaten: dict[str, list[str]] = {}
    for who, whom in found.dominating:
        beaten.setdefault(who, []).append(whom)
    if not beaten:
        return ["No variant is shown to dominate another (to be no worse by score, and cheaper)."]
    told = [
        f"{who} dominates {' and '.join(whom)} by score and cost; how often they fail is no part "
        "of that."
        for who, whom in beaten.items()
    ]
    pairs = round((1.0 - found.confidence) / found.strict)
    held = f", at an error rate of {100 * (1 - found.confidence):.3g} % over {pairs} pairs"
    return [*told, f"That is: shown to be no worse, and cheaper{held if pairs > 1 else ''}."]


def noise_section(study: Study) -> Section | None:
    """Where the noise comes from, and what to buy."""
    found = study.noise
    if found is None:
        return None
    headers = ["source", "share", "sd"]
    rows = [_noise_cells(row, study) for row in found.rows if row.share is not None]
    inside = {name for row in found.rows for name in row.includes}
    apart = [row.source for row in found.rows if row.share is None and row.source not in inside]
    rounds = plural(found.rounds, f"whole {study.unit}")
    if found.lone:  # nobody would look for scenarios where there is one
        apart = [name for name in apart if not name.startswith("scenario")]
    notes = [found.advice]
    if found.rounds < MIN_ROUNDS:
        notes.append(f"From so few {study.unit}s, all this is rough.")
    if any(row.below_zero for row in found.rows):
        notes.append("An estimate below 0 is shown as 0.")
    if apart:
        notes.append(f"Not told apart here: {', '.join(apart)}.")
    title = f"Where the noise of a session's {study.metric} comes from ({rounds}):"
    return Section(title, headers, rows, (1, 2), (" ".join(notes),))


def _noise_cells(row: NoiseRow, study: Study) -> list[str]:
    found = study.noise
    assert found is not None
    words = _NOISE if study.unit == "round" else _NOISE | _NOISE_OF_UNITS
    name = words[row.source].replace("scenario", found.strata)
    # a unit that was imported has one result of each variant: no group, and nobody's judge
    includes = row.includes if study.unit == "round" else ()
    if includes:
        name += f", with {' and '.join(includes)}"
    return [name, f"{100 * (row.share or 0.0):.0f} %", study.figures.number(row.sd)]
