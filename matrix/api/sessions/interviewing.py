"""Asking somebody of a session about it, after one of its turns: a run of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from matrix.api.opened import RESULTS, Run, open_run
from matrix.api.sessions.branching import start_branching
from matrix.api.sessions.choosing import Branching, go_on, go_on_in, moments_of, replay_of
from matrix.api.sessions.files_replayed import moment_of_file
from matrix.engine.continuation.changes import ContinuationRequest
from matrix.engine.executors.executor import AUTO, AnyExecutor
from matrix.engine.prepare.registry import load_kind
from matrix.engine.run.progress import Listener
from matrix.kinds.protocol import INTERVIEWED, KEPT_KIND, NOTES, AnswersQuestions
from matrix.model.documents.mistakes import together
from matrix.model.documents.overrides import Override
from matrix.model.errors import BadInput, Mistake, StoreError
from matrix.model.moments.checkpoint import Checkpoint
from matrix.model.records import JSON

INTERVIEW = "interview"


class Interviewed(NamedTuple):
    """What somebody answered: once for every time that they were asked.

    Attributes:
        who: Who was asked, by name.
        question: What they were asked.
        answers: What they said.
        session_id: The session that they are of.
        turn: The turn after which they were asked.
        run: The run in which they were asked; the session itself is as it was.
    """

    who: str
    question: str
    answers: tuple[str, ...]
    session_id: str
    turn: int
    run: Run


def plan_interview(
    run: str | Path,
    session: str,
    who: str,
    question: str,
    *,
    turn: int | None = None,
    changes: Mapping[str, JSON] | None = None,
    times: int = 1,
    max_cost: float | None = None,
    trust: bool = False,
    results: str | Path = RESULTS,
    overrides: Iterable[Override] = (),
) -> Branching:
    """Check an interview, without asking anybody. Arguments are those of :func:`interview`.

    Raises:
        BadInput: Every mistake.
    """
    parent = open_run(run, results=results)
    (moment,) = moments_of(parent, [(session, turn)])
    requested = _asking(moment, who, question, changes, times)
    over = [_not_over(moment)]
    return Branching(go_on_in(parent, over, requested, max_cost, overrides, trust=trust))


def plan_interview_checkpoint(
    checkpoint: Checkpoint | str | Path,
    who: str,
    question: str,
    *,
    project: str | Path = ".",
    changes: Mapping[str, JSON] | None = None,
    times: int = 1,
    max_cost: float | None = None,
    trust: bool = False,
    overrides: Iterable[Override] = (),
) -> Branching:
    """:func:`plan_interview` from a file that :func:`matrix.export` wrote.

    Raises:
        BadInput: Every mistake.
    """
    moment = moment_of_file(checkpoint, Path(project))
    requested = _asking(moment, who, question, changes, times)
    elsewhere = "" if isinstance(checkpoint, Checkpoint) else str(checkpoint)
    over = [_not_over(moment)]
    found = go_on(
        over, requested, Path(project), max_cost, overrides, elsewhere=elsewhere, trust=trust
    )
    return Branching(found)


def interview(
    run: str | Path,
    session: str,
    who: str,
    question: str,
    *,
    turn: int | None = None,
    changes: Mapping[str, JSON] | None = None,
    times: int = 1,
    max_cost: float | None = None,
    trust: bool = False,
    results: str | Path = RESULTS,
    run_id: str | None = None,
    executor: AnyExecutor = AUTO,
    listener: Listener | None = None,
    overrides: Iterable[Override] = (),
) -> Interviewed:
    """Ask somebody of a session about it, as they were after one of its turns.

    They answer in character, from what they remember, in a run of its own under its own cap. The
    session stays as it was, and nothing is played on.

    Args:
        run: The session's run: id, beginning of one, path, or ``last``.
        session: Id or its beginning; ``best``, ``worst``, ``longest`` or ``failed``.
        who: Whom to ask, by name.
        question: What to ask.
        turn: The turn after which they are asked; the last if left out.
        changes: What is to be other, such as ``{"players": "gpt-4o"}``: another model answers.
        times: How often they are asked, each time anew.
        max_cost: Hard cap in US dollars; the parent run's if left out.
        trust: Do what a run that was not made here names: addresses, programs, prices.
        results: Folder of runs.
        run_id: Name of the new run; made up if left out.
        executor: ``auto``, ``ray``, ``in-process``, or an :class:`ExecutorChoice`.
        listener: Told about progress.
        overrides: Ready-made overrides of limits, over everything else.

    Raises:
        BadInput: Anything wrong with the input; nobody was asked.
        StoreError: A folder cannot be used, or there was no answer.
    """
    planned = plan_interview(
        run,
        session,
        who,
        question,
        turn=turn,
        changes=changes,
        times=times,
        max_cost=max_cost,
        trust=trust,
        results=results,
        overrides=overrides,
    )
    return answered(start_branching(planned, results, run_id, executor, listener))


def answered(run: Run) -> Interviewed:
    """What came of an interview.

    Raises:
        StoreError: It was not answered; the message says why.
    """
    said = run.frame("messages", ["channel", "speaker", "text", "session_id", "turn"])
    said = said[said["channel"].astype(str) == INTERVIEWED]
    asked = said[said["speaker"].astype(str) == NOTES]
    answers = said[said["speaker"].astype(str) != NOTES]
    if not len(answers) or not len(asked):
        ends = run.sessions()[["outcome", "end_reason"]].astype(str).to_numpy().tolist()
        why = "; ".join(f"{outcome}: {reason}" for outcome, reason in ends) or run.status
        raise StoreError(f"nobody answered in run {run.id} ({why})")
    (moment,) = run.file.branched.moments if run.file.branched else (("", 0),)
    return Interviewed(
        str(answers["speaker"].iloc[0]),
        str(asked["text"].iloc[0]),
        tuple(map(str, answers["text"])),
        *moment,
        run,
    )


def _asking(
    moment: Checkpoint, who: str, question: str, changes: Mapping[str, JSON] | None, times: int
) -> ContinuationRequest:
    """What is wanted: a session that goes on as it is, but for somebody who is asked.

    Raises:
        BadInput: Every mistake.
    """
    kind = load_kind(moment.plan.kind, kept=moment.texts.get(KEPT_KIND))
    if not isinstance(kind, AnswersQuestions):
        told = f"sessions of the kind {kind.name} have nobody in them who could be asked"
        raise BadInput([Mistake("--ask", None, "", told)])
    requested, asked = together(
        lambda: replay_of(changes, times), lambda: kind.interview(who, question)
    )
    (name,) = asked
    more = {name: (asked[name],)}
    # judges that a spec lists are for sessions that were played
    return replace(
        requested, changes={**requested.changes, **more}, word=INTERVIEW, judges=(), asked=name
    )


def _not_over(moment: Checkpoint) -> Checkpoint:
    """The moment, in a session that goes on: of one that failed nobody would be asked."""
    last = moment.turns[-1]
    return replace(moment, turns=(*moment.turns[:-1], replace(last, ended=None)))
