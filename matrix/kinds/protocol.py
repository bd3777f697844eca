"""What a kind of scenario is.

A kind is a small state machine over a :class:`~matrix.kinds.context.Context`: ``start`` makes the
first state, ``turn`` takes one step, ``finish`` scores what happened. Between two turns its state
is stored whole, so state is small and JSON-able; everything long goes to ``ctx.log``, which is
stored once. :mod:`matrix.kinds.context` has the rules that a kind must keep.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Protocol, runtime_checkable

from pydantic import BaseModel

from matrix.kinds.context import Context, ForkContext
from matrix.model.documents.yaml_documents import Document
from matrix.model.metrics import direction_told
from matrix.model.plan import Plan
from matrix.model.records import JSON, Call, FolderLimits, Message, SessionPlan, ToolCall


class RoleInfo(NamedTuple):
    """A role that a kind asks: its default model (simulated) and what it does.

    ``judges`` says that it measures what the others do, so it should be the same in all variants.
    With ``tools``, a plain model in this role works as the built-in agent with them, in the
    session's folder.
    """

    name: str
    default_model: str
    description: str
    judges: bool = False
    tools: tuple[Literal["read", "write", "edit", "list", "search"], ...] = ()


class RoleProfile(NamedTuple):
    """Expected use of one model in one session, for estimates before anything is spent.

    ``calls`` are (low, middle, high) per session, where high is an upper estimate that few
    sessions exceed; tokens are averages per call; ``at_once`` is how many such calls a session
    makes side by side.
    """

    role: str
    model: str
    calls: tuple[float, float, float]
    input_tokens: float
    output_tokens: float
    at_once: float = 1.0


@dataclass(frozen=True, slots=True)
class ScenarioPack:
    """One scenario after its folder was read and checked.

    ``fields`` are what sessions can be grouped by beside its name: ``category``, ``tags`` (a list)
    and any that the kind has. ``notes`` are what is odd about it and no mistake, for people.
    """

    name: str
    kind: str
    title: str
    summary: str
    content: Mapping[str, JSON]
    fields: Mapping[str, JSON] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Binding:
    """A scenario joined with one cell's options and models.

    Attributes:
        resources: Name -> text or data that sessions of this cell read.
        prelude: What the prelude depends on; cells of a round with equal values share one.
            ``None`` when the kind has no prelude.
        models: Every model the cell may ask.
        profile: Expected use per session.
        turns: The (low, middle, high) numbers of turns that ``profile`` is for, so that it can be
            said what of it is left after some of them. ``None``: as many as a session may have.
        raw: Its models are asked in shapes of their own, so they need not take chats.
        folders: Name -> folder whose content sessions are given by ``ctx.copy_folder``. It is kept
            with the run, by its hash: content, names, links and whether files can be run; its
            times and other permissions are left out.
        last_turn: The turn with which every session of the cell is over at the latest, where that
            is known of it; 0 where limits alone say it.
        unchecked: Why no session of the cell can come to any score, though each is paid for: a
            mistake where it is so of every cell, and no judges of the spec are asked about any.
            Empty where some can.
    """

    resources: Mapping[str, JSON]
    prelude: JSON | None
    models: frozenset[str]
    profile: tuple[RoleProfile, ...]
    prelude_profile: tuple[RoleProfile, ...] = ()
    turns: tuple[float, float, float] | None = None
    raw: bool = False
    folders: Mapping[str, Path] = field(default_factory=dict)
    last_turn: int = 0
    unchecked: str = ""


class PreviousPlay(NamedTuple):
    """What a session has been playing with: its plan, and its texts and data by name."""

    plan: SessionPlan
    texts: Mapping[str, JSON]


class PackLibrary(Protocol):
    """Where packs and their shared parts are found: project first, then the built-in ones."""

    def folder(self, kind: str, name: str) -> Path | None:
        """The folder of scenario ``name``, or ``None``."""
        ...

    def scenarios(self, kind: str) -> list[str]:
        """Names of every scenario of this kind, sorted."""
        ...

    def shared(self, kind: str, part: str, suffix: str) -> Mapping[str, Path]:
        """Name -> file of a shared part of a kind, e.g. its ``prompts``."""
        ...

    def archetypes(self) -> Mapping[str, Path]:
        """Id -> file of every archetype."""
        ...

    def project_file(self, reference: str) -> Path:
        """The file behind a ``file://`` reference, relative to the run spec."""
        ...

    def shared_folder(self, kind: str, part: str, name: str) -> Path | None:
        """A folder among a shared part of a kind, e.g. one of its ``scaffolds``."""
        ...

    def project_folder(self, reference: str) -> Path:
        """A folder of the project, by its path relative to the run spec.

        Raises:
            BadInput: There is none.
        """
        ...


@runtime_checkable
class UsesFolder(Protocol):
    """A kind whose sessions have a working folder each, and what it may hold."""

    folder_limits: FolderLimits


@runtime_checkable
class NamesScores(Protocol):
    """A kind that says beforehand which scores its sessions end with."""

    score_names: frozenset[str]


@runtime_checkable
class DeclaresGates(Protocol):
    """A kind whose file says what its runs are held to, by ``pytest --matrix``.

    Attributes:
        thresholds: Metric -> least mean or rate; the largest where less is better. Empty where the
            kind was not read from its file.
        baseline: Where the file of a run that must not be worse should be; ``None`` without one.
    """

    @property
    def thresholds(self) -> Mapping[str, float]: ...

    @property
    def baseline(self) -> Path | None: ...


@runtime_checkable
class ShowsScores(Protocol):
    """A kind of which some scores are known beforehand; it may have others."""

    @property
    def scores_seen(self) -> frozenset[str]: ...


@runtime_checkable
class SaysItsScore(Protocol):
    """A kind whose ``score`` is another of its scores; empty where it is none."""

    @property
    def score_is(self) -> str: ...


def metric_told(kind: Kind, metric: str) -> str:
    """What people are told of a metric: its name, and of ``score`` what that is."""
    other = kind.score_is if metric == "score" and isinstance(kind, SaysItsScore) else ""
    return f"score (= {other})" if other else metric


def measure_told(kind: Kind, metric: str, *, lower: bool) -> str:
    """The same with its direction."""
    return f"{metric_told(kind, metric)}, {direction_told(lower=lower)}"


@runtime_checkable
class ShowsTexts(Protocol):
    """A kind of whose scenarios listed judges can be shown more than what was said."""

    def texts_for_judges(self, texts: Mapping[str, JSON]) -> Mapping[str, str]:
        """What rubrics may name in ``texts``, of a session's texts and data by name."""
        ...


@runtime_checkable
class ScoresByOptions(Protocol):
    """A kind whose scores have another range or direction in each run."""

    def scoring(self, options: Mapping[str, JSON]) -> Kind:
        """The kind as it scores in a run with these options.

        Raises:
            BadInput: They are none of its own.
        """
        ...


@runtime_checkable
class HoldsCode(Protocol):
    """A kind whose scenarios or options may bring programs or code that are run."""

    def holds_code(self, texts: Mapping[str, JSON], options: Mapping[str, JSON]) -> str:
        """What a session runs of its own, or writes over, in words; empty for nothing.

        It may be a stranger's.
        """
        ...


class LabelQuestion(NamedTuple):
    """What people are asked about a session who check its judge.

    Attributes:
        text: The question.
        low: Least value, the worst; for verdicts 0, FAIL.
        high: Greatest value; for verdicts 1, PASS.
        verdict: Whether it is answered by PASS or FAIL.
        target: What of the session is shown: ``transcript``, ``last``, or whose messages.
        turn: The turn of which alone it is shown; 0 for the whole session.
        speakers: Whose messages alone it is shown, if any are named.
    """

    text: str
    low: float
    high: float
    verdict: bool = False
    target: str = "transcript"
    turn: int = 0
    speakers: tuple[str, ...] = ()


@runtime_checkable
class AsksPeople(Protocol):
    """A kind whose judge can be checked against people."""

    def questions(self, kept: PreviousPlay) -> Mapping[str, LabelQuestion]:
        """Score -> what people are asked to say what its judge should have said."""
        ...


@runtime_checkable
class AnswersQuestions(Protocol):
    """A kind whose sessions have people in them who can be asked about what was played."""

    def interview(self, who: str, question: str) -> Mapping[str, JSON]:
        """What has to be other in a session that goes on for somebody to be asked, and no more.

        It plays no turn, asks one model, and leaves question and answer in :data:`INTERVIEWED`.
        """
        ...


@runtime_checkable
class UsesVariables(Protocol):
    """A kind that reads environment variables of its own: ``MATRIX_<NAME>`` -> what it sets.

    A ``MATRIX_*`` variable that nobody has named is refused before anything starts.
    """

    variables: Mapping[str, str]


@runtime_checkable
class TellsAgents(Protocol):
    """A kind that tells agents more than the request: names of what it tells."""

    tells: tuple[str, ...]


class ReadFile(NamedTuple):
    """A file in a kind's own form, read: the run spec that it stands for, and its scenarios."""

    spec: Mapping[str, JSON]
    packs: Mapping[str, ScenarioPack]


class FileOption(NamedTuple):
    """An option of the command line that a kind's own file takes.

    Attributes:
        flag: With its dashes, as ``--inputs``.
        value: What its value is called in help, as ``N``; ``""`` for a switch.
        help: What it does.
    """

    flag: str
    value: str
    help: str


class FileRequest(NamedTuple):
    """A file that is to be read.

    Attributes:
        document: The file.
        project: Folder that paths in it are relative to.
        given: Flag -> value of the options that were given; ``True`` for a switch.
        path: Where the file is.
        folder: The folder that was named where the kind claims folders; then the file is the one
            that :meth:`ReadsFolders.file_of` gave for it.
        variables: The environment's ``MATRIX_*`` variables that the kind has named.
        outside: Whether hidden files, and what is not of the project, may be read as well.
    """

    document: Document
    project: Path
    given: Mapping[str, str | bool] = {}
    path: Path = Path()
    folder: Path | None = None
    variables: Mapping[str, str] = {}
    outside: bool = False


@runtime_checkable
class ReadsFiles(Protocol):
    """A kind with a file format of its own, which users run as they run a spec.

    Attributes:
        file_options: What ``matrix run`` and ``matrix plan`` take beside their own for such a file.
        file_names: What such a file is called in a folder that has no run spec, first one first.
    """

    file_options: tuple[FileOption, ...]
    file_names: tuple[str, ...]

    def claims(self, value: JSON) -> bool:
        """Whether the content of a file that names no kind is of this form."""
        ...

    def read_file(self, request: FileRequest) -> ReadFile:
        """Read and check it. What flags of the core set goes over the run spec that comes out.

        Raises:
            BadInput: Every mistake in it.
        """
        ...


@runtime_checkable
class TakesOptions(ReadsFiles, Protocol):
    """A kind whose options of the command line are taken by run specs of the kind, too."""

    def with_options(self, request: FileRequest) -> ReadFile:
        """A run spec that names this kind, with what was given, or set by variables, over it.

        Raises:
            BadInput: Every mistake in what was given.
        """
        ...


@runtime_checkable
class TakesChanges(Protocol):
    """A kind with options of ``matrix replay`` that say what ``--set`` says in more words.

    Attributes:
        change_options: What ``matrix replay`` takes beside its own.
    """

    change_options: tuple[FileOption, ...]

    def changes_given(self, given: Mapping[str, str]) -> Mapping[str, JSON]:
        """Flag -> value of such options, as changes: role, option, text or ``scenario`` -> value.

        What a change is worth is found out where every other change is.
        """
        ...


class ListedPart(NamedTuple):
    """Something that a run spec of a kind can name: a prompt, a scenario.

    Attributes:
        name: As it is named.
        about: What it is, in one line.
        fields: More of it, in the order in which it is shown.
    """

    name: str
    about: str
    fields: Mapping[str, JSON]


@runtime_checkable
class ListsParts(Protocol):
    """A kind that says what there is to name in its run specs: ``matrix list PART``.

    Attributes:
        parts: What can be listed, as ``archetypes``.
    """

    parts: tuple[str, ...]

    def list_part(self, part: str, library: PackLibrary) -> Sequence[ListedPart]:
        """All that there is of one of ``parts``, by name.

        Raises:
            BadInput: Every mistake in a file of it.
        """
        ...


@runtime_checkable
class ReadsFolders(Protocol):
    """A kind whose scenarios are folders of a form of their own, which users run as they are."""

    def file_of(self, folder: Path) -> Path | None:
        """The file that is read for a folder of its form; ``None`` for any other folder."""
        ...


@runtime_checkable
class ChecksPlans(Protocol):
    """A kind that can refuse a whole plan, rounds and all, before anything starts."""

    def check_plan(self, plan: Plan, packs: Mapping[str, ScenarioPack]) -> Sequence[str]:
        """See that it can be played; what is odd about it and no mistake, for people.

        Args:
            plan: The plan.
            packs: Scenario -> its pack.

        Raises:
            BadInput: Every reason why it cannot.
        """
        ...


REPORTED: Final = "report"
"""Channel of a session's log for what its kind says of it at the end."""

MATERIAL: Final = "material"
"""Channel for what a kind's judge is shown at the end, which readers find elsewhere."""

RECORDED: Final = "recorded"
"""Channel for what a kind was given in a turn, where it needs that again later."""

INTERVIEWED: Final = "interview"
"""Channel for what somebody of a session was asked about it afterwards, and what they said."""

UNREAD: Final = frozenset({REPORTED, MATERIAL, RECORDED})
"""Channels that no transcript shows."""

PROMPTS: Final = "persona/"
"""How channels begin that hold system prompts."""


NOTES: Final = "system"
"""Speaker of what models are told beside what was said."""


def is_read(message: Message) -> bool:
    """Whether transcripts show it: not what is for models, or is told at the end elsewhere."""
    return message.channel not in UNREAD and not message.channel.startswith(PROMPTS)


def is_said(message: Message) -> bool:
    """Whether it was said to somebody: read, and no note for a model."""
    return is_read(message) and message.speaker != NOTES


@runtime_checkable
class GuardsProject(Protocol):
    """A kind whose system under test is to leave the project's own files as they are."""

    def guards(self, options: Mapping[str, JSON]) -> bool:
        """Whether a run with these options is to be watched."""
        ...


@runtime_checkable
class OwnsTerminal(Protocol):
    """A kind whose session is a program that has the terminal: Ctrl-C is for the program."""

    owns_terminal: bool

    def run_begins(self, end_run: Callable[[], None]) -> None:
        """A run begins, of which nobody has asked anything yet.

        Args:
            end_run: To be called when Ctrl-C has ended the program; its session is then to be let
                go as :class:`~matrix.model.errors.Suspended`, to be gone on with another time.
        """
        ...

    def interrupted(self) -> bool:
        """Ctrl-C: see that the program hears of it, where the terminal has not told it.

        Returns:
            Whether there is a program that it can be for; else it is for the run.
        """
        ...

    def asked_to_end(self) -> bool:
        """The run ends: pass it on to the program, which may not wait for ever, nor begin now.

        Returns:
            Whether there is a program that is told.
        """
        ...


KEPT_KIND: Final = "kind"
"""Name of a kind that is a file among a session's texts and data."""


@runtime_checkable
class KeptKind(Protocol):
    """A kind that is a file of its user's: it goes with a run, by its hash, to whoever plays it.

    Attributes:
        kept: All that it takes to play it anywhere, its code among it: JSON.
        facts: What readers of a run need to know of it, without code that would be run: JSON.
    """

    kept: Mapping[str, JSON]
    facts: Mapping[str, JSON]

    def packs(self) -> Mapping[str, ScenarioPack]:
        """Its scenarios by name.

        Raises:
            BadInput: All that is wrong with them.
        """
        ...

    def changed(self, project: Path) -> str:
        """What became of its file in the project since it was kept, in words; empty for nothing."""
        ...


@runtime_checkable
class ExplainsOptions(Protocol):
    """A kind that knows why something that its user has written is no option of it."""

    def why_no_option(self, name: str) -> str:
        """Why not, with a remedy; empty where there is nothing of this name."""
        ...


class KindFiles(Protocol):
    """What makes kinds of files with an ending; its entry point in ``matrix.kind_files`` is that.

    Each raises :class:`~matrix.model.errors.KindUnusable` where it cannot.
    """

    def read(self, project: Path, file: str, name: str) -> Kind:
        """The kind of a ``file`` in a project; ``name`` says which, where it has several."""
        ...

    def again(self, kept: Mapping[str, JSON]) -> Kind:
        """The kind that was kept with a run; of facts alone, one that cannot be played.

        Nothing of its code is run until it is played, or its options are looked at.
        """
        ...


@runtime_checkable
class LearnsCosts(Protocol):
    """A kind of which nobody knows what a session costs before a round of it was played."""

    learns_costs: bool


@runtime_checkable
class ScriptsAnswers(Protocol):
    """A kind that says itself what simulated models answer in its sessions."""

    def scripted(self, call: Call) -> tuple[str, tuple[ToolCall, ...]] | None:
        """Words, and tools that are called; ``None`` to leave it to the simulated models."""
        ...


class Kind(Protocol):
    """One kind of scenario. Registered under the entry point group ``matrix.kinds``."""

    name: str
    version: int
    state_version: int
    roles: tuple[RoleInfo, ...]
    options_model: type[BaseModel]
    state_model: type[BaseModel]
    lower_is_better: frozenset[str]

    @property
    def score_range(self) -> tuple[float, float] | None:
        """Lowest and highest possible score; ``None`` where nothing bounds it."""
        ...

    def read_pack(self, folder: Path, name: str) -> ScenarioPack:
        """Read and check a scenario's folder.

        Raises:
            BadInput: Every mistake in it.
        """
        ...

    def bind(
        self,
        pack: ScenarioPack,
        options: BaseModel,
        roles: Mapping[str, str],
        library: PackLibrary,
        max_turns: int,
    ) -> Binding:
        """Join a scenario with one cell.

        Raises:
            BadInput: An option names something that the library lacks.
        """
        ...

    def rebind(
        self,
        kept: PreviousPlay,
        options: BaseModel,
        roles: Mapping[str, str],
        library: PackLibrary,
        pack: ScenarioPack | None = None,
    ) -> Binding:
        """Join a session that is to go on with changed options, models or scenario.

        Only what differs is read from the library: the rest are the session's own texts, whatever
        has become of the files since. Without a change, the texts come out as they were.

        Args:
            kept: The session.
            options: Its options after the changes.
            roles: Role -> model after the changes.
            library: Where changed texts are found.
            pack: The scenario to go on in, if it is another one.

        Raises:
            BadInput: A change names something that the library lacks.
        """
        ...

    def fork(self, ctx: ForkContext, state: Any, changes: Mapping[str, JSON]) -> BaseModel:
        """Carry a state over into a session in which something is other than it was.

        Args:
            ctx: The new session at this moment.
            state: The state to go on from.
            changes: Name of an option, role or text, or ``scenario`` -> its new value; without
                what is as it was.

        Raises:
            BadInput: Changes that can no longer take effect, all at once.
        """
        ...

    async def prelude(self, ctx: Context) -> JSON:
        """Make what variants of a round share; only called when ``Binding.prelude`` is given."""
        ...

    async def start(self, ctx: Context) -> BaseModel: ...

    async def turn(self, ctx: Context, state: Any) -> BaseModel: ...

    async def finish(self, ctx: Context, state: Any) -> None: ...
