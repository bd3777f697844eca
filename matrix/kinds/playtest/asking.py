"""One question to one model, as a child for ``ctx.parallel`` or to be awaited alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from matrix.kinds.context import Context
from matrix.kinds.playtest import roles
from matrix.model.records import ChatMessage

Child = Callable[[Context], Awaitable[str]]


def asking(role: str, model: str, system: str, request: str, *, tokens: str = "") -> Child:
    """A child that asks ``role`` and gives the trimmed text; ``tokens`` names another limit."""
    messages = (ChatMessage("system", system), ChatMessage("user", request))

    async def ask(ctx: Context) -> str:
        answer = await ctx.ask(role, messages, model=model, max_tokens=roles.TOKENS[tokens or role])
        return answer.text.strip()

    return ask
