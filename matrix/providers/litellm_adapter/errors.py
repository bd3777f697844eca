"""Translates what litellm and the libraries under it raise into this project's errors.

litellm names its errors by searching the provider's text, so a prompt that happens to say "rate
limit" can turn a server error into another class. Money hangs on the class here: some errors prove
that nothing was billed. So the HTTP status, where there was one, decides whether a request was
refused or may have been answered, and litellm's class only refines it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from matrix.model.errors import (
    AuthenticationFailed,
    ContentRefused,
    ContextOverflow,
    MalformedAnswer,
    ProviderError,
    ProviderTimeout,
    ProviderUnavailable,
    RateLimited,
    RequestRejected,
)
from matrix.providers.litellm_adapter.foreign import kind_of
from matrix.providers.litellm_adapter.retry_after import retry_after_s
from matrix.telemetry.redaction import NOTHING_KNOWN, Redactor

LONGEST_MESSAGE = 500
_READ_AT_MOST = 5_000
_DEEPEST_CHAIN = 12


class Unreachable(ProviderUnavailable):
    """No connection was made, so nothing was sent and nothing can be billed."""

    unsent: ClassVar[bool] = True


class AnswerRefused(ContentRefused):
    """The model answered with a refusal, or its answer was held back: asked, and billed."""

    unsent: ClassVar[bool] = False


_NO_MONEY = re.compile(r"(?i)insufficient.{0,9}(quota|balance|funds|credit)|your current quota")
_TOO_LONG = re.compile(
    r"(?i)context.{0,3}(length|window|size|limit)|prompt is too long|maximum.{0,12} (length|tokens)"
    r"|too many (input )?tokens|request.too.large"
)
_MODERATED = re.compile(r"(?i)moderation|content.{0,3}(policy|filter)|flagged|safety")
_COLLIDED = frozenset({409, 425, 498, 499})
"""Conflict, too early, capacity, closed: nothing is wrong with the request."""
_PREFIX = re.compile(r"^(?:litellm\.\w+: |\w+Error: |\w+Exception - )+")


def translate(
    error: BaseException, *, target: str, now: float, redactor: Redactor = NOTHING_KNOWN
) -> ProviderError:
    """This project's error for a foreign one.

    Args:
        error: Whatever came out of a call; its causes are looked at too.
        target: Model name, for the message.
        now: Unix time in seconds, for waits given as a date.
        redactor: Takes secrets out of the message.
    """
    if isinstance(error, ProviderError):
        return _cleaned(error, redactor)
    chain = list(_chain(error))
    whole = redactor.values(str(getattr(error, "message", None) or error))
    text = whole[:_READ_AT_MOST]  # cut after known secrets are out, or half of one might stay
    status = next(filter(None, map(_status, reversed(chain))), None)
    kind = _kind(chain, status, text)
    text = text.partition("Traceback (most recent call last)")[0]
    said = _PREFIX.sub("", " ".join(redactor.text(text).split())) or type(error).__name__
    code = f"HTTP {status}: " if status and status >= 400 else ""
    wait = retry_after_s(_headers(chain), now, text) if kind.retryable else None
    return kind(f"{target}: {code}{said}"[:LONGEST_MESSAGE], retry_after_s=wait)


def _cleaned(error: ProviderError, redactor: Redactor) -> ProviderError:
    """This project's own errors may quote an answer, or the address that one redirects to."""
    said = str(error)
    text = redactor.text(said)[:LONGEST_MESSAGE]
    if text == said:
        return error
    return type(error)(text, retry_after_s=error.retry_after_s, usage=error.usage)


def _kind(chain: list[BaseException], status: int | None, text: str) -> type[ProviderError]:
    kinds = [found for error in chain if (found := kind_of(error)) is not None]
    if _is_unsent(chain):
        return Unreachable
    own = next((found for found in kinds if not isinstance(found, str)), None)
    if ProviderTimeout in kinds and (status is None or status >= 500):
        return ProviderTimeout
    if status is None:
        return own or ProviderUnavailable
    if status < 400:
        return AnswerRefused if own is ContentRefused else MalformedAnswer
    if status >= 500:
        return ProviderTimeout if status == 504 else ProviderUnavailable
    return _refusal(status, own, text)


def _is_unsent(chain: list[BaseException]) -> bool:
    """Whether no connection was made.

    litellm's transport says so of every failure of a socket, even of one that broke after the
    request, and of requests that it cancels; so what lies below it decides.
    """
    if any(isinstance(error, asyncio.CancelledError) for error in chain):
        return False
    below = [error for error in chain if type(error).__module__.startswith("aiohttp.")]
    return any(kind_of(error) == "unsent" for error in below or chain)


def _refusal(status: int, own: type[ProviderError] | None, text: str) -> type[ProviderError]:
    """The class of a 4xx answer."""
    if status == 429:
        return AuthenticationFailed if _NO_MONEY.search(text) else RateLimited
    if status == 408:
        return ProviderTimeout
    if status in _COLLIDED:
        return ProviderUnavailable
    if status in (401, 402, 403):
        moderated = status == 403 and (own is ContentRefused or _MODERATED.search(text))
        return ContentRefused if moderated else AuthenticationFailed
    if own in (ContextOverflow, ContentRefused, AuthenticationFailed, MalformedAnswer):
        return own or RequestRejected
    return ContextOverflow if status == 413 or _TOO_LONG.search(text) else RequestRejected


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what it came from, nearest first."""
    found: BaseException | None = error
    seen: set[int] = set()
    while found is not None and id(found) not in seen and len(seen) < _DEEPEST_CHAIN:
        yield found
        seen.add(id(found))
        found = found.__cause__ or found.__context__


def _status(error: Any) -> int | None:
    """HTTP status that an error carries, unless litellm made it up (as all its own classes do).

    An error inside a good answer is raised as a plain ``Exception`` with a status of litellm's
    choice; but the answer was a 200, and is billed like one.
    """
    invented = getattr(error, "status_code_is_synthesized", False)
    if invented or type(error).__module__ == "litellm.exceptions":
        return None
    if type(error) is Exception and hasattr(error, "status_code"):
        return 200
    response = getattr(error, "response", None)
    for holder, name in ((error, "status_code"), (error, "status"), (response, "status_code")):
        value = getattr(holder, name, None)
        if isinstance(value, int) and 100 <= value <= 599:
            return value
    return None


def _headers(chain: Iterable[Any]) -> Mapping[str, str]:
    """Response headers along the chain, lower-case; the nearest answer to the wire wins."""
    found: dict[str, str] = {}
    for error in chain:
        response = getattr(error, "response", None)
        for holder in (error, response):
            for name in ("headers", "litellm_response_headers"):
                given = getattr(holder, name, None)
                if isinstance(given, Mapping):
                    found |= {str(k).lower().removeprefix("llm_provider-"): str(v)
                              for k, v in given.items()}  # fmt: skip
    return found
