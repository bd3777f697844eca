"""Problems worth a human's eye, found in the text by rules: pure functions, one per kind.

Rules are cheap and say where to look. They prefer to stay silent over crying wolf, so their counts
are lower bounds; the judge's ``coherence`` sees what rules cannot.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from matrix.kinds.playtest.detect.facts import change_was_told, find_flips, statements
from matrix.kinds.playtest.detect.loops import Sketch, find_repetition
from matrix.kinds.playtest.detect.reading import HeardOutput, is_degenerate, word_set
from matrix.kinds.playtest.detect.strangers import find_strangers
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


def detect_loop(
    reading: HeardOutput, sketches: Sequence[Sketch], *, may_repeat: bool
) -> tuple[IssueFound | None, tuple[Sketch, ...]]:
    """An output that mostly repeats earlier paragraphs (``may_repeat``: a recap may)."""
    repetition, kept = find_repetition(reading, sketches)
    if repetition is None or may_repeat:
        return None, kept
    detail = f"{repetition.share:.0%} of the output was said before: {quoted(repetition.paragraph)}"
    return IssueFound("loop", "narrator", detail, ERROR, round(repetition.share, 3)), kept


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
    reading: HeardOutput, known: frozenset[str], said: Iterable[str]
) -> list[IssueFound]:
    """People of whom neither the guide nor anybody at the table has spoken."""
    return [
        IssueFound("guide_deviation", name, "a named person who is not in the guide", WARNING)
        for name in find_strangers(reading.spoken, known, said)
    ]


def state_facts(reading: HeardOutput, turn: int) -> list[tuple[Fact, str]]:
    """Statements about states in an output, each with its sentence."""
    return statements(reading.spoken, reading.vocabulary, turn)


class ToldSince(NamedTuple):
    """What was said at the table from a turn on; a function, because it is rarely needed."""

    turn: int
    text: str


def detect_contradictions(
    stated: Sequence[tuple[Fact, str]], known: Sequence[Fact], told: Iterable[ToldSince]
) -> tuple[list[IssueFound], tuple[Fact, ...]]:
    """Statements that turn an earlier one round although no change was told; and what is known."""
    if not stated:
        return [], tuple(known)
    flips, facts = find_flips(stated, known)
    findings = []
    for flip in flips:
        since = [line.text for line in told if line.turn >= flip.before.turn]
        if change_was_told(flip, since):
            continue
        detail = f"turn {flip.before.turn} said the opposite of: {quoted(flip.sentence)}"
        findings.append(IssueFound("contradiction", flip.before.subject, detail, ERROR))
    return findings, facts


_LOST: Final = re.compile(
    r"\bi(?:'m| am) (?:so |completely |totally |a bit |really |very )?(?:lost|confused|baffled)\b"
    r"|\bwe(?:'re| are) (?:so |completely |all |a bit )?(?:lost here|confused)\b"
    r"|\bwhat(?:'s| is| on earth is) (?:even )?(?:going on|happening)\b[^.!?\n]{0,15}\?"
    r"|\b(?:that|this|it) (?:makes no|doesn't make(?: any)?|does not make(?: any)?) sense\b"
    r"|\bi (?:don't|do not|can't|cannot) (?:understand|follow) (?:what|this|that|any|how|where)\b"
    r"|\bdidn't (?:that|this) (?:just|already) happen\b|\byou (?:just|already) said that\b",
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
)


def detect_confusion(said: Sequence[tuple[str, str]]) -> IssueFound | None:
    """Players who say that they cannot follow; an error when it is half of the group or more."""
    together = "\n".join(text for _, text in said).lower().replace("\u2019", "'")
    if not any(hint in together for hint in _LOST_HINTS):
        return None  # the usual case, without a regular expression
    lost = [(name, text) for name, text in said if _LOST.search(text.replace("\u2019", "'"))]
    if not lost:
        return None
    severity = ERROR if len(lost) >= 2 and len(lost) * 2 >= len(said) else WARNING
    who = ", ".join(name for name, _ in lost)
    return IssueFound("confusion", who, quoted(lost[0][1]), severity, float(len(lost)))


_OUT_OF_ROLE: Final = re.compile(
    r"\bas an? (?:ai|a\.i\.|artificial intelligence|(?:large )?language model|assistant)\b"
    r"|\bi(?:'m| am) (?:just )?an? (?:ai|language model|assistant)\b|\bmy training data\b"
    r"|\bi (?:can't|cannot|am unable to|won't) (?:continue|help with|assist with|generate|create)\b"
    r"|\bthe system prompt\b|\bthe story guide (?:says|tells|lists)\b",
    re.IGNORECASE,
)
_OUT_OF_ROLE_WORDS: Final = word_set(
    "ai language model assistant training continue assist generate prompt guide artificial"
)


def detect_character_break(reading: HeardOutput) -> IssueFound | None:
    """A narrator that speaks as a machine, or of its instructions, instead of telling."""
    if not (reading.vocabulary & _OUT_OF_ROLE_WORDS):
        return None
    match = _OUT_OF_ROLE.search(reading.spoken.replace("\u2019", "'"))
    if match is None:
        return None
    return IssueFound("character_break", "narrator", quoted(reading.spoken[match.start() :]), ERROR)


def detect_breakdown(reading: HeardOutput) -> IssueFound | None:
    """An output that repeats a few words over and over."""
    if not is_degenerate(reading):
        return None
    detail = f"{len(reading.vocabulary)} distinct words in {reading.length}"
    return IssueFound("breakdown", "narrator", detail, ERROR)
