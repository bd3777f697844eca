"""Recorded outputs: a file that can be committed, to be judged again without calling the agents."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from matrix.kinds.criteria.settings import CRITERIA, JUDGE, CriteriaOptions, Recording
from matrix.kinds.criteria.stand_ins import changing
from matrix.kinds.reporting import EndedRun
from matrix.model.errors import BadInput, Mistake
from matrix.model.files import read_plain
from matrix.model.seeds import content_hash
from matrix.model.spec.aliases import simulated_words

MAX_BYTES: Final = 100_000_000
"""Largest file that is read."""

MOST_ROUNDS: Final = 1_000
"""A session is given all rounds of its input, so that these are what it takes time to begin."""

VERSION: Final = 2
"""Form of the file that is written and read."""

_KEPT: Final = ("ran", "skipped", "failed", "blocked")
"""What is recorded of an agent: not what broke by the fault of others, which is to be had anew."""


class _Part(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")


class RecordedOutput(Recording):
    """What became of one agent with one input, in one variant and round."""

    input: str
    agent: str
    round: int = Field(ge=0, lt=MOST_ROUNDS)


class Pinned(_Part):
    """What judged an agent when it was recorded: its model's own name, and the rubric's hash."""

    judge: str
    rubric: str


class RecordedFile(_Part):
    """The file. Its first form did not say of which variant and round an output is.

    ``simulated`` says that simulated models are behind its outputs, whoever judges them.
    """

    version: Literal[2] = VERSION
    kind: Literal["criteria"] = Field(default=CRITERIA)
    run_id: str
    recorded_at: str
    simulated: bool = False
    judged_by: Mapping[str, Pinned] = {}
    outputs: tuple[RecordedOutput, ...]

    @property
    def rounds(self) -> int:
        """Rounds, from the first one on, that are there for every input in every setting."""
        held: dict[str, set[int]] = {}
        for one in self.outputs:
            held.setdefault(content_hash([one.input, dict(one.levels)]), set()).add(one.round)
        whole = set.intersection(*held.values()) if held else set()
        return next(number for number in itertools.count() if number not in whole)

    @property
    def twice(self) -> str:
        """Whose output is there twice, in words; empty if nobody's is."""
        seen = set[str]()
        for one in self.outputs:
            place = content_hash([one.input, one.agent, dict(one.levels), one.round])
            if place in seen:
                levels = "".join(f", {name} {level}" for name, level in one.levels.items())
                return f"{one.agent} for {one.input}{levels}, round {one.round + 1}"
            seen.add(place)
        return ""


def read_recorded(path: Path, source: str) -> RecordedFile:
    """Read a file of recorded outputs; ``source`` is what a mistake is told of.

    Raises:
        BadInput: It is not there, or not as it was written.
    """
    try:
        found = RecordedFile.model_validate_json(read_plain(path, MAX_BYTES))
        if twice := found.twice:
            told = f"{path} has two outputs of {twice}; remove one of them"
            raise BadInput([Mistake(source, None, "", told)])
        return found
    except OSError as error:
        told = f"{path} cannot be read: {error.strerror}; --record writes one"
        raise BadInput([Mistake(source, None, "", told)]) from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        if place == "version":
            told = (
                f"{path} is of another version of this form, not {VERSION}; the first did not say "
                f"of which variant and round an output is; --record makes a new one"
            )
            raise BadInput([Mistake(source, None, "", told)]) from None
        told = f"{path} is no file of recorded outputs: {place}: {first['msg']}"
        raise BadInput([Mistake(source, None, "", told)]) from None


def recording_of(run: EndedRun, sessions: Sequence[Mapping[str, Any]]) -> RecordedFile:
    """The outputs of a run, by input, variant and round.

    Sessions that differ in nothing but their judge played the same: one of them is kept.

    Args:
        run: The run.
        sessions: What each of its sessions has reported, with its ``round`` and ``levels``.
    """
    variant = CriteriaOptions.model_validate(dict(run.options)).variant
    kept: dict[tuple[Any, ...], list[RecordedOutput]] = {}
    for session in sessions:
        levels = changing(session["levels"], variant)
        key = (session["input"], tuple(levels.items()), session["round"])
        outputs = [
            RecordedOutput(
                input=session["input"],
                agent=cell["agent"],
                levels=levels,
                round=session["round"],
                outcome=cell["outcome"],
                reason="" if cell["outcome"] == "ran" else cell["why"],
                output=cell["output"],
                task=cell["task"],
            )
            for cell in session["agents"]
            if cell["outcome"] in _KEPT
        ]
        if len(outputs) > len(kept.get(key, ())):
            kept[key] = outputs
    judged_by = {
        cell["agent"]: Pinned(judge=cell["judge_model"], rubric=cell["rubric"])
        for session in sessions
        for cell in session["agents"]
        if cell["judge_model"]
    }
    at = f"{datetime.fromtimestamp(run.began_at, UTC):%Y-%m-%dT%H:%M:%SZ}"
    outputs = [one for key in sorted(kept, key=lambda key: key[1:]) for one in kept[key]]
    return RecordedFile(
        run_id=run.run_id,
        recorded_at=at,
        simulated=run.simulated not in ("", simulated_words([JUDGE], mixed=True)),
        judged_by=judged_by,
        outputs=tuple(outputs),
    )
