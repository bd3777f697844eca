"""Every command line of the README, run for real and in its order, shrunk by variables alone."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.cli.program import Result, run_program
from tests.cli.tables import write_csv
from tests.cli.test_import import inspect_log, promptfoo_results
from tests.cli.test_keys import no_keys
from tests.docs.test_documentation import COMMANDS, ROOT, code_blocks

REAL = (
    "run smoke",
    "run  --model all=openai",
    "doctor smoke",
    "gateway --max-cost 5",
    "gateway --max-cost 2",
    "report main --explain gpt-4o-mini",
)
"""Lines about real models: without a key they say which one is missing, and start nothing."""

GATED = ("--fail-on", "run selftest", "run criteria")

CRITERIA = 4
"""Which of the README's files is the one that a line of the README plays."""

FIRST = {"MATRIX_MAX_TURNS": "1"}
PROJECT = {"MATRIX_MAX_TURNS": "6", "MATRIX_PER_CELL": "2", "MATRIX_YES": "1"}


def lines() -> list[str]:
    """The command lines of the README without ``matrix``, ``init`` and ``cd`` among them."""
    blocks = "\n".join(code_blocks(ROOT / "README.md", ""))
    return re.findall(r"^(?:\$ )?(?:matrix )(.+?)(?: {2,}#.*)?$", blocks, re.M)


def played(folder: Path, line: str, variables: dict[str, str]) -> Result:
    name, *args = shlex.split(line)
    if any("--executor" in option.opts for option in COMMANDS[name].params):
        args.extend(["--executor", "in-process"])
    return run_program(folder, name, *args, variables=no_keys() | variables)


def results_from_elsewhere(folder: Path) -> None:
    """Files of the names that the README imports."""
    rows = [[f"q{n}", model, n % 3 == 0] for n in range(40) for model in ("old", "new")]
    write_csv(folder / "results.csv", ("question", "model", "correct"), rows)
    for name, most in (("before", 7), ("after", 5)):
        write_csv(folder / f"{name}.csv", ("id", "score"), [[n, n % most] for n in range(40)])
    (folder / "promptfoo.json").write_text(json.dumps(promptfoo_results(3)))
    (folder / "logs").mkdir()
    for name, chance in (("a", 0.5), ("b", 0.7)):
        inspect_log(folder / "logs" / f"{name}.eval", name, chance, "eval")


@pytest.mark.slow
def test_every_command_line_works_as_it_is_written(tmp_path: Path) -> None:
    first, init, *rest = lines()
    assert first == "run --sessions 500"
    done = played(tmp_path, first, FIRST)
    assert done.code == 0, done.stderr
    assert "500 of 500 planned" in done.stdout
    assert "Verdict: " in done.stdout
    assert init == "init my-project"
    assert played(tmp_path, init, {}).code == 0
    project, seen = tmp_path / "my-project", []
    (rubric,) = code_blocks(ROOT / "README.md", "markdown")
    (project / "rubrics").mkdir()
    (project / "rubrics" / "tone.md").write_text(rubric)
    (project / "my_agent.py").write_text("print('done')\n")
    shutil.copy(ROOT / "scenarios" / "playtest" / "prompts" / "baseline.md", project / "mine.md")
    results_from_elsewhere(project)
    for line in rest:
        if line.startswith("run criteria/"):
            (project / "criteria").mkdir()
            criteria = code_blocks(ROOT / "README.md", "yaml")[CRITERIA]
            (project / "criteria" / "agents.yaml").write_text(criteria)
        if "tests/scenarios" in line:
            own, shipped = project / "tests" / "scenarios", ROOT / "scenarios" / "trajectory"
            if not own.exists():
                shutil.copytree(shipped / "01-from-hunch-to-decision", own / "01-churn")
                shutil.copytree(shipped / "judges", own / "judges")
        whole = ("run criteria", "run trajectory", "run tests/scenarios")
        chain = {"MATRIX_YES": "1"} if line.startswith(whole) else PROJECT
        done = played(project, line, chain)
        if "--write labels.csv" in line:
            table = project / "labels.csv"
            table.write_text(table.read_text("utf-8").replace(",1 to 5,,", ",1 to 5,4,"))
        allowed = (0, 3) if any(flag in line for flag in GATED) else (0,)
        if line.startswith(REAL):
            assert done.code == 2, f"{line}\n{done.stderr}"
            assert "API_KEY" in done.stdout + done.stderr
        else:
            assert done.code in allowed, f"{line}\n{done.stdout}{done.stderr}"
            assert done.stdout, line
        seen.append(line.split()[0])
    assert {"plan", "run", "power", "show", "compare", "resume", "diff", "export", "repair",
            "archive", "replay", "branch", "doctor", "label"} <= set(seen)  # fmt: skip
    assert (project / "turn-5.json").is_file()
