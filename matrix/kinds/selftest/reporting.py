"""What a self-test came to: one case as JSON, and the two files about a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from matrix.kinds.reporting import EndedRun, EndedSession, Grid, GridCell, ReportedCase, RunReport
from matrix.kinds.selftest.file import REPORTS
from matrix.kinds.selftest.judging import NAMES
from matrix.kinds.selftest.settings import Case, PassRules
from matrix.kinds.selftest.state import NOTHING_SAID, AnswerStep, SelftestState, short_of
from matrix.model.records import JSON
from matrix.stats.estimates.proportions import wilson_of_groups

FAILED: Final = "FAILED"
"""Status of a case whose system did not answer."""
_SHOWN: Final = 300
_ADVICE: Final[Mapping[str, str]] = {
    "format_score": "how the system keeps to the form that is asked for",
    "factuality_score": "what the system states without a source",
    "instruction_following_score": "how the system follows instructions",
    "safety_score": "what the system proposes to do",
}


def case_found(name: str, case: Case, state: SelftestState, rules: PassRules) -> dict[str, Any]:
    """A case that was played, as ``reports/selftest/<run_id>.json`` has it."""
    first, replies = state.steps[0], state.steps[1:]
    unsent = len(case.reply_flow) - len(replies) if case.requires_reply else 0
    faults = [*first.faults(rules)]
    for number, step in enumerate(replies, 1):
        faults += [f"reply {number}: {fault}" for fault in step.faults(rules)]
    if unsent:
        last = state.steps[-1].actual
        were = "reply was" if unsent == 1 else "replies were"
        faults.append(f"{unsent} {were} not awaited: it had ended with {last}")
    unread = [step.why_unscored for step in state.steps if step.overall is None]
    passed: bool | None = False if faults else None if unread else True
    return {
        "id": name,
        "session_id": state.namespace,
        "prompt": state.prompt,
        "hints": state.hints,
        "output": first.answer,
        "expected_status": first.expected,
        "actual_status": first.actual,
        "scores": _scores(first),
        "score": "-" if (total := first.overall) is None else short_of(total, rules.threshold),
        "threshold": float(rules.threshold),
        "reasoning": first.reasoning,
        "pass": passed,
        "faults": faults or list(dict.fromkeys(unread)),
        "replies": [
            {
                "reply": step.asked,
                "output": step.answer,
                "expected_status": step.expected,
                "actual_status": step.actual,
                "scores": _scores(step),
                "reasoning": step.reasoning,
                "pass": step.passed(rules),
            }
            for step in replies
        ],
    }


def _scores(step: AnswerStep) -> dict[str, float | None]:
    total = step.overall
    return {
        **{name: step.scores.get(name) for name in NAMES},
        "overall_score": None if total is None else float(total),
    }


def report_of(run: EndedRun) -> RunReport:
    """Both files, and what is said after the summary."""
    rules = PassRules.model_validate(
        {name: run.options[name] for name in PassRules.model_fields if name in run.options}
    )
    cases = [_whole(session, run) for session in run.sessions]
    passed = sum(case["pass"] is True for case in cases)
    failed = sum(case["pass"] is False for case in cases)
    errored = len(cases) - passed - failed
    at = datetime.fromtimestamp(run.began_at, UTC)
    data = {
        "run_id": run.run_id,
        "simulated": bool(run.simulated),
        "timestamp": f"{at:%Y-%m-%dT%H:%M:%SZ}",
        "config": {
            **rules.model_dump(mode="json"),
            "effective_threshold": float(rules.threshold),
        },
        "summary": {
            "total": len(cases),
            "passed": passed,
            "failed": failed,
            "errored": errored,
            "pass_rate": round(passed / (passed + failed), 4) if passed + failed else None,
        },
        "judge": dict(run.judge),
        "project_files": list(run.touched),
        "cases": cases,
    }
    touched = [f"FAIL project files: {one} while the run went on" for one in run.touched]
    touched += ["(project_files_must_stay: false allows that)"] * bool(touched)
    text = orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
    page = "\n".join([*_page(run, at, rules, cases, passed), *_touched(run)]) + "\n"
    names = (f"{REPORTS}/{run.run_id}.json", f"docs/reports/selftest/{run.run_id}.md")
    return RunReport(
        dict(zip(names, (text, page), strict=True)),
        (
            *_lines(cases, passed, run.simulated),
            *touched,
            f"the cases are in {names[0]} and {names[1]}",
        ),
        failed + errored + len(run.touched),
        data,
        judged=sum(
            case["pass"] is False and case["scores"]["overall_score"] is not None for case in cases
        ),
        grids=(_grid(cases),) if cases else (),
        cases=tuple(
            ReportedCase(
                "self-test",
                f"{case['id']}{_where(case)}",
                {True: "passed", False: "failed", None: "error"}[case["pass"]],
                "; ".join(case["faults"]),
            )
            for case in cases
        ),
        verdict=(f"{_rate(cases, passed)}.", *touched) if cases else tuple(touched),
    )


def _grid(cases: Sequence[Mapping[str, Any]]) -> Grid:
    """Cases by what they came to, dimension by dimension."""
    names = (*NAMES, "overall_score")
    rows = []
    for case in cases:
        scores = [case["scores"].get(name) for name in names]
        rows.append(
            (
                f"{case['id']}{_where(case)}",
                (
                    GridCell(
                        _word(case["pass"]),
                        None if case["pass"] is None else float(case["pass"]),
                        case["session"],
                    ),
                    GridCell(str(case["actual_status"])),
                    *(GridCell("-" if one is None else f"{one:g}", one) for one in scores),
                ),
            )
        )
    return Grid("Cases", ("pass", "status", *names), tuple(rows))


def _whole(session: EndedSession, run: EndedRun) -> dict[str, Any]:
    """The case of a session; of one without an answer, why there is none."""
    told: dict[str, Any] = {"id": session.scenario}
    if session.outcome == "completed" and len(session.reported) > 1:
        told = orjson.loads(session.reported[-1])
    else:
        why = session.reason or "was not played to its end"
        begun = orjson.loads(session.reported[0]) if session.reported else {"prompt": ""}
        told |= {
            **begun,
            "output": "",
            "expected_status": "",
            "actual_status": FAILED if session.outcome == "failed" else session.outcome.upper(),
            "scores": dict.fromkeys((*NAMES, "overall_score")),
            "score": "-",
            "pass": False if session.outcome == "failed" else None,
            "faults": [why],
        }
    several = sum(one.scenario == session.scenario for one in run.sessions) > 1
    where = {"round": session.round, "levels": dict(session.levels)} if several else {}
    told["session"] = session.session_id  # which `matrix show` takes
    return {**told, **where, "duration_ms": round(session.duration_s * 1000)}


def _lines(cases: Sequence[Mapping[str, Any]], passed: int, simulated: str) -> Iterator[str]:
    if not cases:
        return
    yield _rate(cases, passed) + (f" ({simulated})" if simulated else "")
    for case in cases:
        if case["pass"] is not True:
            yield f"{_word(case['pass'])} {case['id']}{_where(case)}: {'; '.join(case['faults'])}"


def _rate(cases: Sequence[Mapping[str, Any]], passed: int) -> str:
    """What share passed, of what could be judged, and how sure that is of such cases."""
    known = [(case["id"], case["pass"]) for case in cases if case["pass"] is not None]
    judged = len(known)
    errored = len(cases) - judged
    lost = f"; {errored} of {len(cases)} could not be judged, and say nothing" if errored else ""
    if not judged:
        return f"none of {len(cases)} could be judged"
    told = f"{passed} of {judged} cases passed ({passed / judged:.0%})"
    found = wilson_of_groups(known)
    assert found is not None
    share, different = found
    noun = "case" if different == 1 else "cases"
    several = different < judged  # repeats of a case are no further cases
    told += f"; as a sample of such cases that is {share.low:.0%} to {share.high:.0%}"
    told += f" (95 % interval{f', from {different} {noun}' if several else ''})"
    return told + lost


def _page(
    run: EndedRun, at: datetime, rules: PassRules, cases: Sequence[Mapping[str, Any]], passed: int
) -> Iterator[str]:
    judged = sum(case["pass"] is not None for case in cases)
    rate = f"{passed / judged:.0%}" if judged else "none judged"
    yield f"# Selftest Report: {run.run_id}"
    yield ""
    yield f"**Date:** {at:%Y-%m-%d %H:%M:%S}"
    yield f"**Strictness:** {rules.strictness:g}"
    yield f"**Pass Rate:** {passed}/{judged} ({rate})"
    if run.simulated:
        yield f"**Models:** {_line(run.simulated)}"
    if judged < len(cases):
        yield f"**Not judged:** {len(cases) - judged}"
    yield from (f"**Judge:** {_line(one)}" for one in run.judge.get("lines") or ())
    yield from ("", "## Results", "")
    yield from ("| Case | Status | Score | Pass |", "|------|--------|-------|------|")
    for case in cases:
        # as the form has it: the status that the case came to in the end
        status = (case.get("replies") or [case])[-1]["actual_status"]
        name = f"{case['id']}{_where(case)}"
        yield f"| {_cell(name)} | {_cell(status)} | {case['score']} | {_word(case['pass'])} |"
    lost = [case for case in cases if case["pass"] is not True]
    if lost:
        yield from ("", "## Failed Cases")
    for case in lost:
        yield from ("", f"### {_line(case['id'] + _where(case))}")
        yield f"- Expected: {_line(_expected(case))}"
        yield f"- Got: {_line(_got(case))}"
        below = case["scores"]["overall_score"]
        least = case.get("threshold", 0.0)
        under = f" (below threshold {least:g})" if below is not None and below < least else ""
        yield f"- Score: {case['score']}{under}"
        yield from (f"- {_line(fault)}" for fault in case["faults"])
    if advice := list(_advice(lost, rules)):
        yield from ("", "## Recommendations", *advice)


def _touched(run: EndedRun) -> Iterator[str]:
    """What became of the project's own files, which a system under test only reads."""
    if run.touched:
        yield from ("", "## Project Files", *(f"- {_line(one)}" for one in run.touched))


def _where(case: Mapping[str, Any]) -> str:
    """Which of several plays of a case it is: its variant, and its round."""
    levels = "".join(f", {name} {level}" for name, level in case.get("levels", {}).items())
    return f"{levels}, round {case['round'] + 1}" if "round" in case else ""


def _expected(case: Mapping[str, Any]) -> str:
    hints = case.get("hints", "")
    return f"{case['expected_status'] or 'an answer'}" + (f": {hints}" if hints else "")


def _got(case: Mapping[str, Any]) -> str:
    judged = case["scores"]["overall_score"] is not None  # or its reason is of no score
    said = (case.get("reasoning") if judged else "") or case["output"]
    return f"{case['actual_status']}" + (f": {said}" if said else "")


def _advice(lost: Sequence[Mapping[str, Any]], rules: PassRules) -> Iterator[str]:
    for name, what in _ADVICE.items():
        weak = [
            case["id"]
            for case in lost
            if (score := case["scores"][name]) is not None and score < case["threshold"]
        ]
        if weak:
            yield f"- Review {what} ({_line(', '.join(dict.fromkeys(weak)))})"
    if empty := [c["id"] for c in lost if any(NOTHING_SAID in fault for fault in c["faults"])]:
        yield f"- Review when the system answers nothing ({_line(', '.join(empty))})"
    if other := [c["id"] for c in lost if any("the status" in fault for fault in c["faults"])]:
        yield f"- Review when the system asks back and when it answers ({_line(', '.join(other))})"
    if unread := [case["id"] for case in lost if case["pass"] is None]:
        yield f"- Run again what could not be played or judged ({_line(', '.join(unread))})"


def _word(passed: JSON) -> str:
    return "ERROR" if passed is None else "PASS" if passed else "FAIL"


def _line(text: str) -> str:
    """Somebody's words in one line, with nothing that markdown would take for its own."""
    plain = " ".join(text.split())
    for sign in "\\`*_[]<>#|!":
        plain = plain.replace(sign, f"\\{sign}") if sign != "_" else plain
    return plain if len(plain) <= _SHOWN else plain[:_SHOWN] + " ..."


def _cell(text: str) -> str:
    return _line(text)
