"""One turn of an agent, whatever its form."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from matrix.agents.commands import run_command
from matrix.agents.functions import run_function
from matrix.agents.sandbox import Listen
from matrix.agents.secrets import Cleaner
from matrix.agents.turns import Played, Turn, WorkedFor, WorkPlace
from matrix.model.errors import AgentFailed, AgentMissing, ProviderError
from matrix.model.spec.agents import AgentSpec


async def play(
    agent: AgentSpec,
    turn: Turn,
    place: WorkPlace,
    worked: WorkedFor,
    *,
    project: Path,
    variables: Mapping[str, str],
    listen: Listen | None = None,
) -> Played:
    """Play a turn of a command, a service or a function.

    ``listen`` takes the socket at which a command's sandbox expects the metered address.

    Raises:
        ProviderError: The agent failed, is not there, or was not reached.
    """
    clean = Cleaner(agent, variables)
    try:
        played = await _play(
            agent, turn, place, worked, project=project, variables=variables, clean=clean,
            listen=listen,
        )  # fmt: skip
        return played._replace(told=clean.told(played.told))
    except ProviderError as error:
        error.args = (clean.reason(str(error)), *error.args[1:])
        raise


async def _play(
    agent: AgentSpec,
    turn: Turn,
    place: WorkPlace,
    worked: WorkedFor,
    *,
    project: Path,
    variables: Mapping[str, str],
    clean: Cleaner,
    listen: Listen | None,
) -> Played:
    began_ns = time.time_ns()
    if agent.command is not None:
        played = await run_command(
            agent,
            turn,
            place,
            worked,
            project=project,
            variables=variables,
            clean=clean,
            listen=listen,
        )
        return await _cleaned(played, place, clean, began_ns)
    if agent.http is not None:
        from matrix.agents.services import ask_service

        return await ask_service(agent, turn, worked, variables=variables, clean=clean)
    if agent.python is not None:
        played = await run_function(agent.python, turn, worked, project=project)
        return await _cleaned(played, place, clean, began_ns)
    raise AgentMissing("a model with tools is played by the session itself")


async def _cleaned(played: Played, place: WorkPlace, clean: Cleaner, began_ns: int) -> Played:
    """What was played, when no secret is left in the folder."""
    try:
        await place.work_on(lambda folder: clean.clean_files(folder, began_ns))
    except AgentFailed as failed:
        raise AgentFailed(str(failed), cost=played.told.cost) from None
    return played
