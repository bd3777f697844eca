"""Moments of a run's sessions, read from its journal as values that can be played on from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from matrix.kinds.protocol import KEPT_KIND
from matrix.model.errors import BadInput, Mistake
from matrix.model.moments.checkpoint import Checkpoint
from matrix.model.records import JSON, Outcome
from matrix.store.blobs.blobs import BlobStore
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader
from matrix.store.journal.transcript import find_session, prelude_result, transcript
from matrix.store.run.run_folder import RunFile, read_run, resume_command

PARENTS: frozenset[Outcome] = frozenset({"completed", "timeout", "failed", "errored"})
"""Ends after which a session can be gone on from, at any of its checkpoints; those that were cut
short are for `matrix resume`."""


class Moments:
    """Where the sessions of one run can be gone on from. Close it."""

    def __init__(self, run_dir: Path) -> None:
        """Open a run's journal for reading.

        Raises:
            StoreError: It is not a run's folder.
        """
        self._run_dir, self._blobs = run_dir, BlobStore(run_dir)
        self._journal = JournalReader(run_dir / JOURNAL_NAME)
        self._journal.require_run(run_dir.name)

    @cached_property
    def run(self) -> RunFile:
        """The run's ``run.json``."""
        return read_run(self._run_dir)

    @cached_property
    def _resources(self) -> Mapping[str, JSON]:
        return self._journal.resources()

    def _texts(self, named: Mapping[str, str]) -> dict[str, JSON]:
        """Texts and data by name; the code of a kind is what sessions were played with last."""
        if KEPT_KIND in named and self.run.kind_code in self._resources:
            named = {**named, KEPT_KIND: self.run.kind_code}
        return {name: self._resources[key] for name, key in named.items()}

    def find(self, text: str) -> str:
        """The id of the session that ``text`` means: an id, or its unique beginning.

        Raises:
            SessionNotFound: There is no such session, or several.
        """
        return find_session(self._journal, text)

    def after(self, session_id: str, turn: int | None) -> Checkpoint:
        """A session after one of its turns; turn 0 is its start, ``None`` means the last.

        Raises:
            BadInput: It is no session that has ended by itself, or has no such turn.
            SessionNotFound: It was never opened.
        """
        found = transcript(self._journal, session_id)
        mistake = None
        played = [done for done in found.turns if done.phase != "finish"]
        turns = [done.turn for done in played]
        turn = max(turns, default=0) if turn is None else turn
        if found.plan.part != "play":
            mistake = "is the preparation of a round, not a session"
        elif found.ended is None:
            mistake = f"has not ended; `{resume_command(self._run_dir)}` goes on with it"
        elif found.ended.outcome not in PARENTS:
            mistake = (
                f"ended as {found.ended.outcome} ({found.ended.reason or found.ended.error_class});"
                f" only sessions that are {', '.join(sorted(PARENTS))} can be gone on from"
            )
        elif turn not in turns:
            mistake = f"has no turn {turn}; turns to go on after: {_in_words(turns)}"
        if mistake:
            raise BadInput([Mistake(f"session {session_id}", None, "", mistake)])
        plan = found.plan
        at_end = turn == max(turns)
        return Checkpoint(
            run_id=self.run.run_id,
            spec=dict(self.run.spec),
            plan=plan,
            turns=tuple(done for done in played if done.turn <= turn),
            prelude=prelude_result(self._journal, plan),
            texts=self._texts(plan.resources),
            contents=self._blobs,
            answers=tuple(one for one in found.calls if at_end and one.key.phase == "finish"),
        )

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()


def _in_words(turns: Sequence[int]) -> str:
    """Turns as ranges: a session that goes on from a file has all before as one."""
    if not turns:
        return "none, it never started"
    breaks = [at for at in range(1, len(turns)) if turns[at] != turns[at - 1] + 1]
    ends = zip([0, *breaks], [*breaks, len(turns)], strict=True)
    runs = [(turns[first], turns[stop - 1]) for first, stop in ends]
    told = [str(first) if first == last else f"{first} to {last}" for first, last in runs]
    return ", ".join(told).replace("0", "0 (its start)", 1) if turns[0] == 0 else ", ".join(told)
