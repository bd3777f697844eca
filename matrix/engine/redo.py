"""Before a run is taken up again: does the code still fit the sessions that it left open?

A checkpoint carries the versions of its kind and of its state. If the code has changed, what was
answered since the checkpoint may belong to requests that would not be made any more. The remedy is
to redo the turn in flight: to play on from the checkpoint with new calls. What was answered stays
paid and is superseded, which the journal says by an entry of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from matrix.kinds.protocol import Kind
from matrix.model.entries import Ended, Entry, Opened, TurnDone
from matrix.model.errors import DigestMismatch, StateMismatch
from matrix.model.records import SessionPlan
from matrix.store.codec import ENDED, OPENED, TURN_DONE
from matrix.store.journal import JOURNAL_NAME, JournalReader, JournalWriter

_BROUGHT_BACK = DigestMismatch.__name__
"""How sessions end whose recorded answers belong to other requests: redoing the turn heals that."""


@dataclass(slots=True)
class LeftOpen:
    """A session that is to go on: its newest checkpoint, and whether its turn was begun anew."""

    plan: SessionPlan | None = None
    checkpoint: TurnDone | None = None
    redone: bool = False
    ended: Ended | None = field(default=None)

    def take(self, entry: Entry) -> None:
        """Take in the session's next entry."""
        match entry:
            case Opened():
                self.plan, self.ended = entry.plan, None
                self.redone = self.redone or entry.redo
            case TurnDone():
                self.checkpoint, self.redone = entry, False
            case Ended():
                self.ended = entry

    def goes_on(self, redo: bool) -> bool:
        """Whether it is not over; with ``redo``, those stopped by a mismatch are not either."""
        ended = self.ended
        return (
            ended is None
            or ended.outcome == "censored"
            or (redo and ended.error_class == _BROUGHT_BACK)
        )


def sessions_left_open(entries: Iterable[Entry], redo: bool) -> list[LeftOpen]:
    """The sessions that go on, from a journal's entries in order."""
    found: dict[str, LeftOpen] = {}
    for entry in entries:
        match entry:
            case Opened():
                found.setdefault(entry.plan.session_id, LeftOpen()).take(entry)
            case TurnDone() | Ended():
                found.setdefault(entry.session_id, LeftOpen()).take(entry)
    return [left for left in found.values() if left.plan is not None and left.goes_on(redo)]


def check_states(kind: Kind, left_open: Iterable[LeftOpen], run_id: str, redo: bool) -> None:
    """Compare what open sessions were left by with the kind that is installed.

    Raises:
        StateMismatch: They differ; the message names every differing field and the remedy.
    """
    versions: Counter[tuple[int, int]] = Counter()
    fields: Counter[str] = Counter()
    installed = (kind.version, kind.state_version)
    for left in left_open:
        done = left.checkpoint
        if done is None or left.plan is None or left.plan.part == "prelude":
            continue
        if done.versions != installed and not (redo or left.redone):
            versions[done.versions] += 1
        fields.update(_misfits(kind, done.state))
    if not versions and not fields:
        return
    said = [
        f"{count} open sessions were left by version {was[0]} of kind {kind.name!r} with version "
        f"{was[1]} of its state; installed are versions {installed[0]} and {installed[1]}"
        for was, count in sorted(versions.items())
    ]
    said += [f"their state: {field} (in {count})" for field, count in sorted(fields.items())]
    remedy = (
        "no turn can be played from such a state: install the version that began the run, or "
        "start a new run"
        if fields
        else f"`matrix resume {run_id} --redo-turn` plays their turns in flight again from the "
        "checkpoints before (what was paid stays paid, its answers are superseded)"
    )
    raise StateMismatch("\n".join([f"{run_id} cannot simply go on", *said, remedy]))


def prepare_open_sessions(run_dir: Path, kind: Kind, *, redo: bool, at: float) -> int:
    """Check the sessions that go on and, if asked to, have their turns in flight begun anew.

    Args:
        run_dir: The run's folder.
        kind: The kind that is installed.
        redo: Supersede what was answered since the newest checkpoints.
        at: The time, in seconds since 1970.

    Returns:
        Sessions whose turn is begun anew.

    Raises:
        StateMismatch: The installed kind does not fit them; nothing was written.
        RunLocked: The run is alive.
    """
    with closing(JournalReader(run_dir / JOURNAL_NAME)) as reader:
        rows = reader.rows(0, reader.last_seq(), kinds=(OPENED, TURN_DONE, ENDED))
        left_open = sessions_left_open((row.entry for row in rows), redo)
    check_states(kind, left_open, run_dir.name, redo)
    if not redo:
        return 0
    writer = JournalWriter(run_dir / JOURNAL_NAME)
    try:
        writer.append([Opened(left.plan, at, redo=True) for left in left_open if left.plan])
    finally:
        writer.close()
    return len(left_open)


def _misfits(kind: Kind, state: bytes) -> list[str]:
    try:
        kind.state_model.model_validate_json(state)
    except ValidationError as error:
        return [
            f"field {'.'.join(str(part) for part in item['loc']) or 'state'}: {item['msg']}"
            for item in error.errors(include_url=False, include_input=False)
        ]
    return []
