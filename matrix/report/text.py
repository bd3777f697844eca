"""Plain text for terminals, logs and pasted messages: columns, numbers, durations."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from math import floor, inf, log10
from typing import TYPE_CHECKING, Final, NamedTuple

from matrix.model.decimals import in_digits
from matrix.model.lines import harmless as harmless
from matrix.model.lines import in_line
from matrix.model.records import JSON, Message

if TYPE_CHECKING:
    from matrix.stats.estimates.interval import Interval

WIDTH = 100
"""Columns that text is wrapped to where nothing says how wide the terminal is."""

_LONGEST_REASON: Final = 300
"""Characters of a reason that are told in one line."""
_SMALL_RANGE: Final = 2.0
_SMALL_COST: Final = 0.001
_MOST_DIGITS: Final = 9


def columns(
    headers: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()
) -> str:
    """A table with two spaces between columns; ``right`` lists right-aligned columns."""
    lines = [[in_line(cell) for cell in row] for row in (headers, *rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(headers))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def facts(rows: Sequence[tuple[str, str]], *, indent: str = "  ", width: int = WIDTH) -> str:
    """Labelled lines, labels in one column; long ones go on under their text."""
    column = max(len(label) for label, _ in rows)
    return "\n".join(
        wrapped(text, f"{indent}{label.ljust(column)}  ", width=width).rstrip()
        for label, text in rows
    )


def wrapped(text: str, start: str = "", *, width: int = WIDTH) -> str:
    """``start`` and ``text``, broken at spaces and indented as far as ``start`` is long."""
    filled = textwrap.fill(
        text,
        max(width, len(start) + 20),
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return filled or start.rstrip()


class Section(NamedTuple):
    """A table with what has to be known to read it, for text and for pages.

    Attributes:
        title: One line; empty where what is above says it.
        headers: Of the columns.
        rows: Cells; none, where the title says all there is.
        right: Columns of figures.
        notes: Sentences below it.
    """

    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[int] = ()
    notes: Sequence[str] = ()

    def as_text(self, width: int) -> str:
        """For a terminal."""
        table = [columns(self.headers, self.rows, right=self.right)] if self.rows else []
        notes = [wrapped(note, "  ", width=width) for note in self.notes if note]
        title = [wrapped(self.title, width=width)] if self.title else []
        return "\n".join([*title, *table, *notes])


def number(value: float | None, digits: int = 1) -> str:
    """A number, or a dash where there is none."""
    return "-" if value is None else in_digits(value, digits)


def usd_each(value: float | None) -> str:
    """Dollars of one session, without the sign: four decimals, or two figures where it is less.

    >>> usd_each(0.0123), usd_each(0.0000123), usd_each(None)
    ('0.0123', '0.000012', '-')
    """
    if value is None:
        return "-"
    small = 0.0 < value < _SMALL_COST
    return f"{value:.{1 - floor(log10(value)) if small else 4}f}"


def interval(low: float | None, high: float | None, digits: int = 1) -> str:
    """``low to high``, or a dash."""
    if low is None or high is None:
        return "-"
    return f"{in_digits(low, digits)} to {in_digits(high, digits)}"


def digits_shown(least: int, low: float | None, high: float | None) -> int:
    """Decimals that show an interval's width in two figures, and at least so many.

    >>> digits_shown(1, 75.2, 76.8), digits_shown(1, 0.716, 0.771), digits_shown(3, 0.2, 0.9)
    (1, 3, 3)
    """
    if low is None or high is None or not 0.0 < high - low < inf:
        return least
    return max(least, min(_MOST_DIGITS, 1 - floor(log10(high - low))))


def with_interval(
    value: float | None, low: float | None, high: float | None, digits: int, sign: str = ""
) -> tuple[str, str]:
    """A mean or a difference and its interval, in the same decimals: at least ``digits``."""
    wanted = digits_shown(digits, low, high)
    told = "-" if value is None else in_digits(value + 0.0, wanted, sign)
    return told, interval(low, high, wanted)


def ends_of(found: Interval | None) -> tuple[float | None, float | None]:
    """The ends of an interval; ``None`` twice without one."""
    return (None, None) if found is None else (found.low, found.high)


def ends_as_data(found: Interval | None) -> dict[str, JSON]:
    """The ends of an interval for programs; ``None`` twice without one."""
    if found is None:
        return {"low": None, "high": None}
    return {"low": found.low, "high": found.high}


def score_digits(score_range: tuple[float, float] | None) -> int:
    """Decimals of a score: one of points, three where all of it lies between 0 and 1 or so."""
    small = score_range is not None and score_range[1] - score_range[0] <= _SMALL_RANGE
    return 3 if small else 1


def metric_value(metric: str, value: float, *, signed: bool = False, score: int = 1) -> str:
    """A value of a metric, or with its sign a difference of two.

    ``score`` is how many decimals a score has, as :func:`score_digits` says.
    """
    sign = "+" if signed else ""
    if metric == "score":
        return in_digits(value, score, sign)
    return f"{value:{sign},.0f}" if abs(value) >= 1000 else f"{value:{sign}.3g}"


def names_listed(names: Sequence[str], most: int = 3) -> str:
    """Some names: ``a, b and c``, ``a, b, c and 4 more``."""
    shown, left = list(names[:most]), len(names) - most
    if left > 0:
        return f"{', '.join(shown)} and {left} more"
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def duration(seconds: float) -> str:
    """Seconds as people say them: ``42 s``, ``3 min 20 s``, ``2 h 5 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    minutes = whole % 3600 // 60
    return f"{whole // 3600} h {minutes} min" if minutes else f"{whole // 3600} h"


def about(seconds: float) -> str:
    """A rough time in one figure or two: ``30 s``, ``4 min``, ``3 h``."""
    if seconds < 90:
        return f"{max(10, round(seconds, -1)):.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.0f} h"


def tokens(count: int) -> str:
    """A number of tokens in three figures or so: ``980``, ``36 k``, ``1.2 M``."""
    if count < 1000:
        return f"{count}"
    return f"{count / 1e3:,.0f} k" if count < 999_500 else f"{count / 1e6:,.1f} M"


def plural(count: int, noun: str, many: str | None = None) -> str:
    """``1 round``, ``25 rounds``."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def one_line(reason: str) -> str:
    """A reason in one line that drives no terminal; of a defect, the line that sums it up."""
    first, _, rest = reason.partition("\n")
    told = first if rest.startswith("Traceback (") else reason
    told = harmless(" ".join(told.split()))
    return told if len(told) <= _LONGEST_REASON else told[: _LONGEST_REASON - 3] + "..."


def aside_of(message: Message) -> str:
    """`` (aside, Ada)`` for what only Ada hears or says; empty for what all hear."""
    return f" (aside, {message.heard_by})" if message.heard_by else ""


def noted(words: str) -> str:
    """Words in brackets after what they are about; nothing for none."""
    return f" ({words})" if words else ""


def models_told(simulation: str) -> str:
    """``simulated`` by itself, as part of a list: whose word it is."""
    return "simulated models" if simulation == "simulated" else simulation
