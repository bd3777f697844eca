"""Printing: JSON as it should be piped, and text as wide as the terminal has room for."""

from __future__ import annotations

import shutil
import sys
from typing import IO, Any

import typer

from matrix.model.lines import harmless

NARROWEST, WIDEST = 60, 120
"""Text is wrapped to the terminal within these, in columns: longer lines are hard to read."""


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print text; the one way of it out of the program, so that nothing in it drives a terminal."""
    typer.echo(harmless(text), err=err, nl=nl)


def print_json(value: Any) -> None:
    """Pretty JSON on standard output; what could drive a terminal is escaped."""
    import orjson

    from matrix.model.lines import harmless_json

    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS
    sys.stdout.write(harmless_json(orjson.dumps(value, option=options, default=str).decode()))


def text_width(stream: IO[str] | None = None) -> int:
    """Columns to wrap text to on a stream (standard output if left out)."""
    from matrix.report.text import WIDTH

    if not (stream or sys.stdout).isatty():
        return WIDTH
    return max(NARROWEST, min(WIDEST, shutil.get_terminal_size((WIDTH, 24)).columns))
