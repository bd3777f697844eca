"""Takes the values of an agent's variables out of what it says, before anything else happens to it.

Before, because whatever is cut or quoted may hold half a value, or one in another spelling.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from mmap import ACCESS_READ, mmap
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final

from matrix.agents.turns import AgentAnswer
from matrix.model.errors import AgentFailed
from matrix.model.records import JSON
from matrix.model.spec.agents import AgentSpec
from matrix.store.blobs.trees import CLOCK_GRAIN_NS
from matrix.telemetry.redaction import Redactor, secrets_in
from matrix.telemetry.spellings import without

_WINDOW: Final = 16 * 2**20
"""Bytes of a file that are looked through at once."""
_MOST_BREAKS: Final = 8
"""Letters that a broken value takes in a file, for each of its own: lines may be indented."""


class Cleaner:
    """Takes secrets out of what an agent says and out of files that it wrote.

    These are the values of ``pass_env``, and of variables that are named like keys: a function of
    Python sees them all.
    """

    def __init__(self, agent: AgentSpec, variables: Mapping[str, str]) -> None:
        passed = [variables[name] for name in agent.pass_env if variables.get(name)]
        values = {*passed, *secrets_in(variables)}
        self._redactor = Redactor(values)
        self._longest, self._finder = self._redactor.longest, self._redactor.finder

    def __call__(self, text: str, whole: bool = True) -> str:
        """Text without secrets; of one that was cut, the end goes that may be the half of one."""
        text = self._redactor.values(text)
        return text if whole else text[: len(text) - 2 * self._longest]

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
        return self._redactor.text(self(text))

    def clean_files(self, folder: Path, since_ns: int) -> None:
        """Take them out of files that have changed, before the folder is kept.

        Args:
            folder: The agent's folder, in which nobody writes any more.
            since_ns: When its turn began, by the clock of the file system, in ns since 1970.

        Raises:
            AgentFailed: One is part of a name or of a link's target, or in a file that cannot be
                written.
        """
        if not self._longest:
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
                    self._clean_file(path, found)
        except OSError as error:
            raise AgentFailed(
                f"left a folder from which secrets cannot be taken out: {error.strerror}"
            ) from None

    def _clean_file(self, path: Path, found: os.stat_result) -> None:
        """Write a file anew without secrets, if it has any; its mode and its time stay.

        A binary one keeps its length, so that a database with a secret in a row is still one.
        """
        if not found.st_size:
            return
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        with os.fdopen(handle, "rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
            if not self._may_be_in(content):
                return
            whole = bytes(content)
        binary = b"\0" in whole  # whose format counts on lengths and places
        cleaned = without(self._finder, whole, binary=binary)
        if cleaned == whole:
            return
        with NamedTemporaryFile(dir=path.parent, delete=False) as anew:
            anew.write(cleaned)
        written = Path(anew.name)
        written.chmod(stat.S_IMODE(found.st_mode))
        os.utime(written, ns=(found.st_atime_ns, found.st_mtime_ns))
        written.replace(path)

    def _may_be_in(self, content: mmap) -> bool:
        beyond = _MOST_BREAKS * self._longest
        return any(
            self._finder.may_be_in(content[at : at + _WINDOW + beyond])
            for at in range(0, len(content), _WINDOW)
        )


def _entries(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Everything in a folder; links are not followed."""
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(place, name)
            yield path, path.lstat()
