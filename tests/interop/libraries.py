"""Other people's libraries, where they are installed: `make interop` does that."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest


def library(name: str) -> Any:
    """A library; the test is skipped, and says so, where it is not installed."""
    told = f"{name} is not installed, so nothing was read back with it: `make interop`"
    try:
        return import_module(name)
    except ModuleNotFoundError:
        pytest.skip(told)
