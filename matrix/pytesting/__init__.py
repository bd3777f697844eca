"""Scenarios as tests: ``pytest --matrix`` plays what ``@matrix.scenario`` declares.

:mod:`matrix.pytesting.plugin` is loaded by every pytest where this package is installed, so it
imports nothing; all else is loaded with ``--matrix`` only.
"""

from __future__ import annotations

from typing import Final

SESSIONS: Final = 20
"""Sessions of a scenario, where nobody says how many."""
