"""Guide deviation, as far as wording shows it: people who are nowhere in the guide.

A candidate is two or three capitalised words that a sentence treats as a person (a title before
them, ``called``, or somebody who steps in, says, claims ...). It counts only if none of its words
is in the guide, in the group, or in anything a player has said. Places and things that a narrator
invents pass unseen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from matrix.kinds.playtest.detect.reading import bare, word_set, words_of

KEPT_STRANGERS: Final = 8

_TITLE: Final = (
    r"(?:Mr|Mrs|Ms|Miss|Dr|Doctor|Prof|Professor|Captain|Father|Mother|Brother|Sister|Sir|Lady|Lord"
    r"|Dame|Aunt|Uncle|Inspector|Sergeant|Constable|Officer|Colonel|Major|Reverend|Judge|Mayor"
    r"|Count|Countess|Duke|Baron|Baroness|Madame|Old)\.?"
)
_NAME: Final = r"[A-Z][a-z]{2,}(?:-[A-Z][a-z]+)?"
_DOES: Final = (
    r"(?:says?|said|asks?|asked|steps?|stepped|nods?|nodded|smiles?|smiled|arrives?|arrived|enters?"
    r"|entered|stands?|stood|claims?|claimed|whispers?|whispered|laughs?|laughed|waits?|waited"
    r"|walks?|walked|looks?|looked|appears?|appeared|introduces?|sits?|sat|grins?|shouts?|shouted"
    r"|turns?|turned|leans?|leaned|holds?|held|watches|watched|tells?|told|shrugs?|offers?)"
)
_PERSON: Final = re.compile(
    rf"\b(?:{_TITLE} ){{1,4}}(?P<titled>{_NAME}(?: {_NAME})?)\b"
    rf"|\b(?:called|named|known as|by the name of) (?:{_TITLE} ){{0,4}}"
    rf"(?P<called>{_NAME}(?: {_NAME})?)\b"
    rf"|\b(?P<acting>{_NAME} {_NAME})(?:,? (?:who )?{_DOES}\b|, (?:who|whom|whose)\b)"
    rf"|\b(?:stands|sits|waits|arrives|comes|appears|when|meet|is) (?:{_TITLE} ){{0,4}}"
    rf"(?P<placed>{_NAME} {_NAME})\b"
)
_CAPITALISED: Final = re.compile(r"\b[A-Z][a-z]{2,}")
_NO_NAME: Final = word_set(
    "the this that these those there then they you your yours what when where which who whose why "
    "how and but for nor not yes one two three four five six seven eight nine ten each every some "
    "any all both none nobody somebody everybody nothing something everything here now next after "
    "before behind beside above below under over with without from into onto upon only even just "
    "still perhaps maybe never always again another other his her hers its their our ours she him "
    "god lord christmas easter monday tuesday wednesday thursday friday saturday sunday january "
    "february march april may june july august september october november december north south "
    "east west english french german latin spanish italian first second third last great little "
    "street road lane house hall inn church chapel tower bridge room gate square bay river lake "
    "island hill mountain forest station hotel school book letter night day story guide end"
)


@lru_cache(maxsize=64)
def known_words(guide: str, about: str) -> frozenset[str]:
    """Every word of a guide and of title and setting, possessives without their ending."""
    return frozenset(bare(word) for text in (guide, about) for word in words_of(text))


def candidates(text: str) -> list[str]:
    """People whom an output seems to name, without titles, in order."""
    found: list[str] = []
    for match in _PERSON.finditer(text):
        name = next(group for group in match.groupdict().values() if group)
        if not any(part.lower() in _NO_NAME for part in name.split()) and name not in found:
            found.append(name)
    return found


def find_strangers(text: str, known: frozenset[str], said: Iterable[str]) -> list[str]:
    """Named people in an output of whom nobody has heard.

    Args:
        text: The output.
        known: Words of guide, title, setting and group, in lower case.
        said: What players have said and who they are, read only if there is a candidate.
    """
    unheard = {word.lower() for word in _CAPITALISED.findall(text)} - known - _NO_NAME
    if not unheard:
        return []  # the usual case: no capitalised word that the guide does not have
    unknown = [
        name
        for name in candidates(text)
        if not any(part in known for part in map(bare, words_of(name)))
    ]
    if not unknown:
        return []
    heard = {bare(word) for line in said for word in words_of(line)}
    return [name for name in unknown if not any(part in heard for part in words_of(name))]
