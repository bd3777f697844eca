"""What came of the command of a ``matrix gateway`` run, in words.

Such a run is complete when its command has ended, however that was.
"""

from __future__ import annotations

from matrix.report.text import plural
from matrix.store.run.run_folder import RunFile


def failings(run: RunFile) -> str:
    """Why a run that is over is no success, in a few words that follow its status; often empty."""
    ended = run.command
    if ended is None:
        return ""
    code = f", exit code {ended.exit_code}" if ended.exit_code else ""
    return code + (f", {ended.capped:,} refused at the cap" if ended.capped else "")


def command_facts(run: RunFile) -> list[tuple[str, str]]:
    """A line of the summary: exit code, requests, and how many of them the cap refused."""
    ended = run.command
    if ended is None:
        return []
    refused = f"{ended.capped:,} of them" if ended.capped else "none"
    told = f"{plural(ended.requests, 'request')}, {refused} refused at the cap"
    return [("command", f"exit code {ended.exit_code}; {told}")]
