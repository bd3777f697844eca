"""Recorded outputs: a file that can be committed, to be judged again without calling the agents."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from matrix.kinds.criteria.settings import CRITERIA
from matrix.model.errors import BadInput, Mistake

MAX_BYTES: Final = 100_000_000
"""Largest file that is read."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RecordedOutput(_Part):
    """One output; ``task`` is the content hash of what the agent had been asked."""

    input: str
    agent: str
    output: str
    task: str
    ran: bool = True


class Pinned(_Part):
    """What judged an agent when it was recorded: its model's own name, and the rubric's hash."""

    judge: str
    rubric: str


class Recorded(_Part):
    """The file."""

    version: Literal[1] = 1
    kind: Literal["criteria"] = Field(default=CRITERIA)
    run_id: str
    recorded_at: str
    judged_by: Mapping[str, Pinned] = {}
    outputs: tuple[RecordedOutput, ...]


def read_recorded(path: Path, source: str) -> Recorded:
    """Read a file of recorded outputs; ``source`` is what a mistake is told of.

    Raises:
        BadInput: It is not there, or not as it was written.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            told = f"{path} has more than {MAX_BYTES // 1_000_000} MB"
            raise BadInput([Mistake(source, None, "", told)])
        return Recorded.model_validate_json(path.read_bytes())
    except OSError as error:
        told = f"{path} cannot be read: {error.strerror}; --record writes one"
        raise BadInput([Mistake(source, None, "", told)]) from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        told = f"{path} is no file of recorded outputs: {place}: {first['msg']}"
        raise BadInput([Mistake(source, None, "", told)]) from None
