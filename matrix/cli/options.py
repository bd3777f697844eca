"""Options that several commands share, and turning them into overrides."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand

from matrix.cli import completion
from matrix.cli.printing import say

if TYPE_CHECKING:
    from matrix.engine.executors.executor import ExecutorChoice
    from matrix.model.documents.overrides import Override


Browse = Callable[[str], bool]
"""Opens the page at an address; whether it could."""


class Handed(NamedTuple):
    """What commands are handed that is not of their own.

    Attributes:
        clock: Unix time in seconds.
        browse: Opens pages, for ``--open``.
    """

    clock: Callable[[], float]
    browse: Browse


def in_browser(address: str) -> bool:
    """Open a page in the browser of whoever is at this machine."""
    import webbrowser

    return webbrowser.open(address)


def handed_to(ctx: Any) -> Handed:
    """What a command was handed; this machine's own without it."""
    found: Handed = ctx.obj or Handed(time.time, in_browser)
    return found


class Careful(TyperCommand):
    """A command that does nothing while a ``MATRIX_*`` variable is set that sets nothing."""

    def invoke(self, ctx: Any) -> Any:
        """Refuse unknown variables, then do what the command does."""
        import os

        if any(name.startswith("MATRIX_") for name in os.environ):
            from matrix.engine.prepare.registry import known_variables
            from matrix.model.documents.overrides import check_variables

            check_variables(known_variables)
        return super().invoke(ctx)


SpecArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="SPEC",
        help="A run spec or a folder with a matrix.yaml. Left out: ./matrix.yaml if there is one, "
        "else the built-in play-test matrix.",
        show_default=False,
        autocompletion=completion.specs,
    ),
]
RunArgument = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="Id, beginning of an id, path, or 'last'.",
        autocompletion=completion.runs,
    ),
]
OptionalRunArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN",
        help="Id, beginning of an id, path, or 'last'.",
        show_default=False,
        autocompletion=completion.runs,
    ),
]
_SESSION_HELP = "Session id or its beginning; best, worst, longest or failed."
OptionalSessionArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="SESSION",
        help=_SESSION_HELP,
        show_default=False,
        autocompletion=completion.sessions,
    ),
]
ResultsOption = Annotated[
    str, typer.Option("--results", metavar="DIR", envvar="MATRIX_RESULTS", help="Folder of runs.")
]
SessionsOption = Annotated[
    int | None,
    typer.Option(
        "--sessions",
        metavar="N",
        help="Sessions in all, over the whole matrix.",
        show_default=False,
    ),
]
PerCellOption = Annotated[
    int | None,
    typer.Option("--per-cell", metavar="N", help="Rounds: sessions per cell.", show_default=False),
]
SeedOption = Annotated[
    int | None, typer.Option("--seed", metavar="N", help="Seed of every draw.", show_default=False)
]
MaxCostOption = Annotated[
    float | None,
    typer.Option("--max-cost", metavar="USD", help="Hard cap on money.", show_default=False),
]
BudgetOption = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="NAME=USD/WINDOW",
        help="Rolling budget over several runs, e.g. nightly=50/day.",
        show_default=False,
    ),
]
OutsideOption = Annotated[
    bool,
    typer.Option(
        "--allow-outside",
        envvar="MATRIX_ALLOW_OUTSIDE",
        help="Let file:// and links lead out of the project, and to hidden files.",
    ),
]
TrustOption = Annotated[
    bool,
    typer.Option(
        "--trust",
        "--trust-addresses",
        help="Do what a run or FILE from elsewhere names: addresses, programs, prices.",
    ),
]
MaxTurnsOption = Annotated[
    int | None,
    typer.Option("--max-turns", metavar="N", help="Turns per session.", show_default=False),
]
TimeLimitOption = Annotated[
    float | None,
    typer.Option(
        "--time-limit", metavar="MINUTES", help="Wall-clock limit, then drain.", show_default=False
    ),
]
OpenSessionsOption = Annotated[
    int | None,
    typer.Option(
        "--open-sessions", metavar="N", help="Sessions played at the same time.", show_default=False
    ),
]
AtCapOption = Annotated[
    str | None,
    typer.Option(
        "--at-cap",
        metavar="[whole-rounds|spend-all]",
        help="What to do when the cap comes near.",
        show_default=False,
    ),
]
ModelOption = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="ROLE=MODEL",
        help="Model of a role; all=MODEL for every role.",
        show_default=False,
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="PATH=VALUE", help="Set any field of the spec.", show_default=False
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", envvar="MATRIX_QUIET", help="Print only the verdict.")
]
ReportOption = Annotated[
    bool,
    typer.Option(
        "--report/--no-report",
        envvar="MATRIX_REPORT",
        help="Write report.html into the run's folder at the end.",
    ),
]
OpenOption = Annotated[bool, typer.Option("--open", help="Open the report in a browser.")]
YesOption = Annotated[
    bool, typer.Option("--yes", "-y", envvar="MATRIX_YES", help="Do not ask before spending.")
]
StopEarlyOption = Annotated[
    bool | None,
    typer.Option(
        "--stop-early/--no-stop-early",
        help="Look after every round; drop beaten variants, stop when it is decided.",
        show_default=False,
    ),
]
CacheOption = Annotated[
    bool | None,
    typer.Option(
        "--cache/--no-cache",
        help="Answer calls of real models by what earlier runs bought.",
        show_default=False,
    ),
]
ExecutorOption = Annotated[
    str,
    typer.Option(
        "--executor",
        metavar="NAME",
        help="auto, in-process (everything in this process), or ray.",
    ),
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="HOST:PORT",
        help="The Ray cluster to join, or auto; else that of MATRIX_RAY_ADDRESS.",
        show_default=False,
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        min=1,
        help="Processes that play sessions, else one per CPU.",
        show_default=False,
    ),
]


def executor_of(name: str, address: str | None, workers: int | None) -> ExecutorChoice:
    """What the three options choose; an executor that takes no such option refuses it."""
    from matrix.engine.executors.executor import ExecutorChoice

    return ExecutorChoice(name, address, workers)


def say_if_built_in(spec: str | None) -> None:
    """Say that the built-in matrix is meant, because nobody named a spec and none is here."""
    from pathlib import Path

    from matrix.engine.prepare.spec_files import is_built_in

    if is_built_in(None if spec is None else Path(spec), Path.cwd()):
        say(
            "no matrix.yaml here: this is the built-in play-test matrix "
            "(`matrix init FOLDER` makes a project of your own)",
            err=True,
        )


def overrides_of(
    settings: list[str] | None, models: list[str] | None, **flags: Any
) -> list[Override]:
    """``--set``, then ``--model``, then flags: lowest first. Variables go under all of them.

    Raises:
        BadInput: Every setting and assignment that is not of its form.
    """
    from matrix.model.documents.mistakes import together
    from matrix.model.documents.overrides import from_flags, from_models, from_settings

    of_settings, of_models = together(
        lambda: from_settings(settings or []), lambda: from_models(models or [])
    )
    return [*of_settings, *of_models, *from_flags(flags)]
