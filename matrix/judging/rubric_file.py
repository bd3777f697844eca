"""Rubrics as people write them: markdown, whose front matter says how an answer looks.

::

    ---
    answer: scores       # or criteria (MET / NOT MET), verdict (PASS / FAIL / UNCERTAIN), choice
    scale: [1, 5]
    criteria:
      clarity: Is it clear what is meant?
      warmth: {question: "Is it friendly?", weight: 0.5}
    ---
    You read the answers of a help desk. Judge the answers, not the questions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from operator import not_
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from matrix.judging.choice import Choice, choice_form
from matrix.judging.criteria import Checklist, Evaluation
from matrix.judging.forms import Form
from matrix.judging.request import DATA
from matrix.judging.rubric import Criterion, Rubric, Scale
from matrix.judging.verdict import RubricVerdict, scores_form
from matrix.judging.verdict_line import LineVerdict, verdict_form
from matrix.model.documents.yaml_documents import check, parse_document
from matrix.model.errors import BadInput, Mistake
from matrix.model.files import MOST_TEXT_BYTES, read_plain
from matrix.model.metrics import taken_name
from matrix.model.records import Message

MAX_CHARS: Final = 100_000
"""Longest rubric."""

_FRONT = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*$\n?(.*)\Z", re.DOTALL | re.MULTILINE)
_NAME = re.compile(r"^[A-Za-z][A-Za-z0-9_-]{0,60}$")

MOST_TEXTS: Final = 10
"""Texts of a scenario that one rubric shows its judge."""

CITE: Final = (
    f"The messages are numbered. In your reason, name those that it rests on, such as [12]. {DATA}"
)


class _Part(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")


class Scored(_Part):
    """A criterion with a number."""

    question: str = Field(min_length=1, max_length=2000, description="What is asked.")
    weight: float = Field(default=1.0, ge=0, le=1000, description="How much it counts.")


class RubricFile(_Part):
    """A rubric; ``instructions`` are the text below the front matter."""

    name: str = Field(default="", max_length=60, description="Name of its scores.")
    answer: Literal["scores", "criteria", "verdict", "choice"] = Field(
        default="scores", description="What the judge gives."
    )
    scale: tuple[float, float] = Field(default=(1.0, 5.0), description="Of scores: worst and best.")
    criteria: Mapping[str, Scored] | tuple[str, ...] = Field(
        default=(), description="Name -> question for scores; texts that are met or not."
    )
    fail_threshold: int = Field(default=1, ge=1, description="How many NOT MET fail.")
    better: Literal["higher", "lower"] = Field(default="higher", description="What is better.")
    tags: tuple[str, ...] = Field(default=(), description="What it can be grouped by.")
    order: int = Field(default=0, description="Place among other rubrics; lower comes first.")
    texts: tuple[Annotated[str, Field(pattern=_NAME.pattern)], ...] = Field(
        default=(),
        max_length=MOST_TEXTS,
        description="Texts of the scenario that are shown before what was said, such as guide.",
    )
    where: str = Field(
        default="",
        max_length=60,
        exclude_if=not_,  # runs whose rubrics do not say it keep the ids of their sessions
        description="Channel without which a session is not asked about, such as private (and "
        "with it private/ANN); those have no score.",
    )
    instructions: str = ""

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, data: Any) -> Any:
        given = data.get("criteria") if isinstance(data, dict) else None
        if isinstance(given, dict):
            whole = {k: {"question": v} if isinstance(v, str) else v for k, v in given.items()}
            return {**data, "criteria": whole}
        return data

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if not self.instructions.strip():
            raise ValueError("has no text below its front matter: what is judged, and how")
        low, high = self.scale
        if not -1e6 <= low < high <= 1e6:
            raise ValueError(
                f"scale is from {low:g} to {high:g}; the first number is the lower one"
            )
        if self.answer == "scores":
            if not isinstance(self.criteria, Mapping) or not self.criteria:
                raise ValueError("scores need criteria: a name and a question for each")
            if wrong := [
                name for name in self.criteria if not _NAME.match(name) or name == "reason"
            ]:
                raise ValueError(
                    f"found the criterion {wrong[0]!r}; letters, digits, dashes, not reason"
                )
            if not any(one.weight for one in self.criteria.values()):
                raise ValueError("every criterion has the weight 0")
        elif self.answer == "criteria":
            if isinstance(self.criteria, Mapping) or not self.criteria:
                raise ValueError("criteria need a list of texts that are met or not")
            if any(not one.strip() for one in self.criteria):
                raise ValueError("has a criterion without a word in it")
            if self.fail_threshold > len(self.criteria):
                raise ValueError(f"fail_threshold {self.fail_threshold} could never be reached")
        elif self.criteria:
            raise ValueError(f"a {self.answer} has no criteria; say what decides in the text")
        return self

    def applies_to(self, messages: Iterable[Message]) -> bool:
        """Whether there is what it asks about, among all that was said in a session."""
        if not self.where:
            return True
        return any(one.channel.split("/")[0] == self.where for one in messages)

    @property
    def rubric(self) -> Rubric | None:
        """Named criteria with their scale, if it asks for scores."""
        if not isinstance(self.criteria, Mapping):
            return None
        each = tuple(Criterion(n, one.question, one.weight) for n, one in self.criteria.items())
        return Rubric(self._told, each, Scale(*self.scale))

    @property
    def _told(self) -> str:
        """What a judge is told before the form of its answer: also which texts it is shown."""
        shown = f"Above the messages you are shown: {', '.join(self.texts)}. " if self.texts else ""
        return f"{self.instructions.strip()}\n\n{shown}{CITE}"

    @property
    def score_range(self) -> tuple[float, float]:
        """Least and greatest possible score: verdicts, criteria and choices are from 0 to 1."""
        return self.scale if self.answer == "scores" else (0.0, 1.0)

    @property
    def form(self) -> Form[RubricVerdict | Evaluation | LineVerdict | Choice]:
        """How a judge is asked."""
        if (rubric := self.rubric) is not None:
            return scores_form(rubric)
        text = self._told
        if self.answer == "verdict":
            return verdict_form(text)
        if self.answer == "choice":
            return choice_form(text)
        assert not isinstance(self.criteria, Mapping)
        return Checklist(self.criteria, self.fail_threshold, text).form


def read_rubric(path: Path) -> RubricFile:
    """Read a file; its name is that of the rubric unless the front matter gives one.

    Raises:
        BadInput: It cannot be read, is empty, huge or no text, or says what does not fit.
    """
    try:
        raw = read_plain(path, MOST_TEXT_BYTES)
        text = raw.decode("utf-8-sig")
    except OSError as error:
        told = f"cannot be read: {error.strerror}"
        raise BadInput([Mistake(str(path), None, "", told)]) from None
    except UnicodeDecodeError:
        raise BadInput([Mistake(str(path), None, "", "is not UTF-8 text")]) from None
    if len(text) > MAX_CHARS:
        told = f"has {len(text)} characters; a rubric has at most {MAX_CHARS}"
        raise BadInput([Mistake(str(path), None, "", told)])
    if "\x00" in text:
        raise BadInput([Mistake(str(path), None, "", "is not text")])
    found = _FRONT.match(text.replace("\r\n", "\n"))
    if found is None:
        told = (
            "has no front matter: lines of YAML between two lines of ---, before its text, which "
            "say how the judge answers, such as answer: verdict"
        )
        raise BadInput([Mistake(str(path), None, "", told)])
    document = parse_document(f"\n{found[1]}", path.name)
    value = document.value if isinstance(document.value, dict) else {}
    own = {"name": path.stem, **value, "instructions": found[2]}
    if not _NAME.match(str(own["name"])):
        told = f"found the name {own['name']!r}; letters, digits, dashes, underscores"
        raise BadInput([Mistake(str(path), None, "name", told)])
    if taken := taken_name(str(own["name"])):
        raise BadInput([Mistake(str(path), None, "name", taken)])
    return check(type(document)(path.name, own, document.lines, document.origins), RubricFile)
