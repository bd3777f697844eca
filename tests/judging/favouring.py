"""Runs whose judges favour the variants of more than two turns, and labels that show it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matrix.api.sessions.labelling import labelling
from tests.executors.programs import Project, counter_spec

JUDGES = """
import hashlib, json, re
from matrix.agents import Reply

def _drawn(turn):
    return hashlib.sha256(turn.session.encode()).digest()[0]

def _second(turn):
    return turn.prompt.count("] counter: ") > 2  # the variant of three turns

async def points(turn):
    return json.dumps({"clear": 1 + _drawn(turn) % 3 + 2 * _second(turn), "reason": "so"})

async def priced(turn):
    cost = 0.01 * turn.prompt.count("] counter: ") * (1 + _drawn(turn) % 5 / 10)
    return Reply(await points(turn), cost)

async def slight(turn):
    more = _drawn(turn) % 2 * _second(turn)
    return json.dumps({"clear": 1 + _drawn(turn) % 3 + more, "reason": "so"})

async def line(turn):
    passes = _second(turn) or _drawn(turn) % 3 == 0
    return f"VERDICT: {'PASS' if passes else 'FAIL'} - it is so"
"""
RUBRICS = {
    "tone.md": "---\ncriteria: {clear: Is it clear}\n---\nYou read.\n",
    "ends.md": "---\nanswer: verdict\n---\nDoes it count?\n",
}


def played(folder: Path, rounds: int, judge: str = "points", **changes: Any) -> Project:
    """A run ``it`` of two variants, or what ``changes`` make of it."""
    (folder / "mine.py").write_text(JUDGES)
    for name, text in RUBRICS.items():
        (folder / name).write_text(text)
    found = Project(folder)
    found.write(
        counter_spec(
            per_cell=rounds,
            agents={
                "line": {"python": "mine:line", "free": True},
                judge: {"python": f"mine:{judge}"}
                | ({"max_usd": 0.1} if judge == "priced" else {"free": True}),
            },
            judges=[
                {"rubric": "tone.md", "model": judge},
                {"rubric": "ends.md", "model": "line"},
            ],
            **{
                "compare": {"metric": "tone", "failure_margin": 50, "margin": 0.1},
                "factors": {"turns": [2, 3]},
                "options": {},
                **changes,
            },
        )
    )
    done = found.matrix("run", "--executor", "in-process", "--quiet", "--run-id", "it")
    assert done.code == 0, done
    return found


def label(
    project: Project,
    metric: str,
    off: dict[str, float],
    moved: int = 0,
    runs: Sequence[str] = ("it",),
) -> None:
    """Labels of every session: the judge's value less what is ``off`` for its variant.

    There are no others. Of the last ``moved`` sessions of each variant people say what the judge
    does.
    """
    (project.folder / "results" / "labels.jsonl").unlink(missing_ok=True)
    for run in runs:
        _label_run(project, run, metric, off, moved)


def _label_run(project: Project, run: str, metric: str, off: dict[str, float], moved: int) -> None:
    tables = project.tables(run)
    turns = dict(tables.frame("sessions", ["session_id", "turns"]).to_numpy())
    frame: Any = tables.frame("scores")
    frame = frame[(frame.name == metric) & frame.turn.isna()].sort_values("session_id")
    frame = frame.assign(level=[f"{turns[one]:g}" for one in frame.session_id])
    frame["left"] = frame.groupby("level").cumcount(ascending=False)
    work = labelling(project.folder / "results" / run, metric=metric, sessions=120, rater="ana")
    work.take(
        (one.session_id, one.value - (off[one.level] if one.left >= moved else 0.0), "")
        for one in frame.itertuples()
    )
    work.close()


def compared(project: Project, *options: str, run: str = "it") -> dict[str, Any]:
    done = project.matrix("compare", run, *options, "--json")
    assert done.code == 0, done
    found: dict[str, Any] = json.loads(done.out)
    return found


def told(project: Project, *command: str) -> str:
    done = project.matrix(*command)
    assert done.code == 0, done
    return " ".join(done.out.split())
