"""Keeps secrets out of messages: keys by value, and whatever looks like one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

REMOVED = "[redacted]"
SHORTEST_SECRET = 6
"""Shorter values of key variables are placeholders, and would redact ordinary words."""

_HEADER = re.compile(
    r"""(?ix) (["']? \b (?: (?:proxy-)? authorization | [\w-]* api [-_ ]? key (?: [ ] provided )?
        | [\w-]* (?: secret | session | access )[-_] (?: token | key ) | (?:set-)? cookie )
        ["']? \s* [:=] \s*)
        (?: (["']).*?\2 | (?: (?: bearer | basic | token ) \s+ )? [^\s"',;}\])]+ )
    """
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+(?!\[)[\w.~+/=*-]{6,}")
_TOKEN = re.compile(
    r"""(?x) \b (?: (?: sk | pk | rk | xai | gsk | hf | r8 | nvapi | fw | pplx | tgp | csk )
        [-_] [\w*.-]{5,} | AIza [\w*-]{10,} | (?: AKIA | ASIA ) [A-Z0-9]{12,} | eyJ [\w-]{8,}
        (?: \. [\w-]+ )+ )
    """
)
_IN_URL = re.compile(r"(?i)([?&](?:key|api[-_]?key|token|access_token|sig)=)[^&\s\"']+")


def secrets_in(environ: Mapping[str, str]) -> list[str]:
    """Values of every variable whose name ends in ``_API_KEY``."""
    return [value for name, value in environ.items() if name.upper().endswith("_API_KEY")]


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """``text`` without the given secrets, header values, bearer tokens and key-like words."""
    for secret in sorted(set(secrets), key=len, reverse=True):
        if len(secret) >= SHORTEST_SECRET:
            text = text.replace(secret, REMOVED)
    text = _HEADER.sub(rf"\1{REMOVED}", text)
    text = _BEARER.sub(rf"\1 {REMOVED}", text)
    text = _TOKEN.sub(REMOVED, text)
    return _IN_URL.sub(rf"\1{REMOVED}", text)
