"""Every fault, as a client meets it on the wire."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import orjson
import pytest

from matrix.serving.faults import FaultPlan, ServerFaultSettings, parse_fault
from tests.serving.asking import PATH, read_events, request_body, serving
from tests.waiting import LONGEST_WAIT_S

ECHO = request_body(model="echo")


async def post(
    client: aiohttp.ClientSession,
    fault: str | None = None,
    timeout: float = LONGEST_WAIT_S,
    **fields: Any,
) -> tuple[int, bytes]:
    """Status and body of a request that asks for a fault."""
    headers = {} if fault is None else {"X-Matrix-Fault": fault}
    async with client.post(
        PATH,
        data=orjson.dumps(ECHO | fields),
        headers=headers,
        timeout=aiohttp.ClientTimeout(total=timeout),
    ) as response:
        return response.status, await response.read()


@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [
        ("429", 429, "rate_limit_exceeded"),
        ("500", 500, None),
        ("502", 502, None),
        ("503", 503, None),
        ("504", 504, None),
        ("529", 529, None),
        ("auth", 401, "invalid_api_key"),
        ("context", 400, "context_length_exceeded"),
        ("refusal", 400, "content_policy_violation"),
        ("bad-request", 400, "invalid_value"),
    ],
)
async def test_an_error_has_its_status_and_code(fault: str, status: int, code: str | None) -> None:
    async with serving() as client:
        for stream in (False, True):
            found, body = await post(client, fault, stream=stream)
            assert (found, orjson.loads(body)["error"]["code"]) == (status, code)


@pytest.mark.parametrize(
    ("fault", "asked"),
    [
        ("429", "7"),
        ("429;retry-after=86400", "86400"),
        ("429;retry-after=soon", "soon"),
    ],
)
async def test_a_429_asks_to_wait_as_long_as_it_is_told(fault: str, asked: str) -> None:
    headers = {"X-Matrix-Fault": fault}
    async with (
        serving(faults={"retry_after_s": 7}) as client,
        client.post(PATH, json=ECHO, headers=headers) as response,
    ):
        assert (response.status, response.headers["retry-after"]) == (429, asked)


async def test_a_reset_leaves_no_answer() -> None:
    async with serving() as client:
        with pytest.raises(aiohttp.ClientOSError) as caught:
            await post(client, "reset")
        assert isinstance(caught.value.__cause__ or caught.value, ConnectionResetError | OSError)
        assert (await post(client))[0] == 200


@pytest.mark.parametrize("stream", [False, True])
async def test_a_cut_answer_ends_in_the_middle_of_the_body(stream: bool) -> None:
    async with serving() as client:
        _, whole = await post(client, stream=stream)
        headers = {"X-Matrix-Fault": "cut"}
        async with client.post(PATH, json=ECHO | {"stream": stream}, headers=headers) as response:
            got = await response.content.readexactly(len(whole) // 3)
            with pytest.raises(aiohttp.ClientPayloadError):
                await response.content.read()
        assert response.status == 200
        assert got[:9] == whole[:9]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_hang_lasts_until_the_client_gives_up(stream: bool) -> None:
    async with serving() as client:
        with pytest.raises(TimeoutError):
            await post(client, "hang", timeout=0.2, stream=stream)
        in_flight = 1
        while in_flight:  # the server notices the closed connection a moment later
            async with client.get("/stats") as response:
                in_flight = (await response.json())["in_flight"]


async def test_a_hung_stream_has_begun() -> None:
    async with serving() as client:
        headers = {"X-Matrix-Fault": "hang"}
        async with client.post(PATH, json=ECHO | {"stream": True}, headers=headers) as response:
            assert (await response.content.readline()).startswith(b"data: {")
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(response.content.read(), 0.05)


async def test_a_slow_answer_is_good_and_late() -> None:
    async with serving() as client:
        with pytest.raises(TimeoutError):
            await post(client, "slow;seconds=3600", timeout=0.1)
        status, body = await post(client, "slow;seconds=0.01")
        assert status == 200
        assert orjson.loads(body)["choices"][0]["message"]["content"]


async def test_a_malformed_answer_is_no_json() -> None:
    async with serving() as client:
        status, body = await post(client, "malformed")
        assert status == 200
        with pytest.raises(orjson.JSONDecodeError):
            orjson.loads(body)
        _, stream = await post(client, "malformed", stream=True)
        with pytest.raises(orjson.JSONDecodeError):
            read_events(stream)


async def test_an_empty_answer_has_no_text() -> None:
    async with serving() as client:
        _, body = await post(client, "empty", n=2)
        assert [one["message"]["content"] for one in orjson.loads(body)["choices"]] == ["", ""]


async def test_usage_can_be_missing_absurd_or_negative() -> None:
    async with serving() as client:
        assert "usage" not in orjson.loads((await post(client, "no-usage"))[1])
        absurd = orjson.loads((await post(client, "absurd-usage"))[1])["usage"]
        assert (absurd["prompt_tokens"], absurd["completion_tokens"]) == (10**12, 10**12)
        negative = orjson.loads((await post(client, "negative-usage"))[1])["usage"]
        assert negative["prompt_tokens"] < 0
        assert negative["completion_tokens"] < 0
        asked = {"include_usage": True}
        _, stream = await post(client, "no-usage", stream=True, stream_options=asked)
        assert all(event["usage"] is None for event in read_events(stream))


async def test_a_schedule_is_used_up_one_a_request() -> None:
    async with serving(faults={"schedule": ["503"]}) as client:
        async with client.post("/faults", json=[429, "ok", "500"]) as response:
            assert await response.json() == {"pending": 4}
        assert [(await post(client))[0] for _ in range(5)] == [503, 429, 200, 500, 200]
        async with client.post("/faults", json=["500"]) as response:
            assert response.status == 200
        assert (await post(client, "ok"))[0] == 200, "a header leaves the schedule alone"
        async with client.delete("/faults") as response:
            assert await response.json() == {"pending": 0}
        async with client.get("/stats") as response:
            stats = await response.json()
        assert stats["faults"] == {"429": 1, "500": 1, "503": 1}
        assert stats["statuses"] == {"200": 3, "429": 1, "500": 1, "503": 1}


@pytest.mark.parametrize("body", [b"{", b"{}", b'["429", "nonsense"]', b'["slow;seconds=-1"]'])
async def test_a_wrong_schedule_changes_nothing(body: bytes) -> None:
    async with serving() as client:
        async with client.post("/faults", data=body) as response:
            assert response.status == 400
        async with client.get("/faults") as response:
            assert await response.json() == {"pending": 0}


@pytest.mark.parametrize("text", ["", "4290", "500;retry-after=1", "slow;seconds=nan", "slow;x=1"])
def test_what_is_no_fault_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"fault|float"):
        parse_fault(text)


def test_chances_come_as_often_as_they_should_and_the_same_again() -> None:
    settings = ServerFaultSettings(chances={"429": 0.2, "slow;seconds=1": 0.05})
    plans = [FaultPlan(settings), FaultPlan(settings)]
    drawn, again = ([plan.next(None) for _ in range(4000)] for plan in plans)
    assert drawn == again
    names = [fault.name if fault else "" for fault in drawn]
    assert 0.17 < names.count("429") / 4000 < 0.23
    assert 0.035 < names.count("slow") / 4000 < 0.065
