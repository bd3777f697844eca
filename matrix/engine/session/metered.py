"""Requests of a program of its own, as calls of the session that runs it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from matrix.agents.turns import WorkingTime
from matrix.engine.wire.providers import LITELLM
from matrix.engine.wire.setup import ModelEntry
from matrix.model.entries import RoleShare
from matrix.model.errors import Suspended
from matrix.model.records import JSON, Answer
from matrix.model.seeds import content_hash
from matrix.providers.price_map import bundled

if TYPE_CHECKING:
    from matrix.engine.session.durable_session import DurableSession
    from matrix.engine.session.scope import StepResults
    from matrix.gateway.address import GatewayAddress
    from matrix.gateway.desk import GatewayRequest
    from matrix.gateway.upstreams import Upstream, Upstreams

_DIGITS = 16
Work = Callable[["GatewayAddress", WorkingTime], Awaitable[JSON]]
"""What is done while the address is open; is told how long it has worked."""


class MeteredCalls:
    """The calls that come through one address.

    A program asks when it likes, so a call's slot is no number in a row: it is the content of the
    request, and how many of the same content came before it.
    """

    def __init__(
        self,
        session: DurableSession,
        step: StepResults,
        slot: str,
        role: str,
        agent: str,
        models: Sequence[str] | None = None,
    ) -> None:
        """``models`` are those that may be asked, of the run's; ``None`` for all of them."""
        self._session, self._step, self._slot = session, step, slot
        self._role, self._agent, self._models = role, agent, models
        self._seen: Counter[str] = Counter()
        self._used = RoleShare()
        self._working: WorkingTime | None = None

    async def during(self, work: Work, stand_in: str = "", port: int | None = None) -> JSON:
        """Do the work with an address open; what was used stands beside its result.

        With a ``port``, it is open at that port of sandboxes only.

        Raises:
            SessionStop: The run is ending, which requests were told; or an agent's were refused at
                a cap.
        """
        from matrix.gateway.address import open_address

        self._working = WorkingTime(time.monotonic)
        upstreams = self._session.upstreams(stand_in, self._models)
        result: JSON = None
        let_go: Suspended | None = None
        async with open_address(self._ask, upstreams, port=port) as address:
            try:
                result = await work(address, self._working)
            except Suspended as ending:  # raised again when what was asked is answered, and kept
                let_go = ending
        counts = address.desk.counts
        stop = let_go or counts.stopped or (None if self._models is None else counts.starved)
        if stop is not None:  # an agent that was refused money says nothing about its variant
            raise stop
        return {"result": result, "used": list(self._used)}

    def result(self, said: JSON) -> JSON:
        """The work's own result; what was used in an earlier life is counted now."""
        if self._working is None:
            self._session.meter.take(self._role, RoleShare(*said["used"]))
        return said["result"]

    async def _ask(self, request: GatewayRequest) -> Answer:
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
        assert self._working is not None
        with self._working.asking() as durations:
            answer = await self._session.calls.ask(call)
            durations.append(answer.duration_s)
        self._session.meter.add(self._role, answer)
        self._used = self._used.plus(answer)
        return answer


def upstreams_of(
    models: Mapping[str, ModelEntry], stand_in: str, names: Sequence[str] | None = None
) -> Upstreams:
    """A run's models as clients may ask for them: all, or those of these names.

    Where only one may be asked and it is simulated, it answers for every name.
    """
    from matrix.gateway.upstreams import Upstreams

    asked = [name for name in (models if names is None else names) if name in models]
    if names is not None and len(asked) == 1 and models[asked[0]].facts.simulated:
        stand_in = asked[0]
    return Upstreams({name: _upstream(name, models[name]) for name in asked}, stand_in)


def _upstream(name: str, entry: ModelEntry) -> Upstream:
    from matrix.gateway.upstreams import Upstream

    if entry.provider != LITELLM:
        return Upstream(name, entry.provider)
    facts, (provider, slash, _) = bundled().find(entry.target), entry.target.partition("/")
    if facts is None:
        return Upstream(name, provider)
    named = provider if slash else facts.provider
    return Upstream(name, named, facts.max_output_tokens, facts.context_window)
