"""The judge of a play-test: its rubric, the transcript it reads, and asking it once or twice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from matrix.judging.quality import (
    QualityRubric,
    QualityVerdict,
    judge_request,
    judge_system,
    parse_quality,
    quality_schema,
)
from matrix.kinds.context import Context, Log
from matrix.kinds.playtest import roles
from matrix.kinds.playtest.asides import heard
from matrix.kinds.playtest.history import NARRATOR, RELAY, SYSTEM, TABLE
from matrix.kinds.playtest.reading import spoken
from matrix.kinds.playtest.state import State
from matrix.kinds.playtest.table import Table, persona_of
from matrix.model.records import ChatMessage, Message

MAX_TRANSCRIPT: Final = 200_000
MAX_GUIDE: Final = 60_000
"""Characters of material that the judge is given; more is cut out of the middle."""

RUBRIC: Final = QualityRubric(
    "You have the story guide, the group and the transcript of one session of an interactive "
    "story. Judge the narrator, not the players.",
    (
        ("coherence", "Does the story hold together, with nothing that contradicts itself?"),
        ("atmosphere", "Does the telling keep the tone of the guide and make the place felt?"),
        ("player_agency", "Do the players' choices change what happens later on?"),
        ("pacing", "Does tension build at a good rate, with no rush and no dragging?"),
        (
            "story_guide_adherence",
            "Are the guide's places, people and pulses used, and nothing important invented?",
        ),
        (
            "character_integration",
            "Does what the players told about their characters come back in the story?",
        ),
        ("fun_factor", "Would you want to sit at this table and play this?"),
    ),
)
_AGAIN: Final = "\n\nAnswer with the JSON object alone, every key with a number from 1 to 5."


async def judge_session(
    ctx: Context, table: Table, state: State
) -> tuple[QualityVerdict | None, str]:
    """Ask for a verdict on the session, once more if it cannot be read; with the model's name."""
    material = [
        ("Story guide", cut(table.guide, MAX_GUIDE)),
        ("The group", describe_group(ctx.log, state)),
        ("Transcript", cut(transcript(ctx.log), MAX_TRANSCRIPT)),
    ]
    request, model = judge_request(material), ""
    for addition in ("", _AGAIN):
        answer = await ctx.ask(
            roles.JUDGE,
            [
                ChatMessage("system", judge_system(RUBRIC)),
                ChatMessage("user", request + addition),
            ],
            model=roles.model_of(roles.JUDGE, ctx.plan.roles),
            max_tokens=roles.TOKENS[roles.JUDGE],
            schema=quality_schema(RUBRIC),
        )
        model = answer.model
        verdict = parse_quality(answer.text, RUBRIC)
        if verdict is not None:
            return verdict, model
    ctx.event("judge_unparsed", subject=model, detail=answer.text[:200], severity="warning")
    return None, model


def record_quality(ctx: Context, verdict: QualityVerdict | None, model: str) -> None:
    """Record one score per dimension; a dimension without one is recorded as missing."""
    reason = verdict.reason if verdict else "the judge's answer could not be read"
    for name in RUBRIC.names:
        ctx.score(
            f"quality_{name}",
            verdict.scores.get(name) if verdict else None,
            reason=reason,
            judge_model=model,
            rubric_hash=RUBRIC.hash,
        )


def describe_group(log: Log, state: State) -> str:
    """The players' own system prompts: who they are and how they play."""
    return "\n\n".join(persona_of(log, seat) for seat in state.seats)


def transcript(log: Log) -> str:
    """What was said, turn by turn; private passages are marked with who heard them."""
    return "\n".join(_lines(log[position] for position in range(len(log))))


def _lines(messages: Iterable[Message]) -> Iterable[str]:
    turn = -1
    for message in messages:
        private = message.channel.removeprefix("private/")
        if message.channel != TABLE and private == message.channel:
            continue
        if message.turn != turn:
            turn = message.turn
            yield f"\n[turn {turn}]" if turn else "[before the story]"
        yield _line(message, "" if message.channel == TABLE else private)


def _line(message: Message, private: str) -> str:
    if message.speaker == SYSTEM:
        return message.text
    if message.speaker == NARRATOR:
        to = f" (to {private} alone)" if private else ""
        return f"Narrator{to}: {heard(message.text) if private else spoken(message.text)}"
    if message.label == RELAY:
        return f"The group to the narrator: {message.text}"
    return f"{message.speaker}{' (aside)' if private else ''}: {message.text}"


def cut(text: str, limit: int) -> str:
    """``text``, or its beginning and end with a mark between them if it is longer than that."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
