"""Replays from exported checkpoints: from a file, without the run that it is from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from matrix.api.opened import RESULTS, Run
from matrix.api.sessions.branching import start_branching
from matrix.api.sessions.choosing import Branching, go_on, replay_of
from matrix.api.sessions.exporting import read_checkpoint
from matrix.engine.continuation.checkpoint_reading import moment_in
from matrix.engine.executors.executor import AUTO, AnyExecutor
from matrix.engine.run.progress import Listener
from matrix.model.documents.mistakes import together
from matrix.model.documents.overrides import Override
from matrix.model.moments.checkpoint import Checkpoint
from matrix.model.records import JSON


def plan_replay_checkpoint(
    checkpoint: Checkpoint | str | Path,
    *,
    project: str | Path = ".",
    changes: Mapping[str, JSON] | None = None,
    times: int = 1,
    max_cost: float | None = None,
    trust: bool = False,
    overrides: Iterable[Override] = (),
) -> Branching:
    """Check a replay from a file, without starting anything, as :func:`replay_checkpoint` does.

    Raises:
        BadInput: Every mistake.
    """
    requested, moment = together(
        lambda: replay_of(changes, times),
        lambda: moment_of_file(checkpoint, Path(project)),
    )
    elsewhere = "" if isinstance(checkpoint, Checkpoint) else str(checkpoint)
    found = go_on(
        [moment],
        requested,
        Path(project),
        max_cost,
        overrides,
        elsewhere=elsewhere,
        trust=trust,
    )
    return Branching(found)


def replay_checkpoint(
    checkpoint: Checkpoint | str | Path,
    *,
    project: str | Path = ".",
    changes: Mapping[str, JSON] | None = None,
    times: int = 1,
    max_cost: float | None = None,
    trust: bool = False,
    results: str | Path = RESULTS,
    run_id: str | None = None,
    executor: AnyExecutor = AUTO,
    listener: Listener | None = None,
    overrides: Iterable[Override] = (),
) -> Run:
    """:func:`replay` from a file that :func:`matrix.export` wrote, here or on another machine.

    Args:
        checkpoint: The file, or a checkpoint in hand.
        project: Folder whose packs come first, for what changes.
        changes: As :func:`replay`.
        times: How often it is played.
        max_cost: Hard cap in US dollars; needed where real models are asked, as a cap that a
            file says is none of its user's.
        trust: Do what the file names: send keys and words to its addresses, run its programs,
            count at its prices.
        results: Folder of runs.
        run_id: Name of the new run; made up if left out.
        executor: ``auto``, ``ray``, ``in-process``, or an :class:`ExecutorChoice`.
        listener: Told about progress.
        overrides: Ready-made overrides of limits, over everything else.

    Raises:
        BadInput: Anything wrong with the file or the input; nothing was started.
        StoreError: A folder cannot be used.
    """
    planned = plan_replay_checkpoint(
        checkpoint,
        project=project,
        changes=changes,
        times=times,
        max_cost=max_cost,
        trust=trust,
        overrides=overrides,
    )
    return start_branching(planned, results, run_id, executor, listener)


def moment_of_file(checkpoint: Checkpoint | str | Path, project: Path) -> Checkpoint:
    """The moment that an exported file holds, or the one in hand.

    Raises:
        BadInput: It is no such file, or none that can be gone on from.
    """
    if isinstance(checkpoint, Checkpoint):
        return checkpoint
    return moment_in(read_checkpoint(checkpoint), str(checkpoint), project)
