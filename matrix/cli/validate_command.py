"""``matrix validate``."""

from __future__ import annotations

import typer

from matrix.cli.options import JsonOption, OutsideOption, SpecArgument, say_if_built_in
from matrix.cli.printing import say

HELP = """Check a run spec and every pack it names. Every mistake is one line; the scripts of agents
are looked at, too. Keys, programs and addresses are of the machine: `matrix doctor` looks at them.

\b
    matrix validate                  ./matrix.yaml, or the built-in matrix
    matrix validate my-project       a folder with a matrix.yaml

Exit code 2 if there is any mistake.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("validate", help=HELP)(validate)


def validate(
    spec: SpecArgument = None, allow_outside: OutsideOption = False, json: JsonOption = False
) -> None:
    """Check a spec."""
    from matrix import api
    from matrix.cli.printing import print_json

    say_if_built_in(spec)
    notes: list[str] = []
    mistakes = api.validate(spec, notes=notes, allow_outside=allow_outside)
    if json:
        print_json(
            [
                {"source": m.source, "line": m.line, "path": m.path, "message": m.message}
                for m in mistakes
            ]
        )
    elif not mistakes:
        say("\n".join([*(f"note: {note}" for note in notes), "fine: nothing wrong found"]))
    else:
        for mistake in mistakes:
            say(str(mistake), err=True)
    if mistakes:
        raise typer.Exit(2)
