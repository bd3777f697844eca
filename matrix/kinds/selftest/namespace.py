"""Names that a self-test gives the system under test, so that nothing else is mixed up with it."""

from __future__ import annotations

from datetime import UTC, datetime


def namespace_at(began_at: float, random: int) -> str:
    """``selftest-YYYYMMDD-HHMM-<random>``, in UTC.

    Args:
        began_at: When the session began, in seconds since 1970.
        random: Any number of 32 bits.
    """
    return f"selftest-{datetime.fromtimestamp(began_at, UTC):%Y%m%d-%H%M}-{random:08x}"
