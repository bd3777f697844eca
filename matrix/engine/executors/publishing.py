"""Opening a run's publisher from what its folder says; shared by both executors."""

from __future__ import annotations

from pathlib import Path

from matrix.store.run.run_folder import read_run
from matrix.store.tables.publisher import Publisher

LONGEST_WAIT_S = 30.0
"""How long the publisher of an earlier life of the run, whose driver was killed, may take to notice
that it is alone. The journal's lock says already that nobody plays the run any more."""


def open_publisher(run_dir: Path) -> Publisher:
    """The publisher of the run in this folder."""
    return Publisher(run_dir, read_run(run_dir).info, patience_s=LONGEST_WAIT_S)
