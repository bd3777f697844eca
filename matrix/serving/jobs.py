"""Jobs: the simulated models as a service that takes a task and is asked after it.

For rehearsing agents that are such services: submit, look, go on with the same conversation. Every
job is one answer of a simulated model; it is ready at the second look. Whatever a completion can
meet (limits, keys, faults), a submission meets in the same way.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from matrix.model.records import JSON
from matrix.model.spec.aliases import BUILT_IN
from matrix.serving.api_errors import bad_request, unknown_address
from matrix.serving.chat import ChatService, Outcome

MODEL: Final = "haiku"
"""Does the work of a job that names no model."""
_LOOKS: Final = 2
"""Looks until a job is done."""
_MOST: Final = 10_000
"""Jobs that are remembered; the oldest is forgotten first."""
_JSON: Final = {"Content-Type": "application/json"}


@dataclass(slots=True)
class _Job:
    """A conversation, the newest answer to it, and how it is told."""

    model: str
    messages: list[dict[str, str]]
    text: str = ""
    usage: Mapping[str, Any] | None = None
    fault: str = ""
    looks: int = 0


class Jobs:
    """Every job of a server."""

    def __init__(self, service: ChatService) -> None:
        self._service = service
        self._jobs: OrderedDict[str, _Job] = OrderedDict()
        self._taken = 0

    def submit(self, body: bytes, headers: Mapping[str, str]) -> Outcome:
        """Take a job: ``{"prompt": ..., "model": ...}``.

        Raises:
            ApiError: The body is none.
        """
        asked = _asked(body)
        self._taken += 1
        number = f"job-{self._taken}"
        job = _Job(asked.get("model") or MODEL, [])
        return self._work(number, job, asked["prompt"], headers)

    def go_on(self, number: str, body: bytes, headers: Mapping[str, str]) -> Outcome:
        """The next turn of a job's conversation.

        Raises:
            ApiError: The body is none, or nobody knows the job.
        """
        return self._work(number, self._known(number), _asked(body)["prompt"], headers)

    def look(self, number: str) -> Outcome:
        """How a job stands.

        Raises:
            ApiError: Nobody knows the job.
        """
        job = self._known(number)
        job.looks += 1
        told: dict[str, JSON] = {"id": number, "status": "working"}
        if job.fault != "job-endless" and job.looks >= _LOOKS:
            failed = job.fault == "job-fails"
            told["status"] = "failed" if failed else "done"
            told["result"] = None if failed else {"text": job.text}
            told |= _bill(job)
        return Outcome(200, dict(_JSON), [orjson.dumps(told)])

    def _work(self, number: str, job: _Job, prompt: str, headers: Mapping[str, str]) -> Outcome:
        messages = [*job.messages, {"role": "user", "content": prompt}]
        asked = orjson.dumps({"model": job.model, "messages": messages})
        outcome = self._service.answer(asked, headers)
        if outcome.status != 200 or outcome.ending != "whole" or outcome.fault == "malformed":
            return outcome
        answered = orjson.loads(b"".join(outcome.parts))
        text = answered["choices"][0]["message"]["content"] or ""
        job.messages = [*messages, {"role": "assistant", "content": text}]
        job.text, job.usage, job.fault, job.looks = text, answered.get("usage"), outcome.fault, 0
        self._jobs[number] = job
        self._jobs.move_to_end(number)
        while len(self._jobs) > _MOST:
            self._jobs.popitem(last=False)
        outcome.parts = [orjson.dumps({"id": number, "status": "working"})]
        return outcome

    def _known(self, number: str) -> _Job:
        if number not in self._jobs:
            raise unknown_address("GET", f"/jobs/{number}")
        return self._jobs[number]


def _asked(body: bytes) -> dict[str, Any]:
    try:
        asked = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise bad_request(f"We could not parse the JSON body of your request: {error}") from None
    prompt = asked.get("prompt") if isinstance(asked, dict) else None
    if not isinstance(prompt, str) or not isinstance(asked.get("model", ""), str):
        raise bad_request('A job is {"prompt": "..."}, and "model" if it matters which.', "prompt")
    return dict(asked)


def _bill(job: _Job) -> dict[str, JSON]:
    """Tokens, and dollars at the model's price; nothing where no usage is reported."""
    if job.usage is None:
        return {}
    tokens_in, tokens_out = job.usage["prompt_tokens"], job.usage["completion_tokens"]
    told: dict[str, JSON] = {"tokens_in": tokens_in, "tokens_out": tokens_out}
    if (price := BUILT_IN.get(job.model)) is not None:
        dollars = tokens_in * price.input_usd_per_mtok + tokens_out * price.output_usd_per_mtok
        told["cost_usd"] = round(dollars / 1e6, 9)
    return told
