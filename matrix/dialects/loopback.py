"""Who may talk to a server on the loopback: programs of this machine, and no web page.

A page that somebody looks at can have its browser send requests to 127.0.0.1. Those carry its
origin, or, where its name was made to lead here (DNS rebinding), that name as their host.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

_HERE: Final = frozenset({"127.0.0.1", "localhost", "::1"})


def foreign(headers: Mapping[str, str]) -> str:
    """Why a request is no program's of this machine; empty if it may be.

    Args:
        headers: By any spelling of their names that this finds ``Host`` and ``Origin`` under.
    """
    host, origin = headers.get("Host", ""), headers.get("Origin", "")
    if host and _name(f"//{host}") not in _HERE:
        return "The Host of this request is not this machine; ask 127.0.0.1."
    if origin and _name(origin) not in _HERE:
        return "Web pages may not ask this server."
    return ""


def _name(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""
