"""Rolling budgets over several runs: so much money within any window, whoever runs what."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NamedTuple

from matrix.model.money import NanoUSD, from_usd, show_usd

WINDOWS: Final = {"hour": 3_600, "day": 86_400, "week": 7 * 86_400, "month": 30 * 86_400}
"""Names of windows and their lengths in seconds; windows roll, they do not start at midnight."""

_FORM = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,59})=(\d+(?:\.\d+)?)/([a-z]+)")


@dataclass(frozen=True, slots=True)
class Budget:
    """So much money within any window of this length."""

    name: str
    amount: NanoUSD
    window: str

    @property
    def window_s(self) -> int:
        """Length of the window in seconds."""
        return WINDOWS[self.window]

    def __str__(self) -> str:
        return f"{self.name} ({show_usd(self.amount)} per {self.window})"


class Bound(NamedTuple):
    """The cap that a budget has left a run, which is lower than the run's own."""

    budget: Budget
    cap: NanoUSD
    own: NanoUSD


def parse_budget(text: str) -> Budget:
    """Read ``nightly=50/day``.

    Raises:
        ValueError: It is not of this form; the message says what is allowed.
    """
    match = _FORM.fullmatch(text)
    if match is None or match[3] not in WINDOWS or from_usd(match[2]) == 0:
        raise ValueError(
            f"found {text!r}; write NAME=USD/WINDOW with more than 0 dollars and one of "
            f"{', '.join(WINDOWS)}, e.g. nightly=50/day"
        )
    return Budget(match[1], from_usd(match[2]), match[3])
