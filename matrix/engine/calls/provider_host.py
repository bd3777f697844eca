"""The provider host: takes calls from sessions, gives back recorded answers.

For each call it asks the governor, sends one attempt when granted, settles it, and tries again
where that can help: the one retry layer of this project. The same call asked twice is one call.
An answer is handed over only when the governor has journalled it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Protocol

from tenacity import RetryCallState
from tenacity.wait import wait_random_exponential

from matrix.admission.headers import remaining
from matrix.admission.pricing import input_of
from matrix.admission.rates import Load
from matrix.engine.calls.attempts import NO_USAGE, Bill, FailedAttempt
from matrix.engine.calls.correspondence import Correspondence, Said
from matrix.engine.wire.messages import (
    Acquire,
    Granted,
    Recorded,
    Refused,
    Settle,
    Supply,
    ToGovernor,
)
from matrix.engine.wire.setup import ModelEntry
from matrix.engine.wire.storable import MAX_NAME, MAX_REASON, MAX_TROUBLE
from matrix.engine.wire.telemetry_events import AttemptWatch
from matrix.model.errors import (
    BlobsRefused,
    Censored,
    ProviderError,
    SessionCapReached,
    SessionStop,
    Suspended,
)
from matrix.model.money import NanoUSD
from matrix.model.records import Answer, Call, CallKey, Failure, ToolCall, Usage, storable_text
from matrix.model.request_digest import check_same_request
from matrix.providers.base import Provider, ProviderReply
from matrix.telemetry.process import SILENT

MAX_WAIT_S = 60.0
"""Longest pause before another attempt, whatever a provider asks for."""

TYPICAL_BYTES_PER_TOKEN = 4.0
"""For the estimate charged to tokens per minute; corrected when the attempt is over."""

_STOPS: dict[str, type[SessionStop]] = {
    "cap": Censored,
    "session-cap": SessionCapReached,
    "draining": Suspended,
}


class AnswerCache(Protocol):
    """Answers bought by earlier runs; must be quick, because it is asked on the event loop."""

    def find(self, call: Call, entry: ModelEntry) -> Answer | None:
        """The answer to this very call, with what it cost then; ``None`` if there is none."""
        ...

    def keep(self, call: Call, entry: ModelEntry, answer: Answer) -> None:
        """Remember a good answer."""
        ...

    def close(self) -> None:
        """Write what is waiting to be written; may block."""
        ...


class ProviderHost:
    """Answers calls through providers, under the governor's admission."""

    def __init__(
        self,
        providers: Mapping[str, Provider],
        models: Mapping[str, ModelEntry],
        send: Callable[[ToGovernor], None],
        *,
        attempts: int,
        sleep: Callable[[float], Awaitable[None]],
        max_wait_s: float = MAX_WAIT_S,
        clock: Callable[[], float] = time.perf_counter,
        cache: AnswerCache | None = None,
        watch: AttemptWatch | None = None,
        virtual: Collection[str] = (),
    ) -> None:
        """Take what one host needs.

        Args:
            providers: Provider name -> provider.
            models: Model name -> entry; its tariff bounds and prices every attempt.
            send: Posts a message to the governor.
            attempts: Attempts per call, the first included.
            sleep: How to wait before another attempt; simulated models in virtual time do not.
            max_wait_s: Longest pause before another attempt, and of a limit group after a 429.
            clock: For measuring attempts, in seconds.
            cache: Answers of earlier runs, looked up before anything is asked for.
            watch: Told how attempts went.
            virtual: Providers whose time is virtual: a pause of theirs takes none.
        """
        self._providers, self._models = providers, models
        self._governor = Correspondence(send)
        self._attempts = attempts
        self._sleep, self._clock = sleep, clock
        self._max_wait_s, self._virtual = max_wait_s, virtual
        self._cache, self._watch = cache, watch or AttemptWatch(SILENT)
        self._backoff = wait_random_exponential(multiplier=1.0, max=max_wait_s)
        self._running: dict[CallKey, asyncio.Future[Answer]] = {}
        self._failed: dict[CallKey, tuple[Usage, NanoUSD]] = {}
        self._troubles: dict[CallKey, str] = {}

    def deliver(self, message: Said) -> None:
        """Hand over mail from the governor."""
        self._governor.deliver(message)

    def resume(self) -> list[ToGovernor]:
        """What a new governor must hear; see :meth:`Correspondence.resume`."""
        return self._governor.resume()

    async def close(self) -> None:
        """Let the providers close their connections."""
        for provider in self._providers.values():
            close = getattr(provider, "aclose", None)
            if close is not None:
                await close()
        if self._cache is not None:
            await asyncio.to_thread(self._cache.close)

    async def ask(self, call: Call) -> Answer:
        """The answer to a call; final errors come back as answers with a failure.

        Raises:
            Censored: The cap of the run, or of the role, cannot admit it.
            SessionCapReached: The session's own cap cannot admit it.
            Suspended: The run is draining.
            DigestMismatch: The journal has an answer to another request under this key.
        """
        if (running := self._running.get(call.key)) is not None:
            return await asyncio.shield(running)
        done: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._running[call.key] = done
        try:
            answer = await self._answer(call)
        except BaseException as error:
            done.set_exception(error)
            done.exception()  # whoever joined sees it; nobody having joined is no defect
            raise
        else:
            done.set_result(answer)
            return answer
        finally:
            del self._running[call.key]
            self._failed.pop(call.key, None)
            self._troubles.pop(call.key, None)

    async def _answer(self, call: Call) -> Answer:
        entry = self._models[call.model]
        request = self._from_cache(call, entry) or _acquire(call, entry)
        tried = 0
        while True:
            said: Said | None = await self._governor.exchange(request)
            if isinstance(said, Granted):
                tried += 1
                said = await self._attempt(call, entry, said, last=tried >= self._attempts)
            if isinstance(said, Refused):
                if said.why == "parked":  # says nothing about the call, so it was no try of it
                    tried -= 1
                    continue
                before = self._troubles.get(call.key)
                more = f"; its last attempt: {before}" if before and said.why == "cap" else ""
                raise _STOPS[said.why](said.reason + more)
            if not isinstance(said, Recorded):
                continue
            check_same_request(call.key, said.digest, call.digest)
            return said.answer

    def _from_cache(self, call: Call, entry: ModelEntry) -> Supply | None:
        if self._cache is None or call.fresh:
            return None
        found = self._cache.find(call, entry)
        if found is None:
            return None
        answer = found._replace(cost=0, cached=True)
        return Supply(
            call.key,
            call.digest,
            call.role,
            call.model,
            answer,
            found.cost,
            call.agent,
            call.tag,
        )

    async def _attempt(
        self, call: Call, entry: ModelEntry, grant: Granted, *, last: bool
    ) -> Said | None:
        """Send once and settle; ``None`` asks for another attempt."""
        started = self._clock()
        try:
            reply = await self._providers[entry.provider].complete(call, grant.attempt)
        except (
            asyncio.CancelledError,
            BlobsRefused,
        ):  # it may be answered and billed, but nobody will hear
            self._governor.give_up(grant, "presumed", self._clock() - started)
            raise
        except ProviderError as error:
            return await self._after_error(call, entry, grant, error, started, last)
        except Exception as defect:  # or its hold would stay open, and block others at the cap
            return await self._after_error(call, entry, grant, defect, started, last=True)
        took = self._clock() - started
        usage, cost, doubt = Bill.of(reply, call, entry)
        bought = _answer(call, reply, usage, cost or 0)
        answer = self._in_all(call, bought)
        settle = Settle(
            call.key,
            grant.hold_id,
            "presumed" if cost is None else "settled",
            cost or 0,
            usage,
            took,
            doubt,
            answer,
            left=remaining(reply.headers),
            digest=call.digest,
        )
        self._watch.answered(call, entry, grant.attempt, settle, reply)
        said = await self._governor.exchange(settle)
        if self._cache is not None and cost is not None:
            self._cache.keep(call, entry, bought)
        return said

    def _in_all(self, call: Call, answer: Answer) -> Answer:
        """An answer with what the attempts before it were billed: a call costs all of them."""
        usage, cost = self._failed.get(call.key, (NO_USAGE, 0))
        if not cost and usage == NO_USAGE:
            return answer
        together = Usage(*(one + other for one, other in zip(usage, answer.usage, strict=True)))
        return answer._replace(usage=together, cost=answer.cost + cost)

    async def _after_error(
        self,
        call: Call,
        entry: ModelEntry,
        grant: Granted,
        error: Exception,
        started: float,
        last: bool,
    ) -> Said | None:
        ended = FailedAttempt.of(error, call, entry)
        final = last or not ended.retryable
        virtual = entry.provider in self._virtual
        pause = min(ended.pause_s, 0.0 if virtual else self._max_wait_s)
        answer = None
        if final:
            failure = Failure(ended.name, storable_text(str(error)[:MAX_REASON]))
            answer = Answer("", ended.usage, ended.cost, 0.0, call.model, "error", failure)
            answer = self._in_all(call, answer)
        elif ended.disposition == "settled":
            used = Answer("", ended.usage, ended.cost, 0.0, call.model)
            self._failed[call.key] = self._in_all(call, used)[1:3]
        settle = Settle(
            call.key,
            grant.hold_id,
            ended.disposition,
            ended.cost,
            ended.usage,
            self._clock() - started,
            ended.name,
            answer,
            pause,
            digest=call.digest,
            trouble="" if final else _trouble(entry, error),
        )
        wait = None if final else max(pause, self._backoff(_retry_state(grant.attempt)))
        self._watch.failed(call, entry, grant.attempt, settle, error, wait)
        if wait is None:
            return await self._governor.exchange(settle)
        self._troubles[call.key] = settle.trouble
        self._governor.settle(settle)
        await (asyncio.sleep(0) if virtual else self._sleep(wait))
        return None


def _trouble(entry: ModelEntry, error: Exception) -> str:
    """Who was asked and what went wrong, in one line."""
    said = " ".join(str(error).split())
    address = entry.api_base or f"{entry.provider} {entry.target}"
    return storable_text(f"{address}: {type(error).__name__}: {said}"[:MAX_TROUBLE])


def _acquire(call: Call, entry: ModelEntry) -> Acquire:
    size = input_of(call)
    return Acquire(
        call.key,
        call.digest,
        call.order,
        call.role,
        call.model,
        entry.group,
        entry.tariff.bound(size, call.params.max_tokens),
        Load(size / TYPICAL_BYTES_PER_TOKEN, call.params.max_tokens / 2),
        call.agent,
        call.tag,
        call.fresh,
    )


def _answer(call: Call, reply: ProviderReply, usage: Usage, cost: int) -> Answer:
    return Answer(
        storable_text(reply.text),
        usage,
        cost,
        reply.duration_s,
        call.model,
        reply.finish_reason,
        tool_calls=tuple(ToolCall(*map(storable_text, said)) for said in reply.tool_calls),
        reasoning=storable_text(reply.reasoning),
        carry=storable_text(reply.carry),
        answered_by=storable_text(reply.model[:MAX_NAME]),
        media=storable_text(reply.media),
        effect=reply.effect,
    )


def _retry_state(attempt: int) -> RetryCallState:
    """What tenacity's wait strategies look at: only the number of the attempt."""
    state = RetryCallState(None, None, (), {})  # type: ignore[arg-type]
    state.attempt_number = attempt
    return state
