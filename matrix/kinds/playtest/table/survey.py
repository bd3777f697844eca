"""Asking players about the session: all of them when it is over, or one of them after a turn.

Players answer in character, by their own models, from what they remember. What they say changes
nothing of the session.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from matrix.judging.answers import read_json_object
from matrix.judging.asking import TRIES
from matrix.kinds.context import Context
from matrix.kinds.playtest.detect.asides import match_name
from matrix.kinds.playtest.detect.history import SPOKESPERSON, SYSTEM
from matrix.kinds.playtest.detect.memory import TurnHeard, remembered, turns_heard
from matrix.kinds.playtest.setup import roles
from matrix.kinds.playtest.setup.options import Interview
from matrix.kinds.playtest.setup.profile import MEMORY_TOKENS
from matrix.kinds.playtest.setup.prompts import SURVEY_AGAIN, interview_request, survey_request
from matrix.kinds.playtest.setup.state import PlaytestState, Seat
from matrix.kinds.playtest.setup.vocabulary import FUN, PLAY_AGAIN, SURVEY_QUESTIONS
from matrix.kinds.playtest.table.asking import asking
from matrix.kinds.playtest.table.table import TurnTable, persona_of, spokesperson_of
from matrix.kinds.protocol import INTERVIEWED
from matrix.model.errors import CallFailed
from matrix.model.records import ChatMessage, Message

SURVEY: Final = "survey"
SCORES: Final = {FUN: "survey_fun", PLAY_AGAIN: "survey_play_again"}
"""Question with a number for an answer -> the score that is the mean over the group."""

_SHOWN: Final = 1000


class Answered(NamedTuple):
    """What somebody answered to one question: in words, and as a number where one was asked."""

    text: str
    value: float | None = None


async def survey_players(
    ctx: Context, table: TurnTable, state: PlaytestState, questions: Sequence[str]
) -> None:
    """Ask every player the same questions, each by itself, and record what they say.

    An answer is an event of the player (``survey``). A mean needs the answers of all: one that is
    missing leaves none, because who does not answer may be who had no fun.
    """
    asked = keyed(questions)
    turns = turns_heard(ctx.log, MEMORY_TOKENS)
    children = [_asking_all(ctx, table, seat, turns, asked) for seat in state.seats]
    answers = await ctx.parallel(children)
    for seat, answered in zip(state.seats, answers, strict=True):
        for key, question in zip(asked, questions, strict=True):
            one = answered.get(key)
            told = one.text if one else "-"
            ctx.event(
                SURVEY,
                subject=seat.name,
                detail=f"{question} {told}" if question.endswith("?") else f"{question}: {told}",
                value=one.value if one else None,
                severity="" if one else "warning",
                data={"question": question, "answer": one.text if one else None},
            )
    for question, score in SCORES.items():
        if question in questions:
            given = [answered.get(question) for answered in answers]
            _record(ctx, score, dict(zip(state.names, given, strict=True)))


def _record(ctx: Context, score: str, answers: Mapping[str, Answered | None]) -> None:
    values = [one.value for one in answers.values() if one is not None and one.value is not None]
    if len(values) == len(answers):
        ctx.score(score, sum(values) / len(values))
        return
    missing = ", ".join(name for name, one in answers.items() if one is None)
    ctx.score(score, None, reason=f"no answer that could be read of {missing}")


def keyed(questions: Sequence[str]) -> dict[str, str]:
    """Key in the answer -> what is asked; questions in words have numbers."""
    return {
        question if question in SURVEY_QUESTIONS else f"answer_{number}": SURVEY_QUESTIONS.get(
            question, question
        )
        for number, question in enumerate(questions, 1)
    }


def answer_schema(asked: Mapping[str, str]) -> dict[str, Any]:
    """JSON Schema of the answer, for models that can be held to one."""
    known: dict[str, dict[str, Any]] = {
        FUN: {"type": "number", "minimum": 1, "maximum": 5},
        PLAY_AGAIN: {"type": "boolean"},
    }
    return {
        "type": "object",
        "properties": {key: known.get(key, {"type": "string"}) for key in asked},
        "required": list(asked),
        "additionalProperties": False,
    }


def read_answers(text: str, asked: Mapping[str, str]) -> dict[str, Answered]:
    """What an answer says, question by question; what is off its scale is left out, no guess."""
    found = read_json_object(text) or {}
    read = {key: _read(key, found.get(key)) for key in asked}
    return {key: one for key, one in read.items() if one is not None}


def _read(key: str, value: object) -> Answered | None:
    if key == PLAY_AGAIN:
        return Answered("yes" if value else "no", float(value)) if isinstance(value, bool) else None
    if key == FUN:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= 5:
            return None
        return Answered(f"{value:g}", float(value))
    told = " ".join(value.split())[:_SHOWN] if isinstance(value, str) else ""
    return Answered(told) if told else None


def _asking_all(
    ctx: Context,
    table: TurnTable,
    seat: Seat,
    turns: Sequence[TurnHeard],
    asked: Mapping[str, str],
) -> Callable[[Context], Awaitable[dict[str, Answered]]]:
    """A child that asks one player, once more if not all of the answer can be read."""
    memory = remembered(ctx.log, turns, seat.name, MEMORY_TOKENS)
    request = survey_request(memory, seat.name, asked, table.words)
    model = table.model_of(ctx, roles.PLAYERS, seat.archetype)
    system = ChatMessage("system", persona_of(ctx.log, seat))
    schema = answer_schema(asked)

    async def ask(scope: Context) -> dict[str, Answered]:
        best: dict[str, Answered] = {}
        for attempt in range(TRIES):
            again = SURVEY_AGAIN if attempt else ""
            try:
                answer = await scope.ask(
                    roles.PLAYERS,
                    [system, ChatMessage("user", request + again)],
                    model=model,
                    max_tokens=roles.TOKENS[roles.SURVEY],
                    schema=schema,
                    agent=seat.name,
                    tag=roles.SURVEY,
                )
            except CallFailed:  # the story was told all the same
                break
            read = read_answers(answer.text, asked)
            best = read if len(read) > len(best) else best
            if len(best) == len(asked):
                break
        return best

    return ask


def whom(state: PlaytestState, interview: Interview) -> Seat | None:
    """Who is asked: a player by name, or ``spokesperson``; ``None`` for nobody at the table."""
    if interview.player.casefold() == SPOKESPERSON and state.spokesperson < len(state.seats):
        return spokesperson_of(state)
    return state.seat_of(match_name(interview.player, state.names) or "")


async def interview_player(
    ctx: Context, table: TurnTable, state: PlaytestState, interview: Interview
) -> None:
    """Ask one player one question, and keep question and answer in a channel of their own."""
    seat = whom(state, interview)
    assert seat is not None  # `fork` has seen to it
    turns = turns_heard(ctx.log, MEMORY_TOKENS)
    memory = remembered(ctx.log, turns, seat.name, MEMORY_TOKENS)
    child = asking(
        roles.PLAYERS,
        table.model_of(ctx, roles.PLAYERS, seat.archetype),
        persona_of(ctx.log, seat),
        interview_request(
            memory, seat.name, interview.question, over=state.concluded, words=table.words
        ),
        agent=seat.name,
        tag=roles.INTERVIEW,
    )
    said = await child(ctx)
    ctx.log.append(Message(INTERVIEWED, SYSTEM, interview.question, ctx.turn, "question"))
    ctx.log.append(Message(INTERVIEWED, seat.name, said, ctx.turn, "answer"))
