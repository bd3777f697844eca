"""Tables of results as strangers have them, for `matrix import`."""

from __future__ import annotations

import csv
import random
from collections.abc import Iterable, Sequence
from pathlib import Path


def write_csv(path: Path, headers: Sequence[str], rows: Iterable[Sequence[object]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(headers)
        writer.writerows(rows)
    return path


def paired(lead: float, units: int = 60) -> list[list[object]]:
    """Two variants on the same units, the second better by ``lead``."""
    draws, rows = random.Random(1), list[list[object]]()
    for unit in range(units):
        base = draws.gauss(60, 15)
        rows += [
            [f"q{unit}", model, round(base + more + draws.gauss(0, 6), 2), 0.002, 40 + unit]
            for model, more in (("a", 0.0), ("b", lead))
        ]
    return rows


HEADERS = ("question_id", "model", "score", "cost_usd", "words")
