"""A cluster with a token, and the run that its runs are compared with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.machines import TOKEN, Machines, machines
from tests.cluster.programs import slow_spec
from tests.executors.programs import undisturbed


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run, undisturbed."""
    return undisturbed(tmp_path_factory.mktemp("whole"), slow_spec())


@pytest.fixture
def cluster() -> Iterator[Machines]:
    with machines(TOKEN) as made:
        yield made
