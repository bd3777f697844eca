"""What a kind tells an agent beside the request, and the state of its work that an agent says."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Any

import orjson
import pytest
from aiohttp import web

from matrix.agents.playing import play
from matrix.agents.turns import Turn, WallTime, facts_of
from matrix.engine.session.workspace import Scratch
from matrix.model.records import Answer, Usage
from matrix.model.spec.agents import AgentSpec
from tests.providers_litellm.service import served

FIELDS = {"task_type": "READ_INFO", "prompt": "no other request", "task_group_id": "group 7"}


def turn_in(folder: Path) -> Turn:
    return Turn("it", "r", "s1", 2, 3, "do it", (), folder, {}, 30.0, MappingProxyType(FIELDS))


async def played(tmp_path: Path, spec: dict[str, Any]) -> Answer:
    """The answer of one turn, as a session has it."""
    from concurrent.futures import ThreadPoolExecutor

    agent = AgentSpec.model_validate({**spec, "free": True})
    place = tmp_path / "place"
    place.mkdir()
    scratch = Scratch(place, ThreadPoolExecutor(1))
    found = await play(
        agent, turn_in(scratch.path), scratch, WallTime(lambda: 0.0), project=tmp_path, variables={}
    )
    facts = orjson.dumps(facts_of(found)).decode()
    return Answer(found.told.text, Usage(), 0, 0.0, "it", effect=facts)


async def test_a_service_is_told_the_fields_and_its_jobs_state_is_the_status(
    tmp_path: Path,
) -> None:
    bodies: list[Any] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        if request.method == "POST":
            bodies.append(await request.json())
            return web.json_response({"id": 5})
        return web.json_response({"status": "AWAITING_RESPONSE", "output": "which docs?"})

    async with served(handle) as port:
        base = f"http://127.0.0.1:{port}"
        body = {"type": "{task_type}", "in": "{task_group_id} {unknown}", "prompt": "{prompt}"}
        http = {
            "submit": f"{base}/tasks",
            "body": body,
            "id": "id",
            "poll": f"{base}/tasks/{{id}}",
            "done": ["COMPLETE", "AWAITING_RESPONSE"],
            "every_s": 0.01,
        }
        answer = await played(tmp_path, {"http": http, "answer": {"text": "output"}})
    assert bodies == [{"type": "READ_INFO", "in": "group 7 {unknown}", "prompt": "do it"}]
    assert (answer.text, answer.status) == ("which docs?", "AWAITING_RESPONSE")


async def test_a_command_has_them_as_variables_and_says_its_status_in_a_field(
    tmp_path: Path,
) -> None:
    script = 'printf \'{"text": "%s", "state": "COMPLETE"}\' "$MATRIX_TASK_TYPE"'
    answer = await played(
        tmp_path,
        {
            "command": ["sh", "-c", script],
            "sandbox": "none",
            "answer": {"text": "text", "status": "state"},
        },
    )
    assert (answer.text, answer.status) == ("READ_INFO", "COMPLETE")


@pytest.mark.parametrize("status", [7, None, ["COMPLETE"]])
async def test_a_status_that_is_no_text_is_none(tmp_path: Path, status: object) -> None:
    said = orjson.dumps({"text": "7", "state": status}).decode()
    answer = await played(
        tmp_path,
        {
            "command": ["printf", "%s", said],
            "sandbox": "none",
            "answer": {"text": "text", "status": "state"},
        },
    )
    assert (answer.text, answer.status) == ("7", "")
