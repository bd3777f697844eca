"""Sessions as files: checkpoints to play on from elsewhere, and the play-test document's folder."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from matrix.api.opened import NEWEST, RESULTS, open_run
from matrix.model.checkpoint_file import MAX_BYTES, Checkpoint, from_bytes, to_bytes
from matrix.model.entries import Ended
from matrix.model.errors import StoreError
from matrix.model.records import JSON
from matrix.report.checkpoints import checkpoint_of, turns_of
from matrix.report.difference import Difference, difference_of
from matrix.report.session_report import session_as_markdown
from matrix.store.exports import read_file, write_files
from matrix.store.journal import JOURNAL_NAME, JournalReader
from matrix.store.transcript import Transcript

REPORT = "report.md"


class _Found(NamedTuple):
    run_id: str
    simulated: bool
    session: Transcript
    prelude: JSON
    resources: dict[str, JSON]

    def at(self, turn: int) -> Checkpoint:
        return checkpoint_of(self.run_id, self.session, turn, self.prelude, self.resources)


def checkpoint(
    run: str | Path = NEWEST,
    session: str = "best",
    *,
    turn: int | None = None,
    results: str | Path = RESULTS,
) -> Checkpoint:
    """A session after a turn (the newest, if left out), as a value of its own.

    Raises:
        RunNotFound, SessionNotFound: No such run or session.
        BadInput: It has no checkpoint of that turn.
    """
    found = _find(run, session, results)
    there = turns_of(found.session)
    return found.at(turn if turn is not None else there[-1] if there else 0)


def read_checkpoint(path: str | Path) -> Checkpoint:
    """Read a file that ``matrix export`` wrote, here or elsewhere.

    Raises:
        BadInput: It cannot be read or is no checkpoint; every mistake at once.
    """
    return from_bytes(read_file(Path(path), MAX_BYTES), str(path))


def export(
    run: str | Path,
    session: str,
    output: str | Path,
    *,
    turn: int | None = None,
    results: str | Path = RESULTS,
    force: bool = False,
) -> Path:
    """Write a session's checkpoint after a turn (the newest, if left out) as a file.

    Raises:
        RunNotFound, SessionNotFound: No such run or session.
        BadInput: It has no checkpoint of that turn, or the file is there already.
        StoreError: The file cannot be written.
    """
    path = Path(output)
    data = to_bytes(checkpoint(run, session, turn=turn, results=results))
    write_files(path.parent, {path.name: data}, force=force)
    return path


def export_all(
    run: str | Path,
    session: str,
    folder: str | Path,
    *,
    results: str | Path = RESULTS,
    force: bool = False,
) -> list[Path]:
    """Write a session's folder: ``turn-0.json`` to the last turn's, and ``report.md``.

    Raises:
        RunNotFound, SessionNotFound: No such run or session.
        BadInput: Some of the files are there already; nothing was written.
        StoreError: It has no checkpoint yet, or the folder cannot be written.
    """
    found = _find(run, session, results)
    turns = turns_of(found.session)
    if not turns:
        told = "has no checkpoint yet; export it when its first turn is over"
        raise StoreError(f"session {found.session.session_id} {told}")
    files = {f"turn-{turn}.json": to_bytes(found.at(turn)) for turn in turns}
    report = session_as_markdown(found.session, found.at(turns[-1]), simulated=found.simulated)
    return write_files(Path(folder), {**files, REPORT: report.encode()}, force=force)


def _find(run: str | Path, session: str, results: str | Path) -> _Found:
    opened = open_run(run, results=results)
    transcript = opened.session(session)
    reader = JournalReader(opened.path / JOURNAL_NAME)
    try:
        prelude_id = transcript.plan.prelude_id
        ends = [e for e in reader.session(prelude_id) if isinstance(e, Ended)] if prelude_id else []
        prelude = ends[-1].result if ends else None
        return _Found(opened.id, opened.file.simulated, transcript, prelude, reader.resources())
    finally:
        reader.close()


def diff(
    a: str, b: str, *, run: str | Path | None = None, results: str | Path = RESULTS
) -> Difference:
    """Two sessions and where they part.

    Args:
        a: A session of ``run``, or ``RUN:SESSION``.
        b: Another.
        run: The run of names without one; the newest if left out.
        results: Folder of runs.

    Raises:
        RunNotFound, SessionNotFound: No such run or session.
    """
    one, two = (_session(name, run, results) for name in (a, b))
    return difference_of(one, two)


def _session(name: str, run: str | Path | None, results: str | Path) -> Transcript:
    of, colon, session = name.rpartition(":")
    return open_run(of if colon else run or NEWEST, results=results).session(session)
