# ruff: noqa: N815  the file has the field names of the play-test document
"""A checkpoint as a file of its own: a session after a turn, and all it takes to play on elsewhere.

The first half is for people and other programs, in the words of the play-test document: history,
players, group, pulses, tangents, private moments. The second, ``continuation``, is what this
project plays on from: the plan, the state, the whole log and every text they refer to. A file is
untrusted input: it is bounded, and every mistake in it is told at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Final, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field

from matrix.model.documents import Document, check
from matrix.model.entries import Share, Tally, TurnDone
from matrix.model.errors import BadInput, Mistake
from matrix.model.records import (
    JSON,
    Event,
    Message,
    Outcome,
    Phase,
    Player,
    Score,
    SessionPart,
    SessionPlan,
)
from matrix.model.seeds import content_hash

MAX_BYTES: Final = 64 * 1024 * 1024
"""Largest file that is read."""

_MANY: Final = 200_000
Short = Annotated[str, Field(max_length=2_000)]
Words = Annotated[str, Field(max_length=2_000_000)]
Count = Annotated[int, Field(ge=0, lt=2**63)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class PlayerAgent(_Part):
    """A member of the group."""

    archetype: Short
    name: Short
    model: Short
    generatedBackstory: Words
    characterForStory: Words
    systemPrompt: Words
    mood: Short = ""


class Group(_Part):
    """Who sits at the table."""

    players: tuple[PlayerAgent, ...] = Field(max_length=100)
    spokesperson: PlayerAgent | None
    size: Count


class SessionConfig(_Part):
    """What the session was set up with."""

    story: Short
    storyGuide: Words
    systemPrompt: Words
    narratorModel: Short
    group: Group
    maxTurns: Count
    seed: Count


class HistoryMessage(_Part):
    """A line of the conversation. ``private`` names the player it passed to or from alone."""

    role: Literal["narrator", "spokesperson", "player"]
    content: Words
    turn: Count
    timestamp: float
    player: Short | None = None
    classification: Short | None = None
    private: Short | None = None


class Tangent(_Part):
    """A tangent; one under way has no end yet."""

    startTurn: Count
    endTurn: Count | None
    length: Count
    initiator: Short
    recoveryMethod: Short | None
    segueQuality: float | None


class PrivateMoment(_Part):
    """What the narrator told one player alone, and whether it paid off."""

    turn: Count
    target: Short
    content: Words
    response: Words
    payoffDetected: bool
    payoffTurn: Count | None = None


class ContinuedTally(_Part):
    """What the session had used: seconds of model time; per role calls, tokens in and out, cost."""

    clock_s: float = Field(ge=0)
    roles: Mapping[Short, tuple[Count, Count, Count, Count]] = Field(max_length=100)


class ContinuedPlan(_Part):
    """The session's plan; texts are in ``resources`` by content hash."""

    session_id: Short
    part: SessionPart
    order: Count
    round: Count
    seed: Count
    scenario: Short
    kind: Short
    levels: Mapping[Short, Short]
    options: Mapping[str, Any]
    roles: Mapping[Short, Short]
    resources: Mapping[Short, Short]
    prelude_id: Short | None
    max_turns: Count
    max_session_s: float = Field(gt=0)
    parent_session_id: Short | None = None
    parent_turn: Count | None = None
    parent_run: Short | None = None
    changed: Short = ""
    repeat: Count | None = None


class Continuation(_Part):
    """Everything that playing on takes."""

    kindVersion: Count
    stateVersion: Count
    plan: ContinuedPlan
    phase: Phase
    turn: Count
    state: Mapping[str, Any]
    log: tuple[tuple[Short, Short, Words, Count, Short], ...] = Field(max_length=_MANY)
    events: tuple[tuple[Short, Count, Words, Words, float | None, Short], ...] = Field(
        max_length=_MANY
    )
    scores: tuple[tuple[Short, float | None, Count | None, Short, Words, Short, Short], ...] = (
        Field(max_length=_MANY)
    )
    players: tuple[tuple[Short, Short, Short, bool, Short], ...] = Field(max_length=100)
    tally: ContinuedTally
    ended: tuple[Outcome, Words] | None
    at: float
    prelude: Any
    resources: Mapping[Short, Any] = Field(max_length=1_000)

    def session_plan(self) -> SessionPlan:
        """The plan that the session was played by."""
        return SessionPlan(**self.plan.model_dump())

    def checkpoint(self) -> TurnDone:
        """The whole session up to here as one checkpoint, with all of its log."""
        return TurnDone(
            session_id=self.plan.session_id,
            phase=self.phase,
            turn=self.turn,
            state=orjson.dumps(self.state),
            messages=tuple(Message(*line) for line in self.log),
            events=tuple(Event(*item) for item in self.events),
            scores=tuple(Score(*item) for item in self.scores),
            players=tuple(Player(*item) for item in self.players),
            tally=Tally(
                self.tally.clock_s,
                {role: Share(*share) for role, share in self.tally.roles.items()},
            ),
            ended=self.ended,
            versions=(self.kindVersion, self.stateVersion),
            at=self.at,
        )


class Checkpoint(_Part):
    """A session after a turn. ``timestamp`` is in milliseconds since 1970."""

    format: Literal[1] = 1
    run: Short
    turn: Count
    timestamp: float
    conversationHistory: tuple[HistoryMessage, ...] = Field(max_length=_MANY)
    playerAgents: tuple[PlayerAgent, ...] = Field(max_length=100)
    spokespersonId: Short
    sessionConfig: SessionConfig
    detectedPulses: tuple[Count, ...] = Field(max_length=_MANY)
    detectedTangents: tuple[Tangent, ...] = Field(max_length=_MANY)
    privateMoments: tuple[PrivateMoment, ...] = Field(max_length=_MANY)
    continuation: Continuation


def continuation_of(
    plan: SessionPlan, done: TurnDone, prelude: JSON, resources: JSON
) -> Continuation:
    """What playing on from ``done`` takes, which holds the whole session up to there."""
    value = {
        "kindVersion": done.versions[0],
        "stateVersion": done.versions[1],
        "plan": asdict(plan),
        "phase": done.phase,
        "turn": done.turn,
        "state": orjson.loads(done.state),
        "log": [tuple(item) for item in done.messages],
        "events": [tuple(item) for item in done.events],
        "scores": [tuple(item) for item in done.scores],
        "players": [tuple(item) for item in done.players],
        "tally": {"clock_s": done.tally.clock_s, "roles": dict(done.tally.roles)},
        "ended": done.ended,
        "at": done.at,
        "prelude": prelude,
        "resources": {name: resources[name] for name in plan.resources.values()},
    }
    return Continuation.model_validate(value)


def to_bytes(checkpoint: Checkpoint) -> bytes:
    """The file's content: JSON that people can read."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    return orjson.dumps(checkpoint.model_dump(mode="json"), option=options)


def from_bytes(data: bytes, source: str) -> Checkpoint:
    """Read a file's content.

    Raises:
        BadInput: It is too large, no JSON, or not a checkpoint; every mistake at once.
    """
    if len(data) > MAX_BYTES:
        told = f"{len(data):,} bytes; at most {MAX_BYTES:,} are read"
        raise BadInput([Mistake(source, None, "", told)])
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        told = f"not JSON ({error}); `matrix export` writes such files"
        raise BadInput([Mistake(source, None, "", told)]) from None
    found = value.get("format") if isinstance(value, dict) else None
    if isinstance(found, int) and found > 1:
        told = f"found {found}; this version of matrix reads format 1: upgrade it to read this file"
        raise BadInput([Mistake(source, None, "format", told)])
    checkpoint = check(Document(source, value, {}, {}), Checkpoint)
    if mistakes := list(_contradictions(checkpoint, source)):
        raise BadInput(mistakes)
    return checkpoint


def _contradictions(checkpoint: Checkpoint, source: str) -> list[Mistake]:
    """What the fields allow one by one, but not together."""
    there = checkpoint.continuation
    mistakes = [
        Mistake(
            source,
            None,
            f"continuation.plan.resources.{name}",
            f"found {key!r}, which is not in continuation.resources",
        )
        for name, key in there.plan.resources.items()
        if key not in there.resources
    ]
    mistakes += [
        Mistake(
            source,
            None,
            f"continuation.resources.{key}",
            "its content has another hash; was it edited?",
        )
        for key, value in there.resources.items()
        if content_hash(value) != key
    ]
    if checkpoint.turn != there.turn:
        told = f"found {checkpoint.turn}, but continuation.turn is {there.turn}"
        mistakes.append(Mistake(source, None, "turn", told))
    return mistakes
