"""The governor over a real journal: what is on the disk before anybody acts on it."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import NamedTuple

import pytest

from matrix.engine.governor.core import DRIVER
from matrix.engine.governor.governor import Governor
from matrix.engine.wire.messages import (
    Acquire,
    Granted,
    OpenSession,
    RunFailed,
    SaveTurn,
    ToGovernor,
)
from matrix.engine.wire.setup import GroupLimits
from matrix.model.entries import Ended, Entry, Held, Opened, Settled, Tally, TurnDone
from matrix.model.errors import ProviderUnavailable, RunLocked
from matrix.model.records import Call, CallKey, SessionPlan, Usage
from matrix.providers.base import ProviderReply
from matrix.store.journal.journal import JOURNAL_NAME, JournalWriter
from tests.engine.live import Live, count, history, journal_entries
from tests.engine.mixed_kind import MixedKind
from tests.engine.plans import GROUP, MODEL, ask, call, key, plan, settle, setup
from tests.engine.waiting import settled, until
from tests.waiting import LONGEST_WAIT_S


async def test_a_hold_is_on_the_disk_before_its_attempt_is_sent(run_dir: Path) -> None:
    seen: list[bool] = []

    def look(of: Call, attempt: int) -> str:
        held = journal_entries(run_dir, lambda e: isinstance(e, Held))
        seen.append(any((e.key, e.attempt) == (of.key, attempt) for e in held))  # type: ignore[union-attr]
        if attempt == 1:
            raise ProviderUnavailable("503")
        return count(of, attempt)

    async with Live(setup(run_dir), look) as live:
        await live.play(plan())
    assert seen == [True] * 12


async def test_an_answer_is_on_the_disk_before_its_session_goes_on(run_dir: Path) -> None:
    missing: list[CallKey] = []

    def look(of: Call, attempt: int) -> str:
        answered = {
            e.key
            for e in journal_entries(run_dir)
            if isinstance(e, Settled) and e.answer is not None
        }
        before = {c.key for c, _ in live.provider.asked if c.key.turn < of.key.turn}
        missing.extend(before - answered)
        return count(of, attempt)

    async with Live(setup(run_dir), look) as live:
        await live.play(plan())
    assert len(live.provider.asked) == 6
    assert missing == []


async def test_the_driver_hears_of_an_end_that_is_on_the_disk(run_dir: Path) -> None:
    async with Live(setup(run_dir)) as live:
        await live.play(*(plan(f"s{n}", order=n) for n in range(20)))
        ends = [e for e in journal_entries(run_dir) if isinstance(e, Ended)]
        assert [news.ended for news in live.ended] == ends
    assert [news.ended.outcome for news in live.ended] == ["completed"] * 20


@pytest.mark.slow
async def test_a_flood_of_calls_parks_one_poll_and_no_call(run_dir: Path) -> None:
    door, calls, limit = asyncio.Event(), 79 * 64, 5
    most = now = 0

    async def gated(of: Call, attempt: int) -> str:
        nonlocal most, now
        now += 1
        most = max(most, now)
        await door.wait()
        await settled(3)
        now -= 1
        return count(of, attempt)

    flood = setup(run_dir, groups={GROUP: GroupLimits(concurrency=limit)})
    async with Live(flood, gated) as live:
        options = {"step": 1, "turns": 1, "width": 64}
        plans = [plan(f"s{n}", order=n, options=options) for n in range(79)]
        playing = asyncio.ensure_future(live.play(*plans))
        await until(lambda: live.governor.picture().counters.waiting == calls - limit)
        assert live.line.posts == 0, "no post waits for money or a place"
        assert live.line.polls == 1
        door.set()
        await playing
        counters = live.governor.picture().counters
    assert (counters.answered, counters.waiting, counters.in_flight) == (calls, 0, 0)
    assert most == limit
    assert (live.line.most_posts, live.line.most_polls) == (1, 1)
    assert [news.ended.outcome for news in live.ended] == ["completed"] * 79


# --- crashes --------------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """What a session's history must come to, however it was interrupted."""

    log: tuple[object, ...]
    checkpoints: list[tuple[object, ...]]
    ended: tuple[object, ...]


def outcome(run_dir: Path, session_id: str) -> Outcome:
    entries = journal_entries(run_dir, lambda e: not isinstance(e, Opened | Held | Settled))
    turns = [e for e in entries if isinstance(e, TurnDone) and e.session_id == session_id]
    (end,) = (e for e in entries if isinstance(e, Ended) and e.session_id == session_id)
    return Outcome(
        history(run_dir, session_id).snapshot.log,
        [(t.phase, t.turn, t.state, t.events, t.scores, t.tally, t.ended) for t in turns],
        (end.outcome, end.turns, end.score, end.tally),
    )


def write_journal(run_dir: Path, entries: list[Entry]) -> None:
    run_dir.mkdir()
    journal = JournalWriter(run_dir / JOURNAL_NAME)
    journal.append(entries)
    journal.close()


@pytest.mark.slow
async def test_from_any_prefix_of_its_journal_a_run_comes_to_the_same_end(
    run_dir: Path, tmp_path: Path
) -> None:
    kinds = {"mixed": MixedKind()}
    mixed = plan(kind="mixed", options={"turns": 1}, roles={"speaker": MODEL})

    def speak(of: Call, attempt: int) -> ProviderReply:
        return ProviderReply(f"word {of.seed % 1000}", Usage(7, 3), of.seed % 97 / 31)

    async with Live(setup(run_dir), speak, kinds=kinds) as live:
        await live.play(mixed)
    whole = journal_entries(run_dir)
    expected = outcome(run_dir, "s1")
    for length in range(len(whole)):  # the last entry is the end; with it nothing is left to do
        cut = tmp_path / f"cut-{length}"
        write_journal(cut, whole[:length])
        async with Live(setup(cut), speak, kinds=kinds) as live:
            await live.play(mixed)
            balance = live.governor.picture().balance
        assert outcome(cut, "s1") == expected, f"cut after {length} entries"
        entries = journal_entries(cut)
        answered = [e.key for e in entries if isinstance(e, Settled) and e.answer is not None]
        assert len(answered) == len(set(answered)) == 7
        assert balance.held == 0
        assert balance.spent == sum(e.cost for e in entries if isinstance(e, Settled))


async def test_what_was_in_flight_at_a_crash_is_presumed_once(run_dir: Path) -> None:
    lost = Held(9, key(), 2, "counter", MODEL, 500, "worker-0", 1.0)
    write_journal(run_dir.parent / "crashed", [Opened(plan(), 0.0), lost])
    crashed = setup(run_dir.parent / "crashed")
    for _ in range(3):
        governor = Governor(crashed, utc=lambda: 5.0)
        assert governor.picture().balance.presumed == 500
        assert governor.picture().balance.held == 0
        assert governor.picture().spent_by_role == {"counter": 500}
        await governor.stop()
    (entry,) = (e for e in journal_entries(Path(crashed.run_dir)) if isinstance(e, Settled))
    assert (entry.hold_id, entry.disposition, entry.cost, entry.at) == (9, "presumed", 500, 5.0)
    async with Live(crashed) as live:
        await live.play(plan())
    holds = [e for e in journal_entries(Path(crashed.run_dir)) if isinstance(e, Held)]
    assert [e.attempt for e in holds if e.key == key()] == [2], "that slot is not one it asks"
    assert min(e.hold_id for e in holds[1:]) == 10, "hold ids are never used again"


async def test_attempts_of_a_call_count_on_after_a_crash(run_dir: Path) -> None:
    first = key(slot="0.0.0")
    write_journal(
        run_dir.parent / "crashed",
        [Opened(plan(), 0.0), Held(1, first, 1, "counter", MODEL, 500, "worker-0", 1.0)],
    )
    async with Live(setup(run_dir.parent / "crashed")) as live:
        await live.play(plan())
    attempts = [attempt for c, attempt in live.provider.asked if c.key == first]
    assert attempts == [2]


async def test_after_an_overrun_only_a_later_life_goes_on_and_holds_more(run_dir: Path) -> None:
    def greedy(of: Call, attempt: int) -> ProviderReply:
        return ProviderReply("6", Usage(50_000, 50_000), 0.0)

    async with Live(setup(run_dir), greedy) as live:
        await live.play(plan())
        before = live.governor.picture().balance
    assert before.overrun > 0
    assert [news.ended.outcome for news in live.ended] == ["censored"]
    assert "overrun" in live.ended[0].ended.reason
    async with Live(setup(run_dir)) as live:
        assert live.governor.picture().balance == before
        await live.play(plan())
        after = live.governor.picture().balance
    assert [news.ended.outcome for news in live.ended] == ["completed"]
    assert after.overrun == before.overrun
    assert after.spent + after.overrun <= after.cap


async def test_totals_are_those_of_the_whole_run_whichever_life_it_is_in(run_dir: Path) -> None:
    async with Live(setup(run_dir)) as live:
        await live.play(plan("s1"))
        first = live.governor.picture()
    async with Live(setup(run_dir)) as live:
        again = live.governor.picture()
        assert again.balance == first.balance
        assert again.spent_by_role == first.spent_by_role
        assert again.counters.answered == first.counters.answered == 6
        assert again.counters.tokens_in == first.counters.tokens_in
        assert again.counters.tokens_out == first.counters.tokens_out


async def test_a_run_has_one_governor(run_dir: Path) -> None:
    governor = Governor(setup(run_dir))
    with pytest.raises(RunLocked, match="still running"):
        Governor(setup(run_dir))
    await governor.stop()
    await Governor(setup(run_dir)).stop()


# --- ends -----------------------------------------------------------------------------------------


async def test_draining_lets_sessions_go_and_a_later_life_ends_them_the_same(
    run_dir: Path, tmp_path: Path
) -> None:
    plans = [plan(f"s{n}", order=n) for n in range(6)]

    def then_drain(of: Call, attempt: int) -> str:
        if len(live.provider.asked) == 17:
            live.governor.drain()
        return count(of, attempt)

    async with Live(setup(run_dir), then_drain) as live:
        await live.play(*plans)
    assert live.suspended
    assert len(live.ended) + len(live.suspended) == 6
    assert live.governor.picture().balance.held == 0
    first, rest = live.provider.asked, [news.plan for news in live.suspended]
    async with Live(setup(run_dir)) as live:
        await live.play(*rest)
    calls = [c.key for c, _ in [*first, *live.provider.asked]]
    assert len(calls) == len(set(calls)) == 36, "nothing is paid twice"
    undisturbed = tmp_path / "undisturbed"
    undisturbed.mkdir()
    async with Live(setup(undisturbed)) as live:
        await live.play(*plans)
    for one in plans:
        assert outcome(run_dir, one.session_id) == outcome(undisturbed, one.session_id)


async def test_stop_finishes_what_was_received(run_dir: Path) -> None:
    governor = Governor(setup(run_dir))
    governor.start()
    turn = TurnDone("s1", "turn", 1, b"{}", (), (), (), (), Tally(), None, (1, 1), 0.0)
    await governor.post("worker-0", 1, [OpenSession(plan()), SaveTurn(turn)])
    await governor.stop()
    kinds = [type(entry) for entry in journal_entries(run_dir)]
    assert kinds == [Opened, TurnDone]


async def test_a_governor_that_lost_its_journal_tells_the_driver_and_grants_nothing(
    run_dir: Path,
) -> None:
    governor = Governor(setup(run_dir))
    governor.start()
    with sqlite3.connect(run_dir / JOURNAL_NAME) as other:
        other.execute("UPDATE meta SET value = '99' WHERE key = 'epoch'")
    other.close()
    await governor.post("worker-0", 1, [OpenSession(plan()), ask()])
    mail = await asyncio.wait_for(governor.poll(DRIVER, 0), LONGEST_WAIT_S)
    (failed,) = mail.messages
    assert isinstance(failed, RunFailed)
    assert failed.error_class == "FencedOff"
    assert "taken over" in failed.message
    told = asyncio.ensure_future(governor.poll("worker-0", 0))
    await settled()
    assert not told.done()
    await governor.stop()
    assert not (await told).messages
    assert journal_entries(run_dir) == []


async def test_a_batch_that_comes_twice_is_taken_once(run_dir: Path) -> None:
    governor = Governor(setup(run_dir))
    governor.start()
    batch: list[ToGovernor] = [OpenSession(plan()), ask()]
    for _ in range(3):
        await governor.post("worker-0", 1, batch)
    first = await asyncio.wait_for(governor.poll("worker-0", 0), LONGEST_WAIT_S)
    assert Granted(key(), 1, 1) in first.messages
    await governor.post("worker-0", 2, [settle(key(), 1)])
    await governor.post("worker-0", 2, [settle(key(), 1)])
    await asyncio.wait_for(governor.poll("worker-0", first.last), LONGEST_WAIT_S)
    await governor.stop()
    kinds = [type(entry) for entry in journal_entries(run_dir)]
    assert kinds == [Opened, Held, Settled]


async def test_two_workers_that_ask_for_one_call_pay_for_it_once(run_dir: Path) -> None:
    governor = Governor(setup(run_dir))
    governor.start()
    request: Acquire = ask()
    await governor.post("a", 1, [OpenSession(plan()), request])
    await governor.post("b", 1, [request])
    first = await asyncio.wait_for(governor.poll("a", 0), LONGEST_WAIT_S)
    await governor.post("a", 2, [settle(key(), 1)])
    told = [
        await asyncio.wait_for(governor.poll("a", first.last), LONGEST_WAIT_S),
        await asyncio.wait_for(governor.poll("b", 0), LONGEST_WAIT_S),
    ]
    assert told[0].messages == told[1].messages
    await governor.stop()
    assert sum(isinstance(entry, Held) for entry in journal_entries(run_dir)) == 1


async def test_a_preludes_result_is_shared_also_after_a_crash(run_dir: Path) -> None:
    names: list[str] = []

    def speak(of: Call, attempt: int) -> str:
        return f"word {of.seed % 1000}"

    def sharing(session_id: str, **changes: str) -> SessionPlan:
        return plan(session_id, kind="mixed", options={"turns": 1}, roles={"speaker": MODEL},
                    **changes)  # fmt: skip

    kinds = {"mixed": MixedKind()}
    async with Live(setup(run_dir), speak, kinds=kinds) as live:
        await live.play(sharing("p1", part="prelude"))
        names = live.ended[0].ended.result
        await live.play(sharing("s1", prelude_id="p1"))
    async with Live(setup(run_dir), speak, kinds=kinds) as live:
        await live.play(sharing("s2", prelude_id="p1"))
        await live.play(sharing("s3"))
    players = [
        [p.name for e in journal_entries(run_dir) if isinstance(e, TurnDone)
         and e.session_id == session for p in e.players]
        for session in ("s1", "s2", "s3")
    ]  # fmt: skip
    assert players == [names, names, ["Ada"]]
    assert len(names) == 2


async def test_what_a_session_asks_for_is_the_call_that_the_journal_has(run_dir: Path) -> None:
    async with Live(setup(run_dir)) as live:
        await live.play(plan())
    asked = {c.key: c.digest for c, _ in live.provider.asked}
    settled_ = {e.key: e.digest for e in journal_entries(run_dir) if isinstance(e, Settled)}
    assert asked == settled_
    assert call(key()).digest not in asked.values()
