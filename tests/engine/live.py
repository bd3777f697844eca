"""Governor, worker and provider in this process over a real journal; what a run is made of."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from matrix.engine.calls.provider_host import ProviderHost
from matrix.engine.governor.core import DRIVER
from matrix.engine.governor.governor import Governor
from matrix.engine.governor.history import SessionHistory, fold_session
from matrix.engine.prepare.registry import load_kind
from matrix.engine.session.worker import SessionWorker
from matrix.engine.wire.link import Link, Mail, Transport
from matrix.engine.wire.messages import RunFailed, SessionEnded, SessionSuspended
from matrix.engine.wire.setup import RunSetup
from matrix.kinds.protocol import Kind
from matrix.model.entries import Entry
from matrix.model.records import Call, SessionPlan
from matrix.providers.scripted import Handler, ScriptedProvider
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader
from tests.engine.waiting import settled, until


def count(call: Call, attempt: int) -> str:
    """The next number, as the counter asks for it."""
    return str(int(call.messages[-1].content.rstrip(".").rpartition(" ")[2]) + 1)


class CountingTransport:
    """Passes on; knows how many posts and polls were under way at once."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.posts = self.polls = self.most_posts = self.most_polls = 0

    async def post(self, peer: str, number: int, batch: Sequence[Any]) -> None:
        self.posts += 1
        self.most_posts = max(self.most_posts, self.posts)
        try:
            await self._inner.post(peer, number, batch)
        finally:
            self.posts -= 1

    async def poll(self, peer: str, after: int) -> Mail:
        self.polls += 1
        self.most_polls = max(self.most_polls, self.polls)
        try:
            return await self._inner.poll(peer, after)
        finally:
            self.polls -= 1


class Live:
    """One life of a run, as an async context; leaving it is an orderly end."""

    def __init__(
        self,
        setup: RunSetup,
        handler: Handler = count,
        *,
        kinds: Mapping[str, Kind] | None = None,
        clocks: tuple[Callable[[], float], Callable[[], float]] = (time.monotonic, time.time),
    ) -> None:
        clock, utc = clocks
        self.governor = Governor(setup, clock=clock, utc=utc)
        self.line = CountingTransport(self.governor)
        self.worker = SessionWorker(
            "worker-0", setup, kinds or {"counter": load_kind("counter")}, self.line
        )
        self.provider = ScriptedProvider(handler)
        self.host = ProviderHost(
            {"sim": self.provider},
            setup.models,
            self.worker.send,
            attempts=setup.attempts,
            sleep=_no_wait,
        )
        self.ended: list[SessionEnded] = []
        self.suspended: list[SessionSuspended] = []
        self.failures: list[RunFailed] = []
        self._link = Link(DRIVER, self.governor, self._on_news)

    async def __aenter__(self) -> Live:
        self.governor.start()
        self.worker.start(host=self.host, routes={"sim": self.host})
        self._link.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.worker.stop()
        await self._link.stop()
        await self.governor.stop()

    async def play(self, *plans: SessionPlan) -> None:
        """Open sessions and wait until each has ended or was let go, or the run has failed."""
        before = self._back
        self.worker.open(plans)
        await until(lambda: self._back - before >= len(plans) or bool(self.failures))

    @property
    def _back(self) -> int:
        return len(self.ended) + len(self.suspended)

    def _on_news(self, news: SessionEnded | SessionSuspended | RunFailed) -> None:
        match news:
            case SessionEnded():
                self.ended.append(news)
            case SessionSuspended():
                self.suspended.append(news)
            case RunFailed():
                self.failures.append(news)


async def _no_wait(seconds: float) -> None:
    await settled(1)


def journal_entries(run_dir: Path, where: Callable[[Entry], bool] = lambda e: True) -> list[Entry]:
    """The journal as a second connection sees it now."""
    reader = JournalReader(run_dir / JOURNAL_NAME)
    try:
        return [row.entry for row in reader.rows(0, reader.last_seq()) if where(row.entry)]
    finally:
        reader.close()


def history(run_dir: Path, session_id: str) -> SessionHistory:
    reader = JournalReader(run_dir / JOURNAL_NAME)
    try:
        return fold_session(reader.session(session_id))
    finally:
        reader.close()
