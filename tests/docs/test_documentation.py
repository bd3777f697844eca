"""What the documentation says exists and works: commands, files, modules, specs, Python."""

from __future__ import annotations

import ast
import importlib.util
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import typer
import yaml

from matrix import api
from matrix.cli.main import program
from matrix.model.documents.overrides import VARIABLES
from matrix.model.spec.run_spec import RunSpec

ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
COMMANDS = typer.main.get_command(program()).commands  # type: ignore[attr-defined]

MADE_BY_MAKE = frozenset(
    {".venv", ".venv/bin/matrix", ".tools", "dist", "dist/sbom.cdx.json", "site"}
)
"""Named in the documentation, and there after `make install` and its like only."""

OF_A_PROJECT = frozenset(
    {
        "matrix.yaml",
        "my-project",
        "scenarios/",
        "results/",
        "answers.sqlite",
        "budgets.sqlite",
        "config/NAME.yaml",
        "config/selftest.yaml",
        "reports/selftest/RUN.json",
        "docs/reports/selftest/RUN.md",
        "reports/criteria/RUN.json",
        "made/{input}.md",
        "rubrics/tone.md",
        *("support.py", "questions.csv", "questions.py", "refunds.py", "./support.py"),
        "matrix/runs.key",
    }
)
OF_A_NOTEBOOK = frozenset(
    {
        *(
            "inputs/",
            "expected.yaml",
            "CLAUDE.md",
            "checks.py",
            "inbox/",
            "/review",
            "json/",
            "workdirs/",
        ),
        *("hypotheses/", "decisions/", "source/", "ingestion/", "a/*.md", "pinned"),
        "reports/trajectory/RUN.json",
    }
)
"""Of a trajectory test: of its scenarios, and of the folder that its agent keeps."""
OF_A_RUN = frozenset(
    [
        "run.json",
        "plan.json",
        "journal.sqlite",
        "explanation.json",
        "report.md",
        "report.html",
        "results/<run>/sessions",
    ]
)


def code_blocks(page: Path, language: str) -> list[str]:
    # every block is read, or the end of one of another language would be taken for a beginning
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
    return [text for name, text in blocks if name == language]


def inline_code(page: Path) -> set[str]:
    prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return set(re.findall(r"`([^`\n]+)`", prose))


# --- commands -------------------------------------------------------------------------------------


def test_every_command_is_in_the_documentation() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    missing = [name for name in COMMANDS if not re.search(rf"\bmatrix {name}\b", text)]
    assert missing == []


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_has_an_example_that_its_parser_takes(name: str) -> None:
    command = COMMANDS[name]
    examples = re.findall(r"^    (matrix .*)$", command.help or "", re.M)
    assert examples
    for example in examples:
        words = shlex.split(re.split(r" {2,}| > ", example)[0])
        assert words[1] == name
        with command.make_context(name, words[2:], resilient_parsing=False):
            pass


@pytest.mark.slow
def test_every_command_line_in_the_readme_is_one_that_its_parser_takes() -> None:
    lines = re.findall(r"^(?:\$ )?matrix (.+?)(?: {2,}#.*)?$", "\n".join(
        code_blocks(ROOT / "README.md", "")), re.M)  # fmt: skip
    assert len(lines) >= 7
    for line in lines:
        name, *args = shlex.split(line)
        with COMMANDS[name].make_context(name, args, resilient_parsing=False):
            pass


def test_every_variable_is_in_the_readme_and_no_other() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| `(MATRIX_\w+)` \| (.+) \|$", text, re.M))
    assert {name: said.strip("`") for name, said in listed.items()} == {
        name: said.strip("`") for name, said in VARIABLES.items()
    }


def test_every_make_target_in_the_readme_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    named = set(re.findall(r"\bmake ([a-z-]+)", (ROOT / "README.md").read_text()))
    assert {"run", "test"} <= named & targets
    blocks = "\n".join(code_blocks(ROOT / "README.md", ""))
    assert set(re.findall(r"^make ([a-z-]+)", blocks, re.M)) <= targets


# --- files and modules ----------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
    local = [link for link in links if "://" not in link]
    assert [link for link in local if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_is_named_exists(page: Path) -> None:
    named = {
        code
        for code in inline_code(page)
        if re.fullmatch(r"[\w.<>-]*(?:/[\w.<>*-]*)+|[\w-]+\.(?:py|md|yaml|json|sqlite|toml)", code)
        and not code.startswith(("sim/", "local/", "file://"))
    }
    known = MADE_BY_MAKE | OF_A_PROJECT | OF_A_NOTEBOOK | OF_A_RUN
    roots = (ROOT, ROOT / "matrix", ROOT / "actors")
    missing = [code for code in named - known if not any((root / code).exists() for root in roots)]
    assert missing == []


ENTRY_POINTS = frozenset({"matrix.assertions", "matrix.kind_files", "matrix.kinds"})


def test_every_module_that_is_named_exists_with_what_it_is_said_to_have() -> None:
    named = set()
    for page in PAGES:
        named |= {code for code in inline_code(page) if re.fullmatch(r"\w+(\.\w+)+", code)}
    floors = {path.stem for path in (ROOT / "matrix").iterdir()}
    named -= ENTRY_POINTS | OF_A_RUN
    dotted = [name for name in named if name.split(".")[0] in floors | {"matrix", "matrix_actors"}]
    assert dotted, "the design names modules"
    assert [name for name in dotted if not _found(name) and not _is_field(name)] == []


def _is_field(name: str) -> bool:
    """Whether ``limits.turns`` is a field of the run spec; maps of models go by their values."""
    model: Any = RunSpec
    for part in name.split("."):
        if part not in getattr(model, "model_fields", {}):
            return False
        model = _model_in(model.model_fields[part].annotation)
    return True


def _model_in(annotation: Any) -> Any:
    """The pydantic model in a field's type, e.g. in ``Mapping[str, ProviderSpec]``."""
    if hasattr(annotation, "model_fields"):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part))), None)


def _found(name: str) -> bool:
    """Whether ``engine.driver.Driver`` or ``matrix.stats`` is a module, or a name in one."""
    parts = name.split(".")
    if parts[0] not in ("matrix", "matrix_actors"):
        parts = ["matrix", *parts]
    for length in range(len(parts), 0, -1):
        if _is_module(".".join(parts[:length])):
            rest = parts[length:]
            module = importlib.import_module(".".join(parts[:length]))
            return not rest or hasattr(module, rest[0])
    return False


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def test_the_house_in_the_design_is_the_house_that_stands() -> None:
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^## The house\n+```\n(.*?)^```", text, re.M | re.S)
    drawn = set(re.findall(r"^  (\w+)(?:/|\.py) ", block, re.M))
    package = ROOT / "matrix"
    floors = {path.name for path in package.iterdir() if (path / "__init__.py").is_file()}
    assert drawn == floors


def test_there_is_a_changelog_and_the_readme_links_it() -> None:
    assert "## Unreleased" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "(CHANGELOG.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


# --- specs and Python -----------------------------------------------------------------------------


AGENTS = {"claude-code", "helpdesk", "mine", "notebook"}


@pytest.mark.slow
def test_the_spec_in_the_readme_is_sound_in_a_new_project(tmp_path: Path) -> None:
    blocks = code_blocks(ROOT / "README.md", "yaml")
    spec, params, agents, selftest, criteria, trajectory, judges, caps = blocks
    assert isinstance(yaml.safe_load(spec), dict)
    (tmp_path / "params.yaml").write_text(params, encoding="utf-8")
    assert api.validate(tmp_path / "params.yaml") == []
    assert api.plan(tmp_path / "params.yaml").factors == {"narrator.effort": ("low", "high")}
    (tmp_path / "caps.yaml").write_text(caps, encoding="utf-8")
    assert api.validate(tmp_path / "caps.yaml") == []
    (tmp_path / "selftest.yaml").write_text(selftest, encoding="utf-8")
    assert api.validate(tmp_path / "selftest.yaml") == []
    assert api.plan(tmp_path / "selftest.yaml").spec.kind == "selftest"
    (rubric,) = code_blocks(ROOT / "README.md", "markdown")
    (tmp_path / "rubrics").mkdir()
    (tmp_path / "rubrics" / "tone.md").write_text(rubric, encoding="utf-8")
    (tmp_path / "rubrics" / "ends.md").write_text("---\nanswer: verdict\n---\nDoes it end?")
    (tmp_path / "judges.yaml").write_text(judges, encoding="utf-8")
    assert api.validate(tmp_path / "judges.yaml") == []
    (tmp_path / "criteria.yaml").write_text(criteria, encoding="utf-8")
    assert api.validate(tmp_path / "criteria.yaml") == []
    assert api.plan(tmp_path / "criteria.yaml").factors == {"variant": ("as-written", "shorter")}
    adapted = tmp_path / "adapted"
    for folder in ("scaffold", "tests/harness", "01-churn/inputs"):
        (adapted / folder).mkdir(parents=True)
    (adapted / "01-churn" / "inputs" / "turn-01-mail.md").write_text("Hello.")
    (adapted / "01-churn" / "expected.yaml").write_text(
        "turns: [{turn: 1, structural: [{file_exists: a.md}]}]\n"
    )
    (adapted / "trajectory.yaml").write_text(trajectory, encoding="utf-8")
    assert api.validate(adapted) == []
    assert set(api.plan(adapted).spec.agents) == {"claude"}
    (tmp_path / "agents.yaml").write_text(agents, encoding="utf-8")
    (missing,) = api.validate(tmp_path / "agents.yaml")
    assert missing.path == "agents.mine.python"
    (tmp_path / "my_project.py").write_text("async def reply(turn): ...\n", encoding="utf-8")
    assert api.validate(tmp_path / "agents.yaml") == []
    assert set(api.plan(tmp_path / "agents.yaml").spec.agents) == AGENTS
    api.init(tmp_path)
    (tmp_path / "readme.yaml").write_text(spec, encoding="utf-8")
    assert api.validate(tmp_path / "readme.yaml") == []
    assert len(api.plan(tmp_path / "readme.yaml").plan.cells) == 2 * 2 * 2


def test_what_the_readme_says_of_numbers_is_what_the_spec_plans(tmp_path: Path) -> None:
    spec, *_ = code_blocks(ROOT / "README.md", "yaml")
    api.init(tmp_path)
    (tmp_path / "readme.yaml").write_text(spec, encoding="utf-8")
    (said,) = re.findall(r"or `sessions: (\d+)`", spec)
    assert api.plan(tmp_path / "readme.yaml").plan.sessions == int(said)


def test_the_python_of_the_readme_uses_what_there_is() -> None:
    import matrix

    for block in code_blocks(ROOT / "README.md", "python"):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                owner = {"matrix": matrix, "run": matrix.Run}.get(node.value.id)
                assert owner is None or hasattr(owner, node.attr), node.attr


@pytest.mark.slow
def test_the_plan_in_the_readme_is_the_plan_that_is_made(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    done = subprocess.run(
        [Path(sys.executable).with_name("matrix"), "plan", "--sessions", "500"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    planned = done.stdout.splitlines()
    for label in ("sessions", "scenarios", "prompt", "cap"):
        (line,) = [line for line in planned if line.startswith(f"  {label} ")]
        assert line in text


# --- nothing of one machine -----------------------------------------------------------------------


def files_of_the_project() -> Iterator[Path]:
    """Every text file that belongs to the project, by its folders."""
    folders = ("matrix", "actors", "tests", "docs", "tools", "benchmarks", "scenarios",
               "archetypes", ".ci", ".github")  # fmt: skip
    yield from (path for path in ROOT.iterdir() if path.is_file() and path.name != "uv.lock")
    yield ROOT / "results" / "README.md"
    for folder in folders:
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc":
                yield path


def test_no_file_names_a_place_of_the_machine_it_was_written_on() -> None:
    places = [f"/{name}/" for name in ("work", "root")]
    homes = re.compile(rf"/home/(?!{'user'}\b)\w+/")
    found = [
        str(path.relative_to(ROOT))
        for path in files_of_the_project()
        for text in [path.read_text(encoding="utf-8", errors="ignore")]
        if any(place in text for place in places) or homes.search(text)
    ]
    assert found == []
