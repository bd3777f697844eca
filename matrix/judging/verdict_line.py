"""One verdict in one line: ``VERDICT: PASS|FAIL|UNCERTAIN - reason``, at the end of an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, cast

from matrix.judging.answers import own_words, unquoted
from matrix.judging.forms import Form, Unread
from matrix.judging.request import DATA, JUDGE
from matrix.model.seeds import content_hash

Word = Literal["PASS", "FAIL", "UNCERTAIN"]

_WORDS: Final = ("PASS", "FAIL", "UNCERTAIN")
_REASON_CHARS: Final = 2000


class Line(NamedTuple):
    """A word, in capitals, and what is said after it."""

    word: str
    reason: str


def read_line(text: str, name: str, words: Sequence[str]) -> Line | Unread:
    r"""The line ``NAME: WORD - reason`` that ends an answer, whatever markdown is around it.

    No other line may begin as it does, and after the word comes a dash, a colon, a full stop, a
    parenthesis or nothing: ``PASS|FAIL``, ``PASS or FAIL`` and ``PASS is not deserved`` are no
    verdicts.

    >>> read_line("I see.\n**Verdict:** fail - no", "VERDICT", ["PASS", "FAIL"])
    Line(word='FAIL', reason='no')
    """
    begins = re.compile(rf"[\s*_#`-]*{name}[\s*_`]*:[\s*_`\[]*", re.IGNORECASE)
    lines = [line for line in own_words(text).splitlines() if line.strip(" \t*_`#-")]
    told = [line for line in lines if begins.match(line)]
    if len(told) != 1:
        return Unread(f"it has {len(told)} {name} lines" if told else f"it has no {name} line")
    if told[0] is not lines[-1]:
        return Unread(f"it goes on after its {name} line")
    one_of, said = "|".join(words), begins.sub("", told[0], count=1)
    after = r"[\s*_`\]]*(?:$|[:.(\u2013\u2014-]+(.*)$)"
    found = re.match(f"({one_of}){after}", said, re.IGNORECASE)
    if found is None:
        return Unread(f"its {name} line does not say one of {', '.join(words)}, then a dash")
    word, reason = found[1].upper(), (found[2] or "").strip(" *_`")
    if (other := re.match(f"({one_of}){after}", reason, re.I)) and other[1].upper() != word:
        return Unread(f"its {name} line says {word} and {other[1].upper()}")
    return Line(word, reason[:_REASON_CHARS])


@dataclass(frozen=True, slots=True)
class LineVerdict:
    """A verdict and its reason; ``before`` is what the judge said above the line."""

    word: Word
    reason: str
    before: str = field(default="", compare=False)

    @property
    def value(self) -> float | None:
        """1 for PASS, 0 for FAIL; an uncertain judge gives no number."""
        return {"PASS": 1.0, "FAIL": 0.0}.get(self.word)


def verdict_form(instructions: str) -> Form[LineVerdict]:
    """How a judge is asked for one verdict by instructions of the user's own."""
    system = (
        f"{JUDGE}\n\n{instructions.strip()}\n\n"
        f"{DATA} If what you are shown does not decide it, say UNCERTAIN. End with "
        "exactly one line of this form:\nVERDICT: PASS|FAIL|UNCERTAIN - reason\n"
    )
    return Form(
        system=system,
        closing="Give your verdict.",
        again=(
            "\n\nYour last answer could not be read. Answer with exactly one line: VERDICT: PASS, "
            "FAIL or UNCERTAIN, then a dash and the reason, which names no other verdict."
        ),
        schema=None,
        parse=read_verdict,
        hash=content_hash([system]),
    )


def read_verdict(text: str) -> LineVerdict | Unread:
    """The verdict of an answer that has exactly one.

    A reason may speak of another word ("no FAIL condition is met", "it does not PASS"); one that
    takes the verdict back is unreadable.
    """
    line = read_line(text, "VERDICT", _WORDS)
    if isinstance(line, Unread):
        return line
    own = unquoted(line.reason)
    for other in _WORDS:
        if other != line.word and _gives(other, own):
            return Unread(f"its VERDICT line says {line.word} and {other}")
    before = "\n".join(own_words(text).strip().splitlines()[:-1]).strip()
    return LineVerdict(cast(Word, line.word), line.reason, before[-_REASON_CHARS:])


_TURNS: Final = (
    r"(?:actually|instead|rather|wait|correction|should be|changed? (?:it )?to|make (?:it|that)|"
    r"verdict(?: is)?|no,)\W+(?:(?:it|this|that)\W+(?:is|s)\W+)?(?:an?\W+)?"
)
"""What stands before a word with which a judge corrects itself."""

_SPOKEN_OF: Final = (
    r"\b(?:not|never|cannot|no|nothing|without|neither|nor|for|to|than|\w+n.t)\b"
    r"[^.,;:!?\u2013\u2014]*$"
)
"""What stands before a word, in its clause, that is only spoken of."""


def _gives(word: str, reason: str) -> bool:
    """Whether a reason gives this word, in capitals, as a verdict of its own."""
    stands = rf"(?<![A-Za-z]){word}(?![A-Za-z])"
    by_itself = (
        rf"(?:^|[.;:!?|\u2013\u2014]|\s-)\s*[*_`]*{stands}[\s*_`]*(?:$|[.;:!?|\u2013\u2014-])"
    )
    if re.search(f"(?i:{_TURNS}){stands}", reason) or re.search(by_itself, reason):
        return True
    last = re.search(rf"{stands}[\W_]*$", reason)
    return last is not None and not re.search(_SPOKEN_OF, reason[: last.start()], re.IGNORECASE)
