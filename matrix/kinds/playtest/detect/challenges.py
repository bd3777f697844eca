"""What players hold against the narrator: that something was otherwise, that somebody would not.

Attentive players say so when a story contradicts itself (``Wait, weren't they empty?``), often
where no pattern could see it in the narrator's own words. Doubts about what a person of the story
has said are part of the story, and so are guesses at what something is. Words that may also be said
in the story (``That's it?``) count where the output gives them their meaning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple

from matrix.kinds.playtest.detect.issues import (
    ERROR,
    WARNING,
    IssueFound,
    detect_confusion,
    quoted,
)
from matrix.kinds.playtest.detect.reading import (
    NUMBER_WORDS,
    looks_back,
    winds_up,
    word_set,
    words_of,
)

_STATE: Final = (
    r"(?:dead|gone|locked|unlocked|open|closed|shut|empty|full|broken|smashed|shattered|burnt"
    r"|burned"
    r"|destroyed|lost|sealed|lit|out|asleep|alive|blind|deaf|mute|dry|wet|drowned|missing|buried"
    r"|married|dark|sunk|cut off|blocked|collapsed|killed|wounded|unconscious|only (?:one|two|three"
    r"|four|five|six)|(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
    r"|more|fewer|on the (?:other|left|right|first|second|third|top|ground)|upstairs|downstairs"
    r"|in the (?:cellar|attic|boat|sea|river|pocket|other)|left-handed|right-handed)"
)
_SUBJECT: Final = r"(?:it|they|he|she|there|that|the (?:\w+ ){1,3}?|[A-Z]\w+(?:'s \w+)? ?)"
_HESITATES: Final = r"(?i:wait|hang on|hold on|huh|hm+|um+|sorry|but|what)"
_LOST: Final = (
    r"(?:throw|threw|lose|drop|burn|drown|die|break|smash|leave|left|give|sink|fall|lock|unlock"
    r"|close"
    r"|destroy|eat|kill|bury|blow|go down|go over|say it was|use (?:it|that|them) up)"
)
_STATED: Final = re.compile(
    rf"\b(?i:wasn't|weren't|isn't|aren't) {_SUBJECT} ?(?:\w+ ){{0,2}}?{_STATE}\b[^.!?\n]{{0,40}}\?"
    rf"|\b[Dd]idn't (?:I|we|you|it|they|he|she|that|the \w+|[A-Z]\w+) (?:just |already )?{_LOST}\b"
    r"[^.!?\n]{0,40}\?"
    rf"|\bI thought {_SUBJECT} ?(?:was|were|had|is|are)(?: already| all| still)? {_STATE}\b"
    rf"|\bI thought (?:\w+ ){{1,2}}?(?:flights?|floors?|rooms?|of them|o'clock)\b"
    rf"|\b{_HESITATES}\b[,.!?\u2026 -]{{1,5}}(?:isn't )?(?:[A-Z]\w+|s?he|they|it)(?:'s| is| are"
    rf"|'re)"
    r" (?:still )?alive\b[^.!?\n]{0,20}\?"
    rf"|\b(?i:wait|hang on|hold on|huh|hm+|sorry|but) ?,? (?:the )?(?:\w+ ){{1,3}}?(?:was"
    rf"|were) {_STATE}"
    r" (?:a (?:minute|moment|second|turn) ago|just now|only just|last (?:time|turn))[.,?]"
    rf"|\b{_HESITATES}\b[^.!?\n]{{0,20}}\byou (?:just )?(?:said|told us) (?:it|there|they|the"
    rf"|that|he"
    r"|she)\b",
)
_TOLD_BY_SOMEBODY: Final = re.compile(
    r"\b(?:he|she|they|[A-Z]\w+) (?:said|says|told|claimed|swore|promised)\b|\bdid(?:n't)? (?:he"
    r"|she"
    r"|they) (?:say|tell|claim|swear)\b"
)
_ACTED: Final = re.compile(
    r"\b[Dd]id (?:s?he|they|it|[A-Z]\w+) (?:just|really) (?:talk|speak|say|see|hear|read|walk"
    r"|run|laugh"
    r"|smile|sing|swear|shoot|kill|eat|drink|hit|dance)\b"
    r"|\b[Ii]sn't (?:s?he|it|[A-Z]\w+) supposed to (?:be|have)\b"
    r"|\bI thought (?:s?he|they|it|[A-Z]\w+)(?: was|'d| had| would)? (?:never|couldn't|can't|didn't"
    r"|doesn't|hated|hates|wouldn't|won't|refused|was (?:mute|blind|deaf|shy|afraid|scared"
    r"|terrified))"
    r"|\b(?:S?he|[A-Z]\w+) (?:ATE|KILLED|SHOT|SPOKE|TALKED|HIT)\b"
)
_HINTS: Final = (
    "n't", "thought", "did ", "Did ", "alive", "said", "told", "ATE",
    "KILLED", "SHOT", "SPOKE", "TALKED", "HIT",
)  # fmt: skip
"""One of these is in every text that the expressions on states and deeds can match."""

_STATE_HINTS: Final = (
    *_HINTS, " ago", "just now", "only just", "last t", "ince when", "blind", "deaf", "lame",
    "paraly", "crippled", "bed", "legless", "wheelchair",
)  # fmt: skip
_DEED_HINTS: Final = (
    *_HINTS,
    "ince when",
    "imagined",
    "pictured",
    "expected",
    "like h",
    "out of ch",
)


_COUNT: Final = rf"(?:{'|'.join(NUMBER_WORDS)}|\\d{{1,4}})"
_RECOUNTED: Final = re.compile(
    rf"\b(?P<told>{_COUNT})\b[^.!?\n]{{0,20}}[?!]+ [^.!?\n]{{0,20}}?\bI thought (?:(?:there|it"
    rf"|we|they"
    rf"|you|he|she)(?:'d| was| were| had| are)?(?: only| all| said)? )?(?P<thought>{_COUNT})\b",
    re.IGNORECASE,
)
_DISABLED: Final = (
    (
        r"blind",
        word_set(
            "sees saw looks looked reads read squints spots spotted counts watches watched stares "
            "stared glances glanced studies spies sights peers shading winks"
        ),
    ),
    (
        r"lame|paraly[sz]ed|crippled|bedridden|bed-bound|legless|in a wheelchair",
        word_set(
            "walks walked runs ran run climbs climbed stands stood strides skips skipping dances "
            "stairs leaps jumps marches kneels rises legs comes came steps stepped"
        ),
    ),
    (
        r"deaf",
        word_set("hears heard hear listens listened answers answered overhears turns"),
    ),
)
"""What somebody cannot do, and words of doing it all the same."""

_UNABLE: Final = tuple(
    (
        re.compile(
            rf"\b{_HESITATES}\b[,.!?\u2026 -]{{1,5}}(?:(?:[Tt]he )?[\w'-]+?|s?he|they)"
            rf"(?:'s| is| was|'re| are) (?:{word})\b[^.!?\n]{{0,12}}\?"
            rf"|\b(?i:wasn't|weren't|isn't|aren't) (?:the )?(?:[\w'-]+ ){{1,2}}?(?:{word})\b"
            rf"|\bI thought (?:the )?(?:[\w'-]+ ){{1,2}}?(?:was|were|is|are) (?:{word})\b"
        ),
        does,
        re.compile(rf"\b(?:{word})\b"),  # an output with the word itself knows of it
    )
    for word, does in _DISABLED
)
_GONE_BEFORE: Final = re.compile(
    r"\b(?:dead|gone|asleep|unconscious|killed|drowned|lost|missing)\b"
)
_EXPLAINED: Final = re.compile(
    r"\b(?:alive|breath\w*|opens? (?:one|an|his|her|its) eyes?|not dead|wakes?|awake|stirs?"
    r"|coughs?|groans?|sits up"
    r"|twitch\w*|pulse|heartbeat|survived?|escaped|returns?|returned|(?:come|came|comes) back"
    r"|turns out|faked)\b",
    re.IGNORECASE,
)
"""What brings somebody back, told in the output itself."""

_COULD_NOT: Final = re.compile(
    r"\bI thought (?:the )?(?:[\w'-]+ ){1,2}?(?:couldn't|can't|could not|cannot)"
    r" (?:walk|see|hear|move|stand|get (?:up|out of bed))\b"
)
_SINCE_WHEN: Final = re.compile(
    r"\b[Ss]ince when (?:(?:is|are|was|were) (?:there|it|the|this|that)\b|(?:do|does) (?:it"
    r"|the|this))"
)
_NOT_ONESELF: Final = re.compile(
    r"\b[Ss]ince when (?:does|can) (?:s?he|[A-Z][a-z]+)\b"
    r"|\b[Ww]asn't (?:s?he|[A-Z][a-z]+) (?:so |very |really |rather )?(?:shy|quiet"
    r"|silent|gentle|kind|polite|calm|patient|timid|honest|discreet|loyal|gruff|strict|serious"
    r"|taciturn|tight-lipped|modest|humble|meek)\?"
    r"|\bnot (?:at all )?(?:how|what|who|the way) I(?:'d| had)? (?:imagined|pictured"
    r"|expected) (?:him"
    r"|her|them)\b|\bnot like (?:him|her) at all\b|\b(?:he|she)'s (?:so |really |very )?out of"
    r" character\b",
)
_NOTHING_COMES: Final = re.compile(
    r"\bnothing(?:'s| is| ever)? (?:really |ever )?happen(?:s|ing|ed)\b(?! (?:to|if|when|until))"
    r"|\b(?:are|is|we're|this is) (?:(?:just|we|still) ){0,2}(?:getting|going) (?:us )?nowhere\b"
    r"|\b(?:not|n't) (?:really )?getting (?:us )?anywhere\b",
    re.IGNORECASE,
)
_TOO_SOON: Final = re.compile(
    r"\b(?:over|done|finished|ended?) (?:already|so soon)\b|\balready (?:over|finished|the end)\b"
    r"|\b(?:that|it|this) was (?:(?:so|very|really|a bit|rather|awfully) )?(?:short|abrupt"
    r"|sudden)\b",
    re.IGNORECASE,
)
_WAS_THAT_ALL: Final = re.compile(
    r"\b(?:(?:that|this)(?:'s| is| was)|(?:is|was) (?:that|this)) (?:really )?(?:it|all|the end)\?"
    r"|\Aalready\?|[.!?,] already\?|\bjust like that\?|\bwe(?:'re| are| all)?"
    r" (?:all )?(?:died?|dead)\?|\bso soon\?",
    re.IGNORECASE,
)


def detect_remarks(
    said: Sequence[tuple[str, str]],
    known: Sequence[str] = (),
    told: str = "",
    absent: Collection[str] = (),
) -> list[IssueFound]:
    """What players' reactions say of the narration: that they are lost, or that it is not right.

    Args:
        said: Players and what each said.
        known: Kinds of issues that were found in the output itself.
        told: The output, in which some words of players have their meaning.
        absent: Players who lose track by habit.
    """
    repeated = "loop" in known
    confusion = detect_confusion(said, absent, repeated=repeated or "breakdown" in known)
    found = [confusion] if confusion else []
    if repeated:
        return found
    plain = [(name, text.replace("\u2019", "'")) for name, text in said]
    together = "\n".join(text for _, text in plain)
    for remark in _REMARKS:
        if remark.kind in known or (remark.kind == "stuck" and "pulse" in known):
            continue
        if any(hint in together for hint in remark.hints) and (one := _first(remark, plain, told)):
            found.append(one)
    if "early_end" not in known and any(hint in together for hint in _OVER_HINTS):
        found += filter(None, [_ends_early(plain, told)])
    return found


def _is_against_the_story(text: str, told: str) -> bool:
    if _SINCE_WHEN.search(text) or _COULD_NOT.search(text):
        return True
    if _STATED.search(text) and not _is_of_the_story(text, told):
        return True
    count = _RECOUNTED.search(text)
    if count and count["told"].lower() != count["thought"].lower():
        words = words_of(told)
        return count["told"].lower() in words and count["thought"].lower() not in words
    return any(
        unable.search(text) and not does.isdisjoint(words_of(told)) and not told_of.search(told)
        for unable, does, told_of in _UNABLE
    )


def _is_of_the_story(text: str, told: str) -> bool:
    """Whether an output itself tells of what a player wonders at."""
    gone = _GONE_BEFORE.search(text)
    if gone and (_EXPLAINED.search(told) or text[gone.end() :].startswith("!")):
        return True  # it is told, or a surprise of the story
    return any(known in text and known in told for known in ("blind", "deaf", "mute"))


def _is_against_somebody(text: str, told: str) -> bool:
    if _COULD_NOT.search(text):
        return False  # what a body cannot do is a state, and no nature
    return _ACTED.search(text) is not None or _NOT_ONESELF.search(text) is not None


def _is_idle(text: str, told: str) -> bool:
    return _NOTHING_COMES.search(text) is not None


class _Remark(NamedTuple):
    """What a remark is about: the issue, whether a text and the output make it, and hints of it."""

    kind: str
    severity: str
    holds: Callable[[str, str], bool]
    hints: tuple[str, ...]


_REMARKS: Final = (
    _Remark("contradiction", ERROR, _is_against_the_story, _STATE_HINTS),
    _Remark("character_break", WARNING, _is_against_somebody, _DEED_HINTS),
    _Remark("stuck", WARNING, _is_idle, ("othing", "nowhere", "anywhere")),
)


def _ends_early(said: Sequence[tuple[str, str]], told: str) -> IssueFound | None:
    """Players who are surprised that a story is over, where the output reads like a last one."""
    pleased = any(_PLEASED.search(text) for _, text in said)
    abrupt = not pleased and winds_up(told)
    asking = sum(_WAS_THAT_ALL.search(text) is not None for _, text in said)
    for name, text in said:
        surprised = (asking > 1 or abrupt) and _WAS_THAT_ALL.search(text)
        if (surprised or _TOO_SOON.search(text)) and looks_back(told):
            return IssueFound("early_end", name, f"said by a player: {quoted(text)}", WARNING)
    return None


_PLEASED: Final = re.compile(
    r"\b(?:lovely|beautiful|nice|perfect|great|loved?|wonderful|brilliant|sweet)\b", re.IGNORECASE
)

_OVER_HINTS: Final = (
    "lready", "so soon", "short", "abrupt", "sudden", "it?", "all?", "end?", "that?", "die", "DIE",
    "dead?",
)  # fmt: skip


def _first(remark: _Remark, said: Sequence[tuple[str, str]], told: str) -> IssueFound | None:
    for name, text in said:
        if not any(hint in text for hint in remark.hints) or _TOLD_BY_SOMEBODY.search(text):
            continue
        if remark.holds(text, told):
            detail = f"said by a player: {quoted(text)}"
            return IssueFound(remark.kind, name, detail, remark.severity)
    return None
