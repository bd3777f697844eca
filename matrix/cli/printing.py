"""Printing: JSON as it should be piped, and text that a terminal may scroll."""

from __future__ import annotations

import sys
from typing import Any

import typer


def print_json(value: Any) -> None:
    """Pretty JSON on standard output."""
    import orjson

    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS
    sys.stdout.write(orjson.dumps(value, option=options, default=str).decode())


def print_text(text: str) -> None:
    """Text that may be long; control characters of untrusted transcripts are made harmless."""
    typer.echo(text)
