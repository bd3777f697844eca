"""The response cache: who is given whose answer, what is kept, and what it costs."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.engine.calls.caching import CallCache, call_identity, open_cache
from matrix.engine.calls.provider_host import ProviderHost
from matrix.engine.prepare.registry import load_kind
from matrix.engine.run.earlier import earlier_lives
from matrix.engine.run.launcher import Past
from matrix.engine.wire.messages import EndSession, SessionEnded
from matrix.engine.wire.providers import LITELLM, SIMULATED
from matrix.engine.wire.setup import ModelEntry
from matrix.model.entries import Opened, Settled
from matrix.model.errors import ContentRefused
from matrix.model.plan import Cell, Plan
from matrix.model.records import Call, CallParams, ChatMessage, SessionPlan, Usage
from matrix.providers.base import ProviderReply
from matrix.providers.scripted import Handler
from matrix.store.journal.journal import JOURNAL_NAME, JournalWriter
from matrix.store.shared.answers import AnswerFile
from matrix.telemetry.log import NoLog
from tests.engine.calls.test_provider_host import World
from tests.engine.lone_session import Journal
from tests.engine.plans import GROUP, MODEL, TARIFF, call, ended, key, plan, setup

REAL = ModelEntry(LITELLM, "openai/gpt", TARIFF, GROUP)


class Warnings(NoLog):
    """A log that keeps its warnings."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []

    def warning(self, event: str, **fields: Any) -> None:
        self.told.append({"event": event, **fields})


@contextmanager
def cache_at(path: Path, log: Warnings | None = None) -> Iterator[CallCache]:
    cache = CallCache(AnswerFile(path, gather_s=0, patience_s=0.01), log or Warnings())
    yield cache
    cache.close()


def world(handler: Handler, cache: CallCache, entry: ModelEntry = REAL) -> World:
    """A host with this cache, whose real model answers as the handler says."""
    made = World(handler)
    made.host = ProviderHost(
        {entry.provider: made.provider},
        {MODEL: entry},
        made.send,
        attempts=3,
        sleep=made._sleep,
        clock=lambda: 7.0,
        cache=cache,
    )
    return made


def well(of: Call, attempt: int) -> ProviderReply:
    return ProviderReply("six", Usage(20, 1, 8, 4, 1), 0.5)


async def asked(path: Path, handler: Handler, entry: ModelEntry = REAL) -> World:
    """A run that asks one call, after whatever earlier ones have kept."""
    with cache_at(path) as cache:
        run = world(handler, cache, entry)
        await run.host.ask(call())
    return run


# --- whose answer ---------------------------------------------------------------------------------


async def identities(session: SessionPlan, entry: ModelEntry = REAL) -> list[str]:
    """What a counter session's calls are kept under."""
    journal = Journal(load_kind("counter"), session)
    await journal.play()
    assert journal.asked
    return [call_identity(of, entry) for of in journal.asked]


def sessions(seed: int) -> list[SessionPlan]:
    """Three rounds of one cell, whose sessions all begin with the same request."""
    like = plan()
    cell = Cell(
        kind=like.kind, scenario=like.scenario, levels=like.levels, options=like.options,
        roles=like.roles, resources=like.resources, prelude=None,
    )  # fmt: skip
    planned = Plan((cell,), 3, seed, like.max_turns, like.max_session_s)
    return [session for round_ in planned.all_rounds() for session in round_.sessions]


async def test_no_repeat_is_ever_given_the_answer_of_another() -> None:
    runs = [await identities(session) for seed in (1, 2) for session in sessions(seed)]
    everything = list(itertools.chain(*runs))
    assert len(runs) == 6
    assert len(set(everything)) == len(everything), "of other rounds, turns, slots or run seeds"


async def test_the_same_session_of_another_run_is_given_every_answer() -> None:
    assert await identities(sessions(1)[2]) == await identities(sessions(1)[2])


async def test_variants_that_ask_the_same_in_the_same_round_share_the_answer() -> None:
    other = plan("s2", levels={"step": "same thing by another name"})
    assert await identities(plan("s1")) == await identities(other)


CALLS = {
    "seed": call(seed=2),
    "text": call(text="Count on from 6."),
    "role of a message": call(messages=(ChatMessage("system", "Count on from 5."),)),
    "parts": call(messages=(ChatMessage("user", "Count on"), ChatMessage("user", " from 5."))),
    "max_tokens": call(params=CallParams(17)),
    "temperature": call(params=CallParams(16, 0.0)),
    "schema": call(params=CallParams(16, None, "{}")),
}
ENTRIES = {
    "target": REAL._replace(target="openai/gpt-2"),
    "address": REAL._replace(api_base="http://localhost:1"),
    "provider": REAL._replace(provider="local"),
}


def test_whatever_an_answer_depends_on_makes_it_another_call() -> None:
    found = [call_identity(call(), REAL)]
    found += [call_identity(of, REAL) for of in CALLS.values()]
    found += [call_identity(call(), entry) for entry in ENTRIES.values()]
    assert len(set(found)) == len(found)


@given(st.integers(0, 9), st.text("abc", max_size=3), st.booleans())
def test_what_an_answer_does_not_depend_on_makes_no_difference(
    order: int, session: str, other_price: bool
) -> None:
    of = call(key(session or "s1"), order=order, cell={"a": session})
    entry = REAL._replace(group=session, api_key_env=session or None)
    if other_price:
        entry = entry._replace(tariff=TARIFF.from_usd_per_mtok(1, 2))
    assert call_identity(of, entry) == call_identity(call(), REAL)


# --- money ----------------------------------------------------------------------------------------


async def test_a_call_that_an_earlier_run_bought_costs_nothing_and_is_not_sent(
    tmp_path: Path,
) -> None:
    path = tmp_path / "answers.sqlite"
    first = await asked(path, well)
    [_, bought] = first.entries
    again = await asked(path, well)
    [supplied] = again.entries
    assert isinstance(supplied, Settled)
    assert again.attempts == 0
    assert (supplied.disposition, supplied.cost, supplied.held) == ("cached", 0, 0)
    assert supplied.saved == bought.cost > 0
    assert supplied.answer == bought.answer._replace(cost=0, cached=True)
    assert supplied.usage == bought.usage
    balance, counters, *_ = again.core.picture(0.0)
    assert balance == World(well).core.picture(0.0).balance, "as if nothing had been asked"
    assert (counters.answered, counters.from_cache, counters.saved) == (1, 1, bought.cost)


async def test_estimates_are_made_as_if_there_were_no_cache(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    bought = (await asked(path, well)).entries[1].cost
    with cache_at(path) as cache:
        run = world(well, cache)
        await run.host.ask(call())
        run.core.handle("host", EndSession(ended()), 0.0, 0.0)
        [(_, news)] = run.core.tick(0.0, 0.0).mail
    assert isinstance(news, SessionEnded)
    assert news.worth == news.ended.tally.cost + bought

    journal = JournalWriter(tmp_path / JOURNAL_NAME)
    journal.append([Opened(plan(), 0.0), *run.entries, ended()])
    journal.close()
    assert earlier_lives(tmp_path).done == {"s1": Past("completed", 50.0, bought, 50.0)}


@pytest.mark.parametrize(
    "reply",
    [
        ProviderReply("once upon", Usage(20, 16), 0.5, "length"),
        ProviderReply("once", Usage(20, 1), 0.5, "content_filter"),
        ProviderReply("six", None, 0.5),
        ProviderReply("six", Usage(-1, 1), 0.5),
        ProviderReply("six", Usage(0, 1), 0.5),
    ],
    ids=["cut off", "filtered", "no usage", "absurd usage", "no input"],
)
async def test_only_whole_answers_with_a_usage_are_kept(
    reply: ProviderReply, tmp_path: Path
) -> None:
    path = tmp_path / "answers.sqlite"
    await asked(path, lambda of, attempt: reply)
    assert (await asked(path, well)).attempts == 1


async def test_a_failure_is_not_kept(tmp_path: Path) -> None:
    def refuse(of: Call, attempt: int) -> ProviderReply:
        raise ContentRefused("no")

    path = tmp_path / "answers.sqlite"
    await asked(path, refuse)
    assert (await asked(path, well)).attempts == 1


async def test_simulated_answers_are_not_kept(tmp_path: Path) -> None:
    path, simulated = tmp_path / "answers.sqlite", REAL._replace(provider=SIMULATED)
    await asked(path, well, simulated)
    assert (await asked(path, well, simulated)).attempts == 1
    assert len((await asked(path, well)).entries) == 2, "nor is anything found for another"


# --- trouble --------------------------------------------------------------------------------------


async def test_a_cache_that_breaks_is_one_warning_and_the_run_goes_on(tmp_path: Path) -> None:
    path, log = tmp_path / "answers.sqlite", Warnings()
    await asked(path, well)
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE answers SET body = 'what?'")
        db.commit()
    with cache_at(path, log) as cache:
        run = world(well, cache)
        answers = [await run.host.ask(call()) for _ in range(3)]
    assert {answer.text for answer in answers} == {"six"}
    assert run.attempts == 1, "the governor has the answer from then on"
    [warning] = log.told
    assert warning["event"] == "cache.off"
    assert str(path) in warning["reason"]


async def test_a_cache_that_somebody_locks_is_one_warning_and_the_run_goes_on(
    tmp_path: Path,
) -> None:
    path, log = tmp_path / "answers.sqlite", Warnings()
    cache = CallCache(AnswerFile(path, gather_s=0, patience_s=0.01), log)
    run = world(well, cache)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert (await run.host.ask(call())).text == "six"
        await run.host.close()  # waits for the writer, which waits for the lock
    for slot in "123":
        assert (await run.host.ask(call(key(slot=slot)))).text == "six"
    assert [warning["event"] for warning in log.told] == ["cache.off"]


def test_a_file_that_cannot_be_opened_is_one_warning_and_no_cache(tmp_path: Path) -> None:
    log, path = Warnings(), tmp_path / "answers.sqlite"
    path.mkdir()
    assert open_cache(setup(tmp_path, answers=str(path)), log) is None
    assert [warning["event"] for warning in log.told] == ["cache.off"]
    assert open_cache(setup(tmp_path), log) is None, "off unless asked for, which is no trouble"
    assert len(log.told) == 1
