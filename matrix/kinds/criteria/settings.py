"""What a criteria test says: agents with their criteria, fixed inputs, options of the kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from matrix.model.records import JSON
from matrix.model.spec.agents import AgentSpec

CRITERIA: Final = "criteria"
AGENT, JUDGE = "agent", "judge"

AS_WRITTEN: Final = "as-written"
"""The variant in which every prompt is that of its agent."""

Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,60}$")]
InputId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,60}$")]
RecordedOutcome = Literal["ran", "skipped", "failed", "blocked"]
OneOrMore = BeforeValidator(lambda given: [given] if isinstance(given, str) else given)


class _Part(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")


class Condition(_Part):
    """When an agent runs only if another one says something."""

    agent: Name = Field(description="Whose output is looked at; it comes before.")
    says: str = Field(
        min_length=1, max_length=500, description="Words that it has; marks and case do not matter."
    )


class ChainLink(_Part):
    """One agent of the chain, as its sessions are given it.

    Attributes:
        reads: Agents before it whose outputs it is given, in this order.
        own_model: The model or agent that plays it; empty for that of the role.
        judged: Whether it is tested; else it only makes what others read.
        given: Input id -> an output that stands for its own, so that it is not asked.
    """

    name: Name
    title: str = ""
    stage: str = ""
    prompt: str = ""
    own_model: str = ""
    max_tokens: int = 2000
    reads: tuple[Name, ...] = ()
    when: Condition | None = None
    criteria: tuple[str, ...] = ()
    fail_threshold: int = 1
    judged: bool = True


class Given(_Part):
    """An output that stands for an agent's own.

    Attributes:
        output: The words.
        source: ``fixture`` or ``recorded``.
        task: Content hash of what the agent had been asked for; empty if that is not known.
        outcome: What became of the agent; only one that ``ran`` has an output.
        reason: Why it did not run.
        round: The round that it was recorded in, from 0; -1 for a fixture.
    """

    output: str
    source: Literal["fixture", "recorded"]
    task: str = ""
    outcome: RecordedOutcome = "ran"
    reason: str = ""
    round: int = -1


class Recording(_Part):
    """What became of an agent with one input, in one variant and round, when it was recorded.

    Attributes:
        levels: The variant, and the levels of all other factors that change outputs.
        round: The round, from 0.
        task: Content hash of what the agent had been asked.
    """

    levels: Mapping[str, str]
    round: int = Field(ge=0)
    outcome: RecordedOutcome = "ran"
    reason: str = ""
    output: str
    task: str


class Task(_Part):
    """One fixed input, with all outputs that stand for agents' own.

    Attributes:
        given: Agent -> its fixture.
        recorded: Agent -> what is recorded of it. Where anything is, no agent is called.
    """

    id: InputId
    category: str = ""
    text: str
    given: Mapping[str, Given] = {}
    recorded: Mapping[str, tuple[Recording, ...]] = {}


class CriteriaOptions(_Part):
    """Options of the criteria kind."""

    variant: Name = Field(
        default=AS_WRITTEN, description="Which of the file's variants; as-written is none of them."
    )
    judge_instructions: str = Field(
        default="", max_length=20_000, description="What the judge is told beside the criteria."
    )
    record: str = Field(
        default="", max_length=500, description="File that outputs are recorded in; empty for none."
    )
    simulated_outputs: bool = Field(
        default=False, description="Whether simulated models are behind the recorded outputs."
    )
    pinned: Mapping[str, Mapping[str, str]] = Field(
        default={},
        description="Agent -> judge and rubric that recorded outputs had been judged by.",
    )


class AgentEntry(_Part):
    """An agent in the file: one of ``prompt``, ``run`` and ``model`` says what it is."""

    name: str = Field(default="", max_length=200, description="Name for people.")
    stage: str = Field(default="", max_length=200, description="Stage of the chain it belongs to.")
    prompt: str = Field(
        default="",
        max_length=100_000,
        description="Its system prompt: a text, file:// and a path, or the name of a shipped one.",
    )
    run: AgentSpec | None = Field(
        default=None, description="A command, service or function instead of a model (see agents)."
    )
    model: str = Field(default="", description="Model of its own; else that of the role agent.")
    max_tokens: int = Field(default=2000, ge=1, le=1_000_000, description="Most of its output.")
    reads: Annotated[tuple[Name, ...], OneOrMore] = Field(
        default=(), description="Agents whose outputs it is given beside the input."
    )
    when: Condition | None = Field(default=None, description="Runs only if another says so.")
    fixture: str = Field(
        default="",
        description="Path with {input} in it: what stands for its output where it is not selected.",
    )
    criteria: tuple[Annotated[str, Field(min_length=1, max_length=1000)], ...] = Field(
        default=(), max_length=50, description="What its output is judged by, one by one."
    )
    fail_threshold: int = Field(
        default=1, ge=1, description="How many criteria that are NOT MET fail it."
    )


class InputEntry(BaseModel):
    """An input in the file. Keys of your own are kept out of the text."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="allow")

    id: InputId = Field(description="Its name: letters, digits, dots, dashes, underscores.")
    category: str = Field(default="", max_length=200, description="What it can be grouped by.")


class JudgeSettings(_Part):
    """The judge."""

    model: str | None = Field(default=None, min_length=1, description="Its model.")
    run: AgentSpec | None = Field(
        default=None, description="A command, service or function instead of a model (see agents)."
    )
    temperature: float | None = Field(default=0.0, ge=0, le=2, description="Of its answers.")
    max_tokens: int | None = Field(default=None, ge=1, description="Most tokens of an answer.")
    instructions: str = Field(
        default="", max_length=20_000, description="What it is told beside the criteria."
    )


class CriteriaFile(_Part):
    """``criteria/agents.yaml``, without keys of a run spec."""

    version: Literal[1] = Field(default=1, description="Version of this form.")
    inputs: str | list[JSON] | dict[str, JSON] = Field(
        description="Fixed inputs, or file:// and a path to JSON or YAML with them."
    )
    agents: Mapping[Name, AgentEntry] = Field(min_length=1, description="Agents, by name.")
    variants: Mapping[Name, Mapping[Name, str]] = Field(
        default={},
        description="Variant -> agent -> its prompt there; each is played beside as-written.",
    )
    judge: JudgeSettings = Field(default=JudgeSettings(), description="Who judges.")
    recorded: str = Field(
        default="",
        max_length=500,
        description="File that --record writes and --use-recorded reads.",
    )


TAKEN: Final = frozenset({"score", "criteria_met", "judge_disagrees", JUDGE})
"""Names that no agent can have: there are scores of these names, and the judge."""

TEXT_KEYS: Final[Sequence[str]] = ("text", "input", "idea", "prompt", "description", "content")
"""Keys that an input's text may stand under, first one first."""
