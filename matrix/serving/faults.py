"""Trouble on request: a client under test can be made to meet any failure, exactly or by chance.

A fault is named by a header of the request, else by the next entry of a schedule, else drawn from
chances by the ordinal of the request. Its text form is a name with arguments, for example
``429;retry-after=86400`` or ``slow;seconds=0.5``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Annotated, Final, NamedTuple

from pydantic import AfterValidator, Field, field_validator

from matrix.model.errors import did_you_mean
from matrix.model.records import Usage
from matrix.model.spec.run_spec import SpecModel
from matrix.providers.simulated.faults import uniform
from matrix.serving.api_errors import (
    SERVER,
    ApiError,
    bad_request,
    context_overflow,
    policy_refusal,
    wrong_key,
)

NONE: Final = "ok"
FAULTS: Final[Mapping[str, str]] = {
    NONE: "no fault; a pause in a schedule",
    "429": "rate limited; arguments: retry-after",
    "500": "internal server error",
    "502": "bad gateway",
    "503": "service unavailable",
    "504": "gateway timeout",
    "529": "overloaded",
    "auth": "401, wrong key",
    "context": "400, the messages do not fit the context window",
    "refusal": "400, refused by the content policy",
    "bad-request": "400, any other",
    "reset": "the connection is reset before an answer",
    "hang": "no answer until the client gives up; a stream stops after its first event",
    "slow": "a good answer, late; arguments: seconds",
    "cut": "the connection ends in the middle of the body",
    "malformed": "200 and a body that is no JSON",
    "empty": "200 and no text",
    "no-usage": "200 without usage",
    "absurd-usage": "200 with 10**12 tokens of each kind",
    "negative-usage": "200 with negative token counts",
    "job-fails": "of a job: it is taken, and failed when it is asked after",
    "job-endless": "of a job: it is taken, and never done",
    "echo-401": "401, whose message repeats the Authorization header of the request",
    "echo-500": "500, the same",
    "echo-answer": "200, whose text repeats it, unless it has to follow a schema",
}
"""Name of a fault -> what it does."""

ABSURD: Final = 10**12
MOST_SCHEDULED: Final = 100_000
_STATUS_MESSAGES: Final = {
    "500": ("The server had an error while processing your request. Sorry about that!", SERVER),
    "502": ("Bad gateway.", SERVER),
    "503": ("The engine is currently overloaded, please try again later.", SERVER),
    "504": ("The gateway got no answer in time.", SERVER),
    "529": ("Overloaded", "overloaded_error"),
}


class Fault(NamedTuple):
    """One fault; ``retry_after`` is sent as it was written, ``seconds`` is how long to be slow."""

    name: str
    retry_after: str | None = None
    seconds: float | None = None


def parse_fault(text: str) -> Fault:
    """Read the text form of a fault.

    Raises:
        ValueError: Unknown name or argument; the message says what is allowed.
    """
    name, *arguments = (part.strip() for part in text.split(";"))
    if name not in FAULTS:
        hint = did_you_mean(name, list(FAULTS))
        raise ValueError(f"unknown fault {name!r}{hint}; known: {', '.join(FAULTS)}")
    fault = Fault(name)
    for argument in arguments:
        key, _, value = argument.partition("=")
        fault = _with_argument(fault, key.strip(), value.strip())
    return fault


def _with_argument(fault: Fault, key: str, value: str) -> Fault:
    if fault.name == "429" and key == "retry-after" and value.isascii() and value.isprintable():
        return fault._replace(retry_after=value)
    if fault.name == "slow" and key == "seconds":
        seconds = float(value)
        if 0 <= seconds <= 86_400:
            return fault._replace(seconds=seconds)
    raise ValueError(
        f"fault {fault.name!r} cannot take {key}={value!r}; "
        "possible are '429;retry-after=SECONDS' and 'slow;seconds=SECONDS'"
    )


def _is_fault(text: str) -> str:
    parse_fault(text)
    return text


FaultText = Annotated[str, AfterValidator(_is_fault)]
Chance = Annotated[float, Field(ge=0, le=1)]


class ServerFaultSettings(SpecModel):
    """Which faults the server makes of its own accord."""

    chances: dict[FaultText, Chance] = Field(
        default_factory=dict, description="Fault -> probability per request; 1 at most in all."
    )
    schedule: tuple[FaultText, ...] = Field(
        default=(), description="Faults of the first requests, one each, before any chance."
    )
    seed: int = Field(default=1, ge=0, description="Seed of the draws.")
    retry_after_s: float = Field(default=1.0, ge=0, description="retry-after of a 429 fault.")
    slow_s: float = Field(default=5.0, ge=0, le=86_400, description="Delay of a 'slow' fault.")

    @field_validator("schedule", mode="before")
    @classmethod
    def _numbers_are_names(cls, value: object) -> object:
        return [str(item) for item in value] if isinstance(value, list) else value

    @field_validator("chances")
    @classmethod
    def _one_fault_per_request(cls, value: dict[str, float]) -> dict[str, float]:
        if (total := sum(value.values())) > 1 + 1e-9:
            raise ValueError(f"the chances add up to {total:g}; 1 at most")
        return value


class FaultPlan:
    """Says which fault the next request meets."""

    def __init__(self, settings: ServerFaultSettings) -> None:
        self._settings = settings
        self._pending = deque(map(parse_fault, settings.schedule))
        self._chances = [(parse_fault(text), each) for text, each in settings.chances.items()]
        self._ordinal = 0

    @property
    def pending(self) -> int:
        """Faults left in the schedule."""
        return len(self._pending)

    def schedule(self, names: Iterable[str]) -> None:
        """Append faults to the schedule; all of them or none.

        Raises:
            ValueError: One of them is no fault, or there are too many.
        """
        faults = [parse_fault(name) for name in names]
        if len(faults) + self.pending > MOST_SCHEDULED:
            raise ValueError(f"a schedule holds {MOST_SCHEDULED} faults at most")
        self._pending.extend(faults)

    def clear(self) -> None:
        """Forget the schedule."""
        self._pending.clear()

    def next(self, asked: str | None) -> Fault | None:
        """The fault of the next request; ``asked`` is what its header says.

        Raises:
            ValueError: ``asked`` is no fault.
        """
        if asked is not None:
            return self._filled(parse_fault(asked))
        if self._pending:
            return self._filled(self._pending.popleft())
        if self._chances:
            return self._drawn()
        return None

    def _drawn(self) -> Fault | None:
        self._ordinal += 1
        draw = uniform(self._settings.seed, "fault", self._ordinal)
        for fault, chance in self._chances:
            if draw < chance:
                return self._filled(fault)
            draw -= chance
        return None

    def _filled(self, fault: Fault) -> Fault | None:
        """``fault`` with the settings' defaults for what it leaves open."""
        if fault.name == "429" and fault.retry_after is None:
            return fault._replace(retry_after=f"{self._settings.retry_after_s:g}")
        if fault.name == "slow" and fault.seconds is None:
            return fault._replace(seconds=self._settings.slow_s)
        return None if fault.name == NONE else fault


def error_of(fault: Fault, tokens: int, authorization: str = "") -> ApiError | None:
    """The error that a fault answers with; ``None`` if it spoils a good answer instead.

    Args:
        fault: The fault.
        tokens: Size of the request's messages.
        authorization: The request's Authorization header.
    """
    if fault.name in _STATUS_MESSAGES:
        message, kind = _STATUS_MESSAGES[fault.name]
        return ApiError(int(fault.name), message, kind=kind)
    if fault.name == "429":
        message = f"Rate limit reached. Please try again in {fault.retry_after}s."
        headers = {"retry-after": str(fault.retry_after)}
        return ApiError(429, message, kind="requests", code="rate_limit_exceeded", headers=headers)
    if fault.name == "auth":
        return wrong_key()
    if fault.name in ("echo-401", "echo-500"):
        key = authorization.rpartition(" ")[2]
        message = f"Cannot use the API key {key} (Authorization: {authorization})."
        return ApiError(int(fault.name.rpartition("-")[2]), message, code="invalid_api_key")
    if fault.name == "context":
        return context_overflow(tokens)
    if fault.name == "refusal":
        return policy_refusal()
    if fault.name == "bad-request":
        return bad_request("This request was made to be refused.", code="invalid_value")
    return None


def reported(usage: Usage | None, fault: Fault | None) -> Usage | None:
    """The usage to report under a fault."""
    if fault is None or usage is None:
        return usage
    if fault.name == "no-usage":
        return None
    if fault.name == "absurd-usage":
        return Usage(input=ABSURD, output=ABSURD)
    if fault.name == "negative-usage":
        return Usage(input=-1 - usage.input, output=-1 - usage.output)
    return usage
