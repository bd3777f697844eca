"""What the hostile server does, grouped by the branch of our code that decides about it."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import orjson

from matrix.engine.calls.attempts import IMPLAUSIBLE
from tests.badinput.hostile import MIXED, Act, Behaviour, Script, http
from tests.badinput.world import REPORTED
from tests.providers_litellm.service import chat

HELLO = chat("on", usage=REPORTED)
MUTE = chat("on", usage=None)
MIB = 1 << 20


class Group(NamedTuple):
    """Behaviours that one branch decides about, and what it has to decide.

    Attributes:
        branch: Where in the code; if it is broken, the group's test fails.
        classes: Error classes that the attempt may be recorded with; ``""`` is a good answer.
        ledger: What comes of its hold.
        again: Whether the call is tried again.
        scripts: Name -> what is sent.
        bills: Whether the server charges for it.
    """

    branch: str
    classes: frozenset[str]
    ledger: str
    again: bool
    scripts: Mapping[str, Script]
    bills: bool = True


def reports(usage: Any, **more: Any) -> Script:
    return [http(chat("on", usage=usage, **more))]


def status(
    code: int, *headers: str | bytes, body: bytes = b'{"error": {"message": "no"}}'
) -> Script:
    return [http(body, f"{code} Status", *headers)]


def chunked(raw: bytes, *headers: str) -> Script:
    return [http(b"", "200 OK", "transfer-encoding: chunked", *headers, length=None) + raw]


def coded(raw: bytes, coding: str, code: int = 200) -> Script:
    return [http(raw, f"{code} Status", f"content-encoding: {coding}")]


@cache
def bomb(size: int) -> bytes:
    """Bytes of nothing, a thousandth of it on the wire."""
    return gzip.compress(bytes(size), 6)


def wait(*headers: str | bytes) -> Script:
    return status(429, *headers)


WELL = orjson.dumps(HELLO)
WHOLE_CHUNK = b"%x\r\n%s\r\n" % (len(WELL), WELL)

UNBELIEVABLE: dict[str, Script] = {
    "no usage": reports(None),
    "empty usage": reports({}),
    "all zero": reports({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}),
    "nothing written": reports({**REPORTED, "completion_tokens": 0}),
    "too few for its text": [
        http(chat("on and on " * 40, usage={**REPORTED, "completion_tokens": 2}))
    ],
    "nothing read": reports({**REPORTED, "prompt_tokens": 0}),
    "negative": reports({**REPORTED, "prompt_tokens": -50, "completion_tokens": -2}),
    "10^12": reports({**REPORTED, "prompt_tokens": 10**12}),
    "10^30": reports({**REPORTED, "prompt_tokens": 10**30 % (1 << 63)}),
    "fractions": reports({**REPORTED, "prompt_tokens": 50.5}),
    "words": reports({**REPORTED, "prompt_tokens": "many"}),
    "a list": reports([50, 2]),
    "a text": reports("50"),
    "lists of tokens": reports({**REPORTED, "prompt_tokens": [50]}),
}
DEAR: dict[str, Script] = {
    "as digits": reports({**REPORTED, "prompt_tokens": "50", "completion_tokens": "2"}),
    "a total above its parts": reports({**REPORTED, "total_tokens": 60}),
    "more cached than read": reports(
        {**REPORTED, "prompt_tokens": 20, "total_tokens": 62,
         "prompt_tokens_details": {"cached_tokens": 50}}
    ),
    "more thought than written": reports(
        {**REPORTED, "completion_tokens_details": {"reasoning_tokens": 9}}
    ),
    "odd headers": [http(HELLO, "200 OK", "x-é: é".encode("latin-1").replace(b"x-\xe9", b"x-a"))],
}  # fmt: skip
REFUSED: dict[str, Script] = {
    **{str(code): status(code) for code in (400, 404, 405, 410, 413, 418, 422, 451)},
    "no body": status(400, body=b""),
    "a page": status(404, "content-type: text/html", body=b"<html>"),
    "body cut off": [http(b'{"er', "400 Bad", length=99)],
    "body badly packed": coded(b"no gzip", "gzip", 404),
    "says that it is busy": status(400, body=b'{"error": {"message": "rate limit, timeout, 503"}}'),
    "says that it is a 500": status(400, body=b'{"error": {"message": "x", "code": 500}}'),
}
ACCOUNT: dict[str, Script] = {
    **{str(code): status(code) for code in (401, 402, 403)},
    "a page": status(403, "content-type: text/html", body=b"<html>"),
    "body cut off": [http(b'{"er', "401 Who", length=99)],
    "no money": status(429, body=b'{"error": {"message": "insufficient_quota"}}'),
}
NO_PROOF: dict[str, Script] = {
    **{str(code): status(code) for code in (408, 409, 425, 499, 500, 502, 503, 504, 529, 599, 999)},
    "says that it refused": status(500, body=b'{"error": {"message": "invalid api key: 401"}}'),
    "says that it is too long": status(502, body=b'{"error": {"message": "context length"}}'),
    "error cut off": [http(b'{"er', "503 Busy", length=99)],
    "error badly packed": coded(b"no gzip", "gzip", 500),
}
WAITS: dict[str, Script] = {
    "no word": wait(),
    **{
        text or "empty": wait(f"retry-after: {text}")
        for text in (
            "", "7", "-7", "0", "1e400", "nan", "inf", "-inf", "0x10", "soon", "1,5", "9" * 400,
            "Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 00 Jan 0000 00:00:00 GMT", "Thu, 99",
        )
    },
    "twice": wait("retry-after: 1", "retry-after: 2"),
    "milliseconds": wait("retry-after-ms: 1e308"),
    "not ASCII": wait("retry-after: \N{HOURGLASS}".encode()),
    "in the body": status(429, body=b'{"retryDelay": "%ss"}' % (b"9" * 400)),
    "cut off": [http(b"slow", "429 Slow", "retry-after: 1", length=99)],
}  # fmt: skip
NO_ANSWERS: dict[str, Script] = {
    "cut JSON": [http(orjson.dumps(MUTE)[:-40])],
    "a page": [http(b"<html>busy</html>", "200 OK", "content-type: text/html")],
    "nothing": [http(b"")],
    **{body.decode(): [http(body)] for body in (b"null", b"[]", b'"7"', b"7", b"{}", b"NaN")},
    "no UTF-8": [http(b'{"choices": "\xff\xfe"}')],
    "deep": [http(b"[" * 100_000)],
    "other statuses": status(204, body=b""),
    "not modified": status(304, body=b""),
    "choose yourself": status(300, body=b""),
    **{
        f"error {code} in a 200": [http({"error": {"message": "no such model", "code": code}})]
        for code in (None, 400, 401, 404, 429, 500)
    },
    "no choices": [http({**MUTE, "choices": []})],
    "choices of null": [http({**MUTE, "choices": None})],
    "choices of numbers": [http({**MUTE, "choices": [1]})],
    "no text": [http(chat("", usage=None))],
    "text of numbers": [http(chat(None, usage=None, message={"content": 7}))],
    "gzip cut off": coded(gzip.compress(orjson.dumps(MUTE))[:-40], "gzip"),
}
FRAMING: dict[str, Script] = {
    "long header": [http(HELLO, "200 OK", "x-a: " + "a" * 9_000)],
    "long header that says context length": [
        http(HELLO, "200 OK", "maximum-context-length: " + "context length " * 900)
    ],
    "many headers": [http(HELLO, "200 OK", *(f"x-{n}: 1" for n in range(400)))],
    "bad header": [http(HELLO, "200 OK", b"x a\0: b")],
    "no header": [http(HELLO, "200 OK", "invalid_api_key")],
    "bad status line": [http(HELLO, "two hundred")],
    "small status": [http(HELLO, "99 OK")],
    "long status": [http(HELLO, "4000 OK")],
    "no status": [WELL],
    "other version": [http(HELLO).replace(b"HTTP/1.1", b"HTTP/7.7", 1)],
    "TLS": [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
    "two lengths": [http(HELLO, "200 OK", "content-length: 5")],
    "length and chunks": [http(HELLO, "200 OK", "transfer-encoding: chunked")],
    "negative length": [http(HELLO, length=-5)],
    "endless length": [http(HELLO, "200 OK", "content-length: " + "9" * 40, length=None)],
    "bad chunk size": chunked(b"zz\r\n" + WELL),
    "endless chunk size": chunked(b"f" * 40 + b"\r\n" + WELL),
    "chunk without end": chunked(b"5\r\n" + WELL),
    "bad trailer": chunked(WHOLE_CHUNK + b"0\r\nx" + b"a" * 9_000 + b"\r\n\r\n"),
    "brotli": coded(WELL, "br"),
    "zstd": coded(WELL, "zstd"),
    "no gzip": coded(WELL, "gzip"),
    "no deflate": coded(b"\x08" + WELL, "deflate"),
}
CUT: dict[str, Script] = {
    "nothing": [],
    "reset": [Act.RESET],
    "half a status line": [b"HTTP/1.1 4"],
    "half a header": [b"HTTP/1.1 400 Bad\r\nconte"],
    "half a body": [http(WELL[:-40], length=len(WELL))],
    "half a chunk": chunked(b"fff\r\n" + WELL),
    "no last chunk": chunked(WHOLE_CHUNK),
}
SLOW: dict[str, Script] = {
    "no answer": [Act.HANG],
    "half a status line": [b"HTTP/1.1 4", Act.HANG],
    "half a header": [b"HTTP/1.1 400 Bad\r\nconte", Act.HANG],
    "half a body": [http(WELL[:-40], length=len(WELL)), Act.HANG],
    "a body in drops": [http(b"", length=1 << 30), *[b" "] * 20, Act.HANG],
    "soon, soon": [b"HTTP/1.1 102 Processing\r\n\r\n" * 100, Act.HANG],
}
BIG: dict[str, Script] = {
    "gzip": coded(bomb(65 * MIB), "gzip"),
    "gzip in many parts": coded(bomb(MIB) * 65, "gzip"),
    "deflate": coded(zlib.compress(bytes(65 * MIB)), "deflate"),
    "plain": [http(bytes(65 * MIB))],
    "without end": [*chunked(b""), Act.FLOOD],
    "an error": coded(bomb(65 * MIB), "gzip", 500),
    "a refusal": coded(bomb(65 * MIB), "gzip", 429),
}
REDIRECTS: dict[str, Script] = {
    **{f"{code} to itself": status(code, "location: /") for code in (301, 302, 303, 307, 308)},
    "to another path": status(307, "location: ../elsewhere/v1/chat/completions"),
    "to nobody": status(307, "location: http://127.0.0.1:1/v1"),
    "to nothing": status(302, "location: "),
    "nowhere": status(302),
    "to another scheme": status(308, "location: file:///etc/passwd"),
    "to a broken address": status(301, "location: http://[half"),
    "not ASCII": status(301, "location: http://\N{HOURGLASS}/".encode()),
}

ANSWERED = frozenset({"", IMPLAUSIBLE})
GROUPS: dict[str, Group] = {
    "usage that cannot be believed": Group(
        "answers.usage_of, pricing.usable", ANSWERED, "presumed", False, UNBELIEVABLE
    ),
    "usage read on the dear side": Group(
        "answers.usage_of", ANSWERED, "settled", False, DEAR
    ),
    "refusals": Group(
        "errors._refusal, wire.refuses",
        frozenset({"RequestRejected", "ContextOverflow"}),
        "released", False, REFUSED, bills=False,
    ),
    "refused accounts": Group(
        "errors._refusal, wire.refuses",
        frozenset({"AuthenticationFailed"}), "released", True, ACCOUNT, bills=False,
    ),
    "statuses that prove nothing": Group(
        "errors._kind",
        frozenset({"ProviderUnavailable", "ProviderTimeout"}), "presumed", True, NO_PROOF,
    ),
    "waits": Group(
        "retry_after_s", frozenset({"RateLimited"}), "released", True, WAITS, bills=False
    ),
    "bodies that are no answer": Group(
        "direct._read, errors._kind", frozenset({"MalformedAnswer"}), "presumed", True, NO_ANSWERS
    ),
    "broken framing": Group(
        "wire.Exchange.failed", frozenset({"MalformedAnswer"}), "presumed", True, FRAMING
    ),
    "cut off": Group(
        "errors._is_cut_off", frozenset({"ProviderUnavailable"}), "presumed", True, CUT
    ),
    "slow": Group("asyncio.timeout", frozenset({"ProviderTimeout"}), "presumed", True, SLOW),
    "big": Group(
        "connections._whole", frozenset({"AnswerTooLarge"}), "presumed", False, BIG
    ),
    "redirects": Group(
        "connections.send", frozenset({"RequestRejected"}), "released", False, REDIRECTS,
        bills=False,
    ),
}  # fmt: skip


LEFT_OUT = frozenset({"slow", "waits", "big", "refused accounts"})
"""Groups that would end a whole run, or have it wait for long."""


def behaviours() -> dict[str, list[Behaviour]]:
    """What the server is to do, by group; ``mixed`` is what a run can live with for seconds."""
    found = {
        title: {name: Behaviour(script, group.bills) for name, script in group.scripts.items()}
        for title, group in GROUPS.items()
    }
    quick = {title: names for title, names in found.items() if title not in LEFT_OUT}
    quick["waits"] = {name: found["waits"][name] for name in ("0", "-7", "-inf")}
    quick["big"] = {name: found["big"][name] for name in ("gzip", "a refusal")}
    mixed = [behaviour for names in quick.values() for behaviour in names.values()]
    return {title: list(names.values()) for title, names in found.items()} | {MIXED: mixed}
