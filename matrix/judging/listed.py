"""Judges that a run spec lists: asked at a session's end, whatever its kind, recorded as scores.

Several models or repeats are a panel: each judging is recorded by itself, and what they come to
together is the rubric's score.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict

from matrix.judging.asking import Judge, JudgeContext, Judged, judge_transcript
from matrix.judging.choice import WON, Choice, preferred
from matrix.judging.criteria import Checklist, Evaluation
from matrix.judging.marks import tell_claim, tell_misnamed, tell_quotations
from matrix.judging.panel import (
    NO_MAJORITY,
    JudgeReading,
    combined,
    mean_of_panel,
    shared_reason,
    votes,
)
from matrix.judging.recording import ScoreContext
from matrix.judging.repeats import repeat_name
from matrix.judging.request import Part
from matrix.judging.rubric_file import RubricFile
from matrix.judging.verdict import UNREADABLE, RubricVerdict
from matrix.judging.verdict_line import LineVerdict
from matrix.model.errors import CallFailed
from matrix.model.lines import in_line
from matrix.model.records import Message
from matrix.model.spec.judges import JUDGES

TRANSCRIPT: Final = "transcript"
LAST: Final = "last"
CHOICE: Final = "choice"

OPPONENT: Final = "opponent"
"""Name that a session finds under among its texts whom it is compared with."""

MAX_TRANSCRIPT: Final = 200_000
"""Characters of a transcript that a judge is given; more is cut out of the middle."""

NO_TEXTS: Final[Mapping[str, str]] = {}

_CITED = re.compile(r"\[(\d{1,6}(?:\s*,\s*\d{1,6})*)\]")

Read = RubricVerdict | Evaluation | LineVerdict | Choice

Said = Sequence[tuple[int, Message]]
"""Messages, each with its number."""


class Opponent(NamedTuple):
    """The session that another one is compared with: its variant, and what was said in it.

    ``messages`` are empty where it is the same session.
    """

    level: str
    messages: Said


class ListedJudge(BaseModel):
    """A judge of the list with its rubric, as sessions are given it."""

    model_config = ConfigDict(defer_build=True, frozen=True)

    rubric: RubricFile
    models: tuple[str, ...]
    target: str
    repeats: int
    combine: Literal["mean", "majority"]
    max_tokens: int


class JudgingContext(JudgeContext, ScoreContext, Protocol):
    """What they need of a session's context."""

    async def in_scope(self, name: str, act: Callable[[Any], Awaitable[None]]) -> None: ...


async def judge_by_list(
    ctx: JudgingContext,
    judges: Sequence[ListedJudge],
    messages: Said,
    opponent: Opponent | None = None,
    texts: Mapping[str, str] = NO_TEXTS,
) -> None:
    """Have a session judged by every judge of the list, and record what they say.

    A call that fails, or an answer that cannot be read, leaves a score out, with the reason; the
    session and its other scores stay. Calls of a rubric have places by its name, so that another
    judge's being asked again, or another list, moves none of them (and its records are found).

    Args:
        ctx: The session's context.
        judges: The list.
        messages: What was said, each with its number.
        opponent: Whom it is compared with, by rubrics that ask for a choice.
        texts: Name -> text of the scenario, for rubrics that show some of them.

    Raises:
        SessionStop: The session must end.
    """
    for judge in sorted(judges, key=lambda one: one.rubric.order):
        if why := _why_unasked(judge.rubric, messages, texts):
            ctx.score(judge.rubric.name, None, reason=why, rubric_hash=judge.rubric.form.hash)
            continue
        beside = [Part(name, texts[name]) for name in judge.rubric.texts]
        if judge.rubric.answer == CHOICE:
            ask = partial(
                _compare, judge=judge, messages=messages, opponent=opponent, beside=beside
            )
        else:
            shown = shown_to(judge.target, messages)
            ask = partial(_judge, judge=judge, messages=shown, beside=beside)
        await ctx.in_scope(judge.rubric.name, ask)


def _why_unasked(rubric: RubricFile, messages: Said, texts: Mapping[str, str]) -> str:
    """Why nobody is asked about a session; empty where somebody is."""
    if lacking := [name for name in rubric.texts if name not in texts]:
        return f"the session has no text {lacking[0]!r}, which the rubric shows its judge"
    if not rubric.applies_to(one for _, one in messages):
        return f"nothing was said in a channel {rubric.where!r}: it is not asked"
    return ""


def shown_to(target: str, messages: Sequence[tuple[int, Message]]) -> list[tuple[int, Message]]:
    """The messages that a target stands for."""
    if target == TRANSCRIPT:
        return list(messages)
    if target == LAST:
        return list(messages[-1:])
    requested = target.casefold()
    return [
        (n, one)
        for n, one in messages
        if requested in (one.speaker.casefold(), one.channel.casefold())
    ]


def as_material(messages: Iterable[tuple[int, Message]], title: str = "Messages") -> list[Part]:
    """Numbered messages; lines of one are set off, so that none can pass for the next.

    Of what not everybody has heard, the channel is told.
    """
    lines = []
    for number, message in messages:
        text = message.text.replace("\r", "\n").replace("\n", "\n    ")
        alone = f" ({in_line(message.channel)})" if message.heard_by else ""
        lines.append(f"[{number}] {message.speaker}{alone}: {text}")
    return [Part(title, "\n".join(lines), MAX_TRANSCRIPT)]


async def _judge(
    ctx: JudgingContext,
    judge: ListedJudge,
    messages: Sequence[tuple[int, Message]],
    beside: Sequence[Part],
) -> None:
    name, form = judge.rubric.name, judge.rubric.form
    if not messages:
        told = f"there is nothing of {judge.target!r} to judge"
        ctx.score(name, None, reason=told, rubric_hash=form.hash)
        return
    material, judged = [*beside, *as_material(messages)], list[Judged[Read]]()
    for model in judge.models:
        asked = Judge(JUDGES, model, form, judge.max_tokens, name)
        try:
            judged += await judge_transcript(ctx, asked, material, judge.repeats, own_scope=True)
        except CallFailed as failure:
            judged += [Judged(None, model, str(failure)[:500])] * judge.repeats
    numbers = {number for number, _ in messages}
    readings = [_reading(judge, one) for one in judged]
    for one in readings:
        _tell_citations(ctx, name, one.model, one.reason, numbers)
    _tell_quotations(ctx, judge, judged, material)
    for answer, read in zip(judged, readings, strict=True):
        if isinstance(answer.verdict, Evaluation):
            tell_claim(ctx, name, answer.verdict.claimed, read.word)
    _record(ctx, judge, judged, readings, form.hash)


def _tell_citations(
    ctx: JudgingContext, name: str, model: str, reason: str, shown: set[int]
) -> None:
    """Messages that a reason names and that its judge was not shown."""
    if strange := sorted(cited(reason) - shown):
        told = f"{model} cites {', '.join(map(str, strange))}, which it was not shown"
        ctx.event("cites_nothing", subject=name, detail=told, severity="warning")


def _tell_quotations(
    ctx: JudgingContext,
    judge: ListedJudge,
    judged: Sequence[Judged[Read]],
    material: Sequence[Part],
) -> None:
    """Quotations of judges of criteria that are not in what they were shown."""
    for one in judged:
        if isinstance(one.verdict, Evaluation):
            known = [judge.rubric.instructions, *judge.rubric.criteria]
            said = one.verdict.said
            tell_quotations(ctx, judge.rubric.name, one.model, said, material, known)
            named = [each.named for each in one.verdict.findings]
            tell_misnamed(ctx, judge.rubric.name, one.model, named)


async def _compare(
    ctx: JudgingContext,
    judge: ListedJudge,
    messages: Said,
    opponent: Opponent | None,
    beside: Sequence[Part],
) -> None:
    """Both ways round, by every member; what they come to is the share of wins, ties as halves."""
    name, rubric_hash = judge.rubric.name, judge.rubric.form.hash
    told = f"beside {opponent.level}" if opponent else "nothing was there to compare it with"
    if opponent is None or not opponent.messages:
        value = None if opponent is None else 0.5
        told = f"it is {opponent.level} itself" if opponent else told
        ctx.score(name, value, reason=told, rubric_hash=rubric_hash)
        return
    # numbered alike, as the numbers that each has in its log could tell which of the two it is
    both = (shown_to(judge.target, one) for one in (messages, opponent.messages))
    sides = [list(enumerate((message for _, message in one), 1)) for one in both]
    readings: list[JudgeReading] = []
    for model in judge.models:
        asked = Judge(JUDGES, model, judge.rubric.form, judge.max_tokens, name)
        orders = []
        for first, second in (sides, sides[::-1]):
            pair = [*as_material(first, "Transcript A"), *as_material(second, "Transcript B")]
            material = [*beside, *pair]
            try:
                found = await judge_transcript(ctx, asked, material, judge.repeats, own_scope=True)
                orders.append(found)
            except CallFailed as failure:
                orders.append([Judged(None, model, str(failure)[:500])] * judge.repeats)
        readings += [_preference(ctx, name, *both) for both in zip(*orders, strict=True)]
        for one in orders[0] + orders[1]:
            if isinstance(one.verdict, Choice):
                shown = {number for side in sides for number, _ in side}
                _tell_citations(ctx, name, one.model, one.verdict.reason, shown)
    _record(ctx, judge, [], readings, rubric_hash)


def _preference(
    ctx: JudgingContext, name: str, as_a: Judged[Read], as_b: Judged[Read]
) -> JudgeReading:
    choices = [one.verdict if isinstance(one.verdict, Choice) else None for one in (as_a, as_b)]
    value = preferred(*choices)
    if value is None:
        return JudgeReading(None, "", as_a.why or as_b.why or UNREADABLE, as_a.model)
    assert choices[0] is not None
    assert choices[1] is not None
    if choices[0].word == choices[1].word != "TIE":
        told = f"{as_a.model} chose {choices[0].word} in both orders: its place, not what it says"
        ctx.event("chosen_by_place", subject=name, detail=told, severity="info")
    return JudgeReading(value, WON[value], choices[0].reason, as_a.model)


def cited(reason: str) -> set[int]:
    """The numbers of messages that a reason names.

    >>> sorted(cited("It repeats itself [3, 7], see [12]; [x] and 5 are none"))
    [3, 7, 12]
    """
    return {int(number) for found in _CITED.findall(reason) for number in found.split(",")}


def _reading(judge: ListedJudge, one: Judged[Read]) -> JudgeReading:
    rubric = judge.rubric
    match one.verdict:
        case None:
            return JudgeReading(None, "", one.why or UNREADABLE, one.model)
        case RubricVerdict() as verdict:
            assert rubric.rubric is not None
            share = rubric.rubric.composed(verdict.scores)
            low, high = rubric.scale
            value = None if share is None else low + share * (high - low)
            return JudgeReading(value, "", verdict.reason, one.model)
        case Choice() as choice:
            return JudgeReading(choice.for_first(), choice.word, choice.reason, one.model)
        case LineVerdict() as line:
            return JudgeReading(line.value, line.word, line.reason, one.model)
        case Evaluation() as found:
            assert not isinstance(rubric.criteria, dict)
            passed = Checklist(tuple(rubric.criteria), rubric.fail_threshold).passes(found)
            reasons = "; ".join(
                f"{n}. {each.reason}" for n, each in enumerate(found.findings, 1) if not each.met
            )
            word = "PASS" if passed else "FAIL"
            return JudgeReading(float(passed), word, reasons or found.reasoning, one.model)


def _record(
    ctx: JudgingContext,
    judge: ListedJudge,
    judged: Sequence[Judged[Read]],
    readings: Sequence[JudgeReading],
    rubric_hash: str,
) -> None:
    name, models = judge.rubric.name, ", ".join(dict.fromkeys(one.model for one in readings))
    members = len(judge.models)
    value, word = combined(readings, judge.combine, members)
    reason = shared_reason(readings, judge.combine, members, lost=value is None and not word)
    if word == NO_MAJORITY:
        ctx.event("panel_disagrees", subject=name, detail=votes(readings), severity="warning")
    ctx.score(name, value, label=word, reason=reason, judge_model=models, rubric_hash=rubric_hash)
    for part in _parts(judge):
        given = [_part(one.verdict, part, judge) for one in judged]
        mean = mean_of_panel(given, members)
        ctx.score(f"{name}.{part}", mean, judge_model=models, rubric_hash=rubric_hash)
    if len(readings) > 1:
        for number, one in enumerate(readings, 1):
            ctx.score(
                repeat_name(number, name),
                one.value,
                label=one.word,
                reason=one.reason,
                judge_model=one.model,
                rubric_hash=rubric_hash,
            )


def _parts(judge: ListedJudge) -> list[str]:
    """Scores beside the rubric's own: of its criteria, where there are several."""
    criteria = judge.rubric.criteria
    if isinstance(criteria, tuple):
        return ["met"] if criteria else []
    return list(criteria) if len(criteria) > 1 else []


def scores_of(judge: ListedJudge) -> set[str]:
    """Names of all scores that it may give."""
    name, members = judge.rubric.name, len(judge.models) * judge.repeats
    parts = {f"{name}.{part}" for part in _parts(judge)}
    return {name, *parts, *(repeat_name(number, name) for number in range(1, members + 1))}


def _part(verdict: Read | None, part: str, judge: ListedJudge) -> float | None:
    if isinstance(verdict, RubricVerdict):
        return verdict.scores.get(part)
    if isinstance(verdict, Evaluation):
        return 1 - verdict.not_met / len(verdict.findings)
    return None
