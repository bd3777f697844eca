"""What holds for every test: how fast the machine is decides nothing."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "whole suite", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("whole suite")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What starts Ray is slow."""
    for item in items:
        if item.get_closest_marker("ray") is not None:
            item.add_marker("slow")
