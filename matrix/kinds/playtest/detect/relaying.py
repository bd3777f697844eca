"""What a relay makes of what the group said: whose words go to whom, what is new, what is lost.

A relay is compared with the players' own words of the turn by the words that carry meaning, without
regard to their endings. It says nothing of the narrator, who hears the relay alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from matrix.kinds.playtest.detect.reading import bare, word_set, words_of
from matrix.kinds.playtest.setup.state import RelayBook

SHORTEST: Final = 4
LEAST_SHARED: Final = 2
"""Words of one player that a statement about another must have to be called misattributed."""

LONGEST: Final = 4000
"""Characters of a text that are compared."""

_SENTENCE: Final = re.compile(r"(?<=[.!?;\n\"'\u201d\u2019)])\s+")
_MINE: Final = re.compile(r"\W{0,3}I\b")
_WAS_ME: Final = re.compile(r"\b(?:it was|this is|that was|that's|it's) me\b")
_FOR_ALL: Final = re.compile(
    r"\W{0,3}I(?:'d| would)? (?:think|guess|suppose|believe|reckon|say|hear|understand|gather)"
    r"(?:,| that)? (?:we|all of us|everybody|the group)\b"
)
"""What is told as the group's, with a hedge: nobody's own words."""

_CREDIT: Final = re.compile(r"\b(?:[Ii]t|[Tt]hat|[Tt]his)(?:'s| is| was) (?:all )?$")
_IDEA: Final = re.compile(r"'s (?:idea|suggestion|plan|thought|doing|notion)\b")
_QUOTATION: Final = re.compile(r"[\"\u201c]([^\"\u201c\u201d]{1,600})[\"\u201d]")
_QUOTED_WORDS: Final = 3
"""Words of a quotation by which it can be told whose it is."""

_MARKS: Final = re.compile(r"[\"\u201c\u201d]")
_PLAIN: Final = word_set(
    "that this with from where which their they them have into about what when without there then "
    "than just some other more also only been were will would could should very your yours ours "
    "we're they're that's it's i'm i'll i'd let's don't can't says said wants asks tell tells "
    "want like think know going does doing will because before after here every everybody all "
    "them anybody somebody something nothing anything"
)
_ENDINGS: Final = ("ing", "ies", "ied", "ed", "es", "s")


class Misattribution(NamedTuple):
    """A statement about ``claimed`` whose words are those of ``speaker``."""

    claimed: str
    speaker: str
    statement: str


class RelayCheck(NamedTuple):
    """What became of the group's words in a relay.

    Attributes:
        misattributed: Statements whose words are somebody else's.
        added: Share of the relay's words that nobody has said, the narrator neither.
        left_out: Share of those who spoke of whom there is nothing in it.
    """

    misattributed: tuple[Misattribution, ...]
    added: float
    left_out: float


@lru_cache(maxsize=4096)
def carried(text: str) -> frozenset[str]:
    """The words of a text that carry meaning, without their endings."""
    words = (bare(word) for word in words_of(text[:LONGEST]))
    return frozenset(_stem(word) for word in words if len(word) >= SHORTEST and word not in _PLAIN)


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            break
    return word.removesuffix("e")


def check_relay(
    relay: str, said: Sequence[tuple[str, str]], speaker: str, narration: str
) -> RelayCheck:
    """Compare a relay with what the players said.

    Args:
        relay: What the spokesperson told the narrator.
        said: Name and words of everybody who said anything.
        speaker: The spokesperson's name.
        narration: What the narrator had said before.
    """
    names = frozenset(_stem(name.casefold()) for name, _ in said)
    own = {name: carried(text) - names for name, text in said}
    told = carried(relay) - names
    known = frozenset[str]().union(*own.values(), carried(narration))
    spoke = [name for name, words in own.items() if words]
    lost = [name for name in spoke if not own[name] & told and name not in relay]
    wrong = _misattributed(relay, own, names, speaker)
    wrong += [one for one in _misquoted(relay, said, speaker) if not _is_among(one, wrong)]
    return RelayCheck(
        tuple(wrong),
        len(told - known) / len(told) if told else 0.0,
        len(lost) / len(spoke) if spoke else 0.0,
    )


def _misattributed(
    relay: str, own: Mapping[str, frozenset[str]], names: frozenset[str], speaker: str
) -> list[Misattribution]:
    found, quoted, claimed, before = [], False, None, ""
    for statement in _SENTENCE.split(relay[:LONGEST]):
        credited = None if quoted else _credited(statement, own)
        if not quoted:  # else it goes on with what the same friend said
            claimed = credited or _subject(statement, own, speaker)
        quoted ^= len(_MARKS.findall(statement)) % 2 == 1
        about, before = (statement if credited is None else before), statement
        if claimed is None:
            continue
        words = carried(about) - names
        shared = {name: len(words & said) for name, said in own.items()}
        best = max(shared, key=lambda name: (shared[name], name == claimed))
        least = LEAST_SHARED if credited is None else 1
        enough = shared[best] >= least and 2 * shared[best] >= len(words)
        if best != claimed and enough and 2 * shared[claimed] < shared[best]:
            told = statement if credited is None else f"{about.strip()} {statement}"
            found.append(Misattribution(claimed, best, told.strip()[:200]))
    return found


def _misquoted(
    relay: str, said: Sequence[tuple[str, str]], speaker: str
) -> Iterator[Misattribution]:
    """Quotations that are somebody's words, word for word, and not those of whom they are given to.

    However few of their words carry meaning, which tells what is paraphrased.
    """
    own = {name: f" {' '.join(words_of(text))} " for name, text in said}
    for match in _QUOTATION.finditer(relay[:LONGEST]):
        claimed = _subject(_SENTENCE.split(relay[: match.start()])[-1], own, speaker)
        words = words_of(match[1])
        whose = [name for name, text in own.items() if f" {' '.join(words)} " in text]
        if len(words) >= _QUOTED_WORDS and claimed is not None and whose and claimed not in whose:
            yield Misattribution(claimed, whose[0], match[0][:200])


def _is_among(one: Misattribution, found: Sequence[Misattribution]) -> bool:
    inside = one.statement.strip('"\u201c\u201d')[:20]
    return any(inside in other.statement for other in found)


def _subject(statement: str, own: Collection[str], speaker: str) -> str | None:
    """Whom a statement is about: the spokesperson ("I", "it was me"), or who is named first."""
    plain = statement.replace("\u2019", "'")
    if _FOR_ALL.match(plain):
        return None
    if _MINE.match(statement) or _WAS_ME.search(plain):
        return speaker if speaker in own else None
    places = {name: match.start() for name in own if (match := _named(name).search(statement))}
    return min(places, key=lambda name: places[name]) if places else None


def _credited(statement: str, own: Mapping[str, frozenset[str]]) -> str | None:
    """Who is said to have had the idea of the statement before (``It was Ned's idea.``)."""
    plain = statement.replace("\u2019", "'")
    for name in own:
        match = _named(name).search(plain)
        if match and _CREDIT.search(plain[: match.start()]) and _IDEA.match(plain, match.end()):
            return name
    return None


@lru_cache(maxsize=512)
def _named(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(name)}\b")


def count_relay(book: RelayBook, check: RelayCheck) -> RelayBook:
    """Take one relay into account."""
    return RelayBook(
        count=book.count + 1,
        misattributed=book.misattributed + bool(check.misattributed),
        added=round(book.added + check.added, 6),
        left_out=round(book.left_out + check.left_out, 6),
    )
