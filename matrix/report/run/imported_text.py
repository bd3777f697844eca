"""What an import came to, as text: what was taken for what, the verdict, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence

from matrix.report.run.summary import Summary
from matrix.report.run.summary_text import verdict_as_text
from matrix.report.text import WIDTH, facts, plural, wrapped
from matrix.store.run.run_folder import from_here, results_flag


def imported_as_text(
    summary: Summary,
    taken: Sequence[tuple[str, str]],
    notes: Sequence[str],
    *,
    width: int = WIDTH,
) -> str:
    """All of it.

    Args:
        summary: The run.
        taken: What was taken for what.
        notes: What is worth knowing, in sentences.
        width: Columns.
    """
    run, options = summary.run, summary.run.spec["options"]
    what = f"{plural(run.plan.sessions, 'result')} of {', '.join(options['files'])}"
    head = f"imported {what}, {options['form']}, as {from_here(summary.run_dir)}"
    parts = [
        wrapped(head, width=width),
        facts(taken, width=width),
        *(wrapped(note, "  note: ", width=width) for note in notes),
        "",
        verdict_as_text(summary, width=width),
        "",
        "Next:",
        *(f"  {line}" for line in _next(summary)),
    ]
    return "\n".join(parts)


def _next(summary: Summary) -> list[str]:
    run, where = summary.run.run_id, results_flag(summary.run_dir)
    lines = [f"matrix report {run}{where}   # a page of it"]
    if summary.comparison is not None:
        lines.insert(0, f"matrix compare {run}{where}   # pairs, other metrics, noise")
        lines.append(f"matrix power --from {run}{where} --effect X   # what a run of yours takes")
    return lines
