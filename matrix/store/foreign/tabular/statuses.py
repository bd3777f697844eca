"""How results ended, in strangers' words: what failed, what did not, and what is not there yet."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Collection
from typing import Final, Literal

from matrix.model.lines import in_line
from matrix.store.foreign.results import LONGEST_NAME, shown
from matrix.store.foreign.tabular.names import (
    BROKE,
    BROKE_FROM,
    BROKE_TO,
    DENIED,
    ENDED_WELL,
    EXIT,
    FELL_SHORT,
    FLAG,
    NO,
    NO_RESULT,
    NOTHING_WRONG,
    WENT_WELL,
    YES,
    plain,
    spoken,
)

Meaning = Literal["broke", "fell short", "fine", "no result", "unknown"]
"""``fell short`` is a failure as well, but of a result that has a score it may be just that."""

_HTTP: Final = re.compile(r"(?:http )?(?:status )?([1-5]\d\d)(?: .*)?")
_FIRST_HTTP_ERROR: Final = 400
_FIRST_HTTP_SUCCESS: Final = 200
_MOST_TOLD: Final = 10
"""Unknown words that are told one by one."""


def meaning_of(text: str, header: str, failed: Collection[str] = ()) -> Meaning:
    """What a word says of how a result ended; no word at all says nothing bad.

    Args:
        text: As a file has it.
        header: What its column is called.
        failed: Words that the user calls failures, as :func:`spoken` writes them.
    """
    low = spoken(text)
    if low in failed:
        return "broke"
    if text.strip().casefold() in NOTHING_WRONG:
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
    if low in BROKE or low.startswith(BROKE_FROM):
        return "broke"
    if low in FELL_SHORT:
        return "fell short"
    words = low.split()
    if words[:1] and words[0] in DENIED:
        return None  # what is denied is for a person to read
    if any(word in BROKE or word.endswith(BROKE_TO) for word in words):
        return "broke"
    return "fell short" if FELL_SHORT & set(words) else None


class Statuses:
    """Words of one column, and how often each is there.

    Args:
        header: What the column is called.
        failed: Words that the user calls failures.
    """

    def __init__(self, header: str, failed: Collection[str] = ()) -> None:
        self._header = header
        self._failed = frozenset(map(spoken, failed))
        self._known: dict[str, Meaning] = {}
        self.counts, self.unsure = Counter[str](), Counter[str]()

    def of(self, text: str) -> Meaning:
        """What a word says; it is not counted."""
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = meaning_of(text, self._header, self._failed)
        return found

    @property
    def tells(self) -> bool:
        """Whether any counted word is known, so that the others say something, too.

        None do where a word that is not known is all there is of a result: it may have failed.
        """
        known = any(text and self.of(text) != "unknown" for text in self.counts)
        return known and not self.unsure

    def notes(self) -> list[str]:
        """Which counted words are not known, in sentences."""
        words = [word for word, _ in (self.unsure + self.counts).most_common()]
        words.sort(key=lambda word: word not in self.unsure)
        told = [self._of_unknown(text) for text in words if self.of(text) == "unknown"]
        if len(told) > _MOST_TOLD:
            more = f"{self._header}: {len(told) - _MOST_TOLD:,} more words are not known, either."
            return [*told[:_MOST_TOLD], more]
        return told

    def _of_unknown(self, text: str) -> str:
        count, unsure = self.counts[text], self.unsure[text]
        rows = f"{count:,} {'row' if count == 1 else 'rows'}"
        said = shlex.quote(in_line(text[:LONGEST_NAME]))
        if not unsure:
            counted = f"counted as not failed, unless you say --failed {said}."
        else:
            rows += f", {unsure:,} without a score"
            counted = (
                "those may have failed, so of failures nothing is known here, and verdicts are on "
                f"scores alone: say --failed {said} if it is one."
            )
        told = f"{self._header}: {shown(text)} ({rows}) is not known as a failure or as a success"
        return f"{told}; {counted}"
