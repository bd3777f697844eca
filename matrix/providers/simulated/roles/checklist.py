"""A simulated judge of criteria: it measures what a criterion names, and goes by its words else.

A criterion may name, in backticks, sections (## Scope), ids (CAP-F-*) and alternatives (one of GO
or NO-GO); numbers (at least three lines), and what has to be unique or to have been given.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Final

from matrix.judging.criteria import EVALUATION
from matrix.model.records import ChatMessage
from matrix.providers.simulated.roles.sections import id_pattern, section_of
from matrix.providers.simulated.traits import Traits

_MISTAKE: Final = 0.002
"""Chance that a criterion is misjudged, per point of the judge's noise."""

_CRITERION = re.compile(r"^(\d+)\. (.+)$", re.MULTILINE)
_LEAST = re.compile(r"fails if (\d+) or more")
_PART = re.compile(r"^## ([^\n]+)\n<<<\n(.*?)\n>>>", re.DOTALL | re.MULTILINE)
_TICKED = re.compile(r"`([^`]+)`")
_LINES = re.compile(r"^[-*] +(.+)$", re.MULTILINE)
_AT_LEAST = re.compile(r"at least (two|three|four|five|\d+)")
_UNIQUE = re.compile(r"\b(?:unique|twice|duplicate)", re.IGNORECASE)
_EVERY = re.compile(r"\b(?:each|every|all)\b", re.IGNORECASE)
_GIVEN = re.compile(r"\b(?:given|input|refers?|trace|names? one)\b", re.IGNORECASE)
_ONE_OF = re.compile(r"\bone of\b", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]{4,}")
_NUMBERS: Final = {"two": 2, "three": 3, "four": 4, "five": 5}
_PLAIN: Final = frozenset(
    word
    for line in (
        "output includes include clear clearly defined have has with each every that this there",
        "from their they them than into what where when which says said named name given section",
    )
    for word in line.split()
)


def is_checklist(system: str) -> bool:
    """Whether a judge's instructions ask for criteria that are met or not."""
    return EVALUATION in system


def evaluate(messages: Sequence[ChatMessage], rng: random.Random, traits: Traits) -> str:
    """The evaluation in the form that is asked for."""
    system = messages[0].content
    asked, _, _ = system.partition("Answer in exactly this form")
    criteria = _CRITERION.findall(asked.partition("Criteria:\n")[2])
    least = int(found[1]) if (found := _LEAST.search(asked)) else 1
    parts = _PART.findall(messages[-1].content)
    output = "\n".join(text for name, text in parts if name in ("Output", "Messages"))
    given = "\n".join(text for name, text in parts if name not in ("Output", "Messages", "Agent"))
    lines, lost = [], []
    for number, criterion in criteria:
        why = fault_of(criterion, output, given)
        if rng.random() < _MISTAKE * traits.judge_noise:
            why = "" if why else "it is not said plainly enough"
        lost += [number] * bool(why)
        said = f"NOT MET - {why}" if why else "MET - the output has it"
        lines.append(f"{number}. {criterion}: {said}")
    verdict = "FAIL" if len(lost) >= least else "PASS"
    summary = f"Not met: {', '.join(lost)}." if lost else "Every criterion is met."
    told = "\n".join(lines)
    return f"{EVALUATION}\n{told}\n\n## Verdict\n**{verdict}**\n\n## Reasoning\n{summary}\n"


def fault_of(criterion: str, output: str, given: str) -> str:
    """Why a criterion is not met; empty if it is."""
    named = _TICKED.findall(criterion)
    headings = [one for one in named if one.startswith("#")]
    others = [one for one in named if not one.startswith("#")]
    for heading in headings:
        if not section_of(output, heading).strip():
            return f"there is no {heading.lstrip('# ')} in it"
    where = "\n".join(section_of(output, one) for one in headings) if headings else output
    if _ONE_OF.search(criterion):
        there = [one for one in others if re.search(rf"(?<![\w-]){re.escape(one)}(?![\w-])", where)]
        return "" if len(there) == 1 else f"found {len(there)} of {', '.join(others)}"
    lines = _LINES.findall(where)
    if (many := _AT_LEAST.search(criterion)) and len(lines) < _number(many[1]):
        return f"found {len(lines)} lines"
    for one in others:
        if why := _fault_of_pattern(criterion, one, lines, where, given):
            return why
    return "" if named else _fault_of_words(criterion, output)


def _number(word: str) -> int:
    return _NUMBERS.get(word) or int(word)


def _fault_of_pattern(
    criterion: str, pattern: str, lines: Sequence[str], where: str, given: str
) -> str:
    found = id_pattern(pattern)
    if "*" in pattern and _UNIQUE.search(criterion):
        own = [hit[0] for line in lines if (hit := found.match(line.replace("*", "").strip()))]
        twice = sorted({one for one in own if own.count(one) > 1})
        return f"{', '.join(twice)} comes twice" if twice else "" if own else f"no {pattern} in it"
    if "*" in pattern and _GIVEN.search(criterion):
        named = {hit[0].rpartition(":")[2] for line in lines for hit in found.finditer(line)}
        strange = sorted(one for one in named if one not in given)
        if strange:
            return f"{', '.join(strange)} was never given"
        return "" if named else f"no {pattern} in it"
    if _EVERY.search(criterion) and lines:
        without = [line for line in lines if not found.search(line.replace("*", ""))]
        return f"no {pattern} in {without[0][:60]!r}" if without else ""
    return "" if found.search(where.replace("*", "")) else f"no {pattern} in it"


def _fault_of_words(criterion: str, output: str) -> str:
    """Whether at least half of what a criterion is about is spoken of."""
    words = [word.lower() for word in _WORD.findall(criterion)]
    words = [word for word in dict.fromkeys(words) if word not in _PLAIN]
    low = output.lower()
    there = [word for word in words if word[:5] in low]
    if not words or 2 * len(there) >= len(words):
        return ""
    return f"nothing is said of {', '.join(word for word in words if word not in there)}"
