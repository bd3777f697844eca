"""What holds for every test: how fast the machine is decides nothing."""

from __future__ import annotations

import pytest

from tests import sampling

sampling.choose(short=False)


def pytest_configure(config: pytest.Config) -> None:
    """Where what is long is left out, samples are short."""
    sampling.choose(short="not long" in config.option.markexpr)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What starts Ray, and what kills whole runs, is slow."""
    for item in items:
        if item.get_closest_marker("ray") is not None or "faults" in item.path.parts:
            item.add_marker("slow")
