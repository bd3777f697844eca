"""Many runs as a table."""

from __future__ import annotations

from collections.abc import Sequence

from matrix.model.money import show_usd
from matrix.report.text import columns
from matrix.store.run_folder import ListedRun


def runs_as_text(runs: Sequence[ListedRun]) -> str:
    """One line a run."""
    rows = []
    for listed in runs:
        run = listed.run
        if run is None:
            rows.append([listed.path.name, "-", "-", "-", "-", listed.problem[:60]])
            continue
        spent = "-"
        if run.totals is not None:
            spent = show_usd(run.totals.settled_nano + run.totals.presumed_nano)
        status = (
            run.status if run.end_reason in ("", "done") else (f"{run.status} ({run.end_reason})")
        )
        rows.append(
            [
                run.run_id,
                run.created_at.strftime("%Y-%m-%d %H:%M"),
                run.kind,
                f"{run.plan.sessions:,}",
                spent + (" simulated" if run.simulated else ""),
                status[:60],
            ]
        )
    return columns(
        ["run", "started (UTC)", "kind", "sessions", "spent", "status"], rows, right=(3,)
    )
