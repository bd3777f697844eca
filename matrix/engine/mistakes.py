"""Collecting the mistakes of one run spec, so that they are all reported at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from matrix.model.documents import Document, PathKey
from matrix.model.errors import BadInput, Mistake

S = TypeVar("S")
T = TypeVar("T")


class Mistakes:
    """What was found wrong so far with one document."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.found: list[Mistake] = []

    def at(self, path: PathKey, message: str) -> Mistake:
        """A mistake at a place of the document; it is not collected."""
        return self.document.mistake(path, message)

    def fault(self, path: PathKey, message: str) -> None:
        """Collect a mistake at a place of the document."""
        self.found.append(self.at(path, message))

    def add(self, mistakes: Iterable[Mistake]) -> None:
        """Collect mistakes, each once."""
        self.found += [mistake for mistake in mistakes if mistake not in self.found]

    def collect(self, part: Callable[[], T]) -> T | None:
        """What ``part`` gives; ``None`` where it finds mistakes, which are collected."""
        try:
            return part()
        except BadInput as error:
            self.add(error.mistakes)
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
    found: list[Mistake] = []
    try:
        one = first()
    except BadInput as error:
        found += error.mistakes
    try:
        two = second()
    except BadInput as error:
        raise BadInput([*found, *error.mistakes]) from None
    if found:
        raise BadInput(found)
    return one, two
