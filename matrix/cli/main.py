"""The ``matrix`` program. Commands load what they need when they run, so that help is instant."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Final, NoReturn

import typer

from matrix.cli.finish import CommandEnded
from matrix.cli.options import Browse, Careful, Handed, in_browser
from matrix.cli.printing import say
from matrix.model.wording import speaking_of_flags

if TYPE_CHECKING:
    from matrix.model.errors import MatrixError

HELP = """Run large matrices of LLM sessions under a hard cost cap, and say honestly which won.

\b
    matrix run --sessions 500    play the built-in matrix on simulated models
    matrix init my-project       make a project of your own
    matrix show last             look at the newest run

Exit codes: 0 fine, 1 error (also: nothing scored, or more errored than scored), 2 bad input, 3 a
gate failed, 4 ended incomplete (cap, interrupt).
"""

COMMANDS: Final = (
    *("run", "resume", "replay", "branch", "rejudge"),
    *("plan", "power", "validate", "doctor"),
    *("list", "show", "compare", "report", "diff", "label"),
    *("import", "export", "archive", "repair", "budgets"),
    *("init", "schema", "serve-sim", "gateway"),
)
"""All commands, in the order in which help lists them; each has a module by its name."""


def program(commands: Sequence[str] = COMMANDS) -> typer.Typer:
    """The program with these commands: what each takes is only read of those that are there."""
    app = typer.Typer(
        name="matrix",
        help=HELP,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback(help=HELP)(_root)
    for name in commands:
        import_module(f"matrix.cli.{name.replace('-', '_')}_command").register(app)
    for command in app.registered_commands:
        if command.cls is None or not issubclass(command.cls, Careful):
            command.cls = Careful
    return app


_ABORTED = 130
"""Exit code of shells, and of typer, for an interrupt."""


def _version(value: bool) -> None:
    if value:
        from matrix import __version__

        say(f"matrix {__version__}")
        raise typer.Exit


def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    """Options of the program itself."""


def main(
    arguments: Sequence[str] | None = None,
    *,
    clock: Callable[[], float] = time.time,
    browse: Browse = in_browser,
) -> None:
    """Entry point of the console script.

    Args:
        arguments: What follows the program's name; that of this process if left out.
        clock: Unix time in seconds, by which runs are named and dated and budgets kept.
        browse: Opens the page at an address, for ``--open``; whether it could.
    """
    _end_as_by_ctrl_c()
    with speaking_of_flags():
        _main(arguments, Handed(clock, browse))


def _main(arguments: Sequence[str] | None, handed: Handed) -> None:
    given = sys.argv[1:] if arguments is None else arguments
    asked = [name for name in given[:1] if name in COMMANDS]
    try:
        program(asked or COMMANDS)(arguments, obj=handed)
    except CommandEnded:
        raise
    except SystemExit as ended:
        if ended.code == _ABORTED:  # what is begun ends by itself, with 4
            say("interrupted; `matrix list` has what was begun, if anything was", err=True)
        raise
    except KeyboardInterrupt:
        say("interrupted; `matrix resume last` goes on", err=True)
        sys.exit(4)
    except Exception as error:
        code = _explain(error)
        if code is None:
            raise
        _end(error, code)


def _end(error: Exception, code: int) -> NoReturn:
    """End the program; at once where what it ran on has died, which may never let go of it."""
    from matrix.model.errors import CutShort

    if not isinstance(error, CutShort):
        sys.exit(code)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _end_as_by_ctrl_c() -> None:
    """Whoever asks the program to end gets the end that Ctrl-C would give; ``nohup`` stays so."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)


def _explain(error: Exception) -> int | None:
    """Print an error of this project's, or of the system's; ``None`` for any other, a defect."""
    from matrix.model.errors import BadInput, MatrixError

    if isinstance(error, OSError) and error.strerror:
        what = f"{error.filename}: " if error.filename is not None else ""
        with suppress(OSError):
            say(f"error: {what}{error.strerror}", err=True)
        return 1
    if not isinstance(error, MatrixError):
        return None
    _print_error(error, isinstance(error, BadInput))
    return error.exit_code


def _print_error(error: MatrixError, bad_input: bool) -> None:
    prefix = "" if bad_input else "error: "
    for line in str(error).split("\n"):  # what else some take for a line's end is a stranger's
        say(f"{prefix}{line}", err=True)
        prefix = "" if bad_input else "  "
