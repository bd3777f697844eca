"""A small language for choosing rows: ``events.kind == "forced_segue" and events.turn > 3``.

``table.column`` compared with a literal, joined by ``and``, ``or`` and parentheses. The text is
parsed with Python's grammar and taken apart by hand; nothing of it is ever run.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from matrix.model.errors import BadInput, Mistake

MAX_CHARACTERS: Final = 2000

FORM: Final = 'write it as table.column == "value", joined by and, or'

_OPERATORS: Final[Mapping[type[ast.cmpop], str]] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_HOLDS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

Literals: TypeAlias = str | float | bool


class ConditionTerm(NamedTuple):
    """``table.column op value``; ``at`` is its place in the text, from 1."""

    table: str
    column: str
    op: str
    value: Literals
    at: int


class Joined(NamedTuple):
    """Conditions joined by one word."""

    word: Literal["and", "or"]
    parts: tuple[Condition, ...]


Condition: TypeAlias = ConditionTerm | Joined


def parse_condition(text: str, source: str) -> Condition:
    """Read a condition.

    Args:
        text: What was written.
        source: Where, e.g. ``--where``.

    Raises:
        BadInput: Every part that is not of the language, each with its place.
    """
    text = " ".join(text.strip().splitlines())
    if len(text) > MAX_CHARACTERS:
        message = f"is {len(text):,} characters long; at most {MAX_CHARACTERS:,}"
        raise BadInput([Mistake(source, None, "", message)])
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise BadInput([_mistake(source, error.offset or 1, text, "cannot be read")]) from None
    except (ValueError, MemoryError, RecursionError):
        raise BadInput([Mistake(source, None, "", f"cannot be read; {FORM}")]) from None
    mistakes: list[Mistake] = []
    found = _condition(tree, text, source, mistakes)
    if mistakes or found is None:
        raise BadInput(mistakes)
    return found


def comparisons(condition: Condition) -> Iterator[ConditionTerm]:
    """Every comparison in it, in order."""
    if isinstance(condition, ConditionTerm):
        yield condition
        return
    for part in condition.parts:
        yield from comparisons(part)


def holds(condition: Condition, row: Mapping[tuple[str, str], Any]) -> bool:
    """Whether a row, by (table, column), meets a condition. Nothing compares with a missing value.

    Values must be of types that compare; see the columns' declarations.
    """
    if isinstance(condition, ConditionTerm):
        value = row[condition.table, condition.column]
        return value is not None and _HOLDS[condition.op](value, condition.value)
    join = all if condition.word == "and" else any
    return join(holds(part, row) for part in condition.parts)


def _condition(node: ast.expr, text: str, source: str, mistakes: list[Mistake]) -> Condition | None:
    if isinstance(node, ast.BoolOp):
        parts = [_condition(part, text, source, mistakes) for part in node.values]
        word: Literal["and", "or"] = "and" if isinstance(node.op, ast.And) else "or"
        return Joined(word, tuple(part for part in parts if part is not None))
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _comparison(node, text, source, mistakes)
    mistakes.append(_mistake(source, _place(node, text), text, "is no comparison"))
    return None


def _comparison(
    node: ast.Compare, text: str, source: str, mistakes: list[Mistake]
) -> ConditionTerm | None:
    left, right, op = node.left, node.comparators[0], _OPERATORS.get(type(node.ops[0]))
    before = len(mistakes)
    named = isinstance(left, ast.Attribute) and isinstance(left.value, ast.Name)
    if not named:
        mistakes.append(_mistake(source, _place(left, text), text, "is no table.column"))
    if op is None:
        allowed = ", ".join(_OPERATORS.values())
        words = f"is compared in a way that is not known; known: {allowed}"
        mistakes.append(_mistake(source, _place(left, text), text, words))
    value = _literal(right)
    if value is None:
        mistakes.append(_mistake(source, _place(right, text), text, "is no text or number"))
    if len(mistakes) > before or value is None or op is None:
        return None
    assert isinstance(left, ast.Attribute)
    assert isinstance(left.value, ast.Name)
    return ConditionTerm(left.value.id, left.attr, op, value, _place(left, text))


def _literal(node: ast.expr) -> Literals | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _literal(node.operand)
        return None if value is None or isinstance(value, (str, bool)) else -value
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, int, float, bool)):
        return node.value
    if isinstance(node, ast.Name) and node.id in ("true", "false"):
        return node.id == "true"
    return None


def _place(node: ast.expr, text: str) -> int:
    """Where a part begins in a text of one line, as a character from 1; the parser counts bytes."""
    return len(text.encode()[: node.col_offset].decode()) + 1


def _mistake(source: str, at: int, text: str, what: str) -> Mistake:
    rest = text[at - 1 :][:30]
    found = repr(rest) if rest else "the end"
    return Mistake(source, None, f"character {at}", f"{found} {what}; {FORM}")
