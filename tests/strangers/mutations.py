"""Documents with something in them that nobody meant: one strategy for all that strangers send."""

from __future__ import annotations

import copy
from typing import Any, Final

from hypothesis import strategies as st

DEEP: Final = 300


def _deep() -> Any:
    value: Any = 0
    for _ in range(DEEP):
        value = [value]
    return value


VALUES: Final[list[Any]] = [
    None, True, False, 0, -1, 1, 2**31, 2**63 - 1, 2**63, 10**18, 10**30, -(10**18), 0.5, -0.0,
    1e308, -1e308, "", " ", "x", "0", "-1", "1e999", "9" * 40_000, "\0", "a\0b",
    "\x1b[31mred\x1b]0;t\x07",
    "\u202eabc", "\u2028", "two\nlines", "a" * 10_000, "../../../../etc/passwd", "/etc/passwd",
    "file:///etc/passwd", "file://../secret", "/dev/zero", "~/x", "http://127.0.0.1:9/v1", "$HOME",
    "{project}", "{{x}}", "sim/gpt-4o-mini", "openai/gpt-4o", "playtest", "trajectory", "counter",
    "yes", "*", "**/*", "[", "(a+)+$", [], {}, [None], [[]], {"": ""}, {"x": {"y": []}},
    ["x", 1, {}],
    {"command": ["sh", "-c", "touch ran"]}, _deep(),
]  # fmt: skip


def places(document: Any, most: int = 4000) -> list[tuple[Any, ...]]:
    """Every path in a document, and the document itself."""
    found: list[tuple[Any, ...]] = [()]
    for path in found:
        value = at(document, path)
        keys = (
            value
            if isinstance(value, dict)
            else range(len(value))
            if isinstance(value, list)
            else ()
        )
        if len(found) < most:
            found += [(*path, key) for key in keys]
    return found


def at(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


@st.composite
def mutated(draw: st.DrawFn, document: Any) -> Any:
    """The document with one to three places of it made other, taken out, doubled or added to."""
    document = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(places(document)[1:] or [()]))
        if not path:
            return draw(st.sampled_from(VALUES))
        inside, key = at(document, path[:-1]), path[-1]
        how = draw(st.sampled_from(["value", "value", "value", "gone", "key", "other"]))
        if how == "gone":
            del inside[key]
        elif how == "key" and isinstance(inside, dict):
            inside[draw(st.sampled_from(["x", "", "\x1b[1m", "kind", "name", "a\nb"]))] = (
                inside.pop(key)
            )
        elif how == "other":
            inside[key] = copy.deepcopy(at(document, draw(st.sampled_from(places(document)))))
        elif how == "value":
            inside[key] = copy.deepcopy(draw(st.sampled_from(VALUES)))
        else:
            inside.append(inside[key])
    return document


@st.composite
def torn(draw: st.DrawFn, text: bytes) -> bytes:
    """Bytes of a file with a piece cut out, doubled, or put in."""
    start = draw(st.integers(0, len(text)))
    end = min(len(text), start + draw(st.integers(0, 40)))
    put = draw(st.one_of(st.binary(max_size=20), st.just(text[start:end] * 2), st.just(b"")))
    return text[:start] + put + text[end:]
