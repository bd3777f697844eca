"""Whether traces are wanted, by OpenTelemetry's own environment variables. Loads nothing of it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Literal, NamedTuple

INSTALL = "pip install 'scenario-matrix[otel]'"


class TraceSettings(NamedTuple):
    """``problem`` says why traces that were asked for cannot be sent, and what to do."""

    traces: bool
    problem: str = ""


def trace_settings(environ: Mapping[str, str]) -> TraceSettings:
    """Whether spans are to be sent: only where an endpoint or the exporter is named."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return TraceSettings(False)
    exporters = _words(environ.get("OTEL_TRACES_EXPORTER", ""))
    endpoint = _first(environ, "ENDPOINT")
    if "none" in exporters or not (exporters or endpoint):
        return TraceSettings(False)
    if exporters and "otlp" not in exporters:
        return TraceSettings(
            False,
            f"OTEL_TRACES_EXPORTER is {','.join(exporters)!r}; matrix sends traces by otlp only: "
            "set it to otlp or none",
        )
    protocol = _first(environ, "PROTOCOL")
    if protocol not in ("", "http/protobuf"):
        return TraceSettings(
            False,
            f"OTEL_EXPORTER_OTLP_PROTOCOL is {protocol!r}; matrix sends traces by http/protobuf "
            "only: set it to that and give the collector's HTTP port (usually 4318)",
        )
    return TraceSettings(True) if _installed() else TraceSettings(False, _missing())


def _first(environ: Mapping[str, str], what: Literal["ENDPOINT", "PROTOCOL"]) -> str:
    """The variable for traces, else that for everything."""
    for name in (f"OTEL_EXPORTER_OTLP_TRACES_{what}", f"OTEL_EXPORTER_OTLP_{what}"):
        if value := environ.get(name, "").strip():
            return value
    return ""


def _words(text: str) -> list[str]:
    return [word for part in text.split(",") if (word := part.strip().lower())]


def _installed() -> bool:
    try:
        return find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        return False


def _missing() -> str:
    return f"traces were asked for, but OpenTelemetry is not installed: {INSTALL}"
