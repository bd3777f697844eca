"""What an agent printed or sent, read strictly: every oddity has one outcome."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Final, SupportsFloat

import orjson

from matrix.agents.turns import AgentAnswer, Reply
from matrix.model.errors import AgentFailed
from matrix.model.money import NanoUSD, from_usd
from matrix.model.records import JSON, Usage, storable_text
from matrix.model.spec.agents import AnswerFields, field_at

_SHOWN: Final = 120
_MOST_USD: Final = 1e9
_MOST_DIGITS: Final = 18
_AMOUNT: Final = re.compile(r"\A\s*\d{1,20}(\.\d{1,20})?([eE]-?\d{1,2})?\s*", re.ASCII)
BAD_COST: Final = "ImplausibleCost"
"""Error class of a turn whose account of its cost cannot be true."""


def read_text(
    fields: AnswerFields, printed: str, clean: Callable[[JSON], JSON], *, whole: bool = True
) -> AgentAnswer:
    """The answer in what an agent printed.

    Args:
        fields: Where what is.
        printed: All that it printed, or the beginning.
        clean: Takes secrets out of a JSON value.
        whole: Whether it is all.

    Raises:
        AgentFailed: There is no answer in it; with the cost, if that can be read.
    """
    if not fields.is_json:
        if not printed.strip():
            raise AgentFailed("said nothing")
        return AgentAnswer(printed.strip())
    if not whole:
        raise AgentFailed("printed more than is kept, where one JSON value was expected")
    try:
        value = json_in(printed)
    except ValueError:
        raise AgentFailed(_no_json(printed)) from None
    return read_value(fields, clean(value))


def json_in(text: str) -> JSON:
    """The JSON value that a text is, also with numbers that only other languages write.

    A NaN or a number past any size is one field that says nothing, and no reason to throw away the
    answer beside it.

    Raises:
        ValueError: It is none.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        try:
            value = json.loads(text, parse_int=_number)
            # half a surrogate pair, as a text cut within an emoji has it, can be kept by nobody
            kept = json.dumps(value, ensure_ascii=False).encode(errors="replace")
            return json.loads(kept, parse_int=_number)
        except RecursionError as error:
            raise ValueError(str(error)) from None


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) < _MOST_DIGITS else float(digits)


def read_value(fields: AnswerFields, value: JSON) -> AgentAnswer:
    """The answer in a JSON value.

    Raises:
        AgentFailed: It has no words; with the cost, if that can be read.
    """
    cost, doubt = None, ""
    if fields.cost_usd is not None:
        cost, doubt = read_cost(found_at(value, fields.cost_usd))
    usage = Usage(_count(value, fields.tokens_in), _count(value, fields.tokens_out))
    state = "" if fields.status is None else found_at(value, fields.status)
    status = state[:_SHOWN] if isinstance(state, str) else ""
    if fields.failed is not None and found_at(value, fields.failed) is True:
        words = None if fields.text is None else found_at(value, fields.text)
        told = f": {words[:_SHOWN]}" if isinstance(words, str) and words.strip() else ""
        raise AgentFailed(f"says that it failed{told}", cost=cost)
    if fields.text is None:
        return AgentAnswer(orjson.dumps(value).decode(), cost, usage, doubt, status=status)
    words = found_at(value, fields.text)
    if not isinstance(words, str):
        told = "none" if words is None else f"a {type(words).__name__}"
        raise AgentFailed(f"its answer has no text at {fields.text!r}; found {told}", cost=cost)
    return AgentAnswer(words, cost, usage, doubt, status=status)


def read_cost(found: JSON) -> tuple[NanoUSD | None, str]:
    """A cost in dollars as an agent says it, or why it is not believed; nothing said is neither."""
    if found is None:
        return None, ""
    if isinstance(found, str) and _AMOUNT.fullmatch(found):
        found = float(found)  # digits in quotes, as some write what must not be rounded
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None, BAD_COST
    if not 0 <= found <= _MOST_USD:  # which no NaN is
        return None, BAD_COST
    # numpy's numbers are floats, too, and say what they are when they are written out
    return from_usd(repr(int(found) if isinstance(found, int) else float(found))), ""


def read_reply(reply: object) -> AgentAnswer:
    """What an agent of Python gave back.

    Raises:
        AgentFailed: It is no :class:`Reply`.
    """
    if isinstance(reply, str):
        return AgentAnswer(_plain(reply))
    if not isinstance(reply, Reply) or not isinstance(reply.text, str):
        found = f"a {type(reply).__name__}"
        if isinstance(reply, Reply):
            found = f"a Reply whose text is a {type(reply.text).__name__}"
        raise AgentFailed(f"gave back {found}; expected a Reply, or text")
    said = reply.cost_usd
    # amounts of decimal, numpy and others that are no float, and say their value as one
    own = said if said is None or isinstance(said, bool | int | float | str) else _as_float(said)
    cost, doubt = read_cost(own)
    counts = (reply.tokens_in, reply.tokens_out)
    status = _plain(reply.status) if isinstance(reply.status, str) else ""
    return AgentAnswer(
        _plain(reply.text), cost, Usage(*map(_whole, counts)), doubt, status=status[:_SHOWN]
    )


def _plain(text: str) -> str:
    """A text of somebody's own kind of string as a string, which can be kept."""
    plain = str.__str__(text) if type(text) is str else "".join(text)
    return storable_text(plain)


def _as_float(said: object) -> JSON:
    if not isinstance(said, SupportsFloat):
        return repr(said)[:_SHOWN]
    try:
        return float(said)
    except (ValueError, OverflowError, TypeError):
        return repr(said)[:_SHOWN]


def cost_in(read: Callable[[], AgentAnswer]) -> NanoUSD | None:
    """What an answer says it cost, also one that cannot be used; ``None`` if it does not say."""
    try:
        return read().cost
    except AgentFailed as unreadable:
        return unreadable.cost


def found_at(value: JSON, path: str) -> JSON:
    """The field of a JSON value at a path; ``None`` if there is none."""
    try:
        return field_at(value, path)
    except LookupError:
        return None


def _count(value: JSON, path: str | None) -> int:
    return 0 if path is None else _whole(found_at(value, path))


def _whole(found: JSON) -> int:
    whole = isinstance(found, int) and not isinstance(found, bool)
    return int(found) if whole and 0 <= found < 1 << 40 else 0


def _no_json(printed: str) -> str:
    lines = [line for line in printed.splitlines() if line.strip()]
    if not lines:
        return "said nothing, where one JSON value was expected"
    if len(lines) > 1 and all(map(_is_json, lines)):
        return f"printed {len(lines)} JSON values, where one was expected"
    return f"printed no JSON value: {printed.strip()[:_SHOWN]!r}"


def _is_json(line: str) -> bool:
    try:
        json_in(line)
    except ValueError:
        return False
    return True
