"""The driver: takes one prepared run from its folder to its end, over any executor.

It opens sessions as the launcher says, listens for their ends, and turns interrupts, the cap and
time limits into an orderly end that leaves a readable, resumable run.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import NoReturn

from matrix.engine.calls.caching import shared_answers
from matrix.engine.executors.executor import Executor, News
from matrix.engine.governor.refusals import (
    OVERRUN_WORD,
    capped_role,
    held_by_budget,
    raising,
    role_caps_reached,
    round_has_no_room,
)
from matrix.engine.prepare.keys import provider_closed
from matrix.engine.prepare.prepared import Prepared, estimates_of, role_caps_of
from matrix.engine.run.earlier import earlier_lives
from matrix.engine.run.first_round import FirstRound
from matrix.engine.run.interim_looks import Unplayed
from matrix.engine.run.interrupts import interrupts
from matrix.engine.run.launcher import LaunchAll, Launcher
from matrix.engine.run.looking import Looking, looks_of
from matrix.engine.run.progress import (
    EndReason,
    Listener,
    Progress,
    RunEnd,
    RunStatus,
    waited_for,
)
from matrix.engine.run.run_events import RunTelling
from matrix.engine.run.scoreboard import Scoreboard
from matrix.engine.run.setting_up import setup_of
from matrix.engine.run.speed import Speed, time_left
from matrix.engine.run.stalls import PATIENCE_S, stalls
from matrix.engine.wire.defects import defect_of
from matrix.engine.wire.messages import (
    NodeNews,
    Picture,
    ProcessDied,
    ProcessReplaced,
    ProviderClosed,
    RunFailed,
    SessionEnded,
    SessionSuspended,
)
from matrix.engine.wire.setup import RunSetup
from matrix.kinds.protocol import OwnsTerminal
from matrix.model.errors import CutShort, Interrupted, MatrixError, RunLocked, StoreError
from matrix.model.spec.budgets import Bound
from matrix.store.run.run_folder import resume_command, stopped_at_once, why_unfinished

TICK_S = 0.25
"""How often a picture is taken for the display and for launching."""


TELL_WAIT_S = 1.0
"""How long a run may take to stop before it says what it waits for."""


class RunBroken(MatrixError):
    """The run cannot go on; what was acknowledged is in its journal."""

    exit_code = 4


class Driver:
    """Drives one run."""

    def __init__(
        self,
        prepared: Prepared,
        run_id: str,
        run_dir: Path,
        executor: Executor,
        listener: Listener,
        *,
        bound: Bound | None = None,
        session_ended: Callable[[str], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._prepared, self._executor, self._listener = prepared, executor, listener
        self._run_id, self._run_dir, self._clock = run_id, run_dir, clock
        self._bound, self._session_ended = bound, session_ended
        self._telling = RunTelling(run_id, run_dir, now_ns)
        self._earlier = earlier_lives(
            run_dir, prepared.spec.compare.metric, prepared.spec.compare.turn_limit
        )
        self._looking = self._look_at(prepared, now_ns)
        self._launcher = Launcher(
            plan=prepared.plan,
            at_cap=prepared.spec.at_cap,
            limit=prepared.spec.limits.open_sessions,
            upper=estimates_of(prepared),
            prelude_upper=prepared.prelude.total.high,
            done=self._earlier.done,
            begun=self._earlier.begun,
            launch_filter=self._looking.looks if self._looking else LaunchAll(),
            session_cap=setup_of(prepared, run_id, run_dir).session_cap_nano,
            role_caps=role_caps_of(prepared),
            guessed=prepared.unforeseen
            or any(agent.asks_models for agent in prepared.agents.values()),
        )
        self._scores = Scoreboard(prepared)
        self._first_round = FirstRound(prepared.plan)
        self._left_open = False
        self._drained_at = inf
        self._opened = self._ended_before = 0
        self._draining: EndReason | None = None
        self._overrun = False
        self._began = self._playing_since = clock()
        self._speed = Speed(clock)
        self._told_at = -inf
        self._broken: RunFailed | None = None
        self._closed: ProviderClosed | None = None
        self._died: dict[str, ProcessDied] = {}
        self._nodes_lost = 0
        self._used_up: dict[str, None] = {}  # roles whose cap has cut sessions short
        self._count_earlier_life()

    async def run(self) -> RunEnd:
        """Run to the end; always leaves the run readable unless the journal itself failed.

        Raises:
            RunBroken: The governor or the tables could not go on; the run can be resumed.
            CutShort: What it runs on has died; the run can be resumed.
        """
        self._listener.starting(self._prepared, self._run_id, self._run_dir)
        setup = self._setup()
        if problem := self._telling.begin(setup, self._prepared.plan.sessions):
            self._listener.note(problem)
        with self._interrupts(), stalls(self._stalled):
            at_once = True
            try:
                await self._start(setup)
                self._playing_since = self._clock()
                await self._loop()
                if self._broken is not None:
                    raise RunBroken(self._broken.message)
                picture = await self._executor.picture()
                end = self._end(picture)
                if end.reason == "cap" and self._looking is not None:
                    end = replace(end, look=await self._looking.look_at_cap())
                await self._executor.finish(self._prepared.plan, why_unfinished(end.reason))
                await self._take_the_rest()
                before = self._telling.earlier
                end = replace(
                    end,
                    processes_lost=before.processes + len(self._died),
                    nodes_lost=before.nodes + self._nodes_lost,
                )
                at_once = False
                self._telling.ended(end)
                return end
            except BaseException as error:
                self._telling.broke(error)
                if isinstance(error, CutShort) and self._draining == "interrupted":
                    raise Interrupted(str(error)) from error
                if isinstance(error, StoreError) and not isinstance(error, RunLocked):
                    raise RunBroken(str(error)) from error  # a full disk, as a rule
                raise
            finally:
                await self._executor.stop(at_once=at_once)
                await self._telling.close()

    # --- the loop ---------------------------------------------------------------------------------

    async def _start(self, setup: RunSetup) -> None:
        """Bring the executor up; what it waits for is told meanwhile."""
        starting = asyncio.ensure_future(self._executor.start(setup))
        news = asyncio.ensure_future(self._executor.news())
        try:
            while not starting.done():
                await asyncio.wait([starting, news], return_when=asyncio.FIRST_COMPLETED)
                if news.done():
                    self._take(news.result())
                    news = asyncio.ensure_future(self._executor.news())
            await starting
        finally:
            for task in (starting, news):
                task.cancel()
            await asyncio.gather(starting, news, return_exceptions=True)

    async def _loop(self) -> None:
        news = asyncio.ensure_future(self._executor.news())
        try:
            picture = await self._executor.picture()
            self._speed.per_second(picture.counters.answered)  # rates begin here
            if self._looking is not None:
                await self._looking.look()
            await self._check_defect()  # of an earlier life: nothing was mended since
            await self._launch(picture)
            while not self._launcher.finished and self._broken is None:
                await asyncio.wait([news], timeout=TICK_S)
                if news.done():
                    self._take(news.result())
                    news = asyncio.ensure_future(self._executor.news())
                if self._closed is not None:
                    await self._drain("provider" if self._closed.silent else "account")
                await self._check_defect()
                if self._looking is not None and self._draining is None:
                    await self._looking.look()
                picture = await self._executor.picture()
                await self._launch(picture)
                self._tell_progress(picture)
                self._tell_who_is_waited_for(picture)
                await self._check_time()
        finally:
            await self._take_at_once(news)

    async def _take_the_rest(self) -> None:
        """Processes may have died and been replaced while the run came to its end."""
        await self._take_at_once(asyncio.ensure_future(self._executor.news()))

    async def _take_at_once(self, news: asyncio.Future[list[News]]) -> None:
        """Take what is there by now, and wait for nothing."""
        await asyncio.sleep(0)
        news.cancel()
        with suppress(asyncio.CancelledError):
            self._take(await news)

    async def _launch(self, picture: Picture) -> None:
        while True:
            plans = self._launcher.take(picture)
            if plans:
                self._opened += sum(plan.part == "play" for plan in plans)
                self._executor.open(plans)
            if not self._launcher.wants_round():
                return
            if not self._launcher.next_round(picture):
                if self._launcher.no_room is not None:
                    self._listener.note(round_has_no_room(self._launcher.no_room, self._bound))
                return

    def _take(self, news: Sequence[News]) -> None:
        for item in news:
            match item:
                case SessionEnded():
                    self._telling.session(item)
                    self._launcher.ended(item.plan, item.ended, item.worth)
                    self._overrun = self._overrun or item.ended.error_class == OVERRUN_WORD
                    if item.plan.part == "play":
                        self._count(item)
                        if self._session_ended is not None:
                            self._session_ended(item.plan.session_id)
                        if self._looking is not None:
                            self._looking.take(item)
                case SessionSuspended():
                    self._launcher.suspended(item.plan)
                case ProviderClosed():
                    self._closed = item
                case ProcessDied():
                    self._died[item.process] = item
                    self._telling.died(item)
                case ProcessReplaced():
                    self._telling.replaced(item.process)
                    died = self._died.get(item.process)
                    if not item.told and died is not None:
                        self._listener.remark(f"{died.text}; another one took its place")
                case NodeNews():
                    self._nodes_lost += item.event == "node.lost"
                    self._telling.node(item)
                    self._listener.remark(item.text)
                case RunFailed():
                    self._broken = item

    def _count(self, item: SessionEnded) -> None:
        ended = item.ended
        self._first_round.ended(item.plan, defect_of(ended))
        self._scores.note_failure(ended)
        if (told := self._scores.note_metric(ended)) is not None:
            self._listener.remark(told)
        if ended.outcome == "censored" and (role := capped_role(ended.error_class)):
            self._used_up[role] = None
            self._launcher.stop()  # nobody who is started now could come to an end
        word = self._scores.count(item.plan, ended.outcome, ended.score, item.worth)
        if word is not None:
            self._listener.remark(word)

    async def _check_time(self) -> None:
        limit = self._prepared.spec.limits.run_minutes
        if limit is not None and self._clock() - self._playing_since > limit * 60:
            await self._drain("time limit")

    async def _check_defect(self) -> None:
        if self._draining is not None or self._launcher.all_opened:
            return  # nothing more is bought
        if self._first_round.defect is not None:
            self._left_open = self._launcher.open_count > 0
            await self._drain("defect")

    async def _drain(self, reason: EndReason) -> None:
        if self._draining is None:
            self._draining = reason
            self._launcher.stop()
            self._telling.draining(reason)
            kind = self._prepared.kind
            asks = isinstance(kind, OwnsTerminal) and kind.asked_to_end()
            told = "its command is asked to end; " if asks else ""
            told += "nothing new is started; what is paid for is kept"
            self._listener.note(f"stopping ({reason}): {told}, and the run can be resumed")
            self._drained_at = self._clock()
            if told := self._detail(reason):
                self._listener.note(told)
            await self._executor.drain()

    def _stalled(self, where: str) -> None:
        self._listener.note(
            f"nothing has moved for {PATIENCE_S:.0f} s: {where} lets nothing else run in this "
            "process; what waits or takes long there has to be awaited"
        )

    # --- from the outside -------------------------------------------------------------------------

    @contextmanager
    def _interrupts(self) -> Iterator[None]:
        """The first Ctrl-C (or SIGTERM, or SIGHUP) drains, the second stops at once.

        Where code of the kind lets nothing else run here, nothing is drained or stopped: the
        process ends with the second as if it were killed, and what is acknowledged is on the disk.
        """
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None
        pending: list[asyncio.Task[None]] = []
        kind = self._prepared.kind
        program = kind if isinstance(kind, OwnsTerminal) else None

        def drain() -> None:
            pending.append(loop.create_task(self._drain("interrupted")))
            pending[-1].add_done_callback(_met_elsewhere)

        def interrupted() -> None:
            if self._draining is None:
                drain()
            else:
                task.cancel()

        if program is not None:
            program.run_begins(drain)
        with interrupts(
            interrupted,
            unheard=lambda: self._listener.note(
                "asked to end, and code of the kind lets nothing else run in this process: it is "
                "waited for; asked once more, the process ends at once"
            ),
            end_now=self._end_now,
            on_terminal=None if program is None else program.interrupted,
        ):
            yield

    def _end_now(self) -> NoReturn:
        """End this process whatever it is doing; nobody can take anything down in order."""
        try:
            self._listener.last_word(f"error: {stopped_at_once(self._run_dir)}")
        finally:
            os._exit(Interrupted.exit_code)

    def _setup(self) -> RunSetup:
        answers = shared_answers(self._prepared, self._run_dir, self._listener.note)
        return replace(
            setup_of(self._prepared, self._run_id, self._run_dir),
            answers=answers,
            trace_id=self._telling.trace_id,
        )

    def _look_at(self, prepared: Prepared, now_ns: Callable[[], int]) -> Looking | None:
        looks = looks_of(prepared, self._earlier)
        if looks is None:
            return None
        compare, executor = prepared.spec.compare, self._executor
        return Looking(
            looks,
            compare.metric,
            compare.turn_limit,
            executor.record,
            self._listener.remark,
            lambda: now_ns() / 1e9,
        )

    # --- counting ---------------------------------------------------------------------------------

    def _count_earlier_life(self) -> None:
        done = self._earlier.done
        if not done:
            return
        for planned in self._prepared.plan.all_rounds():
            for plan in planned.sessions:
                if (past := done.get(plan.session_id)) is not None:
                    self._opened += 1
                    self._scores.count(plan, past.outcome, past.score, past.cost)
                    self._first_round.ended(plan, past.defect)
                    self._launcher.observe(plan, past)
                    if self._looking is not None:
                        self._looking.remember(plan, past)
        self._ended_before = self._scores.ended

    def _tell_progress(self, picture: Picture) -> None:
        """Tell the listener, not more often than anybody can see; the last picture for sure."""
        now = self._clock()
        if self._launcher.finished or now - self._told_at >= TICK_S:
            self._told_at = now
            self._listener.progress(self._progress(picture))

    def _tell_who_is_waited_for(self, picture: Picture) -> None:
        """Say once what a run that stops still waits for, unless it ends right away."""
        if isinstance(self._prepared.kind, OwnsTerminal):
            return  # for its command, which was asked to end
        if self._clock() - self._drained_at >= TELL_WAIT_S and (told := waited_for(picture)):
            self._drained_at = inf
            self._listener.note(f"waiting for {told}")

    def _progress(self, picture: Picture) -> Progress:
        now = self._clock()
        ended = self._scores.ended
        unplayed = Unplayed({}) if self._looking is None else self._looking.looks.unplayed()
        left = self._prepared.plan.sessions - ended - unplayed.sessions
        return Progress(
            elapsed_s=now - self._began,
            planned=self._prepared.plan.sessions,
            opened=self._opened,
            open=self._launcher.open_count,
            outcomes=dict(self._scores.outcomes),
            picture=picture,
            calls_per_s=self._speed.per_second(picture.counters.answered),
            variants=self._scores.variants(unplayed.by_cell),
            eta_s=time_left(now - self._playing_since, ended - self._ended_before, left),
            draining=self._draining is not None,
            unplayed=unplayed.sessions,
            looks=self._looking is not None and not self._looking.looks.only_at_cap,
            looked=0 if self._looking is None else self._looking.looks.looked,
            failed=self._scores.failed,
        )

    def _detail(self, reason: EndReason) -> str:
        """What has to be done before the run can go on, where its reason alone does not say it."""
        if reason in ("account", "provider") and self._closed is not None:
            return provider_closed(self._closed, self._prepared, self._run_dir)
        if reason == "defect" and (defect := self._first_round.defect) is not None:
            return self._first_round.told(defect, resume_command(self._run_dir, self._redoing))
        if reason != "cap":
            return ""
        if self._used_up:
            return role_caps_reached(tuple(self._used_up), self._prepared.spec.limits)
        if self._launcher.no_room is not None:
            return round_has_no_room(self._launcher.no_room, self._bound)
        return "" if self._bound is None else held_by_budget(self._bound)

    @property
    def _redoing(self) -> str:
        """Options that play what a defect ended again, and with the code of then what it did not.

        A session that it left in the middle of a turn would be given answers of other requests.
        """
        return " --redo-errored" + " --redo-turn" * self._left_open

    def _resume_with(self, reason: EndReason, picture: Picture) -> str:
        """Options without which the run, resumed, would come no further."""
        if reason == "defect":
            return self._redoing
        if reason == "overrun" and not picture.balance.free:
            return raising([], self._bound)
        if reason != "cap":
            return ""
        found = self._launcher.no_room
        roles = self._used_up or ([found.role] if found is not None and found.role else [])
        return raising(roles, self._bound)

    def _end(self, picture: Picture) -> RunEnd:
        progress = self._progress(picture)
        censored = progress.outcomes["censored"]
        reason: EndReason = self._draining or (
            "cap" if self._launcher.cap_reached or censored else "done"
        )
        if reason == "cap" and self._overrun:  # there is money left, and it may be spent next time
            reason = "overrun"
        looks = self._looking.looks if self._looking is not None else None
        unplayed = looks.unplayed() if looks is not None else Unplayed({})
        if progress.ended - censored + unplayed.sessions == self._prepared.plan.sessions:
            reason = "decided" if looks is not None and looks.over else "done"
        status: RunStatus = "complete" if reason in ("done", "decided") else "incomplete"
        return RunEnd(
            self._run_id,
            self._run_dir,
            status,
            reason,
            self._detail(reason),
            self._resume_with(reason, picture),
            progress,
            self._scores.projection,
            looks.newest if looks is not None else None,
            unplayed.sessions,
            self._launcher.expected_cost(unplayed.by_cell),
        )


def _met_elsewhere(draining: asyncio.Task[None]) -> None:
    """What keeps a run from draining is met by the run itself, which asks the same governor."""
    if not draining.cancelled():
        draining.exception()
