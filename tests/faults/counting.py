"""Counts what fault tests did: kills, resumes, calls looked at, runs compared.

Counts travel in the reports of the tests, so that they are whole whoever ran a test, and
``conftest.py`` prints them at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from matrix.model.entries import Settled
from tests.faults.laws import assert_whole, entries_in

_HURT, _RESUMES, _CALLS, _RUNS = "hurt", "resumes", "calls", "runs"

KILLS = ("SIGKILL", "SIGSTOP")
"""Signals that count as kills: a stopped process is as silent as a dead one."""


class Chaos:
    """What one test did."""

    def __init__(self, record: Callable[[str, object], None]) -> None:
        self._record = record

    def hurt(self, place: str, how: str) -> None:
        """A process was hurt; ``place`` may end with a number, ``how`` is a signal or a fault."""
        self._record(f"{_HURT} {place.rstrip('-0123456789')} {how}", 1)

    def resumed(self) -> None:
        """``matrix resume`` was given a run that had been hurt."""
        self._record(_RESUMES, 1)

    def whole(self, run_dir: Path, undisturbed: Path) -> None:
        """The run is whole (asserted here) and equal to the undisturbed one."""
        assert_whole(run_dir, undisturbed)
        self.checked(run_dir)

    def checked(self, run_dir: Path) -> None:
        """The run's journal was held against the laws."""
        answered = (e for e in entries_in(run_dir) if isinstance(e, Settled) and e.answer)
        self._record(_CALLS, sum(1 for _ in answered))
        self._record(_RUNS, 1)


@pytest.fixture
def chaos(record_property: Callable[[str, object], None]) -> Chaos:
    """Counts what this test does."""
    return Chaos(record_property)


def lines(reports: Iterable[pytest.TestReport]) -> list[str]:
    """What these tests did, in words; nothing if they hurt nobody."""
    counts: Counter[str] = Counter()
    for report in reports:
        for name, value in report.user_properties:
            if isinstance(value, int):
                counts[name] += value
    hurt = {tuple(name.split()[1:]): n for name, n in counts.items() if name.startswith(_HURT)}
    if not hurt:
        return []
    kills = sum(n for (_, how), n in hurt.items() if how in KILLS)
    by_kind = [f"  {n:5} {place:12} {how}" for (place, how), n in sorted(hurt.items())]
    rest = (
        f"{counts[_RESUMES]} resumes; {counts[_CALLS]:,} calls checked in "
        f"{counts[_RUNS]} runs that were compared with undisturbed ones"
    )
    return [f"{kills} kills", *by_kind, rest]
