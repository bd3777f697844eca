"""Contradictions, as far as wording shows them: facts about things, and what may change them.

The story is followed sentence by sentence. A plain statement (``the church door is locked``) is a
fact about a thing on an axis; an event (``you push the church door open``) sets one as well.
Whatever may have changed a thing since, in the narrator's words or the players', takes its fact
away. A statement against a fact that is still there is a contradiction.

It would rather miss one than invent one: two things are the same only if nothing tells them apart
(a cellar door is no attic door); a change that is told, marked (``now``, ``no longer``) or asked
about is none, nor is what is said in quotation marks, supposed, remembered or dreamt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from matrix.kinds.playtest.detect.reading import word_set
from matrix.kinds.playtest.detect.story import measures
from matrix.kinds.playtest.detect.story.particulars import WEEKDAY
from matrix.kinds.playtest.detect.story.people import people_of
from matrix.kinds.playtest.detect.story.prose import (
    Sentence,
    is_supposed,
    same_thing,
    sentences,
    thing_of,
)
from matrix.kinds.playtest.setup.state import Fact

KEPT_FACTS: Final = 40
GENERIC_FOR: Final = 2
"""Turns for which ``the door`` without anything that tells it from others is taken for one door."""

_EVENT: Final = "e"
"""Ends the value of a fact that an event set, not a statement."""


class Axis(NamedTuple):
    """States that exclude each other, and the words that lead from one to the other."""

    name: str
    sides: tuple[frozenset[str], frozenset[str]]
    changes: re.Pattern[str]


def _axis(name: str, one: str, other: str, changes: str) -> Axis:
    pattern = re.compile(rf"\b(?:{changes})", re.IGNORECASE)
    return Axis(name, (frozenset(one.split("|")), frozenset(other.split("|"))), pattern)


AXES: Final = (
    _axis(
        "access",
        "locked|shut|closed|barred|bolted|blocked|sealed|chained|padlocked|boarded up|bricked up",
        "open|unlocked|ajar|clear|unbarred|unsealed|unbolted",
        r"un?lock|unbar|unbolt|open|clos|shut|slam|swing|swung|push|pull|pr[iy]|forc|break|broke"
        r"|kick|pick|key|clear|block|barricad|seal|collaps|fall|fell|latch|give|gave|lift|burst",
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
        "out|dark|unlit|extinguished|cold",
        "lit|burning|glowing|alight|bright|warm",
        r"li(?:t|ght)|relight|kindl|match|go(?:es)? out|went out|blow|blew|snuff|extinguish|burn"
        r"|flicker|switch|turn|dim|dims|fail|feed|fed|fire|cool|heat|come|came|comes|gone|day|dawn"
        r"|night|dusk|morning|sun|moon|shine|die|power",
    ),
    _axis(
        "wholeness",
        "broken|shattered|smashed|destroyed|ruined|cracked|splintered|burnt",
        "intact|whole|unbroken|undamaged|untouched|unharmed",
        r"break|broke|shatter|smash|destroy|ruin|repair|mend|fix|rebuil|crack|another|new|spare",
    ),
    _axis(
        "fullness",
        "empty|bare|deserted|abandoned",
        "full|packed|crowded|filled|thronged|crammed",
        r"empt|fill|pour|drain|take|took|put|leave|left|load|crowd|arriv|come|came|gather|drink"
        r"|drank|drunk|eat|ate|throng|clear|spill|enter",
    ),
    _axis(
        "raised",
        "down|lowered",
        "up|raised|hoisted",
        r"rais|lower|hoist|haul|pull|push|roll|winds?\b|winding|winch|crank|lift|drop|fall|fell|let|rise|rose|draw"
        r"|drew|giv|gave|heav|run|ran|rattl|creak|groan|come|came|go|went|clos|open|slid|crash|swing|swung|turn|cut"
        r"|key|lever|wheel|chain",
    ),
    _axis(
        "wet",
        "dry|parched",
        "wet|soaked|soaking|flooded|drenched|dripping",
        r"dr(?:y|ies|ied)|wet|soak|flood|drench|drip|rain|water|thaw|melt|leak|pour|river|sea|tide"
        r"|spill|swim|swam|sun|fire|towel",
    ),
)

_RAISED: Final = "raised"
_IS_RAISED: Final = word_set(
    "shutter shutters drawbridge portcullis blind blinds barrier boom curtain curtains flag sail "
    "sails anchor gangway gangplank hatch awning visor ladder gate grille sash bridge"
)
"""Things that are up or down, as a state that lasts until somebody sees to it."""

_STATES: Final = {
    word: (axis, side) for axis in AXES for side in (0, 1) for word in axis.sides[side]
}
_SOFT: Final = word_set("shut closed blocked clear dark out cold warm up down")
"""What a thing may have become by itself since an event."""

_TRANSIENT: Final = word_set("fullness light wet")
"""Axes on which things change with the hour of the day."""

_TIMED: Final = re.compile(
    r"\b(?:by (?:now|then|the time|noon|night|day|midnight|morning|evening|dawn|dusk|\w+ o'clock"
    r"|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)|at (?:noon|night|dawn|dusk"
    r"|midnight|this hour|first light)|when you (?:come|get|return|wake)|tonight|today|later"
    r"|meanwhile|this morning|in the morning)\b",
    re.IGNORECASE,
)
_DETERMINED: Final = (
    r"(?:[Tt]he|[Yy]our|[Hh]is|[Hh]er|[Ii]ts|[Tt]heir|[Bb]oth|[Aa]ll(?: of)?(?: the)?|[Tt]his"
    r"|[Tt]hat)"
)
_SUBJECT: Final = rf"\b{_DETERMINED} (?P<subject>(?:[\w'-]+ ){{0,4}}?[\w'-]+?)"
_STATEMENT: Final = re.compile(
    rf"(?:{_SUBJECT}(?: (?:behind|before|beside|above|below) you)?|\b(?P<pronoun>[Ii]t|[Tt]hey"
    r"|[Ee](?:very|ach)(?: one)? of them|[Aa]ll of them|[Bb]oth(?: of them)?))"
    r"(?: (?:is|are|was|were|stands?|stood|has|have|lies?|lay|remains?|hangs?|sits?)\b|(?P<s>'s))"
    r"(?: still)?(?P<not> not)?"
    r"(?: (?:gone|been|all|quite|standing|wide|firmly|still|completely|both|indeed|stone|pitch"
    r"|half|too|tightly))*"
    rf" (?P<state>{'|'.join(_STATES)})\b(?P<after>[^.!?;]{{0,20}})"
)
_FOUND: Final = re.compile(
    rf"\b(?:find|finds|found|leave|leaves) {_DETERMINED} (?P<subject>(?:[\w'-]+ ){{0,3}}?[\w'-]+?)"
    rf" (?P<state>{'|'.join(_STATES)})\b(?P<after>[^.!?;]{{0,20}})"
)
_HAS: Final = re.compile(
    r"\b(?:[Tt]he|[Yy]our|[Tt]his|[Tt]hat) (?P<owner>[\w'-]+)(?: [\w'-]+){0,4}? (?:has|had"
    r"|keeps?|kept|stands?"
    r" with|stood with) (?:its|all its|both its|his|her"
    r"|their) (?P<thing>(?:[\w'-]+ ){0,2}?[\w'-]+?)"
    rf" (?P<state>{'|'.join(_STATES)})\b(?P<after>[^.!?;]{{0,20}})"
)
"""A part of something in a state (``the house has its windows shut``)."""

_HAVING: Final = word_set("has had keep keeps kept stands stood")
_INSISTED: Final = re.compile(
    r"\bas (?:it|they|he|she) (?:has|have|had)(?: always| ever)?(?: been)?\b|\bas (?:always|ever)\b"
    r"|\b(?:has|have|had) (?:always|never) been\b|\ball (?:night|day|week|along)\b"
    r"|\bday and night\b"
)
"""It has been so all the time, whatever may have happened since."""

_MARKED: Final = re.compile(
    r"\b(?:now|no longer|again|suddenly|at last|finally|this time|once more|turns out|any ?more)\b",
    re.IGNORECASE,
)
_NO_THING: Final = re.compile(
    r"\b(?:that|which|who|and|but|or|if|where|when|what|because|as|one|of you|is|are|was|were|has"
    r"|had|you|he|she|they|it|way to|only|most|some|with|from|like)\b"
)
_THE: Final = r"(?:the|your|his|her|their|a|an)"
_THING: Final = r"(?P<subject>(?:[\w'-]+ ){0,3}?[\w'-]+?)"
_EVENTS: Final = (
    (
        "access",
        1,
        re.compile(
            r"\b(?:push|pull|shove|forc|kick|swing|eas|heav|throw|wrench|pr[iy]s?|nudg|haul|drag"
            rf"|shoulder|tug)(?:e?s|ed|e|ing)? (?:open {_THE} {_THING}(?=[.,;:]|$| and\b)"
            rf"|{_THE} (?P<object>(?:[\w'-]+ ){{0,3}}?[\w'-]+?) (?:wide )?open\b)"
        ),
    ),
    (
        "access",
        1,
        re.compile(
            rf"\b[Tt]he {_THING} (?:(?:swings?|swung|creaks?|slides?|bursts?|flies|drifts?|bangs?"
            r"|grinds?|gives?) (?:slowly |suddenly )?open|opens|swings in)\b"
        ),
    ),
    (
        "access",
        1,
        re.compile(rf"\b(?:you|he|she|they) (?:un?lock|open)s?(?:ed)? {_THE} {_THING}(?=[.,;:]|$)"),
    ),
    (
        "wholeness",
        0,
        re.compile(
            rf"\b[Tt]he {_THING} (?:breaks|broke|shatters|shattered|smashes|smashed|explodes"
            r"|splinters|crumbles|bursts) (?:into|to|in|on|against|apart|at|under|over)\b"
        ),
    ),
)
GONE: Final = "gone"
_LOST: Final = (
    re.compile(
        r"\b(?:[Tt]he|[Yy]our|[Hh]is|[Hh]er|[Tt]hat|[Ii]ts) "
        r"(?P<thing>(?:[a-z'-]+ ){0,2}?[a-z'-]+)"
        r" (?:sinks (?:out of|into|to|beneath)|is swept away|burns (?:to|away|up)"
        r"|crumbles (?:to|into)"
        r"|dissolves|is gone (?:for good|for ever|forever)|is destroyed|goes up in (?:flames|smoke)"
        r"|vanishes|(?:falls|drops|tumbles|plunges) (?:into|down|over) the|is lost (?:for|to)"
        r"|shatters"
        r"|melts away|turns to (?:ash|dust))\b"
    ),
    re.compile(
        r"\b(?:throws?|toss(?:es)?|flings?|hurls?|drops?|burns?|casts?|feeds?|threw|burned|burnt)"
        r" (?:the|your|his|her) (?P<thing>(?:[a-z'-]+ ){0,2}?[a-z'-]+)"
        r" (?:into|in|over|on|to) the (?:fire|sea|river|lake|flames|abyss|water|stove|chasm|furnace"
        r"|waves|well|harbour|hearth|ocean)\b"
    ),
)
_HAD: Final = re.compile(
    r"\b(?:hold|holds|holding|clutch|clutches|takes|take|draws?|pulls?|unfolds?|reads?|raises?|still"
    r"|shows?|hands?|wears?|pocket|fingers|lift|lifts|uses?|opens?)\b[^.!?;]{0,40}?"
    r"\b(?:the|your|his|her|its) (?P<thing>(?:[a-z'-]+ ){0,2}?[a-z'-]+)(?=[,.;:]|$| (?:out|from"
    r"|in|up|on|and"
    r"|into|is|to|with)\b)"
)
_REGAINED: Final = re.compile(
    r"\b(?:found|recover|retriev|return|another|cop(?:y|ies)|fish|wash|second|new|spare|rest of"
    r"|half|piece"
    r"|shard|fragment|ash|other|back\b|where the|memory|duplicate)",
    re.IGNORECASE,
)

_IN_OTHER_WORDS: Final = (
    (
        re.compile(
            r"\b(?:will not|won't|would not|wouldn't|does not|doesn't|did not|didn't|refuses to"
            r"|refused to) (?:budge|open|give|move an inch|yield)\b(?! (?:up|in|you|him|her|way))"
        ),
        "is locked",
    ),
    (re.compile(r"\b(?:holds|held) (?:fast|firm)\b"), "is locked"),
    (
        re.compile(r"\b(?:gapes?|gaped|yawns?|yawned|hangs?|hung|lies|lay) (?:wide )?open\b"),
        "is open",
    ),
    (re.compile(r"\b(?:has|have) been (?=(?:locked|barred|bolted|sealed)\b)"), "is "),
)
"""What says a state without its word, and how it is read."""

_TAKES_AWAY: Final = {
    **measures.CHANGES,
    GONE: _REGAINED,
    **{axis.name: axis.changes for axis in AXES},
}
"""Axis -> words that, in a sentence with its subject, take a fact away."""

_OF_THE_HOUR: Final = (measures.CLOCK, measures.DAYTIME, WEEKDAY)
_LIGHTS: Final = re.compile(
    r"\b(?:lights?|lamps?|switch|power|candles?|torch(?:es)?|lanterns?|out (?:they|it) goe?s?)\b",
    re.IGNORECASE,
)
"""What changes the light wherever one is."""

_HANDLED: Final = word_set("access raised")
_IT: Final = word_set("it they")
_IT_MOVES: Final = re.compile(
    r"\b(?:[Ii]t|[Tt]hey) (?:gives?|gave|yields?|yielded|opens?|opened|swings?|swung|lifts?"
    r"|lifted|rises?|rose"
    r"|goes (?:up|down)|comes? (?:up|down)|slides?|slid|drops?|dropped|falls?"
    r"|fell)\b(?! (?:you|him|her))"
)
"""What something does without its name (``It gives.``), on axes where that is common."""

_SIMPLE: Final = frozenset(_STATES)


class Utterance(NamedTuple):
    """Something said at the table: by the narrator, or by a player, which may change things."""

    turn: int
    text: str
    narrated: bool = True


class Contradiction(NamedTuple):
    """A sentence that cannot hold beside a fact; the guide's facts are of turn 0."""

    against: Fact
    sentence: str


def follow_facts(
    known: Sequence[Fact], told: Iterable[Utterance], guide: str = ""
) -> tuple[list[Contradiction], tuple[Fact, ...]]:
    """What contradicts a known fact or one told on the way; and what is known after it.

    Args:
        known: Facts from before, the newest first.
        told: What was said since, in order.
        guide: The story guide, which knows how many there are of what.
    """
    book = FactBook(known, measures.of_guide(guide), people_of(guide).names)
    for line in told:
        if line.narrated:
            book.hear(line)
        else:
            book.heed(line.text)
    return book.found, book.kept


class FactBook:
    """The facts of a story, the newest last, and what was found against them."""

    def __init__(
        self,
        known: Sequence[Fact],
        guide: Mapping[tuple[str, str], str],
        names: Mapping[str, str],
    ) -> None:
        self._facts, self._guide, self._names = list(reversed(known)), guide, names
        self.found: list[Contradiction] = []

    @property
    def kept(self) -> tuple[Fact, ...]:
        """The newest facts, the newest first."""
        return tuple(reversed(self._facts))[:KEPT_FACTS]

    def heed(self, text: str) -> None:
        """Take away what a player's words may have changed."""
        for sentence in sentences(text):
            self._change(sentence, "")

    def hear(self, line: Utterance) -> None:
        """Follow an output of the narrator."""
        topic = ""
        for sentence in _read(line.text):
            stated = list(_stated(sentence, topic, line.turn))
            self._change(sentence, sentence.text)
            if not is_supposed(sentence.text):
                for fact, word in stated:
                    self._state(fact, word, sentence)
                for fact in _events(sentence, line.turn):
                    self._set(fact)
                self._hold(sentence)
                for fact in _losses(sentence, line.turn):
                    self._set(fact)
            topic = sentence.topic or topic
        for claim in measures.claims(line.text, line.turn):
            self._claim(claim)

    def _change(self, sentence: Sentence, told: str) -> None:
        if not self._facts:
            return
        rest = _STATEMENT.sub("", sentence.text) if told else sentence.text
        self._facts = [fact for fact in self._facts if not _may_change(fact, sentence, rest)]

    def _state(self, fact: Fact, word: str, sentence: Sentence) -> None:
        before = self._against(fact)
        if before is not None and not self._is_excused(before, fact, word, sentence.text):
            self.found.append(Contradiction(before, sentence.said))
        self._set(fact)

    def _hold(self, sentence: Sentence) -> None:
        """Find things that are gone and in somebody's hands all the same."""
        for fact in [fact for fact in self._facts if fact.axis == GONE]:
            if fact.subject.rsplit(" ", 1)[-1] not in sentence.words:
                continue
            held = any(
                same_thing(thing_of(match["thing"]), fact.subject, near=True)
                for match in _HAD.finditer(sentence.text)
            )
            if held:
                self.found.append(Contradiction(fact, sentence.said))
                self._facts.remove(fact)

    def _is_excused(self, before: Fact, fact: Fact, word: str, text: str) -> bool:
        if _INSISTED.search(text):
            return False
        if before.value.endswith(_EVENT) and word in _SOFT:
            return True
        if _MARKED.search(text):
            return True
        return fact.axis in _TRANSIENT and _TIMED.search(text) is not None

    def _against(self, fact: Fact) -> Fact | None:
        for known in reversed(self._facts):
            if known.axis == fact.axis and same_thing(
                known.subject, fact.subject, near=fact.turn - known.turn <= GENERIC_FOR
            ):
                return known if known.value[:1] != fact.value[:1] else None
        return None

    def _set(self, fact: Fact) -> None:
        self._facts = [
            known
            for known in self._facts
            if not (known.axis == fact.axis and same_thing(known.subject, fact.subject, near=True))
        ]
        self._facts.append(fact)

    def _is_alias(self, known: Fact, fact: Fact) -> bool:
        """Whether two names are of one person of the guide, or of two whom it has both."""
        one, other = (self._names.get(fact.value.lower()) for fact in (known, fact))
        return one is not None and (one == other or other is not None)

    def _claim(self, claim: measures.Claim) -> None:
        fact = claim.fact
        known = [one for one in self._facts if (one.axis, one.subject) == (fact.axis, fact.subject)]
        told = self._guide.get((fact.axis, fact.subject))
        if not known and told is not None:
            known = [fact.model_copy(update={"value": told, "turn": 0})]
        if any(measures.agrees(one, claim) for one in known):
            return
        if fact.axis == measures.NAME and any(self._is_alias(one, fact) for one in known):
            return
        if claim.held and known and measures.excludes(known[-1], claim):
            self.found.append(Contradiction(known[-1], claim.sentence))
        if claim.held:
            self._facts = [one for one in self._facts if one not in known]
        self._facts.append(fact)


def sentence_of(fact: Fact, text: str) -> str:
    """The sentence of a narrator's output that told a fact; empty if none did."""
    topic = ""
    for sentence in _read(text):
        told = [one for one, _ in _stated(sentence, topic, fact.turn)]
        told += [*_events(sentence, fact.turn), *_losses(sentence, fact.turn)]
        if fact in told and not is_supposed(sentence.text):
            return sentence.said
        topic = sentence.topic or topic
    claims = (one for one in measures.claims(text, fact.turn) if one.fact == fact)
    return next((one.sentence for one in claims), "")


def _read(text: str) -> Iterator[Sentence]:
    """The sentences of a text with states in their plain words; as said, in its own."""
    plain = text
    for pattern, words in _IN_OTHER_WORDS:
        plain = pattern.sub(words, plain)
    for read, told in zip(sentences(plain), sentences(text), strict=True):
        yield read._replace(said=told.said)


def _may_change(fact: Fact, sentence: Sentence, told: str) -> bool:
    """Whether a sentence may tell of a change to what a fact is about."""
    if fact.axis in _OF_THE_HOUR:
        return measures.TIME_PASSES.search(told) is not None
    if fact.axis == "light" and _LIGHTS.search(told):
        return True
    if fact.axis in _HANDLED and sentence.words & _IT and _IT_MOVES.search(told):
        return True
    if (
        fact.axis == measures.COUNT
        and sentence.words & measures.MORE
        and measures.MORE_COME.search(told)
    ):
        return True
    if fact.subject.rsplit(" ", 1)[-1] not in sentence.words:
        return False
    changes = _TAKES_AWAY.get(fact.axis)
    return changes is not None and changes.search(told) is not None


def _stated(sentence: Sentence, topic: str, turn: int) -> Iterator[tuple[Fact, str]]:
    """Plain statements of a sentence about states."""
    if sentence.text.endswith("?") or not (sentence.words & _SIMPLE):
        return
    for pattern in (_STATEMENT, _FOUND, _HAS) if sentence.words & _HAVING else (_STATEMENT, _FOUND):
        for match in pattern.finditer(sentence.text):
            whole = match.groupdict()
            named = _part_of(whole) if pattern is _HAS else whole["subject"]
            subject = thing_of(named) if named else topic
            if not subject or _NO_THING.search((named or "").lower()):
                continue
            if match["after"].strip().startswith(("or ", "enough", "to ", "with ", "of ")) and (
                match["state"] not in ("full", "empty", "bare", "up", "down")
            ):
                continue
            axis, side = _STATES[match["state"]]
            if axis.name == _RAISED and not _is_raised(subject, match["after"]):
                continue
            if whole.get("not"):
                side = 1 - side
            yield Fact(axis=axis.name, subject=subject, value=str(side), turn=turn), match["state"]


def _part_of(told: Mapping[str, str | None]) -> str:
    """A part by the name of the whole, unless that is somebody."""
    owner, thing = told["owner"] or "", told["thing"] or ""
    return f"{owner} {thing}"


def _is_raised(subject: str, after: str) -> bool:
    """Whether ``up`` and ``down`` tell the state of a thing, and not where it is."""
    if subject.rsplit(" ", 1)[-1] not in _IS_RAISED:
        return False
    return _STATE_ENDS.match(after) is not None


_STATE_ENDS: Final = re.compile(
    r"[,:\u2014-]|\Z| (?:and|but|as|to the ground|again|now|so|all|for)\b"
)
"""What follows the word for a state that is not one for a place: ``down the hill``."""


def _losses(sentence: Sentence, turn: int) -> Iterator[Fact]:
    """What a sentence tells to be gone."""
    for pattern in _LOST:
        for match in pattern.finditer(sentence.text):
            if not _NO_THING.search(match["thing"]):
                yield Fact(axis=GONE, subject=thing_of(match["thing"]), value="0", turn=turn)


def _events(sentence: Sentence, turn: int) -> Iterator[Fact]:
    """What a sentence tells to have become so."""
    for axis, side, pattern in _EVENTS:
        for match in pattern.finditer(sentence.text):
            told = match["subject"] or match.groupdict().get("object") or ""
            subject = thing_of(told)
            if subject and not _NO_THING.search(told.lower()):
                yield Fact(axis=axis, subject=subject, value=f"{side}{_EVENT}", turn=turn)
