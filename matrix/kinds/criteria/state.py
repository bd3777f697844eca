"""Where a criteria test is: what became of each agent so far."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, ConfigDict

from matrix.judging.criteria import CriterionFinding, Evaluation
from matrix.kinds.criteria.settings import ChainLink

Outcome = Literal["ran", "skipped", "failed", "errored", "blocked"]
Word = Literal["PASS", "FAIL", "ERROR", "skipped", "blocked", "not judged"]


class AgentResult(BaseModel):
    """What became of one agent.

    Attributes:
        outcome: ``ran`` (or its output was given); ``skipped``: its condition did not hold;
            ``failed``: it gave no answer by its own fault; ``errored``: by that of another;
            ``blocked``: what it reads is not there.
        reason: Why it did not run.
        at: Position of its output in the session's log; -1 without one.
        source: Where the output is from: ``played``, ``fixture`` or ``recorded``.
        task: Content hash of what it was asked.
        other_task: Whether a recorded output had been made of another task.
        recorded_round: The round, from 0, that a recorded output is of; else -1.
        findings: Whether each criterion is met, and why; empty if it was not judged.
        claimed: The verdict that the judge claimed.
        unjudged: Why there are no findings.
    """

    model_config = ConfigDict(defer_build=True, frozen=True)

    agent: str
    outcome: Outcome
    reason: str = ""
    at: int = -1
    source: str = "played"
    task: str = ""
    other_task: bool = False
    recorded_round: int = -1
    findings: tuple[CriterionFinding, ...] = ()
    claimed: str = ""
    reasoning: str = ""
    unjudged: str = ""
    judge_model: str = ""

    @property
    def not_met(self) -> list[int]:
        """Numbers of the criteria that are not met, from 1."""
        return [number for number, one in enumerate(self.findings, 1) if not one.met]

    @property
    def has_output(self) -> bool:
        """Whether others can read it."""
        return self.outcome == "ran"

    def judged(self, evaluation: Evaluation, model: str) -> AgentResult:
        """With what the judge found."""
        return self.model_copy(
            update={
                "findings": evaluation.findings,
                "claimed": evaluation.claimed,
                "reasoning": evaluation.reasoning,
                "judge_model": model,
            }
        )

    def word(self, link: ChainLink) -> Word:
        """What it comes to."""
        if self.outcome == "skipped":
            return "skipped"
        if self.outcome == "blocked":
            return "blocked"
        if self.outcome != "ran":
            return "FAIL" if self.outcome == "failed" else "ERROR"
        if not link.judged:
            return "not judged"
        if not self.findings:
            return "ERROR"
        return "FAIL" if len(self.not_met) >= link.fail_threshold else "PASS"

    def disagrees(self, link: ChainLink) -> bool:
        """Whether the judge claimed another verdict than its findings make."""
        return bool(self.findings) and self.claimed != self.word(link)


class CriteriaState(BaseModel):
    """Between two turns."""

    model_config = ConfigDict(defer_build=True, frozen=True)

    results: tuple[AgentResult, ...] = ()

    def of(self, agent: str) -> AgentResult | None:
        """What became of an agent; ``None`` if it has not had its turn."""
        return next((one for one in self.results if one.agent == agent), None)


def share_passed(words: Sequence[Word]) -> Decimal | None:
    """Of the agents that were to be judged, the share that passed.

    One that was skipped counts for nothing. One that could not run because another failed has not
    passed; where any could not be judged, or what it reads is missing by no fault of an agent,
    there is no share.
    """
    counted = [word for word in words if word not in ("skipped", "not judged")]
    if not counted or "ERROR" in counted:
        return None
    return Decimal(counted.count("PASS")) / len(counted)
