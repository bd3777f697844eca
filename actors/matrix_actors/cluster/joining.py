"""Which Ray is meant, and whether it can be joined: looked at from a process that can be ended.

``ray.init`` waits for a cluster that does not answer for most of a minute, in C++, where no signal
reaches it; so another process tries first, for a limited time, and says what it found.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from socket import create_connection, socket
from typing import Any, Final, NamedTuple

from matrix.engine.executors.executor import CLUSTER_VARIABLES
from matrix.model.errors import BadInput, MatrixError, Mistake
from matrix_actors.cluster.fitness import EXAMINE_S, Needs, NodeFacts
from matrix_actors.cluster.joining_probe import CLUSTER, NO_NODE, NOT_FOUND, VERSIONS

LOCAL: Final = "local"
"""A Ray that comes and goes with the run."""

CONNECT_S: Final = 3.0
"""Longest wait for a cluster to take a connection, in seconds."""

GREETING_S: Final = 5.0
"""Longest wait for the first word of what took a connection, in seconds."""

_GREETING: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""How gRPC, and any HTTP/2, begins: the preface, and no settings (RFC 9113, 3.4 and 6.5)."""

_SETTINGS: Final = 4
"""The type of the frame that has to be the answer, in its fourth byte."""

PROBE_S: Final = 8.0
"""Longest wait for what a cluster says of itself, in seconds, once the trying process is up."""

START_S: Final = 30.0
"""Longest wait for the trying process to import Ray, in seconds."""

MODE: Final = "RAY_AUTH_MODE"
"""Whether Ray sends the token. It has to be as on the cluster: a driver that wants one from a
cluster that has none is joined, and then loses its actors one by one."""


class RayUnavailable(MatrixError):
    """Ray did not start, or the cluster cannot be joined."""


class Spelled(NamedTuple):
    """A host and a port."""

    host: str
    port: int


def ray_address(given: str | None, environment: Mapping[str, str]) -> tuple[str | None, str]:
    """The address that is meant, ``None`` for a Ray of the run's own, and where it stands.

    Raises:
        BadInput: One was given, and is empty: a script's variable that is not set.
    """
    if given is not None and not given.strip():
        told = (
            "found an empty address, as of a variable that is empty or not set; that does not mean "
            f"no cluster: give HOST:PORT or auto, or {LOCAL} for a Ray of the run's own"
        )
        raise BadInput([Mistake("--address", None, "", told)])
    origin = "--address" if given else next(filter(environment.get, CLUSTER_VARIABLES), "")
    found = given or environment.get(origin)
    return (None if found in (None, "", LOCAL) else found), origin


class Cluster(NamedTuple):
    """A cluster that can be joined: the driver's own machine, and every living node."""

    address: str
    mine: NodeFacts
    nodes: tuple[NodeFacts, ...]


def look_at_cluster(address: str, needs: Needs) -> Cluster:
    """See that a cluster can be joined from here, within some seconds, and what its nodes have.

    Raises:
        RayUnavailable: It cannot; the message says why, and what to do.
    """
    if address != "auto":
        _require_listener(address, spelled(address), secured=os.environ.get("RAY_USE_TLS") == "1")
    said = _tried(address, needs, os.environ | {MODE: "disabled"})
    mode = "disabled"
    if said is None and has_token(os.environ):
        mode = "token"
        said = _tried(address, needs, os.environ | {MODE: mode})
    if said is None:
        said = (
            f"it wants its token, and {'has another one' if mode == 'token' else 'got none'}; put "
            "the head's ~/.ray/auth_token into that place here, or its text into RAY_AUTH_TOKEN"
        )
    if isinstance(said, str):
        raise RayUnavailable(f"cannot join the Ray at {address}: {said}")
    os.environ[MODE] = mode
    return said


def spelled(address: str) -> Spelled:
    """The host and port of an address.

    Raises:
        RayUnavailable: It is of another form.
    """
    if address.startswith("ray://"):
        raise RayUnavailable(
            f"cannot join {address}: through Ray Client the driver has no disk and no clock of its "
            "own on the cluster; run on one of its nodes, or `ray job submit -- matrix run`"
        )
    if "://" in address:
        raise RayUnavailable(
            f"found {address!r}, which is an address of Ray's dashboard or jobs, as "
            "`ray job submit` takes it; a cluster is joined at the HOST:PORT of its head, as "
            "`ray start --head` prints it"
        )
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65_536:
        raise RayUnavailable(
            f"found {address!r}, which is no address of a Ray; it is auto or HOST:PORT, as "
            "`ray start` prints it"
        )
    return Spelled(host.strip("[]"), int(port))


def has_token(environment: Mapping[str, str]) -> bool:
    """Whether there is a token to send."""
    home = Path(environment.get("HOME", "")) / ".ray" / "auth_token"
    said = environment.get("RAY_AUTH_TOKEN") or environment.get("RAY_AUTH_TOKEN_PATH")
    return bool(said) or (home.is_file() and bool(home.read_bytes().strip()))


def _require_listener(address: str, place: Spelled, *, secured: bool) -> None:
    """See that something is there which talks as Ray does: for what does not, Ray waits long."""
    try:
        with create_connection(place, timeout=CONNECT_S) as connection:
            talks = secured or _talks_grpc(connection)
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        raise RayUnavailable(
            f"nobody answers at {address} ({reason}); start Ray there (`ray start --head "
            f"--port={place.port}`), or correct the address: `ray start --head` printed it"
        ) from None
    if not talks:
        raise RayUnavailable(
            f"cannot join the Ray at {address}: it takes connections and does not talk as Ray "
            f"does; {_OTHERWISE}"
        )


def _talks_grpc(connection: socket) -> bool:
    """Whether a greeting is answered as gRPC answers it."""
    connection.settimeout(GREETING_S)
    try:
        connection.sendall(_GREETING)
        return connection.recv(4)[3:] == bytes((_SETTINGS,))
    except OSError:
        return False


def _tried(address: str, needs: Needs, environment: Mapping[str, str]) -> Cluster | str | None:
    """The cluster, or what keeps this machine from joining it; ``None`` for want of its token."""
    command = [sys.executable, "-m", "matrix_actors.cluster.joining_probe", address, str(PROBE_S)]
    try:
        done = subprocess.run(  # noqa: S603 -- ourselves
            command,
            input=json.dumps(needs._asdict()),
            capture_output=True,
            text=True,
            errors="replace",
            env=environment,
            timeout=START_S + 2 * PROBE_S + EXAMINE_S,
            check=False,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        return f"it says nothing; {_OTHERWISE}"
    if done.returncode != 0:
        if "InvalidAuthToken" in done.stderr or "no authentication token" in done.stderr:
            return None
        told = _remedied(done.returncode, done.stdout, done.stderr)
        secured = environment[MODE] == "token"
        return told.replace("`ray start --a", f"`{MODE}=token ray start --a") if secured else told
    found = json.loads(done.stdout.splitlines()[-1])
    nodes = tuple(map(_facts, found["nodes"]))
    return Cluster(found["address"], _facts(found["mine"]), nodes)


def _facts(found: dict[str, Any]) -> NodeFacts:
    return NodeFacts("", "", 0.0).with_said(found)


_NO_USE: Final = (
    "no node of it on this machine can be used: where none runs, `ray start --address=...` makes "
    "one; where Ray died and was started again, `ray stop --force`, remove its temporary folder "
    "(/tmp/ray), and start it once more"
)
_OTHERWISE: Final = "see whether it is a Ray (`ray status`), and whether its other ports are open"


def _remedied(code: int, out: str, trouble: str) -> str:
    """What was found, with what to do about it."""
    said = out.strip().splitlines()[-1] if out.strip() else ""
    if code == VERSIONS:
        return f"{said}; install the same here, or on every node"
    if code == NO_NODE:
        return (
            "no node of it runs on this machine; `ray start --address=...` makes it one, or run on "
            "one of its nodes, or `ray job submit -- matrix run`"
        )
    if code == NOT_FOUND:
        if said:
            return f"`ray start` has left none here, but {said} runs; give that as HOST:PORT"
        return "no Ray runs on this machine; start one (`ray start --head`), or give HOST:PORT"
    if code == CLUSTER:
        return f"{said}; {_OTHERWISE}"
    if code == -signal.SIGALRM:
        return (
            "its head takes connections and says nothing more: it hangs or was stopped; see to the "
            "machine it is on"
        )
    last = next(iter(trouble.strip().splitlines()[-1:]), "")
    told = _plain(said or last)
    # Ray ends without a word, or is aborted, where it finds no living node of this machine's
    return f"{told}; {_OTHERWISE}" if told and code > 0 else f"{_NO_USE}; or {_OTHERWISE}"


def _plain(text: str) -> str:
    """A line without the marks that Ray's logs begin with."""
    return re.sub(r"^\[[^\]]*\]\s*\S+:\d+:\s*", "", text)[:500]
