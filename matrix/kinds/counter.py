"""The ``counter`` kind: the smallest thing that is a session. The engine is tested with it.

Each turn asks a model to count on, some of the calls at once, and keeps the number in its state.
It needs no pack; any scenario name is a counter of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from matrix.kinds.context import Context, ForkContext
from matrix.kinds.protocol import (
    Binding,
    PackLibrary,
    PreviousPlay,
    RoleInfo,
    RoleProfile,
    ScenarioPack,
)
from matrix.kinds.text_files import read_text
from matrix.model.documents.yaml_documents import check, parse_document
from matrix.model.errors import BadInput, Mistake
from matrix.model.records import JSON, ChatMessage, Message

COUNTER = "# You are a counter"
_SYSTEM = f"{COUNTER}\n\nAnswer with the next whole number and nothing else."
_TALK = "word " * 100
_TALK_TOKENS = 125.0


class CounterOptions(BaseModel):
    """Options of the counter kind."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    step: int = Field(default=1, ge=1, le=1000, description="What is added to the score per turn.")
    turns: int = Field(default=10, ge=1, le=10_000, description="Turns until it is done.")
    width: int = Field(
        default=1, ge=1, le=64, description="Calls per turn; more than one are made at once."
    )
    shared_start: bool = Field(
        default=False, description="Ask once per round where to start, for every variant."
    )
    history: int = Field(
        default=0, ge=0, le=10_000, description="Made-up messages that every call takes along."
    )


class CounterPack(BaseModel):
    """``scenario.yaml`` of a counter."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    kind: str = Field(description="Always `counter`.")
    title: str = Field(description="Name for people.")
    start: int = Field(default=0, description="Where counting starts.")


class CounterState(BaseModel):
    """Where the counter is."""

    count: int
    said: int = 0


class CounterKind:
    """See the module."""

    name = "counter"
    version = 1
    state_version = 1
    roles = (RoleInfo("counter", "sim/gpt-4o-mini", "says the next number"),)
    options_model = CounterOptions
    state_model = CounterState
    score_range = (0.0, 100.0)
    lower_is_better: frozenset[str] = frozenset()
    score_names: frozenset[str] = frozenset({"score", "said"})

    def read_pack(self, folder: Path, name: str) -> ScenarioPack:
        path = folder / "scenario.yaml"
        pack = check(parse_document(read_text(path), str(path)), CounterPack)
        return ScenarioPack(name, self.name, pack.title, "", {"start": pack.start})

    def bind(
        self,
        pack: ScenarioPack,
        options: BaseModel,
        roles: Mapping[str, str],
        library: PackLibrary,
        max_turns: int,
    ) -> Binding:
        chosen = CounterOptions.model_validate(options.model_dump())
        model = roles["counter"]
        turns = float(min(chosen.turns, max_turns))
        calls = turns * chosen.width
        tokens_in = 40.0 + _TALK_TOKENS * chosen.history
        once = RoleProfile("counter", model, (1.0, 1.0, 1.0), 40.0, 2.0)
        return Binding(
            resources={"scenario": dict(pack.content)},
            prelude=pack.content["start"] if chosen.shared_start else None,
            models=frozenset({model}),
            profile=(RoleProfile("counter", model, (calls, calls, calls), tokens_in, 2.0),),
            prelude_profile=(once,) if chosen.shared_start else (),
            turns=(turns, turns, turns),
        )

    def rebind(
        self,
        kept: PreviousPlay,
        options: BaseModel,
        roles: Mapping[str, str],
        library: PackLibrary,
        pack: ScenarioPack | None = None,
    ) -> Binding:
        own = ScenarioPack(kept.plan.scenario, self.name, "", "", kept.texts["scenario"])
        return self.bind(pack or own, options, roles, library, kept.plan.max_turns)

    def fork(
        self, ctx: ForkContext, state: CounterState, changes: Mapping[str, JSON]
    ) -> CounterState:
        too_late = [name for name in ("scenario", "shared_start") if name in changes]
        if too_late:
            raise BadInput(
                Mistake(name, None, "", "only says where counting starts, and it has started")
                for name in too_late
            )
        return state

    async def prelude(self, ctx: Context) -> JSON:
        return await _next_number(ctx, int(ctx.resource("scenario")["start"]))

    async def start(self, ctx: Context) -> CounterState:
        start = ctx.prelude if ctx.prelude is not None else ctx.resource("scenario")["start"]
        return CounterState(count=int(start))

    async def turn(self, ctx: Context, state: CounterState) -> CounterState:
        options = CounterOptions.model_validate(ctx.plan.options)

        async def one(scope: Context) -> int:
            return await _next_number(scope, state.count, options.history)

        said = await ctx.parallel([one] * options.width) if options.width > 1 else [await one(ctx)]
        count = max(said)
        ctx.log.append(Message("table", "counter", str(count), ctx.turn))
        ctx.event("counted", subject=str(count), value=float(count))
        if ctx.turn >= options.turns:
            ctx.end("completed", "counted to the end")
        return CounterState(count=count, said=state.said + len(said))

    async def finish(self, ctx: Context, state: CounterState) -> None:
        options = CounterOptions.model_validate(ctx.plan.options)
        noise = ctx.rng(f"noise {options.step}").gauss(0.0, 1.0)
        ctx.score("score", min(100.0, max(0.0, 50.0 + options.step + noise)))
        ctx.score("said", float(state.said))


async def _next_number(ctx: Context, count: int, history: int = 0) -> int:
    answer = await ctx.ask(
        "counter",
        [
            ChatMessage("system", _SYSTEM),
            *conversation(history),
            ChatMessage("user", f"Count on from {count}."),
        ],
        max_tokens=16,
    )
    found = re.search(r"-?\d+", answer.text)
    return int(found[0]) if found else count + 1


@lru_cache(maxsize=8)
def conversation(length: int) -> tuple[ChatMessage, ...]:
    """A made-up conversation of this many messages of 500 characters, every one different."""
    return tuple(
        ChatMessage("assistant" if number % 2 else "user", f"{number}: {_TALK}")
        for number in range(length)
    )


KIND = CounterKind()
