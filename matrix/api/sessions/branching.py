"""Playing moments of sessions again, differently: replays and branches, as runs of their own."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from matrix.api.opened import RESULTS, Run, open_run
from matrix.api.runs.kind_code import code_of_then
from matrix.api.runs.lifecycle import begin
from matrix.api.sessions.choosing import (
    Branching,
    branched_of,
    chosen_by,
    continuation_request,
    go_on_in,
    moments_of,
    replay_of,
)
from matrix.engine.executors.executor import AUTO, AnyExecutor
from matrix.engine.run.progress import Listener, Silent
from matrix.model.documents.conditions import parse_condition
from matrix.model.documents.mistakes import together
from matrix.model.documents.overrides import Override
from matrix.model.errors import BadInput, Mistake
from matrix.model.money import from_usd
from matrix.model.records import JSON
from matrix.report.planning.plan import branch_in_words

TIMES = 10
"""Repeats of each variant at one moment: the fewest that a verdict on that moment needs."""

ASK_ABOVE_NANO = from_usd(1)
ASK_ABOVE_SESSIONS = 100
"""What a branch may cost and hold before it is worth asking whether it is meant."""

TIMES_OF_MANY = 1
"""The same at each of many moments: another moment says more than another repeat."""


def plan_replay(
    run: str | Path,
    session: str,
    *,
    turn: int,
    changes: Mapping[str, JSON] | None = None,
    times: int = 1,
    max_cost: float | None = None,
    trust: bool = False,
    results: str | Path = RESULTS,
    overrides: Iterable[Override] = (),
) -> Branching:
    """Check a replay, without starting anything. Arguments are those of :func:`replay`.

    Raises:
        BadInput: Every mistake.
    """
    requested = replay_of(changes, times)
    parent = open_run(run, results=results)
    moments = moments_of(parent, [(session, turn)])
    return Branching(go_on_in(parent, moments, requested, max_cost, overrides, trust=trust))


def plan_branch(
    run: str | Path,
    session: str | None = None,
    *,
    turn: int | None = None,
    where: str | None = None,
    variants: Mapping[str, Sequence[JSON]],
    times: int | None = None,
    max_cost: float | None = None,
    trust: bool = False,
    results: str | Path = RESULTS,
    overrides: Iterable[Override] = (),
) -> Branching:
    """Check a branch, without starting anything. Arguments are those of :func:`branch`.

    Raises:
        BadInput: Every mistake.
    """
    values = {name: tuple(given) for name, given in variants.items()}
    if times is None:
        times = TIMES if where is None else TIMES_OF_MANY
    (requested, _), condition = together(
        lambda: together(
            lambda: continuation_request(values, times, "branch"),
            lambda: _one_place(session, turn, where),
        ),
        lambda: None if where is None else parse_condition(where, "--where"),
    )
    parent = open_run(run, results=results)
    places = [(session, turn)] if session is not None and turn is not None else []
    if condition is not None:
        places = chosen_by(parent, condition)
    moments = moments_of(parent, places)
    found = go_on_in(parent, moments, requested, max_cost, overrides, trust=trust)
    return Branching(found, where or "")


def _one_place(session: str | None, turn: int | None, where: str | None) -> None:
    """Raise ``BadInput`` unless it is said in exactly one way where to branch."""
    if (where is None) == (session is None) or (session is None) != (turn is None):
        message = "say where to branch: SESSION with --turn N, or --where CONDITION"
        raise BadInput([Mistake("matrix branch", None, "", message)])


def replay(
    run: str | Path,
    session: str,
    *,
    turn: int,
    changes: Mapping[str, JSON] | None = None,
    times: int = 1,
    max_cost: float | None = None,
    trust: bool = False,
    results: str | Path = RESULTS,
    run_id: str | None = None,
    executor: AnyExecutor = AUTO,
    listener: Listener | None = None,
    overrides: Iterable[Override] = (),
) -> Run:
    """Play on from a session after one of its turns, with something other than it was.

    Everything before that turn is kept: conversation, players, group. The first time uses the
    parent's seed, so that without changes simulated models play the same again; further times
    have seeds of their own.

    Args:
        run: The parent's run: id, beginning of one, path, or ``last``.
        session: Id or its beginning; ``best``, ``worst``, ``longest`` or ``failed``.
        turn: The turn to go on after; 0 is the session's start.
        changes: Option, role, text or ``scenario`` -> its new value, e.g.
            ``{"prompt": "pulse-aware"}``.
        times: How often it is played.
        max_cost: Hard cap in US dollars; the parent run's if left out.
        trust: Do what a run that was not made here names: addresses, programs, prices.
        results: Folder of runs.
        run_id: Name of the new run; made up if left out.
        executor: ``auto``, ``ray``, ``in-process``, or an :class:`ExecutorChoice`.
        listener: Told about progress.
        overrides: Ready-made overrides of limits, over everything else.

    Raises:
        BadInput: Anything wrong with the input; nothing was started.
        StoreError: A folder cannot be used.
    """
    planned = plan_replay(
        run,
        session,
        turn=turn,
        changes=changes,
        times=times,
        max_cost=max_cost,
        trust=trust,
        results=results,
        overrides=overrides,
    )
    return start_branching(planned, results, run_id, executor, listener)


def branch(
    run: str | Path,
    session: str | None = None,
    *,
    turn: int | None = None,
    where: str | None = None,
    variants: Mapping[str, Sequence[JSON]],
    times: int | None = None,
    max_cost: float | None = None,
    trust: bool = False,
    results: str | Path = RESULTS,
    run_id: str | None = None,
    executor: AnyExecutor = AUTO,
    listener: Listener | None = None,
    overrides: Iterable[Override] = (),
) -> Run:
    """Play on from one moment, or from many, in several variants, and compare them as pairs.

    Every repeat has a seed of its own, which all variants share and the parent did not have: a
    moment that was chosen because something went wrong would do better by chance alone. The unit
    of the comparison is the moment, and its repeats are averaged; of a single moment, the verdict
    is about that moment only, and its repeats are the units.

    Args:
        run: The parent's run: id, beginning of one, path, or ``last``.
        session: Id or its beginning; ``best``, ``worst``, ``longest`` or ``failed``.
        turn: The turn to go on after; 0 is the session's start.
        where: Instead of session and turn, a condition on the run's tables, such as
            ``events.kind == "forced_segue"``: the turn before each such row.
        variants: Option, role, text or ``scenario`` -> its values; every combination is played.
        times: How often each variant is played from each moment; if left out, ten times from
            one moment, and once from each that a condition chose.
        max_cost: Hard cap in US dollars; the parent run's if left out.
        trust: Do what a run that was not made here names: addresses, programs, prices.
        results: Folder of runs.
        run_id: Name of the new run; made up if left out.
        executor: ``auto``, ``ray``, ``in-process``, or an :class:`ExecutorChoice`.
        listener: Told about progress.
        overrides: Ready-made overrides of limits, over everything else.

    Raises:
        BadInput: Anything wrong with the input; nothing was started.
        StoreError: A folder cannot be used.
    """
    planned = plan_branch(
        run,
        session,
        turn=turn,
        where=where,
        variants=variants,
        times=times,
        max_cost=max_cost,
        trust=trust,
        results=results,
        overrides=overrides,
    )
    return start_branching(planned, results, run_id, executor, listener)


def worth_asking(planned: Branching) -> str:
    """What to ask before a large branch is started: its size and estimate; empty for a small one.

    Large is more than ``ASK_ABOVE_SESSIONS``, or what is expected to cost more than
    ``ASK_ABOVE_NANO``, as far as its cap allows that. A condition may choose any number of
    moments, so nobody knows how many before they are counted.
    """
    prepared = planned.continuation.prepared
    cap, expected = prepared.spec.limits.cap_nano, prepared.estimate.middle
    if prepared.unforeseen and not prepared.play_money:
        expected = cap  # nobody knows
    expected = min(expected, cap)
    if expected <= ASK_ABOVE_NANO and prepared.plan.sessions <= ASK_ABOVE_SESSIONS:
        return ""
    return f"this branch is {branch_in_words(prepared)}"


def start_branching(
    planned: Branching,
    results: str | Path = RESULTS,
    run_id: str | None = None,
    executor: AnyExecutor = AUTO,
    listener: Listener | None = None,
) -> Run:
    """Start continuations in a folder of their own and see them to their end.

    Raises:
        BadInput: ``run_id`` cannot name a folder, or a key is missing.
        RunExists: A run of this id is there already.
        StoreError: The folder cannot be written.
    """
    continuation, listener = planned.continuation, listener or Silent()
    for note in planned.notes:
        listener.remark(note)
    if told := code_of_then(continuation.prepared):
        listener.note(told)
    return begin(
        continuation.prepared,
        results,
        run_id,
        executor,
        listener,
        branched=branched_of(planned),
        inherited=lambda run_dir: continuation.entries(run_dir, time.time()),
    )
