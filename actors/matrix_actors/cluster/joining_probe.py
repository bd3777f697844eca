"""Tries to join a Ray and asks its nodes what they have: a program of its own.

joining_probe.py <address> <seconds>

What the run needs of nodes is read from standard input as JSON, what they have is written to
standard output; or why Ray cannot be joined, in one line. It may hang in C++; a timer of the system
ends it then, and whoever started it reads what Ray has logged by that time.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any, Final

from matrix_actors.cluster.fitness import EXAMINE_S, Needs, examine, here
from matrix_actors.cluster.ray_environment import prepare_environment

CLUSTER: Final = 3
"""Exit code: something is there, and is no Ray that answers."""
VERSIONS: Final = 4
"""Exit code: another version of Ray or Python."""
NO_NODE: Final = 5
"""Exit code: a cluster, of which no node is on this machine."""
NOT_FOUND: Final = 6
"""Exit code: ``auto``, and ``ray start`` has left none here; the line names those that run."""


def main(address: str, seconds: str) -> int:
    """Join, look and leave; the exit code says how it went."""
    needs = Needs(**json.loads(sys.stdin.read() or "{}"))
    prepare_environment()
    import ray

    signal.setitimer(signal.ITIMER_REAL, float(seconds))  # nobody handles it: the process ends
    if address == "auto":
        recorded, living = _recorded()
        if recorded is None or recorded not in living:
            _say(", ".join(sorted(living)))
            return NOT_FOUND
        address = recorded
    if (code := _without_joining(address)) is not None:
        return code
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except Exception as error:  # Ray raises bare exceptions of many kinds here
        text = " ".join(str(error).split())
        _say(text)
        return VERSIONS if "mismatch" in text.lower() else CLUSTER
    signal.setitimer(signal.ITIMER_REAL, EXAMINE_S + float(seconds))
    home = ray.get_runtime_context().get_node_id()
    found = examine([node for node in ray.nodes() if node["Alive"]], needs, home)
    mine = here(needs, ray.__version__)
    nodes = [one._asdict() for one in found]
    _say(json.dumps({"address": address, "mine": mine._asdict(), "nodes": nodes}))
    sys.stdout.flush()
    os._exit(0)  # Ray takes seconds to say goodbye, and nobody is waiting for that


def _recorded() -> tuple[str | None, frozenset[str]]:
    """The Ray that ``ray start`` was last used for on this machine, and every one that runs here.

    Ray's own ``auto`` takes any that runs if it finds one only, such as that of another run, which
    ends with it.
    """
    from ray._private import services

    return services.find_bootstrap_address(None), frozenset(services.find_gcs_addresses())


def _without_joining(address: str) -> int | None:
    """What can be seen without waiting for Ray's own patience; ``None`` if it may work.

    The functions are not public; where a version of Ray has them no more, ``ray.init`` tells.
    """
    try:
        from ray import _raylet
        from ray._private import services
        from ray._private.utils import check_version_info

        raylet: Any = _raylet
        gcs_client = raylet.GcsClient
        find_node_ids = services.find_node_ids
    except (ImportError, AttributeError):
        return None
    client = gcs_client(address=address)
    from ray._common.usage.usage_lib import get_cluster_metadata

    metadata = get_cluster_metadata(client)
    if metadata:
        try:
            check_version_info(metadata, "this machine")
        except RuntimeError as error:
            _say(" ".join(str(error).split()))
            return VERSIONS
    ours = set(find_node_ids())
    alive = {
        key.hex() if hasattr(key, "hex") else str(key)
        for key, info in client.get_all_node_info(timeout=5).items()
        if info.state == 0
    }
    return None if ours & alive else NO_NODE


def _say(text: Any) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
