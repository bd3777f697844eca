"""Texts to fill examples of JSON Schemas with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

FORMATS: Final[Mapping[str, str]] = {
    "date-time": "2025-03-14T09:26:53Z",
    "date": "2025-03-14",
    "time": "09:26:53Z",
    "duration": "PT15M",
    "email": "ada@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.7",
    "ipv6": "2001:db8::7",
    "uri": "https://example.com/a",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
}
"""Format of a schema -> a text of that format."""

NAMED: Final[Mapping[str, tuple[str, ...]]] = {
    "city": ("Lisbon", "Oslo", "Quito"),
    "country": ("Portugal", "Norway", "Ecuador"),
    "location": ("Lisbon", "Oslo", "Quito"),
    "name": ("Ada Lovelace", "Grace Hopper", "Alan Turing"),
    "query": ("ferry times today", "lighthouse keeper", "opening hours"),
    "title": ("A quiet harbour", "The last ferry", "Notes from the tower"),
    "path": ("notes/today.md", "src/main.py"),
    "currency": ("EUR", "USD", "NOK"),
    "reason": ("It is what was asked for.", "The text says so."),
}
"""Part of a property's name -> texts that read well there."""

WORDS: Final = ("amber", "harbour", "lantern", "meadow", "north", "quiet", "river", "stone")
SHAPED: Final = (
    "a", "A", "0", "7", "10", "abc", "ABC", "Abc", "12345", "a1", "A1", "AB-123", "ab_c", "a-b",
    "abc123", "2025-03-14", "09:26", "09:26:53", "+351210000000", "1.2.3", "#a1b2c3", "EUR", "en",
    "en-GB", "sha256:0a", "deadbeef", "3.14", "12345-6789", "/a/b", "key=value",
    *FORMATS.values(),
)  # fmt: skip
"""Texts to try where a pattern is asked for."""
