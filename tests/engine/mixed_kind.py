"""A kind that does everything a session may do: nested parallel blocks, draws, clock, events."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from pydantic import BaseModel

from matrix.kinds.context import Context, ForkContext
from matrix.kinds.protocol import Binding, PackLibrary, PreviousPlay, RoleInfo, ScenarioPack
from matrix.model.errors import CallFailed
from matrix.model.records import JSON, ChatMessage, Message, Player
from tests.engine.plans import MODEL


class MixedOptions(BaseModel):
    turns: int = 3


class MixedState(BaseModel):
    """What the session remembers: everything it heard, drew and saw on the clock."""

    heard: list[str] = []
    draws: list[float] = []
    clock: list[float] = []


class MixedKind:
    """Three turns; in each, one call, then two children at once (one of them with two more)."""

    name = "mixed"
    version = 1
    state_version = 1
    roles: tuple[RoleInfo, ...] = (RoleInfo("speaker", MODEL, "says a word"),)
    options_model: type[BaseModel] = MixedOptions
    state_model: type[BaseModel] = MixedState
    score_range = (0.0, 1.0)
    lower_is_better: frozenset[str] = frozenset()

    def read_pack(self, folder: Path, name: str) -> ScenarioPack:
        return ScenarioPack(name, self.name, name, "", {})

    def bind(
        self,
        pack: ScenarioPack,
        options: BaseModel,
        roles: Mapping[str, str],
        library: PackLibrary,
        max_turns: int,
    ) -> Binding:
        return Binding({}, None, frozenset({MODEL}), ())

    def rebind(
        self,
        kept: PreviousPlay,
        options: BaseModel,
        roles: Mapping[str, str],
        library: PackLibrary,
        pack: ScenarioPack | None = None,
    ) -> Binding:
        return Binding({}, None, frozenset({MODEL}), ())

    def fork(self, ctx: ForkContext, state: MixedState, changes: Mapping[str, JSON]) -> MixedState:
        return state

    async def prelude(self, ctx: Context) -> JSON:
        return [await say(ctx, "name one"), await say(ctx, "name two")]

    async def start(self, ctx: Context) -> MixedState:
        for index, name in enumerate(ctx.prelude or ["Ada"]):
            ctx.player(Player(name, "explorer", MODEL, index == 0, "calm"))
        opening = await say(ctx, "open")
        ctx.log.append(Message("table", "speaker", opening, ctx.turn))
        return MixedState(heard=[opening])

    async def turn(self, ctx: Context, state: MixedState) -> MixedState:
        first = await say(ctx, f"after {state.heard[-1]}")
        nested, alone = await ctx.parallel([_pair, _one(first)])
        ctx.log.append(Message("table", "speaker", f"{first} {nested} {alone}", ctx.turn))
        heard = [*(message.text for message in ctx.log.tail("table", 2)), nested, alone]
        last = await say(ctx, " ".join(heard))
        ctx.event("turn", detail=last, value=ctx.elapsed_s)
        if ctx.turn >= MixedOptions.model_validate(ctx.plan.options).turns:
            ctx.end("completed", "said enough")
        return MixedState(
            heard=[*state.heard, *heard, last],
            draws=[*state.draws, ctx.rng("a").random(), ctx.rng("a").random()],
            clock=[*state.clock, ctx.elapsed_s],
        )

    async def finish(self, ctx: Context, state: MixedState) -> None:
        verdict = await say(ctx, "verdict")
        ctx.score("score", len(verdict) / 100, reason=verdict)
        ctx.score("draws", sum(state.draws))


async def say(ctx: Context, text: str) -> str:
    return (await ctx.ask("speaker", [ChatMessage("user", text)], max_tokens=32)).text


async def _pair(ctx: Context) -> str:
    """A child that goes parallel again, and has a draw and an event of its own."""
    ctx.event("pair", value=ctx.rng("a").random())
    both = await ctx.parallel([_one("left"), _one("right")])
    return "+".join(both)


def _one(text: str) -> Callable[[Context], Awaitable[str]]:
    async def ask(ctx: Context) -> str:
        said = await say(ctx, text)
        ctx.event("child", subject=text, detail=said, value=ctx.elapsed_s)
        return said

    return ask


class ForgivingKind(MixedKind):
    """Goes on when a call fails, as kinds may."""

    async def turn(self, ctx: Context, state: MixedState) -> MixedState:
        try:
            await ctx.parallel([_one("left"), _one("right")])
        except CallFailed as failure:
            ctx.event("shrugged", detail=failure.error_class)
        return await super().turn(ctx, state)
