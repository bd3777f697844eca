"""Takes the values of an agent's variables out of what it says, before anything else happens to it.

Before, because whatever is cut or quoted may hold half a value, or one in another spelling.
"""

from __future__ import annotations

import json
import os
import stat
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from mmap import ACCESS_READ, mmap
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final

from matrix.agents.turns import AgentAnswer
from matrix.model.errors import AgentFailed
from matrix.model.records import JSON
from matrix.model.spec.agents import AgentSpec
from matrix.store.blobs.trees import CLOCK_GRAIN_NS
from matrix.telemetry.redaction import REMOVED, Redactor, secrets_in

_SHORTEST_LINE: Final = 8
"""Shorter lines of a value of several lines are ordinary words."""
_FIRST_OWN: Final = (0, 2, 3)
"""The first letter of base64 that a value has for itself, behind 0, 1 or 2 bytes of a group."""


_TILE: Final = 16
"""Letters of a piece of base64 that is looked for by itself: 12 bytes, which no accident makes."""
_LONGEST_TILED: Final = 256
"""Bytes of a value beyond which it is looked for whole only: each piece is a walk over files."""


class Cleaner:
    """Takes secrets out of what an agent says and out of files that it wrote.

    These are the values of ``pass_env``, and of variables that are named like keys: a function of
    Python sees them all.
    """

    def __init__(self, agent: AgentSpec, variables: Mapping[str, str]) -> None:
        passed = [variables[name] for name in agent.pass_env if variables.get(name)]
        values = {*passed, *secrets_in(variables)}
        self._redactor = Redactor({form for value in values for form in _forms(value)})
        self._longest = max(map(len, self._redactor.spelled), default=0)

    def __call__(self, text: str, whole: bool = True) -> str:
        """Text without secrets; of one that was cut, the end goes that may be the half of one."""
        cleaned = self._redactor.values(text)
        return cleaned if whole else cleaned[: len(cleaned) - self._longest]

    def json(self, value: JSON) -> JSON:
        """A JSON value without secrets in any of its strings, whichever way they were spelled.

        Not by recursion, because values may be as deep as parsers go; they are changed in place.
        """
        whole = [value]
        todo: list[dict[Any, JSON] | list[JSON]] = [whole]
        while todo and self._longest:
            inside = todo.pop()
            if isinstance(inside, dict):
                named = {self(key): item for key, item in inside.items()}
                inside.clear()
                inside.update(named)
            places = inside.items() if isinstance(inside, dict) else enumerate(inside)
            for place, item in list(places):
                if isinstance(item, str):
                    inside[place] = self(item)
                elif isinstance(item, dict | list):
                    todo.append(item)
        return whole[0]

    def told(self, told: AgentAnswer) -> AgentAnswer:
        """An answer without secrets."""
        return told._replace(
            text=self(told.text), status=self(told.status), conversation=self(told.conversation)
        )

    def reason(self, text: str) -> str:
        """Why a turn failed, also without what only looks like a secret."""
        return self._redactor.text(text)

    def clean_files(self, folder: Path, since_ns: int) -> None:
        """Take them out of files that have changed, before the folder is kept.

        Args:
            folder: The agent's folder, in which nobody writes any more.
            since_ns: When its turn began, by the clock of the file system, in ns since 1970.

        Raises:
            AgentFailed: One is part of a name or of a link's target, or in a file that cannot be
                written.
        """
        forms = [form.encode(errors="replace") for form in self._redactor.spelled]
        if not forms:
            return
        try:
            for path, found in _entries(folder):
                if self(path.name) != path.name:
                    raise AgentFailed("gave a file a name with the value of a secret variable")
                if stat.S_ISLNK(found.st_mode):
                    target = os.fsencode(path.readlink()).decode(errors="replace")
                    if self(target) != target:
                        raise AgentFailed("made a link to the value of a secret variable")
                if stat.S_ISREG(found.st_mode) and found.st_ctime_ns > since_ns - CLOCK_GRAIN_NS:
                    _clean_file(path, found, forms)
        except OSError as error:
            raise AgentFailed(
                f"left a folder from which secrets cannot be taken out: {error.strerror}"
            ) from None


def _entries(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Everything in a folder; links are not followed."""
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(place, name)
            yield path, path.lstat()


def _clean_file(path: Path, found: os.stat_result, forms: Sequence[bytes]) -> None:
    """Write a file anew without secrets, if it has any; its mode and its time stay.

    A binary one keeps its length, so that a database with a secret in a row is still one.
    """
    if not found.st_size:
        return
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with os.fdopen(handle, "rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        if all(content.find(form) < 0 for form in forms):
            return
        cleaned = bytes(content)
    binary = b"\0" in cleaned  # whose format counts on lengths and places
    for form in forms:
        put = REMOVED.encode().ljust(len(form), b"*")[: len(form)] if binary else REMOVED.encode()
        cleaned = cleaned.replace(form, put)
    with NamedTemporaryFile(dir=path.parent, delete=False) as anew:
        anew.write(cleaned)
    written = Path(anew.name)
    written.chmod(stat.S_IMODE(found.st_mode))
    os.utime(written, ns=(found.st_atime_ns, found.st_mtime_ns))
    written.replace(path)


def _forms(value: str) -> Iterator[str]:
    """A value, and each of its lines, as they are and as JSON and Python write them."""
    lines = [line.strip() for line in value.splitlines()]
    for part in (value, *(line for line in lines if len(line) >= _SHORTEST_LINE)):
        written = [part, *_in_quotes(part)]
        yield from written
        for form in written[1:]:  # JSON that quotes JSON
            yield from _in_quotes(form)
        if len(part) >= _SHORTEST_LINE:
            raw = part.encode(errors="replace")
            yield from (raw.hex(), raw.hex().upper())
            yield from _in_base64(raw)


def _in_quotes(text: str) -> Iterator[str]:
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    yield repr(text)[1:-1]


def _in_base64(value: bytes) -> Iterator[str]:
    """What base64 makes of a value that stands anywhere in a text, as in a header of HTTP.

    Of each of the three ways in which it may lie across the groups of three bytes, the letters that
    its neighbours have no part in; and those it has at the end of a text, where it has none. What
    breaks it into lines, as ``base64`` does after 76 letters, breaks one piece of it.
    """
    for before in range(3):
        padded = bytes(before) + value
        first, end = _FIRST_OWN[before], len(padded) * 8 // 6
        for encode in (b64encode, urlsafe_b64encode):
            letters = encode(padded).decode()
            if end - first >= _SHORTEST_LINE:
                yield letters[first:]
                yield letters[first:].rstrip("=")
                yield letters[first:end]
                if len(value) <= _LONGEST_TILED:
                    yield from (letters[at : at + _TILE] for at in range(first, end - _TILE, _TILE))
