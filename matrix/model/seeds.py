"""Stable identities and random streams: the same inputs give the same ids and draws anywhere.

Python's own ``hash()`` is salted per process and the global ``random`` is shared by everyone,
so neither appears in this project. Every id is a content hash, and every draw comes from a
stream that is named by what it is for.
"""

from __future__ import annotations

import hashlib
import random
from typing import Any

import orjson


def canonical(value: Any) -> bytes:
    """The one JSON encoding of a value: sorted keys, no spaces, UTF-8."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)


def content_hash(value: Any, *, length: int = 16) -> str:
    """Hex digest (``length`` characters, 4 bits each) of a JSON-like value."""
    return hashlib.blake2b(canonical(value), digest_size=32).hexdigest()[:length]


def bytes_hash(content: bytes) -> str:
    """Hex digest (64 characters) of some bytes: the name that a file's content goes by."""
    return hashlib.blake2b(content, digest_size=32).hexdigest()


def derive_seed(*parts: str | int) -> int:
    """A 63-bit seed from named parts, e.g. ``derive_seed(run_seed, "shadow-bay", 7)``."""
    digest = hashlib.blake2b(canonical(parts), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def stream(*parts: str | int) -> random.Random:
    """An independent random stream for these parts; asking again starts it afresh."""
    return random.Random(derive_seed(*parts))  # noqa: S311  draws, not secrets
