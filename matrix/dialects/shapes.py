"""The shapes, their addresses, and errors in the words that their clients know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import orjson

from matrix.model.records import Shape

PATHS: Final[Mapping[str, Shape]] = {
    "/v1/chat/completions": "chat",
    "/v1/responses": "responses",
    "/v1/messages": "messages",
}
"""Address of a request -> its shape."""

ENDPOINTS: Final[Mapping[Shape, str]] = {
    "chat": "/chat/completions",
    "responses": "/responses",
    "messages": "/v1/messages",
}
"""What is added to a service's base address, as each provider's own clients do it."""

KEPT_HEADERS: Final = (
    "anthropic-version",
    "anthropic-beta",
    "openai-beta",
    "idempotency-key",
)
"""Request headers that mean something to a service. Keys are never among them."""


class ErrorShape(NamedTuple):
    """What kind of error an answer is: HTTP status, and its name in both families of shapes."""

    status: int
    openai: str
    anthropic: str
    code: str | None = None


INVALID: Final = ErrorShape(400, "invalid_request_error", "invalid_request_error")
FAULTS: Final[Mapping[str, ErrorShape]] = {
    "cap": ErrorShape(402, "insufficient_quota", "billing_error", "insufficient_quota"),
    "draining": ErrorShape(503, "server_error", "api_error"),
    "key": ErrorShape(401, "invalid_request_error", "authentication_error", "invalid_api_key"),
    "model": ErrorShape(404, "invalid_request_error", "not_found_error", "model_not_found"),
    "address": ErrorShape(404, "invalid_request_error", "not_found_error", "unknown_url"),
    "size": ErrorShape(413, "invalid_request_error", "request_too_large", "body_too_large"),
    "request": INVALID,
    "RequestRejected": INVALID,
    "ContextOverflow": INVALID._replace(code="context_length_exceeded"),
    "ContentRefused": INVALID._replace(code="content_policy_violation"),
    "AnswerRefused": INVALID._replace(code="content_policy_violation"),
    "AuthenticationFailed": ErrorShape(401, "invalid_request_error", "authentication_error"),
    "RateLimited": ErrorShape(429, "rate_limit_error", "rate_limit_error", "rate_limit_exceeded"),
    "ProviderTimeout": ErrorShape(504, "server_error", "timeout_error"),
    "Unreachable": ErrorShape(502, "server_error", "api_error"),
    "ProviderUnavailable": ErrorShape(502, "server_error", "api_error"),
    "MalformedAnswer": ErrorShape(502, "server_error", "api_error"),
}
"""What went wrong, or this project's name of an error -> how it is told."""
OTHER: Final = ErrorShape(500, "server_error", "api_error")

FINAL: Final[Mapping[str, str]] = {"x-should-retry": "false"}
"""Sent with every error: what can be tried again has been, and clients would only pay again."""


def error_body(shape: Shape, fault: ErrorShape, message: str) -> bytes:
    """The body of an error, in the words of a shape."""
    if shape == "messages":
        return orjson.dumps(
            {"type": "error", "error": {"type": fault.anthropic, "message": message}}
        )
    error = {"message": message, "type": fault.openai, "param": None, "code": fault.code}
    return orjson.dumps({"error": error})


def error_event(shape: Shape, fault: ErrorShape, message: str) -> bytes:
    """The same as an event of a stream that has begun."""
    body = error_body(shape, fault, message)
    name = b"event: error\n" if shape != "chat" else b""
    return name + b"data: " + body + b"\n\n"
