"""Whole runs on simulated models: lives and their traces, a collector that is down, a quiet log."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import orjson
import pytest

from matrix.telemetry.log import LOG_NAME
from tests.executors.programs import Project, counter_spec
from tests.telemetry.collector import collecting


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def log_of(project: Project) -> list[dict[str, Any]]:
    written = (project.path("it") / LOG_NAME).read_bytes()
    return [orjson.loads(line) for line in written.splitlines()]


def run(project: Project, *arguments: str) -> int:
    return project.matrix("run", "--executor", "in-process", "--quiet", "--yes", "--run-id", "it",
                          *arguments).code  # fmt: skip


@pytest.mark.slow
def test_a_resumed_run_is_another_trace_that_names_the_one_before(tmp_path: Path) -> None:
    with collecting() as collector:
        project = Project(tmp_path, collector.environment)
        project.write(counter_spec(per_cell=20))
        assert run(project, "--max-cost", "0.006") == 4
        before = len(collector.spans)
        resumed = ("resume", "it", "--executor", "in-process", "--quiet", "--max-cost", "5")
        assert project.matrix(*resumed).code == 0
        first, second = [span for span in collector.spans if span.name == "run"]
        traces = [{span.trace for span in part} for part in (
            collector.spans[:before], collector.spans[before:])]  # fmt: skip
    assert traces == [{first.trace}, {second.trace}]
    assert first.trace != second.trace
    assert (first.links, second.links) == ([], [(first.trace, first.id)])
    assert (first.attributes["matrix.run.status"], second.attributes["matrix.run.status"]) == (
        "incomplete", "complete",
    )  # fmt: skip
    processes = [(line["event"], line["life"], line["trace"]) for line in log_of(project)
             if "life" in line]  # fmt: skip
    assert processes == [("run.started", 1, first.trace), ("run.resumed", 2, second.trace)]


@pytest.mark.long
@pytest.mark.slow
def test_a_collector_that_is_down_changes_nothing_but_costs_one_warning_a_process(
    tmp_path: Path,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    project = Project(tmp_path, {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}"})
    project.write(counter_spec())
    done = project.matrix("run", "--executor", "in-process", "--quiet", "--run-id", "it")
    assert done.code == 0, done.err
    assert not any(word in done.err.lower() for word in ("traceback", "export", "telemetry"))
    lost = [line["process"] for line in log_of(project) if line["event"] == "traces.lost"]
    assert len(lost) == len(set(lost)) <= 3
    assert project.tables("it").frame("sessions").outcome.eq("completed").all()


@pytest.mark.slow
def test_traces_that_cannot_be_sent_are_told_of_once_and_the_run_goes_on(tmp_path: Path) -> None:
    project = Project(tmp_path, {"OTEL_TRACES_EXPORTER": "zipkin"})
    project.write(counter_spec(options={"turns": 1}))
    assert run(project) == 0
    told = [line for line in log_of(project) if line["event"] == "traces.off"]
    assert [line["process"] for line in told] == ["driver"]
    assert "set it to otlp" in told[0]["reason"]


@pytest.mark.slow
def test_a_run_without_trouble_writes_a_handful_of_lines_however_many_calls_it_makes(
    project: Project,
) -> None:
    project.write(counter_spec(options={"turns": 50, "width": 4}))
    assert run(project) == 0
    assert len(project.tables("it").frame("calls")) == 2_000
    events = [line["event"] for line in log_of(project)]
    assert sorted(events) == sorted(
        ["process.started", "process.stopped"] * 3 + ["run.started", "run.ended"]
    )


@pytest.mark.slow
def test_sessions_that_fail_are_logged_with_their_reason(project: Project) -> None:
    faults = {"timeout": 0.5, "max_in_a_row": 20}
    limits = {"cost_usd": 10, "attempts": 2}
    project.write(counter_spec(options={"turns": 2}, limits=limits, simulation={"faults": faults}))
    assert run(project) == 1  # nothing was scored
    ended = [line for line in log_of(project) if line["event"] == "session.ended"]
    errored = {line["session"]: line for line in ended}
    sessions = project.tables("it").frame("sessions").set_index("session_id")
    expected = sessions[sessions.outcome == "errored"]
    assert errored.keys() == set(expected.index) != set()
    for line in errored.values():
        assert (line["level"], line["error"]) == ("ERROR", "ProviderTimeout")
        assert line["reason"]
        assert line["cell"].keys() == {"step"}
