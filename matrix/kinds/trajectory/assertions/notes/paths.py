"""Paths and patterns of a working folder: alternatives, matching, and what can never match."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Any, Final
from unicodedata import normalize

import re2  # type: ignore[import-untyped]

_OR: Final = re.compile(r"(?<!\s)\s+OR\s+|(?:(?<!\s)\s+)?\|\|\s*")
_MAGIC: Final = re.compile(r"[*?\[]|\{[^{}]*,[^{}]*\}")
_BRACES: Final = re.compile(r"\{([^{}/]*,[^{}/]*)\}")
_JOINED: Final = re.compile(r"(?:\.\w+|\*)(?: or |, ?| ?\| ?)\S", re.IGNORECASE)
_SHOWN: Final = 5
_RANGES: Final = re.compile(r"\[[^\[\]]*?(\w-\w)")
_STARS: Final = re.compile(r"\*+")
_QUIETLY: Final = re2.Options()
_QUIETLY.log_errors = False
_LOOSE_OR: Final = re.compile(r"^OR\s|\sOR$")


def alternatives(text: str) -> list[str]:
    """The patterns of ``a/*.md OR b/*.md``.

    >>> alternatives("a/*.md OR b.md")
    ['a/*.md', 'b.md']
    """
    return [part.strip() for part in _OR.split(text.strip()) if part.strip()]


def hits(pattern: str, paths: Collection[str]) -> list[str]:
    """The file of that name, or else those that it matches as a glob."""
    name = plain(pattern)
    if name in paths:
        return [name]
    return matching(name, paths) if is_glob(name) or not name.isascii() else []


def matching(pattern: str, paths: Iterable[str]) -> list[str]:
    """The paths that a glob matches, in order; ``*`` stays within a folder, ``**`` does not.

    An accented letter is one however it is composed, because file systems differ in that.
    """
    requested = _pattern(normalize("NFC", plain(pattern)))
    return sorted(path for path in paths if requested.fullmatch(normalize("NFC", path)))


def plain(path: str) -> str:
    """A path without what changes nothing: ``./a//b`` is ``a/b``."""
    return "/".join(part for part in path.strip().split("/") if part not in ("", "."))


def never_matches(pattern: str) -> str:
    """Why no file of a working folder can match a pattern; empty if one can."""
    if not pattern.strip():
        return "it is empty"
    if pattern.startswith(("/", "~")) or re.match(r"[A-Za-z]:", pattern):
        return "it is absolute, and paths are those inside the working folder"
    if ".." in pattern.split("/"):
        return "it leads out of the working folder"
    if "\\" in pattern:
        return "it has a backslash; folders are separated by /"
    if pattern.rstrip().endswith("/"):
        return "it ends with /, and only files are looked at; say folder/*"
    if any(part.startswith(".") for part in pattern.split("/") if part not in ("", ".")):
        return "it begins with a dot, and hidden files are not looked at"
    if _JOINED.search(_BRACES.sub("", pattern)):
        return "alternatives stand on both sides of OR, in capitals"
    if loose_or(pattern):
        return "nothing stands on one side of OR"
    if pattern.count("[") != pattern.count("]"):
        return "a [ is never closed"
    if pattern.count("{") != pattern.count("}"):
        return "a { is never closed"
    if backwards := next((one for one in _RANGES.findall(pattern) if one[0] > one[2]), ""):
        return f"the range {backwards} has its end before its beginning"
    return ""


def loose_or(alternative: str) -> bool:
    """Whether an OR is left in one alternative, that has nothing on one of its sides."""
    return _LOOSE_OR.search(alternative) is not None


def absent(pattern: str, paths: Collection[str]) -> str:
    """Words for a pattern that none of these files is: what is there in its folder instead."""
    folders = {plain(one).rpartition("/")[0] for one in alternatives(pattern)}
    folders = {one for one in folders if not is_glob(one)}
    there = [path for path in sorted(paths) if path.rpartition("/")[0] in folders]
    instead = f"; there is {listed(there)}" if there else ""
    return f"no file is {' or '.join(alternatives(pattern))}{instead}"


def listed(items: Iterable[str]) -> str:
    """The first of them, and how many more there are."""
    different = list(dict.fromkeys(items))
    more = f" and {len(different) - _SHOWN} more" if len(different) > _SHOWN else ""
    return ", ".join(different[:_SHOWN]) + more


def is_glob(path: str) -> bool:
    """Whether it is a pattern rather than the name of one file."""
    return _MAGIC.search(path) is not None


@lru_cache(maxsize=1024)
def _pattern(glob: str) -> Any:
    """A glob as a pattern of RE2, which takes time linear in a path whatever the glob is."""
    try:
        return re2.compile(f"(?s){_source(glob)}", _QUIETLY)
    except re2.error:
        return re2.compile(re2.escape(glob), _QUIETLY)


def _source(glob: str) -> str:
    """As ``glob.translate(recursive=True)`` of later Pythons, with hidden files as any others."""
    made, at = "", 0
    while at < len(glob):
        char = glob[at]
        if glob.startswith("**/", at) and (at == 0 or glob[at - 1] == "/"):
            made, at = made + "(?:[^/]+/)*", at + 3
        elif stars := _STARS.match(glob, at):
            made, at = made + (".*" if len(stars[0]) > 1 else "[^/]*"), stars.end()
        elif char == "?":
            made, at = made + "[^/]", at + 1
        elif braces := _BRACES.match(glob, at):
            each = map(_source, braces[1].split(","))
            made, at = made + f"(?:{'|'.join(each)})", braces.end()
        elif char == "[" and (end := glob.find("]", at + 2)) > 0:
            made, at = made + _one_of(glob[at + 1 : end]), end + 1
        else:
            made, at = made + re.escape(char), at + 1
    return made


def _one_of(inside: str) -> str:
    """One character of those in brackets, or none of them after ``!``; never a slash."""
    negated = inside.startswith(("!", "^"))
    signs = inside[negated:].replace("\\", "\\\\")
    if negated:
        return f"[^/{signs}]"
    try:
        crosses = re.compile(f"[{signs}]").match("/") is not None
    except re.error:
        return re.escape(f"[{inside}]")
    if not crosses:
        return f"[{signs}]"
    told = (chr(code) for code in range(32, 127) if chr(code) != "/")
    return f"[{''.join(re.escape(one) for one in told if re.match(f'[{signs}]', one))}]"
