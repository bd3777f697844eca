"""What a model makes of a run's failures: a priced pass, as a run of its own, kept with the run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import Final, NamedTuple

import orjson

from matrix.api.opened import NEWEST, RESULTS, Run, open_run
from matrix.api.runs.lifecycle import begin, resume
from matrix.engine.prepare.plan_file import project_of_run
from matrix.engine.prepare.prepare_run import prepare
from matrix.engine.prepare.prepared import Prepared
from matrix.engine.prepare.registry import scoring_kind
from matrix.engine.prepare.spec_files import SpecFile, own_spec
from matrix.engine.run.progress import Listener
from matrix.kinds.explanation.grouping import ShownFailure, form
from matrix.kinds.explanation.kind import (
    ANSWER_TOKENS,
    EXPLANATION,
    FAILURES,
    ROLE,
    ExplanationState,
    request_of,
)
from matrix.kinds.protocol import REPORTED, ScenarioPack
from matrix.model.documents.overrides import Override, from_environment, from_flags
from matrix.model.errors import BadInput, KindUnusable, Mistake, StoreError
from matrix.model.money import show_usd
from matrix.model.seeds import content_hash
from matrix.report.run.explained import (
    EXPLANATION_NAME,
    CitedSession,
    Explanation,
    FailureGroup,
)
from matrix.report.text import noted, plural, tokens
from matrix.store.run.made_here import is_made_here
from matrix.store.run.run_folder import RUN_FILE, read_run, write_whole

_LONGEST_ID: Final = 90
_BYTES_PER_TOKEN: Final = 4


class Explaining(NamedTuple):
    """A pass over a run's failures that could start.

    Attributes:
        parent: The run.
        prepared: What asks the model.
        run_id: The run that it is: the same for the same failures and the same model, so that what
            was asked is never paid for twice.
        sessions: Sessions that are read.
        batches: Requests, if each is answered at once.
        tokens_in: Of all requests, about.
        done: The explanation, where it was paid for already; nothing is asked then.
        begun: Whether it was begun, and only what is left is asked.
    """

    parent: Run
    prepared: Prepared
    run_id: str
    sessions: int
    batches: int
    tokens_in: int
    done: Explanation | None
    begun: bool

    @property
    def in_words(self) -> str:
        """What is read, in how many requests, and what that is expected to cost."""
        prepared = self.prepared
        estimate, cap = prepared.estimate, prepared.spec.limits.cap_nano
        simulated = noted("simulated" if prepared.simulated else "")
        text = (
            f"{prepared.spec.roles[ROLE]}{simulated} is to read "
            f"{plural(self.sessions, 'session')} of {self.parent.id} in "
            f"{plural(self.batches, 'call')}: about {tokens(self.tokens_in)} tokens in, at most "
            f"{tokens(self.batches * ANSWER_TOKENS)} out; expected to cost "
            f"{show_usd(estimate.middle)} ({show_usd(estimate.low)} to {show_usd(estimate.high)}), "
            f"under a cap of {show_usd(cap)}"
        )
        if not prepared.simulated:
            text += "; what stands in those sessions is sent to whoever serves it"
        return text + ("; begun before, so only what is left is asked" if self.begun else "")


def plan_explanation(
    run: str | Path | Run,
    model: str,
    *,
    max_cost: float | None = None,
    below: float | None = None,
    results: str | Path = RESULTS,
    overrides: Sequence[Override] = (),
) -> Explaining:
    """Check it, without asking anybody. Arguments are those of :func:`explain`.

    Raises:
        BadInput: Every mistake; nothing failed; or no cap is given for a model that costs money.
    """
    from matrix.report.page.failing import batches_of, failing_sessions
    from matrix.store.reading.reader import RunTables

    parent = run if isinstance(run, Run) else open_run(run, results=results)
    _check(parent, below)
    file = parent.file
    try:
        lower = scoring_kind(file.kind, file.run_spec.options, kept=file.kind_facts).lower_is_better
    except KindUnusable:
        lower = frozenset()
    chosen = failing_sessions(RunTables(parent.path), lower, below)
    if not chosen:
        told = "has no session that failed, errored, missed a check or scored low"
        raise BadInput([Mistake(parent.id, None, "", f"{told}; --below SCORE reads more")])
    batches = [[ShownFailure(*one) for one in batch] for batch in batches_of(chosen)]
    content = {"run": parent.id, "batches": [[list(one) for one in batch] for batch in batches]}
    pack = ScenarioPack(FAILURES, EXPLANATION, f"failures of {parent.id}", "", content)
    layers = [
        *_of_parent(parent),
        *(layer for layer in from_environment() if layer[0][0] == "limits"),
        *from_flags({"max_cost": max_cost}, "--{}"),
        *overrides,
        (("roles", ROLE), model, "--explain"),
    ]
    project = project_of_run(parent.path)
    prepared = prepare(SpecFile(own_spec(EXPLANATION), project), layers, packs={FAILURES: pack})
    if not prepared.simulated and not any(path == ("limits", "cost_usd") for path, _, _ in layers):
        about = prepared.estimate.middle / 1e9
        told = f"say how much it may spend in US dollars; it is expected to cost ${about:.4f}"
        raise BadInput([Mistake("--max-cost", None, "", told)])
    digest = content_hash([content, model, form().hash], length=10)
    run_id = f"{parent.id[:_LONGEST_ID]}-explained-{digest}"
    done, begun = _known(parent, run_id)
    size = sum(len(request_of(batch, ()).encode()) for batch in batches)
    tokens = size // _BYTES_PER_TOKEN
    return Explaining(parent, prepared, run_id, len(chosen), len(batches), tokens, done, begun)


def explain(
    run: str | Path | Run = NEWEST,
    model: str = "",
    *,
    max_cost: float | None = None,
    below: float | None = None,
    results: str | Path = RESULTS,
    listener: Listener | None = None,
    clock: Callable[[], float] = time.time,
) -> Explanation:
    """Have a model read a run's failures and group them, each group with its sessions cited.

    It reads sessions that failed, errored, missed a yes/no check or scored low, 60 at most, in
    batches of bounded text. It is asked in a run of its own, under its own cap; what was asked
    once of the same failures is not paid for again, after a kill either. The groups are kept in
    the run's folder, and are a section of its report from then on.

    Args:
        run: The run: id, beginning of one, path, or ``last``.
        model: The model; ``sim/...`` for a rehearsal.
        max_cost: Hard cap in US dollars; has to be given for a model that costs money.
        below: Scores up to this are low; the lowest tenth if left out.
        results: Folder of runs.
        listener: Told about progress.
        clock: Unix time in seconds.

    Raises:
        BadInput: Every mistake; nothing was asked.
        StoreError: It stopped before its end, by its cap or an interrupt; asked again, it goes on.
    """
    planned = plan_explanation(run, model, max_cost=max_cost, below=below, results=results)
    return explain_as_planned(planned, listener=listener, clock=clock)


def explain_as_planned(
    planned: Explaining,
    *,
    listener: Listener | None = None,
    clock: Callable[[], float] = time.time,
) -> Explanation:
    """Ask what was planned, go on with what was begun, or take what was paid for already."""
    folder = planned.parent.path.parent
    if planned.done is not None:
        _keep(planned.parent, planned.done)
        return planned.done
    if planned.begun:
        limits = planned.prepared.spec.limits
        cap: Override = (("limits", "cost_usd"), limits.cost_usd, "--max-cost")
        made = resume(
            planned.run_id,
            results=folder,
            executor="in-process",
            listener=listener,
            overrides=[cap],
            clock=clock,
        )
    else:
        made = begin(
            planned.prepared,
            folder,
            planned.run_id,
            "in-process",
            listener,
            explains=planned.parent.id,
            clock=clock,
        )
    if made.status != "complete":
        why = made.file.end_reason or made.status
        raise StoreError(
            f"the explanation stopped before its end ({why}); asked for again, it goes on where it "
            "was, with a higher --max-cost if that is why"
        )
    found = _explanation_of(planned.parent, made)
    _keep(planned.parent, found)
    return found


def _keep(parent: Run, found: Explanation) -> None:
    write_whole(parent.path, EXPLANATION_NAME, found.model_dump_json(indent=2) + "\n")


def _check(parent: Run, below: float | None) -> None:
    mistakes = []
    if parent.status == "running":
        told = "goes on; wait for its end, or interrupt it"
        mistakes.append(Mistake(parent.id, None, "", told))
    if parent.file.kind == EXPLANATION:
        told = "is an explanation itself; name the run that it is of"
        mistakes.append(Mistake(parent.id, None, "", told))
    if below is not None and not -inf < below < inf:
        mistakes.append(Mistake("--below", None, "", f"found {below:g}; must be a number"))
    if mistakes:
        raise BadInput(mistakes)


def _of_parent(parent: Run) -> list[Override]:
    """Names of models, their limits and the budget of a run that its user has made."""
    file = parent.file
    if not is_made_here(parent.path, file):
        return []
    limits = file.spec.get("limits") or {}
    layers: list[Override] = [
        ((name,), value, "") for name in ("models", "groups") if (value := file.spec.get(name))
    ]
    if limits.get("budget"):
        layers.append((("limits", "budget"), limits["budget"], ""))
    return layers


def _known(parent: Run, run_id: str) -> tuple[Explanation | None, bool]:
    """The explanation, if it was paid for already; and whether it was begun.

    Raises:
        BadInput: A folder of this name is no explanation that this user has made.
    """
    folder = parent.path.parent / run_id
    if not (folder / RUN_FILE).is_file():
        return None, False
    file = read_run(folder)
    if file.kind != EXPLANATION or not is_made_here(folder, file):
        told = "is no explanation that you made here; remove it, and ask again"
        raise BadInput([Mistake(run_id, None, "", told)])
    made = Run(folder)
    return (_explanation_of(parent, made), True) if made.status == "complete" else (None, True)


def _explanation_of(parent: Run, made: Run) -> Explanation:
    """What a pass that is over has found.

    Raises:
        StoreError: It has told nothing.
    """
    said = made.frame("messages", ["channel", "text"])
    texts = said[said["channel"].astype(str) == REPORTED]["text"].tolist()
    if not texts:
        raise StoreError(f"{made.id} has told nothing: `matrix show {made.id}` says why")
    state = ExplanationState.model_validate(orjson.loads(texts[-1]))
    file = made.file
    batches = _read_in(made)
    groups = sorted(state.groups, key=lambda one: -len(one[2]))
    return Explanation(
        made_by=made.id,
        model=str(file.spec["roles"][ROLE]),
        simulated=file.simulated,
        made_at=datetime.fromtimestamp(file.created_at.timestamp(), UTC),
        read=batches,
        sessions=parent.file.plan.sessions,
        cost_nano=file.totals.charged_nano if file.totals is not None else 0,
        groups=tuple(
            FailureGroup(
                label=label,
                explanation=told,
                sessions=tuple(
                    CitedSession(session=session, turn=turn, why=why)
                    for session, turn, why in cited
                ),
            )
            for label, told, cited in groups
        ),
        dropped=tuple(one[:2_000] for one in state.dropped),
        unread=tuple(one[:2_000] for one in state.unread),
    )


def _read_in(made: Run) -> int:
    """Sessions that were shown in a pass."""
    from matrix.engine.prepare.plan_file import read_plan

    (content,) = (one for one in read_plan(made.path).resources.values() if "batches" in one)
    return sum(len(batch) for batch in content["batches"])
