"""What a run would find when it starts: its models, their prices, keys and limits. Pure.

What has to be looked at (folders, addresses, Ray) is in :mod:`matrix.engine.run.surroundings`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from matrix.admission.tariffs import ATTO_PER_NANO, Tariff
from matrix.engine.prepare.keys import KeyNeed, key_needs, key_remedy
from matrix.engine.prepare.prepared import Prepared
from matrix.engine.wire.providers import LITELLM
from matrix.engine.wire.setup import GroupLimits, ModelEntry
from matrix.model.money import show_usd
from matrix.model.spec.run_spec import ModelSpec
from matrix.providers.price_map import PriceUnknown, bundled

State = Literal["ok", "warn", "missing"]
"""``missing`` keeps a run from starting or from working; ``warn`` does not."""


class Finding(NamedTuple):
    """One thing that was looked at.

    Attributes:
        what: The thing, in a word or two.
        found: What was found; never any part of a key.
        remedy: What to do about it; empty where nothing has to be done.
    """

    what: str
    state: State
    found: str
    remedy: str = ""


def guessed_agents(prepared: Prepared) -> str:
    """That an estimate rests on what somebody said a turn costs; empty if it does not."""
    names = [name for name, agent in prepared.agents.items() if agent.meter is not None]
    if not names:
        return ""
    told = f"this rests on expected_usd of {', '.join(names)}; only the cap bounds what is spent"
    return told


def plan_findings(prepared: Prepared) -> list[Finding]:
    """The spec, and its cap beside what it is expected to cost."""
    spec = prepared.spec
    cap, expected = spec.limits.cap_nano, prepared.estimate
    found = f"{prepared.source}: {prepared.plan.sessions:,} sessions"
    money = f"{show_usd(cap)}; expected {show_usd(expected.middle)}, at most about " + show_usd(
        expected.high
    )
    if prepared.unforeseen:
        money = f"{show_usd(cap)}; what is expected its first round says"
    if guessed := guessed_agents(prepared):
        money += f"; {guessed}"
    if expected.middle <= cap:
        return [Finding("spec", "ok", found), Finding("cap", "ok", money)]
    remedy = "raise limits.cost_usd, or it ends at the cap with fewer sessions"
    return [Finding("spec", "ok", found), Finding("cap", "warn", money, remedy)]


def model_findings(prepared: Prepared) -> list[Finding]:
    """Every model with its price and where the price is from."""
    return [
        Finding(f"model {name}", "ok", f"{entry.target}, {_price(name, entry, prepared)}")
        for name, entry in prepared.models.items()
    ]


def key_findings(
    models: Mapping[str, ModelEntry],
    environment: Mapping[str, str],
    in_file: Mapping[str, str],
    env_file: Path,
) -> list[Finding]:
    """Each key that is needed once, with the models that need it."""
    needs = key_needs(models, {**in_file, **environment})
    same: dict[tuple[str, ...] | None, list[KeyNeed]] = {}
    for need in needs:
        if need.names != ():
            same.setdefault(need.names, []).append(need)
    return [_key(names, found, environment, env_file) for names, found in same.items()]


def limit_findings(prepared: Prepared) -> list[Finding]:
    """Every limit group of real models, with the limits that calls will keep to."""
    groups = {e.group for e in prepared.models.values() if not e.facts.simulated}
    return [_limits(group, prepared.groups.get(group)) for group in sorted(groups)]


def schema_findings(models: Mapping[str, ModelEntry]) -> list[Finding]:
    """Models of which nobody knows that their answers keep to a JSON Schema."""
    real = {name: entry for name, entry in models.items() if entry.provider == LITELLM}
    without = sorted(name for name, entry in real.items() if not _knows_schemas(entry))
    if not real:
        return []
    if not without:
        return [Finding("JSON Schema", "ok", "every model is known to keep to one")]
    return [
        Finding(
            "JSON Schema",
            "warn",
            f"not known to be kept by {', '.join(without)}",
            "classifier and judge are safest on a model that keeps to schemas",
        )
    ]


def addresses(models: Iterable[ModelEntry]) -> list[str]:
    """Addresses of the user's own that models are behind, each once."""
    return sorted({entry.api_base for entry in models if entry.api_base is not None})


def _knows_schemas(entry: ModelEntry) -> bool:
    facts = bundled().find(entry.target)
    return facts is not None and facts.supports_response_schema


def _price(name: str, entry: ModelEntry, prepared: Prepared) -> str:
    rates = entry.tariff.rates
    if entry.tariff == Tariff.from_usd_per_mtok(0, 0):
        return "free"
    return (
        f"${_per_mtok(rates.input)} in and ${_per_mtok(rates.output)} out per M tokens, from "
        f"{_price_source(entry, prepared.spec.models.get(name))}"
    )


def _per_mtok(rate: int) -> str:
    return f"{rate / ATTO_PER_NANO / 1e3:.4g}"


def _price_source(entry: ModelEntry, own: ModelSpec | None) -> str:
    if own is not None and own.price is not None:
        return "the spec"
    if entry.facts.simulated:
        return "the model it stands in for"
    try:
        listed = bundled().tariff(entry.target, entry.api_base) == entry.tariff
    except PriceUnknown:
        listed = False
    return f"litellm's list {bundled().sha256[:12]}" if listed else "the built-in aliases"


def _key(
    names: tuple[str, ...] | None,
    needs: list[KeyNeed],
    environment: Mapping[str, str],
    env_file: Path,
) -> Finding:
    models = ", ".join(need.model for need in needs)
    if names is None:
        remedy = "name its variable under models.<name>.api_key_env to have it checked"
        return Finding("key", "warn", f"not known what {models} needs", remedy)
    need = needs[0]
    if need.missing:
        return Finding(f"key {names[0]}", "missing", f"for {models}", key_remedy(need, env_file))
    where = "environment" if environment.get(need.found or "") else env_file.name
    return Finding(f"key {need.found}", "ok", f"for {models}, from the {where}")


def _limits(group: str, limits: GroupLimits | None) -> Finding:
    names = ("rpm", "tpm", "itpm", "otpm", "concurrency")
    given = {name: value for name in names if (value := getattr(limits, name, None))}
    what = f"limits {group}"
    if given:
        return Finding(what, "ok", ", ".join(f"{k} {v:,.0f}" for k, v in given.items()))
    return Finding(
        what,
        "warn",
        "none known; the number of calls at once adapts to what it takes",
        f"give the account's limits under groups.{group}",
    )
