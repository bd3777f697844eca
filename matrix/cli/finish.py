"""The end of a run on the command line: summary, verdict, exit code; and who shows progress."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import TYPE_CHECKING

import typer

from matrix.cli.display import LiveDisplay, LogLines, Quiet, can_be_redrawn
from matrix.cli.printing import say

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from matrix.api import Run
    from matrix.api.gating import Gates
    from matrix.api.sessions.choosing import Branching
    from matrix.cli.options import Browse
    from matrix.engine.executors.executor import AnyExecutor
    from matrix.kinds.reporting import RunReport
    from matrix.model.errors import BadInput
    from matrix.report.gates.gating import GateReport
    from matrix.report.run.summary import Summary

INCOMPLETE = 4
"""Exit code of a run that ended before its plan."""


class CommandEnded(SystemExit):
    """The end of a gateway, with its command's exit code, whatever that would mean elsewhere."""


REPORT = "MATRIX_REPORT"
"""Variable that keeps runs from writing their page: ``0``."""

_OUTPUT, _ERRORS = 1, 2

HOLLOW = 1
"""Exit code of a complete run in which nothing was scored, or more errored than was scored, and of
one whose report could not be written."""


@contextmanager
def shown(*, quiet: bool, program: bool = False) -> Iterator[LiveDisplay | LogLines | Quiet]:
    """Who shows a run while it plays: live on a terminal, log lines elsewhere, nothing if quiet.

    Standard output is this program's meanwhile: what user code prints goes to errors; but for a
    ``program`` that has the terminal, as the command of a gateway.
    """
    live = can_be_redrawn(sys.stderr, os.environ)
    showing = Quiet() if quiet else LiveDisplay() if live else LogLines()
    below = nullcontext() if program else _errors_instead_of_output()
    with showing, redirect_stdout(sys.stderr), below:
        yield showing


@contextmanager
def _errors_instead_of_output() -> Iterator[None]:
    """Below Python, too: commands that user code starts inherit standard output by its number."""
    sys.stdout.flush()
    try:
        kept = os.dup(_OUTPUT)
        os.dup2(_ERRORS, _OUTPUT)
    except OSError:  # one of them is closed
        yield
        return
    try:
        yield
    finally:
        os.dup2(kept, _OUTPUT)
        os.close(kept)


def finish(
    run: Run,
    *,
    quiet: bool,
    json: bool,
    gates: Gates | None = None,
    untouched: bool = False,
    report: bool | None = None,
    browse: Browse | None = None,
) -> None:
    """Print what a run came to, and what its gates did.

    ``untouched`` says that nothing was played or written: it was complete already. ``report`` has
    its page written as well; ``None`` is for commands without such a flag: the variable says it;
    ``browse`` opens it. Reports of sessions, which are there by now, are named.

    Raises:
        BadInput: No session has what a gate asks about; the rest was printed.
        typer.Exit: With 4 if the run ended before its plan; else with 1 if nothing was scored, or
            more errored than was scored, or a report was not written; else with 3 if a gate failed.
            A gateway's run ends with its command's code, or 4 if the cap refused anything.
    """
    from matrix.api.runs.kind_reports import kind_report, placed_lines
    from matrix.cli.gating import GATE_FAILED, exit_code, print_gate
    from matrix.cli.printing import print_json, text_width
    from matrix.report.run.summary_data import summary_as_data
    from matrix.report.run.summary_text import head_line, summary_as_text, verdict_line
    from matrix.store.run.run_folder import from_here, resume_command

    gate, problem = _decided(run, gates)
    told = kind_report(run)
    summary = run.summary() if gate is None else _kept(run, gate, told)
    if json:
        from matrix.report.gates.gating import gate_as_data

        data = summary_as_data(summary)
        if gate is not None:
            data |= {"gate": gate_as_data(gate)}
        print_json({**data, "report": told.data} if told is not None and told.data else data)
    elif quiet:
        say(verdict_line(summary))
    else:
        say(summary_as_text(summary, width=text_width()))
    if gate is not None and quiet and not json:
        print_gate(gate)  # the whole summary has it
    lost = [] if untouched else _lost(told, run)
    if told is not None and not json:
        say("\n".join([*([""] * (not quiet)), *placed_lines(told, run, lost)]))
    asked = _page_wanted() if report is None else report
    page = _written_page(run, told) if asked and not (untouched and browse is None) else None
    if page is not None and not quiet and not json:
        say(f"report: {from_here(page)} (opens in any browser)")
    if not untouched and not quiet and not json and (sessions := _session_reports(run)):
        say(sessions)
    if page is not None and browse is not None:
        open_page(page, browse)
    for name in lost:
        say(f"error: {name} could not be written; its note says why", err=True)
    incomplete = run.status != "complete"
    if incomplete and quiet:  # else the summary says it
        say(
            f"{head_line(summary)}; {resume_command(run.path, run.file.resume_with)} goes on",
            err=True,
        )
    hollow = not incomplete and _tell_if_hollow(summary, quiet=quiet)
    if problem is not None and (incomplete or hollow):
        say(str(problem), err=True)
    elif problem is not None:
        raise problem
    failed = GATE_FAILED if told is not None and told.failed else exit_code(gate)
    hollow = hollow and not (told is not None and told.judged)
    if code := INCOMPLETE if incomplete else HOLLOW if hollow or lost else failed:
        raise typer.Exit(code)
    if (ended := run.file.command) is not None and (ended.capped or ended.exit_code):
        raise CommandEnded(INCOMPLETE if ended.capped else ended.exit_code)


def _page_wanted() -> bool:
    return os.environ.get(REPORT, "").casefold() not in ("0", "no", "off", "false")


def _written_page(run: Run, told: RunReport | None) -> Path | None:
    """Where the run's page is; ``None`` if it could not be written."""
    from matrix.api.reporting import write_page
    from matrix.model.errors import MatrixError

    try:
        return write_page(run, told=told)
    except MatrixError as error:
        say(f"no report.html could be written: {error}", err=True)
        return None


def open_page(page: Path, browse: Browse) -> None:
    """Open a page, or say that it could not be."""
    if not browse(page.resolve().as_uri()):
        say(f"no browser could be opened here; {page} is the page", err=True)


def _session_reports(run: Run) -> str:
    """Where the reports of its sessions are, if it has any."""
    from matrix.api.runs.session_reports import written_reports
    from matrix.store.run.run_folder import from_here

    there = written_reports(run)
    if len(there) == 1:
        return f"report of its session: {from_here(there[0])}"
    return f"reports of its sessions: {from_here(there[0].parent)}" if there else ""


def _lost(told: RunReport | None, run: Run) -> list[str]:
    """What of a kind's report is not there."""
    from matrix.api.runs.kind_reports import unwritten
    from matrix.engine.prepare.plan_file import project_of_run

    return [] if told is None else unwritten(told, project_of_run(run.path), run)


def _kept(run: Run, gate: GateReport, told: RunReport | None) -> Summary:
    """The summary with what the gates came to, which is kept with the run."""
    from matrix.api.gating import keep_gate, summary_with
    from matrix.api.reporting import write_markdown
    from matrix.model.errors import StoreError

    try:
        summary = keep_gate(run, gate)
        write_markdown(run, summary, () if told is None else told.lines)
        return summary
    except StoreError as error:  # what was decided is printed all the same
        say(f"note: what the gates came to could not be kept: {error}", err=True)
        return summary_with(run, gate)


def _tell_if_hollow(summary: Summary, *, quiet: bool) -> bool:
    """Whether a run that is over has too few scores to build on; says so if it has."""
    from matrix.report.run.summary_text import defect_as_text, losses, reasons

    if not (told := summary.endings.problem):
        return False
    say(f"error: {told}", err=True)
    if quiet:
        lost = [f"{outcome} {why}" for outcome, why in losses(summary)]
        for line in [*reasons(summary), *lost, *filter(None, [defect_as_text(summary)])]:
            say(line, err=True)
    return True


def _decided(run: Run, gates: Gates | None) -> tuple[GateReport | None, BadInput | None]:
    """What gates came to, or why they cannot be decided: that comes after what the run came to."""
    from matrix.model.errors import BadInput

    if gates is None:
        return None, None
    try:
        return gates.decide(run), None
    except BadInput as error:
        return None, error


def see_through(
    planned: Branching,
    results: str,
    run_id: str | None,
    executor: AnyExecutor,
    *,
    dry_run: bool,
    quiet: bool,
    json: bool,
    browse: Browse | None = None,
) -> None:
    """Play planned continuations and print what came of them; for replay, branch and rejudge."""
    done = played_or_planned(
        planned, results, run_id, executor, dry_run=dry_run, quiet=quiet, json=json
    )
    if done is not None:
        finish(done, quiet=quiet, json=json, report=browse is not None or None, browse=browse)


def played_or_planned(
    planned: Branching,
    results: str,
    run_id: str | None,
    executor: AnyExecutor,
    *,
    dry_run: bool,
    quiet: bool,
    json: bool,
) -> Run | None:
    """Play planned continuations; ``None`` where only their plan was asked, which is printed."""
    from matrix import api
    from matrix.cli.plan_command import print_plan

    if dry_run:
        print_plan(planned.continuation.prepared, json=json)
        return None
    with shown(quiet=quiet or json) as listener:
        return api.start_branching(planned, results, run_id, executor, listener)
