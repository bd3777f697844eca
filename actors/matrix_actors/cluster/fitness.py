"""Whether a node can play sessions of a run: what it has, compared with the driver's machine.

What is asked of a node is a function that Ray sends by value, because the node may have no matrix;
only if it has one, that one's :func:`facts_here` says the rest.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import socket
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

EXAMINE_S: Final = 30.0
"""Longest wait for the nodes to say what they have, in seconds."""

HEAD: Final = "node:__internal_head__"
"""Resource by which Ray marks the head."""


class Needs(NamedTuple):
    """What a run needs of a node besides the driver's own matrix.

    Attributes:
        kind: Name of its kind.
        variables: What its agents are given; wherever a session is played.
        programs: What its agents run; the same.
        keys: Alternatives of each key of a model; wherever requests are sent.
        env_file: Where else a variable may stand.
    """

    kind: str = ""
    variables: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    keys: tuple[tuple[str, ...], ...] = ()
    env_file: str = ""


class NodeFacts(NamedTuple):
    """One node of a cluster.

    Attributes:
        node: Its id in Ray.
        host: What it calls itself.
        cpus: CPUs that Ray counts on it.
        head: Whether it is the head.
        home: Whether the driver is on it.
        python, ray, version: Its versions; of matrix, empty if it has none.
        code: Digest of its matrix and of the run's kind.
        lacks: Variables and programs that sessions need and it has not.
        no_key: Keys that it has not.
        trouble: Why it could not be looked at.
    """

    node: str
    host: str
    cpus: float
    head: bool = False
    home: bool = False
    python: str = ""
    ray: str = ""
    version: str = ""
    code: str = ""
    lacks: tuple[str, ...] = ()
    no_key: tuple[str, ...] = ()
    trouble: str = ""

    def with_said(self, said: dict[str, Any]) -> NodeFacts:
        """With what the node itself says; lists come as such."""
        found: dict[str, Any] = {
            key: tuple(one) if isinstance(one, list) else one for key, one in said.items()
        }
        return self._replace(**found)

    @property
    def name(self) -> str:
        """Its host and enough of its id to tell it from others there."""
        return f"{self.host or 'node'} ({self.node[:8]})"


def facts_here(needs: Mapping[str, Any]) -> dict[str, Any]:
    """What this machine has, as a node's answer; ``needs`` as of :class:`Needs`."""
    from matrix.engine.prepare.keys import variables
    from matrix.engine.prepare.registry import kind_file, load_kind
    from matrix.model.errors import MatrixError
    from matrix.version import __version__

    requested = Needs(**needs)
    digest = hashlib.sha256(_own_code().encode())
    lacks: list[str] = []
    if requested.kind and kind_file(requested.kind) is None:  # a file's code goes with the run
        try:
            digest.update(_code_of(_folder_of(type(load_kind(requested.kind)))).encode())
        except MatrixError as error:
            lacks.append(f"the kind: {error}")
    try:
        known = (
            variables(Path(requested.env_file), os.environ) if requested.env_file else os.environ
        )
    except MatrixError:  # the file is checked where the run is started
        known = os.environ
    lacks += [name for name in requested.variables if not known.get(name)]
    lacks += [f"the program {name}" for name in requested.programs if shutil.which(name) is None]
    return {
        "version": __version__,
        "code": digest.hexdigest()[:12],
        "lacks": lacks,
        "no_key": [
            " or ".join(names) for names in requested.keys if not any(known.get(n) for n in names)
        ],
    }


@cache
def _own_code() -> str:
    import matrix
    import matrix_actors

    return _code_of(*(Path(str(one.__file__)).parent for one in (matrix, matrix_actors)))


def _folder_of(kind: type) -> Path:
    import sys

    return Path(str(sys.modules[kind.__module__].__file__)).parent


def _code_of(*folders: Path) -> str:
    """Digest of all Python files of some folders, by name and content."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            digest.update(f"{path.relative_to(folder)}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def examine(
    nodes: Sequence[Mapping[str, Any]], needs: Needs, home: str, seconds: float = EXAMINE_S
) -> list[NodeFacts]:
    """Ask nodes what they have; needs a Ray that has been joined.

    Args:
        nodes: As ``ray.nodes()`` gives them.
        needs: What the run needs.
        home: The driver's node.
        seconds: Longest wait for them all.
    """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    task: Any = ray.remote(num_cpus=0, max_retries=0)(_looker())
    refs = {}
    for node in nodes:
        there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        asked = task.options(scheduling_strategy=there)
        refs[node["NodeID"]] = asked.remote(needs._asdict())
    ray.wait(list(refs.values()), num_returns=len(refs), timeout=seconds)
    return [_found(node, refs[node["NodeID"]], home, seconds) for node in nodes]


def _found(node: Mapping[str, Any], ref: Any, home: str, seconds: float) -> NodeFacts:
    import ray

    resources = node["Resources"]
    known = NodeFacts(
        node["NodeID"],
        str(node.get("NodeManagerHostname", "")),
        float(resources.get("CPU", 0.0)),
        HEAD in resources,
        node["NodeID"] == home,
    )
    if not ray.wait([ref], timeout=0)[0]:
        ray.cancel(ref, force=True)
        return known._replace(trouble=f"did not say what it has within {seconds:g} s")
    try:
        said = ray.get(ref)
    except ray.exceptions.TaskUnschedulableError:
        return known._replace(trouble="is listed and takes nothing: it has just died, or left")
    except Exception as error:  # of any kind: what went wrong there is what is told
        last = str(error).strip().splitlines()[-1:]
        return known._replace(trouble=f"cannot be asked: {''.join(last)[:300]}")
    return known.with_said(said)


def _looker() -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """The function that nodes are sent; it may use no name of this module."""

    def look(needs: Mapping[str, Any]) -> dict[str, Any]:
        import importlib
        import platform
        import socket

        import ray

        found: dict[str, Any] = {
            "host": socket.gethostname(),
            "python": platform.python_version(),
            "ray": ray.__version__,
        }
        try:
            found |= importlib.import_module("matrix_actors.cluster.fitness").facts_here(needs)
        except Exception as error:
            try:
                found["version"] = importlib.import_module("matrix.version").__version__
            except Exception:
                found["version"] = ""
            found["trouble"] = f"{type(error).__name__}: {error}"[:300]
        return found

    return look


def here(needs: Needs, ray_version: str) -> NodeFacts:
    """The driver's own machine, which others are compared with."""
    mine = NodeFacts(
        "", socket.gethostname(), 0.0, python=platform.python_version(), ray=ray_version
    )
    return mine.with_said(facts_here(needs._asdict()))


def misfit(node: NodeFacts, mine: NodeFacts) -> str:
    """Why a node cannot play sessions of this run, and what to do about it; empty if it can."""
    if not node.version and node.python:
        return (
            f"{node.name} has no matrix ({node.trouble}); install the wheel of matrix "
            f"{mine.version} there, into the Python that runs Ray"
        )
    if _minor(node.python) != _minor(mine.python) and node.python:
        return f"{node.name} has Python {node.python}, and {mine.python} is here; use the same"
    if node.version != mine.version and node.version:
        return (
            f"{node.name} has matrix {node.version}, and {mine.version} is here; install the same "
            "wheel there"
        )
    if node.trouble:
        return f"{node.name}: {node.trouble}; see its Ray logs, or remove it from the cluster"
    if node.code != mine.code:
        return (
            f"{node.name} has other code of matrix {node.version} or of the run's kind "
            f"({node.code}, and {mine.code} is here); install the same wheels there"
        )
    if node.lacks and not node.home:  # there the driver gives what it has
        lacking = ", ".join(node.lacks)
        return f"{node.name} lacks {lacking}, which agents need wherever a session is played"
    return ""


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])
