"""What a replay or branch starts from: what is wanted, of which moments, in whose project."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from matrix.api.opened import Run
from matrix.api.runs.caps_given import as_overrides
from matrix.engine.continuation.changes import ContinuationRequest, as_level
from matrix.engine.continuation.continuing import Continuation, continue_from
from matrix.engine.prepare.plan_file import project_of_run
from matrix.engine.prepare.trust import require_code_trusted, require_trust
from matrix.model.documents.conditions import Condition
from matrix.model.documents.overrides import Override, from_flags
from matrix.model.errors import BadInput, Mistake
from matrix.model.moments.checkpoint import Checkpoint
from matrix.model.records import JSON
from matrix.store.reading.checkpoints import Moments
from matrix.store.run.made_here import is_made_here
from matrix.store.run.run_folder import BranchedFrom, JudgedDesign

MAX_TIMES = 10_000


class Branching(NamedTuple):
    """Continuations that can start.

    ``where`` is the condition that chose their moments; ``notes`` is what to say at the start;
    ``design`` is what verdicts on sessions that are judged again go by.
    """

    continuation: Continuation
    where: str = ""
    notes: tuple[str, ...] = ()
    design: JudgedDesign | None = None


def branched_of(planned: Branching) -> BranchedFrom:
    """What ``run.json`` says of planned continuations."""
    requested, moments = planned.continuation.requested, planned.continuation.moments
    return BranchedFrom(
        run_id=moments[0].run_id,
        mode=_mode(requested),
        changes=requested.levels,
        times=requested.times,
        where=planned.where,
        moments=tuple((moment.plan.session_id, moment.turn) for moment in moments),
        design=planned.design,
    )


def _mode(requested: ContinuationRequest) -> Literal["replay", "branch", "rejudge", "interview"]:
    if requested.asked:
        return "interview"
    return "rejudge" if requested.again else "replay" if requested.own_seed else "branch"


def continuation_request(
    changes: Mapping[str, tuple[JSON, ...]], times: int, word: str
) -> ContinuationRequest:
    """What is wanted, checked by itself.

    Raises:
        BadInput: Every mistake.
    """
    own = word == "replay"
    flag = "--set" if own else "--variants"
    mistakes = []
    if not 1 <= times <= MAX_TIMES:
        message = f"found {times}; must be from 1 to {MAX_TIMES:,}"
        mistakes.append(Mistake("--times", None, "", message))
    if not own and not any(len(values) > 1 for values in changes.values()):
        message = "a branch compares at least two values: NAME=VALUE,VALUE"
        mistakes.append(Mistake(flag, None, "", message))
    for name, values in changes.items():
        levels = [as_level(value) for value in values]
        twice = sorted({level for level in levels if levels.count(level) > 1})
        mistakes += [
            Mistake(f"{flag} {name}", None, "", f"{level!r} is listed twice; each value once")
            for level in twice
        ]
    if mistakes:
        raise BadInput(mistakes)
    return ContinuationRequest(changes, times, own, word, flag)


def replay_of(changes: Mapping[str, JSON] | None, times: int) -> ContinuationRequest:
    """A replay: one variant, because each change has one value.

    Raises:
        BadInput: Every mistake.
    """
    return continuation_request(
        {name: (value,) for name, value in (changes or {}).items()}, times, "replay"
    )


def moments_of(parent: Run, places: Sequence[tuple[str, int | None]]) -> list[Checkpoint]:
    """The moments at these places, each a session (as people say it) and a turn, or its last.

    Raises:
        BadInput: A session that cannot be gone on from, or a turn that it has not.
        SessionNotFound: No such session.
    """
    moments = Moments(parent.path)
    try:
        return [moments.after(_session(parent, moments, text), turn) for text, turn in places]
    finally:
        moments.close()


def _session(parent: Run, moments: Moments, text: str) -> str:
    if text in ("best", "worst", "longest", "failed"):
        from matrix.report.run.summary import extreme_session

        return extreme_session(parent.path, text)
    return moments.find(text)


def chosen_by(parent: Run, condition: Condition) -> list[tuple[str, int]]:
    """The sessions and turns that a condition picks.

    Raises:
        BadInput: It does not fit the run's tables, or picks nothing.
    """
    from matrix.store.reading.reader import RunTables
    from matrix.store.reading.selecting import moments_before

    return [
        (found.session_id, found.turn)
        for found in moments_before(RunTables(parent.path), condition, "--where")
    ]


def go_on(
    moments: Sequence[Checkpoint],
    requested: ContinuationRequest,
    project: Path,
    max_cost: float | None,
    overrides: Iterable[Override],
    *,
    caps: Iterable[Override] = (),
    elsewhere: str = "",
    trust: bool = False,
) -> Continuation:
    """Plan continuations of moments, with the packs of a project for what changes.

    Args:
        moments: Where they go on from.
        requested: What is to be other.
        project: Folder whose own packs come first.
        max_cost: Hard cap in US dollars.
        overrides: Limits that go over the parent's spec, lowest first.
        caps: Caps that their run was given later than its spec; those given here go over them.
        elsewhere: What the moments are from, if that was not made here.
        trust: Whether that may do all that it names; see :mod:`matrix.engine.prepare.trust`.

    Raises:
        BadInput: Every mistake.
    """
    layers = [*from_flags({"max_cost": max_cost}), *overrides]
    if elsewhere:
        require_code_trusted(moments, elsewhere, trusted=trust)
    found = continue_from(
        moments,
        requested,
        project=project,
        overrides=[*caps, *layers],
        allow_outside=trust or not elsewhere,  # in a run of one's own, one has named them
    )
    if elsewhere:
        given = [path for path, value, _ in layers if value is not None]
        require_trust(found.prepared, elsewhere, given, trusted=trust)
    return found


def go_on_in(
    parent: Run,
    moments: Sequence[Checkpoint],
    requested: ContinuationRequest,
    max_cost: float | None,
    overrides: Iterable[Override],
    *,
    trust: bool,
) -> Continuation:
    """:func:`go_on` with moments of a run, with the packs that it was planned with.

    Raises:
        BadInput: Every mistake.
    """
    own = is_made_here(parent.path, parent.file)
    elsewhere = "" if own else f"run {parent.id}"
    project = project_of_run(parent.path)
    return go_on(
        moments,
        requested,
        project,
        max_cost,
        overrides,
        caps=as_overrides(parent.file.caps_given),
        elsewhere=elsewhere,
        trust=trust,
    )
