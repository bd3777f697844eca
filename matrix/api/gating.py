"""Gates of runs: checked before anything starts, decided afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from matrix.api.describing import run_file
from matrix.engine.mistakes import together
from matrix.engine.prepared import Prepared
from matrix.model.errors import BadInput, Mistake, RunNotFound
from matrix.report.gating import GateReport, GateWish, check_wish, gate, read_wish
from matrix.store.reader import RunTables
from matrix.store.run_folder import RunFile, find_run, read_run

if TYPE_CHECKING:
    from matrix.api.opened import Run

THIS_RUN = "this run"
"""What a run that has no id yet is called."""


@dataclass(frozen=True, slots=True)
class Gates:
    """Gates that can be decided.

    Attributes:
        wish: What is asked for.
        baseline: The folder of the baseline run: the run that was meant when they were checked.
        notes: Why there will not be enough data, where that is known before the start.
    """

    wish: GateWish
    baseline: Path | None
    notes: tuple[str, ...]

    def decide(self, run: Run) -> GateReport:
        """Decide them for a run, finished or not.

        Raises:
            BadInput: There is no such metric, or it has no margin.
        """
        return gate(self.wish, _opened(run.path), _opened_or_none(self.baseline))


def wanted_gates(
    baseline: str | None,
    margin: float | None,
    thresholds: Sequence[str],
    fail_on: Sequence[str],
    results: str | Path,
) -> GateWish:
    """Read the options of gates; see `matrix.report.gating.read_wish`.

    Raises:
        BadInput: Every mistake, an unknown baseline among them.
    """

    def known() -> None:
        mistakes = _found(baseline, results)[1]
        if mistakes:
            raise BadInput(mistakes)

    return together(known, lambda: read_wish(baseline, margin, thresholds, fail_on))[1]


def check_gates(wish: GateWish, run: Prepared | RunFile, results: str | Path) -> Gates:
    """Find every mistake in what gates ask for, before anything starts.

    Args:
        wish: The gates.
        run: A run that could start, or the file of one that did.
        results: Folder of runs, where the baseline is looked for.

    Raises:
        BadInput: Every mistake, an unknown baseline among them.
    """
    file = run_file(run, THIS_RUN, datetime.now(UTC)) if isinstance(run, Prepared) else run
    found, unknown = _found(wish.baseline, results)
    try:
        notes = check_wish(wish, file, _opened_or_none(found))
    except BadInput as error:
        unknown += error.mistakes
    if unknown:
        raise BadInput(unknown)
    return Gates(wish, found, tuple(notes))


def _found(baseline: str | None, results: str | Path) -> tuple[Path | None, list[Mistake]]:
    if baseline is None:
        return None, []
    try:
        return find_run(Path(results), baseline), []
    except RunNotFound as error:
        return None, [Mistake("--baseline", None, "", str(error))]


def _opened(path: Path) -> tuple[RunTables, RunFile]:
    return RunTables(path), read_run(path)


def _opened_or_none(path: Path | None) -> tuple[RunTables, RunFile] | None:
    return None if path is None else _opened(path)
