"""The providers there are, and what each is: for all who treat them by that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

SIMULATED: Final = "sim"
"""Name of the provider that plays simulated models."""

LITELLM: Final = "litellm"
"""Name of the provider that plays real models."""

LOCAL: Final = "local"
"""Name of the provider that plays real models on this machine, and of their limit group."""

AGENT: Final = "agent"
"""Name of the provider that plays agents, where their sessions are played."""


class ProviderFacts(NamedTuple):
    """What a provider is.

    Attributes:
        simulated: Its answers are made up: what they show is evidence of nothing, and is said to be
            simulated; no account's limits bind it, and what it answers is not worth keeping.
        in_worker: It answers in the process that plays the session, not in one of its own.
        account: Somebody's account is asked, whose rate limits have to be known.
    """

    simulated: bool = False
    in_worker: bool = False
    account: bool = True


PROVIDERS: Final[Mapping[str, ProviderFacts]] = {
    SIMULATED: ProviderFacts(simulated=True, in_worker=True, account=False),
    AGENT: ProviderFacts(in_worker=True, account=False),
    LOCAL: ProviderFacts(),
    LITELLM: ProviderFacts(),
}
"""Name -> what it is. A provider that is not here cannot be asked."""
