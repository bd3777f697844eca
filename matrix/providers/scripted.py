"""The fake to hand in instead of patching: a provider whose answers are a function.

Tests and users write what a model should say, as ordinary code::

    provider = ScriptedProvider(lambda call, attempt: f"{call.role} says hello")

The function may return text, a whole :class:`ProviderReply`, raise one of this project's provider
errors, or be a coroutine that does any of these. Every call it was asked is kept in ``asked``.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from matrix.model.records import Call, Usage
from matrix.providers.base import ProviderReply

Scripted: TypeAlias = ProviderReply | str
Handler: TypeAlias = Callable[[Call, int], Scripted | Awaitable[Scripted]]


class ScriptedProvider:
    """Answers with ``handler(call, attempt)``.

    Plain text becomes a reply with a usage of one token per four characters and a duration of
    zero. Whatever the handler raises passes through unchanged.
    """

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self.asked: list[tuple[Call, int]] = []

    async def complete(self, call: Call, attempt: int) -> ProviderReply:
        """Answer attempt number ``attempt`` (from 1) of ``call`` as the handler says."""
        self.asked.append((call, attempt))
        said = self._handler(call, attempt)
        if inspect.isawaitable(said):
            said = await said
        if isinstance(said, ProviderReply):
            return said
        read = sum(len(message.content) for message in call.messages)
        return ProviderReply(said, Usage(input=-(-read // 4), output=-(-len(said) // 4)), 0.0)
