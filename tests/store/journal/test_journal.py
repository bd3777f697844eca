"""The journal: one writer, whole batches, and readers that never disturb it."""

from __future__ import annotations

import random
import resource
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from matrix.model.entries import Entry, Opened, session_of
from matrix.model.errors import FencedOff, JournalFull, RunLocked, StoreError
from matrix.model.records import JSON
from matrix.model.seeds import content_hash
from matrix.store.journal.codec import OPENED, READ_BEFORE, SETTLED, decode, encode
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader, JournalWriter
from matrix.store.journal.pressing import ALONE, LEARNED, PLAIN
from tests.store.journals import LONG_STORY, plan, tell, write_journal

ENTRIES = tell(LONG_STORY)

HOLD_THE_LOCK = """
import sys
from pathlib import Path
from matrix.store.journal.journal import JournalWriter
writer = JournalWriter(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""

FILL_THE_DISK = """
import sys
from pathlib import Path
from matrix.model.entries import Opened
from matrix.model.entries import Opened
from matrix.model.errors import JournalFull
from matrix.store.journal.journal import JournalWriter
from tests.store.journals import plan
writer = JournalWriter(Path(sys.argv[1]))
for number in range(10_000):
    try:
        writer.append([Opened(plan(0, session_id=f"{number}-{part}"), 0.0) for part in range(20)])
    except JournalFull as error:
        print(number, error, flush=True)
        break
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / JOURNAL_NAME


def test_what_is_appended_is_read_in_order_by_writer_and_readers(path: Path) -> None:
    writer = JournalWriter(path)
    writer.append(ENTRIES[:5])
    reader = JournalReader(path)
    assert reader.last_seq() == 5
    writer.append(ENTRIES[5:])
    assert reader.last_seq() == len(ENTRIES)
    rows = list(reader.rows(0, len(ENTRIES)))
    assert [row.entry for row in rows] == ENTRIES
    assert [row.seq for row in rows] == list(range(1, len(ENTRIES) + 1))
    assert list(writer.since(0)) == rows
    assert [row.seq for row in reader.rows(3, 8)] == [4, 5, 6, 7, 8]
    reader.close()
    writer.close()


def test_readers_can_ask_for_some_kinds_of_entries_only(path: Path) -> None:
    write_journal(path.parent, ENTRIES)
    reader = JournalReader(path)
    kinds = {type(row.entry).__name__ for row in reader.rows(0, 999, (OPENED, SETTLED))}
    assert kinds == {"Opened", "Settled"}
    reader.close()


def test_a_session_is_read_by_id(path: Path) -> None:
    write_journal(path.parent, ENTRIES)
    reader = JournalReader(path)
    rows = list(reader.session_rows("session-1", before=len(ENTRIES) + 1))
    assert [row.entry for row in rows] == reader.session("session-1")
    assert all(row.entry == ENTRIES[row.seq - 1] for row in rows)
    before = rows[3].seq
    assert list(reader.session_rows("session-1", before=before)) == rows[:3]
    assert reader.session("nobody") == []
    assert [reader.has_ended(f"session-{index}") for index in range(5)] == [
        True, False, False, True, False,
    ]  # fmt: skip
    assert sorted(reader.session_ids()) == [f"session-{index}" for index in range(4)]
    reader.close()


def test_a_journal_goes_on_where_it_ended(path: Path) -> None:
    write_journal(path.parent, ENTRIES[:7])
    writer = JournalWriter(path)
    assert writer.knows("session-0")
    assert not writer.knows("session-9")
    writer.append(ENTRIES[7:])
    assert [row.entry for row in writer.since(0)] == ENTRIES
    assert writer.session("session-0")
    writer.close()


def test_a_batch_that_is_not_flushed_outlives_its_process_and_is_flushed_with_the_next(
    path: Path,
) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "from tests.store.journal.test_journal import ENTRIES, JournalWriter\n"
        "writer = JournalWriter(Path(sys.argv[1]))\n"
        "writer.append(ENTRIES[:3], flush=False)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert done.returncode < 0
    writer = JournalWriter(path)
    assert [row.entry for row in writer.since(0)] == ENTRIES[:3]
    said = []
    for at, flush in enumerate((False, True, False)):
        writer.append(ENTRIES[3 + at : 4 + at], flush=flush)
        said += writer._read("PRAGMA synchronous")
    assert said == [(1,), (2,), (1,)]  # SQLite's numbers of NORMAL and FULL
    writer.close()


def test_resources_are_stored_once(path: Path) -> None:
    texts: dict[str, JSON] = {content_hash(one): one for one in ({"text": "one"}, [1])}
    writer = JournalWriter(path)
    writer.add_resources(texts)
    writer.add_resources(dict.fromkeys(texts, "another"))
    writer.close()
    reader = JournalReader(path)
    assert reader.resources() == texts
    reader.close()


def test_a_text_that_is_not_what_its_hash_says_is_refused(path: Path) -> None:
    writer = JournalWriter(path)
    writer.add_resources({content_hash("one"): "another"})
    writer.close()
    with closing(JournalReader(path)) as reader, pytest.raises(StoreError, match="another one"):
        reader.resources()


def test_a_journal_that_another_process_writes_is_refused_until_it_dies(path: Path) -> None:
    command = [sys.executable, "-c", HOLD_THE_LOCK, str(path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(RunLocked, match="run is still running"):
            JournalWriter(path)
        other.kill()
    writer = JournalWriter(path)
    assert writer.epoch == 2
    writer.close()


def test_a_writer_that_was_taken_over_writes_nothing_more(path: Path) -> None:
    old = JournalWriter(path)
    old.append(ENTRIES[:3])
    path.with_suffix(".lock").unlink()  # somebody "cleaned up": the operating system's lock is gone
    new = JournalWriter(path)
    assert new.epoch == old.epoch + 1
    with pytest.raises(FencedOff, match="taken over"):
        old.append(ENTRIES[3:5])
    with pytest.raises(FencedOff):
        old.add_resources({"a": 1})
    new.append(ENTRIES[3:])
    assert [row.entry for row in new.since(0)] == ENTRIES
    new.close()
    old.close()


def test_a_batch_that_cannot_be_written_whole_is_not_written_at_all(path: Path) -> None:
    writer = JournalWriter(path)
    writer.append(ENTRIES[:3])
    unwritable = Opened(plan(0, options=object()), 0.0)
    with pytest.raises(TypeError):
        writer.append([ENTRIES[4], unwritable])
    writer.append(ENTRIES[3:])
    assert [row.entry for row in writer.since(0)] == ENTRIES
    writer.close()


@pytest.mark.slow
def test_on_a_full_disk_the_failed_batch_leaves_nothing_and_the_rest_stays(path: Path) -> None:
    limit = 400_000
    done = subprocess.run(
        [sys.executable, "-c", FILL_THE_DISK, str(path)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    failed, _, message = done.stdout.partition(" ")
    assert message.startswith("no space left"), done
    assert "matrix resume run" in message
    writer = JournalWriter(path)
    entries = [row.entry for row in writer.since(0)]
    assert len(entries) == 20 * int(failed) > 0
    assert [entry.plan.session_id for entry in entries[-20:]] == [  # type: ignore[union-attr]
        f"{int(failed) - 1}-{part}" for part in range(20)
    ]
    assert not writer.knows(f"{failed}-0")
    writer.append(ENTRIES)
    writer.close()


def test_a_full_journal_raises_journal_full_and_can_go_on_later(path: Path) -> None:
    writer = JournalWriter(path)
    writer.append(ENTRIES[:3])
    connection = writer._db
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count={pages}")
    big = Opened(plan(0, options=random.Random(1).randbytes(50_000).hex()), 0.0)
    with pytest.raises(JournalFull, match="free some space"):
        writer.append([ENTRIES[3], big])
    connection.execute("PRAGMA max_page_count=1000000")
    writer.append(ENTRIES[3:])
    assert [row.entry for row in writer.since(0)] == ENTRIES
    writer.close()


def test_what_is_not_a_journal_is_refused(path: Path) -> None:
    with pytest.raises(StoreError, match="is this a results folder of matrix"):
        JournalReader(path)
    path.parent.mkdir()
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreError, match="cannot use"):
        JournalReader(path)
    with pytest.raises(StoreError, match="cannot use"):
        JournalWriter(path)


def test_a_journal_of_a_later_version_is_refused(path: Path) -> None:
    writer = JournalWriter(path)
    writer._db.execute("UPDATE meta SET value = '99' WHERE key = 'version'")
    writer.close()
    for opening in (JournalReader, JournalWriter):
        with pytest.raises(StoreError, match=r"later version of matrix.*upgrade"):
            opening(path)


def test_a_journal_from_before_the_first_release_is_refused_with_what_reads_it(path: Path) -> None:
    writer = JournalWriter(path)
    writer._db.execute("UPDATE meta SET value = '2' WHERE key = 'version'")
    writer.close()
    for opening in (JournalReader, JournalWriter):
        with pytest.raises(StoreError, match=rf"version 2.*git checkout {READ_BEFORE}"):
            opening(path)


# --- the dictionary -------------------------------------------------------------------------------


def many(number: int) -> list[Entry]:
    """Enough entries to learn from, of sessions of their own."""
    return [replace_session(entry, f"{number}-{copy}") for copy in range(60) for entry in ENTRIES]


def replace_session(entry: Entry, name: str) -> Entry:
    kind, body = encode(entry)
    return decode(kind, f"{session_of(entry)}-{name}", body)


def bodies(path: Path) -> list[bytes]:
    with sqlite3.connect(path) as db:
        return [body for (body,) in db.execute("SELECT body FROM entries ORDER BY seq")]


@pytest.mark.slow
def test_what_comes_after_the_first_bodies_is_written_in_terms_of_them(path: Path) -> None:
    writer, first, second = JournalWriter(path), many(1), many(2)
    reader = JournalReader(path)
    while bodies(path)[-1:] == [] or bodies(path)[-1][:1] != LEARNED:
        writer.append(first)
    after = writer.last_seq
    writer.append(second)
    assert [row.entry for row in reader.rows(after, reader.last_seq())] == second, (
        "a reader learns the dictionary when it meets it"
    )
    alone, learned = bodies(path)[: len(first)], bodies(path)[-len(second) :]
    assert {body[:1] for body in alone} <= {PLAIN, ALONE}
    assert sum(map(len, learned)) < sum(map(len, alone)) / 2
    writer.close()


@pytest.mark.slow
def test_a_dictionary_is_made_once_and_used_by_every_later_writer(path: Path) -> None:
    writer = JournalWriter(path)
    while bodies(path)[-1:] == [] or bodies(path)[-1][:1] != LEARNED:
        writer.append(many(1))
    kept = meta(path, "dictionary")
    writer.close()
    for number in range(2, 4):
        writer = JournalWriter(path)
        writer.append(many(number))
        assert bodies(path)[-1][:1] == LEARNED
        assert meta(path, "dictionary") == kept
        assert [row.entry for row in writer.since(writer.last_seq - len(many(1)))] == many(number)
        writer.close()


def meta(path: Path, key: str) -> bytes:
    with sqlite3.connect(path) as db:
        ((value,),) = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchall()
    return bytes(value)


@pytest.mark.parametrize("damage", [b"", b"\x07rest", ALONE + b"\xff\xff", ALONE])
def test_a_body_that_cannot_be_unpressed_is_damage(path: Path, damage: bytes) -> None:
    writer = JournalWriter(path)
    writer.append(ENTRIES)
    writer._db.execute("UPDATE entries SET body = ? WHERE seq = 2", (damage,))
    with pytest.raises(StoreError, match=r"cannot be read .* damaged"):
        list(writer.since(0))
    writer.close()
