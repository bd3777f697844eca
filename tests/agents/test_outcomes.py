"""Every row about agents in ``docs/failures.md``: an agent does it, and the tables are compared.

All of them are levels of one factor in one run, so that none is in another's way either.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Mapping
from itertools import count
from typing import Any

import pytest
from aiohttp import web

from tests.badinput.test_outcomes import AGENTS, PAGE, Row, rows_in
from tests.executors.programs import Project
from tests.providers_litellm.service import served

SOON = 0.5
FIELDS = {"text": "text", "cost_usd": "cost"}
GOOD = json.dumps({"text": "7", "cost": 0.01})


def rows() -> dict[str, Row]:
    """The rows about agents."""
    return rows_in(PAGE.read_text(encoding="utf-8").partition(AGENTS)[2])


def command(script: str, *, plain: bool = False, **more: Any) -> dict[str, Any]:
    answer = {} if plain else {"answer": FIELDS}
    return {"command": ["sh", "-c", script], "max_usd": 0.5, "sandbox": "none", **answer, **more}


def says(text: str) -> dict[str, Any]:
    return command(f"printf '%s\\n' '{text}'")


def service(port: int, path: str, **form: Any) -> dict[str, Any]:
    address = f"http://127.0.0.1:{port}"
    if "poll" in form:
        form |= {"id": "id", "every_s": 0.01, "poll": f"{address}{form['poll']}?job={{id}}"}
    http = {"submit": f"{address}/{path}", **form}
    return {"http": http, "answer": FIELDS, "max_usd": 0.5}


MANY = "head -c 3000000 /dev/zero | tr '\\0' x"
FUNCTIONS = """
import asyncio, threading
async def raises(turn):
    raise ValueError("no")
async def lists(turn):
    return []
async def blocks(turn):
    threading.Event().wait()
"""


def trouble(port: int, closed: int) -> Mapping[str, dict[str, Any]]:
    """Title of a row -> an agent that does it."""
    cost = json.dumps({"text": "7", "cost": 1e6})
    below, worded = json.dumps({"text": "7", "cost": -1}), json.dumps({"text": "7", "cost": "one"})
    return {
        "says what it should, and its cost": says(GOOD),
        "says no cost": says('{"text": "7"}'),
        "says a cost below zero": says(below),
        "says a cost in words": says(worded),
        "says a cost in digits that are quoted": says('{"text": "7", "cost": "0.01"}'),
        "says a cost that is no number (NaN, 1e999)": says('{"text": "7", "cost": NaN}'),
        "says a cost beyond belief (over $100 and 100 holds)": says(cost),
        "prints nothing": command("true", plain=True),
        "prints an empty text": says('{"text": "", "cost": 0.01}'),
        "says that it cost nothing": says('{"text": "7", "cost": 0}'),
        "prints megabytes of errors": command(f"({MANY}) >&2; echo '{GOOD}'"),
        "prints no JSON where JSON was expected": says("well met"),
        "prints two JSON values": says(f"{GOOD}\n{GOOD}"),
        "prints JSON without the text, but with its cost": says('{"cost": 0.01}'),
        "prints megabytes where JSON was expected": command(MANY),
        "prints megabytes of plain text": command(MANY, plain=True),
        "prints what is no UTF-8": command("printf '\\377\\376 7'", plain=True),
        "ends with exit code 1": command("echo broken >&2; exit 1"),
        "ends with exit code 1 and a good answer": command(f"echo '{GOOD}'; exit 1"),
        "is ended by a signal": command("kill -9 $$"),
        "works longer than `timeout_s`": command("exec tail -f /dev/null", timeout_s=SOON),
        "leaves a child that writes into the folder": command(
            f"(while :; do echo x >> late; done) > /dev/null 2>&1 & echo '{GOOD}'"
        ),
        "leaves a child that has left its process group": command(
            f"setsid sh -c 'while :; do echo x >> late; done' & echo '{GOOD}'"
        ),
        "a program that goes away in mid-run": {
            "command": ["{project}/gone"], "max_usd": 0.5, "sandbox": "none"
        },
        "a function that raises": {"python": "bad:raises", "max_usd": 0.5},
        "a function that gives back a list": {"python": "bad:lists", "max_usd": 0.5},
        "a function that blocks for ever": {
            "python": "bad:blocks", "max_usd": 0.5, "timeout_s": SOON
        },
        "a service that nobody runs any more": service(closed, "x"),
        "a service that answers 500": service(port, "broken"),
        "a service that answers 500 and says its cost": service(port, "dear/500"),
        "a service that answers 404": service(port, "nowhere"),
        "a service that answers 404 and says its cost": service(port, "dear/404"),
        "a service that redirects": service(port, "moved"),
        "a service that answers 400": service(port, "filtered"),
        "a service that answers 400 and says its cost": service(port, "billed"),
        "a service that answers HTML": service(port, "page"),
        "a job that fails and says its cost": service(port, "job", poll="/failed"),
        "a job that never ends": service(port, "job", poll="/working") | {"timeout_s": SOON},
        "a job without an id": service(port, "nameless", poll="/working"),
        "a job whose id is longer than an address": service(port, "endless", poll="/working"),
        "a job that nobody knows any more": service(port, "job", poll="/unknown"),
    }  # fmt: skip


async def answer(request: web.Request) -> web.StreamResponse:
    said: Mapping[str, Any] = {
        "/job": {"id": 1},
        "/nameless": {},
        "/endless": {"id": "x" * 100_000},
        "/working": {"status": "working"},
        "/failed": {"status": "failed", "cost": 0.01},
    }
    if request.path in said:
        return web.json_response(said[request.path])
    if request.path in ("/filtered", "/billed"):
        told = {"error": {"code": "content_filter"}}
        cost = {"cost": 0.01} if request.path == "/billed" else {}
        return web.json_response(told | cost, status=400)
    if request.path.startswith("/dear/"):
        return web.json_response({"cost": 0.01}, status=int(request.path.removeprefix("/dear/")))
    if request.path == "/moved":
        raise web.HTTPFound("/job")
    if request.path == "/page":
        return web.Response(text="<html>hello</html>", content_type="text/html")
    raise web.HTTPInternalServerError if request.path == "/broken" else web.HTTPNotFound


def test_every_row_of_the_page_is_tested_and_every_test_has_a_row() -> None:
    assert rows().keys() == trouble(1, 1).keys()


def once_open() -> int:
    """A port at which somebody listens until the first connection, and nobody after it."""
    listening = socket.create_server(("127.0.0.1", 0))

    def close_after_one() -> None:
        listening.accept()[0].close()
        listening.close()

    threading.Thread(target=close_after_one, daemon=True).start()
    return int(listening.getsockname()[1])


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A run in which every row happens."""
    project = Project(tmp_path_factory.mktemp("outcomes"))
    (project.folder / "bad.py").write_text(FUNCTIONS)
    gone = project.folder / "gone"
    gone.write_text('#!/bin/sh\nrm "$0"\necho 7\n')
    gone.chmod(0o755)

    async def run() -> None:
        async with served(answer) as port:
            agents = dict(zip(map(str, count()), trouble(port, once_open()).values(), strict=False))
            project.write(
                {
                    "kind": "counter",
                    "scenarios": ["one"],
                    "agents": agents,
                    "factors": {"counter": list(agents)},
                    "options": {"turns": 2},
                    "per_cell": 1,
                    "limits": {"cost_usd": 100, "attempts": 2},
                }
            )
            command = ["run", "--executor", "in-process", "--quiet", "--run-id", "it"]
            done = await asyncio.to_thread(project.matrix, *command)
            assert done.code == 0, done.err

    asyncio.run(run())
    return project


@pytest.mark.parametrize("title", list(trouble(1, 1)))
def test_each_row_comes_to_what_the_page_says(played: Project, title: str) -> None:
    row, number = rows()[title], list(trouble(1, 1)).index(title)
    sessions = played.tables("it").frame("sessions").set_index("counter")
    session = sessions.loc[str(number)]
    calls = played.tables("it").frame("calls")
    mine = calls[calls.session_id == session.session_id].sort_values(["turn", "attempt"])
    last = mine.iloc[-1]
    assert session.outcome == {"goes on": "completed"}.get(row.session, row.session)
    if row.session != "goes on":
        assert session.error_class == row.error_class
    assert last.disposition == row.ledger
    assert ("" if last.isna().error_class else last.error_class) == row.error_class
    assert len(mine[mine.turn == last.turn]) == (2 if row.call == "tried again" else 1)
    charged = 0 if title == "says that it cost nothing" else 10_000_000
    expected = {"settled": charged, "presumed": 500_000_000, "released": 0}[row.ledger]
    assert last.cost_nano == expected
    assert last.held_nano == 500_000_000


def test_a_session_costs_what_its_calls_cost_presumed_turns_included(played: Project) -> None:
    calls = played.tables("it").frame("calls")
    unanswered = calls.error_class == "ProviderUnavailable"  # as with models: in calls only
    answered = calls[calls.answered & ~unanswered]
    spent = answered.groupby("session_id", observed=True).cost_nano.sum()
    sessions = played.tables("it").frame("sessions").set_index("session_id")
    sessions = sessions[sessions.index.isin(spent.index)]
    assert len(sessions) > 20
    assert sessions.cost_nano.to_dict() == spent.to_dict()
