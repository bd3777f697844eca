"""``report.md`` of a run: its summary and comparison as Markdown, for whoever opens the folder.

Levels, reasons and whatever else comes from outside is text in it and nothing more: every
character that Markdown or HTML could take for its own is escaped, and lines are joined, so that
none of it can pose as a heading, a cell or a link.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from matrix.report.compare.compare import FactorComparison
from matrix.report.run.explained import (
    explanation_in,
    explanation_lines,
    left_out_of,
    provenance_of,
)
from matrix.report.run.summary import Summary
from matrix.report.run.summary_text import (
    head_line,
    labelled_facts,
    variant_table,
    verdict_line,
)
from matrix.report.text import Section, ends_of, harmless, with_interval
from matrix.stats.estimates.figures import percent
from matrix.store.reading.told import notes_of

REPORT_NAME: Final = "report.md"

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|~&$!])")
"""What has a meaning inside a line; what has one at its beginning only never begins one here."""


def report_as_markdown(
    summary: Summary, of_kind: Sequence[str] = (), grouped: Iterable[Section] = ()
) -> str:
    """The whole report.

    Args:
        summary: What the run came to.
        of_kind: What its kind says of it, line by line.
        grouped: Its sessions by group and rank, and its issues.
    """
    lines = list(_lines(summary))
    for section in grouped:
        lines.append(f"\n## {escaped(section.title.removesuffix(':'))}\n")
        lines += _table(section.headers, section.rows) if section.rows else ()
        lines += [f"\n{escaped(note)}" for note in section.notes]
    if of_kind:
        lines.append(f"\n## {escaped(summary.run.kind.capitalize())}\n")
        lines += [f"    {harmless(line)}" for line in of_kind]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Text of which Markdown makes that very text again, in one line."""
    return _SPECIAL.sub(r"\\\1", harmless(" ".join(text.split())))


def _lines(summary: Summary) -> Iterator[str]:
    yield f"# {escaped(head_line(summary))}\n"
    for label, text in labelled_facts(summary):
        yield f"- **{escaped(label)}**: {escaped(text)}" if label else f"  - {escaped(text)}"
    yield f"\n**Verdict:** {escaped(verdict_line(summary))}"
    comparison = summary.comparison
    if comparison is not None:
        yield f"\n**Rests on:** {escaped(comparison.rests_on)}"
        yield from (f"\n**Mind:** {escaped(told)}" for told in comparison.cautions)
    yield from (f"\n**Caveat:** {escaped(told)}" for told in notes_of(summary.run))
    if summary.standing is not None:
        yield f"\n**Judge:** {escaped(summary.standing.sentence)}"
    if comparison is not None:
        yield "\n## Variants\n"
        yield from _table(*variant_table(summary))
        yield "\n## Differences\n"
        yield from _table(*_pairs(comparison))
    elif summary.whole is not None:
        yield "\n## Variants\n"
        yield from _table(*variant_table(summary))
    if (found := explanation_in(summary.run_dir)) is not None:
        yield "\n## What a model makes of the failures\n"
        yield f"{escaped(provenance_of(found))}.\n"
        yield from (f"- {escaped(line)}" for line in explanation_lines(found))
        yield from (f"\n{escaped(told)}" for told in left_out_of(found))
    if (gate := summary.run.gate) is not None:
        yield "\n## Gates\n"
        yield from (f"- {escaped(line)}" for line in gate.lines)
    if (defect := summary.endings.defect) is not None:
        yield "\n## Defect of the kind\n"
        yield f"First in session {escaped(defect.session_id)}:\n"
        yield from (f"    {harmless(line)}" for line in defect.traceback.splitlines())


def _pairs(comparison: FactorComparison) -> tuple[list[str], list[list[str]]]:
    levels = [row.level for row in comparison.rows]
    digits = comparison.score_digits if comparison.metric == "score" else 3
    rows = []
    for pair, undone in zip(comparison.verdict.comparisons, comparison.undone, strict=True):
        bounds = pair.interval
        mean, shown = with_interval(pair.difference, *ends_of(bounds), digits)
        if bounds is not None:
            shown += f" ({percent(bounds)})"
        shown += "; void, as the judge errs" * undone
        names = [levels[pair.b], levels[pair.a]]
        rows.append([*names, f"{pair.n:,}", mean, shown])
    return ["variant", "minus", f"{comparison.unit}s", comparison.metric, "interval"], rows


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield _row(headers)
    yield "|" + " --- |" * len(headers)
    yield from map(_row, rows)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(escaped, cells)) + " |"
