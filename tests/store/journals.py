"""Made-up journals, and what their tables must be by the plain meaning of each rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from hypothesis import strategies as st

from matrix.model.entries import (
    Ended,
    Entry,
    Held,
    Opened,
    RoleShare,
    Settled,
    Tally,
    TurnDone,
    session_of,
)
from matrix.model.records import (
    Answer,
    CallKey,
    Event,
    Message,
    Outcome,
    Phase,
    Player,
    Score,
    SessionPlan,
    Usage,
)
from matrix.store.journal.journal import JOURNAL_NAME, JournalWriter
from matrix.store.run.disk import Disk
from matrix.store.run.schema import RunInfo

INFO = RunInfo("run-1", "spec-hash", "prices-hash", ("prompt", "score"))
ACTIONS = ("open", "call", "cached", "lost", "late", "turn", "redo", "finish", "end")
SESSIONS = 4
"""Sessions 0..2 are play; the last one is a prelude."""


class FastDisk(Disk):
    """A disk that does not wait for the platter: these tests crash processes, not machines."""

    def sync_file(self, handle: IO[bytes]) -> None:
        pass

    def sync_folder(self, folder: Path) -> None:
        pass


def plan(index: int, **changes: Any) -> SessionPlan:
    fields: dict[str, Any] = {
        "session_id": f"session-{index}",
        "part": "prelude" if index == SESSIONS - 1 else "play",
        "order": 10 - index,
        "round": index // 2,
        "seed": 2**62 + index,
        "scenario": "shadow-bay",
        "kind": "playtest",
        "levels": {"prompt": f"p{index % 2}", "score": "high"},
        "options": {"groups": 4},
        "roles": {"narrator": "sim/opus-4.5" if index % 2 else "opus-4.5"},
        "resources": {"guide": "abc"},
        "prelude_id": None,
        "max_turns": 60,
        "max_session_s": 3600.0,
    }
    return SessionPlan(**(fields | changes))


@dataclass
class _Session:
    plan: SessionPlan
    turn: int = -1
    finished: bool = False
    ended: bool = False
    opened: bool = False
    calls: int = 0
    lost: list[Settled] = field(default_factory=list)


class Storyteller:
    """Plays sessions by a list of ``(session, action)``; actions that make no sense are skipped."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._sessions = [_Session(plan(index)) for index in range(SESSIONS)]
        self._holds = 0

    def act(self, index: int, action: str) -> None:
        session = self._sessions[index]
        if not session.opened and action != "late":
            self._open(session)
        match action:
            case "open" if session.ended:
                self._open(session)
            case "call" | "lost" if not session.ended:
                self._call(session, lost=action == "lost")
            case "cached" if not session.ended:
                self._supply(session)
            case "late" if session.lost:
                self._late(session.lost.pop())
            case "turn" if not session.ended and not session.finished:
                session.turn += 1
                self._turn(session, "turn" if session.turn else "start", session.turn)
            case "redo" if session.turn > 0:
                self._open(session)
                session.turn, session.finished = max(1, session.turn - 1), False
                self._turn(session, "turn", session.turn)
            case "finish" if session.turn >= 0 and not session.ended:
                session.finished = True
                self._turn(session, "finish", session.turn)
            case "end" if not session.ended:
                self._end(session)

    @property
    def _now(self) -> float:
        return 1.7e9 + len(self.entries)

    def _open(self, session: _Session) -> None:
        session.opened, session.ended = True, False
        self.entries.append(Opened(session.plan, self._now))

    def _call(self, session: _Session, *, lost: bool) -> None:
        self._holds += 1
        session.calls += 1
        key = CallKey(session.plan.session_id, "turn", session.turn + 1, str(session.calls))
        usage = Usage() if lost else Usage(100 + session.calls, 10)
        answer = None if lost else Answer("yes", usage, 123_456, 1.5, "sim/opus-4.5")
        settled = Settled(
            self._holds, key, 1, "narrator", "sim/opus-4.5", f"digest-{session.calls}", 999_999,
            "presumed" if lost else "settled", 999_999 if lost else 123_456, usage, 0.25, 2.0,
            "ProviderTimeout" if lost else "", answer, self._now,
        )  # fmt: skip
        self.entries.append(
            Held(self._holds, key, 1, "narrator", "sim/opus-4.5", 999_999, "w1", self._now)
        )
        self.entries.append(settled)
        if lost:
            session.lost.append(settled)

    def _supply(self, session: _Session) -> None:
        """A call is answered by what an earlier run bought: no hold, no cost."""
        self._holds += 1
        session.calls += 1
        key = CallKey(session.plan.session_id, "turn", session.turn + 1, str(session.calls))
        answer = Answer("yes", Usage(50, 5), 0, 1.5, "sim/opus-4.5")
        self.entries.append(
            Settled(
                self._holds, key, 1, "narrator", "sim/opus-4.5", f"digest-{session.calls}", 0,
                "cached", 0, answer.usage, 0.0, 0.0, "", answer, self._now, 654_321,
            )
        )  # fmt: skip

    def _late(self, settled: Settled) -> None:
        self.entries.append(
            settled._replace(disposition="settled", cost=5, usage=Usage(7, 7), at=self._now)
        )

    def _turn(self, session: _Session, phase: Phase, turn: int) -> None:
        said = len(self.entries)
        self.entries.append(
            TurnDone(
                session_id=session.plan.session_id,
                phase=phase,
                turn=turn,
                state=b'{"cursor": 3}',
                messages=tuple(
                    Message("table", "narrator", f"entry {said}, line {line}", turn)
                    for line in range(said % 3)
                ),
                events=tuple(
                    Event("pulse", turn, "", f"entry {said}", 0.5) for _ in range(said % 2)
                ),
                scores=(Score("fun", said / 2, turn), Score("fun", None, turn, "unclear")),
                players=(Player("Ada", "explorer", "sim/x", True, "calm"),) if turn == 0 else (),
                tally=self._tally(session),
                ended=None,
                versions=(1, 1),
                at=self._now,
            )
        )

    def _end(self, session: _Session) -> None:
        session.ended = True
        outcomes: tuple[Outcome, ...] = ("completed", "timeout", "failed", "errored", "censored")
        outcome = outcomes[len(self.entries) % 5]
        self.entries.append(
            Ended(
                session.plan.session_id,
                outcome,
                reason="because",
                error_class="CallFailed" if outcome == "errored" else "",
                turns=max(session.turn, 0),
                score=3.5,
                tally=self._tally(session),
                at=self._now,
            )
        )

    def _tally(self, session: _Session) -> Tally:
        calls = session.calls
        return Tally(
            1.5 * calls, {"narrator": RoleShare(calls, 100 * calls, 10 * calls, 7 * calls)}
        )


def tell(story: Iterable[tuple[int, str]]) -> list[Entry]:
    """The journal of a story."""
    teller = Storyteller()
    for index, action in story:
        teller.act(index, action)
    return teller.entries


def stories(length: int = 40) -> st.SearchStrategy[list[tuple[int, str]]]:
    """Interleaved sessions with retries, late usage, redone turns and sessions opened again."""
    step = st.tuples(st.integers(0, SESSIONS - 1), st.sampled_from(ACTIONS))
    return st.lists(step, max_size=length)


_ACTED = "open turn call turn lost cached turn redo call late finish"

LONG_STORY: list[tuple[int, str]] = [
    (index, action) for action in _ACTED.split() for index in range(SESSIONS)
] + [(0, "end"), (1, "end"), (3, "end"), (1, "open"), (1, "turn"), (1, "redo"), (2, "lost")]
"""Everything that can happen: superseded turns, ends, presumptions; one session left open."""


def write_journal(run_dir: Path, entries: Sequence[Entry]) -> None:
    """Append entries to the run's journal, creating it if need be."""
    run_dir.mkdir(parents=True, exist_ok=True)
    writer = JournalWriter(run_dir / JOURNAL_NAME)
    writer.append(entries)
    writer.close()


def expected(entries: Sequence[Entry]) -> dict[str, list[tuple[Any, ...]]]:
    """Some columns of every table, sorted: each rule of superseding, said in the plainest way."""
    found: dict[str, list[tuple[Any, ...]]] = {
        name: []
        for name in ("sessions", "turns", "messages", "calls", "scores", "events", "players")
    }
    for index in range(SESSIONS):
        session = plan(index)
        mine = [entry for entry in entries if _session(entry) == session.session_id]
        _add_session(found, session, mine)
    return {name: sorted(rows, key=repr) for name, rows in found.items()}


COMPARED = {
    "sessions": [
        "session_id",
        "outcome",
        "error_class",
        "turns",
        "score",
        "prompt",
        "factor_score",
    ],
    "turns": ["session_id", "phase", "turn", "messages", "total_cost_nano"],
    "messages": ["session_id", "position", "text"],
    "calls": ["session_id", "hold_id", "disposition", "cost_nano", "saved_nano", "tokens_in"],
    "scores": ["session_id", "turn", "name", "value", "label"],
    "events": ["session_id", "position", "detail"],
    "players": ["session_id", "name", "mood"],
}


def _session(entry: Entry) -> str:
    return session_of(entry)


def _place(entry: TurnDone) -> tuple[int, int]:
    return {"start": (0, 0), "turn": (1, entry.turn), "finish": (2, 0)}[entry.phase]


def _add_session(
    found: dict[str, list[tuple[Any, ...]]], session: SessionPlan, mine: list[Entry]
) -> None:
    id_ = session.session_id
    said = happened = 0
    for place, entry in enumerate(mine):
        later = mine[place + 1 :]
        match entry:
            case TurnDone():
                if any(isinstance(e, TurnDone) and _place(e) <= _place(entry) for e in later):
                    continue
                found["turns"].append(
                    (id_, entry.phase, entry.turn, len(entry.messages), entry.tally.cost)
                )
                for message in entry.messages:
                    found["messages"].append((id_, said, message.text))
                    said += 1
                for event in entry.events:
                    found["events"].append((id_, happened, event.detail))
                    happened += 1
                for score in entry.scores:
                    found["scores"].append(
                        (id_, score.turn, score.name, score.value, score.label or None)
                    )
                for player in entry.players:
                    found["players"].append((id_, player.name, player.mood))
            case Settled():
                if not any(isinstance(e, Settled) and e.hold_id == entry.hold_id for e in later):
                    found["calls"].append(
                        (id_, entry.hold_id, entry.disposition, entry.cost, entry.saved,
                         entry.usage.input)
                    )  # fmt: skip
            case Ended() if session.part == "play":
                if not any(isinstance(e, Opened | Ended) for e in later):
                    scored = entry.outcome in ("completed", "timeout")
                    found["sessions"].append(
                        (id_, entry.outcome, entry.error_class or None, entry.turns,
                         entry.score if scored else None, session.levels["prompt"], "high")
                    )  # fmt: skip
