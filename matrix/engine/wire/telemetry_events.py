"""What the engine tells the outside of attempts and sessions: events for the log, and spans."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from matrix.engine.wire.defects import is_defect
from matrix.engine.wire.messages import Settle
from matrix.engine.wire.setup import ModelEntry, RunSetup
from matrix.model.entries import Ended
from matrix.model.errors import CallFailed, Censored, Suspended
from matrix.model.money import to_usd
from matrix.model.records import Call, Phase, SessionPlan
from matrix.providers.base import ProviderReply
from matrix.telemetry.log import Log, Write
from matrix.telemetry.process import Telemetry, open_telemetry
from matrix.telemetry.redaction import Redactor, secrets_in
from matrix.telemetry.spans import Reached, Spans, attempt_span, turn_span

_NS: Final = 1_000_000_000


def telemetry_of(
    setup: RunSetup, process: str, *, sends: bool = False, forward: Write | None = None
) -> Telemetry:
    """Open the log and spans of one process of a run.

    Args:
        setup: What every process is told.
        process: Its name.
        sends: Whether it sends requests, and so has the keys of the project's ``.env`` as well.
        forward: Takes the lines of a process that cannot reach the run's folder.
    """
    variables: dict[str, str] = dict(os.environ)
    if (sends or setup.agents) and setup.env_file is not None and Path(setup.env_file).is_file():
        from dotenv import dotenv_values

        found = dotenv_values(setup.env_file, interpolate=False)
        variables = {name: text for name, text in found.items() if text} | variables
    names = [entry.api_key_env for entry in setup.models.values() if entry.api_key_env]
    names += [name for agent in setup.agents.values() for name in agent.pass_env]
    redactor = Redactor(secrets_in(variables, names))
    folder, trace = Path(setup.run_dir), setup.trace_id
    return open_telemetry(folder, process, trace, redactor=redactor, forward=forward)


class AttemptWatch:
    """Tells of the attempts of a provider host."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._log, self._spans = telemetry.log, telemetry.spans

    def answered(
        self, call: Call, entry: ModelEntry, attempt: int, settle: Settle, reply: ProviderReply
    ) -> None:
        """An attempt brought an answer."""
        if settle.error_class:
            self._log.warning(
                "usage.implausible",
                session=call.key.session_id,
                call=str(call.key),
                model=call.model,
                target=entry.target,
                reported=None if reply.usage is None else reply.usage._asdict(),
                max_tokens=call.params.max_tokens,
            )
        if self._spans is not None:
            said = (reply.model, reply.finish_reason)
            _tell(self._spans, call, entry, attempt, settle, said)

    def failed(
        self,
        call: Call,
        entry: ModelEntry,
        attempt: int,
        settle: Settle,
        error: Exception,
        retry_in_s: float | None,
    ) -> None:
        """An attempt brought an error; ``retry_in_s`` is ``None`` if it was the last."""
        self._log.warning(
            "attempt.failed",
            session=call.key.session_id,
            call=str(call.key),
            attempt=attempt,
            model=call.model,
            error=settle.error_class,
            reason=str(error),
            disposition=settle.disposition,
            retry_in_s=None if retry_in_s is None else round(retry_in_s, 3),
        )
        if self._spans is not None:
            _tell(self._spans, call, entry, attempt, settle, ("", ""))


def _tell(
    spans: Spans,
    call: Call,
    entry: ModelEntry,
    attempt: int,
    settle: Settle,
    said: tuple[str, str],
) -> None:
    end = spans.now_ns()
    reached = Reached(settle.usage, settle.cost, settle.disposition, *said, settle.error_class)
    start = end - round(settle.took_s * _NS)
    spans.ended(attempt_span(call, entry.target, attempt, start, end, reached))


def tell_end(log: Log, plan: SessionPlan, ended: Ended) -> None:
    """Log a session's end: in a word if it went well, in full if not."""
    facts = {
        "session": plan.session_id,
        "outcome": ended.outcome,
        "turns": ended.turns,
        "cost_usd": to_usd(ended.tally.cost),
    }
    if ended.outcome in ("completed", "timeout"):
        log.debug("session.ended", **facts)
        return
    facts |= {
        "round": plan.round,
        "cell": dict(plan.levels),
        "error": ended.error_class,
        "reason": ended.reason,
    }
    if is_defect(ended.error_class):
        facts["reason"], *facts["traceback"] = ended.reason.splitlines() or [""]
    if ended.outcome == "censored":
        log.info("session.ended", **facts)
    else:
        log.error("session.ended", **facts)


@contextmanager
def told_turn(spans: Spans | None, plan: SessionPlan, phase: Phase, turn: int) -> Iterator[None]:
    """Make a span of a phase or turn, however it ends."""
    if spans is None:
        yield
        return
    start, error = spans.now_ns(), ""
    try:
        yield
    except CallFailed as failure:
        error = failure.error_class
        raise
    except (Censored, Suspended):
        raise
    except BaseException as defect:
        error = type(defect).__name__
        raise
    finally:
        spans.ended(turn_span(plan, phase, turn, start, spans.now_ns(), error))
