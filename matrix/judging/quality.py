"""Scoring a transcript from 1 to 5 on named dimensions.

One judge call, one JSON object, one number per dimension and a reason. A dimension that the
answer leaves out or puts out of range is missing, never a guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matrix.judging.answers import read_json_object
from matrix.model.seeds import content_hash

JUDGE = "# You are the judge"


@dataclass(frozen=True, slots=True)
class QualityRubric:
    """What is judged: dimension -> the question it answers. Its hash goes beside every score."""

    title: str
    dimensions: tuple[tuple[str, str], ...]

    @property
    def hash(self) -> str:
        """Content hash of title and questions: scores of different rubrics do not mix."""
        return content_hash([self.title, *map(list, self.dimensions)])

    @property
    def names(self) -> tuple[str, ...]:
        """The dimensions, in order."""
        return tuple(name for name, _ in self.dimensions)


@dataclass(frozen=True, slots=True)
class QualityVerdict:
    """Scores by dimension (1.0-5.0; absent where the judge gave none) and the judge's reason."""

    scores: dict[str, float]
    reason: str


def judge_system(rubric: QualityRubric) -> str:
    """System prompt: the rubric and the form of the answer."""
    lines = [f'- "{name}": {question}' for name, question in rubric.dimensions]
    return (
        f"{JUDGE}\n\n{rubric.title} Score each from 1 (poor) to 5 (excellent). "
        'Be sparing with 5. Answer in JSON with these keys and a short "reason":\n'
        + "\n".join(lines)
        + "\n"
    )


def judge_request(material: Sequence[tuple[str, str]]) -> str:
    """User message: named parts of the material, each fenced so that it stays data."""
    parts = [f"## {title}\n<<<\n{_unfenced(text)}\n>>>" for title, text in material]
    return "\n\n".join(parts) + "\n\nScore it."


def _unfenced(text: str) -> str:
    """``text`` without fences of its own, so that nothing in it can close the part it is in."""
    return text.replace("<<<", "< < <").replace(">>>", "> > >")


def parse_quality(text: str, rubric: QualityRubric) -> QualityVerdict | None:
    """Read a judge's answer; ``None`` if there is no JSON object with any usable score in it."""
    found = read_json_object(text)
    if found is None:
        return None
    scores = {
        name: float(value)
        for name in rubric.names
        if isinstance(value := found.get(name), (int, float))
        and not isinstance(value, bool)
        and 1.0 <= float(value) <= 5.0
    }
    if not scores:
        return None
    return QualityVerdict(scores, str(found.get("reason", ""))[:2000])


def quality_schema(rubric: QualityRubric) -> dict[str, object]:
    """JSON Schema of the answer, for models that can be held to one."""
    score = {"type": "number", "minimum": 1, "maximum": 5}
    properties: dict[str, object] = dict.fromkeys(rubric.names, score)
    properties["reason"] = {"type": "string"}
    return {
        "type": "object",
        "properties": properties,
        "required": [*rubric.names, "reason"],
        "additionalProperties": False,
    }
