"""Lines that the guide's people speak, in a few shapes and in their manner."""

from __future__ import annotations

from collections.abc import Mapping

from matrix.providers.simulated.language.grammar import capitalised, sentences
from matrix.providers.simulated.language.phrasebook import narration
from matrix.providers.simulated.language.phrasebook.bank import Bank
from matrix.providers.simulated.story.people import Person
from matrix.providers.simulated.story.story import Story

_WANT_EVERY = 5
_MANNER_EVERY = 3


def speech_in(story: Story, index: int, position: int, fills: Mapping[str, str]) -> str:
    """Somebody in the beat at ``index`` says a line; empty if nobody there can speak.

    Args:
        story: The story.
        index: Which beat.
        position: Where in the round of lines and shapes this one stands.
        fills: Slots for players and places.
    """
    beat = story.beats[index]
    speakers = [person for person in beat.people if person.speaks]
    if not speakers:
        return ""
    who = speakers[position % len(speakers)]
    others = [one.name for one in story.people if one is not who and one.speaks]
    slots = {**fills, "want": who.want, "want_up": capitalised(who.want)}
    if others:
        slots["other"] = others[position % len(others)]
    seen = sum(1 for earlier in story.beats[:index] if who in earlier.people)
    wants = who.want and seen % _WANT_EVERY == 1
    line = _within(who.most_words, narration.WANTS, position, slots) if wants else ""
    line = line or _within(who.most_words, narration.SPEECH, position, slots)
    if not line:
        return ""
    return spoken(line, who, position, introduced=seen % _MANNER_EVERY > 0)


def _within(most: int, bank: Bank, position: int, slots: Mapping[str, str]) -> str:
    """The line at ``position``, or the next one of at most so many words (0: of any length)."""
    dealt = (bank.deal(position + ahead, slots) for ahead in range(len(bank.lines)))
    return next((line for line in dealt if not most or len(line.split()) <= most), "")


def spoken(line: str, who: Person, position: int, *, introduced: bool) -> str:
    """``line`` in quotation marks with who says it, in one of a few shapes.

    Their manner is told with it, unless they have been ``introduced`` with it already.
    """
    parts = sentences(line)
    name, shape = capitalised(who.name), position % 3
    if who.manner and not introduced:
        if shape == 0:
            return f'{name}, who {who.manner}, says: "{line}"'
        if shape == 1:
            return f'{name} {who.manner}. "{line}"'
        return f"{_quoted(line)} says {who.name}, who {who.manner}."
    if len(parts) == 2 and shape < 2:
        return f'{_quoted(parts[0])} says {who.name}. "{parts[1]}"'
    return f'{name} looks at you. "{line}"' if shape == 1 else f"{_quoted(line)} says {who.name}."


def _quoted(line: str) -> str:
    """A line of speech before its "says": a full stop becomes a comma."""
    return f'"{line[:-1]},"' if line.endswith(".") else f'"{line}"'
