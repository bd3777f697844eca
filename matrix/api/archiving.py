"""Keeping runs: rebuilding their tables, packing old ones away and bringing them back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from matrix.api.opened import NEWEST, RESULTS, list_runs, open_run
from matrix.engine.prepare.plan_file import read_plan
from matrix.model.errors import BadInput, Mistake, StoreError
from matrix.model.records import SessionPlan
from matrix.store.blobs.blobs import BLOBS
from matrix.store.run.run_folder import resume_command
from matrix.store.upkeep.archive import Packed, is_archived, pack, restore
from matrix.store.upkeep.sweeping import Swept, sweep

if TYPE_CHECKING:
    from matrix.store.upkeep.repair import Repaired

_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


class ArchivedRun(NamedTuple):
    """A run that was archived or restored; ``swept`` is what nothing named, and was removed."""

    run_id: str
    packed: Packed
    swept: Swept = Swept(0, 0)


def repair(run: str | Path = NEWEST, *, results: str | Path = RESULTS) -> Repaired:
    """Make every table of a run again from its journal.

    Raises:
        RunNotFound: No such run.
        RunLocked: The run is alive.
        StoreError: The journal cannot be read or the tables cannot be written.
    """
    from matrix.store.upkeep.repair import repair_tables

    found = open_run(run, results=results)
    return repair_tables(found.path, found.file, lambda: _planned(found.path))


def archive(run: str | Path = NEWEST, *, results: str | Path = RESULTS) -> ArchivedRun:
    """Pack the journal of a finished run; its tables stay as they are.

    Files of sessions that nothing names, which a crash may leave, are removed.

    Raises:
        RunNotFound: No such run.
        StoreError: The run is not complete, is archived already, or is alive.
    """
    found = open_run(run, results=results)
    if is_archived(found.path):
        raise StoreError(f"{found.id} is archived already")
    if found.status != "complete":
        raise StoreError(
            f"{found.id} is {found.status}; only complete runs are archived, because others may be "
            f"gone on with: `{resume_command(found.path)}`"
        )
    swept = sweep(found.path) if (found.path / BLOBS).is_dir() else Swept(0, 0)
    return ArchivedRun(found.id, pack(found.path), swept)


def archive_older(
    age: str, *, results: str | Path = RESULTS, now: datetime | None = None
) -> list[ArchivedRun]:
    """Archive every complete run that was created longer ago than ``age``, e.g. ``30d``.

    Raises:
        BadInput: ``age`` is no such length of time.
        StoreError: One of them cannot be archived; those before it are.
    """
    before = (now or datetime.now(UTC)) - _length(age)
    old = [
        item.path
        for item in list_runs(results)
        if item.run is not None
        and item.run.status == "complete"
        and not item.run.imported
        and item.run.created_at < before
        and not is_archived(item.path)
    ]
    return [archive(path, results=results) for path in old]


def restore_run(run: str | Path = NEWEST, *, results: str | Path = RESULTS) -> ArchivedRun:
    """Bring the journal of an archived run back.

    Raises:
        RunNotFound: No such run.
        StoreError: It is not archived, or the archive is damaged.
    """
    found = open_run(run, results=results)
    return ArchivedRun(found.id, restore(found.path))


def _planned(run_dir: Path) -> Iterator[SessionPlan]:
    return (plan for part in read_plan(run_dir).plan.all_rounds() for plan in part.sessions)


def _length(age: str) -> timedelta:
    read = re.fullmatch(r"(\d{1,5})([hdw])", age.strip())
    if read is None:
        allowed = "a number with h, d or w, e.g. 30d"
        raise BadInput([Mistake("--older-than", None, "", f"found {age!r}; allowed: {allowed}")])
    return int(read[1]) * _UNITS[read[2]]
