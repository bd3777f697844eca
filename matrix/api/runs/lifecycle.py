"""The life of a run: started, seen to its end, taken up again."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import SystemRandom
from types import MappingProxyType
from typing import Any

from matrix.api.opened import NEWEST, RESULTS, Run
from matrix.api.reporting import write_markdown
from matrix.api.runs.budget_draws import Draw, budget_draw, budget_file, check_caps_left
from matrix.api.runs.caps_given import as_overrides, cap_given_at, with_given
from matrix.api.runs.extending import COUNTS, extended
from matrix.api.runs.kind_code import code_hash, with_code_of_now
from matrix.api.runs.kind_reports import kind_report, write_kind_report
from matrix.api.runs.run_descriptions import ended_file, plan_summary, run_file
from matrix.api.runs.session_reports import ReportsAtEnds
from matrix.engine.continuation.folders_kept import keep_initial_folders
from matrix.engine.executors.executor import (
    AUTO,
    IN_PROCESS,
    AnyExecutor,
    Executor,
    Requiring,
    chosen,
    load_executor,
)
from matrix.engine.governor.money_fold import money_in
from matrix.engine.prepare.catalogue import require_local_models
from matrix.engine.prepare.keys import (
    ENV_NAME,
    left_out,
    named_in,
    open_to_others,
    require_keys,
    require_no_keys,
    sendings,
)
from matrix.engine.prepare.plan_file import read_plan, settle_plan, write_plan
from matrix.engine.prepare.prepared import Prepared
from matrix.engine.prepare.trust import require_trust
from matrix.engine.run.driver import Driver
from matrix.engine.run.progress import Listener, Silent
from matrix.engine.run.redo import prepare_open_sessions
from matrix.engine.run.surroundings import (
    instructions_around,
    programs_changed,
    require_addresses,
    require_agents,
    require_lasting,
    require_own_disk,
)
from matrix.kinds.protocol import GuardsProject, OwnsTerminal
from matrix.model.documents.mistakes import Mistakes
from matrix.model.documents.overrides import Override
from matrix.model.documents.yaml_documents import Document, check, overlay
from matrix.model.entries import Entry
from matrix.model.errors import (
    BadInput,
    ContentUnreadable,
    CutShort,
    Interrupted,
    MatrixError,
    Mistake,
    RunLocked,
    StoreError,
)
from matrix.model.lines import in_line
from matrix.model.plan import Plan
from matrix.model.spec.run_spec import RunSpec
from matrix.report.gates.gate_wish import LATEST
from matrix.report.text import plural
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader, JournalWriter
from matrix.store.run.driven import clear_unbegun, driving, require_undriven, setting_up
from matrix.store.run.made_here import PLAN_NAME, is_made_here
from matrix.store.run.run_folder import (
    RUN_ID,
    BranchedFrom,
    CapGiven,
    CodeChange,
    RunFile,
    create_run,
    find_run,
    marked,
    new_run_id,
    read_run,
    stopped_at_once,
    write_run,
)
from matrix.store.upkeep.project_guard import Survey, changes, survey
from matrix.store.upkeep.recovery import recover_run, tables_lag

MEANINGS = (NEWEST, LATEST)
_REPORTS = ("reports", "docs/reports")
"""Folders of a project in which runs that end meanwhile put their reports."""

Clock = Callable[[], float]
"""Unix time in seconds."""


def start(
    prepared: Prepared,
    *,
    results: str | Path = RESULTS,
    run_id: str | None = None,
    executor: AnyExecutor = AUTO,
    listener: Listener | None = None,
    clock: Clock = time.time,
) -> Run:
    """Start a prepared run in a folder of its own and see it to its end.

    Raises:
        BadInput: ``run_id`` cannot name a folder.
        RunExists: A run of this id is there already.
        StoreError: The folder cannot be written.
    """
    return begin(prepared, results, run_id, executor, listener, clock=clock)


def begin(
    prepared: Prepared,
    results: str | Path,
    run_id: str | None,
    executor: AnyExecutor,
    listener: Listener | None,
    *,
    branched: BranchedFrom | None = None,
    inherited: Callable[[Path], Iterable[Sequence[Entry]]] | None = None,
    explains: str = "",
    clock: Clock = time.time,
) -> Run:
    """:func:`start`, also for sessions that go on from those of another run.

    Args:
        prepared: The run.
        results: Folder of runs.
        run_id: Name of the run; made up if left out.
        executor: ``auto``, ``ray``, ``in-process``, or an :class:`ExecutorChoice`.
        listener: Told about progress.
        branched: For ``run.json``: what its sessions go on from.
        inherited: What the journal of the run in a folder begins with, in batches.
        explains: For ``run.json``: the run whose failures are read in it.
        clock: Unix time in seconds.

    Raises:
        BadInput, RunExists, StoreError: As :func:`start`.
    """
    listener = listener or Silent()
    engine, why = _executor_for(prepared, executor)
    require_no_keys(prepared, os.environ, explains)
    _require_models(prepared)
    _require_nodes(engine, prepared, listener)
    now = datetime.fromtimestamp(clock(), UTC)
    identity = checked_id(run_id) if run_id else new_run_id(prepared.spec.name, now, SystemRandom())
    folder = Path(results)
    if around := instructions_around(prepared, folder):
        listener.note(around)
    require_own_disk(folder)
    require_lasting(folder)
    budget_file(folder, clock()).states(clock())  # what nobody uses any more is given back
    clear_unbegun(folder)
    with budget_draw(prepared, folder, identity, clock) as draw, ExitStack() as stack:
        about = {"branched": branched, "explains": explains}
        file = run_file(prepared, identity, now).model_copy(update=about)
        file = _with_scenarios(file, folder)

        making = stack.enter_context(ExitStack())
        making.enter_context(setting_up(folder))

        def set_up(staging: Path) -> None:
            stack.enter_context(driving(staging))
            making.close()
            _set_up(staging, folder / identity, prepared, inherited)

        run_dir = create_run(folder, file, set_up)
        _tell_place(engine, why, run_dir, listener)
        return _drive(draw, run_dir, engine, listener)


def resume(
    run: str | Path = NEWEST,
    *,
    results: str | Path = RESULTS,
    executor: AnyExecutor = AUTO,
    listener: Listener | None = None,
    overrides: Iterable[Override] = (),
    redo_turn: bool = False,
    redo_errored: bool | str = False,
    trust: bool = False,
    clock: Clock = time.time,
) -> Run:
    """Go on with a run that did not reach its end, from the last turn of every session.

    A run that is complete is told to be so and left as it is, unless more sessions are asked for.
    With ``redo_turn``, turns in flight are played anew from the checkpoints before them, for a kind
    or prompts that have changed since: what was answered in them stays paid and is superseded.

    With ``redo_errored``, errored sessions are played on from their last checkpoints in the same
    way, those of one error class or (``True``) of any, also in a run that was complete. Tables have
    what comes of them; looks at the scores that were journalled before stay as they are.

    With ``trust``, a run that was not made here may send what it says to where it says, run the
    programs that it names, and count at its own prices.

    Raises:
        StateMismatch: The installed kind does not fit what sessions were left in.
        RunNotFound: No such run.
        RunLocked: The run is still alive.
        BadInput: The run's spec, packs or code changed so that it is another run, more sessions
            are asked for than its comparison allows, its cap is below what it has spent, or none
            of its sessions is errored as ``redo_errored`` says.
    """
    run_dir = find_run(Path(results), str(run))
    stored, file = read_plan(run_dir), read_run(run_dir)
    given = list(overrides)
    own = is_made_here(run_dir, file)
    if not own:
        stored = replace(stored, env_file=Path.cwd() / ENV_NAME)
    caps = with_given(file.caps_given, given, datetime.fromtimestamp(clock(), UTC))
    prepared = _prepare_again(stored, run_dir, given, caps)
    listener, more = listener or Silent(), prepared.plan.sessions != stored.plan.sessions
    asked = more or redo_turn or bool(redo_errored)
    if not asked and file.status == "complete" and not tables_lag(run_dir):
        told = "there is nothing left to play, and nothing was changed"
        done = Run(run_dir)
        if lost := done.summary().endings.errored:
            told += f"; --redo-errored plays its {plural(lost, 'errored session')} on"
        listener.remark(f"run {run_dir.name} is complete: {told}")
        return done
    if not own:
        require_trust(prepared, f"run {file.run_id}", [path for path, _, _ in given], trusted=trust)
        _require_own_sessions(prepared.plan, run_dir)
        settle_plan(run_dir, prepared.env_file)
    _require_models(prepared)
    require_undriven(run_dir)
    for found in recover_run(run_dir):
        listener.note(found)
    listener.remark(
        f"run {run_dir.name} goes on as it was planned: what was changed since in specs, prompts "
        "and scenarios is not read"
    )
    changed = programs_changed(prepared, file.created_at.timestamp())
    if changed:
        listener.note(
            f"{', '.join(changed)} was written since the run began: sessions played from here on "
            "are of that agent as it is now, those before of what it was; a new run has one"
        )
    if own:  # a file here is not that of a run from elsewhere
        redone = redo_turn or redo_errored is not False
        prepared, told, code = with_code_of_now(prepared, prepared.env_file.parent, redone=redone)
        changed += [code] if code else []
        if told:
            listener.note(told)
    require_own_disk(run_dir)
    past = money_in(run_dir)
    engine, why = _executor_for(prepared, executor)
    check_caps_left(prepared.spec.limits, [path for path, _, _ in given], run_dir.name, past)
    _require_nodes(engine, prepared, listener)
    _tell_place(engine, why, run_dir, listener)
    if more:
        write_plan(run_dir, prepared)
    errored = redo_errored if isinstance(redo_errored, str) else "" if redo_errored else None
    anew = prepare_open_sessions(
        run_dir, prepared.kind, redo=redo_turn, at=clock(), errored=errored
    )
    with (
        budget_draw(prepared, run_dir.parent, run_dir.name, clock, spent=past.charged) as draw,
        driving(run_dir),
    ):
        now = datetime.fromtimestamp(clock(), UTC)
        changes = tuple(CodeChange(at=now, what=in_line(one)) for one in changed)
        resumed = {
            "caps_given": caps,
            "code_changes": (*file.code_changes, *changes),
            "redone": (*file.redone, *([now] if anew else [])),
        }
        return _drive(draw, run_dir, engine, listener, resumed)


def _executor_for(prepared: Prepared, requested: AnyExecutor) -> tuple[Executor, str]:
    """The executor of this name, and why it is that one if nobody named it.

    A program that has the terminal is on no cluster.
    """
    if isinstance(prepared.kind, OwnsTerminal):
        return load_executor(IN_PROCESS), ""
    choice, why = chosen(prepared, requested, os.environ)
    return load_executor(choice), why


def _drive(
    draw: Draw,
    run_dir: Path,
    engine: Executor,
    listener: Listener,
    resumed: Mapping[str, Any] = MappingProxyType({}),
) -> Run:
    home = Path.cwd()
    try:
        return _driven(draw, run_dir, home, engine, listener, resumed)
    finally:
        os.chdir(home)  # an agent of Python in this process may have gone elsewhere


def _not_taken(prepared: Prepared) -> list[str]:
    """Variables of the project's ``.env`` that nobody is given."""
    if prepared.play_money:
        return []
    named = named_in(prepared.models) | {
        name for agent in prepared.agents.values() for name in agent.pass_env
    }
    return left_out(prepared.env_file, os.environ, named)


def _driven(
    draw: Draw,
    named: Path,
    home: Path,
    engine: Executor,
    listener: Listener,
    resumed: Mapping[str, Any],
) -> Run:
    prepared = draw.prepared
    if draw.reduced:
        listener.note(draw.reduced)
    if draw.reserved:
        listener.remark(draw.reserved)
    if not prepared.play_money and open_to_others(prepared.env_file):
        listener.note(f"{prepared.env_file} can be read by other users; `chmod 600` it")
    for told in sendings(prepared.models, os.environ):
        if told not in prepared.notes:  # which the plan has shown
            listener.note(told)
    for name in _not_taken(prepared):
        listener.note(
            f"{name} in {prepared.env_file} is no key, and only keys are taken from there; set it "
            "in the environment if it is yours"
        )
    run_dir = home / named
    file = read_run(run_dir)
    reports = ReportsAtEnds(prepared, run_dir, listener)
    driver = Driver(
        prepared, file.run_id, run_dir, engine, listener, bound=draw.bound, session_ended=reports
    )
    grew = prepared.plan.sessions > file.plan.sessions
    running = file.model_copy(
        update={
            "grown_from": file.grown_from or (file.plan.sessions if grew else None),
            "status": "running",
            "end_reason": "",
            "end_detail": "",
            "resume_with": "",
            "gate": None,
            "cap_nano": prepared.spec.limits.cap_nano,
            "kind_code": code_hash(prepared.kind),
            **resumed,
            "plan": plan_summary(prepared).model_copy(
                update={"scenario_table": prepared.scenarios or file.plan.scenario_table}
            ),
        }
    )
    running = marked(run_dir, running)  # whoever takes a run up makes it theirs
    write_run(run_dir, running)
    draw.started = True
    before = _surveyed(prepared, run_dir)
    try:
        end = asyncio.run(driver.run())
    except RunLocked:
        raise  # somebody else was quicker, and how the run stands is theirs to write
    except BaseException as error:
        at_once = isinstance(error, (KeyboardInterrupt, asyncio.CancelledError))
        interrupted = at_once or isinstance(error, Interrupted)
        reason = "interrupted" if interrupted else str(error)[:500]
        status = "incomplete" if at_once or isinstance(error, CutShort) else "failed"
        with suppress(StoreError):  # the disk may be what failed; the journal is the truth
            write_run(run_dir, running.model_copy(update={"status": status, "end_reason": reason}))
        if at_once:
            raise Interrupted(stopped_at_once(run_dir)) from None
        raise
    if end.status == "incomplete" and isinstance(engine, Requiring):
        end = replace(end, resume_with=f"{end.resume_with}{engine.rejoins}")
    draw.spent = end.progress.picture.balance.charged
    if before is not None and (after := _surveyed(prepared, run_dir)) is not None:
        touched = dict.fromkeys((*running.touched, *changes(before, after, _REPORTS)))
        running = running.model_copy(update={"touched": tuple(touched)})
    write_run(run_dir, ended_file(running, end))
    os.chdir(home)
    done = Run(named)
    _report(done, prepared.env_file.parent, listener)
    return done


def _with_scenarios(file: RunFile, folder: Path) -> RunFile:
    """A run that goes on from another one's sessions has its scenarios, if it is still there."""
    if file.branched is None or file.plan.scenario_table:
        return file
    try:
        table = read_run(find_run(folder, file.branched.run_id)).plan.scenario_table
    except MatrixError:
        return file
    plan = file.plan.model_copy(update={"scenario_table": table})
    return file.model_copy(update={"plan": plan})


def _surveyed(prepared: Prepared, run_dir: Path) -> Survey | None:
    """The project's own files, where the kind of a run wants them left as they are."""
    kind, project = prepared.kind, prepared.env_file.parent
    if not (isinstance(kind, GuardsProject) and kind.guards(prepared.spec.options)):
        return None
    if not any(model in prepared.spec.agents for model in prepared.models):
        return None  # a model answers with words alone
    return survey(project, [run_dir.parent])


def _report(run: Run, project: Path, listener: Listener) -> None:
    """Write the reports of a run that has ended; a run does not fail for them."""
    from matrix.report.run.report_file import REPORT_NAME

    lines: tuple[str, ...] = ()
    try:
        if (told := kind_report(run)) is not None:
            lines = told.lines
            write_kind_report(told, project, run)
    except MatrixError as error:
        listener.note(f"the report of the {run.file.kind} kind could not be written: {error}")
    try:
        write_markdown(run, run.summary(), lines)
    except MatrixError as error:
        listener.note(f"no {REPORT_NAME} could be written: {error}")


def _require_nodes(engine: Executor, prepared: Prepared, listener: Listener) -> None:
    """See that the machines it is to run on can be reached, before anything is written."""
    if isinstance(engine, Requiring):
        for said in engine.require(prepared):
            listener.note(said)


def _tell_place(engine: Executor, why: str, run_dir: Path, listener: Listener) -> None:
    """Say why it is played where it is; on a cluster, on which machine everything is written."""
    if why:
        listener.remark(why)
    if isinstance(engine, Requiring) and engine.joined:
        place = f"{run_dir.resolve()} on {socket.gethostname()}"
        told = f"everything is written to {place}, the machine this was started on"
        listener.remark(f"{told}; sessions are played on the Ray at {engine.joined}")


def _require_own_sessions(plan: Plan, run_dir: Path) -> None:
    """See that what a journal from elsewhere has begun is of the plan that it came with.

    Raises:
        StoreError: It is not: it would be played anew, and paid for, beside what is there.
    """
    with closing(JournalReader(run_dir / JOURNAL_NAME)) as reader:
        begun = set(reader.session_ids())
    for number in range(plan.rounds):
        if not begun:
            return
        of_round = plan.round(number)
        begun -= {one.session_id for one in (*of_round.sessions, *of_round.preludes)}
    if begun:
        raise StoreError(
            f"the journal of {run_dir} has sessions that its {PLAN_NAME} does not plan, such as "
            f"{min(begun)[:40]}: one of the two was changed; get the run anew"
        )


def _require_models(prepared: Prepared) -> None:
    """See that every model can be asked: its key, its weights, somebody at its address.

    Raises:
        BadInput: What is missing, all at once.
    """
    mistakes = Mistakes()
    mistakes.collect(lambda: require_keys(prepared, os.environ))
    mistakes.collect(lambda: require_local_models(prepared.models, prepared.source))
    mistakes.collect(lambda: require_addresses(prepared))
    mistakes.collect(lambda: require_agents(prepared, os.environ))
    mistakes.stop_if_any()


def checked_id(run_id: str) -> str:
    """``run_id`` if it can name a folder in the results folder, and only that."""
    if not re.fullmatch(RUN_ID, run_id) or run_id in MEANINGS:
        allowed = (
            "up to 121 letters, digits, dots, dashes and underscores, starting with a letter or "
            f"digit, and not {' or '.join(map(repr, MEANINGS))}, which mean the newest run"
        )
        raise BadInput([Mistake("--run-id", None, "", f"found {run_id!r}; {allowed}")])
    return run_id


def _set_up(
    staging: Path,
    run_dir: Path,
    prepared: Prepared,
    inherited: Callable[[Path], Iterable[Sequence[Entry]]] | None,
) -> None:
    """Put the run's texts and its plan on the disk: with a plan, a run can be resumed.

    Args:
        staging: The new run's folder, for now.
        run_dir: What it becomes.
        prepared: The run.
        inherited: Gives the journal entries that its sessions have from others, in batches.

    Raises:
        StoreError: They cannot be written.
    """
    try:
        journal = JournalWriter(staging / JOURNAL_NAME)
        journal.name_run(run_dir.name)
        journal.add_resources(prepared.resources)
        for batch in inherited(staging) if inherited is not None else ():
            journal.append(batch)
        journal.close()
        keep_initial_folders(prepared.kind, prepared.folders, staging)
        write_plan(staging, prepared)
    except ContentUnreadable as error:
        raise StoreError(
            f"the run could not be set up in {run_dir}: {error}; nothing was started"
        ) from None
    except (OSError, StoreError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error).split(";")[0]
        raise StoreError(
            f"the run could not be set up in {run_dir}: {reason}; nothing was started; free some "
            "space, or choose another folder with --results"
        ) from None


def _prepare_again(
    stored: Prepared, run_dir: Path, overrides: list[Override], caps: tuple[CapGiven, ...]
) -> Prepared:
    """The prepared run of an existing folder, with new limits where they were given."""
    message = "cannot change when a run is resumed; limits, cache and more sessions can"
    foreign = [
        Mistake(origin, None, "", message)
        for path, _, origin in overrides
        if path == ("limits", "turns")
        or (path[0] not in ("limits", "cache") and path not in COUNTS)
    ]
    if foreign:
        raise BadInput(foreign)
    document = overlay(_as_document(stored.spec), [*as_overrides(caps), *overrides])
    at = cap_given_at(caps, overrides)
    again = replace(stored, spec=check(document, RunSpec), cap_given_at=at)
    return extended(again, run_dir, overrides)


def _as_document(spec: RunSpec) -> Document:
    return Document("run.json", spec.model_dump(mode="json"), {}, {})
