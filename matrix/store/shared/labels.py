"""What people say of sessions, kept beside the runs: ``labels.jsonl``, a line for each.

A line is added for every label and every change of one; nothing is rewritten, but for the beginning
of a line that a kill has left at the end and that nobody was told was kept. Beside what a person
said stands what the judge had said and by which rubric, so that a judge stays checked when the run
that it was checked on has gone.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from matrix.model.errors import StoreError
from matrix.model.files import read_plain
from matrix.store.reading.reader import RunTables
from matrix.store.run.own_files import make_private

LABELS_NAME: Final = "labels.jsonl"

_STEP: Final = 65_536
"""Bytes that are read at once, from the end."""

_MOST_NAMED: Final = 10
"""Lines that are no labels, named in a message."""

_JUDGED: Final = ("session_id", "turn", "name", "value", "judge_model", "rubric_hash")
_MOST_BYTES: Final = 512_000_000

LONGEST_NOTE: Final = 10_000
"""Characters that are kept of what somebody notes beside a label."""


class JudgeId(NamedTuple):
    """A judge: the model (or models) that judged, and the hash of the rubric it judged by."""

    model: str
    rubric: str


class LabelledTranscript(NamedTuple):
    """What was said in a session. Ids of sessions are those of another run of the same spec."""

    run: str
    session: str


class Label(BaseModel):
    """What somebody says of one score of one session.

    ``value`` is ``None`` where a label was taken back, ``judge_value`` where the judge gave none.
    ``of``, in run ``of_run``, is the session that the label was given for, if this is the same
    transcript judged again.
    """

    model_config = ConfigDict(defer_build=True, frozen=True, extra="ignore")

    run: str = Field(max_length=200)
    session: str = Field(max_length=200)
    metric: str = Field(max_length=200)
    rater: str = Field(max_length=200)
    value: float | None = Field(allow_inf_nan=False)
    note: str = Field(default="", max_length=LONGEST_NOTE)
    judge_value: float | None = Field(default=None, allow_inf_nan=False)
    judge_model: str = ""
    rubric_hash: str = ""
    of: str = ""
    of_run: str = ""
    at: AwareDatetime

    @property
    def place(self) -> LabelledTranscript:
        """The session whose judge's value stands beside it."""
        return LabelledTranscript(self.run, self.session)

    @property
    def transcript(self) -> LabelledTranscript:
        """The session in which what was labelled was said."""
        return LabelledTranscript(self.of_run, self.of) if self.of else self.place

    @property
    def judge(self) -> JudgeId:
        """Whose value stands beside it."""
        return JudgeId(self.judge_model, self.rubric_hash)


def read_labels(results: Path) -> list[Label]:
    """All labels that count: the newest of each person for each score of each session.

    A last line that a kill has cut off is passed over.

    Raises:
        StoreError: The file cannot be read, or lines are none of this program's, which are named:
            without them older labels would count again.
    """
    path = results / LABELS_NAME
    try:
        lines = read_plain(path, _MOST_BYTES).split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from None
    found: dict[tuple[str, str, str, str], Label] = {}
    damaged: list[int] = []
    for number, line in enumerate(lines, 1):
        label = _label_in(line)
        if label is not None:
            found[label.run, label.session, label.metric, label.rater] = label
        elif line.strip() and number < len(lines):
            damaged.append(number)
    if damaged:
        which = ", ".join(map(str, damaged[:_MOST_NAMED])) + ", ..." * (len(damaged) > _MOST_NAMED)
        are = (
            "line {} of {} is no label; remove it"
            if len(damaged) == 1
            else ("lines {} of {} are no labels; remove them")
        )
        raise StoreError(f"{are.format(which, path)}, or bring the file back")
    return [label for label in found.values() if label.value is not None]


def _label_in(line: bytes) -> Label | None:
    try:
        return Label.model_validate_json(line)
    except ValidationError:
        return None


def add_labels(results: Path, labels: Iterable[Label]) -> None:
    """Add labels, durably; several at once are all there or, after a kill, a beginning of them.

    Raises:
        StoreError: The file cannot be written.
    """
    path = results / LABELS_NAME
    data = b"".join(label.model_dump_json().encode() + b"\n" for label in labels)
    if not data:
        return
    try:
        make_private(path)
        with path.open("ab+") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)  # or the line of another would look like a torn one
            begun = _begun_line(handle)
            if _label_in(begun) is not None:
                data = b"\n" + data
            elif begun:
                handle.truncate(handle.seek(0, os.SEEK_END) - len(begun))
            handle.write(data)
            handle.flush()
            os.fsync(handle.fileno())
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from None


def judges_of(tables: RunTables) -> dict[str, set[JudgeId]]:
    """Score -> who judged it, for the scores of a run that judges gave.

    Raises:
        StoreError: A file is damaged.
    """
    found: dict[str, set[JudgeId]] = {}
    for piece in tables.pieces("scores", ("name", "judge_model", "rubric_hash")):
        judged = piece.filter(pc.is_valid(piece["judge_model"]))
        # few different texts in many rows: as codes they are grouped in a third of the time
        columns: dict[str, Any] = {
            name: judged[name].dictionary_encode() for name in judged.column_names
        }
        codes = pa.table(columns)
        for row in codes.group_by(codes.column_names).aggregate([]).to_pylist():
            judge = JudgeId(str(row["judge_model"]), str(row["rubric_hash"] or ""))
            found.setdefault(str(row["name"]), set()).add(judge)
    return found


def judged_values(
    tables: RunTables, metric: str, sessions: Sequence[str] | None = None
) -> dict[str, tuple[float | None, JudgeId]]:
    """Session -> what its judge gave for a score of the whole session, and who that is."""
    requested = None if sessions is None else set(sessions)
    found: dict[str, tuple[float | None, JudgeId]] = {}
    for piece in tables.pieces("scores", _JUDGED):
        mine = pc.and_(pc.equal(piece["name"], pa.scalar(metric)), pc.is_null(piece["turn"]))
        rows: list[dict[str, Any]] = piece.filter(mine).to_pylist()
        for row in rows:
            session = str(row["session_id"])
            if row["judge_model"] is not None and (requested is None or session in requested):
                judge = JudgeId(str(row["judge_model"]), str(row["rubric_hash"] or ""))
                found[session] = (row["value"], judge)
    return found


def people_say(
    labels: Iterable[Label], metric: str, names: Sequence[Sequence[LabelledTranscript]]
) -> NDArray[np.float64]:
    """The mean of what people say of each session, NaN where nobody has said anything.

    Args:
        labels: Labels, also of other scores and sessions.
        metric: The score.
        names: For each session what its transcript is labelled under.
    """
    said: dict[LabelledTranscript, dict[str, float]] = {}
    for label in labels:
        if label.metric == metric and label.value is not None:
            said.setdefault(label.place, {})[label.rater] = label.value
    return np.array([_mean(said, ids) for ids in names], dtype=np.float64)


def _mean(
    said: Mapping[LabelledTranscript, Mapping[str, float]], names: Sequence[LabelledTranscript]
) -> float:
    by_rater: dict[str, float] = {}
    for name in names:
        by_rater |= said.get(name, {})
    return float(np.mean(list(by_rater.values()))) if by_rater else float("nan")


def _begun_line(handle: BinaryIO) -> bytes:
    """What stands after the last end of a line."""
    end, found = handle.seek(0, os.SEEK_END), b""
    while end and b"\n" not in found:
        start = max(0, end - _STEP)
        handle.seek(start)
        found, end = handle.read(end - start) + found, start
    return found.rpartition(b"\n")[2]
