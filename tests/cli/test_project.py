"""A project of one's own: `matrix init`, and the schema that editors use on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml

from matrix import api
from matrix.kinds.library import shipped_root
from tests.cli.program import GoldenRun, Matrix


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return api.schema()


def test_init_makes_a_project_that_is_sound(here: Path, golden_run: GoldenRun) -> None:
    assert golden_run("init", "init", "my-project").code == 0
    assert api.validate(here / "my-project") == []
    assert api.plan(here / "my-project").simulated


def test_init_overwrites_nothing(here: Path, golden_run: GoldenRun) -> None:
    (here / "matrix.yaml").write_text("mine\n")
    assert golden_run("init-taken", "init").code == 2
    assert [path.name for path in here.iterdir()] == ["matrix.yaml"]
    assert (here / "matrix.yaml").read_text() == "mine\n"


def test_the_project_finds_its_own_packs_before_the_built_in_ones(project: Path) -> None:
    own = project / "scenarios" / "playtest" / "put-it-back"
    own.mkdir()
    for name in ("scenario.yaml", "guide.md"):
        text = (own.parent / "the-borrowed-hour" / name).read_text()
        (own / name).write_text(text.replace("The Borrowed Hour", "Mine"))
    assert api.plan(project).scenarios["put-it-back"]["title"] == "Mine"


def test_the_schema_accepts_the_template_and_the_built_in_spec(
    project: Path, schema: dict[str, Any]
) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)
    built_in = shipped_root() / "scenarios" / "runs" / "builtin.yaml"
    for path in (project / "matrix.yaml", built_in):
        jsonschema.validate(yaml.safe_load(path.read_text()), schema)


@pytest.mark.parametrize(
    "text",
    [
        "sesions: 3",
        "limits: {cost_usd: -1}",
        "options: {colour: red}",
        "simulation: {efects: []}",
        "at_cap: never",
        "factors: {prompt: baseline}",
    ],
)
def test_the_schema_refuses_what_validate_refuses(schema: dict[str, Any], text: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(yaml.safe_load(text), schema)


def test_every_field_of_the_schema_is_described(schema: dict[str, Any]) -> None:
    bare = [
        f"{name}.{field}"
        for name, part in {"": schema, **schema["$defs"]}.items()
        for field, about in part.get("properties", {}).items()
        if not about.get("description")
        and not schema["$defs"].get(about.get("$ref", "").rpartition("/")[2], {}).get("description")
    ]
    assert bare == []


def test_the_command_prints_the_schema_of_a_kind(matrix: Matrix, schema: dict[str, Any]) -> None:
    assert json.loads(matrix("schema").stdout) == schema
    assert api.schema("counter")["properties"]["options"] != schema["properties"]["options"]


def test_an_unknown_kind_is_named_with_a_near_match(matrix: Matrix) -> None:
    result = matrix("schema", "--kind", "playtst")
    assert result.code == 2
    assert result.stderr.endswith("; did you mean 'playtest'?\n")


@pytest.mark.parametrize("link", ["matrix.yaml", "scenarios"])
def test_init_writes_through_no_link_of_a_folder_that_was_received(
    here: Path, matrix: Matrix, link: str
) -> None:
    outside = here / "outside"
    outside.mkdir()
    (here / "it").mkdir()
    (here / "it" / link).symlink_to(outside / "new.yaml" if "." in link else outside)
    done = matrix("init", "it")
    assert done.code == 2
    assert f"it/{link}" in done.stderr
    assert list(outside.iterdir()) == []
    assert [path.name for path in (here / "it").iterdir()] == [link]
