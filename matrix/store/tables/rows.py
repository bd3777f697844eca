"""Single rows of the tables, in the order of their columns, without the leading ``run_id``."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final, NamedTuple

import orjson

from matrix.kinds.context import MOST_OUTPUT, CommandResult
from matrix.model.entries import Acted, Settled, TurnDone
from matrix.model.money import to_usd
from matrix.model.records import JSON, Outcome, SessionPlan
from matrix.model.request_digest import content_of
from matrix.model.spec.aliases import simulated_roles
from matrix.store.journal.session_state import SessionTotals
from matrix.store.run.schema import Row, RunInfo

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
) -> Row:
    """A row of ``sessions``; ``seq`` and ``ended_at`` are ``None`` if it has not ended."""
    return (
        plan.session_id,
        plan.round,
        plan.seed,
        plan.scenario,
        plan.kind,
        *(plan.levels.get(factor) for factor in info.factors),
        outcome,
        error_class or None,
        turns,
        totals.calls,
        to_usd(totals.cost),
        totals.tokens_in,
        totals.tokens_out,
        totals.clock_s,
        score if outcome in _SCORED else None,
        bool(simulated_roles(plan.roles, info.stand_ins)),
        plan.parent_session_id,
        plan.parent_turn,
        totals.cost,
        reason or None,
        plan.order,
        plan.prelude_id,
        _micros(started_at),
        _micros(ended_at),
        plan.parent_run,
        plan.changed or None,
        plan.repeat,
        seq,
    )


def turn_row(seq: int, entry: TurnDone, before: SessionTotals, after: SessionTotals) -> Row:
    """A row of ``turns``, from the session's totals before and after the checkpoint."""
    cost = after.cost - before.cost
    return (
        entry.session_id,
        entry.turn,
        entry.phase,
        len(entry.messages),
        len(entry.events),
        len(entry.scores),
        after.calls - before.calls,
        after.tokens_in - before.tokens_in,
        after.tokens_out - before.tokens_out,
        to_usd(cost),
        cost,
        after.clock_s - before.clock_s,
        after.clock_s,
        to_usd(after.cost),
        after.cost,
        _micros(entry.at),
        seq,
    )


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


def effect_row(seq: int, entry: Acted) -> Row:
    """A row of ``effects``."""
    did = _Did.of(entry.name, entry.result)
    return (
        entry.key.session_id,
        entry.key.phase,
        entry.key.turn,
        entry.key.slot,
        entry.name,
        did.code,
        did.out_bytes,
        did.err_bytes,
        did.truncated,
        entry.changed_bytes,
        did.failure if entry.failure is None else entry.failure.error_class,
        entry.took_s,
        _micros(entry.at),
        seq,
    )


def turn_effects(seq: int, entry: Settled) -> list[Row]:
    """The row of ``effects`` of an agent's turn that was a call; none of any other call."""
    if entry.answer is None or not entry.answer.effect:
        return []
    facts = orjson.loads(entry.answer.effect)
    did = _Did.told(facts)
    return [
        (
            entry.key.session_id,
            entry.key.phase,
            entry.key.turn,
            entry.key.slot,
            f"agent {entry.model}",
            did.code,
            did.out_bytes,
            did.err_bytes,
            did.truncated,
            facts["changed_bytes"],
            None,
            entry.took_s,
            _micros(entry.at),
            seq,
        )
    ]


def message_rows(seq: int, entry: TurnDone, first: int) -> list[Row]:
    """Rows of ``messages``; ``first`` is the position of the first one."""
    return [
        (
            entry.session_id,
            position,
            said.turn,
            said.channel,
            said.speaker,
            said.label or None,
            said.text,
            seq,
        )
        for position, said in enumerate(entry.messages, start=first)
    ]


def event_rows(seq: int, entry: TurnDone, first: int) -> list[Row]:
    """Rows of ``events``; ``first`` is the position of the first one."""
    return [
        (
            entry.session_id,
            event.turn,
            event.kind,
            event.subject or None,
            event.detail or None,
            event.value,
            event.severity or None,
            None if event.data is None else orjson.dumps(event.data).decode(),
            position,
            seq,
        )
        for position, event in enumerate(entry.events, start=first)
    ]


def score_rows(seq: int, entry: TurnDone) -> list[Row]:
    """Rows of ``scores``."""
    return [
        (
            entry.session_id,
            score.turn,
            score.name,
            score.value,
            score.label or None,
            score.reason or None,
            score.judge_model or None,
            score.rubric_hash or None,
            seq,
        )
        for score in entry.scores
    ]


def player_rows(seq: int, entry: TurnDone) -> list[Row]:
    """Rows of ``players``."""
    return [(entry.session_id, *player, seq) for player in entry.players]


def call_row(seq: int, entry: Settled) -> Row:
    """A row of ``calls``."""
    session_id, phase, turn, slot = entry.key
    usage, answer = entry.usage, entry.answer
    return (
        session_id,
        phase,
        turn,
        slot,
        entry.attempt,
        entry.role,
        entry.agent or None,
        entry.tag or None,
        entry.model,
        None if answer is None else answer.answered_by or None,
        entry.disposition,
        entry.error_class or None,
        usage.input,
        usage.output,
        usage.cached,
        usage.cache_write,
        usage.reasoning,
        to_usd(entry.held),
        entry.held,
        to_usd(entry.cost),
        entry.cost,
        entry.waited_s,
        entry.took_s,
        None if answer is None else answer.duration_s,
        None if answer is None else answer.finish_reason,
        content_of(entry.digest),
        answer is not None,
        _micros(entry.at - entry.took_s),
        _micros(entry.at),
        entry.hold_id,
        to_usd(entry.saved),
        entry.saved,
        to_usd(entry.overrun),
        entry.overrun,
        seq,
    )


def _micros(at: float | None) -> int | None:
    return None if at is None else round(at * 1e6)
