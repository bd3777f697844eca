"""Asking a judge: again if its answer cannot be read, and several times about one transcript."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from matrix.judging.forms import Form, Unread
from matrix.judging.marks import MARKED, EventContext, marks_in, marks_told
from matrix.judging.quotation import is_quotation
from matrix.judging.repeats import MAX_REPEATS
from matrix.judging.request import Part, judge_request
from matrix.model.records import Answer, ChatMessage

T = TypeVar("T")
V = TypeVar("V")

TRIES: Final = 2
"""How often one verdict is asked for at most: once more than the first time."""

CUT: Final = "it was cut off before its end"
"""Why an answer is not read that its model had to break off: a word may have been to follow."""

QUOTES: Final = "it says no more than what stands in the judged text, word for word"

_SHOWN_CHARS = 200


class JudgeContext(EventContext, Protocol):
    """What judging needs of the context that a kind plays in."""

    async def ask(
        self,
        role: str,
        messages: Sequence[ChatMessage],
        *,
        model: str | None = None,
        max_tokens: int = 512,
        temperature: float | None = None,
        schema: Mapping[str, Any] | None = None,
        tag: str = "",
        fresh: bool = False,
    ) -> Answer: ...

    async def parallel(self, children: Sequence[Callable[[Any], Awaitable[T]]]) -> list[T]: ...


class Judge(NamedTuple, Generic[V]):
    """Who judges by what: a role of the kind, its model, the form, and tokens of one answer.

    ``tag`` is the rubric's name in ``calls``.
    """

    role: str
    model: str
    form: Form[V]
    max_tokens: int
    tag: str = ""


class Judged(NamedTuple, Generic[V]):
    """One judging: its verdict, if it could be read, the model's name, and why it could not."""

    verdict: V | None
    model: str
    why: str = ""


async def judge_transcript(
    ctx: JudgeContext,
    judge: Judge[V],
    material: Sequence[Part],
    repeats: int = 1,
    *,
    own_scope: bool = False,
) -> list[Judged[V]]:
    """Have the same material judged ``repeats`` times, side by side, as calls of their own.

    A single judging is asked in the scope it is called from, several in one of ``ctx.parallel``
    each, as is a single one that has its ``own_scope``: being asked again then moves no later
    call's place. So every repeat has its own call key: it is journalled and paid once, answered
    independently of the others, and found again on resume.

    Args:
        ctx: The session's context.
        judge: Who judges by what.
        material: What there is to be judged; untrusted.
        repeats: 1 to :data:`~matrix.judging.repeats.MAX_REPEATS`.
        own_scope: Whether a single judging has a scope of its own.

    Raises:
        ValueError: Another number of repeats.
        CallFailed: A call ended in a final error.
        SessionStop: The session must end.
    """
    if not 1 <= repeats <= MAX_REPEATS:
        raise ValueError(f"{repeats} repeats of the judge; allowed are 1 to {MAX_REPEATS}")
    request = judge_request(material, judge.form.closing)
    if marks := marks_in(material):
        subject = judge.tag or judge.role
        ctx.event(MARKED, subject=subject, detail=marks_told(marks), value=float(len(marks)))

    async def once(scope: JudgeContext) -> Judged[V]:
        return await _judge_once(scope, judge, request, material)

    alone = repeats == 1 and not own_scope
    return [await once(ctx)] if alone else await ctx.parallel([once] * repeats)


async def _judge_once(
    ctx: JudgeContext, judge: Judge[V], request: str, material: Sequence[Part]
) -> Judged[V]:
    """Ask until the answer can be read, :data:`TRIES` times at most.

    Records of an earlier run are read as that run read them, the second answer after the first.
    What gave no judgement when it was bought would give none for ever: where that is all that is
    recorded, all is asked for once more, in places of its own, and then without records.
    """
    form, why = judge.form, ""
    in_part: Judged[V] | None = None
    for fresh in (False, False, True):
        recorded = False
        for attempt in range(TRIES):
            asked = request + form.again if attempt else request
            answer = await _ask(ctx, judge, asked, fresh=fresh)
            recorded |= answer.cached
            verdict = _read(form, answer, material)
            if isinstance(verdict, Unread):
                why = verdict.why
            elif form.whole(verdict):
                return Judged(verdict, answer.model)
            elif attempt == TRIES - 1:
                in_part = Judged(verdict, answer.model)
        if not recorded:
            break
    if in_part is not None:
        return in_part
    shown = answer.text[:_SHOWN_CHARS]
    ctx.event("judge_unparsed", subject=answer.model, detail=shown, severity="warning")
    return Judged(None, answer.model, why)


async def _ask(ctx: JudgeContext, judge: Judge[Any], asked: str, *, fresh: bool = False) -> Answer:
    return await ctx.ask(
        judge.role,
        [ChatMessage("system", judge.form.system), ChatMessage("user", asked)],
        model=judge.model,
        max_tokens=judge.max_tokens,
        schema=judge.form.schema,
        tag=judge.tag,
        fresh=fresh,
    )


def _read(form: Form[V], answer: Answer, material: Sequence[Part]) -> V | Unread:
    """What an answer says: nothing if it was cut off, or only quotes what is judged."""
    if answer.is_cut:
        return Unread(CUT)
    read = form.parse(answer.text)
    if not isinstance(read, Unread) and is_quotation(answer.text, material):
        return Unread(QUOTES)
    return read
