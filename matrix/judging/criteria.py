"""Lists of criteria that are met or not: one line for each, then a verdict that is recomputed.

The answer has the form ::

    ## Criteria Evaluation
    1. [criterion]: MET/NOT MET - [brief reason]

    ## Verdict
    **PASS** or **FAIL**

    ## Reasoning
    [...]

What the judge says of each criterion counts; the verdict is made of that, and what the judge
claims it to be is kept beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, cast

from matrix.judging.answers import closing_json_object, own_words, unquoted
from matrix.judging.forms import Form, Unread
from matrix.judging.request import DATA, JUDGE
from matrix.model.seeds import content_hash

EVALUATION: Final = "## Criteria Evaluation"
"""Heading of the answer's first part."""

_REASON_CHARS: Final = 2000
_SHOWN: Final = 200
_WORD: Final = re.compile(r"\w+")
_STEM: Final = 4
"""Letters by which two words count as one: "politely" and "polite"."""

_ANY_CRITERION: Final = frozenset({"crit", "item", "poin"})
"""Beginnings of words by which any criterion may be called."""
_NUMBERED = re.compile(r"^[\s*_#-]*(\d{1,3})[\s*_]*[.):][\s*_]*(.*)$")
_JUDGED = re.compile(
    r"[:\uff1a\u2013\u2014-][\s*_`\[]*(NOT[ _-]?MET|UNMET|MET)\b[ \t*_`\]]*"
    r"(?:$|[\n:;.,(\u2013\u2014-](.*)$)",
    re.DOTALL | re.IGNORECASE,
)
_NOT_MET: Final = re.compile(r"\b(?:NOT[ _-]?|UN)MET\b")
_MET: Final = re.compile(r"(?<!NOT[ _-])\bMET\b")
_DENIED: Final = re.compile(
    r"(?:FALSE|NO|NOT|0)\s*+(?:$|[-.,;:()\u2013\u2014])"
    r"|(?:but )?not (?:really|quite|fully|entirely|yet|at all)\b",
    re.IGNORECASE,
)
"""Of ``MET: FALSE`` and ``MET, but not at all``, which say neither."""
_SECTION = re.compile(
    r"^\s*+#{1,4}[ \t]*+[*_]*+[ \t]*+(criteria evaluation|verdict|reasoning)\b.*$", re.I
)
_CLAIM = re.compile(r"(?<![A-Za-z])(PASS|FAIL)(?:ED|S)?(?![A-Za-z])", re.I)

Claim = Literal["PASS", "FAIL"]


class CriterionFinding(NamedTuple):
    """What the judge found about one criterion.

    ``named`` is what it calls it, where that has no word of the criterion's.
    """

    met: bool
    reason: str
    named: str = ""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A list of criteria, judged.

    Attributes:
        findings: One for each criterion, in order.
        claimed: The verdict that the judge gives.
        reasoning: Its summary.
    """

    findings: tuple[CriterionFinding, ...]
    claimed: Claim
    reasoning: str

    @property
    def said(self) -> tuple[str, ...]:
        """All its reasons."""
        return (*(one.reason for one in self.findings), self.reasoning)

    @property
    def not_met(self) -> int:
        """How many criteria are not met."""
        return sum(not one.met for one in self.findings)


class Checklist(NamedTuple):
    """Criteria, and how many of them may not be met: ``fail_threshold`` or more fail."""

    criteria: tuple[str, ...]
    fail_threshold: int = 1
    instructions: str = ""

    def passes(self, judged: Evaluation) -> bool:
        """Whether it passes, by the criteria alone."""
        return judged.not_met < self.fail_threshold

    @property
    def form(self) -> Form[Evaluation]:
        """How a judge is asked for it."""
        many = len(self.criteria)
        return Form(
            system=_system(self),
            closing="Evaluate the output.",
            again=(
                "\n\nYour last answer could not be read. Answer in exactly the form that was asked "
                f"for: {many} numbered lines with MET or NOT MET, then one verdict."
            ),
            schema=None,
            parse=lambda text: read_evaluation(text, self.criteria),
            hash=content_hash([_system(self)]),
        )


def _system(checklist: Checklist) -> str:
    criteria = "\n".join(f"{n}. {_one_line(one)}" for n, one in enumerate(checklist.criteria, 1))
    least = checklist.fail_threshold
    more = f"{checklist.instructions.strip()}\n\n" if checklist.instructions.strip() else ""
    return (
        f"{JUDGE}\n\n"
        "You are shown what an agent was given and what it made of it. For each criterion decide "
        f"from the output alone whether it is MET or NOT MET. {DATA}\n\n"
        f"{more}Criteria:\n{criteria}\n\n"
        f"The output fails if {least} or more criteria {'is' if least == 1 else 'are'} NOT MET.\n\n"
        "Answer in exactly this form:\n"
        f"{EVALUATION}\n"
        "1. [criterion]: MET/NOT MET - [brief reason, with the words of the output it rests on]\n"
        "2. [criterion]: MET/NOT MET - [brief reason]\n...\n\n"
        "## Verdict\n**PASS** or **FAIL**\n\n"
        "## Reasoning\n[why it passes or fails, in one or two sentences]\n"
    )


def read_evaluation(text: str, criteria: Sequence[str]) -> Evaluation | Unread:
    """Read an answer in the form above, or as JSON with the same content.

    Every criterion has to be found exactly once, or twice with the same finding, and one verdict.
    A line with the number of one criterion and the text of another says nothing of either.
    """
    text = own_words(text).replace("\u00a0", " ")
    sections = _sections(text)
    found: dict[int, CriterionFinding] = {}
    for number, called, finding in _findings(sections["criteria evaluation"], criteria):
        if finding is None or found.setdefault(number, finding).met is not finding.met:
            return Unread(f"criterion {number} is both MET and NOT MET")
        if other := _another(called, number, criteria):
            return Unread(f"criterion {number} is judged in the words of criterion {other}")
    if not found:  # only then, for a reason may quote JSON of what is judged
        given = closing_json_object(text)
        if given and isinstance(given.get("criteria"), list):
            return _of_json(given, criteria)
    claims = {claim[1].upper() for claim in _CLAIM.finditer(_plain(sections["verdict"]))}
    return _whole(found, criteria, claims, sections["reasoning"])


def _whole(
    found: dict[int, CriterionFinding], criteria: Sequence[str], claims: set[str], reasoning: str
) -> Evaluation | Unread:
    if beyond := [n for n in found if not 1 <= n <= len(criteria)]:
        return Unread(f"criterion {beyond[0]} is judged, and there are {len(criteria)}")
    if lacking := [n for n in range(1, len(criteria) + 1) if n not in found]:
        said = ", ".join(map(str, lacking))
        return Unread(f"nothing is said of criteria {said}" if found else "no criterion is judged")
    if len(claims) != 1 or not claims <= {"PASS", "FAIL"}:
        return Unread("it gives two verdicts" if len(claims) > 1 else "it gives no verdict")
    claimed = cast(Claim, claims.pop())
    findings = tuple(found[n] for n in range(1, len(criteria) + 1))
    return Evaluation(findings, claimed, reasoning.strip()[:_REASON_CHARS])


def _of_json(given: dict[str, Any], criteria: Sequence[str]) -> Evaluation | Unread:
    found: dict[int, CriterionFinding] = {}
    for place, one in enumerate(given["criteria"], 1):
        met = one.get("met") if isinstance(one, dict) else None
        number = one.get("number", place) if isinstance(one, dict) else place
        if not isinstance(met, bool) or number in found or not isinstance(number, int):
            return Unread(f"criterion {place} is not said to be met or not met, once")
        found[number] = CriterionFinding(met, str(one.get("reason", ""))[:_REASON_CHARS])
    claims = {str(given.get("verdict", "")).strip().upper()}
    return _whole(found, criteria, claims, str(given.get("reasoning", "")))


def _sections(text: str) -> dict[str, str]:
    """The text under each heading; all that stands before the verdict is the evaluation."""
    found = {"criteria evaluation": "", "verdict": "", "reasoning": ""}
    current = "criteria evaluation"
    for line in text.splitlines():
        if heading := _SECTION.match(line):
            current = heading[1].lower()
            line = line[heading.end(1) :].strip(" :*_#")
        found[current] += line + "\n"
    return found


def _findings(
    text: str, criteria: Sequence[str]
) -> Iterator[tuple[int, str, CriterionFinding | None]]:
    """What each criterion is called and said of it; ``None`` if its reason says the contrary."""
    for number, said in _entries(text):
        plain = _plain(said)
        asked = criteria[number - 1] if 1 <= number <= len(criteria) else ""
        own = _plain(_one_line(asked))
        rest = plain[len(own) :] if plain.lower().startswith(own.lower()) else plain
        if judged := _JUDGED.search(rest) or _JUDGED.search(f": {rest}"):
            met = judged[1].upper() == "MET"
            reason = " ".join((judged[2] or "").split()).lstrip("-\u2013\u2014:. ")
            both = (_NOT_MET if met else _MET).search(unquoted(reason))
            both = both or (_DENIED.match(reason) if met else None)
            called = rest[: judged.start()] if rest is plain else ""
            finding = CriterionFinding(met, reason[:_REASON_CHARS], _unlike(called, own))
            yield number, called, None if both else finding


def _unlike(named: str, criterion: str) -> str:
    """What a line calls its criterion, if no word of that begins like one of the criterion's."""
    words = _stems(named) - _ANY_CRITERION
    return "" if not words or words & _stems(criterion) else " ".join(named.split())[:_SHOWN]


def _another(named: str, number: int, criteria: Sequence[str]) -> int:
    """The number of another criterion that a line names word for word; 0 if there is none."""
    requested = _WORD.findall(named.casefold())
    texts = (_WORD.findall(one.casefold()) for one in criteria)
    same = [n for n, text in enumerate(texts, 1) if requested and text == requested and n != number]
    return same[0] if same else 0


def _stems(text: str) -> set[str]:
    return {word[:_STEM] for word in _WORD.findall(text.casefold()) if not word.isdigit()}


def _entries(text: str) -> Iterator[tuple[int, str]]:
    """The numbered entries, each with the lines that belong to it."""
    number, said = 0, ""
    for line in text.splitlines():
        if (entry := _NUMBERED.match(line)) and (
            int(entry[1]) == number + 1 or _JUDGED.search(line)
        ):
            if number:
                yield number, said
            number, said = int(entry[1]), entry[2]
        elif number:
            said += f"\n{line.strip()}"
    if number:
        yield number, said


def _plain(text: str) -> str:
    """Without the marks of markdown, which models put anywhere."""
    return re.sub(r"[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}", "", text)


def _one_line(text: str) -> str:
    return " ".join(text.split())
