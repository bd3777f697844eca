"""What a stranger's file of results or labels may hold: keys, halves of letters, too much."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.executors.programs import Project

KEY = "sk-canary-0123456789abcdef"
HALF = "\\ud83d"
"""Half an emoji, as JSON may have it."""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, environment={"SOME_API_KEY": KEY})


def rows() -> Iterable[dict[str, object]]:
    """Results that tell a key in every text that is kept."""
    for unit in range(12):
        for model in ("a", f"b {KEY}"):
            yield {
                "id": f"q{unit} {KEY}",
                "model": model,
                "score": 1,
                "input": f"Use {KEY}",
                "output": "x" * 19_990 + KEY,  # which is cut in the middle of it
                "error": "",
                f"m {KEY}": 2,
            }


def promptfoo() -> dict[str, object]:
    found = [
        {
            "provider": {"id": one["model"]},
            "prompt": {"raw": one["input"], "label": f"label {KEY}"},
            "vars": {"q": one["id"]},
            "response": {"output": one["output"]},
            "success": True,
            "score": 1,
            "namedScores": {f"n {KEY}": 1},
        }
        for one in rows()
    ]
    return {"results": {"results": found}}


def written(folder: Path) -> Iterable[bytes]:
    """The content of all files below a folder, those of tables unpacked."""
    for path in folder.rglob("*"):
        if path.suffix == ".parquet":
            yield json.dumps(
                pq.read_table(path, partitioning=None).to_pylist(), default=str
            ).encode()
        elif path.is_file():
            yield path.read_bytes()


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("form", ["lines", "csv", "parquet", "promptfoo"])
def test_no_key_is_kept_of_a_file_of_results(project: Project, form: str) -> None:
    path = project.folder / f"of {KEY}.{form}"
    given = list(rows())
    if form == "lines":
        path = path.with_suffix(".jsonl")
        path.write_text("\n".join(map(json.dumps, given)))
    elif form == "csv":
        lines = [given[0], *(one.values() for one in given)]
        path.write_text("\n".join(",".join(map(str, one)) for one in lines))
    elif form == "parquet":
        pq.write_table(pa.Table.from_pylist(given), path)
    else:
        escaped = "".join(f"\\u{ord(letter):04x}" for letter in KEY)
        path.write_text(json.dumps(promptfoo()).replace(KEY, escaped))
    done = project.matrix("import", path.name, "--run-id", "it")
    assert done.code == 0, done
    assert project.matrix("report", "it").code == 0
    kept = list(chain(written(project.folder / "results"), [done.out.encode()]))
    assert any(b"[redacted]" in one for one in kept)
    assert not [one for one in kept if KEY[:9].encode() in one]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["jsonl", "json"])
def test_half_a_letter_is_one_that_cannot_be_shown(project: Project, form: str) -> None:
    model, text = f"b{HALF}", f"x{HALF}"
    lines = [
        f'{{"question": "q{n} {HALF}", "model": "{one}", "score": {n % 2}, "output": "{text}"}}'
        for n in range(12)
        for one in ("a", model)
    ]
    whole = "\n".join(lines) if form == "jsonl" else f"[{','.join(lines)}]"
    (project.folder / f"half.{form}").write_text(whole)
    done = project.matrix("import", f"half.{form}", "--run-id", "it")
    assert done.code == 0, done
    tables = project.tables("it")
    assert set(tables.frame("sessions").model) == {"a", "b\ufffd"}
    assert "x\ufffd" in set(tables.frame("messages").text)
    assert project.matrix("report", "it").code == 0


def test_half_a_letter_in_results_of_promptfoo_ends_nothing(project: Project) -> None:
    text = json.dumps(promptfoo()).replace(KEY, HALF)
    (project.folder / "half.json").write_text(text)
    done = project.matrix("import", "half.json", "--run-id", "it")
    assert done.code == 0, done
    assert set(project.tables("it").frame("sessions").provider) == {"a", "b \ufffd"}


def test_a_damaged_parquet_file_is_told_as_one(project: Project) -> None:
    path = project.folder / "it.parquet"
    text = [f"text {number}" for number in range(2000)]
    score = [number % 7 for number in range(2000)]
    pq.write_table(pa.table({"id": text, "model": text, "score": score}), path)
    content = bytearray(path.read_bytes())
    for place in range(4, 400):
        content[place] ^= 0xFF
    path.write_bytes(content)
    done = project.matrix("import", "it.parquet")
    assert done.code == 2
    assert "cannot be read as Parquet" in done.err
    assert "None" not in done.err
    assert done.err.count("\n") == 1


@pytest.mark.long
@pytest.mark.slow
def test_many_rows_are_told_before_the_run_is_made(project: Project) -> None:
    lines = (f"{n},{model},{n % 2}" for n in range(25_000) for model in "ab")
    (project.folder / "many.csv").write_text("\n".join(["id,model,score", *lines]))
    done = project.matrix("import", "many.csv", "--run-id", "it")
    assert done.code == 0, done
    assert done.err == "50,000 rows are read; a run is made of them\n"
    assert "imported 50,000 results" in done.out


def test_a_rubric_that_is_a_pipe_is_no_plain_file(project: Project) -> None:
    os.mkfifo(project.folder / "rubric.md")
    judge = {"rubric": "rubric.md", "model": "sim/gpt-4o-mini"}
    spec = {"name": "it", "kind": "counter", "scenarios": ["one"], "judges": [judge]}
    (project.folder / "matrix.yaml").write_text(json.dumps(spec))
    done = project.matrix("validate")
    assert done.code == 2
    assert "no such plain file" in done.err
    assert "is a folder, a pipe or a device" in done.err
