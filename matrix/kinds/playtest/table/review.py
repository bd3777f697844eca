"""A judge for what takes reading, such as contradictions, or people who fall out of character.

Rules find some of these, and of narrators in a manner that they do not know, half of what they
report is none. So a judge is asked about each report before it counts, in the turn that it is of;
and once more about the whole session where nothing was found, unless the judge of its quality
found nothing amiss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from matrix.judging.asking import Judge, Judged, judge_transcript
from matrix.judging.listed import as_material, cited
from matrix.judging.repeats import mean_of
from matrix.judging.request import Part
from matrix.judging.rubric_file import RubricFile
from matrix.judging.verdict import RubricVerdict
from matrix.judging.verdict_line import LineVerdict
from matrix.kinds.context import Context
from matrix.kinds.playtest.detect.history import NARRATOR, TABLE
from matrix.kinds.playtest.detect.issues import ERROR, IssueFound, quoted
from matrix.kinds.playtest.detect.observe import count_issues
from matrix.kinds.playtest.setup import roles
from matrix.kinds.playtest.setup.state import PlaytestState
from matrix.kinds.playtest.table.judge import MAX_GUIDE
from matrix.kinds.playtest.table.scoring import record_findings
from matrix.kinds.playtest.table.table import TurnTable
from matrix.kinds.protocol import is_read
from matrix.model.errors import CallFailed
from matrix.model.records import Message

NOTHING_AMISS: Final = 5.0
"""A dimension of quality that a judge gives its best mark needs no second reading."""

HINTS: Final[Mapping[str, tuple[str, ...]]] = {
    "contradiction": ("coherence",),
    "character_break": ("coherence", "story_guide_adherence"),
    "guide_deviation": ("story_guide_adherence",),
    "stuck": ("pacing",),
    "early_end": ("pacing", "story_guide_adherence"),
}
"""Issue -> dimensions of quality that suffer from it."""

_COUNTED: Final = frozenset(("early_end",))
"""Issues of which the rule's word stands: it has counted, by a share that options say."""

REPORT: Final = "report"
"""Title of the part of the material that has a rule's report."""

_CONFIRMS: Final = (
    "A rule has read the newest message and reports the issue that stands under `report`. "
    "Judge that report alone: FAIL if it is right by what is said above, PASS if it is not. What "
    "else is wrong in the session is nothing to this question."
)

BEYOND_DOUBT: Final = 5
"""Issues of a type that a session has; what rules report beyond them is asked of nobody."""


class Reading(NamedTuple):
    """What a judge said, and its model's name."""

    verdict: LineVerdict
    model: str


def confirming(rubric: RubricFile) -> RubricFile:
    """The rubric by which a judge is asked whether a report is right."""
    instructions = f"{rubric.instructions.strip()}\n\n{_CONFIRMS}"
    return rubric.model_copy(update={"texts": ("guide", REPORT), "instructions": instructions})


def report_of(found: IssueFound) -> str:
    """What a judge is told that a rule found."""
    return f"{found.kind} ({found.subject}): {found.detail}"


async def confirm_issues(
    ctx: Context,
    table: TurnTable,
    known: Mapping[str, int],
    text: str,
    findings: Sequence[IssueFound],
) -> list[IssueFound]:
    """Ask about what rules report of the newest output, and keep what the judge does not pass.

    A judge that cannot tell, or cannot be read or reached, leaves a report as it is.

    Args:
        ctx: The session's context, before the output stands in its log.
        table: What is played, with the rubrics.
        known: Type -> issues that the session had before.
        text: The output.
        findings: What rules found in it.

    Returns:
        Findings without those that the judge passed; each of them is an event.

    Raises:
        SessionStop: The session must end.
    """
    if not table.rubrics:
        return list(findings)
    asked = [
        found
        for found in findings
        if found.kind in table.rubrics
        and found.kind not in _COUNTED
        and known.get(found.kind, 0) < BEYOND_DOUBT
    ]
    newest = Message(TABLE, NARRATOR, text, ctx.turn)
    told = as_material([*_said(ctx), (len(ctx.log), newest)]) if asked else []

    async def ask(scope: Context, found: IssueFound) -> Reading | None:
        rubric = confirming(table.rubrics[found.kind])
        parts = [_guide(table), Part(REPORT, report_of(found)), *told]
        return await _judge(scope, found.kind, rubric, parts)

    # also where there is nothing to ask: the places of later calls are the same whatever was found
    readings = await ctx.parallel([partial(ask, found=found) for found in asked])
    passed: set[int] = set()
    for found, reading in zip(asked, readings, strict=True):
        if reading is not None and reading.verdict.word == "PASS":
            passed.add(id(found))
            why = f"{quoted(reading.verdict.reason, 300)} (a rule reported {report_of(found)})"
            ctx.event("not_confirmed", subject=found.kind, detail=why)
    return [found for found in findings if id(found) not in passed]


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
    asked = [
        kind
        for kind in table.options.check_issues
        if state.concluded or kind != "early_end"
        if is_unsure(kind, state.issues, judged)
    ]
    said = _said(ctx) if asked else []
    parts = [_guide(table), *as_material(said)]
    for kind in asked:
        found = await _review(ctx, table, kind, dict(said), parts)
        if found is not None:
            turn, issue = found
            record_findings(ctx, [issue], turn)
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
    marks = [mean_of(given.get(name) for given in verdicts) for name in HINTS[kind]]
    return any(mark is None or mark < NOTHING_AMISS for mark in marks)


async def _review(
    ctx: Context,
    table: TurnTable,
    kind: str,
    said: Mapping[int, Message],
    parts: Sequence[Part],
) -> tuple[int, IssueFound] | None:
    """The issue with the turn that it is in; ``None`` where there is none, or nobody can tell."""
    reading = await _judge(ctx, kind, table.rubrics[kind], parts)
    if reading is None or reading.verdict.word != "FAIL":
        return None
    reason = reading.verdict.reason
    turn = turn_cited(reason, said)
    if turn is None:
        told = f"{reading.model} names no message of the narrator: {quoted(reason, 300)}"
        ctx.event("not_reviewed", subject=kind, detail=told, severity="warning")
        return None
    told = f"by the judge's reading: {quoted(reason, 400)}"
    return turn, IssueFound(kind, reading.model, told, ERROR, data={"by": roles.JUDGE})


def _said(ctx: Context) -> list[tuple[int, Message]]:
    """What can be read of a session, each message with its number."""
    log = ctx.log
    return [(position, one) for position in range(len(log)) if is_read(one := log[position])]


def _guide(table: TurnTable) -> Part:
    return Part("guide", table.guide, MAX_GUIDE)


async def _judge(
    ctx: Context, kind: str, rubric: RubricFile, material: Sequence[Part]
) -> Reading | None:
    """What the judge says of the material, in a scope of its own; ``None`` if nothing is had."""
    judge = Judge(
        roles.JUDGE,
        roles.model_of(roles.JUDGE, ctx.plan.roles),
        rubric.form,
        roles.TOKENS[roles.REVIEW],
        kind,
    )
    try:
        (judged,) = await judge_transcript(ctx, judge, material, own_scope=True)
    except CallFailed as failure:
        ctx.event("not_reviewed", subject=kind, detail=str(failure)[:500], severity="warning")
        return None
    verdict = judged.verdict
    return Reading(verdict, judged.model) if isinstance(verdict, LineVerdict) else None


def turn_cited(reason: str, said: Mapping[int, Message]) -> int | None:
    """The turn of the newest message of the narrator that a reason cites."""
    told = [said[n].turn for n in cited(reason) if n in said and said[n].speaker == NARRATOR]
    return max(told, default=None)
