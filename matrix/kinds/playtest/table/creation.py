"""Character creation: the group sits down, introduces itself, and answers one question."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from matrix.kinds.context import Context
from matrix.kinds.playtest.detect import history
from matrix.kinds.playtest.detect.history import NARRATOR, SYSTEM, TABLE, narrator_history
from matrix.kinds.playtest.detect.reading import is_usable, spoken
from matrix.kinds.playtest.setup import roles
from matrix.kinds.playtest.setup.archetypes import Archetype
from matrix.kinds.playtest.setup.prompts import (
    introduction_request,
    player_system,
    question_request,
    spokesperson_system,
)
from matrix.kinds.playtest.setup.state import PlaytestState, Seat
from matrix.kinds.playtest.setup.wording import Words
from matrix.kinds.playtest.table.asking import Child, asking
from matrix.kinds.playtest.table.casting import Persona
from matrix.kinds.playtest.table.table import TurnTable, persona_of
from matrix.model.records import Message, Player

NO_WORDS = "(The narrator says nothing.)"
BLANK_LIMIT = 2
"""Unusable outputs in a row after which the session has failed."""


async def create_characters(ctx: Context) -> PlaytestState:
    """Seat the group of the prelude, then let narrator and players get acquainted.

    Order of speech: the narrator welcomes, players introduce themselves, the narrator asks a
    question, players answer. All of it is table talk of turn 0; the story has not begun.
    """
    table = TurnTable.of(ctx)
    state = _seat(ctx, table, [Persona.model_validate(value) for value in ctx.prelude])
    blanks = await _round(
        ctx, table, state, (history.WELCOME, history.INTRODUCTION), introduction_request, 0
    )
    blanks = await _round(
        ctx, table, state, (history.QUESTION, history.ANSWER), question_request, blanks
    )
    if blanks >= BLANK_LIMIT:
        ctx.end("failed", "the narrator gave no usable output during character creation")
    issues = {"breakdown": blanks} if blanks else {}
    return state.model_copy(update={"story_at": len(ctx.log), "blanks": blanks, "issues": issues})


def _seat(ctx: Context, table: TurnTable, personas: Sequence[Persona]) -> PlaytestState:
    """Record the players, and put everybody's system prompt into the log."""
    seats: list[Seat] = []
    speaker = next((i for i, persona in enumerate(personas) if persona.spokesperson), 0)
    for index, persona in enumerate(personas):
        archetype = Archetype.model_validate(table.archetypes[persona.archetype])
        system = player_system(
            archetype,
            name=persona.name,
            backstory=persona.backstory,
            character=persona.character,
            mood=persona.mood,
            title=table.title,
            words=table.words,
        )
        position = _note(ctx, history.persona_channel(persona.name), system)
        seats.append(Seat(name=persona.name, archetype=persona.archetype, persona=position))
        model = table.model_of(ctx, roles.PLAYERS, persona.archetype)
        ctx.player(Player(persona.name, persona.archetype, model, index == speaker, persona.mood))
    chosen = personas[speaker]
    archetype = Archetype.model_validate(table.archetypes[chosen.archetype])
    relay = spokesperson_system(archetype, chosen.name, table.words)
    relay_prompt = _note(ctx, history.persona_channel(history.SPOKESPERSON), relay)
    return PlaytestState(
        seats=tuple(seats), spokesperson=speaker, relay_prompt=relay_prompt, story_at=len(ctx.log)
    )


def _note(ctx: Context, channel: str, text: str) -> int:
    return ctx.log.append(Message(channel, SYSTEM, text, ctx.turn, "persona"))


async def _round(
    ctx: Context,
    table: TurnTable,
    state: PlaytestState,
    labels: tuple[str, str],
    request: Callable[[str, Words], str],
    blanks: int,
) -> int:
    """The narrator speaks and every player answers; returns unusable outputs in a row."""
    messages = narrator_history(table.narrator_system, len(state.seats), ctx.log, words=table.words)
    answer = await ctx.ask(
        roles.NARRATOR,
        messages,
        model=roles.model_of(roles.NARRATOR, ctx.plan.roles),
        max_tokens=roles.TOKENS[roles.NARRATOR],
        tag=roles.CREATION,
    )
    narration = answer.text.strip()
    if is_usable(narration):
        blanks = 0
        ctx.log.append(Message(TABLE, NARRATOR, narration, ctx.turn, labels[0]))
    else:
        blanks += 1
        detail = "an output without usable words during character creation"
        ctx.event("breakdown", subject=NARRATOR, detail=detail, severity="error")
        narration = NO_WORDS
    said = await ctx.parallel(_players(ctx, table, state, request(spoken(narration), table.words)))
    for seat, text in zip(state.seats, said, strict=True):
        if text:
            ctx.log.append(Message(TABLE, seat.name, text, ctx.turn, labels[1]))
    return blanks


def _players(ctx: Context, table: TurnTable, state: PlaytestState, request: str) -> list[Child]:
    return [
        asking(
            roles.PLAYERS,
            table.model_of(ctx, roles.PLAYERS, seat.archetype),
            persona_of(ctx.log, seat),
            request,
            agent=seat.name,
            tag=roles.CREATION,
        )
        for seat in state.seats
    ]
