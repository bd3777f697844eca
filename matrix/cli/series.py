"""``--finish-last`` and ``--baseline latest``: a run that is one of a series."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from matrix.cli.printing import say

if TYPE_CHECKING:
    from matrix.api.gating import Gates
    from matrix.api.runs.series import Last
    from matrix.cli.options import Browse
    from matrix.engine.executors.executor import AnyExecutor
    from matrix.engine.prepare.prepared import Prepared
    from matrix.report.gates.gate_wish import GateWish

FinishLastOption = Annotated[
    bool,
    typer.Option(
        "--finish-last",
        help="First go on with the newest run of the same name, if it did not reach its end.",
    ),
]

GRAVEST_FIRST = (4, 1, 3)
"""Exit codes of runs that were played, for a command that played two."""


@dataclass(frozen=True, slots=True)
class Playing:
    """How a command plays runs and shows them.

    Attributes:
        results: Folder of runs.
        executor: ``auto``, ``ray``, ``in-process``, or an :class:`ExecutorChoice`.
        clock: Unix time in seconds.
        quiet: Print only the verdict.
        json: Print JSON instead of text.
        report: Write a run's page at its end.
        browse: Opens that page; ``None``: nobody wants it opened.
    """

    results: str
    executor: AnyExecutor
    clock: Callable[[], float]
    quiet: bool
    json: bool
    report: bool = True
    browse: Browse | None = None

    def start(self, prepared: Prepared, run_id: str | None, gates: Gates | None) -> None:
        """Play a new run, and print what it and its gates came to.

        Raises:
            typer.Exit: With any exit code but 0.
        """
        from matrix import api
        from matrix.cli.finish import finish, shown

        with shown(quiet=self.quiet or self.json) as listener:
            done = api.start(
                prepared,
                results=self.results,
                run_id=run_id,
                executor=self.executor,
                listener=listener,
                clock=self.clock,
            )
        finish(
            done,
            quiet=self.quiet,
            json=self.json,
            gates=gates,
            report=self.report,
            browse=self.browse,
        )

    def go_on(self, last: Last, gates: Gates | None) -> int:
        """Play an unfinished run to its end, and print what it and its gates came to.

        For programs it is printed where errors are: they get one document, of the run they named.

        Returns:
            The exit code that it would end with by itself.

        Raises:
            typer.Exit: It did not reach its end now either, so that no other may start.
        """
        from matrix import api
        from matrix.api.runs.series import is_over, still_alive_is_told
        from matrix.cli.finish import INCOMPLETE, finish, shown

        assert last.run is not None
        with shown(quiet=self.quiet or self.json) as listener, still_alive_is_told():
            done = api.resume(
                last.run.path,
                executor=self.executor,
                listener=listener,
                overrides=last.limits,
                clock=self.clock,
            )
        code = 0
        try:
            with redirect_stdout(sys.stderr if self.json else sys.stdout):
                finish(
                    done,
                    quiet=self.quiet or self.json,
                    json=False,
                    gates=gates,
                    report=self.report,
                )
        except typer.Exit as ended:
            code = ended.exit_code
        if not is_over(done):
            say(f"{done.id} comes first: no other run of its name was started", err=True)
            raise typer.Exit(code or INCOMPLETE)
        return code


@contextmanager
def alone(requested: bool, results: str, name: str) -> Iterator[None]:
    """Keep a second start of this name out, if this run is one of a series.

    Raises:
        AlreadyRunning: This is the second start.
    """
    from matrix.store.shared.name_lock import only_one

    if not requested:
        yield
        return
    with only_one(Path(results), name):
        yield


def last_finished(prepared: Prepared, wish: GateWish, play: Playing) -> int:
    """See the last run of the name to its end, with the gates that it missed.

    Returns:
        The exit code that it would end with by itself; 0 if there was none to go on with.

    Raises:
        BadInput: It is of another spec, or its gates cannot be decided; nothing was started.
        typer.Exit: It did not reach its end now either, so that no other may start.
    """
    from matrix.api.runs.series import last_of
    from matrix.cli.gating import gates_of

    last = last_of(prepared, play.results)
    if last.note:
        say(f"note: {last.note}", err=True)
    if last.run is None:
        return 0
    say(f"{last.run.file.run_id} did not reach its end, and goes on first", err=True)
    return play.go_on(last, gates_of(wish, last.run.file, play.results))


@contextmanager
def gravest(before: int) -> Iterator[None]:
    """End with the graver of two exit codes: ``before``, or that of what is inside the block."""
    code = 0
    try:
        yield
    except typer.Exit as ended:
        code = ended.exit_code
    codes = {before, code} - {0}
    if codes:
        raise typer.Exit(next((one for one in GRAVEST_FIRST if one in codes), code))
