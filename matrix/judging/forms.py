"""Forms of a judge's answer: what is asked for, and how what comes back is read.

Every form is read the same way: strict about what decides (which scores, which verdict), lenient
about what is around it. What cannot be read is asked for once more, and is never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

V = TypeVar("V", covariant=True)


@dataclass(frozen=True, slots=True)
class Unread:
    """An answer that could not be read, and why."""

    why: str


@dataclass(frozen=True, slots=True)
class Form(Generic[V]):
    """One form of answer.

    Attributes:
        system: The judge's instructions: what is judged by what, and the form.
        closing: Last line of the request.
        again: What is added to a request when the answer before could not be read.
        schema: JSON Schema of the answer, for models that can be held to one.
        parse: Reads an answer.
        hash: Content hash of all that a judgement depends on but the material and the model.
        whole: Whether what was read lacks nothing; the rest is asked for once more, too.
    """

    system: str
    closing: str
    again: str
    schema: Mapping[str, Any] | None
    parse: Callable[[str], V | Unread]
    hash: str
    whole: Callable[[Any], bool] = lambda _: True
