"""Structural assertions: for each what passes, what fails, and the nearest wrong reading of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from threading import Event
from typing import Any, Final, Literal
from unicodedata import normalize

import pytest

from matrix.kinds.context import ChangedFiles
from matrix.kinds.trajectory.assertions.folder import View, scan
from matrix.kinds.trajectory.assertions.hypotheses import hypotheses_of
from matrix.kinds.trajectory.assertions.notes.evidence import evidence_in
from matrix.kinds.trajectory.assertions.notes.layout import Layout
from matrix.kinds.trajectory.assertions.notes.markdown import links_in, with_marked_headings
from matrix.kinds.trajectory.assertions.notes.paths import hits
from matrix.kinds.trajectory.assertions.own_checks import of_function
from matrix.kinds.trajectory.assertions.structural import BUILT_IN, AssertionContext, Found

Composition = Literal["NFC", "NFD"]
HYPOTHESIS: Final = """# H-V1: Small teams drop the weekly report

Status: {status}

## Evidence for

| Date | What | Source |
|------|------|--------|
{rows}
## Evidence against

{against}
"""
ROW: Final = "| 03-02 | She never opens it | [talk](../source/interviews/lena.md) |\n"


def hypothesis(rows: int = 1, status: str = "active", against: str = "- (none yet)") -> str:
    return HYPOTHESIS.format(status=status, rows=evidence(rows), against=against)


def evidence(rows: int) -> str:
    """So many rows, each of which says something else."""
    return "".join(ROW.replace("She", f"She ({n})" if n else "She") for n in range(rows))


Files = Mapping[str, str]


def look(root: Path, after: Files, before: Files | None = None, touch: str = "") -> View:
    """A folder that was ``before`` and is ``after``; ``touch`` is written again as it is."""
    was = after if before is None else before
    for path, text in after.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        old = path in was and was[path] == text and path != touch
        stamp = 1_000 if old else 2_000
        os.utime(file, ns=(stamp, stamp))
    return View(
        root,
        scan(root),
        dict.fromkeys(was, 1_000),
        ChangedFiles(
            tuple(sorted(after.keys() - was.keys())),
            tuple(sorted(path for path in after.keys() & was if after[path] != was[path])),
            tuple(sorted(was.keys() - after.keys())),
        ),
        {path: text for path, text in was.items() if after.get(path) != text},
    )


def ask(view: View, name: str, argument: Any = True, layout: Layout | None = None) -> Found:
    assertion = BUILT_IN[name]
    assert assertion.fault(argument) == ""
    return assertion.check(AssertionContext(view, layout or Layout()), argument)


WAYS = ("for", "against")
NOTES: Final[dict[str, str]] = {
    "source/interviews/lena.md": "As Lena said it.",
    "hypotheses/H-V1-report.md": hypothesis(),
    "hypotheses/INDEX.md": "- [report](H-V1-report.md)",
    "hypotheses/_SCHEMA.md": "how they look",
    "hypotheses/schema.md": "how they look",
    "hypotheses/Template.md": "how they look",
    "decisions/drop-report.md": "# Drop it\n\n**Reversal condition:** if 3 of 10 teams ask again\n",
}


@pytest.mark.parametrize(
    ("name", "argument", "holds"),
    [
        ("file_exists", "hypotheses/INDEX.md", True),
        ("file_exists", "hypotheses/index.md", False),  # another name
        ("file_exists", "hypotheses", False),  # a folder is no file
        ("file_exists", ["hypotheses/INDEX.md", "missing.md"], False),  # a list: each of them
        ("file_exists", "missing.md OR hypotheses/INDEX.md", True),
        ("file_exists_glob", "source/*/*lena*.md", True),
        ("file_exists_glob", "source/*lena*.md", False),  # a star stays within a folder
        ("file_exists_glob", "source/**/*lena*.md", True),
        ("file_exists_glob", "nowhere/*.md OR source/interviews/*.md", True),
        ("file_exists_glob", "nowhere/*.md OR elsewhere/*.md", False),
        ("file_exists_glob", "source/{calls,interviews}/*.md", True),
        ("file_exists_glob", "source/{calls,interview}/*.md", False),
        ("file_exists_glob", "hypotheses/{H-V*,H-U*}.{md,txt}", True),
        ("file_modified_or_created", "decisions/drop-report.md", True),
        ("file_modified_or_created", "decisions/other.md", False),
        ("hypothesis_count_at_least", 1, True),
        ("hypothesis_count_at_least", 2, False),  # neither the index nor the schema counts
        ("all_internal_links_valid", True, True),
        ("all_decisions_have_reversal_condition", True, True),
        ("no_orphan_evidence", True, True),
        ("no_silent_hypothesis_demotion", True, True),
        ("file_contains_any", "decisions/*.md ; ask again OR never", True),
        ("file_contains_any", "decisions/*.md ; ASK AGAIN", True),
        ("file_contains_any", "decisions/*.md ; Lena", False),  # it stands in another file
        ("file_contains_any", "nowhere.md ; Lena", False),
    ],
)
def test_what_a_folder_shows(tmp_path: Path, name: str, argument: Any, holds: bool) -> None:
    found = ask(look(tmp_path, NOTES), name, argument)
    assert found.holds is holds
    assert found.seen


@pytest.mark.parametrize("name", ["file_modified", "file_modified_glob"])
@pytest.mark.parametrize(
    ("change", "touch", "holds"),
    [
        ({}, "", False),
        ({"decisions/drop-report.md": "other"}, "", True),
        ({}, "decisions/drop-report.md", True),  # written again as it was: touched
        ({"decisions/second.md": "new"}, "", True),  # made in this turn
        ({"hypotheses/INDEX.md": "other"}, "", False),  # another file than the one that is meant
    ],
)
def test_a_file_is_modified_by_what_this_turn_does_to_it(
    tmp_path: Path, name: str, change: Files, touch: str, holds: bool
) -> None:
    view = look(tmp_path, {**NOTES, **change}, NOTES, touch)
    pattern = (
        "decisions/*.md"
        if name.endswith("glob")
        else " OR ".join(("decisions/drop-report.md", "decisions/second.md"))
    )
    assert ask(view, name, pattern).holds is holds


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("Never, this one is final.", False), ("Irreversible: the data is gone.", False),
        ("Not reversible, the old tool is shut.", False), ("To do: ask Lena about it.", False),
        ("We do not see a reason to reverse it", False), ("??? fill this in, please ???", False),
        ("We have not thought about this yet", False),
        ("TODO ask the others about this", False), ("If fewer than 3 of 10 stay by May.", True),
        ("Never before May 3, and only if 5 shops ask for it.", True),
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["## Reversal condition\n\n{}", "Reversal condition\n---\n\n{}"])
def test_what_says_that_it_is_never_taken_back_is_no_condition(
    tmp_path: Path, condition: str, holds: bool, form: str
) -> None:
    text = f"# D1\n\n{form.format(condition)}\n"
    found = ask(look(tmp_path, {"decisions/d1.md": text}), "all_decisions_have_reversal_condition")
    assert found.holds is holds, found


@pytest.mark.parametrize(
    "heading",
    [
        "What would be evidence against", "Evidence against we would accept", "No evidence against",
        "Missing evidence against", "Possible evidence against", "How to find evidence against",
        "Evidence against (to be sought)", "Evidence against the alternative",
        "Rejected evidence for", "Not evidence for", "Evidence for the opposite",
    ],
)  # fmt: skip
def test_a_heading_of_evidence_that_is_none_has_no_rows(tmp_path: Path, heading: str) -> None:
    said = f"## Evidence for\n\n- she said so\n\n### {heading}\n\n- five say no\n"
    text = f"# H-V1\n\nstatus: demoted\n\n{said}"
    view = look(tmp_path, NOTES | {"hypotheses/H-V1-report.md": text})
    (one,) = hypotheses_of(view, Layout())
    assert (one.count(against=False), one.count(against=True)) == (1, 0)
    assert ask(view, "no_silent_hypothesis_demotion").holds is False


@pytest.mark.parametrize(
    "status",
    [
        "Status\n------\n\ndemoted", "**Status** - demoted", "- **Status** \u2014 demoted",
        "__Status__ \u2013 demoted",
    ],
)  # fmt: skip
def test_a_status_is_read_below_a_line_and_behind_a_dash(tmp_path: Path, status: str) -> None:
    text = f"# H-V1\n\n{status}\n\n## Evidence for\n\n- she said so\n"
    view = look(tmp_path, NOTES | {"hypotheses/H-V1-report.md": text})
    assert ask(view, "no_silent_hypothesis_demotion").holds is False


@pytest.mark.parametrize("stars", ["*" * 300, "**/" * 100, "*a" * 100, "{a,b}*" * 50])
def test_no_pattern_takes_longer_than_its_path(stars: str) -> None:
    assert hits(f"{stars}x", ["a" * 200, "b/" * 50 + "c"]) == []
    assert hits(f"{'*' * 300}x", ["a" * 200 + "x"]) == ["a" * 200 + "x"]


@pytest.mark.parametrize(
    ("glob", "path", "fits"),
    [
        ("a[!b]c", "a/c", False), ("a[!b]c", "axc", True), ("a[+-9]c", "a/c", False),
        ("a[+-9]c", "a5c", True), ("a[xy]c", "ayc", True), ("a[", "a[", True),
        ("a[z-a]b", "a[z-a]b", True), ("*.md", "a/b.md", False), ("**/*.md", "a/b.md", True),
        ("{a,b}/*.md", "b/c.md", True), ("a?c", "a/c", False), ("a**c", "a/b/c", True),
    ],
)  # fmt: skip
def test_what_a_pattern_stands_for(glob: str, path: str, fits: bool) -> None:
    assert bool(hits(glob, [path])) is fits


def test_a_file_that_is_gone_was_not_modified(tmp_path: Path) -> None:
    left = {path: text for path, text in NOTES.items() if not path.startswith("decisions")}
    view = look(tmp_path, left, NOTES)
    assert not ask(view, "file_modified", "decisions/drop-report.md").holds


@pytest.mark.parametrize(
    ("rows", "against", "increased", "unchanged"),
    [
        (1, "- (none yet)", False, True),
        (2, "- (none yet)", True, False),
        (0, "- (none yet)", False, True),  # less is no gain
        (1, "- They said no ([x](../source/interviews/lena.md))", False, False),
    ],
)
def test_evidence_is_counted_by_rows_of_this_turn(
    tmp_path: Path, rows: int, against: str, increased: bool, unchanged: bool
) -> None:
    after = NOTES | {"hypotheses/H-V1-report.md": hypothesis(rows, against=against)}
    view = look(tmp_path, after, NOTES)
    for name in ("H-V1", "h-v1", "H-V1-report", "report", "H1", "H7"):  # there is only one
        assert ask(view, "hypothesis_evidence_count_increased_for", name).holds is increased
        assert ask(view, "hypothesis_evidence_count_unchanged_for", name).holds is unchanged


@pytest.mark.parametrize("again", ["- said {}", "-  said  {} ", "- ~~said {}~~", "- ~~other {}~~"])
def test_a_row_said_again_or_struck_out_is_no_evidence_gained(tmp_path: Path, again: str) -> None:
    link = "([x](../source/interviews/lena.md))"
    old = f"# H-V1: It\n\n## Evidence for\n\n- said {link}\n"
    before = NOTES | {"hypotheses/H-V1-report.md": old}
    after = NOTES | {"hypotheses/H-V1-report.md": f"{old}{again.format(link)}\n"}
    view = look(tmp_path, after, before)
    assert not ask(view, "hypothesis_evidence_count_increased_for", "H-V1").holds
    assert ask(view, "hypothesis_evidence_count_unchanged_for", "H-V1").holds


@pytest.mark.parametrize(
    "heading",
    [
        *(
            "**{}**",
            "**{}:**",
            "***{}:***",
            "__{}__",
            "**{}**:",
            "{}\n---",
            "{}\n=====",
            "  {}\n  -",
        ),
        *("## {}", "### {} ###", "{}:"),
    ],
)
def test_a_heading_is_one_however_people_write_it(tmp_path: Path, heading: str) -> None:
    link = "([x](../source/interviews/lena.md))"
    parts = [f"{heading.format(f'Evidence {way}')}\n\n- {way} it {link}\n" for way in WAYS]
    rest = f"\n{heading.format('Next steps')}\n\n- call Lena\n"
    text = "# H-V1: It\n\n" + "\n".join(parts)
    found = evidence_in("hypotheses/x.md", text, Layout())
    assert [row.against for row in found] == [False, True]
    if not heading.endswith(":"):
        assert evidence_in("hypotheses/x.md", text + rest, Layout()) == found


@pytest.mark.parametrize("line", ["- said it\n---", "| a |\n---", "> said\n---", "\n---"])
def test_a_rule_below_what_is_no_paragraph_makes_no_heading(line: str) -> None:
    text = f"## Evidence for\n\n{line}\n\n- said so (a.md)\n"
    assert "- said so" in "\n".join(with_marked_headings(text.split("\n")))
    assert [row.text for row in evidence_in("x.md", text, Layout())][-1] == "said so (a.md)"


def test_a_hypothesis_that_nobody_knows_fails_both(tmp_path: Path) -> None:
    two = NOTES | {"hypotheses/H-U1-other.md": "# H-U1: Other\n"}
    view = look(tmp_path, two, NOTES)
    for name in ("increased", "unchanged"):
        found = ask(view, f"hypothesis_evidence_count_{name}_for", "H-B9")
        assert not found.holds
        assert "H-V1 (hypotheses/H-V1-report.md)" in found.seen


def test_a_number_is_the_place_by_time_where_no_id_is_so(tmp_path: Path) -> None:
    old = NOTES | {"hypotheses/H-A1-elder.md": "# H-A1: Elder\n\nStatus: active\n"}
    view = look(tmp_path, old | {"hypotheses/H-V1-report.md": hypothesis(2)}, old)
    assert ask(view, "hypothesis_evidence_count_increased_for", "H2").holds
    assert not ask(view, "hypothesis_evidence_count_increased_for", "H1").holds


def test_a_literal_id_comes_before_the_place_by_time(tmp_path: Path) -> None:
    old = {
        "hypotheses/H2-first.md": "# H2: First\n\n## Evidence for\n\n- a\n",
        "hypotheses/H3-second.md": "# H3: Second\n",
    }
    after = old | {"hypotheses/H2-first.md": old["hypotheses/H2-first.md"] + "- b\n"}
    view = look(tmp_path, after, old)
    assert ask(view, "hypothesis_evidence_count_increased_for", "H2").holds


def test_a_file_that_is_renamed_keeps_its_evidence(tmp_path: Path) -> None:
    after = {path.replace("report", "weekly"): text for path, text in NOTES.items()}
    view = look(tmp_path, after, NOTES)
    assert not ask(view, "hypothesis_evidence_count_increased_for", "H-V1").holds


@pytest.mark.parametrize(
    ("link", "holds"),
    [
        ("[a](../source/interviews/lena.md)", True),
        ("[a](../source/interviews/lena.md#part)", True),
        ("[a](<../source/interviews/lena.md>)", True),
        ('[a](../source/interviews/lena.md "title")', True),
        ("[a](../source/interviews)", True),  # a folder is there, too
        ("[a](/source/interviews/lena.md)", True),
        ("[a](../source/interviews/len%61.md)", True),
        ("[a](#below) and [b](https://example.org/x) and [c](mailto:a@b.c)", True),
        ("`[a](nowhere.md)`", True),  # code is no link
        ("```\n[a](nowhere.md)\n```", True),
        ("<!-- [a](nowhere.md) -->", True),
        ("[a](nowhere.md)", False),
        ("![a](nowhere.png)", False),
        ("[a][ref]\n\n[ref]: nowhere.md", False),
        ("[a](../../../etc/hostname)", False),  # out of the folder, whatever is there
        ("[a](source/interviews/lena.md)", False),  # from the file's own folder
        ("[a [b]](nowhere.md)", False),
    ],
)
def test_links(tmp_path: Path, link: str, holds: bool) -> None:
    view = look(tmp_path, NOTES | {"hypotheses/H-V2-x.md": f"# H-V2: x\n\n{link}\n"})
    assert ask(view, "all_internal_links_valid").holds is holds


@pytest.mark.parametrize(
    ("decision", "holds"),
    [
        ("**Reversal condition:** if 3 of 10 teams ask again", True),
        ("## Reversal condition\n\nChurn above 4 % in two months", True),
        ("---\nreversal_condition: fewer than five sign-ups by May\n---\n# x", True),
        ("**Reversal:**\n\n- churn is above 4 % for a month\n- two customers leave", True),
        ("**Reversal:**\n\nWhat we did:\n", False),
        ("**Reverse if:** it does not work out.", False),
        ("## Reverse when\n\nWe feel like it.", False),
        ("We would reverse this if: it does not work out.", False),
        ("| Field | What |\n|---|---|\n| Reverse if | things change a lot |", False),
        ("**Reverse if:** the situation changes significantly.", False),
        ("**Reversal:** if things change over time", False),
        ("**Reversal:** if it does not work out as before", False),
        ("**Reverse if:** it does not work out in 3 of 5 clinics.", True),
        ("**Reversal:** when Dana's clinic switches back. Who does it depends on Lea.", True),
        ("**Reversal:** if Dana's clinic switches back. It is worded later on.", True),
        ("**Reversal:** If it fails to lower no-shows at Harbour Dental.", True),
        ("**Reversal:** if the market changes to walk-ins", True),
        ("**Revisit if** fewer than 4 of the 9 agree by 30 September.", True),
        ("**Reversal condition.** Fewer than 4 of the 9 agree by 30 September.", True),
        ("**Revisit if**\n\n- fewer than 4 of the 9 agree\n- two customers leave", True),
        ("**To be revisited** if a second core dates the felling before 1691.", True),
        ("**To be taken back** if fewer than 4 of the 9 agree by 30 September.", True),
        ("**To revisit** if fewer than 4 of the 9 agree by 30 September.", True),
        ("**Revisit this** when fewer than 4 of the 9 agree.", True),
        ("**We revisit this** if fewer than 4 of the 9 agree.", True),
        ("**To be revisited** if things change.", False),
        ("**Reverse charge** applies to all invoices of more than 1,000 euros.", False),
        ("**Lena** would reverse this if churn fell below 4 %.", False),
        ("| Decision | Reversal |\n|---|---|\n| go | churn above 4 % by May |", True),
        (
            "| Day | What | Reverse if | By |\n|---|---|---|---|\n| 3 | go | over 4 % lost | A |",
            True,
        ),
        ("| Decision | Reversal | By |\n|---|---|---|\n| go | tbd | Ana |", False),
        ("**Decided:** 3 March \u00b7 **Reversal:** churn is above 4 % for a month", True),
        ("| Field | What |\n|---|---|\n| Reversal | the pilot loses a customer in March |", True),
        ("## When to revisit\n\nNo reply from the hospital by the end of June", True),
        ("## Reversal condition\n\nTBD", False),
        ("## Reversal condition\n", False),
        ("**Reversal condition:** if things change", False),
        ("**Reversal condition:** we will revisit as needed", False),
        ("**Reversal condition:** when the situation changes and new information emerges", False),
        ("**Reversal condition:** later", False),
        ("## Reversal condition\n\nIf things get worse.", False),
        ("Reversal condition: when we feel like it", False),
        ("Reversal condition: if it ever goes badly, we go back", False),
        ("Reversal condition: if it gets worse than 5 % churn", True),
        ("Reversal condition: if the queue at the desk gets worse", True),
        ("Reversal condition: when we want to renew the lease", True),
        ("Reversal condition: if the pilot team asks for the export again", True),
        ("We may reverse it. The reversal was discussed.", False),  # a word in passing
        ("## Reversal condition\n\n| Signal | Threshold |\n|---|---|\n| TBD | - |", False),
        ("## Reversal condition\n\n| Signal | Threshold |\n|---|---|", False),
        ("## Reversal condition\n\n| Signal | Threshold |\n|---|---|\n| Churn | 4 % |", True),
        ("**Reversal:** See [plan](../plan/of/the/pilot.md).", False),
        ("**Reversal:** https://wiki.example.org/some/long/page-of-words", False),
        ("**Reversal:** if [churn](../source/a.md) rises above 4 %", True),
        ("## Rationale\n\nfewer than five sign-ups by May", False),
        ("```\n**Reversal condition:** if 3 of 10 teams ask again\n```", False),
        ("<!-- **Reversal condition:** if 3 of 10 teams ask again -->", False),
        ("## Reversal condition\n\n<!--\nif 3 of 10 teams ask again\n-->", False),
        ("## Reversal condition\n\n<!-- if 3 of 10 teams ask again", False),  # to the note's end
        ("Reversal condition: over 4 % churn <!-- by May -->", True),
        ("We hold back a reversal of the fare: 20 % of 40.", False),  # a sentence with a colon
        ("What would make us reverse this: churn above 4 % in May", True),
        ("We would reverse this if: 3 of 10 teams ask again", True),
        ("## Reversal condition\n\nThere is none; this is final.", False),
        ("Reversal condition: not defined yet, to be discussed on 2026-03-09.", False),
        ("Reversal condition: this decision is final as of 2026-03-09", False),
        ("Reversal condition: there is no condition for the 20 boats", False),
        ("Reversal condition: none of the five pilots renews by May", True),
        ("Reversal condition: there are no sign-ups by May", True),
        ("Reversal condition: not set up by the end of May", True),
        ("Reversal condition: not decided for good: if churn passes 4 % we go back", True),
        ("## Reversal\n\nWe will never take this back under any condition whatsoever.", False),
        ("## Reversal\n\nWe never reverse this, whatever may come", False),
        ("## Reversal\n\nUnder no circumstances will this be opened again", False),
        ("## Reversal\n\nNothing will change our minds about this one", False),
        ("## Reversal\n\nWe will not go back under any circumstances at all", False),
        ("## Reversal\n\nWe never go back unless churn passes 4 % in May", True),
        ("## Reversal\n\nNothing will change it but churn: if it passes 4 % we go back", True),
    ],
)
def test_reversal_conditions(tmp_path: Path, decision: str, holds: bool) -> None:
    view = look(tmp_path, NOTES | {"decisions/d2.md": f"{decision}\n"})
    assert ask(view, "all_decisions_have_reversal_condition").holds is holds


@pytest.mark.parametrize(
    ("row", "holds"),
    [
        ("- She said so ([talk](../source/interviews/lena.md))", True),
        ("- She said so, source/interviews/lena.md", True),
        ("- She said so [[source/interviews/lena]]", True),
        ("- She said so and\n  that ([talk](../source/interviews/lena.md))", True),
        ("- She said so and\nthat ([talk](../source/interviews/lena.md))", True),
        ("- She said so\n  - source: [talk](../source/interviews/lena.md)", True),
        ("- She said so\n\n  There it is: source/interviews/lena.md", True),
        ("1. She said so\n   ([talk](../source/interviews/lena.md))", True),
        ("- She said so\n- that ([talk](../source/interviews/lena.md))", False),
        ("- She said so\n\nThat is source/interviews/lena.md", False),
        ("- She said so[^1]\n\n[^1]: [talk](../source/interviews/lena.md)", True),
        ("- She said so[^2]\n\n[^1]: [talk](../source/interviews/lena.md)", False),
        ("- She said so [there][t]\n\n[T]: ../source/interviews/lena.md", True),
        ("- She said so [t]\n\n[t]: ../source/interviews/lena.md", True),
        ("- She said so [t][]\n\n[t]: ../source/interviews/nobody.md", False),
        ("- She said so [u]\n\n[t]: ../source/interviews/lena.md", False),
        ("- She said so", False),
        ("- She said so ([talk](../source/interviews/nobody.md))", False),  # there is no such file
        ("- She said so ([h](H-V1-report.md))", False),  # a file, and no source
        ("- She said so, by the source of Lena", False),
        ("- none", True),  # which is no evidence
        ("- She said so (https://source/interviews/lena.md)", False),  # another machine's
        ("- She said so ([talk](https://x.org/source/interviews/lena.md))", False),
        ("- She said so, https://x.org/a and source/interviews/lena.md", True),
        ("<!-- - She said so -->", True),
        ("<!--\n- She said so\n-->", True),
        ("- She said `<!--` so\n- `-->` ([talk](../source/interviews/lena.md))", False),  # code
        ("- Nothing works offline, she said", False),  # evidence, and no denial of it
        ("- There is nothing yet", True),
    ],
)
def test_evidence_leads_to_its_source(tmp_path: Path, row: str, holds: bool) -> None:
    for heading in ("## Evidence for", "## Evidence against", "### Supporting", "## Against"):
        text = f"# H-V2: x\n\nStatus: active\n\n{heading}\n\n{row}\n\n## Notes\n\n- no row of it\n"
        view = look(tmp_path, NOTES | {"hypotheses/H-V2-x.md": text})
        assert ask(view, "no_orphan_evidence").holds is holds


@pytest.mark.parametrize(
    "text",
    [
        "## Evidence\n\n| Way | What |\n|---|---|\n| for | lost |\n",
        "## Evidence\n\n### For\n\n- lost\n",
        "**Evidence for:** lost\n",
        "**Evidence for:**\n\n- lost\n",
        "## Evidence\n\n- Supports: lost\n",
        "## Supporting evidence\n\n1. lost\n",
    ],
)
def test_evidence_is_found_in_every_way_of_writing_it(tmp_path: Path, text: str) -> None:
    view = look(tmp_path, NOTES | {"hypotheses/H-V2-x.md": f"# H-V2: x\n\n{text}"})
    found = ask(view, "no_orphan_evidence")
    assert not found.holds
    assert found.seen.startswith("1 of 2")


@pytest.mark.parametrize(
    ("status", "against", "holds"),
    [
        ("demoted", "- (none yet)", False),
        ("Demoted (2026-03-02)", "- (none yet)", False),
        ("demoted", "- no ([x](../source/interviews/lena.md))", True),
        ("active", "- (none yet)", True),
        ("not demoted", "- (none yet)", True),
        ("was demoted once, active again", "- (none yet)", True),
        ("proposed \u2192 demoted", "- (none yet)", False),
        ("active -> demoted (2026-03-02)", "- (none yet)", False),
        ("demoted => active", "- (none yet)", True),
        ("~~proposed~~ demoted", "- (none yet)", False),
        ("~~demoted~~ active", "- (none yet)", True),
        ("\u26a0\ufe0f demoted", "- (none yet)", False),
        ("demoted", "- ~~no ([x](../source/interviews/lena.md))\n  it was withdrawn~~", False),
        ("demoted", "- nothing speaks against it", False),
        ("demoted", "- There is no evidence against it yet.", False),
        ("demoted", "- no further evidence against", False),
        ("demoted", "- no new evidence this week", False),
        ("demoted", "- no additional evidence", False),
        ("demoted", "- none this week", False),
        ("demoted", "- nothing further", False),
        ("demoted", "- to be collected", False),
        ("demoted", "- No contradicting signals yet", False),
        ("demoted", "- No signals of churn in twelve interviews", True),
        ("demoted", "- No changes to the price moved the churn", True),
        ("demoted", "- No new evidence ([x](../source/interviews/lena.md))", True),
        ("demoted", "| Date | What |\n|---|---|\n| 03-02 | none found so far |", False),
        ("demoted", "## All\n\n| Pros | Cons |\n|---|---|\n| she likes it | - |", False),
        ("demoted", "## All\n\n| Pros | Cons |\n|---|---|\n| | it is slow |", True),
        ("demoted", "- nothing speaks for it ([x](../source/interviews/lena.md))", True),
        ("demoted", "<!-- - no ([x](../source/interviews/lena.md)) -->", False),
        ("active\n<!-- status: demoted -->", "- (none yet)", True),
    ],
)
def test_demotions_leave_a_trail(tmp_path: Path, status: str, against: str, holds: bool) -> None:
    text = hypothesis(1, status, against)
    view = look(tmp_path, NOTES | {"hypotheses/H-V1-report.md": text})
    assert ask(view, "no_silent_hypothesis_demotion").holds is holds


@pytest.mark.parametrize(
    ("table", "holds"),
    [
        ("| Id | Status |\n|---|---|\n| H-V1 | demoted |", False),
        ("| Date | State |\n|:--|--:|\n| 03-02 | active |\n| 03-09 | **demoted** |", False),
        ("| Date | State |\n|:--|--:|\n| 03-02 | demoted |\n| 03-09 | active |", True),
        ("Status: active\n\n| Linked | Status |\n|---|---|\n| H-V2 | demoted |", True),
        ("| Status | Since |\n|---|---|\n| active | 2025 |\n| demoted | 2026 |", False),
        ("| Status | Since | By |\n|---|---|---|\n| demoted | 2026 | Ana |", False),
        ("| Status | demoted |\n|---|---|\n| Owner | Ana |", False),
        ("| Status | active |\n|---|---|\n| Was | demoted |", True),
        ("> **Status** \u2014 demoted", False),
        ("**Confidence:** low \u00b7 **Status:** demoted", False),
        ("**Confidence:** low, **Status:** active, **Was:** demoted", True),
        ("**Status (2026-03-20):** demoted", False),
        ("## Status (20 March)\n\ndemoted", False),
        ("**Status:**\n\ndemoted", False),
        ("**Status:**\n\n## Owner\n\ndemoted", True),
        ("## Status\n\n| Date | Status |\n|---|---|\n| 1 | active |\n| 2 | demoted |", False),
        ("## Status\n\n- 2026-03-01: active\n- 2026-03-20: demoted", False),
        ("## Status\n\n- 2026-03-20: active\n- 2026-03-01: demoted", True),
    ],
)
def test_a_status_may_stand_in_a_column(tmp_path: Path, table: str, holds: bool) -> None:
    text = hypothesis().replace("Status: active", table)
    view = look(tmp_path, NOTES | {"hypotheses/H-V1-report.md": text})
    assert ask(view, "no_silent_hypothesis_demotion").holds is holds


@pytest.mark.parametrize(
    "said",
    [
        "*Status:* demoted", "*Status*: demoted", "_Status: demoted_", "__Status__: demoted",
        "> Status: demoted", "> **Status:** demoted", "## Status: demoted",
        "## Current status: demoted", "**Current status:** demoted",
        "---\nstatus: >-\n  demoted\n---", "---\nstatus:\n  - demoted\n---",
        "---\nstatus: [demoted]\n---", "---\nid: H-V1\nstatus: 'demoted'\n---",
    ],
)  # fmt: skip
def test_a_status_is_read_wherever_people_write_it(tmp_path: Path, said: str) -> None:
    front, text = (f"{said}\n", "") if said.startswith("---") else ("", said)
    text = front + hypothesis().replace("Status: active", text)
    view = look(tmp_path, NOTES | {"hypotheses/H-V1-report.md": text})
    assert not ask(view, "no_silent_hypothesis_demotion").holds
    view = look(tmp_path, {"hypotheses/H-V1-report.md": text.replace("demoted", "active")})
    assert ask(view, "no_silent_hypothesis_demotion").holds


@pytest.mark.parametrize("place", ["archive/H-V1-report.md", "old/then.md"])
@pytest.mark.parametrize(
    ("status", "against", "holds"),
    [
        ("demoted", "- (none yet)", False),
        ("active", "- (none yet)", True),
        ("demoted", "- no ([x](../source/interviews/lena.md))", True),
    ],
)
def test_a_hypothesis_that_is_put_away_is_demoted_as_one_that_stays(
    tmp_path: Path, place: str, status: str, against: str, holds: bool
) -> None:
    after = {path: text for path, text in NOTES.items() if path != "hypotheses/H-V1-report.md"}
    view = look(tmp_path, after | {place: hypothesis(1, status, against)}, NOTES)
    found = ask(view, "no_silent_hypothesis_demotion")
    assert found.holds is holds, found
    assert holds or place in found.seen


@pytest.mark.parametrize(
    ("name", "argument", "notes", "vacuous"),
    [
        ("no_orphan_evidence", True, {}, True),
        ("no_orphan_evidence", True, NOTES, False),
        ("hypothesis_evidence_count_unchanged_for", "H-V1", NOTES, False),
        (
            "hypothesis_evidence_count_unchanged_for",
            "H1",
            {"hypotheses/H1-a.md": "# H1\n\nShe said so, in so many words."},
            True,
        ),
        ("all_internal_links_valid", True, {"a.md": "no link"}, True),
        ("all_internal_links_valid", True, {"a.md": "[b](b.md)", "b.md": ""}, False),
        ("all_decisions_have_reversal_condition", True, {}, True),
        ("no_silent_hypothesis_demotion", True, {}, True),
        ("no_silent_hypothesis_demotion", True, NOTES, False),
        ("file_exists", "a.md", {"a.md": ""}, False),
    ],
)
def test_what_holds_of_nothing_says_so(
    tmp_path: Path, name: str, argument: Any, notes: dict[str, str], vacuous: bool
) -> None:
    found = ask(look(tmp_path, notes), name, argument)
    assert found.holds, found
    assert found.vacuous is vacuous


def test_what_began_as_demoted_was_not_demoted_here(tmp_path: Path) -> None:
    view = look(tmp_path, NOTES | {"hypotheses/H-V1-report.md": hypothesis(1, "demoted")})
    check = BUILT_IN["no_silent_hypothesis_demotion"].check
    assert check(AssertionContext(view, Layout(), frozenset({"H-V1"})), True).holds
    assert not check(AssertionContext(view, Layout(), frozenset({"H-V9"})), True).holds


def test_a_notebook_with_words_of_its_own(tmp_path: Path) -> None:
    layout = Layout(
        hypotheses="ideas",
        sources=("raw",),
        evidence_for=("speaks for it",),
        evidence_against=("speaks against it",),
        status=("stage",),
        demoted=("parked",),
    )
    text = "# One\n\nStage: parked\n\n## What speaks for it\n\n- as heard (raw/a.txt)\n"
    view = look(tmp_path, {"ideas/one.md": text, "raw/a.txt": "x"})
    assert ask(view, "hypothesis_count_at_least", 1, layout).holds
    assert ask(view, "no_orphan_evidence", True, layout).holds
    assert not ask(view, "no_silent_hypothesis_demotion", True, layout).holds


@pytest.mark.parametrize(
    ("name", "argument", "told"),
    [
        ("file_exists", "", "names no path"),
        ("file_exists", 3, "it is a path"),
        ("file_exists", "/etc/passwd", "it is absolute"),
        ("file_exists", "../other.md", "leads out"),
        ("file_exists_glob", "notes\\*.md", "backslash"),
        ("file_exists_glob", "notes/", "ends with /"),
        ("file_exists_glob", "notes/[ab.md", "never closed"),
        ("file_exists_glob", "a.md OR /b.md", "'/b.md' can never match"),
        ("file_exists", ".agent/log.md", "hidden files are not looked at"),
        ("file_exists_glob", "notes/.x/*.md", "hidden files are not looked at"),
        ("file_exists_glob", "a.md or b.md", "OR, in capitals"),
        ("file_modified_glob", "a/* Or b/*", "OR, in capitals"),
        ("file_contains_any", "a.md or b.md ; x", "OR, in capitals"),
        ("file_exists_glob", "a.md, b.md", "OR, in capitals"),
        ("file_exists", "a.md|b.md", "OR, in capitals"),
        ("file_exists_glob", "{a,b.md", "a { is never closed"),
        ("file_exists_glob", "[z-a].md", "the range z-a has its end before its beginning"),
        ("hypothesis_count_at_least", "three", "whole number"),
        ("hypothesis_count_at_least", -1, "whole number"),
        ("hypothesis_count_at_least", True, "whole number"),
        ("hypothesis_evidence_count_increased_for", "", "id of a hypothesis"),
        ("all_internal_links_valid", False, "it is true, or the line is left out"),
        ("file_contains_any", "notes/*.md", "paths ; texts"),
        ("file_contains_any", "notes/*.md ; ", "paths ; texts"),
        ("file_contains_any", "notes/*.md ; because OR", "one side of OR"),
        ("file_exists_glob", "a.md OR", "one side of OR"),
        ("file_exists_glob", "OR a.md", "one side of OR"),
    ],
)
def test_arguments_that_mean_nothing(name: str, argument: Any, told: str) -> None:
    assert told in BUILT_IN[name].fault(argument)


@pytest.mark.parametrize("pattern", ["{a.md,b.md}", "x/{a, b}.md", "a,b.md", "a | b/c.md"])
def test_patterns_with_commas_that_can_match(pattern: str) -> None:
    assert not BUILT_IN["file_exists_glob"].fault(pattern)


@pytest.mark.parametrize(
    ("line", "holds"),
    [
        ("**Reversal condition:** churn passes 5 % in March", True),
        ("> **Reversal condition:** churn passes 5 % in March", True),
        ("**Reversal condition:** ~~churn passes 5 % in March~~", False),
        ("**Reversal condition:** ~~churn passes 5 %~~ churn passes 9 % in March", True),
        ("**Reversal condition:** <fill in: what must be seen to reverse it>", False),
        ("**Reversal condition:** [describe the condition that would reverse this]", False),
        ("**Reversal condition:** {{ what must be seen to reverse this }}", False),
        ("**Reversal condition:** [churn](../a.md) passes 5 % in March", True),
        ("*Reversal trigger:* churn passes 5 % in March", True),
        ("## Reversal condition: churn passes 5 % in March", True),
        ("## Reversal condition: if things change", False),
    ],
)
def test_a_condition_that_is_struck_out_or_yet_to_be_filled_in_is_none(
    tmp_path: Path, line: str, holds: bool
) -> None:
    view = look(tmp_path, {"decisions/it.md": f"# It\n\n{line}\n"})
    assert ask(view, "all_decisions_have_reversal_condition").holds is holds


@pytest.mark.parametrize(
    ("value", "holds"),
    [
        ("churn passes 5 % in March", True),
        ("|\n  churn passes\n  5 % in March", True),
        (">-\n  churn passes 5 % in March", True),
        ("\n  - churn passes 5 % in March\n  - they leave by May", True),
        ("[churn passes 5 % in March]", True),
        ("|", False),
        ("|\n  if things change", False),
    ],
)
def test_a_condition_may_stand_in_front_matter_as_yaml_has_it(
    tmp_path: Path, value: str, holds: bool
) -> None:
    note = f"---\nid: D1\nreversal: {value}\nowner: me\n---\n# It\n"
    view = look(tmp_path, {"decisions/it.md": note})
    assert ask(view, "all_decisions_have_reversal_condition").holds is holds


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("[![p](no.png)](https://x.example)", False),
        ("[![p](no.png)](n.md)", False),
        ("[![p](n.md)](n.md)", True),
        ("\\[a](no.md)", True),  # no link, as it says
    ],
)
def test_a_picture_in_a_link_is_looked_at(tmp_path: Path, text: str, holds: bool) -> None:
    assert ask(look(tmp_path, {"n.md": text}), "all_internal_links_valid").holds is holds


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("``[a](no.md)``", 0),
        ("`` ` [a](no.md)``", 0),
        ("`x` [a](no.md) `y`", 1),
        ("``x` [a](no.md)", 1),  # never closed, so no code
        ("`[a](no.md) ``", 1),
        ("One.\n\n    [a](no.md)\n\n    [a](no.md)\n\n[a](no.md)", 1),
        ("\t[a](no.md)", 0),
        ("One\n    [a](no.md)", 1),  # goes on with the paragraph
        ("- One\n\n    [a](no.md)", 1),  # goes on with the item
        ("1. One\n   - two\n\n      [a](no.md)", 1),
        ("- One\n\nTwo.\n\n    [a](no.md)", 0),
        ("[^1]: One\n\n    [a](no.md)", 1),
    ],
)
def test_what_is_code_has_no_links(text: str, links: int) -> None:
    assert len(links_in(text)) == links


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("wanted", ["NFC", "NFD"])
@pytest.mark.parametrize(
    "pattern", ["personas/Zoë.md", "personas/Zo*ë*.md", "{x,personas}/*Zoë.md"]
)
def test_an_accent_is_one_however_it_is_composed(
    tmp_path: Path, pattern: str, form: Composition, wanted: Composition
) -> None:
    view = look(tmp_path, {normalize(form, "personas/Zoë.md"): normalize(form, "She is naïve.")})
    assert ask(view, "file_exists_glob", normalize(wanted, pattern)).holds
    assert ask(view, "file_contains_any", normalize(wanted, f"{pattern} ; NAÏVE")).holds


@pytest.mark.parametrize("path", ["./a.md", "this or that.md", "a.b/c.md"])
def test_arguments_that_only_look_odd(path: str) -> None:
    assert BUILT_IN["file_exists"].fault(path) == ""


def test_what_is_hidden_linked_or_no_text_is_not_looked_at(tmp_path: Path) -> None:
    view = look(tmp_path, NOTES | {".agent/log.md": "[a](nowhere.md)", "raw.md": "\0\xff"})
    (tmp_path / "hypotheses" / "H-V9-link.md").symlink_to("/etc/passwd")
    assert "hypotheses/H-V9-link.md" not in scan(tmp_path)
    assert ask(view, "all_internal_links_valid").holds


@pytest.mark.parametrize(
    ("link", "holds"),
    [
        ("plans/", True),
        ("plans", True),
        ("./plans/later/", True),
        ("hypotheses/", True),
        (".", True),
        ("plan/", False),
        (".agent/", False),
        ("away/", False),
        ("plans/x%00", False),
    ],
)
def test_a_link_to_a_folder_leads_there_if_it_is_there(
    tmp_path: Path, link: str, holds: bool
) -> None:
    for empty in ("plans/later", ".agent"):
        (tmp_path / empty).mkdir(parents=True)
    (tmp_path / "away").symlink_to("/etc")
    view = look(tmp_path, NOTES | {"plan.md": f"[see]({link})"})
    assert ask(view, "all_internal_links_valid").holds is holds


def test_a_check_that_does_not_end_fails_and_nobody_waits_for_it(tmp_path: Path) -> None:
    ended = Event()
    scene = AssertionContext(look(tmp_path, NOTES), Layout())
    found = of_function(lambda view, argument: ended.wait(), limit_s=0.01).check(scene, 1)
    assert (found.holds, found.seen) == (False, "the check did not end in 0.01 s")
    ended.set()


def test_a_status_that_is_nowhere_is_told(tmp_path: Path) -> None:
    text = "# H-V1\n\n## Evidence for\n\n- yes ([x](../source/interviews/lena.md))\n"
    view = look(tmp_path, NOTES | {"hypotheses/H-V1-report.md": text})
    told = ask(view, "no_silent_hypothesis_demotion").seen
    assert "in hypotheses/H-V1-report.md no status is found" in told
