"""Models by name: aliases, simulated stand-ins, prices and limit groups, resolved in one place."""

from __future__ import annotations

from collections.abc import Mapping

from matrix.admission.pricing import Tariff
from matrix.engine.setup import ModelEntry
from matrix.model.aliases import BUILT_IN, SIMULATED_PREFIX
from matrix.model.errors import did_you_mean
from matrix.model.spec import ModelSpec

SIMULATED = "sim"
"""Name of the provider that plays simulated models."""


class UnknownModel(ValueError):
    """No such model, or no price for it; the message says what is allowed."""


def resolve_model(name: str, own: Mapping[str, ModelSpec]) -> ModelEntry:
    """What stands behind a model name.

    Raises:
        UnknownModel: The name is not known, or nothing says what it costs.
    """
    if name.startswith(SIMULATED_PREFIX):
        base = name.removeprefix(SIMULATED_PREFIX)
        return ModelEntry(SIMULATED, base, _stand_in_price(base, name, own), _group(base, own))
    if name in own and own[name].target.startswith(SIMULATED_PREFIX):
        target = own[name].target
        entry = resolve_model(target, {k: v for k, v in own.items() if k != name})
        price = own[name].price
        tariff = Tariff.from_usd_per_mtok(price.input, price.output) if price else entry.tariff
        return entry._replace(tariff=tariff, group=own[name].group or entry.group)
    known = sorted({*own, *BUILT_IN})
    if name in known:
        raise UnknownModel(
            f"model {name!r} is a real model, and this version only plays simulated ones; "
            f"use '{SIMULATED_PREFIX}{name}'"
        )
    simulated = [SIMULATED_PREFIX + alias for alias in known]
    raise UnknownModel(
        f"unknown model {name!r}; known: {', '.join(simulated)}{did_you_mean(name, simulated)}"
    )


def _stand_in_price(base: str, name: str, own: Mapping[str, ModelSpec]) -> Tariff:
    if base in own and (price := own[base].price) is not None:
        return Tariff.from_usd_per_mtok(price.input, price.output)
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
