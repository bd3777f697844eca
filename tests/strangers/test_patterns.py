"""Every pattern of the project takes time in proportion to its text: one answer stalls nothing."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import matrix

SHORT, LONG = 300, 3_000
MOST = 30.0
"""Ratio of times at ten times the length: 10 if linear, 100 if quadratic."""
WORTH_IT_S = 0.002
"""What takes less is within the noise of a clock."""

PARTS = [
    "[ASIDE", " ", "[to ", "Mr ", '"', "'", "sk-", "# ", "#", "*", "**", "a", "a ", "A", "A ",
    "Aa ", "0", "1. ", "- ", "|", "| ", "(", "[", "](", "[a](", "`", "```", "<", "<<<", "\n", "\t",
    ":", ": ", ".", "...", "://", "a:", "key=", "_", "-", "\\", "{", "}", "$", "VERDICT:",
    "NOT MET ", "VERDICT: PASS ", "1. a: ", "\u201c", "\u2026", "\u2014", "\r\n", "&", "?", "=",
    "@", "a@", "a.b", "Mr. ", "a-", "a_", "/", "../", "a/", "\n ", "a/a ", "<!--", "~~a",
]  # fmt: skip
HEADS = [
    "[ASIDE", "[to ", "Mr ", '"', "'", "sk-", "#", "## x", "*", "**", "VERDICT:", "VERDICT",
    "STATUS: a", "1.", "- ", "|", "(", "[", "[a](", "`", "```", "<", "http://", "key=", "Bearer ",
    "authorization:", "a", "A", "0", "\u201c", "a/",
]  # fmt: skip
REPEATED = [" ", "\t", "\n", "a", "A", " a", "-", "_", "0", "*", ".", "a ", "A ", "\n ", "|"]
USES = ("sub", "search", "match", "fullmatch", "split", "findall", "finditer")
NOT_OURS = ("matrix.providers.litellm_adapter", "matrix.providers.local", "matrix.cli")
"""Take seconds to import, or read what their user types."""


@cache
def patterns() -> dict[str, re.Pattern[str]]:
    """Where it is -> every pattern that a module has, also inside its tables."""
    found: dict[str, re.Pattern[str]] = {}
    for module in pkgutil.walk_packages(matrix.__path__, "matrix."):
        if not module.name.startswith(NOT_OURS):
            loaded = importlib.import_module(module.name)
            for name, value in list(vars(loaded).items()):
                found.update(_inside(f"{module.name}.{name}", value))
            found.update(_written_out(module.name, loaded.__file__))
    same = {(one.pattern, one.flags): (name, one) for name, one in reversed(found.items())}
    return dict(same.values())


def _written_out(name: str, file: str | None) -> Iterator[tuple[str, re.Pattern[str]]]:
    """Patterns that stand where they are used: ``re.sub(r"...", ...)``."""
    tree = ast.parse(Path(file or "").read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="re"), attr=attr),
                args=[ast.Constant(value=str(pattern)), *_],
            ) if attr in USES:
                begins = r"\A" if attr.endswith("match") else ""
                yield f"{name}:{node.lineno}", re.compile(f"{begins}(?:{pattern})")


def _inside(name: str, value: Any) -> Iterator[tuple[str, re.Pattern[str]]]:
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield name, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _inside(f"{name}[{key}]", item)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _inside(f"{name}[{index}]", item)


def takes(pattern: re.Pattern[str], text: str) -> float:
    """Seconds of this thread that finding all of it takes, at best."""
    times = []
    for _ in range(3):
        began = time.thread_time()
        for _ in pattern.finditer(text):
            pass
        times.append(time.thread_time() - began)
        if times[-1] < WORTH_IT_S:
            break
    return min(times)


def grows(pattern: re.Pattern[str], head: str, part: str) -> float:
    """By what factor it takes longer for a text that is ten times as long."""
    worst = 0.0
    for tail in ("", "!x"):
        long = takes(pattern, head + (part * LONG)[:LONG] + tail)
        if long > WORTH_IT_S:
            short = takes(pattern, head + (part * SHORT)[:SHORT] + tail)
            worst = max(worst, long / max(short, 1e-6))
    return worst


def always_grows(pattern: re.Pattern[str], head: str, part: str) -> float:
    """The same, however busy the machine is: a growth beyond linear is there every time."""
    ratio = grows(pattern, head, part)
    while ratio > MOST and (again := grows(pattern, head, part)) < ratio:
        ratio = again
    return ratio


def assert_linear(combinations: list[tuple[str, str]]) -> None:
    found = {
        f"{name}: {head!r} and then {part!r}, x{ratio:.0f}"
        for name, pattern in patterns().items()
        for head, part in combinations
        if (ratio := always_grows(pattern, head, part)) > MOST
    }
    assert not found, "\n".join(sorted(found))


@pytest.mark.slow
def test_the_project_has_patterns() -> None:
    assert len(patterns()) > 150


@pytest.mark.long
@pytest.mark.slow
def test_no_pattern_takes_more_than_its_text_is_long() -> None:
    assert_linear([("", part) for part in PARTS])


@pytest.mark.slow
@pytest.mark.long
def test_nor_behind_what_it_begins_with() -> None:
    assert_linear([(head, part) for head in HEADS for part in REPEATED])


@pytest.mark.parametrize("quadratic", [r"\s+x", r"a*b", r"(?:a|b)+c"])
def test_one_that_does_is_found(quadratic: str) -> None:
    parts = [" ", "a"]
    assert max(always_grows(re.compile(quadratic), "", part) for part in parts) > MOST
