"""Foreign errors: none unmapped, none leaking a secret, none releasing money that may be spent."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from types import ModuleType
from typing import Any

import aiohttp
import aiohttp.client_exceptions
import aiohttp.http_exceptions
import httpx
import openai
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

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
from matrix.providers.litellm_adapter.answers import usage_in
from matrix.providers.litellm_adapter.errors import (
    LONGEST_MESSAGE,
    AnswerRefused,
    translate,
)
from matrix.providers.litellm_adapter.foreign import kind_of, listed
from matrix.providers.litellm_adapter.library import Library
from matrix.providers.litellm_adapter.retry_after import LONGEST_S, retry_after_s
from matrix.providers.litellm_adapter.wire import REDIRECTS, Exchange, Wire, refuses
from matrix.telemetry.redaction import Redactor, redact, secrets_in
from matrix.telemetry.spellings import REMOVED

KINDS = sorted(listed())
NO_KEY: Any = None
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC).timestamp()


def exceptions_in(module: ModuleType, prefix: str) -> set[str]:
    """Full names of the exception classes that a module offers and its library defines."""
    found = set()
    for cls in list(vars(module).values()):
        if inspect.isclass(cls) and issubclass(cls, Exception):
            name = f"{cls.__module__}.{cls.__qualname__}"
            if name.startswith(prefix) and not issubclass(cls, Warning):
                found.add(name)
    return found


def test_every_exception_class_that_can_come_through_is_mapped() -> None:
    Library(connections=10)
    import litellm.exceptions

    raised = (
        exceptions_in(litellm.exceptions, "litellm.exceptions.")
        | exceptions_in(openai, "openai.")
        | exceptions_in(httpx, "httpx.")
        | exceptions_in(aiohttp.client_exceptions, "aiohttp.client_exceptions.")
        | exceptions_in(aiohttp.http_exceptions, "aiohttp.http_exceptions.")
    )
    assert len(raised) > 100
    assert not raised - listed(), "decide what these mean in foreign.py"
    foreign = {name for name in listed() if not name.startswith(("builtins.", "json."))}
    private = {"openai._exceptions.SubjectTokenProviderError"}
    assert not foreign - raised - private, "these no longer exist"


def failing(status: int, text: str = "no", **headers: str) -> Exception:
    """An error as litellm raises it: its own class over one that carries the true answer."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response = httpx.Response(status, headers=named, request=httpx.Request("POST", "http://x"))
    original = openai.APIStatusError(text, response=response, body=None)
    outer = openai.APIError(
        "litellm.APIError: OpenAIException - " + text, response.request, body=None
    )
    outer.__context__ = original
    return outer


@pytest.mark.parametrize(
    ("status", "text", "expected"),
    [
        (400, "bad", RequestRejected),
        (400, "This model's maximum context length is 8192 tokens", ContextOverflow),
        (400, "the request exceeds the available context size", ContextOverflow),
        (400, "data_inspection_failed: Input data may contain", ContentRefused),
        (400, "Content Exists Risk", ContentRefused),
        (400, "Output blocked by content filtering policy", ContentRefused),
        (400, '{"error": {"code": "content_filter", "message": "filtered"}}', ContentRefused),
        (401, "who are you", AuthenticationFailed),
        (402, "Insufficient Balance", AuthenticationFailed),
        (403, "not in your country", AuthenticationFailed),
        (403, "flagged by moderation", ContentRefused),
        (404, "no such model", RequestRejected),
        (408, "slow", ProviderTimeout),
        (409, "locked", ProviderUnavailable),
        (413, "too big", ContextOverflow),
        (422, "cannot", RequestRejected),
        (429, "slow down", RateLimited),
        (429, "You exceeded your current quota: insufficient_quota", AuthenticationFailed),
        (400, "Your credit balance is too low to access the Anthropic API.", AuthenticationFailed),
        (500, "oops", ProviderUnavailable),
        (502, "oops", ProviderUnavailable),
        (503, "rate limit", ProviderUnavailable),
        (504, "slow", ProviderTimeout),
        (529, "overloaded", ProviderUnavailable),
    ],
)
def test_the_status_decides(status: int, text: str, expected: type[ProviderError]) -> None:
    assert type(translate(failing(status, text), target="m", now=NOW)) is expected


@given(st.integers(100, 599), st.text(max_size=200), st.sampled_from(KINDS))
def test_money_is_released_only_if_nothing_can_have_been_billed(
    status: int, text: str, name: str
) -> None:
    """Whatever litellm calls an error: only a refusal or a redirect proves that it cost nothing."""
    module, _, last = name.rpartition(".")
    outer = type(last, (Exception,), {"__module__": module})(text)
    outer.__context__ = failing(status, text)
    found = translate(outer, target="m", now=NOW)
    if found.unsent and kind_of(outer) != "unsent":
        assert refuses(status)
        assert status in REDIRECTS or (400 <= status < 500 and status != 408)


@given(st.integers(400, 499), st.sampled_from(KINDS))
def test_a_number_that_came_with_no_response_releases_nothing(status: int, name: str) -> None:
    """Parsers, and litellm's translations of answers, give their errors statuses of their own."""
    module, _, last = name.rpartition(".")
    outer = type(last, (Exception,), {"__module__": module, "status_code": status})("busy")
    outer.__context__ = aiohttp.ClientResponseError(NO_KEY, (), status=status, message="bad header")
    found = translate(outer, target="m", now=NOW)
    assert not found.unsent or kind_of(outer) == "unsent"


def seen(ends: list[int | str]) -> Wire:
    """A wire that has seen exchanges end with a status, in mid-answer, or before they began."""
    wire, nobody = Wire(), aiohttp.ConnectionTimeoutError("nobody there")
    nobody.__context__ = TimeoutError()
    for end in ends:
        exchange = Exchange()
        wire.exchanges.append(exchange)
        exchange.status = end if isinstance(end, int) else None
        if isinstance(end, str):
            exchange.failed(nobody if end == "nobody" else aiohttp.ClientPayloadError("cut"))
    return wire


ENDS = st.one_of(st.integers(100, 999), st.sampled_from(["nobody", "cut"]))


@example([400], 100, "openai.LengthFinishReasonError")  # no answer, whatever it is called
@given(st.lists(ENDS, min_size=1, max_size=3), st.integers(100, 599), st.sampled_from(KINDS))
def test_what_was_seen_on_the_wire_decides_about_money_whatever_is_raised(
    ends: list[int | str], claimed: int, name: str
) -> None:
    module, _, last = name.rpartition(".")
    outer = type(last, (Exception,), {"__module__": module})("context length, invalid api key")
    outer.__context__ = failing(claimed)
    found = translate(outer, target="m", now=NOW, wire=seen(ends))
    free = [end == "nobody" or (isinstance(end, int) and refuses(end)) for end in ends]
    assert all(free) or not found.unsent
    if all(free) and ends[-1] in (400, 401, 404, 429, 307, "nobody"):
        assert found.unsent


def test_a_failure_to_connect_is_provably_unsent_and_worth_another_try() -> None:
    failure = aiohttp.ClientConnectorError(NO_KEY, OSError(111, "refused"))
    for error in (
        httpx.ConnectError("refused"),
        httpx.ConnectTimeout("t"),
        ConnectionRefusedError(),
    ):
        outer = openai.APIConnectionError(request=httpx.Request("POST", "http://x"))
        outer.__cause__ = error
        assert type(translate(outer, target="m", now=NOW)) is Unreachable
    assert kind_of(failure) == "unsent"
    assert Unreachable.unsent
    assert Unreachable.retryable


@pytest.mark.parametrize(
    "below", [aiohttp.ClientOSError(104, "reset"), asyncio.CancelledError()], ids=["reset", "cut"]
)
def test_a_socket_that_broke_is_no_failure_to_connect_whatever_a_transport_calls_it(
    below: BaseException,
) -> None:
    """litellm's transport raises httpx.ConnectError for both; but the request may be billed."""
    error = httpx.ConnectError("broken")
    error.__cause__ = below
    outer = openai.APIConnectionError(request=httpx.Request("POST", "http://x"))
    outer.__cause__ = error
    found = translate(outer, target="m", now=NOW)
    assert type(found) is ProviderUnavailable
    assert not found.unsent


@pytest.mark.parametrize(
    "error",
    [
        TimeoutError(),
        httpx.ReadTimeout("t"),
        aiohttp.ServerTimeoutError(),
        aiohttp.SocketTimeoutError(),
    ],
)
def test_a_time_out_is_one_under_any_wrapping(error: Exception) -> None:
    outer = openai.APIError("x", httpx.Request("POST", "http://x"), body=None)
    outer.__context__ = error
    found = translate(outer, target="m", now=NOW)
    assert type(found) is ProviderTimeout
    assert not found.unsent


def test_an_unknown_exception_is_retryable_and_may_have_cost_money() -> None:
    found = translate(KeyError("choices"), target="m", now=NOW)
    assert type(found) is ProviderUnavailable
    assert (found.retryable, found.unsent) == (True, False)


def test_our_own_errors_pass_unchanged() -> None:
    error = MalformedAnswer("x")
    assert translate(error, target="m", now=NOW) is error


def test_a_billed_refusal_keeps_its_hold() -> None:
    assert not AnswerRefused.unsent
    assert not AnswerRefused.retryable


# --- how long to wait ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Sat, 21 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sat, 21 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "1e9"}, LONGEST_S),
        ({"retry-after": "inf"}, LONGEST_S),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_waits_are_read_in_every_form(headers: Mapping[str, str], expected: float | None) -> None:
    assert retry_after_s(headers, NOW) == expected


def test_googles_wait_is_read_from_the_body() -> None:
    body = '{"error": {"details": [{"@type": "RetryInfo", "retryDelay": "37s"}]}}'
    assert retry_after_s({}, NOW, body) == 37
    assert retry_after_s({"retry-after": "5"}, NOW, body) == 5
    assert translate(failing(429, body), target="m", now=NOW).retry_after_s == 37


@given(st.dictionaries(st.sampled_from(["retry-after", "retry-after-ms"]), st.text()))
def test_a_wait_is_always_within_bounds(headers: Mapping[str, str]) -> None:
    found = retry_after_s(headers, NOW)
    assert found is None or 0 <= found <= LONGEST_S


@given(st.integers(0, int(LONGEST_S)))
def test_a_date_means_the_same_as_its_seconds(seconds: int) -> None:
    date = format_datetime(datetime.fromtimestamp(NOW + seconds, UTC), usegmt=True)
    assert retry_after_s({"retry-after": date}, NOW) == seconds


def test_the_wait_is_found_wherever_litellm_leaves_the_headers() -> None:
    assert translate(failing(429, retry_after="3"), target="m", now=NOW).retry_after_s == 3
    lost = openai.APIError("x", httpx.Request("POST", "http://x"), body=None)
    lost.litellm_response_headers = {"llm_provider-retry-after": "4"}  # type: ignore[attr-defined]
    lost.__context__ = failing(429)
    assert translate(lost, target="m", now=NOW).retry_after_s == 4
    assert translate(failing(400, retry_after="3"), target="m", now=NOW).retry_after_s is None


# --- secrets -------------------------------------------------------------------------------------

KEYS = ("sk-proj-abcDEF123456", "AIzaSyA1234567890abcdef", "gsk_1234567890abcdef", "xai-abcdef1234")


@pytest.mark.parametrize(
    "text",
    [
        *(f"Incorrect API key provided: {key}. Find it at ..." for key in KEYS),
        *(f'{{"Authorization": "Bearer {key}", "a": 1}}' for key in KEYS),
        *(f"headers={{'x-api-key': '{key}', 'b': 2}}" for key in KEYS),
        *(f"POST https://host/v1?key={key}&alt=sse failed" for key in KEYS),
        *(f"authorization: Bearer {key}" for key in KEYS),
        *(f"x-goog-api-key: {key}\nnext" for key in KEYS),
    ],
)
def test_no_key_survives(text: str) -> None:
    cleaned = redact(text)
    assert REMOVED in cleaned
    assert not any(key in cleaned for key in KEYS)


@given(st.text(st.characters(codec="ascii", exclude_characters="[]"), min_size=8, max_size=40),
       st.text(max_size=2_000), st.text(max_size=2_000))  # fmt: skip
def test_values_of_key_variables_never_appear(secret: str, before: str, after: str) -> None:
    environ = {"SOMEONE_API_KEY": secret, "PATH": "/bin"}
    error = failing(401, before + secret + after)
    message = str(translate(error, target="m", now=NOW, redactor=Redactor(secrets_in(environ))))
    assert secret not in message or secret in f"m: HTTP 401: {REMOVED}APIStatusError"
    assert len(message) <= LONGEST_MESSAGE


def test_ordinary_words_are_left_alone() -> None:
    text = "The model gpt-4o does not support temperature=0.7 with key-value pairs; ask risk-free."
    assert redact(text) == text
    assert redact(text, ["gpt"]) == text, "too short to be a key"


def test_messages_say_model_status_and_reason_without_litellms_prefixes() -> None:
    error = failing(404, "The model `x` does not exist")
    assert str(translate(error, target="openai/x", now=NOW)) == (
        "openai/x: HTTP 404: The model `x` does not exist"
    )


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ('{"error": {"message": "no \\"x\\" here", "code": "unknown"}}', 'no "x" here'),
        ('AnthropicError - {"type": "error", "error": {"message": "Overloaded"}}', "Overloaded"),
        ('{"error": {"message": "tried"}}. Handle with `InternalServerError`.', "tried"),
        ('{"error": {"message": "half \\ud83d of one"}}', "half ? of one"),
        ('{"object": "error", "message": "The model is away"}', "The model is away"),
        ('{"error": "plain words"}', '{"error": "plain words"}'),
        ('{"error": {"message": ""}}', '{"error": {"message": ""}}'),
        ('{"error": {"message": "cut of', '{"error": {"message": "cut of'),
        ("bad {x}", "bad {x}"),
        ("{" * 9_999, "{" * 480),
        ('{"a":' * 9_999, ('{"a":' * 100)[:480]),
    ],
)
def test_a_providers_words_are_told_without_the_json_around_them(body: str, told: str) -> None:
    message = str(translate(failing(400, body), target="openai/x", now=NOW))
    assert message[:500] == f"openai/x: HTTP 400: {told}"[:500]


def test_a_key_that_json_hides_is_taken_out_all_the_same() -> None:
    key = "sk-ab/cdefghijklmnop/0123456789"
    body = '{"error": {"message": "bad key ' + key.replace("/", "\\/") + '"}}'
    told = str(translate(failing(401, body), target="m", now=NOW, redactor=Redactor([key])))
    assert "cdefghijklmnop" not in told
    assert "bad key" in told


@pytest.mark.parametrize(
    ("usage", "found"),
    [
        ('{"prompt_tokens": 217, "completion_tokens": 60}', (217, 60)),
        ('{"input_tokens": 217, "output_tokens": 60}', (217, 60)),
        ('{"input_tokens": 7, "cache_read_input_tokens": 210, "output_tokens": 60}', (217, 60)),
        ('{"input_tokens": "many", "output_tokens": 60}', None),
        ("7", None),
    ],
)
def test_a_refusal_says_its_usage_in_anybodys_words(
    usage: str, found: tuple[int, int] | None
) -> None:
    told = usage_in(f'{{"type": "error", "error": {{}}, "usage": {usage}}}'.encode())
    assert (None if told is None else (told.input, told.output)) == found
