"""The provider host: takes calls from sessions, gives back recorded answers.

For each call it asks the governor, sends one attempt when granted, settles it, and tries again
where that can help: the one retry layer of this project. The same call asked twice is one call.
An answer is handed over only when the governor has journalled it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from tenacity import RetryCallState
from tenacity.wait import wait_random_exponential

from matrix.admission.pricing import input_bound, usable
from matrix.engine.messages import Acquire, Granted, Recorded, Refused, Settle, ToGovernor
from matrix.engine.setup import ModelEntry
from matrix.engine.storable import MAX_REASON, storable_text
from matrix.model.errors import (
    Censored,
    DigestMismatch,
    ProviderError,
    Suspended,
)
from matrix.model.records import Answer, Call, CallKey, Failure, Usage
from matrix.providers.base import Provider, Reply

MAX_WAIT_S = 60.0
"""Longest pause before another attempt, whatever a provider asks for."""

TYPICAL_BYTES_PER_TOKEN = 4.0
"""For the estimate charged to tokens per minute; corrected when the attempt is over."""

_NO_USAGE = Usage()
_Said: TypeAlias = Granted | Recorded | Refused


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
        """
        self._providers, self._models = providers, models
        self._send, self._attempts = send, attempts
        self._sleep, self._clock = sleep, clock
        self._max_wait_s = max_wait_s
        self._backoff = wait_random_exponential(multiplier=1.0, max=max_wait_s)
        self._expected: dict[CallKey, asyncio.Future[_Said]] = {}
        self._running: dict[CallKey, asyncio.Future[Answer]] = {}

    def deliver(self, message: Granted | Recorded | Refused) -> None:
        """Hand over mail from the governor."""
        future = self._expected.pop(message.key, None)
        if future is not None and not future.done():
            future.set_result(message)

    async def close(self) -> None:
        """Let the providers close their connections."""
        for provider in self._providers.values():
            close = getattr(provider, "aclose", None)
            if close is not None:
                await close()

    async def ask(self, call: Call) -> Answer:
        """The answer to a call; final errors come back as answers with a failure.

        Raises:
            Censored: The cap cannot admit it.
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

    async def _answer(self, call: Call) -> Answer:
        entry = self._models[call.model]
        size = input_bound(call.messages, call.params.schema)
        request = Acquire(
            call.key,
            call.digest,
            call.order,
            call.role,
            call.model,
            entry.group,
            entry.tariff.bound(size, call.params.max_tokens),
            size / TYPICAL_BYTES_PER_TOKEN + call.params.max_tokens / 2,
        )
        tried = 0
        while True:
            said: _Said | None = await self._exchange(request)
            if isinstance(said, Granted):
                tried += 1
                said = await self._attempt(call, entry, said, last=tried >= self._attempts)
            if isinstance(said, Refused):
                raise Censored("cap") if said.reason == "cap" else Suspended(said.reason)
            if not isinstance(said, Recorded):
                continue
            if said.digest != call.digest:
                raise DigestMismatch(
                    f"call {call.key} of session {call.key.session_id} was recorded for another "
                    "request: prompts or code changed since; start a new run"
                )
            return said.answer

    async def _exchange(self, message: Acquire | Settle) -> _Said:
        future: asyncio.Future[_Said] = asyncio.get_running_loop().create_future()
        self._expected[message.key] = future
        self._send(message)
        return await future

    async def _attempt(
        self, call: Call, entry: ModelEntry, grant: Granted, *, last: bool
    ) -> _Said | None:
        """Send once and settle; ``None`` asks for another attempt."""
        started = self._clock()
        try:
            reply = await self._providers[entry.provider].complete(call, grant.attempt)
        except ProviderError as error:
            return await self._after_error(call, grant, error, started, last)
        except Exception as defect:  # or its hold would stay open, and block others at the cap
            return await self._after_error(call, grant, defect, started, last=True)
        took = self._clock() - started
        usage = reply.usage
        if usage is None or not usable(usage):
            return await self._exchange(
                Settle(
                    call.key,
                    grant.hold_id,
                    "presumed",
                    0,
                    _NO_USAGE,
                    took,
                    "",
                    _answer(call, reply, _NO_USAGE, 0),
                )
            )
        cost = entry.tariff.cost(usage)
        return await self._exchange(
            Settle(
                call.key,
                grant.hold_id,
                "settled",
                cost,
                usage,
                took,
                "",
                _answer(call, reply, usage, cost),
            )
        )

    async def _after_error(
        self, call: Call, grant: Granted, error: Exception, started: float, last: bool
    ) -> _Said | None:
        name = type(error).__name__
        retryable, unsent, pause = False, False, 0.0
        if isinstance(error, ProviderError):
            retryable, unsent = error.retryable, error.unsent
            pause = min(error.retry_after_s or 0.0, self._max_wait_s)
        final = last or not retryable
        answer = None
        if final:
            failure = Failure(name, storable_text(str(error)[:MAX_REASON]))
            answer = Answer("", _NO_USAGE, 0, 0.0, call.model, "error", failure)
        settle = Settle(
            call.key,
            grant.hold_id,
            "released" if unsent else "presumed",
            0,
            _NO_USAGE,
            self._clock() - started,
            name,
            answer,
            pause,
        )
        if final:
            return await self._exchange(settle)
        self._send(settle)
        await self._sleep(max(pause, self._backoff(_retry_state(grant.attempt))))
        return None


def _answer(call: Call, reply: Reply, usage: Usage, cost: int) -> Answer:
    text = storable_text(reply.text)
    return Answer(text, usage, cost, reply.duration_s, call.model, reply.finish_reason)


def _retry_state(attempt: int) -> RetryCallState:
    """What tenacity's wait strategies look at: only the number of the attempt."""
    state = RetryCallState(None, None, (), {})  # type: ignore[arg-type]
    state.attempt_number = attempt
    return state
