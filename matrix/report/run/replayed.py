"""What a replay scored, beside the session that it went on from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matrix.model.errors import StoreError
from matrix.report.text import digits_shown, number, plural, score_digits
from matrix.store.reading.reader import RunTables
from matrix.store.run.run_folder import RUN_FILE, RunFile


@dataclass(frozen=True, slots=True)
class Replayed:
    """Scores of a replay.

    Attributes:
        parent: Session that it goes on from.
        parent_score: What that one scored; ``None`` if it has no score.
        parent_found: Whether the parent's run is beside this one, so that its score can be known.
        scores: Session -> its score, in the order of launch; ``None`` where it has none.
    """

    parent: str
    parent_score: float | None
    parent_found: bool
    scores: Mapping[str, float | None]


def replayed_of(run_dir: Path, run: RunFile) -> Replayed | None:
    """The scores of a replay; ``None`` for any other run."""
    if run.branched is None or run.branched.mode != "replay":
        return None
    parent = run.branched.moments[0][0]
    theirs = _parents(run_dir.parent / run.branched.run_id)
    frame = RunTables(run_dir).frame("sessions", ["session_id", "launch_order", "score"])
    return Replayed(
        parent=parent,
        parent_score=theirs.get(parent),
        parent_found=parent in theirs,
        scores=_scores(frame.sort_values("launch_order")),
    )


def _parents(run_dir: Path) -> Mapping[str, float | None]:
    """Scores of the parent's run, if it is there: a replay from a file needs none."""
    if not (run_dir / RUN_FILE).is_file():
        return {}
    try:
        return _scores(RunTables(run_dir).frame("sessions", ["session_id", "score"]))
    except StoreError:
        return {}


def _scores(frame: Any) -> dict[str, float | None]:
    rows = zip(frame["session_id"], frame["score"], strict=True)
    return {str(name): None if score != score else float(score) for name, score in rows}


def replayed_as_text(replayed: Replayed) -> str:
    """One line: the score, or mean and range of several, and that of the parent."""
    known = [score for score in replayed.scores.values() if score is not None]
    least, most = min(known, default=0.0), max(known, default=0.0)
    digits = digits_shown(score_digits((min(least, 0.0), most)) if known else 1, least, most)
    if not known:
        own = "none"
    elif len(replayed.scores) == 1:
        own = number(known[0], digits)
    else:
        told = f"{number(least, digits)} to {number(most, digits)}"
        own = f"mean {number(sum(known) / len(known), digits)}, from {told}, of "
        own += plural(len(known), "session")
    if not replayed.parent_found:
        return f"{own}; that of the parent is not known here: its run is not beside this one"
    if replayed.parent_score is None:
        return f"{own}; the parent has none"
    return f"{own}; the parent had {number(replayed.parent_score, digits)}"
