# ruff: noqa: N815  the file has field names as other programs write them
"""What an exported checkpoint is played on from: plan, state, log, texts, spec, working folder.

Everything that a session refers to by hash is in it, so that it needs neither its run nor the
machine that it was played on. It is read from untrusted files: every part is bounded, and whatever
has a hash is compared with it.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Final

import orjson
from pydantic import BaseModel, ConfigDict, Field

from matrix.model.entries import RoleShare, Tally, TurnDone
from matrix.model.lines import is_plain_name
from matrix.model.moments.checkpoint import HeldContents
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
from matrix.model.seeds import bytes_hash, content_hash

MANY: Final = 200_000
"""Most items of any list in the file."""
_LATEST_S: Final = 1e11
"""Seconds since 1970: some thousand years from now."""

Short = Annotated[str, Field(max_length=2_000)]
Words = Annotated[str, Field(max_length=2_000_000)]
Count = Annotated[int, Field(ge=0, lt=2**63)]
Share = Annotated[float, Field(ge=0, le=1)]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class FilePart(BaseModel):
    """Base of every part of the file: immutable, and unknown keys are mistakes."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid", allow_inf_nan=False)


class ContinuedTally(FilePart):
    """What the session had used: seconds of model time; per role calls, tokens in and out, cost."""

    clock_s: float = Field(ge=0)
    roles: Mapping[Short, tuple[Count, Count, Count, Count]] = Field(max_length=100)


class ContinuedPlan(FilePart):
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
    max_turns: int = Field(ge=1, lt=2**63)
    max_session_s: float = Field(gt=0)
    parent_session_id: Short | None = None
    parent_turn: Count | None = None
    parent_run: Short | None = None
    changed: Short = ""
    repeat: Count | None = None
    params: Mapping[Short, Any] = Field(default_factory=dict)


class ContinuedFolder(FilePart):
    """A working folder: its tree, and by content hash every blob that it is made of, as base64."""

    tree: Hash
    blobs: Mapping[Hash, str] = Field(max_length=MANY)

    def contents(self, source: str) -> HeldContents:
        """What the blobs hold; ``source`` is where they were read, for messages."""
        return HeldContents(
            source, {digest: b64decode(text) for digest, text in self.blobs.items()}
        )

    def damaged(self) -> list[str]:
        """The hashes of blobs that are no base64, or of another content."""
        return [digest for digest, text in self.blobs.items() if not _holds(text, digest)]


class ContinuationData(FilePart):
    """Everything that playing on takes.

    ``spec`` is the run's resolved spec, which files of format 1 have not; ``folder`` the session's
    working folder, for kinds that have one.
    """

    kindVersion: Count
    stateVersion: Count
    plan: ContinuedPlan
    phase: Phase
    turn: Count
    state: Mapping[str, Any]
    log: tuple[
        tuple[Short, Short, Words, Count, Short, Share | None]
        | tuple[Short, Short, Words, Count, Short],
        ...,
    ] = Field(max_length=MANY)
    events: tuple[
        tuple[Short, Count, Words, Words, float | None, Short, Mapping[str, Any] | None]
        | tuple[Short, Count, Words, Words, float | None, Short],
        ...,
    ] = Field(max_length=MANY)
    scores: tuple[tuple[Short, float | None, Count | None, Short, Words, Short, Short], ...] = (
        Field(max_length=MANY)
    )
    players: tuple[tuple[Short, Short, Short, bool, Short], ...] = Field(max_length=100)
    tally: ContinuedTally
    ended: tuple[Outcome, Words] | None
    at: Annotated[float, Field(ge=0, le=_LATEST_S)]
    prelude: Any
    resources: Mapping[Short, Any] = Field(max_length=1_000)
    spec: Mapping[str, Any] | None = None
    folder: ContinuedFolder | None = None

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
                {role: RoleShare(*share) for role, share in self.tally.roles.items()},
            ),
            ended=self.ended,
            versions=(self.kindVersion, self.stateVersion),
            at=self.at,
            tree="" if self.folder is None else self.folder.tree,
        )

    def contradictions(self) -> list[tuple[str, str]]:
        """What the fields allow one by one, but not together: fields with messages."""
        found = [
            (f"plan.resources.{name}", f"found {key!r}, which is not in continuation.resources")
            for name, key in self.plan.resources.items()
            if key not in self.resources
        ]
        found += [
            (f"resources.{key}", _EDITED)
            for key, value in self.resources.items()
            if content_hash(value) != key
        ]
        if not is_plain_name(self.plan.scenario):
            found.append(("plan.scenario", f"found {self.plan.scenario[:80]!r}; it is no name"))
        if self.folder is not None:
            found += [(f"folder.blobs.{digest}", _EDITED) for digest in self.folder.damaged()]
            if self.folder.tree not in self.folder.blobs:
                found.append(("folder.tree", "is not in continuation.folder.blobs"))
        return found


_EDITED: Final = "its content has another hash; was it edited?"


def _holds(text: str, digest: str) -> bool:
    """Whether ``text`` is the base64 of the content with this hash."""
    try:
        return bytes_hash(b64decode(text, validate=True)) == digest
    except (binascii.Error, ValueError):
        return False


def continuation_of(
    plan: SessionPlan,
    done: TurnDone,
    *,
    spec: Mapping[str, Any],
    prelude: JSON,
    resources: Mapping[str, JSON],
    blobs: Mapping[str, bytes],
) -> ContinuationData:
    """What playing on from a checkpoint takes.

    Args:
        plan: The session.
        done: The checkpoint, with the whole session up to there in it.
        spec: The run's resolved spec, as JSON.
        prelude: What the round's shared preparation made.
        resources: Content hash -> text or data, at least those that the plan names.
        blobs: Content hash -> content, for everything that the checkpoint's tree is made of.
    """
    packed = {digest: b64encode(content).decode() for digest, content in blobs.items()}
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
        "spec": spec,
        "folder": {"tree": done.tree, "blobs": packed} if done.tree else None,
    }
    return ContinuationData.model_validate(value)
