"""Runs of one name in a results folder: a series, of which each is held against the one before."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from matrix.model.records import PLAYED
from matrix.store.run.run_folder import RunFile, list_runs


class Namesake(NamedTuple):
    """A run of the name, and its folder."""

    path: Path
    file: RunFile


def namesakes(results_dir: Path, name: str, *, simulated: bool) -> list[Namesake]:
    """Every run of a name, oldest first.

    Args:
        results_dir: Folder of runs.
        name: Name from the run spec.
        simulated: Whether runs on simulated models are meant, or those on real ones: a rehearsal
            says nothing about what it rehearses.

    Returns:
        The runs; replays and branches, which have their parent's name, are none of the series.
    """
    return [
        Namesake(listed.path, listed.run)
        for listed in list_runs(results_dir)
        if listed.run is not None
        and (listed.run.name, listed.run.play_money) == (name, simulated)
        and listed.run.branched is None
    ]


def newest_complete(results_dir: Path, run: RunFile) -> Namesake | None:
    """The newest run of the same name before ``run`` that is complete and has anything to show."""
    before = [
        one
        for one in namesakes(results_dir, run.name, simulated=run.play_money)
        if one.file.created_at < run.created_at
        and one.file.run_id != run.run_id
        and one.file.status == "complete"
        and _has_ends(one.file)
    ]
    return before[-1] if before else None


def _has_ends(run: RunFile) -> bool:
    """Whether any session came to an end of its own, and not only to an error around it."""
    outcomes = {} if run.totals is None else run.totals.outcomes
    return any(outcomes.get(outcome, 0) for outcome in PLAYED)
