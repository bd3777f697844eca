"""Providers that bill more than was set aside: a run stops, says so, and its resume can play."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from matrix import api
from matrix.api import Run
from matrix.model.money import from_usd
from matrix.report.run.summary_data import summary_as_data
from matrix.report.run.summary_text import summary_as_text
from tests.executors.billing import GROUP
from tests.executors.programs import counter_spec
from tests.faults.laws import assert_books
from tests.providers_litellm.service import Service, chat

MAX_TOKENS = 16
"""What a counter allows for an answer."""

OUTPUT_USD = 100.0
HELD = MAX_TOKENS * from_usd(OUTPUT_USD) // 1_000_000
"""What one call is held at where only its answer has a price."""

AT_ONCE = 20
IMPLAUSIBLE = "usage.implausible"


Play = Callable[..., Awaitable[Run]]


def spec(url: str, **changes: Any) -> dict[str, Any]:
    """One session of three turns, twenty calls at once in each, on a model at this address."""
    model = {
        "target": "openai/gpt-4o",
        "api_base": url,
        "price": {"input": 0, "output": OUTPUT_USD},
        "group": GROUP,
    }
    served: dict[str, Any] = {
        "factors": {},
        "options": {"turns": 3, "width": AT_ONCE},
        "per_cell": 1,
        "roles": {"counter": "writer"},
        "models": {"writer": model},
        "groups": {GROUP: {"concurrency": 50}},
        "limits": {"cost_usd": 0.5},
    }
    return counter_spec(**(served | changes))


def writes(service: Service, tokens: int, *, together: int = 1) -> None:
    """The service counts on, and says that every answer took so many tokens.

    Args:
        service: The service.
        tokens: What it reports as written.
        together: It answers nobody before it has been asked this often.
    """
    asked, enough = 0, asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal asked
        asked += 1
        text = service.seen[-1].body["messages"][-1]["content"]
        count = int(text.rstrip(".").rpartition(" ")[2]) + 1
        if asked >= together:
            enough.set()
        await enough.wait()
        usage = {"prompt_tokens": 50, "completion_tokens": tokens, "total_tokens": 50 + tokens}
        return web.json_response(chat(str(count), usage=usage))

    service.answer = answer


@pytest.fixture
def play(service: Service, tmp_path: Path) -> Play:
    """Plays or resumes the run ``it`` against the service, in this process."""

    async def start(**changes: Any) -> Run:
        path = tmp_path / "matrix.yaml"
        path.write_text(yaml.safe_dump(spec(service.base("openai/gpt-4o"), **changes)))
        where: dict[str, Any] = {"results": tmp_path / "results", "executor": "in-process"}
        if (tmp_path / "results" / "it").is_dir():
            return await asyncio.to_thread(api.resume, "it", **where)
        return await asyncio.to_thread(api.run, path, run_id="it", **where)

    return start


def said(run: Run, title: str) -> str:
    """A line of the run's summary."""
    lines = summary_as_text(run.summary(), width=1000).splitlines()
    return next(line for line in lines if line.split()[:1] == [title])


@pytest.mark.slow
async def test_overruns_at_the_same_time_are_one_factor_and_a_resume_can_play(
    service: Service, play: Play
) -> None:
    writes(service, 22, together=AT_ONCE)
    first = await play()
    assert (first.status, first.file.end_reason) == ("incomplete", "overrun")
    assert set(first.frame("calls").held_nano) == {HELD}
    assert_books(first.path)

    writes(service, 2)
    run = await play()
    assert (run.status, len(run.sessions())) == ("complete", 1)
    later = run.frame("calls").sort_values("hold_id").iloc[AT_ONCE:]
    assert set(later.held_nano) == {HELD * 22 // MAX_TOKENS}
    assert_books(run.path)


@pytest.mark.slow
async def test_the_factor_is_the_largest_and_what_is_already_raised_is_not_raised_again(
    service: Service, play: Play
) -> None:
    held = []
    for tokens in (24, 40, 30, 2):
        writes(service, tokens)
        run = await play(options={"turns": 3, "width": 1})
        held.append(run.frame("calls").sort_values("hold_id").held_nano.iloc[-1])
    each = HELD // MAX_TOKENS
    assert held == [16 * each, 24 * each, 40 * each, 40 * each]
    assert run.status == "complete"
    assert_books(run.path)


@pytest.mark.slow
async def test_what_is_said_to_be_spent_has_the_overruns_in_it(
    service: Service, play: Play
) -> None:
    writes(service, 22)
    run = await play(options={"turns": 3, "width": 1})
    assert said(run, "spent").split(maxsplit=1)[1] == "$0.0022, of it $0.0006 overrun, of $0.50"
    summary = run.summary()
    assert sum(summary.role_nano.values()) == summary.spent_nano, "roles add up to all of it"
    assert summary_as_data(run.summary())["spent_usd"] == 0.0022


@pytest.mark.slow
async def test_what_the_cap_cuts_short_says_what_one_call_is_held_at(
    service: Service, play: Play
) -> None:
    """16 tokens for at most $0.0016; after an answer of 8,000, each is held at $0.80."""
    writes(service, 8_000)
    await play(options={"turns": 3, "width": 1}, limits={"cost_usd": 1})
    run = await play()
    (session,) = run.sessions().itertuples()
    assert (session.outcome, session.error_class) == ("censored", "cap")
    line = said(run, "censored")
    assert "writer is held at $0.80" in line, line
    assert "500 times" in line
    assert "$0.20 is left" in line


async def test_an_absurd_report_is_implausible_and_raises_nothing(
    service: Service, play: Play
) -> None:
    writes(service, 100_000_000)
    run = await play(options={"turns": 1, "width": 1})
    assert run.status == "complete"
    (call,) = run.frame("calls").itertuples()
    assert (call.error_class, call.disposition) == ("ImplausibleUsage", "presumed")
    assert (call.answered, call.cost_nano) == (True, HELD)
    line = said(run, "implausible")
    assert "accounts by writer 1:" in line, line
    log = (run.path / "log.jsonl").read_text()
    (told,) = [row for row in map(json.loads, log.splitlines()) if row["event"] == IMPLAUSIBLE]
    assert (told["target"], told["reported"]["output"]) == ("openai/gpt-4o", 100_000_000)
