"""Objects of JSON that have a field twice: readers of JSON take the last without a word."""

from __future__ import annotations

from collections import Counter
from typing import Any


class FieldTwice(ValueError):
    """An object has this field twice. For whoever reads the text, who says where it is from."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the field {name!r} is there twice")
        self.name = name


def each_once(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of its fields, for ``object_pairs_hook`` of :func:`json.loads`.

    Raises:
        FieldTwice: One is there twice.
    """
    found = dict(fields)
    if len(found) < len(fields):
        counts = Counter(name for name, _ in fields)
        raise FieldTwice(next(name for name, times in counts.items() if times > 1))
    return found
