"""Parameters of model calls in a run spec: what each cell gets, and whether its models take it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple, Protocol

from matrix.engine.wire.providers import AGENT, LITELLM, LOCAL
from matrix.engine.wire.setup import ModelEntry
from matrix.kinds.protocol import Binding, RoleProfile
from matrix.model.documents.mistakes import Mistakes
from matrix.model.documents.yaml_documents import Document, PathKey, check
from matrix.model.errors import BadInput, did_you_mean
from matrix.model.records import JSON
from matrix.model.spec.params import (
    ALL,
    COMMON,
    OWN,
    Params,
    layers_of,
    reasoning_room,
    refused,
    typical_reasoning,
)
from matrix.model.spec.run_spec import RunSpec
from matrix.providers.price_map import bundled

_OF_LLAMA: Final = (OWN - {"effort", "thinking_tokens", "seed"}) | {
    "top_k",
    "frequency_penalty",
    "presence_penalty",
}
"""What the models of this machine take."""
_OF_AGENTS: Final = frozenset({"timeout_s"})
"""What agents take: they choose the rest by themselves."""
_NAMED: Final = 3
"""Most models that one mistake names."""


class Takes(Protocol):
    """What litellm says of one real model."""

    def names(self, target: str, api_base: str | None) -> frozenset[str]:
        """Parameters that it takes, by the names of a run spec."""
        ...

    def trouble(self, target: str, api_base: str | None, params: Mapping[str, JSON]) -> str:
        """Why it would refuse these together; empty if it would not."""
        ...


class ParameterName(NamedTuple):
    """A parameter that a factor's levels are of; ``role`` is ``None`` for all that have none."""

    role: str | None
    name: str


class CellParameters(NamedTuple):
    """Role -> parameters, of one cell, and of what all cells of a round share."""

    own: Mapping[str, Mapping[str, JSON]] = {}
    shared: Mapping[str, Mapping[str, JSON]] = {}


def parameter_named(factor: str, roles: Iterable[str]) -> ParameterName | None:
    """The parameter that a factor's or a change's name stands for: ``effort``, ``judge.effort``."""
    role, dot, name = factor.partition(".")
    if dot:
        return ParameterName(role, name) if name and role in (ALL, *roles) else None
    return ParameterName(None, factor) if factor in OWN | COMMON else None


def cell_parameters(
    spec: RunSpec, roles: Iterable[str], values: Mapping[ParameterName, JSON]
) -> CellParameters:
    """What the calls of a cell go with; ``values`` are the levels of its parameter factors.

    A level without a role is for every role for which nothing else says the same parameter.
    """
    shared = {role: params.given for role, params in spec.params.items() if params.given}
    own = {role: dict(params) for role, params in shared.items()}
    for parameter, value in values.items():
        for role in reached(spec, roles, parameter, values):
            own.setdefault(role, {})[parameter.name] = value
    return CellParameters(own, shared)


def reached(
    spec: RunSpec,
    roles: Iterable[str],
    parameter: ParameterName,
    factors: Iterable[ParameterName],
) -> list[str]:
    """Roles whose calls a parameter factor is for, beside the other ``factors``."""
    if parameter.role is not None:
        return [parameter.role]
    named = {other.role for other in factors if other.name == parameter.name}
    given = {role for role, params in spec.params.items() if parameter.name in params.given}
    return [role for role in roles if role not in named | given and ALL not in named]


def check_factors(spec: RunSpec, roles: Iterable[str], mistakes: Mistakes) -> None:
    """Collect parameter factors whose levels would reach no call."""
    roles = list(roles)
    found = {name: parameter_named(name, roles) for name in spec.factors}
    named = {name: one for name, one in found.items() if one is not None and name not in roles}
    for factor, parameter in named.items():
        if not reached(spec, roles, parameter, named.values()):
            mistakes.fault(
                ("factors", factor),
                f"reaches no call: every role has a {parameter.name} of its own; take that out, or "
                f"vary one role: {roles[0]}.{parameter.name}",
            )


def check_level(document: Document, path: PathKey, parameter: ParameterName, value: JSON) -> JSON:
    """A level as its parameter takes it.

    Raises:
        BadInput: It does not; told at ``path``.
    """
    if (why := refused(parameter.name, value)) is not None:
        raise BadInput([document.mistake(path, f"parameter {parameter.name!r} {why}")])
    alone = Document(document.source, {parameter.name: value}, {}, {})
    try:
        return check(alone, Params).given.get(parameter.name)
    except BadInput as error:
        raise BadInput(document.mistake(path, one.message) for one in error.mistakes) from None


def check_names(spec: RunSpec, roles: Iterable[str], mistakes: Mistakes) -> None:
    """Collect what no spec may say: of roles that there are not, and of the engine's business."""
    known = [*roles, ALL]
    for role, params in spec.params.items():
        if role not in known:
            mistakes.fault(
                ("params", role),
                f"unknown role; the {spec.kind} kind has: {', '.join(known)}"
                + did_you_mean(role, known),
            )
        _check_refused(("params", role), params, mistakes)
    for model, entry in spec.models.items():
        _check_refused(("models", model, "params"), entry.params, mistakes)


def _check_refused(path: PathKey, params: Params, mistakes: Mistakes) -> None:
    for name, value in params.given.items():
        if (why := refused(name, value)) is not None:
            mistakes.fault((*path, name), f"parameter {name!r} {why}")


def expecting(
    binding: Binding, cell: CellParameters, of_models: Mapping[str, Mapping[str, JSON]]
) -> Binding:
    """A binding whose profiles expect the reasoning and the limits that parameters bring."""

    def expected(params: Mapping[str, JSON], use: RoleProfile) -> RoleProfile:
        merged = _merged(params, use, of_models)
        output = use.output_tokens + typical_reasoning(merged)
        return use._replace(output_tokens=min(output, merged.get("max_tokens") or output))

    return replace(
        binding,
        profile=tuple(expected(cell.own, use) for use in binding.profile),
        prelude_profile=tuple(expected(cell.shared, use) for use in binding.prelude_profile),
    )


def reasons_unasked(entry: ModelEntry) -> bool:
    """Whether a model may reason though nobody asks it to; Anthropic's do so only when asked."""
    if entry.provider != LITELLM:
        return False
    facts = bundled().find(entry.target)
    return facts is not None and facts.supports_reasoning and facts.provider != "anthropic"


def check_parameters(
    cells: Iterable[tuple[CellParameters, Binding]],
    models: Mapping[str, ModelEntry],
    mistakes: Mistakes,
    takes: Takes | None = None,
) -> None:
    """Collect parameters that a model does not take, before anything starts.

    Args:
        cells: Every cell's parameters, and its binding, whose profiles say which model is asked.
        models: Model name -> entry.
        mistakes: Where what is wrong goes.
        takes: What litellm says; asked only where a real model has parameters, because loading
            litellm takes seconds.
    """
    found: dict[tuple[PathKey, str], dict[str, None]] = {}
    for use in _uses(cells, {name: entry.params for name, entry in models.items()}):
        entry = models[use.model]
        if entry.provider == LITELLM:
            takes = takes or _litellm()
        for name, what in _refusals(use, entry, takes):
            path = _place(name, use, mistakes.document.value)
            found.setdefault((path, what), {})[f"{use.model} (role {use.role})"] = None
    for (path, what), whose in found.items():
        named = list(whose)[:_NAMED]
        others = f" and {len(whose) - _NAMED} more" if len(whose) > _NAMED else ""
        mistakes.fault(path, f"model {', '.join(named)}{others} {what}")


class _Use(NamedTuple):
    """One model asked in one role with these parameters."""

    role: str
    model: str
    params: Mapping[str, JSON]


def _uses(
    cells: Iterable[tuple[CellParameters, Binding]], of_models: Mapping[str, Mapping[str, JSON]]
) -> Iterator[_Use]:
    """Every model of every role with parameters, each once."""
    seen: set[str] = set()
    for cell, binding in cells:
        for params, profile in (
            (cell.own, binding.profile),
            (cell.shared, binding.prelude_profile),
        ):
            for expected in profile:
                use = _Use(expected.role, expected.model, _merged(params, expected, of_models))
                if use.params and (known := repr(use)) not in seen:
                    seen.add(known)
                    yield use


def _refusals(use: _Use, entry: ModelEntry, takes: Takes | None) -> Iterator[tuple[str, str]]:
    """Parameters that a model does not take, each with what is to be said of it."""
    known = OWN | COMMON
    if entry.provider == AGENT:
        known = _OF_AGENTS
    elif entry.provider == LOCAL:
        known = _OF_LLAMA
    elif takes is not None and entry.provider == LITELLM:
        known = takes.names(entry.target, entry.api_base)
    unknown = [name for name in use.params if name not in known]
    for name in unknown:
        hint = did_you_mean(name, sorted(known))
        if not hint and entry.provider == LITELLM:
            hint = ", as far as litellm knows; a service's own parameter goes under extra_body"
        yield name, f"takes no {name!r}{hint}"
    limit, room = use.params.get("max_tokens"), reasoning_room(use.params)
    if limit and use.params.get("thinking_tokens") and limit <= room:
        yield (
            "thinking_tokens",
            f"may reason for {room} tokens, but max_tokens allows {limit} in all; "
            "allow more, or leave max_tokens out: then room is added",
        )
    if not unknown and takes is not None and entry.provider == LITELLM:
        trouble = takes.trouble(entry.target, entry.api_base, use.params)
        if trouble:
            name = next((one for one in use.params if one in trouble), next(iter(use.params)))
            yield name, f"would refuse this: {trouble}"


def _merged(
    params: Mapping[str, Mapping[str, JSON]],
    use: RoleProfile,
    of_models: Mapping[str, Mapping[str, JSON]],
) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for layer in layers_of(params, of_models.get(use.model) or {}, use.role):
        merged.update(layer)
    return merged


def _place(name: str, use: _Use, spec: Mapping[str, Any]) -> PathKey:
    """Where a spec says this parameter: as a factor, for the role, of the model, or for all."""
    for factor in (f"{use.role}.{name}", f"{ALL}.{name}", name):
        if factor in (spec.get("factors") or {}):
            return ("factors", factor)
    places: list[PathKey] = [
        ("params", use.role, name),
        ("models", use.model, "params", name),
        ("params", ALL, name),
    ]
    return next((place for place in places if _holds(spec, place)), ("params",))


def _holds(value: Any, path: PathKey) -> bool:
    for part in path:
        if not isinstance(value, Mapping) or part not in value:
            return False
        value = value[part]
    return True


def _litellm() -> Takes:
    from matrix.providers.litellm_adapter.parameters import LiteLLMParameters

    return LiteLLMParameters()
