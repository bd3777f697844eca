"""The Python interface: what every command does, as functions and one class.

Functions take the same names as the flags and raise this project's own errors
(:mod:`matrix.model.errors`); nothing here prints.
"""

from __future__ import annotations

import asyncio
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Any

from matrix import __version__
from matrix.engine.driver import Driver
from matrix.engine.executor import Executor, load_executor
from matrix.engine.plan_file import read_plan, write_plan
from matrix.engine.prepare import Prepared, find_spec, prepare
from matrix.engine.progress import Listener, RunEnd, Silent
from matrix.engine.registry import load_kind
from matrix.kinds.library import shipped_root
from matrix.model.documents import Document, check, overlay
from matrix.model.errors import BadInput, Interrupted, Mistake, RunLocked, StoreError
from matrix.model.money import from_usd
from matrix.model.overrides import (
    Override,
    from_environment,
    from_flags,
    from_models,
)
from matrix.model.spec import RunSpec
from matrix.store.journal import JOURNAL_NAME, JournalWriter
from matrix.store.run_folder import (
    ListedRun,
    PlanSummary,
    RunFile,
    RunTotals,
    Versions,
    create_run,
    find_run,
    new_run_id,
    read_run,
    write_run,
)
from matrix.store.run_folder import list_runs as _list_runs

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from matrix.report.compare import FactorComparison
    from matrix.report.summary import Summary
    from matrix.store.transcript import Transcript

RESULTS = "results"
"""Where runs land unless told otherwise."""

NEWEST = "last"
"""What stands for the newest run instead of an id."""


class Run:
    """A run in a results folder, finished or not."""

    def __init__(self, path: Path) -> None:
        """Raises ``StoreError`` if ``path`` is not a run's folder."""
        self.path = path
        read_run(path)

    @property
    def id(self) -> str:
        return self.file.run_id

    @property
    def file(self) -> RunFile:
        """What ``run.json`` says now."""
        return read_run(self.path)

    @property
    def status(self) -> str:
        """``running``, ``complete``, ``incomplete`` or ``failed``."""
        return self.file.status

    def table(self, name: str, columns: Iterable[str] | None = None) -> pa.Table:
        """One of the run's tables as Arrow: sessions, turns, messages, calls, scores, ..."""
        from matrix.store.reader import RunTables

        return RunTables(self.path).table(name, list(columns) if columns else None)

    def frame(self, name: str, columns: Iterable[str] | None = None) -> pd.DataFrame:
        """One of the run's tables as a pandas frame."""
        from matrix.store.reader import RunTables

        return RunTables(self.path).frame(name, list(columns) if columns else None)

    def sessions(self) -> pd.DataFrame:
        """The ``sessions`` table: one row per planned session."""
        return self.frame("sessions")

    def compare(
        self, factor: str | None = None, metric: str | None = None, *, margin: float | None = None
    ) -> FactorComparison:
        """Compare a factor's levels; the factor and metric of the spec if left out."""
        from matrix.report.compare import compare_factor
        from matrix.store.reader import RunTables

        return compare_factor(RunTables(self.path), self.file, factor, metric, margin)

    def summary(self) -> Summary:
        """Outcomes, costs by role, variants and verdict."""
        from matrix.report.summary import summarize_run

        return summarize_run(self.path, self.file)

    def session(self, text: str) -> Transcript:
        """One session: by id, beginning of an id, or ``best``, ``worst``, ``longest``, ``failed``.

        Raises:
            SessionNotFound: No such session.
        """
        from matrix.store.journal import JournalReader
        from matrix.store.transcript import find_session, transcript

        if text in ("best", "worst", "longest", "failed"):
            from matrix.report.summary import extreme_session

            text = extreme_session(self.path, text)
        reader = JournalReader(self.path / JOURNAL_NAME)
        try:
            return transcript(reader, find_session(reader, text))
        finally:
            reader.close()

    def __repr__(self) -> str:
        return f"<matrix.Run {self.id} ({self.status})>"


def run(
    spec: str | Path | None = None,
    *,
    sessions: int | None = None,
    per_cell: int | None = None,
    max_cost: float | None = None,
    seed: int | None = None,
    max_turns: int | None = None,
    at_cap: str | None = None,
    models: Mapping[str, str] | None = None,
    settings: Mapping[str, Any] | None = None,
    results: str | Path = RESULTS,
    run_id: str | None = None,
    executor: str = "ray",
    listener: Listener | None = None,
    overrides: Iterable[Override] = (),
) -> Run:
    """Run a matrix to its end and return it.

    Args:
        spec: A run spec; ``matrix.yaml`` here, or the built-in one, if left out.
        sessions: Sessions in all.
        per_cell: The same said as rounds; give one of the two.
        max_cost: Hard cap in US dollars.
        seed: Seed of every draw.
        max_turns: Turns per session.
        at_cap: ``whole-rounds`` or ``spend-all``.
        models: Role -> model.
        settings: Dotted path -> value, e.g. ``{"limits.turns": 20}``.
        results: Folder of runs.
        run_id: Name of the run; made up if left out.
        executor: ``ray`` or ``in-process``.
        listener: Told about progress.
        overrides: Ready-made overrides, over everything else.

    Raises:
        BadInput: Anything wrong with the input; nothing was started.
        StoreError: The results folder cannot be used.
    """
    prepared = plan(
        spec,
        sessions=sessions,
        per_cell=per_cell,
        max_cost=max_cost,
        seed=seed,
        max_turns=max_turns,
        at_cap=at_cap,
        models=models,
        settings=settings,
        overrides=overrides,
    )
    return start(prepared, results=results, run_id=run_id, executor=executor, listener=listener)


def plan(
    spec: str | Path | None = None,
    *,
    sessions: int | None = None,
    per_cell: int | None = None,
    max_cost: float | None = None,
    seed: int | None = None,
    max_turns: int | None = None,
    at_cap: str | None = None,
    models: Mapping[str, str] | None = None,
    settings: Mapping[str, Any] | None = None,
    overrides: Iterable[Override] = (),
) -> Prepared:
    """Check everything and expand the plan, without starting anything.

    Arguments are those of :func:`run`; ``MATRIX_*`` variables go under them, over the file.

    Raises:
        BadInput: Every mistake.
    """
    here = Path.cwd()
    path = find_spec(Path(spec) if spec is not None else None, here)
    flags = {
        "sessions": sessions,
        "per_cell": per_cell,
        "max_cost": max_cost,
        "seed": seed,
        "max_turns": max_turns,
        "at_cap": at_cap,
    }
    layers = [
        *from_environment(),
        *((tuple(path.split(".")), value, path) for path, value in (settings or {}).items()),
        *from_models(f"{role}={model}" for role, model in (models or {}).items()),
        *from_flags(flags, "{}"),
        *overrides,
    ]
    shipped = shipped_root() in path.resolve().parents
    return prepare(path, layers, project=here if shipped else path.resolve().parent)


def validate(spec: str | Path | None = None) -> list[Mistake]:
    """Every mistake in a spec and the packs it names; an empty list means it would start."""
    try:
        plan(spec)
    except BadInput as error:
        return list(error.mistakes)
    return []


def start(
    prepared: Prepared,
    *,
    results: str | Path = RESULTS,
    run_id: str | None = None,
    executor: str = "ray",
    listener: Listener | None = None,
) -> Run:
    """Start a prepared run in a folder of its own and see it to its end.

    Raises:
        BadInput: ``run_id`` cannot name a folder.
        RunExists: A run of this id is there already.
        StoreError: The folder cannot be written.
    """
    engine = load_executor(executor)
    now = datetime.now(UTC)
    identity = _checked(run_id) if run_id else new_run_id(prepared.spec.name, now, SystemRandom())
    run_dir = create_run(Path(results), _run_file(prepared, identity, now))
    _set_up(run_dir, prepared)
    return _drive(prepared, run_dir, engine, listener or Silent())


def resume(
    run: str | Path = NEWEST,
    *,
    results: str | Path = RESULTS,
    executor: str = "ray",
    listener: Listener | None = None,
    overrides: Iterable[Override] = (),
) -> Run:
    """Go on with a run that did not reach its end, from the last turn of every session.

    Raises:
        RunNotFound: No such run.
        RunLocked: The run is still alive.
        BadInput: The run's spec, packs or code changed so that it is another run.
    """
    run_dir = find_run(Path(results), str(run))
    prepared = _prepare_again(run_dir, list(overrides))
    _refuse_if_alive(run_dir)
    return _drive(prepared, run_dir, load_executor(executor), listener or Silent())


def open_run(run: str | Path = NEWEST, *, results: str | Path = RESULTS) -> Run:
    """A run by id, unique beginning of an id, path, or ``last``.

    Raises:
        RunNotFound: No such run; the message names near ones.
    """
    return Run(find_run(Path(results), str(run)))


def list_runs(results: str | Path = RESULTS) -> list[ListedRun]:
    """Every run in a results folder, oldest first."""
    return _list_runs(Path(results))


def schema(kind: str = "playtest") -> dict[str, Any]:
    """JSON Schema of the run spec, with the options of a kind and the simulation settings."""
    from matrix.providers.simulated.settings import SimulationSettings

    document = RunSpec.model_json_schema()
    definitions = document.setdefault("$defs", {})
    for field, model in (
        ("options", load_kind(kind).options_model),
        ("simulation", SimulationSettings),
    ):
        part = model.model_json_schema()
        definitions.update(part.pop("$defs", {}))
        part["description"] = RunSpec.model_fields[field].description
        document["properties"][field] = part
    document["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    document["title"] = "matrix run spec"
    return document


def init(folder: str | Path) -> list[Path]:
    """Make a project folder with a commented ``matrix.yaml`` that runs as it is.

    Returns:
        The files that were written.

    Raises:
        BadInput: A file is there already; nothing was overwritten.
    """
    target = Path(folder)
    template = shipped_root() / "scenarios" / "template"
    files = sorted(path for path in template.rglob("*") if path.is_file())
    wanted = [(path, target / path.relative_to(template)) for path in files]
    taken = [new for _, new in wanted if new.exists()]
    if taken:
        raise BadInput(
            Mistake(str(path), None, "", "exists already; choose another folder") for path in taken
        )
    for path, new in wanted:
        new.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, new)
    return [new for _, new in wanted]


# --- one run ----------------------------------------------------------------------------------


def _drive(prepared: Prepared, run_dir: Path, engine: Executor, listener: Listener) -> Run:
    file = read_run(run_dir)
    driver = Driver(prepared, file.run_id, run_dir, engine, listener)
    running = file.model_copy(
        update={"status": "running", "end_reason": "", "cap_nano": _cap(prepared)}
    )
    write_run(run_dir, running)
    try:
        end = asyncio.run(driver.run())
    except RunLocked:
        raise  # somebody else was quicker, and how the run stands is theirs to write
    except BaseException as error:
        stopped = isinstance(error, (KeyboardInterrupt, asyncio.CancelledError))
        reason = "interrupted" if stopped else str(error)[:500]
        status = "incomplete" if stopped else "failed"
        with suppress(StoreError):  # the disk may be what failed; the journal is the truth
            write_run(run_dir, running.model_copy(update={"status": status, "end_reason": reason}))
        if stopped:
            raise Interrupted(
                f"stopped at once; `matrix resume {file.run_id}` goes on from the last turns"
            ) from None
        raise
    write_run(run_dir, _ended_file(running, end))
    return Run(run_dir)


def _checked(run_id: str) -> str:
    """``run_id`` if it can name a folder in the results folder, and only that."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,120}", run_id) or run_id == NEWEST:
        allowed = (
            "up to 121 letters, digits, dots, dashes and underscores, starting with a letter or "
            f"digit, and not {NEWEST!r}, which means the newest run"
        )
        raise BadInput([Mistake("--run-id", None, "", f"found {run_id!r}; {allowed}")])
    return run_id


def _refuse_if_alive(run_dir: Path) -> None:
    """Raise ``RunLocked`` for a live run before anything of it is touched."""
    JournalWriter(run_dir / JOURNAL_NAME).close()


def _set_up(run_dir: Path, prepared: Prepared) -> None:
    """Put the run's texts and then its plan on the disk: with a plan, a run can be resumed.

    Raises:
        StoreError: They cannot be written; the folder is gone again.
    """
    try:
        journal = JournalWriter(run_dir / JOURNAL_NAME)
        journal.add_resources(prepared.resources)
        journal.close()
        write_plan(run_dir, prepared)
    except (OSError, StoreError) as error:
        shutil.rmtree(run_dir, ignore_errors=True)
        reason = error.strerror if isinstance(error, OSError) else str(error).split(";")[0]
        raise StoreError(
            f"the run could not be set up in {run_dir}: {reason}; nothing was started; free some "
            "space, or choose another folder with --results"
        ) from None


def _cap(prepared: Prepared) -> int:
    return from_usd(prepared.spec.limits.cost_usd)


def _run_file(prepared: Prepared, run_id: str, now: datetime) -> RunFile:
    spec = prepared.spec
    return RunFile(
        run_id=run_id,
        created_at=now,
        name=spec.name,
        kind=prepared.kind.name,
        spec=spec.model_dump(mode="json"),
        spec_hash=prepared.spec_hash,
        prices_hash=prepared.prices_hash,
        versions=Versions(
            matrix=__version__,
            python=platform.python_version(),
            kind=prepared.kind.version,
            state=prepared.kind.state_version,
        ),
        git_commit=_git_commit(Path.cwd()),
        status="running",
        plan=PlanSummary(
            sessions=prepared.plan.sessions,
            cells=len(prepared.plan.cells),
            rounds=prepared.plan.rounds,
            scenarios=tuple(dict.fromkeys(cell.scenario for cell in prepared.plan.cells)),
            factors=dict(prepared.factors),
            compared=prepared.compare_factor,
            metric=spec.compare.metric,
            score_range=prepared.kind.score_range,
        ),
        simulated=prepared.simulated,
        cap_nano=_cap(prepared),
    )


def _ended_file(file: RunFile, end: RunEnd) -> RunFile:
    progress = end.progress
    balance = progress.picture.balance
    before = 0.0 if file.totals is None else file.totals.elapsed_s
    outcomes = dict(progress.outcomes)
    outcomes["censored"] += progress.planned - progress.ended
    totals = RunTotals(
        outcomes=outcomes,
        calls=progress.counters.answered,
        tokens_in=progress.counters.tokens_in,
        tokens_out=progress.counters.tokens_out,
        settled_nano=balance.settled,
        presumed_nano=balance.presumed,
        elapsed_s=before + progress.elapsed_s,
    )
    return file.model_copy(
        update={"status": end.status, "end_reason": end.reason, "totals": totals}
    )


def _git_commit(folder: Path) -> str | None:
    """The commit that a folder is at, or ``None`` outside git."""
    try:
        found = subprocess.run(
            ["git", "rev-parse", "HEAD"],  # noqa: S607  whichever git the user has
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found.stdout.strip() or None


def _prepare_again(run_dir: Path, overrides: list[Override]) -> Prepared:
    """The prepared run of an existing folder, with new limits where they were given."""
    prepared = read_plan(run_dir)
    foreign = [
        Mistake(origin, None, "", "cannot change when a run is resumed; only limits can")
        for path, _, origin in overrides
        if path[0] != "limits" or path == ("limits", "turns")
    ]
    if foreign:
        raise BadInput(foreign)
    spec = check(overlay(_as_document(prepared.spec), overrides), RunSpec)
    return replace(prepared, spec=spec)


def _as_document(spec: RunSpec) -> Document:
    return Document("run.json", spec.model_dump(mode="json"), {}, {})
