"""From a spec to a run that is over: what ``matrix run`` does."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from matrix.api.opened import RESULTS, Run
from matrix.api.planning import plan
from matrix.api.runs.lifecycle import Clock, start
from matrix.api.runs.series import start_after_last
from matrix.engine.executors.executor import AUTO, AnyExecutor
from matrix.engine.run.progress import Listener
from matrix.model.documents.overrides import Override


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
    executor: AnyExecutor = AUTO,
    listener: Listener | None = None,
    overrides: Iterable[Override] = (),
    options: Mapping[str, str | bool] | None = None,
    allow_outside: bool = False,
    finish_last: bool = False,
    clock: Clock = time.time,
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
        executor: ``auto``, ``ray``, ``in-process``, or an :class:`ExecutorChoice`.
        listener: Told about progress.
        overrides: Ready-made overrides, over everything else.
        options: Flag -> value of options that a kind has for its own files, ``True`` for a switch.
        allow_outside: Read what ``file://`` and links name outside of the project, too.
        finish_last: Go on first with the newest run of the same name if it did not reach its end;
            if it does not reach it now either, that run is returned and no other one started.
        clock: Unix time in seconds, by which the run is named and dated and its budget kept.

    Raises:
        BadInput: Anything wrong with the input; nothing was started.
        AlreadyRunning: With ``finish_last``: a run of the same name is alive.
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
        options=options,
        allow_outside=allow_outside,
    )
    begin = start_after_last if finish_last else start
    return begin(
        prepared, results=results, run_id=run_id, executor=executor, listener=listener, clock=clock
    )
