"""Sends spans to an OTLP endpoint. Imported only where traces are wanted.

Spans come here when they are over, with ids that are known beforehand, so nothing of
OpenTelemetry's context is used: each is started and ended at once, at the times it says.
The queue is bounded (``OTEL_BSP_MAX_QUEUE_SIZE``) and a thread of its own sends; an endpoint that
is down costs the spans, and one warning.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from threading import Thread
from typing import Final

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace import (
    INVALID_SPAN,
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from matrix.telemetry.redaction import Redactor
from matrix.telemetry.spans import Attribute, Path, Span, span_id_of

FLUSH_S: Final = 2.0
"""Longest wait for the last spans when a process stops."""

_REMEMBERED: Final = 4_096
"""Cleaned attributes kept: roles, models and cells come again with every span."""

_CHATTER: Final = ("opentelemetry.exporter", "opentelemetry.sdk")


class OtelSpans:
    """Sends the spans of one process."""

    def __init__(
        self,
        trace_id: str,
        process: str,
        redactor: Redactor,
        on_failure: Callable[[str], None],
        *,
        now_ns: Callable[[], int] = time.time_ns,
        exporter: SpanExporter | None = None,
    ) -> None:
        """Start the thread that sends.

        Args:
            trace_id: Trace of this life of the run, 32 hexadecimal digits.
            process: Name of this process, for ``service.instance.id``.
            redactor: Takes secrets out of every attribute.
            on_failure: Called once, from the thread, when spans could not be sent.
            now_ns: Nanoseconds since 1970.
            exporter: Where spans go; the endpoint of the environment if left out.
        """
        for name in _CHATTER:  # it warns of every batch and every span
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._trace_id, self._now_ns = trace_id, now_ns
        self._clean = lru_cache(maxsize=_REMEMBERED)(redactor.text)
        self._ids = _PlannedIds(int(trace_id, 16))
        watched = _Watched(exporter or OTLPSpanExporter(), on_failure)
        self._exporter, self._processor = watched, BatchSpanProcessor(watched)
        provider = TracerProvider(
            resource=_resource(process, os.environ), id_generator=self._ids, shutdown_on_exit=False
        )
        provider.add_span_processor(self._processor)
        self._tracer = provider.get_tracer("matrix")
        # the sampler's word on the run is its word on every span of the trace
        root = provider.sampler.should_sample(None, int(trace_id, 16), "run")
        sampled = root.decision is Decision.RECORD_AND_SAMPLE
        self._flags = TraceFlags(TraceFlags.SAMPLED if sampled else TraceFlags.DEFAULT)

    def now_ns(self) -> int:
        return self._now_ns()

    def ended(self, span: Span) -> None:
        self._ids.next_span = span_id_of(self._trace_id, span.path)
        links = [Link(_context(span.earlier_trace, (), self._flags))] if span.earlier_trace else []
        begun = self._tracer.start_span(
            self._clean(span.name),
            context=self._parent(span.path),
            kind=SpanKind.CLIENT if span.remote else SpanKind.INTERNAL,
            attributes=self._cleaned(span.attributes),
            links=links,
            start_time=span.start_ns,
        )
        if span.error:
            begun.set_attribute("error.type", self._clean(span.error))
            begun.set_status(Status(StatusCode.ERROR))
        begun.end(span.end_ns)

    def close(self) -> None:
        """Send what is queued, for :data:`FLUSH_S` seconds at most. Blocks."""
        sending = Thread(target=self._processor.shutdown, daemon=True)
        sending.start()
        sending.join(FLUSH_S)
        if sending.is_alive():
            self._exporter.shutdown()  # wakes one that waits to try again, which then tells of it
            sending.join(FLUSH_S / 4)

    def _parent(self, path: Path) -> Context:
        if not path:
            return set_span_in_context(INVALID_SPAN, Context())
        context = _context(self._trace_id, path[:-1], self._flags)
        return set_span_in_context(NonRecordingSpan(context), Context())

    def _cleaned(self, attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
        return {
            name: self._clean(value) if isinstance(value, str) else value
            for name, value in attributes.items()
        }


class _PlannedIds(IdGenerator):
    """Ids that are known before a span is started."""

    def __init__(self, trace: int) -> None:
        self._trace, self.next_span = trace, 0

    def generate_trace_id(self) -> int:
        return self._trace

    def generate_span_id(self) -> int:
        return self.next_span


class _Watched(SpanExporter):
    """Tells once of spans that could not be sent; shuts the exporter down once."""

    def __init__(self, inner: SpanExporter, on_failure: Callable[[str], None]) -> None:
        self._inner, self._on_failure = inner, on_failure
        self._told = self._closed = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._inner.export(spans)
        if result is not SpanExportResult.SUCCESS and not self._told:
            self._told = True
            self._on_failure("spans could not be sent; the run goes on without them")
        return result

    def shutdown(self) -> None:
        if not self._closed:
            self._closed = True
            self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._inner.force_flush(timeout_millis)


def _context(trace_id: str, path: Path, flags: TraceFlags) -> SpanContext:
    return SpanContext(int(trace_id, 16), span_id_of(trace_id, path), True, flags)


def _resource(process: str, environ: Mapping[str, str]) -> Resource:
    facts: dict[str, str | int] = {"service.instance.id": process, "process.pid": os.getpid()}
    if "OTEL_SERVICE_NAME" not in environ and "service.name=" not in environ.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    ):
        facts["service.name"] = "matrix"
    return Resource.create(facts)
