"""The same chat as a class with everything that a kind has: what one function stands for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from matrix.kinds.context import Context, ForkContext
from matrix.kinds.protocol import (
    Binding,
    PackLibrary,
    PreviousPlay,
    RoleInfo,
    RoleProfile,
    ScenarioPack,
)
from matrix.model.records import JSON, ChatMessage, Message


class SupportOptions(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    problem: str
    mood: str = "calm"
    turns: int = 4


class SupportState(BaseModel):
    agent: list[tuple[str, str]] = []
    customer: list[tuple[str, str]] = []
    said: str = ""


class SupportKind:
    name = "support"
    version = 1
    state_version = 1
    roles: tuple[RoleInfo, ...] = (
        RoleInfo("agent", "sim/gpt-4o-mini", "helps"),
        RoleInfo("customer", "sim/gpt-4o-mini", "asks"),
    )
    options_model: type[BaseModel] = SupportOptions
    state_model: type[BaseModel] = SupportState
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
        profile = [RoleProfile(one.name, roles[one.name], (1, 2, 4), 100, 50) for one in self.roles]
        return Binding({}, None, frozenset(roles.values()), tuple(profile))

    def rebind(
        self,
        kept: PreviousPlay,
        options: BaseModel,
        roles: Mapping[str, str],
        library: PackLibrary,
        pack: ScenarioPack | None = None,
    ) -> Binding:
        return self.bind(ScenarioPack("", "", "", "", {}), options, roles, library, 0)

    def fork(
        self, ctx: ForkContext, state: SupportState, changes: Mapping[str, JSON]
    ) -> SupportState:
        return state

    async def prelude(self, ctx: Context) -> JSON:
        return None

    async def start(self, ctx: Context) -> SupportState:
        options = SupportOptions.model_validate(ctx.plan.options)
        ctx.log.append(Message("table", "customer", options.problem, 0))
        told = f"You are a {options.mood} customer. {options.problem}"
        return SupportState(
            agent=[("system", "You help customers.")],
            customer=[("system", told)],
            said=options.problem,
        )

    async def turn(self, ctx: Context, state: SupportState) -> SupportState:
        options = SupportOptions.model_validate(ctx.plan.options)
        agent = [*state.agent, ("user", state.said)]
        reply = await ctx.ask("agent", _messages(agent))
        ctx.log.append(Message("table", "agent", reply.text, ctx.turn))
        customer = [*state.customer, ("user", reply.text)]
        answer = await ctx.ask("customer", _messages(customer))
        ctx.log.append(Message("table", "customer", answer.text, ctx.turn))
        if "solved" in answer.text or ctx.turn >= options.turns:
            ctx.end("completed", "")
        return SupportState(
            agent=[*agent, ("assistant", reply.text)],
            customer=[*customer, ("assistant", answer.text)],
            said=answer.text,
        )

    async def finish(self, ctx: Context, state: SupportState) -> None:
        ctx.score("resolved", float("solved" in state.said))
        ctx.score("replies", float(ctx.turn))
        ctx.score("score", float("solved" in state.said))


def _messages(said: list[tuple[str, str]]) -> list[ChatMessage]:
    return [ChatMessage(role, text) for role, text in said]  # type: ignore[arg-type]
