"""A run as a comment, as JUnit's XML and as a table; and one session by itself."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from contextlib import chdir
from html import escape
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

import matrix
from matrix.api.opened import open_run
from matrix.api.reporting import facts_of
from matrix.model.errors import BadInput
from matrix.model.lines import harmless, no_formula
from matrix.model.notebook import table_as_html, text_as_html
from matrix.report.page.run_charts import CHARTS
from tests.executors.programs import Project, counter_spec
from tests.kinds.trajectory import folders


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(tmp_path_factory.mktemp("forms"))
    project.write(counter_spec(options={"turns": 2}, per_cell=12))
    flags = ("--threshold", "score=1000", "--fail-on", "threshold", "--executor", "in-process")
    assert project.matrix("run", *flags, "--run-id", "it").code == 3
    return project


@pytest.mark.slow
def test_a_comment_is_short_and_begins_with_the_verdict(played: Project) -> None:
    done = played.matrix("report", "it", "--format", "github")
    assert done.code == 0, done
    lines = done.out.splitlines()
    assert len(lines) <= 12
    assert lines[0].startswith("**")
    assert "\\$" in done.out or "$" in done.out
    assert sum("matrix show it " in line for line in lines) == 3


@pytest.mark.slow
@pytest.mark.parametrize(("flags", "written"), [((), False), (("--report",), True)])
def test_a_flag_says_more_than_the_variable(
    tmp_path: Path, flags: tuple[str, ...], written: bool
) -> None:
    project = Project(tmp_path, {"MATRIX_REPORT": "0"})
    project.write(counter_spec(options={"turns": 1}, per_cell=2))
    done = project.matrix("run", *flags, "--executor", "in-process", "--run-id", "it")
    assert ("report: results/it/report.html" in done.out) is written, done
    assert (project.path("it") / "report.html").is_file() is written


def test_junit_has_a_case_for_each_session_and_the_gate(played: Project) -> None:
    done = played.matrix("report", "it", "--format", "junit")
    root = ET.fromstring(done.out)
    suites = {suite.get("name"): suite for suite in root}
    assert suites["one"].get("tests") == "24"
    assert suites["gates"].get("failures") == "1"
    failure = suites["gates"].find("testcase/failure")
    assert failure is not None
    assert "score" in (failure.text or "")


@pytest.mark.slow
def test_junit_has_the_cases_of_a_kind_that_has_any(tmp_path: Path) -> None:
    project = folders.project(tmp_path)
    turns = [{"turn": 1, "structural": [{"file_exists": "a.md"}, {"file_exists": "no.md"}]}]
    folders.scenario(tmp_path, "01", {"turn-01-a.md": "WRITE a.md | x"}, {"turns": turns})
    assert (
        project.matrix("run", "scenarios", "--executor", "in-process", "--run-id", "it").code == 3
    )
    out = tmp_path / "junit.xml"
    assert project.matrix("report", "it", "--format", "junit", "-o", "junit.xml").code == 0
    (suite,) = ET.fromstring(out.read_text())
    assert {case.get("name"): len(case) for case in suite} == {
        "t01.file_exists": 0, "t01.file_exists.2": 1,
    }  # fmt: skip


def test_a_table_has_a_line_for_each_session(played: Project) -> None:
    done = played.matrix("report", "it", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    frame = played.tables("it").frame("sessions")
    assert [row["session_id"] for row in rows] == list(frame["session_id"])
    assert [float(row["score"]) for row in rows] == pytest.approx(list(frame["score"]))
    assert {row["step"] for row in rows} == {"1", "2"}


@pytest.mark.parametrize("sign", ["=", "+", "-", "@"])
@pytest.mark.parametrize("before", ["", "a;", "a\n", "a\t", "a, ", "a\n  "])
def test_no_part_of_a_cell_is_a_formula(sign: str, before: str) -> None:
    shown = no_formula(f"{before}{sign}cmd|x!A1")
    assert f"'{sign}cmd" in shown.replace(" ", "")
    assert no_formula("as it was: a=b - c@d") == "as it was: a=b - c@d"


@pytest.mark.slow
def test_one_session_is_a_page_or_markdown(played: Project) -> None:
    done = played.matrix("report", "it", "--session", "best", "-o", "one.html")
    assert done.code == 0, done
    text = (played.folder / "one.html").read_text()
    assert text.count('class="session"') == 1
    told = played.matrix("report", "it", "--session", "best", "--format", "md")
    assert told.out.startswith("# Session Report")
    wrong = played.matrix("report", "it", "--session", "best", "--format", "csv")
    assert wrong.code == 2
    assert "a session is told as html or md" in wrong.err


@pytest.mark.slow
def test_no_file_is_replaced_unasked(played: Project) -> None:
    (played.folder / "mine.txt").write_text("mine")
    os.mkfifo(played.folder / "pipe")
    for name, told in (
        ("mine.txt", "is there already"), ("pipe", "is no plain file"), ("", "name a file"),
    ):  # fmt: skip
        done = played.matrix("report", "it", "--format", "csv", "-o", name)
        assert done.code == 2, done
        assert told in done.err
    assert (played.folder / "mine.txt").read_text() == "mine"
    forced = ("report", "it", "--format", "csv", "--force", "-o")
    assert played.matrix(*forced, "mine.txt").code == 0
    assert "is no plain file" in played.matrix(*forced, "pipe").err


def test_an_unknown_form_is_told_with_those_there_are(played: Project) -> None:
    done = played.matrix("report", "it", "--format", "pdf")
    assert done.code == 2
    assert "--format: found 'pdf'; a report is one of html, md, github, junit, csv" in done.err


@pytest.mark.slow
def test_what_notebooks_show_is_short_and_framed(played: Project) -> None:
    run = open_run(played.path("it"))
    shown = run._repr_html_()
    assert shown.startswith("<iframe sandbox srcdoc=")
    assert len(shown) < 400_000
    for one in (run, run.compare(), run.session("best")):
        assert len(repr(one)) < 400
        assert "\n" not in repr(one)
    assert run.report("csv") == played.matrix("report", "it", "--format", "csv").out


def test_two_sessions_that_share_a_draw_are_taken_where_none_are_named(played: Project) -> None:
    done = played.matrix("diff", "it", "--json")
    assert done.code == 0, done
    frame = played.tables("it").frame("sessions").set_index("session_id")
    one, two = (json.loads(done.out)[side]["session_id"] for side in ("a", "b"))
    assert frame.loc[one, "round"] == frame.loc[two, "round"]
    assert frame.loc[one, "score"] <= frame.loc[two, "score"]


@pytest.mark.slow
def test_every_chart_of_the_page_is_given_by_its_name(played: Project) -> None:
    run = open_run(played.path("it"))
    page = run.report()
    names = [name for name in dir(run.plot) if not name.startswith("_")]
    assert set(names) == set(CHARTS)
    facts = facts_of(run, None)
    drawn = [name for name in names if CHARTS[name](facts) is not None]
    for name in drawn:
        chart = getattr(run.plot, name)()
        assert f"<title>{escape(chart.title, quote=False)}</title>" in page
        assert f"<desc>{escape(chart.told, quote=False)}</desc>" in page
        assert len(repr(chart)) < 2_000
        assert "\n" not in repr(chart)
    assert len(drawn) >= 4
    for name in set(names) - set(drawn):
        with pytest.raises(BadInput, match=rf"^plot\.{name}: run it has nothing to draw in it"):
            getattr(run.plot, name)()


def test_what_notebooks_are_shown_is_short_escaped_and_runs_nothing(played: Project) -> None:
    run = open_run(played.path("it"))
    with chdir(played.path("it").parents[1]):
        plan, needed = matrix.plan(), matrix.power(effect=3, sd=5)
    for one in (run, run.compare(), run.session("best"), plan, needed, run.plot):
        assert len(repr(one)) < 500
        assert "\n" not in repr(one)
    for shown in (run.compare(), run.session("best"), plan, needed):
        html = shown._repr_html_()
        assert len(html) < 400_000
        assert set(re.findall(r"<(\w+)", html)) <= {
            *("pre", "table", "caption", "thead", "tbody", "tr", "th", "td"),
        }


@given(st.text())
def test_no_text_becomes_markup_in_a_notebook(text: str) -> None:
    for html in (text_as_html(text), table_as_html(text, [text], [[text]])):
        tags = r"</?(pre|table|caption|thead|tbody|tr|th|td)( style=\"[a-z:-]+\")?>"
        bare = re.sub(tags, "", html)
        assert not set(bare) & set("<>\"'")
        assert harmless(html) == html


@pytest.mark.slow
def test_junit_and_csv_say_that_models_were_simulated(played: Project) -> None:
    root = ET.fromstring(played.matrix("report", "it", "--format", "junit").out)
    for suite in root.iter("testsuite"):
        found = {one.get("name"): one.get("value") for one in suite.iter("property")}
        assert found == {"simulated": "simulated"}
    rows = list(csv.DictReader(io.StringIO(played.matrix("report", "it", "--format", "csv").out)))
    assert {row["simulated"] for row in rows} == {"true"}


@pytest.mark.slow
def test_a_comment_tells_of_the_gates_that_failed_first(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write(counter_spec(options={"turns": 2}, per_cell=12))
    flags = ("--threshold", "calls=99", "--threshold", "score=1000")
    done = project.matrix(
        "run", *flags, "--fail-on", "threshold", "--executor", "in-process", "--run-id", "it"
    )
    assert done.code == 3, done
    kept = json.loads(project.matrix("show", "it", "--json").out)["gate"]["lines"]
    assert not kept[0].startswith("gate FAILED")  # its first one passed
    told = project.matrix("report", "it", "--format", "github").out.splitlines()
    gates_told = [line for line in told if line.startswith("gate ")]
    assert gates_told[0].startswith("gate FAILED: score at least 1,000")
    assert len(gates_told) == 2


@pytest.mark.slow
def test_a_comment_of_many_variants_has_the_best_first_and_how_many_more(tmp_path: Path) -> None:
    project = Project(tmp_path)
    spec = counter_spec(factors={"step": [1, 2, 3, 4, 5, 9]}, options={"turns": 2}, per_cell=12)
    project.write(spec)
    assert project.matrix("run", "--executor", "in-process", "--run-id", "it").code == 0
    (line,) = [
        line
        for line in project.matrix("report", "it", "--format", "github").out.splitlines()
        if "; and 2 more" in line
    ]
    assert line.startswith("score, more is better: 9 ")
