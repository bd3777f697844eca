"""A run's folder that somebody else has sent: nothing outside of it is written, nothing hangs."""

from __future__ import annotations

import lzma
import os
import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from matrix.model.errors import StoreError
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader
from matrix.store.upkeep.archive import ARCHIVE_NAME, size_in
from matrix.store.upkeep.recovery import recover_run
from tests.executors.programs import Done, Project, counter_spec

ENTRIES = [
    "run.json", "plan.json", "log.jsonl", "journal.lock", "driver.lock", "report.md", JOURNAL_NAME,
    f"{JOURNAL_NAME}.tmp", ".run.json.tmp", "sessions", "calls/part-0.parquet", "blobs", "reports",
]  # fmt: skip
"""What of a run's folder may be a link of the sender's."""
COMMANDS = [
    ("resume", "it", "--executor", "in-process"),
    ("repair", "it"),
    ("archive", "it"),
    ("archive", "it", "--restore"),
    ("show", "it"),
    ("export", "it", "best", "-o", "out.json"),
]
"""What somebody does with a run that was sent."""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a run, made under the widest umask."""
    project = Project(tmp_path_factory.mktemp("played"))
    project.write(counter_spec(options={"turns": 1}, per_cell=1))
    before = os.umask(0)
    try:
        done = project.matrix("run", "--executor", "in-process", "--run-id", "it", "--cache")
    finally:
        os.umask(before)
    assert done.code == 0, done.err
    return project.folder


def refused(done: Done, told: str) -> None:
    """It ended with one line that says this."""
    assert done.code in (1, 2), done
    assert told in done.err, done
    assert "Traceback" not in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ENTRIES)
def test_a_link_among_a_runs_own_files_is_refused_by_name(sent: Project, name: str) -> None:
    outside, own = sent.folder.parent / "start-up file", sent.path("it") / name
    outside.write_text("mine")
    if own.is_dir():
        shutil.rmtree(own)
    own.unlink(missing_ok=True)
    own.symlink_to(outside)
    for command in COMMANDS:
        refused(sent.matrix(*command), f"{name} in ")
        assert outside.read_text() == "mine"
    assert own.is_symlink()


def test_an_archive_is_restored_over_nothing_that_is_somebody_elses(sent: Project) -> None:
    outside, run_dir = sent.folder.parent / "start-up file", sent.path("it")
    outside.write_text("mine")
    sent.matrix("archive", "it")
    (run_dir / ARCHIVE_NAME).write_bytes(lzma.compress(b"echo theirs\n"))
    (run_dir / f"{JOURNAL_NAME}.tmp").symlink_to(outside)
    refused(sent.matrix("archive", "it", "--restore"), "is a link to")
    (run_dir / f"{JOURNAL_NAME}.tmp").unlink()
    refused(sent.matrix("archive", "it", "--restore"), "it holds no journal")
    assert outside.read_text() == "mine"
    assert not (run_dir / JOURNAL_NAME).exists()
    assert not (run_dir / f"{JOURNAL_NAME}.tmp").exists()


@pytest.mark.slow
def test_an_archive_holds_what_it_says_and_says_what_it_holds(sent: Project) -> None:
    run_dir = sent.path("it")
    size = (run_dir / JOURNAL_NAME).stat().st_size
    sent.matrix("archive", "it")
    archive = run_dir / ARCHIVE_NAME
    whole = archive.read_bytes()
    assert size_in(archive) == size
    with archive.open("ab") as file:  # a second stream, which says that it holds next to nothing
        file.write(lzma.compress(b"x"))
    refused(sent.matrix("archive", "it", "--restore"), "it holds more than it says")
    archive.write_bytes(lzma.compress(bytes(10_000_000)))
    refused(sent.matrix("archive", "it", "--restore"), "it holds no journal")
    with closing(sqlite3.connect(run_dir / "other")) as other:
        other.execute("create table meta (key, value)")
    archive.write_bytes(lzma.compress((run_dir / "other").read_bytes()))
    refused(sent.matrix("archive", "it", "--restore"), "holds no journal that this matrix reads")
    archive.write_bytes(whole[:-3])
    refused(sent.matrix("archive", "it", "--restore"), "is damaged")
    archive.write_bytes(whole)
    assert sent.matrix("archive", "it", "--restore").code == 0
    assert (run_dir / JOURNAL_NAME).stat().st_size == size


@pytest.mark.slow
def test_the_journal_of_another_run_is_none_of_this(sent: Project) -> None:
    assert (
        sent.matrix("run", "--executor", "in-process", "--run-id", "other", "--seed", "9").code == 0
    )
    for run in ("it", "other"):
        assert sent.matrix("archive", run).code == 0
    mine, theirs = sent.path("it") / ARCHIVE_NAME, sent.path("other") / ARCHIVE_NAME
    mine.write_bytes(theirs.read_bytes())
    told = "holds the journal of another run than it; it was left as it is"
    refused(sent.matrix("archive", "it", "--restore"), told)
    assert sent.matrix("archive", "other", "--restore").code == 0
    mine.unlink()
    shutil.copy(sent.path("other") / JOURNAL_NAME, sent.path("it") / JOURNAL_NAME)
    for command in (("repair", "it"), ("export", "it", "best", "-o", "out.json")):
        refused(sent.matrix(*command), "is the journal of another run, other; put the one of it")
    with pytest.raises(StoreError, match="is the journal of another run"):
        recover_run(sent.path("it"))


def test_a_run_that_is_complete_is_left_as_it_is_wherever_it_was_made(sent: Project) -> None:
    before = {p: p.read_bytes() for p in sent.path("it").rglob("*") if p.is_file()}
    done = sent.matrix("resume", "it", "--executor", "in-process")
    assert done.code == 0, done
    after = {p: p.read_bytes() for p in sent.path("it").rglob("*") if p.is_file()}
    assert {p.name for p in before.keys() ^ after.keys()} <= {"driver.lock", "journal.lock"}
    shutil.copytree(sent.path("it"), sent.path("copy"))
    compared = sent.matrix("compare", "results/it", "results/copy")
    assert "copy" in compared.out, compared


BROKEN = {
    "an endless view": (
        "drop table sessions; create view sessions as with recursive n(id) as "
        "(select 1 union all select id + 1 from n) select id, 'x' as session_id from n",
        "holds the view 'sessions', which is no part of a journal",
    ),
    "a trigger": (
        "create trigger t after insert on entries begin select 1; end",
        "holds the trigger 't', which is no part of a journal",
    ),
    "a version that is none": (
        "update meta set value = 'next' where key = 'version'",
        "its version is 'next', which is none",
    ),
}


@pytest.mark.parametrize("how", list(BROKEN))
def test_a_journal_that_is_none_is_one_line(sent: Project, how: str) -> None:
    change, told = BROKEN[how]
    journal = sent.path("it") / JOURNAL_NAME
    with closing(sqlite3.connect(journal)) as db:
        db.executescript(change)
    for command in (("repair", "it"), ("show", "it", "best"), ("export", "it", "best", "-o", "x")):
        refused(sent.matrix(*command), told)


def test_an_absurd_sequence_number_takes_no_longer_than_any_other(sent: Project) -> None:
    journal = sent.path("it") / JOURNAL_NAME
    with closing(sqlite3.connect(journal)) as db:
        db.execute("update entries set seq = 4000000000000000000 where seq = 14")
        db.commit()
    reader = JournalReader(journal)
    assert [row.seq for row in reader.since(0)][-1] == 4 * 10**18
    reader.close()


def test_a_run_is_for_its_user_alone_whatever_the_umask(played: Path) -> None:
    run_dir = played / "results" / "it"
    assert stat.S_IMODE(run_dir.stat().st_mode) == 0o700
    files = [path for path in run_dir.rglob("*") if path.is_file()]
    files += [path for path in (played / "results").glob("*") if path.is_file()]
    assert len(files) > 10
    open_to_others = {path.name for path in files if path.stat().st_mode & 0o077}
    assert not open_to_others
