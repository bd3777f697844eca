"""Agents that are held by the turn, as one more provider: a turn is one attempt of one call."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

import orjson

from matrix.agents.functions import see_project
from matrix.agents.playing import play
from matrix.agents.turns import Played, Turn, WallTime, WorkPlace, carried, facts_of, prompt_of
from matrix.model.errors import AgentFailed, FolderRefused
from matrix.model.records import Call
from matrix.model.spec.agents import AgentSpec
from matrix.providers.base import ProviderReply


class KeptPlace(WorkPlace, Protocol):
    """A place whose content is kept."""

    async def store(self) -> str:
        """Keep what is there now; returns its tree, empty where nothing is ever kept."""
        ...

    async def restore(self, tree: str) -> None:
        """Make it what it was."""
        ...

    @property
    def stored_bytes(self) -> int:
        """Bytes of files that were new or changed, over every time that it was stored."""
        ...


class AgentPlaces(Protocol):
    """Where the agents of sessions work."""

    def place(
        self, session_id: str, *, apart: bool = False
    ) -> AbstractAsyncContextManager[KeptPlace]:
        """The session's working folder, or (always, if ``apart``) one that goes with the turn."""
        ...


class AgentProvider:
    """Plays turns of agents where their sessions are played."""

    def __init__(
        self,
        agents: Mapping[str, AgentSpec],
        places: AgentPlaces,
        *,
        project: Path,
        variables: Mapping[str, str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take what every turn needs.

        Args:
            agents: Name -> agent.
            places: Where they work.
            project: The project's folder.
            variables: Where the variables of ``pass_env`` are found.
            clock: For measuring turns, in seconds.
        """
        if any(agent.python is not None for agent in agents.values()):
            see_project(project)
        self._clock = clock
        self._agents, self._places = agents, places
        self._project, self._variables = project, variables

    async def complete(self, call: Call, attempt: int) -> ProviderReply:
        """Play one turn. One that fails leaves the folder as it was.

        Raises:
            ProviderError: The agent failed, or was not reached.
        """
        agent = self._agents[call.model]
        async with self._places.place(call.key.session_id, apart=call.apart) as place:
            before, stored_before = await place.store(), place.stored_bytes
            try:
                played = await play(
                    agent,
                    turn_of(agent, call, place.path, {}),
                    place,
                    WallTime(self._clock),
                    project=self._project,
                    variables=self._variables,
                )
                tree = await stored(place, played)
            except BaseException:
                await place.restore(before)
                raise
            facts = facts_of(played, tree, place.stored_bytes - stored_before)
        told = played.told
        return ProviderReply(
            told.text,
            told.usage,
            played.worked_s,
            carry=carried(call.model, told.conversation),
            billed=0 if agent.free else told.cost,
            doubt=told.doubt,
            effect=orjson.dumps(facts).decode(),
        )


async def stored(place: KeptPlace, played: Played) -> str:
    """Keep what a turn left.

    Raises:
        AgentFailed: It cannot be kept; with what the turn cost.
    """
    try:
        return await place.store()
    except FolderRefused as refused:
        raise AgentFailed(f"left what cannot be kept: {refused}", cost=played.told.cost) from None


def turn_of(agent: AgentSpec, call: Call, folder: Path, environment: Mapping[str, str]) -> Turn:
    """What an agent is asked by a call."""
    return Turn(
        call.model,
        call.role,
        call.key.session_id,
        call.key.turn,
        call.seed,
        prompt_of(call.messages),
        call.messages,
        folder,
        environment,
        agent.longest_turn_s(call.timeout_s),
        call.fields,
    )
