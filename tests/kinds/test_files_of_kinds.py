"""Files of a kind's own form, read without a run spec."""

from __future__ import annotations

from pathlib import Path

import pytest

import matrix

SELF_TEST = """
judge: {model: sim/gpt-4o-mini}
system: sim/gpt-4o-mini
scenarios:
  - {id: one, description: A wish, expected_status: COMPLETE}
"""
CRITERIA = """
inputs:
  - {id: T1, category: CLI, text: "A tool"}
judge: {model: sim/gpt-4o-mini}
agents:
  concept:
    prompt: "Turn it into a concept."
    criteria: [It has a concept]
"""


@pytest.mark.parametrize(("kind", "text"), [("selftest", SELF_TEST), ("criteria", CRITERIA)])
def test_a_file_may_name_the_kind_whose_form_it_has(kind: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "bare.yaml").write_text(text)
    (tmp_path / "named.yaml").write_text(f"kind: {kind}\n{text}")
    (tmp_path / "other.yaml").write_text(f"kind: counter\n{text}")
    assert matrix.validate(tmp_path / "bare.yaml") == []
    assert matrix.validate(tmp_path / "named.yaml") == []
    assert matrix.plan(tmp_path / "named.yaml").spec.kind == kind
    assert matrix.validate(tmp_path / "other.yaml") != []
