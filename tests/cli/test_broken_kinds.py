"""Kinds and packs that are broken: one line with file and field, exit code 2, nothing started."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.program import Matrix, Result

KIND = """\
from matrix.kinds.counter import CounterKind, CounterOptions

class Options(CounterOptions):
    mood: str = "calm"

class Moody(CounterKind):
    name = "moody"
    options_model = Options
    variables = {"MATRIX_MOODY_HOST": "where moods come from"}

    def bind(self, pack, options, roles, library, max_turns):
        {"calm": 1, "cross": 2}[options.mood]
        plain = CounterOptions(step=options.step)
        return super().bind(pack, plain, roles, library, max_turns)

KIND = Moody()
"""

PACK = "kind: counter\ntitle: A counter\nstart: 3\n"
SPEC = """\
kind: moody
scenarios: [one]
factors:
  step: [1, 2]
  mood: [calm, wild]
per_cell: 1
"""

Validate = Callable[..., Result]


@pytest.fixture
def validate(here: Path, matrix: Matrix) -> Validate:
    """``validate(kind, spec)`` installs a kind of that code beside a project, and validates it."""

    def run(kind: str = KIND, spec: str = SPEC, command: str = "validate", **more: str) -> Result:
        plugins = here / "plugins"
        info = plugins / "moody-1.0.dist-info"
        info.mkdir(parents=True, exist_ok=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: moody\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[matrix.kinds]\nmoody = moody_kind:KIND\n")
        (plugins / "moody_kind.py").write_text(kind)
        pack = here / "scenarios" / "moody" / "one"
        pack.mkdir(parents=True, exist_ok=True)
        if not (pack / "scenario.yaml").is_symlink():
            (pack / "scenario.yaml").write_text(more.pop("pack", PACK))
        (here / "one.yaml").write_text(spec)
        path = os.pathsep.join([str(plugins), os.environ.get("PYTHONPATH", "")])
        return matrix(command, "one.yaml", variables={"PYTHONPATH": path, **more})

    return run


def only_line(result: Result) -> str:
    assert (result.stdout, result.code) == ("", 2), result.stderr
    (line,) = result.stderr.splitlines()
    return line


@pytest.mark.slow
def test_the_kind_is_sound_without_the_level_it_does_not_know(validate: Validate) -> None:
    done = validate(spec=SPEC.replace("wild", "cross"))
    assert (done.stdout, done.stderr, done.code) == ("fine: nothing wrong found\n", "", 0)


@pytest.mark.slow
def test_a_level_that_a_kind_does_not_know_is_named_with_its_place(validate: Validate) -> None:
    """Once, though every other factor's levels are played with it."""
    assert only_line(validate()) == (
        "one.yaml:5: factors.mood[1]: the moody kind cannot join a scenario with these levels: "
        "KeyError: 'wild' (moody_kind.py:12)"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import nothing_like_it\n", "ModuleNotFoundError: No module named 'nothing_like_it'"),
        ("KIN = 3\n", "AttributeError: module 'moody_kind' has no attribute 'KIND'"),
        ("def broken(:\n", "SyntaxError: "),
        ("raise RuntimeError('first\\nsecond')\n", "RuntimeError: first second (moody_kind.py:1)"),
    ],
)
def test_a_kind_that_cannot_be_imported_is_one_line(
    validate: Validate, code: str, said: str
) -> None:
    line = only_line(validate(code))
    assert line.startswith(
        f"one.yaml:1: kind: the kind 'moody' (moody_kind:KIND) cannot be loaded: {said}"
    )


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("command", ["validate", "plan", "run"])
def test_a_kind_that_lacks_something_is_told_what(validate: Validate, command: str) -> None:
    code = "class Bare:\n    name = 'moody'\n    version = 1\nKIND = Bare()\n"
    line = only_line(validate(code, command=command))
    assert line.startswith(
        "one.yaml:1: kind: the kind 'moody' (moody_kind:KIND) lacks state_version, "
    )
    assert "bind" in line
    assert "version, version" not in line


@pytest.mark.slow
def test_a_pack_that_a_kind_stumbles_over_is_named(validate: Validate, here: Path) -> None:
    code = KIND.replace(
        "    def bind",
        "    def read_pack(self, folder, name):\n        return [][0]\n\n    def bind",
    )
    line = only_line(validate(code))
    place = here / "scenarios" / "moody" / "one" / "scenario.yaml"
    assert line == (
        f"{place}: the moody kind cannot read this pack: IndexError: list index out of range "
        "(moody_kind.py:12)"
    )


@pytest.mark.parametrize("file", ["guide.md", "scenario.yaml"])
def test_links_in_circles_are_named_with_their_file(
    project: Path, matrix: Matrix, file: str
) -> None:
    path = project / "scenarios" / "playtest" / "the-borrowed-hour" / file
    path.unlink()
    path.symlink_to(file)
    line = only_line(matrix("validate"))
    assert line.startswith(str(path.parent / "scenario.yaml"))
    assert "Too many levels of symbolic links" in line


@pytest.mark.parametrize(
    "file", ["matrix.yaml", "archetypes/joker.yaml", "scenarios/playtest/prompts/warmer.md"]
)
def test_what_is_a_link_in_a_circle_is_not_passed_over(
    project: Path, matrix: Matrix, file: str
) -> None:
    """Instead of the spec, the built-in matrix would be played; instead of an archetype, ours."""
    path = project / file
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(path.name)
    line = only_line(matrix("validate"))
    assert line.startswith(str(path))
    assert line.endswith("cannot be read: Too many levels of symbolic links")


def test_a_spec_that_is_a_broken_link_is_no_missing_file(here: Path, matrix: Matrix) -> None:
    (here / "one.yaml").symlink_to("one.yaml")
    told = "one.yaml: cannot be read: Too many levels of symbolic links"
    assert only_line(matrix("plan", "one.yaml")) == told
    assert only_line(matrix("plan", "one")).endswith(told)


def test_a_results_folder_that_is_a_file_is_bad_input(here: Path, matrix: Matrix) -> None:
    (here / "notes").write_text("mine", encoding="utf-8")
    done = matrix(
        "run", "--executor", "in-process", "--sessions", "4", "--quiet", "--results", "notes"
    )
    assert done.code == 2
    assert done.stderr.splitlines()[-1].startswith("--results: notes is a file; name a folder")
    assert (here / "notes").read_text(encoding="utf-8") == "mine"


PRICE = """\
scenarios: [put-it-back]
roles: {narrator: mine, judge: yours}
models:
  mine: {target: sim/mine, price: PRICE}
  yours: {target: sim/haiku}
"""


@pytest.mark.parametrize(
    ("price", "said"),
    [
        ("{inptu: 1, output: 2}", "price.inptu: unknown key; allowed: input, output, cached, "
         "cache_write, reasoning; did you mean 'input'?"),
        ("{input: -1, output: 2}", "price.input: found -1; should be greater than or equal to 0"),
        ("3", "price: found 3; should be a mapping"),
    ],
)  # fmt: skip
def test_a_wrong_price_is_told_once(project: Path, matrix: Matrix, price: str, said: str) -> None:
    (project / "one.yaml").write_text(PRICE.replace("PRICE", price))
    assert only_line(matrix("validate", "one.yaml")) == f"one.yaml:4: models.mine.{said}"


def test_mistakes_are_sorted_by_file_and_line(project: Path, matrix: Matrix) -> None:
    (project / "one.yaml").write_text(
        "sesions: 3\nroles: {narator: opus}\nfactors:\n  prompt: [nope]\n"
        "scenarios: [no-such, put-it-back]\nlimits: {turns: -1}\nnmae: x\n"
    )
    guide = project / "scenarios" / "playtest" / "the-borrowed-hour" / "scenario.yaml"
    guide.write_text("titel: x\nkind: playtest\npulses_expected: many\n")
    (project / "one.yaml").write_text(
        (project / "one.yaml").read_text().replace("put-it-back", "the-borrowed-hour")
    )
    done = matrix("validate", "one.yaml")
    places = [(line.split(":")[0], int(line.split(":")[1])) for line in done.stderr.splitlines()]
    assert len(places) >= 7
    assert places == sorted(places)


def test_a_pack_that_is_at_odds_with_its_guide_is_refused(project: Path, matrix: Matrix) -> None:
    path = "scenarios/playtest/the-borrowed-hour/scenario.yaml"
    text = (project / path).read_text().replace("expected: 8", "expected: 9")
    (project / path).write_text(text.replace("Bilal", "Colm"))
    for command in (
        ("validate",),
        ("run", "--executor", "in-process", "--sessions", "4", "--quiet"),
    ):
        done = matrix(*command)
        assert (done.code, done.stdout) == (2, "")
        at = [line.partition(path)[2] for line in done.stderr.splitlines()]
        assert at == [
            ":7: pulses_expected: found 9, but guide.md lists 8; list them, or say less",
            ":8: names[1]: 'Colm' is borne by 'Colm Ashby' of guide.md; take another name",
        ]
    assert not (project / "results").exists()


# --- variables ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command", [("run", "--executor", "in-process"), ("plan",), ("show",), ("list",), ("resume",)]
)
def test_a_variable_that_sets_nothing_is_refused_before_anything_starts(
    project: Path, matrix: Matrix, command: tuple[str, ...]
) -> None:
    done = matrix(*command, variables={"MATRIX_MAXCOST": "5", "MATRIX_SEED": "", "MATRIX_X": ""})
    line = only_line(done)
    assert line.startswith(
        "MATRIX_MAXCOST: no such variable; known: MATRIX_ALLOW_OUTSIDE, MATRIX_AT_CAP, "
    )
    assert line.endswith("; did you mean 'MATRIX_MAX_COST'?")
    assert not (project / "results").exists()


def test_python_refuses_it_too(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matrix import api

    monkeypatch.setenv("MATRIX_MAXCOST", "5")
    (mistake,) = api.validate(project)
    assert mistake.source == "MATRIX_MAXCOST"


def test_help_is_given_whatever_is_set(here: Path, matrix: Matrix) -> None:
    assert matrix("run", "--help", variables={"MATRIX_MAXCOST": "5"}).code == 0


@pytest.mark.slow
def test_a_variable_of_an_installed_kind_is_known(validate: Validate) -> None:
    sound = SPEC.replace("wild", "cross")
    assert validate(spec=sound, MATRIX_MOODY_HOST="here").code == 0
    line = only_line(validate(spec=sound, MATRIX_MOODY_HOTS="here"))
    assert line.startswith("MATRIX_MOODY_HOTS: no such variable; ")
    assert line.endswith("; did you mean 'MATRIX_MOODY_HOST'?")


# --- the built-in matrix --------------------------------------------------------------------------


@pytest.mark.slow
def test_the_built_in_matrix_is_said_to_be_that_and_a_project_s_own_is_not(
    here: Path, matrix: Matrix
) -> None:
    args = ("run", "--executor", "in-process", "--sessions", "1", "--max-turns", "2", "--quiet")
    said = matrix(*args).stderr
    assert said.splitlines()[0].startswith("no matrix.yaml here: this is the built-in ")
    (here / "matrix.yaml").write_text("scenarios: [put-it-back]\n")
    assert "no matrix.yaml" not in matrix(*args).stderr
