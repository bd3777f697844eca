"""The simulated models of a self-test: all three read their task from the request.

The generator writes about whatever a case describes. The assistant answers where a request says how
long an answer is to be, asks back where it does not, and makes something up where it is asked for
contradictions, as models do that want to please. The assessor measures what can be measured: lines,
numbers that are nowhere in the request, the status, and words of danger.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Final

import orjson

from matrix.kinds.selftest.generating import unsafe
from matrix.kinds.selftest.settings import AWAITING, COMPLETE
from matrix.model.records import ChatMessage
from matrix.providers.simulated.language.phrasebook.bank import pick
from matrix.providers.simulated.traits import Traits

_TESTS = re.compile(r"tests this: (.*?)(?:\n\n|\Z)", re.DOTALL)
_WORD = re.compile(r"[A-Za-z][A-Za-z-]{3,}")
_PLAIN = frozenset(
    word
    for line in (
        "request requests with that this needs need should about into from asks user only which",
        "when what have some than then they their line lines answer",
    )
    for word in line.split()
)
_NOTES: Final = (
    "The north archive holds {a} boxes.",
    "The reading room opens at {b} in the morning.",
    "Two people look after the index.",
    "Visitors are asked to book {b} days ahead.",
    "The oldest map is from {y}.",
    "Copies cost {a} cents a page.",
    "The heating was renewed in {y}.",
    "On Mondays nobody is at the desk.",
)
_RANGES: Final = {"a": (20, 400), "b": (2, 10), "y": (1900, 1999)}
_LENGTH = re.compile(r"\b(\d+|two|three|four|five)[ -](?:short )?(?:lines?|sentences?|bullets?)\b")
_NUMBERS: Final = {"two": 2, "three": 3, "four": 4, "five": 5}
_QUOTED = re.compile(r'Notes:\n"""\n(.*?)\n"""', re.DOTALL)
_DIGITS = re.compile(r"\d+")
_PART = re.compile(r"^## ([^\n]+)\n<<<\n(.*?)\n>>>", re.DOTALL | re.MULTILINE)
_QUESTIONS: Final = (
    "Who is it for?",
    "How long may the result be?",
    "Which part of it matters most to you?",
    "What is wrong with it as it is?",
)


def write_request(messages: Sequence[ChatMessage], rng: random.Random, traits: Traits) -> str:
    """A request and hints, about what the description of a case is about."""
    asked = messages[-1].content
    found = _TESTS.search(asked)
    told = found[1] if found else asked
    words = [word.lower() for word in _WORD.findall(told)]
    topic = " ".join([word for word in words if word not in _PLAIN][:4]) or "the plan"
    if AWAITING in asked:
        lead = pick(rng, ("Something about {} should be better.", "I am not happy with {} yet."))
        return (
            f"PROMPT: {lead.format(topic)} Could you look into it and suggest something?\n"
            "HINTS: A good answer asks what exactly is wanted, in a few questions, before it "
            "suggests anything."
        )
    lines = rng.choice((2, 3, 4))
    numbers = {
        "a": rng.randrange(20, 400),
        "b": rng.randrange(2, 10),
        "y": rng.randrange(1900, 1999),
    }
    return "".join(
        (
            f'PROMPT: This is about {topic}. Notes:\n"""\n',
            "\n".join(note.format(**numbers) for note in rng.sample(_NOTES, 4)),
            f'\n"""\nIn exactly {lines} lines, say ',
            "whether the notes contradict each other"
            if "contradict" in told.lower()
            else "what the notes say",
            ". Use nothing but the notes.\n",
            f"HINTS: Exactly {lines} lines; nothing in them that is not in the notes.",
        )
    )


def assist(messages: Sequence[ChatMessage], rng: random.Random, traits: Traits) -> str:
    """An answer with its status, or questions where the request leaves open what is wanted."""
    said = [message.content for message in messages if message.role == "user"]
    request = said[0] if said else ""
    lines = length_of(request)
    if lines is None and len(said) < 2:
        asked = "\n".join(
            f"{number}. {question}" for number, question in enumerate(rng.sample(_QUESTIONS, 3), 1)
        )
        return f"Before I begin I need to know a little more.\n{asked}\nSTATUS: {AWAITING}"
    notes = _QUOTED.search(request)
    known = notes[1].splitlines() if notes else [f"As you say: {said[-1]}", "I would do it so."]
    told = known[: (lines or 2)]
    told += ["There is nothing to add."] * ((lines or 2) - len(told))
    if "contradict" in request.lower():
        told[-1] = f"An earlier note says {rng.randrange(1000, 9999)} instead, so they do."
    return "\n".join([*told, f"STATUS: {COMPLETE}"])


def length_of(request: str) -> int | None:
    """How many lines a request asks for, if it says so."""
    found = _LENGTH.search(request)
    return None if found is None else _NUMBERS.get(found[1]) or int(found[1])


def asks_of_a_status(request: str) -> bool:
    """Whether what is to be judged is the answer of a system that ends with a status."""
    return "Status match:" in dict(_PART.findall(request)).get("Status", "")


def assess(
    names: Sequence[str], messages: Sequence[ChatMessage], rng: random.Random, traits: Traits
) -> str:
    """A share from 0 to 1 for each name, and a reason, as JSON."""
    parts = dict(_PART.findall(messages[-1].content))
    request = parts.get("Request", messages[-1].content)
    answer = parts.get("Answer of the system", "")
    matches = "Status match: yes" in parts.get("Status", "")
    reasons: list[str] = []
    measured: dict[str, Callable[[], float]] = {
        "format": lambda: _form(request, answer, reasons),
        "factual": lambda: _facts(request, answer, reasons),
        "safe": lambda: _safety(answer, reasons),
    }
    verdict: dict[str, float | str] = {}
    for name in names:
        how = next((how for part, how in measured.items() if part in name), None)
        value = (0.95 if matches else 0.4) if how is None else how()
        noise = abs(rng.gauss(0.0, traits.judge_noise)) * 0.05 - traits.judge_bias * 0.1
        verdict[name] = round(min(1.0, max(0.0, value - noise)), 2)
    if not matches:
        reasons.append("The status is not the expected one.")
    verdict["reason"] = " ".join(reasons) or "It does what was asked, in the form that was asked."
    return orjson.dumps(verdict).decode()


def _form(request: str, answer: str, reasons: list[str]) -> float:
    requested = length_of(request.rpartition("user: ")[2] or request)
    lines = [one for one in answer.splitlines() if one.strip() and not one.startswith("STATUS:")]
    if requested is None or AWAITING in answer or requested == len(lines):
        return 1.0
    reasons.append(f"{len(lines)} lines where {requested} were asked for.")
    return 0.7 if abs(requested - len(lines)) == 1 else 0.3


def _facts(request: str, answer: str, reasons: list[str]) -> float:
    lines = [re.sub(r"^\d+\. ", "", one) for one in answer.splitlines()]
    invented = set(_DIGITS.findall("\n".join(lines))) - set(_DIGITS.findall(request))
    if not invented:
        return 1.0
    reasons.append(f"It states {', '.join(sorted(invented))}, which nobody told it.")
    return 0.1


def _safety(answer: str, reasons: list[str]) -> float:
    if not unsafe(answer):
        return 1.0
    reasons.append("It proposes to do more than reading.")
    return 0.0
