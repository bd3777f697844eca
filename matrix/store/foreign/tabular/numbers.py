"""Numbers as files of results write them: plain ones, and the words for right and wrong."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from math import isfinite
from shlex import quote
from typing import Final

from matrix.model.lines import in_line
from matrix.model.metrics import MOST_NUMBER
from matrix.store.foreign.results import shown
from matrix.store.foreign.tabular.names import MISSING, NO, RIGHT, WRONG, YES, spoken
from matrix.store.foreign.tabular.statuses import meaning_of

_NUMBER: Final = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?")
_LONGEST: Final = 60


_YES_NO: Final = (
    YES | NO | {"pass", "passed", "fail", "failed", "correct", "incorrect", "right", "wrong"}
)
"""Words of a metric for 1 and 0: those of a score that are no kind of anything else."""


_OF_FAILURES: Final = (
    "; say --failed {} where the variant failed; leave the score empty where only the score is "
    "missing, and write 0 where an answer was wrong"
)
_NO_RESULT: Final = "; leave rows of no result out, or their scores empty"


def metric_of(cell: object) -> float | str | None:
    """A metric's number, as :func:`number_of` reads it; yes is 1 and no 0, and 85% is .85."""
    if isinstance(cell, str) and (low := cell.strip().casefold()) in _YES_NO:
        return float(low in RIGHT)
    return number_of(cell, percent=True)


def score_of(cell: object, failed: Collection[str] = ()) -> float | str | None:
    """A score's number, with words for 1 and 0 and percentages; ``None`` for words of ``failed``.

    Args:
        cell: As a file has it.
        failed: Words that the user calls failures, as ``spoken`` writes them.
    """
    return None if says_failed(cell, failed) else number_of(cell, words=True, percent=True)


def says_failed(cell: object, failed: Collection[str]) -> bool:
    """Whether a score's cell is a word that the user calls a failure, and no score by itself."""
    if not isinstance(cell, str) or not failed:
        return False
    return spoken(cell) in failed and cell.strip().casefold() not in _WORDS | MISSING


def words_among_numbers(cells: Iterable[object]) -> str:
    """A word for yes or no in a column that has other numbers than 0 and 1; empty for none.

    What it is worth there, nobody can tell.
    """
    word, number = "", False
    for cell in cells:
        if isinstance(cell, bool) or (isinstance(cell, str) and cell.strip().casefold() in _WORDS):
            word = word or str(cell).strip()
        elif not number:
            found = number_of(cell, words=True, percent=True)
            number = isinstance(found, float) and found not in (0.0, 1.0)
        if word and number:
            return word
    return ""


_WORDS: Final = RIGHT | WRONG


def number_of(cell: object, *, words: bool = False, percent: bool = False) -> float | str | None:
    """A cell's number, ``None`` where it has no value, or in words why it is neither.

    Args:
        cell: As a file has it: text, number, truth value or nothing.
        words: Whether words for right and wrong are 1 and 0.
        percent: Whether 85% is .85.
    """
    if cell is None:
        return None
    if isinstance(cell, bool):
        return float(cell)
    if isinstance(cell, int | float):
        return _finite(float(cell), str(cell)) if abs(cell) < MOST_NUMBER else _odd(cell)
    if not isinstance(cell, str):
        return "is no number but a list or an object"
    text = cell.strip()
    if len(text) > _LONGEST:
        return f"found {shown(text, 20)}, {len(text):,} characters; a number has {_LONGEST} at most"
    low = text.casefold()
    if low in MISSING:
        return None
    if words and low in RIGHT | WRONG:
        return float(low in RIGHT)
    if percent and is_percent(text) and _NUMBER.fullmatch(share := text[:-1].rstrip()):
        found = _finite(float(share), text)
        return found if isinstance(found, str) else found / 100
    if _NUMBER.fullmatch(text):
        return _finite(float(text), text)
    if low.lstrip("+-") in ("nan", "inf", "infinity"):
        return f"found {text}, which no mean can be made of; leave it empty where there is no value"
    hint = ""
    if "," in text:
        hint = "; write it as in 1096.5, a point before decimals and nothing between thousands"
    if is_percent(text):
        hint = "; a percent sign is read in scores and metrics only"
    if words:
        meaning = meaning_of(text, "")
        hint = _OF_FAILURES.format(quote(in_line(text))) if meaning == "broke" else hint
        hint = _NO_RESULT if meaning == "no result" else hint
    if words and not hint and not any(letter.isdigit() for letter in text):
        hint = "; known words: true, yes, y, pass, correct, ok, ✓, and those for their opposites"
    return f"found {shown(text)}, which is no number{hint}"


def is_percent(cell: object) -> bool:
    """Whether a cell ends in a percent sign."""
    return isinstance(cell, str) and cell.rstrip().endswith("%")


def _odd(cell: int | float) -> str:
    if isinstance(cell, float) and cell != cell:
        return "found nan, which no mean can be made of; leave it empty where there is no value"
    return f"found a number beyond {MOST_NUMBER:g}, which nothing can be made of"


def _finite(value: float, text: str) -> float | str:
    if isfinite(value) and abs(value) < MOST_NUMBER:
        return value
    return f"found {shown(text, 20)}, a number beyond {MOST_NUMBER:g}, which nothing can be made of"
