"""Contradictions, as far as plain wording shows them.

What this can see: a plain statement about the state of a named thing (``the church door is
locked``) and a later plain statement of the opposite state of the same thing. What it cannot:
anything that takes understanding. It would rather miss a contradiction than invent one: a change
that is told (``you unlock the door``), marked (``now``, ``no longer``) or asked about is none, and
so is anything inside quoted speech.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from matrix.kinds.playtest.setup.state import Fact

KEPT_FACTS: Final = 8


class Axis(NamedTuple):
    """States that exclude each other, and the verbs that lead from one to the other."""

    name: str
    sides: tuple[frozenset[str], frozenset[str]]
    changes: re.Pattern[str]


def _axis(name: str, one: str, other: str, changes: str) -> Axis:
    pattern = re.compile(rf"\b(?:{changes})", re.IGNORECASE)
    return Axis(name, (frozenset(one.split("|")), frozenset(other.split("|"))), pattern)


AXES: Final = (
    _axis(
        "access",
        "locked|shut|closed|barred|bolted|blocked|sealed",
        "open|unlocked|ajar|clear|unbarred|unsealed",
        r"un?lock|unbar|unbolt|open|clos|shut|slam|swing|swung|push|pull|pr[iy]|forc|break|broke"
        r"|kick|pick|key|clear|block|barricad|seal|collaps|fall|fell",
    ),
    _axis(
        "life",
        "dead|drowned|killed|deceased",
        "alive|living|breathing",
        r"di(?:e|ed|es)\b|kill|murder|drown|stab|shot|shoot|fall|fell|reviv|resurrect|wake|woke"
        r"|come back|came back|return|rise|rose|breath",
    ),
    _axis(
        "light",
        "out|dark|unlit|extinguished",
        "lit|burning|glowing|alight",
        r"li(?:t|ght)|relight|kindl|match|go(?:es)? out|went out|blow|blew|snuff|extinguish|burn"
        r"|flicker|switch|turn|dim|dims|fail",
    ),
    _axis(
        "wholeness",
        "broken|shattered|smashed|destroyed|ruined",
        "intact|whole|unbroken|undamaged|untouched",
        r"break|broke|shatter|smash|destroy|ruin|repair|mend|fix|rebuil|crack",
    ),
    _axis(
        "fullness",
        "empty|bare",
        "full|packed|crowded|filled",
        r"empt|fill|pour|drain|take|took|put|leave|left|load|crowd|arriv|come|came",
    ),
)

_STATES: Final = {
    word: (axis, side) for axis in AXES for side in (0, 1) for word in axis.sides[side]
}
_STATEMENT: Final = re.compile(
    r"\b[Tt]he (?P<subject>(?:[\w'-]+ ){0,3}?[\w'-]+?)"
    r"(?: (?:behind|before|beside|above|below) you)?"
    r" (?:is|are|was|were|stands?|has|have|lies?|remains?|hangs?)"
    r"(?P<still> still)?(?P<not> not)?(?: (?:gone|been|all|quite|standing|wide|firmly|still))*"
    rf" (?P<state>{'|'.join(_STATES)})\b(?P<after>[^.!?;]{{0,20}})"
)
_MARKED: Final = re.compile(
    r"\b(?:now|no longer|again|suddenly|by now|at last|finally)\b", re.IGNORECASE
)
_QUOTED: Final = re.compile(r'"[^"\n]*"|\u201c[^\u201c\u201d\n]*\u201d')
_SENTENCE: Final = re.compile(r"[^.!?]+[.!?]*")
_PLAIN_SUBJECT: Final = re.compile(r"\b(?:that|which|who|and|but|if|where|when|one|of you)\b")


class Flip(NamedTuple):
    """Two statements that cannot both hold."""

    before: Fact
    after: Fact
    sentence: str


def _sentences(text: str) -> list[str]:
    """The sentences of a text, with everything in quotation marks left out."""
    return [sentence.strip() for sentence in _SENTENCE.findall(_QUOTED.sub("", text))]


def statements(text: str, vocabulary: frozenset[str], turn: int) -> list[tuple[Fact, str]]:
    """Plain statements about states in an output, each with its sentence."""
    if not (vocabulary & _STATES.keys()):
        return []
    found: list[tuple[Fact, str]] = []
    for sentence in _sentences(text):
        if sentence.endswith("?") or _MARKED.search(sentence):
            continue
        for match in _STATEMENT.finditer(sentence):
            subject = match["subject"].lower()
            if _PLAIN_SUBJECT.search(subject) or match["after"].strip().startswith("or "):
                continue
            axis, side = _STATES[match["state"]]
            if match["not"]:
                side = 1 - side
            fact = Fact(axis=axis.name, subject=subject, value=str(side), turn=turn)
            found.append((fact, sentence))
    return found


def find_flips(
    stated: Sequence[tuple[Fact, str]], known: Sequence[Fact]
) -> tuple[list[Flip], tuple[Fact, ...]]:
    """Statements that turn a known one round, and what is known after them (the newest first)."""
    facts = {(fact.axis, fact.subject): fact for fact in reversed(known)}
    flips: list[Flip] = []
    for fact, sentence in stated:
        key = (fact.axis, fact.subject)
        before = facts.pop(key, None)
        if before is not None and before.value != fact.value:
            flips.append(Flip(before, fact, sentence))
        facts[key] = fact
    newest = tuple(reversed(facts.values()))
    return flips, newest[:KEPT_FACTS]


def change_was_told(flip: Flip, texts: Iterable[str]) -> bool:
    """Whether any sentence since the first statement tells of a change to the thing itself."""
    axis = next(axis for axis in AXES if axis.name == flip.before.axis)
    head = flip.before.subject.split()[-1]
    for text in texts:
        if head not in text.lower():
            continue
        for sentence in _sentences(text):
            is_about_it = head in sentence.lower() and sentence != flip.sentence
            if is_about_it and axis.changes.search(_STATEMENT.sub("", sentence)):
                return True
    return False
