"""Sessions as files: checkpoints to play on from elsewhere, with a report for people."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from matrix.api.opened import NEWEST, RESULTS, Run, open_run
from matrix.api.runs.kind_reports import kind_report
from matrix.api.runs.session_reports import FoundSession, find_session
from matrix.engine.prepare.keys import ENV_NAME, keys_among, variables
from matrix.engine.prepare.plan_file import project_of_run
from matrix.engine.prepare.registry import document_of
from matrix.kinds.reporting import file_name
from matrix.model.errors import BadInput, Mistake, StoreError
from matrix.model.moments.checkpoint_file import MAX_BYTES, CheckpointFile, from_bytes, to_bytes
from matrix.model.records import PLAYED
from matrix.report.session.checkpoints import (
    checkpoint_of,
    turns_of,
)
from matrix.report.session.difference import Difference, difference_of
from matrix.report.session.session_report import (
    session_as_markdown,
)
from matrix.store.blobs.carrying import exported_bytes
from matrix.store.journal.transcript import Transcript
from matrix.store.run.exports import read_file, write_files
from matrix.telemetry.redaction import Redactor

REPORT = "report.md"


class _Found(NamedTuple):
    found: FoundSession
    keys: Mapping[str, str]

    def newest(self, turn: int | None) -> int:
        """The turn that is meant, the newest if none was said."""
        there = turns_of(self.found.session)
        return turn if turn is not None else there[-1] if there else 0

    def at(self, turn: int) -> CheckpointFile:
        content, _, session, prelude, kind = self.found
        return checkpoint_of(content, session, turn, prelude, kind)

    def file(self, turn: int) -> bytes:
        """The checkpoint as a file, without any key in it."""
        found = self.at(turn)
        data, folder = to_bytes(found), found.continuation.folder
        text = data.decode()
        files = list(folder.contents("").held()) if folder is not None else []
        session_id = self.found.session.session_id
        for name, key in self.keys.items():
            known = Redactor([key])
            if known.values(text) != text or any(known.finder.spans(file) for file in files):
                raise StoreError(
                    f"the checkpoint after turn {turn} of session {session_id} holds "
                    f"the key that {name} has, and was not written: take the key out of what the "
                    "session was given, and change it"
                )
        return data


def checkpoint(
    run: str | Path = NEWEST,
    session: str = "best",
    *,
    turn: int | None = None,
    results: str | Path = RESULTS,
) -> CheckpointFile:
    """A session after a turn (the newest, if left out), as a value of its own.

    Raises:
        RunNotFound, SessionNotFound: No such run or session.
        BadInput: It has no checkpoint of that turn.
        StoreError: Its working folder is damaged, or too large for a file.
    """
    found = _find(run, session, results)
    return found.at(found.newest(turn))


def read_checkpoint(path: str | Path) -> CheckpointFile:
    """Read a file that ``matrix export`` wrote, here or elsewhere.

    Raises:
        BadInput: It cannot be read or is no checkpoint; every mistake at once.
    """
    return from_bytes(read_file(Path(path), MAX_BYTES), str(path), document_of)


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
        StoreError: The file cannot be written, would be too large, or would hold a key.
    """
    path, found = Path(output), _find(run, session, results)
    write_files(path.parent, {path.name: lambda: found.file(found.newest(turn))}, force=force)
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
        StoreError: It has no checkpoint yet, the folder cannot be written, or a file would be too
            large or would hold a key.
    """
    whole = _find(run, session, results)
    found, turns = whole.found, turns_of(whole.found.session)
    if not turns:
        told = "has no checkpoint yet; export it when its first turn is over"
        raise StoreError(f"session {found.session.session_id} {told}")
    for done in found.session.turns:
        exported_bytes(found.content.files, done.tree)  # before the first file is written
    files = {f"turn-{turn}.json": partial(whole.file, turn) for turn in turns}
    report = found.told(session_as_markdown)
    return write_files(Path(folder), {**files, REPORT: report.encode}, force=force)


def export_snapshot(
    run: str | Path,
    folder: str | Path,
    *,
    results: str | Path = RESULTS,
    force: bool = False,
    notes: list[str] | None = None,
) -> list[Path]:
    """Pin final states in which nothing failed: a file for each scenario of the run.

    What was not pinned, and why, is added to ``notes``, and of which runs a pinned state is where
    they ended differently.

    Raises:
        RunNotFound: No such run.
        BadInput: Its kind pins nothing, nothing of it is without a failure, or a file is there
            already; nothing was written.
        StoreError: The folder cannot be written.
    """
    opened = open_run(run, results=results)
    told = kind_report(opened)
    if told is None or not told.pins:
        left = {} if told is None else told.unpinned
        none = f"the {opened.file.kind} kind has no final states to pin"
        found = [Mistake("--snapshot", None, name, why) for name, why in left.items()]
        raise BadInput(found or [Mistake("--snapshot", None, "", none)])
    if notes is not None:
        notes += [f"not pinned: {name}: {why}" for name, why in told.unpinned.items()]
        notes += [f"{name}: {whose}" for name, whose in told.pinned_of.items()]
    files = {f"{file_name(name)}.json": text.encode for name, text in told.pins.items()}
    return write_files(Path(folder), files, force=force)


def _find(run: str | Path, session: str, results: str | Path) -> _Found:
    opened = open_run(run, results=results)
    found = find_session(opened, session)
    return _Found(found, _keys(opened.path, found.content.spec))


def _keys(run_dir: Path, spec: Mapping[str, Any]) -> dict[str, str]:
    """Keys that the run's models may have been asked with, by their variables."""
    models = (spec.get("models") or {}).values()
    named = [name for model in models if (name := model.get("api_key_env"))]
    there = variables(project_of_run(run_dir) / ENV_NAME, os.environ)
    return keys_among(there, named)


def diff(
    a: str = "", b: str = "", *, run: str | Path | None = None, results: str | Path = RESULTS
) -> Difference:
    """Two sessions and where they part.

    Args:
        a: A session of ``run``, or ``RUN:SESSION``; without any, two of ``run`` are taken that
            share a round and a scenario: those whose scores lie furthest apart.
        b: Another.
        run: The run of names without one; the newest if left out.
        results: Folder of runs.

    Raises:
        RunNotFound, SessionNotFound: No such run or session.
        BadInput: No two sessions of the run share a round and a scenario.
    """
    if not a and not b:
        a, b = _furthest_apart(open_run(run or NEWEST, results=results))
    one, two = (_session(name, run, results) for name in (a, b))
    return difference_of(one, two)


def _furthest_apart(run: Run) -> tuple[str, str]:
    """Two sessions of one round and scenario, the lower score first; or any two without scores."""
    frame = run.sessions()
    frame = frame[frame["outcome"].isin(PLAYED)]
    best: tuple[float, str, str] | None = None
    for _, group in frame.groupby(["round", "scenario"], observed=True):
        rows = group.sort_values("score", na_position="first")
        if len(rows) < 2:
            continue
        first, last = rows.iloc[0], rows.iloc[-1]
        gap = float(last["score"]) - float(first["score"])
        gap = gap if gap == gap else -1.0
        if best is None or gap > best[0]:
            best = (gap, str(first["session_id"]), str(last["session_id"]))
    if best is None:
        told = "has no two sessions of one round and scenario; name two, such as best and worst"
        raise BadInput([Mistake(run.id, None, "", told)])
    return best[1], best[2]


def _session(name: str, run: str | Path | None, results: str | Path) -> Transcript:
    of, colon, session = name.rpartition(":")
    return open_run(of if colon else run or NEWEST, results=results).session(session)
