"""Killed, and then the last page of the journal is torn: the run goes on from what is sound, and
says so, or refuses plainly."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from matrix.store.journal.journal import JOURNAL_NAME, JournalWriter
from tests.executors.programs import Project, entries_of, wait_for
from tests.faults.counting import Chaos
from tests.faults.laws import assert_kept, entries_in
from tests.waiting import LONGEST_WAIT_S

PAGE = 4096
FRAME = 24 + PAGE

Damage = Callable[[Path, random.Random], None]


def torn_write(wal: Path, draw: random.Random) -> None:
    """A write that the crash cut off: of what was acknowledged, nothing is touched."""
    with wal.open("ab") as handle:
        handle.write(draw.randbytes(draw.randrange(1, 3 * FRAME)))


def truncate(wal: Path, draw: random.Random) -> None:
    """The disk had not written what it said it had."""
    os.truncate(wal, wal.stat().st_size - draw.randrange(1, 2 * FRAME))


def scribble(wal: Path, draw: random.Random) -> None:
    """Garbage somewhere in the last page."""
    with wal.open("r+b") as handle:
        handle.seek(-draw.randrange(1, FRAME), os.SEEK_END)
        handle.write(b"\xa5")


def in_use(run_dir: Path) -> Path:
    """The log, cut to its whole frames in use.

    Beyond them may be leftovers: the log is written from its beginning again once it is all in the
    database.
    """
    wal = run_dir / f"{JOURNAL_NAME}-wal"
    data = wal.read_bytes()
    end = 32
    while data[end + 8 : end + 16] == data[16:24] and end + FRAME <= len(data):  # the same salts
        end += FRAME
    os.truncate(wal, end)
    return wal


DAMAGES: dict[str, Damage] = {
    "torn write": torn_write,
    "truncated": truncate,
    "scribbled": scribble,
}


def kill(project: Project, chaos: Chaos, at: int) -> Path:
    """Kill a run once its journal has so many entries."""
    run_dir = project.path("hurt")
    with project.started(
        "run", "--executor", "in-process", "--run-id", "hurt", "--quiet"
    ) as process:
        wait_for(lambda: entries_of(run_dir) >= at)
        process.send_signal(signal.SIGKILL)
        process.wait(LONGEST_WAIT_S)
    chaos.hurt("driver", "SIGKILL")
    return run_dir


@pytest.mark.long
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(10, 16))]
)
def test_with_a_torn_end_of_its_log_a_run_goes_on_from_what_is_sound_and_says_so(
    project: Project, undisturbed: Path, length: int, chaos: Chaos, damage: str, seed: int
) -> None:
    draw = random.Random(f"{damage} {seed}")
    run_dir = kill(project, chaos, draw.randrange(length // 4, length - 20))
    before = entries_in(run_dir)
    DAMAGES[damage](in_use(run_dir), draw)
    chaos.hurt("journal", damage.replace(" ", "-"))
    sound = entries_in(run_dir)
    # what was on the disk already, and not yet acknowledged when the kill came, may show later
    both = min(len(before), len(sound))
    assert sound[:both] == before[:both]
    assert damage != "torn write" or both == len(before), "an acknowledged entry was lost"
    done = project.matrix("resume", "hurt", "--executor", "in-process", "--quiet")
    assert done.code == 0, done.err
    assert "the last write to the journal was cut off" in done.err
    assert f"goes on from entry {len(sound):,}" in done.err
    chaos.resumed()
    assert_kept(run_dir, sound)
    chaos.whole(run_dir, undisturbed)


def test_tables_that_say_more_than_the_journal_has_left_are_made_again(
    project: Project, undisturbed: Path, length: int, chaos: Chaos
) -> None:
    run_dir = kill(project, chaos, length // 2)
    before = entries_in(run_dir)
    assert project.matrix("repair", "hurt").code == 0, "tables up to the journal's end"
    wal = in_use(run_dir)
    os.truncate(wal, wal.stat().st_size - 12 * FRAME)
    chaos.hurt("journal", "truncated")
    sound = entries_in(run_dir)
    assert len(sound) < len(before)
    done = project.matrix("resume", "hurt", "--executor", "in-process", "--quiet")
    assert done.code == 0, done.err
    assert "the disk has lost the journal's end" in done.err
    chaos.resumed()
    assert_kept(run_dir, sound)
    chaos.whole(run_dir, undisturbed)


@pytest.mark.parametrize("seed", [1, *(pytest.param(s, marks=pytest.mark.long) for s in (2, 3))])
def test_a_journal_whose_last_page_is_garbage_is_refused_plainly_and_left_as_it_is(
    project: Project, length: int, chaos: Chaos, seed: int
) -> None:
    draw = random.Random(seed)
    run_dir = kill(project, chaos, draw.randrange(length // 4, length - 20))
    path = run_dir / JOURNAL_NAME
    JournalWriter(path).close()  # the log goes into the database
    with path.open("r+b") as handle:
        handle.seek(-PAGE, os.SEEK_END)
        handle.write(draw.randbytes(PAGE))
    chaos.hurt("journal", "page-scribbled")
    damaged = path.read_bytes()
    refused = project.matrix("resume", "hurt", "--executor", "in-process", "--quiet")
    assert (refused.code, refused.out) == (1, "")
    assert f"the journal results/hurt/{JOURNAL_NAME} is damaged" in refused.err
    assert "Traceback" not in refused.err
    assert path.read_bytes()[100:] == damaged[100:], "more than the header's mode has changed"
