"""The nodes of a cluster that a run has joined: which there are, which fit, which are leaving."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from matrix.engine.wire.messages import NodeNews
from matrix.model.errors import BadInput, Mistake
from matrix_actors.cluster.fitness import Needs, NodeFacts, examine, misfit
from matrix_actors.cluster.joining import Cluster, RayUnavailable
from matrix_actors.cluster.placing import NodePlace
from matrix_actors.waiting import aside

SHUN_S: Final = 60.0
"""How long a node gets no worker after one there could not be reached; Ray takes half a minute to
declare a node dead."""

Listing = Callable[[], Sequence[Mapping[str, Any]]]
"""Gives the nodes as ``ray.nodes()`` does."""


class Nodes:
    """What is known of the nodes; a node that comes is asked what it has."""

    def __init__(
        self,
        cluster: Cluster,
        needs: Needs,
        *,
        listing: Listing | None = None,
        leaving: Callable[[], Mapping[str, int]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take what was found when the cluster was looked at.

        Args:
            cluster: The nodes there were, and the driver's own machine.
            needs: What the run needs of a node.
            listing: The nodes now; Ray's own word if left out.
            leaving: Nodes that are being drained, by id; the same.
            clock: Seconds.
        """
        self._clock, self._shunned = clock, dict[str, float]()
        self._mine, self._needs = cluster.mine, needs
        self._listing, self._draining = listing or _listed, leaving or _drained
        self._known = {node.node: node for node in cluster.nodes}
        self._home = next((node.node for node in cluster.nodes if node.home), "")
        self._misfits = {
            node.node: why for node in cluster.nodes if (why := misfit(node, cluster.mine))
        }
        self.leaving: frozenset[str] = frozenset()

    @property
    def unusable(self) -> frozenset[str]:
        """Nodes on which no session is played."""
        now = self._clock()
        shunned = {node for node, until in self._shunned.items() if until > now}
        return self.leaving | self._misfits.keys() | shunned

    def shun(self, node: str) -> None:
        """A process there cannot be reached: put none there until Ray has found out why."""
        self._shunned[node] = self._clock() + SHUN_S

    @property
    def misfits(self) -> list[str]:
        """Why nodes are not used, a sentence each."""
        return list(self._misfits.values())

    @property
    def places(self) -> list[NodePlace]:
        """Nodes on which sessions may be played."""
        return [
            NodePlace(node.node, node.cpus, node.head or node.home)
            for node in self._known.values()
            if node.node not in self.unusable
        ]

    async def cpus(self) -> tuple[float, float]:
        """CPUs that are free, and those that are not, on nodes that sessions may be played on."""
        places = {place.node: place.cpus for place in self.places}
        free = await aside(_free)
        left = {node: min(cpus, free.get(node, 0.0)) for node, cpus in places.items()}
        return sum(left.values()), sum(places.values()) - sum(left.values())

    def require_home(self) -> None:
        """See that the node of this machine can play the run.

        Raises:
            RayUnavailable: It cannot, and the journal has to be there.
        """
        if why := self._misfits.get(self._home):
            raise RayUnavailable(f"this machine's own node cannot be used: {why}")

    def require_keys(self) -> None:
        """See that every node that may send requests has its keys.

        Raises:
            BadInput: A line for each node that has not.
        """
        usable = [node for node in self._known.values() if node.node not in self.unusable]
        wrong = [
            Mistake(
                "providers.spread",
                None,
                "",
                f"{node.name} has no {' and no '.join(node.no_key)}; set it there, in the "
                "environment of Ray or in the same .env, or leave providers.spread out: requests "
                "are then sent from this machine",
            )
            for node in usable
            if node.no_key and not node.home
        ]
        if wrong:
            raise BadInput(wrong)

    def name_of(self, node: str) -> str:
        """What people call a node."""
        known = self._known.get(node)
        return known.name if known is not None else node[:8]

    async def look(self) -> list[NodeNews]:
        """See which nodes there are now; returns what is new."""
        listed, draining = await aside(self._now)
        alive = {node["NodeID"]: node for node in listed if node["Alive"]}
        news = [
            NodeNews("node.left", f"the node {self.name_of(key)}, which was drained, is gone", key)
            if key in self.leaving
            else NodeNews("node.lost", f"the node {self.name_of(key)} is gone", key)
            for key in self._known.keys() - alive.keys()
        ]
        for key in self._known.keys() - alive.keys():
            del self._known[key]
            self._misfits.pop(key, None)
        leaving = frozenset(draining) & alive.keys()
        news += [
            NodeNews(
                "node.leaving",
                f"the node {self.name_of(key)} is drained; its sessions are played on elsewhere",
                key,
            )
            for key in (leaving - self.leaving) & self._known.keys()
        ]
        self.leaving = leaving
        new = [alive[key] for key in alive.keys() - self._known.keys()]
        if new:
            for node in await aside(lambda: examine(new, self._needs, self._home)):
                news.append(self._welcome(node))
        return news

    def _welcome(self, node: NodeFacts) -> NodeNews:
        self._known[node.node] = node
        if why := misfit(node, self._mine):
            self._misfits[node.node] = why
            return NodeNews("node.unfit", f"no session is played on a node that came: {why}")
        text = f"the node {node.name} has come, with {node.cpus:g} CPUs"
        return NodeNews("node.joined", text, node.node)

    def _now(self) -> tuple[Sequence[Mapping[str, Any]], Mapping[str, int]]:
        return self._listing(), self._draining()


def _listed() -> Sequence[Mapping[str, Any]]:
    import ray

    nodes: Sequence[Mapping[str, Any]] = ray.nodes()
    return nodes


def _free() -> Mapping[str, float]:
    """CPUs that nobody has, by node."""
    from ray._private.state import available_resources_per_node

    found: Mapping[str, Mapping[str, float]] = available_resources_per_node()
    return {node: resources.get("CPU", 0.0) for node, resources in found.items()}


def _drained() -> Mapping[str, int]:
    """Nodes that are being drained, and until when; Ray has no public word for it."""
    from ray._private.state import state

    ask = getattr(state, "get_draining_nodes", None)
    found: Mapping[str, int] = ask() if ask is not None else {}
    return found
