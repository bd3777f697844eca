"""What a kind says of a whole run: asked for, and written where its form belongs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Final

from matrix.api.opened import Run
from matrix.engine.prepare.plan_file import project_of_run
from matrix.engine.prepare.registry import ask_kind, load_kind
from matrix.kinds.protocol import REPORTED
from matrix.kinds.reporting import (
    OF_RUN,
    EndedRun,
    EndedSession,
    ReportsRuns,
    RunReport,
    Spent,
    file_name,
)
from matrix.kinds.text_files import real
from matrix.model.errors import KindUnusable, StoreError
from matrix.model.lines import in_line
from matrix.model.records import JSON
from matrix.report.text import harmless
from matrix.store.blobs.blobs import BlobStore
from matrix.store.blobs.restoring import remove_folder, restore_tree
from matrix.store.run.own_files import SHARED
from matrix.store.run.run_folder import from_here, write_whole


def kind_report(run: Run) -> RunReport | None:
    """What the kind of a run says of it; ``None`` if it says nothing.

    Raises:
        StoreError: A table cannot be read.
        BadInput: A defect of the kind.
    """
    try:
        kind = load_kind(run.file.kind, kept=run.file.kind_facts)
    except KindUnusable:
        return None
    if not isinstance(kind, ReportsRuns):
        return None
    found = ask_kind(kind, "report", lambda: kind.report(ended_run(run)))
    return found._replace(
        lines=tuple(in_line(line) for line in found.lines),  # a model's words may be in them
        files={name: _printable(name, text) for name, text in found.files.items()},
    )


def placed_lines(told: RunReport, run: Run, lost: Sequence[str] = ()) -> list[str]:
    """What a kind says, with its files named as they are found from here, but for lost ones."""
    lines, project = list(told.lines), project_of_run(run.path)
    gone = {name.partition("/")[0] if name not in told.files else name for name in lost}
    lines = [line for line in lines if not any(name in line for name in gone)]
    own = f"{OF_RUN}/"
    for name in told.files:
        place = run.path / name.removeprefix(own) if name.startswith(own) else project / name
        lines = [line.replace(name, str(from_here(place))) for line in lines]
    return lines


def _printable(name: str, text: str) -> str:
    """A page as it may be shown: what was judged may have what drives a terminal."""
    return harmless(text) if name.endswith(".md") else text


def ended_run(run: Run) -> EndedRun:
    """A run as its kind is shown it."""
    file = run.file
    said = run.frame("messages", ["session_id", "seq", "channel", "text"])
    said = said[said.channel == REPORTED].sort_values("seq")
    texts = said.groupby("session_id", observed=True).text.agg(tuple).to_dict()
    factors = list(file.spec.get("factors") or {})
    rows = run.sessions().sort_values(["round", "scenario", "session_id"])
    order = {name: place for place, name in enumerate(file.spec["scenarios"])}
    sessions = [
        EndedSession(
            str(row["session_id"]),
            str(row["scenario"]),
            {name: str(row[name]) for name in factors if name in row},
            int(row["round"]),
            str(row["outcome"]) if isinstance(row["outcome"], str) else "",
            str(row["end_reason"]) if isinstance(row["end_reason"], str) else "",
            float(row["duration_s"] or 0.0),
            texts.get(row["session_id"], ()),
            0 if row["parent_turn"] != row["parent_turn"] else int(row["parent_turn"]),
        )
        for row in rows.to_dict("records")
    ]
    sessions.sort(key=lambda one: (order.get(one.scenario, len(order)), one.round))
    options = file.spec.get("options") or {}
    began = file.created_at.timestamp()
    return EndedRun(
        run.id,
        began,
        options,
        tuple(sessions),
        file.touched,
        file.branched is not None,
        lambda: spent_in(run),
        _judge(run),
        file.simulation,
        file.branched is not None and file.branched.mode == "rejudge",
    )


def _judge(run: Run) -> dict[str, JSON]:
    """What is known of a run's judges, as its summary says it."""
    from matrix.report.compare.judges.labelled import standing_in
    from matrix.report.run.judging_notes import judging_notes
    from matrix.store.reading.reader import RunTables

    tables = RunTables(run.path)
    standing, notes = standing_in(run.file.plan.metric, [tables]), judging_notes(tables)
    told = [] if standing is None else [standing.sentence]
    return {
        "standing": None if standing is None else asdict(standing),
        "faults": notes.data,
        "lines": [*told, *(text for _, text in notes.lines)],
    }


def spent_in(run: Run) -> list[Spent]:
    """What a run has paid, by scenario, turn, role and tag."""
    from matrix.report.run.savings import charged_nano

    columns = ["session_id", "phase", "turn", "role", "tag", "cost_nano", "overrun_nano"]
    calls = run.frame("calls", columns)
    scenario = run.sessions().set_index("session_id").scenario.astype(str)
    calls = calls.assign(
        scenario=calls.session_id.map(scenario).fillna(""),
        turn=calls.turn.where(calls.phase.astype(str) == "turn", 0),
        cost=charged_nano(calls),
    )
    groups = calls.groupby(["scenario", "turn", "role", "tag"], observed=True, dropna=False)
    found: list[Spent] = []
    for key, rows in groups:
        scene, turn, role, tag = (str(part) for part in key)
        found.append(Spent(scene, int(turn), role, tag, len(rows), float(rows.cost.sum()) / 1e9))
    return found


WORKDIRS: Final = "workdirs"
"""Where in a run's folder working folders are written out."""


def write_kind_report(report: RunReport, project: Path, run: Run) -> None:
    """Write its files into the project, and the working folders that it wants written out.

    Each is written whatever becomes of the others.

    Raises:
        StoreError: Some of it cannot be written.
    """
    troubles = []
    for name, text in report.files.items():
        try:
            _write_file(_place(name, project, run), text)
        except StoreError as error:
            troubles.append(str(error))
    for session, place in _workdirs(report, run):
        try:
            place.parent.mkdir(exist_ok=True)
            _write_out(run, session, place)
        except (StoreError, OSError) as error:
            troubles.append(f"{WORKDIRS}/{place.name}: {error}")
    if troubles:
        raise StoreError("; ".join(troubles))


def unwritten(report: RunReport, project: Path, run: Run) -> list[str]:
    """What of a report is not there, or is not what was to be written."""
    lost = [
        name for name, text in report.files.items() if not _is_written(name, text, project, run)
    ]
    return lost + [
        f"{WORKDIRS}/{place.name}" for _, place in _workdirs(report, run) if not place.is_dir()
    ]


def not_there(report: RunReport, run: Run) -> list[str]:
    """What of a report was never written, or is gone."""
    project = project_of_run(run.path)
    return [name for name in report.files if not _place(name, project, run).is_file()]


def _place(name: str, project: Path, run: Run) -> Path:
    """Where a file of a report goes: into the project, or the run's own folder.

    Names are made of what a run says, which may be a stranger's.

    Raises:
        StoreError: It leads elsewhere.
    """
    own = f"{OF_RUN}/"
    root = run.path if name.startswith(own) else project
    place = root / name.removeprefix(own)
    if not real(place.parent).is_relative_to(real(root)) or place.name in ("", ".", ".."):
        raise StoreError(f"{in_line(name)} leads out of {root}, and was not written")
    return place


def _is_written(name: str, text: str, project: Path, run: Run) -> bool:
    try:
        return _is_there(_place(name, project, run), text)
    except StoreError:
        return False


def _workdirs(report: RunReport, run: Run) -> list[tuple[str, Path]]:
    """Sessions that have left a folder, and where it is written out."""
    return [
        (session, run.path / WORKDIRS / file_name(name))
        for session, name in report.folders.items()
        if any(done.tree for done in run.session(session).turns)
    ]


def _write_out(run: Run, session: str, place: Path) -> None:
    tree = [done.tree for done in run.session(session).turns if done.tree][-1]
    try:
        restore_tree(place, tree, BlobStore(run.path), time.time_ns())
    except (StoreError, OSError):
        with suppress(OSError):  # half of a folder is none
            remove_folder(place)
        raise


def _write_file(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make {path.parent}: {error.strerror}") from None
    write_whole(path.parent, path.name, text, SHARED)


def _is_there(path: Path, text: str) -> bool:
    try:
        return path.read_bytes() == text.encode()
    except OSError:
        return False
