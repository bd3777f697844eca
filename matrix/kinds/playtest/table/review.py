"""A judge for what the patterns are unsure of: contradictions, and falling out of character.

A pattern that reports one of these is right nearly always, and needs no judge. One that is silent
says little, so a judge reads the session, unless the judge of its quality found nothing amiss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from matrix.judging.asking import Judge, Judged, judge_transcript
from matrix.judging.listed import as_material, cited
from matrix.judging.repeats import mean_of
from matrix.judging.request import Part
from matrix.judging.verdict import RubricVerdict
from matrix.judging.verdict_line import LineVerdict
from matrix.kinds.context import Context
from matrix.kinds.playtest.detect.history import NARRATOR
from matrix.kinds.playtest.detect.issues import ERROR, IssueFound, quoted
from matrix.kinds.playtest.detect.observe import count_issues
from matrix.kinds.playtest.setup import roles
from matrix.kinds.playtest.setup.state import PlaytestState
from matrix.kinds.playtest.table.judge import MAX_GUIDE
from matrix.kinds.playtest.table.table import TurnTable
from matrix.kinds.playtest.table.turn import emit
from matrix.kinds.protocol import is_read
from matrix.model.errors import CallFailed
from matrix.model.records import Message

NOTHING_AMISS: Final = 5.0
"""A dimension of quality that a judge gives its best mark needs no second reading."""

_HINTS: Final[Mapping[str, tuple[str, ...]]] = {
    "contradiction": ("coherence",),
    "character_break": ("coherence", "story_guide_adherence"),
}
"""Issue -> dimensions of quality that suffer from it."""


async def review_issues(
    ctx: Context,
    table: TurnTable,
    state: PlaytestState,
    judged: Sequence[Judged[RubricVerdict]],
) -> PlaytestState:
    """Ask about every issue that options name and patterns are unsure of; one found is counted.

    Args:
        ctx: The session's context, after its last turn.
        table: What is played, with the rubrics.
        state: The session's state.
        judged: What the judge of quality said, if it was asked.

    Raises:
        SessionStop: The session must end.
    """
    for kind in table.options.check_issues:
        if not is_unsure(kind, state.issues, judged):
            continue
        found = await _review(ctx, table, kind)
        if found is not None:
            turn, issue = found
            emit(ctx, [issue], turn)
            state = count_issues(state, [issue])
    return state


def is_unsure(kind: str, found: Mapping[str, int], judged: Sequence[Judged[RubricVerdict]]) -> bool:
    """Whether somebody should read a session for an issue.

    Args:
        kind: Type of the issue.
        found: Type -> how many the patterns found.
        judged: Judgings of the session's quality; without any there is nothing to go by.
    """
    if found.get(kind):
        return False
    verdicts = [one.verdict.scores for one in judged if one.verdict]
    marks = [mean_of(given.get(name) for given in verdicts) for name in _HINTS[kind]]
    return any(mark is None or mark < NOTHING_AMISS for mark in marks)


async def _review(ctx: Context, table: TurnTable, kind: str) -> tuple[int, IssueFound] | None:
    """The issue with the turn that it is in; ``None`` where there is none, or nobody can tell."""
    rubric = table.rubrics[kind]
    said = [
        (position, one) for position in range(len(ctx.log)) if is_read(one := ctx.log[position])
    ]
    judge = Judge(
        roles.JUDGE,
        roles.model_of(roles.JUDGE, ctx.plan.roles),
        rubric.form,
        roles.TOKENS[roles.REVIEW],
        kind,
    )
    material = [Part("guide", table.guide, MAX_GUIDE), *as_material(said)]
    try:
        (answer,) = await judge_transcript(ctx, judge, material, own_scope=True)
    except CallFailed as failure:
        ctx.event("not_reviewed", subject=kind, detail=str(failure)[:500], severity="warning")
        return None
    verdict = answer.verdict
    if not isinstance(verdict, LineVerdict) or verdict.word != "FAIL":
        return None
    turn = _turn_of(verdict.reason, dict(said))
    if turn is None:
        told = f"{answer.model} names no message of the narrator: {quoted(verdict.reason, 300)}"
        ctx.event("not_reviewed", subject=kind, detail=told, severity="warning")
        return None
    told = f"by the judge's reading: {quoted(verdict.reason, 400)}"
    return turn, IssueFound(kind, answer.model, told, ERROR, data={"by": roles.JUDGE})


def _turn_of(reason: str, said: Mapping[int, Message]) -> int | None:
    """The turn of the newest message of the narrator that a reason cites."""
    told = [said[n].turn for n in cited(reason) if n in said and said[n].speaker == NARRATOR]
    return max(told, default=None)
