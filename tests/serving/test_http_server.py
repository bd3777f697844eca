"""The addresses of the server, over the wire."""

from __future__ import annotations

import asyncio

import aiohttp
import orjson
import pytest

from matrix.serving.app import MAX_BODY
from tests.serving.asking import PATH, read_events, request_body, serving
from tests.waiting import LONGEST_WAIT_S

ECHO = request_body(model="echo")


async def test_a_completion_and_a_stream_have_their_content_types() -> None:
    async with serving() as client:
        async with client.post(PATH, json=ECHO) as response:
            assert response.content_type == "application/json"
            whole = await response.json()
        async with client.post(PATH, json=ECHO | {"stream": True}) as response:
            assert response.content_type == "text/event-stream"
            events = read_events(await response.read())
        text = "".join(event["choices"][0]["delta"].get("content", "") for event in events)
        assert text == whole["choices"][0]["message"]["content"]


async def test_a_stream_in_real_time_comes_in_pieces() -> None:
    simulation = {"latency": {"first_token_s": 0.02, "tokens_per_s": 10_000}}
    async with serving(real_time=True, simulation=simulation) as client:
        async with client.post(PATH, json=request_body(stream=True)) as response:
            pieces = [piece async for piece, _ in response.content.iter_chunks()]
        assert len(pieces) > 2
        assert read_events(b"".join(pieces))


async def test_models_health_and_unknown_addresses_answer_in_json() -> None:
    async with serving(models=["a", "b/c", "*"]) as client:
        async with client.get("/v1/models") as response:
            assert [one["id"] for one in (await response.json())["data"]] == ["a", "b/c"]
        async with client.get("/healthz") as response:
            assert await response.json() == {"status": "ok", "simulated": True}
        for method, path in (("GET", PATH), ("POST", "/v1/embeddings"), ("PUT", "/")):
            async with client.request(method, path) as response:
                assert response.status == 404
                assert f"({method} {path})" in (await response.json())["error"]["message"]


FOREIGN = [
    ({"Host": "theirs.example"}, "is not this machine"),
    ({"Host": "theirs.example:8080"}, "is not this machine"),
    ({"Host": "127.0.0.1.theirs.example"}, "is not this machine"),
    ({"Origin": "https://theirs.example"}, "Web pages may not ask"),
    ({"Origin": "null"}, "Web pages may not ask"),
    ({"Host": "localhost:1", "Origin": "http://[::1"}, "Web pages may not ask"),
]


@pytest.mark.parametrize(("headers", "told"), FOREIGN)
async def test_no_web_page_can_ask(headers: dict[str, str], told: str) -> None:
    async with serving() as client:
        for method, path in (("POST", PATH), ("GET", "/stats"), ("POST", "/faults")):
            async with client.request(method, path, headers=headers, json=ECHO) as response:
                assert response.status == 403
                assert told in (await response.json())["error"]["message"]
                assert "Access-Control-Allow-Origin" not in response.headers


@pytest.mark.parametrize(
    "headers",
    [{}, {"Host": "localhost:99"}, {"Host": "[::1]:99"}, {"Origin": "http://127.0.0.1:3000"}],
)
async def test_programs_of_this_machine_can(headers: dict[str, str]) -> None:
    async with serving() as client, client.post(PATH, json=ECHO, headers=headers) as response:
        assert response.status == 200


async def test_all_but_health_asks_for_the_key() -> None:
    async with serving(api_key="k") as client:
        for method, path in (
            ("POST", PATH),
            ("GET", "/v1/models"),
            ("GET", "/stats"),
            ("POST", "/stats/reset"),
            ("POST", "/faults"),
            ("GET", "/faults"),
            ("DELETE", "/faults"),
        ):
            async with client.request(method, path) as response:
                assert response.status == 401, path
            headers = {"Authorization": "Bearer k"}
            async with client.request(method, path, headers=headers) as response:
                assert response.status != 401, path
        async with client.get("/healthz") as response:
            assert response.status == 200


async def test_a_body_above_the_bound_is_a_413_and_one_below_is_read() -> None:
    async with serving() as client:
        async with client.post(PATH, data=b" " * (MAX_BODY + 1)) as response:
            assert response.status == 413
            assert (await response.json())["error"]["code"] == "body_too_large"
        padded = orjson.dumps(ECHO).ljust(MAX_BODY)
        async with client.post(PATH, data=padded) as response:
            assert response.status == 200


async def test_a_body_that_cannot_be_decoded_is_a_400() -> None:
    async with serving() as client:
        headers = {"Content-Encoding": "gzip"}
        async with client.post(PATH, data=b"no gzip", headers=headers) as response:
            assert response.status == 400


async def test_statistics_add_up_and_start_anew() -> None:
    async with serving(latency_ms=50, rpm=600, burst=30) as client:

        async def ask() -> int:
            async with client.post(PATH, json=ECHO) as response:
                return response.status

        found = await asyncio.gather(*(ask() for _ in range(40)))
        async with client.post("/stats/reset") as response:
            stats = await response.json()
        assert stats["requests"] == 40
        assert stats["accepted"] == found.count(200) == stats["statuses"]["200"]
        assert stats["rate_limited"] == found.count(429) == 40 - stats["accepted"]
        assert 1 <= stats["max_in_flight"] <= 40
        assert stats["in_flight"] == 0
        async with client.get("/stats") as response:
            assert (await response.json())["requests"] == 0


@pytest.mark.slow
async def test_hundreds_of_requests_are_in_flight_at_once_and_gone_with_their_clients() -> None:
    async with serving() as client:

        async def in_flight(requested: int) -> None:
            found = -1
            while found != requested:
                async with client.get("/stats") as response:
                    found = (await response.json())["in_flight"]

        async def ask() -> None:
            async with client.post(PATH, json=ECHO, headers={"X-Matrix-Fault": "hang"}):
                raise AssertionError("a hung request has no answer")

        asking = [asyncio.create_task(ask()) for _ in range(300)]
        await asyncio.wait_for(in_flight(300), LONGEST_WAIT_S)
        for task in asking:
            task.cancel()
        await asyncio.wait(asking)
        await asyncio.wait_for(in_flight(0), LONGEST_WAIT_S)


async def test_a_connection_is_kept_for_the_next_request() -> None:
    made = []

    async def note(*details: object) -> None:
        made.append(details)

    trace = aiohttp.TraceConfig()
    trace.on_connection_create_end.append(note)
    async with serving() as other:
        async with other.get("/healthz") as response:
            base = response.url.origin()
        connector = aiohttp.TCPConnector(limit=1)
        async with aiohttp.ClientSession(
            base, connector=connector, trace_configs=[trace]
        ) as client:
            for fault in ("ok", "429", "empty", "500", "bad-request", "malformed"):
                headers = {"X-Matrix-Fault": fault}
                async with client.post(PATH, json=ECHO, headers=headers) as response:
                    await response.read()
    assert len(made) == 1
