"""What a simulated server can be told: one frozen value, from flags or across a pipe."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator, model_validator

from matrix.model.documents.yaml_documents import Document, PathKey, check, parse_document
from matrix.model.errors import BadInput, Mistake
from matrix.model.spec.run_spec import Name, Positive, SpecModel
from matrix.providers.simulated.settings import SimulationSettings
from matrix.serving.faults import ServerFaultSettings

ECHO = "echo"
"""The model that answers a fixed short text at once."""

ANY = "*"
"""Stands for every other name."""


class ServeOptions(SpecModel):
    """How to serve simulated models over HTTP on this machine."""

    port: int = Field(default=0, ge=0, le=65_535, description="TCP port; 0 picks a free one.")
    models: tuple[Name, ...] = Field(
        default=("sim-gpt", ECHO, ANY), min_length=1, description="Names served; '*' is any name."
    )
    rpm: Positive | None = Field(default=None, description="Requests per minute.")
    tpm: Positive | None = Field(default=None, description="Tokens per minute, input and output.")
    burst: float | None = Field(
        default=None, ge=1, le=1_000_000, description="Requests that may come at once after a rest."
    )
    latency_ms: float = Field(
        default=0.0, ge=0, le=86_400_000, description="Milliseconds before every answer."
    )
    real_time: bool = Field(
        default=False, description="Take the time that a simulated model says it works."
    )
    faults: ServerFaultSettings = Field(
        default=ServerFaultSettings(), description="Faults to make."
    )
    simulation: SimulationSettings = Field(
        default=SimulationSettings(), description="How simulated models behave."
    )
    stop_after: Positive | None = Field(default=None, description="Seconds until it stops.")
    stop_with_parent: bool = Field(
        default=False, description="Stop when the parent process is gone or its pipe closes."
    )
    api_key: str | None = Field(
        default=None, min_length=1, repr=False, description="Key that requests must carry."
    )

    @field_validator("simulation")
    @classmethod
    def _answers_do_not_fail(cls, value: SimulationSettings) -> SimulationSettings:
        faults = value.faults
        failing = ("rate_limited", "server_error", "timeout", "malformed", "empty")
        named = [name for name in failing if getattr(faults, name) > 0]
        if named:
            raise ValueError(f"{', '.join(named)}: a server's faults are set under 'faults'")
        return value

    @model_validator(mode="after")
    def _burst_needs_a_rate(self) -> ServeOptions:
        if self.burst is not None and self.rpm is None:
            raise ValueError("a burst needs requests per minute (rpm) as well")
        return self


def from_flags(flags: Mapping[str, Any]) -> ServeOptions:
    """Check flags; those that are ``None`` were not given.

    ``faults`` and ``simulation`` are a file or YAML text.

    Raises:
        BadInput: Every mistake, named by its flag.
    """
    values = {name: value for name, value in flags.items() if value is not None}
    for name in ("faults", "simulation"):
        if name in values:
            values[name] = _section(_flag(name), values[name], _SECTIONS[name])
    origins: dict[PathKey, str] = {(name,): _flag(name) for name in ServeOptions.model_fields}
    return check(Document("serve-sim", values, {}, origins), ServeOptions)


_SECTIONS: dict[str, type[SpecModel] | type[SimulationSettings]] = {
    "faults": ServerFaultSettings,
    "simulation": SimulationSettings,
}


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _section(
    flag: str, text: str, model: type[SpecModel] | type[SimulationSettings]
) -> SpecModel | SimulationSettings:
    """Settings from a file of this name, else from the text itself."""
    if os.path.isfile(text):  # noqa: PTH113  inline YAML may be no possible path at all
        return check(parse_document(Path(text).read_text("utf-8"), text), model)
    if ":" not in text:
        raise BadInput([Mistake(flag, None, "", f"no file {text!r}, and no YAML either")])
    return check(parse_document(text, flag), model)
