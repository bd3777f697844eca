"""Translates what litellm and the libraries under it raise into this project's errors.

litellm names its errors by searching the provider's text, so a prompt that happens to say "rate
limit" can turn a server error into another class. Money hangs on the class here: some errors prove
that nothing was billed. So what was seen on the wire decides whether a request was sent, refused,
or may have been answered, and litellm's class only refines it. An error raised while an answer is
read has no status, whatever it carries (aiohttp's parser says 400 of all that it cannot read).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from json import JSONDecoder
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
    Unreachable,
)
from matrix.providers.litellm_adapter.foreign import kind_of
from matrix.providers.litellm_adapter.retry_after import retry_after_s
from matrix.providers.litellm_adapter.wire import REDIRECTS, Exchange, Wire, refuses
from matrix.telemetry.redaction import NOTHING_KNOWN, Redactor

LONGEST_MESSAGE = 500
_READ_AT_MOST = 5_000
_DEEPEST_CHAIN = 12


class AnswerRefused(ContentRefused):
    """The model answered with a refusal, or its answer was held back: asked, and billed."""


class BilledOverflow(ContextOverflow):
    """Messages that are too long, at a provider that may bill what it has looked at (Azure)."""

    unsent: ClassVar[bool] = False


class AnswerTooLarge(MalformedAnswer):
    """An answer longer than any model writes: not read to its end, and not asked for again."""

    retryable: ClassVar[bool] = False


_OUT_OF_CREDIT = re.compile(r"(?i)your credit balance is too low")
"""Anthropic's words for an account without money, which it says as of a bad request."""
_NO_MONEY = re.compile(r"(?i)insufficient.{0,9}(quota|balance|funds|credit)|your current quota")
_TOO_LONG = re.compile(
    r"(?i)context.{0,3}(length|window|size|limit)|prompt is too long|maximum.{0,12} (length|tokens)"
    r"|too many (input )?tokens|request.too.large"
)
_MODERATED = re.compile(r"(?i)moderation|content.{0,3}(policy|filter)|flagged|safety")
_FILTERED = re.compile(
    rb"(?i)content[ _-]?(filter|policy|management|safety)|ResponsibleAIPolicyViolation"
    rb"|data_inspection_failed|content exists risk|moderation|flagged|safety (system|policy)"
)
_BILLS_REFUSALS = ("azure/", "azure_ai/")
"""Who says that a 400 for its content filter or the length of the input may be charged: Microsoft,
"Plan to manage costs for Azure OpenAI"."""
_COLLIDED = frozenset({409, 425, 498, 499})
"""Conflict, too early, capacity, closed: nothing is wrong with the request."""
_OF_A_RESPONSE = frozenset({"httpx.HTTPStatusError", "openai.APIStatusError"})
_OF_A_CONNECTION = ("aiohttp.", "httpx.", "openai.APIConnection", "openai.APITimeout")
_PARSER = "aiohttp.http_exceptions"
_CUT_OFF = frozenset({"ContentLengthError", "TransferEncodingError", "ServerDisconnectedError"})
"""What aiohttp raises if the connection ends before an answer does."""
_JSON = JSONDecoder()
_PREFIX = re.compile(r"^(?:litellm\.\w+: |\w+Error: |\w+Exception - )+")


def translate(
    error: Exception,
    *,
    target: str,
    now: float,
    redactor: Redactor = NOTHING_KNOWN,
    wire: Wire | None = None,
) -> ProviderError:
    """This project's error for a foreign one.

    Args:
        error: Whatever came out of a call; its causes are looked at too.
        target: Model name, for the message.
        now: Unix time in seconds, for waits given as a date.
        redactor: Takes secrets out of the message.
        wire: What the connection has seen of the attempt; believed before any exception.
    """
    last = wire.last if wire else None
    if last is not None and last.failure is not None:
        error = last.failure  # what litellm makes of it is hearsay
        if isinstance(error, ProviderError):
            return _cleaned(type(error)(f"{target}: {error}"), redactor)
    if isinstance(error, ProviderError):
        return _cleaned(error, redactor)
    chain = list(_chain(error))
    whole = redactor.values(_words(error, chain))
    text = whole[:_READ_AT_MOST]  # cut after known secrets are out, or half of one might stay
    status = last.status if last else next(filter(None, map(_status, reversed(chain))), None)
    kind = _kind(chain, status, text, last)
    if kind is ContextOverflow and target.startswith(_BILLS_REFUSALS):
        kind = BilledOverflow
    if kind.unsent and wire is not None and not wire.is_free:
        kind = ProviderUnavailable  # an earlier request of the same attempt may be billed
    told = redactor.values(in_words(whole))[:_READ_AT_MOST]
    told = told.partition("Traceback (most recent call last)")[0]
    said = _PREFIX.sub("", " ".join(redactor.text(told).split())) or type(error).__name__
    code = f"HTTP {status}: " if status and status >= 400 else ""
    wait = retry_after_s(_headers(chain), now, text) if kind.retryable else None
    usage = None if last is None else last.reported
    return kind(f"{target}: {code}{said}"[:LONGEST_MESSAGE], retry_after_s=wait, usage=usage)


def _words(error: Any, chain: list[BaseException]) -> str:
    """What an error says; what aiohttp's parser says comes with a status that nobody sent."""
    parser = next((found for found in chain if type(found).__module__ == _PARSER), None)
    if parser is not None:
        why = "the answer broke off" if _is_cut_off(chain) else "an answer that cannot be read"
        return f"{why}: {getattr(parser, 'message', parser)}"
    if _is_cut_off(chain):
        return "the service closed the connection before it had answered"
    return str(getattr(error, "message", None) or error)


def in_words(text: str) -> str:
    """What an error says, without the JSON that a provider has wrapped it in."""
    start = text.find("{")
    if start < 0:
        return text
    body: Any = None
    with suppress(ValueError, RecursionError):  # it is as long and as deep as a provider likes
        body, _ = _JSON.raw_decode(text, start)
    error = body.get("error", body) if isinstance(body, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    if not isinstance(message, str) or not message.strip():
        return text
    return message.encode(errors="replace").decode()  # JSON can spell halves of characters


def _cleaned(error: ProviderError, redactor: Redactor) -> ProviderError:
    """This project's own errors may quote an answer, or the address that one redirects to."""
    said = str(error)
    text = redactor.text(said)[:LONGEST_MESSAGE]
    if text == said:
        return error
    return type(error)(
        text, retry_after_s=error.retry_after_s, usage=error.usage, written=error.written
    )


def _kind(
    chain: list[BaseException], status: int | None, text: str, last: Exchange | None
) -> type[ProviderError]:
    kinds = [found for error in chain if (found := kind_of(error)) is not None]
    own = next((found for found in kinds if not isinstance(found, str)), None)
    if status is None and (_is_unsent(chain) if last is None else not last.sent):
        return Unreachable if "unsent" in kinds else own or ProviderUnavailable
    if status is not None and refuses(status):
        kind = _refusal(status, own, text)
        filtered = last.filtered if last else speaks_of_a_filter(text.encode(errors="replace"))
        return ContentRefused if kind is RequestRejected and filtered else kind
    if ProviderTimeout in kinds or status in (408, 504):
        return ProviderTimeout
    if status is None:
        was_sent = last is not None or any(map(_was_on_the_way, chain))
        return _broken(chain) if was_sent else own or ProviderUnavailable
    if status >= 400:
        return ProviderUnavailable
    return AnswerRefused if own is ContentRefused else MalformedAnswer


def speaks_of_a_filter(body: bytes) -> bool:
    """Whether an answer with an error status says that a content filter was at work."""
    return _FILTERED.search(body[:_READ_AT_MOST]) is not None


def _broken(chain: list[BaseException]) -> type[ProviderError]:
    """The class of an answer that never came, broke off, or is no HTTP."""
    unread = MalformedAnswer in map(kind_of, chain) and not _is_cut_off(chain)
    return MalformedAnswer if unread else ProviderUnavailable


def _is_cut_off(chain: list[BaseException]) -> bool:
    return any(type(error).__name__ in _CUT_OFF for error in chain)


def _was_on_the_way(error: BaseException) -> bool:
    """Whether an error is one of a connection, so that something may have been sent."""
    name = f"{type(error).__module__}.{type(error).__qualname__}"
    return isinstance(error, OSError) or (
        name.startswith(_OF_A_CONNECTION) and kind_of(error) is not RequestRejected
    )


def _is_unsent(chain: list[BaseException]) -> bool:
    """Whether no connection was made, as far as exceptions can tell.

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
    if status in REDIRECTS:
        return RequestRejected
    if status in _COLLIDED:
        return ProviderUnavailable
    if status in (401, 402, 403):
        moderated = status == 403 and (own is ContentRefused or _MODERATED.search(text))
        return ContentRefused if moderated else AuthenticationFailed
    if status == 400 and _OUT_OF_CREDIT.search(text):
        return AuthenticationFailed
    if own in (ContextOverflow, ContentRefused, AuthenticationFailed):
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
    """HTTP status of a response that an error was raised for; a number by itself proves nothing.

    Only httpx and the OpenAI client raise errors for a response as it came; all others, litellm's
    own among them, carry statuses of somebody's choice, and responses made up to fit.
    """
    names = {f"{cls.__module__}.{cls.__qualname__}" for cls in type(error).__mro__}
    if names.isdisjoint(_OF_A_RESPONSE) or type(error).__module__ == "litellm.exceptions":
        return None
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status if isinstance(status, int) and 100 <= status <= 599 else None


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
