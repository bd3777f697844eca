"""Text of strangers as it may be shown: it drives no terminal, and a name is one line."""

from __future__ import annotations

import re
from typing import Any, Final
from unicodedata import combining, normalize

LOG_LEVELS: Final = ("debug", "info", "warning", "error")
"""How grave a line of a log is, and what ``MATRIX_LOG`` may be."""

_BREAKS: Final = "\n\x0b\x0c\r\x1c-\x1e\x85\u2028\u2029"
"""What some program takes for the end of a line."""

_CONTROL: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
_FORMULA: Final = re.compile(r"(?:^|(?<=[;,\t\n\r]))(?= {0,8}[=+\-@])")
_QUOTED: Final = re.compile(r"(?:^|(?<=[;,\t\n\r]))'(?= {0,8}[=+\-@])")
_BREAK: Final = re.compile(rf"[{_BREAKS}]+")


def harmless(text: str) -> str:
    """Untrusted text without control characters, so that it cannot drive a terminal.

    Nor turn the order of what is read: marks of direction are taken out as well. New lines stay.
    """
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def harmless_json(text: str) -> str:
    """The same for JSON, where nothing is lost: such characters are written as escapes."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def in_line(text: str) -> str:
    """Untrusted text in one line, so that none of it passes for a line of its own."""
    return harmless(_BREAK.sub(" ", text))


def no_formula(text: str) -> str:
    """Text of which no spreadsheet takes any part for a formula, wherever it splits a row."""
    return _FORMULA.sub("'", text)


def csv_cell(value: Any) -> Any:
    """A value as a CSV has it: in one line, no formula, and empty where there is none."""
    if value is None or value != value:
        return ""
    if isinstance(value, str):
        return no_formula(in_line(value))
    return str(value).lower() if isinstance(value, bool) else value


def formula_again(text: str) -> str:
    """Text that :func:`no_formula` has been over, as it was."""
    return _QUOTED.sub("", text)


def require_line(text: str) -> str:
    """A name as it is.

    Raises:
        ValueError: It has line breaks, or other characters that are not shown.
    """
    if in_line(text) != text:
        raise ValueError(f"found {text!r}; a name is one line, without control characters")
    return text


DELIMITERS: Final = ",;\t|"
"""What separates the fields of tables as text."""


def delimiter_of(header: str) -> str:
    """What separates fields, by the first line of a table: what is there most often, or a comma."""
    return max(DELIMITERS, key=header.count)


def is_plain_name(text: str) -> bool:
    """Whether text can name an entry of a folder: one line, one part, and not the folder itself."""
    one_part = text not in ("", ".", "..") and "/" not in text and "\0" not in text
    return one_part and in_line(text) == text


def words_in(name: str) -> list[str]:
    """The words of a name, however they are put together: ``isError`` and ``Is error`` alike.

    Letters are without their accents: ``coût`` is ``cout``.
    """
    bare = "".join(one for one in normalize("NFKD", name) if not combining(one))
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", bare.strip())
    return re.sub(r"[^a-z0-9]+", "_", apart.casefold()).strip("_").split("_")
