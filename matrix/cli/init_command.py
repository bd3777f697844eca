"""``matrix init``."""

from __future__ import annotations

from typing import Annotated

import typer

HELP = """Make a project folder with a commented matrix.yaml that runs as it is.

    matrix init my-project
    cd my-project && matrix run

It holds a story, a prompt of your own beside the built-in ones, and comments on every setting.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("init", help=HELP)(init)


def init(
    folder: Annotated[str, typer.Argument(help="The folder to make.")] = ".",
) -> None:
    """Make a project."""
    from matrix import api

    for path in api.init(folder):
        typer.echo(f"wrote {path}")
    where = "" if folder == "." else f"cd {folder} && "
    typer.echo(f"next: {where}matrix run")
