"""What a metered address makes of clients that do not keep to HTTP."""

from __future__ import annotations

import asyncio
import logging
from urllib.parse import urlsplit

import pytest

from matrix.gateway.address import open_address
from matrix.gateway.desk import Request
from matrix.gateway.upstreams import Upstreams
from matrix.model.records import Answer

HEAD = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
BROKEN = {
    "goes away before its body is whole": "Content-Length: 9999\r\n\r\n{",
    "says a length that is no number": "Content-Length: many\r\n\r\n{}",
    "breaks its chunks": "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
    "goes away between its chunks": "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
    "says what it packs and does not": "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
}


@pytest.mark.parametrize("how", list(BROKEN))
async def test_a_client_that_breaks_off_is_asked_for_nobody_and_told_on_no_terminal(
    how: str, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    async def ask(request: Request) -> Answer:
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
