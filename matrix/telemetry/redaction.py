"""Keeps secrets out of whatever is written or sent: keys by value, and whatever looks like one.

One function for error messages, log lines and spans (:meth:`Redactor.text`), and a milder one for
what models say (:meth:`Redactor.values`), which takes out known keys only: a story may well speak
of a secret token.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import unquote

from matrix.telemetry.spellings import REMOVED, SHORTEST_SECRET, Finder, spellings, without

AS_IS: Final = "surrogatepass"
"""What is no text in UTF-8 is looked through, and kept, as it is."""
SHORTEST_GUESS: Final = 8
"""The same for variables that are only named like a secret, such as ``SOME_TOKEN``."""

LONGEST_TEXT: Final = 16_384
"""Characters of a text that are looked through for what looks like a secret; the rest is cut."""

_NAMED: Final = re.compile(
    r"(?i)(?:^|_)(?:api_?keys?|keys?|tokens?|secrets?|passwords?|passwd|passphrase|credentials?)"
    r"(?:_[a-z0-9]{1,2})?$"
)
_HEADERS: Final = re.compile(r"(?i)(?:^|_)headers$")
_PLACE: Final = re.compile(r"^(?:~?/|\./|[A-Za-z]:\\|\w+://)")

_HEADER: Final = re.compile(
    r"""(?ix) (["']? \b (?: (?:proxy-)? authorization
        | [\w-]{0,64} api [-_ ]? key (?: [ ] provided )?
        | [\w-]{0,64} (?: secret | session | access )[-_] (?: token | key ) | (?:set-)? cookie )
        ["']? \s* [:=] \s*)
        (?: (["']).*?\2 | (?: (?: bearer | basic | token ) \s+ )? [^\s"',;}\])]+ )
    """
)
_BEARER: Final = re.compile(r"(?i)\b(bearer|basic)\s+(?!\[)[\w.~+/=*-]{6,}")
_TOKEN: Final = re.compile(
    r"""(?x) \b (?: (?: sk | pk | rk | xai | gsk | hf | r8 | nvapi | fw | pplx | tgp | csk )
        [-_] [\w*.-]{5,} | AIza [\w*-]{10,} | (?: AKIA | ASIA ) [A-Z0-9]{12,}
        | (?<! [\w-] ) eyJ [\w-]{8,} (?: \. [\w-]+ )+ )
    """
)
_IN_URL: Final = re.compile(r"(?i)([?&](?:key|api[-_]?key|token|access_token|sig)=)[^&\s\"']+")
_USER: Final = re.compile(r"((?<!\w)\w{1,32}://)[^/\s:@\"']*:[^/\s@\"']+@")


def is_named_like_a_key(name: str) -> bool:
    """Whether a variable's name says that it holds a key, token, secret or password."""
    return _NAMED.search(name) is not None


def secrets_in(environ: Mapping[str, str], names: Iterable[str] = ()) -> frozenset[str]:
    """Values of variables that are named like a key, token, secret or password.

    Args:
        environ: Variables.
        names: Further variables that hold keys, whatever they are called.
    """
    found = {environ.get(name, "") for name in names}
    for name, value in environ.items():
        if name.upper().endswith("_API_KEY"):
            found.add(value)
        elif is_named_like_a_key(name):
            found.add("" if len(value) < SHORTEST_GUESS or _PLACE.match(value) else value)
        elif _HEADERS.search(name):  # name=value,name=value, as OpenTelemetry has it
            found.update(_header_values(value))
    return frozenset(value for value in found if len(value) >= SHORTEST_SECRET)


class Redactor:
    """Takes a fixed set of secrets, and what looks like one, out of text."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """``secrets`` shorter than :data:`SHORTEST_SECRET` are left alone."""
        spelled = {
            form for secret in secrets for form in spellings(secret) if len(form) >= SHORTEST_SECRET
        }
        self.longest = max(map(len, spelled), default=0)
        """Letters of the longest form of a secret that is looked for."""
        self.finder = Finder(
            [form.encode(errors=AS_IS) for form in sorted(spelled, key=len, reverse=True)]
        )

    def values(self, text: str) -> str:
        """``text`` without the known secrets, however they are spelled; all else stays as it is."""
        content = text.encode(errors=AS_IS)
        if not self.finder.may_be_in(content):
            return text
        return without(self.finder, content).decode(errors=AS_IS)

    def text(self, text: str) -> str:
        """``text`` without known secrets, header values, bearer tokens and key-like words.

        What is longer than :data:`LONGEST_TEXT` is cut: it may be an answer of many megabytes that
        an error quotes, and nothing that is written is as long.
        """
        text = _USER.sub(rf"\1{REMOVED}@", _cut(self.values(text)))
        text = _HEADER.sub(rf"\1{REMOVED}", text)
        text = _BEARER.sub(rf"\1 {REMOVED}", text)
        text = _TOKEN.sub(REMOVED, text)
        return _IN_URL.sub(rf"\1{REMOVED}", text)

    def value(self, value: Any) -> Any:
        """The same for text anywhere inside a value of mappings and sequences."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key: self.value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        return value


NOTHING_KNOWN: Final = Redactor()
"""Takes out only what looks like a secret."""


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """:meth:`Redactor.text`, once."""
    return Redactor(secrets).text(text)


def _cut(text: str) -> str:
    """The beginning of a long text, up to a space: half a secret would not look like one."""
    if len(text) <= LONGEST_TEXT:
        return text
    kept = text[:LONGEST_TEXT]
    return kept.rpartition(" ")[0] or kept


def _header_values(text: str) -> Iterable[str]:
    for pair in text.split(","):
        value = unquote(pair.partition("=")[2]).strip()
        yield value
        yield value.rpartition(" ")[2]  # without "Bearer"
