"""The judge of a play-test: its rubric, the material it reads, and what its verdict is worth."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from matrix.judging.asking import Judge, Judged, judge_transcript
from matrix.judging.request import Part
from matrix.judging.rubric import Criterion, Rubric
from matrix.judging.verdict import RubricVerdict, scores_form
from matrix.kinds.context import Context, MessageLog
from matrix.kinds.playtest.detect.asides import heard
from matrix.kinds.playtest.detect.history import NARRATOR, RELAY, SYSTEM, TABLE
from matrix.kinds.playtest.detect.reading import spoken
from matrix.kinds.playtest.setup import roles
from matrix.kinds.playtest.setup.state import PlaytestState
from matrix.kinds.playtest.setup.wording import AS_SHIPPED, Words, fill
from matrix.kinds.playtest.table.table import TurnTable, persona_of
from matrix.model.records import Message

MAX_TRANSCRIPT: Final = 200_000
MAX_GUIDE: Final = 60_000
"""Characters of material that the judge is given; more is cut out of the middle."""

QUALITIES: Final = (
    "coherence",
    "atmosphere",
    "player_agency",
    "pacing",
    "story_guide_adherence",
    "character_integration",
    "fun_factor",
)
"""What is judged, by the names of its scores and of its questions in the wording."""
QUALITY: Final = "quality_"
"""Goes before the name of a criterion in the scores that are recorded."""


def rubric_of(words: Words = AS_SHIPPED) -> Rubric:
    """The rubric, in the words of the story: scores by other words are of another rubric."""
    return Rubric(
        fill(words, "judge"), tuple(Criterion(name, fill(words, name)) for name in QUALITIES)
    )


async def judge_session(
    ctx: Context, table: TurnTable, state: PlaytestState, rubric: Rubric
) -> list[Judged[RubricVerdict]]:
    """Have the session judged, as often as the options say.

    Where issues are asked about after it, it has a scope of its own: having to ask it twice moves
    no place of theirs, so that whoever judges the session again is answered by what they said.
    """
    model = roles.model_of(roles.JUDGE, ctx.plan.roles)
    form, tokens = scores_form(rubric), roles.TOKENS[roles.JUDGE]
    judge = Judge(roles.JUDGE, model, form, tokens, roles.PLAYTEST_RUBRIC)
    material = (
        Part("Story guide", table.guide, MAX_GUIDE),
        Part("The group", describe_group(ctx.log, state)),
        Part("Transcript", transcript(ctx.log), MAX_TRANSCRIPT),
    )
    return await judge_transcript(
        ctx, judge, material, table.options.judge_repeats, own_scope=bool(table.rubrics)
    )


def describe_group(log: MessageLog, state: PlaytestState) -> str:
    """The players' own system prompts: who they are and how they play."""
    return "\n\n".join(persona_of(log, seat) for seat in state.seats)


def transcript(log: MessageLog) -> str:
    """What was said, turn by turn; private passages are marked with who heard them."""
    return "\n".join(_lines(log[position] for position in range(len(log))))


def _lines(messages: Iterable[Message]) -> Iterable[str]:
    turn = -1
    for message in messages:
        if message.channel != TABLE and not message.heard_by:
            continue
        if message.turn != turn:
            turn = message.turn
            yield f"\n[turn {turn}]" if turn else "[before the story]"
        yield _line(message, message.heard_by)


def _line(message: Message, private: str) -> str:
    if message.speaker == SYSTEM:
        return message.text
    if message.speaker == NARRATOR:
        to = f" (to {private} alone)" if private else ""
        return f"Narrator{to}: {heard(message.text) if private else spoken(message.text)}"
    if message.label == RELAY:
        return f"The group to the narrator: {message.text}"
    return f"{message.speaker}{' (aside)' if private else ''}: {message.text}"
