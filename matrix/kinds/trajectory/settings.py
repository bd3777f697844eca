"""What a trajectory test says: options of the kind, a scenario turn by turn, and the adapter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
)

from matrix.kinds.trajectory.assertions.notes.layout import PLAIN_LAYOUT, Layout
from matrix.model.errors import did_you_mean
from matrix.model.records import JSON

TRAJECTORY: Final = "trajectory"
AGENT, JUDGE = "agent", "judge"
SCAFFOLD: Final = "scaffold"
FINAL: Final = "final"
"""What the final state is called among turns."""

SMALL_CAP_USD: Final = 20.0
"""Cap of an adapter that says none."""
TURN_TIMEOUT_S, JUDGE_TIMEOUT_S = 600.0, 180.0

PROMPT: Final = """\
A new item has come in for the notebook in this folder: {name}, {when}.
Work it in as the instructions in the folder say, and write all that changes into the files. Say
in a few lines what you have changed.

{input}
"""
"""What an agent is asked for an artifact, unless the adapter says otherwise."""

COMMAND_PROMPT: Final = "{input}"
"""The same for a turn that is a command, such as ``/review``."""

FOLDER_PROMPT: Final = """\
New items have come in for the notebook in this folder: all files in {input} ({name}), {when}.
Work them in as the instructions in the folder say, and write all that changes into the files. Say
in a few lines what you have changed.
"""
"""The same for a turn that brings a folder of files."""

PLACES: Final = ("input", "name", "kind", "turn", "turns", "date", "when")
"""What stands in braces in a prompt."""
_PLACE: Final = re.compile(r"(?<!\{)\{([A-Za-z_.]{1,40})\}(?!\})")

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
ScenarioName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,80}$")]
OneOrMore = BeforeValidator(lambda given: [given] if isinstance(given, str) else given)


class _Part(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")


def _with_places(text: str, info: ValidationInfo) -> str:
    """The template, if an agent is given what came in by it.

    Raises:
        ValueError: It has no place for the input, or a place that there is not.
    """
    known = ", ".join(f"{{{name}}}" for name in PLACES)
    for name in _PLACE.findall(text):
        if name not in PLACES and (near := did_you_mean(name, PLACES)):
            raise ValueError(f"{{{name}}} is no place; there are {known}{near}")
    # a folder's files are in the inbox, whether it is named or not
    if info.field_name != "folder" and "{input}" not in text:
        raise ValueError(
            "has no {input}, so the agent would never be given what came in; write {input} where "
            f"it goes (places are {known})"
        )
    return text


Template = Annotated[str, Field(min_length=1, max_length=20_000), AfterValidator(_with_places)]


class Prompts(_Part):
    """What an agent is asked in each kind of turn; places in braces are filled in."""

    artifact: Template = Field(default=PROMPT, description="For a text.")
    command: Template = Field(default=COMMAND_PROMPT, description="For a command.")
    folder: Template = Field(default=FOLDER_PROMPT, description="For a folder.")


class TrajectoryOptions(_Part):
    """Options of the trajectory kind."""

    scaffold: str = Field(
        default="",
        max_length=500,
        description="Folder that sessions begin with: a name of the adapter's, or a path.",
    )
    prompts: Prompts = Field(default=Prompts(), description="What the agent is asked.")
    layout: Layout = Field(default=PLAIN_LAYOUT, description="Where the notebook keeps what.")
    skip_content: bool = Field(default=False, description="Whether no judge is asked.")
    stop_after_turn: int = Field(
        default=0, ge=0, le=10_000, description="Last turn that is played; 0 for all."
    )
    allow_code: bool = Field(
        default=False, description="Whether checks.py of a scenario is run on this machine."
    )
    keep_workdir: bool = Field(
        default=False, description="Whether working folders are written out at the end."
    )
    json_results: bool = Field(
        default=False, description="Whether a file is written for each run of a scenario."
    )
    judged_chars: int = Field(
        default=180_000,
        ge=1_000,
        le=1_000_000,
        description="Most characters of files that a judge is shown.",
    )


class Structural(_Part):
    """One structural assertion."""

    name: str
    argument: Any = True


class Content(_Part):
    """One content assertion: a judge, its rubric, what it looks at, and what is expected.

    Attributes:
        context: What the scenario says beside it, such as ``expected_meaning``.
    """

    judge: str
    rubric: str
    text: str
    target_glob: str = ""
    target_file: str = ""
    context: Mapping[str, str] = {}
    model: str = ""


class Expected(_Part):
    """What is asserted at one point."""

    structural: tuple[Structural, ...] = ()
    content: tuple[Content, ...] = ()


class ScenarioTurn(_Part):
    """One turn: what comes in, and what is expected of the folder afterwards.

    Attributes:
        name: Name of the file or folder that comes in, or the command.
        kind: What the name says it is, as ``interview`` of ``turn-01-interview-acme.md``.
        text: The artifact, or the command; empty for a folder.
        folder: Name among the pack's folders; empty for a text.
    """

    name: str
    kind: str = ""
    date: str = ""
    text: str = ""
    command: bool = False
    folder: str = ""
    expected: Expected = Expected()


class Thresholds(_Part):
    """The share of runs in which an assertion has to hold."""

    structural: Share = Field(default=1.0, description="Of structural assertions.")
    content: Share = Field(default=0.8, description="Of content assertions.")


class TrajectoryScenario(_Part):
    """A scenario as its sessions are given it.

    Attributes:
        code: Text of ``checks.py``, where it may be run.
        judge_models: Name in an assertion -> the model it stands for.
    """

    name: str
    description: str = ""
    turns: tuple[ScenarioTurn, ...]
    final: Expected = Expected()
    thresholds: Thresholds = Thresholds()
    code: str = ""
    judge_models: Mapping[str, str] = {}
    pinned: JSON = None


class AdapterFile(_Part):
    """``trajectory.yaml``: the agent, what it begins with, and where the rubrics are."""

    version: int = Field(default=1, ge=1, le=1, description="Version of this form.")
    scenarios: Annotated[tuple[str, ...], OneOrMore] = Field(
        default=(".",), description="Folders of scenarios, or of folders of scenarios."
    )
    agent: str | None = Field(
        default=None, min_length=1, description="The agent under test: an agent, or a model."
    )
    judge: str | None = Field(default=None, min_length=1, description="The judge.")
    scaffold: str | Mapping[ScenarioName, str] = Field(
        default="", description="Folder that sessions begin with; several by name are compared."
    )
    rubrics: str = Field(default="", description="Folder that rubrics are in.")
    prompts: Prompts = Field(default=Prompts(), description="What the agent is asked.")
    layout: Layout = Field(default=PLAIN_LAYOUT, description="Where the notebook keeps what.")
    claude: Mapping[str, JSON] = Field(
        default={}, description="What is other in the agent `claude`, such as max_usd."
    )
    judge_models: Mapping[str, str] = Field(
        default={}, description="Model in an assertion -> the model or agent it stands for."
    )
    turn_timeout_s: float = Field(
        default=TURN_TIMEOUT_S, gt=0, le=86_400, description="Longest turn, in seconds."
    )
    judge_timeout_s: float = Field(
        default=JUDGE_TIMEOUT_S, gt=0, le=86_400, description="Longest judging, in seconds."
    )
    snapshots: str = Field(
        default="", description="Folder of pinned final states that runs are compared with."
    )
