"""Parameters of calls, from the run spec to the wire, the tables and the summary."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from matrix import api
from matrix.engine.executors.inprocess import InProcessExecutor
from matrix.report.run.summary import summarize_run
from matrix.report.run.summary_text import moved_alias, summary_as_text
from matrix.report.study.study_text import study_as_text
from matrix.store.run.run_folder import read_run
from tests.executors import driving
from tests.executors.billing import served_spec
from tests.executors.programs import Project
from tests.providers_litellm.conftest import service
from tests.providers_litellm.service import Service, chat

__all__ = ["service"]

ROUNDS, TURNS = 3, 2
MOVED_AFTER = 10


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def counting(service: Service) -> None:
    """Answer with a number, under a name that moves after some answers."""

    async def answer(request: web.Request) -> web.StreamResponse:
        name = "gpt-new" if len(service.seen) > MOVED_AFTER else "gpt-old"
        usage = {"prompt_tokens": 60, "completion_tokens": 30, "total_tokens": 90,
                 "prompt_tokens_details": {"cached_tokens": 20},
                 "completion_tokens_details": {"reasoning_tokens": 25}}  # fmt: skip
        return web.json_response(chat("7", model=name, usage=usage))

    service.answer = answer


def spec(service: Service, **changes: Any) -> dict[str, Any]:
    url = f"http://127.0.0.1:{service.port}/v1"
    fields: dict[str, Any] = {
        "factors": {"effort": ["low", "high"]},
        "params": {"counter": {"temperature": 1, "seed": 5}, "all": {"top_p": 0.5, "seed": 4}},
        "options": {"turns": TURNS, "width": 1, "shared_start": True},
        "per_cell": ROUNDS,
    }
    found: dict[str, Any] = served_spec(url, **(fields | changes))
    return found


async def play(project: Project, service: Service, **changes: Any) -> list[dict[str, Any]]:
    """Play the spec; what the service was sent."""
    counting(service)
    project.write(spec(service, **changes))
    await driving.drive(project.folder, "it", InProcessExecutor())
    return [seen.body for seen in service.seen]


async def test_a_parameter_is_a_factor_whose_levels_are_sent(
    project: Project, service: Service
) -> None:
    bodies = await play(project, service)
    plain = [body for body in bodies if "reasoning_effort" not in body]
    assert len(plain) == ROUNDS, "what variants share is asked without levels of a factor"
    sent = [body["reasoning_effort"] for body in bodies if body not in plain]
    assert sorted(sent) == sorted(["low", "high"] * ROUNDS * TURNS)
    assert {(b["top_p"], b["temperature"], b["seed"]) for b in bodies} == {(0.5, 1, 5)}
    limits = {body.get("reasoning_effort"): body["max_tokens"] for body in bodies}
    assert limits == {None: 16, "low": 16 + 4_096, "high": 16 + 16_384}
    sessions = project.tables("it").frame("sessions")
    assert sorted(sessions["effort"]) == sorted(["low", "high"] * ROUNDS)
    assert read_run(project.path("it")).plan.compared == "effort"


async def test_calls_have_what_was_cached_thought_and_who_answered(
    project: Project, service: Service
) -> None:
    await play(project, service)
    calls = project.tables("it").frame("calls")
    assert (set(calls.tokens_cached), set(calls.tokens_reasoning)) == ({20}, {25})
    names = calls.groupby("answered_by", observed=True).size().to_dict()
    assert names == {"gpt-old": MOVED_AFTER, "gpt-new": len(calls) - MOVED_AFTER}


async def test_an_alias_that_moved_is_pointed_out(project: Project, service: Service) -> None:
    await play(project, service)
    run_dir = project.path("it")
    summary = summarize_run(run_dir, read_run(run_dir))
    assert summary.moved == {"narrator-x": {"gpt-old": MOVED_AFTER, "gpt-new": 5}}
    told = " ".join(summary_as_text(summary).split())
    assert "narrator-x was answered by gpt-old (10 answers) and gpt-new (5 answers)" in told
    compared = " ".join(study_as_text(api.compare("it", results=run_dir.parent)).split())
    assert "narrator-x was answered by gpt-old (10 answers)" in compared


async def test_a_models_own_parameters_stand_between_those_of_all_and_of_the_role(
    project: Project, service: Service
) -> None:
    counting(service)
    document = spec(service, factors={"step": [1, 2]})
    document["models"]["narrator-x"]["params"] = {"top_p": 0.9, "seed": 3, "max_tokens": 99}
    project.write(document)
    await driving.drive(project.folder, "it", InProcessExecutor())
    sent = {(s.body["top_p"], s.body["seed"], s.body["max_tokens"]) for s in service.seen}
    assert sent == {(0.9, 5, 99)}


async def test_a_role_waits_as_long_as_it_says(project: Project, service: Service) -> None:
    async def never(request: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    service.answer = never
    params = {"counter": {"timeout_s": 0.05}}
    project.write(spec(service, params=params, factors={"step": [1, 2]}, limits={"attempts": 1}))
    await driving.drive(project.folder, "it", InProcessExecutor())
    calls = project.tables("it").frame("calls")
    assert set(calls.error_class) == {"ProviderTimeout"}
    assert set(calls.disposition) == {"presumed"}


def test_a_provider_does_not_choose_how_long_the_summary_is() -> None:
    names = {f"m-{number}": 1 for number in range(400)} | {"x" * 3_000_000: 7}
    told = moved_alias("narrator", names)
    assert len(told) < 500
    assert "(7 answers)" in told
    assert "and 398 other names" in told
    assert "ask for one of these" not in told
