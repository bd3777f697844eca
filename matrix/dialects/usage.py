"""Which counts of tokens in an answer count as a report of what was used."""

from __future__ import annotations

from typing import Final

from matrix.model.records import Usage

MOST_UNEXPLAINED: Final = 100_000
"""Tokens of a total that may be neither read nor written by the same report: reasoning that is not
counted apart. More of them are a report that contradicts itself, and counts as none."""


def usage_from(
    read: int | None,
    written: int | None,
    *,
    said: bool,
    total: int = 0,
    cached: int = 0,
    stored: int = 0,
    thought: int = 0,
) -> Usage | None:
    """Tokens as reported, on the dear side where the report contradicts itself.

    Services and libraries fill in zeros where nothing is known, so a report without input tokens,
    or without output tokens although something was said, counts as none at all.

    Args:
        read: Input tokens, those from a cache and into it included; ``None`` if not reported.
        written: Output tokens; ``None`` if not reported.
        said: Whether the model wrote anything.
        total: All tokens, as the report adds them up.
        cached: Input tokens from a cache.
        stored: Input tokens into a cache.
        thought: Output tokens of reasoning.
    """
    if not read or written is None or (said and not written):
        return None
    if cached + stored - read <= MOST_UNEXPLAINED:  # else it is left as it is, and implausible
        read = max(read, cached + stored)
    if total - read - max(written, thought) > MOST_UNEXPLAINED:
        return None
    return Usage(read, max(written, thought, total - read), cached, stored, thought)
