"""What is said where runs of one scenario come out differently: in how many, and in which."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.executors.programs import Project
from tests.kinds.trajectory.folders import MINE, project, scenario

VARYING = '''

async def varying(turn: Turn) -> Reply:
    """As `work`, but for every line that is of the other half of runs: EVEN, ODD order."""
    ours = ("EVEN ", "ODD_ ")[turn.seed % 2]
    lines = (line.removeprefix(ours) for line in turn.prompt.splitlines())
    return await work(turn._replace(prompt="\\n".join(lines)))
'''
MOST = 30


def runs_of(root: Path, count: int, wrote: str, *structural: str) -> tuple[Project, str]:
    """A scenario of one turn, so often, with an agent that differs between runs."""
    made = project(root)
    adapter = root / "trajectory.yaml"
    (root / "mine.py").write_text(MINE + VARYING)
    adapter.write_text(adapter.read_text().replace("mine:work", "mine:varying"))
    kept = [{name: "a.md" if name.startswith("file") else True} for name in structural]
    scenario(root, "01", {"turn-01-a.md": wrote}, {"turns": [{"turn": 1, "structural": kept}]})
    flags = ("--runs", str(count), "--executor", "in-process", "--run-id", "it", "--report")
    return made, made.matrix("run", "scenarios", *flags).out


@pytest.mark.slow
def test_what_passed_unread_in_some_runs_is_told_with_how_many(tmp_path: Path) -> None:
    note = "# H1\\n\\n{}\\n\\n## Evidence for\\n\\n- it is slow\\n"
    unread, read = note.format("It was demoted."), note.format("Status: active")
    wrote = f"EVEN WRITE hypotheses/H1.md | {unread}\nODD_ WRITE hypotheses/H1.md | {read}"
    _, out = runs_of(tmp_path, 6, wrote, "no_silent_hypothesis_demotion")
    told = next(one for one in out.splitlines() if one.startswith("passed with nothing"))
    found = re.fullmatch(
        r"passed with nothing to look at, or with some of it not read, in some runs: "
        r"01 t01\.no_silent_hypothesis_demotion in ([1-5]) of 6 runs \(none is demoted.*\)",
        told,
    )
    assert found is not None, told


@pytest.mark.slow
@pytest.mark.parametrize("count", [14, MOST + 4])
def test_a_page_shows_every_run_or_says_which(tmp_path: Path, count: int) -> None:
    made, _ = runs_of(tmp_path, count, "EVEN WRITE a.md | x", "file_exists")
    page = (made.path("it") / "report.html").read_text()
    checked = page.partition("What was checked</h2>")[2].partition("The same in words")[0]
    heads = re.findall(r">(run \d+)<", checked)
    words = re.findall(r">(PASS|FAIL)<", checked)
    assert len(heads) == len(set(heads)) == len(words) == min(count, MOST)
    if count > MOST:
        assert f"{MOST} of {count} runs, those that missed most first" in checked
        assert words == sorted(words), "FAIL before PASS"
    else:
        assert "missed most first" not in checked
        assert heads == [f"run {n}" for n in range(1, count + 1)]
    assert {*words} == {"PASS", "FAIL"}


@pytest.mark.slow
def test_the_list_names_what_cut_a_run_short_as_the_summary_does(tmp_path: Path) -> None:
    made = project(tmp_path)
    turns = [{"turn": 1, "structural": [{"file_exists": "a.md"}]}]
    inputs = {f"turn-0{n}-a.md": f"WRITE a.md | {n}" for n in (1, 2, 3)}
    scenario(tmp_path, "01", inputs, {"turns": turns})
    flags = ("--runs", "3", "--max-cost", "0.08", "--executor", "in-process", "--run-id", "it")
    out = made.matrix("run", "scenarios", *flags).out
    assert re.search(r"^ *censored +[12] by cap ", out, re.MULTILINE), out
    cut = [one for one in out.splitlines() if one.startswith("CENSORED")]
    own = r"cap: one call of mine is held .*"  # what a session itself was told
    without = r"by cap, (cut short after turn \d|not begun)"
    assert all(re.fullmatch(rf"CENSORED 01, run \d: ({own}|{without})", one) for one in cut), out
    assert any(re.search(without, one) for one in cut), out
