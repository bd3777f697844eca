"""One session of an explanation: a turn for each batch of failed sessions that is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import orjson
from pydantic import BaseModel, ConfigDict

from matrix.judging.asking import TRIES, Judge, judge_transcript
from matrix.judging.request import judge_request
from matrix.kinds.context import Context, ForkContext
from matrix.kinds.explanation.grouping import (
    CauseGroup,
    Cited,
    ShownFailure,
    checked,
    form,
    joined,
    material,
)
from matrix.kinds.protocol import (
    REPORTED,
    Binding,
    PackLibrary,
    PreviousPlay,
    RoleInfo,
    RoleProfile,
    ScenarioPack,
)
from matrix.model.errors import BadInput, Mistake
from matrix.model.records import JSON, Message

EXPLANATION: Final = "explanation"
ROLE: Final = "reader"
FAILURES: Final = "failures"
"""The only scenario, and what its sessions find their batches under."""

ANSWER_TOKENS: Final = 4_000
"""The most that an answer may have; reasoning that a model does has room of its own."""
_EXPECTED: Final = 900.0
_BYTES_PER_TOKEN: Final = 4.0


class ExplanationOptions(BaseModel):
    """It has none."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")


class ExplanationState(BaseModel):
    """What has been found so far.

    ``groups`` are (label, explanation, [(session, turn, why)]); ``dropped`` and ``unread`` say what
    was left out, and which batches gave no answer that could be read.
    """

    groups: list[tuple[str, str, list[tuple[str, int, str]]]] = []
    dropped: list[str] = []
    unread: list[str] = []


class ExplanationKind:
    """See the module."""

    name = EXPLANATION
    version = 1
    state_version = 1
    roles = (RoleInfo(ROLE, "sim/opus-4.5", "reads failed sessions and groups them", judges=True),)
    options_model = ExplanationOptions
    state_model = ExplanationState
    score_range = (0.0, 1.0)
    lower_is_better: frozenset[str] = frozenset()
    score_names: frozenset[str] = frozenset({"score", "groups", "dropped"})

    def read_pack(self, folder: Path, name: str) -> ScenarioPack:
        told = "is made of a run: `matrix report RUN --explain MODEL`"
        raise BadInput([Mistake(EXPLANATION, None, "", told)])

    def bind(
        self,
        pack: ScenarioPack,
        options: BaseModel,
        roles: Mapping[str, str],
        library: PackLibrary,
        max_turns: int,
    ) -> Binding:
        model = roles[ROLE]
        batches: Sequence[Any] = pack.content["batches"]
        sizes = [len(request_of(_shown(batch), ()).encode()) for batch in batches]
        calls, size = float(len(batches)), sum(sizes) / max(1, len(sizes))
        asked = RoleProfile(
            ROLE, model, (calls, calls, calls * TRIES), size / _BYTES_PER_TOKEN, _EXPECTED
        )
        return Binding(
            {FAILURES: pack.content}, None, frozenset({model}), (asked,), turns=(calls,) * 3
        )

    def rebind(
        self,
        kept: PreviousPlay,
        options: BaseModel,
        roles: Mapping[str, str],
        library: PackLibrary,
        pack: ScenarioPack | None = None,
    ) -> Binding:
        own = ScenarioPack(kept.plan.scenario, self.name, "", "", kept.texts[FAILURES])
        return self.bind(pack or own, options, roles, library, kept.plan.max_turns)

    def fork(
        self, ctx: ForkContext, state: ExplanationState, changes: Mapping[str, JSON]
    ) -> ExplanationState:
        return state

    async def prelude(self, ctx: Context) -> JSON:
        return None

    async def start(self, ctx: Context) -> ExplanationState:
        return ExplanationState()

    async def turn(self, ctx: Context, state: ExplanationState) -> ExplanationState:
        batches = ctx.resource(FAILURES)["batches"]
        shown, before = _shown(batches[ctx.turn - 1]), _groups(state)
        judge = Judge(ROLE, ctx.plan.roles[ROLE], form(), ANSWER_TOKENS, tag=EXPLANATION)
        (read,) = await judge_transcript(ctx, judge, material(shown, before))
        groups, dropped, unread = before, list(state.dropped), list(state.unread)
        if read.verdict is None:
            unread.append(f"batch {ctx.turn} of {len(batches)}: {read.why}")
        else:
            new, lost = checked(read.verdict, shown)
            groups, dropped = joined(before, new), [*dropped, *lost]
        if ctx.turn >= len(batches):
            ctx.end("completed", "every batch was read")
        return ExplanationState(
            groups=[(one.label, one.explanation, [*one.sessions]) for one in groups],
            dropped=dropped,
            unread=unread,
        )

    async def finish(self, ctx: Context, state: ExplanationState) -> None:
        batches = ctx.resource(FAILURES)["batches"]
        shown = sum(len(batch) for batch in batches)
        placed = {cited[0] for _, _, sessions in state.groups for cited in sessions}
        readable = len(state.unread) < len(batches)
        ctx.score("score", len(placed) / max(1, shown) if readable else None)
        ctx.score("groups", float(len(state.groups)))
        ctx.score("dropped", float(len(state.dropped)))
        told = orjson.dumps(state.model_dump(mode="json")).decode()
        ctx.log.append(Message(REPORTED, "system", told, ctx.turn))


def request_of(shown: Sequence[ShownFailure], so_far: Sequence[CauseGroup]) -> str:
    """What a model is sent of a batch, with its instructions."""
    asked = form()
    return asked.system + judge_request(material(shown, so_far), asked.closing)


def _shown(batch: Sequence[Sequence[Any]]) -> list[ShownFailure]:
    return [ShownFailure(*one) for one in batch]


def _groups(state: ExplanationState) -> list[CauseGroup]:
    return [
        CauseGroup(label, told, tuple(Cited(*one) for one in sessions))
        for label, told, sessions in state.groups
    ]


KIND = ExplanationKind()
