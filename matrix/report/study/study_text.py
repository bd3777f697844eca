"""A comparison as text: variants, verdict, differences, and what would settle it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matrix.report.compare.compare import VariantRow
from matrix.report.compare.study_words import FINDINGS, FLAGS, Figures, chance, reason_told
from matrix.report.study.pairs import PairRow
from matrix.report.study.study_sections import (
    breakdown_section,
    cost_quality_section,
    elsewhere_told,
    noise_section,
    people_section,
    risk_section,
    secondary_section,
)
from matrix.report.text import (
    WIDTH,
    Section,
    harmless,
    models_told,
    noted,
    plural,
    usd_each,
    wrapped,
)
from matrix.stats import AGREEMENT_WARN_BELOW
from matrix.stats.rounds.rules import Flag

if TYPE_CHECKING:
    from matrix.report.study.study import Study


def study_as_text(study: Study, *, all_metrics: bool = False, width: int = WIDTH) -> str:
    """All sections, at most ``width`` wide where lines can be broken.

    Args:
        study: What to show.
        all_metrics: List every secondary metric, not only those on which variants differ.
        width: Columns.
    """
    parts = [
        _head(study, width),
        variants_section(study).as_text(width),
        _verdict(study, width),
        _text(risk_section(study), width),
        _text(pairs_section(study), width),
        _text(people_section(study), width),
        _text(breakdown_section(study), width),
        wrapped(elsewhere_told(study), "Other scenarios: ", width=width),
        _text(secondary_section(study, all_metrics=all_metrics), width),
        _text(cost_quality_section(study), width),
        _text(noise_section(study), width),
    ]
    return harmless("\n\n".join(part for part in parts if part))


def _head(study: Study, width: int) -> str:
    verdict = study.verdict
    many = study.factor if study.factor.endswith("s") else f"{study.factor}s"
    what = plural(len(study.rows), study.factor, many)
    rounds = plural(verdict.rounds_complete, f"complete {study.unit}")
    planned = "that both runs planned" if study.comparison.shared_only else "planned"
    rounds = f"{rounds} of {verdict.rounds_planned:,} {planned}"
    if study.unit == "unit":  # of an import, of which nothing was planned
        used, every = verdict.rounds_used, verdict.rounds_planned
        rounds = plural(every, study.unit)
        rounds += f", {used:,} of them complete" if used < every else ""
    if verdict.rules.unit == "unpaired":  # no row of one is a partner of another's
        rounds = ", ".join(f"{plural(row.sessions, 'row')} of {row.level}" for row in study.rows)
    margin = verdict.rules.delta
    within = "no margin declared" if margin is None else f"margin {margin:g}"
    simulated = f"; {models_told(study.simulated)}" if study.simulated else ""
    line = f"{what} compared on {study.comparison.measure} ({within}): {rounds}{simulated}"
    return "\n".join(
        [wrapped(line, width=width)]
        + [wrapped(told, "  caveat: ", width=width) for told in study.caveats]
    )


def _text(section: Section | None, width: int) -> str:
    return "" if section is None else section.as_text(width)


def variants_section(study: Study) -> Section:
    """Every variant, with every denominator."""
    confidence = f"{100 * (1 - study.verdict.rules.alpha):.4g} % interval"
    headers = [study.factor, "ended", study.metric, confidence, "failed", "errored", "censored"]
    headers.append("$ per completed")
    figures = study.figures
    rows = [_variant_cells(row, figures) for row in study.rows]
    notes = [
        f"Every column counts the {plural(study.verdict.rounds_planned, study.unit)} that both "
        f"runs planned, and nothing of the {one.rounds:,} more of {one.run}."
        for one in [study.comparison.left_out]
        if one is not None
    ]
    return Section("", headers, rows, (1, 2, 4, 5, 6, 7), notes)


def _variant_cells(row: VariantRow, figures: Figures) -> list[str]:
    return [
        row.level,
        f"{row.ended:,}/{row.sessions:,}",
        *figures.mean(row.mean, row.low, row.high),
        "-" if row.failed is None else f"{row.failed:,}/{row.sessions:,}",
        f"{row.errored:,}/{row.sessions:,}",
        f"{row.censored:,}/{row.sessions:,}",
        usd_each(row.cost_per_completed_usd),
    ]


def _verdict(study: Study, width: int) -> str:
    lines = [wrapped(study.sentence + noted(study.simulated), "Verdict: ", width=width)]
    for label, told in verdict_facts(study):
        lines.append(wrapped(told, f"  {label}:".ljust(12), width=width))
    return "\n".join(lines)


def verdict_facts(study: Study) -> list[tuple[str, str]]:
    """What stands below a verdict: what to do, why, what to mind; each with a word for it."""
    verdict = study.verdict
    margin = verdict.rules.failure_margin
    some_out = any(one.why != "score" for one in verdict.beaten)
    facts = [("so", _advice(study))] if study.advice else []
    facts += [
        ("because", reason_told(reason, study.unit, margin, some_out=some_out))
        for reason in verdict.reasons
    ]
    facts += [
        ("mind", _flag(flag, study))
        for flag in verdict.flags
        if not (flag == "these scenarios only" and study.unit != "round")
    ]
    facts += [("mind", told) for told in study.comparison.cautions]
    facts += [("judge", told) for told in _agreement(study)]
    if study.standing is not None:
        facts.append(("judge", study.standing.sentence))
    return [*facts, ("more", study.settling.sentence), ("rests on", study.rests_on)]


def _advice(study: Study) -> str:
    """What to do, if any of the models were real."""
    if not study.simulated:
        return study.advice
    if study.simulated != "simulated":
        return f"as far as simulated models stand for real ones ({study.simulated}): {study.advice}"
    rehearsed = "this rehearsal on simulated models is no evidence; of real ones it would say"
    return f"{rehearsed}: {study.advice}"


def _flag(flag: Flag, study: Study) -> str:
    """What a flag says; of the scenarios played, with what is known of others."""
    if flag != "these scenarios only" or study.elsewhere.low is None:
        return FLAGS[flag]
    if study.elsewhere.holds is None:
        return "this is about the scenarios that were played; of new ones like them, see below."
    if study.elsewhere.holds:
        return (
            "this is about the scenarios that were played; of new ones like them it is shown too."
        )
    return "this is shown of the scenarios that were played, and not of new ones like them (below)."


def _agreement(study: Study) -> list[str]:
    found = study.agreement
    if found is None:
        return []
    judged = plural(found.transcripts, "transcript")
    told = f"judged up to {found.ratings} times each, {judged}"
    if found.alpha is None:
        said = f"its agreement with itself is not defined: every rating is the same ({told})."
        return [said]
    who = "agrees with itself"
    if found.members:
        who = f"its {len(found.members)} members agree"
    kappa = "" if found.kappa is None or not found.members else f", kappa {found.kappa:.2f}"
    scale = f"Krippendorff's alpha: 1 always, 0 by chance{kappa}; {told}"
    about = f" on the mean of its {plural(found.parts, 'score')}" if found.parts else ""
    said = f"{who} {found.alpha:.2f}{about} ({scale})."
    if found.least is not None and found.parts > 1:
        said += f" Least, {found.least[1]:.2f}, on {found.least[0]}."
    if found.whole is not None:
        said += f" On {study.comparison.metric}, into which counts go too: {found.whole:.2f}."
    if found.low:
        said += (
            f" Warning: below {AGREEMENT_WARN_BELOW:g} its scores are too unlike each other to "
            "lean on."
        )
    return [said]


def pairs_section(study: Study) -> Section | None:
    """Differences of pairs."""
    if not study.pairs:
        return None
    rules, one = study.verdict.rules, study.pairs[0]
    confidence = f"{100 * (1 - one.level):.4g} % interval"
    tests = ["e"] if rules.engine == "open-ended" else ["p"] if rules.engine == "fixed" else []
    tests += ["Holm's p"] if study.against is not None and tests else []
    ordered = any(row.difference is not None for row in study.pairs)
    headers = [
        "better mean" if ordered else "variant",
        "other",
        "rounds",
        "difference",
        confidence,
        *tests,
        "finding",
    ]
    headers[2] = f"{study.unit}s"
    if rules.unit == "unpaired":
        headers[2] = f"{study.unit}s of fewer"
    figures = study.figures
    rows = [_pair_cells(row, figures, tests) for row in study.pairs]
    right = (2, 3, *range(5, 5 + len(tests)))
    title = f"Differences on {study.metric}" + (", the better mean first" if ordered else "")
    if study.against is not None:
        title += f", against {study.against} only"
    return Section(f"{title}:", headers, rows, right, _pair_notes(study, one))


def _pair_cells(row: PairRow, figures: Figures, tests: list[str]) -> list[str]:
    cells = {"p": chance(row.p), "e": "-" if row.e is None else f"{row.e:.3g}"}
    cells["Holm's p"] = chance(row.adjusted)
    return [
        row.first,
        row.second,
        f"{row.rounds:,}",
        figures.difference(row.difference, row.low, row.high),
        figures.interval(row.low, row.high),
        *(cells[name] for name in tests),
        FINDINGS[row.finding].format(first=row.first),
    ]


def _pair_notes(study: Study, one: PairRow) -> list[str]:
    rules = study.verdict.rules
    notes = []
    if len(study.rows) > 2 and study.against is None:
        notes.append(
            f"Each pair's range is a {100 * (1 - one.level):.4g} % one, because "
            f"{len(study.rows)} variants are compared at once: where all are equal, one is called "
            f"worse than another, and dropped, in few runs. The verdict has its own range."
        )
    if study.against is not None and rules.engine != "planned":
        notes.append(
            "Holm's p allows for the number of comparisons and is to be below "
            f"{rules.alpha:g}; it can find what the intervals, which hold at once, do not."
        )
    if rules.engine == "planned":
        notes.append(
            "Looked at after every round of a planned number: the intervals allow for it, and a "
            "single p-value would not."
        )
    if rules.engine == "open-ended":
        notes.append(
            f"An e-value of {1 / one.level:.3g} or more shows a difference, whenever one looks."
        )
    return notes
