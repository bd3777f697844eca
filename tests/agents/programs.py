"""Agents of all forms that keep a log of what they charge, and the spec that plays them."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson
from aiohttp import web

from matrix.model.money import NanoUSD, from_usd
from tests.executors.programs import Project

PLUGINS = Path(__file__).parents[1] / "plugins"
TURNS = 2
COMMAND_USD, SERVICE_USD, FUNCTION_USD = "0.0123", "0.02", "0.005"

COMMAND = f"""
import json, os, pathlib, re, sys
prompt = sys.stdin.read()
number = int(re.findall(r"from (-?\\d+)", prompt)[-1])
project = pathlib.Path(sys.argv[1])
with open(project / "charges.command", "a") as log:
    log.write("{COMMAND_USD}\\n")
with open("agent-notes", "a") as notes:
    notes.write(f"{{number}}\\n")
for touched in ("agent-notes", "."):
    os.utime(touched, (3000 + number, 3000 + number))
print(json.dumps({{"result": str(number + 1), "total_cost_usd": {COMMAND_USD}}}))
"""
"""A command that writes into the session's folder, and says what it cost."""

METERED = """
import json, os, re, sys, urllib.request
prompt = sys.stdin.read()
number = int(re.findall(r"from (-?\\d+)", prompt)[-1])
for _ in range(2):
    body = {"model": "whatever", "max_tokens": 20,
            "messages": [{"role": "user", "content": f"Count on from {number}."}]}
    asked = urllib.request.Request(
        os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages",
        data=json.dumps(body).encode(),
        headers={"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"},
    )
    json.load(urllib.request.urlopen(asked))
with open("metered-notes", "a") as notes:
    notes.write(f"{number}\\n")
for touched in ("metered-notes", "."):
    os.utime(touched, (3000 + number, 3000 + number))
print(number + 1)
"""
"""A command that asks models by itself, twice a turn."""

FUNCTION = f"""
import re
from pathlib import Path
from matrix.agents import Reply, Turn

async def reply(turn: Turn) -> Reply:
    with open(Path(__file__).parent / "charges.function", "a") as log:
        log.write("{FUNCTION_USD}\\n")
    number = int(re.findall(r"from (-?\\d+)", turn.prompt)[-1])
    return Reply(str(number + 1), cost_usd={FUNCTION_USD})
"""


class Service:
    """Takes a job, and has an answer for whoever asks the second time."""

    def __init__(self, project: Path) -> None:
        self._log, self._asked = project / "charges.service", dict[str, int]()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """`POST /jobs` and `GET /jobs/ID`."""
        if request.method == "POST":
            body = orjson.loads(await request.read())
            number = str(len(self._asked))
            with self._log.open("a") as log:
                log.write(SERVICE_USD + "\n")
            self._asked[number] = 0
            assert body["task"]
            return web.json_response({"job": {"id": number}})
        job = request.path.rpartition("/")[2]
        self._asked[job] += 1
        if self._asked[job] < 2:
            return web.json_response({"state": "working"})
        done = {"state": "COMPLETE", "result": {"text": "7"}, "cost": float(SERVICE_USD)}
        return web.json_response(done)


def agents(port: int = 1) -> dict[str, Any]:
    """Agents of every form; ``port`` is the service's."""
    return {
        "cli": {
            "command": ["python3", "{project}/cli.py", "{project}"],
            "answer": {"text": "result", "cost_usd": "total_cost_usd"},
            "max_usd": 0.05,
            "sandbox": "none",
        },
        "desk": {
            "http": {
                "submit": f"http://127.0.0.1:{port}/jobs",
                "body": {"task": "{prompt}"},
                "id": "job.id",
                "poll": f"http://127.0.0.1:{port}/jobs/{{id}}",
                "status": "state",
                "done": ["COMPLETE"],
                "every_s": 0.01,
            },
            "answer": {"text": "result.text", "cost_usd": "cost"},
            "max_usd": 0.05,
        },
        "mine": {"python": "mine:reply", "max_usd": 0.03},
        "metered": {
            "command": ["python3", "{project}/metered.py"],
            "meter": "sim/haiku",
            "expected_usd": 0.001,
            "sandbox": "none",
        },
        "notebook": {"tools": ["read", "write", "list"], "model": "sim/haiku"},
    }


def spec_of(forms: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """The scribe, whose counter is each of these agents."""
    return {
        "name": "agents",
        "kind": "scribe",
        "scenarios": ["one"],
        "agents": dict(forms),
        "factors": {"counter": list(forms)},
        "options": {"turns": TURNS},
        "per_cell": 2,
        "limits": {"cost_usd": 20, "turns": 60},
        **changes,
    }


def project_of(folder: Path, spec: Mapping[str, Any], **variables: str) -> Project:
    """A project with all these agents, and the scribe installed."""
    path = os.pathsep.join([str(PLUGINS), os.environ.get("PYTHONPATH", "")])
    project = Project(folder, {"PYTHONPATH": path, **variables})
    pack = folder / "scenarios" / "scribe" / "one"
    pack.mkdir(parents=True, exist_ok=True)
    (pack / "scenario.yaml").write_text("kind: scribe\ntitle: One\n")
    for name, text in (("cli", COMMAND), ("metered", METERED), ("mine", FUNCTION)):
        (folder / f"{name}.py").write_text(textwrap.dedent(text))
    project.write(spec)
    return project


def charged(folder: Path, who: str) -> NanoUSD:
    """What an agent's own log says it charged."""
    log = folder / f"charges.{who}"
    lines = log.read_text().splitlines() if log.exists() else []
    return from_usd(sum((Decimal(line) for line in lines), start=Decimal(0)))
