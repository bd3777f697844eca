"""The page about agents has every field with its default, and its examples are sound."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from matrix import api
from matrix.agents import Reply, Turn
from matrix.model.spec.agents import AgentSpec, AnswerFields, HttpForm
from tests.docs.test_documentation import ROOT, code_blocks

PAGE = ROOT / "docs" / "agents.md"


def row(name: str, model: type[BaseModel]) -> str:
    field = model.model_fields[name]
    default = field.get_default(call_default_factory=True)
    empty = default is None or default in ({}, ()) or isinstance(default, BaseModel)
    if default is PydanticUndefined:
        shown = "required"
    else:
        shown = "" if empty else f"`{json.dumps(default)}`"
    return f"| `{name}` | {shown} | {field.description} |"


@pytest.mark.parametrize("model", [AgentSpec, HttpForm, AnswerFields])
def test_every_field_is_there_with_its_default_and_meaning(model: type[BaseModel]) -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert [name for name in model.model_fields if row(name, model) not in lines] == []


def test_the_agent_of_the_example_can_be_planned(tmp_path: Path) -> None:
    (example,) = code_blocks(PAGE, "yaml")
    (tmp_path / "matrix.yaml").write_text(example, encoding="utf-8")
    assert api.validate(tmp_path) == []
    assert set(api.plan(tmp_path).spec.agents) == {"coder"}


async def test_the_function_of_the_example_works(tmp_path: Path) -> None:
    (example,) = code_blocks(PAGE, "python")
    found: dict[str, object] = {}
    exec(example, found)
    turn = Turn("it", "r", "s", 1, 2, "do it", (), tmp_path, {}, 1.0)
    said = await found["reply"](turn)  # type: ignore[operator]
    assert said == Reply("I heard 5 characters.", cost_usd=0.001)
