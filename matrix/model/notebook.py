"""What notebooks show of values: HTML in which every text is escaped, and that runs nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from matrix.model.lines import harmless


def text_as_html(text: str) -> str:
    """Text as it stands, columns and all."""
    return f"<pre>{_escaped(text)}</pre>"


def table_as_html(title: str, headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table below its title; without headers, of facts with their names."""
    head = "".join(f"<th>{_escaped(name)}</th>" for name in headers)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{_escaped(cell)}</td>' for cell in row)
        + "</tr>"
        for row in rows
    )  # fmt: skip
    top = f"<thead><tr>{head}</tr></thead>" if head else ""
    return (
        f"<table><caption>{_escaped(title)}</caption>{top}<tbody>{body}</tbody></table>"
    )  # fmt: skip


def _escaped(text: str) -> str:
    return escape(harmless(text), quote=True)
