"""Looking at what sessions left behind, without the names of session and run."""

from __future__ import annotations

from matrix.api import Run
from matrix.store.journal.transcript import Transcript

TABLES = ("messages", "events", "scores", "players", "turns")
OF_THE_ROW = ("run_id", "session_id", "seq", "ended_at")
MONEY = ("calls", "tokens_in", "tokens_out", "cost_usd", "cost_nano", "total_cost_usd",
         "total_cost_nano")  # fmt: skip
"""Columns of what a session used: a continuation counts only what it used itself."""


def left_behind(run: Run, session_id: str, table: str) -> list[tuple[object, ...]]:
    """A session's rows of a table, as far as they are about what happened."""
    frame = run.frame(table).sort_values("seq", kind="stable")
    frame = frame[frame["session_id"] == session_id]
    frame = frame.drop(columns=[name for name in (*OF_THE_ROW, *MONEY) if name in frame])
    return [tuple(map(repr, row)) for row in frame.itertuples(index=False)]


def ids(run: Run) -> list[str]:
    """The run's sessions in launch order."""
    return [str(one) for one in run.sessions().sort_values("launch_order")["session_id"]]


def up_to(session: Transcript, turn: int) -> list[object]:
    """What a session said, did and scored up to a turn."""
    return [
        (done.phase, done.turn, done.messages, done.events, done.scores, done.players, done.state)
        for done in session.turns
        if done.phase != "finish" and done.turn <= turn
    ]
