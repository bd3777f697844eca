"""The built-in agent's tools: what they do, and that nothing leads out of the folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.agents.folder_tools import TOOLS, FolderTools
from matrix.model.records import ToolCall


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret").write_text("canary")
    return inside


def use(folder: Path, name: str, **arguments: str) -> str:
    return FolderTools(folder, TOOLS, 3).use(ToolCall("1", name, json.dumps(arguments)))


def test_files_are_written_read_edited_listed_and_searched(folder: Path) -> None:
    assert use(folder, "write", path="notes/plan.md", text="one\ntwo\n").startswith("Wrote 8 bytes")
    assert use(folder, "read", path="notes/plan.md") == "one\ntwo\n"
    assert (
        use(folder, "edit", path="notes/plan.md", old="two", new="three") == "Edited notes/plan.md."
    )
    assert (folder / "notes" / "plan.md").read_text() == "one\nthree\n"
    assert use(folder, "list") == "notes/plan.md"
    assert use(folder, "search", text="hre") == "notes/plan.md:2: three"


def test_what_is_written_has_times_of_its_turn_only(folder: Path) -> None:
    use(folder, "write", path="a/b", text="x")
    for one in (folder, folder / "a", folder / "a" / "b"):
        assert one.stat().st_mtime_ns == 3_000_000_000


@pytest.mark.parametrize(
    "path", ["../secret", "/etc/passwd", "a/../../secret", "link", "links/secret"]
)
def test_nothing_outside_is_read_or_written(folder: Path, path: str) -> None:
    (folder / "link").symlink_to(folder.parent / "secret")
    (folder / "links").symlink_to(folder.parent)
    for name, more in (("read", {}), ("write", {"text": "x"}), ("edit", {"old": "c", "new": "x"})):
        assert "outside the folder" in use(folder, name, path=path, **more)
    assert (folder.parent / "secret").read_text() == "canary"
    assert "secret" not in use(folder, "list")
    assert use(folder, "search", text="canary") == "Not found."


@given(st.text(max_size=30), st.text(max_size=10))
def test_no_path_leads_out_whatever_it_is(
    tmp_path_factory: pytest.TempPathFactory, path: str, text: str
) -> None:
    root = tmp_path_factory.mktemp("root")
    inside = root / "inside"
    inside.mkdir()
    for name, more in (("write", {"text": text}), ("read", {}), ("list", {})):
        assert isinstance(use(inside, name, path=path, **more), str)
    assert list(root.iterdir()) == [inside]


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("read", "{", "no JSON object"),
        ("read", "[]", "no object of texts"),
        ("read", '{"path": 5}', "no object of texts"),
        ("read", '{"file": "a"}', "arguments of read: path"),
        ("write", '{"path": ""}', "arguments of write: path, text"),
        ("write", '{"path": "", "text": ""}', "is a folder"),
        ("edit", '{"path": "no", "old": "a", "new": "b"}', "there is no file 'no'"),
        ("search", '{"text": ""}', "everywhere"),
        ("delete", "{}", "no tool 'delete'"),
    ],
)
def test_mistakes_of_the_model_are_told_to_it(
    folder: Path, name: str, arguments: str, told: str
) -> None:
    assert told in FolderTools(folder, TOOLS, 1).use(ToolCall("1", name, arguments))


def test_a_tool_that_was_not_given_is_not_there(folder: Path) -> None:
    tools = FolderTools(folder, ["read"], 1)
    assert "no tool 'write'" in tools.use(ToolCall("1", "write", '{"path": "a", "text": "b"}'))
    assert list(folder.iterdir()) == []
