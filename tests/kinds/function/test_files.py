"""``matrix run support.py``: what users see of a kind that is one file."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from math import nan
from pathlib import Path

import pytest

import matrix
from matrix.model.entries import Ended
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader, JournalWriter
from matrix.store.run.driven import driving
from tests.executors.programs import SLOW, Project, entries_of, grown_to, kill_at

CHAT = Path(__file__).with_name("chat.py")
HEAD = "import matrix\n\n"
CASED = HEAD + (
    '@matrix.scenario(cases="{cases}", simulated={{"agent": "four"}})\n'
    "async def sums(ctx, question: str, answer: str = 'four', tries: int = 1):\n"
    "    said = await ctx.ask('agent', question)\n"
    "    ctx.score('exact', said.text == answer)\n"
)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def write(project: Project, name: str, text: str) -> None:
    path = project.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def refused(project: Project, *arguments: str) -> str:
    done = project.matrix(*arguments)
    assert (done.code, done.out) == (2, ""), done
    assert not (project.folder / "results").exists()
    return done.err


@pytest.mark.slow
def test_a_function_is_run_and_names_a_winner(project: Project) -> None:
    shutil.copyfile(CHAT, project.folder / "chat.py")
    factors = ("--set", "factors.mood=[calm, angry]", "--set", "compare.metric=resolved")
    limits = ("--max-cost", "1", "--set", "compare.failure_margin=30", "--per-cell", "40")
    done = project.matrix(
        "run", "chat.py", "--executor", "in-process", "--run-id", "it", *factors, *limits
    )
    assert done.code == 0, done.err
    assert "estimate   unknown: this kind has no profile, so its first round" in done.err
    assert "after the first round, the whole is expected to cost $" in done.err
    assert "Verdict: calm beats angry on resolved by " in done.out
    tables = project.tables("it")
    assert set(tables.frame("sessions").scenario) == {"wifi", "bill"}
    assert set(tables.frame("scores").name) == {"resolved", "replies", "marks", "score"}
    shown = project.matrix("show", "it", "best").out
    assert "customer: " in shown
    assert "agent: Advice" in shown
    assert '["ask"' not in shown, "what is recorded for playing again is for nobody to read"


def test_its_parameters_are_options_with_types_and_words(project: Project) -> None:
    shutil.copyfile(CHAT, project.folder / "chat.py")
    wrong = ("--set", "options.turns=many", "--set", "options.mod=calm")
    assert refused(project, "plan", "chat.py", *wrong) == (
        "--set options.turns: options.turns: found 'many'; should be a valid integer\n"
        "--set options.mod: options.mod: unknown key; allowed: mood, turns, each; did you mean "
        "'mood'?\n"
    )
    schema = json.loads(project.matrix("schema", "--kind", "chat.py").out)
    options = schema["properties"]["options"]["properties"]
    assert options["mood"]["description"] == "How the customer is."
    assert "problem" not in options, "cases say it"


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("x = 1/0\n", "kind.py cannot be loaded: ZeroDivisionError: division by zero (line 3)"),
        ("import nothing_at_all\n", "a kind in one file finds installed packages only"),
        ("def f(:\n", "kind.py cannot be loaded: SyntaxError: invalid syntax"),
        ("x = 1\n", "kind.py declares no scenario; write @matrix.scenario over an async function"),
        ("@matrix.scenario\ndef one(ctx): ...\n", "one is no async function; write `async def one"),
        (
            "@matrix.scenario\nasync def one(ctx, x): ...\n",
            "parameter 'x' has no type; write x: str",
        ),
        ("@matrix.scenario\nasync def one(ctx, *x: int): ...\n", "options have names"),
        ("@matrix.scenario\nasync def one(): ...\n", "its first parameter has to be the context"),
        (
            "@matrix.scenario\nasync def one(ctx, x: memoryview): ...\n",
            "has the type memoryview, which",
        ),
        ("@matrix.scenario\nasync def one(ctx, agent: str): ...\n", "both a role and a parameter"),
        ("@matrix.scenario(roles={})\nasync def one(ctx): ...\n", "roles are empty"),
        ("@matrix.scenario\nclass One: ...\n", "One has no turn; write `async def turn(self"),
        (
            "".join(f"@matrix.scenario\nasync def {name}(ctx): ...\n" for name in ("one", "two")),
            "kind.py has several scenarios (one, two); name one, as kind.py:one",
        ),
        (
            "@matrix.scenario\nasync def one(ctx): ...\n" * 2,
            "kind.py: lines 4 and 6 each define 'one', of which Python keeps the last",
        ),
    ],
)
def test_what_is_no_kind_is_told_with_what_would_be_one(
    project: Project, code: str, told: str
) -> None:
    write(project, "kind.py", HEAD + code)
    assert told in refused(project, "run", "kind.py", "--executor", "in-process")
    write(project, "spec.yaml", "kind: ./kind.py\nper_cell: 2\n")
    assert told in refused(project, "validate", "spec.yaml")


def test_levels_of_factors_are_told_beside_mistakes_in_options(project: Project) -> None:
    code = "@matrix.scenario\nasync def one(ctx, n: int = 1, day: datetime.date = None): ...\n"
    code = code.replace(" = None", " = datetime.date(2026, 3, 4)")
    write(project, "kind.py", HEAD + "import datetime\n" + code)
    levels = "factors: {day: [2026-03-04, soon], n: [1, two]}"
    write(project, "spec.yaml", f"kind: ./kind.py\nper_cell: 2\noptions: {{m: 1}}\n{levels}\n")
    told = refused(project, "validate", "spec.yaml")
    assert "options.m: unknown key; allowed: n, day" in told
    assert "factors.day[1]: found 'soon'; should be a valid date" in told
    assert "factors.n[1]: found 'two'; should be a valid integer" in told
    assert told.count("found") == 2


def test_a_file_of_another_project_is_none_of_this_one(project: Project) -> None:
    write(project, "kind.py", HEAD + "@matrix.scenario\nasync def one(ctx): ...\n")
    write(project, "inner/matrix.yaml", "kind: ../kind.py\n")
    assert "so it cannot go with the run; put it there" in refused(project, "plan", "inner")


CASES = {
    "c.csv": {"c.csv": "name,question,answer,tags\none,2+2?,four,\"easy, sums\"\ntwo,3+3?,,\n"},
    "c.jsonl": {
        "c.jsonl": '{"name": "one", "question": "2+2?", "tags": ["easy", "sums"]}\n\n'
        '{"name": "two", "question": "3+3?"}\n'
    },
    "c.json": {
        "c.json": '[{"name": "one", "question": "2+2?", "tags": ["easy", "sums"]},'
        ' {"name": "two", "question": "3+3?"}]'
    },
    "c": {
        "c/one.yaml": "question: 2+2?\ntags: [easy, sums]\n",
        "c/two/question.txt": "3+3?\n",
        "c/two/answer.md": "four\n",
    },
}  # fmt: skip


@pytest.mark.parametrize("cases", CASES)
def test_each_case_is_a_scenario_of_its_own(project: Project, cases: str) -> None:
    write(project, "sums.py", CASED.format(cases=cases))
    for name, text in CASES[cases].items():
        write(project, name, text)
    done = project.matrix(
        "run", "sums.py", "--executor", "in-process", "--run-id", "it", "--per-cell", "2"
    )
    assert done.code == 0, done.err
    sessions = project.tables("it").frame("sessions")
    assert list(sessions.scenario) == ["one", "two"] * 2
    assert set(sessions.score) == {1.0}
    table = json.loads((project.path("it") / "run.json").read_text())["plan"]["scenario_table"]
    assert table["one"]["tags"] == ["easy", "sums"]
    one = project.matrix("plan", "sums.py", "--set", "scenarios=[tw*]").out
    assert "scenarios  two\n" in one


@pytest.mark.slow
def test_every_mistake_in_cases_is_told_with_its_line(project: Project) -> None:
    write(project, "sums.py", CASED.format(cases="c.csv"))
    write(project, "c.csv", "question,tries,oops\na?,one,\n,2,x\n")
    assert refused(project, "plan", "sums.py") == (
        "c.csv:2: tries: found 'one'; should be a valid integer\n"
        "c.csv:3: oops: sums has no such parameter; it has: question, answer, tries; a case may "
        "also have name, title, category, tags\n"
        "c.csv:3: question: is required and missing\n"
    )
    for text, told in (
        ("name,question\na,x\na,y\n", "c.csv:3: name: 'a' is the name of an earlier case"),
        ("name,question\n../a,x\n", "c.csv:2: name: found '../a'; a case's name is one line"),
        ("name,question\na\n", "c.csv:2: has 1 fields, and the first line 2 columns"),
        ("name;question\na\n", "c.csv:2: has 1 fields, and the first line 2 columns"),
        ("question,question\n", "c.csv:1: the first line names its columns; found 'question'"),
        ("question\n", "c.csv: has no cases; write at least one"),
    ):
        write(project, "c.csv", text)
        assert told in refused(project, "plan", "sums.py")
    (project.folder / "c.csv").unlink()
    assert "c.csv: cannot be read: No such file" in refused(project, "plan", "sums.py")


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (
            {"c.csv": "name,question\na\nb,x,y\n../c,x\n"},
            "c.csv:2: has 1 fields, and the first line 2 columns\n"
            "c.csv:3: has 3 fields, and the first line 2 columns\n"
            "c.csv:4: name: found '../c'; a case's name is one line without / * ? [\n",
        ),
        (
            {"c.jsonl": '{"question": "a"}\n{"question"\n7\n{"question": 1, "question": 2}\n'},
            "c.jsonl:2: is no JSON: unexpected end of data: line 1 column 12 (char 11)\n"
            "c.jsonl:3: found 7; a case has a value for each name\n"
            "c.jsonl:4: 'question' is there twice in one object; write it once\n",
        ),
        (
            {"c/a.json": "{", "c/b/question.pdf": "x", "c/b/answer.exe": "x", "c/d.txt": "x"},
            "c/a.json: is no JSON: unexpected end of data: line 1 column 2 (char 1)\n"
            "c/b/answer.exe: is no value; one is a file ending in .txt .md .json .yaml .yml\n"
            "c/b/question.pdf: is no value; one is a file ending in .txt .md .json .yaml .yml\n"
            "c/d.txt: is no case; a case is a folder, or a file ending in .json .yaml .yml\n",
        ),
    ],
    ids=["csv", "jsonl", "folder"],
)
def test_cases_that_cannot_be_read_are_all_told_at_once(
    project: Project, files: dict[str, str], told: str
) -> None:
    for name, text in files.items():
        (project.folder / name).parent.mkdir(parents=True, exist_ok=True)
        write(project, name, text)
    write(project, "sums.py", CASED.format(cases=min(files).split("/")[0]))
    assert refused(project, "plan", "sums.py") == told


@pytest.mark.parametrize("sign", [";", "\t"])
def test_a_table_is_separated_as_its_first_line_is(project: Project, sign: str) -> None:
    write(project, "sums.py", CASED.format(cases="c.csv"))
    write(project, "c.csv", "name,question\na,What?\nb,Why?\n".replace(",", sign))
    assert "scenarios  a, b\n" in project.matrix("plan", "sums.py").out


def test_a_key_that_is_twice_in_an_object_is_refused(project: Project) -> None:
    for name, text, place in (
        ("c.jsonl", '{"question": "a"}\n{"question": "b", "question": "c"}\n', "c.jsonl:2"),
        ("c.json", '[{"question": "b", "question": "c"}]', "c.json"),
    ):
        write(project, "sums.py", CASED.format(cases=name))
        write(project, name, text)
        told = f"{place}: 'question' is there twice in one object; write it once\n"
        assert refused(project, "plan", "sums.py") == told


@pytest.mark.parametrize(
    ("function", "told"),
    [
        ("return {}['x']", "simulated['agent'] raised KeyError: 'x' (kind.py, line 4)"),
        ("pass", "simulated['agent'] returned nothing (kind.py, line 3); an answer is a text, or"),
    ],
)
def test_a_simulated_function_that_breaks_is_a_defect_with_its_line(
    project: Project, function: str, told: str
) -> None:
    code = f"{HEAD}def fn(asked):\n    {function}\n\n@matrix.scenario(simulated={{'agent': fn}})\n"
    write(project, "kind.py", f"{code}async def one(ctx):\n    await ctx.ask('agent', 'x')\n")
    run = ("run", "kind.py", "--executor", "in-process", "--run-id", "it", "--sessions", "2")
    done = project.matrix(*run)
    assert done.code == 1
    assert f"KindDefect: {told}" in " ".join(done.out.split())
    assert set(project.tables("it").frame("sessions").error_class) == {"KindDefect"}


SET = ("--set", "factors.tries=[1, 2]")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "c.csv: has no cases; write at least one\n"),
        ("name,question\na,x\na,y\n", "c.csv:3: name: 'a' is the name of an earlier case"),
        ("question,question\n", "c.csv:1: the first line names its columns; found 'question'"),
        ("name,question\na\n", "c.csv:2: has 1 fields, and the first line 2 columns\n"),
        ("name,question,tries\na,x,2\n", "--set factors.tries: factors.tries: every case has a "
         "value for tries; take it out of the cases, and it is an option and can be a factor\n"),
        ("name,question,tries\na,x,2\nb,y,\n", "factors.tries: cases have a value for tries; "),
    ],
)  # fmt: skip
def test_what_is_wrong_with_cases_is_told_and_nothing_that_is_right(
    project: Project, text: str, told: str
) -> None:
    write(project, "sums.py", CASED.format(cases="c.csv"))
    write(project, "c.csv", text)
    err = refused(project, "run", "sums.py", *SET, "--executor", "in-process")
    assert told in err
    assert err.count("\n") == 1, err


def test_a_mistyped_factor_is_told_beside_what_is_wrong_with_cases(project: Project) -> None:
    write(project, "sums.py", CASED.format(cases="c.csv"))
    (project.folder / "c.csv").write_bytes("name,question\na,Größe\n".encode("latin-1"))
    err = refused(project, "run", "sums.py", "--set", "factors.tris=[1, 2]")
    assert "factors.tris: unknown factor; " in err
    assert "did you mean 'tries'?" in err
    assert "c.csv: is not UTF-8 text; save it as UTF-8\n" in err


def test_an_attribute_of_a_class_that_has_no_type_is_no_option_and_is_told_so(
    project: Project,
) -> None:
    code = "@matrix.scenario\nclass one:\n    style = 'a'\n    async def turn(self, ctx, state):\n"
    write(project, "kind.py", f"{HEAD}{code}        ctx.end()\n")
    assert refused(project, "run", "kind.py", "--set", "factors.style=[a, b]") == (
        "--set factors.style: factors.style: one.style has no type, so it is no option; write "
        "`style: str = 'a'`\n"
    )


@pytest.mark.slow
def test_resumed_it_is_given_recorded_answers_and_a_changed_function_is_told_of(
    project: Project,
) -> None:
    shutil.copyfile(CHAT, project.folder / "chat.py")
    slow = [f"--set=simulation={json.dumps(SLOW)}", "--per-cell", "3"]
    whole = project.matrix(
        "run", "chat.py", "--executor", "in-process", "--run-id", "whole", "--quiet", *slow
    )
    assert whole.code == 0, whole.err
    half = entries_of(project.path("whole")) // 2
    with project.started(
        "run", "chat.py", "--executor", "in-process", "--run-id", "it", *slow
    ) as process:
        assert kill_at(process, grown_to(project.path("it"), half))
    write(project, "chat.py", CHAT.read_text().replace("Advice", "Other words"))
    done = project.matrix("resume", "it", "--executor", "in-process")
    assert done.code == 0, done.err
    assert "chat.py is not as it was when the run began: it goes on with the code that it was" in (
        done.err.replace("\n", " ")
    )
    assert "--redo-turn and --redo-errored play what they redo" in done.err.replace("\n", " ")
    calls = [project.tables(run).frame("calls") for run in ("whole", "it")]
    assert [len(one[one.answered]) for one in calls] == [len(calls[0])] * 2, "none is asked twice"
    said = [project.tables(run).frame("messages").text for run in ("whole", "it")]
    assert list(said[0]) == list(said[1])


def test_what_the_function_raises_is_told_with_its_line(project: Project) -> None:
    code = "@matrix.scenario\nasync def one(ctx):\n    raise ValueError('no such thing')\n"
    write(project, "kind.py", HEAD + code)
    done = project.matrix(
        "run", "kind.py", "--executor", "in-process", "--run-id", "it", "--sessions", "2"
    )
    assert done.code == 1
    assert "KindDefect: ValueError: no such thing" in done.out
    reason = project.tables("it").frame("sessions", ["end_reason"]).end_reason[0]
    assert "raise ValueError('no such thing')" in reason
    assert 'kind.py", line 5, in one' in reason


@pytest.mark.slow
def test_what_is_redone_is_played_with_the_file_as_it_was_mended(project: Project) -> None:
    code = HEAD + (
        "@matrix.scenario(simulated={'agent': 'four'})\n"
        "async def sums(ctx, extra: int = 0):\n"
        "    said = await ctx.ask('agent', '2+2?')\n"
        "    ctx.score('length', len(said.txt) + extra)\n"
    )
    write(project, "sums.py", code)
    run = (
        "run",
        "sums.py",
        "--executor",
        "in-process",
        "--run-id",
        "it",
        "--per-cell",
        "3",
        "--quiet",
    )
    assert project.matrix(*run).code == 4, "after two of them no other one was begun"
    redo = ("resume", "it", "--redo-errored", "--executor", "in-process")
    for wrong, told in (
        (code.replace("extra: int", "more: int"), "takes no option 'extra' as the run has it"),
        (code.replace("{'agent'", "{'agnt'"), "sums.py cannot be loaded: ValueError"),
        (
            code.replace("(sim", "(roles={'a': 'sim/haiku'}, sim").replace("'agent'", "'a'"),
            "has the roles a, and had agent, so the run's sessions are none of it",
        ),
    ):
        write(project, "sums.py", wrong)
        refused_again = project.matrix(*redo)
        assert refused_again.code == 2
        assert told in refused_again.err
    write(project, "sums.py", code.replace("said.txt", "said.text"))
    done = project.matrix(*redo)
    assert done.code == 0, done
    assert "what is played from here on is played with what it is now" in (
        done.err.replace("\n", " ")
    )
    sessions = project.tables("it").frame("sessions")
    assert list(sessions.score) == [4.0] * 3
    more = project.matrix("resume", "it", "--sessions", "5", "--executor", "in-process", "--quiet")
    assert more.code == 0, more.err
    assert list(project.tables("it").frame("sessions").score) == [4.0] * 5
    replay = (
        "replay",
        "it",
        "best",
        "--turn",
        "0",
        "--executor",
        "in-process",
        "--run-id",
        "again",
    )
    done = project.matrix(*replay)
    assert done.code == 0, done.err
    assert list(project.tables("again").frame("sessions").score) == [4.0]
    assert "begun with" not in done.err
    write(project, "sums.py", code.replace("said.txt", "2 * said.text"))
    done = project.matrix(*replay[:-1], "later")
    assert "its sessions are played on with the code that they were begun with" in (
        " ".join(done.err.split())
    )
    assert list(project.tables("later").frame("sessions").score) == [4.0]


@pytest.mark.long
@pytest.mark.slow
def test_what_nobody_can_foresee_is_told_as_unknown_everywhere(project: Project) -> None:
    shutil.copyfile(CHAT, project.folder / "chat.py")
    plan = project.matrix("plan", "chat.py", "--json")
    told = json.loads(plan.out)
    assert (told["estimate_usd"], told["estimate_by_role_usd"]) == (None, {})
    assert {one["session_usd"] for one in told["cells"]} == {None}
    assert "unknown" in project.matrix("plan", "chat.py").out.splitlines()[-1]
    doctor = project.matrix("doctor", "chat.py")
    assert "; what is expected its first round says" in doctor.out


LIMITS = "a score is a finite number between -1e+15 and 1e+15, true or false, or None"


@pytest.mark.parametrize(
    ("shape", "value", "shown"),
    [
        ("function", "float('inf')", "inf"),
        ("function", "float('nan')", "nan"),
        ("function", "-1e300", "-1e+300"),
        ("function", "10**400", "1000000000"),
        ("function", "'yes'", "'yes'"),
        ("class", "float('nan')", "nan"),
        ("given back", "1e16", "1e+16"),
    ],
)
def test_a_score_that_no_mean_can_have_is_a_defect_of_its_session(
    project: Project, shape: str, value: str, shown: str
) -> None:
    scored = f"ctx.score('score', {value} if ctx.plan.round == 3 else 1)"
    code = {
        "function": f"async def one(ctx, style: str = 'a'):\n    {scored}\n",
        "class": f"class one:\n    style: str = 'a'\n    async def turn(self, ctx, state):\n"
        f"        {scored}\n        ctx.end()\n",
        "given back": "async def one(ctx, style: str = 'a'):\n"
        f"    return {value} if ctx.plan.round == 3 else 1\n",
    }[shape]
    write(project, "kind.py", f"{HEAD}@matrix.scenario\n{code}")
    run = ("run", "kind.py", "--executor", "in-process", "--run-id", "it", "--sessions", "8")
    done = project.matrix(*run, "--set", "factors.style=[a, b]")
    assert done.code in (0, 1), done
    assert "Traceback" not in done.err
    sessions = project.tables("it").frame("sessions")
    assert sorted(sessions.outcome) == ["completed"] * 6 + ["errored"] * 2
    reasons = " ".join(sessions.end_reason.dropna().iloc[0].split())
    assert f"ctx.score: the score 'score' is {shown}" in reasons
    assert LIMITS in reasons
    assert project.matrix("show", "it").code == 0


@pytest.mark.slow
def test_a_score_that_an_earlier_version_took_and_no_mean_can_have_counts_as_none(
    project: Project,
) -> None:
    code = "@matrix.scenario\nasync def one(ctx, style: str = 'a'):\n    ctx.score('score', 1)\n"
    write(project, "kind.py", HEAD + code)
    run = ("run", "kind.py", "--executor", "in-process", "--run-id", "it", "--sessions", "8")
    factors = ("--set", "factors.style=[a, b]", "--set", "compare.engine=open-ended")
    assert project.matrix(*run, *factors).code == 0
    journal = project.path("it") / JOURNAL_NAME
    reader = JournalReader(journal)
    rows = [row.entry for row in reader.rows(0, reader.last_seq())]
    reader.close()
    ends = [one for one in rows if isinstance(one, Ended)]
    writer = JournalWriter(journal)
    writer.append([replace(ends[0], score=nan), replace(ends[1], score=1e200)])
    writer.close()
    for command in ("repair", "show", "compare"):
        assert project.matrix(command, "it").code == 0, command
    done = project.matrix("resume", "it", "--sessions", "10", "--executor", "in-process")
    assert done.code == 0, done
    assert project.tables("it").frame("sessions").score.isna().sum() == 2


def test_a_kind_that_scores_nothing_ends_with_an_error(project: Project) -> None:
    code = "@matrix.scenario\nasync def one(ctx):\n    pass\n"
    write(project, "kind.py", HEAD + code)
    run = ("run", "kind.py", "--executor", "in-process", "--run-id", "it", "--sessions", "2")
    done = project.matrix(*run)
    assert done.code == 1
    assert "nothing was scored: 2 of 2 sessions ended without a score" in done.err


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("raise asyncio.CancelledError", "KindDefect: CancelledError"),
        ("sys.exit(3)", "KindDefect: SystemExit: 3"),
        ("sys.exit(0)", "KindDefect: SystemExit: 0"),
        ("raise KeyboardInterrupt", "KindDefect: KeyboardInterrupt"),
        ("ctx.ask('agent', 'x'); ctx.score('s', 1)", "write `await ctx.ask(...)` (kind.py:8)"),
        ("ctx.checkpoint(); ctx.score('s', 1)", "write `await ctx.checkpoint(...)` (kind.py:8)"),
        ("ctx.effect('do', None); ctx.score('s', 1)", "write `await ctx.effect(...)` (kind.py:8)"),
        ("ctx.parallel([]); await ctx.checkpoint()", "write `await ctx.parallel(...)` (kind.py:8)"),
        (
            "return {}",
            "one gave back dict; give back a number, which is the score, or nothing (kind.py:6)",
        ),
        (
            "return 3",
            "one gave back 3, which would be its `score`, and scores=[...] has none: s; add "
            "'score' to it, or give back nothing (kind.py:6)",
        ),
        ("ctx.score('z', 1)", "ctx.score: 'z' is not in scores=[...], which has s"),
        ("ctx.ask('agent', 'x').text", "has no attribute 'text'; was `await` forgotten?"),
        (
            "ctx.event('e', value=float('inf')); ctx.score('s', 1)",
            "ctx.event: the value of 'e' is inf; it is a finite number below 1e+150, or None",
        ),
        (
            "await ctx.effect('do', lambda: 5)",
            "KindDefect: ctx.effect: what 'do' does gave int "
            "without `await`; it has to be a function written with `async def`",
        ),
        ("ctx.end('fail', 'x')", "found 'fail'; a session ends as completed or failed; did you"),
        ("ctx.end('censored', 'x')", "found 'censored'; a session ends as completed or failed"),
    ],
)
def test_what_code_does_wrong_ends_its_session_and_no_more(
    project: Project, body: str, told: str
) -> None:
    """It ends neither the run nor the program, goes on for no ever, and passes for nothing."""
    code = (
        "import asyncio\nimport sys\n@matrix.scenario(simulated={'agent': 'four'}, scores=['s'])\n"
        f"async def one(ctx):\n    if ctx.plan.round:\n        {body}\n"
        "    else:\n        ctx.score('s', 1)\n"
    )
    write(project, "kind.py", HEAD + code)
    run = ("run", "kind.py", "--executor", "in-process", "--run-id", "it", "--sessions", "2")
    done = project.matrix(*run)
    assert told in " ".join(done.out.split()), done
    assert "Traceback" not in done.err
    assert sorted(project.tables("it").frame("sessions").outcome) == ["completed", "errored"]


@pytest.mark.slow
def test_a_verdict_on_sessions_of_two_codes_says_how_many_are_of_each(project: Project) -> None:
    code = HEAD + (
        "@matrix.scenario(simulated={'agent': 'four'})\n"
        "async def sums(ctx, extra: int = 0):\n"
        "    if extra and ctx.plan.round % 3 == 0:\n"
        "        raise ValueError\n"
        "    ctx.score('length', 3 + extra + ctx.plan.round % 2)\n"
    )
    write(project, "sums.py", code)
    run = ("run", "sums.py", "--executor", "in-process", "--run-id", "it", "--per-cell", "30")
    factors = ("--set", "factors.extra=[0, 1]", "--quiet", "--set", "compare.failure_margin=90")
    assert project.matrix(*run, *factors).code == 0
    before = " ".join(project.matrix("compare", "it").out.split())
    assert "two measures" not in before
    assert "10 of 30 sessions of 1 errored, against 0 of 30 of 0" in before
    assert "begun anew" not in before
    mended = code.replace("        raise ValueError\n", "        ctx.score('length', 9)\n")
    write(project, "sums.py", mended)
    redo = ("resume", "it", "--redo-errored", "--executor", "in-process", "--quiet")
    assert project.matrix(*redo).code == 0
    expected = "sums.py was changed while the run was there: 0 of 30 sessions of 0 and 10 of 30"
    for command in (("compare", "it"), ("show", "it"), ("report", "it", "--format", "md")):
        told = " ".join(project.matrix(*command).out.split())
        assert expected in told, command
        assert "Sessions that were begun anew (0 of 0, 10 of 1) cost, and count, what was" in told


def test_options_of_other_kinds_are_refused(project: Project) -> None:
    write(project, "kind.py", HEAD + "@matrix.scenario\nasync def one(ctx):\n    return 1\n")
    told = refused(project, "run", "kind.py", "--scenarios", "nope", "--executor", "in-process")
    assert "--scenarios: is an option of a " in told
    assert "kind.py is none" in told


def test_a_plan_in_python_says_that_nobody_knows_the_cost(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(project, "kind.py", HEAD + "@matrix.scenario\nasync def one(ctx):\n    return 1\n")
    monkeypatch.chdir(project.folder)
    assert "estimate unknown until a round was played" in repr(matrix.plan("kind.py"))


HELD = HEAD + (
    "@matrix.scenario(scores=['right'], thresholds={'rigth': 0.5}, baseline='nope.csv', margin=1)\n"
    "async def one(ctx, style: str = 'a'):\n    ctx.score('right', 1)\n"
)


@pytest.mark.slow
def test_what_a_file_holds_its_runs_to_is_checked_before_anything_is_played(
    project: Project,
) -> None:
    write(project, "kind.py", HELD)
    told = "kind.py:one: thresholds['rigth']: found 'rigth'; sessions have: score, "
    for command in ("run", "validate"):
        err = refused(project, command, "kind.py")
        assert told in err
        assert err.endswith("did you mean 'right'?\n")
    write(project, "kind.py", HELD.replace("rigth", "right"))
    assert "kind.py:one: baseline: there is no file nope.csv; `matrix export RUN --to csv -o " in (
        refused(project, "validate", "kind.py")
    )
    run = ("run", "kind.py", "--executor", "in-process", "--sessions", "2", "--run-id", "it")
    assert project.matrix(*run).code == 0, "the run that it is to be made of"
    assert project.matrix("export", "it", "--to", "csv", "-o", "nope.csv").code == 0
    assert project.matrix("validate", "kind.py").code == 0


@pytest.mark.parametrize("scores", ["", "(scores=['right'])"])
def test_before_anything_is_scored_nothing_is_called_misspelt(
    project: Project, scores: str
) -> None:
    code = f"@matrix.scenario{scores}\nasync def one(ctx, style: str = 'a'):\n    1/0\n"
    write(project, "kind.py", f"{HEAD}{code}    ctx.score('right', 1)\n")
    run = ("run", "kind.py", "--executor", "in-process", "--sessions", "4", "--run-id", "it")
    factors = ("--set", "factors.style=[a, b]", "--set", "compare.metric=right")
    done = project.matrix(*run, *factors)
    told = "No verdict on style by right: nothing is scored yet, so no session has 'right'"
    assert told in " ".join(done.out.split())


@pytest.mark.slow
def test_a_mistyped_metric_is_told_after_the_first_session(project: Project) -> None:
    shutil.copyfile(CHAT, project.folder / "chat.py")
    play = ("run", "chat.py", "--executor", "in-process", "--per-cell", "2")
    told = "the first session that ended has no 'resolvd', on which variants are to be compared"
    done = project.matrix(*play, "--set", "compare.metric=resolvd")
    assert done.err.count(told) == 1
    assert done.err.index(told) < done.err.index("after the first round")
    right = project.matrix(*play, "--set", "compare.metric=resolved")
    assert "the first session that ended" not in right.err


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("json", "which is a module already"),
        ("pytest", "which is a module already"),
        ("Größe", "letters from a to z, digits and _"),
        ("a-b", "letters from a to z, digits and _"),
        ("class", "letters from a to z, digits and _"),
    ],
)
def test_a_name_that_no_file_and_function_can_have_is_refused(
    project: Project, name: str, told: str
) -> None:
    assert told in refused(project, "init", "new", "--kind", name)
    assert not (project.folder / "new").exists()


def test_a_results_folder_that_leads_to_itself_is_refused(project: Project) -> None:
    write(project, "kind.py", HEAD + "@matrix.scenario\nasync def one(ctx):\n    return 1\n")
    (project.folder / "results").symlink_to("results")
    for executor in ("in-process", "ray"):
        done = project.matrix("run", "kind.py", "--executor", executor, "--sessions", "2")
        assert (done.code, done.err.splitlines()[-1]) == (
            2,
            "--results: results is a symbolic link that leads to itself; remove it, or choose "
            "another one",
        ), done


def test_a_run_is_not_taken_over_while_who_began_it_lives(project: Project) -> None:
    write(project, "kind.py", HEAD + "@matrix.scenario\nasync def one(ctx):\n    return 1\n")
    run = ("run", "kind.py", "--executor", "in-process", "--run-id", "it", "--sessions", "2")
    assert project.matrix(*run).code == 0
    redo = ("resume", "it", "--executor", "in-process", "--per-cell", "3", "--quiet")
    with driving(project.path("it")):  # and has not come to its journal yet
        done = project.matrix(*redo)
    told = f"it is still running (process {os.getpid()} plays it); wait for it or stop it first\n"
    assert (done.code, done.out) == (1, "")
    assert done.err.endswith(told)


def test_a_column_that_no_case_has_is_told_with_their_table(project: Project) -> None:
    write(project, "cases.csv", "name,question\na,2+2\n")
    code = CASED.format(cases="cases.csv").replace("answer: str = 'four'", "answer: str")
    write(project, "sums.py", code)
    assert refused(project, "validate", "sums.py") == (
        "sums.py: options.answer: is required and missing: no case of cases.csv has a value for it "
        "(they have: name, question); give it to them, or one to all as options.answer\n"
    )
    assert project.matrix("plan", "sums.py", "--set", "options.answer=four").code == 0


@pytest.mark.slow
@pytest.mark.parametrize("command", ["validate", "run"])
def test_a_file_that_is_a_link_in_a_circle_is_refused_in_a_line(
    project: Project, command: str
) -> None:
    (project.folder / "a.py").symlink_to("b.py")
    (project.folder / "b.py").symlink_to("a.py")
    done = project.matrix(command, "a.py")
    assert done.code == 2
    assert "cannot be read: Too many levels of symbolic links" in done.err
    assert not (project.folder / "results").exists()
