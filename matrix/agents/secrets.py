"""Takes the values of an agent's variables out of what it says, before anything else happens to it.

Before, because whatever is cut or quoted may hold half a value, or one in another spelling.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final, Protocol

from matrix.model.agents import AgentSpec
from matrix.telemetry.redaction import Redactor

_SHORTEST_LINE: Final = 8
"""Shorter lines of a value of several lines are ordinary words."""


class Clean(Protocol):
    """Text without secrets; of one that was cut, the end goes that may be the half of one."""

    def __call__(self, text: str, whole: bool = True) -> str: ...


def cleaner(agent: AgentSpec, variables: Mapping[str, str]) -> Clean:
    """What takes the values of ``pass_env`` out."""
    values = [variables[name] for name in agent.pass_env if variables.get(name)]
    forms = {form for value in values for form in _forms(value)}
    redactor, longest = Redactor(forms), max(map(len, forms), default=0)

    def clean(text: str, whole: bool = True) -> str:
        cleaned = redactor.values(text)
        return cleaned if whole else cleaned[: len(cleaned) - longest]

    return clean


def _forms(value: str) -> Iterator[str]:
    """A value, and each of its lines, as they are and as JSON and Python write them."""
    lines = [line.strip() for line in value.splitlines()]
    for part in (value, *(line for line in lines if len(line) >= _SHORTEST_LINE)):
        yield part
        yield json.dumps(part)[1:-1]
        yield json.dumps(part, ensure_ascii=False)[1:-1]
        yield repr(part)[1:-1]
