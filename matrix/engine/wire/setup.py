"""What every process of a run is told when it starts: one picklable value, no secrets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from matrix.admission.rates import BURST_S
from matrix.admission.tariffs import Tariff
from matrix.engine.wire.providers import PROVIDERS, ProviderFacts
from matrix.model.money import NanoUSD
from matrix.model.records import JSON

if TYPE_CHECKING:
    from matrix.model.spec.agents import AgentSpec


class GroupLimits(NamedTuple):
    """Rate limits of a group, as the run spec gives them."""

    rpm: float | None = None
    tpm: float | None = None
    concurrency: int | None = None
    itpm: float | None = None
    otpm: float | None = None
    burst_s: float = BURST_S


class ModelEntry(NamedTuple):
    """A model the run may ask: which provider has it, its rates and its limit group.

    ``api_key_env`` names the environment variable that holds the key; keys themselves are read
    only in the process that sends requests. ``params`` are parameters of its calls, by name.
    ``asks`` are the models behind an agent, whose calls are calls of the run.
    """

    provider: str
    target: str
    tariff: Tariff
    group: str
    api_base: str | None = None
    api_key_env: str | None = None
    params: Mapping[str, JSON] = {}
    asks: tuple[str, ...] = ()

    @property
    def facts(self) -> ProviderFacts:
        """What its provider is."""
        return PROVIDERS[self.provider]


@dataclass(frozen=True, slots=True)
class RunSetup:
    """Everything the processes of one run need to know.

    Attributes:
        run_dir: The run's folder, which holds the journal.
        cap_nano: Hard cap on the run's money.
        models: Model name -> how to reach it and what it costs.
        groups: Limit group -> its limits.
        resources: Content hash -> text or data that sessions refer to.
        simulation: Checked settings of the simulated models (JSON).
        attempts: Attempts per call.
        clients: Provider -> number of processes of its own; providers that are not named are
            embedded in the session workers.
        spread: Whether provider clients may be on any machine, instead of the journal's.
        timeout_s: Longest wait for one answer of a real model, in seconds.
        env_file: A ``.env`` file that processes which send requests read keys from, if it is on
            their machine; the keys themselves are never in here.
        session_cap_nano: Cap on each session's own money, if there is one.
        role_caps_nano: Role -> cap on all its calls.
        answers: File of answers that runs share; ``None`` if this run does not use it.
        trace_id: Trace of this life of the run, for whoever sends spans; empty for none.
        kept: All that it takes to play a kind that is a file; see
            :class:`~matrix.kinds.protocol.KeptKind`. ``None`` for an installed one.
        measure: Name of the score that sessions report when they end, besides ``score``.
        agents: Name -> agent, for those among the models that are one.
        flushes: Whether every transaction of the journal outlives a power cut.
    """

    run_id: str
    run_dir: str
    kind: str
    cap_nano: NanoUSD
    models: Mapping[str, ModelEntry]
    groups: Mapping[str, GroupLimits]
    resources: Mapping[str, JSON]
    simulation: JSON
    attempts: int
    clients: Mapping[str, int]
    spread: bool = False
    timeout_s: float = 180.0
    env_file: str | None = None
    session_cap_nano: NanoUSD | None = None
    role_caps_nano: Mapping[str, NanoUSD] = field(default_factory=dict)
    answers: str | None = None
    trace_id: str = ""
    measure: str = ""
    agents: Mapping[str, AgentSpec] = field(default_factory=dict)
    flushes: bool = True
    kept: Mapping[str, JSON] | None = None

    @property
    def project(self) -> Path:
        """The project's folder, as it is called on the machine that started the run."""
        return Path(self.env_file or self.run_dir).parent
