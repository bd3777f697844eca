"""How results ended, in strangers' words: what failed, what did not, and what is not there yet."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final, Literal

from matrix.store.foreign.results import shown
from matrix.store.foreign.tabular.names import (
    BROKE,
    ENDED_WELL,
    EXIT,
    FELL_SHORT,
    FLAG,
    MISSING,
    NO,
    NO_RESULT,
    WENT_WELL,
    YES,
    plain,
)

Meaning = Literal["broke", "fell short", "fine", "no result", "unknown"]
"""``fell short`` is a failure as well, but of a result that has a score it may be just that."""

_HTTP: Final = re.compile(r"(?:http )?(?:status )?([1-5]\d\d)(?: .*)?")
_BEGINNINGS: Final = ("rate limit", "ratelimit", "content filter", "invalid ", "timed out")
_ENDINGS: Final = ("error", "errors", "exception")
_NOT: Final = frozenset({"no", "not", "without", "0", "zero"})
_FIRST_HTTP_ERROR: Final = 400
_FIRST_HTTP_SUCCESS: Final = 200
_MOST_TOLD: Final = 10
"""Unknown words that are told one by one."""


def meaning_of(text: str, header: str) -> Meaning:
    """What a word says of how a result ended; no word at all says nothing bad."""
    whole = text.strip().casefold().removesuffix(".0")
    low = " ".join(re.findall(r"[^\W_]+", whole)) or whole
    if whole in MISSING:
        return "fine"
    for found in (_of_column(low, plain(header)), _of_number(low), _of_words(low)):
        if found is not None:
            return found
    return "unknown"


def _of_column(low: str, column: str) -> Meaning | None:
    """What yes, no and numbers say in a column of this name."""
    if column in EXIT and low.isdecimal():
        return "fine" if int(low) == 0 else "broke"
    yes, no = low in YES | {"1"}, low in NO | {"0"}
    if column in FLAG and (yes or no):
        return "broke" if yes else "fine"
    if column in WENT_WELL and (yes or no):
        return "fine" if yes else "fell short"
    return None


def _of_number(low: str) -> Meaning | None:
    """What a status of HTTP says."""
    if (found := _HTTP.fullmatch(low)) is None:
        return None
    number = int(found[1])
    if number >= _FIRST_HTTP_ERROR:
        return "broke"
    return "fine" if number >= _FIRST_HTTP_SUCCESS else None


def _of_words(low: str) -> Meaning | None:
    if low in NO_RESULT:
        return "no result"
    if low in ENDED_WELL:
        return "fine"
    if low in BROKE or low.startswith(_BEGINNINGS):
        return "broke"
    words = low.split()
    if words[:1] and words[0] in _NOT:
        return None  # what is denied is for a person to read
    if any(word in BROKE or word.endswith(_ENDINGS) for word in words):
        return "broke"
    return "fell short" if FELL_SHORT & set(words) else None


class Statuses:
    """Words of one column, and how often each is there."""

    def __init__(self, header: str) -> None:
        self._header = header
        self._known: dict[str, Meaning] = {}
        self.counts = Counter[str]()

    def of(self, text: str) -> Meaning:
        """What a word says; it is not counted."""
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = meaning_of(text, self._header)
        return found

    @property
    def tells(self) -> bool:
        """Whether any counted word is known, so that the others say something, too."""
        return any(text and self.of(text) != "unknown" for text in self.counts)

    def notes(self) -> list[str]:
        """Which counted words are not known, in sentences."""
        told = [
            f"{self._header}: {shown(text)} ({count:,} {'row' if count == 1 else 'rows'}) is not "
            "known as a failure or as a success; counted as not failed."
            for text, count in self.counts.most_common()
            if self.of(text) == "unknown"
        ]
        if len(told) > _MOST_TOLD:
            more = f"{self._header}: {len(told) - _MOST_TOLD:,} more words are not known, either."
            return [*told[:_MOST_TOLD], more]
        return told
