"""English small enough for simulated models: sentences, persons, verb endings.

Nothing here draws at random or knows about roles. Everything is lenient: text written by other
models or people goes through unharmed when no rule applies.
"""

from __future__ import annotations

import re

from matrix.providers.simulated.language.wordlists import OPENERS, words

_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]?\s+(?=[\"'(\[A-Z0-9])")
_ABBREVIATION = re.compile(r"(?:\b(?:Mr|Mrs|Ms|Dr|St|Prof|Capt|No)|\b[A-Z])\.$")
_SPACES = re.compile(r"[ \t]{2,}")
_MARKUP = re.compile(r"\*\*|__|`|(?<!\w)[*_]|[*_](?!\w)")

_PLURAL_TO_YOU = {
    "we": "you",
    "us": "you",
    "our": "your",
    "ours": "yours",
    "ourselves": "yourselves",
    "we're": "you're",
    "we'll": "you'll",
    "we've": "you've",
    "we'd": "you'd",
    "let's": "you",
}
_YOU_TO_PLURAL = {
    "your": "our",
    "yours": "ours",
    "yourself": "ourselves",
    "yourselves": "ourselves",
    "you're": "we're",
    "you've": "we've",
    "you'll": "we'll",
}
_FIRST_TO_THIRD = {
    "my": "their",
    "mine": "theirs",
    "me": "them",
    "myself": "themselves",
}
_IRREGULAR_THIRD = {
    "am": "is",
    "was": "was",
    "were": "was",
    "have": "has",
    "do": "does",
    "go": "goes",
    "don't": "doesn't",
    "haven't": "hasn't",
    "can": "can",
    "can't": "can't",
    "could": "could",
    "would": "would",
    "will": "will",
    "won't": "won't",
    "should": "should",
    "might": "might",
    "may": "may",
    "must": "must",
    "did": "did",
    "didn't": "didn't",
    "had": "had",
    "wasn't": "wasn't",
}
_CONTRACTED_THIRD = {"I'm": "is", "I've": "has", "I'll": "will", "I'd": "would"}
_COORDINATED = words(
    "match steady pull use announce repeat do ask check draw go run sit take tell whisper "
    "keep listen look say stay stand try wait watch want write count make let put hold hope "
    "lean move nod open point pretend read step turn walk follow find help"
)
_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")
_I_VERB = re.compile(
    r"\bI('m|'ve|'ll|'d)?(?: ((?:\w+ly|just|also|still|never|always|only|even|already"
    r"|mostly) )?([a-z]+(?:'t)?))?\b"
)


def sentences(text: str) -> list[str]:
    """The sentences of one paragraph, each with its end mark and any closing quote."""
    parts: list[str] = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        end = match.end()
        piece = text[start:end].strip()
        if _ABBREVIATION.search(piece) or piece.count('"') % 2:
            continue
        parts.append(piece)
        start = end
    if rest := text[start:].strip():
        parts.append(rest)
    return parts


def plain(text: str) -> str:
    """``text`` without markdown emphasis, typographic quotes and double spaces."""
    text = _MARKUP.sub("", text)
    for fancy, simple in (("\u2019", "'"), ("\u2018", "'"), ("\u201c", '"'), ("\u201d", '"')):
        text = text.replace(fancy, simple)
    return _SPACES.sub(" ", text).strip()


def capitalised(text: str) -> str:
    """``text`` with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def uncapitalised(text: str) -> str:
    """``text`` with a lower-case first letter where it opens with a common small word."""
    first = text.split(" ", 1)[0].strip(",'")
    return text[:1].lower() + text[1:] if first in OPENERS else text


def ended(text: str) -> str:
    """``text`` with a full stop if it lacks an end mark."""
    text = text.rstrip(" ,;:-\u2014\u2013")
    return text if text.endswith((".", "!", "?", '."', '!"', '?"', ")", "]", "...")) else text + "."


def unended(text: str) -> str:
    """``text`` without its end mark, to go on with a clause."""
    return text.rstrip(" .!?\u2026,;:")


def clipped(text: str, words: int) -> str:
    """At most ``words`` words, cut back to a comma or a word boundary, without an end mark."""
    parts = text.split()
    if len(parts) <= words:
        return unended(text)
    head = " ".join(parts[:words])
    comma = head.rfind(",")
    if comma > len(head) // 2:
        return unended(head[:comma])
    while parts[:words] and parts[words - 1].lower().strip(",") in _DANGLING:
        words -= 1
    return unended(" ".join(parts[:words]))


_DANGLING = words(
    "a an the of to and or but with in on at by for from that which who his her their its "
    "your our my into as than if is are was were be so not no very"
)


def _swapped(text: str, table: dict[str, str]) -> str:
    def one(match: re.Match[str]) -> str:
        word = match[0]
        found = table.get(word.lower())
        if found is None:
            return word
        return capitalised(found) if word[0].isupper() else found

    return _WORD.sub(one, text)


def we_to_you(text: str) -> str:
    """What the group says of itself, said back to it: "We keep ours" -> "You keep yours"."""
    return _swapped(text, _PLURAL_TO_YOU)


_YOU_OBJECT = re.compile(
    r"\b(with|to|for|at|on|behind|around|before|after|near|between|of|beside|past|from|let|"
    r"tell|tells|show|shows|follow|follows|watch|watches|see|sees|give|gives|ask|asks) you\b"
)


def you_to_we(text: str) -> str:
    """The other way round: "wait until he lets you in" -> "wait until he lets us in"."""
    text = _YOU_OBJECT.sub(r"\1 us", text)
    return _swapped(text, {**_YOU_TO_PLURAL, "you": "we"})


_YOU_OBJECT_OR_END = re.compile(
    r"\b(with|to|for|at|on|behind|around|before|after|near|between|of|beside|past|from|let|lets|"
    r"tell|tells|told|show|shows|follow|follows|watch|watches|see|sees|give|gives|ask|asks|left|"
    r"meets?|met|beneath|under|above|over|knows?|knew) you\b|\byou(?=[.,;:!?]|$)"
    r"|\b([a-z]{3,}s|gave|passed|offered|handed|sent|lent|sold) you(?= (?:a|an|the|one|two|his"
    r"|her|its|their|your|another|some|nothing|something)\b)"
)
_YOU_TO_I = {
    "your": "my",
    "yours": "mine",
    "yourself": "myself",
    "you're": "I'm",
    "you've": "I've",
    "you'll": "I'll",
    "you'd": "I'd",
    "you": "I",
}
_YOU_BE = re.compile(r"\b([Yy]ou) (are|were)\b|\b([Aa]re|[Ww]ere) you\b")


def you_to_i(text: str) -> str:
    """What one was told alone, as they tell it: "Your name is on it" -> "My name is on it"."""

    def be(match: re.Match[str]) -> str:
        verb = {"are": "am", "were": "was"}[(match[2] or match[3]).lower()]
        return f"I {verb}" if match[1] else f"{verb} I"

    text = _YOU_BE.sub(be, text)
    text = _YOU_OBJECT_OR_END.sub(lambda match: f"{match[1] or match[2] or ''} me".strip(), text)
    return _swapped(text, _YOU_TO_I)


_PAST = words("lost took left came went saw heard felt got said told knew thought meant made found")


def third(verb: str) -> str:
    """The form of a verb that goes with she, he or it: "watch" -> "watches"."""
    known = _IRREGULAR_THIRD.get(verb)
    if known is not None:
        return known
    if verb in _PAST or (verb.endswith("ed") and len(verb) > 4):
        return verb
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "s"


def i_to_name(text: str, name: str) -> str:
    """A first-person sentence told by somebody else: "I keep my hat on" -> "Sam keeps their ...".

    The first "I" becomes the name, later ones "they" with the verb left alone.
    """
    seen = False

    def one(match: re.Match[str]) -> str:
        nonlocal seen
        contracted, adverb, verb = match[1], match[2] or "", match[3] or ""
        if seen:
            opens = match.start() == 0 or match.string[match.start() - 2] in ".!?"
            tail = f" {adverb}{_THEY_VERB.get(verb, verb)}" if verb else ""
            return ("They" if opens else "they") + _THEY_CONTRACTED.get(contracted or "", "") + tail
        seen = True
        if contracted:
            return f"{name} {_CONTRACTED_THIRD['I' + contracted]}" + (
                f" {adverb}{verb}" if verb else ""
            )
        return f"{name} {adverb}{third(verb)}" if verb else name

    told = _I_VERB.sub(one, text)
    return _swapped(_coordinate(told) if seen else told, _FIRST_TO_THIRD)


_THEY_VERB = {"am": "are", "was": "were"}
_THEY_CONTRACTED = {"'m": "'re", "'ve": "'ve", "'ll": "'ll", "'d": "'d"}
_AND_VERB = re.compile(r"(,? and) ([a-z]+)\b")


def _coordinate(text: str) -> str:
    """Give the verb after "and" the same ending, where it is clearly a verb of the subject."""
    return _AND_VERB.sub(lambda m: f"{m[1]} {third(m[2])}" if m[2] in _COORDINATED else m[0], text)


_I_TO_WE = {
    "i": "we",
    "i'm": "we're",
    "i've": "we've",
    "i'll": "we'll",
    "i'd": "we'd",
    "am": "are",
    "was": "were",
    "my": "our",
    "mine": "ours",
    "me": "us",
    "myself": "ourselves",
}


_NOT_I_WERE = re.compile(r"\b(it|he|she|that|this|who|there) were\b")


def i_to_we(text: str) -> str:
    """What one says told as what all do: "I check my pockets" -> "We check our pockets"."""
    told = re.sub(r"(?<=[a-z,;] )We\b", "we", _swapped(text, _I_TO_WE))
    return _NOT_I_WERE.sub(r"\1 was", told)


_BASE = {"has": "have", "is": "am", "does": "do", "goes": "go", "was": "was"}


def first_person(verb: str) -> str:
    """The form of a third-person verb that goes with I: "watches" -> "watch"."""
    known = _BASE.get(verb)
    if known is not None:
        return known
    if verb.endswith("ies") and len(verb) > 4:
        return verb[:-3] + "y"
    if verb.endswith(("shes", "ches", "xes", "sses", "zes")):
        return verb[:-2]
    if verb.endswith("s") and not verb.endswith("ss"):
        return verb[:-1]
    return verb


def listed(parts: list[str]) -> str:
    """The parts as in "a", "a and b", "a, b and c"."""
    if len(parts) < 2:
        return "".join(parts)
    return ", ".join(parts[:-1]) + " and " + parts[-1]
