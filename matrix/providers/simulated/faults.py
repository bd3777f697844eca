"""Simulated trouble: which attempts fail and which replies come back damaged.

Faults that fail an attempt depend on (seed of the call, attempt, name of the fault); damage to
a reply depends on (seed of the call, name) only. So the text of an answer is the same whichever
attempt brings it, and a run that died and was resumed ends with the same rows.
"""

from __future__ import annotations

from collections.abc import Callable

from matrix.model.errors import (
    MalformedAnswer,
    ProviderError,
    ProviderTimeout,
    ProviderUnavailable,
    RateLimited,
)
from matrix.model.seeds import derive_seed
from matrix.providers.simulated.settings import FaultSettings

_SPAN = float(1 << 63)


def uniform(*parts: str | int) -> float:
    """A draw from [0, 1) named by ``parts``; far cheaper than a random stream for one number."""
    return derive_seed(*parts) / _SPAN


class Faults:
    """Draws the faults of one provider."""

    def __init__(self, settings: FaultSettings) -> None:
        self._settings = settings
        chances = (
            ("rate_limited", settings.rate_limited, self._rate_limited),
            ("server_error", settings.server_error, self._server_error),
            ("timeout", settings.timeout, self._timeout),
            ("malformed", settings.malformed, self._malformed),
            ("empty", settings.empty, self._empty),
        )
        self._failing: list[tuple[str, float, Callable[[], ProviderError]]] = [
            chance for chance in chances if chance[1] > 0
        ]

    def of_attempt(self, seed: int, attempt: int) -> ProviderError | None:
        """The error that attempt number ``attempt`` (from 1) ends in, if it fails."""
        if attempt > self._settings.max_in_a_row:
            return None
        for name, chance, error in self._failing:
            if uniform(seed, attempt, name) < chance:
                return error()
        return None

    def cuts_off(self, seed: int) -> bool:
        """Whether this call's answer comes back half."""
        chance = self._settings.cut_off
        return chance > 0 and uniform(seed, "cut_off") < chance

    def hides_usage(self, seed: int) -> bool:
        """Whether this call's reply reports no usage."""
        chance = self._settings.missing_usage
        return chance > 0 and uniform(seed, "missing_usage") < chance

    def _rate_limited(self) -> ProviderError:
        return RateLimited(
            "429 from the simulated provider", retry_after_s=self._settings.retry_after_s
        )

    @staticmethod
    def _server_error() -> ProviderError:
        return ProviderUnavailable("503 from the simulated provider")

    @staticmethod
    def _timeout() -> ProviderError:
        return ProviderTimeout("the simulated provider gave no answer in time")

    @staticmethod
    def _malformed() -> ProviderError:
        return MalformedAnswer("the simulated provider's answer is not valid JSON")

    @staticmethod
    def _empty() -> ProviderError:
        return MalformedAnswer("the simulated provider's answer is empty")
