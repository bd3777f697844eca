"""One turn of an agent, whatever its form."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from matrix.agents.commands import run_command
from matrix.agents.functions import run_function
from matrix.agents.sandbox import Listen
from matrix.agents.secrets import Cleaner
from matrix.agents.turns import Place, Played, Turn, WorkedFor
from matrix.model.agents import AgentSpec
from matrix.model.errors import AgentFailed, AgentMissing


async def play(
    agent: AgentSpec,
    turn: Turn,
    place: Place,
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
    if agent.command is not None:
        began_ns = time.time_ns()
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
        try:
            await place.work_on(lambda folder: clean.clean_files(folder, began_ns))
        except AgentFailed as failed:
            raise AgentFailed(str(failed), cost=played.told.cost) from None
        return played
    if agent.http is not None:
        from matrix.agents.services import ask_service

        return await ask_service(agent, turn, worked, variables=variables, clean=clean)
    if agent.python is not None:
        return await run_function(agent.python, turn, worked, project=project)
    raise AgentMissing("a model with tools is played by the session itself")
