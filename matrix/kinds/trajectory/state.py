"""Where a trajectory is: what every assertion came to so far."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from matrix.kinds.trajectory.assertions.hypotheses import Gone

STRUCTURAL, CONTENT = "structural", "content"
PASS, FAIL, UNCERTAIN, UNJUDGED, WAITING = "PASS", "FAIL", "UNCERTAIN", "UNJUDGED", ""
"""Words of a result; one that waits for its judge has none yet."""

TURN_ENDED: Final = "turn_ended"
"""That an agent came to the end of its turn; there is a result only where it did not."""

FOLDER_AS_BEFORE: Final = "and the folder is as it was before it"
"""How the reason ends of what is missed because its turn failed."""

UNREADABLE: Final = "JudgeUnreadable"
"""Class of a judge's answer that could not be read: it counts as UNCERTAIN, and is told apart."""


class AssertionResult(BaseModel):
    """What one assertion came to.

    Attributes:
        id: Its name in this scenario: ``t03.file_exists_glob``, ``final.audit_trail``.
        turn: The turn after which it was looked at; 0 for the final state.
        layer: Whether a judge is asked.
        name: The assertion, or the judge.
        about: Its argument, or the rubric.
        word: PASS, FAIL, UNCERTAIN, or UNJUDGED where the judge could not be asked.
        why: What was seen, or the judge's reason.
        error: Class of what kept a judge from a verdict; empty if nothing did.
        shown: Positions in the log of what the judge is shown.
        part: What of its files that lacks, for want of room; empty if nothing.
        model: The judge's model.
        rubric: Hash of the rubric with all that the judge is told.
        vacuous: Whether it holds because there is nothing that it could be about, or it is unread.
    """

    model_config = ConfigDict(defer_build=True, frozen=True)

    id: str
    turn: int
    layer: Literal["structural", "content"]
    name: str
    about: str = ""
    word: str = WAITING
    why: str = ""
    error: str = ""
    shown: tuple[int, ...] = ()
    part: str = ""
    model: str = ""
    rubric: str = ""
    vacuous: bool = False

    @property
    def counts(self) -> float | None:
        """1 if it holds, 0 if not or if the judge is uncertain; ``None`` without a verdict."""
        return {PASS: 1.0, FAIL: 0.0, UNCERTAIN: 0.0}.get(self.word)


class TrajectoryState(BaseModel):
    """Between turns.

    Attributes:
        results: What assertions came to, in order; those of content without a word yet.
        demoted: Ids of hypotheses that the session began with as demoted.
        gone: Hypotheses that were there after an earlier turn, and are no longer.
        asked_at: Position in the log of what came in, turn by turn.
        said_at: Position in the log of what the agent said.
        failures: Turns that the agent did not come to the end of.
    """

    model_config = ConfigDict(defer_build=True, frozen=True)

    results: tuple[AssertionResult, ...] = ()
    demoted: tuple[str, ...] = ()
    asked_at: tuple[int, ...] = ()
    said_at: tuple[int, ...] = ()
    final: bool = False
    failures: int = 0
    gone: tuple[Gone, ...] = ()


def share(results: Iterable[AssertionResult]) -> float | None:
    """The share that holds; ``None`` where there is none, or one has no verdict."""
    counted = [one.counts for one in results]
    if not counted or any(one is None for one in counted):
        return None
    return sum(one or 0.0 for one in counted) / len(counted)
