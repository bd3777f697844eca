"""Traces are off unless asked for by OpenTelemetry's own variables; then nothing is loaded."""

from __future__ import annotations

import subprocess
import sys

import pytest

from matrix.telemetry.settings import trace_settings

HERE = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}


@pytest.mark.parametrize(
    "environ",
    [
        HERE,
        {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"},
        {"OTEL_TRACES_EXPORTER": "otlp"},
        {"OTEL_TRACES_EXPORTER": "console, OTLP"},
        HERE | {"OTEL_SDK_DISABLED": "false"},
        HERE | {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"},
        HERE | {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
                "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"},
    ],
)  # fmt: skip
def test_an_endpoint_or_the_exporter_turns_traces_on(environ: dict[str, str]) -> None:
    assert trace_settings(environ) == (True, "")


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"OTEL_SERVICE_NAME": "x"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": " "},
        HERE | {"OTEL_SDK_DISABLED": "True"},
        HERE | {"OTEL_TRACES_EXPORTER": "none"},
        {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://127.0.0.1:4318"},
    ],
)
def test_everything_else_leaves_them_off_without_a_word(environ: dict[str, str]) -> None:
    assert trace_settings(environ) == (False, "")


@pytest.mark.parametrize(
    ("environ", "named"),
    [
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "OTEL_TRACES_EXPORTER is 'zipkin'"),
        (HERE | {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "'grpc'"),
    ],
)
def test_what_cannot_be_done_is_said_with_a_remedy(environ: dict[str, str], named: str) -> None:
    traces, problem = trace_settings(environ)
    assert not traces
    assert named in problem
    assert "set it to" in problem


@pytest.mark.slow
def test_processes_that_send_no_traces_load_nothing_of_opentelemetry() -> None:
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from matrix.engine.calls import provider_client\n"
        "from matrix.engine.executors import inprocess\n"
        "from matrix.engine.governor import governor\n"
        "from matrix.engine.run import driver\n"
        "from matrix.engine.session import worker\n"
        "from matrix.telemetry.process import open_telemetry\n"
        "assert open_telemetry(Path(sys.argv[1]), 'p', '1' * 32, environ={}).spans is None\n"
        "print(*{name.partition('.')[0] for name in sys.modules})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "/nowhere"], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "matrix" in loaded
    assert not loaded & {"opentelemetry", "ray", "litellm"}
