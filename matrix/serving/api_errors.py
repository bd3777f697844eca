"""Errors as an OpenAI-compatible API words them: status, body and headers.

Clients tell errors apart by these words as much as by status codes, so they follow the original.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

INVALID = "invalid_request_error"
SERVER = "server_error"


class ApiError(Exception):
    """A request that is answered with an error.

    Attributes:
        status: HTTP status.
        headers: Headers beyond the content type, e.g. ``retry-after``.
        error: The object under ``error`` in the body.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = INVALID,
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})
        self.error: dict[str, Any] = {
            "message": message,
            "type": kind,
            "param": param,
            "code": code,
        }

    def body(self) -> bytes:
        """The JSON body."""
        return orjson.dumps({"error": self.error})


def bad_request(message: str, param: str | None = None, code: str | None = None) -> ApiError:
    """400: the request itself is wrong."""
    return ApiError(400, message, param=param, code=code)


def not_from_here(message: str) -> ApiError:
    """403: another machine's page asks."""
    return ApiError(403, message, code="foreign_request")


def wrong_key() -> ApiError:
    """401. The key that was sent is not repeated."""
    message = "Incorrect API key provided. Give the key that the server was started with."
    return ApiError(401, message, code="invalid_api_key")


def unknown_model(name: str, served: tuple[str, ...]) -> ApiError:
    """404 for a model that is not served here."""
    message = f"The model `{name}` does not exist or you do not have access to it."
    return ApiError(
        404, f"{message} Served here: {', '.join(served)}.", param="model", code="model_not_found"
    )


def unknown_address(method: str, path: str) -> ApiError:
    """404 for anything that is not an address of this server."""
    return ApiError(404, f"Invalid URL ({method} {path})", code="unknown_url")


def too_large(limit: int) -> ApiError:
    """413 for a body above ``limit`` bytes."""
    return ApiError(413, f"The request body is larger than {limit} bytes.", code="body_too_large")


def rate_limited(
    model: str, what: str, limit: float, requested: float, headers: Mapping[str, str], wait: str
) -> ApiError:
    """429. ``what`` is ``requests`` or ``tokens``; ``wait`` says when to come back."""
    unit = {"requests": "requests per min (RPM)", "tokens": "tokens per min (TPM)"}[what]
    message = (
        f"Rate limit reached for {model} on {unit}: Limit {limit:g}, Requested {requested:g}. "
        f"Please try again in {wait}."
    )
    return ApiError(429, message, kind=what, code="rate_limit_exceeded", headers=headers)


def context_overflow(tokens: int) -> ApiError:
    """400 for messages that do not fit a context window."""
    limit = max(1, tokens // 2)
    message = (
        f"This model's maximum context length is {limit} tokens. However, your messages resulted "
        f"in {tokens} tokens. Please reduce the length of the messages."
    )
    return bad_request(message, "messages", "context_length_exceeded")


def policy_refusal() -> ApiError:
    """400 for a prompt that a content policy refuses."""
    message = (
        "Your request was rejected as a result of our safety system. Your prompt may contain text "
        "that is not allowed by our safety system."
    )
    return bad_request(message, code="content_policy_violation")
