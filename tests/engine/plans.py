"""Small values that engine tests need many of: planned sessions, calls, asks, answers, set-ups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matrix.admission.rates import Load
from matrix.admission.tariffs import Tariff
from matrix.engine.wire.messages import Acquire, Settle
from matrix.engine.wire.setup import GroupLimits, ModelEntry, RunSetup
from matrix.model.entries import Ended, Tally
from matrix.model.records import (
    Answer,
    Call,
    CallKey,
    CallParams,
    ChatMessage,
    Outcome,
    SessionPlan,
    Usage,
)

MODEL = "sim/counter"
GROUP = "pool"
TARIFF = Tariff.from_usd_per_mtok(0.01, 0.04)
USD = 1_000_000_000
"""A dollar in nano-dollars."""


def plan(session_id: str = "s1", **changes: Any) -> SessionPlan:
    """A counter session of three turns with two calls at once in each."""
    fields: dict[str, Any] = {
        "session_id": session_id,
        "part": "play",
        "order": 0,
        "round": 0,
        "seed": 77,
        "scenario": "one",
        "kind": "counter",
        "levels": {"step": "1"},
        "options": {"step": 1, "turns": 3, "width": 2},
        "roles": {"counter": MODEL},
        "resources": {"scenario": "text-1"},
        "prelude_id": None,
        "max_turns": 60,
        "max_session_s": 3600.0,
    }
    return SessionPlan(**(fields | changes))


RESOURCES = {"text-1": {"start": 5}}


def setup(run_dir: Path, **changes: Any) -> RunSetup:
    """A run of counter sessions on one model without limits of rate."""
    fields: dict[str, Any] = {
        "run_id": "run-1",
        "run_dir": str(run_dir),
        "kind": "counter",
        "cap_nano": 10 * USD,
        "models": {MODEL: ModelEntry("sim", "counter", TARIFF, GROUP)},
        "groups": {GROUP: GroupLimits()},
        "resources": RESOURCES,
        "simulation": {},
        "attempts": 3,
        "clients": {},
    }
    return RunSetup(**(fields | changes))


def key(session_id: str = "s1", slot: str = "0", turn: int = 1) -> CallKey:
    return CallKey(session_id, "turn", turn, slot)


def call(of: CallKey | None = None, text: str = "Count on from 5.", **changes: Any) -> Call:
    fields: dict[str, Any] = {
        "key": of or key(),
        "digest": f"digest of {text}",
        "order": 0,
        "role": "counter",
        "model": MODEL,
        "messages": (ChatMessage("user", text),),
        "params": CallParams(16),
        "seed": 1,
    }
    return Call(**(fields | changes))


def ask(of: CallKey | None = None, bound: int = 100, **changes: Any) -> Acquire:
    """An attempt that wants to be sent."""
    fields: dict[str, Any] = {
        "key": of or key(),
        "digest": "digest",
        "order": 0,
        "role": "counter",
        "model": MODEL,
        "group": GROUP,
        "bound": bound,
        "load": Load(10.0),
    }
    return Acquire(**(fields | changes))


def answer(text: str = "6", cost: int = 60) -> Answer:
    return Answer(text, Usage(20, 1), cost, 0.5, MODEL)


def settle(of: CallKey, hold_id: int, **changes: Any) -> Settle:
    """An attempt that was answered, at a cost of 60."""
    fields: dict[str, Any] = {
        "key": of,
        "hold_id": hold_id,
        "disposition": "settled",
        "cost": 60,
        "usage": Usage(20, 1),
        "took_s": 0.1,
        "error_class": "",
        "answer": answer(),
        "digest": "digest",
    }
    return Settle(**(fields | changes))


def ended(session_id: str = "s1", outcome: Outcome = "completed") -> Ended:
    return Ended(session_id, outcome, "", "", 3, 50.0, Tally(), 0.0)
