"""Parameters of a function or class as options: their types, defaults and words."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, NamedTuple, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from matrix.model.errors import KindUnusable

_PLAIN = (bool, int, float, str)
_EXAMPLE = "str, int, float, bool, Literal['a', 'b'], list[str]"


class Parameter(NamedTuple):
    """One option: its type, its default (``...`` for none), and what it is for."""

    annotation: Any
    default: Any
    description: str = ""


def parameters_of(target: Any, file: str, *, skip: int = 1) -> dict[str, Parameter]:
    """The parameters of a function after its context, or the annotated fields of a class.

    Args:
        target: The function or class.
        file: Its file, for messages.
        skip: Parameters of a function that come before: its context, or none.

    Raises:
        KindUnusable: All that is wrong with them.
    """
    described = described_in(inspect.getdoc(target) or "")
    try:
        hints = get_type_hints(target, include_extras=True)
    except Exception as error:  # names that are not there, and anything that annotations may do
        told = f"{type(error).__name__}: {error}"
        raise KindUnusable(
            f"{file}: the types of {target.__name__} cannot be read: {told}"
        ) from None
    if isinstance(target, type):
        found, wrong = _of_class(target, hints)
    else:
        found, wrong = _of_call(target, hints, skip)
    wrong += [
        f"parameter {name!r} has the type {_shown(one.annotation)}, which no spec can write; use "
        f"{_EXAMPLE}"
        for name, one in found.items()
        if not _is_plain(one.annotation)
    ]
    wrong += [
        f"parameter {name!r} is {one.default!r:.80} by default, which is no "
        f"{_shown(one.annotation)}"
        for name, one in found.items()
        if _is_plain(one.annotation) and not _is_default(one)
    ]
    if wrong:
        raise KindUnusable(f"{file}: {target.__name__}: {'; '.join(wrong)}")
    return {name: one._replace(description=described.get(name, "")) for name, one in found.items()}


def model_of(
    name: str, parameters: Mapping[str, Parameter], of: Collection[str] | None = None
) -> type[BaseModel]:
    """A model of these parameters, or of those of them that are named."""
    fields: dict[str, Any] = {
        key: (one.annotation, Field(default=one.default, description=one.description or None))
        for key, one in parameters.items()
        if of is None or key in of
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a parameter may be called as something of pydantic's
        return create_model(
            name,
            __config__=ConfigDict(frozen=True, extra="forbid", protected_namespaces=()),
            **fields,
        )


def described_in(doc: str) -> dict[str, str]:
    """What a docstring says of each parameter: ``name: words`` under ``Args:``."""
    found: dict[str, str] = {}
    inside, current, indent = False, "", 0
    for line in doc.splitlines():
        if re.fullmatch(r"(Args|Arguments|Parameters|Attributes):", line.strip()):
            inside, current = True, ""
            continue
        if not inside or not line.strip():
            continue
        depth = len(line) - len(line.lstrip())
        if depth == 0:
            inside = False
            continue
        head = re.match(r"(\w+)(?: \([^)]*\))?:\s*(.*)", line.strip())
        if head and (not current or depth <= indent):
            current, indent = head[1], depth
            found[current] = head[2]
        elif current:
            found[current] = f"{found[current]} {line.strip()}".strip()
    return found


def _of_call(
    function: Callable[..., Any], hints: Mapping[str, Any], skip: int
) -> tuple[dict[str, Parameter], list[str]]:
    given = list(inspect.signature(function).parameters.values())
    placed = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if skip and (not given or given[0].kind not in placed):
        return {}, ["its first parameter has to be the context: async def name(ctx, ...)"]
    found: dict[str, Parameter] = {}
    wrong = []
    for one in given[skip:]:
        if one.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            wrong.append(f"parameter {one.name!r} takes anything; options have names")
            continue
        if one.kind is inspect.Parameter.POSITIONAL_ONLY or one.name.startswith("_"):
            wrong.append(f"parameter {one.name!r} cannot be given by its name; rename it")
            continue
        default = ... if one.default is inspect.Parameter.empty else one.default
        annotation = hints.get(one.name, type(default) if type(default) in _PLAIN else None)
        if annotation is None:
            wrong.append(f"parameter {one.name!r} has no type; write {one.name}: str")
            continue
        found[one.name] = Parameter(annotation, default)
    return found, wrong


def _of_class(kind: type, hints: Mapping[str, Any]) -> tuple[dict[str, Parameter], list[str]]:
    found = {
        name: Parameter(annotation, getattr(kind, name, ...))
        for name, annotation in hints.items()
        if get_origin(annotation) is not ClassVar and not name.startswith("_")
    }
    return found, []


def _is_default(parameter: Parameter) -> bool:
    """Whether the default, if there is one, is a value of its own type."""
    if parameter.default is ...:
        return True
    try:
        TypeAdapter(parameter.annotation).validate_python(parameter.default)
    except ValidationError:
        return False
    return True


def _is_plain(annotation: Any) -> bool:
    """Whether a spec can write values of this type."""
    try:
        model = create_model("Probe", value=(annotation, ...))
        model.model_json_schema()
    except (PydanticSchemaGenerationError, PydanticUserError, TypeError, ValueError):
        return False
    return True


def _shown(annotation: Any) -> str:
    return getattr(annotation, "__name__", None) or str(annotation)
