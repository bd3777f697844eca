"""Problems worth a human's eye, found in the text by rules: pure functions, one per kind.

Rules are cheap and say where to look. They prefer to stay silent over crying wolf, so their counts
are lower bounds; the judge's ``coherence`` sees what rules cannot.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from matrix.kinds.playtest.detect.loops import find_repetition
from matrix.kinds.playtest.detect.reading import (
    NUMBER_WORDS,
    HeardOutput,
    is_cut_off,
    is_degenerate,
    is_foreign,
    is_foreign_text,
    is_jumbled,
    strays_from_prose,
    unquoted,
    word_set,
)
from matrix.kinds.playtest.detect.story.deaths import find_returned
from matrix.kinds.playtest.detect.story.facts import Utterance, follow_facts, sentence_of
from matrix.kinds.playtest.detect.story.people import find_breaks, find_confessions
from matrix.kinds.playtest.detect.strangers import TableLines, find_strangers
from matrix.kinds.playtest.setup.state import Fact
from matrix.model.records import JSON

WARNING: Final = "warning"
ERROR: Final = "error"


class IssueFound(NamedTuple):
    """Something to record as an event."""

    kind: str
    subject: str = ""
    detail: str = ""
    severity: str = ""
    value: float | None = None
    data: Mapping[str, JSON] | None = None


def quoted(text: str, limit: int = 120) -> str:
    """A text as a short quotation for an event."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 3].rsplit(" ", 1)[0] + "..."


def detect_loop(pieces: Sequence[str], told: Mapping[int, Sequence[str]]) -> IssueFound | None:
    """An output that mostly repeats an earlier one, or paragraphs of several.

    Its share is of the output's runs of four words, and whoever counts again finds no less.

    Args:
        pieces: What of the output all heard, and what single players heard.
        told: The narrator's outputs before it by turn, in the same pieces.
    """
    found = find_repetition(pieces, told)
    if found is None:
        return None
    share = f"{found.share:.0%}" if found.share < 1 else "all"
    turns = f"turn{'s' if len(found.turns) > 1 else ''} {', '.join(map(str, found.turns))}"
    detail = f"{share} of the output was said in {turns}: {quoted(found.words)}"
    data: Mapping[str, JSON] = {"turns": list(found.turns)}
    return IssueFound("loop", "narrator", detail, ERROR, round(found.share, 3), data)


def detect_forced_segue(reading: HeardOutput, segue: str, *, worded: bool) -> IssueFound | None:
    """A return to the story that announces itself, by its wording or by the classifier's word."""
    if not worded and segue != "forced":
        return None
    source = "announced in so many words" if worded else "by the classifier's judgement"
    return IssueFound("forced_segue", "narrator", f"{source}: {quoted(reading.spoken)}", WARNING)


def detect_stuck(turn: int, last_pulse: int, after: int) -> IssueFound | None:
    """No pulse for ``after`` turns; said again each time as many more have passed."""
    gap = turn - last_pulse
    if gap <= 0 or gap % after:
        return None
    severity = WARNING if gap == after else ERROR
    since = f"since turn {last_pulse}" if last_pulse else "since the story began"
    return IssueFound("stuck", "story", f"no pulse for {gap} turns, {since}", severity, float(gap))


def detect_deviations(
    reading: HeardOutput,
    known: frozenset[str],
    lines: TableLines,
    narrated: Iterable[str] = (),
    guide: str = "",
) -> list[IssueFound]:
    """People, places and things of which neither the guide nor anybody at the table has spoken.

    Args:
        reading: The output.
        known: Words of the guide, of title and setting.
        lines: What was said before, and who the players are.
        narrated: The narrator's outputs before this one.
        guide: The story guide.
    """
    return [
        IssueFound("guide_deviation", found.name, found.detail, WARNING)
        for found in find_strangers(reading.spoken, known, lines, narrated, guide)
    ]


def detect_confessions(reading: HeardOutput, guide: str) -> list[IssueFound]:
    """People who own up to what the guide says they have not done."""
    return [
        IssueFound(
            "guide_deviation",
            one.name,
            f"the guide says {quoted(one.told, 60)!r}: {quoted(one.sentence)}",
            WARNING,
        )
        for one in find_confessions(reading.spoken, guide)
    ]


def detect_contradictions(
    known: Sequence[Fact],
    told: Sequence[Utterance],
    guide: str = "",
    before: Callable[[int], Sequence[str]] = lambda _: (),
) -> tuple[list[IssueFound], tuple[Fact, ...]]:
    """Statements against what was told before; and what is known after them.

    Args:
        known: Facts from before, the newest first.
        told: What was said since, in order.
        guide: The story guide.
        before: What the narrator said at an earlier turn, to quote it.
    """
    found, facts = follow_facts(known, told, guide)
    findings = []
    for one in found:
        at = one.against.turn
        texts = [*before(at), *(line.text for line in told if line.narrated and line.turn == at)]
        earlier = next(filter(None, (sentence_of(one.against, text) for text in texts)), "")
        if earlier:
            detail = f"turn {at}: {quoted(earlier)!r} against: {quoted(one.sentence)!r}"
        else:
            source = f"turn {at} said" if at else "the guide says"
            detail = f"{source} the opposite of: {quoted(one.sentence)}"
        findings.append(IssueFound("contradiction", one.against.subject, detail, ERROR))
    return findings, facts


def detect_returned(reading: HeardOutput, guide: str, dead: Mapping[str, int]) -> list[IssueFound]:
    """People who are dead and act all the same; ``dead`` has the turn of each death."""
    return [
        IssueFound(
            "contradiction",
            one.name,
            f"dead {f'since turn {dead[one.name]}' if dead.get(one.name) else 'by the guide'}: "
            f"{quoted(one.sentence)}",
            ERROR,
        )
        for one in find_returned(reading.spoken, guide, tuple(dead))
    ]


_LOST: Final = re.compile(
    r"\bi(?:'m| am| feel) (?:so |completely |totally |a bit |a little |really |very |just |now )*"
    r"(?:lost\b(?! in (?:the |this |that |thought|my))|confused|baffled)\b"
    r"|\bwe(?:'re| are) (?:so |completely |all |a bit |totally )?(?:lost here|confused)\b"
    r"|\bwhat(?:'s| is| on earth is| just) (?:even )?(?:going on|happen(?:ing"
    r"|ed))\b[^.!?\n]{0,15}\?"
    r"|\bno idea what(?:'s| is) (?:going on|happening)\b|\b(?:not|n't) following\b"
    r"|\b(?:that|this|it) (?:makes no|doesn't make(?: any)?|does not make(?: any)?) sense\b"
    r"(?! of |, (?:i love|but i (?:love|like)|great|nice))"
    r"|\bi (?:don't|do not|can't|cannot) (?:get|understand|follow) (?:what|this|that|any|where"
    r"|who)\b"
    r"|\bwho(?:'s| is) ['\"\u2018\u201c](?:he|she|they|it|who)['\"\u2019\u201d]\?"
    r"|\bwho(?:'s| is) who\b|\bwhich (?:\w+ )?is which\b|\bwhich of (?:who|whom|them|us)\?"
    r"|\b(?:i've|we've|i have|we have) lost (?:track|which|who|the thread|count of who)\b"
    r"|\b(?:can't|cannot|couldn't) (?:tell|work out|figure out) (?:which|who|what|where)\b"
    r"(?! (?:it|that|this|she|he|they)(?:'s| is) made)"
    r"|\bi don't (?:get|understand) (?:it|what just)\b|\bwhat just happened\b"
    r"|\bgave what to wh"
    r"|\b(?:wait|sorry|hang on|hold on|huh)\b[^.!?\n]{0,12}\bwho(?:'s| is) (?:he|she|they|it)\?"
    r"|\b(?:wait|sorry|hang on|hold on|huh)\b[^.!?\n]{0,12}\b(?:where are we|who am i"
    r"|which one of us"
    r"|who are we talking (?:about|to)|who is talking|who's talking|what are we (?:doing"
    r"|supposed))\b"
    r"|\b(?:i|we) (?:(?:have|'ve) )?(?:(?:just|completely|totally|kind of|sort of) )?lost"
    r" (?:track|the (?:thread|plot))\b(?! of (?!who|what|where|which|how|everything|this|that"
    r"|it\b|all|things|the (?:story|plot)))"
    r"|\b(?:can|could|would|will|please)(?: [\w']{1,20}){0,2} (?:catch (?:me|us) up"
    r"|fill (?:me|us) in|bring (?:me|us) up to (?:speed|date)|remind (?:me|us) (?:where|who"
    r"|what we))\b"
    r"|\b(?:wait|hang on|hold on|huh)\b[^.!?\n]{0,12}\bwho(?:'s| is| are| was| were)"
    r" (?:the )?(?:[\w'-]{1,20} ){1,3}again\?"
    r"|\bwhat (?:are|were) we (?:even |actually )?(?:trying|supposed|meant)(?: to (?:do|be))?"
    r"(?: here| again| now)?\?"
    r"|\b(?:i|we)(?:'m| am|'re| are) not (?:really |quite |at all )?(?:sure|clear)"
    r" (?:what(?:'s| is) (?:going on|happening)|where we are|what we(?:'re| are) (?:doing|supposed"
    r"|meant|trying))"
    r"|\bwe don't know (?:where we are|who is (?:who|meant)|what (?:is|was) (?:going on|asked))\b",
    re.IGNORECASE,
)
_LINKS_TWO: Final = (
    r"(?:has|have|had|holds?|gave|gives?|giving|told|tells?|said|says|saying|did|does|doing|took|takes|got"
    r"|gets|asked|asks|is|are|was|were|wants?|means?|meant)"
)
_CANNOT_TELL: Final = re.compile(
    rf"(?:\A|[.!?,] |\b(?:wait|sorry|but|so|and|huh) )who (?:(?!ask|find|see)[\w']{{1,12}} )?"
    rf"{_LINKS_TWO} (?:[\w']{{1,12}} ){{0,2}}?(?:what|whom?|which"
    rf"|whose)\b[^.!?\n]{{0,30}}\?(?<!who knows what\?)"
    r"|\bno idea who(?:'s| is| was| said)? (?:\w+ )?(?:what|whom?|saying|talking|speaking|meant)\b"
    r"|\bwho(?:'s| is| are) (?:the |this )?['\"\u2018\u201c][\w ']{1,24}['\"\u2019\u201d]\?"
    r"|\bi (?:really )?(?:don't|do not|can't|cannot) (?:understand|follow)(?=[.!?,;]|\Z)",
    re.IGNORECASE,
)
"""Questions that ask for both ends of a deed, and bare words of not understanding."""

_DOUBTS: Final = re.compile(r"\b[Ww]ho\b|\bno idea\b|\b(?:understand|follow)\b")
"""Stands in every text that the former can match."""

_ASKS_BACK: Final = re.compile(
    r"(?i:\b(?:wait|sorry|hang on|hold on|huh)[,.!?]* (?:but )?(?:what|who)\b(?:[?!]+|\Z)"
    r"|\A(?:sorry|pardon|huh|come again)\?+|\b(?:wait|sorry|hang on|hold on"
    r"|huh)[,.!?]* (?:but )?(?:which|whose)"
    r" \w+\?|\bthe (?:\w+ )?(?:what|who)\?|\b(?:left|right|other|one|first|second) what\b"
    r"|\b(?:can|could|would|will) you (?:please )?(?:say|tell|repeat|explain|describe"
    r"|read) (?:\w+ ){0,3}?again\b"
    r"|\bsay again\b|\b(?:can|could|would) you (?:please )?repeat\b|\bcan't read (?:that"
    r"|this)\b|\bme neither\b"
    r"|\bsame here\b|\b(?:who|which one)(?:'s| is) (?:talking|speaking)\?)"
    r"|\b[Ww]h(?:ich|ose) [A-Z]\w+(?: is (?:this|that|it))?\?",
)
"""Asking back: nothing in one player, who may do so in the story, and telling in two of them."""

_SAID_TWICE: Final = re.compile(
    r"\bdidn't (?:that|this) (?:just|already) happen\b|\byou (?:just|already) said that\b"
    r"|\bwe(?:'ve| have) (?:had|heard|done) (?:this|that)(?: (?:bit|part|one|scene))?,?"
    r" (?:already|before|haven't we)\b",
    re.IGNORECASE,
)
_LOST_TELLER: Final = re.compile(
    r"\bi(?:'m| am) not (?:sure|certain) (?:who|what|which of) (?:you|the group)\b"
    r"|\bi(?:'ve| have) lost track\b|\bcould you (?:please )?clarify\b"
    r"|\bi(?:'m| am) (?:a (?:bit|little) )?confused (?:about|by|as to)\b",
    re.IGNORECASE,
)


_LOST_HINTS: Final = (
    "lost",
    "confused",
    "baffled",
    "going on",
    "happen",
    "sense",
    "understand",
    "'t follow",
    "not follow",
    "already said",
    "just said",
    "who is",
    "who's",
    "where are we",
    "know where",
    "following",
    "don't get",
    "which",
    "track",
    "catch ",
    "fill ",
    "up to ",
    "remind ",
    "again?",
    "are we",
    "were we",
    "not sure",
    "not clear",
    "'t tell",
    "cannot tell",
    "out wh",
    "no idea",
    "who ",
    " what?",
    "we've ",
    "we have ",
    "again",
    "sorry?",
    "huh?",
    "pardon",
)


def detect_confusion(
    said: Sequence[tuple[str, str]], absent: Collection[str] = (), *, repeated: bool = False
) -> IssueFound | None:
    """Players who say that they cannot follow; an error when it is half of the group or more.

    Args:
        said: Players and what each said.
        absent: Those who lose track by habit: nothing is made of one of them alone.
        repeated: The output was a loop: to say that one has heard it is no confusion.
    """
    together = "\n".join(text for _, text in said).lower().replace("\u2019", "'")
    if not any(hint in together for hint in _LOST_HINTS):
        return None  # the usual case, without a regular expression
    lost = [(name, text) for name, text in said if _is_lost(text, repeated=repeated)]
    if not lost and not repeated:
        asking = [(name, text) for name, text in said if _asks_back(text)]
        lost = asking if len(asking) >= _TOGETHER else []
    if not lost or (len(lost) == 1 and lost[0][0] in absent):
        return None
    severity = ERROR if len(lost) >= 2 and len(lost) * 2 >= len(said) else WARNING
    who = ", ".join(name for name, _ in lost)
    return IssueFound("confusion", who, quoted(lost[0][1]), severity, float(len(lost)))


def _is_lost(text: str, *, repeated: bool) -> bool:
    plain = text.replace("\u2019", "'")
    if _LOST.search(plain) or (_DOUBTS.search(plain) and _CANNOT_TELL.search(plain)):
        return True
    return not repeated and _SAID_TWICE.search(plain) is not None


def _asks_back(text: str) -> bool:
    plain = text.replace("\u2019", "'")
    low = plain.lower()
    return any(hint in low for hint in _BACK_HINTS) and _ASKS_BACK.search(plain) is not None


_BACK_HINTS: Final = (
    "wait", "sorry", "pardon", "huh", "hold on", "hang on", " what?", " who?", "again", " what",
    "read th", "neither", "same here", "is talking", "'s talking", "speaking", "which", "whose",
)  # fmt: skip


_TOGETHER: Final = 2
"""Players who have to ask back before it is the narration that is not clear."""


def detect_lost_narrator(reading: HeardOutput) -> IssueFound | None:
    """A narrator that does not know what was asked of it, or by whom."""
    plain = unquoted(reading.spoken).replace("\u2019", "'")
    match = _LOST_TELLER.search(plain)
    if match is None:
        return None
    return IssueFound("confusion", "narrator", quoted(plain[match.start() :]), WARNING, 1.0)


_OUT_OF_ROLE: Final = re.compile(
    r"\bas an? (?:ai|a\.i\.|artificial intelligence|(?:large )?language model|assistant)\b"
    r"|\bas (?:the|your) (?:narrator|game ?master|gm|dm|author|storyteller)\b"
    r"|\bi(?:'m| am) (?:just |only )?an? (?:ai|language model|assistant|chatbot)\b"
    r"|\bmy (?:training data|programming|guidelines|instructions|content policy|knowledge cutoff)\b"
    r"|\bi (?:can't|cannot|am unable to|won't|am not able to)"
    r" (?:continue|help with|assist with|generate|create|fulfil|comply|engage)\b"
    r"|\bi(?:'d| would| am|'m) (?:be )?happy to (?:help|assist|continue)\b"
    r"|\b(?:the|my|this) (?:system )?prompt\b(?! (?:reply|answer|return))"
    r"|\b(?:the|my|this|your) story guide\b|\baccording to (?:my|the) (?:notes|guide|script"
    r"|outline)\b"
    r"|\b(?:next|this|first|second|third|final|last|current) (?:story )?(?:pulse|beat) (?:is"
    r"|of the|in"
    r"|calls|should)\b|\bi apologi[sz]e for (?:the|any|my) (?:confusion|error|mistake|inconsistency"
    r"|oversight)\b|\blet me know (?:if|how|when) you(?:'d| would)? (?:like|want|prefer)\b"
    r"|\bwould you like me to\b|\b(?:token|context) (?:limit|window)\b"
    r"|\bhere(?:'s| is) (?:an example of )?(?:a|the) "
    r"(?:revised|rewritten|updated|improved|edited) (?:version|scene)\b"
    r"|\b(?:maintain|disrupt|enhanc)(?:s|es|ing|e)? the (?:\w+ )?(?:flow|narrative|dialogue)"
    r"\b(?! of)"
    r"|\byour protagonist\b|\bthe original (?:narrative|prompt|text):?(?=\n|$)"
    r"|\[insert\b|\b(?:npc|player character)s?\b"
    r"|\bmy (?:next|last|previous) (?:response|message|reply|output)\b"
    r"|\b(?:the|my|our|your) outline (?:asks|says|calls|wants|has|requires|suggests|puts|needs)\b"
    r"|\b(?:the |as )(?:one|person|author|writer) (?:who(?:'s| is) )?writing (?:this|it"
    r"|the (?:story|scene))\b"
    r"|\b(?:pulse|beat|scene) (?:\d{1,2}|[ivx]{1,4}|"
    + "|".join(NUMBER_WORDS[:12])
    + r") (?:of|out of) (?:\d{1,2}|[ivx]{1,4}|"
    + "|".join(NUMBER_WORDS[:12])
    + r")\b"
    r"|\b(?:advance|move along|wrap up|progress) (?:the|this|our) (?:plot|story|scene|narrative)\b"
    r"|\b(?:tell|let) me (?:know )?if you(?:'d| would) (?:prefer|like|rather)\b"
    r"|\b(?:page|screen) time\b"
    r"|\bout of character\b|\bin my (?:notes|outline)\b",
    re.IGNORECASE,
)
_OUT_OF_ROLE_WORDS: Final = word_set(
    "ai language model assistant training continue assist generate prompt guide artificial "
    "narrator "
    "master gm dm author storyteller chatbot programming guidelines instructions policy fulfil "
    "comply "
    "engage happy notes script outline pulse beat apologize apologise let like token context "
    "version "
    "insert npc npcs character create help a.i knowledge gamemaster response message reply output "
    "page screen tell writing scene plot narrative progress advance wrap roll protagonist flow "
    "original dialogue"
)


def detect_character_break(reading: HeardOutput) -> IssueFound | None:
    """A narrator that speaks as a machine, or of its instructions, instead of telling."""
    if not (reading.vocabulary & _OUT_OF_ROLE_WORDS):
        return None
    told = unquoted(reading.spoken).replace("\u2019", "'")
    match = _OUT_OF_ROLE.search(told)
    if match is None:
        return None
    return IssueFound("character_break", "narrator", quoted(told[match.start() :]), ERROR)


def detect_people_breaks(
    reading: HeardOutput, guide: str, done: Sequence[str] = ()
) -> list[IssueFound]:
    """People who act against what the guide tells of them; ``done`` were reported before."""
    return [
        IssueFound(
            "character_break",
            one.name,
            f"the guide says {quoted(one.told, 60)!r}: {quoted(one.sentence)}",
            WARNING,
        )
        for one in find_breaks(reading.spoken, guide, done)
    ]


def detect_cut(reading: HeardOutput) -> IssueFound:
    """An output that ended where its most tokens were reached: a setting's doing, and told as such.

    It is none of the issues that count: nothing is wrong with the narrator.
    """
    detail = (
        f"...{reading.spoken[-40:]} (its max_tokens; `params: {{narrator: {{max_tokens: N}}}}`)"
    )
    return IssueFound("cut_short", "narrator", detail, WARNING)


def detect_breakdown(
    reading: HeardOutput, guide: str = "", *, cut: bool = False
) -> IssueFound | None:
    """An output that falls apart: a broken record, a jumble, another language, code, a torn end.

    A torn end is none where the output was ``cut`` by a limit.
    """
    detail = ""
    if is_degenerate(reading):
        detail = f"{len(reading.vocabulary)} distinct words in {reading.length}"
    elif code := strays_from_prose(reading.spoken):
        detail = f"no prose: {quoted(code, 60)}"
    elif is_jumbled(reading):
        detail = f"words without order: {quoted(reading.spoken, 60)}"
    elif is_foreign(reading) and not is_foreign_text(guide):
        detail = f"another language than the guide's: {quoted(reading.spoken, 60)}"
    elif not cut and is_cut_off(reading.spoken):
        detail = f"cut off: ...{reading.spoken[-40:]}"
    return IssueFound("breakdown", "narrator", detail, ERROR) if detail else None
