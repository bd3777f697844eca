"""Which provider runs where, and building them. Providers are imported only where they run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from matrix.engine.calls.caching import open_cache
from matrix.engine.calls.provider_host import ProviderHost
from matrix.engine.prepare.keys import named_in, supply, variables
from matrix.engine.prepare.registry import load_kind
from matrix.engine.wire.messages import ToGovernor
from matrix.engine.wire.providers import AGENT, LITELLM, LOCAL, PROVIDERS, SIMULATED
from matrix.engine.wire.setup import RunSetup
from matrix.engine.wire.telemetry_events import AttemptWatch
from matrix.kinds.protocol import ScriptsAnswers
from matrix.providers.base import Provider
from matrix.providers.local.settings import SLOTS, LocalSettings
from matrix.telemetry.process import SILENT, Telemetry

if TYPE_CHECKING:
    from matrix.agents.provider import AgentPlaces


def build_provider(name: str, setup: RunSetup, places: AgentPlaces | None = None) -> Provider:
    """The provider of this name, ready to answer; agents are given their ``places``.

    Raises:
        KeyError: No such provider; a defect of the set-up.
    """
    if name == SIMULATED:
        from matrix.providers.simulated.provider import SimulatedProvider
        from matrix.providers.simulated.settings import SimulationSettings

        kind = load_kind(setup.kind, kept=setup.kept)
        return SimulatedProvider(
            SimulationSettings.model_validate(setup.simulation),
            sleep=asyncio.sleep,
            scripted=kind.scripted if isinstance(kind, ScriptsAnswers) else None,
        )
    if name == LITELLM:
        if setup.env_file is not None:
            supply(Path(setup.env_file), os.environ, named_in(setup.models))
        from matrix.providers.litellm_adapter.provider import LiteLLMProvider
        from matrix.providers.litellm_adapter.settings import LiteLLMSettings, ModelSettings

        mine = {n: e for n, e in setup.models.items() if e.provider == LITELLM}
        return LiteLLMProvider(
            LiteLLMSettings(
                models={
                    n: ModelSettings(
                        e.target,
                        e.api_base,
                        e.api_key_env,
                        # marks only where the write rate that they bring is in the price
                        prompt_cache=e.tariff.rates.cache_write > e.tariff.rates.input,
                    )
                    for n, e in mine.items()
                },
                timeout_s=setup.timeout_s,
            )
        )
    if name == AGENT and places is not None:
        from matrix.agents.provider import AgentProvider

        return AgentProvider(
            setup.agents, places, project=setup.project, variables=agents_variables(setup)
        )
    if name == LOCAL:
        from matrix.providers.local.provider import LocalModelProvider

        return LocalModelProvider(local_settings(setup))
    raise KeyError(name)


def agents_variables(setup: RunSetup) -> Mapping[str, str]:
    """Where agents' variables are found: this process's environment, and the ``.env`` under it."""
    return variables(Path(setup.env_file), os.environ) if setup.env_file else os.environ


def local_settings(setup: RunSetup) -> LocalSettings:
    """Of this run's local models: a slot for every call that the widest of their groups allows."""
    mine = {n: e for n, e in setup.models.items() if e.provider == LOCAL}
    allowed = [setup.groups[e.group].concurrency for e in mine.values() if e.group in setup.groups]
    slots = max((count for count in allowed if count), default=SLOTS)
    return LocalSettings(models={n: e.target for n, e in mine.items()}, slots=slots)


def providers_of(setup: RunSetup) -> set[str]:
    """Every provider that the run's models need."""
    return {entry.provider for entry in setup.models.values()}


def embedded_providers(setup: RunSetup) -> list[str]:
    """Providers that run inside the session workers."""
    return sorted(providers_of(setup) - setup.clients.keys())


def build_host(
    names: list[str],
    setup: RunSetup,
    send: Callable[[ToGovernor], None],
    telemetry: Telemetry = SILENT,
    places: AgentPlaces | None = None,
) -> ProviderHost:
    """A provider host for some of the run's providers; ``places`` are where agents work."""
    providers: Mapping[str, Provider] = {
        name: build_provider(name, setup, places) for name in names
    }
    # in virtual time nobody waits, a limit group that was told "429" no more than a host
    made_up = {name for name in names if PROVIDERS[name].simulated}
    virtual = made_up if setup.simulation.get("time") != "real" else set[str]()
    beside = all(PROVIDERS[name].in_worker for name in names)
    return ProviderHost(
        providers,
        setup.models,
        send,
        attempts=setup.attempts,
        sleep=asyncio.sleep,
        # simulated answers are free, and made faster than they are found; agents act on the world
        cache=None if beside else open_cache(setup, telemetry.log),
        watch=AttemptWatch(telemetry),
        virtual=virtual,
    )
