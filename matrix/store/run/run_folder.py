"""The folder of a run and its ``run.json``: creating, finding, listing and updating runs.

Nothing here imports Arrow or pandas, so that ``matrix list`` answers at once.
"""

from __future__ import annotations

import errno
import random
import shlex
import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
)

from matrix.model.errors import BadInput, Mistake, RunExists, RunNotFound, StoreError
from matrix.model.files import read_plain
from matrix.model.lines import in_line, require_line
from matrix.model.money import NanoUSD
from matrix.model.records import Outcome
from matrix.model.spec.aliases import simulated_roles, simulated_words
from matrix.model.spec.run_spec import Engine, RunSpec
from matrix.store.run.disk import Disk
from matrix.store.run.made_here import mark_of
from matrix.store.run.own_files import FILE_MODE, FOLDER_MODE, require_own
from matrix.store.run.schema import RunInfo

RUN_FILE: Final = "run.json"

RUN_ID: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,120}$"
"""What a run may be called: its folder has that name."""

DEFAULT_RESULTS: Final = "results"
"""Where runs land unless told otherwise."""

RunStatus = Literal["running", "complete", "incomplete", "failed"]

_TOLD_OF_SESSIONS: Final = ("cap", "account", "provider", "overrun", "time limit", "defect")
"""Reasons for a run's end that are said of each session that it left open."""


def why_unfinished(end_reason: str) -> str:
    """The error class of a session that a run with this end has left open, or never begun."""
    return end_reason if end_reason in _TOLD_OF_SESSIONS else "interrupted"


Line = Annotated[str, AfterValidator(require_line)]
"""A name: one line, as it is shown among lines of our own."""


class _Part(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")


class Versions(_Part):
    """The code that made a run."""

    matrix: str = Field(description="Version of matrix.")
    python: str = Field(description="Version of Python.")
    kind: int = Field(description="Version of the kind of scenario.")
    state: int = Field(description="Version of the kind's checkpoints.")


class PlanSummary(_Part):
    """What a run set out to do."""

    sessions: int = Field(ge=0, description="Sessions planned, preludes not counted.")
    cells: int = Field(ge=0, description="Combinations of scenario and levels.")
    rounds: int = Field(ge=0, description="Rounds, a last partial one included.")
    scenarios: tuple[Line, ...] = Field(description="Names of the scenario packs.")
    scenario_table: Mapping[str, Mapping[str, Any]] = Field(
        default={},
        description="Scenario -> its title, and the fields that it can be grouped by.",
    )
    factors: Mapping[Line, tuple[Line, ...]] = Field(
        description="Factor -> levels, as text, in the order of the spec."
    )
    compared: Line | None = Field(description="The factor whose levels compete.")
    metric: Line = Field(description="Column of `sessions` or name of a score that decides.")
    score_range: tuple[float, float] | None = Field(
        description="Lowest and highest possible score; null where it is not bounded."
    )


class RunTotals(_Part):
    """What a run came to, written when it stops."""

    outcomes: Mapping[Outcome, int] = Field(
        description="Outcome -> sessions; they add up to the plan."
    )
    calls: int = Field(ge=0, description="Model calls that were answered or finally failed.")
    tokens_in: int = Field(ge=0, description="Input tokens of all attempts.")
    tokens_out: int = Field(ge=0, description="Output tokens of all attempts.")
    settled_nano: NanoUSD = Field(ge=0, description="Money reported as spent, in nano-dollars.")
    presumed_nano: NanoUSD = Field(
        ge=0, description="Money that counts as spent because no usage is known, in nano-dollars."
    )
    elapsed_s: float = Field(ge=0, description="Wall time over all its starts, in seconds.")
    overrun_nano: NanoUSD = Field(
        default=0,
        ge=0,
        description="What attempts cost above the most that was set aside, in nano-dollars.",
    )
    processes_lost: int = Field(
        default=0, ge=0, description="Processes that died and were replaced, over all its starts."
    )
    nodes_lost: int = Field(
        default=0, ge=0, description="Nodes of the cluster that were lost, over all its starts."
    )

    @property
    def lost(self) -> tuple[int, int]:
        """Processes and nodes that were lost."""
        return self.processes_lost, self.nodes_lost

    @property
    def charged_nano(self) -> NanoUSD:
        """All that is gone."""
        return self.settled_nano + self.presumed_nano + self.overrun_nano


class DroppedLevel(_Part):
    """A level of the compared factor that was beaten, and got no more sessions."""

    level: str
    by: str = Field(description="The level that beat it.")
    from_round: int = Field(ge=0, description="First round, from 0, without it.")


class Stopping(_Part):
    """What looking at the scores while the run went on came to."""

    looked: int = Field(ge=0, description="Complete rounds at the newest look.")
    decided: str = Field(
        description=(
            "`winner`, `equivalent`, or empty if nothing was decided; of a look at the cap, "
            "whichever verdict it came to."
        )
    )
    at_cap: bool = Field(
        default=False, description="Whether it was one look, where the cap ended the plan."
    )
    dropped: tuple[DroppedLevel, ...] = Field(description="Levels dropped on the way, in order.")
    unplayed: int = Field(ge=0, description="Planned sessions that this made needless.")
    saved_nano: NanoUSD = Field(
        ge=0, description="What those were expected to cost, in nano-dollars."
    )


class JudgedDesign(_Part):
    """How sessions that are judged again were launched and looked at: verdicts go by it."""

    rounds: int = Field(ge=1, le=10_000_000, description="Rounds that were planned.")
    whole: int = Field(ge=0, description="Those that were planned with all their sessions.")
    ended: int = Field(
        ge=0,
        description=(
            "Rounds, from the first, all of whose sessions had ended: one of these that is not "
            "judged again costs its pair."
        ),
    )
    engine: Engine = Field(description="How the comparison was declared to look at the scores.")
    looked_at_cap: int | None = Field(
        default=None, description="Rounds at the one look that was declared for the cap."
    )
    dropped: Mapping[str, int] = Field(
        default_factory=dict, description="Level that a look dropped -> its first round without."
    )
    stop_from: int | None = Field(
        default=None, description="The first round that a look left out as all was decided."
    )
    only_missing: bool = Field(
        default=False, description="Whether only sessions without a score are judged again."
    )


class BranchedFrom(_Part):
    """What the sessions of a run go on from, and what was changed in them."""

    run_id: str = Field(description="The parent's run.")
    mode: Literal["replay", "branch", "rejudge", "interview"] = Field(
        description=(
            "`replay`: the first repeat keeps the parent's seed; `branch`: none does; `rejudge`: "
            "sessions that were over are judged again, and each is in its round; `interview`: "
            "nothing is played on, somebody is asked."
        )
    )
    changes: Mapping[str, tuple[str, ...]] = Field(
        description="What is other -> its values, as text; every combination is a variant."
    )
    times: int = Field(ge=1, description="Repeats of every variant at every moment.")
    where: str = Field(default="", description="The condition that chose the moments, if one did.")
    moments: tuple[tuple[str, int], ...] = Field(
        description="Parent session and turn of each moment; a round of this run is one of them."
    )
    design: JudgedDesign | None = Field(
        default=None, description="Of a `rejudge` of variants: what verdicts go by."
    )


class CommandEnd(_Part):
    """What came of the command that ran at a metered address."""

    exit_code: int = Field(description="Its exit code, as a shell would tell it.")
    requests: int = Field(ge=0, description="Requests that it made, refused ones included.")
    capped: int = Field(ge=0, description="Those that were refused at a cap.")


class GateFound(_Part):
    """What the gates came to that were asked for with the run."""

    failed: bool = Field(description="Whether they failed the run.")
    lines: tuple[str, ...] = Field(description="What each said, one line a gate.")
    at: AwareDatetime | None = Field(default=None, description="When they were decided, in UTC.")


class CapGiven(_Part):
    """A cap that the user gave when the run was resumed."""

    path: tuple[str, ...] = Field(description="Its place in the spec.")
    value: Any = Field(description="What was given, in US dollars.")
    at: AwareDatetime = Field(description="When, in UTC.")


class CostRange(_Part):
    """An estimate of the whole run's cost, in nano-dollars."""

    low: NanoUSD = Field(ge=0)
    middle: NanoUSD = Field(ge=0)
    high: NanoUSD = Field(ge=0)


class CodeChange(_Part):
    """Code of the user's own that was another when a run was gone on with."""

    at: AwareDatetime = Field(description="When the run was gone on with, in UTC.")
    what: Line = Field(description="File, and the agent that it is of.")


_MAPPINGS: Final = (
    "agents",
    "compare",
    "factors",
    "groups",
    "limits",
    "models",
    "options",
    "roles",
)
_LISTS: Final = ("judges", "scenarios")
"""Sections of a spec that are read of a run as they stand."""


class RunFile(_Part):
    """``run.json``: what a run is, and how it stands."""

    format: Literal[1] = Field(default=1, description="Version of this file's format.")
    run_id: str = Field(pattern=RUN_ID, description="Name of the run's folder when it was made.")
    created_at: AwareDatetime = Field(description="When the run was created, in UTC.")
    name: Line = Field(description="Name from the run spec.")
    kind: Line = Field(description="Kind of scenario.")
    kind_facts: Mapping[str, Any] | None = Field(
        default=None, description="For a kind that is a file: what is known of it without its code."
    )
    kind_code: str = Field(
        default="",
        description="Content hash of its code, among the journal's texts, as sessions were played "
        "last; it is another than in the plan where turns were redone with a mended file.",
    )
    spec: Mapping[str, Any] = Field(description="The resolved run spec.")
    spec_hash: str = Field(description="Content hash of `spec`.")
    prices_hash: str = Field(description="Content hash of the prices that the run was held to.")
    versions: Versions = Field(description="The code that made the run.")
    git_commit: str | None = Field(description="Commit of the project's checkout, if it is one.")
    status: RunStatus = Field(
        description=(
            "`complete`: every planned session ended, or the stopping rule decided; `incomplete`: "
            "it can be resumed; `failed`: it could not go on."
        )
    )
    end_reason: str = Field(default="", description="Why it stopped, in words.")
    end_detail: str = Field(default="", description="What has to be done before it can go on.")
    resume_with: str = Field(
        default="",
        description="Options without which `matrix resume` would come no further, with the word "
        "USD where an amount belongs.",
    )
    plan: PlanSummary = Field(description="What the run set out to do.")
    grown_from: int | None = Field(
        default=None,
        description="Sessions that it was planned with at first, if more were added since.",
    )
    simulated: bool = Field(description="Whether any model in it is simulated.")
    stand_ins: Mapping[str, tuple[str, ...]] | None = Field(
        default=None,
        description="Role -> those of its levels behind which a simulated model is; null in runs "
        "from before this was kept.",
    )
    mixed: bool = Field(
        default=False, description="Whether real models play in it beside simulated ones."
    )
    cap_nano: NanoUSD = Field(ge=0, description="The cost cap, in nano-dollars.")
    caps_given: tuple[CapGiven, ...] = Field(
        default=(),
        description="Caps that were given when it was resumed: each holds, in later lives too, "
        "until another one is given.",
    )
    code_changes: tuple[CodeChange, ...] = Field(
        default=(),
        description="Code of the user's own that sessions were played with from then on as it was "
        "by then, and before as it had been.",
    )
    redone: tuple[AwareDatetime, ...] = Field(
        default=(),
        description="When turns or errored sessions of it were begun anew, in UTC: what was "
        "answered in them before stays paid.",
    )
    estimate: CostRange | None = Field(
        default=None,
        description="What it was expected to cost before it started; null where nobody knows, as "
        "of a gateway.",
    )
    pilot: CostRange | None = Field(
        default=None, description="What its first round said the whole would cost."
    )
    totals: RunTotals | None = Field(default=None, description="What it came to.")
    stopping: Stopping | None = Field(
        default=None,
        description="For a run that stops when it is decided: what its looks came to.",
    )
    command: CommandEnd | None = Field(
        default=None, description="For a gateway whose command has ended: what came of it."
    )
    gate: GateFound | None = Field(
        default=None,
        description="What its gates came to; null without any, and while the run goes on again.",
    )
    touched: tuple[str, ...] = Field(
        default=(),
        description="What became of the project's own files while the run went on, where its kind "
        "has them watched.",
    )
    branched: BranchedFrom | None = Field(
        default=None, description="For a run that goes on from sessions of another one: from what."
    )
    explains: str = Field(
        default="",
        description="For a run in which a model reads the failures of another one: which. It is "
        "never meant by `last`.",
    )
    imported: bool = Field(
        default=False,
        description="Whether its sessions were played elsewhere, and their results imported: it "
        "has no journal, and `spec.options` says what was taken for what.",
    )
    mark: str = Field(
        default="",
        pattern="^[0-9a-f]{0,64}$",
        description="By it a run is known as made by this user, on this machine; see "
        "docs/security.md.",
    )

    @property
    def info(self) -> RunInfo:
        """What the Parquet tables need to know of the run."""
        factors = tuple(self.plan.factors)
        return RunInfo(self.run_id, self.spec_hash, self.prices_hash, factors, self.stand_ins)

    @field_validator("spec")
    @classmethod
    def _has_its_forms(cls, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        """What is read of a spec as it stands, without its being checked as a whole."""
        for name in _MAPPINGS:
            if not isinstance(spec.get(name) or {}, Mapping):
                raise ValueError(f"{name}: found {spec[name]!r:.80}; it is a mapping")
        for name in _LISTS:
            if not isinstance(spec.get(name) or [], list | tuple):
                raise ValueError(f"{name}: found {spec[name]!r:.80}; it is a list")
        for one in (spec.get("agents") or {}).values():
            if not isinstance(one, Mapping):
                raise ValueError(f"agents: found {one!r:.80}; each is a mapping")
        for one in spec.get("judges") or ():
            if not isinstance(one, Mapping) or "name" not in one:
                raise ValueError(f"judges: found {one!r:.80}; each is a mapping with a name")
        return spec

    @property
    def run_spec(self) -> RunSpec:
        """The run spec.

        Raises:
            StoreError: It is none that this version of matrix reads.
        """
        try:
            return RunSpec.model_validate(self.spec)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise StoreError(
                f"the spec of run {self.run_id} cannot be read: {in_line(place)}: {first['msg']}; "
                f"its {RUN_FILE} is damaged, or was written by another version of matrix"
            ) from None

    @property
    def play_money(self) -> bool:
        """Whether every model of it is simulated, so that it spent no real money."""
        return self.simulated and not self.mixed

    @property
    def simulated_roles(self) -> tuple[str, ...]:
        """Roles that a simulated model plays, as far as that was kept."""
        return tuple(self.stand_ins or ())

    @property
    def simulation(self) -> str:
        """What every screen says of the run if a simulated model plays in it; else empty."""
        if self.stand_ins is None:
            return "simulated" if self.simulated else ""
        return simulated_words(self.stand_ins, mixed=self.mixed, factors=self.plan.factors)

    def simulation_of(self, roles: Mapping[str, str]) -> str:
        """The same of one session, by its roles."""
        return simulated_words(simulated_roles(roles, self.stand_ins), mixed=self.mixed)


class ListedRun(NamedTuple):
    """A folder that holds a run. A ``run.json`` that cannot be read is shown, not hidden."""

    path: Path
    run: RunFile | None
    problem: str
    spent_nano: NanoUSD | None = None
    """What it has spent so far, overruns included; ``None`` where nobody knows."""


def new_run_id(name: str, at: datetime, randomness: random.Random) -> str:
    """``<name>-<YYYYMMDD>-<HHMMSS>-<4 hex>``, in UTC; ``at`` must know its time zone."""
    return f"{name}-{at.astimezone(UTC):%Y%m%d-%H%M%S}-{randomness.getrandbits(16):04x}"


def results_flag(run_dir: Path) -> str:
    """What a command on a run needs besides its id, with a space before it; often nothing."""
    folder = run_dir.parent
    if folder.absolute() == Path(DEFAULT_RESULTS).absolute():
        return ""
    return f" --results {shlex.quote(str(from_here(folder)))}"


def from_here(path: Path) -> Path:
    """A path as it is said from the working directory: relative to it, if it is inside."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_absolute() and here in path.parents else path


def resume_command(run_dir: Path, more: str = "") -> str:
    """What to type to go on with a run; ``more`` are options. Works from where it was started."""
    return f"matrix resume {run_dir.name}{results_flag(run_dir)}{more}"


def stopped_at_once(run_dir: Path) -> str:
    """What is said of a run that somebody has stopped without waiting for anything."""
    return f"stopped at once; `{resume_command(run_dir)}` goes on from the last turns"


STAGING: Final = ".new-"
"""What names of folders begin with whose runs are being set up."""


def create_run(
    results_dir: Path, run: RunFile, set_up: Callable[[Path], None] = lambda folder: None
) -> Path:
    """Create the folder of a new run, with its ``run.json``: it is there whole, or not at all.

    Args:
        results_dir: Folder of runs.
        run: The run.
        set_up: Puts everything else into a folder that becomes the run's.

    Raises:
        BadInput: The results folder is a file.
        RunExists: There is one of this id, or it is being set up.
        StoreError: The results folder cannot be written.
    """
    if results_dir.exists() and not results_dir.is_dir():
        told = f"{results_dir} is a file; name a folder, which is made if there is none"
        raise BadInput([Mistake("--results", None, "", told)])
    run_dir = results_dir / run.run_id
    try:
        results_dir.mkdir(parents=True, exist_ok=True)
        if run_dir.exists():
            told = f"{run_dir} exists already and is never overwritten; choose another name"
            if run.imported or _was_imported(run_dir):
                raise RunExists(f"{told} with --run-id")
            raise RunExists(f"{told}, or go on with it: `{resume_command(run_dir)}`")
        staging = results_dir / f"{STAGING}{run.run_id}"
        staging.mkdir(mode=FOLDER_MODE)
    except FileExistsError:
        raise RunExists(
            f"{run.run_id} is being set up by another process; if there is none, remove {staging}"
        ) from None
    except OSError as error:
        raise _unwritable(results_dir, error) from None
    try:
        write_run(staging, run)
        set_up(staging)
        write_run(staging, marked(staging, run))
        _publish(staging, run_dir)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    return run_dir


def _publish(staging: Path, run_dir: Path) -> None:
    disk = Disk()
    try:
        disk.rename(staging, run_dir)
        disk.sync_folder(run_dir.parent)
    except OSError as error:
        raise _unwritable(run_dir.parent, error) from None


def write_run(run_dir: Path, run: RunFile) -> None:
    """Write ``run.json`` atomically and durably.

    Raises:
        StoreError: The folder cannot be written; the file is as it was before.
    """
    write_whole(run_dir, RUN_FILE, run.model_dump_json(indent=2) + "\n")


def marked(run_dir: Path, run: RunFile) -> RunFile:
    """A run as its user's own; see :mod:`matrix.store.run.made_here`."""
    return run.model_copy(update={"mark": mark_of(run_dir, run)})


def write_whole(folder: Path, name: str, text: str, mode: int = FILE_MODE) -> None:
    """Write a file atomically and durably, by default one of a run's folder.

    Raises:
        StoreError: The folder cannot be written; the file is as it was before.
    """
    temporary, body = folder / f".{name}.tmp", text.encode(errors="replace")
    disk = Disk()
    try:
        disk.write(temporary, lambda handle: handle.write(body), mode)
        disk.rename(temporary, folder / name)
        disk.sync_folder(folder)
    except OSError as error:
        raise _unwritable(folder, error) from None


def read_run(run_dir: Path) -> RunFile:
    """Read ``run.json``.

    Raises:
        StoreError: It is missing, damaged, or of a later version of matrix, or the run's folder has
            links.
    """
    path = run_dir / RUN_FILE
    if (shown := in_line(run_dir.name)) != run_dir.name:
        raise StoreError(f"the folder {shown!r} is named in more than one line: give it another")
    require_own(run_dir)
    try:
        return RunFile.model_validate_json(read_plain(path))
    except OSError as error:
        raise StoreError(
            f"cannot read {path}: {error.strerror}; is this a results folder of matrix?"
        ) from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise StoreError(
            f"cannot read {path}: {f'{field}: ' if field else ''}{first['msg']}; it is damaged or "
            "was written by another version of matrix"
        ) from None


def _was_imported(run_dir: Path) -> bool:
    """Whether there is nothing to go on with."""
    try:
        return read_run(run_dir).imported
    except StoreError:
        return False


def require_played(run_dir: Path) -> None:
    """See that a run has sessions of its own, and not results that were made elsewhere.

    Raises:
        StoreError: It was imported, or is none.
    """
    if read_run(run_dir).imported:
        raise StoreError(
            f"{run_dir.name} was imported, so it has no journal that this works on; compare, "
            "report (--session, too), power --from, show and list work without one"
        )


def list_runs(results_dir: Path) -> list[ListedRun]:
    """Every run in a results folder, oldest first; those that cannot be read come first."""
    listed = []
    for path in _run_dirs(results_dir):
        try:
            listed.append(ListedRun(path, read_run(path), ""))
        except StoreError as error:
            listed.append(ListedRun(path, None, str(error)))
    return sorted(listed, key=_age)


def find_run(results_dir: Path, text: str) -> Path:
    """The folder of the run that ``text`` means.

    Args:
        results_dir: Where runs land.
        text: A run's id, the beginning of only one run's id, ``last`` for the newest, or the
            path of a run's folder or of its ``run.json``.

    Raises:
        RunNotFound: There is no such run, or several; the message names those near it.
    """
    ids = [path.name for path in _run_dirs(results_dir)]
    if text in ids:
        return results_dir / text
    if text == "last":
        readable = [
            listed.path
            for listed in list_runs(results_dir)
            if listed.run is not None and not listed.run.explains and not _asks(listed.run)
        ]
        if readable:
            return readable[-1]
        raise RunNotFound(f"no runs in {results_dir} yet; start one with `matrix run`")
    path = Path(text).expanduser()
    if path.name == RUN_FILE:
        path = path.parent
    if text and (path / RUN_FILE).is_file():
        return path
    matches = [run_id for run_id in ids if text and run_id.startswith(text)]
    if len(matches) == 1:
        return results_dir / matches[0]
    raise RunNotFound(_not_found(results_dir, text, ids, matches))


def _asks(run: RunFile) -> bool:
    return run.branched is not None and run.branched.mode == "interview"


def _run_dirs(results_dir: Path) -> list[Path]:
    found = results_dir.glob(f"*/{RUN_FILE}")
    return sorted(path.parent for path in found if not path.parent.name.startswith(STAGING))


def _age(listed: ListedRun) -> tuple[datetime, str]:
    oldest = datetime.min.replace(tzinfo=UTC)
    return (listed.run.created_at if listed.run else oldest, listed.path.name)


def _not_found(results_dir: Path, text: str, ids: list[str], matches: list[str]) -> str:
    if matches:
        return f"{text!r} is the beginning of {len(matches)} runs: {_some(matches)}; say more of it"
    near = get_close_matches(text, ids, n=3, cutoff=0.4)
    hint = f"; near it: {_some(near)}" if near else f"; there: {_some(ids)}" if ids else ""
    return f"no run {text!r} in {results_dir}{hint}"


def _some(ids: list[str]) -> str:
    return ", ".join(ids[:5]) + (f" and {len(ids) - 5} more" if len(ids) > 5 else "")


def _unwritable(folder: Path, error: OSError) -> StoreError:
    remedy = "choose another folder with --results"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        remedy += ", or free some space"
    return StoreError(f"cannot write in {folder}: {error.strerror}; {remedy}")
