"""Sessions that several tests look at, played once."""

from __future__ import annotations

import pytest

from tests.providers.loop import Session, play_session


@pytest.fixture(scope="session")
def sessions() -> list[Session]:
    """Forty sessions on the small guide, by seed."""
    return [play_session(seed) for seed in range(40)]
