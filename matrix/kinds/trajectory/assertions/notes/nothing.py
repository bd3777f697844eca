"""Whether a row's words say that there is nothing: decided by what kinds of words it is made of.

``None so far (2 March)`` has a negation, and beside it only words that any such row may have: of
time, of evidence, of looking for it. ``No customer asked for it`` says who and what, and is
evidence. What follows the clause with the negation is its reason: ``None - nobody was asked``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from matrix.kinds.trajectory.assertions.notes.markdown import is_nothing


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NEGATIONS: Final = _set(
    "none nothing no nil not nobody never zero 0 nought neither na null empty unknown untested "
    "unexplored unchecked unasked unvalidated unanswered undecided unclear unchanged tbd tba todo "
    "pending awaiting missing lacking blank placeholder ditto open"
)
_FUTURE: Final = _set("to awaiting waiting await pending")
_BE: Final = _set("be is are was were been being has have had do does did will still yet can could")
_TIME: Final = _set(
    "yet far now today currently presently present moment point time stage date week weeks month "
    "months quarter day days year sprint round turn session january february march april may june "
    "july august september october november december jan feb mar apr jun jul aug sep sept oct nov "
    "dec monday tuesday wednesday thursday friday saturday sunday since until before after then "
    "here last past recent recently late first second"
)
_FILLERS: Final = _set(
    "a an the this that these those there it its them us we i our of on in at as to for from by "
    "with about against so all any anything anyone anybody else either further more other new "
    "only just simply really still record file hand and or s ve"
)
_OF_EVIDENCE: Final = _set(
    "relevant direct clear contradicting contradictory contrary counter conflicting disconfirming "
    "opposing opposite dissenting supporting supportive confirming additional fresh such known "
    "hard solid firm strong real formal documented meaningful significant negative "
    "positive independent explicit"
)
_EVIDENCE: Final = _set(
    "evidence row rows entry entries contradiction contradictions counterexample counterexamples "
    "counterevidence counterargument counterarguments dissent objection objections "
    "disconfirmation confirmation findings finding items item"
)
_NEARLY: Final = _set(
    "signal signals data observation observations news update updates proof support change changes "
    "input feedback answer answers reply replies response responses result results information "
    "info argument arguments claim claims source sources note notes example examples piece pieces "
    "indication indications hint hints one sign signs hit hits quote quotes match matches"
)
_LOOKED: Final = _set(
    "asked tested looked checked tried measured interviewed collected gathered surveyed explored "
    "investigated reviewed validated verified examined assessed researched started run done "
    "filled written added decided determined defined confirmed discussed agreed specified looking "
    "ask test look check try measure collect gather add"
)
_REPORTED: Final = _set(
    "recorded found identified noted reported logged seen heard known listed captured available "
    "applicable surfaced emerged come came turned up out received raised voiced documented "
    "observed filed report find see hear know back return"
)
_SPEAKS: Final = _set(
    "speak speaks spoke spoken say says said argue argues argued point points pointed stand stands "
    "stood contradict contradicts contradicted support supports supported oppose opposes opposed "
    "object objects objected disagree disagrees disagreed dissent dissented dispute disputed "
    "challenge challenged refute refuted counter countered"
)
_KINDS: Final = _set(
    "call calls chat chats mail mails email emails survey surveys interview interviews meeting "
    "meetings thread slack ticket tickets review reviews test tests experiment experiments "
    "transcript notebook log artifact artifacts"
)
_CLOSED: Final = (
    _NEGATIONS | _FUTURE | _BE | _TIME | _FILLERS | _OF_EVIDENCE | _EVIDENCE | _NEARLY | _LOOKED
    | _REPORTED | _SPEAKS | _KINDS
)  # fmt: skip
_WHERE: Final = _set("in on from during at with among by since until after before as")
_NO_REASON: Final = _set("no not never")
"""What answers a question, so that what follows it is said: ``No: she would not pay``."""
_AFTER_NOT: Final = _BE | _TIME | _FILLERS | _EVIDENCE | _LOOKED | _REPORTED | _KINDS | {"relevant"}
_DEEDS: Final = _REPORTED | _set(
    "asked ask tried try started done run filled decided confirmed discussed agreed"
)
"""What somebody did, or did not do, that says something of a hypothesis."""

_MARKS: Final = re.compile(r"[*_`~\u200d\ufe0f]")
_SHORTENED: Final = re.compile(r"\b(n)/(a)\b|\b(no)[ -](one)\b|(\w)n['\u2019]t\b", re.IGNORECASE)
_CLAUSE: Final = re.compile(r"[;:,.!?()\[\]<>|\u2013\u2014\u2192]|(?<=\s)-(?=\s)|(?<=\S)-(?=\s)")
_TOKEN: Final = re.compile(r"[^\W\d_]+|\d+")
_LABEL: Final = re.compile(r"([^:]{1,40}):\s+(\S.*)", re.DOTALL)
_COUNTED: Final = re.compile(r"\b\d+ (?:of|out of) \d+\b|\d\s?%")
_UNCHANGED: Final = re.compile(r"(?:no|without) changes?\b|unchanged\b", re.IGNORECASE)
"""What somebody who is named saw, and no word for there being nothing."""
_ORDINAL: Final = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b", re.IGNORECASE)
_MOST_OF_A_LABEL: Final = 4
_LONGEST: Final = 400


def says_nothing(text: str) -> bool:
    """Whether words say that there is nothing, or how many there are, which stands elsewhere."""
    if is_nothing(text) or not _TOKEN.search(text):
        return True
    if len(text) > _LONGEST:
        return False
    plain = _ORDINAL.sub("", _SHORTENED.sub(_long, _MARKS.sub("", text)))
    if _COUNTED.search(plain):
        return False  # no change: 31 of 280, then 30 of 274
    if _denies(plain):
        return True
    label = _LABEL.fullmatch(plain.strip())
    named = label is not None and len(_TOKEN.findall(label[1])) <= _MOST_OF_A_LABEL
    if label is None or not named or _UNCHANGED.match(label[2]):
        return False  # Marcus: no change since November
    return _denies(label[2], to_the_end=True)


def _long(found: re.Match[str]) -> str:
    if found[1]:
        return "na"
    return "nobody" if found[3] else f"{found[5]} not"


def _denies(text: str, *, to_the_end: bool = False) -> bool:
    """Whether the first clause that says something is a denial, a placeholder or a count."""
    clauses = [words for one in _CLAUSE.split(text) if (words := _words(one))]
    for number, words in enumerate(clauses):
        last = number == len(clauses) - 1
        if _is_denial(words):
            follows = not last and len(words) == 1 and words[0] in _NO_REASON
            return not follows and (last or not to_the_end or all(map(_is_closed, clauses)))
        if not _is_closed(words):
            return False
    return bool(clauses) and _is_count(clauses)


def _words(clause: str) -> list[str]:
    return [word.casefold() for word in _TOKEN.findall(clause)]


def _is_closed(words: Sequence[str]) -> bool:
    return all(word in _CLOSED or word.isdecimal() for word in words)


def _is_count(clauses: Sequence[Sequence[str]]) -> bool:
    """``2``, ``1 row``, ``3 entries so far``: how many there are, and none of them."""
    words = clauses[0]
    return (
        words[0].isdecimal()
        and all(
            word.isdecimal() or word in _EVIDENCE | _NEARLY | _TIME | {"so", "in", "all"}
            for word in words
        )
        and all(map(_is_closed, clauses))
    )


def _is_denial(words: Sequence[str]) -> bool:
    at = next((n for n, word in enumerate(words) if word in _NEGATIONS), None)
    if at is None or not _is_closed(words[:at]):
        return _is_future(words)
    kind, rest = words[at], words[at + 1 :]
    if rest[:1] == ["of"] or _measured(rest):
        return False  # none of the five renewed, no reply to 12 of 40 mails
    if kind in ("nobody", "never") and _acted(rest):
        return False
    if _is_future(words):
        return True
    if kind == "not":
        return all(word in _AFTER_NOT or word.isdecimal() for word in rest)
    return _is_closed(rest) or _opens_late(words, at)


def _measured(words: Sequence[str]) -> bool:
    return any(
        word == "of" and before.isdecimal() and after.isdecimal()
        for before, word, after in zip(words, words[1:], words[2:], strict=False)
    )


def _acted(words: Sequence[str]) -> bool:
    """``nobody asked for it`` says what they did; ``nobody was asked`` that there is nothing."""
    rest = [word for word in words if word not in ("has", "have", "had", "yet", "still")]
    return rest[:1] != [] and rest[0] in _DEEDS


def _is_future(words: Sequence[str]) -> bool:
    """``to be collected in the March survey``, ``awaiting the survey``, ``we have not asked``."""
    start = [word for word in words if word not in ("still", "yet", "is", "are", "it")]
    if start[:1] in (["awaiting"], ["await"]) or start[:2] == ["waiting", "for"]:
        return True
    if start[:2] == ["to", "be"]:
        return start[2:3] == [] or start[2] in _LOOKED
    if start[:2] in (["to", "do"], ["to", "come"]):
        return _is_closed(words)
    rest = _after_subject(words)
    if rest[:1] != ["not"]:
        return False
    verbs = [word for word in rest[1:] if word not in _BE]
    return verbs[:1] != [] and verbs[0] in _LOOKED and verbs[1:2] != ["for"]


def _after_subject(words: Sequence[str]) -> Sequence[str]:
    """Words without ``we have``, ``it was``, ``this has been``."""
    at = 0
    while at < len(words) and words[at] in _BE | {"we", "i", "it", "this", "that", "ve"}:
        at += 1
    return words[at:]


def _opens_late(words: Sequence[str], at: int) -> bool:
    """Whether the first word that says something only tells where nothing was found.

    ``no evidence was found that ...``, ``nothing relevant in the CRM``, ``none recorded by Ana``.
    """
    first = next(n for n, word in enumerate(words) if not _is_closed([word]))
    told, kind = set(words[at + 1 : first]), words[at]
    if kind not in ("none", "nothing", "no"):
        return False
    if told & _EVIDENCE and told & (_REPORTED | _SPEAKS | _LOOKED | _WHERE | _BE):
        return True
    placed = any(word in _WHERE for word in words[at + 2 : first])
    if kind == "no":
        return bool(told & _NEARLY) and bool(told & _REPORTED) and placed
    return placed and bool(told & (_OF_EVIDENCE | _REPORTED | {"new", "more", "further"}))
