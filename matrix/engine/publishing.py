"""Opening a run's publisher from what its folder says; shared by both executors."""

from __future__ import annotations

from pathlib import Path

from matrix.store.publisher import Publisher
from matrix.store.run_folder import read_run


def open_publisher(run_dir: Path) -> Publisher:
    """The publisher of the run in this folder."""
    return Publisher(run_dir, read_run(run_dir).info)
