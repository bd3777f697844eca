"""What ``run.json`` says of a run when it starts and when it ends."""

from __future__ import annotations

import platform
import subprocess
from datetime import datetime
from pathlib import Path

from matrix.engine.prepare.estimate import CostInterval
from matrix.engine.prepare.prepared import Prepared
from matrix.engine.run.progress import RunEnd
from matrix.kinds.gateway import GATEWAY
from matrix.kinds.protocol import KeptKind, OwnsTerminal
from matrix.model.plan import Plan
from matrix.store.run.run_folder import (
    CommandEnd,
    CostRange,
    DroppedLevel,
    PlanSummary,
    RunFile,
    RunTotals,
    Stopping,
    Versions,
)
from matrix.version import __version__


def run_file(prepared: Prepared, run_id: str, now: datetime) -> RunFile:
    """``run.json`` of a run that is about to start, created at ``now``."""
    spec = prepared.spec
    return RunFile(
        run_id=run_id,
        created_at=now,
        name=spec.name,
        kind=prepared.kind.name,
        spec=spec.model_dump(mode="json"),
        spec_hash=prepared.spec_hash,
        prices_hash=prepared.prices_hash,
        versions=Versions(
            matrix=__version__,
            python=platform.python_version(),
            kind=prepared.kind.version,
            state=prepared.kind.state_version,
        ),
        git_commit=git_commit(Path.cwd()),
        status="running",
        plan=plan_summary(prepared),
        simulated=bool(prepared.simulated),
        stand_ins={role: tuple(levels) for role, levels in prepared.stand_ins.items()},
        mixed=prepared.mixed,
        cap_nano=spec.limits.cap_nano,
        # how much a program will ask nobody knows, so its nothing is no estimate
        estimate=None
        if prepared.unforeseen or isinstance(prepared.kind, OwnsTerminal)
        else _range(prepared.estimate),
        kind_facts=prepared.kind.facts if isinstance(prepared.kind, KeptKind) else None,
    )


def plan_summary(prepared: Prepared) -> PlanSummary:
    """What a run sets out to do."""
    return PlanSummary(
        sessions=prepared.plan.sessions,
        cells=len(prepared.plan.cells),
        rounds=_rounds(prepared.plan),
        scenarios=tuple(dict.fromkeys(cell.scenario for cell in prepared.plan.cells)),
        scenario_table=prepared.scenarios,
        factors=dict(prepared.factors),
        compared=prepared.compare_factor,
        metric=prepared.spec.compare.metric,
        score_range=prepared.kind.score_range,
    )


def _rounds(plan: Plan) -> int:
    """Rounds in all; those of their run, where its sessions are only judged again."""
    if plan.continued is None or not plan.judged_again:
        return plan.rounds
    return max(origin.round for origin in plan.continued.origins) + 1


def ended_file(file: RunFile, end: RunEnd) -> RunFile:
    """``run.json`` of a run that came to ``end``; times add up over its lives."""
    progress = end.progress
    balance = progress.picture.balance
    before = 0.0 if file.totals is None else file.totals.elapsed_s
    told = (0, 0) if file.totals is None else file.totals.lost
    outcomes = dict(progress.outcomes)
    outcomes["censored"] += progress.planned - progress.ended
    totals = RunTotals(
        outcomes=outcomes,
        calls=progress.counters.answered,
        tokens_in=progress.counters.tokens_in,
        tokens_out=progress.counters.tokens_out,
        settled_nano=balance.settled,
        presumed_nano=balance.presumed,
        elapsed_s=before + progress.elapsed_s,
        overrun_nano=balance.overrun,
        processes_lost=max(told[0], end.processes_lost),
        nodes_lost=max(told[1], end.nodes_lost),
    )
    known = {
        "status": end.status,
        "end_reason": end.reason,
        "end_detail": end.detail,
        "resume_with": end.resume_with,
        "totals": totals,
    }
    pilot = {} if end.pilot is None else {"pilot": _range(end.pilot)}
    return file.model_copy(update=known | pilot | _stopping(file, end) | _command(file, end))


def _stopping(file: RunFile, end: RunEnd) -> dict[str, Stopping]:
    look = end.look
    if look is None:
        return {}
    dropped = tuple(
        DroppedLevel(level=one.level, by=one.by, from_round=one.from_round) for one in look.dropped
    )
    stopping = Stopping(
        looked=look.rounds,
        decided=look.decided,
        at_cap=file.run_spec.compare.look_at_cap,
        dropped=dropped,
        unplayed=end.unplayed,
        saved_nano=end.saved,
    )
    return {"stopping": stopping}


def _command(file: RunFile, end: RunEnd) -> dict[str, CommandEnd]:
    """What came of a gateway's command: its session's scores, if it has ended."""
    if file.kind != GATEWAY:
        return {}
    from matrix.store.reading.reader import RunTables

    rows = RunTables(end.run_dir).table("scores", ["name", "value"]).to_pylist()
    found = {row["name"]: int(row["value"]) for row in rows}
    return {"command": CommandEnd.model_validate(found)} if found else {}


def _range(cost: CostInterval) -> CostRange:
    return CostRange(low=cost.low, middle=cost.middle, high=cost.high)


def git_commit(folder: Path) -> str | None:
    """The commit that a folder is at, or ``None`` outside git."""
    try:
        found = subprocess.run(
            ["git", "rev-parse", "HEAD"],  # noqa: S607  whichever git the user has
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found.stdout.strip() or None
