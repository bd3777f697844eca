"""Guide deviation, as far as wording shows it: people, places and things that are not in the guide.

Somebody with a full name, or a title and a name, whom a sentence brings in (``called``, steps in,
says, claims ...) counts at once, unless they only pass by. Any other name counts when it takes
over: when the narrator keeps coming back to it. Neither counts if any of its words is in the
guide, in the group, or in anything a player has said. What an invention is called by no name
passes unseen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from matrix.kinds.playtest.detect.reading import bare, word_set, words_of

KEPT_STRANGERS: Final = 8
OFTEN: Final = 3
IN_ONE: Final = 4
"""Times that a name is told, in several outputs or in one, when it has taken over."""

_TITLE: Final = (
    r"(?:Dr|Doctor|Prof|Professor|Captain|Father|Mother|Brother|Sister|Sir|Lady|Lord"
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
    rf"(?P<called>{_NAME} {_NAME})\b"
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


class Stranger(NamedTuple):
    """Somebody or something that is not in the guide, and why it counts."""

    name: str
    detail: str


_PASSES: Final = re.compile(
    r"\b(?:is gone|are gone|gone before|passes|passing|hurries (?:past|by|on|off)|walks on"
    r"|goes on (?:his"
    r"|her)|drives (?:off|away|on)|waves? (?:and|as)|moves off|disappears|nods? (?:and|as)"
    r"|wishes you"
    r"|hums to|goes back to|says nothing more|in passing|goes by|touches his (?:hat|cap))\b"
)
_PROPER: Final = re.compile(
    r"(?<![.!?\u2026:\"\u201c*_(>|-] )(?<![\"\u201c*_(>|-])(?<=[a-z,;] )[A-Z][a-z]{2,}\b"
)
_PLAIN_CAPITAL: Final = word_set(
    "sir madam ma'am lord lady god heaven hell christ jesus english french german latin spanish "
    "italian greek turkish russian chinese arabic dutch irish scottish welsh hungarian american "
    "european roman christmas easter sunday devil fate death bible captain doctor professor father "
    "mother inspector majesty highness honour excellency grace please hello welcome yes your its "
    "i'm i've i'll you're we're they're it's that's there's don't can't won't let's"
)


def find_strangers(
    text: str, known: frozenset[str], said: Iterable[str], narrated: Iterable[str] = ()
) -> list[Stranger]:
    """Names in an output of which nobody has heard.

    Args:
        text: The output.
        known: Words of guide, title, setting and group, in lower case.
        said: What players have said and who they are, read only if there is a candidate.
        narrated: The narrator's earlier outputs, read only if there is a candidate.
    """
    unheard = {word.lower() for word in _CAPITALISED.findall(text)} - known - _NO_NAME
    unheard -= _PLAIN_CAPITAL
    if not unheard:
        return []  # the usual case: no capitalised word that the guide does not have
    heard = {bare(word) for line in said for word in words_of(line)}
    unheard -= heard
    found = [
        Stranger(name, "a named person who is not in the guide")
        for name in candidates(text)
        if not any(part in known or part in heard for part in map(bare, words_of(name)))
        and not _passes_by(name, text)
    ]
    named = {word.lower() for one in found for word in one.name.split()}
    return found + _recurring(text, unheard - named, narrated)


def _passes_by(name: str, text: str) -> bool:
    at = text.find(name)
    return _PASSES.search(text[max(0, at - 120) : at + 200]) is not None


def _recurring(text: str, unheard: Iterable[str], narrated: Iterable[str]) -> list[Stranger]:
    """Names that the narrator keeps coming back to."""
    wanted = {word for word in _PROPER.findall(text) if word.lower() in set(unheard)}
    if not wanted:
        return []
    before = list(narrated)
    found: list[Stranger] = []
    for word in sorted(wanted, key=text.index):
        form = re.compile(rf"\b{word}\b")
        here = len(form.findall(text))
        earlier = [len(form.findall(line)) for line in before if word in line]
        several = sum(earlier) + here >= OFTEN and bool(earlier)
        if several or here >= IN_ONE:
            times = sum(earlier) + here
            found.append(Stranger(_whole(word, text), f"told {times} times, and not in the guide"))
    return found[:1]


def _whole(word: str, text: str) -> str:
    """A name with the capitalised words around it."""
    match = re.search(rf"(?:\b[A-Z][a-z]+ (?:of )?){{0,2}}\b{word}\b(?: [A-Z][a-z]+)?", text)
    return match[0] if match else word
