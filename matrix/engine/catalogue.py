"""Models by name: aliases, simulated stand-ins, prices and limit groups, resolved in one place.

A name is looked up in the spec's own ``models``, then among the built-in aliases, and is otherwise
taken as litellm's own name of a model. ``sim/<name>`` is a simulated stand-in at its price.
"""

from __future__ import annotations

from collections.abc import Mapping

from matrix.admission.tariffs import Tariff
from matrix.engine.setup import ModelEntry
from matrix.model.aliases import BUILT_IN, SIMULATED_PREFIX
from matrix.model.errors import did_you_mean
from matrix.model.spec import ModelSpec, Price
from matrix.providers.price_map import PriceUnknown, bundled

SIMULATED = "sim"
"""Name of the provider that plays simulated models."""

LITELLM = "litellm"
"""Name of the provider that plays real models."""


class UnknownModel(ValueError):
    """No such model, or no price for it; the message says what is allowed."""


def resolve_model(name: str, own: Mapping[str, ModelSpec]) -> ModelEntry:
    """What stands behind a model name.

    Raises:
        UnknownModel: The name is not known, or nothing says what it costs.
    """
    if name.startswith(SIMULATED_PREFIX):
        return _stand_in(name, own)
    spec = own.get(name)
    if spec is not None and spec.target.startswith(SIMULATED_PREFIX):
        entry = _stand_in(spec.target, {k: v for k, v in own.items() if k != name})
        return entry._replace(
            tariff=_given(spec.price) or entry.tariff, group=spec.group or entry.group
        )
    return _real(name, spec, own)


def _real(name: str, spec: ModelSpec | None, own: Mapping[str, ModelSpec]) -> ModelEntry:
    alias = BUILT_IN.get(name)
    target = spec.target if spec else alias.target if alias else name
    if spec is None and alias is None and "/" not in target:
        known = sorted({*own, *BUILT_IN, *(SIMULATED_PREFIX + k for k in BUILT_IN)})
        raise UnknownModel(
            f"unknown model {name!r}; write it as litellm does (provider/model), or one of: "
            f"{', '.join(known)}{did_you_mean(name, known)}"
        )
    facts = bundled().find(target)
    if facts is not None and facts.mode not in ("chat", "completion"):
        raise UnknownModel(f"model {name!r} is a {facts.mode} model; a chat model is needed")
    return ModelEntry(
        LITELLM,
        target,
        _price_of(target, name, spec),
        (spec.group if spec else None) or (alias.group if alias else target.partition("/")[0]),
        spec.api_base if spec else None,
        spec.api_key_env if spec else None,
    )


def _price_of(target: str, name: str, spec: ModelSpec | None) -> Tariff:
    """The spec's own price, else litellm's list, else the alias's; never a guess."""
    if spec is not None and (price := _given(spec.price)) is not None:
        return price
    if spec is not None and spec.free:
        return Tariff.from_usd_per_mtok(0, 0)
    try:
        return bundled().tariff(target, spec.api_base if spec else None)
    except PriceUnknown as error:
        if (alias := BUILT_IN.get(name)) is not None and spec is None:
            return Tariff.from_usd_per_mtok(alias.input_usd_per_mtok, alias.output_usd_per_mtok)
        raise UnknownModel(f"model {name!r} has no price: {error}") from None


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
    return ModelEntry(SIMULATED, base, _stand_in_price(base, name, own), _group(base, own))


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
