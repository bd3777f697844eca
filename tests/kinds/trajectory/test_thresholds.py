"""What is said of rates is said by the threshold of each: on the page, in headlines, in words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.executors.programs import Done, Project
from tests.kinds.trajectory.folders import ADAPTER, project, scenario

AGENT = """
from matrix.agents import Reply, Turn

idle = {}

async def work(turn: Turn) -> Reply:
    if idle.setdefault(turn.fields["scenario"], turn.session) != turn.session:  # in all but one
        (turn.folder / "a.md").write_text("x")
    return Reply("done", 0.01)
"""
INPUTS = {"turn-01-a.md": "x", "turn-02-b.md": "y"}
FOUND = {"structural": [{"file_exists": "a.md"}]}


def run_of(folder: Path, thresholds: dict[str, float]) -> tuple[Project, Done]:
    """Five runs of scenarios with these thresholds, whose assertions hold in four of them."""
    agents = {**ADAPTER["agents"], "mine": {"python": "most:work", "max_usd": 0.05}}
    made = project(folder, {**ADAPTER, "agents": agents})
    (folder / "most.py").write_text(AGENT)
    for name, share in thresholds.items():
        expected = {
            "pass_threshold": {"structural": share},
            "turns": [{"turn": 1, **FOUND}],
            "final_state": {"structural": [{"file_exists_glob": "**/*.md"}]},
        }
        scenario(folder, name, INPUTS, expected)
    flags = ("--runs", "5", "--executor", "in-process", "--run-id", "it", "--report")
    return made, made.matrix("run", "scenarios", *flags)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Done]:
    return run_of(tmp_path_factory.mktemp("mixed"), {"01": 0.6, "02": 1.0, "03": 0.8})


def row_of(page: str, scenario: str, assertion: str) -> str:
    """The row of an assertion in the table of what was checked in a scenario."""
    table = page.split(f'caption">{scenario}</span>')[1].split("</table>")[0]
    (row,) = (one for one in table.split("<tr>") if f">{assertion}<" in one)
    return row


def cells_of(row: str) -> list[tuple[str, str]]:
    """Shade and text of the cells of a row."""
    found = re.findall(r"<td(?: class=\"([^\"]*)\")?>(?:<a [^>]*>)?([^<]*)", row)
    return [(shade, text) for shade, text in found]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "shade", "word"), [("01", "h4", "reached"), ("02", "h0", "missed")]
)
def test_the_page_shades_and_words_a_rate_by_its_threshold(
    mixed: tuple[Project, Done], scenario: str, shade: str, word: str
) -> None:
    made, done = mixed
    assert done.code == 3, done
    page = (made.path("it") / "report.html").read_text()
    cells = cells_of(row_of(page, scenario, "t01.file_exists"))
    assert cells[:2] == [(shade, word), (shade, "4 of 5")]


def test_the_page_leads_from_the_final_state_to_the_last_turn(mixed: tuple[Project, Done]) -> None:
    page = (mixed[0].path("it") / "report.html").read_text()
    assert '-t2">PASS</a>' in row_of(page, "01", "final.file_exists_glob")
    assert '-t1">PASS</a>' in row_of(page, "01", "t01.file_exists")


def test_the_report_in_markdown_words_it_as_well(mixed: tuple[Project, Done]) -> None:
    told = (mixed[0].path("it") / "report.md").read_text()
    assert "MISSED 02 t01.file_exists: 4 of 5 runs, threshold 1" in told.replace("\\", "")
    assert "MISSED 01" not in told


@pytest.mark.slow
def test_headlines_name_no_threshold_that_is_not_of_all(mixed: tuple[Project, Done]) -> None:
    made, done = mixed
    told = made.matrix("report", "it", "--format", "github").out
    assert "4 of 6 assertions reach the pass rate that they need" in told
    assert "(structural 4 of 6 at 0.6 to 1)" in told.replace("\\", "")
    for text in (told, done.out):
        assert "4 of 5, which is enough where the threshold is 0.8, from 28 %" in text
        assert "enough here" not in text
    assert re.search(r"^02 +5 +0 of 2 at 1 ", done.out, re.MULTILINE), done


@pytest.mark.slow
def test_one_threshold_for_all_is_named_as_it_is(tmp_path: Path) -> None:
    made, done = run_of(tmp_path, {"01": 0.8, "02": 0.8})
    assert done.code == 0, done
    told = made.matrix("report", "it", "--format", "github").out
    assert "(structural 4 of 4 at 0.8)" in told.replace("\\", "")
    assert "4 of 5, which is enough here, from 28 %" in told
