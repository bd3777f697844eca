"""The better of two transcripts: ``CHOICE: A|B|TIE - reason``, exactly once, asked both ways round.

Judges lean to the one that comes first (or last). So each pair is shown in both orders; who is
chosen in both is better, and a choice that goes with the place is a tie.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, cast

from matrix.judging.forms import Form, Unread
from matrix.judging.request import DATA, JUDGE
from matrix.judging.verdict_line import read_line
from matrix.model.seeds import content_hash

Word = Literal["A", "B", "TIE"]

ASKED: Final = "CHOICE: A|B|TIE"

WON: Final = {1.0: "WIN", 0.5: "TIE", 0.0: "LOSS"}
"""What a choice comes to for the first of two -> the label of its score."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which of two is better, and why."""

    word: Word
    reason: str

    def for_first(self) -> float:
        """1 if the first is better, 0 if the second is, 0.5 for a tie."""
        return {"A": 1.0, "B": 0.0, "TIE": 0.5}[self.word]


def choice_form(instructions: str) -> Form[Choice]:
    """How a judge is asked which of two transcripts is better."""
    system = (
        f"{JUDGE}\n\n{instructions.strip()}\n\n"
        f"You are shown two transcripts, A and B; which comes first means nothing. {DATA} "
        f"End with exactly one line of this form:\n{ASKED} - reason\n"
    )
    return Form(
        system=system,
        closing="Say which is better.",
        again=(
            "\n\nYour last answer could not be read. Answer with exactly one line: "
            "CHOICE: A, B or TIE, then a dash and the reason."
        ),
        schema=None,
        parse=read_choice,
        hash=content_hash([system]),
    )


def read_choice(text: str) -> Choice | Unread:
    """The choice of an answer that has exactly one."""
    line = read_line(text, "CHOICE", ("A", "B", "TIE"))
    if isinstance(line, Unread):
        return line
    return Choice(cast(Word, line.word), line.reason)


def preferred(as_a: Choice | None, as_b: Choice | None) -> float | None:
    """What a session is worth beside another: 1 better, 0 worse, 0.5 a tie.

    A choice that follows the place is a tie; one that could not be read leaves it out.

    Args:
        as_a: The choice where the session was shown first.
        as_b: The choice where it was shown second.
    """
    if as_a is None or as_b is None:
        return None
    first, second = as_a.for_first(), 1.0 - as_b.for_first()
    return first if first == second else 0.5
