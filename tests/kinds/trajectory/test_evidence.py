"""What counts as evidence: rows of tables and lists in the forms people write, and what is none."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import pytest

from matrix.kinds.trajectory.assertions.hypotheses import hypotheses_of
from matrix.kinds.trajectory.assertions.notes.evidence import evidence_in, unread_in
from matrix.kinds.trajectory.assertions.notes.layout import Layout
from matrix.kinds.trajectory.assertions.notes.markdown import prose
from tests.kinds.trajectory.folders import played, project, scenario, whys, words
from tests.kinds.trajectory.test_hypotheses import line
from tests.kinds.trajectory.test_structural import ask, hypothesis, look

LENA: Final = "[talk](../source/lena.md)"
NOTE: Final = "hypotheses/H-V1-report.md"
FILES: Final = {"source/lena.md": "As Lena said it."}
INCREASED: Final = "hypothesis_evidence_count_increased_for"
UNCHANGED: Final = "hypothesis_evidence_count_unchanged_for"
ORPHANS: Final = "no_orphan_evidence"
SILENT: Final = "no_silent_hypothesis_demotion"


def note(text: str, status: str = "Status: active") -> str:
    return f"# H-V1: Small teams pay\n\n{status}\n\n{text}\n"


def table(title: str, heads: str, *rows: str) -> str:
    ruled = "|".join("---" for _ in heads.split("|"))
    lines = "".join(f"| {row} |\n" for row in rows)
    return f"## {title}\n\n| {heads} |\n|{ruled}|\n{lines}"


def counts(tmp_path: Path, text: str) -> tuple[int, int]:
    (one,) = hypotheses_of(look(tmp_path, FILES | {NOTE: note(text)}), Layout())
    return one.count(against=False), one.count(against=True)


@pytest.mark.parametrize(
    "text",
    [
        table("All", "Date | For | Against | Source", f"1 | a b | | {LENA}", f"2 | | c d | {LENA}"),
        table("All", "Source | Pro | Con", f"{LENA} | a b | c d"),
        table("All", "For | Source | Against | Source", f"a b | {LENA} | c d | {LENA}"),
        table("All", "What | For | Against | By", f"a b | x | | {LENA}", f"c d | | x | {LENA}"),
        table(
            "All", "What | For | Against | By", f"a | yes | no | {LENA}", f"c | no | yes | {LENA}"
        ),
        table(
            "All", "What | Way | By", f"Lena is against it | for | {LENA}", f"c | against | {LENA}"
        ),
        table("All", "What | \u00b1 | By", f"a | + | {LENA}", f"c | \u2212 | {LENA}"),
        table(
            "All", "What | Says | By", f"a | weakly supports | {LENA}", f"c | contradicts | {LENA}"
        ),
        table("All", "What | | By", f"a | \U0001f44d | {LENA}", f"c | \U0001f44e | {LENA}"),
        table(
            "Evidence log", "What | Direction", f"a {LENA} | supports", f"c {LENA} | contradicts"
        ),
        table("Evidence for", "What | Direction", f"a {LENA} | ", f"c {LENA} | contradicts"),
        f"## Evidence\n\n- (+) a {LENA}\n- c {LENA} (contradicts)\n",
        f"## Evidence\n\n- **For** \u2014 a {LENA}\n- **Against** \u2014 c {LENA}\n",
        f"**Evidence for:** a {LENA} \u00b7 **Evidence against:** c {LENA}\n",
    ],
)
def test_a_row_has_its_direction_and_all_its_cells(tmp_path: Path, text: str) -> None:
    view = look(tmp_path, FILES | {NOTE: note(text)})
    assert counts(tmp_path, text) == (1, 1)
    found = ask(view, ORPHANS)
    assert (found.holds, found.vacuous) == (True, False), found
    bare = look(tmp_path / "bare", FILES | {NOTE: note(text.replace(LENA, "Lena"))})
    assert ask(bare, ORPHANS).seen.startswith("2 of 2 lead to no source")


@pytest.mark.parametrize(
    "title",
    [
        "Evidence {}", "Reasons {}", "Reasons {} (2)", "Arguments {} and sources", "Signals {}",
        "Speaks {}", "What speaks {} it", "The case {}", "{} this belief", "Evidence ({})",
        "Evidence: {}", "Evidence - {}", "Evidence \u2013 {}", "Reasons {} H-V1", "Points {}", "{}",
        "The case {} the hypothesis",
    ],
)  # fmt: skip
def test_headings_of_both_ways_are_read_alike(tmp_path: Path, title: str) -> None:
    both = (title.format(way) for way in ("for", "against"))
    said = "".join(f"## {one[0].upper()}{one[1:]}\n\n- a {LENA}\n\n" for one in both)
    assert counts(tmp_path, said) == (1, 1)


@pytest.mark.parametrize(
    "title",
    ["Reasons for the delay", "What to look for", "Waiting for", "Points for discussion",
     "Findings for Q3", "Data for March", "Arguments for Ruth to bring up"],
)  # fmt: skip
def test_what_is_merely_for_something_is_no_evidence(tmp_path: Path, title: str) -> None:
    assert counts(tmp_path, f"## {title}\n\n- a {LENA}\n") == (0, 0)


@pytest.mark.parametrize(
    ("row", "change"),
    [
        ("Nobody here supports paying | contradicts", (0, 1)),
        ("Tomas is against doing it by hand | supports", (1, 0)),
        ("Lena contradicts the old survey | supports", (1, 0)),
        ("a mail that supports nothing | irrelevant", (0, 0)),
        ("31 % would, 58 % would not | mixed", (0, 0)),
        ("a chat about colours | \u2013", (0, 0)),
    ],
)
def test_a_direction_is_what_its_column_says(
    tmp_path: Path, row: str, change: tuple[int, int]
) -> None:
    for heads in ("What | Direction | Source", "What | How | Source"):
        text = table("Evidence", heads, f"a b | supports | {LENA}", f"{row} | {LENA}")
        assert counts(tmp_path, text) == (1 + change[0], change[1]), heads


def test_rows_that_are_ticked_are_rows_of_their_own(tmp_path: Path) -> None:
    heads, first = "What | For | Against | Source", f"a b | \u2713 | | {LENA}"
    before = FILES | {NOTE: note(table("Evidence", heads, first))}
    after = FILES | {NOTE: note(table("Evidence", heads, first, f"c d | \u2713 | | {LENA}"))}
    assert ask(look(tmp_path / "a", after, before), INCREASED, "H-V1").holds
    again = FILES | {NOTE: note(table("Evidence", heads, first, first.replace("\u2713", "x")))}
    assert ask(look(tmp_path / "b", again, before), UNCHANGED, "H-V1").holds


@pytest.mark.parametrize(
    "text",
    [
        table("Log", "Date | Change", "16 Feb | evidence for unchanged"),
        table("Review log", "Date | What", "2 Mar | demoted, see evidence against"),
        table("Status history", "Date | Way", "2 Mar | against"),
        table("Stakeholders", "Who | Stance", "Ruth | against", "Tomas | for"),
        table("Who stands where", "Who | Stance", "Ruth | against"),
        table("The team", "Person | For | Against", "Ruth | | x"),
        table("Planned experiments", "What | Supports if | Contradicts if", "door | > 5 % | < 1 %"),
        table("Tests", "What | Would support | Would contradict", "door | > 5 % | < 1 %"),
        table("At a glance", "Evidence for | Evidence against", "1 | 0"),
        table("Evidence against", "What | Count", "**Total** | 0"),
        table("Risks", "Risk | What then", "teams are against it | talk"),
        "## At a glance\n\n- Evidence for: 1\n- Evidence against: 0\n",
        "**Evidence for:** 1 row \u00b7 **Evidence against:** 0 rows\n",
        "## Changelog\n\n- 2 Mar: **Evidence against:** added\n- **Against:** moved\n",
        "## Next steps\n\n- Against: ask Ruth\n- look for evidence against it\n",
        "## Supporting documents\n\n- [plan](../plan.md)\n",
        "## What would contradict it\n\n- fewer than 5 % switch it on\n",
    ],
)
def test_what_is_no_evidence_does_not_hide_a_demotion(tmp_path: Path, text: str) -> None:
    silent = hypothesis(1, "demoted") + "\n" + text
    assert not ask(look(tmp_path, FILES | {NOTE: silent}), SILENT).holds
    before, after = hypothesis(), hypothesis() + "\n" + text
    view = look(tmp_path / "b", {NOTE: after}, {NOTE: before})
    assert ask(view, UNCHANGED, "H-V1").holds
    assert not ask(view, INCREASED, "H-V1").holds


@pytest.mark.parametrize(
    "said",
    [
        "None as of 2 March", "None.", "_None yet_", "None so far (2 March)",
        "None, as of 16 Feb", "None at the moment", "None identified to date", "None to report",
        "None \u2014 nobody was asked", "none yet; to be tested in the survey",
        "16 Feb: nothing new", "2026-02-16 \u2014 no new evidence",
        "**2026-02-16:** nothing relevant in the chat", "No evidence against as of 2 March",
        "No counter-evidence", "No contradictions so far", "No dissent recorded",
        "Not yet tested", "Untested", "Unknown yet", "to be collected in the March survey",
        "N/A yet", "(empty)", "No signal yet", "Nobody has contradicted this",
        "We have not looked yet", "Awaiting survey", "pending", "0", "Still none",
        "As of 2 March none", "(none, 2 March)", "Nothing on record", "No one so far",
        "Not applicable", "\U0001f937 none", "\u274c none", "None found in February",
        "None \u2014 only one interview so far", "Chat: nothing relevant", "2 rows",
        "No evidence was found in the Berlin interviews", "We've not tested this with nurses yet",
        "Nobody has been asked yet", "waiting for the survey", "there isn't any yet",
        "nothing to add", "(no evidence recorded at this stage)",
        "None ([plan](../plans/ask.md))",
    ],
)  # fmt: skip
def test_a_row_that_says_nothing_is_none(tmp_path: Path, said: str) -> None:
    forms = (
        f"## Evidence against\n\n- {said}\n",
        table("Evidence against", "What | Source", f"{said} | "),
        table("Evidence", "Date | For | Against", f"2 Mar | | {said}"),
        f"**Evidence against:** {said}\n",
    )
    for number, form in enumerate(forms):
        view = look(tmp_path / str(number), {NOTE: note(form, "Status: demoted")})
        assert not ask(view, SILENT).holds, form


@pytest.mark.parametrize(
    "said",
    [
        "No customer asked for it in 12 calls", "Nothing works offline, she said", "it is slow",
        "No signals of churn in twelve interviews", "None of the five renewed", "0 of 12 renewed",
        "None found it useful", "Nobody asked for it", "No: she would not pay", "Nobody came",
        "Not supported by the data", "No reply to 12 of 40 mails",
        "no change in churn after the rise", "Pending invoices doubled",
        "To do this by hand takes 3 h", "We have not seen one renewal", "No support from sales",
        "Not once did they open it", "Open rates fell", "58 % would not",
    ],
)  # fmt: skip
def test_a_row_that_says_what_was_not_seen_is_evidence(tmp_path: Path, said: str) -> None:
    for number, form in enumerate(
        (
            f"## Evidence against\n\n- {said}\n",
            table("Evidence against", "What | Source", f"{said} | none yet"),
            table("Evidence", "What | Direction | Source", f"{said} | contradicts | TBD"),
        )
    ):
        view = look(tmp_path / str(number), {NOTE: note(form, "Status: demoted")})
        assert ask(view, SILENT).holds, form
        assert ask(view, ORPHANS).seen.startswith("1 of 1 lead to no source")


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        (f"## Evidence for\n\nLena would pay, {LENA}.", "Lena would pay"),
        (f"## Evidence\n\n- Lena would pay {LENA}", "Lena would pay"),
        (table("Evidence", "What | Verdict", f"Lena pays {LENA} | helps"), "Lena pays"),
        (table("Evidence", "What | Direction", f"Lena pays {LENA} | it may hurt"), "it may hurt"),
    ],
)
def test_what_cannot_be_read_as_a_row_is_quoted(tmp_path: Path, text: str, quoted: str) -> None:
    view = look(tmp_path, FILES | {NOTE: note(text)})
    for name, argument in ((ORPHANS, True), (UNCHANGED, "H-V1")):
        found = ask(view, name, argument)
        assert (found.holds, found.vacuous) == (True, True), found
        assert "not read as a row" in found.seen
        assert quoted in found.seen
    assert quoted in ask(view, INCREASED, "H-V1").seen


INDEX: Final = "| id | status |\n|---|---|\n| [one](H-V1-report.md) | {} |\n| H-U2 | active |\n"


@pytest.mark.parametrize(
    "status",
    [
        "**Status as of 2 March:** {}", "Risk: value, Status: {}",
        "*Opened 2 Feb \u00b7 Status: {}*", "(status: {})", "`status: {}`",
        "> [!info] Status: {}", "H-V1 | value | status: {}", "*Risk:* value \u00b7 *Status:* {}",
        "# H-V1 (status: {})",
    ],
)  # fmt: skip
def test_a_status_among_others_is_read(tmp_path: Path, status: str) -> None:
    for said, holds in (("demoted", False), ("active", True)):
        text = note("## Evidence for\n\n- it", status.format(said))
        found = ask(look(tmp_path / said, {NOTE: text}), SILENT)
        assert (found.holds, found.vacuous) == (holds, False), found


def test_a_status_that_only_the_index_has_is_read(tmp_path: Path) -> None:
    text = note("## Evidence for\n\n- it", "")
    for said, holds in (("demoted", False), ("active", True)):
        files = {NOTE: text, "hypotheses/INDEX.md": INDEX.format(said)}
        found = ask(look(tmp_path / said, files), SILENT)
        assert (found.holds, found.vacuous) == (holds, False), found


def test_a_folder_of_its_own_is_a_hypothesis(tmp_path: Path) -> None:
    text = hypothesis(1, "demoted").replace("# H-V1: ", "# ")
    files = {"hypotheses/README.md": "all", "hypotheses/H-V1-report/README.md": text}
    view = look(tmp_path, files | {"hypotheses/value/README.md": "x", "hypotheses/value/b.md": "x"})
    assert ask(view, "hypothesis_count_at_least", 2).holds
    assert not ask(view, "hypothesis_count_at_least", 3).holds
    assert "H-V1 (hypotheses/H-V1-report/README.md)" in ask(view, SILENT).seen


@pytest.mark.slow
def test_what_could_not_be_read_is_named_at_the_end_of_the_run(tmp_path: Path) -> None:
    made = project(tmp_path)
    unread = note(f"## Evidence for\n\nLena would pay, {LENA}.\n", "It was demoted in the end.")
    both = f"| [it](H-V1-report.md) | Lena would pay | for | {LENA} |"
    heads = "| It | What | Way | Source |\n|---|---|---|---|"
    inputs = {
        "turn-01-a.md": line("source/lena.md", "x") + line(NOTE, unread),
        "turn-02-b.md": line(NOTE, note(f"## Evidence\n\n{heads}\n{both}", "Status: active")),
    }
    turns = [{"turn": n, "structural": [SILENT, ORPHANS, {UNCHANGED: "H-V1"}]} for n in (1, 2)]
    scenario(tmp_path, "01", inputs, {"turns": turns})
    done, report = played(made, "scenarios", "--skip-content", "--runs", "2")
    assert done.code == 3, done
    expected = ["PASS"] * 5 + ["FAIL"]
    assert list(words(report, "01").values()) == expected
    told = next(one for one in done.out.splitlines() if one.startswith("passed with nothing"))
    for name in (SILENT, ORPHANS, UNCHANGED):
        assert f"01 t01.{name}" in told
        assert f"t02.{name}" not in told
    assert "'It was demoted in the end.'" in whys(report, "01")[f"t01.{SILENT}"]


@pytest.mark.parametrize("indent", [1, 2, 3])
@pytest.mark.parametrize("mark", ["-", "*", "1."])
@pytest.mark.parametrize(
    "above", ["**Evidence for:**", "**Evidence for:**\n", "- **Evidence for:**", "## Evidence for"]
)
def test_items_that_are_indented_below_a_label_or_heading_are_rows(
    tmp_path: Path, above: str, mark: str, indent: int
) -> None:
    items = [f"{' ' * indent}{mark} {said} [s](../source/a.md)" for said in ("one", "two")]
    text = "\n".join([above, *items, f"{' ' * (indent + 3)}and more of two", ""])
    assert counts(tmp_path, text) == (2, 0)


@pytest.mark.parametrize(
    "title",
    ["For (2)", "For (1 row)", "For \u00b7 1", "For \u2014 1 row", "For - 1 row",
     "For (as of 6 May)", "For (strongest first)", "A. For", "2. For", "Pro (1)"],
)  # fmt: skip
def test_a_count_behind_a_short_heading_takes_nothing_from_it(tmp_path: Path, title: str) -> None:
    against = title.replace("For", "Against").replace("Pro", "Con")
    text = f"## Evidence\n\n### {title}\n\n- a {LENA}\n\n### {against}\n\n- c {LENA}\n"
    assert counts(tmp_path, text) == (1, 1)
    assert counts(tmp_path, text.replace("### ", "**").replace("\n\n-", ":**\n\n-")) == (1, 1)


@pytest.mark.parametrize("cell", ["no bearing", "n/a", "not relevant", "unchanged", "?", "0"])
def test_a_row_without_a_direction_takes_the_others_from_nobody(tmp_path: Path, cell: str) -> None:
    rows = (f"a b | supports | {LENA}", f"c d | contradicts | {LENA}", f"e f | {cell} | {LENA}")
    assert counts(tmp_path, table("Findings", "What | Speaks | Source", *rows)) == (1, 1)


def test_a_table_of_directions_that_is_not_read_is_told(tmp_path: Path) -> None:
    """So many words that are no directions, and yet some that are: who wrote it meant evidence."""
    rows = (f"a b | supports | {LENA}", f"c d | contradicts | {LENA}", f"e f | to Ruth | {LENA}",
            f"g h | via Tomas | {LENA}")  # fmt: skip
    text = table("Findings", "What | Speaks | Source", *rows)
    (one, *_) = unread_in(NOTE, note(text), Layout())
    assert "a b | supports" in one.text
    assert not unread_in(NOTE, note(table("History", "What | Speaks | Source", *rows)), Layout())


@pytest.mark.parametrize(
    "said",
    ["No change: 31 of 280, then 30 of 274.", "Marcus, Northside: no change since November.",
     "Nothing changed: 11 % and 11 %.", "Lena: unchanged since May"],
)  # fmt: skip
def test_that_nothing_changed_is_evidence_where_it_is_counted_or_somebodys(
    tmp_path: Path, said: str
) -> None:
    assert counts(tmp_path, f"## Evidence against\n\n- {said}\n") == (0, 1)
    rows = table("Evidence", "What | Way | Source", f"{said} | against | ")
    assert counts(tmp_path, rows) == (0, 1)


@pytest.mark.parametrize("said", ["No change this week", "no changes since March", "unchanged"])
def test_that_nothing_was_added_is_none(tmp_path: Path, said: str) -> None:
    assert counts(tmp_path, f"## Evidence against\n\n- {said}\n") == (0, 0)


MEMO = "# Dropping the planner\n\n{head}\nFrom: product\nDecided: 2026-04-30\n\nWe drop it.\n"


@pytest.mark.parametrize(
    "head",
    [
        "For: Ines (CPO)",
        "**For:** decision by Friday",
        "- For: information",
        "For: [H-1](../hypotheses/H-1.md). Feasible by a guess.",
    ],
)
def test_whom_or_what_a_memo_is_for_is_no_row_of_evidence(head: str) -> None:
    text = MEMO.format(head=head)
    assert not evidence_in("decisions/D-1.md", text, Layout())
    assert len(unread_in("decisions/D-1.md", text, Layout())) == 1, "and it is told"


@pytest.mark.parametrize(
    "head",
    [
        "For: 8 of 10 would pay ([calls](../sources/calls.md))",
        "For: 8 of 10 would pay\nAgainst: 2 of 10 would not",
        "Evidence for: 8 of 10 would pay",
        "For:\n- 8 of 10 would pay",
    ],
)
def test_what_speaks_for_something_is_a_row_in_a_decision_too(head: str) -> None:
    found = evidence_in("decisions/D-1.md", MEMO.format(head=head), Layout())
    assert [one.against for one in found] in ([False], [False, True])
    alone = evidence_in("hypotheses/H-1.md", MEMO.format(head="For: 8 of 10 would pay"), Layout())
    assert len(alone) == 1, "in a hypothesis it speaks for that"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a <!-- b --> c", "a  c"),
        ("  <!-- one --> two\nthree", "   two\nthree"),  # what is closed ends there
        ("a <!-- b\nc", "a <!-- b\nc"),
        ("a\n <!-- b\nc", "a\n "),
        ("`<!-- a -->` <!-- b -->c", "`<!-- a -->` c"),
        ("```\n<!-- a\n```\nb <!-- c -->d", "b d"),
        ("<!-- a --> b <!-- c", " b <!-- c"),
    ],
)
def test_comments_are_nobodys_words(text: str, left: str) -> None:
    assert "\n".join(prose(text)) == left


@pytest.mark.parametrize(
    "part", [" ", "<!--", "~~a", "`", "**a", "[a](", "| ", "For: ", "\n<!-- a -->", "\n- "]
)
def test_no_note_takes_more_than_it_is_long(part: str) -> None:
    def takes(size: int) -> float:
        text = "**Evidence for" + (part * size)[:size] + "x"
        began = time.thread_time()
        evidence_in("hypotheses/H-1.md", text, Layout())
        return time.thread_time() - began

    short, long = takes(20_000), takes(200_000)
    assert long < 0.5 or long < 40 * short, "ten if linear, a hundred if quadratic"


ITEMS: Final = (
    "  - it is slow ([a](../source/lena.md))\n  - they would leave ([a](../source/lena.md))\n"
)
OF_SOMEBODY: Final = [
    "Acme said", "Acme", "**Acme said**", "Interview", "From the interview at Acme", "In March",
    "Interview with Acme ([a](../source/lena.md))", "Two of the customers", "It is slow for them",
    "Customers said",
]  # fmt: skip
OF_LISTS: Final = [
    "Interviews", "**Interviews**", "From interviews", "What we heard", "Surveys (2)",
    "Quantitative", "Strong evidence", "Findings so far", "Other sources", "The data",
]  # fmt: skip


@pytest.mark.parametrize("mark", ["-", "*", "1."])
@pytest.mark.parametrize("colon", [":", ""])
@pytest.mark.parametrize("said", OF_SOMEBODY)
def test_an_item_that_says_something_is_one_row_with_what_is_below_it(
    tmp_path: Path, said: str, colon: str, mark: str
) -> None:
    for number, indented in enumerate((ITEMS, ITEMS.replace("  -", "\t-"))):
        text = f"## Evidence for\n\n{mark} {said}{colon}\n{indented}"
        found = ask(look(tmp_path / str(number), FILES | {NOTE: note(text)}), ORPHANS)
        assert (found.holds, found.seen) == (True, "1 row of evidence, each with its source")


@pytest.mark.parametrize("mark", ["-", "*", "1."])
@pytest.mark.parametrize("said", [*OF_LISTS, "For", "**Supports**"])
def test_below_a_mere_label_items_are_the_rows_and_it_is_none(
    tmp_path: Path, said: str, mark: str
) -> None:
    for number, indented in enumerate((ITEMS, ITEMS.replace("  -", "\t-"))):
        text = f"## Evidence for\n\n{mark} {said}:\n{indented}"
        found = ask(look(tmp_path / str(number), FILES | {NOTE: note(text)}), ORPHANS)
        assert (found.holds, found.seen) == (True, "2 rows of evidence, each with its source")


def test_labels_and_rows_are_told_apart_at_any_depth(tmp_path: Path) -> None:
    deep = f"- For:\n  - Interviews:\n    - Acme said:\n      - slow {LENA}\n      - dear\n"
    more = (
        f"    - Beta pays {LENA}\n  - Surveys:\n    - 8 of 10 {LENA}\n- Against:\n  - one {LENA}\n"
    )
    assert counts(tmp_path, f"## Evidence\n\n{deep}{more}") == (3, 1)


def test_a_label_with_nothing_below_it_is_told(tmp_path: Path) -> None:
    found = ask(look(tmp_path, {NOTE: note("## Evidence for\n\n- Interviews:\n")}), ORPHANS)
    assert (found.holds, found.vacuous) == (True, True)
    assert "not read as a row: hypotheses/H-V1-report.md: 'Interviews:'" in found.seen


WHOLE: Final = f"- Acme said it is slow and they would leave {LENA}\n"
DIVIDED: Final = [
    ITEMS.replace("  -", "-"),
    f"- Acme said:\n{ITEMS}",
    f"- Interviews:\n{ITEMS}",
    f"{WHOLE}- They would leave {LENA}\n",
    f"| What | By |\n|---|---|\n| It is slow | {LENA} |\n| They would leave | {LENA} |\n",
]


@pytest.mark.parametrize("divided", DIVIDED)
def test_an_old_row_in_another_shape_is_no_new_evidence(tmp_path: Path, divided: str) -> None:
    before = FILES | {NOTE: note(f"## Evidence for\n\n{WHOLE}")}
    after = FILES | {NOTE: note(f"## Evidence for\n\n{divided}")}
    view = look(tmp_path / "a", after, before)
    assert not ask(view, INCREASED, "H-V1").holds
    assert ask(view, UNCHANGED, "H-V1").holds
    assert ask(view, INCREASED, "H-V1").seen == f"{NOTE} had 1 for it, and has 1"
    for number, row in enumerate(
        (f"Beta would leave {LENA}", "They would leave ([b](../source/beta.md))")
    ):
        more = divided + (f"| {row} | |\n" if "|" in divided else f"- {row}\n")
        new = FILES | {NOTE: note(f"## Evidence for\n\n{more}")}
        assert ask(look(tmp_path / f"b{number}", new, before), INCREASED, "H-V1").holds, row
