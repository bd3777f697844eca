"""Gates of runs: checked before anything starts, decided afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from matrix.api.runs.run_descriptions import run_file
from matrix.engine.prepare.prepared import Prepared
from matrix.model.documents.mistakes import Mistakes, together
from matrix.model.errors import BadInput, Mistake, RunNotFound
from matrix.model.metrics import FAILED
from matrix.report.gates.gate_wish import LATEST, GateWish, read_wish
from matrix.report.gates.gating import GateReport, check_wish, gate, no_margin
from matrix.store.reading.reader import RunTables
from matrix.store.run.made_here import NOT_MADE_HERE, is_made_here
from matrix.store.run.run_folder import (
    GateFound,
    RunFile,
    find_run,
    read_run,
    write_run,
)
from matrix.store.shared.namesakes import newest_complete

if TYPE_CHECKING:
    from matrix.api.opened import Run
    from matrix.report.run.summary import Summary

THIS_RUN = "this-run"
"""What a run that has no id yet is called."""

LATER = datetime.max.replace(tzinfo=UTC)
"""When it will have been created."""


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
    allow_errored: float | None,
    results: str | Path,
) -> GateWish:
    """Read the options of gates; see `matrix.report.gates.gate_wish.read_wish`.

    Raises:
        BadInput: Every mistake, an unknown baseline among them.
    """

    def known() -> None:
        mistakes = _found(baseline, results)[1]
        if mistakes:
            raise BadInput(mistakes)

    def read() -> GateWish:
        return read_wish(baseline, margin, thresholds, fail_on, allow_errored)

    return together(known, read)[1]


def check_gates(wish: GateWish, run: Prepared | RunFile, results: str | Path) -> Gates:
    """Find every mistake in what gates ask for, before anything starts.

    Args:
        wish: The gates.
        run: A run that could start, or the file of one that did.
        results: Folder of runs, where the baseline is looked for.

    Raises:
        BadInput: Every mistake, an unknown baseline among them.
    """
    # later than every run there is, whatever clock those were dated by
    file = run_file(run, THIS_RUN, LATER) if isinstance(run, Prepared) else run
    wish, first_of_all = _latest_named(wish, file, Path(results))
    found, unknown = _found(wish.baseline, results)
    mistakes = Mistakes()
    mistakes.add(unknown)
    notes = mistakes.collect(lambda: check_wish(wish, file, _opened_or_none(found)))
    mistakes.stop_if_any()
    told = [] if first_of_all else _from_elsewhere(found)
    return Gates(wish, found, (*first_of_all, *told, *(notes or ())))


def keep_gate(run: Run, report: GateReport) -> Summary:
    """Write what the gates of a run that is over came to into its ``run.json``.

    Returns:
        Its summary, with that in it.

    Raises:
        StoreError: The run's folder cannot be written.
    """
    summary = summary_with(run, report)
    file = read_run(run.path)
    write_run(run.path, file.model_copy(update={"gate": summary.run.gate}))
    return summary


def summary_with(run: Run, report: GateReport) -> Summary:
    """The summary of a run with what its gates came to."""
    summary = run.summary()
    found = GateFound(failed=report.failed, lines=tuple(report.lines), at=datetime.now(UTC))
    return replace(summary, run=summary.run.model_copy(update={"gate": found}))


def baseline_of(run: Run) -> str:
    """The path of the run that ``latest`` means for one that has been played.

    Raises:
        BadInput: There is none.
    """
    found = newest_complete(run.path.parent, run.file)
    if found is None:
        told = f"no complete run of the name {run.file.name!r} came before {run.id}"
        raise BadInput([Mistake("--baseline", None, "", told)])
    return str(found.path)


def _latest_named(wish: GateWish, run: RunFile, results: Path) -> tuple[GateWish, list[str]]:
    """The wish with the run that ``latest`` means; without a baseline, and why, if there is none.

    Raises:
        BadInput: There is no margin: that is told on the first night, and not on the second.
    """
    if wish.baseline != LATEST:
        return wish, []
    if wish.margin_for(run.run_spec) is None and wish.metric != FAILED:
        raise BadInput([Mistake("--baseline", None, "", no_margin(run))])
    found = newest_complete(results, run)
    if found is not None:
        told = f"held against {found.file.run_id}, the newest complete run of the name {run.name!r}"
        if not is_made_here(found.path, found.file):
            told += f", in {found.path}: not a run of this user's here, or changed since it was"
        return replace(wish, baseline=str(found.path)), [told]
    models = "simulated" if run.play_money else "real"
    told = (
        f"no complete run of the name {run.name!r} on {models} models is in {results} yet: nothing "
        "to be held against, so this run is played without that gate, and can be the next one's "
        "baseline"
    )
    return replace(wish, baseline=None), [told]


def _from_elsewhere(baseline: Path | None) -> list[str]:
    """That the baseline that was named is somebody else's, if it is."""
    if baseline is None or is_made_here(baseline, file := read_run(baseline)):
        return []
    return [f"the baseline {file.run_id} {NOT_MADE_HERE}"]


def _found(baseline: str | None, results: str | Path) -> tuple[Path | None, list[Mistake]]:
    if baseline is None or baseline == LATEST:
        return None, []
    try:
        return find_run(Path(results), baseline), []
    except RunNotFound as error:
        return None, [Mistake("--baseline", None, "", str(error))]


def _opened(path: Path) -> tuple[RunTables, RunFile]:
    return RunTables(path), read_run(path)


def _opened_or_none(path: Path | None) -> tuple[RunTables, RunFile] | None:
    return None if path is None else _opened(path)
