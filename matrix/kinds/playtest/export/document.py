# ruff: noqa: N815  the fields have the names of the play-test document
"""A play-test's log and events in the words of the play-test document, for exported checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from pydantic import Field

from matrix.kinds.playtest.detect import history
from matrix.kinds.playtest.setup import roles
from matrix.kinds.playtest.setup.state import PlaytestState
from matrix.kinds.playtest.setup.vocabulary import OUTPUT_TYPES, PRIVATE
from matrix.kinds.reporting import SessionSoFar
from matrix.model.moments.continuation import MANY, Count, FilePart, Short, Words
from matrix.model.records import JSON, Event, Message, Player, SessionPlan


class PlayerAgent(FilePart):
    """A member of the group."""

    archetype: Short
    name: Short
    model: Short
    generatedBackstory: Words
    characterForStory: Words
    systemPrompt: Words
    mood: Short = ""


class GroupRecord(FilePart):
    """Who sits at the table."""

    players: tuple[PlayerAgent, ...] = Field(max_length=100)
    spokesperson: PlayerAgent | None
    size: Count


class SessionConfig(FilePart):
    """What the session was set up with."""

    story: Short
    storyGuide: Words
    systemPrompt: Words
    narratorModel: Short
    group: GroupRecord
    maxTurns: Count
    seed: Count


class HistoryMessage(FilePart):
    """A line of the conversation.

    ``player`` is who speaks, also where it is for the group. ``classification`` is what an output
    of the narrator was. ``private`` names the player it passed to or from alone.
    """

    role: Literal["narrator", "spokesperson", "player"]
    content: Words
    turn: Count
    timestamp: float
    player: Short | None = None
    classification: Short | None = None
    private: Short | None = None


class Tangent(FilePart):
    """A tangent; one under way has no end yet.

    ``recoveryMethod`` is ``hook``, ``woven``, ``by-itself``, ``announced`` or ``none``;
    ``segueQuality`` is from 1 to 5, where the classifier gave one.
    """

    startTurn: Count
    endTurn: Count | None
    length: Count
    initiator: Short
    recoveryMethod: Short | None
    segueQuality: float | None
    type: Short = ""
    intensity: Short = ""
    woven: bool | None = None


class PrivateMoment(FilePart):
    """What the narrator told one player alone, and whether it paid off."""

    turn: Count
    target: Short
    content: Words
    response: Words
    payoffDetected: bool
    payoffTurn: Count | None = None
    backstoryAlignment: float | None = None
    narrativeAppropriateness: float | None = None


class PlaytestDocument(FilePart):
    """A play-test session after a turn, as its document has it."""

    conversationHistory: tuple[HistoryMessage, ...] = Field(max_length=MANY)
    playerAgents: tuple[PlayerAgent, ...] = Field(max_length=100)
    spokespersonId: Short
    sessionConfig: SessionConfig
    detectedPulses: tuple[Count, ...] = Field(max_length=MANY)
    detectedTangents: tuple[Tangent, ...] = Field(max_length=MANY)
    privateMoments: tuple[PrivateMoment, ...] = Field(max_length=MANY)


def document_of(session: SessionSoFar) -> PlaytestDocument:
    """What the document says of a session."""
    agents = player_agents(session.players, session.messages, session.prelude)
    speaker = next((player.name for player in session.players if player.is_spokesperson), "")
    return PlaytestDocument(
        conversationHistory=tuple(conversation(session.messages, session.times, speaker)),
        playerAgents=tuple(agents),
        spokespersonId=speaker,
        sessionConfig=session_config(session.plan, agents, speaker, session.texts),
        detectedPulses=tuple(pulses(session.events)),
        detectedTangents=tuple(tangents(session.events, session.state, session.turn)),
        privateMoments=tuple(private_moments(session.events, session.messages)),
    )


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


def conversation(
    log: Sequence[Message], times: Mapping[int, float], spokesperson: str = ""
) -> list[HistoryMessage]:
    """What was said, by whom; ``times`` are turns' times in milliseconds."""
    return list(_conversation(log, times, spokesperson))


def _conversation(
    log: Sequence[Message], times: Mapping[int, float], spokesperson: str
) -> Iterator[HistoryMessage]:
    names = {history.NARRATOR: None, history.SPOKESPERSON: spokesperson or None}
    for message in log:
        if message.speaker == history.SYSTEM:
            continue
        speaker = message.speaker
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
            player=names.get(speaker, speaker),
            classification=message.label if message.label in OUTPUT_TYPES else None,
            private=message.heard_by or None,
        )


def pulses(events: Sequence[Event]) -> list[int]:
    """Turns in which the story moved on."""
    return [event.turn for event in events if event.kind == "pulse"]


def tangents(events: Sequence[Event], state: JSON, turn: int) -> list[Tangent]:
    """Tangents that are over, and the one under way."""
    found = []
    for event in events:
        if event.kind == "tangent":
            length, known = int(event.value or 1), event.data or {}
            until = known.get("until", event.turn)
            found.append(
                Tangent(
                    startTurn=known.get("since", until - length + 1),
                    endTurn=until,
                    length=length,
                    initiator=event.subject,
                    recoveryMethod=known.get("method", known.get("recovery")),
                    segueQuality=known.get("segue"),
                    type=known.get("type", ""),
                    intensity=known.get("intensity", ""),
                    woven=known.get("woven"),
                )
            )
    open_book = PlaytestState.model_validate(state).tangents
    if open_book.since and open_book.since not in {one.startTurn for one in found}:
        found.append(
            Tangent(
                startTurn=open_book.since,
                endTurn=None,
                length=max(1, turn - open_book.since + 1),
                initiator=open_book.initiator,
                recoveryMethod=None,
                segueQuality=None,
                type=open_book.kind,
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
    placed = {
        (event.subject, event.turn): event.data or {}
        for event in events
        if event.kind == "private_moment"
    }
    found = []
    for place, message in enumerate(log):
        if message.label != PRIVATE or message.speaker != history.NARRATOR:
            continue
        if not (target := message.heard_by):
            continue
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
                backstoryAlignment=placed.get((target, message.turn), {}).get("alignment"),
                narrativeAppropriateness=placed.get((target, message.turn), {}).get(
                    "appropriateness"
                ),
            )
        )
    return found
