"""Spans as values: what took how long, inside what. Sending them is :mod:`matrix.telemetry.otel`.

A run is a tree: the run, its sessions, their phases and turns, the attempts of their calls. Each
span has a path in it, e.g. ``(session, "turn:3", "0.1#2")``, and ids are made from trace and path.
So every process knows the id of a span that another one will send, and nothing of it travels.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import NamedTuple, Protocol, TypeAlias

from matrix.model.entries import Ended
from matrix.model.money import to_usd
from matrix.model.records import Call, CallKey, Phase, SessionPlan, Usage

Attribute: TypeAlias = str | bool | int | float | tuple[str, ...]
Path: TypeAlias = tuple[str, ...]


class Span(NamedTuple):
    """Something that is over.

    Attributes:
        path: Place in the tree; ``()`` is the run itself.
        name: What it is, in few different words.
        start_ns: Nanoseconds since 1970.
        end_ns: Nanoseconds since 1970.
        attributes: What is known of it; never what anybody wrote or said.
        error: Class of the error that ended it, if one did.
        remote: Whether it is a request to another service.
        earlier_trace: For a resumed run, the trace of its life before this one.
    """

    path: Path
    name: str
    start_ns: int
    end_ns: int
    attributes: Mapping[str, Attribute]
    error: str = ""
    remote: bool = False
    earlier_trace: str = ""


class Spans(Protocol):
    """Takes spans; must return at once, whatever happens to them afterwards."""

    def now_ns(self) -> int:
        """Nanoseconds since 1970."""
        ...

    def ended(self, span: Span) -> None:
        """Take a span that is over."""
        ...

    def close(self) -> None:
        """Send what is left. May block for some seconds."""
        ...


def trace_id_of(run_id: str, life: int, started_ns: int) -> str:
    """Id of the trace of one life of a run: 32 hexadecimal digits."""
    return blake2b(f"{run_id}\n{life}\n{started_ns}".encode(), digest_size=16).hexdigest()


def span_id_of(trace_id: str, path: Path) -> int:
    """Id of the span at a path: 64 bits, never zero."""
    digest = blake2b("\n".join((trace_id, *path)).encode(), digest_size=8).digest()
    return int.from_bytes(digest) or 1


# --- the tree of a run ----------------------------------------------------------------------------


class Reached(NamedTuple):
    """How far an attempt came, as far as the provider said. Money in nano-dollars."""

    usage: Usage
    cost: int
    disposition: str
    model: str = ""
    finish_reason: str = ""
    error: str = ""


def run_span(
    run_id: str, start_ns: int, end_ns: int, facts: Mapping[str, Attribute], earlier_trace: str = ""
) -> Span:
    """The span of one life of a run; ``facts`` are attributes under ``matrix.``."""
    attributes = {"matrix.run.id": run_id} | {f"matrix.{k}": v for k, v in facts.items()}
    failed = str(facts.get("run.error", ""))
    return Span((), "run", start_ns, end_ns, attributes, failed, earlier_trace=earlier_trace)


def session_span(plan: SessionPlan, start_ns: int, end_ns: int, ended: Ended | None) -> Span:
    """The span of a session in this life; ``ended`` is ``None`` if it stays open."""
    attributes: dict[str, Attribute] = {
        **_of_session(plan),
        "matrix.session.part": plan.part,
        "matrix.session.scenario": plan.scenario,
        "matrix.session.outcome": ended.outcome if ended else "suspended",
    }
    if ended is None:
        return Span((plan.session_id,), plan.part, start_ns, end_ns, attributes)
    attributes |= {
        "matrix.session.turns": ended.turns,
        "matrix.session.calls": ended.tally.calls,
        "matrix.cost_usd": to_usd(ended.tally.cost),
    }
    error = ended.error_class if ended.outcome in ("errored", "failed") else ""
    return Span((plan.session_id,), plan.part, start_ns, end_ns, attributes, error)


def turn_span(
    plan: SessionPlan, phase: Phase, turn: int, start_ns: int, end_ns: int, error: str = ""
) -> Span:
    """The span of a phase or turn."""
    attributes = {**_of_session(plan), "matrix.phase": phase, "matrix.turn": turn}
    path = (plan.session_id, f"{phase}:{turn}")
    return Span(path, phase, start_ns, end_ns, attributes, error)


def attempt_span(
    call: Call, target: str, attempt: int, start_ns: int, end_ns: int, reached: Reached
) -> Span:
    """The span of one attempt of a call, by OpenTelemetry's conventions for generative AI.

    Args:
        call: The call.
        target: The provider's model, as litellm names it.
        attempt: From 1.
        start_ns: Nanoseconds since 1970.
        end_ns: Nanoseconds since 1970.
        reached: What came of it.
    """
    provider, model = provider_of(target)
    session_id, phase, turn, slot = call.key
    attributes: dict[str, Attribute] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": model,
        "gen_ai.request.max_tokens": call.params.max_tokens,
        "gen_ai.usage.input_tokens": reached.usage.input,
        "gen_ai.usage.output_tokens": reached.usage.output,
        "matrix.session.id": session_id,
        "matrix.cell": _cell(call.cell),
        "matrix.role": call.role,
        "matrix.model": call.model,
        "matrix.phase": phase,
        "matrix.turn": turn,
        "matrix.slot": slot,
        "matrix.attempt": attempt,
        "matrix.cost_usd": to_usd(reached.cost),
        "matrix.disposition": reached.disposition,
    }
    if call.params.temperature is not None:
        attributes["gen_ai.request.temperature"] = call.params.temperature
    if reached.usage.cached:
        attributes["gen_ai.usage.cache_read.input_tokens"] = reached.usage.cached
    if reached.model:
        attributes["gen_ai.response.model"] = reached.model
    if reached.finish_reason:
        attributes["gen_ai.response.finish_reasons"] = (reached.finish_reason,)
    path = path_of(call.key, attempt)
    return Span(path, f"chat {model}", start_ns, end_ns, attributes, reached.error, remote=True)


def path_of(key: CallKey, attempt: int) -> Path:
    """Where an attempt stands in the tree."""
    return (key.session_id, f"{key.phase}:{key.turn}", f"{key.slot}#{attempt}")


_PROVIDERS: Mapping[str, str] = {
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "sim": "matrix.simulated",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
"""Where OpenTelemetry's names of providers are not litellm's."""


def provider_of(target: str) -> tuple[str, str]:
    """OpenTelemetry's name of the provider of a model, and the model's name there."""
    prefix, slash, model = target.partition("/")
    if slash:
        return _PROVIDERS.get(prefix, prefix), model
    for beginning, provider in (("claude", "anthropic"), ("gemini", "gcp.gemini")):
        if target.startswith(beginning):
            return provider, target
    return "openai", target


def _of_session(plan: SessionPlan) -> dict[str, Attribute]:
    return {
        "matrix.session.id": plan.session_id,
        "matrix.round": plan.round,
        "matrix.cell": _cell(plan.levels),
    }


def _cell(levels: Mapping[str, str]) -> str:
    return ", ".join(f"{factor}={level}" for factor, level in levels.items())
