"""More rounds for a run that was played already, where its comparison allows that."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from matrix.engine.prepare.prepared import Prepared
from matrix.model.documents.overrides import Override
from matrix.model.errors import BadInput, Mistake
from matrix.model.spec.run_spec import RunSpec
from matrix.store.journal.journal import newest_look

COUNTS = (("sessions",), ("per_cell",))
"""What of the spec says how many sessions are played."""


def extended(prepared: Prepared, run_dir: Path, overrides: Iterable[Override]) -> Prepared:
    """A prepared run with the sessions that its spec asks for now.

    A comparison that was planned for a number of rounds errs more often than it says if rounds
    are added once it has been looked at (8.3 % instead of 5 % for one doubling); only the
    open-ended engine allows that.

    Raises:
        BadInput: Fewer sessions than planned, or more than the comparison allows.
    """
    origins = [origin for path, value, origin in overrides if path in COUNTS and value is not None]
    spec, planned, cells = prepared.spec, prepared.plan.sessions, len(prepared.plan.cells)
    requested = spec.sessions or (spec.per_cell or 0) * cells
    if not origins or requested == planned:
        return prepared
    if why := _refused(prepared, run_dir, requested):
        raise BadInput([Mistake(origins[-1], None, "", f"found {_count(spec)}; {why}")])
    return replace(prepared, plan=replace(prepared.plan, sessions=requested))


def _count(spec: RunSpec) -> str:
    return f"{spec.sessions or spec.per_cell:,}"


def _refused(prepared: Prepared, run_dir: Path, requested: int) -> str:
    """Why a run cannot go on to so many sessions; empty if it can."""
    planned = f"{prepared.plan.sessions:,} sessions"
    if prepared.plan.continued is not None:
        return f"a branched run has the {planned} it was planned with; branch again for more"
    if requested < prepared.plan.sessions:
        return f"the run was planned with {planned}, and what was planned is never taken back"
    if prepared.compare_factor is None:
        return ""
    engine = prepared.spec.engine
    if engine != "open-ended":
        return (
            f"its comparison was planned for {planned} ({engine} engine), and adding more "
            "after looking would make it err more often than it says; start a new run, with "
            "`compare.engine: open-ended` if rounds may be added"
        )
    look = newest_look(run_dir)
    if look is None or not look.decided:
        return ""
    return f"it was decided after round {look.rounds}, so nothing more is played"
