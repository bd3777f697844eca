"""Plays a project's spec on a Ray of three nodes on this machine, and takes one node away.

clustered.py <project folder> <run id> <turns after which the node goes>
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

from matrix.engine.progress import Progress, Silent
from matrix_actors.cluster import prepare_environment
from matrix_actors.executor import RayExecutor
from tests.executors.driving import drive
from tests.patience import PATIENCE_S


class Removing(Silent):
    """Takes that of some nodes away in the middle which has most of the work."""

    def __init__(self, cluster: Any, nodes: list[Any], turns: int) -> None:
        self._cluster, self._nodes, self._turns = cluster, nodes, turns
        self.removed = False
        self.elsewhere = 0

    def progress(self, progress: Progress) -> None:
        if not self.removed and progress.counters.turns >= self._turns:
            actors = {node: _actors_on(node.node_id) for node in self._nodes}
            node = max(actors, key=lambda one: actors[one])
            self.elsewhere = actors[node]
            self._cluster.remove_node(node, allow_graceful=False)
            self.removed = True


def _actors_on(node_id: str) -> int:
    """Living actors on a node."""
    import ray
    from ray._private.state import actors

    assert ray.is_initialized()
    found = actors().values()
    return sum(a["State"] == "ALIVE" and a["Address"]["NodeID"] == node_id for a in found)


def _added(cluster: Any) -> Any:
    """One more node, the first being the head; Ray gives it half a minute, and has no setting."""
    for last in (False, False, True):
        with nullcontext() if last else suppress(Exception):  # a busy machine
            return cluster.add_node(num_cpus=2, object_store_memory=80 * 1024 * 1024)
    raise AssertionError("the last time it is not suppressed")


def main(folder: str, run_id: str, turns: str) -> None:
    prepare_environment()
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    try:
        nodes = [_added(cluster) for _ in range(3)]
        cluster.wait_for_nodes(PATIENCE_S)
        removing = Removing(cluster, nodes[1:], int(turns))
        executor = RayExecutor(address=cluster.address, workers=6)
        end = asyncio.run(drive(Path(folder), run_id, executor, removing))
    finally:
        cluster.shutdown()
    said = {"status": end.status, "removed": removing.removed, "elsewhere": removing.elsewhere}
    print(json.dumps(said))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
