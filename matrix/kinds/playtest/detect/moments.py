"""Private moments and whether they pay off.

A moment leaves behind the few words that set it apart from everything said at the table so far and
from the names in the guide, which would come up anyway. A later output for all that uses enough of
them is taken as its payoff: rough, but it finds the locket that comes up again and needs no model.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from matrix.kinds.playtest.detect.asides import Aside, heard
from matrix.kinds.playtest.detect.reading import HeardOutput, bare, word_set, words_of
from matrix.kinds.playtest.setup.guide import parse_guide
from matrix.kinds.playtest.setup.state import MomentBook, Secret

KEPT_WORDS: Final = 6
KEPT_OPEN: Final = 4
WORDS_TO_PAY: Final = 2
"""Distinctive words that a later output must use; a moment with fewer cannot be followed."""

SHORTEST: Final = 5
REST: Final = 2
"""Turns after a moment before talk of it counts: the answer to the aside itself is no payoff."""

_COMMON: Final = word_set(
    "about above after again against almost alone already although always another anybody anything "
    "around because before behind being below beneath beside between beyond cannot close could "
    "different doing during either enough every everybody everything exactly first found further "
    "having herself himself inside itself maybe might moment myself never nobody notice nothing "
    "other others ought perhaps quite rather really seems should since somebody someone something "
    "still their themselves there these thing things think those though through together towards "
    "under until where whether which while whose without words would years yourself yourselves "
    "answer answers tonight turns looks speaks tells asks knows wants whisper whispers secret"
)


def distinctive_words(text: str, familiar: Iterable[str]) -> tuple[str, ...]:
    """The longest words of a private text that are not ``familiar``; ties by alphabet."""
    known = {bare(word) for line in familiar for word in words_of(line)}
    own = {word for word in map(bare, words_of(text)) if len(word) >= SHORTEST} - _COMMON - known
    return tuple(sorted(own, key=lambda word: (-len(word), word))[:KEPT_WORDS])


def guide_names(markdown: str) -> list[str]:
    """Names of the guide's places, people and devices."""
    guide = parse_guide(markdown)
    return [item.name for items in (guide.places, guide.people, guide.devices) for item in items]


def open_moment(book: MomentBook, aside: Aside, turn: int, familiar: Iterable[str]) -> MomentBook:
    """Take note of a private moment."""
    words = distinctive_words(heard(aside.text), familiar)
    secret = Secret(turn=turn, target=aside.target, words=words)
    tellable = len(words) >= WORDS_TO_PAY
    kept = (*book.open, secret)[-KEPT_OPEN:] if tellable else book.open
    return book.model_copy(update={"count": book.count + 1, "open": kept})


def find_payoffs(
    book: MomentBook, reading: HeardOutput, turn: int
) -> tuple[MomentBook, tuple[tuple[Secret, tuple[str, ...]], ...]]:
    """Open moments that an output for the whole table takes up, each with the words that did it."""
    paid: list[tuple[Secret, tuple[str, ...]]] = []
    for secret in book.open:
        if turn - secret.turn < REST:
            continue
        met = tuple(word for word in secret.words if word in reading.vocabulary)
        if len(met) >= WORDS_TO_PAY:
            paid.append((secret, met))
    if not paid:
        return book, ()
    settled = {id(secret) for secret, _ in paid}
    still = tuple(secret for secret in book.open if id(secret) not in settled)
    return book.model_copy(update={"paid": book.paid + len(paid), "open": still}), tuple(paid)
