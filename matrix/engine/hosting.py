"""Which provider runs where, and building them. Providers are imported only where they run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from matrix.engine.catalogue import LITELLM, SIMULATED
from matrix.engine.messages import ToGovernor
from matrix.engine.provider_host import MAX_WAIT_S, ProviderHost
from matrix.engine.setup import RunSetup
from matrix.providers.base import Provider


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
    raise KeyError(name)


def providers_of(setup: RunSetup) -> set[str]:
    """Every provider that the run's models need."""
    return {entry.provider for entry in setup.models.values()}


def embedded_providers(setup: RunSetup) -> list[str]:
    """Providers that run inside the session workers."""
    return sorted(providers_of(setup) - setup.clients.keys())


def build_host(
    names: list[str], setup: RunSetup, send: Callable[[ToGovernor], None]
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
    )
