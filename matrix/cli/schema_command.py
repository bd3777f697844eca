"""``matrix schema``."""

from __future__ import annotations

from typing import Annotated

import typer

HELP = """Print the JSON Schema of the run spec, for editors.

\b
    matrix schema > matrix.schema.json

With the YAML extension of most editors, a first line in matrix.yaml then gives completion:

\b
    # yaml-language-server: $schema=matrix.schema.json
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("schema", help=HELP)(schema)


def schema(
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help="Kind whose options to include.")
    ] = "playtest",
) -> None:
    """Print the schema."""
    from matrix import api
    from matrix.cli.printing import print_json
    from matrix.engine.prepare.registry import kind_file, kinds
    from matrix.model.errors import BadInput, Mistake, did_you_mean

    known = sorted(kinds())
    if kind not in known and kind_file(kind) is None:
        hint = did_you_mean(kind, known)
        raise BadInput(
            [Mistake("--kind", None, "", f"found {kind!r}; known: {', '.join(known)}{hint}")]
        )
    print_json(api.schema(kind))
