"""What the driver tells of one life of a run: when it began, drained and ended, and its span."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from matrix.engine.run.progress import RunEnd
from matrix.engine.wire.messages import NodeNews, ProcessDied, SessionEnded
from matrix.engine.wire.setup import RunSetup
from matrix.engine.wire.telemetry_events import telemetry_of, tell_end
from matrix.model.money import to_usd
from matrix.telemetry.log import LOG_NAME, lives_in_log
from matrix.telemetry.process import SILENT
from matrix.telemetry.spans import Attribute, run_span, trace_id_of


class RunTelling:
    """One life of a run. A resumed run is another life, with a trace of its own."""

    def __init__(self, run_id: str, run_dir: Path, now_ns: Callable[[], int]) -> None:
        """``now_ns`` gives nanoseconds since 1970."""
        self.earlier = lives_in_log(run_dir / LOG_NAME)
        self._run_id, self._life = run_id, self.earlier.number + 1
        self._now_ns, self._start = now_ns, now_ns()
        self.trace_id = trace_id_of(run_id, self._life, self._start)
        self._telemetry = SILENT
        self._facts: dict[str, Attribute] = {}

    def begin(self, setup: RunSetup, planned: int) -> str:
        """The run is about to start; returns why traces cannot be sent, if they were asked for."""
        self._telemetry = telemetry_of(setup, "driver")
        event = "run.started" if self._life == 1 else "run.resumed"
        self._telemetry.log.info(
            event,
            run=self._run_id,
            life=self._life,
            trace=self.trace_id,
            kind=setup.kind,
            sessions=planned,
            cap_usd=to_usd(setup.cap_nano),
        )
        if self._telemetry.problem:
            self._telemetry.log.warning("traces.off", reason=self._telemetry.problem)
        self._facts = {"kind": setup.kind, "run.life": self._life, "run.sessions": planned}
        return self._telemetry.problem

    def session(self, news: SessionEnded) -> None:
        """A session has ended."""
        tell_end(self._telemetry.log, news.plan, news.ended)

    def draining(self, reason: str) -> None:
        """Nothing new is started."""
        self._telemetry.log.warning("run.draining", reason=reason)

    def died(self, news: ProcessDied) -> None:
        """A process has died."""
        log = self._telemetry.log
        log.warning("process.died", dead=news.process, node=news.node, reason=news.cause)

    def replaced(self, process: str) -> None:
        """A process that died was replaced."""
        self._telemetry.log.warning("process.replaced", dead=process)

    def node(self, news: NodeNews) -> None:
        """Something happened to a node of the cluster."""
        log, usual = self._telemetry.log, news.event in ("node.joined", "node.left")
        tell = log.info if usual else log.warning
        tell(news.event, node=news.node, reason=news.text)

    def ended(self, end: RunEnd) -> None:
        """The run has come to its end."""
        balance, counters = end.progress.picture.balance, end.progress.counters
        spent = to_usd(balance.settled + balance.presumed)
        self._telemetry.log.info(
            "run.ended",
            status=end.status,
            reason=end.reason,
            outcomes=dict(end.progress.outcomes),
            calls=counters.answered,
            retries=counters.retries,
            rate_limited=counters.rate_limited,
            spent_usd=spent,
            presumed_usd=to_usd(balance.presumed),
            overrun_usd=to_usd(balance.overrun),
        )
        self._facts |= {"run.status": end.status, "run.reason": end.reason, "cost_usd": spent}

    def broke(self, error: BaseException) -> None:
        """The run cannot go on, or was stopped at once."""
        name = type(error).__name__
        self._telemetry.log.error("run.broke", error=name, reason=str(error))
        self._facts |= {"run.status": "failed", "run.error": name}

    async def close(self) -> None:
        """Send the run's span and close the log; every other process has stopped."""
        if (spans := self._telemetry.spans) is not None:
            end = self._now_ns()
            spans.ended(run_span(self._run_id, self._start, end, self._facts, self.earlier.trace))
        telemetry, self._telemetry = self._telemetry, SILENT
        await telemetry.close()
