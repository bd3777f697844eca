"""A run in the forms of other programs: a comment on GitHub, JUnit's XML, a line a session."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from xml.etree import ElementTree as ET

import numpy as np

from matrix.engine.prepare.judges import names_of
from matrix.engine.prepare.registry import scoring_kind
from matrix.kinds.protocol import SaysItsScore
from matrix.kinds.reporting import ReportedCase
from matrix.model.lines import csv_cell, in_line
from matrix.report.groups.issues import issues_in
from matrix.report.page.failures import looked_at_of, turns_to_look_at
from matrix.report.page.known import RunFacts, level_columns, levels_of, opening_of, unit_of_row
from matrix.report.run.explained import explanation_lines
from matrix.report.run.report_file import escaped
from matrix.report.run.summary_text import head_line, spent_line
from matrix.report.text import plural
from matrix.store.reading.reader import RunTables
from matrix.store.reading.session_scores import session_scores
from matrix.store.reading.told import notes_of, tells_failures, units_in, untold_in
from matrix.store.run.made_here import NOT_MADE_HERE, is_made_here

MOST_LINES: Final = 12
"""Of a comment: it has to be read without scrolling."""
_MOST_VARIANTS: Final = 4
_MOST_GATES: Final = 2
_MOST_GROUPS: Final = 3
_MOST_CASES: Final = 5
_LONGEST_CASE: Final = 120
_TURNS: Final = 3
_NO_XML: Final = re.compile("[^\t\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_COUNTED: Final = {"failed": "failures", "error": "errors", "skipped": "skipped"}


def as_github(run: RunFacts) -> str:
    """A comment for a pull request: verdict, cost, variants, and the three turns to look at."""
    summary = run.summary
    first, *others = map(escaped, opening_of(run))
    lines = [f"**{first}**", "", *others]
    if not is_made_here(summary.run_dir, summary.run):
        lines.append(f"Received: {escaped(NOT_MADE_HERE)}")
    lines.append(f"{escaped(head_line(summary))}; {spent_line(summary)}")
    if (gate := summary.run.gate) is not None:
        lines += _gates(gate.lines)
    elif run.told is not None and run.told.cases:
        counts = dict.fromkeys(("passed", "failed", "error", "skipped"), 0)
        for case in run.told.cases:
            counts[case.outcome] += 1
        lines.append(", ".join(f"{n} {word}" for word, n in counts.items() if n))
        lost = [one for one in run.told.cases if one.outcome in ("failed", "error")]
        if lost:
            named = "; ".join(
                escaped(f"{one.group} {one.name}"[:_LONGEST_CASE]) for one in lost[:_MOST_CASES]
            )
            more = f"; and {len(lost) - _MOST_CASES} more" if len(lost) > _MOST_CASES else ""
            lines.append(f"Not passed: {named}{more}")
    if run.study is not None:
        if cautions := run.study.comparison.cautions:
            more = f" (and {len(cautions) - 1} more to mind)" if len(cautions) > 1 else ""
            lines.append(f"Mind: {escaped(cautions[0])}{more}")
        if notes := notes_of(summary.run):
            more = f" (and {plural(len(notes) - 1, 'more caveat')})" if len(notes) > 1 else ""
            lines.append(f"Caveat: {escaped(notes[0])}{more}")
        sign = -1 if run.study.verdict.rules.higher_is_better else 1
        known = [one for one in run.study.rows if one.mean is not None]
        ranked = sorted(known, key=lambda one: sign * (one.mean or 0.0))
        ranked += [one for one in run.study.rows if one.mean is None]
        rows = ranked[:_MOST_VARIANTS]
        figures = run.study.figures
        told = "; ".join(
            "{} {} ({})".format(escaped(one.level), *figures.mean(one.mean, one.low, one.high))
            for one in rows
        )
        left = len(ranked) - len(rows)
        told = f"{escaped(run.study.comparison.measure)}: {told}"
        lines.append(f"{told}; and {left} more" if left else told)
    if run.explained is not None:
        groups = explanation_lines(run.explained, _MOST_GROUPS)
        whose = f"{run.explained.model} reading {run.explained.read:,} sessions"
        lines.append(f"By {escaped(whose)}: {escaped('; '.join(groups) or 'no groups')}")
    lines.append("")
    lines += _turns(run)
    text = "\n".join(lines[:MOST_LINES]) + "\n"
    return text.replace("@", "@\u200b")  # nobody is called by the name of a variant


def _gates(lines: Sequence[str]) -> list[str]:
    """Gates that fail the run first; how many more there are."""
    ordered = sorted(lines, key=lambda line: not line.startswith("gate FAILED"))
    told = [escaped(line) for line in ordered[:_MOST_GATES]]
    if left := len(ordered) - len(told):
        failed = sum(line.startswith("gate FAILED") for line in ordered[_MOST_GATES:])
        told[-1] += f"; {plural(left, 'more gate')}, {failed:,} of them failed"
    return told


def _turns(run: RunFacts) -> Iterator[str]:
    frame = run.tables.frame("sessions")
    marks = turns_to_look_at(run.tables, frame)
    rows = {str(row["session_id"]): row for row in frame.to_dict("records")}
    units = units_in(run.tables)
    order = {"failed": 0, "worst": 1, "among the worst": 2}
    found = sorted(looked_at_of(run, frame), key=lambda one: order.get(one[0], 3))
    for word, session in found[:_TURNS]:
        row = rows[session]
        levels = levels_of(run.summary.run, row)
        where = ", ".join(filter(None, [_place(run.tables, row, units), levels]))
        command = f"`matrix show {run.summary.run.run_id} {session[:12]}`"
        if run.summary.run.imported:
            command = f"`matrix report {run.summary.run.run_id} --session {session[:12]}`"
        began = "" if run.summary.run.imported else f"turn {marks[session]} of "
        yield f"- {word}: {began}{escaped(where)} ({command})"


def _place(tables: RunTables, row: Any, units: Mapping[str, str]) -> str:
    """The scenario of a session; of an imported one its unit, with the scenario if it has one."""
    scenario = str(row["scenario"])
    if not tables.run.imported:
        return scenario
    unit = unit_of_row(tables.run, row, units)
    return unit if len(tables.run.plan.scenarios) < 2 else f"{scenario}, {unit}"


def as_junit(run: RunFacts) -> str:
    """What passed and what did not, as programs for continuous integration read it.

    Cases are those of the run's kind, if it has any; else its sessions. A gate is a case as well.
    """
    suites: dict[str, list[ReportedCase]] = {}
    told = run.told
    for case in told.cases if told is not None and told.cases else _sessions(run):
        suites.setdefault(case.group, []).append(case)
    if (gate := run.summary.run.gate) is not None:
        outcome = "failed" if gate.failed else "passed"
        suites["gates"] = [ReportedCase("gates", "gate", outcome, "\n".join(gate.lines))]
    root = ET.Element("testsuites", name=_xml(run.summary.run.run_id))
    if not is_made_here(run.summary.run_dir, run.summary.run):
        suites["received"] = [ReportedCase("received", "run", "skipped", NOT_MADE_HERE)]
    if notes := notes_of(run.summary.run):
        suites["caveats"] = [
            ReportedCase("caveats", f"caveat {at}", "skipped", told)
            for at, told in enumerate(notes, 1)
        ]
    for name, cases in suites.items():
        suite = ET.SubElement(root, "testsuite", name=_xml(name), tests=str(len(cases)))
        if simulated := run.summary.run.simulation:
            properties = ET.SubElement(suite, "properties")
            ET.SubElement(properties, "property", name="simulated", value=_xml(simulated))
        for word, attribute in _COUNTED.items():
            suite.set(attribute, str(sum(case.outcome == word for case in cases)))
        for case in cases:
            element = ET.SubElement(suite, "testcase", name=_xml(case.name), classname=_xml(name))
            tag = {"failed": "failure", "error": "error", "skipped": "skipped"}.get(case.outcome)
            if tag is not None:
                ET.SubElement(element, tag, message=_xml(case.told)[:500]).text = _xml(case.told)
            if case.noticed:
                ET.SubElement(element, "system-out").text = _xml(case.noticed)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _sessions(run: RunFacts) -> Iterator[ReportedCase]:
    words = {
        "completed": "passed", "timeout": "passed", "failed": "failed", "errored": "error",
    }  # fmt: skip
    units, known = units_in(run.tables), tells_failures(run.summary.run)
    issues: dict[str, list[str]] = {}
    for one in issues_in(run.tables):
        line = in_line(f"{one.severity} in turn {one.turn}: {one.kind} {one.subject}".rstrip())
        issues.setdefault(one.session, []).append(line)
    rows = run.tables.frame("sessions").to_dict("records")
    short = _fell_short(run, [str(row["session_id"]) for row in rows])
    unscored = _unscored(run, [str(r["session_id"]) for r in rows if r["score"] != r["score"]])
    for row, fell_short in zip(rows, short, strict=True):
        levels = levels_of(run.summary.run, row)
        name = f"{levels or 'session'}, {unit_of_row(run.tables.run, row, units)}"
        if row["repeat"] == row["repeat"]:  # not where nothing is repeated
            name += f", repeat {row['repeat']}"
        why = row["end_reason"] if isinstance(row["end_reason"], str) else ""
        told = f"{row['outcome']}: {why} (session {row['session_id']})"
        outcome = words.get(str(row["outcome"]), "skipped")
        if not known and outcome == "passed" and row["score"] != row["score"]:
            outcome, told = "skipped", f"no score, and whether it failed is not told; {told}"
        if known and outcome == "passed" and str(row["session_id"]) in unscored:
            outcome, told = "skipped", f"no score, so there is nothing that it passed; {told}"
        if fell_short and outcome == "passed":
            outcome = "failed"
            told = f"not passed, as its file says, with {row['score']:.3g}; {told}"
        seen = "; ".join(issues.get(str(row["session_id"]), []))
        yield ReportedCase(str(row["scenario"]), name, outcome, told, seen)


def _unscored(run: RunFacts, sessions: Sequence[str]) -> set[str]:
    """Which of these sessions, all without a ``score``, were measured by nothing else either.

    What else a kind counts is no measure where it was to give a score; what listed judges say is.
    An import without any score tells by its failures alone what passed.
    """
    file = run.summary.run
    found = session_scores(run.tables, sessions, lambda _: True) if sessions else {}
    if file.imported and not found:
        return set()
    listed = names_of(file.spec)
    counts = "score" not in found or file.imported
    known = [own for name, own in found.items() if counts or name in listed]
    measured = np.zeros(len(sessions), dtype=bool)
    for values in known:
        measured |= ~np.isnan(values)
    return {one for one, is_known in zip(sessions, measured, strict=True) if not is_known}


_PASSED: Final = frozenset({"passed", "pass", "success"})


def _fell_short(run: RunFacts, sessions: Sequence[str]) -> list[bool]:
    """Of which results their file says that they did not pass: by a metric, or their score."""
    file = run.summary.run
    if not file.imported:
        return [False] * len(sessions)
    kind = scoring_kind(file.kind, file.run_spec.options)
    by_score = isinstance(kind, SaysItsScore) and kind.score_is in _PASSED
    found = session_scores(
        run.tables, sessions, lambda name: name in _PASSED or (by_score and name == "score")
    )
    short = np.zeros(len(sessions), dtype=bool)
    for values in found.values():
        short |= values == 0.0
    return [bool(one) for one in short]


def as_csv(tables: RunTables) -> str:
    """A line of each session, for a spreadsheet; what imported files do not tell is empty."""
    factors, units, untold = level_columns(tables.run), units_in(tables), untold_in(tables)
    heads = ["unit"] if units else []
    columns = ["session_id", "scenario", "round", *factors.values(), "outcome", "score", "turns"]
    columns += ["calls", "cost_usd", "duration_s", "end_reason", "simulated"]
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow([*heads, *columns])
    for row in tables.frame("sessions", columns).to_dict("records"):
        cells = ["" if column in untold else csv_cell(row[column]) for column in columns]
        lines.writerow([*(csv_cell(units.get(str(row["session_id"]))) for _ in heads), *cells])
    return text.getvalue()


def _xml(text: str) -> str:
    """Text without characters that no XML may hold."""
    return _NO_XML.sub(" ", in_line(text) if "\n" in text else text)
