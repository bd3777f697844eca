"""Which provider runs where, and building them. Providers are imported only where they run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from matrix.engine.caching import open_cache
from matrix.engine.catalogue import LITELLM, LOCAL, SIMULATED
from matrix.engine.keys import supply
from matrix.engine.messages import ToGovernor
from matrix.engine.provider_host import MAX_WAIT_S, ProviderHost
from matrix.engine.setup import RunSetup
from matrix.engine.telling import AttemptWatch
from matrix.providers.base import Provider
from matrix.providers.local.settings import SLOTS, LocalSettings
from matrix.telemetry.process import SILENT, Telemetry


async def _no_wait(seconds: float) -> None:
    """In virtual time a pause costs nothing but a turn of the loop."""
    await asyncio.sleep(0)


def build_provider(name: str, setup: RunSetup) -> Provider:
    """The provider of this name, ready to answer.

    Raises:
        KeyError: No such provider; a defect of the set-up.
    """
    if name == SIMULATED:
        from matrix.providers.simulated import SimulatedProvider
        from matrix.providers.simulated.settings import SimulationSettings

        return SimulatedProvider(
            SimulationSettings.model_validate(setup.simulation), sleep=asyncio.sleep
        )
    if name == LITELLM:
        if setup.env_file is not None:
            supply(Path(setup.env_file), os.environ)
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
    if name == LOCAL:
        from matrix.providers.local.provider import LocalModelProvider

        return LocalModelProvider(local_settings(setup))
    raise KeyError(name)


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
) -> ProviderHost:
    """A provider host for some of the run's providers."""
    providers: Mapping[str, Provider] = {name: build_provider(name, setup) for name in names}
    # in virtual time nobody waits, a limit group that was told "429" no more than a host
    virtual = names == [SIMULATED] and setup.simulation.get("time") != "real"
    return ProviderHost(
        providers,
        setup.models,
        send,
        attempts=setup.attempts,
        sleep=_no_wait if virtual else asyncio.sleep,
        max_wait_s=0.0 if virtual else MAX_WAIT_S,
        # simulated answers are free, and made faster than they are found
        cache=open_cache(setup, telemetry.log) if names != [SIMULATED] else None,
        watch=AttemptWatch(telemetry),
    )
