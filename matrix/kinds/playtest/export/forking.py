"""Carrying a play-test over into a changed one: who sits at the table, and what plays them.

Prompt, guide and models are read from the session's texts and roles on every turn, so they need
nothing here. What a player is lives in the log, as a system prompt: another archetype is another
system prompt for the same person, added to the new session's log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from matrix.kinds.context import ForkContext
from matrix.kinds.playtest.detect import history
from matrix.kinds.playtest.detect.history import SYSTEM
from matrix.kinds.playtest.setup import roles
from matrix.kinds.playtest.setup.archetypes import Archetype
from matrix.kinds.playtest.setup.options import PlaytestOptions
from matrix.kinds.playtest.setup.prompts import player_system, spokesperson_system
from matrix.kinds.playtest.setup.state import PlaytestState, Seat
from matrix.kinds.playtest.setup.wording import words_in
from matrix.kinds.playtest.table.casting import Persona
from matrix.kinds.playtest.table.survey import whom
from matrix.model.errors import BadInput, Mistake
from matrix.model.records import JSON, Message, Player

DRAWN: Final = ("archetypes", "group_size_min", "group_size_max")
"""Options that the group is drawn by, before a session starts."""
SPEAKS: Final = "spokesperson_archetype"


def fork_session(
    ctx: ForkContext, state: PlaytestState, changes: Mapping[str, JSON]
) -> PlaytestState:
    """The state that a changed session goes on from.

    Raises:
        BadInput: A group of another size, a change of how the group is drawn, or a spokesperson
            or an interview of nobody at the table.
    """
    options = PlaytestOptions.model_validate(ctx.plan.options)
    group = changes.get("group")
    archetypes = [seat.archetype for seat in state.seats] if group is None else list(group)
    speaker = changes.get(SPEAKS)
    mistakes = _of_the_group(state, changes)
    if speaker is not None and speaker not in archetypes:
        told = f"found {speaker!r}; at the table are {', '.join(dict.fromkeys(archetypes))}"
        mistakes.append(Mistake(SPEAKS, None, "", told))
    asked = options.interview
    if asked is not None and whom(state, asked) is None:
        seated = ", ".join(state.names)
        told = f"found {asked.player!r}; the players are {seated}, or say spokesperson"
        mistakes.append(Mistake(roles.INTERVIEW, None, "", told))
    mistakes += _of_the_state(ctx, state)
    if mistakes:
        raise BadInput(mistakes)
    if group is not None or speaker is not None:
        state = _reseated(ctx, state, archetypes, options.spokesperson_archetype)
    if group is not None or speaker is not None or roles.PLAYERS in changes:
        _introduce(ctx, state)
    return state


def _of_the_group(state: PlaytestState, changes: Mapping[str, JSON]) -> list[Mistake]:
    """Changes of who was drawn that cannot be made any more."""
    told = "the group has been drawn; name archetypes seat by seat with group=[...]"
    mistakes = [Mistake(name, None, "", told) for name in DRAWN if name in changes]
    group = changes.get("group")
    if "group" in changes and (group is None or len(group) != len(state.seats)):
        found = "nothing" if group is None else f"{len(group)} archetypes"
        seated = ", ".join(f"{seat.name} ({seat.archetype})" for seat in state.seats)
        mistakes.append(
            Mistake(
                "group", None, "", f"found {found}; one for each of the players, who are {seated}"
            )
        )
    return mistakes


def _of_the_state(ctx: ForkContext, state: PlaytestState) -> list[Mistake]:
    """Places that the state names and the log has not."""
    places = {"relay_prompt": state.relay_prompt, "story_at": state.story_at - 1}
    places |= {f"seats[{number}].persona": one.persona for number, one in enumerate(state.seats)}
    mistakes = [
        Mistake("state", None, name, f"found {place}; the log has {len(ctx.log)} messages")
        for name, place in places.items()
        if place >= len(ctx.log)
    ]
    if state.spokesperson >= len(state.seats):
        told = f"found {state.spokesperson}; the group has {len(state.seats)}"
        mistakes.append(Mistake("state", None, "spokesperson", told))
    return mistakes


def _reseated(
    ctx: ForkContext, state: PlaytestState, group: Sequence[str], pinned: str | None
) -> PlaytestState:
    """The same people with the archetypes of ``group``, in seat order; one of ``pinned`` speaks."""
    personas = {persona.name: persona for persona in _personas(ctx)}
    seats = tuple(
        seat if seat.archetype == archetype else _seat(ctx, personas[seat.name], archetype)
        for seat, archetype in zip(state.seats, group, strict=True)
    )
    index, relay_prompt = state.spokesperson, state.relay_prompt
    if pinned is not None and group[index] != pinned:
        index = group.index(pinned)
    speaker = seats[index]
    if speaker != state.seats[state.spokesperson]:
        words = words_in(ctx.resource("scenario"))
        text = spokesperson_system(_archetype(ctx, speaker.archetype), speaker.name, words)
        relay_prompt = _note(ctx, history.SPOKESPERSON, text)
    changed = {"seats": seats, "spokesperson": index, "relay_prompt": relay_prompt}
    return state.model_copy(update=changed)


def _seat(ctx: ForkContext, persona: Persona, archetype: str) -> Seat:
    scenario: Any = ctx.resource("scenario")
    text = player_system(
        _archetype(ctx, archetype),
        name=persona.name,
        backstory=persona.backstory,
        character=persona.character,
        mood=persona.mood,
        title=str(scenario["title"]),
        words=words_in(scenario),
    )
    return Seat(name=persona.name, archetype=archetype, persona=_note(ctx, persona.name, text))


def _introduce(ctx: ForkContext, state: PlaytestState) -> None:
    """Say anew who plays whom, for the table of players."""
    moods = {persona.name: persona.mood for persona in _personas(ctx)}
    for index, seat in enumerate(state.seats):
        own = _archetype(ctx, seat.archetype).model
        model = roles.model_of(roles.PLAYERS, ctx.plan.roles, own)
        speaks = index == state.spokesperson
        ctx.player(Player(seat.name, seat.archetype, model, speaks, moods[seat.name]))


def _personas(ctx: ForkContext) -> list[Persona]:
    return [Persona.model_validate(value) for value in ctx.prelude]


def _archetype(ctx: ForkContext, id_: str) -> Archetype:
    archetypes: Any = ctx.resource("archetypes")
    return Archetype.model_validate(archetypes[id_])


def _note(ctx: ForkContext, name: str, text: str) -> int:
    channel = history.persona_channel(name)
    return ctx.log.append(Message(channel, SYSTEM, text, ctx.turn, "persona"))
