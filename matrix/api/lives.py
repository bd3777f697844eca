"""The life of a run: started, seen to its end, taken up again."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import SystemRandom
from typing import Any

from matrix.api.describing import ended_file, plan_summary, run_file
from matrix.api.drawing import Draw, drawing, round_needed, spent_so_far
from matrix.api.extending import COUNTS, extended
from matrix.api.opened import NEWEST, RESULTS, Run
from matrix.api.planning import plan
from matrix.engine.catalogue import require_local_models
from matrix.engine.driver import Driver
from matrix.engine.executor import Executor, load_executor
from matrix.engine.keys import open_to_others, require_keys
from matrix.engine.plan_file import read_plan, write_plan
from matrix.engine.prepared import Prepared
from matrix.engine.progress import Listener, Silent
from matrix.engine.redo import prepare_open_sessions
from matrix.model.documents import Document, check, overlay
from matrix.model.entries import Entry
from matrix.model.errors import BadInput, Interrupted, Mistake, RunLocked, StoreError
from matrix.model.overrides import Override
from matrix.model.spec import RunSpec
from matrix.store.journal import JOURNAL_NAME, JournalWriter
from matrix.store.recovery import recover_run
from matrix.store.run_folder import (
    BranchedFrom,
    create_run,
    find_run,
    new_run_id,
    read_run,
    write_run,
)


def run(
    spec: str | Path | None = None,
    *,
    sessions: int | None = None,
    per_cell: int | None = None,
    max_cost: float | None = None,
    budget: str | None = None,
    seed: int | None = None,
    max_turns: int | None = None,
    at_cap: str | None = None,
    stop_early: bool | None = None,
    models: Mapping[str, str] | None = None,
    settings: Mapping[str, Any] | None = None,
    results: str | Path = RESULTS,
    run_id: str | None = None,
    executor: str = "ray",
    listener: Listener | None = None,
    overrides: Iterable[Override] = (),
) -> Run:
    """Run a matrix to its end and return it.

    Args:
        spec: A run spec; ``matrix.yaml`` here, or the built-in one, if left out.
        sessions: Sessions in all.
        per_cell: The same said as rounds; give one of the two.
        max_cost: Hard cap in US dollars.
        budget: Rolling budget over several runs, e.g. ``nightly=50/day``.
        seed: Seed of every draw.
        max_turns: Turns per session.
        at_cap: ``whole-rounds`` or ``spend-all``.
        stop_early: Look after every round, and play no more than it takes to decide.
        models: Role -> model.
        settings: Dotted path -> value, e.g. ``{"limits.turns": 20}``.
        results: Folder of runs.
        run_id: Name of the run; made up if left out.
        executor: ``ray`` or ``in-process``.
        listener: Told about progress.
        overrides: Ready-made overrides, over everything else.

    Raises:
        BadInput: Anything wrong with the input; nothing was started.
        StoreError: The results folder cannot be used.
    """
    prepared = plan(
        spec,
        sessions=sessions,
        per_cell=per_cell,
        max_cost=max_cost,
        budget=budget,
        seed=seed,
        max_turns=max_turns,
        at_cap=at_cap,
        stop_early=stop_early,
        models=models,
        settings=settings,
        overrides=overrides,
    )
    return start(prepared, results=results, run_id=run_id, executor=executor, listener=listener)


def start(
    prepared: Prepared,
    *,
    results: str | Path = RESULTS,
    run_id: str | None = None,
    executor: str = "ray",
    listener: Listener | None = None,
) -> Run:
    """Start a prepared run in a folder of its own and see it to its end.

    Raises:
        BadInput: ``run_id`` cannot name a folder.
        RunExists: A run of this id is there already.
        StoreError: The folder cannot be written.
    """
    return begin(prepared, results, run_id, executor, listener)


def begin(
    prepared: Prepared,
    results: str | Path,
    run_id: str | None,
    executor: str,
    listener: Listener | None,
    *,
    branched: BranchedFrom | None = None,
    inherited: Callable[[Path], Iterable[Sequence[Entry]]] | None = None,
) -> Run:
    """:func:`start`, also for sessions that go on from those of another run.

    Args:
        prepared: The run.
        results: Folder of runs.
        run_id: Name of the run; made up if left out.
        executor: ``ray`` or ``in-process``.
        listener: Told about progress.
        branched: For ``run.json``: what its sessions go on from.
        inherited: What the journal of the run in a folder begins with, in batches.

    Raises:
        BadInput, RunExists, StoreError: As :func:`start`.
    """
    engine = load_executor(executor)
    require_keys(prepared, os.environ)
    require_local_models(prepared.models, prepared.source)
    now = datetime.now(UTC)
    identity = _checked(run_id) if run_id else new_run_id(prepared.spec.name, now, SystemRandom())
    folder, least = Path(results), round_needed(prepared)
    with drawing(prepared, folder, identity, time.time, least=least) as draw:
        file = run_file(prepared, identity, now).model_copy(update={"branched": branched})
        run_dir = create_run(folder, file)
        _set_up(run_dir, prepared, inherited)
        return _drive(draw, run_dir, engine, listener or Silent())


def resume(
    run: str | Path = NEWEST,
    *,
    results: str | Path = RESULTS,
    executor: str = "ray",
    listener: Listener | None = None,
    overrides: Iterable[Override] = (),
    redo_turn: bool = False,
) -> Run:
    """Go on with a run that did not reach its end, from the last turn of every session.

    With ``redo_turn``, turns in flight are played anew from the checkpoints before them, for a kind
    or prompts that have changed since: what was answered in them stays paid and is superseded.

    Raises:
        StateMismatch: The installed kind does not fit what sessions were left in.
        RunNotFound: No such run.
        RunLocked: The run is still alive.
        BadInput: The run's spec, packs or code changed so that it is another run, or more
            sessions are asked for than its comparison allows.
    """
    run_dir = find_run(Path(results), str(run))
    stored = read_plan(run_dir)
    prepared = _prepare_again(stored, run_dir, list(overrides))
    require_keys(prepared, os.environ)
    require_local_models(prepared.models, prepared.source)
    listener = listener or Silent()
    for found in recover_run(run_dir):
        listener.note(found)
    if prepared.plan.sessions != stored.plan.sessions:
        write_plan(run_dir, prepared)
    prepare_open_sessions(run_dir, prepared.kind, redo=redo_turn, at=time.time())
    engine, spent = load_executor(executor), spent_so_far(run_dir)
    with drawing(prepared, run_dir.parent, run_dir.name, time.time, spent=spent) as draw:
        return _drive(draw, run_dir, engine, listener)


def _drive(draw: Draw, run_dir: Path, engine: Executor, listener: Listener) -> Run:
    prepared = draw.prepared
    if draw.reduced:
        listener.note(draw.reduced)
    if draw.reserved:
        listener.remark(draw.reserved)
    if not prepared.simulated and open_to_others(prepared.env_file):
        listener.note(f"{prepared.env_file} can be read by other users; `chmod 600` it")
    file = read_run(run_dir)
    driver = Driver(prepared, file.run_id, run_dir, engine, listener)
    running = file.model_copy(
        update={
            "status": "running",
            "end_reason": "",
            "cap_nano": prepared.spec.limits.cap_nano,
            "plan": plan_summary(prepared),
        }
    )
    write_run(run_dir, running)
    draw.started = True
    try:
        end = asyncio.run(driver.run())
    except RunLocked:
        raise  # somebody else was quicker, and how the run stands is theirs to write
    except BaseException as error:
        stopped = isinstance(error, (KeyboardInterrupt, asyncio.CancelledError))
        reason = "interrupted" if stopped else str(error)[:500]
        status = "incomplete" if stopped else "failed"
        with suppress(StoreError):  # the disk may be what failed; the journal is the truth
            write_run(run_dir, running.model_copy(update={"status": status, "end_reason": reason}))
        if stopped:
            raise Interrupted(
                f"stopped at once; `matrix resume {file.run_id}` goes on from the last turns"
            ) from None
        raise
    balance = end.progress.picture.balance
    draw.spent = balance.spent + balance.overrun
    write_run(run_dir, ended_file(running, end))
    return Run(run_dir)


def _checked(run_id: str) -> str:
    """``run_id`` if it can name a folder in the results folder, and only that."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,120}", run_id) or run_id == NEWEST:
        allowed = (
            "up to 121 letters, digits, dots, dashes and underscores, starting with a letter or "
            f"digit, and not {NEWEST!r}, which means the newest run"
        )
        raise BadInput([Mistake("--run-id", None, "", f"found {run_id!r}; {allowed}")])
    return run_id


def _set_up(
    run_dir: Path,
    prepared: Prepared,
    inherited: Callable[[Path], Iterable[Sequence[Entry]]] | None,
) -> None:
    """Put the run's texts and then its plan on the disk: with a plan, a run can be resumed.

    Args:
        run_dir: The new run's folder.
        prepared: The run.
        inherited: Gives the journal entries that its sessions have from others, in batches.

    Raises:
        StoreError: They cannot be written; the folder is gone again.
    """
    try:
        journal = JournalWriter(run_dir / JOURNAL_NAME)
        journal.add_resources(prepared.resources)
        for batch in inherited(run_dir) if inherited is not None else ():
            journal.append(batch)
        journal.close()
        write_plan(run_dir, prepared)
    except (OSError, StoreError) as error:
        shutil.rmtree(run_dir, ignore_errors=True)
        reason = error.strerror if isinstance(error, OSError) else str(error).split(";")[0]
        raise StoreError(
            f"the run could not be set up in {run_dir}: {reason}; nothing was started; free some "
            "space, or choose another folder with --results"
        ) from None


def _prepare_again(stored: Prepared, run_dir: Path, overrides: list[Override]) -> Prepared:
    """The prepared run of an existing folder, with new limits where they were given."""
    message = "cannot change when a run is resumed; limits, cache and more sessions can"
    foreign = [
        Mistake(origin, None, "", message)
        for path, _, origin in overrides
        if path == ("limits", "turns")
        or (path[0] not in ("limits", "cache") and path not in COUNTS)
    ]
    if foreign:
        raise BadInput(foreign)
    spec = check(overlay(_as_document(stored.spec), overrides), RunSpec)
    return extended(replace(stored, spec=spec), run_dir, overrides)


def _as_document(spec: RunSpec) -> Document:
    return Document("run.json", spec.model_dump(mode="json"), {}, {})
