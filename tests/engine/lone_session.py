"""One durable session without a governor: its journal is a list, its models are a function.

``Journal.play`` plays a session and kills it after a number of fresh answers, as a crash of its
process would: what was journalled stays, everything else is gone.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from matrix.engine.governor.history import SessionHistory, fold_session
from matrix.engine.session.durable_session import DurableSession
from matrix.engine.session.workspace import Workspaces
from matrix.kinds.protocol import Kind
from matrix.model.entries import Acted, Ended, Entry, Opened, Settled, TurnDone
from matrix.model.records import JSON, Answer, Call, CallKey, SessionPlan, Usage
from matrix.model.request_digest import check_same_request
from matrix.model.seeds import stream
from tests.engine.plans import RESOURCES

Model = Callable[[Call], Answer]


def speak(call: Call) -> Answer:
    """A word and a duration that depend on the call's seed and messages only."""
    rng = stream(call.seed, call.messages[-1].content)
    text = str(rng.randrange(1000))
    usage = Usage(len(call.messages[-1].content), len(text))
    return Answer(text, usage, usage.input * 10 + usage.output * 40, rng.random(), call.model)


class Killed(BaseException):
    """The process died. Not an ``Exception``: nothing in a session may survive it."""


@dataclass
class Journal:
    """Entries of one session, and the answers that its models give."""

    kind: Kind
    plan: SessionPlan
    model: Model = speak
    prelude: JSON = None
    entries: list[Entry] = field(default_factory=list)
    asked: list[Call] = field(default_factory=list)
    paid: list[CallKey] = field(default_factory=list)
    restless: random.Random = field(default_factory=lambda: random.Random(1))
    workspaces: Workspaces | None = None

    @property
    def history(self) -> SessionHistory:
        return fold_session(self.entries, self.prelude)

    @property
    def turns(self) -> list[TurnDone]:
        return [entry for entry in self.entries if isinstance(entry, TurnDone)]

    async def play(self, answers: int | None = None) -> Ended | None:
        """Open the session as it stands and play it; ``None`` if it was killed or let go.

        Args:
            answers: Fresh answers and effects after which it is killed; never, if left out.
        """
        self.entries.append(Opened(self.plan, 0.0))
        port = _Port(self, answers)
        session = DurableSession(
            self.kind,
            self.plan,
            self.history.snapshot,
            RESOURCES,
            port,
            self.entries.append,
            save_effect=port.save,
            workspaces=self.workspaces,
            utc=lambda: 0.0,
        )
        playing = asyncio.ensure_future(session.play())
        dying = asyncio.ensure_future(port.killed.wait())
        await asyncio.wait([playing, dying], return_when=asyncio.FIRST_COMPLETED)
        dying.cancel()
        if port.killed.is_set():
            playing.cancel()
            await asyncio.wait([playing])
            return None
        ended = playing.result()
        if ended is not None:
            self.entries.append(ended)
        return ended


class _Port:
    """Answers recorded calls from the journal and journals fresh ones before it tells of them."""

    def __init__(self, journal: Journal, answers: int | None) -> None:
        self._journal, self._left = journal, answers
        self._recorded = journal.history.answers
        self.killed = asyncio.Event()

    async def ask(self, call: Call) -> Answer:
        journal = self._journal
        journal.asked.append(call)
        if (recorded := self._recorded.get(call.key)) is not None:
            check_same_request(call.key, recorded.digest, call.digest)
            assert recorded.answer is not None
            return recorded.answer
        for _ in range(journal.restless.randrange(5)):
            await asyncio.sleep(0)  # answers of parallel calls come in any order
        await self._live_on()
        answer = journal.model(call)
        journal.paid.append(call.key)
        journal.entries.append(settled(call, answer))
        return answer

    async def save(self, acted: Acted) -> None:
        await self._live_on()
        self._journal.entries.append(acted)

    async def _live_on(self) -> None:
        if self._left == 0:
            self.killed.set()
            await asyncio.Event().wait()
        if self._left is not None:
            self._left -= 1


def settled(call: Call, answer: Answer) -> Settled:
    """The entry of an attempt that was answered."""
    return Settled(
        0, call.key, 1, call.role, call.model, call.digest, 10**6, "settled", answer.cost,
        answer.usage, 0.0, 0.0, "", answer, 0.0,
    )  # fmt: skip
