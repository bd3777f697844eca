"""The wording of a play-test: texts of ``wording.yaml``, which a story may say otherwise.

A text has places such as ``$name``. Nothing that is put into them is read as a text again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from string import Template
from typing import Any, Final

from matrix.kinds.library import shipped_root
from matrix.kinds.text_files import read_text
from matrix.model.documents.yaml_documents import parse_document
from matrix.model.errors import did_you_mean

MAX_BYTES: Final = 100_000

Words = Mapping[str, str]
"""Texts that a story says otherwise, by name."""

AS_SHIPPED: Words = {}
"""Of a story that has no wording of its own."""


def words_in(scenario: Mapping[str, Any]) -> Words:
    """What a story says otherwise, from what sessions keep of its ``scenario.yaml``."""
    own: Words = scenario.get("words", AS_SHIPPED)
    return own


@lru_cache(maxsize=1)
def standard_texts() -> Mapping[str, str]:
    """The texts as they are shipped."""
    path = shipped_root() / "scenarios" / "playtest" / "wording.yaml"
    value = parse_document(read_text(path, MAX_BYTES), str(path)).value
    assert isinstance(value, dict)
    return {str(key): str(text) for key, text in value.items()}


@lru_cache(maxsize=512)
def _template(text: str) -> Template:
    return Template(text)


def fill(texts: Mapping[str, str], key: str, /, **values: object) -> str:
    """A text with what belongs in its places; the shipped one unless ``texts`` has another."""
    return _template(texts.get(key) or standard_texts()[key]).substitute(values)


def mistake_in(name: str, text: str) -> str:
    """What is wrong with a story's own text; empty if nothing is."""
    known = standard_texts()
    if name not in known:
        return f"unknown text; allowed: {', '.join(known)}{did_you_mean(name, list(known))}"
    own, there = Template(text), _template(known[name])
    if not own.is_valid():
        return "has a $ that begins no name (as in $name or ${name}); write $$ for a dollar"
    wanted, has = set(there.get_identifiers()), set(own.get_identifiers())
    if not text.strip():
        return "is empty"
    told = []
    if lacking := sorted(wanted - has):
        told.append(f"lacks {_named(lacking)}, which the shipped text has")
    if strange := sorted(has - wanted):
        told.append(f"found {_named(strange)}; allowed: {_named(sorted(wanted)) or 'no $ at all'}")
    return "; ".join(told)


def _named(places: Iterable[str]) -> str:
    return ", ".join(f"${one}" for one in places)
