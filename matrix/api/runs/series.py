"""Runs that are a series, such as nightly ones: the last reaches its end before the next starts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from matrix.api.opened import RESULTS, Run
from matrix.api.runs.caps_given import FINISH_LAST
from matrix.api.runs.lifecycle import resume, start
from matrix.engine.executors.executor import AUTO, AnyExecutor
from matrix.engine.prepare.prepared import Prepared
from matrix.engine.run.progress import Listener
from matrix.model.documents.overrides import Override
from matrix.model.errors import AlreadyRunning, BadInput, Mistake, RunLocked
from matrix.model.spec.run_spec import RunSpec
from matrix.store.run.run_folder import RunFile, resume_command
from matrix.store.shared.name_lock import only_one
from matrix.store.shared.namesakes import Namesake, namesakes

FLAG: Final = FINISH_LAST
CAP: Final = "cap"
"""How a run ends that has used up its cap."""

RESUMABLE: Final = frozenset({"limits", "cache"})
"""What may be other when a run is gone on with, except how many turns a session has."""


class Last(NamedTuple):
    """What there is to finish before a new run starts.

    Attributes:
        run: The newest run of the name, if it did not reach its end and can.
        limits: The new run's limits, for the rest of that one.
        note: Why a run that did not reach its end is not gone on with; empty otherwise.
    """

    run: Namesake | None
    limits: list[Override]
    note: str = ""


def last_of(prepared: Prepared, results: str | Path) -> Last:
    """The run that a new one of its name finds unfinished, if any.

    Only the newest run of the name is looked at: one that a later run has followed is left alone.

    Args:
        prepared: The new run.
        results: Folder of runs.

    Raises:
        BadInput: That run is of another spec.
    """
    known = namesakes(Path(results), prepared.spec.name, simulated=prepared.play_money)
    if not known or known[-1].file.status == "complete":
        return Last(None, [])
    newest = known[-1]
    file, cap = newest.file, prepared.spec.limits.cap_nano
    if other := _different(file, prepared.spec):
        told = (
            f"{file.run_id} did not reach its end and is of another spec (different: "
            f"{', '.join(other)}); finish it as it was with `{resume_command(newest.path)}`, or "
            f"start without {FLAG}, which leaves it as it is"
        )
        raise BadInput([Mistake(FLAG, None, "", told)])
    if file.end_reason == CAP and cap <= file.cap_nano:
        told = f"{file.run_id} ended at its cap, and this one is no higher: it is left as it is"
        return Last(None, [], told)
    return Last(newest, _limits(prepared.spec))


def _different(file: RunFile, spec: RunSpec) -> list[str]:
    """Fields of two specs that differ, and may not when a run is gone on with."""
    before, now = (one.model_dump(mode="json") for one in (file.run_spec, spec))
    fields = [name for name in now if name not in RESUMABLE and before[name] != now[name]]
    turns = before["limits"]["turns"] != now["limits"]["turns"]
    return fields + (["limits.turns"] if turns else [])


def _limits(spec: RunSpec) -> list[Override]:
    values = spec.limits.model_dump(mode="json")
    return [(("limits", name), values[name], FLAG) for name in values if name != "turns"]


@contextmanager
def still_alive_is_told() -> Iterator[None]:
    """Going on with a run whose processes are alive is a start too many, not trouble with files.

    Raises:
        AlreadyRunning: They are.
    """
    try:
        yield
    except AlreadyRunning:
        raise
    except RunLocked as error:
        raise AlreadyRunning(f"{error}; nothing was started") from None


def is_over(run: Run) -> bool:
    """Whether a run that was gone on with came as far as it can, so that the next may start."""
    file = run.file
    return file.status == "complete" or file.end_reason == CAP


def start_after_last(
    prepared: Prepared,
    *,
    results: str | Path = RESULTS,
    executor: AnyExecutor = AUTO,
    listener: Listener | None = None,
    clock: Callable[[], float] = time.time,
    run_id: str | None = None,
) -> Run:
    """Go on with the last run of the name if it did not reach its end, then start this one.

    Args:
        prepared: The new run.
        results: Folder of runs.
        executor: ``auto``, ``ray``, ``in-process``, or an :class:`ExecutorChoice`.
        listener: Told about progress of both.
        clock: Unix time in seconds.
        run_id: Name of the new run; made up if left out.

    Returns:
        The new run; or the last one, if it does not reach its end now either.

    Raises:
        AlreadyRunning: A run of the name is alive.
        BadInput: The last run is of another spec; nothing was started.
    """
    same: dict[str, Any] = {"executor": executor, "listener": listener, "clock": clock}
    with only_one(Path(results), prepared.spec.name):
        last = last_of(prepared, results)
        if last.run is not None:
            with still_alive_is_told():
                done = resume(last.run.path, overrides=last.limits, **same)
            if not is_over(done):
                return done
        return start(prepared, results=results, run_id=run_id, **same)
