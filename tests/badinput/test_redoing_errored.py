"""``resume --redo-errored``: sessions that trouble ended are played on, nothing else changes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from matrix import api
from matrix.api import Run
from matrix.model.entries import Held, Looked
from matrix.model.errors import BadInput
from matrix.store.reading.reader import RunTables
from tests.badinput.trouble import error
from tests.badinput.world import REPORTED, asked_from
from tests.cli.program import run_program
from tests.engine.live import journal_entries
from tests.executors.billing import served_spec
from tests.executors.programs import deciding_spec
from tests.faults.laws import assert_books
from tests.providers_litellm.service import Answer, Service, chat

SESSIONS, TURNS = 6, 3
TROUBLE: dict[int, Answer] = {4: error(422, "unprocessable"), 9: error(503, "overloaded")}
"""Number of a request -> what it meets, where each call is asked once."""


@pytest.fixture
async def hurt(service: Service, tmp_path: Path) -> Run:
    """A complete run of six sessions, one at a time, of which two are errored in their turns."""
    good = 0

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal good
        if trouble := TROUBLE.get(len(service.seen)):
            return await trouble(request)
        good += 1
        return web.json_response(chat(str(asked_from(service) + 1), usage=REPORTED))

    service.answer = answer
    limits = {"cost_usd": 1, "open_sessions": 1, "attempts": 1}
    options = {"turns": TURNS, "width": 1}
    base = service.base("openai/gpt-4o")
    path = tmp_path / "matrix.yaml"
    path.write_text(
        yaml.safe_dump(served_spec(base, limits=limits, options=options, per_cell=SESSIONS // 2))
    )
    where: dict[str, Any] = {"results": tmp_path / "results", "executor": "in-process"}
    run = await asyncio.to_thread(api.run, path, run_id="it", **where)
    assert errors_of(run) == {"ProviderUnavailable": 1, "RequestRejected": 1}
    return run


async def redo(run: Run, which: bool | str) -> Run:
    where: dict[str, Any] = {"results": run.path.parent, "executor": "in-process"}
    return await asyncio.to_thread(api.resume, "it", redo_errored=which, **where)


def errors_of(run: Run) -> dict[str, int]:
    sessions = run.sessions()
    found = sessions[sessions.outcome == "errored"].error_class.value_counts()
    return {str(name): int(count) for name, count in found.items()}


@pytest.mark.slow
async def test_errored_sessions_are_played_on_from_their_last_checkpoints(
    service: Service, hurt: Run
) -> None:
    before, spent = len(service.seen), hurt.frame("calls").cost_nano.sum()
    turns = hurt.sessions().query("outcome == 'errored'").turns
    kept = hurt.sessions().query("outcome == 'completed'")
    run = await redo(hurt, True)
    assert run.status == "complete"
    assert set(run.sessions().outcome) == {"completed"}
    assert len(service.seen) - before == sum(TURNS - turns), "the turn that broke, and the rest"
    assert run.frame("calls").cost_nano.sum() > spent
    assert_books(run.path)
    still = run.sessions().set_index("session_id").loc[kept.session_id]
    assert list(still.seq) == list(kept.seq), "nobody else was touched"


@pytest.mark.slow
async def test_a_class_picks_its_sessions_and_an_unknown_one_is_told_what_there_is(
    hurt: Run,
) -> None:
    run = await redo(hurt, "RequestRejected")
    assert errors_of(run) == {"ProviderUnavailable": 1}
    held = len([e for e in journal_entries(run.path) if isinstance(e, Held)])
    with pytest.raises(BadInput, match=r"'RequestRejected'.*ProviderUnavailable \(1\)"):
        await redo(hurt, "RequestRejected")
    run = await redo(hurt, "ProviderUnavailable")
    assert errors_of(run) == {}
    assert len([e for e in journal_entries(run.path) if isinstance(e, Held)]) > held
    with pytest.raises(BadInput, match="no session of it is errored"):
        await redo(hurt, True)
    assert_books(run.path)


@pytest.mark.slow
async def test_the_command_takes_the_class_after_the_flag(hurt: Run) -> None:
    async def resume(*args: str) -> tuple[int, str]:
        folder = hurt.path.parent.parent
        done = await asyncio.to_thread(
            run_program, folder, "resume", "it", "--executor", "in-process", *args
        )
        return done.code, done.stdout + done.stderr

    code, said = await resume()
    assert (code, "--redo-errored plays its 2 errored sessions on" in said) == (0, True)
    assert "matrix resume it --redo-errored   # plays 2 errored sessions on" in said, "and so Next"
    code, said = await resume("RequestRejected")
    assert (code, "--redo-errored" in said) == (2, True)
    code, said = await resume("--redo-errored", "RequestRejected")
    assert (code, errors_of(hurt)) == (0, {"ProviderUnavailable": 1}), said


def expected_of_unplayed(run: Run) -> int:
    """What sessions that a look made needless would have cost: each the mean of its variant's."""
    sessions = RunTables(run.path).frame("sessions")
    means = sessions[sessions.outcome == "completed"].groupby("step").cost_nano.mean()
    unplayed = sessions[sessions.error_class.isin(["dropped", "decided"])].groupby("step").size()
    return round(float((means * unplayed).sum()))


@pytest.mark.slow
def test_a_look_that_was_journalled_is_not_revised_by_what_is_redone(tmp_path: Path) -> None:
    trouble = {"faults": {"server_error": 0.03}}
    spec = deciding_spec(limits={"cost_usd": 10, "attempts": 1}, simulation=trouble, seed=3)
    path = tmp_path / "matrix.yaml"
    path.write_text(yaml.safe_dump(spec))
    where: dict[str, Any] = {"results": tmp_path / "results", "executor": "in-process"}
    run = api.run(path, run_id="it", **where)
    assert (run.status, run.file.end_reason) == ("complete", "decided")
    assert errors_of(run)
    looks = [e for e in journal_entries(run.path) if isinstance(e, Looked)]
    stopping = run.file.stopping
    assert stopping is not None
    assert stopping.saved_nano == expected_of_unplayed(run)

    again = api.resume("it", redo_errored=True, **where)
    assert errors_of(again) == {}
    assert [e for e in journal_entries(again.path) if isinstance(e, Looked)] == looks
    # only what is known of costs has changed: a call that failed for good may have been billed
    saved = expected_of_unplayed(again)
    assert again.file.stopping == stopping.model_copy(update={"saved_nano": saved})
    assert saved > stopping.saved_nano
    assert (again.status, again.file.end_reason) == ("complete", "decided")
    assert_books(again.path)
