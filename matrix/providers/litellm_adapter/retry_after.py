"""How long a provider asks to wait, from its headers: milliseconds, seconds or a date."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

LONGEST_S = 600.0
"""A provider that asks for more gets this; waiting longer is for people to decide."""

_IN_BODY = re.compile(r"""retryDelay\\?["']?\s*:\s*\\?["'](\d+(?:\.\d+)?)s""")
"""Google says it in the body: ``"retryDelay": "37s"``."""


def retry_after_s(headers: Mapping[str, str], now: float, body: str = "") -> float | None:
    """Seconds to wait, between 0 and :data:`LONGEST_S`; ``None`` if nothing readable is said.

    Args:
        headers: Response headers with lower-case names.
        now: Unix time in seconds, which a date is measured against.
        body: Text of the refusal, for providers that say it there.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return _bounded(milliseconds / 1000)
    text = headers.get("retry-after")
    seconds = _number(text)
    if seconds is None and text is not None:
        seconds = _until(text, now)
    if seconds is None and (said := _IN_BODY.search(body)):
        seconds = float(said[1])
    return None if seconds is None else _bounded(seconds)


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return None if math.isnan(value) else value


def _until(text: str, now: float) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp() - now
    except (ValueError, TypeError, OverflowError):
        return None


def _bounded(seconds: float) -> float:
    return min(max(seconds, 0.0), LONGEST_S)
