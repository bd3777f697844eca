"""What a repair or an archive came to, for people and for programs."""

from __future__ import annotations

from typing import Protocol

from matrix.model.records import JSON
from matrix.report.text import columns
from matrix.store.upkeep.archive import Packed
from matrix.store.upkeep.repair import Repaired
from matrix.store.upkeep.sweeping import Swept


class KeptRun(Protocol):
    """A run that was archived or restored."""

    @property
    def run_id(self) -> str: ...

    @property
    def packed(self) -> Packed: ...

    @property
    def swept(self) -> Swept: ...


def repaired_as_text(done: Repaired) -> str:
    """A line per table: what it was like, and how many rows it has now."""
    rows = [[name, f"{count:,}", done.found[name]] for name, count in done.rows.items()]
    table = columns(["table", "rows now", "found"], rows, right=[1])
    return (
        f"{table}\nmade again from {done.entries:,} journal entries; {done.turns:,} turns were "
        "played (a row of turns is a checkpoint:\nstarts, ends and what a session has from its "
        "parent are rows, too)"
    )


def repaired_as_data(done: Repaired) -> JSON:
    """The same for programs."""
    return {
        "found": dict(done.found),
        "rows": dict(done.rows),
        "entries": done.entries,
        "turns_played": done.turns,
    }


def kept_as_text(kept: KeptRun, *, restored: bool) -> str:
    """One line: the run, what was done and the bytes of it."""
    journal, archive = (f"{size / 1e3:,.0f} kB" for size in kept.packed)
    if restored:
        return f"{kept.run_id}: restored, {archive} to {journal}"
    left = kept.swept
    told = f"; {left.blobs:,} files that nothing named removed ({left.size / 1e3:,.0f} kB)"
    return f"{kept.run_id}: archived, {journal} to {archive}{told if left.blobs else ''}"


def kept_as_data(kept: KeptRun) -> JSON:
    """The same for programs."""
    swept = {"swept_files": kept.swept.blobs, "swept_bytes": kept.swept.size}
    return {"run_id": kept.run_id, **kept.packed._asdict(), **swept}
