"""Hypotheses over turns: which one a name stands for, and those that an agent removes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from matrix.kinds.trajectory.assertions.notes.layout import Layout
from matrix.kinds.trajectory.assertions.pinned import compared, pin
from tests.kinds.trajectory.folders import played, project, scenario, whys, words
from tests.kinds.trajectory.test_structural import ROW, ask, evidence, hypothesis, look

SOURCE = {"source/interviews/lena.md": "As Lena said it."}
ONE, TWO = "hypotheses/H-V1-report.md", "hypotheses/H-V2-mail.md"
BOTH = SOURCE | {
    ONE: hypothesis(),
    TWO: hypothesis().replace("H-V1: Small teams drop", "H-V2: Nobody reads"),
}
AGAINST = "- They said no ([x](../source/interviews/lena.md))"
INCREASED = "hypothesis_evidence_count_increased_for"
UNCHANGED = "hypothesis_evidence_count_unchanged_for"
SILENT = "no_silent_hypothesis_demotion"


def test_a_row_that_changes_sides_is_a_change(tmp_path: Path) -> None:
    before = SOURCE | {ONE: hypothesis(1, against=AGAINST)}
    view = look(tmp_path, SOURCE | {ONE: hypothesis(2)}, before)
    found = ask(view, UNCHANGED, "H-V1")
    assert not found.holds
    assert found.seen == f"{ONE} had 1 for it and 1 against, and has 2 and 0"


@pytest.mark.parametrize("name", ["H-V1", "h-v1", "H-V1-report.md", "report", ONE])
@pytest.mark.parametrize("more", [0, 1])
def test_evidence_of_another_is_never_credited_to_one_that_was_removed(
    tmp_path: Path, name: str, more: int
) -> None:
    left = {path: text for path, text in BOTH.items() if path != ONE}
    view = look(tmp_path, left | {TWO: BOTH[TWO].replace(ROW, evidence(1 + more))}, BOTH)
    for assertion in (INCREASED, UNCHANGED):
        found = ask(view, assertion, name)
        assert not found.holds
        assert f"{name} was H-V1 ({ONE}), which is gone" in found.seen
    assert ask(view, INCREASED, "H-V2").holds is bool(more)
    assert ask(view, UNCHANGED, "H-B9").holds is not bool(more)  # which never was anybody's


def test_a_place_by_time_is_not_moved_up_by_a_removal(tmp_path: Path) -> None:
    left = {path: text for path, text in BOTH.items() if path != ONE}
    view = look(tmp_path, left | {TWO: BOTH[TWO].replace(ROW, evidence(2))}, BOTH)
    assert not ask(view, INCREASED, "H1").holds  # the elder one is gone
    assert ask(view, INCREASED, "H2").holds


def test_two_that_fit_a_name_are_both_told(tmp_path: Path) -> None:
    view = look(tmp_path, BOTH | {"hypotheses/H-U3-report-late.md": "# H-U3: Late\n"}, BOTH)
    found = ask(view, INCREASED, "report")
    assert not found.holds
    both = f"H-U3 (hypotheses/H-U3-report-late.md), H-V1 ({ONE})"
    assert found.seen == f"report is ambiguous: {both}"


def test_one_that_gets_another_name_and_id_with_its_evidence_is_the_same(tmp_path: Path) -> None:
    before = SOURCE | {"hypotheses/reports.md": hypothesis().replace("H-V1: ", "")}
    renamed = "hypotheses/H-V1-weekly.md"
    for rows, holds in ((1, False), (2, True)):
        view = look(tmp_path / str(rows), SOURCE | {renamed: hypothesis(rows)}, before)
        assert ask(view, INCREASED, "reports").holds is holds
        assert ask(view, SILENT).holds


NOTE = "decisions/drop.md"


@pytest.mark.parametrize(
    ("was", "after", "holds"),
    [
        ({}, {}, False),
        ({}, {TWO: BOTH[TWO] + "\nMerged from H-V1 on 03-09.\n"}, True),
        ({}, {NOTE: "# Drop H-V1-report\n\nReversal: if 3 of 10 ask again\n"}, True),
        ({}, {NOTE: "# Drop H-V10\n"}, False),  # another one
        ({}, {"hypotheses/INDEX.md": "- [report](H-V1-report.md)"}, False),  # a link left behind
        ({}, {"archive/H-V1-report.md": hypothesis()}, True),  # put away with its evidence
        ({}, {"archive/H-V1-report.md": "# H-V1: it was\n"}, False),  # and without
        ({ONE: hypothesis(0)}, {}, True),  # nothing supported it
        ({ONE: hypothesis(1, "demoted", AGAINST)}, {}, True),  # its demotion was not silent
        ({ONE: hypothesis(1, "demoted")}, {}, False),
    ],
)
def test_a_removal_of_what_was_supported_is_a_demotion(
    tmp_path: Path, was: dict[str, str], after: dict[str, str], holds: bool
) -> None:
    left = {path: text for path, text in BOTH.items() if path != ONE}
    found = ask(look(tmp_path, left | after, BOTH | was), SILENT)
    assert found.holds is holds
    if not holds:
        assert found.seen == f"removed with its support, and nothing says so: H-V1 ({ONE})"


GUTTED = "# H-V1: Small teams drop the report\n"


@pytest.mark.parametrize(
    ("emptied", "more", "holds"),
    [
        (GUTTED, {}, False),
        ("", {}, False),
        (GUTTED, {NOTE: "# Drop H-V1\n"}, True),
        (GUTTED, {NOTE: "# Drop\n\n<!-- H-V1 dropped -->\n"}, False),  # a comment
        (GUTTED, {NOTE: "# Drop\n\n```\nH-V1\n```\n"}, False),  # code
        (GUTTED, {NOTE: "---\nabout: H-V1\n---\n# Drop\n"}, True),
        (GUTTED, {"source/log.md": hypothesis()}, True),  # its evidence is kept elsewhere
        (GUTTED + "\nStatus: proposed\n", {}, True),  # it still says what it is
        (hypothesis(0, "demoted", AGAINST), {}, True),
    ],
)
def test_taking_evidence_and_status_out_of_a_hypothesis_is_removing_it(
    tmp_path: Path, emptied: str, more: dict[str, str], holds: bool
) -> None:
    view = look(tmp_path, BOTH | {ONE: emptied} | more, BOTH)
    found = ask(view, SILENT)
    assert found.holds is holds, found.seen
    assert ask(view, UNCHANGED, "H-V1").seen.startswith(f"{ONE} had 1 for it")


def line(path: str, text: str) -> str:
    escaped = text.replace("\n", "\\n")
    return f"WRITE {path} | {escaped}\n"


@pytest.mark.slow
def test_what_is_gone_stays_gone_over_the_weeks(tmp_path: Path) -> None:
    made = project(tmp_path)
    more = BOTH[TWO].replace(ROW, evidence(2))
    inputs = {
        "turn-01-a.md": "".join(line(path, text) for path, text in BOTH.items()),
        "turn-02-b.md": f"DELETE {ONE}\n",
        "turn-03-c.md": line(TWO, more),
        "turn-04-d.md": line(ONE, BOTH[ONE]),
    }
    turns: list[Any] = [
        {"turn": n, "structural": [{INCREASED: "H-V1"}, {UNCHANGED: "report"}, SILENT]}
        for n in (2, 3, 4)
    ]
    scenario(tmp_path, "01", inputs, {"turns": turns, "final_state": {"structural": [SILENT]}})
    done, report = played(made, "scenarios", "--skip-content")
    assert done.code == 3, done
    found = words(report, "01")
    for turn in ("t02", "t03"):
        assert [found[f"{turn}.{one}"] for one in (INCREASED, UNCHANGED, SILENT)] == ["FAIL"] * 3
        assert "is gone" in whys(report, "01")[f"{turn}.{INCREASED}"]
    assert found[f"t04.{INCREASED}"] == "PASS"  # it is there again
    assert found[f"final.{SILENT}"] == "PASS"


@pytest.mark.slow
def test_what_was_emptied_stays_so_until_it_says_something_again(tmp_path: Path) -> None:
    made = project(tmp_path)
    inputs = {
        "turn-01-a.md": "".join(line(path, text) for path, text in BOTH.items()),
        "turn-02-b.md": line(ONE, GUTTED),
        "turn-03-c.md": line("notes/x.md", "another week"),
        "turn-04-d.md": line(ONE, BOTH[ONE]),
    }
    turns = [{"turn": n, "structural": [SILENT]} for n in (1, 2, 3, 4)]
    scenario(tmp_path, "01", inputs, {"turns": turns})
    _, report = played(made, "scenarios", "--skip-content")
    assert list(words(report, "01").values()) == ["PASS", "FAIL", "FAIL", "PASS"]


@pytest.mark.parametrize(
    ("written", "status"),
    [
        ("---\nstatus: active  # set by Ben\n---", "active"),
        ('---\nstatus: "active"   # set by Ben\n---', "active"),
        ("---\nstatus: active (since 2 March)\n---", "active"),
        ("Status: active | Risk: value | Owner: Ben", "active"),
        ("Status: **active**, owner Ben", "active"),
        ("Status: guess \u2192 looks right \u2192 **demoted** (25 March) \u2014 low", "demoted"),
        ("Status: ~~active~~ demoted on 25 March", "demoted"),
        ("Status: needs-work; see below", "needs work"),
        ("Status: demoted because Lena left", "demoted"),
        ("Status: \u2705 validated. Lena and Tomas pay", "validated"),
        ("| Field | Value |\n|---|---|\n| Status | in review - soon |", "in review"),
    ],
)
def test_a_status_is_pinned_without_what_stands_beside_it(
    tmp_path: Path, written: str, status: str
) -> None:
    head, body = (f"{written}\n", "") if written.startswith("---") else ("", written)
    text = f"{head}# H-V1: It pays\n\n{body}\n\n## Evidence for\n\n- she said so\n"
    now = pin(look(tmp_path, {ONE: text}), Layout())
    assert now["hypotheses"] == {"H-V1": {"status": status, "for": 1, "against": 0}}
    assert compared(now, now) == []
    was = {"H-V1": {"status": f"{status} # set by ben", "for": 1, "against": 0}}
    assert compared(now | {"hypotheses": was}, now) == []  # as earlier versions pinned


@pytest.mark.parametrize(
    "line", ["> **Status** demoted", "**Current status** demoted", "- __Status__ demoted"]
)
def test_a_bold_label_needs_no_colon(tmp_path: Path, line: str) -> None:
    before = SOURCE | {ONE: hypothesis()}
    view = look(tmp_path, SOURCE | {ONE: hypothesis().replace("Status: active", line)}, before)
    assert not ask(view, SILENT).holds


@pytest.mark.parametrize(
    "said",
    [
        "**Demoted** (2026-03-04)", "**Demoted** \u2014 no more support", "**Demoted** on 4 March.",
        "**Demoted.** No more support.", "**Demoted:** no more support", "*Demoted:* no",
        "Demoted (2026-03-04): no more support", "`Demoted`: no more support", "__Demoted:__ no",
        "- **Demoted:** no more support", "> **Demoted:** no more support", "***Demoted:*** no",
        "~~Active~~ **Demoted:** no more support", "~~Active~~\n\n**Demoted**: no more support",
        "\u274c **Demoted:** no more support", "Owner: Ben\n\n**Demoted:** no more support",
        "- 2026-03-01: active\n- 2026-03-04: **Demoted:** no more support", "Status: demoted",
        "**Owner:** Ben \u00b7 **Status:** demoted", "**Proposed \u2192 demoted:** no support",
        "**Owner** Ben\n**Demoted** on 4 March", "<u>Demoted</u>: no more support",
        "**2026-03-04:** Demoted, no more support", "2026-03-04: **Demoted**", "1. Demoted: no",
        "- [x] Demoted: no more support", "**Current:** demoted", "Was: active\nNow: demoted",
    ],
)  # fmt: skip
@pytest.mark.parametrize("above", ["## Status\n\n", "## Status\n", "Status\n------\n\n"])
def test_a_status_below_its_heading_is_read_through_marks_and_up_to_a_colon(
    tmp_path: Path, above: str, said: str
) -> None:
    text = hypothesis().replace("Status: active", above + said)
    for against, holds in (("- (none yet)", False), (AGAINST, True)):
        view = look(tmp_path / str(holds), {ONE: text.replace("- (none yet)", against)})
        found = ask(view, SILENT)
        assert (found.holds, found.vacuous) == (holds, False), found


@pytest.mark.parametrize("said", ["**Demoted:** no more support", "**Demoted** (4 March)"])
@pytest.mark.parametrize("above", ["Status: ", "**Status:**\n\n", "**Status:** "])
def test_a_status_with_a_colon_is_read_behind_and_below_its_label(
    tmp_path: Path, above: str, said: str
) -> None:
    text = hypothesis().replace("Status: active", above + said)
    assert not ask(look(tmp_path, {ONE: text}), SILENT).holds


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("**Active** (2026-03-04)", True),
        ("**Active:** was demoted and is back", True),
        ("In review: demoted is H-V2", True),
        ("**~~Demoted~~ Active:** since May", True),
        ("**Not demoted:** it holds", True),
        ("Owner: Ben", False),
        ("Evidence for: none was demoted", False),
        ("Confidence: low\n\nNobody was demoted.", False),
    ],
)
def test_what_is_below_a_heading_of_the_status_is_a_demotion_only_if_it_says_so(
    tmp_path: Path, said: str, read: bool
) -> None:
    text = hypothesis().replace("Status: active", f"## Status\n\n{said}")
    found = ask(look(tmp_path, {ONE: text}), SILENT)
    assert (found.holds, found.vacuous) == (True, not read), found
