"""Sending: what arrives, and what happens when nothing can."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from matrix.telemetry.log import LOG_NAME
from matrix.telemetry.otel import OtelSpans
from matrix.telemetry.process import open_telemetry
from matrix.telemetry.redaction import Redactor
from matrix.telemetry.spans import Span, run_span, span_id_of
from matrix.telemetry.spellings import REMOVED
from tests.telemetry.collector import collecting
from tests.waiting import LONGEST_WAIT_S

TRACE = "0123456789abcdef0123456789abcdef"


class Kept(SpanExporter):
    """Keeps spans; can be made to fail, or to hang until it is let go."""

    def __init__(self, result: SpanExportResult = SpanExportResult.SUCCESS) -> None:
        self.spans: list[ReadableSpan] = []
        self.free = threading.Event()
        self.free.set()
        self._result = result

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.free.wait()
        self.spans += spans
        return self._result


def no_failure(why: str) -> None:
    raise AssertionError(why)


def span(path: tuple[str, ...], **more: Any) -> Span:
    return Span(path, "x", 5, 9, {"a": "1", "n": 2}, **more)


def test_a_span_arrives_with_its_own_id_its_parents_id_and_its_times() -> None:
    kept = Kept()
    spans = OtelSpans(TRACE, "p", Redactor(["quince-84"]), no_failure, exporter=kept)
    spans.ended(span(("s", "turn:1"), error="quince-84", remote=True))
    spans.ended(run_span("r", 1, 2, {"k": "quince-84"}, "f" * 32))
    spans.close()
    turn, run = kept.spans
    assert turn.context is not None
    assert turn.parent is not None
    assert turn.context.span_id == span_id_of(TRACE, ("s", "turn:1"))
    assert turn.parent.span_id == span_id_of(TRACE, ("s",))
    assert turn.context.trace_id == int(TRACE, 16)
    assert (turn.start_time, turn.end_time, turn.kind.name) == (5, 9, "CLIENT")
    assert dict(turn.attributes or {}) == {"a": "1", "n": 2, "error.type": REMOVED}
    assert turn.status.status_code.name == "ERROR"
    assert run.parent is None
    assert run.context is not None
    assert run.context.span_id == span_id_of(TRACE, ())
    assert [link.context.trace_id for link in run.links] == [int("f" * 32, 16)]
    assert [link.context.span_id for link in run.links] == [span_id_of("f" * 32, ())]
    assert (run.attributes or {})["matrix.k"] == REMOVED


def test_an_exporter_that_fails_is_told_of_once_however_often_it_fails() -> None:
    told: list[str] = []
    kept = Kept(SpanExportResult.FAILURE)
    spans = OtelSpans(TRACE, "p", Redactor(), told.append, exporter=kept)
    for number in range(3_000):
        spans.ended(span((str(number),)))
    spans.close()
    assert len(told) == 1
    assert len(kept.spans) > 512, "more than one batch failed"


@pytest.mark.slow
def test_an_endpoint_that_hangs_holds_nobody_up_and_the_queue_is_bounded() -> None:
    kept = Kept()
    kept.free.clear()
    spans = OtelSpans(TRACE, "p", Redactor(), no_failure, exporter=kept)
    for number in range(20_000):
        spans.ended(span((str(number),)))
    assert not kept.spans, "nothing has left, and nobody was held up"
    kept.free.set()
    spans.close()
    assert 2_048 <= len(kept.spans) <= 2_048 + 512
    last = kept.spans[-1].context
    assert last is not None
    assert last.span_id == span_id_of(TRACE, ("19999",)), "the newest are kept"


@pytest.mark.slow
async def test_an_endpoint_that_is_down_costs_one_warning_and_the_end_comes(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    # its own variables are read from the process's environment, so the exporter is told here
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    exporter = OTLPSpanExporter(endpoint=f"http://127.0.0.1:{port}/v1/traces")
    told: list[str] = []
    spans = OtelSpans(TRACE, "p", Redactor(), told.append, exporter=exporter)
    for number in range(5_000):
        spans.ended(span((str(number),)))
    await asyncio.wait_for(asyncio.to_thread(spans.close), LONGEST_WAIT_S)
    assert len(told) <= 1


def test_a_sampler_speaks_for_the_whole_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
    shares = set()
    for number in range(40):
        kept = Kept()
        trace = f"{number * 2**58 + 1:032x}"
        spans = OtelSpans(trace, "p", Redactor(), no_failure, exporter=kept)
        for path in ((), ("a",), ("a", "b")):
            spans.ended(span(path))
        spans.close()
        shares.add(len(kept.spans))
    assert shares == {0, 3}


async def test_a_process_opens_what_its_environment_asks_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with collecting() as collector:
        for name, value in collector.environment.items():
            monkeypatch.setenv(name, value)
        telemetry = open_telemetry(tmp_path, "worker-7", TRACE)
        assert telemetry.spans is not None
        telemetry.spans.ended(span(("s",)))
        await telemetry.close()
    (seen,) = collector.spans
    assert (seen.trace, seen.resource["service.instance.id"]) == (TRACE, "worker-7")
    events = [orjson.loads(line)["event"] for line in (tmp_path / LOG_NAME).open("rb")]
    assert events == ["process.started", "process.stopped"]
