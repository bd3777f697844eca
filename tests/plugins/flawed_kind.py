"""The ``flawed`` kind: a counter that goes wrong in a chosen way in its first rounds.

With its folder on the path of Python it is installed, as somebody else's kind would be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, Field

from matrix.kinds.context import Context
from matrix.kinds.counter import CounterKind, CounterOptions, CounterState
from matrix.kinds.protocol import Binding, PackLibrary, ScenarioPack
from matrix.model.errors import CallFailed
from matrix.model.records import JSON, ChatMessage

Flaw = Literal["none", "defect", "outage", "unscored", "scoreless", "failing"]

SPEAKING = "the key sk-abcdef1234567890 | was\n# refused"
"""What a provider might say: a key, and what markdown would take for its own."""


class FlawedOptions(CounterOptions):
    """What goes wrong, and where."""

    turns: int = 2
    flaw: Flaw = "none"
    rounds: int = Field(default=1_000, description="Rounds in which it does.")
    where: Literal["start", "turn", "finish", "prelude"] = "turn"


class FlawedKind(CounterKind):
    """See the module."""

    name = "flawed"
    options_model = FlawedOptions

    def bind(
        self,
        pack: ScenarioPack,
        options: BaseModel,
        roles: Mapping[str, str],
        library: PackLibrary,
        max_turns: int,
    ) -> Binding:
        own = FlawedOptions.model_validate(options.model_dump())
        known = {name: getattr(own, name) for name in CounterOptions.model_fields}
        return super().bind(pack, CounterOptions(**known), roles, library, max_turns)

    async def prelude(self, ctx: Context) -> JSON:
        _go_wrong(ctx, "prelude")
        return await super().prelude(ctx)

    async def start(self, ctx: Context) -> CounterState:
        _go_wrong(ctx, "start")
        return await super().start(ctx)

    async def turn(self, ctx: Context, state: CounterState) -> CounterState:
        _go_wrong(ctx, "turn")
        options = _options(ctx)
        await ctx.ask("counter", [ChatMessage("user", "Count on.")], max_tokens=16)
        if ctx.turn >= options.turns:
            failing = options.flaw == "failing" and ctx.plan.round < options.rounds
            ctx.end("failed" if failing else "completed", "as far as it goes")
        return CounterState(count=state.count + 1)

    async def finish(self, ctx: Context, state: CounterState) -> None:
        _go_wrong(ctx, "finish")
        options = _options(ctx)
        if options.flaw == "scoreless":
            return
        unread = options.flaw == "unscored" and ctx.plan.round < options.rounds
        noise = ctx.rng(f"noise {options.step}").gauss(0.0, 1.0)
        ctx.score("score", None if unread else 50.0 + noise)


def _options(ctx: Context) -> FlawedOptions:
    return FlawedOptions.model_validate(ctx.plan.options)


def _go_wrong(ctx: Context, where: str) -> None:
    options = _options(ctx)
    if options.where != where or ctx.plan.round >= options.rounds:
        return
    if options.flaw == "outage":
        raise CallFailed("AuthenticationFailed", f"{SPEAKING} in round {ctx.plan.round}")
    if options.flaw == "defect":
        _look_up(ctx.plan.round)


def _look_up(round_: int) -> None:
    held = {"sk-abcdef1234567890": round_}
    raise KeyError(f"no such mood among {sorted(held)} in round {round_}")


KIND = FlawedKind()
