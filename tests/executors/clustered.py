"""Plays a project's spec on a Ray of three nodes on this machine, and takes one node away.

clustered.py <project folder> <run id> <turns after which the node goes> [<place> ...]

The processes of the places are killed before that, one at each turn of the run.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

from matrix.engine.run.progress import Progress, Silent
from matrix_actors.cluster.ray_environment import prepare_environment
from matrix_actors.executor import RayExecutor
from tests.executors.driving import drive
from tests.waiting import LONGEST_WAIT_S

GATE = "gate"
"""Made in the project's folder when the node is gone: who must not have ended by then waits."""


class Removing(Silent):
    """Takes that of some nodes away in the middle which has most of the work."""

    def __init__(
        self,
        cluster: Any,
        nodes: list[Any],
        turns: int,
        places: list[str],
        executor: RayExecutor,
        gate: Path,
    ) -> None:
        self._cluster, self._nodes, self._turns = cluster, nodes, turns
        self._places, self._executor, self._gate = places, executor, gate
        self.removed = self.home = ""
        self.elsewhere = 0
        self.hosts: dict[int, str] = {}

    def progress(self, progress: Progress) -> None:
        self.home, hosts = _hosts()
        self.hosts |= hosts
        if self._places and progress.counters.turns:
            pid = self._executor.pids.get(self._places[0])
            if pid is not None:  # else it is being replaced
                os.kill(pid, signal.SIGKILL)
                self._places.pop(0)
        if not self._places and not self.removed and progress.counters.turns >= self._turns:
            actors = {node: _actors_on(node.node_id) for node in self._nodes}
            node = max(actors, key=lambda one: actors[one])
            self.elsewhere = actors[node]
            self._cluster.remove_node(node, allow_graceful=False)
            self.removed = node.node_id
            self._gate.touch()


def _actors_on(node_id: str) -> int:
    """Living actors on a node."""
    import ray
    from ray._private.state import actors

    assert ray.is_initialized()
    found = actors().values()
    return sum(a["State"] == "ALIVE" and a["Address"]["NodeID"] == node_id for a in found)


def _hosts() -> tuple[str, dict[int, str]]:
    """The driver's node; and process id -> node, of every actor that there is or was."""
    import ray
    from ray._private.state import actors

    assert ray.is_initialized()
    home = ray.get_runtime_context().get_node_id()
    return home, {found["Pid"]: found["Address"]["NodeID"] for found in actors().values()}


def _added(cluster: Any) -> Any:
    """One more node, the first being the head; Ray gives it half a minute, and has no setting."""
    for last in (False, False, True):
        with nullcontext() if last else suppress(Exception):  # a busy machine
            return cluster.add_node(num_cpus=2, object_store_memory=80 * 1024 * 1024)
    raise AssertionError("the last time it is not suppressed")


def main(folder: str, run_id: str, turns: str, *places: str) -> None:
    prepare_environment()
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    try:
        nodes = [_added(cluster) for _ in range(3)]
        cluster.wait_for_nodes(LONGEST_WAIT_S)
        executor = RayExecutor(address=cluster.address, workers=6)
        gate = Path(folder) / GATE
        removing = Removing(cluster, nodes[1:], int(turns), list(places), executor, gate)
        end = asyncio.run(drive(Path(folder), run_id, executor, removing))
    finally:
        cluster.shutdown()
    said = {
        "status": end.status,
        "removed": removing.removed,
        "elsewhere": removing.elsewhere,
        "home": removing.home,
        "hosts": removing.hosts,
        "incarnations": {
            member.place: member.incarnations for member in executor.supervisor.members
        },
    }
    print(json.dumps(said))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
