# ruff: noqa: N815  the file has the field names of the play-test document
"""A checkpoint as a file of its own: a session after a turn, and all it takes to play on elsewhere.

The first half is for people and other programs, in the words of the play-test document: history,
players, group, pulses, tangents, private moments. The second, ``continuation``, is what this
project plays on from (:mod:`matrix.model.moments.continuation`). A file is untrusted input: it is
bounded, and every mistake in it is told at once.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import orjson
from pydantic import Field

from matrix.model.documents.yaml_documents import Document, check
from matrix.model.errors import BadInput, Mistake, StoreError
from matrix.model.moments.continuation import MANY, ContinuationData, Count, FilePart, Short, Words

MAX_BYTES: Final = 64 * 1024 * 1024
"""Largest file that is written or read."""

FORMAT: Final = 2
"""The format that is written. Files of format 1 have no spec: they are read, not played on from."""

RunId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,120}$")]


class PlayerAgent(FilePart):
    """A member of the group."""

    archetype: Short
    name: Short
    model: Short
    generatedBackstory: Words
    characterForStory: Words
    systemPrompt: Words
    mood: Short = ""


class GroupRecord(FilePart):
    """Who sits at the table."""

    players: tuple[PlayerAgent, ...] = Field(max_length=100)
    spokesperson: PlayerAgent | None
    size: Count


class SessionConfig(FilePart):
    """What the session was set up with."""

    story: Short
    storyGuide: Words
    systemPrompt: Words
    narratorModel: Short
    group: GroupRecord
    maxTurns: Count
    seed: Count


class HistoryMessage(FilePart):
    """A line of the conversation. ``private`` names the player it passed to or from alone."""

    role: Literal["narrator", "spokesperson", "player"]
    content: Words
    turn: Count
    timestamp: float
    player: Short | None = None
    classification: Short | None = None
    private: Short | None = None


class Tangent(FilePart):
    """A tangent; one under way has no end yet."""

    startTurn: Count
    endTurn: Count | None
    length: Count
    initiator: Short
    recoveryMethod: Short | None
    segueQuality: float | None


class PrivateMoment(FilePart):
    """What the narrator told one player alone, and whether it paid off."""

    turn: Count
    target: Short
    content: Words
    response: Words
    payoffDetected: bool
    payoffTurn: Count | None = None


class CheckpointFile(FilePart):
    """A session after a turn. ``timestamp`` is in milliseconds since 1970."""

    format: Literal[1, 2] = FORMAT
    run: RunId
    turn: Count
    timestamp: float
    conversationHistory: tuple[HistoryMessage, ...] = Field(max_length=MANY)
    playerAgents: tuple[PlayerAgent, ...] = Field(max_length=100)
    spokespersonId: Short
    sessionConfig: SessionConfig
    detectedPulses: tuple[Count, ...] = Field(max_length=MANY)
    detectedTangents: tuple[Tangent, ...] = Field(max_length=MANY)
    privateMoments: tuple[PrivateMoment, ...] = Field(max_length=MANY)
    continuation: ContinuationData


def to_bytes(checkpoint: CheckpointFile) -> bytes:
    """The file's content: JSON that people can read.

    Raises:
        StoreError: It is larger than what can be read again.
    """
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    data = orjson.dumps(checkpoint.model_dump(mode="json"), option=options)
    if len(data) > MAX_BYTES:
        raise StoreError(
            f"the checkpoint after turn {checkpoint.turn} of session "
            f"{checkpoint.continuation.plan.session_id} has {len(data):,} bytes as a file; at most "
            f"{MAX_BYTES:,} can be read again: export an earlier turn, or replay it from its run"
        )
    return data


def from_bytes(data: bytes, source: str) -> CheckpointFile:
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
    if isinstance(found, int) and found > FORMAT:
        told = f"found {found}; this version of matrix reads formats up to {FORMAT}: upgrade it"
        raise BadInput([Mistake(source, None, "format", told)])
    checkpoint = check(Document(source, value, {}, {}), CheckpointFile)
    if mistakes := list(_contradictions(checkpoint, source)):
        raise BadInput(mistakes)
    return checkpoint


def _contradictions(checkpoint: CheckpointFile, source: str) -> list[Mistake]:
    """What the fields allow one by one, but not together."""
    there = checkpoint.continuation
    mistakes = [
        Mistake(source, None, f"continuation.{path}", told) for path, told in there.contradictions()
    ]
    if checkpoint.turn != there.turn:
        told = f"found {checkpoint.turn}, but continuation.turn is {there.turn}"
        mistakes.append(Mistake(source, None, "turn", told))
    if checkpoint.format == FORMAT and there.spec is None:
        told = "is missing; a file of format 2 has the resolved spec of its run"
        mistakes.append(Mistake(source, None, "continuation.spec", told))
    return mistakes
