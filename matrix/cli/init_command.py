"""``matrix init``."""

from __future__ import annotations

from typing import Annotated

import typer

from matrix.cli.printing import say

HELP = """Make a project folder that runs as it is. It holds a commented matrix.yaml, a story, and a
prompt of your own beside the built-in ones.

\b
    matrix init my-project
    cd my-project && matrix run
    matrix init --kind support my-project   a kind of your own: one function

With --kind it holds that function (support.py), its cases, a test, a rubric and a spec.
Files that are there already are never overwritten.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("init", help=HELP)(init)


def init(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="The folder to make.")] = ".",
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind", metavar="NAME", help="Write a kind of this name.", show_default=False
        ),
    ] = None,
) -> None:
    """Make a project."""
    from matrix import api

    for path in api.init(folder, kind=kind):
        say(f"wrote {path}")
    where = "" if folder == "." else f"cd {folder} && "
    say(f"next: {where}matrix run")
