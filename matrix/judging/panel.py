"""A panel: what several models, or repeats of one, come to together.

Repeats of one model stand for each other, so those that could be read count. Models do not: one
may be stricter than the next, so the others' mean is another number than the panel's. A member of
which nothing could be read therefore leaves the panel's mean missing, and so does one that is
uncertain throughout: it was read, but the others' mean is not its verdict either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

from matrix.judging.repeats import mean_of

NO_MAJORITY: Final = "NO MAJORITY"
"""The word for a panel that disagrees: none of its members said it."""

T = TypeVar("T")


class JudgeReading(NamedTuple):
    """What one judging comes to: a number, if it has one, a word for it, and why."""

    value: float | None
    word: str
    reason: str
    model: str

    @property
    def lost(self) -> bool:
        """Whether it failed, or could not be read; ``UNCERTAIN`` was read, and has no number."""
        return self.value is None and not self.word


def combined(
    readings: Sequence[JudgeReading], how: str, members: int = 1
) -> tuple[float | None, str]:
    """What the judgings of a panel come to, and a word for it; ``None`` without a word if lost.

    ``mean``: the mean over members; none where one has no number, lost or uncertain.

    ``majority``: the word of more than half of those that gave one, else `NO_MAJORITY`. With a
    judging that could not be read it takes more than half of all judgings, so that what is lost
    could not have turned it, and a panel is divided only if what is lost could not have decided.

    Args:
        readings: As many of each member, member by member.
        how: ``mean`` or ``majority``.
        members: Models of the panel.
    """
    absent = _absent(readings, members) is not None
    words = [one.word for one in readings if one.word]
    if how == "majority" and words:
        word, count = Counter(words).most_common(1)[0]
        lost = len(readings) - len(words)
        if absent and 2 * count <= len(readings):
            return None, ""
        if 2 * count <= len(words):
            # any word might have got more than half of all that were asked for
            return None, "" if lost and 2 * (count + lost) > len(readings) else NO_MAJORITY
        return {"PASS": 1.0, "FAIL": 0.0}.get(word), word
    if absent:
        return None, ""
    same = words[0] if words and len(set(words)) == 1 else ""
    return mean_of_panel([one.value for one in readings], members), same


def mean_of_panel(values: Sequence[float | None], members: int) -> float | None:
    """The mean over members of what each gave on average; ``None`` if one of them gave nothing."""
    means = [mean_of(mine) for mine in _by_member(values, members)]
    return None if None in means else mean_of(means)


def shared_reason(readings: Sequence[JudgeReading], how: str, members: int, *, lost: bool) -> str:
    """The reason of a single judging; of several, how many have a number, and what one says.

    Args:
        readings: As in :func:`combined`.
        how: ``mean`` or ``majority``.
        members: Models of the panel.
        lost: Whether they come to nothing: then why a member has none.
    """
    if len(readings) == 1:
        return readings[0].reason
    there = sum(one.value is not None for one in readings)
    told = f"{how} of {there} of {len(readings)} judgings"
    absent = _wanting(readings, members) if lost else None
    if absent is not None:
        return f"no {told}, for want of {absent.model}: {absent.reason}"
    word = combined(readings, how, members)[1]
    if how == "majority" and word == NO_MAJORITY:
        return f"{votes(readings)}; the first: {readings[0].reason}"
    if how == "majority":
        mine = [one for one in readings if one.word == word]
        told = f"{word} by {len(mine)} of {len(readings)} judgings"
        return f"{told}; the first of them: {mine[0].reason}"
    first = next((one for one in readings if one.value is not None), readings[0])
    return f"{told}; the first: {first.reason}"


def votes(readings: Sequence[JudgeReading]) -> str:
    """How a panel without a majority is divided."""
    found = Counter(one.word for one in readings if one.word).most_common()
    each = ", ".join(f"{count} {word}" for word, count in found)
    lost = sum(one.lost for one in readings)
    unread = f", {lost} could not be read" if lost else ""
    return f"no majority among {len(readings)} judgings: {each}{unread}"


def _wanting(readings: Sequence[JudgeReading], members: int) -> JudgeReading | None:
    """For want of which judging there is none: of a member lost whole, lost, or uncertain."""
    absent = _absent(readings, members) or next((one for one in readings if one.lost), None)
    if absent is not None:
        return absent
    each = _by_member(readings, members)
    return next((mine[0] for mine in each if all(one.value is None for one in mine)), None)


def _absent(readings: Sequence[JudgeReading], members: int) -> JudgeReading | None:
    """A judging of the first member of which none could be read; ``None`` if there is no such."""
    each = _by_member(readings, members)
    return next((mine[0] for mine in each if all(one.lost for one in mine)), None)


def _by_member(items: Sequence[T], members: int) -> Iterator[Sequence[T]]:
    """What is of each member, where there is as much of each, member by member."""
    each = max(1, len(items) // members)
    return (items[at : at + each] for at in range(0, len(items), each))
