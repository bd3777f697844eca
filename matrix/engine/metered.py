"""Requests of a program of its own, as calls of the session that runs it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from matrix.engine.catalogue import LITELLM
from matrix.engine.setup import ModelEntry
from matrix.model.records import JSON, Answer
from matrix.model.seeds import content_hash
from matrix.providers.price_map import bundled

if TYPE_CHECKING:
    from matrix.engine.scope import Step
    from matrix.engine.session import DurableSession
    from matrix.gateway.desk import Request
    from matrix.gateway.upstreams import Upstream, Upstreams
    from matrix.kinds.context import MeteredAddress

_DIGITS = 16


class MeteredCalls:
    """The calls that come through one address.

    A program asks when it likes, so a call's slot is no number in a row: it is the content of the
    request, and how many of the same content came before it.
    """

    def __init__(
        self, session: DurableSession, step: Step, slot: str, role: str, agent: str
    ) -> None:
        self._session, self._step, self._slot = session, step, slot
        self._role, self._agent = role, agent
        self._seen: Counter[str] = Counter()

    async def during(
        self, work: Callable[[MeteredAddress], Awaitable[JSON]], stand_in: str = ""
    ) -> JSON:
        """Do the work with an address open.

        Raises:
            SessionStop: The run is ending, which requests were told.
        """
        from matrix.gateway.address import open_address

        async with open_address(self._ask, self._session.upstreams(stand_in)) as address:
            result = await work(address)
        if address.desk.counts.stopped is not None:
            raise address.desk.counts.stopped
        return result

    async def _ask(self, request: Request) -> Answer:
        content = content_hash(
            [
                self._role,
                request.model,
                [message.parts for message in request.messages],
                request.params.parts,
                None
                if request.raw is None
                else [request.raw.shape, request.raw.body.decode(errors="replace")],
            ],
            length=_DIGITS,
        )
        place = f"{self._slot}.{content}.{self._seen[content]}"
        self._seen[content] += 1
        call = self._session.metered_call(
            self._step, place, request, content, self._role, self._agent
        )
        answer = await self._session.calls.ask(call)
        self._session.meter.add(self._role, answer)
        return answer


def upstreams_of(models: Mapping[str, ModelEntry], stand_in: str) -> Upstreams:
    """A run's models as clients may ask for them."""
    from matrix.gateway.upstreams import Upstreams

    return Upstreams({name: _upstream(name, entry) for name, entry in models.items()}, stand_in)


def _upstream(name: str, entry: ModelEntry) -> Upstream:
    from matrix.gateway.upstreams import Upstream

    if entry.provider != LITELLM:
        return Upstream(name, entry.provider)
    facts, (provider, slash, _) = bundled().find(entry.target), entry.target.partition("/")
    if facts is None:
        return Upstream(name, provider)
    named = provider if slash else facts.provider
    return Upstream(name, named, facts.max_output_tokens, facts.context_window)
