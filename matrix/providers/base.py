"""What a provider is: something that answers one attempt of one call, or raises.

A provider knows nothing of money, rates, retries or sessions; those belong to admission and the
engine. Real models, simulated ones and the scripted fake all stand behind this one method.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from matrix.model.money import NanoUSD
from matrix.model.records import Call, ToolCall, Usage


class ProviderReply(NamedTuple):
    """What came back from one attempt.

    ``usage`` is ``None`` when the provider reported none; the attempt's hold is then presumed
    spent in full. ``duration_s`` is the working time to charge to the session's clock: measured
    for real models, drawn for simulated ones. ``headers`` carries rate-limit headers in lower
    case, for the limiter to correct its levels by. ``model`` is the model that the provider says
    has answered, if it says so. ``reasoning``, ``carry``, ``media``
    and ``effect`` are as in :class:`Answer`. ``billed`` is what an agent says its turn cost,
    ``None`` if it does not say; of models the tariff says it. ``doubt`` is why it is not believed.
    ``wrote`` is what the model wrote in an answer whose ``text`` is a body in a client's shape.
    """

    text: str
    usage: Usage | None
    duration_s: float
    finish_reason: str = "stop"
    headers: Mapping[str, str] = {}
    model: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    carry: str = ""
    media: str = ""
    billed: NanoUSD | None = None
    doubt: str = ""
    effect: str = ""
    wrote: str = ""

    @property
    def written(self) -> str:
        """All that the model wrote and was billed for, as far as it can be seen."""
        if self.media:  # a body in somebody else's shape, most of which is no text of the model's
            return self.wrote
        return "".join(
            (self.text, self.reasoning, *(call.name + call.arguments for call in self.tool_calls))
        )


class Provider(Protocol):
    """Answers attempts. Implementations must be safe for many concurrent calls on one loop."""

    async def complete(self, call: Call, attempt: int) -> ProviderReply:
        """Answer attempt number ``attempt`` (from 1) of ``call``.

        Raises:
            ProviderError: One of this project's own types, never a library's.
        """
        ...
