"""What holds for every test: how fast the machine is decides nothing."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "whole suite", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("whole suite")
