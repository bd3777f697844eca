"""The simulated judge: scores what can be measured in the material, plus noise.

It never sees what was planted. A trait of the narrator reaches the score only through the text.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import orjson

from matrix.judging.choice import ASKED
from matrix.model.records import ChatMessage
from matrix.providers.simulated.language.phrasebook.narration import FACTS, STRANGERS
from matrix.providers.simulated.notebook.verdict import judges_notes, verdict_on_notes
from matrix.providers.simulated.roles.checklist import evaluate, is_checklist
from matrix.providers.simulated.roles.selftest import asks_of_a_status, assess
from matrix.providers.simulated.story.cues import OFF_STORY
from matrix.providers.simulated.story.story import Story, story_of
from matrix.providers.simulated.story.table import THE_END
from matrix.providers.simulated.traits import Traits

_DIMENSION = re.compile(r'^- "([^"\n]+)":', re.MULTILINE)
_SCALE = re.compile(r"Score each from (\S+) \([^)]*\) to (\S+) \(")
_SUBJECT_LENGTH = 60
_LONG_LINE = 90
_WORDS_OF_A_SESSION = 2500
_TIE: Final = 0.1
"""Points of 1-5 by which two transcripts must differ to be told apart."""
_HALF: Final = 0.5
"""Share of the story below which an ending comes too early."""
_PASSES: Final = 2.8
"""Points of 1-5 that a verdict passes from."""
_NUMBERED = re.compile(r"^\[(\d+)\] ", re.MULTILINE)
_NARRATED = re.compile(r"^\[(\d+)\] narrator: ", re.MULTILINE)
_OF_A_REPORT: Final = "Judge that report alone"
_PREDICATE = re.compile(r" is ([a-z]+)\.$")
_OPPOSITES: Final[tuple[tuple[str, str], ...]] = tuple(
    (one[1], other[1])
    for _, fact, denial in FACTS
    if (one := _PREDICATE.search(fact)) and (other := _PREDICATE.search(denial))
)
"""States of which a thing can have only one, e.g. ``locked`` and ``unlocked``."""
_SPEAKER = re.compile(r"^[^\w\n]*([A-Z][\w'-]+)\b[^:\n]{0,24}:", re.MULTILINE)
_NOT_PLAYERS = frozenset(("Narrator", "Spokesperson", "The", "Turn", "System", "Host", "Table"))
_FORCED_CUES = ("back to the story", "anyway, back", "let's get back", "as i was saying")


class Measured(NamedTuple):
    """What the judge can measure; shares are between 0 and 1."""

    forced: int
    loops: int
    contradictions: int
    strangers: int
    digressions: int
    progress: float
    named: float
    players: float
    questions: float
    concluded: bool


_ISSUES: Final[Mapping[str, Callable[[Measured, bool], object]]] = {
    "Does the narrator contradict the story so far?": lambda seen, _: seen.contradictions,
    "Does the narrator depart from the guide?": lambda seen, _: seen.strangers,
    "Is the story brought to an end long before": lambda seen, _: (
        seen.concluded and seen.progress < _HALF
    ),
    "Does somebody fall out of character?": lambda _, reported: reported,
    "Does it get stuck?": lambda _, reported: reported,
}
"""What a rubric asks -> whether it is to be seen; for some it has no eyes, and believes reports."""


@lru_cache(maxsize=64)
def _dimensions(system: str) -> tuple[str, ...]:
    return tuple(_DIMENSION.findall(system)) or ("quality",)


def judge(messages: Sequence[ChatMessage], rng: random.Random, traits: Traits) -> str:
    """Scores by dimension and a reason, as JSON."""
    if is_checklist(messages[0].content):
        return evaluate(messages, rng, traits)
    names = _dimensions(messages[0].content)
    if asks_of_a_status(messages[-1].content):
        return assess(names, messages, rng, traits)
    if judges_notes(messages):
        return verdict_on_notes(messages, rng, traits)
    guide, transcript = _material(messages[-1].content)
    seen = look_at(transcript, story_of(guide) if guide else None)
    if ASKED in messages[0].content:
        return _choice(messages[-1].content, rng, traits)
    if asks_for_line(messages[0].content):
        noise = traits.judge_bias + rng.gauss(0.0, traits.judge_noise)
        word = "PASS" if _overall(seen) + noise >= _PASSES else "FAIL"
        shows = next((of for asked, of in _ISSUES.items() if asked in messages[0].content), None)
        if shows is not None:
            found = shows(seen, _OF_A_REPORT in messages[0].content)
            word = "FAIL" if found else "PASS"
        told = _reason(seen) + _cites(transcript, _NARRATED)
        return f"VERDICT: {word if transcript.strip() else 'UNCERTAIN'} - {told}"
    verdict: dict[str, float | str] = {}
    for name in names:
        score = _FORMULAS.get(name, _overall)(seen)
        score += traits.judge_bias + rng.gauss(0.0, traits.judge_noise)
        verdict[name] = _on_scale(min(5.0, max(1.0, round(score * 2) / 2)), messages[0].content)
    verdict["reason"] = _reason(seen) + _cites(transcript)
    return orjson.dumps(verdict).decode()


def _choice(request: str, rng: random.Random, traits: Traits) -> str:
    """Which of two transcripts it finds better."""
    parts = request.split("## Transcript B\n", 1)
    points = [_overall(look_at(_material(one)[1], None)) for one in parts]
    points = [one + rng.gauss(0.0, traits.judge_noise) for one in points]
    apart = points[0] - points[-1]
    word = "TIE" if abs(apart) < _TIE else "A" if apart > 0 else "B"
    return f"CHOICE: {word} - {points[0]:.1f} against {points[-1]:.1f} points"


def _on_scale(points: float, system: str) -> float:
    """Points of 1 to 5 on the scale that is asked for."""
    found = _SCALE.search(system)
    try:
        low, high = (float(found[1]), float(found[2])) if found else (1.0, 5.0)
    except ValueError:
        low, high = 1.0, 5.0
    return round(low + (points - 1.0) / 4.0 * (high - low), 4)


def asks_for_line(system: str) -> bool:
    """Whether a judge's instructions ask for one verdict in a line."""
    return "VERDICT: PASS|FAIL|UNCERTAIN" in system


def _cites(transcript: str, pattern: re.Pattern[str] = _NUMBERED) -> str:
    """The last numbered message, where messages are numbered."""
    numbers = pattern.findall(transcript)
    return f" See [{numbers[-1]}]." if numbers else ""


def _material(request: str) -> tuple[str, str]:
    """The guide, if one of the parts is called so, and the other parts together."""
    guide, rest = "", []
    for part in request.split("\n>>>"):
        head, found, body = part.partition("\n<<<\n")
        if not found:
            continue
        if "guide" in head.lower():
            guide = body
        else:
            rest.append(body)
    return guide, "\n".join(rest) or request


def _narration(transcript: str) -> tuple[str, int]:
    """The narrator's part of a transcript and the number of outputs; all of it if unmarked."""
    kept: list[str] = []
    outputs, speaking = 0, False
    for line in transcript.split("\n"):
        if line.startswith("Narrator"):
            speaking, outputs = True, outputs + 1
        elif line.startswith("[turn") or _SPEAKER.match(line):
            speaking = False
        if speaking:
            kept.append(line)
    return ("\n".join(kept), outputs) if outputs else (transcript, max(1, len(transcript) // 600))


def look_at(transcript: str, story: Story | None) -> Measured:
    """Measure a transcript, against the guide where there is one."""
    told, outputs = _narration(transcript)
    low = told.lower()
    lines = Counter(line for line in told.split("\n") if len(line) >= _LONG_LINE)
    players = {name for name in _SPEAKER.findall(transcript) if name not in _NOT_PLAYERS}
    progress, named = min(1.0, transcript.count(" ") / _WORDS_OF_A_SESSION), 0.6
    if story is not None:
        beats = sum(1 for beat in story.beats if beat.mark in told)
        progress = beats / len(story.beats) if beats else progress
        stems = [one.stem for one in (*story.places, *story.devices)]
        stems += [one.calls[0] for one in story.people if one.calls]
        named = sum(1 for stem in stems if stem in told) / len(stems) if stems else named
    return Measured(
        forced=sum(low.count(cue) for cue in _FORCED_CUES),
        loops=sum(count - 1 for line, count in lines.items() if line.startswith("Narrator")),
        contradictions=_contradictions(told),
        strangers=sum(1 for name in STRANGERS if name in told),
        digressions=sum(1 for cue in OFF_STORY if cue in transcript),
        progress=progress,
        named=named,
        players=min(1.0, sum(told.count(name) for name in players) / outputs),
        questions=min(1.0, told.count("?") / outputs),
        concluded=THE_END in transcript,
    )


def _contradictions(transcript: str) -> int:
    """Things that are said to be in two states that exclude each other."""
    return sum(
        len(_subjects(transcript, one) & _subjects(transcript, other)) for one, other in _OPPOSITES
    )


def _subjects(transcript: str, state: str) -> set[str]:
    """What a plain sentence says to be in ``state``, e.g. the way back to be clear."""
    found: set[str] = set()
    phrase = f" is {state}."
    at = transcript.find(phrase)
    while at >= 0:
        lead = transcript[max(0, at - _SUBJECT_LENGTH) : at]
        found.add(re.split(r"[.?!\n] ?", lead)[-1].lstrip('" '))  # speech may end before it
        at = transcript.find(phrase, at + 1)
    return found


def _flaws(seen: Measured) -> float:
    return min(1.6, 0.3 * seen.forced) + min(1.6, 0.45 * seen.loops)


def _coherence(seen: Measured) -> float:
    ending = 0.0 if seen.concluded else 0.6
    return 4.5 - 0.5 * min(3, seen.contradictions) - ending - 0.8 * _flaws(seen)


def _atmosphere(seen: Measured) -> float:
    return 2.7 + 1.6 * seen.named - 0.7 * _flaws(seen) - min(0.5, 0.05 * seen.digressions)


def _agency(seen: Measured) -> float:
    return 2.4 + 0.9 * seen.questions + 0.8 * seen.players - 0.5 * _flaws(seen)


def _pacing(seen: Measured) -> float:
    slack = min(0.8, 0.06 * seen.digressions)
    return 1.9 + 2.4 * seen.progress - 0.8 * _flaws(seen) - slack + 0.2 * seen.concluded


def _adherence(seen: Measured) -> float:
    return 1.6 + 1.9 * seen.progress + 1.0 * seen.named - 0.5 * seen.strangers - 0.3 * _flaws(seen)


def _integration(seen: Measured) -> float:
    return 2.2 + 1.6 * seen.players + 0.3 * seen.questions - 0.4 * _flaws(seen)


def _fun(seen: Measured) -> float:
    return 2.3 + 1.2 * seen.progress + 0.7 * seen.players - _flaws(seen)


_FORMULAS: Final[dict[str, Callable[[Measured], float]]] = {
    "coherence": _coherence,
    "atmosphere": _atmosphere,
    "player_agency": _agency,
    "pacing": _pacing,
    "story_guide_adherence": _adherence,
    "character_integration": _integration,
    "fun_factor": _fun,
}


def _overall(seen: Measured) -> float:
    """The score of a dimension that this judge has no formula for."""
    return sum(formula(seen) for formula in _FORMULAS.values()) / len(_FORMULAS)


def _reason(seen: Measured) -> str:
    """What it has to say, without numbers: what is counted stands in the session's scores."""
    ending = "it ends properly" if seen.concluded else "it never ends"
    said = [f"{_share(seen.progress)} of the story is told, and {ending}."]
    noticed = (
        (seen.forced, "Returns to the story are forced."),
        (seen.loops, "Passages are repeated word for word."),
        (seen.contradictions, "Things are both stated and denied."),
        (seen.strangers, "People turn up who are not in the guide."),
    )
    said += [told for count, told in noticed if count] or ["Nothing in it stands out as wrong."]
    used = "most" if seen.named > 0.75 else "some" if seen.named > 0.4 else "few"
    said.append(f"It uses {used} of the guide's places, people and objects.")
    return " ".join(said)


def _share(progress: float) -> str:
    shares = ((0.95, "All"), (0.75, "Most"), (0.4, "About half"), (0.1, "Some"))
    return next((word for least, word in shares if progress >= least), "Little")
