"""`pytest --matrix`, as a project uses it: each test here is a whole run of pytest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

import pytest

import matrix
from tests.cli.program import environment, run_program
from tests.forked import run_forked

HEAD = "import matrix\n\n"
COIN = '''
@matrix.scenario(
    simulated={{"agent": lambda asked: "yes" if asked.rng.random() < {chance} else "no"}},
    scores=["said"],
    {more}
)
async def {name}(ctx, question: str = "Is it?"):
    """Asks once."""
    said = await ctx.ask("agent", question)
    ctx.score("said", said.text == "yes")
'''


def coin(name: str, chance: float, **more: object) -> str:
    said = "".join(f"{key}={value!r}, " for key, value in more.items())
    return COIN.format(name=name, chance=chance, more=said)


class Outcome(NamedTuple):
    """What a run of pytest came to."""

    code: int
    out: str


def case_of(folder: Path, file: str, name: str) -> ET.Element:
    """The test of this name, as JUnit's XML has it."""
    cases = ET.parse(folder / "junit.xml").iter("testcase")
    return next(one for one in cases if (one.get("classname"), one.get("name")) == (file, name))


def run_pytest(folder: Path, *words: str) -> Outcome:
    args = ("-p", "no:cacheprovider", "-p", "no:asyncio", "--junitxml", "junit.xml", *words)
    wide = environment(folder) | {"COLUMNS": "300", "XDG_STATE_HOME": str(folder / "state")}
    out, err, code = run_forked(folder, args, wide, program="pytest")
    return Outcome(code, out + err)


def message(case: ET.Element, tag: str) -> str:
    found = case.find(tag)
    assert found is not None, ET.tostring(case)
    return str(found.get("message"))


@pytest.mark.long
@pytest.mark.slow
def test_thresholds_pass_fail_or_stay_undecided_and_say_it_in_sentences(tmp_path: Path) -> None:
    text = HEAD + coin("good", 0.95, thresholds={"said": 0.5})
    text += coin("test_bad", 0.1, thresholds={"said": 0.5})
    text += coin("close", 0.5, thresholds={"said": 0.5}) + coin("free", 0.5)
    (tmp_path / "coins.py").write_text(text)
    (tmp_path / "test_coins.py").write_text(text + "\n\ndef test_plain():\n    assert True\n")
    done = run_pytest(tmp_path, "--matrix", "--matrix-sessions", "40", "coins.py", "test_coins.py")
    assert done.code == 1
    assert "2 failed, 5 passed, 2 skipped" in done.out
    assert "Traceback" not in done.out
    assert "async def" not in done.out, "no line of code is shown"
    case = case_of(tmp_path, "coins", "test_bad")
    told = message(case, "failure")
    assert told.startswith("said at least 50 %: NOT MET: ")
    assert "over 40 sessions" in told
    assert "simulated models" in told
    close = case_of(tmp_path, "coins", "close")
    assert "not enough data" in message(close, "skipped")
    properties = {one.get("name"): one.get("value") for one in case.iter("property")}
    run = matrix.open_run(str(properties["matrix_run"]), results=tmp_path / "results")
    assert run.file.plan.sessions == 40
    assert run.file.gate is not None
    assert run.file.gate.failed
    assert properties["matrix_simulated"] == "simulated"


@pytest.mark.slow
def test_what_is_undecided_fails_where_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "coins.py").write_text(HEAD + coin("close", 0.5))
    flags = ("--matrix-threshold", "said=.5", "--matrix-fail-undecided")
    done = run_pytest(tmp_path, "--matrix", *flags, "coins.py")
    assert done.code == 1
    assert "not enough data" in message(case_of(tmp_path, "coins", "close"), "failure")


@pytest.mark.slow
def test_a_regression_against_a_file_that_export_wrote_fails(tmp_path: Path) -> None:
    before, after, alike = (tmp_path / name for name in ("before", "after", "alike"))
    for folder, chance in ((before, 0.95), (after, 0.2), (alike, 0.96)):
        folder.mkdir()
        more = {"baseline": "coins.csv", "margin": 0.3}
        (folder / "coins.py").write_text(HEAD + coin("toss", chance, **more))
    play = ("run", "coins.py", "--sessions", "80", "--executor", "in-process", "--run-id", "old")
    assert run_program(before, *play).code == 0
    for folder in (before, after, alike):
        place = str(folder / "coins.csv")
        assert run_program(before, "export", "old", "--to", "csv", "-o", place).code == 0
    done = run_pytest(tmp_path, "--matrix", "--matrix-sessions", "80", ".")
    assert "1 failed, 2 passed, " in done.out
    other = "other than in coins: the kind's code"
    (warning,) = (line for line in done.out.splitlines() if "PytestWarning: " in line)
    assert warning.strip().startswith("alike/coins.py:4: ")
    assert other in warning
    told = message(failed_in(tmp_path), "failure")
    assert other in told
    assert told.startswith("REGRESSION against coins: score -0.")
    assert "margin 0.300" in told
    assert "of the same seed" in told


def failed_in(folder: Path) -> ET.Element:
    cases = ET.parse(folder / "junit.xml").iter("testcase")
    return next(case for case in cases if case.find("failure") is not None)


@pytest.mark.long
@pytest.mark.slow
def test_a_baseline_of_several_variants_is_refused_with_how_one_of_one_is_made(
    tmp_path: Path,
) -> None:
    """In the words of where it is written; what the message says to do is enough."""
    declared = HEAD + coin("toss", 0.95, baseline="coins.csv", margin=0.3)
    (tmp_path / "coins.py").write_text(declared)
    play = ("run", "coins.py", "--sessions", "40", "--executor", "in-process")
    factors = ("--set", "factors.question=[a, b]", "--run-id", "two")
    assert run_program(tmp_path, *play, *factors).code == 0
    export = ("--to", "csv", "-o", "coins.csv", "--force")
    assert run_program(tmp_path, "export", "two", *export).code == 0
    done = run_pytest(tmp_path, "--matrix", "coins.py")
    assert done.code == 2
    assert "baseline=: question has several levels in coins and none of them in this-run" in (
        done.out
    )
    assert (
        "a baseline is the results of one variant: play it alone, as `matrix run FILE" in done.out
    )
    (tmp_path / "coins.py").write_text(HEAD + coin("toss", 0.95))
    flags = ("--matrix-baseline", "coins.csv", "--matrix-margin", ".3")
    done = run_pytest(tmp_path, "--matrix", *flags, "coins.py")
    assert "--matrix-baseline: question has several levels in coins" in done.out
    (tmp_path / "coins.py").write_text(declared)
    assert run_program(tmp_path, *play, "--run-id", "base").code == 0
    assert run_program(tmp_path, "export", "base", *export).code == 0
    done = run_pytest(tmp_path, "--matrix", "--matrix-sessions", "40", "coins.py")
    assert done.code == 0, done.out


@pytest.mark.slow
def test_validate_says_what_is_no_baseline_and_a_gate_says_which_options_are_other(
    tmp_path: Path,
) -> None:
    declared = HEAD + coin("toss", 0.95, baseline="coins.csv", margin=0.3)
    (tmp_path / "coins.py").write_text(declared)
    rows = "\n".join(f"q{at},{variant},1" for at in range(20) for variant in "ab")
    (tmp_path / "mine.csv").write_text(f"id,variant,score\n{rows}\n")
    assert run_program(tmp_path, "import", "mine.csv", "--run-id", "mine").code == 0
    export = ("--to", "csv", "-o", "coins.csv", "--force")
    assert run_program(tmp_path, "export", "mine", *export).code == 0
    done = run_program(tmp_path, "validate", "coins.py")
    assert done.code == 2
    assert "has results that were made elsewhere and imported" in done.stderr
    play = ("run", "coins.py", "--sessions", "40", "--executor", "in-process", "--run-id", "old")
    assert run_program(tmp_path, *play, "--set", "options.question=Sure?").code == 0
    assert run_program(tmp_path, "export", "old", *export).code == 0
    done = run_program(tmp_path, "validate", "coins.py")
    assert done.code == 0, done.stderr
    run_pytest(tmp_path, "--matrix", "--matrix-sessions", "40", "coins.py")
    assert "other than in coins: options.question" in (tmp_path / "junit.xml").read_text()


@pytest.mark.slow
def test_a_session_that_breaks_is_told_with_its_error(tmp_path: Path) -> None:
    text = 'async def broken(ctx, a: int = 1):\n    raise ValueError("no such shop")\n'
    (tmp_path / "broken.py").write_text(f"{HEAD}@matrix.scenario\n{text}")
    done = run_pytest(tmp_path, "--matrix", "--matrix-sessions", "3", "broken.py")
    assert done.code == 1
    told = message(failed_in(tmp_path), "failure")
    assert "no such shop" in told
    assert "all 2 sessions of the first 2 rounds ended with the same defect" in told
    assert "(broken.py:" in told


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "flags", "told"),
    [
        (HEAD + "@matrix.scenario\nasync def f(ctx):\n    1/0\n\nx = 1/0\n", (),
         "kinds.py cannot be loaded: ZeroDivisionError: division by zero (line 7)"),
        (HEAD + "@matrix.scenario\ndef f(ctx):\n    pass\n", (), "is no async function"),
        (HEAD + coin("f", 1, thresholds={"sayd": 0.5}), (),
         "kinds.py:f: thresholds['sayd']: found 'sayd'; sessions have: "),
        (HEAD + coin("f", 1), ("--matrix-threshold", "sayd=.5"),
         "--matrix-threshold: found 'sayd'; sessions have: "),
        (HEAD + coin("f", 1, thresholds={"failed": 2}), (), "thresholds=: found failed=2; a share"),
        (HEAD + coin("f", 1, thresholds={"said": "high"}), (),
         "thresholds['said'] is 'high'; must be a number"),
        (HEAD + coin("f", 1, baseline="none.csv", margin=0.1), (), "none.csv: cannot be read: No "),
        (HEAD + coin("f", 1), ("--matrix-model", "agent"),
         "--matrix-model: found 'agent'; write it as ROLE=MODEL"),
        (HEAD + coin("f", 1), ("--matrix-model", "agent=openai/gpt-4o-mini"),
         "--matrix-max-cost: f asks real models, so say what it may cost at most"),
        (HEAD + coin("f", 1), ("--matrix-sessions", "0"),
         "--matrix-sessions: sessions: found 0; should be greater than or equal to 1"),
        (HEAD + coin("f", 1), ("--matrix-margin", "1"), "--matrix-margin: is for a gate against"),
    ],
)  # fmt: skip
def test_a_mistake_is_a_collection_error_in_a_line_and_nothing_is_played(
    tmp_path: Path, text: str, flags: tuple[str, ...], told: str
) -> None:
    (tmp_path / "kinds.py").write_text(text)
    done = run_pytest(tmp_path, "--matrix", *flags, "kinds.py")
    assert done.code == 2, done.out
    assert "1 error" in done.out
    section = done.out.partition("ERROR collecting kinds.py")[2].split("\n")
    assert told in section[1], done.out
    assert not section[1].startswith(" ")
    assert section[2].startswith(("---", "===")), done.out
    assert not (tmp_path / "results").exists()


@pytest.mark.slow
def test_without_the_option_nothing_of_matrix_is_loaded_but_the_options(tmp_path: Path) -> None:
    (tmp_path / "coins.py").write_text(HEAD + coin("toss", 0.5))
    (tmp_path / "test_loaded.py").write_text(
        "import sys\n\n\n"
        "def test_loaded():\n"
        "    mine = sorted(name for name in sys.modules if name.split('.')[0] == 'matrix')\n"
        "    assert mine == ['matrix', 'matrix.pytesting', 'matrix.pytesting.plugin', "
        "'matrix.version']\n"
        "    assert not {'numpy', 'pydantic', 'pyarrow', 'ray'} & set(sys.modules)\n"
    )
    program = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:asyncio"]
    fresh = subprocess.run(program, cwd=tmp_path, env=environment(tmp_path), check=False)
    assert fresh.returncode == 0
    refused = run_pytest(tmp_path, "--matrix-sessions", "3")
    assert refused.code == 4
    assert "--matrix-sessions goes with --matrix" in refused.out


A_CLASS = (
    HEAD
    + """
@matrix.scenario(simulated={{"agent": lambda asked: "{answer}"}}, {more})
class Asks:
    async def turn(self, ctx, state):
        said = await ctx.ask("agent", "Is it?")
        ctx.score("said", ctx.rng("who").random() < 0.6 and said.text == "{answer}")
        ctx.end()
"""
)


@pytest.mark.slow
def test_a_class_that_is_undecided_is_skipped_and_one_that_passes_otherwise_warned_of(
    tmp_path: Path,
) -> None:
    (tmp_path / "open.py").write_text(A_CLASS.format(answer="yes", more="thresholds={'said': .6}"))
    (tmp_path / "asks.py").write_text(A_CLASS.format(answer="yes", more=""))
    play = ("run", "asks.py", "--sessions", "80", "--executor", "in-process", "--run-id", "old")
    assert run_program(tmp_path, *play).code == 0
    assert run_program(tmp_path, "export", "old", "--to", "csv", "-o", "old.csv").code == 0
    more = "baseline='old.csv', margin=.4"
    (tmp_path / "asks.py").write_text(A_CLASS.format(answer="ja", more=more))
    done = run_pytest(tmp_path, "--matrix", "--matrix-sessions", "80", "open.py", "asks.py")
    assert (done.code, "1 passed, 1 skipped, " in done.out) == (0, True), done.out
    assert "asks.py:6: PytestWarning: " in done.out
    undecided = message(case_of(tmp_path, "open", "Asks"), "skipped")
    assert "not enough data" in undecided
    assert undecided.endswith("more sessions decide: --matrix-sessions")
    short = run_pytest(tmp_path, "--matrix", "--matrix-sessions", "20", "asks.py")
    assert short.code == 0
    told = message(case_of(tmp_path, "asks", "Asks"), "skipped")
    assert told.endswith("more sessions decide: --matrix-sessions"), "the baseline has 80"
    assert run_program(tmp_path, *play[:3], "20", *play[4:-1], "less").code == 0
    export = ("export", "less", "--to", "csv", "-o", "old.csv", "--force")
    assert run_program(tmp_path, *export).code == 0
    again = run_pytest(tmp_path, "--matrix", "--matrix-sessions", "80", "asks.py")
    assert again.code == 0
    told = message(case_of(tmp_path, "asks", "Asks"), "skipped")
    assert "so it takes a longer baseline first" in told
    assert "more sessions decide" not in told, "however many, they have no partner"


ERRING = (
    HEAD
    + """
@matrix.scenario(simulated={{"agent": "yes"}}, {more})
async def parse(ctx):
    said = await ctx.ask("agent", "Is it?")
    if ctx.rng("odd").random() < {share}:
        said = said.nothing
    ctx.score("said", 1)
"""
)


@pytest.mark.slow
def test_code_that_errs_where_its_baseline_did_not_passes_nothing_and_is_told(
    tmp_path: Path,
) -> None:
    (tmp_path / "parse.py").write_text(ERRING.format(share=0, more=""))
    play = ("run", "parse.py", "--sessions", "80", "--executor", "in-process", "--run-id", "old")
    assert run_program(tmp_path, *play).code == 0
    assert run_program(tmp_path, "export", "old", "--to", "csv", "-o", "old.csv").code == 0
    more = "baseline='old.csv', margin=.4"
    (tmp_path / "parse.py").write_text(ERRING.format(share=0.12, more=more))
    limits = "thresholds={'said': .5}"
    (tmp_path / "alone.py").write_text(ERRING.format(share=0.12, more=limits))
    done = run_pytest(tmp_path, "--matrix", "--matrix-sessions", "80", "parse.py", "alone.py")
    assert (done.code, "1 passed, 1 skipped, " in done.out) == (0, True), done.out
    told = message(case_of(tmp_path, "parse", "parse"), "skipped")
    assert told.startswith("not enough data against old: ")
    assert "sessions against 0 of 80, which are in no figure here; that is shown to be more" in told
    assert "more errored and in no figure here" in done.out
