"""Spans as values: ids that every process can work out, and what spans say."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from matrix.model.entries import Ended, RoleShare, Tally
from matrix.model.records import Call, CallKey, CallParams, ChatMessage, SessionPlan, Usage
from matrix.telemetry.spans import (
    Reached,
    attempt_span,
    path_of,
    provider_of,
    run_span,
    session_span,
    span_id_of,
    trace_id_of,
    turn_span,
)

PLAN = SessionPlan(
    "s1", "play", 0, 3, 7, "one", "counter", {"step": "1", "model": "m"}, {}, {}, {}, None, 9, 9.0
)
CALL = Call(
    CallKey("s1", "turn", 2, "0.1"), "", 0, "narrator", "teller",
    (ChatMessage("user", "the words of a prompt"),), CallParams(64, 0.5), 1, {"step": "1"},
)  # fmt: skip
ENDED = Ended("s1", "errored", "why", "ProviderTimeout", 2, None,
              Tally(1.0, {"narrator": RoleShare(3, 10, 5, 2_000_000)}), 0.0)  # fmt: skip


@given(st.lists(st.lists(st.text("ab:#.", max_size=4), max_size=3).map(tuple), unique=True))
def test_different_places_have_different_ids(paths: list[tuple[str, ...]]) -> None:
    trace = trace_id_of("r", 1, 0)
    ids = {span_id_of(trace, path) for path in paths}
    assert len(ids) == len(paths)
    assert all(0 < number < 2**64 for number in ids)


def test_every_life_of_a_run_and_every_run_of_a_name_has_a_trace_of_its_own() -> None:
    traces = {trace_id_of(run, life, at) for run in "ab" for life in (1, 2) for at in (5, 6)}
    assert len(traces) == 8
    assert all(len(trace) == 32 and int(trace, 16) for trace in traces)


def test_an_attempt_hangs_under_its_turn_and_a_turn_under_its_session() -> None:
    attempt = attempt_span(CALL, "openai/gpt", 2, 0, 1, Reached(Usage(), 0, "settled"))
    turn = turn_span(PLAN, "turn", 2, 0, 1)
    session = session_span(PLAN, 0, 1, ENDED)
    run = run_span("r", 0, 1, {})
    assert attempt.path == path_of(CALL.key, 2)
    assert (attempt.path[:-1], turn.path[:-1], session.path[:-1]) == (
        turn.path, session.path, run.path,
    )  # fmt: skip


def test_an_attempt_says_what_the_conventions_ask_for_and_no_word_of_the_prompt() -> None:
    reached = Reached(Usage(100, 20, cached=60), 1_500_000, "settled", "gpt-x-2026", "stop")
    span = attempt_span(CALL, "openai/gpt-x", 1, 10, 30, reached)
    assert (span.name, span.remote, span.error) == ("chat gpt-x", True, "")
    assert span.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-x",
        "gen_ai.request.max_tokens": 64,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.response.model": "gpt-x-2026",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 60,
        "matrix.session.id": "s1",
        "matrix.cell": "step=1",
        "matrix.role": "narrator",
        "matrix.model": "teller",
        "matrix.phase": "turn",
        "matrix.turn": 2,
        "matrix.slot": "0.1",
        "matrix.attempt": 1,
        "matrix.cost_usd": 0.0015,
        "matrix.disposition": "settled",
    }


def test_a_session_says_its_round_cell_outcome_and_cost() -> None:
    span = session_span(PLAN, 0, 1, ENDED)
    told = span.attributes
    assert (told["matrix.round"], told["matrix.cell"]) == (3, "step=1, model=m")
    assert (told["matrix.session.outcome"], told["matrix.cost_usd"]) == ("errored", 0.002)
    assert (told["matrix.session.calls"], span.error) == (3, "ProviderTimeout")
    still_open = session_span(PLAN, 0, 1, None)
    assert (still_open.attributes["matrix.session.outcome"], still_open.error) == ("suspended", "")


def test_providers_go_by_the_names_of_the_conventions() -> None:
    named = {
        "openai/gpt-4o": ("openai", "gpt-4o"),
        "gpt-4o": ("openai", "gpt-4o"),
        "claude-opus-4-5": ("anthropic", "claude-opus-4-5"),
        "anthropic/claude": ("anthropic", "claude"),
        "gemini/flash": ("gcp.gemini", "flash"),
        "bedrock/anthropic.claude": ("aws.bedrock", "anthropic.claude"),
        "together_ai/meta/llama": ("together_ai", "meta/llama"),
        "sim/opus-4.5": ("matrix.simulated", "opus-4.5"),
    }
    assert {target: provider_of(target) for target in named} == named
