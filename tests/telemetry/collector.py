"""A loopback collector: takes OTLP over HTTP and keeps every span that it is sent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class Seen:
    """A span as a collector sees it; ids are hexadecimal, a parent of ``""`` is none."""

    trace: str
    id: str
    parent: str
    name: str
    kind: int
    start: int
    end: int
    failed: bool
    attributes: dict[str, Any]
    links: list[tuple[str, str]]
    resource: dict[str, Any]


@dataclass
class Collector:
    """What has arrived."""

    url: str = ""
    bodies: list[bytes] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        """What makes a program send its traces here."""
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.url}

    @property
    def spans(self) -> list[Seen]:
        return [span for body in self.bodies for span in _spans_in(body)]


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector for the length of the block."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            collector.bodies.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _spans_in(body: bytes) -> Iterator[Seen]:
    request = ExportTraceServiceRequest.FromString(body)
    for group in request.resource_spans:
        resource = _attributes(group.resource.attributes)
        for scope in group.scope_spans:
            for span in scope.spans:
                yield Seen(
                    span.trace_id.hex(),
                    span.span_id.hex(),
                    span.parent_span_id.hex(),
                    span.name,
                    span.kind,
                    span.start_time_unix_nano,
                    span.end_time_unix_nano,
                    span.status.code == span.status.STATUS_CODE_ERROR,
                    _attributes(span.attributes),
                    [(link.trace_id.hex(), link.span_id.hex()) for link in span.links],
                    resource,
                )


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    return getattr(value, kind)
