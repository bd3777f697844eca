"""Models by name: aliases, simulated stand-ins, prices and limit groups, resolved in one place.

A name is looked up in the spec's own ``models``, then among the built-in aliases, and is otherwise
taken as litellm's own name of a model. ``sim/<name>`` is a simulated stand-in at its price, and
``local/<name>`` a real model that runs on this machine for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from matrix.admission.tariffs import Tariff
from matrix.engine.wire.providers import AGENT, LITELLM, LOCAL, SIMULATED
from matrix.engine.wire.setup import GroupLimits, ModelEntry
from matrix.kinds.protocol import RoleProfile
from matrix.model.errors import BadInput, Mistake, did_you_mean
from matrix.model.spec.agents import AgentSpec
from matrix.model.spec.aliases import BUILT_IN, LOCAL_PREFIX, SIMULATED_PREFIX
from matrix.model.spec.run_spec import ModelSpec, Price
from matrix.providers.local.settings import SLOTS
from matrix.providers.local.weights import PACKAGED, LocalModelUnavailable, check_local_model
from matrix.providers.price_map import PriceUnknown, bundled

_AGENTS_AT_ONCE = 8
"""Turns of an agent's limit group that are played at once, where the spec says nothing."""

_FREE = Tariff.from_usd_per_mtok(0, 0)
_MODES = ("chat", "completion")
RAW_MODES = ("chat", "responses")
"""Modes, in the price list, of models that take requests in shapes of their own."""


class UnknownModel(ValueError):
    """No such model, or no price for it; the message says what is allowed."""


def resolve_model(name: str, own: Mapping[str, ModelSpec], *, raw: bool = False) -> ModelEntry:
    """What stands behind a model name; one that is asked ``raw`` need not take chats.

    Raises:
        UnknownModel: The name is not known, or nothing says what it costs.
    """
    if name.startswith(SIMULATED_PREFIX):
        return _stand_in(name, own)
    spec = own.get(name)
    if spec is not None and spec.target.startswith(SIMULATED_PREFIX):
        entry = _stand_in(spec.target, {k: v for k, v in own.items() if k != name})
        return entry._replace(
            tariff=_given(spec.price) or entry.tariff,
            group=spec.group or entry.group,
            params=spec.params.given,
        )
    if (spec.target if spec else name).startswith(LOCAL_PREFIX):
        return _local(name, spec)
    return _real(name, spec, own, RAW_MODES if raw else _MODES)


def stand_ins_of(
    played: Iterable[tuple[Mapping[str, str], Iterable[RoleProfile]]],
    models: Mapping[str, ModelEntry],
) -> dict[str, tuple[str, ...]]:
    """Which levels of which roles simulated models stand for.

    A level may be a rule with many models behind it, so the kinds' profiles say which are asked.

    Args:
        played: For each cell its roles with their levels, and its profile.
        models: Every model that may be asked.
    """
    found: dict[str, dict[str, None]] = {}
    for roles, profile in played:
        for use in profile:
            if is_simulated(models[use.model], models):
                found.setdefault(use.role, {})[roles.get(use.role, use.model)] = None
    return {role: tuple(levels) for role, levels in found.items()}


def is_simulated(entry: ModelEntry, models: Mapping[str, ModelEntry]) -> bool:
    """Whether a simulated model answers: behind this name, or whatever this agent asks."""
    if entry.provider == AGENT:
        return bool(entry.asks) and all(models[name].facts.simulated for name in entry.asks)
    return entry.facts.simulated


def agent_entry(name: str, agent: AgentSpec) -> ModelEntry:
    """What stands behind an agent's name."""
    expected, most = agent.expected, agent.most
    return ModelEntry(
        AGENT,
        agent.form,
        Tariff(_FREE.rates, (), expected, most),
        agent.group or name,
        agent.http.submit if agent.http is not None else None,
        asks=tuple(_asked(agent)),
    )


def _asked(agent: AgentSpec) -> Iterator[str]:
    """Models behind an agent."""
    if agent.model is not None:
        yield agent.model
    for given in agent.meter or ():
        if given in METERED_PROVIDERS:
            yield from priced_models(given)
        else:
            yield given


METERED_PROVIDERS = ("anthropic", "openai")
"""Providers whose models programs ask by their bare names."""


def priced_models(provider: str) -> list[str]:
    """Every model of a provider that programs may ask and that has a price, by litellm's names."""
    found = []
    for name in bundled().names():
        facts = None if "/" in name else bundled().find(name)
        if facts is None or facts.provider != provider or facts.mode not in RAW_MODES:
            continue
        with suppress(PriceUnknown):
            bundled().tariff(f"{provider}/{name}")
            found.append(f"{provider}/{name}")
    return sorted(found)


def processes_of(provider: str, asked: int) -> int:
    """Processes of its own that a provider gets when the spec asks for ``asked`` of them.

    Local models get one, whatever is asked: each process would load the weights again and compete
    for the same cores.
    """
    return 1 if provider == LOCAL else asked


def with_default_limits(
    groups: Mapping[str, GroupLimits], models: Mapping[str, ModelEntry]
) -> dict[str, GroupLimits]:
    """Limit groups, in which what runs here has a concurrency even if the spec gives none."""
    few = {LOCAL: SLOTS, AGENT: _AGENTS_AT_ONCE}
    defaults = {
        entry.group: few[entry.provider] for entry in models.values() if entry.provider in few
    }
    found = {name: groups.get(name, GroupLimits()) for name in defaults}
    return {**groups} | {
        name: limits._replace(concurrency=limits.concurrency or defaults[name])
        for name, limits in found.items()
    }


def require_local_models(models: Mapping[str, ModelEntry], source: str) -> None:
    """See that every local model can be loaded here; also for a run that was planned elsewhere.

    Raises:
        BadInput: One line for each that cannot, with what to install.
    """
    missing = []
    for name, entry in models.items():
        if entry.provider == LOCAL:
            try:
                check_local_model(entry.target)
            except LocalModelUnavailable as error:
                missing.append(Mistake(source, None, f"model {name}", str(error)))
    if missing:
        raise BadInput(missing)


def _local(name: str, spec: ModelSpec | None) -> ModelEntry:
    """A model of this machine: free unless the spec gives it a price, and ready to be loaded."""
    if spec is not None and (spec.api_base or spec.api_key_env):
        raise UnknownModel(
            f"model {name!r} runs on this machine ({spec.target}) and has neither api_base nor "
            "api_key_env; leave them out, or give another target"
        )
    target = spec.target if spec else name
    try:
        check_local_model(target)
    except LocalModelUnavailable as error:
        raise UnknownModel(str(error)) from None
    price = _given(spec.price) if spec else None
    return ModelEntry(
        LOCAL,
        target,
        price or _FREE,
        (spec.group if spec else None) or LOCAL,
        params=spec.params.given if spec else {},
    )


def _real(
    name: str, spec: ModelSpec | None, own: Mapping[str, ModelSpec], modes: Iterable[str]
) -> ModelEntry:
    alias = BUILT_IN.get(name)
    target = spec.target if spec else alias.target if alias else name
    if spec is None and alias is None and "/" not in target:
        local = (LOCAL_PREFIX + model for model in PACKAGED)
        known = sorted({*own, *BUILT_IN, *(SIMULATED_PREFIX + k for k in BUILT_IN), *local})
        raise UnknownModel(
            f"unknown model {name!r}; write it as litellm does (provider/model), or one of: "
            f"{', '.join(known)}{did_you_mean(name, known)}"
        )
    if "://" in target:
        raise UnknownModel(
            f"model {name!r} has an address in its target ({target}); give that as api_base, so "
            "that it is seen where requests go"
        )
    facts = bundled().find(target)
    if facts is not None and facts.mode not in modes:
        raise UnknownModel(f"model {name!r} is a {facts.mode} model; a chat model is needed")
    return ModelEntry(
        LITELLM,
        target,
        _price_of(target, name, spec),
        (spec.group if spec else None) or (alias.group if alias else target.partition("/")[0]),
        spec.api_base if spec else None,
        spec.api_key_env if spec else None,
        spec.params.given if spec else {},
    )


def _price_of(target: str, name: str, spec: ModelSpec | None) -> Tariff:
    """The spec's own price, else litellm's list, else the alias's; never a guess."""
    if spec is not None and (price := _given(spec.price)) is not None:
        return price
    if spec is not None and spec.free:
        return _FREE
    try:
        return bundled().tariff(target, spec.api_base if spec else None)
    except PriceUnknown as error:
        if (alias := BUILT_IN.get(name)) is not None and spec is None:
            return Tariff.from_usd_per_mtok(alias.input_usd_per_mtok, alias.output_usd_per_mtok)
        raise UnknownModel(f"model {name!r} has no price: {error}") from None


def list_price(target: str) -> Tariff:
    """What litellm's list says that a model costs.

    Raises:
        UnknownModel: It does not say.
    """
    try:
        return bundled().tariff(target)
    except PriceUnknown as error:
        raise UnknownModel(str(error)) from None


def _given(price: Price | None) -> Tariff | None:
    if price is None:
        return None
    return Tariff.from_usd_per_mtok(
        price.input,
        price.output,
        cached_usd=price.cached,
        cache_write_usd=price.cache_write,
        reasoning_usd=price.reasoning,
    )


def _stand_in(name: str, own: Mapping[str, ModelSpec]) -> ModelEntry:
    base = name.removeprefix(SIMULATED_PREFIX)
    return ModelEntry(
        SIMULATED,
        base,
        _stand_in_price(base, name, own),
        _group(base, own),
        params=own[base].params.given if base in own else {},
    )


def _stand_in_price(base: str, name: str, own: Mapping[str, ModelSpec]) -> Tariff:
    if base in own and (price := _given(own[base].price)) is not None:
        return price
    if base in BUILT_IN:
        alias = BUILT_IN[base]
        return Tariff.from_usd_per_mtok(alias.input_usd_per_mtok, alias.output_usd_per_mtok)
    if base in own:
        raise UnknownModel(f"model {name!r} has no price; give it one under models.{base}.price")
    known = sorted({*own, *BUILT_IN})
    raise UnknownModel(
        f"unknown simulated model {name!r}; {SIMULATED_PREFIX} goes before one of: "
        f"{', '.join(known)}{did_you_mean(base, known)}"
    )


def _group(base: str, own: Mapping[str, ModelSpec]) -> str:
    if base in own and own[base].group is not None:
        return str(own[base].group)
    return BUILT_IN[base].group if base in BUILT_IN else base
