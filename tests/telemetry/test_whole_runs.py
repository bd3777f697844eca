"""One run through litellm over HTTP, watched from outside, on both executors.

Its service repeats the key it was sent in errors and in answers; traces and logs are on. The same
run shows that a collector gets one tree, and that the key is nowhere. The key comes from the
environment in the one case, from the project's ``.env`` in the other.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from matrix.model.entries import Settled
from matrix.serving.options import ServeOptions
from matrix.serving.process import SimServer
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader
from matrix.telemetry.log import LOG_NAME
from matrix.telemetry.spellings import REMOVED
from tests.executors.programs import Done, Project, play_spec
from tests.telemetry.collector import Collector, Seen, collecting

KEY = "quince/84-marmalade.Zx"
"""Looks like no key of any provider, so that only its value can give it away."""

OTHER = "another-secret-of-this-machine"
ECHOES = {"echo-answer": 0.3, "echo-500": 0.15, "echo-401": 0.02}
TABLES = ("sessions", "turns", "messages", "calls", "scores", "events", "players")


@dataclass
class Watched:
    """A finished run and all that can be seen of it."""

    executor: str
    project: Project
    done: Done
    collector: Collector
    stats: dict[str, Any]
    ray_folder: Path

    @property
    def folder(self) -> Path:
        return self.project.path("it")

    @property
    def journal(self) -> list[str]:
        """Every entry, resource and session as text."""
        reader = JournalReader(self.folder / JOURNAL_NAME)
        try:
            rows = [repr(row.entry) for row in reader.rows(0, reader.last_seq())]
            return [*rows, repr(reader.resources())]
        finally:
            reader.close()

    @property
    def log(self) -> list[dict[str, Any]]:
        return [orjson.loads(line) for line in (self.folder / LOG_NAME).read_bytes().splitlines()]


def spec(url: str) -> dict[str, Any]:
    model = {
        "target": "openai/sim-gpt",
        "api_base": url,
        "api_key_env": "STORYTELLER",
        "price": {"input": 1, "output": 4},
        "group": "served",
    }
    return play_spec(
        models={"teller": model},
        roles={"all": "teller"},
        groups={"served": {"concurrency": 20}},
        limits={"cost_usd": 20, "turns": 2, "attempts": 8},
        providers={"processes": 2},
    )


@pytest.fixture(scope="module", params=["in-process", pytest.param("ray", marks=pytest.mark.ray)])
def watched(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Watched]:
    # the path of Ray's sockets must be short
    ray_folder = Path(tempfile.mkdtemp(prefix="mx-", dir="/tmp"))
    secrets = {"SOME_SERVICE_TOKEN": OTHER, "MATRIX_LOG": "debug"}
    if request.param == "in-process":
        secrets["STORYTELLER"] = KEY
    with collecting() as collector:
        environment = {**secrets, **collector.environment, "RAY_TMPDIR": str(ray_folder)}
        project = Project(tmp_path_factory.mktemp("watched"), environment)
        yield asyncio.run(_run(request.param, project, collector, ray_folder))
    shutil.rmtree(ray_folder, ignore_errors=True)


async def _run(executor: str, project: Project, collector: Collector, ray: Path) -> Watched:
    options = ServeOptions.model_validate({"faults": {"chances": ECHOES}})
    async with SimServer(options) as server:
        project.write(spec(server.url))
        if executor == "ray":
            (project.folder / ".env").write_text(f"STORYTELLER={KEY}\n")
            (project.folder / ".env").chmod(0o600)
        arguments = ["run", "--yes", "--run-id", "it", "--executor", executor]
        done = await asyncio.to_thread(project.matrix, *arguments)
        stats = await server.stats()
    assert done.code in (0, 4), done.err
    return Watched(executor, project, done, collector, stats, ray)


# --- one tree -------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.slow
def test_a_collector_sees_one_tree_of_run_sessions_turns_and_attempts(watched: Watched) -> None:
    spans = {span.id: span for span in watched.collector.spans}
    assert len(spans) == len(watched.collector.spans), "every span comes once"
    assert len({span.trace for span in spans.values()}) == 1
    (root,) = [span for span in spans.values() if not span.parent]
    assert root.name == "run"
    assert {span.parent for span in spans.values()} - {""} <= spans.keys(), "no parent is missing"
    depths = Counter((depth(span, spans), span.name.split()[0]) for span in spans.values())
    calls = watched.project.tables("it").frame("calls")
    sessions = watched.project.tables("it").frame("sessions")
    assert depths[0, "run"] == 1
    assert depths[1, "play"] == len(sessions) == 4
    assert depths[1, "prelude"] == 2
    assert depths[2, "turn"] >= sessions.turns.sum()
    assert depths[3, "chat"] == len(calls) == watched.stats["requests"]
    assert {depth for depth, _ in depths} == {0, 1, 2, 3}


@pytest.mark.slow
def test_spans_lie_within_their_parents_in_time(watched: Watched) -> None:
    spans = {span.id: span for span in watched.collector.spans}
    slack = 50_000_000  # attempts are timed by another clock
    for span in spans.values():
        assert span.start <= span.end
        if span.parent:
            parent = spans[span.parent]
            assert parent.start - slack <= span.start
            assert span.end <= parent.end + slack


@pytest.mark.slow
def test_attempts_carry_the_conventional_attributes_and_add_up_to_the_calls_table(
    watched: Watched,
) -> None:
    attempts = [span for span in watched.collector.spans if span.name == "chat sim-gpt"]
    calls = watched.project.tables("it").frame("calls")
    for span in attempts:
        told = span.attributes
        assert span.kind == 3, "a client's"
        assert told["gen_ai.operation.name"] == "chat"
        assert told["gen_ai.provider.name"] == "openai"
        assert told["gen_ai.request.model"] == "sim-gpt"
        assert told["matrix.role"]
        assert told["matrix.cell"].startswith("prompt=") or told["matrix.cell"] == ""
        assert span.failed == ("error.type" in told)
        assert span.failed or told["gen_ai.response.model"] == "sim-gpt"
    total = {key: sum(span.attributes[key] for span in attempts) for key in
             ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens")}  # fmt: skip
    assert list(total.values()) == [calls.tokens_in.sum(), calls.tokens_out.sum()]
    errors = Counter(span.attributes.get("error.type", "") for span in attempts)
    assert errors == Counter(calls.error_class.fillna(""))
    assert errors["ProviderUnavailable"] > 0


def test_nothing_that_was_asked_or_answered_is_in_a_span(watched: Watched) -> None:
    sent = b"\n".join(watched.collector.bodies).decode(errors="replace")
    messages = watched.project.tables("it").frame("messages")
    assert len(messages) > 10
    for text in messages.text:
        assert len(text) < 20 or text not in sent


def test_spans_say_which_process_they_come_from(watched: Watched) -> None:
    names = {span.resource["service.instance.id"] for span in watched.collector.spans}
    assert {span.resource["service.name"] for span in watched.collector.spans} == {"matrix"}
    assert {"driver"} < names
    assert any(name.startswith("client-litellm") for name in names)
    assert any(name.startswith("worker-") for name in names)


def depth(span: Seen, spans: dict[str, Seen]) -> int:
    return 0 if not span.parent else 1 + depth(spans[span.parent], spans)


# --- the log --------------------------------------------------------------------------------------


def test_every_process_writes_whole_lines_into_one_log(watched: Watched) -> None:
    for line in watched.log:
        assert {"time", "level", "process", "event"} <= line.keys()
        assert line["time"].endswith("+00:00")
    started = {line["process"] for line in watched.log if line["event"] == "process.started"}
    stopped = {line["process"] for line in watched.log if line["event"] == "process.stopped"}
    assert started == stopped >= {"driver", "governor", "worker-0"}
    events = [line["event"] for line in watched.log]
    assert events.count("run.started") == events.count("run.ended") == 1
    failed = [line for line in watched.log if line["event"] == "attempt.failed"]
    assert {"ProviderUnavailable"} <= {line["error"] for line in failed}
    assert all(line["session"] and line["call"] and line["model"] == "teller" for line in failed)


# --- no key anywhere ------------------------------------------------------------------------------


def test_the_service_did_repeat_the_key_and_it_was_taken_out(watched: Watched) -> None:
    """Without this the next test would prove nothing."""
    assert all(watched.stats["faults"][name] > 0 for name in ("echo-answer", "echo-500"))
    assert any(f"Bearer {REMOVED}" in entry for entry in watched.journal)
    texts = watched.project.tables("it").frame("messages").text
    assert texts.str.contains(REMOVED, regex=False).any()
    assert REMOVED in (watched.folder / LOG_NAME).read_text()
    said = [row.entry.answer.text for row in rows_of(watched.folder)
            if isinstance(row.entry, Settled) and row.entry.answer]  # fmt: skip
    assert any(REMOVED in text for text in said)


def test_no_secret_is_in_anything_that_a_run_leaves_behind(watched: Watched) -> None:
    places: dict[str, str] = {
        "stdout": watched.done.out,
        "stderr": watched.done.err,
        "spans": "\n".join(body.decode(errors="replace") for body in watched.collector.bodies),
        "journal": "\n".join(watched.journal),
    }
    for name in TABLES:
        frame = watched.project.tables("it").frame(name)
        places[f"table {name}"] = "\n".join(map(repr, frame.to_dict("records")))
    folders = [watched.project.folder]
    if watched.executor == "ray":
        folders.append(watched.ray_folder)
        assert list(watched.ray_folder.rglob("logs/*.log")), "Ray's own logs are looked at too"
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file() and path.name != ".env":
                places[str(path)] = path.read_bytes().decode(errors="replace")
    assert len(places) > 20
    found = [place for place, text in places.items() for secret in (KEY, OTHER) if secret in text]
    assert found == []


def rows_of(folder: Path) -> list[Any]:
    reader = JournalReader(folder / JOURNAL_NAME)
    try:
        return list(reader.rows(0, reader.last_seq()))
    finally:
        reader.close()
