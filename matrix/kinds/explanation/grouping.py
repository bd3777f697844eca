"""What a model that reads failures is asked, and how its answer is read: strictly, as a claim.

The texts of sessions are a stranger's: they stand between fences, as in a judge's request. So is
the answer: what it cites must have been shown to it, or it is left out, and that is said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from matrix.judging.answers import closing_json_object, own_words
from matrix.judging.forms import Form, Unread
from matrix.judging.request import DATA, Part
from matrix.model.lines import in_line
from matrix.model.seeds import content_hash

READER: Final = "# You read failed sessions"
"""First line of the system prompt."""

SESSION: Final = "Session "
"""How the title of a session's part begins; its id follows."""
SO_FAR: Final = "Groups so far"
"""Title of the part with the groups of earlier batches."""

MOST_GROUPS: Final = 12
MOST_CITED: Final = 100
LONGEST_LABEL: Final = 100
LONGEST_TEXT: Final = 600

_SYSTEM: Final = f"""{READER}

You are shown sessions that went wrong, or scored low. Group them by what went wrong in them: the
cause that a person would have to mend, not the words that differ. {DATA}
Where groups of other sessions are listed under "{SO_FAR}", use the same label for the same cause.
Every session belongs to the one group that says most about it; one that you cannot place, to none.
Cite each session by its id as it is given, with the number of the turn that shows the cause.

Answer with one JSON object and nothing else:
{{"groups": [{{"label": "a few words", "explanation": "two sentences at most",
"sessions": [{{"session": "id", "turn": 3, "why": "what shows it there, in a line"}}]}}]}}
At most {MOST_GROUPS} groups.
"""

_CITED: Final = {
    "type": "object",
    "properties": {
        "session": {"type": "string"},
        "turn": {"type": "integer"},
        "why": {"type": "string"},
    },
    "required": ["session", "turn", "why"],
    "additionalProperties": False,
}
_GROUP: Final = {
    "type": "object",
    "properties": {
        "label": {"type": "string"},
        "explanation": {"type": "string"},
        "sessions": {"type": "array", "items": _CITED},
    },
    "required": ["label", "explanation", "sessions"],
    "additionalProperties": False,
}
_SCHEMA: Final = {
    "type": "object",
    "properties": {"groups": {"type": "array", "items": _GROUP}},
    "required": ["groups"],
    "additionalProperties": False,
}


class Cited(NamedTuple):
    """A session that a group cites: its turn, and what shows the cause there."""

    session: str
    turn: int
    why: str


class CauseGroup(NamedTuple):
    """Sessions that went wrong in the same way."""

    label: str
    explanation: str
    sessions: tuple[Cited, ...]


class ShownFailure(NamedTuple):
    """A session as it is shown: its text, and the number of its last turn."""

    session: str
    title: str
    text: str
    turns: int


def form() -> Form[tuple[CauseGroup, ...]]:
    """The form of the answer."""
    return Form(
        system=_SYSTEM,
        closing="Group them.",
        again="\n\nAnswer with the JSON object alone, in the form that was said.",
        schema=_SCHEMA,
        parse=parse,
        hash=content_hash([_SYSTEM, _SCHEMA]),
    )


def material(shown: Sequence[ShownFailure], so_far: Sequence[CauseGroup]) -> list[Part]:
    """The parts of a request: sessions, after the groups of earlier ones."""
    lines = [f"{one.label}: {one.explanation}" for one in so_far]
    parts = [Part(SO_FAR, "\n".join(lines))] if lines else []
    return [*parts, *(Part(f"{SESSION}{one.session}: {one.title}", one.text) for one in shown)]


def parse(text: str) -> tuple[CauseGroup, ...] | Unread:
    """The groups that an answer names; what is not of the form is not read at all."""
    found = closing_json_object(own_words(text))
    if found is None:
        return Unread("it does not end with one JSON object")
    groups = found.get("groups")
    if found.keys() != {"groups"} or not isinstance(groups, list) or len(groups) > MOST_GROUPS:
        return Unread(f"it has no list of at most {MOST_GROUPS} groups")
    read = [_group(one) for one in groups]
    if any(one is None for one in read):
        return Unread("a group is not of the form that was asked for")
    return tuple(one for one in read if one is not None)


def _group(value: Any) -> CauseGroup | None:
    if not isinstance(value, Mapping) or value.keys() != {"label", "explanation", "sessions"}:
        return None
    label, told, cited = value["label"], value["explanation"], value["sessions"]
    if not (isinstance(label, str) and isinstance(told, str) and isinstance(cited, list)):
        return None
    read = [_cited(one) for one in cited[:MOST_CITED]]
    if not label.strip() or any(one is None for one in read):
        return None
    return CauseGroup(
        _short(label, LONGEST_LABEL),
        _short(told, LONGEST_TEXT),
        tuple(one for one in read if one is not None),
    )


def _cited(value: Any) -> Cited | None:
    if not isinstance(value, Mapping) or not {"session", "turn"} <= value.keys():
        return None
    session, turn, why = value["session"], value["turn"], value.get("why", "")
    if not isinstance(session, str) or type(turn) is not int or not isinstance(why, str):
        return None
    return Cited(session.strip(), turn, _short(why, LONGEST_TEXT))


def _short(text: str, most: int) -> str:
    line = " ".join(in_line(text).split())
    return line if len(line) <= most else f"{line[: most - 3]}..."


def checked(
    groups: Sequence[CauseGroup], shown: Sequence[ShownFailure]
) -> tuple[list[CauseGroup], list[str]]:
    """Groups with what they cite and was shown; and, in words, what was left out.

    A session is in one group: the first that cites it.
    """
    turns = {one.session: one.turns for one in shown}
    kept, dropped, taken = list[CauseGroup](), list[str](), set[str]()
    for group in groups:
        own = []
        for one in group.sessions:
            if one.session not in turns:
                dropped.append(f"{group.label}: cites session {one.session!r:.60}, not shown to it")
            elif not 0 <= one.turn <= turns[one.session]:
                told = f"turn {one.turn:,} of session {one.session}, which has {turns[one.session]}"
                dropped.append(f"{group.label}: cites {told}")
            elif one.session not in taken:
                taken.add(one.session)
                own.append(one)
        if own:
            kept.append(group._replace(sessions=tuple(own)))
        else:
            dropped.append(f"{group.label}: nothing is left of what it cites, so it is left out")
    return kept, dropped


def joined(before: Sequence[CauseGroup], more: Sequence[CauseGroup]) -> list[CauseGroup]:
    """Groups of several batches; those of one label are one."""
    found = {one.label.casefold(): one for one in before}
    for one in more:
        key = one.label.casefold()
        known = found.get(key)
        found[key] = (
            one if known is None else known._replace(sessions=(*known.sessions, *one.sessions))
        )
    return list(found.values())
