"""The run spec: one frozen value that says what to run, under which limits, and what to compare.

People write it as ``matrix.yaml``; environment variables, ``--set`` and flags go over it
(:mod:`matrix.model.documents.overrides`). The parts that belong to a kind (``options``) or to the
simulated models (``simulation``) are checked by their owners when the run is prepared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
)

from matrix.model.lines import require_line
from matrix.model.money import NanoUSD, from_usd
from matrix.model.spec.agents import AgentSpec
from matrix.model.spec.budgets import parse_budget
from matrix.model.spec.judges import JudgeSpec
from matrix.model.spec.params import Params

Name = Annotated[str, Field(min_length=1, max_length=120), AfterValidator(require_line)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Level = str | int | float | bool
Engine = Literal["fixed", "planned", "open-ended"]
"""How a comparison looks at the data: once at the end, or after every round."""


def level_name(level: Level) -> str:
    """A level as text, as tables show it: ``true`` for a truth value, as YAML writes it."""
    return str(level).lower() if isinstance(level, bool) else str(level)


def _distinct(levels: tuple[Level, ...]) -> tuple[Level, ...]:
    seen = [require_line(level_name(level)) for level in levels]
    for text in seen:
        if seen.count(text) > 1:
            raise ValueError(f"level {text!r} is listed twice; each level once")
    return levels


def _file_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}", name):
        raise ValueError(
            f"found {name!r}; up to 61 letters, digits, dots, dashes and underscores, starting "
            "with a letter or digit, because folders are named by it"
        )
    return name


def _budget(text: str) -> str:
    parse_budget(text)
    return text


def _variable(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(
            "should be the name of an environment variable, e.g. OPENAI_API_KEY; what was found "
            "is not shown, in case it is the key itself"
        )
    return name


def _keyless(address: str) -> str:
    """An address is written to ``run.json``, so it may hold no key."""
    parts = urlsplit(address)
    query = {name.lower() for name, _ in parse_qsl(parts.query)}
    if "@" in parts.netloc or query & {"key", "api_key", "api-key", "apikey", "token", "sig"}:
        raise ValueError(
            "an address that holds a password or key would be kept in the results; leave it out "
            "and name the variable that has it in api_key_env"
        )
    return address


class SpecModel(BaseModel):
    """Base of every part of the spec: immutable, and unknown keys are mistakes."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid", validate_default=True)


class Price(SpecModel):
    """What a model costs, in US dollars per million tokens."""

    input: float = Field(ge=0, le=100_000, description="USD per million input tokens.")
    output: float = Field(ge=0, le=100_000, description="USD per million output tokens.")
    cached: float | None = Field(
        default=None, ge=0, le=100_000, description="The same for cached input; as input if absent."
    )
    cache_write: float | None = Field(
        default=None, ge=0, le=100_000, description="For writing the cache; as input if absent."
    )
    reasoning: float | None = Field(
        default=None, ge=0, le=100_000, description="For reasoning tokens; as output if absent."
    )


class ModelSpec(SpecModel):
    """A model name of your own, or a change to a built-in one."""

    target: str = Field(
        description="The name behind it: a litellm model name, or sim/<name> for a simulated one."
    )
    price: Price | None = Field(
        default=None, description="Its price; needed when no price list knows the target."
    )
    free: bool = Field(
        default=False, description="It really costs nothing, e.g. because it runs on this machine."
    )
    api_base: Annotated[str, AfterValidator(_keyless)] | None = Field(
        default=None, description="Address of an OpenAI-compatible service of your own."
    )
    api_key_env: Annotated[str, AfterValidator(_variable)] | None = Field(
        default=None,
        json_schema_extra={"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
        description=(
            "Environment variable that holds the key; the provider's usual one if absent, and none "
            "at an api_base of your own."
        ),
    )
    group: str | None = Field(
        default=None, description="Limit group; models that share a provider's limits share one."
    )
    params: Params = Field(default=Params(), description="Parameters of every call of it.")


class RateLimits(SpecModel):
    """The limits of one group of models; leave out what does not apply."""

    rpm: Positive | None = Field(default=None, description="Requests per minute.")
    tpm: Positive | None = Field(default=None, description="Tokens per minute, input and output.")
    itpm: Positive | None = Field(
        default=None, description="Input tokens per minute, where they are limited by themselves."
    )
    otpm: Positive | None = Field(
        default=None, description="Output tokens per minute, where they are limited by themselves."
    )
    burst_s: Positive = Field(
        default=1.0,
        le=60,
        description="Seconds' worth of the limits that may be used at once after a rest.",
    )
    concurrency: int | None = Field(
        default=None, ge=1, description="Requests in flight at any moment."
    )


class Providers(SpecModel):
    """The processes that talk to real models."""

    processes: int = Field(
        default=2, ge=1, le=64, description="Processes that send requests; about one per core."
    )
    timeout_s: Positive = Field(
        default=180.0, description="Longest wait for one answer, in seconds; then it is retried."
    )
    spread: bool = Field(
        default=False,
        description="Whether requests are sent from every node of a cluster, each of which then "
        "needs the keys; else from the machine that the run was started on.",
    )


class Limits(SpecModel):
    """Where a run stops, whatever happens."""

    cost_usd: Positive = Field(
        default=50.0,
        le=1_000_000_000,
        description="Hard cap on the money of the whole run, in US dollars.",
    )
    session_usd: Positive | None = Field(
        default=None,
        description="Cap on each session, in US dollars; one that reaches it ends as timeout.",
    )
    role_usd: Mapping[Name, Positive] = Field(
        default_factory=dict,
        description="Role -> cap on all its calls in the run, in US dollars.",
    )
    budget: Annotated[str, AfterValidator(_budget)] | None = Field(
        default=None,
        description="Rolling budget over several runs, e.g. nightly=50/day; see `matrix budgets`.",
    )
    turns: int = Field(default=100, ge=1, le=10_000, description="Turns per session.")
    session_minutes: Positive = Field(
        default=240.0,
        description="Model working time per session, in minutes; waits for limits do not count.",
    )
    run_minutes: Positive | None = Field(
        default=None, description="Wall-clock time of the run, in minutes; then it drains."
    )
    open_sessions: int = Field(
        default=200, ge=1, le=100_000, description="Sessions being played at the same time."
    )
    attempts: int = Field(
        default=6, ge=1, le=50, description="Attempts per model call, the first included."
    )

    @property
    def cap_nano(self) -> NanoUSD:
        """The hard cap, in nano-dollars."""
        return from_usd(self.cost_usd)


class Compare(SpecModel):
    """What the run is meant to decide."""

    factor: Name | None = Field(
        default=None,
        description="The factor whose levels compete; the first one with two levels if left out.",
    )
    metric: Name = Field(default="score", description="Column of sessions or name of a score.")
    confidence: float = Field(
        default=0.95, gt=0.5, lt=1, description="Confidence of intervals; 0.95 errs 5 % at most."
    )
    margin: Positive | None = Field(
        default=None, description="Differences smaller than this do not matter to you."
    )
    failure_margin: Positive = Field(
        default=5.0,
        le=100,
        description="Percentage points by which a winner may fail more often than another variant.",
    )
    failure_icc: float = Field(
        default=0.1,
        ge=0,
        le=1,
        description=(
            "How far failures of one round go together (0: not at all, 1: all or none); the "
            "failure gate holds up to it. An outage takes many sessions at once."
        ),
    )
    turn_limit: Literal["keep", "fail"] = Field(
        default="keep",
        description=(
            "What a session that reaches its limit of turns is: keep scores it like any other; "
            "fail keeps its score and counts it as a failure too."
        ),
    )
    unit: Literal["round", "session"] = Field(
        default="round",
        description=(
            "What counts as one observation: round, or each session. session decides small plans "
            "sooner, and names a false winner more often where sessions of a round go together."
        ),
    )
    engine: Literal["auto", "fixed", "planned", "open-ended"] = Field(
        default="auto",
        description=(
            "fixed looks once, when the plan is over; planned looks after every round of a planned "
            "number; open-ended does too, and lets more rounds be added later. auto is planned "
            "with `stop: when-decided`, else fixed."
        ),
    )
    look_at_cap: bool = Field(
        default=False,
        description=(
            "For a plan that looks once: where the cost cap ends it, that one look is made then, "
            "at the rounds that are complete, and holds; rounds played later are not in it."
        ),
    )


class RunSpec(SpecModel):
    """Everything about a run that is decided before it starts."""

    version: Literal[1] = Field(default=1, description="Version of this file format.")
    name: Annotated[str, AfterValidator(_file_name)] = Field(
        default="run", description="Short name; run ids start with it."
    )
    kind: Name = Field(
        default="playtest",
        description="Kind of scenario: what a session does; or a file that is one: ./support.py.",
    )
    scenarios: tuple[Name, ...] = Field(
        default=("*",),
        min_length=1,
        description="Scenario packs by name or pattern; '*' is every pack of the kind.",
    )
    factors: Mapping[Name, Annotated[tuple[Level, ...], AfterValidator(_distinct)]] = Field(
        default_factory=dict,
        description=(
            "Factor -> levels. A factor is a role (its levels are models), an option of the "
            "kind, or a parameter of calls (effort, or judge.effort for one role); every "
            "combination of levels is a cell."
        ),
    )
    compare: Compare = Field(default=Compare(), description="What the run is meant to decide.")
    stop: Literal["never", "when-decided"] = Field(
        default="never",
        description=(
            "when-decided looks after every round, drops variants that are beaten, and stops when "
            "there is a winner or no difference that matters."
        ),
    )
    sessions: int | None = Field(
        default=None, ge=1, le=10_000_000, description="Sessions in all, over the whole matrix."
    )
    per_cell: int | None = Field(
        default=None, ge=1, le=1_000_000, description="Rounds: sessions per scenario and cell."
    )
    seed: int = Field(default=1, ge=0, lt=2**63, description="Seed of every draw in the run.")
    options: Mapping[str, Any] = Field(
        default_factory=dict, description="Options of the kind, the same in every cell."
    )
    roles: Mapping[Name, Name] = Field(
        default_factory=dict, description="Role -> model; 'all' sets every role at once."
    )
    params: Mapping[Name, Params] = Field(
        default_factory=dict,
        description=(
            "Role -> parameters of its calls (temperature, effort, max_tokens ...); 'all' sets "
            "them for every role."
        ),
    )
    limits: Limits = Field(default=Limits(), description="Where the run stops.")
    at_cap: Literal["whole-rounds", "spend-all"] = Field(
        default="whole-rounds",
        description=(
            "whole-rounds starts a round only if all of it fits under the cap; spend-all goes on "
            "until the cap itself binds."
        ),
    )
    models: Mapping[Name, ModelSpec] = Field(
        default_factory=dict, description="Model names of your own, or changed built-in ones."
    )
    agents: Mapping[Name, AgentSpec] = Field(
        default_factory=dict,
        description="Agents under test: commands, services, functions; levels of roles as models.",
    )
    judges: tuple[JudgeSpec, ...] = Field(
        default=(),
        max_length=50,
        description="Rubrics that every session is judged by at its end, whatever its kind.",
    )
    groups: Mapping[Name, RateLimits] = Field(
        default_factory=dict, description="Limit group -> its rate limits."
    )
    providers: Providers = Field(
        default=Providers(), description="The processes that talk to real models."
    )
    cache: bool = Field(
        default=False,
        description=(
            "Answer calls of real models by what earlier runs in the same folder have bought, "
            "where model, request, round and place in the session are the same."
        ),
    )
    simulation: Mapping[str, Any] = Field(
        default_factory=dict, description="How simulated models behave (see `matrix schema`)."
    )

    @property
    def engine(self) -> Engine:
        """How the comparison looks at the data; decided before the run starts."""
        if self.compare.engine != "auto":
            return self.compare.engine
        return "planned" if self.stop == "when-decided" else "fixed"

    @field_validator("per_cell")
    @classmethod
    def _one_way_to_count(cls, per_cell: int | None, info: ValidationInfo) -> int | None:
        if per_cell is not None and info.data.get("sessions") is not None:
            raise ValueError("give sessions or per_cell, not both")
        return per_cell
