"""Runs made up session by session, and written through the real journal and publisher."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from matrix.model.entries import Ended, Entry, Opened, RoleShare, Settled, Tally, TurnDone
from matrix.model.records import (
    Answer,
    CallKey,
    Event,
    Message,
    Outcome,
    Player,
    Score,
    SessionPlan,
    Usage,
)
from matrix.report.compare.compare import FactorComparison, compare_factor
from matrix.report.run.summary import Summary, summarize_run
from matrix.store.journal.journal import JOURNAL_NAME, JournalWriter
from matrix.store.reading.reader import RunTables
from matrix.store.run.made_here import PLAN_NAME
from matrix.store.run.run_folder import (
    PlanSummary,
    RunFile,
    RunStatus,
    RunTotals,
    Versions,
    marked,
    read_run,
    write_run,
)
from matrix.store.tables.publisher import Publisher

CENT = 10_000_000


@dataclass(frozen=True)
class Row:
    """One session as it ended; a session of ``None`` outcome is still open."""

    levels: Mapping[str, str]
    round: int = 0
    scenario: str = "a"
    outcome: Outcome | None = "completed"
    score: float | None = 50.0
    scores: Mapping[str, float | None] = field(default_factory=dict)
    error_class: str = ""
    reason: str = "because"
    turns: int = 5
    cost: int = CENT

    @property
    def session_id(self) -> str:
        return "-".join([self.scenario, *self.levels.values(), str(self.round)])


@dataclass(frozen=True)
class MadeUp:
    """A run on the disk."""

    path: Path

    def compare(self, *args: Any, **more: Any) -> FactorComparison:
        return compare_factor(RunTables(self.path), read_run(self.path), *args, **more)

    def summary(self) -> Summary:
        return summarize_run(self.path, read_run(self.path))


def make_run(
    path: Path,
    rows: Sequence[Row],
    factors: Mapping[str, Sequence[str]],
    *,
    rounds: int | None = None,
    scenarios: Sequence[str] = ("a",),
    compared: str | None = "prompt",
    metric: str = "score",
    status: RunStatus = "complete",
    end_reason: str = "",
    spec: Mapping[str, Any] | None = None,
    totals: bool = True,
) -> MadeUp:
    """Write a run whose sessions ended as ``rows`` say, and publish its tables."""
    path.mkdir(parents=True)
    cells = len(scenarios) * len(list(itertools.product(*factors.values())))
    planned = rounds if rounds is not None else 1 + max((row.round for row in rows), default=-1)
    run = RunFile(
        run_id=path.name,
        created_at=datetime(2026, 3, 1, tzinfo=UTC),
        name="made-up",
        kind="playtest",
        spec=dict(spec or {}),
        spec_hash="s",
        prices_hash="p",
        versions=Versions(matrix="0", python="3", kind=1, state=1),
        git_commit=None,
        status=status,
        end_reason=end_reason,
        plan=PlanSummary(
            sessions=planned * cells,
            cells=cells,
            rounds=planned,
            scenarios=tuple(scenarios),
            factors={name: tuple(levels) for name, levels in factors.items()},
            compared=compared,
            metric=metric,
            score_range=(0.0, 100.0),
        ),
        simulated=True,
        cap_nano=1000 * CENT,
        totals=RunTotals(
            outcomes={}, calls=0, tokens_in=0, tokens_out=0,
            settled_nano=0, presumed_nano=0, elapsed_s=75.0,
        ) if totals else None,
    )  # fmt: skip
    (path / PLAN_NAME).write_text("{}")  # which the mark of a run is about, too
    write_run(path, marked(path, run))
    journal = JournalWriter(path / JOURNAL_NAME)
    journal.append([entry for hold, row in enumerate(rows) for entry in entries_of(row, hold)])
    journal.close()
    with Publisher(path, run.info) as publisher:
        if status == "running":
            publisher.step(flush=True)
        else:
            publisher.finalize([plan_of(row) for row in rows], end_reason or "interrupted")
    return MadeUp(path)


def plan_of(row: Row) -> SessionPlan:
    return SessionPlan(
        session_id=row.session_id,
        part="play",
        order=0,
        round=row.round,
        seed=row.round,
        scenario=row.scenario,
        kind="playtest",
        levels=row.levels,
        options={},
        roles={"narrator": "sim/opus"},
        resources={},
        prelude_id=None,
        max_turns=60,
        max_session_s=3600.0,
    )


def entries_of(
    row: Row,
    hold: int,
    messages: Iterable[Message] = (),
    events: Iterable[Event] = (),
    players: Iterable[Player] = (),
) -> list[Entry]:
    """What the journal has of a session: one call, one turn, its end."""
    plan = plan_of(row)
    key = CallKey(plan.session_id, "turn", 1, "1")
    usage = Usage(1000, 100)
    tally = Tally(60.0, {"narrator": RoleShare(1, 1000, 100, row.cost)})
    made: list[Entry] = [
        Opened(plan, 1.0),
        Settled(
            hold, key, 1, "narrator", "sim/opus", "digest", 2 * row.cost, "settled", row.cost,
            usage, 0.0, 1.0, "", Answer("yes", usage, row.cost, 1.0, "sim/opus"), 2.0,
        ),
        TurnDone(
            session_id=plan.session_id, phase="turn", turn=row.turns, state=b"{}",
            messages=tuple(messages), events=tuple(events),
            scores=tuple(Score(name, value) for name, value in row.scores.items()),
            players=tuple(players), tally=tally, ended=None, versions=(1, 1), at=3.0,
        ),
    ]  # fmt: skip
    if row.outcome is not None:
        made.append(
            Ended(
                plan.session_id, row.outcome, row.reason, row.error_class, row.turns,
                row.score, tally, 4.0,
            )
        )  # fmt: skip
    return made


def paired(
    effect: Mapping[str, float], rounds: int, scenarios: Sequence[str] = ("a",), **more: Any
) -> list[Row]:
    """Rows in which a level's scores lie ``effect`` above the round's own, with a little noise."""
    rows = []
    for round_, scenario in itertools.product(range(rounds), scenarios):
        for index, (level, above) in enumerate(effect.items()):
            noise = ((round_ * 7 + index * 5) % 11 - 5) / 10
            score = 40.0 + 3 * (round_ % 5) + above + noise
            rows.append(Row({"prompt": level}, round_, scenario, score=score, **more))
    return rows
