"""Fixed inputs in the shapes that people keep them in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from matrix.kinds.criteria.inputs import read_inputs
from matrix.kinds.criteria.settings import Task
from matrix.kinds.library import FolderLibrary
from matrix.model.errors import BadInput

TWO = [
    Task(id="T1", category="Web App", text="gyms"),
    Task(id="T2", category="CLI", text="papers"),
]
SHAPES: list[Any] = [
    [{"id": "T1", "category": "Web App", "text": "gyms"},
     {"id": "T2", "category": "CLI", "idea": " papers "}],
    {"ideas": [{"category": "Web App", "name": "x", "idea": "gyms"},
               {"category": "CLI", "description": "papers", "notes": [1, 2]}]},
    {"version": 1, "inputs": [{"id": "T1", "category": "Web App", "prompt": "gyms"},
                              {"id": "T2", "category": "CLI", "content": "papers"}]},
    {"T1": {"category": "Web App", "text": "gyms"}, "T2": {"category": "CLI", "input": "papers"}},
]  # fmt: skip


@pytest.mark.parametrize("value", SHAPES)
@pytest.mark.parametrize("as_file", [False, True])
def test_inputs_are_found_in_every_shape(value: Any, as_file: bool, tmp_path: Path) -> None:
    if as_file:
        (tmp_path / "ideas.json").write_text(json.dumps(value))
        value = "file://ideas.json"
    assert read_inputs(value, FolderLibrary(tmp_path), "agents.yaml") == TWO


@pytest.mark.parametrize("value", [["gyms", "papers"], {"T1": "gyms", "T2": "papers"}])
def test_texts_alone_are_inputs(value: Any, tmp_path: Path) -> None:
    found = read_inputs(value, FolderLibrary(tmp_path), "agents.yaml")
    assert [(one.id, one.text) for one in found] == [("T1", "gyms"), ("T2", "papers")]


WRONG: list[tuple[Any, str]] = [
    ([], "inputs: has no input"),
    ({"a": 3}, "inputs: has no input"),
    ([{"id": "a"}], "inputs.a: has no text; it is looked for under text, input"),
    ([3], "inputs.T1: is no input"),
    ([{"id": "a b", "text": "x"}], "inputs.a b.id: "),
    ([{"id": "a", "text": "x"}, {"id": "a", "text": "y"}], "the id 'a' is given twice"),
    ([{"id": "a", "text": "x" * 200_001}], "has 200001 characters"),
    ("file://nowhere.json", "no such file: "),
]


@pytest.mark.parametrize(("value", "told"), WRONG)
def test_what_is_no_input_is_told(value: Any, told: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as error:
        read_inputs(value, FolderLibrary(tmp_path), "agents.yaml")
    assert told in str(error.value)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"{", b"[1, 2"])
def test_a_file_that_is_no_document_is_told_by_its_name(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_bytes(content)
    with pytest.raises(BadInput, match=r"odd\.json"):
        read_inputs("file://odd.json", FolderLibrary(tmp_path), "agents.yaml")
