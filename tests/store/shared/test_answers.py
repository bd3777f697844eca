"""Kept answers: found again by every process, never more than the bound, trouble said by name."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matrix.model.errors import StoreError
from matrix.model.records import Answer, Usage
from matrix.store.shared.answers import AnswerFile
from tests.sampling import examples
from tests.waiting import LONGEST_WAIT_S

COUNT = st.integers(0, 2**62)
TEXT = st.text(st.characters(codec="utf-8"), max_size=50)
ANSWERS = st.builds(
    Answer, TEXT, st.builds(Usage, COUNT, COUNT, COUNT, COUNT, COUNT), COUNT,
    st.floats(0, 1e6), TEXT, TEXT, st.none(),
)  # fmt: skip

ONE = Answer("yes", Usage(100, 10, 40), 1_234, 0.5, "opus", "stop")

ANOTHER_PROCESS = """
import sys
from pathlib import Path
from matrix.model.records import Answer, Usage
from matrix.store.shared.answers import AnswerFile
path, mine = Path(sys.argv[1]), sys.argv[2]
file = AnswerFile(path, gather_s=0)
for number in range(300):
    file.keep(f"{mine}-{number}", Answer(mine, Usage(number, 1), number, 0.5, "m", "stop"))
    file.keep("shared", Answer(mine, Usage(1, 1), 1, 0.5, "m", "stop"))
    file.find(f"0-{number}")
file.close()
file.keep("after", Answer("", Usage(), 0, 0.0, "m"))  # raises what the writer has met
"""


def opened(path: Path, **settings: float) -> AnswerFile:
    return AnswerFile(path, gather_s=0, **settings)  # type: ignore[arg-type]


def kept(path: Path, answers: dict[str, Answer], **settings: float) -> None:
    file = opened(path, **settings)
    for key, answer in answers.items():
        file.keep(key, answer)
    file.close()


def found(path: Path, *keys: str) -> list[Answer | None]:
    file = opened(path)
    try:
        return [file.find(key) for key in keys]
    finally:
        file.close()


@settings(max_examples=examples(25))
@given(answers=st.dictionaries(TEXT, ANSWERS, max_size=20))
def test_what_was_kept_is_found_as_it_was_and_nothing_else_is(
    answers: dict[str, Answer], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("kept") / "answers.sqlite"
    kept(path, answers)
    assert found(path, *answers) == list(answers.values())
    assert found(path, "no such key " * 20) == [None]


def test_the_first_answer_kept_under_a_key_stays(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    kept(path, {"key": ONE})
    kept(path, {"key": ONE._replace(text="no")})
    assert found(path, "key") == [ONE]


def test_the_oldest_answers_go_when_the_file_is_full(tmp_path: Path) -> None:
    path, bound = tmp_path / "answers.sqlite", 400_000
    long = ONE._replace(text="word " * 200)
    for batch in range(10):
        kept(path, {f"{batch}-{number}": long for number in range(100)}, max_bytes=bound)
    assert path.stat().st_size <= 1.5 * bound, "pages that were let go are used again"
    newest = found(path, *(f"9-{number}" for number in range(100)))
    assert newest == [long] * 100
    assert found(path, *(f"0-{number}" for number in range(100))) == [None] * 100


def test_processes_share_the_file_from_the_moment_it_is_made(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    command = [sys.executable, "-c", ANOTHER_PROCESS, str(path)]
    processes = [subprocess.Popen([*command, str(number)]) for number in range(4)]
    codes = [process.wait(LONGEST_WAIT_S) for process in processes]
    assert codes == [0] * 4
    for mine in range(4):
        answers = found(path, *(f"{mine}-{number}" for number in range(300)))
        assert [answer and answer.cost for answer in answers] == list(range(300))
    [shared] = found(path, "shared")
    assert shared is not None
    assert shared.text in "0123"


def test_a_folder_that_is_not_there_is_trouble_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"gone.*answers.sqlite.*the run goes on without"):
        opened(tmp_path / "gone" / "answers.sqlite")


def test_a_file_that_is_something_else_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    path.write_text("a letter to a friend " * 100)
    with pytest.raises(StoreError, match="not a database"):
        opened(path)
    assert path.read_text() == "a letter to a friend " * 100


def test_a_file_of_a_later_version_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    kept(path, {"key": ONE})
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="version 99"):
        opened(path)


@pytest.mark.parametrize(
    "body", ["", "[]", "null", '["yes", [1, 2, 3, 4, 5], -1, 0.5, "m", "stop"]',
             '["yes", [1, "2"], 1, 0.5, "m", "stop"]', '[7, [1, 2, 3, 4, 5], 1, 0.5, "m", "stop"]']
)  # fmt: skip
def test_a_damaged_answer_is_trouble_and_never_an_answer(body: str, tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    kept(path, {"key": ONE})
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE answers SET body = ?", (body.encode(),))
        db.commit()
    with pytest.raises(StoreError, match=r"answers\.sqlite"):
        found(path, "key")


def test_damaged_pages_are_trouble_and_never_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    long = ONE._replace(text="word " * 200)
    kept(path, {str(number): long for number in range(200)})
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    with pytest.raises(StoreError, match="delete it"):
        found(path, *(str(number) for number in range(200)))


def test_a_file_that_somebody_locks_is_trouble_for_the_writer(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    file = opened(path, patience_s=0.01)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert file.find("key") is None, "readers do not wait for writers"
        file.keep("key", ONE)
        file.close()
    with pytest.raises(StoreError, match="locked"):
        file.keep("key", ONE)


def test_a_file_in_exclusive_use_cannot_be_opened(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    kept(path, {"key": ONE})
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="locked"):
            opened(path, patience_s=0.01)
