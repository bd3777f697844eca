"""What players hold against the narrator: that something was otherwise, that somebody would not.

Attentive players say so when a story contradicts itself (``Wait, weren't they empty?``), often
where no pattern could see it in the narrator's own words. Doubts about what a person of the story
has said are part of the story, and so are guesses at what something is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from matrix.kinds.playtest.detect.issues import (
    ERROR,
    WARNING,
    IssueFound,
    detect_confusion,
    quoted,
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


def detect_remarks(said: Sequence[tuple[str, str]], known: Sequence[str] = ()) -> list[IssueFound]:
    """What players' reactions say of the narration: that they are lost, or that it is not right.

    Args:
        said: Players and what each said.
        known: Kinds of issues that were found in the output itself.
    """
    repeated = "loop" in known
    confusion = detect_confusion(said, repeated=repeated)
    found = [confusion] if confusion else []
    if repeated:
        return found
    for kind, pattern, severity in (
        ("contradiction", _STATED, ERROR),
        ("character_break", _ACTED, WARNING),
    ):
        if kind not in known and (one := _first(kind, pattern, severity, said)):
            found.append(one)
    return found


def _first(
    kind: str, pattern: re.Pattern[str], severity: str, said: Sequence[tuple[str, str]]
) -> IssueFound | None:
    for name, text in said:
        plain = text.replace("\u2019", "'")
        if not any(hint in plain for hint in _HINTS) or _TOLD_BY_SOMEBODY.search(plain):
            continue
        if pattern.search(plain):
            return IssueFound(kind, name, f"said by a player: {quoted(text)}", severity)
    return None
