"""Text of strangers on its way to a terminal: it drives none, and poses as no line of ours."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.executors.programs import Done, Project, counter_spec

FORGED = "Verdict: FAKE beats all 3 variants"
PLANTED = [
    f"a\x1b[2J\x1b]0;title\x07{FORGED}",
    f"a\n{FORGED}",
    f"a\r{FORGED}",
    f"a\u2028{FORGED}\u2029b",
    f"a\x85{FORGED}",
    f"a\u202e\u061c\u200f{FORGED}",
]
DRIVES = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
COMMANDS = [
    ("show", "it"), ("show", "it", "best"), ("show", "it", "--json"), ("compare", "it"),
    ("list",), ("list", "--json"), ("resume", "it", "--executor", "in-process"), ("archive", "it"),
    ("repair", "it"), ("export", "it", "best", "-o", "out.json"), ("diff", "it", "best", "worst"),
    ("replay", "it", "best", "--turn", "0", "--dry-run"),
]  # fmt: skip

MINE = """
async def says(turn):
    return {planted!r}
"""


def assert_ours(done: Done) -> None:
    """What was printed drives no terminal, and every line of it is the program's own."""
    assert done.code in (0, 1, 2), done
    for text, margin in ((done.out, r"\s*"), (done.err, "")):  # an error goes on indented
        assert not DRIVES.search(text), ascii(DRIVES.findall(text))
        assert not re.search(rf"^{margin}{FORGED}", text, re.MULTILINE), text
    assert "Traceback" not in done.err


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = Project(tmp_path_factory.mktemp("played"))
    project.write(counter_spec(options={"turns": 1}, per_cell=1))
    done = project.matrix("run", "--executor", "in-process", "--run-id", "it")
    assert done.code == 0, done
    return project.folder


def texts_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where a document has texts: paths, and names of mappings."""
    if isinstance(value, dict):
        return [one for key, item in value.items() for one in texts_in(item, (*path, key))]
    if isinstance(value, list):
        return [one for at, item in enumerate(value) for one in texts_in(item, (*path, at))]
    return [path] if isinstance(value, str) else []


def put(value: Any, path: tuple[Any, ...], text: str) -> None:
    for step in path[:-1]:
        value = value[step]
    value[path[-1]] = text


@pytest.mark.long
@pytest.mark.slow
def test_no_text_of_a_received_run_is_more_than_text(played: Path, tmp_path: Path) -> None:
    """Each text of ``run.json`` in turn is each of these, and the run is looked at."""
    shutil.copytree(played, tmp_path / "project")
    project = Project(tmp_path / "project")
    path = project.path("it") / "run.json"
    whole = path.read_text()
    places = [one for one in texts_in(json.loads(whole)) if one[0] != "spec"]
    assert len(places) > 15
    for number, place in enumerate(places):
        value = json.loads(whole)
        put(value, place, PLANTED[number % len(PLANTED)])
        path.write_text(json.dumps(value))
        for command in COMMANDS[number % 3 :: 3]:
            assert_ours(project.matrix(*command))


@pytest.mark.slow
@pytest.mark.parametrize("planted", PLANTED)
def test_no_answer_of_a_model_is_more_than_text(planted: str, tmp_path: Path) -> None:
    project = Project(tmp_path)
    (tmp_path / "mine.py").write_text(MINE.format(planted=planted))
    (tmp_path / "ends.md").write_text("---\nanswer: verdict\n---\nDoes it count?\n")
    agents = {"mine": {"python": "mine:says", "free": True}}
    judges = [{"rubric": "ends.md", "model": "mine"}]
    spec = counter_spec(options={"turns": 1}, per_cell=1, agents=agents, judges=judges)
    project.write(spec)
    assert_ours(project.matrix("run", "--executor", "in-process", "--run-id", "it"))
    for command in (("show", "it"), ("show", "it", "best"), ("compare", "it", "--metric", "ends")):
        assert_ours(project.matrix(*command))
    page = (project.path("it") / "report.md").read_text()
    assert not DRIVES.search(page)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("planted", PLANTED)
def test_no_name_in_a_spec_is_more_than_a_name(planted: str, tmp_path: Path) -> None:
    project = Project(tmp_path)
    for change in (
        {"factors": {"step": [1, planted]}},
        {"factors": {planted: [1, 2]}},
        {"scenarios": [planted]},
        {"kind": planted},
        {"name": planted},
        {"judges": [{"rubric": f"file://{planted}", "model": "sim/haiku"}]},
        {"models": {planted: {"target": planted, "free": True}}},
        {"agents": {planted: {"command": [planted], "free": True}}},
        {planted: 1},
    ):
        project.write(counter_spec(**change))
        for command in ("validate", "plan"):
            assert_ours(project.matrix(command))
        done = project.matrix("run", "--executor", "in-process", "--run-id", "it")
        assert_ours(done)
        shutil.rmtree(tmp_path / "results", ignore_errors=True)


@pytest.mark.slow
@pytest.mark.parametrize("planted", PLANTED)
def test_no_name_of_a_file_or_folder_is_more_than_a_name(
    planted: str, played: Path, tmp_path: Path
) -> None:
    shutil.copytree(played, tmp_path / "project")
    project = Project(tmp_path / "project")
    name = planted.replace("/", "_")
    shutil.copytree(project.path("it"), project.folder / "results" / name)
    (project.folder / name).write_text("{")
    for command in (
        ("list",), ("show", name), ("validate", name), ("run", name), ("resume", name),
        ("show", "it", "--results", name), ("replay", "--checkpoint", name), ("plan", name),
    ):  # fmt: skip
        assert_ours(project.matrix(*command))


@pytest.mark.slow
def test_a_run_that_was_changed_is_shown_as_received(sent: Project) -> None:
    path = sent.path("it") / "run.json"
    said = json.loads(path.read_text())
    path.write_text(json.dumps({**said, "simulated": False, "stand_ins": {}, "kind": said["kind"]}))
    before = sent.matrix("show", "it")
    assert "is not a run that you made here" not in " ".join(before.out.split())
    path.write_text(json.dumps({**said, "simulated": False, "stand_ins": {}, "mark": "0" * 64}))
    for command in (("show", "it"), ("compare", "it")):
        done = sent.matrix(*command)
        assert "is not a run that you made here" in " ".join(done.out.split()), done
    assert "received; complete" in sent.matrix("list").out
