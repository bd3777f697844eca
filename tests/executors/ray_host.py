"""A local Ray that several programs join in turn: run as a script, it lives until stdin closes.

Starting Ray takes most of the time of a small run, so tests share one.
"""

from __future__ import annotations

import json
import os
import sys


def main() -> None:
    """Print one line of JSON (address and environment of those who join), then wait."""
    from matrix_actors.cluster.joining import RayUnavailable
    from matrix_actors.cluster.ray_environment import prepare_environment
    from matrix_actors.cluster.starting import leave_ray, start_ray

    prepare_environment()
    for last in (False, False, True):
        try:
            start_ray(None)
            break
        except RayUnavailable:  # a busy machine
            if last:
                raise
    import ray

    host = {
        "address": ray.get_runtime_context().gcs_address,
        "environment": {k: v for k, v in os.environ.items() if k.startswith("RAY_")},
    }
    print(json.dumps(host), flush=True)  # noqa: T201
    sys.stdin.read()
    leave_ray()


if __name__ == "__main__":
    main()
