"""What strangers' texts are rid of before anything is made of them: keys, and halves of letters.

Before, because a text that is cut may end in half a key.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from matrix.telemetry.redaction import Redactor

_AT_ONCE: Final = 65_536
"""Characters that are looked through together: most texts are short, and have nothing in them."""


class Cleaning:
    """Takes known secrets out of texts, and what no UTF-8 has (half an emoji, as JSON may)."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._redactor = Redactor(secrets)

    def text(self, text: str) -> str:
        """One text."""
        return self._redactor.values(_whole_letters(text))

    def inside(self, value: list[Any] | dict[str, Any]) -> None:
        """All texts and names of fields inside a value, which is changed in place.

        Not by recursion, because values may be as deep as parsers go.
        """
        todo, sound = [value], set[str]()
        waiting: list[tuple[Any, Any, str]] = []
        length = 0
        while todo:
            of = todo.pop()
            if isinstance(of, dict):
                self._rename(of, sound)
            for place, item in of.items() if isinstance(of, dict) else enumerate(of):
                if isinstance(item, str):
                    waiting.append((of, place, item))
                    length += len(item) + 1
                elif isinstance(item, dict | list):
                    todo.append(item)
            if length > _AT_ONCE:
                self._clean(waiting)
                waiting, length = [], 0
        self._clean(waiting)

    def _clean(self, waiting: list[tuple[Any, Any, str]]) -> None:
        if not self._may_be_in("\0".join([text for _, _, text in waiting])):
            return
        for of, place, text in waiting:
            of[place] = self.text(text)

    def _rename(self, of: dict[str, Any], sound: set[str]) -> None:
        names = of.keys() - sound
        if any(self.text(name) != name for name in names):
            renamed = {self.text(name): item for name, item in of.items()}
            of.clear()
            of.update(renamed)
        else:
            sound |= names

    def _may_be_in(self, text: str) -> bool:
        try:
            return self._redactor.finder.may_be_in(text.encode())
        except UnicodeEncodeError:
            return True


def _whole_letters(text: str) -> str:
    """Text without halves of letters: JSON may have them, and no file here can."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
