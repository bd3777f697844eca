"""What a criteria test came to: cells as JSON, a grid of agents by inputs, recorded outputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from matrix.kinds.context import MessageLog
from matrix.kinds.criteria.chain import began
from matrix.kinds.criteria.file import REPORTS
from matrix.kinds.criteria.recorded import recording_of
from matrix.kinds.criteria.settings import ChainLink, CriteriaOptions, Task
from matrix.kinds.criteria.stand_ins import JUDGED_AGAIN
from matrix.kinds.criteria.state import AgentResult
from matrix.kinds.reporting import EndedRun, EndedSession, Grid, GridCell, ReportedCase, RunReport
from matrix.stats.estimates.proportions import wilson_of_groups

UNPLAYED: Final = "not played"
_WIDEST: Final = 120
_GRID_COLUMNS: Final = 12
"""Inputs side by side; more of them are told by category and failure only."""

Cell = dict[str, Any]


def why(result: AgentResult, link: ChainLink) -> str:
    """Why a cell is what it is, in words."""
    if result.outcome != "ran":
        return result.reason
    if not result.findings:
        return result.unjudged
    if not result.not_met:
        return result.reasoning or "every criterion is met"
    lost = "; ".join(f"{n}. {result.findings[n - 1].reason}" for n in result.not_met)
    return f"{_count(result, link)}: {lost}"[:4000]


def _count(result: AgentResult, link: ChainLink) -> str:
    return f"{len(result.not_met)} of {len(link.criteria)} criteria NOT MET"


def cells(
    task: Task,
    pairs: Sequence[tuple[ChainLink, AgentResult]],
    rubric: Callable[[ChainLink], str],
    log: MessageLog,
) -> dict[str, Any]:
    """One session as ``reports/criteria/<run_id>.json`` has it."""
    failed = [link.name for link, one in pairs if one.word(link) == "FAIL"]
    begun = began(failed, {link.name: link for link, _ in pairs})
    return {
        "input": task.id,
        "category": task.category,
        "began_with": begun,
        "agents": [_cell(link, one, rubric, log) for link, one in pairs],
    }


_JUDGED: Final = ("PASS", "FAIL")
"""What says something of an agent; what is blocked or in error does not."""


def _cell(
    link: ChainLink, one: AgentResult, rubric: Callable[[ChainLink], str], log: MessageLog
) -> Cell:
    return {
        "agent": link.name,
        "stage": link.stage,
        "verdict": one.word(link),
        "judged": link.judged,
        "why": why(one, link),
        "criteria": [
            {"criterion": text, "met": found.met, "reason": found.reason}
            for text, found in zip(link.criteria, one.findings, strict=False)
        ],
        "not_met": len(one.not_met),
        "fail_threshold": link.fail_threshold,
        "claimed": one.claimed,
        "judge_disagrees": one.disagrees(link),
        "reasoning": one.reasoning,
        "judge_model": one.judge_model,
        "rubric": rubric(link) if link.judged else "",
        "source": one.source,
        "other_task": one.other_task,
        "task": one.task,
        "recorded_round": one.recorded_round,
        "outcome": one.outcome,
        "ran": one.outcome == "ran",
        "output": log[one.at].text if one.at >= 0 else "",
    }


def report_of(run: EndedRun) -> RunReport:
    """The files about a run, and what is said after its summary."""
    sessions = [_session(one) for one in run.sessions]
    played = [cell | _where(one) for one in sessions for cell in one["agents"]]
    tested = [cell for cell in played if cell["judged"]]
    counted = [cell for cell in tested if cell["verdict"] != "skipped"]
    passed = sum(cell["verdict"] == "PASS" for cell in counted)
    unplayed = [one for one in sessions if not one["agents"]]
    failed = sum(cell["verdict"] != "PASS" for cell in counted) + len(unplayed)
    options = CriteriaOptions.model_validate(dict(run.options))
    changed = list(_changes(tested, options))
    missed = sum(cell["verdict"] == "FAIL" for cell in counted)
    simulated = run.simulated or ("simulated: recorded outputs" * options.simulated_outputs)
    data = {
        "run_id": run.run_id,
        "simulated": bool(simulated),
        "timestamp": f"{datetime.fromtimestamp(run.began_at, UTC):%Y-%m-%dT%H:%M:%SZ}",
        "summary": {
            "cells": len(counted),
            "passed": passed,
            "failed": missed,
            "errors": sum(cell["verdict"] == "ERROR" for cell in counted),
            "blocked": sum(cell["verdict"] == "blocked" for cell in counted),
            "skipped": len(tested) - len(counted),
            "sessions_not_played": len(unplayed),
        },
        "judge": dict(run.judge),
        "by_category": _by_category(counted),
        "grid": _grid_data(played),
        "changed_since_recorded": changed,
        "sessions": sessions,
    }
    text = orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
    name = f"{REPORTS}/{run.run_id}.json"
    files = {name: text}
    lines = [*_lines(sessions, played, tested, counted, passed), *changed]
    lines += [f"({simulated})"] if simulated else []
    if options.record and unplayed:
        lines.append(
            f"nothing is recorded, because not all was played: {options.record} is as it was"
        )
    elif options.record and not run.goes_on:  # what others have recorded is not theirs to replace
        recording = recording_of(run, sessions)
        files[options.record] = recording.model_dump_json(indent=1) + "\n"
        many = len(recording.outputs)
        lines.append(f"{many} outputs are recorded in {options.record}; --use-recorded judges them")
    lines.append(f"reasons and outputs are in {name}")
    return RunReport(
        files,
        tuple(lines),
        failed,
        data,
        judged=missed,
        grids=(*_grids(played), *_criteria(tested)),
        cases=tuple(_cases(tested, unplayed)),
        verdict=tuple(_verdict(counted, passed, len(unplayed))),
    )


def _verdict(counted: Sequence[Cell], passed: int, unplayed: int) -> Iterator[str]:
    lost = f"{unplayed} session{'s were' if unplayed > 1 else ' was'} not played to the end"
    told = [*([_rate(counted, passed)] if counted else []), *([lost] if unplayed else [])]
    if told:
        yield "; ".join(told) + "."


_OUTCOMES: Final = {"PASS": "passed", "FAIL": "failed", "skipped": "skipped"}


def _grids(played: Sequence[Cell]) -> Iterator[Grid]:
    """Agents by inputs, of each variant."""
    for variant, rows in _words(played).items():
        inputs = list(dict.fromkeys(name for row in rows.values() for name in row))
        yield Grid(
            f"Agents by inputs{f', {variant}' if variant else ''}",
            tuple(inputs),
            tuple(
                (agent, tuple(_grid_cell(row.get(one, ())) for one in inputs))
                for agent, row in rows.items()
            ),
        )


def _grid_cell(words: Sequence[str]) -> GridCell:
    """A cell of what an agent's runs on one input came to."""
    if not words:
        return GridCell("-")
    passed, judged = _passed(words)
    known = judged and "not judged" not in words
    return GridCell(_together(words), passed / judged if known else None)


def _criteria(tested: Sequence[Cell]) -> Iterator[Grid]:
    """How often each criterion of each agent was met."""
    met: dict[tuple[str, str], list[bool]] = {}
    for cell in tested:
        for one in cell["criteria"]:
            met.setdefault((cell["agent"], one["criterion"]), []).append(bool(one["met"]))
    if met:
        rows = tuple(
            (
                f"{agent}: {criterion}",
                (GridCell(f"{sum(words)} of {len(words)}", sum(words) / len(words)),),
            )
            for (agent, criterion), words in met.items()
        )
        yield Grid("Criteria", ("met",), rows)


def _cases(tested: Sequence[Cell], unplayed: Sequence[Mapping[str, Any]]) -> Iterator[ReportedCase]:
    for cell in tested:
        group = f"{cell['input']}{_levels(cell)}"
        outcome = _OUTCOMES.get(cell["verdict"], "error")
        yield ReportedCase(group, cell["agent"], outcome, f"{cell['verdict']}: {cell['why']}")
    for session in unplayed:
        yield ReportedCase(
            f"{session['input']}{_levels(session)}", "played", "error", session["why"]
        )


def _session(session: EndedSession) -> dict[str, Any]:
    where = {"round": session.round, "levels": dict(session.levels)}
    if session.reported:
        return {**orjson.loads(session.reported[-1]), **where}
    told = session.reason or "was not played to its end"
    return {
        "input": session.scenario,
        "category": "",
        "began_with": [],
        "agents": [],
        "why": f"{session.outcome or UNPLAYED}: {told}",
        **where,
    }


def _where(session: Mapping[str, Any]) -> dict[str, Any]:
    return {name: session[name] for name in ("input", "category", "round", "levels")}


def _by_category(counted: Sequence[Cell]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for cell in counted:
        none = {"passed": 0, "judged": 0, "cells": 0}
        row = found.setdefault(cell["category"] or "-", none)
        row["cells"] += 1
        row["judged"] += cell["verdict"] in _JUDGED
        row["passed"] += cell["verdict"] == "PASS"
    return found


def _grid_data(played: Sequence[Cell]) -> dict[str, dict[str, dict[str, str]]]:
    """Variant -> agent -> input -> verdict, or how many of its runs passed."""
    return {
        variant: {
            agent: {name: _together(words) for name, words in row.items()}
            for agent, row in rows.items()
        }
        for variant, rows in _words(played).items()
    }


def _words(played: Sequence[Cell]) -> dict[str, dict[str, dict[str, list[str]]]]:
    """Variant -> agent -> input -> the verdict of each run.

    Agents that only make what others read are in it as well, not judged.
    """
    found: dict[str, dict[str, dict[str, list[str]]]] = {}
    for cell in played:
        variant = found.setdefault(_variant(cell["levels"]), {})
        variant.setdefault(cell["agent"], {}).setdefault(cell["input"], []).append(_short(cell))
    return found


def _variant(levels: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {level}" for name, level in levels.items())


def _short(cell: Cell) -> str:
    if cell["verdict"] == "FAIL" and cell["criteria"]:
        return f"FAIL {cell['not_met']}/{len(cell['criteria'])}"
    return str(cell["verdict"])


def _passed(words: Sequence[str]) -> tuple[int, int]:
    """How many of an agent's runs passed, of how many that were judged."""
    judged = [word for word in words if word.split(" ")[0] in _JUDGED]
    return judged.count("PASS"), len(judged)


def _together(words: Sequence[str]) -> str:
    """One run's verdict; of several, how many of those that were judged passed, and the others."""
    if len(words) == 1:
        return words[0]
    if "not judged" in words:
        return "not judged"
    others = Counter(word for word in words if word in ("ERROR", "blocked"))
    passed, judged = _passed(words)
    told = [f"{passed}/{judged} pass"] * bool(judged)
    told += [f"{count} {word}" for word, count in sorted(others.items())]
    return ", ".join(told) or "skipped"


def _lines(
    sessions: Sequence[Mapping[str, Any]],
    played: Sequence[Cell],
    tested: Sequence[Cell],
    counted: Sequence[Cell],
    passed: int,
) -> Iterator[str]:
    for variant, rows in _grid_data(played).items():
        if variant:
            yield f"{variant}:"
        yield from _table(rows)
    categories = _by_category(counted)
    if len(categories) > 1:
        shown = ", ".join(f"{c} {r['passed']} of {r['judged']}" for c, r in categories.items())
        yield f"passed by category, of those judged: {shown}"
    if counted:
        yield _rate(counted, passed)
    for session in sessions:
        if not session["agents"]:
            yield f"ERROR {session['input']}{_levels(session)}: {_line(session['why'])}"
    for cell in counted:
        if cell["verdict"] != "PASS":
            yield from _lost(cell)
    for session in sessions:
        after = [c["agent"] for c in session["agents"] if c["verdict"] == "FAIL"]
        if (begun := session["began_with"]) and len(after) > len(begun):
            rest = ", ".join(name for name in after if name not in begun)
            place = f"{session['input']}{_levels(session)}"
            yield f"failures on {place} began with {', '.join(begun)}; after it: {rest}"
    for cell in tested:
        if cell["judge_disagrees"]:
            yield (
                f"the judge claimed {cell['claimed']} for {cell['agent']} on {cell['input']}"
                f"{_levels(cell)}; its own findings make it {cell['verdict']}"
            )


def _rate(counted: Sequence[Cell], passed: int) -> str:
    """What share passed, and how sure that is of such inputs.

    Agents of a chain that had the same input, and repeats of it, may stand or fall together.
    """
    judged = [cell for cell in counted if cell["verdict"] in _JUDGED]
    blocked = sum(cell["verdict"] == "blocked" for cell in counted)
    errors = len(counted) - len(judged) - blocked
    others = [f"{errors} could not be judged"] * bool(errors)
    others += [f"{blocked} {'was' if blocked == 1 else 'were'} blocked"] * bool(blocked)
    lost = f"; of {len(counted)}, {' and '.join(others)}, which says nothing" if others else ""
    if not judged:
        return f"none of {len(counted)} could be judged"
    told = f"{passed} of {len(judged)} judged passed ({passed / len(judged):.0%})"
    found = wilson_of_groups((cell["input"], cell["verdict"] == "PASS") for cell in judged)
    assert found is not None
    share, inputs = found
    return (
        f"{told}; as a sample of such inputs that is {share.low:.0%} to {share.high:.0%} "
        f"(95 % interval, from {inputs} input{'s' * (inputs > 1)}){lost}"
    )


def _lost(cell: Cell) -> Iterator[str]:
    place = f"{cell['agent']} on {cell['input']}{_levels(cell)}"
    if not cell["criteria"]:
        yield f"{cell['verdict']} {place}: {_line(cell['why'])}"
        return
    least = cell["fail_threshold"]
    yield (
        f"FAIL {place}: {cell['not_met']} of {len(cell['criteria'])} criteria NOT MET "
        f"({least} or more fail{'s' * (least == 1)})"
    )
    for number, one in enumerate(cell["criteria"], 1):
        if not one["met"]:
            yield f"  {number}. {_line(one['criterion'])}: {_line(one['reason'])}"


def _levels(where: Mapping[str, Any]) -> str:
    told = _variant(where["levels"])
    number = f", round {where['round'] + 1}" if where["round"] else ""
    return f" ({told})" * bool(told) + number


def _table(rows: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    inputs = list(dict.fromkeys(name for row in rows.values() for name in row))
    if len(inputs) > _GRID_COLUMNS:
        return
    first = max(map(len, rows), default=0)
    widths = [
        max([len(name), *(len(row.get(name, "")) for row in rows.values())]) for name in inputs
    ]
    head = [" " * first, *(name.ljust(width) for name, width in zip(inputs, widths, strict=True))]
    yield "  ".join(head).rstrip()
    for agent, row in rows.items():
        line = [row.get(name, "").ljust(width) for name, width in zip(inputs, widths, strict=True)]
        yield "  ".join([agent.ljust(first), *line]).rstrip()


def _line(text: str) -> str:
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return plain if len(plain) <= _WIDEST else plain[:_WIDEST] + " ..."


def _changes(tested: Sequence[Cell], options: CriteriaOptions) -> Iterator[str]:
    """What is other than it was when the outputs were recorded."""
    told = set()
    for cell in tested:
        was = options.pinned.get(cell["agent"])
        if was is None or cell["source"] != "recorded" or not cell["judge_model"]:
            continue
        if was["judge"] != cell["judge_model"]:
            told.add(f"note: judged by {cell['judge_model']}, when recorded by {was['judge']}")
        if was["rubric"] != cell["rubric"]:
            told.add(
                f"note: the criteria of {cell['agent']} (or the judge's instructions, or the "
                "threshold) are other than when it was recorded"
            )
    for cell in tested:
        if cell["other_task"]:
            variant = f" ({_variant(cell['levels'])})" * bool(cell["levels"])
            told.add(
                f"note: the output of {cell['agent']} on {cell['input']}{variant} was recorded for "
                "another prompt, input or output before it; --record makes a new one"
            )
        if cell["recorded_round"] >= 0 and cell["recorded_round"] != cell["round"]:
            told.add(f"note: {JUDGED_AGAIN}")
    yield from sorted(told)
