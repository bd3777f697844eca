"""What every process of a run is told when it starts: one picklable value, no secrets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from matrix.admission.tariffs import Tariff
from matrix.model.money import NanoUSD
from matrix.model.records import JSON


class GroupLimits(NamedTuple):
    """Rate limits of a group, as the run spec gives them."""

    rpm: float | None = None
    tpm: float | None = None
    concurrency: int | None = None


class ModelEntry(NamedTuple):
    """A model the run may ask: which provider has it, its rates and its limit group.

    ``api_key_env`` names the environment variable that holds the key; keys themselves are read
    only in the process that sends requests.
    """

    provider: str
    target: str
    tariff: Tariff
    group: str
    api_base: str | None = None
    api_key_env: str | None = None


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
        timeout_s: Longest wait for one answer of a real model, in seconds.
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
    timeout_s: float = 180.0
