"""Accounts that die in the middle of a run: nothing is lost, and once mended the run goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from matrix import api
from matrix.api import Run
from matrix.model.entries import Settled
from tests.badinput.trouble import error
from tests.badinput.world import REPORTED, asked_from
from tests.cli.program import run_program
from tests.engine.live import journal_entries
from tests.executors.billing import served_spec
from tests.faults.laws import assert_books
from tests.providers_litellm.service import Answer, Service, chat

REFUSALS: dict[str, Answer] = {
    "revoked key": error(401, "Incorrect API key provided"),
    "no money": error(402, "Payment required"),
    "not allowed": error(403, "this account may not use the model"),
    "quota used up": error(429, "You exceeded your current quota", "insufficient_quota"),
}
SESSIONS, CALLS = 10, 60


class Account:
    """An account at the service: what it has answered, and whether it still does."""

    def __init__(self, service: Service, refusal: Answer, good_for: float) -> None:
        self._service, self._refusal, self.good_for = service, refusal, good_for
        self.answered = self.refused = 0
        service.answer = self.answer

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if self.answered >= self.good_for:
            self.refused += 1
            return await self._refusal(request)
        self.answered += 1
        return web.json_response(chat(str(asked_from(self._service) + 1), usage=REPORTED))


@pytest.fixture
def spec(service: Service, tmp_path: Path) -> Path:
    """Ten sessions of three turns with two calls each, five sessions at a time."""
    path = tmp_path / "matrix.yaml"
    limits = {"cost_usd": 1, "open_sessions": 5}
    options = {"turns": 3, "width": 2}
    given = served_spec(service.base("openai/gpt-4o"), limits=limits, options=options)
    path.write_text(yaml.safe_dump(given))
    return path


async def play(spec: Path) -> Run:
    where: dict[str, Any] = {"results": spec.parent / "results", "executor": "in-process"}
    return await asyncio.to_thread(api.run, spec, run_id="it", **where)


async def resume(spec: Path, **more: Any) -> Run:
    where: dict[str, Any] = {"results": spec.parent / "results", "executor": "in-process"}
    return await asyncio.to_thread(api.resume, "it", **where, **more)


def in_the_books(run: Run) -> int:
    """Answers that were paid for, by the run's own books."""
    settled = [e for e in journal_entries(run.path) if isinstance(e, Settled)]
    return sum(e.answer is not None and e.answer.failure is None for e in settled)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("good_for", [0, 25])
async def test_a_run_whose_account_dies_stays_open_and_a_resume_pays_nothing_twice(
    refusal: str, good_for: int, service: Service, spec: Path
) -> None:
    account = Account(service, REFUSALS[refusal], good_for)
    run = await play(spec)
    assert (run.status, run.file.end_reason) == ("incomplete", "account")
    assert set(run.sessions().outcome) <= {"completed", "censored"}
    cut = run.sessions().query("outcome == 'censored'")
    assert len(cut) > 0
    assert set(cut.error_class) == {"account"}
    assert account.refused <= 10, "no more than was out at the time"
    assert in_the_books(run) == account.answered == good_for
    assert_books(run.path)

    account.good_for = float("inf")
    run = await resume(spec)
    assert run.status == "complete"
    assert set(run.sessions().outcome) == {"completed"}
    assert in_the_books(run) == account.answered == CALLS
    assert_books(run.path)


@pytest.mark.slow
async def test_a_resume_before_anything_was_mended_ends_the_same(
    service: Service, spec: Path
) -> None:
    account = Account(service, REFUSALS["no money"], 25)
    await play(spec)
    account.refused = 0
    run = await resume(spec)
    assert (run.status, run.file.end_reason) == ("incomplete", "account")
    assert 3 <= account.refused <= 10
    assert not set(run.sessions().outcome) - {"completed", "censored"}


@pytest.mark.slow
async def test_the_program_ends_with_4_and_names_provider_reason_and_remedy(
    service: Service, spec: Path
) -> None:
    Account(service, REFUSALS["revoked key"], 25)
    given = yaml.safe_load(spec.read_text())
    given["models"]["narrator-x"]["api_key_env"] = "NARRATOR_KEY"
    spec.write_text(yaml.safe_dump(given))
    done = await asyncio.to_thread(
        run_program,
        spec.parent,
        *("run", "--executor", "in-process", "--yes", "--run-id", "it"),
        variables={"NARRATOR_KEY": "sk-123456789012345"},
    )
    assert done.code == 4, done.stderr
    for text in (done.stdout, done.stderr):
        told = " ".join(text.split())
        assert "served" in told
        assert "Incorrect API key provided" in told
        assert "NARRATOR_KEY" in told
        assert "matrix resume it" in told


@pytest.mark.slow
async def test_a_session_with_no_other_is_parked_until_three_attempts_of_one_call_decide(
    service: Service, worlds: Callable[..., Any]
) -> None:
    """Its pauses are not those of the one retry layer: the governor holds its call back."""
    account = Account(service, REFUSALS["no money"], 1)
    world = worlds(attempts=1)
    attempts = await world.play_until_drained()
    assert (account.answered, account.refused) == (1, 3)
    assert world.waited_s >= 1 + 2
    assert [(one.disposition, one.cost) for one in attempts[2]] == [("released", 0)] * 3
    settled = [e for e in journal_entries(world.run_dir) if isinstance(e, Settled)]
    assert [e.attempt for e in settled[1:]] == [1, 2, 3]
    assert all(e.answer is None for e in settled[1:]), "so that a resume asks again"
