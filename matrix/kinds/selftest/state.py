"""Where a self-test is: what was said, and what became of each answer."""

from __future__ import annotations

from decimal import Decimal
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from matrix.judging.answers import says_nothing
from matrix.judging.verdict import UNREADABLE
from matrix.kinds.selftest.judging import overall, questions_in
from matrix.kinds.selftest.settings import AWAITING, PassRules
from matrix.model.decimals import rounded
from matrix.model.records import ChatMessage

NOTHING_SAID: Final = "the system's answer is empty"
"""Why an answer with nothing in it does not pass."""


def short_of(score: Decimal, threshold: Decimal) -> str:
    """A score in as many digits as it takes to see on which side of a threshold it is.

    >>> short_of(Decimal("0.695"), Decimal("0.74")), short_of(Decimal("0.7396"), Decimal("0.74"))
    ('0.70', '0.7396')
    """
    near = rounded(score, 2)
    same_side = (near < threshold) == (score < threshold)
    return str(near if same_side else score.normalize())


class _Part(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True)


class DialogueMessage(_Part):
    """One message between the user and the system."""

    role: Literal["user", "assistant"]
    content: str
    carry: str = ""

    @property
    def message(self) -> ChatMessage:
        """As a request has it."""
        return ChatMessage(self.role, self.content, carry=self.carry)


class AnswerStep(_Part):
    """One answer: to the request, or to a reply.

    Attributes:
        doubt: That the answer says another status as well.
        awaits: Whether it awaits a reply that the case has.
        scores: Part of the score -> what the judge gave, if its answer could be read.
        missing: Part -> why it has none.
        unjudged: Why it has no scores at all.
    """

    asked: str
    answer: str
    expected: str
    actual: str
    doubt: str = ""
    awaits: bool = False
    scores: dict[str, float] = {}
    missing: dict[str, str] = {}
    reasoning: str = ""
    unjudged: str = ""
    judge_model: str = ""

    @property
    def overall(self) -> Decimal | None:
        """The weighted score; the judge's own sum is not asked for, and none for no answer."""
        return Decimal(0) if self.empty else overall(self.scores)

    @property
    def why_unscored(self) -> str:
        """Why it has no score; empty if it has one."""
        if self.overall is not None:
            return ""
        return self.unjudged or next(iter(self.missing.values()), UNREADABLE)

    @property
    def empty(self) -> bool:
        """Whether there is nothing in it, which is never an answer."""
        return says_nothing(self.answer)

    @property
    def status_match(self) -> bool:
        """Whether it ended with the expected status."""
        return self.expected == self.actual

    @property
    def questions(self) -> int:
        """How many questions it asks."""
        return questions_in(self.answer)

    def passed(self, rules: PassRules) -> bool | None:
        """Whether it passes; ``None`` if it was not judged and nothing else fails it."""
        if self.faults(rules):
            return False
        return None if self.overall is None else True

    def faults(self, rules: PassRules) -> list[str]:
        """Why it does not pass, in words."""
        if self.empty:
            return [NOTHING_SAID]
        found = []
        if rules.status_must_match and not self.status_match:
            found.append(f"expected the status {self.expected}, got {self.actual}")
        awaits = self.awaits or self.actual == AWAITING
        if awaits and self.questions > rules.max_questions_allowed:
            found.append(
                f"asked {self.questions} questions; at most {rules.max_questions_allowed} are "
                "allowed"
            )
        if self.overall is not None and self.overall < rules.threshold:
            score = short_of(self.overall, rules.threshold)
            found.append(f"scored {score}, below the threshold of {rules.threshold}")
        return found


class SelftestState(_Part):
    """Between two turns."""

    namespace: str
    prompt: str = ""
    hints: str = ""
    trouble: str = ""
    said: tuple[DialogueMessage, ...] = ()
    steps: tuple[AnswerStep, ...] = ()
