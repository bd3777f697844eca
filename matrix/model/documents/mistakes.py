"""Gathering the mistakes of several parts of the input, so that they are all reported at once.

This is the one way to do it: each part raises :class:`~matrix.model.errors.BadInput` for itself,
or is told what to note, and :class:`Mistakes` raises everything together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from matrix.model.documents.yaml_documents import Document, PathKey
from matrix.model.errors import BadInput, Mistake

S = TypeVar("S")
T = TypeVar("T")


class Mistakes:
    """What was found wrong so far, with one document or with anything."""

    def __init__(self, document: Document | None = None) -> None:
        """``document`` is what :meth:`at` and :meth:`fault` find places in."""
        self.document = document or Document("", None, {}, {})
        self.found: list[Mistake] = []

    def at(self, path: PathKey, message: str) -> Mistake:
        """A mistake at a place of the document; it is not collected."""
        return self.document.mistake(path, message)

    def fault(self, path: PathKey, message: str) -> None:
        """Collect a mistake at a place of the document."""
        self.add([self.at(path, message)])

    def say(self, source: str, message: str, path: str = "") -> None:
        """Collect a mistake that has no line: in a flag, or about a whole file."""
        self.add([Mistake(source, None, path, message)])

    def add(self, mistakes: Iterable[Mistake]) -> None:
        """Collect mistakes, each once."""
        self.found += [mistake for mistake in mistakes if mistake not in self.found]

    def collect(
        self, part: Callable[[], T], placed: Callable[[Mistake], Mistake] | None = None
    ) -> T | None:
        """What ``part`` gives; ``None`` where it finds mistakes, which are collected.

        ``placed`` says where the user wrote what a part knows by another name.
        """
        try:
            return part()
        except BadInput as error:
            self.add(error.mistakes if placed is None else map(placed, error.mistakes))
            return None

    def stop_if_any(self) -> None:
        """Raise ``BadInput`` with everything collected, if there is anything."""
        if self.found:
            raise BadInput(self.found)


def together(first: Callable[[], T], second: Callable[[], S]) -> tuple[T, S]:
    """What two parts of the input give.

    Raises:
        BadInput: The mistakes of both.
    """
    mistakes = Mistakes()
    one = mistakes.collect(lambda: (first(),))
    two = mistakes.collect(lambda: (second(),))
    if one is None or two is None:
        raise BadInput(mistakes.found)
    return one[0], two[0]
