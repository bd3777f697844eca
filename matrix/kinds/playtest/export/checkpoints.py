"""A play-test's log and events in the words of the play-test document, for exported checkpoints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from matrix.kinds.playtest.detect import history
from matrix.kinds.playtest.detect.classify import PRIVATE
from matrix.kinds.playtest.setup import roles
from matrix.kinds.playtest.setup.state import PlaytestState
from matrix.model.moments.checkpoint_file import (
    GroupRecord,
    HistoryMessage,
    PlayerAgent,
    PrivateMoment,
    SessionConfig,
    Tangent,
)
from matrix.model.records import JSON, Event, Message, Player, SessionPlan

_TURNS: Final = re.compile(r"turns: (\d+)-(\d+); recovery: (\w+)(?:; segue: ([\d.]+))?")


def player_agents(
    players: Sequence[Player], log: Sequence[Message], prelude: JSON
) -> list[PlayerAgent]:
    """The group, with what the round's preparation wrote and the prompts that players are given."""
    cast = prelude if isinstance(prelude, list) else []
    personas = {item.get("name"): item for item in cast if isinstance(item, dict)}
    prompts = {m.channel: m.text for m in log if m.speaker == history.SYSTEM}
    return [
        PlayerAgent(
            archetype=player.archetype,
            name=player.name,
            model=player.model,
            generatedBackstory=personas.get(player.name, {}).get("backstory", ""),
            characterForStory=personas.get(player.name, {}).get("character", ""),
            systemPrompt=prompts.get(history.persona_channel(player.name), ""),
            mood=player.mood,
        )
        for player in players
    ]


def session_config(
    plan: SessionPlan,
    agents: Sequence[PlayerAgent],
    spokesperson: str,
    texts: Mapping[str, JSON],
) -> SessionConfig:
    """What the session was set up with; ``texts`` are the plan's resources by name."""
    speaker = next((agent for agent in agents if agent.name == spokesperson), None)
    return SessionConfig(
        story=plan.scenario,
        storyGuide=texts.get("guide", ""),
        systemPrompt=texts.get("prompt", ""),
        narratorModel=plan.roles.get(roles.NARRATOR, ""),
        group=GroupRecord(players=tuple(agents), spokesperson=speaker, size=len(agents)),
        maxTurns=plan.max_turns,
        seed=plan.seed,
    )


def conversation(log: Sequence[Message], times: Mapping[int, float]) -> list[HistoryMessage]:
    """What was said, by whom; ``times`` are turns' times in milliseconds."""
    return list(_conversation(log, times))


def _conversation(log: Sequence[Message], times: Mapping[int, float]) -> Iterator[HistoryMessage]:
    for message in log:
        if message.speaker == history.SYSTEM:
            continue
        speaker = message.speaker
        private = message.channel.removeprefix("private/")
        yield HistoryMessage(
            role=(
                "narrator"
                if speaker == history.NARRATOR
                else "spokesperson"
                if speaker == history.SPOKESPERSON
                else "player"
            ),
            content=message.text,
            turn=message.turn,
            timestamp=times.get(message.turn, 0.0),
            player=None if speaker in (history.NARRATOR, history.SPOKESPERSON) else speaker,
            classification=message.label or None,
            private=private if private != message.channel else None,
        )


def pulses(events: Sequence[Event]) -> list[int]:
    """Turns in which the story moved on."""
    return [event.turn for event in events if event.kind == "pulse"]


def tangents(events: Sequence[Event], state: JSON, turn: int) -> list[Tangent]:
    """Tangents that are over, and the one under way."""
    found = []
    for event in events:
        read = _TURNS.match(event.detail) if event.kind == "tangent" else None
        if read:
            since, until, recovery, quality = read.groups()
            found.append(
                Tangent(
                    startTurn=int(since),
                    endTurn=int(until),
                    length=int(until) - int(since) + 1,
                    initiator=event.subject,
                    recoveryMethod=recovery,
                    segueQuality=float(quality) if quality else None,
                )
            )
    open_book = PlaytestState.model_validate(state).tangents
    if open_book.since:
        found.append(
            Tangent(
                startTurn=open_book.since,
                endTurn=None,
                length=max(1, turn - open_book.since + 1),
                initiator=open_book.initiator,
                recoveryMethod=None,
                segueQuality=None,
            )
        )
    return found


def private_moments(events: Sequence[Event], log: Sequence[Message]) -> list[PrivateMoment]:
    """Asides, what the player said to them, and whether the story took them up."""
    paid = {
        (event.subject, int(event.value)): event.turn
        for event in events
        if event.kind == "private_payoff" and event.value is not None
    }
    found = []
    for place, message in enumerate(log):
        if message.label != PRIVATE or message.speaker != history.NARRATOR:
            continue
        if not message.channel.startswith("private/"):
            continue
        target = message.channel.removeprefix("private/")
        reply = next(
            (
                later.text
                for later in log[place + 1 :]
                if later.channel == message.channel and later.turn == message.turn
            ),
            "",
        )
        payoff = paid.get((target, message.turn))
        found.append(
            PrivateMoment(
                turn=message.turn,
                target=target,
                content=message.text,
                response=reply,
                payoffDetected=payoff is not None,
                payoffTurn=payoff,
            )
        )
    return found
