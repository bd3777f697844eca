"""Guide deviation, as far as wording shows it: people, places and things that are not in the guide.

A narrator may invent: somebody who passes, a ship's name, a cousin of somebody whom the guide has.
An invention deviates when it takes over: when it acts and comes back, fills an output, or is
brought in with a claim on the story (gives orders, leads the group, has been here all along), or
when it stays for a second output in which next to nothing of the guide is told. Somebody new who
tells what the guide has to be told serves the story. No name counts that has a word of the guide or
the group, or that a player said first. What an invention is called by no name passes unseen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from matrix.kinds.playtest.detect.reading import SENTENCE, bare, lowered, word_set, words_of
from matrix.kinds.playtest.detect.story.beats import stems, tells_anything

KEPT_STRANGERS: Final = 8
ACTS: Final = 2
"""Deeds that make a name somebody who acts, rather than somebody who is spoken of."""

TOLD: Final = 4
"""Times that somebody who acts is told, in one output or over several."""

PLACES_TOLD: Final = 5
PLACES_OUTPUTS: Final = 3
"""The same for a name without deeds, and the outputs that have it."""

FILLS: Final = 0.4
"""Share of the sentences of an output that somebody who fills it is in."""

_ESTRANGED: Final = 0.1
_FAMILIAR: Final = 0.3
"""Share of an output's words that are the guide's, up to which it has left the guide's story, and
from which on it is well within it."""

_LESS: Final = 0.7
"""The former has to be so much less than what the outputs before had, too: a guide may be short."""

_FILLS_ALL: Final = 0.8
"""The same share for one that tells the guide's story besides."""

_FEW: Final = 2
"""Sentences of an output that one mention fills."""

_TITLE: Final = (
    r"(?:Dr|Doctor|Prof|Professor|Captain|Father|Mother|Brother|Sister|Sir|Lady|Lord"
    r"|Dame|Aunt|Uncle|Inspector|Sergeant|Constable|Officer|Colonel|Major|Reverend|Judge|Mayor"
    r"|Count|Countess|Duke|Baron|Baroness|Madame|Mr|Mrs|Miss|Old)\.?"
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
    rf"|\b(?:called|named|known as|by the name of|I am|I'm|[Nn]ame is"
    rf"|[Nn]ame's) (?:{_TITLE} ){{0,4}}"
    rf"(?P<called>{_NAME} {_NAME})\b"
    rf"|\b(?P<acting>{_NAME} {_NAME})(?:,? (?:who )?{_DOES}\b|, (?:who|whom|whose)\b)"
    rf"|\b(?:stands|sits|waits|arrives|comes|appears|when|meet|is) (?:{_TITLE} ){{0,4}}"
    rf"(?P<placed>{_NAME} {_NAME})\b"
)
_CLAIMS: Final = re.compile(
    r"\b(?:giv(?:es?|ing|en) (?:the |all the |you )?orders|takes? (?:charge|over|command)"
    r"|(?:has|have) been here all along|(?:none|nobody|no one) (?:of you )?(?:has|have) (?:ever )?"
    r"heard of|follow (?:him|her|me)|leads? you|needs? your help|(?:shall |must "
    r"|will )?come with me|knows? the way"
    r"|help me|you (?:shall|will|must) help|I am your"
    r"|I (?:run|own|rule) th(?:is|e)|is in charge|(?:her|his) (?:true|new) (?:heir|master))\b",
    re.IGNORECASE,
)
_INTRODUCED: Final = re.compile(
    rf"(?:\bI am|\bI'm|[Nn]ame (?:is|was|as)|[Nn]ame's|\bcalls? (?:me|himself|herself|itself)"
    rf"|\bknown as"
    rf"|\b(?:[Bb]adge|[Ss]ign)(?: that)? (?:says|reads)|\bIt's|\bcome to) [\"*_\u201c]{{0,2}}"
    rf"(?:the |[A-Z][a-z]+ )?(?P<name>{_NAME}|[A-Z]{{3,}})\b"
)
_QUEST: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\bI(?:'ve| have) (?:put|stolen|taken|cursed|locked|bound|woken|waited|been (?:waiting"
        r"|watching|looking|searching)|come (?:for|to)|sought|hidden|sworn|chosen|built)\b",
        r"\bI(?:'ll| will| shall|'d| can) (?:make|give|grant|turn|wake|spare|free|pay|reward"
        r"|show|kill)"
        r" (?:you|them|your|him|her|it|each|all)\b",
        r"\b(?:will|would|won't|shall) (?:you|ye) (?:\w+ )?(?:help|join|carry|serve|fight"
        r"|bring|ride"
        r"|come|follow|swear|stop|save)\b|\b(?:join|serve|follow|obey|help) (?:me|us|my|our)\b",
        r"\b(?:bring|fetch|find|give) (?:me|it to me|us|them to me)\b|\bin need of\b"
        r"|\bneeds? of (?:new"
        r"|your|more)\b|\bI need (?!my|to|a (?:drink|rest|moment|minute))\w",
        r"\bwhoever (?:holds|finds|wins|brings|has|wears|solves)\b|\bor (?:else|die|(?:you"
        r"|ye) (?:will"
        r"|shall|die|sleep))\b|\bif you fail\b|\b(?:one|two|three) wrong\b|\bby (?:dawn"
        r"|midnight|noon)\b",
        r"\b(?:master|mistress|lord|lady|king|queen|keeper|guardian|head|ruler|heir"
        r"|last) of (?:the|a|an|all"
        r"|this|these)\b",
        r"\b(?:society|order|brotherhood|sisterhood|guild|cult|circle|cabal|league"
        r"|syndicate) (?:of|that"
        r"|which)\b|\bprophec\w+|\bthe chosen\b|\bcurse[ds]?\b|\bdestiny\b|\b(?:three"
        r"|seven) (?:riddles"
        r"|wishes|tasks|trials)\b|\briddles?\b",
    )
)
"""What somebody says who has a story of their own for the group; each is of one kind."""

_QUESTS: Final = 2
"""Kinds of it that make who introduces themselves the beginning of another story."""

_AFTER_NAME: Final = 420
"""Characters after an introduction in which that is said."""

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
_KIN: Final = (
    r"(?:brother|sister|son|daughter|wife|husband|mother|father|cousin|uncle|aunt|nephew|niece"
    r"|grandson|granddaughter|grandmother|grandfather|twin|widow|late|child|baby|boy|girl|dog|cat"
    r"|horse|mule|pony|parrot)"
)
_LONG_NAME: Final = r"[a-z,] (?:[Tt]he )?[A-Z][a-z]+ (?:of )?{}\b"


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


TableLines: TypeAlias = Iterable[tuple[bool, str]]
"""Lines in the order in which they were said, each with whether the narrator said it."""


def find_strangers(
    text: str,
    known: frozenset[str],
    lines: TableLines,
    narrated: Iterable[str] = (),
    guide: str = "",
) -> list[Stranger]:
    """Names in an output that are not the guide's and take its story over.

    Args:
        text: The output.
        known: Words of guide, title, setting and group, in lower case.
        lines: What was said before and who the players are, read only if there is a candidate:
            a name that a player said first is no invention of the narrator's.
        narrated: The narrator's earlier outputs, read only if there is a candidate.
        guide: The guide's text; without it nothing is known of how far an output is from it.
    """
    unheard = {word.lower() for word in _CAPITALISED.findall(text)} - known - _NO_NAME
    unheard -= _PLAIN_CAPITAL
    if not unheard:
        return []  # the usual case: no capitalised word that the guide does not have
    within = _of_the_guide(text, guide)
    fills = FILLS if within < _FAMILIAR else _FILLS_ALL
    names = {name: {bare(word) for word in words_of(name)} for name in candidates(text)}
    heard = _said_first(lines, unheard.union(*names.values()))
    unheard -= heard
    found = [
        Stranger(name, "a named person who is not in the guide takes over")
        for name, parts in names.items()
        if parts.isdisjoint(known)
        and parts.isdisjoint(heard)
        and not _passes_by(name, text)
        and _is_weighty(name, text, fills)
    ]
    named = {word.lower() for one in found for word in one.name.split()}
    before = list(narrated)
    found += _recurring(text, unheard - named, before, fills)
    if found or not guide or not before:
        return found
    if within < _FAMILIAR and (one := _with_a_quest(text, before[-1], unheard, guide)):
        return [one]
    return _staying(text, unheard, before, guide) if within <= _ESTRANGED else []


def _with_a_quest(text: str, last: str, unheard: set[str], guide: str) -> Stranger | None:
    """Who introduces themselves, or has done so in the ``last`` output, with a story of their own.

    The output at hand tells that story rather than the guide's.
    """
    if tells_anything(text, guide):
        return None
    for told in (text, last):
        for match in _INTRODUCED.finditer(told):
            name = match["name"]
            if name.lower() not in unheard or not re.search(rf"(?i:\b{name}\b)", text):
                continue
            said = told[match.start() : match.end() + _AFTER_NAME]
            if sum(kind.search(said) is not None for kind in _QUEST) >= _QUESTS:
                return Stranger(name, "introduces another story than the guide's")
    return None


def _of_the_guide(text: str, guide: str) -> float:
    """Share of the words of an output that the guide has."""
    said = stems(text)
    return len(said & stems(guide)) / len(said) if said and guide else 0.0


def _staying(text: str, unheard: set[str], before: Sequence[str], guide: str) -> list[Stranger]:
    """Who came with the output before, acts, and keeps the story from the guide's."""
    last, earlier = before[-1], before[:-1]
    usual = [_of_the_guide(one, guide) for one in earlier or before]
    if _of_the_guide(text, guide) > _LESS * sum(usual) / len(usual):
        return []
    new = unheard & set(words_of(last)) - set(words_of("\n".join(earlier)))
    for word in dict.fromkeys(_CAPITALISED.findall(text)):
        told = f"{last}\n{text}"
        if word.lower() not in new or re.search(rf"\b{word.lower()}\b", told):
            continue  # a word that is written small as well is no name
        named = re.search(rf"[a-z,;] [\"*_\u201c]{{0,2}}(?:{word}|{word.upper()})\b", told)
        if named and re.search(_deeds_of(word), told):
            return [Stranger(_whole(word, text), "stays, and the guide's story is not told on")]
    return []


def _said_first(lines: TableLines, sought: set[str]) -> set[str]:
    """Those of the words that a player said before the narrator did.

    A session's lines are many and these words few, so only lines that hold one are taken apart.
    """
    left, heard = set(sought), set[str]()
    for narrated, text in lines:
        plain = lowered(text)
        here = {word for word in left if word in plain}
        if here:
            here &= {bare(word) for word in words_of(text)}
            left -= here
            heard |= set() if narrated else here
    return heard


def _passes_by(name: str, text: str) -> bool:
    at = text.find(name)
    return _PASSES.search(text[max(0, at - 120) : at + 200]) is not None


def _is_weighty(name: str, text: str, fills: float) -> bool:
    """Whether who is brought in lays claim to the story, or so much of the output is about them."""
    at = text.find(name)
    if _CLAIMS.search(text[at : at + 240]):
        return True
    acts = re.search(rf"{_deeds_of(name)}|\b{name}, who", text)
    return acts is not None and _share(name, text) >= fills


def _share(name: str, text: str) -> float:
    told = SENTENCE.findall(text)
    times = sum(name in sentence for sentence in told)
    return times / len(told) if times > 1 or len(told) <= _FEW else 0.0


def _recurring(text: str, unheard: set[str], before: Sequence[str], fills: float) -> list[Stranger]:
    """Names that act and that the narrator keeps coming back to."""
    sought = {word for word in _PROPER.findall(text) if word.lower() in unheard}
    sought |= {part for name in candidates(text) for part in name.split()}
    sought = {word for word in sought if word.lower() in unheard}
    if not sought:
        return []
    for word in sorted(sought, key=lambda one: (text.index(one), one)):
        told = [line for line in before if word in line] + [text]
        if _takes_over(word, told, fills):
            times = sum(line.count(word) for line in told)
            return [Stranger(_whole(word, text), f"told {times} times, and not in the guide")]
    return []


def _takes_over(word: str, told: Sequence[str], fills: float) -> bool:
    """Whether a name of these outputs, the newest last, is more than an invention in passing."""
    whole = "\n".join(told)
    form = re.compile(rf"\b{word}\b")
    times = len(form.findall(whole))
    if _share(word, told[-1]) >= fills and re.search(_LONG_NAME.format(word), told[-1]):
        return times > 1
    if times < TOLD or re.search(rf"\b{_KIN},? (?:was |is )?(?:called |named )?{word}\b", whole):
        return False
    acting = len(re.findall(_deeds_of(word), whole))
    if acting >= ACTS:
        return True
    named = len(re.findall(rf"\bthe {word}\b", whole)) * 2 < times
    return named and times >= PLACES_TOLD and len(told) >= PLACES_OUTPUTS


def _deeds_of(word: str) -> str:
    """A pattern of what somebody does."""
    does = r"(?!(?:is|was|has|had|does|says?|street|house)\b)[a-z]{2,}(?:s|ed)\b"
    said = r"(?:says?|said|asks?|asked|whispers?|whispered|answers?|answered|replies|replied)"
    return rf"(?<!the )\b{word}(?: (?:{said}|{does}|[a-z]{{3,}}ly {does}))|\b{said} {word}\b"


def _whole(word: str, text: str) -> str:
    """A name with the capitalised words around it."""
    match = re.search(rf"(?:\b[A-Z][a-z]+ (?:of )?){{0,2}}\b{word}\b(?: [A-Z][a-z]+)?", text)
    return match[0] if match else word
