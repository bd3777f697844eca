"""Jobs of the simulated server: taken, asked after, gone on with; an agent that is rehearsed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from matrix.serving.options import ServeOptions
from matrix.serving.process import SimServer
from tests.agents.programs import project_of, spec_of
from tests.faults.laws import assert_books
from tests.serving.asking import serving

TASK = {"prompt": "Say something."}


async def said(client: aiohttp.ClientSession, path: str, body: Any = None) -> tuple[int, Any]:
    method = "GET" if body is None else "POST"
    async with client.request(method, path, json=body) as response:
        return response.status, await response.json()


async def test_a_job_is_done_at_the_second_look_and_says_its_price() -> None:
    async with serving() as client:
        status, taken = await said(client, "/jobs", TASK)
        assert (status, taken["status"]) == (200, "working")
        address = f"/jobs/{taken['id']}"
        assert (await said(client, address))[1]["status"] == "working"
        done = (await said(client, address))[1]
        assert done["status"] == "done"
        assert done["result"]["text"]
        assert done["cost_usd"] == pytest.approx(
            (done["tokens_in"] * 1.0 + done["tokens_out"] * 5.0) / 1e6
        )
        assert (await said(client, address))[1] == done, "it stays done"


async def test_a_conversation_goes_on_with_what_was_said() -> None:
    async with serving() as client:
        _, taken = await said(client, "/jobs", TASK)
        address = f"/jobs/{taken['id']}"
        first = [await said(client, address) for _ in range(2)][-1][1]
        assert (await said(client, address, TASK))[1] == taken
        again = [await said(client, address) for _ in range(2)][-1][1]
        assert again["tokens_in"] > first["tokens_in"] + first["tokens_out"], "it read all of it"


async def test_jobs_meet_faults_when_they_are_taken_or_asked_after() -> None:
    async with serving(faults={"schedule": ["500", "job-fails", "job-endless"]}) as client:
        assert (await said(client, "/jobs", TASK))[0] == 500
        failed = (await said(client, "/jobs", TASK))[1]["id"]
        endless = (await said(client, "/jobs", TASK))[1]["id"]
        for _ in range(3):
            last = (await said(client, f"/jobs/{failed}"))[1]
            still = (await said(client, f"/jobs/{endless}"))[1]
        assert (last["status"], last["result"], still["status"]) == ("failed", None, "working")
        assert last["cost_usd"] > 0
        assert (await said(client, "/jobs/job-99"))[0] == 404
        wrongs: list[Any] = [{}, {"prompt": 7}, [], {"prompt": "x", "model": 7}]
        for wrong in wrongs:
            assert (await said(client, "/jobs", wrong))[0] == 400


async def test_jobs_ask_for_the_key() -> None:
    async with serving(api_key="secret") as client:
        assert (await said(client, "/jobs", TASK))[0] == 401
        assert (await said(client, "/jobs/job-1"))[0] == 401


@pytest.mark.slow
async def test_an_agent_is_rehearsed_against_it_with_its_faults(tmp_path: Path) -> None:
    options = ServeOptions.model_validate({"faults": {"schedule": ["ok", "503", "ok"]}})
    async with SimServer(options) as server:
        root = f"{server.root}/jobs"
        desk = {
            "http": {
                "submit": root,
                "body": {"prompt": "{prompt}"},
                "id": "id",
                "poll": f"{root}/{{id}}",
                "reply": f"{root}/{{id}}",
                "every_s": 0.01,
            },
            "answer": {"text": "result.text", "cost_usd": "cost_usd"},
            "max_usd": 0.05,
        }
        project = project_of(tmp_path, spec_of({"desk": desk}))
        done = await asyncio.to_thread(
            project.matrix, "run", "--executor", "in-process", "--quiet", "--run-id", "it"
        )
    assert done.code == 0, done.err
    assert_books(project.path("it"))
    calls = project.tables("it").frame("calls")
    assert set(project.tables("it").frame("sessions").outcome) == {"completed"}
    assert list(calls.disposition).count("settled") == len(calls) - 1, "one met the 503"
    assert (calls[calls.disposition == "settled"].cost_nano > 0).all()
