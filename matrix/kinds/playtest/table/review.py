"""A judge for what takes reading, such as contradictions, or people who fall out of character.

Rules find some of these, and of narrators in a manner that they do not know, half of what they
report is none. So a report does not count at once: when the session is over a judge is asked about
it, shown what was said until then; and once more about the whole session where nothing was found,
unless the judge of its quality found nothing amiss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from matrix.judging.asking import Judge, Judged, judge_transcript
from matrix.judging.listed import as_material, cited
from matrix.judging.marks import UNREVIEWED
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
from matrix.kinds.playtest.setup.state import PlaytestState, UnconfirmedIssue
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

MOST_UNCONFIRMED: Final = 20
"""Reports of a type that a session keeps to be asked about; those beyond count at once."""


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


async def confirm_endings(
    ctx: Context, table: TurnTable, text: str, findings: Sequence[IssueFound]
) -> list[IssueFound]:
    """Ask in its turn about what would end the session, and keep what the judge does not pass.

    Args:
        ctx: The session's context, before the output stands in its log.
        table: What is played, with the rubrics.
        text: The output.
        findings: What rules found in it.

    Raises:
        SessionStop: The session must end.
    """
    if not table.rubrics.keys() & set(table.options.end_on):
        return list(findings)
    asked = [found for found in findings if _ends(table, found.kind)]
    newest = Message(TABLE, NARRATOR, text, ctx.turn)
    told = as_material([*_said(ctx), (len(ctx.log), newest)]) if asked else []
    # also where there is nothing to ask: the places of later calls are the same whatever was found
    readings = await ctx.parallel(
        [partial(_confirm, table=table, found=found, told=told) for found in asked]
    )
    said = zip(asked, readings, strict=True)
    passed = [id(found) for found, reading in said if _is_passed(ctx, found, reading, ctx.turn)]
    return [found for found in findings if id(found) not in passed]


def leave_unconfirmed(
    state: PlaytestState, table: TurnTable, findings: Sequence[IssueFound], turn: int, heard: int
) -> tuple[PlaytestState, list[IssueFound]]:
    """Keep what a judge will be asked about; gives what counts at once.

    So whoever judges the session when it is over, or judges it again, has the word on all of it.

    Args:
        state: The state, with an output taken into account.
        table: What is played, with the rubrics.
        findings: What rules found in the output.
        turn: Its turn.
        heard: Messages in the log before it.
    """
    pending, at_once = list(state.unconfirmed), list[IssueFound]()
    for found in findings:
        waiting = sum(one.kind == found.kind for one in pending)
        asked = found.kind in table.rubrics and not _ends(table, found.kind)
        if not asked or found.kind in _COUNTED or waiting >= MOST_UNCONFIRMED:
            at_once.append(found)
            continue
        pending.append(UnconfirmedIssue(**found._asdict(), turn=turn, heard=heard))
    return state.model_copy(update={"unconfirmed": tuple(pending)}), at_once


async def confirm_issues(ctx: Context, table: TurnTable, state: PlaytestState) -> PlaytestState:
    """Ask about what does not count yet; what the judge does not pass is recorded, and counted.

    A judge that cannot tell, or cannot be read or reached, leaves a report as it is. Each that it
    passes is an event.

    Raises:
        SessionStop: The session must end.
    """
    if not state.unconfirmed:
        return state
    said = _said(ctx)
    by_kind: dict[str, list[UnconfirmedIssue]] = {}
    for report in state.unconfirmed:
        by_kind.setdefault(report.kind, []).append(report)

    async def ask(scope: Context, report: UnconfirmedIssue) -> Reading | None:
        told = as_material([one for one in said if _is_told_by(report, *one)])
        return await _confirm(scope, table, _found(report), told)

    async def ask_all(scope: Context, reports: Sequence[UnconfirmedIssue]) -> list[Reading | None]:
        """As many side by side as are wanted yet; about what is left over nobody is asked."""
        readings: list[Reading | None] = []
        while room := BEYOND_DOUBT - sum(map(_stands, readings)):
            some = reports[len(readings) : len(readings) + room]
            if not some:
                break
            readings += await scope.parallel([partial(ask, report=one) for one in some])
        return readings + [None] * (len(reports) - len(readings))

    # a scope for each type: what is asked about one moves no place of another's
    answers = await ctx.parallel([partial(ask_all, reports=one) for one in by_kind.values()])
    said_of = {
        id(report): reading
        for reports, readings in zip(by_kind.values(), answers, strict=True)
        for report, reading in zip(reports, readings, strict=True)
    }
    stand = list[IssueFound]()
    for report in state.unconfirmed:
        found = _found(report)
        if not _is_passed(ctx, found, said_of[id(report)], report.turn):
            record_findings(ctx, [found], report.turn)
            stand.append(found)
    return count_issues(state.model_copy(update={"unconfirmed": ()}), stand)


async def _confirm(
    ctx: Context, table: TurnTable, found: IssueFound, told: Sequence[Part]
) -> Reading | None:
    """What the judge says of a report, shown what was told up to the output that it is of."""
    rubric = confirming(table.rubrics[found.kind])
    parts = [_guide(table), Part(REPORT, report_of(found)), *told]
    return await _judge(ctx, found.kind, rubric, parts)


def _is_passed(ctx: Context, found: IssueFound, reading: Reading | None, turn: int) -> bool:
    """Whether the judge passes a report, which is then an event."""
    if reading is None or _stands(reading):
        return False
    why = f"{quoted(_reason(reading.verdict), 300)} (a rule reported {report_of(found)})"
    ctx.event("not_confirmed", subject=found.kind, detail=why, turn=turn)
    return True


def _ends(table: TurnTable, kind: str) -> bool:
    """Whether an issue of a type that is asked about ends the session."""
    return kind in table.rubrics and kind in table.options.end_on and kind not in _COUNTED


def _stands(reading: Reading | None) -> bool:
    """Whether a report counts, by what was said of it."""
    return reading is None or reading.verdict.word != "PASS"


def _found(report: UnconfirmedIssue) -> IssueFound:
    return IssueFound(**report.model_dump(include=set(IssueFound._fields)))


def _is_told_by(report: UnconfirmedIssue, position: int, message: Message) -> bool:
    """Whether a message was said by the end of the output that a report is of."""
    its_own = message.turn == report.turn and message.speaker == NARRATOR
    return position < report.heard or its_own


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
    if turn is None:  # some think first, and end with a line that only says the word
        reason = f"{reading.verdict.before} {reason}".strip()
        turn = turn_cited(reason, said)
    if turn is None:
        told = f"{reading.model} names no message of the narrator: {quoted(reason, 300)}"
        ctx.event(UNREVIEWED, subject=kind, detail=told, severity="warning")
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
        ctx.event(UNREVIEWED, subject=kind, detail=str(failure)[:500], severity="warning")
        return None
    verdict = judged.verdict
    if not isinstance(verdict, LineVerdict):
        told = f"no answer of {judged.model} can be read: {judged.why}"
        ctx.event(UNREVIEWED, subject=kind, detail=told[:500], severity="warning")
        return None
    if verdict.word == "UNCERTAIN":
        told = f"{judged.model} cannot tell: {quoted(_reason(verdict), 300)}"
        ctx.event(UNREVIEWED, subject=kind, detail=told, severity="warning")
    return Reading(verdict, judged.model)


def _reason(verdict: LineVerdict) -> str:
    """Why a judge says what it says: some think first, and end with the word alone."""
    return verdict.reason or verdict.before


def turn_cited(reason: str, said: Mapping[int, Message]) -> int | None:
    """The turn of the newest message of the narrator that a reason cites."""
    told = [said[n].turn for n in cited(reason) if n in said and said[n].speaker == NARRATOR]
    return max(told, default=None)
