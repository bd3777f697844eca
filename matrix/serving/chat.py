"""The server without its sockets: a request's body and headers in, what to send out.

It does not wait, send or log; how late an answer is to be sent and how its connection should end
are part of what it returns, and the clocks are handed in.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

import orjson

from matrix.providers.simulated.language.schemas import BadSchema
from matrix.providers.simulated.provider import SimulatedProvider
from matrix.serving.api_errors import ApiError, bad_request, unknown_model, wrong_key
from matrix.serving.bodies import Head, completion, events, garbled
from matrix.serving.faults import Fault, FaultPlan, error_of, reported
from matrix.serving.limits import Limiter
from matrix.serving.options import ANY, ECHO, ServeOptions
from matrix.serving.request import ChatRequest, read_request
from matrix.serving.stats import Stats
from matrix.serving.writing import (
    ResponseChoice,
    Speaker,
    Written,
    echo,
    repeating,
    simulated,
    write,
)

FAULT_HEADER: Final = "X-Matrix-Fault"
_JSON: Final = "application/json"
_EVENTS: Final = "text/event-stream; charset=utf-8"

Ending = Literal["whole", "cut", "hang", "reset"]
_ENDINGS: Final[Mapping[str, Ending]] = {"cut": "cut", "hang": "hang", "reset": "reset"}


@dataclass(slots=True)
class Outcome:
    """What to send for one request, and how.

    Attributes:
        parts: The body; several parts are sent ``pace_s`` seconds apart, for a stream in real time.
        delay_s: Seconds to wait before anything is sent.
        ending: ``whole`` sends everything; ``cut`` half of it; ``reset`` nothing; ``hang`` the
            first part of a stream or nothing, and then waits until the client goes.
        fault: The fault that it met; empty for none.
    """

    status: int
    headers: dict[str, str]
    parts: list[bytes]
    delay_s: float = 0.0
    pace_s: float = 0.0
    ending: Ending = "whole"
    fault: str = ""


class ChatService:
    """Answers requests for chat completions.

    Args:
        options: What to serve and how.
        clock: Seconds of a monotonic clock, for rate limits.
        wall: Seconds since 1970, for the ``created`` field.
    """

    def __init__(
        self, options: ServeOptions, clock: Callable[[], float], wall: Callable[[], float]
    ) -> None:
        self.options = options
        self.stats = Stats()
        self.faults = FaultPlan(options.faults)
        self._limiter = Limiter(options.rpm, options.tpm, options.burst, clock)
        self._wall, self._ordinal = wall, 0
        self._key = options.api_key and f"Bearer {options.api_key}".encode()
        self._simulated = simulated(SimulatedProvider(options.simulation, _never))
        self._real_time = options.real_time or options.simulation.time == "real"
        self._names = frozenset(options.models)

    def check_key(self, headers: Mapping[str, str]) -> None:
        """Let only those in that carry the key, if there is one.

        Raises:
            ApiError: 401.
        """
        if self._key:
            given = headers.get("Authorization", "").encode(errors="replace")
            if not hmac.compare_digest(given, self._key):
                raise wrong_key()

    def answer(self, body: bytes, headers: Mapping[str, str]) -> Outcome:
        """What to send to a request for a completion; its mistakes are outcomes as well."""
        try:
            self.check_key(headers)
            request = read_request(body, headers)
            outcome = self._admitted(request, self._speaker(request.model), headers)
        except ApiError as error:
            outcome = self.refused(error)
        except orjson.JSONEncodeError:
            outcome = self.refused(bad_request("The request is nested too deeply."))
        if outcome.ending in ("whole", "cut"):
            self.stats.answered(outcome.status)
        outcome.headers.update(self._limiter.headers())
        return outcome

    def refused(self, error: ApiError) -> Outcome:
        """An error as an outcome; it is sent at once."""
        headers = {"Content-Type": _JSON, **error.headers}
        return Outcome(error.status, headers, [error.body()])

    def _speaker(self, model: str) -> Speaker:
        if model not in self._names and ANY not in self._names:
            raise unknown_model(model, self.options.models)
        return echo if model == ECHO else self._simulated

    def _admitted(
        self, request: ChatRequest, speak: Speaker, headers: Mapping[str, str]
    ) -> Outcome:
        self._limiter.admit(request.model, request.tokens)
        used, sent = 0, headers.get("Authorization", "")
        try:
            fault = self._next_fault(headers.get(FAULT_HEADER))
            if fault and (error := error_of(fault, request.tokens, sent)):
                raise error
            written = write(request, speak)
            if fault and fault.name == "echo-answer" and request.schema is None:
                written = repeating(written, sent)
            used = written.used.input + written.used.output
        except BadSchema as error:
            raise bad_request(f"Invalid schema: {error}", code="invalid_schema") from None
        finally:
            self._limiter.settle(request.tokens, used)
        self.stats.accept(written.used)
        return self._outcome(request, written, fault)

    def _next_fault(self, asked: str | None) -> Fault | None:
        try:
            fault = self.faults.next(asked)
        except ValueError as error:
            raise bad_request(f"{FAULT_HEADER}: {error}") from None
        if fault is not None:
            self.stats.faults[fault.name] += 1
        return fault

    def _outcome(self, request: ChatRequest, written: Written, fault: Fault | None) -> Outcome:
        """A good answer, or what the fault makes of it."""
        name = fault.name if fault else ""
        choices = written.choices
        if name == "empty":
            choices = tuple(ResponseChoice("", "stop") for _ in choices)
        usage = reported(written.reported, fault)
        self._ordinal += 1
        head = Head(f"chatcmpl-sim{self._ordinal}", int(self._wall()), request.model)
        works_s = written.duration_s if self._real_time else 0.0
        outcome = Outcome(200, {"Content-Type": _JSON}, [], ending=_ENDINGS.get(name, "whole"))
        outcome.fault = name
        outcome.delay_s = self.options.latency_ms / 1000 + ((fault and fault.seconds) or 0.0)
        if request.stream:
            outcome.headers["Content-Type"] = _EVENTS
            parts = events(head, choices, usage, include_usage=request.include_usage)
            outcome.pace_s = works_s / len(parts)
        else:
            parts = [completion(head, choices, usage)]
            outcome.delay_s += works_s
        outcome.parts = [garbled(parts[0]), *parts[1:]] if name == "malformed" else parts
        return outcome


async def _never(seconds: float) -> None:
    raise AssertionError(f"the server itself waits, not its models; asked for {seconds} s")
