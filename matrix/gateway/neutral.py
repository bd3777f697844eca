"""Requests for models that do not speak their shape: read into this project's own words, and back.

Text and tools are carried over; what a translation would lose (images, files) is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import orjson

from matrix.dialects.requests import ParsedRequest
from matrix.model.records import Answer, CallParams, ChatMessage, Shape, ToolCall
from matrix.model.seeds import canonical, content_hash
from matrix.serving.api_errors import ApiError
from matrix.serving.bodies import Head, completion, events, pieces
from matrix.serving.request import ANY_TOOL, read_request
from matrix.serving.writing import ResponseChoice

_JSON: Final = "application/json"
_EVENTS: Final = "text/event-stream; charset=utf-8"
_STOPS: Final[Mapping[str, str]] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
}
"""Why an answer ended -> how Anthropic says it."""
_CHOICES: Final[Mapping[str, str]] = {"auto": "auto", "any": "required", "none": "none"}


class NotTranslatable(ValueError):
    """A request that cannot be put into other words; the message says why."""


class Neutral(NamedTuple):
    """A request in this project's own words."""

    shape: Shape
    messages: tuple[ChatMessage, ...]
    params: CallParams

    @classmethod
    def read(cls, shape: Shape, body: bytes) -> Neutral:
        """Read a request.

        Raises:
            NotTranslatable: It is malformed, or something in it would be lost.
        """
        if shape == "chat":
            return _chat(body)
        if shape == "messages":
            return _messages(orjson.loads(body))
        raise NotTranslatable(
            "this model does not speak OpenAI's responses shape; ask it at /v1/chat/completions"
        )

    def write(self, answer: Answer, requested: ParsedRequest) -> tuple[str, bytes]:
        """Content type and body of an answer."""
        if self.shape == "messages":
            parts = _message_events(answer, requested.model)
            if requested.stream:
                return _EVENTS, b"".join(_event(part) for part in parts)
            return _JSON, orjson.dumps(_message(answer, requested.model))
        head = Head(_id("chatcmpl", answer), 0, requested.model)
        choices = (ResponseChoice(answer.text, answer.finish_reason, answer.tool_calls),)
        if requested.stream:
            sent = events(head, choices, answer.usage, include_usage=requested.tells_usage)
            return _EVENTS, b"".join(sent)
        return _JSON, completion(head, choices, answer.usage)


# --- OpenAI's chat --------------------------------------------------------------------------------


def _chat(body: bytes) -> Neutral:
    try:
        asked = read_request(body, {})
    except ApiError as error:
        raise NotTranslatable(str(error)) from None
    if asked.n != 1:
        raise NotTranslatable("n: only one answer at a time can be had from this model")
    if any(marked in m.content for m in asked.messages for marked in _MARKS):
        raise NotTranslatable("only text can be sent to this model, no images, sounds or files")
    tools = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in asked.tools
    ]
    choice = "required" if asked.forced == ANY_TOOL else asked.forced or ""
    more = {"stop": list(asked.stop)} if asked.stop else {}
    params = CallParams(
        asked.max_tokens,
        asked.temperature,
        orjson.dumps(asked.schema).decode() if asked.schema else None,
        orjson.dumps(tools).decode() if tools else "",
        choice if tools else "",
        canonical(more).decode() if more else "",
    )
    return Neutral("chat", asked.messages, params)


_MARKS: Final = ("[image_url]", "[input_audio]", "[file]")
"""What stands in a message for content that is no text."""


# --- Anthropic's messages -------------------------------------------------------------------------


def _messages(data: Mapping[str, Any]) -> Neutral:
    said: list[ChatMessage] = []
    if system := _texts(data.get("system"), "system"):
        said.append(ChatMessage("system", system))
    listed = data.get("messages")
    if not isinstance(listed, list) or not listed:
        raise NotTranslatable("messages: expected a list of at least one message")
    for index, message in enumerate(listed):
        said += _turn(message, f"messages[{index}]")
    limit = data.get("max_tokens")
    if not isinstance(limit, int):
        raise NotTranslatable("max_tokens: expected a whole number")
    tools = [_tool(tool, f"tools[{at}]") for at, tool in enumerate(data.get("tools") or ())]
    temperature, stops = data.get("temperature"), data.get("stop_sequences")
    return Neutral(
        "messages",
        tuple(said),
        CallParams(
            limit,
            float(temperature) if isinstance(temperature, int | float) else None,
            None,
            orjson.dumps(tools).decode() if tools else "",
            _choice(data.get("tool_choice")) if tools else "",
            canonical({"stop": stops}).decode() if isinstance(stops, list) and stops else "",
        ),
    )


def _turn(message: object, name: str) -> list[ChatMessage]:
    """The plain messages of one turn: results of tools are messages of their own."""
    role = message.get("role") if isinstance(message, dict) else None
    if not isinstance(message, dict) or role not in ("user", "assistant"):
        raise NotTranslatable(f"{name}: expected an object whose role is user or assistant")
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(blocks, list):
        raise NotTranslatable(f"{name}.content: expected a text or a list of blocks")
    texts: list[str] = []
    calls: list[ToolCall] = []
    results: list[ChatMessage] = []
    for index, block in enumerate(blocks):
        where = f"{name}.content[{index}]"
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "text":
            texts.append(_text(block, "text", where))
        elif kind == "tool_use":
            arguments = canonical(block.get("input") or {}).decode()
            calls.append(
                ToolCall(_text(block, "id", where), _text(block, "name", where), arguments)
            )
        elif kind == "tool_result":
            result = _texts(block.get("content"), where)
            answered = _text(block, "tool_use_id", where)
            results.append(ChatMessage("tool", result, tool_call_id=answered))
        elif kind not in ("thinking", "redacted_thinking"):  # signed for another model
            raise NotTranslatable(f"{where}: {kind!r} cannot be sent to this model, only text can")
    if texts or calls or not results:
        results.append(ChatMessage(role, "\n".join(texts), tuple(calls)))
    return results


def _texts(value: object, name: str) -> str:
    """A text, or blocks of text."""
    if value is None or isinstance(value, str):
        return value or ""
    if not isinstance(value, list):
        raise NotTranslatable(f"{name}: expected a text or a list of blocks")
    return "\n".join(_text(block, "text", f"{name}[{at}]") for at, block in enumerate(value))


def _text(block: object, field: str, name: str) -> str:
    value = block.get(field) if isinstance(block, dict) else None
    if not isinstance(value, str):
        raise NotTranslatable(f"{name}.{field}: expected a text; only text can be sent")
    return value


def _tool(tool: object, name: str) -> dict[str, Any]:
    if not isinstance(tool, dict):
        raise NotTranslatable(f"{name}: expected an object")
    return {
        "name": _text(tool, "name", name),
        "description": str(tool.get("description") or ""),
        "parameters": tool.get("input_schema") or {},
    }


def _choice(choice: object) -> str:
    said = choice if isinstance(choice, dict) else {}
    kind = str(said.get("type") or "auto")
    return _CHOICES.get(kind) or str(said.get("name") or "auto")


def _message(answer: Answer, model: str) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": answer.text}] if answer.text else []
    blocks += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": _arguments(call)}
        for call in answer.tool_calls
    ]
    return {
        "id": _id("msg", answer),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": _STOPS.get(answer.finish_reason, "end_turn"),
        "stop_sequence": None,
        "usage": _usage(answer),
    }


def _message_events(answer: Answer, model: str) -> list[dict[str, Any]]:
    whole = _message(answer, model)
    begun = {**whole, "content": [], "stop_reason": None}
    begun["usage"] = {**whole["usage"], "output_tokens": 1}
    sent: list[dict[str, Any]] = [{"type": "message_start", "message": begun}]
    for index, block in enumerate(whole["content"]):
        opened, deltas = {**block}, []
        if block["type"] == "text":
            opened["text"] = ""
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
        else:
            opened["input"] = {}
            written = pieces(orjson.dumps(block["input"]).decode())
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in written]
        sent.append({"type": "content_block_start", "index": index, "content_block": opened})
        sent += [
            {"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas
        ]
        sent.append({"type": "content_block_stop", "index": index})
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    told = {"output_tokens": whole["usage"]["output_tokens"]}
    return [
        *sent,
        {"type": "message_delta", "delta": ended, "usage": told},
        {"type": "message_stop"},
    ]


def _event(part: dict[str, Any]) -> bytes:
    name = str(part["type"]).encode()
    return b"event: " + name + b"\ndata: " + orjson.dumps(part) + b"\n\n"


def _usage(answer: Answer) -> dict[str, int]:
    usage = answer.usage
    return {
        "input_tokens": max(0, usage.input - usage.cached - usage.cache_write),
        "cache_read_input_tokens": usage.cached,
        "cache_creation_input_tokens": usage.cache_write,
        "output_tokens": usage.output,
    }


def _arguments(call: ToolCall) -> Any:
    try:
        return orjson.loads(call.arguments)
    except orjson.JSONDecodeError:
        return {"arguments": call.arguments}


def _id(prefix: str, answer: Answer) -> str:

    return (
        f"{prefix}_{content_hash([answer.text, [list(c) for c in answer.tool_calls]], length=24)}"
    )
