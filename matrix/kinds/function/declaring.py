"""``@matrix.scenario``: what a file says of the function or class that is a kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite
from types import MappingProxyType
from typing import Any, Final, TypeAlias, TypeVar, overload

from matrix.model.errors import did_you_mean
from matrix.model.metrics import taken_name

Target = TypeVar("Target", bound=Callable[..., Any])
Cases: TypeAlias = str | Sequence[Mapping[str, Any]] | None
Script: TypeAlias = Mapping[str, Any] | Callable[..., Any] | None

DEFAULT_MODEL: Final = "sim/gpt-4o-mini"
MARK: Final = "__matrix_scenario__"
"""Attribute of a function or class that has been declared a kind."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What the decorator was told; see :func:`scenario`."""

    roles: Mapping[str, str] = field(default_factory=lambda: {"agent": DEFAULT_MODEL})
    judges: tuple[str, ...] = ("judge",)
    cases: Cases = None
    simulated: Script = None
    scores: tuple[str, ...] = ()
    score_range: tuple[float, float] = (0.0, 1.0)
    lower_is_better: tuple[str, ...] = ()
    turn_per_call: bool = False
    thresholds: Mapping[str, float] = field(default_factory=dict)
    baseline: str = ""
    margin: float | None = None


@overload
def scenario(target: Target, /) -> Target: ...


@overload
def scenario(
    *,
    roles: Mapping[str, str] = ...,
    judges: Sequence[str] = ...,
    cases: Cases = ...,
    simulated: Script = ...,
    scores: Sequence[str] = ...,
    score_range: tuple[float, float] = ...,
    lower_is_better: Sequence[str] = ...,
    turn_per_call: bool = ...,
    thresholds: Mapping[str, float] = ...,
    baseline: str = ...,
    margin: float | None = ...,
) -> Callable[[Target], Target]: ...


def scenario(
    target: Any = None,
    /,
    *,
    roles: Mapping[str, str] = MappingProxyType({"agent": DEFAULT_MODEL}),
    judges: Sequence[str] = ("judge",),
    cases: Cases = None,
    simulated: Script = None,
    scores: Sequence[str] = (),
    score_range: tuple[float, float] = (0.0, 1.0),
    lower_is_better: Sequence[str] = (),
    turn_per_call: bool = False,
    thresholds: Mapping[str, float] = MappingProxyType({}),
    baseline: str = "",
    margin: float | None = None,
) -> Any:
    """Declare that a function, or a class, is a kind: what one session of a matrix does.

    The function is ``async``, is given a :class:`ScenarioContext`, and parameters that are options
    of the kind, and so factors, checked by their types and described by its docstring. What it
    returns, if that is a number, is the session's ``score``. Called by hand it is as it was.

    Args:
        target: The function or class, where the decorator is used without brackets.
        roles: Role -> model that plays it unless a run says otherwise.
        judges: Roles that measure what the others do.
        cases: Values of parameters, each set of them a scenario: mappings, or the name of a CSV,
            JSON or JSON-lines file, or of a folder, beside the file.
        simulated: What simulated models say, by role: a text, a list of texts, or a function of
            what is :class:`~matrix.kinds.function.scripts.Asked`; or one such function for all,
            which leaves to the simulated models' own words what it gives ``None`` for.
        scores: Names of the scores, where they should be checked beforehand.
        score_range: Least and greatest value of ``score``, such as ``(0, 100)``: how bad a missing
            one may have been goes by it, and how many decimals are shown.
        lower_is_better: Scores of which less is better.
        turn_per_call: Whether there is a checkpoint before every call but the first, so that one
            can go on from any of them; then a session may have as many calls as turns.
        thresholds: For ``pytest --matrix``: metric -> least mean or pass rate; the largest where
            less is better.
        baseline: For the same: a file beside this one, which ``matrix export --to csv`` wrote of
            a run that must not be worse.
        margin: How much worse than the baseline it may be, in units of the score.

    Raises:
        TypeError, ValueError: An argument is of no use.
    """
    lists = {"judges": judges, "scores": scores, "lower_is_better": lower_is_better}
    for name, value in lists.items():
        if isinstance(value, str):
            told = f"{name} is {value!r}; must be a list of names, as [{value!r}]"
            raise ValueError(f"@matrix.scenario: {told}")
    declared = Declared(
        dict(roles),
        tuple(judges),
        cases,
        simulated,
        tuple(scores),
        (float(score_range[0]), float(score_range[1])),
        tuple(lower_is_better),
        turn_per_call,
        dict(thresholds),
        baseline,
        None if margin is None else float(margin),
    )
    if wrong := _wrong(declared):
        raise ValueError(f"@matrix.scenario: {wrong}")

    def mark(found: Target) -> Target:
        setattr(found, MARK, declared)
        return found

    return mark if target is None else mark(target)


def declared_of(target: object) -> Declared | None:
    """What was declared of a function or class; ``None`` for any other."""
    own = vars(target) if hasattr(target, "__dict__") else {}
    found = own.get(MARK)
    return found if isinstance(found, Declared) else None


def _wrong(declared: Declared) -> str:
    """What is wrong with the arguments; empty for nothing."""
    if not declared.roles:
        return "roles are empty; name at least one, as roles={'agent': 'sim/gpt-4o-mini'}"
    for role, model in declared.roles.items():
        if not (isinstance(role, str) and role.isidentifier()) or not isinstance(model, str):
            return f"role {role!r}: found {model!r}; a role is a name, and its value a model's"
    if taken := next(filter(None, map(taken_name, map(str, declared.scores))), ""):
        return f"scores: {taken}"
    known = (*declared.scores, "score")
    strange = [one for one in declared.lower_is_better if one not in known]
    if declared.scores and strange:
        names = ", ".join(map(str, declared.scores))
        hint = did_you_mean(str(strange[0]), [str(one) for one in declared.scores])
        return f"lower_is_better has {strange[0]!r}; the scores are: {names}{hint}"
    low, high = declared.score_range
    if not low < high:
        return f"score_range is from {low:g} to {high:g}; the first has to be below the second"
    for metric, least in declared.thresholds.items():
        if not isinstance(metric, str) or isinstance(least, bool | str) or not isfinite(least):
            return f"thresholds[{metric!r}] is {least!r}; must be a number"
    if declared.margin is not None and not 0 < declared.margin < inf:
        return f"margin is {declared.margin:g}; must be above 0, in units of the score"
    if isinstance(declared.simulated, Mapping):
        others = [name for name in declared.simulated if name not in declared.roles]
        if others:
            return f"simulated has {others[0]!r}; the roles are: {', '.join(declared.roles)}"
    return ""
