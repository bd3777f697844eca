"""Services that misbehave, by the names that ``docs/failures.md`` gives their failures."""

from __future__ import annotations

import asyncio
import socket
import struct
import zlib
from typing import Any

import orjson
from aiohttp import web

from tests.badinput.waiting_loop import WaitingLoop
from tests.badinput.world import REPORTED
from tests.providers_litellm.service import Answer, chat
from tests.waiting import LONGEST_WAIT_S


def says(body: Any, status: int = 200, **headers: str) -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        raw = body if isinstance(body, bytes) else orjson.dumps(body)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        named.setdefault("content-type", "application/json")
        return web.Response(body=raw, status=status, headers=named)

    return answer


def error(status: int, message: str, code: str | None = None, **headers: str) -> Answer:
    return says(
        {"error": {"message": message, "type": "invalid_request_error", "code": code}},
        status,
        **headers,
    )


def used(usage: Any, **more: Any) -> Answer:
    """A good answer that reports this usage."""
    return says(chat("7", usage=usage, **more))


def on_the_wire(raw: bytes) -> Answer:
    """Exactly these bytes, and no more."""

    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.write(raw)
        request.transport.close()
        return web.Response()

    return answer


async def hang(request: web.Request) -> web.StreamResponse:
    """Never answer; the clock of whoever waits for it is put forward until he gives up."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, WaitingLoop)
    loop.pass_time(2 * LONGEST_WAIT_S)
    await loop.create_future()
    raise AssertionError("nobody lets it go")


async def reset_before_the_answer(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    connection = request.transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    request.transport.abort()
    return web.Response()


async def break_off_in_the_middle(request: web.Request) -> web.StreamResponse:
    body = orjson.dumps(chat("7", usage=REPORTED))
    response = web.StreamResponse(headers={"content-type": "application/json"})
    response.content_length = len(body)
    await response.prepare(request)
    await response.write(body[: len(body) // 2])
    assert request.transport is not None
    request.transport.close()
    return response


DAY = 86_400
WELL = orjson.dumps(chat("7", usage=REPORTED))
LINE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n"
SLOW_DOWN = b"HTTP/1.1 429 Slow down\r\nconnection: close\r\nretry-after: 7\r\n"
TROUBLE: dict[str, Answer] = {
    "wrong key (401)": error(401, "Incorrect API key provided"),
    "key not allowed to use the model (403)": error(403, "no access to this model"),
    "account out of money (402, or a 429 that says so)": error(
        429, "You exceeded your current quota", "insufficient_quota"
    ),
    "model unknown to the provider (404)": error(404, "no such model", "model_not_found"),
    "model without JSON mode (400)": error(400, "response_format is not supported"),
    "any other 4xx": error(422, "unprocessable"),
    "redirect to another address": says(b"", 307, location="http://127.0.0.1:1/v1"),
    "messages too long (400 or 413)": error(400, "maximum context length is 8192 tokens"),
    "refused by the content policy (4xx)": error(400, "no", "content_policy_violation"),
    "refusal (4xx) that says its usage": says(
        orjson.dumps({"error": {"message": "unprocessable"}, "usage": REPORTED}), 422
    ),
    "answer held back (`content_filter`)": used(REPORTED, finish="content_filter"),
    "refusal in place of an answer": used(REPORTED, message={"content": None, "refusal": "No."}),
    "refusal without usage": used(None, message={"content": None, "refusal": "No."}),
    "empty answer": used(REPORTED, message={"content": ""}),
    "empty answer without usage": used(None, message={"content": " \n"}),
    "only reasoning, no text": used(REPORTED, finish="length", message={"content": None}),
    "usage missing": used(None),
    "usage of zero": used({key: 0 for key in REPORTED if key != "prompt_tokens_details"}),
    "usage negative": used({**REPORTED, "prompt_tokens": -50, "completion_tokens": -2}),
    "usage whose total contradicts its parts": used({**REPORTED, "total_tokens": 900_000}),
    "usage of more cached tokens than can have been read": used(
        {**REPORTED, "prompt_tokens_details": {"cached_tokens": 200_000}}
    ),
    "usage of 10^12 tokens": used({**REPORTED, "prompt_tokens": 10**12}),
    "usage of fewer tokens than its text can have": used(
        REPORTED, message={"content": "1 and so on, and on, and on, and on " * 20}
    ),
    "usage with fractions": used({**REPORTED, "prompt_tokens": 50.5}),
    "usage in words": used({**REPORTED, "prompt_tokens": "many"}),
    "usage that is a list": used([50, 2]),
    "usage with senseless details": used(
        {**REPORTED, "completion_tokens_details": {"reasoning_tokens": "x"}}
    ),
    "usage as digits in quotes": used(
        {**REPORTED, "prompt_tokens": "50", "completion_tokens": "2", "total_tokens": "52"}
    ),
    "429 with `retry-after`": error(429, "slow down", retry_after="7"),
    "429 without `retry-after`": error(429, "slow down"),
    "429 with a `retry-after` of a day": error(429, "slow down", retry_after=str(DAY)),
    "5xx (500, 502, 503, 529 ...)": error(503, "overloaded"),
    "504 or 408": error(504, "gateway timeout"),
    "no answer within `timeout_s`": hang,
    "connection reset before an answer": reset_before_the_answer,
    "connection broken in the middle of an answer": break_off_in_the_middle,
    "error whose body breaks off": on_the_wire(SLOW_DOWN + b"content-length: 99\r\n\r\nslo"),
    "answer that is no HTTP (status line, header, length, chunk)": on_the_wire(
        LINE + b"transfer-encoding: chunked\r\n\r\nzz\r\n" + WELL
    ),
    "header above 8 kB": says(WELL, x_a="a" * 9_000),
    "packed as nobody asked (`br`, `zstd`)": says(WELL, content_encoding="br"),
    "answer above 64 MiB, unpacked": says(
        zlib.compress(bytes(65 << 20)), content_encoding="deflate"
    ),
    "JSON that stops in the middle": says(orjson.dumps(chat("7"))[:-40]),
    "200 and a page of HTML": says(b"<html>busy</html>", content_type="text/html"),
    "error object in a 200": says({"error": {"message": "upstream failed", "code": 429}}),
    "unreadable answer that says its usage": used(REPORTED, choices=None),
}  # fmt: skip
"""What the second call of a session meets."""
