"""What a metered address makes of clients that do not keep to HTTP."""

from __future__ import annotations

import asyncio
import logging
from urllib.parse import urlsplit

import pytest

from matrix.gateway.address import open_address
from matrix.gateway.desk import GatewayRequest
from matrix.gateway.upstreams import NoSuchModel, Upstream, Upstreams
from matrix.model.errors import Censored
from matrix.model.records import Answer, Shape

HEAD = "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
BROKEN = {
    "goes away before its body is whole": "Content-Length: 9999\r\n\r\n{",
    "says a length that is no number": "Content-Length: many\r\n\r\n{}",
    "breaks its chunks": "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
    "goes away between its chunks": "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
    "says what it packs and does not": "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
}


@pytest.mark.parametrize("header", ["Host: theirs.example", "Origin: https://theirs.example"])
async def test_no_web_page_can_ask_even_with_the_key(header: str) -> None:
    async def ask(request: GatewayRequest) -> Answer:
        raise AssertionError(request)

    async with open_address(ask, Upstreams({})) as address:
        to = urlsplit(address.url)
        reads, writes = await asyncio.open_connection(to.hostname, to.port)
        host = "" if header.startswith("Host") else "Host: 127.0.0.1\r\n"
        head = f"POST /v1/messages HTTP/1.1\r\n{host}{header}\r\nx-api-key: {address.token}\r\n"
        writes.write(f"{head}Content-Length: 2\r\nConnection: close\r\n\r\n{{}}".encode())
        answer = await reads.read()
        writes.close()
    assert answer.startswith(b"HTTP/1.1 401")


@pytest.mark.parametrize("how", list(BROKEN))
async def test_a_client_that_breaks_off_is_asked_for_nobody_and_told_on_no_terminal(
    how: str, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    async def ask(request: GatewayRequest) -> Answer:
        raise AssertionError(request)

    with caplog.at_level(logging.WARNING):
        async with open_address(ask, Upstreams({})) as address:
            to = urlsplit(address.url)
            reads, writes = await asyncio.open_connection(to.hostname, to.port)
            writes.write((HEAD.format(token=address.token) + BROKEN[how]).encode())
            writes.write_eof()
            answer = await reads.read()
            writes.close()
            assert not answer or (answer.startswith(b"HTTP/1.") and b" 400 " in answer)
            assert address.requests == 0
    assert not caplog.records
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "shape", "meant"),
    [
        ("gpt-4oo", "chat", "gpt-4o"),
        ("claude-sonet", "messages", "claude-sonnet"),
        ("opus-4.5", "messages", "sim/opus-4.5"),
        ("claude-sonet", "chat", "anthropic/claude-sonnet"),
    ],
)
def test_a_name_that_nobody_has_is_answered_with_one_that_works(
    name: str, shape: Shape, meant: str
) -> None:
    known = ("openai/gpt-4o", "anthropic/claude-sonnet", "sim/opus-4.5")
    models = Upstreams({one: Upstream(one, one.partition("/")[0]) for one in known})
    with pytest.raises(NoSuchModel, match=rf"did you mean {meant}\?$"):
        models.find(name, shape)
    assert models.find(meant, shape).name.endswith(meant)


async def test_what_a_cap_refuses_to_a_client_that_has_gone_is_not_counted_as_refused() -> None:
    asked, decided = asyncio.Queue[GatewayRequest](), asyncio.Event()

    async def ask(request: GatewayRequest) -> Answer:
        asked.put_nowait(request)
        await decided.wait()
        raise Censored("cap: nothing is left")

    models = Upstreams({"openai/it": Upstream("openai/it", "openai", 100, 1000)})
    body = b'{"model": "it", "messages": [{"role": "user", "content": "x"}]}'
    async with open_address(ask, models) as address:
        to = urlsplit(address.url)
        clients = [await asyncio.open_connection(to.hostname, to.port) for _ in range(3)]
        for _, writes in clients:
            head = HEAD.format(token=address.token) + f"Content-Length: {len(body)}\r\n\r\n"
            writes.write(head.encode() + body)
            await asked.get()
        for _, writes in clients[:2]:
            writes.transport.abort()
        reads, writes = await asyncio.open_connection(to.hostname, to.port)
        writes.write(b"GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n")
        await reads.readuntil(b"\r\n")  # whoever went before that has been seen to go
        writes.close()
        decided.set()
        answer = await clients[2][0].readuntil(b"\r\n")
        assert b" 402 " in answer
        clients[2][1].close()
    assert (address.requests, address.capped) == (3, 1)
