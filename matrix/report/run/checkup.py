"""What a look at everything found, as a table and as data."""

from __future__ import annotations

from collections.abc import Sequence

from matrix.engine.prepare.checkup import Finding
from matrix.model.records import JSON
from matrix.report.text import WIDTH, harmless, plural, wrapped


def findings_as_text(findings: Sequence[Finding], *, width: int = WIDTH) -> str:
    """One finding a line, long ones going on under their text; remedies behind an arrow."""
    column = max(len(finding.what) for finding in findings)
    lines = [_line(finding, column, width) for finding in findings]
    return "\n".join([*lines, "", _sum(findings)])


def _line(finding: Finding, column: int, width: int) -> str:
    remedy = f" -> {finding.remedy}" if finding.remedy else ""
    start = f"{finding.state:<7}  {harmless(finding.what).ljust(column)}  "
    return wrapped(harmless(finding.found + remedy), start, width=width)


def _sum(findings: Sequence[Finding]) -> str:
    missing = sum(finding.state == "missing" for finding in findings)
    warned = sum(finding.state == "warn" for finding in findings)
    warnings = f"; {plural(warned, 'warning')}" if warned else ""
    if missing:
        return f"{plural(missing, 'thing')} missing{warnings}"
    return f"nothing is missing{warnings}"


def findings_as_data(findings: Sequence[Finding]) -> JSON:
    """The same for programs."""
    return {
        "ready": all(finding.state != "missing" for finding in findings),
        "findings": [finding._asdict() for finding in findings],
    }
