"""Many runs as a table."""

from __future__ import annotations

from collections.abc import Sequence

from matrix.model.money import show_usd
from matrix.report.text import columns, harmless
from matrix.store.run.made_here import is_made_here
from matrix.store.run.run_folder import ListedRun, RunFile

STATUS_WIDTH = 60
"""Characters of a status that a table of runs has room for."""


def runs_as_text(runs: Sequence[ListedRun]) -> str:
    """One line a run."""
    rows = []
    for listed in runs:
        run = listed.run
        if run is None:
            rows.append([listed.path.name, "-", "-", "-", "-", _one_line(listed.problem)])
            continue
        spent = "-"
        if listed.spent_nano is not None:
            spent = show_usd(listed.spent_nano)
            spent += f" {run.simulation}" if run.simulation else ""
            spent += " elsewhere, under no cap" if run.imported and listed.spent_nano else ""
        received = "" if is_made_here(listed.path, run) else "received; "
        status = received + (
            run.status if run.end_reason in ("", "done") else f"{run.status} ({run.end_reason})"
        )
        rows.append(
            [
                _named(listed.path.name, run.run_id),
                run.created_at.strftime("%Y-%m-%d %H:%M"),
                run.kind,
                f"{run.plan.sessions:,}",
                spent,
                _one_line(status + failings(run)),
            ]
        )
    return columns(
        ["run", "started (UTC)", "kind", "sessions", "spent", "status"], rows, right=(3,)
    )


def failings(run: RunFile) -> str:
    """Why a run that is over is no success, in a few words that follow its status; often empty.

    A run of ``matrix gateway`` is complete when its command has ended, however that was.
    """
    ended = run.command
    if ended is None:
        return ""
    code = f", exit code {ended.exit_code}" if ended.exit_code else ""
    return code + (f", {ended.capped:,} refused at the cap" if ended.capped else "")


def _named(folder: str, run_id: str) -> str:
    """A run, with its folder where that is called otherwise: a copy, or one from elsewhere."""
    return run_id if folder == run_id else f"{run_id} (in {_one_line(folder)})"


def _one_line(text: str) -> str:
    """The beginning of a text that may hold an error message of somebody else's."""
    line = harmless(" ".join(text.split()))
    return line if len(line) <= STATUS_WIDTH else line[: STATUS_WIDTH - 3] + "..."
