"""The dead of a story: who has died, and who acts although they are dead."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from matrix.kinds.playtest.detect.reading import word_set
from matrix.kinds.playtest.detect.story.people import (
    NAME,
    QUOTE,
    SENTENCE,
    UNREAL,
    deeds,
    people_of,
)
from matrix.kinds.playtest.detect.story.prose import is_supposed

_DIES: Final = re.compile(
    r"\b(?:(?:is|are|lies|lay|was|were|found) (?:\w+ )?(?:dead|drowned|killed|murdered|buried)"
    r"|dies|died|drowned|breathes? (?:his|her|their) last|has been (?:killed|murdered|shot)"
    r"|(?:is|was) shot through|falls dead|shot dead|passe[sd] away|perishe[sd]|expire[sd]|drowns"
    r"|(?:is|was|has been) (?:slain|hanged|beheaded|executed|laid to rest|stabbed to death|no more)"
    r"|(?:bleeds|bled|freezes|froze|burns|burned|starves|starved|falls|fell) to (?:his |her )?death"
    r"|(?:drops|dropped|fell) (?:down )?dead|stops breathing|stopped breathing|will never wake)\b"
)
_HE_DIES: Final = re.compile(
    r"\b(?:pull|fish|drag|carry|haul|lay|laid|find|found|bring|brought|fetch|cut|bury"
    r"|buried)(?:s|ed|ies)? (?:him"
    r"|her)\b[^.!?]{0,40}\b(?<!half )(?<!half-)(?<!nearly )(?<!almost )(?:dead|drowned"
    r"|lifeless)\b(?! (?:tired|with|drunk|asleep))|\bburi(?:es|ed) (?:him|her)\b"
    r"|^(?:[Hh]e|[Ss]he)(?:'s| is| was)? (?:stops?|stopped|no longer) breath|^(?:[Hh]e"
    r"|[Ss]he) (?:bleeds|bled"
    r"|froze|freezes|burns|burned|starves?|starved|falls?|fell) to (?:his |her )?death\b"
    r"|^(?:[Hh]is|[Hh]er) heart (?:stops|has stopped|stopped)\b"
    r"|^(?:[Hh]e|[Ss]he)(?:'s| is) dead\b|^(?:[Hh]e|[Ss]he)\b[^.!?]{0,80}\bdies\b|\b(?:and"
    r"|but) s?he is dead\b"
)
_NOT_THERE: Final = re.compile(
    r"\b(?:ghosts?|spirit|memor(?:y|ies)|remember\w*|years? ago|letter|wrote|written|diary|portrait"
    r"|photograph|picture|painting|dreams?|vision|flashback|back then|takes you back|corpse|body"
    r"|telling|voice|mirror|apparition|phantom|last (?:evening|night|summer|spring|winter)|once"
    r"|used to|recording|statue|twin|grave|impostor|impersonat\w*|mistaken|not dead|alive)\b",
    re.IGNORECASE,
)
_ACTS: Final = word_set(
    "says speaks calls cries shouts whispers asks answers replies laughs smiles nods grins comes "
    "walks steps enters runs stands sits lights opens closes gives hands takes pours drinks eats "
    "looks turns points waves leads pulls pushes shrugs sings leans joins suggests offers hums "
    "strolls waits greets returns appears knocks rises wipes shakes climbs holds tells explains"
)


class Returned(NamedTuple):
    """Somebody dead who acts."""

    name: str
    sentence: str


def deaths(text: str, guide: str) -> list[str]:
    """People of the guide who are told to be dead, in the narrator's own words."""
    known = people_of(guide)
    if not known.names or not _DYING.search(text):
        return []
    plain = QUOTE.sub("", text)
    found, last = [], ""
    for sentence in SENTENCE.findall(plain):
        told = sentence.strip()
        named = [
            (match.start(), known.names[word.lower()])
            for match in NAME.finditer(told)
            for word in match[0].split()
            if word.lower() in known.names
        ]
        death = _DIES.search(told)
        start = max(told.rfind(mark, 0, death.start()) for mark in ";:") if death else -1
        if UNREAL.search(told) or _NOT_THERE.search(told.replace("body", "")):
            pass
        elif death and (before := [name for at, name in named if start < at < death.start()]):
            if _HE_DIES.search(told) or len(set(before)) == 1:
                found.append(before[-1])
        elif _HE_DIES.search(told) and last:
            found.append(last)
        last = named[0][1] if named else last
    return [name for name in dict.fromkeys(found) if name not in known.undying]


_DYING: Final = re.compile(
    r"\b(?:dead|die[sd]?|drown(?:ed|s)|killed|murdered|buri(?:ed|es)|last|shot|passe[sd] away"
    r"|perishe[sd]|expire[sd]"
    r"|slain|hanged|beheaded|executed|laid to rest|to (?:his |her )?death|breath|breathing"
    r"|lifeless|heart"
    r"|no more|never wake)\b"
)


def find_returned(text: str, guide: str, dead: Sequence[str]) -> list[Returned]:
    """Dead people who act in an output as if they lived."""
    known = people_of(guide)
    gone = {*dead, *known.dead} - known.undying
    if not gone or _NOT_THERE.search(text):
        return []
    found: dict[str, Returned] = {}
    for deed in deeds(text, known):
        if deed.name in gone and deed.verb in _ACTS and not is_supposed(deed.sentence):
            found.setdefault(deed.name, Returned(deed.name, deed.sentence))
    return list(found.values())
