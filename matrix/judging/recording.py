"""What is recorded of a judge's verdicts: a score per criterion, and every repeat by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from matrix.judging.asking import Judged
from matrix.judging.repeats import mean_of, repeat_name
from matrix.judging.rubric import Rubric
from matrix.judging.verdict import UNREADABLE, RubricVerdict


class ScoreContext(Protocol):
    """What recording needs of the context that a kind plays in."""

    def score(
        self,
        name: str,
        value: float | None,
        *,
        whole_session: bool = True,
        label: str = "",
        reason: str = "",
        judge_model: str = "",
        rubric_hash: str = "",
    ) -> None: ...


def record_criteria(
    ctx: ScoreContext, rubric: Rubric, judged: Sequence[Judged[RubricVerdict]], prefix: str = ""
) -> None:
    """Record one score per criterion: the mean over the repeats that gave it one.

    A criterion without any is recorded as missing, with the reason why.

    Args:
        ctx: The session's context.
        rubric: What was judged.
        judged: Every repeat, at least one.
        prefix: Goes before each criterion's name.
    """
    model, reason = judged[0].model, _shared_reason(judged)
    for name in rubric.names:
        value = mean_of(_given(one, name) for one in judged)
        ctx.score(
            prefix + name,
            value,
            reason=reason if value is not None else _why_missing(judged, name),
            judge_model=model,
            rubric_hash=rubric.hash,
        )


def record_repeats(
    ctx: ScoreContext,
    rubric: Rubric,
    judged: Sequence[Judged[RubricVerdict]],
    scores: Sequence[float | None],
    prefix: str = "",
) -> None:
    """Record every repeat by itself; nothing where there was only one.

    Args:
        ctx: The session's context.
        rubric: What was judged.
        judged: Every repeat.
        scores: What the session's score would be by each repeat alone, ``None`` where what it
            gave is not enough; not looked at where its answer could not be read.
        prefix: Goes before each criterion's name, as in :func:`record_criteria`.
    """
    if len(judged) < 2:
        return
    for number, (one, score) in enumerate(zip(judged, scores, strict=True), 1):
        verdict = one.verdict
        ctx.score(
            repeat_name(number),
            None if verdict is None else score,
            reason=_why_alone(verdict, score),
            judge_model=one.model,
            rubric_hash=rubric.hash,
        )
        for name in rubric.names:
            value = _given(one, name)
            ctx.score(
                repeat_name(number, prefix + name),
                value,
                reason="" if value is not None else _why_missing([one], name),
                judge_model=one.model,
                rubric_hash=rubric.hash,
            )


def _why_alone(verdict: RubricVerdict | None, score: float | None) -> str:
    """The reason of one repeat, or why it makes no score."""
    if verdict is None:
        return UNREADABLE
    lacking = next(iter(verdict.missing.values()), "") if score is None else ""
    return lacking or verdict.reason


def _given(one: Judged[RubricVerdict], name: str) -> float | None:
    return None if one.verdict is None else one.verdict.scores.get(name)


def _shared_reason(judged: Sequence[Judged[RubricVerdict]]) -> str:
    """The reason of a single judging; of several, how many were read and what the first says."""
    read = [one.verdict for one in judged if one.verdict is not None]
    if not read or len(judged) == 1:
        return read[0].reason if read else UNREADABLE
    return f"mean of {len(read)} of {len(judged)} repeats; the first read: {read[0].reason}"


def _why_missing(judged: Sequence[Judged[RubricVerdict]], name: str) -> str:
    """Why no repeat has a score for this criterion."""
    whys = [one.verdict.missing[name] for one in judged if one.verdict is not None]
    return whys[0] if whys else UNREADABLE
