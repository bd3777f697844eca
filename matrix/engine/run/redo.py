"""Before a run is taken up again: does the code still fit the sessions that it left open?

A checkpoint carries the versions of its kind and of its state. If the code has changed, what was
answered since the checkpoint may belong to requests that would not be made any more. The remedy is
to redo the turn in flight: to play on from the checkpoint with new calls. What was answered stays
paid and is superseded, which the journal says by an entry of its own.

In the same way sessions that trouble ended (``errored``) can be brought back, when it is over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

from pydantic import ValidationError

from matrix.kinds.protocol import Kind
from matrix.model.entries import Ended, Entry, Opened
from matrix.model.errors import BadInput, DigestMismatch, Mistake, StateMismatch
from matrix.store.journal.codec import ENDED, OPENED
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader, JournalWriter
from matrix.store.journal.session_state import SessionState, fold, fold_all
from matrix.store.run.run_folder import resume_command

_BROUGHT_BACK = DigestMismatch.__name__
"""How sessions end whose recorded answers belong to other requests: redoing the turn heals that."""


def sessions_left_open(entries: Iterable[Entry], redo: bool) -> list[SessionState]:
    """The sessions that go on, from a journal's entries in order.

    With ``redo``, those that were stopped by a mismatch of their answers go on as well.
    """
    return [
        state
        for state in fold_all(entries).values()
        if state.plan is not None and _goes_on(state.ended, redo)
    ]


def _goes_on(ended: Ended | None, redo: bool) -> bool:
    if ended is None or ended.outcome == "censored":
        return True
    return redo and ended.error_class == _BROUGHT_BACK


def check_states(kind: Kind, left_open: Iterable[SessionState], run_dir: Path, redo: bool) -> None:
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
        else f"`{resume_command(run_dir, ' --redo-turn')}` plays their turns in flight again from "
        "the checkpoints before (what was paid stays paid, its answers are superseded)"
    )
    raise StateMismatch("\n".join([f"{run_dir.name} cannot simply go on", *said, remedy]))


def errored_sessions(entries: Sequence[Entry], error_class: str) -> list[SessionState]:
    """The errored sessions of a class (of any, if it is empty), with preludes that they lack.

    Raises:
        BadInput: There is none; the message says what there is.
    """
    errored = {
        key: state
        for key, state in fold_all(entries).items()
        if state.ended is not None and state.ended.outcome == "errored"
    }
    played = [state for state in errored.values() if state.plan and state.plan.part == "play"]
    chosen = [state for state in played if error_class in ("", _class_of(state))]
    if not chosen:
        classes = Counter(map(_class_of, played))
        known = ", ".join(f"{name} ({count})" for name, count in sorted(classes.items()))
        found = f"found {error_class!r}; " if error_class else ""
        there = f"its errored sessions: {known}" if known else "no session of it is errored"
        raise BadInput([Mistake("--redo-errored", None, "", found + there)])
    needed = {state.plan.prelude_id for state in chosen if state.plan}
    return [state for key, state in errored.items() if key in needed] + chosen


def _class_of(state: SessionState) -> str:
    return "" if state.ended is None else state.ended.error_class


def prepare_open_sessions(
    run_dir: Path, kind: Kind, *, redo: bool, at: float, errored: str | None = None
) -> int:
    """Check the sessions that go on and, if asked to, have their turns in flight begun anew.

    Args:
        run_dir: The run's folder.
        kind: The kind that is installed.
        redo: Supersede what was answered since the newest checkpoints.
        at: The time, in seconds since 1970.
        errored: Bring errored sessions of this class back; of any, if it is empty.

    Returns:
        Sessions whose turn is begun anew.

    Raises:
        StateMismatch: The installed kind does not fit them; nothing was written.
        BadInput: No session is errored in this way; nothing was written.
        RunLocked: The run is alive.
    """
    with closing(JournalReader(run_dir / JOURNAL_NAME)) as reader:
        entries = [row.entry for row in reader.since(0, (OPENED, ENDED))]
        left_open = _whole(reader, sessions_left_open(entries, redo))
        back = [] if errored is None else _whole(reader, errored_sessions(entries, errored))
    check_states(kind, left_open, run_dir, redo)
    check_states(kind, back, run_dir, redo=True)
    anew = {state.plan.session_id: state.plan for state in back if state.plan}
    if redo:
        anew |= {state.plan.session_id: state.plan for state in left_open if state.plan}
    if anew:
        writer = JournalWriter(run_dir / JOURNAL_NAME)
        try:
            writer.append([Opened(plan, at, redo=True) for plan in anew.values()])
        finally:
            writer.close()
    return len(anew)


def _whole(reader: JournalReader, states: Iterable[SessionState]) -> list[SessionState]:
    """The same sessions with their checkpoints: only those that go on are read."""
    return [
        fold(reader.session(state.plan.session_id), keep_turns=False)
        for state in states
        if state.plan is not None
    ]


def _misfits(kind: Kind, state: bytes) -> list[str]:
    try:
        kind.state_model.model_validate_json(state)
    except ValidationError as error:
        return [
            f"field {'.'.join(str(part) for part in item['loc']) or 'state'}: {item['msg']}"
            for item in error.errors(include_url=False, include_input=False)
        ]
    return []
