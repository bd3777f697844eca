"""How many examples properties are tried with: few in ``make test``, all in ``make long``."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

_SHORT = 5
"""A short sample is so many times smaller than the whole."""

_divisor = 1


def choose(*, short: bool) -> None:
    """Decide for all tests, before they are collected."""
    global _divisor
    _divisor = _SHORT if short else 1
    settings.register_profile(
        "sample",
        max_examples=examples(100),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("sample")


def examples(whole: int) -> int:
    """How many to try of a property that is to be tried with so many in all."""
    return max(5, whole // _divisor)
