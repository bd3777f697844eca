"""One question to one model, as a child for ``ctx.parallel`` or to be awaited alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from matrix.kinds.context import Context
from matrix.kinds.playtest.setup import roles
from matrix.model.records import ChatMessage

Child = Callable[[Context], Awaitable[str]]


def asking(
    role: str, model: str, system: str, request: str, *, agent: str = "", tag: str = ""
) -> Child:
    """A child that asks ``role`` and gives the trimmed text.

    ``agent`` is whom it is asked as, and ``tag`` the stage, which may have another limit.
    """
    messages = (ChatMessage("system", system), ChatMessage("user", request))

    async def ask(ctx: Context) -> str:
        answer = await ctx.ask(
            role,
            messages,
            model=model,
            max_tokens=roles.TOKENS.get(tag) or roles.TOKENS[role],
            agent=agent,
            tag=tag,
        )
        return answer.text.strip()

    return ask
