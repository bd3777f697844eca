"""What simulated players say of a session when they are asked about it."""

from __future__ import annotations

import random
import re
from typing import Any, Final

import orjson

from matrix.providers.simulated.language.phrasebook.bank import pick
from matrix.providers.simulated.language.wordlists import words

_ASKED: Final = re.compile(r'^- "([a-z_0-9]+)": (.+)$', re.MULTILINE)
_TURN: Final = re.compile(r"^- Turn \d+: (.+)$", re.MULTILINE)
_DULL: Final = re.compile(r"back to the story|as I was saying|enough of that|^Right[,.]", re.I)
_TASTE: Final = {
    "engaged": 0.3,
    "invested": 0.3,
    "curious": 0.2,
    "questioner": -0.2,
    "drifter": -0.3,
}
_LIKED: Final = (
    "What stays with me is this: {moment}",
    "I keep thinking of one moment. {moment}",
    "The best of it was here: {moment}",
)
_PLAIN: Final = (
    "It was a good evening, and I would not change much.",
    "I would have liked a little more time at the end.",
    "I never quite knew what I could do next, but I liked finding out.",
)
_COMMON: Final = words("what why when where which would could about that this with your have")


def _moments(request: str) -> list[str]:
    """Turns that are remembered, without what the player did in them."""
    return [line.partition(" You: ")[0] for line in _TURN.findall(request)]


def opinions(request: str, voice: str, rng: random.Random) -> str:
    """Answers to a survey as JSON: more fun where turns differ, less where they drag or repeat."""
    asked, moments = _ASKED.findall(request.rpartition("with these keys")[2]), _moments(request)
    draws = {key: rng.random() for key, _ in asked}
    liking = 3.4 + _TASTE.get(voice, 0.0) + rng.gauss(0.0, 0.6)
    if moments:
        liking += 0.8 * len(set(moments)) / len(moments) - 0.4
        liking -= 4.0 * sum(1 for one in moments if _DULL.search(one)) / len(moments)
    answers: dict[str, Any] = {}
    for key, question in asked:
        if key == "fun":
            answers[key] = min(5, max(1, round(liking)))
        elif key == "play_again":
            answers[key] = liking + 0.8 * (draws[key] - 0.5) > 3.0
        else:
            answers[key] = _in_words(question, moments, rng)
    return orjson.dumps(answers).decode()


def _in_words(question: str, moments: list[str], rng: random.Random) -> str:
    fitting = _fitting(question, moments) or moments
    if fitting and rng.random() < 0.75:
        return pick(rng, _LIKED).format(moment=pick(rng, fitting))
    return pick(rng, _PLAIN)


def _fitting(question: str, moments: list[str]) -> list[str]:
    """Moments that share a word with what is asked."""
    asked = {word for word in re.findall(r"[a-z]{4,}", question.lower()) if word not in _COMMON}
    return [one for one in moments if asked & set(re.findall(r"[a-z]{4,}", one.lower()))]


def recalled(request: str, otherwise: str, rng: random.Random) -> str:
    """An answer to one question about the session, from what is remembered of it."""
    question = request.rpartition('asks:\n"""\n')[2].partition('\n"""')[0]
    moments = _moments(request)
    fitting = _fitting(question, moments) or moments[-1:]
    if not fitting:
        return otherwise
    return f"{pick(rng, _LIKED).format(moment=fitting[-1])} {otherwise}"
