"""The HTTP side of a simulated server: an aiohttp application, pure of processes and signals."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final, NoReturn, TypeAlias

import orjson
from aiohttp import web

from matrix.dialects.loopback import foreign
from matrix.model.records import JSON
from matrix.serving import bodies
from matrix.serving.api_errors import (
    ApiError,
    bad_request,
    not_from_here,
    too_large,
    unknown_address,
)
from matrix.serving.chat import ChatService, Outcome
from matrix.serving.jobs import Jobs
from matrix.serving.options import ANY, ServeOptions

MAX_BODY: Final = 16 * 1024 * 1024
"""Bytes of a request's body; longer ones are refused."""

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]
_SERVICE: Final = web.AppKey("service", ChatService)
_JOBS: Final = web.AppKey("jobs", Jobs)
_HANG_S: Final = 3600.0
_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)


def build_app(options: ServeOptions) -> web.Application:
    """The application. Run it with ``handler_cancellation``, or hung requests stay for an hour."""
    app = web.Application(client_max_size=MAX_BODY, middlewares=[_from_here])
    app[_SERVICE] = ChatService(options, time.monotonic, time.time)
    app.router.add_get("/healthz", _healthz)
    app.router.add_post("/v1/chat/completions", _chat)
    app[_JOBS] = Jobs(app[_SERVICE])
    app.router.add_post("/jobs", _submit)
    app.router.add_get("/jobs/{number}", _guarded(_look))
    app.router.add_post("/jobs/{number}", _submit)
    app.router.add_get("/v1/models", _guarded(_models))
    app.router.add_get("/stats", _guarded(_stats))
    app.router.add_post("/stats/reset", _guarded(_reset))
    app.router.add_get("/faults", _guarded(_faults))
    app.router.add_post("/faults", _guarded(_add_faults))
    app.router.add_delete("/faults", _guarded(_clear_faults))
    app.router.add_route("*", "/{tail:.*}", _guarded(_nowhere))
    return app


@web.middleware
async def _from_here(request: web.Request, handler: Handler) -> web.StreamResponse:
    if why := foreign(request.headers):
        return _error(not_from_here(why))
    return await handler(request)


async def _chat(request: web.Request) -> web.StreamResponse:
    return await _answered(request, request.app[_SERVICE].answer)


async def _submit(request: web.Request) -> web.StreamResponse:
    jobs, number = request.app[_JOBS], request.match_info.get("number")
    return await _answered(request, jobs.submit if number is None else partial(jobs.go_on, number))


async def _look(request: web.Request) -> web.StreamResponse:
    return await _send(request, request.app[_JOBS].look(request.match_info["number"]))


async def _answered(
    request: web.Request, answer: Callable[[bytes, Mapping[str, str]], Outcome]
) -> web.StreamResponse:
    service = request.app[_SERVICE]
    service.stats.begin()
    try:
        body = await _body(request)
        outcome = answer(body, request.headers)
        if outcome.delay_s:
            await asyncio.sleep(outcome.delay_s)
        return await _send(request, outcome)
    except ApiError as error:
        service.stats.answered(error.status)
        return _error(error)
    finally:
        service.stats.end()


async def _body(request: web.Request) -> bytes:
    try:
        return await request.read()
    except web.HTTPRequestEntityTooLarge:
        raise too_large(MAX_BODY) from None
    except web.RequestPayloadError:
        raise bad_request("The body cannot be decoded; check its Content-Encoding.") from None


async def _send(request: web.Request, outcome: Outcome) -> web.StreamResponse:
    if outcome.ending == "whole" and not outcome.pace_s:
        body = outcome.parts[0] if len(outcome.parts) == 1 else b"".join(outcome.parts)
        return web.Response(status=outcome.status, headers=outcome.headers, body=body)
    if outcome.ending == "reset":
        _break_off(request, reset=True)
    if outcome.ending == "cut":
        await _send_half(request, outcome)
    return await _send_slowly(request, outcome)


async def _send_half(request: web.Request, outcome: Outcome) -> NoReturn:
    """Promise the whole body, send half of it and close."""
    body = b"".join(outcome.parts)
    response = web.StreamResponse(status=outcome.status, headers=outcome.headers)
    response.content_length = len(body)
    await response.prepare(request)
    await response.write(body[: len(body) // 2])
    _break_off(request, reset=False)


async def _send_slowly(request: web.Request, outcome: Outcome) -> web.StreamResponse:
    """Send a stream event by event; one that hangs does so after the first, a body before it."""
    hangs, streams = outcome.ending == "hang", "event-stream" in outcome.headers["Content-Type"]
    if hangs and not streams:
        await asyncio.sleep(_HANG_S)
    response = web.StreamResponse(status=outcome.status, headers=outcome.headers)
    await response.prepare(request)
    for part in outcome.parts:
        await asyncio.sleep(outcome.pace_s)
        await response.write(part)
        if hangs:
            await asyncio.sleep(_HANG_S)
    return response


def _break_off(request: web.Request, *, reset: bool) -> NoReturn:
    """Close the connection under the client, after what was written or (reset) at once."""
    transport = request.transport
    if transport is not None and reset:
        connection = transport.get_extra_info("socket")
        if connection is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        transport.abort()
    elif transport is not None:
        transport.close()
    raise asyncio.CancelledError  # the way to tell aiohttp that nobody is there any more


def _guarded(handler: Handler) -> Handler:
    """``handler`` behind the key, with its errors as JSON."""

    async def guarded(request: web.Request) -> web.StreamResponse:
        try:
            request.app[_SERVICE].check_key(request.headers)
            return await handler(request)
        except ApiError as error:
            return _error(error)

    return guarded


def _error(error: ApiError) -> web.Response:
    return web.Response(
        status=error.status,
        headers=error.headers,
        body=error.body(),
        content_type="application/json",
    )


def _json(value: JSON) -> web.Response:
    return web.Response(body=orjson.dumps(value), content_type="application/json")


async def _healthz(request: web.Request) -> web.Response:
    return _json({"status": "ok", "simulated": True})


async def _models(request: web.Request) -> web.Response:
    names = [name for name in request.app[_SERVICE].options.models if name != ANY]
    return web.Response(body=bodies.models(names), content_type="application/json")


async def _stats(request: web.Request) -> web.Response:
    return _json(request.app[_SERVICE].stats.as_data())


async def _reset(request: web.Request) -> web.Response:
    service = request.app[_SERVICE]
    before = service.stats.as_data()
    service.stats = service.stats.reset()
    return _json(before)


async def _faults(request: web.Request) -> web.Response:
    return _json({"pending": request.app[_SERVICE].faults.pending})


async def _add_faults(request: web.Request) -> web.Response:
    try:
        names = orjson.loads(await _body(request))
    except orjson.JSONDecodeError as error:
        raise bad_request(f"We could not parse the JSON body of your request: {error}") from None
    if not isinstance(names, list):
        raise bad_request('The body must be a JSON list of faults, e.g. ["429", "ok", "reset"].')
    try:
        request.app[_SERVICE].faults.schedule(map(str, names))
    except ValueError as error:
        raise bad_request(str(error)) from None
    return await _faults(request)


async def _clear_faults(request: web.Request) -> web.Response:
    request.app[_SERVICE].faults.clear()
    return await _faults(request)


async def _nowhere(request: web.Request) -> web.Response:
    raise unknown_address(request.method, request.path)
