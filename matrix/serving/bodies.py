"""Bodies of good answers: a completion, or the events of a stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import orjson

from matrix.model.records import ToolCall, Usage
from matrix.serving.writing import ResponseChoice

DONE: Final = b"data: [DONE]\n\n"
FINGERPRINT: Final = "fp_simulated"
_PIECE: Final = 24
_MOST_PIECES: Final = 200


class Head(NamedTuple):
    """What every body says of itself; ``created`` is in seconds since 1970."""

    id: str
    created: int
    model: str


def completion(head: Head, choices: Sequence[ResponseChoice], usage: Usage | None) -> bytes:
    """The body of a completion; without ``usage`` it has none."""
    body: dict[str, Any] = {
        "id": head.id,
        "object": "chat.completion",
        "created": head.created,
        "model": head.model,
        "choices": [
            {
                "index": index,
                "message": _message(choice),
                "logprobs": None,
                "finish_reason": choice.finish_reason,
            }
            for index, choice in enumerate(choices)
        ],
    }
    if usage is not None:
        body["usage"] = _usage(usage)
    body["system_fingerprint"] = FINGERPRINT
    return orjson.dumps(body)


def events(
    head: Head, choices: Sequence[ResponseChoice], usage: Usage | None, *, include_usage: bool
) -> list[bytes]:
    """A stream as server-sent events, :data:`DONE` being the last."""
    sent: list[bytes] = []
    for index, choice in enumerate(choices):
        for delta in _deltas(choice):
            sent.append(_event(head, index, delta, None, include_usage))
        sent.append(_event(head, index, {}, choice.finish_reason, include_usage))
    if include_usage and usage is not None:
        sent.append(_data(_chunk(head, []) | {"usage": _usage(usage)}))
    sent.append(DONE)
    return sent


def garbled(event: bytes) -> bytes:
    """An event whose JSON breaks off."""
    return event[: len(event) // 2] + b"\n\n"


def models(names: Sequence[str]) -> bytes:
    """The list of models."""
    data = [
        {"id": name, "object": "model", "created": 0, "owned_by": "simulated"} for name in names
    ]
    return orjson.dumps({"object": "list", "data": data})


def _message(choice: ResponseChoice) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": choice.text, "refusal": None}
    if choice.tools:
        message["content"] = choice.text or None
        message["tool_calls"] = [_tool(call) for call in choice.tools]
    return message


def _tool(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def _deltas(choice: ResponseChoice) -> list[dict[str, Any]]:
    texts = [{"content": piece} for piece in pieces(choice.text)]
    if not choice.tools:
        return [{"role": "assistant", "content": "", "refusal": None}, *texts]
    sent: list[dict[str, Any]] = [{"role": "assistant", "content": None}, *texts]
    for index, call in enumerate(choice.tools):
        opened = {"index": index, **_tool(call)}
        opened["function"] = {"name": call.name, "arguments": ""}
        sent.append({"tool_calls": [opened]})
        sent += [
            {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
            for piece in pieces(call.arguments)
        ]
    return sent


def pieces(text: str) -> list[str]:
    """A text as it comes bit by bit."""
    step = max(_PIECE, -(-len(text) // _MOST_PIECES))
    return [text[at : at + step] for at in range(0, len(text), step)]


def _event(
    head: Head, index: int, delta: dict[str, Any], finish: str | None, include_usage: bool
) -> bytes:
    choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}
    chunk = _chunk(head, [choice])
    return _data(chunk | {"usage": None} if include_usage else chunk)


def _chunk(head: Head, choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": head.id,
        "object": "chat.completion.chunk",
        "created": head.created,
        "model": head.model,
        "system_fingerprint": FINGERPRINT,
        "choices": choices,
    }


def _data(chunk: dict[str, Any]) -> bytes:
    return b"data: " + orjson.dumps(chunk) + b"\n\n"
