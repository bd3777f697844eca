"""Asking a judge: again if its answer cannot be read, and several times about one transcript."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from matrix.judging.repeats import MAX_REPEATS
from matrix.judging.request import Part, again, judge_request, judge_system, verdict_schema
from matrix.judging.rubric import Rubric
from matrix.judging.verdict import Verdict, parse_verdict
from matrix.model.records import Answer, ChatMessage

T = TypeVar("T")

TRIES: Final = 2
"""How often one verdict is asked for at most: once more than the first time."""

_SHOWN_CHARS = 200


class JudgeContext(Protocol):
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
    ) -> Answer: ...

    async def parallel(self, children: Sequence[Callable[[Any], Awaitable[T]]]) -> list[T]: ...

    def event(
        self,
        kind: str,
        *,
        subject: str = "",
        detail: str = "",
        value: float | None = None,
        severity: str = "",
    ) -> None: ...


class Judge(NamedTuple):
    """Who judges by what: a role of the kind, its model, the rubric, and tokens of one answer.

    ``tag`` is the rubric's name in ``calls``.
    """

    role: str
    model: str
    rubric: Rubric
    max_tokens: int
    tag: str = ""


class Judged(NamedTuple):
    """One judging of a transcript: its verdict, if it could be read, and the model's name."""

    verdict: Verdict | None
    model: str


async def judge_transcript(
    ctx: JudgeContext, judge: Judge, material: Sequence[Part], repeats: int = 1
) -> list[Judged]:
    """Have the same material judged ``repeats`` times, side by side, as calls of their own.

    A single judging is asked in the scope it is called from, several in one of ``ctx.parallel``
    each. So every repeat has its own call key: it is journalled and paid once, answered
    independently of the others, and found again on resume.

    Args:
        ctx: The session's context.
        judge: Who judges by what.
        material: What there is to be judged; untrusted.
        repeats: 1 to :data:`~matrix.judging.repeats.MAX_REPEATS`.

    Raises:
        ValueError: Another number of repeats.
        CallFailed: A call ended in a final error.
        SessionStop: The session must end.
    """
    if not 1 <= repeats <= MAX_REPEATS:
        raise ValueError(f"{repeats} repeats of the judge; allowed are 1 to {MAX_REPEATS}")
    request = judge_request(material)

    async def once(scope: JudgeContext) -> Judged:
        return await _judge_once(scope, judge, request)

    return [await once(ctx)] if repeats == 1 else await ctx.parallel([once] * repeats)


async def _judge_once(ctx: JudgeContext, judge: Judge, request: str) -> Judged:
    """Ask until the answer can be read, :data:`TRIES` times at most."""
    system = ChatMessage("system", judge_system(judge.rubric))
    for attempt in range(TRIES):
        asked = request + again(judge.rubric) if attempt else request
        answer = await ctx.ask(
            judge.role,
            [system, ChatMessage("user", asked)],
            model=judge.model,
            max_tokens=judge.max_tokens,
            schema=verdict_schema(judge.rubric),
            tag=judge.tag,
        )
        verdict = parse_verdict(answer.text, judge.rubric)
        if verdict is not None:
            return Judged(verdict, answer.model)
    shown = answer.text[:_SHOWN_CHARS]
    ctx.event("judge_unparsed", subject=answer.model, detail=shown, severity="warning")
    return Judged(None, answer.model)
