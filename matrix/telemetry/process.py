"""What one process of a run has for telling the outside: its log, and its spans if wanted."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from matrix.telemetry.log import LOG_NAME, NO_LOG, EventLog, Log, Write, level_in
from matrix.telemetry.redaction import NOTHING_KNOWN, Redactor
from matrix.telemetry.settings import trace_settings
from matrix.telemetry.spans import Spans


class Telemetry:
    """Log and spans of one process.

    ``spans`` is ``None`` where no traces are wanted; ``problem`` says why traces that were asked
    for cannot be sent.
    """

    def __init__(self, log: Log = NO_LOG, spans: Spans | None = None, problem: str = "") -> None:
        self.log, self.spans, self.problem = log, spans, problem

    async def close(self) -> None:
        """Send the last spans, which may take some seconds, and close the log."""
        self.log.info("process.stopped")
        if self.spans is not None:
            await asyncio.to_thread(self.spans.close)
        self.log.close()


SILENT: Final = Telemetry()
"""Tells nobody anything."""


def open_telemetry(
    run_dir: Path,
    process: str,
    trace_id: str,
    *,
    redactor: Redactor = NOTHING_KNOWN,
    environ: Mapping[str, str] | None = None,
    forward: Write | None = None,
) -> Telemetry:
    """Open what this process tells of a run, as the environment asks for.

    A process that cannot reach the run's folder (on another machine) forwards its lines.

    Args:
        run_dir: The run's folder.
        process: Name of the process, e.g. ``worker-0``.
        trace_id: Trace of this life of the run; empty for no traces.
        redactor: Takes secrets out of all that is told.
        environ: Variables; those of this process if left out.
        forward: Takes the lines of a process that cannot reach the folder; else it has no log.
    """
    variables = os.environ if environ is None else environ
    log: Log
    level = level_in(variables)
    try:
        log = EventLog(run_dir / LOG_NAME, process, redactor, level=level)
    except OSError:
        log = NO_LOG if forward is None else EventLog(forward, process, redactor, level=level)
    log.info("process.started", pid=os.getpid(), age_s=_age_s())
    requested = trace_settings(variables)
    if not (requested.traces and trace_id):
        return Telemetry(log, None, requested.problem)
    from matrix.telemetry.otel import OtelSpans

    def lost(why: str) -> None:
        log.warning("traces.lost", reason=why)

    return Telemetry(log, OtelSpans(trace_id, process, redactor, lost))


def _age_s() -> float | None:
    """Seconds since this process began, most of which it spent on loading; ``None`` if unknown."""
    try:
        began = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        up = float(Path("/proc/uptime").read_text().split()[0])
    except (OSError, ValueError, IndexError):  # another system than Linux
        return None
    return round(up - began / os.sysconf("SC_CLK_TCK"), 2)
