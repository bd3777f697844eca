"""How long tests wait for what has to happen."""

from __future__ import annotations

from typing import Final

LONGEST_WAIT_S: Final = 1_800.0
"""Real seconds after which something counts as hung. It is no measure of speed: on a machine that
is busy with other things, everything may take a hundred times as long as it does alone."""
