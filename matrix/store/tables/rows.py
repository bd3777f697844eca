"""Single rows of the tables: what stands in which column, but for ``run_id``."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final, NamedTuple, TypeAlias

import orjson

from matrix.kinds.context import MOST_OUTPUT, CommandResult
from matrix.model.entries import Acted, Settled, TurnDone
from matrix.model.money import to_usd
from matrix.model.records import JSON, Outcome, SessionPlan
from matrix.model.request_digest import content_of
from matrix.model.spec.aliases import simulated_roles
from matrix.store.journal.session_state import SessionTotals
from matrix.store.run.schema import RunInfo
from matrix.store.tables.tables import factor_columns

Cells: TypeAlias = Mapping[str, object]
"""Column -> what a row has there. Every column of the table is named once, and no other."""

_SCORED: Final[frozenset[Outcome]] = frozenset({"completed", "timeout"})


def session_row(
    plan: SessionPlan,
    info: RunInfo,
    *,
    outcome: Outcome,
    error_class: str,
    turns: int,
    totals: SessionTotals,
    score: float | None,
    reason: str,
    started_at: float | None,
    ended_at: float | None,
    seq: int | None,
) -> Cells:
    """A row of ``sessions``; ``seq`` and ``ended_at`` are ``None`` if it has not ended."""
    return {
        "session_id": plan.session_id,
        "round": plan.round,
        "seed": plan.seed,
        "scenario": plan.scenario,
        "kind": plan.kind,
        **{name: plan.levels.get(one) for one, name in factor_columns(info.factors).items()},
        "outcome": outcome,
        "error_class": error_class or None,
        "turns": turns,
        "calls": totals.calls,
        "cost_usd": to_usd(totals.cost),
        "tokens_in": totals.tokens_in,
        "tokens_out": totals.tokens_out,
        "duration_s": totals.clock_s,
        "score": score if outcome in _SCORED else None,
        "simulated": bool(simulated_roles(plan.roles, info.stand_ins)),
        "parent_session_id": plan.parent_session_id,
        "parent_turn": plan.parent_turn,
        "cost_nano": totals.cost,
        "end_reason": reason or None,
        "launch_order": plan.order,
        "prelude_id": plan.prelude_id,
        "started_at": _micros(started_at),
        "ended_at": _micros(ended_at),
        "parent_run": plan.parent_run,
        "changed": plan.changed or None,
        "repeat": plan.repeat,
        "seq": seq,
    }


def turn_row(seq: int, entry: TurnDone, before: SessionTotals, after: SessionTotals) -> Cells:
    """A row of ``turns``, from the session's totals before and after the checkpoint."""
    cost = after.cost - before.cost
    return {
        "session_id": entry.session_id,
        "turn": entry.turn,
        "phase": entry.phase,
        "messages": len(entry.messages),
        "events": len(entry.events),
        "scores": len(entry.scores),
        "calls": after.calls - before.calls,
        "tokens_in": after.tokens_in - before.tokens_in,
        "tokens_out": after.tokens_out - before.tokens_out,
        "cost_usd": to_usd(cost),
        "cost_nano": cost,
        "duration_s": after.clock_s - before.clock_s,
        "clock_s": after.clock_s,
        "total_cost_usd": to_usd(after.cost),
        "total_cost_nano": after.cost,
        "ended_at": _micros(entry.at),
        "seq": seq,
    }


def _number(code: JSON) -> int | None:
    return None if code is None else int(code)


class _Did(NamedTuple):
    """What an effect says of itself, as far as it does."""

    code: int | None = None
    out_bytes: int = 0
    err_bytes: int = 0
    failure: str | None = None

    @classmethod
    def of(cls, name: str, result: JSON) -> _Did:
        """Read what a command or a metered agent's turn came to; a kind may call its own so."""
        with suppress(TypeError, ValueError, LookupError, AttributeError):
            if name.startswith("command ") and isinstance(result, dict):  # a metered one
                return cls(_number(result["result"]["exit_code"]))
            if name.startswith("command "):
                ran = CommandResult(*result)
                return cls(_number(ran.code), int(ran.out_bytes), int(ran.err_bytes))
            if name.startswith("agent "):
                said = result["result"]
                if "failure" in said:
                    return cls(failure=str(said["failure"][0]))
                return cls.told(said["facts"])
        return cls()

    @classmethod
    def told(cls, facts: Mapping[str, JSON]) -> _Did:
        """From what an agent's turn says it did."""
        code = _number(facts["code"])
        return cls(code, int(facts["out_bytes"]), int(facts["err_bytes"]))

    @property
    def truncated(self) -> bool:
        return max(self.out_bytes, self.err_bytes) > MOST_OUTPUT


def effect_row(seq: int, entry: Acted) -> Cells:
    """A row of ``effects``."""
    did = _Did.of(entry.name, entry.result)
    return {
        "session_id": entry.key.session_id,
        "phase": entry.key.phase,
        "turn": entry.key.turn,
        "slot": entry.key.slot,
        "name": entry.name,
        "exit_code": did.code,
        "out_bytes": did.out_bytes,
        "err_bytes": did.err_bytes,
        "truncated": did.truncated,
        "changed_bytes": entry.changed_bytes,
        "failure": did.failure if entry.failure is None else entry.failure.error_class,
        "took_s": entry.took_s,
        "done_at": _micros(entry.at),
        "seq": seq,
    }


def turn_effects(seq: int, entry: Settled) -> list[Cells]:
    """The row of ``effects`` of an agent's turn that was a call; none of any other call."""
    if entry.answer is None or not entry.answer.effect:
        return []
    facts = orjson.loads(entry.answer.effect)
    did = _Did.told(facts)
    return [
        {
            "session_id": entry.key.session_id,
            "phase": entry.key.phase,
            "turn": entry.key.turn,
            "slot": entry.key.slot,
            "name": f"agent {entry.model}",
            "exit_code": did.code,
            "out_bytes": did.out_bytes,
            "err_bytes": did.err_bytes,
            "truncated": did.truncated,
            "changed_bytes": facts["changed_bytes"],
            "failure": None,
            "took_s": entry.took_s,
            "done_at": _micros(entry.at),
            "seq": seq,
        }
    ]


def message_rows(seq: int, entry: TurnDone, first: int) -> list[Cells]:
    """Rows of ``messages``; ``first`` is the position of the first one."""
    return [
        {
            "session_id": entry.session_id,
            "position": position,
            "turn": said.turn,
            "channel": said.channel,
            "speaker": said.speaker,
            "label": said.label or None,
            "confidence": said.confidence,
            "text": said.text,
            "seq": seq,
        }
        for position, said in enumerate(entry.messages, start=first)
    ]


def event_rows(seq: int, entry: TurnDone, first: int) -> list[Cells]:
    """Rows of ``events``; ``first`` is the position of the first one."""
    return [
        {
            "session_id": entry.session_id,
            "turn": event.turn,
            "kind": event.kind,
            "subject": event.subject or None,
            "detail": event.detail or None,
            "value": event.value,
            "severity": event.severity or None,
            "data": None if event.data is None else orjson.dumps(event.data).decode(),
            "position": position,
            "seq": seq,
        }
        for position, event in enumerate(entry.events, start=first)
    ]


def score_rows(seq: int, entry: TurnDone) -> list[Cells]:
    """Rows of ``scores``."""
    return [
        {
            "session_id": entry.session_id,
            "turn": score.turn,
            "name": score.name,
            "value": score.value,
            "label": score.label or None,
            "reason": score.reason or None,
            "judge_model": score.judge_model or None,
            "rubric_hash": score.rubric_hash or None,
            "seq": seq,
        }
        for score in entry.scores
    ]


def player_rows(seq: int, entry: TurnDone) -> list[Cells]:
    """Rows of ``players``."""
    return [
        {"session_id": entry.session_id, **player._asdict(), "seq": seq} for player in entry.players
    ]


def call_row(seq: int, entry: Settled) -> Cells:
    """A row of ``calls``."""
    session_id, phase, turn, slot = entry.key
    usage, answer = entry.usage, entry.answer
    return {
        "session_id": session_id,
        "phase": phase,
        "turn": turn,
        "slot": slot,
        "attempt": entry.attempt,
        "role": entry.role,
        "agent": entry.agent or None,
        "tag": entry.tag or None,
        "model": entry.model,
        "answered_by": None if answer is None else answer.answered_by or None,
        "disposition": entry.disposition,
        "error_class": entry.error_class or None,
        "tokens_in": usage.input,
        "tokens_out": usage.output,
        "tokens_cached": usage.cached,
        "tokens_cache_write": usage.cache_write,
        "tokens_reasoning": usage.reasoning,
        "held_usd": to_usd(entry.held),
        "held_nano": entry.held,
        "cost_usd": to_usd(entry.cost),
        "cost_nano": entry.cost,
        "waited_s": entry.waited_s,
        "took_s": entry.took_s,
        "duration_s": None if answer is None else answer.duration_s,
        "finish_reason": None if answer is None else answer.finish_reason,
        "digest": content_of(entry.digest),
        "answered": answer is not None,
        "started_at": _micros(entry.at - entry.took_s),
        "settled_at": _micros(entry.at),
        "hold_id": entry.hold_id,
        "saved_usd": to_usd(entry.saved),
        "saved_nano": entry.saved,
        "overrun_usd": to_usd(entry.overrun),
        "overrun_nano": entry.overrun,
        "seq": seq,
    }


def _micros(at: float | None) -> int | None:
    return None if at is None else round(at * 1e6)
