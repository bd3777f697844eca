"""What a provider's response headers say is left of its limits."""

from __future__ import annotations

import math
from collections.abc import Mapping

from matrix.admission.rates import Remaining

_NAMES = {
    "requests": ("x-ratelimit-remaining-requests", "anthropic-ratelimit-requests-remaining"),
    "tokens": ("x-ratelimit-remaining-tokens", "anthropic-ratelimit-tokens-remaining"),
    "input_tokens": ("anthropic-ratelimit-input-tokens-remaining",),
    "output_tokens": ("anthropic-ratelimit-output-tokens-remaining",),
}


def remaining(headers: Mapping[str, str]) -> Remaining | None:
    """Read the headers' figures, names in lower case; ``None`` if there are none to believe."""
    if not headers:
        return None
    found = {field: _figure(headers, names) for field, names in _NAMES.items()}
    return Remaining(**found) if any(value is not None for value in found.values()) else None


def _figure(headers: Mapping[str, str], names: tuple[str, ...]) -> float | None:
    for name in names:
        try:
            value = float(headers[name])
        except (KeyError, ValueError):
            continue
        if math.isfinite(value) and value >= 0:
            return value
    return None
