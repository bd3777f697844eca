"""What a run needs of the machine it starts on: packages, folder, addresses, clock, executor."""

from __future__ import annotations

import errno
import json
import os
import platform
import re
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from matrix.agents.commands import OF_PROJECT, check_sandbox, missing_script
from matrix.engine.executors.executor import (
    AUTO,
    RAY,
    AnyExecutor,
    Checkable,
    as_choice,
    load_executor,
)
from matrix.engine.prepare.checkup import Finding, addresses
from matrix.engine.prepare.keys import open_to_others, variables
from matrix.engine.prepare.prepared import Prepared
from matrix.engine.wire.providers import AGENT
from matrix.kinds.protocol import Kind, TellsAgents, UsesFolder
from matrix.kinds.text_files import real
from matrix.model.documents.mistakes import Mistakes
from matrix.model.errors import AgentMissing, BadInput, MatrixError, Mistake, did_you_mean
from matrix.model.spec.agents import AgentSpec, HttpForm, filled

BAD_LITELLM: Final = frozenset({"1.82.7", "1.82.8"})
"""Releases of litellm that sent keys to somebody else."""

ENOUGH_BYTES, FEW_BYTES = 2_000_000_000, 200_000_000
"""Free space of a results folder that is fine, and below which a run should not start."""

CONNECT_S = 3.0
"""Longest wait for an address of the user's own to take a connection, in seconds."""

NETWORK_DISKS: Final = frozenset(
    [
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "smb3",
        "smbfs",
    ]
)
NETWORK_FUSE: Final = (
    "fuse.sshfs", "fuse.s3fs", "fuse.gcsfuse", "fuse.blobfuse", "fuse.goofys", "fuse.glusterfs",
    "fuse.ceph", "fuse.juicefs", "fuse.rclone", "fuse.mount-s3",
)  # fmt: skip
"""File systems behind which there is another machine."""

JOB_COPY: Final = "_ray_pkg_"
"""How the folders begin in which Ray unpacks what goes along with a submitted job."""

_PORTS = {"http": 80, "https": 443}


def installed(name: str) -> str | None:
    """The installed version of a package, or ``None``."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def package_findings(version_of: Callable[[str], str | None] = installed) -> list[Finding]:
    """Python, and the packages that a run depends on most."""
    findings = [Finding("Python", "ok", platform.python_version())]
    for name in ("litellm", "ray"):
        found = version_of(name)
        if found is None:
            remedy = f"install it: pip install {name}"
            findings.append(Finding(name, "missing", "not installed", remedy))
        elif name == "litellm" and found in BAD_LITELLM:
            remedy = "that release steals keys: remove it, and replace keys that were in reach"
            findings.append(Finding(name, "missing", found, remedy))
        else:
            findings.append(Finding(name, "ok", found))
    return findings


def clock_finding(now: float, newest: float) -> Finding:
    """Whether the clock can be right.

    Args:
        now: Unix time by this machine's clock, in seconds.
        newest: A moment that is surely past: when a file of the installation was written.
    """
    if now >= newest:
        return Finding("clock", "ok", "later than the installation")
    behind = f"at least {newest - now:,.0f} s behind the time of the installation"
    return Finding("clock", "warn", behind, "set it: budgets and rate limits go by it")


def folder_finding(folder: Path) -> Finding:
    """Whether runs can be written into a folder, which need not be there yet."""
    what, there = f"results {folder}", folder
    while not there.exists() and not there.is_symlink():
        there = there.parent if there.parent != there else Path.cwd()
    remedy = "choose another folder with --results"
    if (kind := network_disk(there, _mounts())) is not None:
        told = f"on a disk of the network ({kind})"
        return Finding(what, "missing", told, f"{remedy}, on a disk of this machine")
    if not there.is_dir():
        return Finding(what, "missing", f"{there} is no folder", remedy)
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        return Finding(what, "missing", f"cannot be written: {error.strerror}", remedy)
    free = shutil.disk_usage(there).free
    found = f"{free / 1e9:,.1f} GB free"
    if free >= ENOUGH_BYTES:
        return Finding(what, "ok", found)
    return Finding(
        what, "warn" if free >= FEW_BYTES else "missing", found, f"{remedy}, or free some"
    )


def require_own_disk(folder: Path, mounts: str | None = None) -> None:
    """See that runs are written to a disk of this machine.

    The journal is an SQLite file with a write-ahead log, whose memory is shared by mapping it: over
    a network two machines would each believe that they alone write (sqlite.org/wal.html).

    Args:
        folder: The results folder, which need not be there yet.
        mounts: Text of ``/proc/self/mounts``; read from there if left out.

    Raises:
        BadInput: It is on a disk of the network, or a link that leads nowhere but to itself.
    """
    if _leads_to_itself(folder):
        told = f"{folder} is a symbolic link that leads to itself; remove it, or choose another one"
        raise BadInput([Mistake("--results", None, "", told)])
    found = network_disk(folder, _mounts() if mounts is None else mounts)
    if found is not None:
        told = (
            f"{folder} is on a disk of the network ({found}), where the journal's locks cannot be "
            "relied upon; choose a folder on a disk of this machine, and copy the run when it is "
            "over, or `matrix archive` it"
        )
        raise BadInput([Mistake("--results", None, "", told)])


def _leads_to_itself(folder: Path) -> bool:
    try:
        folder.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def require_lasting(folder: Path) -> None:
    """See that a run is not begun in a folder that Ray removes with the job it came with.

    Raises:
        BadInput: It is in Ray's copy of a submitted working directory.
    """
    if any(part.startswith(JOB_COPY) for part in Path(os.path.realpath(folder)).parts):
        told = (
            f"{folder} is in the copy that Ray made of a submitted job's --working-dir, and Ray "
            "removes that; give a path outside it, on a disk that stays"
        )
        raise BadInput([Mistake("--results", None, "", told)])


def network_disk(folder: Path, mounts: str) -> str | None:
    """Kind of the network file system that a folder is on; ``None`` if it is on none."""
    place, best = Path(os.path.realpath(folder)), ("", "")  # of a link to itself, that
    for line in mounts.splitlines():
        _, at, kind, *_ = [*line.split(" "), "", "", ""]
        at = at.replace("\\040", " ")
        if (Path(at) == place or Path(at) in place.parents) and len(at) >= len(best[0]):
            best = (at, kind)
    kind = best[1]
    return kind if kind in NETWORK_DISKS or kind.startswith(NETWORK_FUSE) else None


def _mounts() -> str:
    try:
        return Path("/proc/self/mounts").read_text(errors="replace")
    except OSError:  # not on every system
        return ""


def env_file_finding(path: Path) -> Finding | None:
    """A ``.env`` that others may read is worth a word; otherwise there is nothing to say."""
    if not open_to_others(path):
        return None
    return Finding(
        path.name, "warn", "other users of this machine can read it", f"chmod 600 {path}"
    )


INSTRUCTIONS: Final = ("CLAUDE.md", "AGENTS.md", "GEMINI.md", ".cursorrules")
"""What agents read of every folder around the one they work in."""


def instructions_around(prepared: Prepared, results: Path) -> str:
    """That agents without a sandbox may read instructions which are not of their session.

    Their folders are in the run's; one in a sandbox sees nothing around its own.
    """
    free = [
        name
        for name, agent in prepared.agents.items()
        if agent.command is not None and agent.sandbox == "none"
    ]
    if not free or not isinstance(prepared.kind, UsesFolder):
        return ""
    around = [
        one / name for one in (real(results), *real(results).parents) for name in INSTRUCTIONS
    ]
    found = [path for path in around if path.is_file()]
    if not found:
        return ""
    return (
        f"{', '.join(free)} {'works' if len(free) == 1 else 'work'} without a sandbox in folders "
        f"below {found[0]}, which many agents read as their own instructions: where that is not "
        "meant, choose --results outside of it"
    )


def require_addresses(prepared: Prepared) -> None:
    """See that somebody listens at every address of the user's own, before anything is started.

    Raises:
        BadInput: One line for each model whose address nobody answers at.
    """
    findings = {url: address_finding(url) for url in addresses(prepared.models.values())}
    mistakes = Mistakes()
    for name, entry in prepared.models.items():
        if entry.api_base is not None and (found := findings[entry.api_base]).state == "missing":
            told = f"{entry.api_base} {found.found}; {found.remedy}"
            agent = entry.provider == AGENT
            place = f"agents.{name}.http.submit" if agent else f"models.{name}.api_base"
            mistakes.say(prepared.source, told, place)
    mistakes.stop_if_any()


def require_agents(prepared: Prepared, environment: Mapping[str, str]) -> None:
    """See that every agent can be played here, before anything is started.

    Raises:
        BadInput: Programs, functions and variables that are not there.
    """

    def trouble(agent: AgentSpec) -> Iterable[tuple[str, str]]:
        found = list(agent_trouble(agent, prepared, environment))
        # what shows only where a module is run, which the run does anyway
        from matrix.agents.functions import load_function

        return found or _python_trouble(agent, prepared.env_file.parent, load_function)

    _refuse(prepared, trouble)


def require_agent_files(prepared: Prepared) -> None:
    """See that what agents run of the project is there, as every machine would find it.

    Raises:
        BadInput: Scripts and functions that are not there.
    """
    _refuse(prepared, lambda agent: _file_trouble(agent, prepared))


def _refuse(prepared: Prepared, trouble: Callable[[AgentSpec], Iterable[tuple[str, str]]]) -> None:
    mistakes = Mistakes()
    for name, agent in prepared.agents.items():
        for field, told in trouble(agent):
            mistakes.say(prepared.source, told, f"agents.{name}.{field}")
    mistakes.stop_if_any()


def agent_trouble(
    agent: AgentSpec, prepared: Prepared, environment: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """What keeps an agent from being played here: fields of it, each with the reason.

    Nothing of the agent is run: its spec may be a stranger's.
    """
    project, path = prepared.env_file.parent, environment.get("PATH")
    if agent.command is not None:
        program = filled(agent.command[0], {"project": str(project)})
        if _of_session(program):  # which has it or not, whatever is where the user stands
            seen = agent.model_copy(update={"command": ("sh",)})
            yield from check_sandbox(seen, project, path)
        elif shutil.which(program, path=path) is not None:
            yield from check_sandbox(agent, project, path)
        elif not agent.command[0].startswith(OF_PROJECT):
            told = f"found {program!r}, which is no program here; install it, or give its path"
            yield "command", told
    yield from _file_trouble(agent, prepared)
    known = variables(prepared.env_file, environment) if agent.pass_env else {}
    for variable in agent.pass_env:
        if not known.get(variable):
            told = f"{variable} is not set; set it in the environment or in {prepared.env_file}"
            yield "pass_env", told


def _file_trouble(agent: AgentSpec, prepared: Prepared) -> Iterator[tuple[str, str]]:
    project = prepared.env_file.parent
    if agent.command is not None:
        program = filled(agent.command[0], {"project": str(project)})
        if agent.command[0].startswith(OF_PROJECT) and shutil.which(program) is None:
            told = "which is no program; write the file, or allow it to be executed (chmod +x)"
            yield "command", f"found {program!r}, {told}"
        if _of_session(program) and not _begun_with(program, prepared):
            told = f"found {program!r}, which is looked for in the session's folder and not there"
            yield "command", f"{told}; write {{project}}/{Path(program)}, or its whole path"
        if (missing := missing_script(agent, project)) is not None:
            told = f"found {missing!r}, which is not there; correct it, or write the file"
            yield "command", told
        elsewhere = [part for part in agent.command[1:] if _in_project(part, project)]
        if elsewhere and not prepared.folders:
            told = f"{elsewhere[0]!r} is in the project, and a command runs in the session's folder"
            yield "command", f"{told}; write {{project}}/{elsewhere[0]}"
        if agent.home == "keep" and not isinstance(prepared.kind, UsesFolder):
            yield (
                "home",
                f"a home that is kept is in the session's folder, and {prepared.spec.kind} has "
                "none; use home: scratch",
            )
    from matrix.agents.functions import find_function

    yield from _python_trouble(agent, project, find_function)
    if agent.http is not None:
        yield from _unknown_fields(agent.http, prepared.kind)


def _python_trouble(
    agent: AgentSpec, project: Path, look: Callable[[str, Path], object]
) -> Iterator[tuple[str, str]]:
    """Why an agent's function is not there, by reading its file or by running it."""
    if agent.python is not None:
        try:
            look(agent.python, project)
        except AgentMissing as missing:
            yield "python", str(missing)


def _of_session(program: str) -> bool:
    """Whether a program is named by a path from where it is run: the session's folder."""
    return "/" in program and not Path(program).is_absolute()


def _begun_with(program: str, prepared: Prepared) -> bool:
    """Whether any folder that sessions are given has a program."""
    return any(
        shutil.which(str(folder / program)) is not None for folder in prepared.folders.values()
    )


def _in_project(part: str, project: Path) -> bool:
    """Whether an argument names a script of the project as if the command ran there."""
    try:
        named = not Path(part).is_absolute() and Path(part).suffix != ""
        return named and (project / part).is_file()
    except (OSError, ValueError):
        return False


def _unknown_fields(http: HttpForm, kind: Kind) -> Iterator[tuple[str, str]]:
    """Names in braces that look like what a kind tells, and that this one does not tell."""
    told = kind.tells if isinstance(kind, TellsAgents) else ()
    text = " ".join((json.dumps(http.body, default=str), http.submit, http.reply or ""))
    for name in dict.fromkeys(re.findall(r"\{([a-z]+_[a-z_]+)\}", text)):
        if name not in told:
            known = (
                f"it tells: {', '.join(told)}" if told else "it tells nothing beside the request"
            )
            hint = did_you_mean(name, told)
            yield "http", f"found {{{name}}}, which {kind.name} does not tell; {known}{hint}"


def agent_findings(prepared: Prepared, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Whether each agent can be played here: all that is missing of it, or that nothing is."""
    for name, agent in prepared.agents.items():
        trouble = list(agent_trouble(agent, prepared, environment))
        for field, told in trouble:
            found, _, remedy = told.partition("; ")
            yield Finding(f"agent {name}", "missing", f"{field}: {found}", remedy)
        if not trouble:
            yield Finding(f"agent {name}", "ok", "what it needs of this machine is here")


def programs_changed(prepared: Prepared, since: float) -> list[str]:
    """Files of the project that agents are made of and that were changed since, agent by agent.

    Args:
        prepared: The run.
        since: UTC seconds.
    """
    project, found = prepared.env_file.parent, list[str]()
    for name, agent in prepared.agents.items():
        named = list(agent.command or ())
        if agent.python is not None:
            module = agent.python.partition(":")[0].replace(".", "/")
            named += [f"{module}.py", f"{module}/__init__.py"]
        for one in named:
            path = project / one.removeprefix("{project}/")
            with suppress(OSError, ValueError):
                own = path.is_file() and path.is_relative_to(project)
                if own and path.stat().st_mtime > since:
                    found.append(f"{path.relative_to(project)} (agent {name})")
    return found


def address_finding(url: str, timeout_s: float = CONNECT_S) -> Finding:
    """Whether anybody listens at an address, or at the proxy that requests to it go through.

    It is connected to, and nothing is sent.
    """
    what, through = f"address {url}", _proxy(url)
    if through is not None:
        found = address_finding(through, timeout_s)
        if found.state == "ok":
            return Finding(what, "ok", f"its proxy {through} {found.found}")
        return Finding(what, "missing", f"its proxy {through} {found.found}", "correct the proxy")
    parts = urlsplit(url)
    remedy = "start the service, or correct the address"
    try:
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        port = None
    if parts.hostname is None or port is None:
        return Finding(what, "missing", "is no http or https address", "correct the address")
    try:
        with socket.create_connection((parts.hostname, port), timeout=timeout_s):
            return Finding(what, "ok", "takes connections")
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        return Finding(what, "missing", f"cannot be reached: {reason}", remedy)


def _proxy(url: str) -> str | None:
    """The proxy that the environment names for an address, as the client that sends sees it."""
    from urllib.request import getproxies, proxy_bypass  # with all of HTTP, which few need

    parts, proxies = urlsplit(url), getproxies()
    if not proxies or url in proxies.values() or proxy_bypass(parts.netloc):
        return None
    return proxies.get(parts.scheme, proxies.get("all"))


def executor_finding(requested: AnyExecutor) -> Finding:
    """Whether the processes of a run can be brought up; with Ray this takes some seconds.

    ``auto`` may come to Ray for some run, so that is looked at.
    """
    choice = as_choice(requested)
    if choice.name == AUTO:
        choice = choice._replace(name=RAY)
    what, executor = f"executor {choice.name}", load_executor(choice)
    if not isinstance(executor, Checkable):
        return Finding(what, "ok", "everything in one process")
    try:
        return Finding(what, "ok", executor.check())
    except MatrixError as error:
        said = str(error).splitlines()[0]
        return Finding(what, "missing", said, "run with --executor in-process, which needs no Ray")


def installed_at() -> float:
    """Unix time at which a file of this installation was written, in seconds."""
    return Path(__file__).stat().st_mtime
