"""A turn of an agent that is a command."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from os.path import lexists
from pathlib import Path
from shutil import which
from signal import NSIG
from typing import Final

from matrix.agents.answers import cost_in, read_text
from matrix.agents.sandbox import PROGRAM, WORK, Listen, Sandbox, trouble
from matrix.agents.secrets import Cleaner
from matrix.agents.turns import Played, Turn, WorkedFor, WorkPlace
from matrix.kinds.context import CommandResult
from matrix.model.errors import AgentFailed, AgentMissing, AgentTimedOut
from matrix.model.spec.agents import AgentSpec, filled

_NOT_FOUND, _NOT_ALLOWED = 127, 126
"""Exit codes of the shell for a program that is not there, or cannot be run."""
_SHOWN = 200
KEPT_HOME = ".home"
OF_PROJECT: Final = "{project}/"
"""How an argument begins that is a file of the project."""
"""The agent's home in the session's folder, if it is kept."""


async def run_command(
    agent: AgentSpec,
    turn: Turn,
    place: WorkPlace,
    worked: WorkedFor,
    *,
    project: Path,
    variables: Mapping[str, str],
    clean: Cleaner,
    listen: Listen | None = None,
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
        listen: Takes the socket at which its sandbox expects the metered address.

    Raises:
        AgentFailed: It ended with another code than 0, or said nothing that can be read.
        AgentTimedOut: It took too long.
        AgentMissing: There is no such program, or no sandbox.
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
    fields = {f"MATRIX_{name.upper()}": value for name, value in turn.fields.items()}
    environment = {**fields, **_home(agent, place), **given, **turn.environment}
    sandbox = sandbox_of(agent, project, listen)
    found = await place.command(
        arguments, turn.prompt, environment, turn.timeout_s, worked, sandbox
    )
    whole = _is_whole(found.out, found.out_bytes)
    err = clean(found.err, _is_whole(found.err, found.err_bytes))
    ran = found._replace(out=clean(found.out, whole), err=err)
    if ran.timed_out:
        raise AgentTimedOut(f"still worked after {turn.timeout_s:g} s, and was ended")
    if sandbox is not None and ran.code and not ran.out and ran.err.startswith(f"{PROGRAM}: "):
        raise AgentMissing(f"its sandbox cannot be made: {_last_line(ran.err)}")
    if ran.code in (_NOT_FOUND, _NOT_ALLOWED) and not ran.out:
        missing = PROGRAM if sandbox is not None and which(PROGRAM) is None else arguments[0]
        raise AgentMissing(f"{missing!r} cannot be run: {_last_line(ran.err)}")
    read = partial(read_text, agent.answer, ran.out, clean.json, whole=whole)
    if ran.code != 0:
        raise AgentFailed(_broke(ran), cost=cost_in(read))
    return Played(read(), worked(), ran)


def sandbox_of(agent: AgentSpec, project: Path, listen: Listen | None = None) -> Sandbox | None:
    """The sandbox of a command; ``None`` if it works without."""
    if not agent.enclosed:
        return None
    return Sandbox(tuple(readable(agent, project)), agent.network == "open", listen)


def readable(agent: AgentSpec, project: Path) -> Iterator[str]:
    """What a command may read beside the system: its ``reads``, and arguments in the project."""
    places = {"project": str(project)}
    for path in agent.reads:
        yield str(project / Path(filled(path, places)).expanduser())
    for part in agent.command or ():
        path = filled(part, places)
        if part.startswith(OF_PROJECT) and Path(path).exists():
            yield path


def missing_script(agent: AgentSpec, project: Path) -> str | None:
    """What a command is to run of the project, if it is not there: its first argument in there.

    Later ones may be files that it makes.
    """
    for part in (agent.command or ())[1:]:
        if part.startswith(OF_PROJECT):
            path = filled(part, {"project": str(project)})
            return None if Path(path).exists() else path
    return None


def check_sandbox(agent: AgentSpec, project: Path, path: str | None) -> Iterator[tuple[str, str]]:
    """Fields of a command that cannot work in its sandbox here, each with the reason.

    Args:
        agent: The agent.
        project: The project's folder.
        path: The folders in which programs are looked for, as ``PATH`` names them.
    """
    sandbox = sandbox_of(agent, project)
    if sandbox is None or agent.command is None:
        return
    for shown in sandbox.reads:
        if not Path(shown).exists():
            yield "reads", f"found {shown!r}, which is not there"
        elif project.resolve().is_relative_to(Path(shown).resolve()):
            yield (
                "reads",
                f"{shown!r} holds the project, with its .env and its runs; name the folders and "
                "files in it that the agent needs",
            )
    program = filled(agent.command[0], {"project": str(project)})
    if found := trouble(sandbox, program, path):
        yield "command", found


def _home(agent: AgentSpec, place: WorkPlace) -> Mapping[str, str]:
    """Where a home is: one that is kept is in the session's folder, as all that is kept."""
    if agent.home == "own":
        return {"HOME": str(Path.home())}
    if agent.home != "keep":
        return {}
    home = place.path / KEPT_HOME
    if lexists(home) and not home.is_dir():
        what = "a link to nothing" if home.is_symlink() else "no folder"
        told = f"has left its kept home ({KEPT_HOME}) as {what}, so its next turn cannot begin"
        raise AgentFailed(told, cost=0)
    home.mkdir(exist_ok=True)
    return {"HOME": f"{WORK}/{KEPT_HOME}" if agent.enclosed else str(home)}


def _is_whole(kept: str, size: int) -> bool:
    return size <= len(kept.encode(errors="replace"))


def _broke(ran: CommandResult) -> str:
    how = _ending(ran.code or 0)
    said = _last_line(ran.err) or _last_line(ran.out)
    return f"{how}: {said}" if said else how


def _ending(code: int) -> str:
    """How it ended; a shell, and a sandbox, tell a signal as 128 and its number."""
    signal = -code if code < 0 else code - 128
    if 0 < signal < NSIG:
        return f"ended by signal {signal}" + (f" (exit code {code})" if code > 0 else "")
    return f"exit code {code}"


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip()[:_SHOWN] if lines else ""
