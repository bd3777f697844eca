"""A loopback service that speaks three shapes, and keeps a log of what it bills."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from aiohttp import web

from matrix.model.records import Usage

Handler = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]
USED = Usage(1_000, 200, cached=400, reasoning=50)
TOOL = {"name": "read", "arguments": '{"path": "a"}'}


def _openai_usage(read: str, written: str) -> dict[str, Any]:
    """What was used, in OpenAI's shapes, which differ in the names of two counts."""
    return {
        f"{read}_tokens": USED.input,
        f"{written}_tokens": USED.output,
        "total_tokens": USED.input + USED.output,
        f"{read}_tokens_details": {"cached_tokens": USED.cached},
        f"{written}_tokens_details": {"reasoning_tokens": USED.reasoning},
    }


def _claude_usage() -> dict[str, Any]:
    return {
        "input_tokens": USED.input - USED.cached,
        "cache_read_input_tokens": USED.cached,
        "cache_creation_input_tokens": 0,
        "output_tokens": USED.output,
    }


def chat(asked: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": "well met", "refusal": None}
    if asked.get("tools"):
        call = {"id": "call_1", "type": "function", "function": TOOL}
        message |= {"content": None, "tool_calls": [call]}
    return {
        "id": "c1", "object": "chat.completion", "created": 1, "model": "gpt-4o-2024-08-06",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
        "usage": _openai_usage("prompt", "completion"), "unknown_field": {"kept": True},
    }  # fmt: skip


def chat_events(asked: dict[str, Any]) -> list[bytes]:
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o"}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": "well "}, {"content": "met"}]
    chunks: list[dict[str, Any]] = [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in deltas
    ]
    chunks.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    if (asked.get("stream_options") or {}).get("include_usage"):
        chunks.append({**head, "choices": [], "usage": _openai_usage("prompt", "completion")})
    return [*(b"data: " + orjson.dumps(chunk) + b"\n\n" for chunk in chunks), b"data: [DONE]\n\n"]


def responses(asked: dict[str, Any]) -> dict[str, Any]:
    text = {"type": "output_text", "text": "well met", "annotations": []}
    message = {"type": "message", "id": "m1", "role": "assistant", "status": "completed",
               "content": [text]}  # fmt: skip
    return {
        "id": "r1", "object": "response", "created_at": 1, "status": "completed",
        "model": "gpt-5-2025-08-07", "output": [message], "usage": _openai_usage("input", "output"),
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
    }  # fmt: skip


def response_events(asked: dict[str, Any]) -> list[bytes]:
    whole = responses(asked)
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "sequence_number": 0, "response": begun},
        {"type": "response.output_text.delta", "sequence_number": 1, "item_id": "m1",
         "output_index": 0, "content_index": 0, "delta": "well met", "logprobs": []},
        {"type": "response.completed", "sequence_number": 2, "response": whole},
    ]  # fmt: skip
    return [_named(event) for event in events]


def claude(asked: dict[str, Any]) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": "well met"}]
    if asked.get("tools"):
        content = [
            {"type": "thinking", "thinking": "I should read.", "signature": "c2ln"},
            {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a"}},
        ]
    return {
        "id": "msg_1", "type": "message", "role": "assistant",
        "model": "claude-sonnet-4-5-20250929",
        "content": content, "stop_reason": "end_turn", "stop_sequence": None,
        "usage": _claude_usage(),
    }  # fmt: skip


def claude_events(asked: dict[str, Any]) -> list[bytes]:
    begun = {**claude(asked), "content": [], "stop_reason": None}
    begun["usage"] = {**_claude_usage(), "output_tokens": 1}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        {"type": "content_block_delta", "index": 0,
         "delta": {"type": "text_delta", "text": "well met"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None},
         "usage": {"output_tokens": USED.output}},
        {"type": "message_stop"},
    ]  # fmt: skip
    return [_named(event) for event in events]


def _named(event: dict[str, Any]) -> bytes:
    return f"event: {event['type']}\n".encode() + b"data: " + orjson.dumps(event) + b"\n\n"


WHOLE = {"/v1/chat/completions": chat, "/v1/responses": responses, "/v1/messages": claude}
EVENTS = {
    "/v1/chat/completions": chat_events,
    "/v1/responses": response_events,
    "/v1/messages": claude_events,
}


class Provider:
    """The service. ``bodies`` and ``headers`` are of every request; ``billed`` counts answers."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.raw: list[bytes] = []
        self.queries: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.billed = 0
        self.answer: Handler = self.well
        self.port = 0

    @property
    def environment(self) -> dict[str, str]:
        """What makes the adapter send its requests here."""
        root = f"http://127.0.0.1:{self.port}"
        return {
            "OPENAI_BASE_URL": f"{root}/v1",
            "OPENAI_API_KEY": "sk-real-openai-key-0001",
            "ANTHROPIC_API_BASE": root,
            "ANTHROPIC_API_KEY": "sk-real-anthropic-key-0002",
        }

    async def handle(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        self.raw.append(raw)
        self.queries.append(request.query_string)
        self.bodies.append(orjson.loads(raw))
        self.headers.append({name.lower(): text for name, text in request.headers.items()})
        return await self.answer(request, self.bodies[-1])

    async def well(self, request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        self.billed += 1
        if not asked.get("stream"):
            return web.json_response(WHOLE[request.path](asked))
        return await self.send(request, EVENTS[request.path](asked))

    async def send(self, request: web.Request, events: list[bytes]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for event in events:
            await response.write(event)
            await asyncio.sleep(0)
        return response
