"""A kind whose model uses tools: it reads notes and writes them until it answers."""

from __future__ import annotations

import orjson
from pydantic import BaseModel

from matrix.kinds.context import Context
from matrix.model.records import ChatMessage, Message, Tool
from tests.engine.mixed_kind import MixedKind

NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
TOOLS = (Tool("read", "Read a note.", NAME), Tool("write", "Write a note.", NAME))
MOST_STEPS = 8


class ErrandState(BaseModel):
    """What was called so far, as the model wrote it, and what was said in the end."""

    called: list[str] = []
    said: list[str] = []


class ErrandKind(MixedKind):
    """One errand in every turn: as many steps as the model takes, then its answer."""

    name = "errand"
    state_model: type[BaseModel] = ErrandState

    async def start(self, ctx: Context) -> ErrandState:  # type: ignore[override]
        return ErrandState()

    async def turn(self, ctx: Context, state: ErrandState) -> ErrandState:  # type: ignore[override]
        talk = [ChatMessage("user", f"Errand {ctx.turn}: see to the notes.")]
        called: list[str] = []
        for _ in range(MOST_STEPS):
            answer = await ctx.ask(
                "speaker", talk, tools=TOOLS, agent="clerk", tag=f"errand {ctx.turn}"
            )
            talk.append(answer.message)
            for call in answer.tool_calls:
                called.append(f"{call.name} {call.arguments}")
                done = orjson.dumps({"done": call.name}).decode()
                talk.append(ChatMessage("tool", done, tool_call_id=call.id))
            if not answer.tool_calls:
                break
        ctx.log.append(Message("table", "clerk", answer.text, ctx.turn))
        if ctx.turn >= 3:
            ctx.end("completed", "every errand is done")
        return ErrandState(called=[*state.called, *called], said=[*state.said, answer.text])

    async def finish(self, ctx: Context, state: ErrandState) -> None:  # type: ignore[override]
        ctx.score("score", float(len(state.called)))
