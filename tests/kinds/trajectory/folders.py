"""Scenario folders for tests, and an agent and a judge that do what the folder's own words say."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.executors.programs import Done, Project

MINE = '''
import os, shutil
from matrix.agents import Reply, Turn

async def work(turn: Turn) -> Reply:
    """Every line of the input is an order: WRITE path | text, ADD, TOUCH, DELETE, RAISE, LINK."""
    for line in turn.prompt.splitlines():
        order, _, rest = line.partition(" ")
        path, _, text = rest.partition(" | ")
        place = turn.folder / path.strip()
        text = text.replace("\\\\n", "\\n")
        if order == "RAISE":
            raise ValueError("no")
        if order in ("WRITE", "ADD"):
            place.parent.mkdir(parents=True, exist_ok=True)
            old = place.read_text() if order == "ADD" else ""
            place.write_text(old + text + "\\n")
        if order == "TOUCH":
            os.utime(place)
        if order == "DELETE":
            place.unlink()
        if order == "LINK":
            place.symlink_to("/etc/passwd")
        if order == "FLOOD":
            for number in range(int(text)):
                (turn.folder / f"flood-{number}.md").write_text("x")
        if order == "ODD":
            os.mkfifo(place)
        if order == "NAME":
            (turn.folder / "bad\\udcff.md").write_text("x")
        if order == "TIME":
            place.write_text("x")
            os.utime(place, (10**10, 10**10))
    seen = sorted(str(p.relative_to(turn.folder)) for p in turn.folder.rglob("*") if p.is_file())
    cost = 0.2 if "OVERRUN" in turn.prompt else 0.01
    told = f"asked {turn.prompt!r}; date {turn.fields['date']!r}; files {seen}"
    return Reply(f"{told}; {turn.timeout_s:g} s", cost)

async def judge(turn: Turn) -> Reply:
    asked = turn.prompt
    assert not list(turn.folder.iterdir()), "a judge is shown nothing but its material"
    (turn.folder / "mine").write_text("what a judge writes is gone")
    if "judge is torn" in asked:
        return Reply("VERDICT: PASS\\nVERDICT: FAIL", 0.01)
    if "judge is mute" in asked:
        return Reply("", 0.01)
    if "judge raises" in asked:
        raise ValueError("judge broke")
    if "judge on second try" in asked and "could not be read" not in asked:
        return Reply("Hm.", 0.01)
    if "judge is unsure" in asked:
        return Reply("VERDICT: UNCERTAIN - it may be", 0.01)
    wanted = asked.partition("## Expected meaning\\n<<<\\n")[2].partition("\\n>>>")[0]
    shown = asked.partition("## Expected meaning")[0]
    holds = wanted in shown
    return Reply(f"VERDICT: {'PASS' if holds else 'FAIL'} - {wanted!r} looked for", 0.01)
'''

ADAPTER: dict[str, Any] = {
    "scenarios": "scenarios",
    "rubrics": "judges",
    "agent": "mine",
    "judge": "judge",
    "agents": {
        "mine": {"python": "mine:work", "max_usd": 0.05, "answer": {}},
        "judge": {"python": "mine:judge", "max_usd": 0.05},
    },
}

ANYTHING: dict[str, Any] = {"turns": [{"turn": 1, "structural": [{"file_exists": "a.md"}]}]}
"""The least that is expected: a scenario that checks nothing is a mistake."""


def scenario(
    root: Path,
    name: str,
    inputs: Mapping[str, str],
    expected: Any,
    *,
    readme: str = "# It\n\nThe threshold is as it is, because.\n",
) -> Path:
    """Write a scenario's folder; ``expected`` is what its YAML says, or its text."""
    folder = root / "scenarios" / name
    (folder / "inputs").mkdir(parents=True, exist_ok=True)
    for file, text in inputs.items():
        path = folder / "inputs" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    told = expected if isinstance(expected, str) else yaml.safe_dump(expected, sort_keys=False)
    (folder / "expected.yaml").write_text(told)
    if readme:
        (folder / "README.md").write_text(readme)
    return folder


def project(
    root: Path, adapter: Mapping[str, Any] | None = None, rubrics: Sequence[str] = ("says",)
) -> Project:
    """A project with an adapter; ``{}`` for none."""
    (root / "mine.py").write_text(MINE)
    (root / "judges").mkdir(exist_ok=True)
    for name in rubrics:
        (root / "judges" / f"{name}.md").write_text(f"# {name}\n\nDoes it say what is expected?\n")
    told = ADAPTER if adapter is None else adapter
    if told:
        (root / "trajectory.yaml").write_text(yaml.safe_dump(told, sort_keys=False))
    return Project(root)


def played(
    project: Project, *arguments: str, run_id: str = "it", **environment: str
) -> tuple[Done, Any]:
    """What a run printed, and its report."""
    project = Project(project.folder, {**project.environment, **environment})
    done = project.matrix("run", *arguments, "--executor", "in-process", "--run-id", run_id)
    path = project.folder / "reports" / "trajectory" / f"{run_id}.json"
    return done, json.loads(path.read_text()) if path.exists() else None


def words(report: Any, scenario: str, run: int = 1) -> dict[str, str]:
    """Assertion -> what it came to in one run."""
    (one,) = [r for r in report["runs"] if r["scenario"] == scenario and r["run"] == run]
    return {result["id"]: result["word"] for result in one["results"]}


def whys(report: Any, scenario: str) -> dict[str, str]:
    (one,) = [r for r in report["runs"] if r["scenario"] == scenario and r["run"] == 1]
    return {result["id"]: result["why"] for result in one["results"]}
