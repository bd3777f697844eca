"""What a benchmark gives back: named figures with units, and how they are shown and saved."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import orjson

_MIB = 1024 * 1024


class Figure(NamedTuple):
    """One measured number.

    Attributes:
        name: What was measured.
        value: The number, in ``unit``; of repeated measurements, their median.
        unit: ``calls/s``, ``s``, ``MiB``, ``ratio`` ...
        how: The command or the way it was measured.
        goal: What the number is meant to be, e.g. ``>= 1,000``; empty where nothing was promised.
    """

    name: str
    value: float
    unit: str
    how: str = ""
    goal: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """The figures of one benchmark, and the command that makes exactly these."""

    title: str
    command: str
    figures: list[Figure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, name: str, value: float, unit: str, how: str = "", goal: str = "") -> None:
        """Append a figure."""
        self.figures.append(Figure(name, value, unit, how, goal))

    def note(self, text: str) -> None:
        """Append a remark that goes under the table."""
        self.notes.append(text)

    def value(self, name: str) -> float:
        """The value of the figure of this name.

        Raises:
            KeyError: There is none.
        """
        for figure in self.figures:
            if figure.name == name:
                return figure.value
        raise KeyError(name)


class Benchmark(NamedTuple):
    """A section that can be asked for: it fills a :class:`Section`, given what to measure."""

    title: str
    measure: Callable[[Any, Section], None]


def mebibytes(size: float) -> float:
    """Bytes as MiB."""
    return size / _MIB


def rendered(section: Section) -> str:
    """The section as a table for people."""
    lines = ["", section.title, f"  $ {section.command}", ""]
    rows = [(f.name, _number(f.value), f.unit, f.goal, f.how) for f in section.figures]
    header = ("figure", "value", "unit", "goal", "how")
    lines += _table(header, rows)
    lines += [f"  {note}" for note in section.notes]
    return "\n".join(lines)


def document(sections: Sequence[Section], seconds: float) -> bytes:
    """Every section as JSON, with the machine they were measured on."""
    return orjson.dumps(
        {
            "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": round(seconds, 1),
            "machine": machine(),
            "sections": [
                {
                    "title": section.title,
                    "command": section.command,
                    "figures": [figure._asdict() for figure in section.figures],
                    "notes": section.notes,
                }
                for section in sections
            ],
        },
        option=orjson.OPT_INDENT_2,
    )


def machine() -> dict[str, object]:
    """What the figures depend on: processors, memory, Python, and how busy the machine was."""
    return {
        "cpus": os.cpu_count(),
        "processor": _first_value(Path("/proc/cpuinfo"), "model name"),
        "memory": _first_value(Path("/proc/meminfo"), "MemTotal"),
        "system": platform.platform(),
        "python": platform.python_version(),
        "bytecode": "compiled anew by every process" if sys.dont_write_bytecode else "kept",
        "load_1_min": round(os.getloadavg()[0], 2),
    }


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, tuple("-" * width for width in widths), *rows]:
        cells = (
            cell.rjust(width) if index == 1 else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield ("  " + "  ".join(cells)).rstrip()


def _number(value: float) -> str:
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


def _first_value(path: Path, key: str) -> str:
    if not path.is_file():
        return ""
    with path.open() as lines:
        found = (line.partition(":")[2].strip() for line in lines if line.startswith(key))
        return next(found, "")
