"""A turn of an agent that is a command."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from matrix.agents.answers import cost_in, read_text
from matrix.agents.secrets import Clean
from matrix.agents.turns import Place, Played, Turn, WorkedFor
from matrix.kinds.context import CommandResult
from matrix.model.agents import AgentSpec, filled
from matrix.model.errors import AgentFailed, AgentMissing, AgentTimedOut

_NOT_FOUND, _NOT_ALLOWED = 127, 126
"""Exit codes of the shell for a program that is not there, or cannot be run."""
_SHOWN = 200


async def run_command(
    agent: AgentSpec,
    turn: Turn,
    place: Place,
    worked: WorkedFor,
    *,
    project: Path,
    variables: Mapping[str, str],
    clean: Clean,
) -> Played:
    """Run the command once.

    Args:
        agent: The agent.
        turn: What it is asked.
        place: Where it runs.
        worked: Seconds that it has worked.
        project: The project's folder.
        variables: Where the variables of ``pass_env`` are found.
        clean: Takes the agent's secrets out of what it prints.

    Raises:
        AgentFailed: It ended with another code than 0, or said nothing that can be read.
        AgentTimedOut: It took too long.
        AgentMissing: There is no such program.
    """
    places = {
        "project": str(project),
        "session": turn.session,
        "seed": str(turn.seed),
        "turn": str(turn.turn),
        "role": turn.role,
    }
    arguments = [filled(part, places) for part in agent.command or ()]
    given = {name: variables[name] for name in agent.pass_env if name in variables}
    environment = {**given, **turn.environment}
    found = await place.command(arguments, turn.prompt, environment, turn.timeout_s, worked)
    whole = _is_whole(found.out, found.out_bytes)
    err = clean(found.err, _is_whole(found.err, found.err_bytes))
    ran = found._replace(out=clean(found.out, whole), err=err)
    if ran.timed_out:
        raise AgentTimedOut(f"still worked after {turn.timeout_s:g} s, and was ended")
    if ran.code in (_NOT_FOUND, _NOT_ALLOWED) and not ran.out:
        raise AgentMissing(f"{arguments[0]!r} cannot be run: {_last_line(ran.err)}")
    read = partial(read_text, agent.answer, ran.out, whole=whole)
    if ran.code != 0:
        raise AgentFailed(_broke(ran), cost=cost_in(read))
    return Played(read(), worked(), ran)


def _is_whole(kept: str, size: int) -> bool:
    return size <= len(kept.encode(errors="replace"))


def _broke(ran: CommandResult) -> str:
    how = f"ended by signal {-ran.code}" if ran.code and ran.code < 0 else f"exit code {ran.code}"
    said = _last_line(ran.err) or _last_line(ran.out)
    return f"{how}: {said}" if said else how


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip()[:_SHOWN] if lines else ""
