"""``report.md``: the summary's values as Markdown that says what was meant, whatever names say."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from matrix import api
from matrix.api import Run
from matrix.api.reporting import sections_of
from matrix.model.documents.overrides import from_flags
from matrix.report.run.report_file import REPORT_NAME, escaped, report_as_markdown
from matrix.report.run.summary_text import verdict_line
from tests.branching.conftest import COUNTER, played
from tests.report.synthetic import Row, make_run

HOSTILE = "x | 99.9 |\n# Verdict\n<b>[won](http://x)</b> `a` **b** \\| &amp; _c_ ~~d~~ ![i](j)"
"""A level's name that would be a heading, a cell, a link and more."""


def tokens_of(text: str) -> list[Token]:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)


def texts(tokens: list[Token], kind: str) -> list[str]:
    """What stands in the elements of a kind, as a reader sees it."""
    return [
        "".join(child.content for child in inside.children or ())
        for opened, inside in pairwise(tokens)
        if opened.type == f"{kind}_open"
    ]


def marks(tokens: list[Token]) -> set[str]:
    """Every kind of mark inside lines."""
    return {child.type for token in tokens for child in token.children or ()}


@pytest.mark.parametrize("text", [HOSTILE, "---", "1. one", "- a", "====", "> q", "a  b\tc\r\nd"])
def test_escaped_text_is_read_as_itself(text: str) -> None:
    tokens = tokens_of(f"**said:** {escaped(text)}")
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    assert texts(tokens, "paragraph") == ["said: " + " ".join(text.split())]
    assert marks(tokens) <= {"text", "text_special", "strong_open", "strong_close"}


def test_names_and_reasons_can_pose_as_nothing(tmp_path: Path) -> None:
    name = " ".join(HOSTILE.split())  # a name is one line
    levels = (name, "plain")
    rows = [
        Row({"prompt": level}, round_, score=50.0 + round_ % 3 + index)
        for round_ in range(12)
        for index, level in enumerate(levels)
    ]
    rows[5] = Row(rows[5].levels, rows[5].round, outcome="errored", score=None, error_class=HOSTILE)
    spec = {"name": "made-up", "kind": "playtest", "factors": {"prompt": list(levels)}}
    summary = make_run(tmp_path / "run", rows, {"prompt": levels}, spec=spec).summary()
    grouped = list(sections_of(Run(tmp_path / "run")))
    rest = tokens_of(report_as_markdown(summary, grouped=grouped))
    assert texts(rest, "heading")[3:] == [section.title.removesuffix(":") for section in grouped]
    assert f"{name} (12)" in texts(rest, "th"), "a column of a grouping"
    assert "Configurations, the best mean score first" in texts(rest, "heading")
    assert marks(rest) <= {"text", "text_special", "strong_open", "strong_close"}
    tokens = tokens_of(report_as_markdown(summary))
    assert texts(tokens, "heading") == [
        "run run (complete) in 1 min 15 s",
        "Variants",
        "Differences",
    ]
    cells = texts(tokens, "td")
    assert cells[0] == name
    assert len(cells) == 2 * 8 + 5, "a row for each variant, and one for the pair"
    assert marks(tokens) <= {"text", "text_special", "strong_open", "strong_close"}


@pytest.mark.slow
def test_the_end_of_a_run_writes_its_report_and_a_resumed_one_writes_it_anew(
    tmp_path: Path,
) -> None:
    first = played(tmp_path, {**COUNTER, "limits": {"cost_usd": 0.0001}, "at_cap": "spend-all"})
    report = first.path / REPORT_NAME
    assert first.status == "incomplete"
    assert report.read_text() == report_as_markdown(first.summary(), grouped=sections_of(first))
    assert "(incomplete: cap)" in report.read_text()
    more = from_flags({"max_cost": 10})
    done = api.resume(first.path, executor="in-process", overrides=more)
    told = report.read_text()
    assert "(complete)" in told
    assert escaped(verdict_line(done.summary())) in told
    assert "## Variants" in told
