"""Judging the sessions of a run again, from what is stored of them: a run of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from matrix.api.opened import RESULTS, Run, open_run
from matrix.api.sessions.branching import start_branching
from matrix.api.sessions.choosing import Branching, go_on_in, moments_of
from matrix.engine.continuation.changes import ContinuationRequest
from matrix.engine.continuation.continuing import JUDGE, Continuation
from matrix.engine.executors.executor import AUTO, AnyExecutor
from matrix.engine.prepare.judges import judges_in, names_of
from matrix.engine.prepare.plan_file import project_of_run
from matrix.engine.prepare.registry import load_kind
from matrix.engine.run.progress import Listener
from matrix.kinds.protocol import UNREAD
from matrix.model.documents.overrides import Override
from matrix.model.errors import BadInput, Mistake, did_you_mean
from matrix.model.moments.checkpoint import Checkpoint
from matrix.model.records import JSON, SessionPlan
from matrix.model.spec.judges import JUDGES
from matrix.report.text import plural
from matrix.store.reading.reader import RunTables
from matrix.store.run.made_here import is_made_here

REJUDGE = "rejudge"

_OVER = ("completed", "timeout")
"""Ends after which a session is judged."""


def plan_rejudge(
    run: str | Path,
    *,
    judge: str | Sequence[str] | None = None,
    rubrics: Sequence[str] = (),
    target: str = "transcript",
    repeats: int = 1,
    missing: bool = False,
    against: str | None = None,
    max_cost: float | None = None,
    trust: bool = False,
    results: str | Path = RESULTS,
    overrides: Iterable[Override] = (),
) -> Branching:
    """Check it, without starting anything. Arguments are those of :func:`rejudge`.

    Raises:
        BadInput: Every mistake.
    """
    panel = [judge] if isinstance(judge, str) else list(judge or ())
    overrides = list(overrides)
    anew = repeats > 1 or (("cache",), False) in [(path, value) for path, value, _ in overrides]
    if not (panel or rubrics or missing or anew):
        told = (
            "say what is to be judged anew: --judge MODEL, --rubric FILE, --missing, or --no-cache"
        )
        raise BadInput([Mistake("matrix rejudge", None, "", told)])
    parent = open_run(run, results=results)
    project = project_of_run(parent.path)
    kind = load_kind(parent.file.kind, kept=parent.file.kind_facts)
    roles = [role.name for role in kind.roles if role.judges]
    roles = [JUDGE] if JUDGE in roles else roles
    if len(panel) > 1 and not rubrics and not parent.file.spec.get(JUDGES):
        told = "a panel judges by rubrics; name them with --rubric, or give one judge"
        raise BadInput([Mistake("--judge", None, "", told)])
    changes: dict[str, tuple[JSON, ...]] = {}
    if len(panel) == 1 and not rubrics:
        changes = dict.fromkeys(roles, (panel[0],))
    requested = ContinuationRequest(
        changes,
        times=1,
        own_seed=True,
        word=REJUDGE,
        flag="--judge",
        judges=_listed(parent, panel, rubrics, target, repeats, project),
        again=True,
        own_records=is_made_here(parent.path, parent.file),
        missing=missing,
        parents_factor=parent.file.plan.compared,
        parents_factors=parent.file.plan.factors,
        scored=_kept_scores(parent),
    )
    over = _over(parent, _may_miss(parent, rubrics) if missing else None)
    moments, stopped = list[Checkpoint](), list[Checkpoint]()
    for moment in moments_of(parent, over):
        (moments if _is_over(moment) else stopped).append(moment)
    notes: list[str] = []
    if against is not None:
        opponents = _opponents(parent, against, moments)
        requested = replace(requested, opponents=opponents, flag="--against")
    if not missing:
        failed, notes = _failed(parent, stopped)
        moments = sorted((*moments, *failed), key=lambda one: _place(one.plan))
    if not moments:
        told = "has no session that is over: those that have no score were stopped before their end"
        raise BadInput([Mistake(parent.id, None, "", told)])
    moments = _repeats_apart(parent, moments)
    # what the parent has bought of the same calls is not bought again, unless --no-cache is said
    layers = [(("cache",), True, ""), *overrides]
    found = go_on_in(parent, moments, requested, max_cost, layers, trust=trust)
    from matrix.report.compare.matching import design_of

    design = design_of(RunTables(parent.path), parent.file, only_missing=missing)
    notes = [_by_whose_word(parent), *_read_anew(parent, found), *notes]
    return Branching(found, notes=tuple(notes), design=design)


def _kept_scores(parent: Run) -> frozenset[str]:
    """Scores that sessions have of their own, and not of a listed judge that may judge anew."""
    frame = parent.frame("scores", ["name", "judge_model", "rubric_hash"]).drop_duplicates()
    judged = frame.judge_model.notna() | frame.rubric_hash.notna()
    listed = frame["name"].isin(names_of(parent.file.spec)) & judged
    return frozenset(map(str, frame["name"][~listed]))


def _by_whose_word(parent: Run) -> str:
    return (
        f"the kind's own judge goes by what run {parent.id} keeps of rubrics and scenarios: what "
        "was changed in their files since is not read"
    )


def _read_anew(parent: Run, found: Continuation) -> list[str]:
    """That rubrics of the list are other today than those that the sessions were judged by."""
    then = {one.rubric.name: one.rubric for of in found.moments for one in judges_in(of.texts)}
    prepared = found.prepared
    kept = {name: prepared.resources[key] for name, key in prepared.plan.cells[0].resources.items()}
    return [
        f"rubric {name} is read as its file is today, which is other than what run {parent.id} was "
        "judged by"
        for name, rubric in ((one.rubric.name, one.rubric) for one in judges_in(kept))
        if then.get(name, rubric) != rubric
    ]


def _is_over(moment: Checkpoint) -> bool:
    """Whether nothing of a session is to be played any more, whatever it was ended by.

    One that its own cap has stopped has ended, and would be played on.
    """
    last, plan = moment.turns[-1], moment.plan
    at_limit = last.turn >= plan.max_turns or last.tally.clock_s >= plan.max_session_s
    return last.ended is not None or at_limit


def _failed(parent: Run, stopped: Sequence[Checkpoint]) -> tuple[list[Checkpoint], list[str]]:
    """Sessions that failed, as they ended; and what is said of those that are left out.

    Nobody is asked about them, but without them the rest would look better than it was. Those that
    were ``stopped`` before their end are among them.
    """
    frame = parent.frame("sessions")
    found, lost = list[Checkpoint](), 0
    why = dict(zip(frame.session_id.map(str), frame.end_reason, strict=True))

    def as_it_ended(moment: Checkpoint) -> Checkpoint:
        told = why[moment.plan.session_id]
        last = replace(moment.turns[-1], ended=("failed", told if isinstance(told, str) else ""))
        return replace(moment, turns=(*moment.turns[:-1], last))

    for row in frame[frame.outcome == "failed"].to_dict("records"):
        try:
            (moment,) = moments_of(parent, [(str(row["session_id"]), int(row["turns"]))])
        except BadInput:  # it never came to its beginning
            lost += 1
            continue
        found.append(as_it_ended(moment))
    unended = int((~frame.outcome.isin([*_OVER, "failed"])).sum())
    told = [
        f"{plural(count, 'session')} of {parent.id} {what}"
        for count, what in (
            (
                len(found),
                "failed: nobody is asked about them, and they count as before, with the issues "
                "that were found then",
            ),
            (
                len(stopped),
                "stopped by limits.session_usd: nobody plays them on, and they count as failed",
            ),
            (lost, "failed before their beginning: they are left out"),
            (unended, "errored or were cut short: they are left out"),
        )
        if count
    ]
    return [*found, *map(as_it_ended, stopped)], told


def _repeats_apart(parent: Run, moments: Sequence[Checkpoint]) -> list[Checkpoint]:
    """Sessions of one moment that was played several times, in a round for each repeat.

    Raises:
        BadInput: Of several moments, repeats would be taken for as many moments as they are.
    """
    if all((one.plan.repeat or 1) == 1 for one in moments):
        return list(moments)
    if len({(one.plan.parent_session_id, one.plan.parent_turn) for one in moments}) > 1:
        told = (
            "has several repeats of each of several moments, and judged again these cannot be told "
            "apart; judge the run that it was branched from, or branch with --times 1"
        )
        raise BadInput([Mistake(parent.id, None, "", told)])
    return [
        replace(one, plan=replace(one.plan, round=(one.plan.repeat or 1) - 1)) for one in moments
    ]


def _place(plan: SessionPlan) -> tuple[int, str, str]:
    return plan.round, plan.scenario, plan.session_id


def rejudge(
    run: str | Path,
    *,
    judge: str | Sequence[str] | None = None,
    rubrics: Sequence[str] = (),
    target: str = "transcript",
    repeats: int = 1,
    missing: bool = False,
    against: str | None = None,
    max_cost: float | None = None,
    trust: bool = False,
    results: str | Path = RESULTS,
    run_id: str | None = None,
    executor: AnyExecutor = AUTO,
    listener: Listener | None = None,
    overrides: Iterable[Override] = (),
) -> Run:
    """Judge every session of a run again that came to its end; nobody else is asked.

    Those that failed are in the new run as they ended.

    The run's own scores stay as they are. The new run has the sessions under new ids, in their
    rounds and with their levels, so that it is compared as the run itself is. What others than
    judges said at the end of a session is taken over from the run's records, and so is what a model
    said as a judge where it is asked the very same at the same place of a session; agents judge
    again.

    Args:
        run: The run: id, beginning of one, path, or ``last``.
        judge: Another model or agent, for the kind's own judge and for listed ones. With
            ``rubrics`` it judges by these alone, and several are a panel of the listed ones: both
            leave the kind's own judge as it is.
        rubrics: Files or names of rubrics, in place of those that the run lists.
        target: What the rubrics look at: ``transcript``, ``last``, or whose messages.
        repeats: Judgings of each session by each rubric.
        missing: Only sessions without a score, or without one of a rubric that the run lists (of
            these ``rubrics``, if some are named).
        against: A level of what is compared: each session is judged beside that level's session of
            the same round, by rubrics that ask for a choice. Its score is 1 where it is better in
            both orders, 0 where it is worse in both, else 0.5.
        max_cost: Hard cap in US dollars; the run's if left out.
        trust: Do what a run that was not made here names: addresses, programs, prices.
        results: Folder of runs.
        run_id: Name of the new run; made up if left out.
        executor: ``auto``, ``ray``, ``in-process``, or an :class:`ExecutorChoice`.
        listener: Told about progress.
        overrides: Ready-made overrides of limits, over everything else.

    Raises:
        BadInput: Anything wrong with the input; nothing was started.
        StoreError: A folder cannot be used.
    """
    planned = plan_rejudge(
        run,
        judge=judge,
        rubrics=rubrics,
        target=target,
        repeats=repeats,
        missing=missing,
        against=against,
        max_cost=max_cost,
        trust=trust,
        results=results,
        overrides=overrides,
    )
    return start_branching(planned, results, run_id, executor, listener)


def _opponents(parent: Run, against: str, moments: Sequence[Checkpoint]) -> dict[str, JSON]:
    """Session -> that of the level in the same round, of the same scenario and other levels."""
    factor = parent.file.plan.compared
    levels = parent.file.plan.factors.get(factor or "", ())
    if factor is None or against not in levels:
        told = f"found {against!r}; the variants are: {', '.join(levels) or 'none'}"
        hint = did_you_mean(against, list(levels))
        raise BadInput([Mistake("--against", None, "", f"{told}{hint}")])

    def place(plan: SessionPlan) -> tuple[object, ...]:
        others = (level for name, level in sorted(plan.levels.items()) if name != factor)
        return (plan.round, plan.scenario, *others)

    theirs = {place(one.plan): one for one in moments if one.plan.levels[factor] == against}
    found: dict[str, JSON] = {}
    for one in moments:
        other = theirs.get(place(one.plan))
        if other is not None:
            said = [m for m in other.log if m.channel not in UNREAD] if other is not one else []
            found[one.plan.session_id] = {"level": against, "messages": [list(m) for m in said]}
    levels_met = {one.plan.levels[factor] for one in moments if one.plan.session_id in found}
    if levels_met <= {against}:
        told = (
            f"no session of another variant came to its end in a round where one of {against} did"
        )
        raise BadInput([Mistake("--against", None, "", told)])
    return found


def _listed(
    parent: Run,
    panel: Sequence[str],
    rubrics: Sequence[str],
    target: str,
    repeats: int,
    project: Path,
) -> tuple[JSON, ...] | None:
    """The judges to list; ``None`` for those of the parent, as they are."""
    before: Sequence[Any] = parent.file.spec.get(JUDGES) or ()
    if rubrics:
        return tuple(
            {
                "rubric": _reference(one, project),
                "target": target,
                "repeats": repeats,
                "model": _who_judges(parent, one, panel, before),
            }
            for one in rubrics
        )
    if repeats > 1 and not before:
        told = (
            "is how often each rubric is judged: name rubrics with --rubric; how often the kind's "
            "own judge is asked, an option of the kind says, if it has one"
        )
        raise BadInput([Mistake("--repeats", None, "", told)])
    if not before or not (panel or repeats > 1):
        return None
    changed: dict[str, JSON] = {"model": list(panel)} if panel else {}
    changed |= {"repeats": repeats} if repeats > 1 else {}
    return tuple({**one, **changed} for one in before)


def _who_judges(parent: Run, rubric: str, panel: Sequence[str], before: Sequence[Any]) -> list[str]:
    """The models that were asked for, else who judged by this rubric, or any, in the parent."""
    if panel:
        return list(panel)
    name = Path(rubric).stem
    same = [one for one in before if one.get("name") == name or Path(one["rubric"]).stem == name]
    for one in (*same, *before):
        return list(one["model"])
    kinds_own = (parent.file.spec.get("roles") or {}).get(JUDGE)
    kind = load_kind(parent.file.kind, kept=parent.file.kind_facts)
    own = next((role for role in kind.roles if role.name == JUDGE), None)
    found = kinds_own or (own.default_model if own is not None else None)
    if not isinstance(found, str):
        told = "the run has no judge of its own; say who is to judge: --judge MODEL"
        raise BadInput([Mistake("--judge", None, "", told)])
    return [found]


def _reference(text: str, project: Path) -> str:
    """A file (as it is known from the project) or a rubric by its name; from here first."""
    path, named = Path(text.removeprefix("file://")), Path("rubrics") / f"{text}.md"
    if named.is_file():
        path = named
    elif not (path.is_file() or path.suffix or text.startswith("file://")):
        return text
    full, root = path.resolve(), project.resolve()
    return f"file://{full.relative_to(root) if root in full.parents else full}"


def _may_miss(parent: Run, rubrics: Sequence[str]) -> list[str]:
    """Scores of listed judges that sessions should have, or of these rubrics among them."""
    listed = names_of(parent.file.spec)
    named = {Path(one.removeprefix("file://")).stem for one in rubrics}
    return [name for name in listed if not named or name in named]


def _over(parent: Run, missing: Sequence[str] | None) -> list[tuple[str, int]]:
    """Session and last turn of each that came to its end.

    Args:
        parent: The run.
        missing: Take only those without a score, or without one of these; ``None`` for all.
    """
    frame = parent.frame("sessions")
    frame = frame[frame.outcome.isin(_OVER)]
    if missing is not None:
        lacks = frame.score.isna()
        if missing:
            given = parent.frame("scores", ["session_id", "turn", "name", "value"])
            given = given[given["turn"].isna() & given["value"].notna()]
            for name in missing:
                lacks |= ~frame.session_id.isin(given[given["name"] == name]["session_id"])
        frame = frame[lacks]
    if frame.empty:
        what = "that came to its end"
        if missing is not None:
            what = f"that came to its end and has no {' or no '.join(['score', *missing])}"
        raise BadInput([Mistake(parent.id, None, "", f"has no session {what}")])
    frame = frame.sort_values(["round", "scenario", "session_id"])
    pairs = zip(frame.session_id, frame.turns, strict=True)
    return [(str(session), int(turns)) for session, turns in pairs]
