"""A run's sessions in groups: what ``matrix show --by`` tells."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from matrix.api.opened import NEWEST, RESULTS, Run, open_run
from matrix.model.errors import BadInput, KindUnusable, Mistake
from matrix.store.reading.reader import RunTables

if TYPE_CHECKING:
    from matrix.kinds.protocol import Kind
    from matrix.report.groups.told import Aggregates

ALL = "all"
"""Stands for everything that sessions can be divided by."""


def aggregates(
    run: str | Path | Run = NEWEST,
    *,
    by: Sequence[str] = (ALL,),
    top: int = 5,
    since: str | Path | None = None,
    results: str | Path = RESULTS,
) -> Aggregates:
    """Averages of every metric by group, ranks, and every issue with its turn and quote.

    Args:
        run: The run: id, beginning of one, path, or ``last``.
        by: What to divide by: ``scenario``, a factor, or what else the kind divides by, as
            play-tests by who plays; ``all`` there is.
        top: How many of the best and of the worst sessions, from 1.
        since: An earlier run: which issues are new, gone or still there since.
        results: Folder of runs.

    Raises:
        RunNotFound: No such run.
        BadInput: Nothing is called so, or ``top`` is below 1.
        StoreError: A table cannot be read.
    """
    from matrix.kinds.reporting import CountsOnly, GroupsSessions
    from matrix.report.groups.told import aggregates_of

    if top < 1:
        raise BadInput([Mistake("--top", None, "", f"found {top}; a whole number from 1")])
    opened = run if isinstance(run, Run) else open_run(run, results=results)
    before = None if since is None else RunTables(open_run(since, results=results).path)
    kind, lower = _kind_of(opened)
    return aggregates_of(
        RunTables(opened.path),
        lower,
        kind if isinstance(kind, GroupsSessions) else None,
        None if ALL in by else tuple(by),
        top,
        before,
        kind.undirected if isinstance(kind, CountsOnly) else (),
    )


def _kind_of(run: Run) -> tuple[Kind | None, frozenset[str]]:
    """The kind of a run, if it can be had, and the scores of which less is better."""
    from matrix.engine.prepare.judges import lower_is_better_of
    from matrix.engine.prepare.registry import scoring_kind

    file = run.file
    kind: Kind | None = None
    with suppress(KindUnusable):
        kind = scoring_kind(file.kind, file.run_spec.options, kept=file.kind_facts)
    return kind, lower_is_better_of(file.run_spec, kind)
