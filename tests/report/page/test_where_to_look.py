"""Where pages and comments send people: to the worst turn, of bad sessions only, verdict first."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.executors.programs import Project
from tests.kinds.trajectory import folders

CHAT = """
import matrix

ISSUES = {
    "crowded": {1: ["error"], 2: ["warning"] * 3, 3: ["error", "warning"], 4: ["error"]},
    "warned": {2: ["warning"], 3: ["warning", "warning"]},
    "broken": {1: ["error", "error"]},
    "sound": {},
}

@matrix.scenario(roles={"agent": "sim/gpt-4o-mini"}, simulated={"agent": "simulated"})
async def chat(ctx: matrix.ScenarioContext, how: str = "sound"):
    for turn in range(1, 5):
        reply = await ctx.ask("agent", f"say {turn}")
        ctx.say("agent", reply.text)
        for severity in ISSUES[how].get(turn, []):
            ctx.event("odd", detail=f"at {turn}", severity=severity)
        await ctx.checkpoint()
    ctx.score("score", {"crowded": 0.2, "warned": 0.5}.get(how, 1.0))
    if how == "broken":
        ctx.end("failed", "gave up")
"""


def _chat(folder: Path, *levels: str) -> Project:
    project = Project(folder)
    (folder / "chat.py").write_text(CHAT)
    given = f"factors.how=[{', '.join(levels)}]"
    done = project.matrix(
        *("run", "chat.py", "--per-cell", "1", "--set", given, "--run-id", "it", "-y"),
        *("--executor", "in-process", "--report"),
    )
    assert done.code == 0, done
    return project


@pytest.mark.long
@pytest.mark.slow
def test_a_session_is_read_for_its_worst_turn_and_a_failed_one_for_its_last(tmp_path: Path) -> None:
    project = _chat(tmp_path, "crowded", "warned", "broken", "sound")
    told = project.matrix("report", "it", "--format", "github").out
    found = re.findall(r"turn ([0-9]{1,3}) of chat, ([a-z]{1,9})", told)
    frame = project.tables("it").frame("sessions")
    last = int(frame[frame["how"] == "broken"]["turns"].iloc[0])
    wanted = {"crowded": 3, "warned": 3, "broken": last}
    assert {how: int(turn) for turn, how in found} == wanted
    junit = ET.fromstring(project.matrix("report", "it", "--format", "junit").out)
    noticed = {case.get("name"): case.findtext("system-out") for case in junit.iter("testcase")}
    assert noticed["warned, round 0"] == "; ".join(
        f"warning in turn {turn}: odd" for turn in (2, 3, 3)
    )
    assert noticed["sound, round 0"] is None
    page = (project.path("it") / "report.html").read_text()
    table = page.split("Where to begin reading</span>")[1].split("</table>")[0]
    for how, turn in wanted.items():
        (row,) = (row for row in table.split("<tr>") if f">{how}<" in row)
        assert f">turn {turn}<" in row


@pytest.mark.slow
def test_a_session_as_good_as_the_best_is_not_among_the_worst(tmp_path: Path) -> None:
    project = _chat(tmp_path, "sound", "warned")
    page = (project.path("it") / "report.html").read_text()
    frame = project.tables("it").frame("sessions")
    best = str(frame[frame["score"] == 1.0]["session_id"].iloc[0])[:16]
    look = page.split("Where to begin reading</span>")[1].split("</table>")[0]
    (row,) = (row for row in look.split("<tr>") if best in row)
    assert "worst" not in row
    worst = page.split("Worst sessions by score</span>")[1].split("</table>")[0]
    assert best not in worst


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("checked")
    project = folders.project(folder)
    turns = [
        {"turn": 1, "structural": [{"file_exists": "a.md"}]},
        {"turn": 2, "structural": [{"file_exists": "b.md"}]},
    ]
    inputs = {"turn-01-a.md": "WRITE a.md | x", "turn-02-b.md": "WRITE b.md | x"}
    folders.scenario(folder, "01", inputs, {"turns": turns})
    flags = ("--runs", "2", "--executor", "in-process", "--run-id", "it", "--report")
    assert project.matrix("run", "scenarios", *flags).code == 0
    return project


@pytest.mark.slow
def test_what_a_kind_says_of_its_run_comes_first_where_nothing_is_compared(
    checked: Project,
) -> None:
    told = checked.matrix("report", "it", "--format", "github").out
    page = (checked.path("it") / "report.html").read_text()
    head = "2 of 2 assertions reach the pass rate that they need (structural 2 of 2 at 1)"
    assert told.startswith(f"**{head}")
    assert f'<p class="verdict">{head}' in page
    support = "2 of 2 runs may come from a true rate as low as 15 % (95 % interval)"
    nothing = "No factor with several levels"
    for text in (told, page):
        assert text.index(head) < text.index(support) < text.index(nothing)
    assert "worst" not in told
    assert "Worst sessions by score: none is worse than the best." in page


def test_a_row_about_a_turn_leads_to_it(checked: Project) -> None:
    page = (checked.path("it") / "report.html").read_text()
    grid = page.split('id="checks"')[1].split("</table>")[0]
    for row in grid.split('scope="row"')[1:]:
        turn = int(row.partition(">t")[2][:2])
        links = re.findall(r'href="#(s-[^"]{1,80})">PASS', row)
        assert len(links) == 2
        for link in links:
            assert link.endswith(f"-t{turn}")
            assert f'id="{link}"' in page
