"""What holds for every test: how fast the machine is decides nothing."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from matrix.model.wording import speaking_of_flags
from tests import sampling

sampling.choose(short=False)

_HOME = pytest.StashKey[str]()
_MEMORY = Path("/dev/shm")
_ROOM = 4 << 30


def pytest_configure(config: pytest.Config) -> None:
    """Where what is long is left out, samples are short."""
    sampling.choose(short="not long" in config.option.markexpr)
    if _has_room():
        # journals wait for the disk in every transaction, which is half the time of many tests
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))
    home = tempfile.mkdtemp(prefix="matrix-state-")  # runs are marked by a key of their user's
    config.stash[_HOME] = os.environ["XDG_STATE_HOME"] = home
    os.environ["MATRIX_REPORT"] = "0"  # a page takes seconds, and has tests of its own


def _has_room() -> bool:
    """Whether folders of tests can be in memory: programs of theirs run from there, too."""
    if not _MEMORY.is_dir() or os.statvfs(_MEMORY).f_flag & os.ST_NOEXEC:
        return False
    return shutil.disk_usage(_MEMORY).free > _ROOM


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave nothing behind."""
    if home := config.stash.get(_HOME, None):
        shutil.rmtree(home, ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What starts Ray, and what kills whole runs, is slow; properties are sampled."""
    for item in items:
        drawn = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
        if drawn or hasattr(getattr(item, "module", None), "examples"):
            item.add_marker("sampled")
        if item.get_closest_marker("ray") is not None or "faults" in item.path.parts:
            item.add_marker("slow")
        on_ray = item.get_closest_marker("ray") is not None
        if on_ray and item.get_closest_marker("long_on_ray") is not None:
            item.add_marker("long")


@pytest.fixture
def flags() -> Iterator[None]:
    """Errors are read as the command line has them: with flags, not arguments."""
    with speaking_of_flags():
        yield
