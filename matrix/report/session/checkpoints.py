"""Exported checkpoints: a session's transcript cut after a turn, with all that playing on takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import orjson

from matrix.kinds.protocol import Kind
from matrix.kinds.reporting import OwnsDocument, SessionSoFar
from matrix.model.entries import TurnDone
from matrix.model.errors import BadInput, Mistake
from matrix.model.moments.checkpoint import Contents
from matrix.model.moments.checkpoint_file import CheckpointFile
from matrix.model.moments.continuation import continuation_of
from matrix.model.records import JSON, SessionPlan
from matrix.store.blobs.carrying import exported
from matrix.store.blobs.initial import initial_trees
from matrix.store.journal.transcript import Transcript


def turns_of(session: Transcript) -> list[int]:
    """Turns that a checkpoint can be exported of; 0 is the one before the first turn."""
    return [done.turn for done in session.turns if done.phase != "finish"]


class RunContent(NamedTuple):
    """What sessions of a run refer to.

    Attributes:
        run_id: The run.
        spec: Its resolved spec, as JSON.
        resources: Content hash -> text or data.
        files: What working folders are made of.
    """

    run_id: str
    spec: Mapping[str, Any]
    resources: Mapping[str, JSON]
    files: Contents


def checkpoint_of(
    run: RunContent, session: Transcript, turn: int, prelude: JSON, kind: Kind | None
) -> CheckpointFile:
    """The session as it stood after ``turn``.

    Args:
        run: What it refers to.
        session: The whole session.
        turn: The turn; 0 for what precedes the first.
        prelude: What the round's shared preparation made.
        kind: Its kind, whose document goes along; ``None`` where it is not installed.

    Raises:
        BadInput: It has no checkpoint of that turn; the message says which there are.
        StoreError: Its working folder is damaged, or too large for a file.
    """
    there = turns_of(session)
    if turn not in there:
        allowed = f"allowed: {there[0]} to {there[-1]}" if there else "it has no checkpoint yet"
        told = f"found {turn}; {allowed}, the turns of session {session.session_id}"
        raise BadInput([Mistake("--turn", None, "", told)])
    steps = _steps(session, turn)
    done = _joined(steps)
    so_far = _so_far(run, session.plan, steps, done, prelude)
    own: Mapping[str, JSON] = {}
    if isinstance(kind, OwnsDocument):
        own = kind.document(so_far).model_dump(mode="json")
    return CheckpointFile(
        run=run.run_id,
        turn=turn,
        timestamp=so_far.times[turn],
        document=own,
        continuation=continuation_of(
            so_far.plan,
            done,
            spec=run.spec,
            prelude=prelude,
            resources=run.resources,
            blobs=exported(run.files, done.tree, *initial_trees(so_far.texts.values())),
        ),
    )


def session_so_far(run: RunContent, session: Transcript, prelude: JSON) -> SessionSoFar:
    """The session, which has a checkpoint, after its newest turn, with what its end has added."""
    steps = _steps(session, turns_of(session)[-1])
    so_far = _so_far(run, session.plan, steps, _joined(steps), prelude)
    return replace(so_far, messages=session.messages, events=session.events, scores=session.scores)


def _so_far(
    run: RunContent, plan: SessionPlan, steps: list[TurnDone], done: TurnDone, prelude: JSON
) -> SessionSoFar:
    return SessionSoFar(
        run_id=run.run_id,
        plan=plan,
        turn=done.turn,
        players=done.players,
        messages=done.messages,
        events=done.events,
        state=orjson.loads(done.state),
        texts={name: run.resources[key] for name, key in plan.resources.items()},
        prelude=prelude,
        times={step.turn: round(step.at * 1000, 3) for step in steps},
        scores=done.scores,
    )


def _steps(session: Transcript, turn: int) -> list[TurnDone]:
    return [done for done in session.turns if done.phase != "finish" and done.turn <= turn]


def _joined(steps: list[TurnDone]) -> TurnDone:
    """All steps as one: the last one's state with everything that was added until then."""
    last = steps[-1]
    return TurnDone(
        session_id=last.session_id,
        phase=last.phase,
        turn=last.turn,
        state=last.state,
        messages=tuple(item for step in steps for item in step.messages),
        events=tuple(item for step in steps for item in step.events),
        scores=tuple(item for step in steps for item in step.scores),
        players=tuple(item for step in steps for item in step.players),
        tally=last.tally,
        ended=last.ended,
        versions=last.versions,
        at=last.at,
        tree=last.tree,
    )
