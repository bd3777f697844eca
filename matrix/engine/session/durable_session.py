"""A durable session: plays one kind's state machine so that it can die and go on anywhere.

After every phase and turn the whole small state, with what the turn added to the log, goes to the
governor as a checkpoint. Inside a turn every answer is journalled before the kind sees it. So a
session taken up again starts from its newest checkpoint and is given the same answers, until it
reaches the call that nobody answered.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Protocol

from pydantic import BaseModel

from matrix.engine.prepare.judges import LISTED, judges_in, kind_texts
from matrix.engine.session.agent_turns import Agents
from matrix.engine.session.effects import Effects
from matrix.engine.session.metered import upstreams_of
from matrix.engine.session.scope import KindRequest, Meter, Scope, StepResults
from matrix.engine.session.session_log import SessionLog
from matrix.engine.session.workspace import Workspaces
from matrix.engine.wire.defects import MAX_DEFECT, by_the_kind, is_defect, prelude_failed
from matrix.engine.wire.messages import Snapshot
from matrix.engine.wire.storable import MAX_REASON, check_result, check_turn
from matrix.engine.wire.telemetry_events import told_turn
from matrix.judging.listed import OPPONENT, ListedJudge, Opponent, judge_by_list, scores_of
from matrix.kinds.context import Context
from matrix.kinds.protocol import UNREAD, Kind, ScriptsAnswers, UsesFolder
from matrix.model.entries import Acted, Ended, TurnDone
from matrix.model.errors import (
    FAILED_BY_ITSELF,
    BlobsRefused,
    CallFailed,
    Censored,
    FolderUnavailable,
    MatrixError,
    SessionCapReached,
    Suspended,
)
from matrix.model.records import (
    JSON,
    Answer,
    Call,
    CallKey,
    ChatMessage,
    Message,
    Outcome,
    Phase,
    SessionPlan,
    storable_text,
)
from matrix.model.request_digest import request_digest
from matrix.model.seeds import content_hash, derive_seed
from matrix.model.spec.agents import AgentSpec
from matrix.model.spec.params import layers_of, refused, resolved
from matrix.telemetry.spans import Spans

if TYPE_CHECKING:
    from matrix.gateway.desk import GatewayRequest as MeteredRequest
    from matrix.gateway.upstreams import Upstreams

OF_MODEL_TIME = "minutes of model time"
"""How the reason ends of a session that ran out of time; a checkpoint keeps the reason alone."""

TIME_LIMIT = "TimeLimit"
"""Error class of such a session: unlike one that had all its turns, it has failed."""

CLOCK_DIGITS = 6
"""Decimals of a session's clock at a checkpoint: rounded in memory as well as on the disk, so that
a session that went on and one that was taken up again read the same time."""


class CallPort(Protocol):
    """Where a session's calls go."""

    async def ask(self, call: Call) -> Answer: ...


class DurableSession:
    """One session being played: kind, plan, log, meter, and where its calls go."""

    def __init__(
        self,
        kind: Kind,
        plan: SessionPlan,
        snapshot: Snapshot,
        resources: Mapping[str, JSON],
        calls: CallPort,
        save: Callable[[TurnDone], None],
        *,
        save_effect: Callable[[Acted], Awaitable[None]] | None = None,
        workspaces: Workspaces | None = None,
        measure: str = "",
        model_params: Mapping[str, Mapping[str, JSON]] | None = None,
        upstreams: Callable[[str, Sequence[str] | None], Upstreams] | None = None,
        agents: Agents | None = None,
        leaves: Callable[[], bool] | None = None,
        utc: Callable[[], float] = time.time,
        spans: Spans | None = None,
    ) -> None:
        """``leaves`` says between turns whether it is to be played on elsewhere."""
        self.kind, self.plan, self.calls = kind, plan, calls
        self.prelude = snapshot.prelude
        self._prelude_failure = snapshot.prelude_failure
        self.log = SessionLog(snapshot.log)
        self._resources, self._save, self._utc = resources, save, utc
        self._spans, self._workspaces = spans, workspaces
        self._leaves = leaves or _never
        # once, as there are many calls, and checking an object against a protocol is slow
        self._told_options = plan.options if isinstance(kind, ScriptsAnswers) else {}
        self._model_params = model_params or {}
        self.upstreams = upstreams or _no_models
        self.agents = agents
        self.effects = Effects(snapshot.acted, save_effect or _nowhere, utc=utc)
        self._checkpoint = snapshot.checkpoint
        self._scores, self._measure = dict(snapshot.scores), measure
        self.meter = Meter(snapshot.used)
        self._clock_s = snapshot.used.clock_s
        self._turn = self._checkpoint.turn if self._checkpoint else 0
        self._end: tuple[Outcome, str] | None = self._checkpoint.ended if self._checkpoint else None

    async def play(self) -> Ended | None:
        """Play to the end; ``None`` when the run drains and the session stays open.

        Raises:
            BlobsRefused: The disk takes no more of the session's files; it stays open.
        """
        try:
            ended = await self._play_to_the_end()
            if self.effects.workspace is not None:
                await self.effects.workspace.remove()
            return ended
        finally:
            if self.effects.workspace is not None:
                self.effects.workspace.release()

    async def _play_to_the_end(self) -> Ended | None:
        error_class = ""
        result: JSON = None
        try:
            if self._prelude_failure:
                raise prelude_failed(self._prelude_failure)
            if self.plan.part == "prelude":
                result = await self._prelude()
            else:
                await self._play()
            outcome, reason = self._end or ("completed", "")
            if outcome == "timeout" and reason.endswith(OF_MODEL_TIME):
                error_class = TIME_LIMIT
        except Suspended:
            return None
        except BlobsRefused:  # says nothing about the session, and the run cannot go on
            raise
        except Censored as stop:
            outcome, reason, error_class = "censored", str(stop), stop.word
        except SessionCapReached as stop:
            outcome, reason, error_class = "timeout", str(stop), type(stop).__name__
        except CallFailed as failure:
            error_class, reason = failure.error_class, str(failure)
            # who measures is not under test: a judge that breaks says nothing of the variant
            measures = failure.role in {role.name for role in self.kind.roles if role.judges}
            by_itself = error_class in FAILED_BY_ITSELF and not measures
            outcome = "failed" if by_itself else "errored"
        except MatrixError as error:
            outcome, reason, error_class = "errored", error.with_flags, type(error).__name__
        except Exception as error:  # a defect of the engine ends its session, never the run
            outcome, error_class = "errored", type(error).__name__
            reason = "".join(traceback.format_exception(error))[-MAX_REASON:]
        return Ended(
            session_id=self.plan.session_id,
            outcome=outcome,
            reason=storable_text(reason[: MAX_DEFECT if is_defect(error_class) else MAX_REASON]),
            error_class=error_class,
            turns=self._turn,
            score=self._scores.get("score") if outcome in ("completed", "timeout") else None,
            tally=self.meter.tally(self._clock_s),
            at=self._utc(),
            result=result,
            measured=self._scores.get(self._measure),
        )

    async def _prelude(self) -> JSON:
        step = StepResults("start", 0, len(self.log))
        scope = Scope(self, step, "", self._clock_s)
        with by_the_kind():
            with told_turn(self._spans, self.plan, "start", 0):
                result = await self.kind.prelude(scope)
            check_result(result)
        self._clock_s = round(scope.elapsed_s, CLOCK_DIGITS)
        self._store(step, b"null", "")
        return result

    async def _play(self) -> None:
        done = self._checkpoint
        if isinstance(self.kind, UsesFolder) and (done is None or done.phase != "finish"):
            await self._restore_folder(self.kind, "" if done is None else done.tree)
        if done is None:
            state = await self._step("start", 0, self.kind.start)
        else:
            state = self.kind.state_model.model_validate_json(done.state)
        if done is not None and done.phase == "finish":
            return
        while self._end is None:
            if self._leaves():
                raise Suspended("it is played on by another worker")
            if self._turn >= self.plan.max_turns:
                self._end = (
                    "timeout",
                    f"{self.plan.max_turns} turn{'s' * (self.plan.max_turns != 1)}",
                )
            elif self._clock_s >= self.plan.max_session_s:
                self._end = ("timeout", f"{self.plan.max_session_s / 60:g} {OF_MODEL_TIME}")
            else:
                state = await self._step("turn", self._turn + 1, partial(self._take_turn, state))
                self._turn += 1  # which counts what came to its end
        if self._end[0] in ("completed", "timeout"):
            await self._step("finish", self._turn, partial(self._finish, state))

    async def _restore_folder(self, kind: UsesFolder, tree: str) -> None:
        if self._workspaces is None:
            raise FolderUnavailable("nobody here gives sessions a working folder")
        workspace = await self._workspaces.open(self.plan.session_id, kind.folder_limits)
        self.effects.workspace = workspace
        await workspace.restore(tree)
        workspace.begin()

    async def _take_turn(self, state: BaseModel, ctx: Context) -> BaseModel:
        return await self.kind.turn(ctx, state)

    async def _finish(self, state: BaseModel, ctx: Scope) -> BaseModel:
        await self.kind.finish(ctx, state)
        if listed := self._listed:
            self._of_judges = frozenset()  # whose scores these are
            said = [
                (n, one) for n, one in enumerate(self.log.since(0)) if one.channel not in UNREAD
            ]
            kept = {name: self.resource(name) for name in self.plan.resources}
            texts = kind_texts(self.kind, kept)
            await judge_by_list(ctx, listed, said, self._opponent(), texts)
        return state

    @cached_property
    def _listed(self) -> list[ListedJudge]:
        return judges_in({LISTED: self.resource(LISTED)}) if LISTED in self.plan.resources else []

    @cached_property
    def _of_judges(self) -> frozenset[str]:
        """Scores that the kind may not give, as judges of the run spec will."""
        return frozenset(name for judge in self._listed for name in scores_of(judge))

    def check_score(self, name: str) -> None:
        """Refuse a kind's score by whose name a listed judge's would go: they would be one.

        Raises:
            ValueError: It is one.
        """
        if name in self._of_judges:
            judge = next(one.rubric.name for one in self._listed if name in scores_of(one))
            raise ValueError(
                f"the kind's score {name!r} has the name of one of the judge {judge!r} of the run "
                "spec, so the two would be taken for one; give the judge another (`name:`)"
            )

    def _opponent(self) -> Opponent | None:
        """Whom it is compared with, where it is judged again beside another session."""
        if OPPONENT not in self.plan.resources:
            return None
        found = self.resource(OPPONENT)
        said = [Message(*message) for message in found["messages"]]
        return Opponent(found["level"], list(enumerate(said)))

    async def _step(
        self, phase: Phase, turn: int, play: Callable[[Scope], Awaitable[BaseModel]]
    ) -> BaseModel:
        step = StepResults(phase, turn, len(self.log))
        scope = Scope(self, step, "", self._clock_s)
        with by_the_kind():
            with told_turn(self._spans, self.plan, phase, turn):
                state = await play(scope)
            stored = state.model_dump_json().encode()
        self._clock_s = round(scope.elapsed_s, CLOCK_DIGITS)
        if phase != "finish":
            self._end = step.ended
        self._scores |= {score.name: score.value for score in step.scores if score.turn is None}
        workspace = self.effects.workspace
        tree = ""
        if workspace is not None:
            tree = await workspace.store()
            workspace.begin()
        self._store(step, stored, tree)
        return state

    def _store(self, step: StepResults, state: bytes, tree: str) -> None:
        done = TurnDone(
            session_id=self.plan.session_id,
            phase=step.phase,
            turn=step.turn,
            state=state,
            messages=self.log.since(step.log_at),
            events=tuple(step.events),
            scores=tuple(step.scores),
            players=tuple(step.players),
            tally=self.meter.tally(self._clock_s),
            ended=self._end,
            versions=(self.kind.version, self.kind.state_version),
            at=self._utc(),
            tree=tree,
        )
        with by_the_kind():
            check_turn(done)
        self._save(done)

    def resource(self, name: str) -> JSON:
        """The text or data behind a name of the plan."""
        return self._resources[self.plan.resources[name]]

    def metered_call(
        self,
        step: StepResults,
        slot: str,
        request: MeteredRequest,
        content: str,
        role: str,
        agent: str,
    ) -> Call:
        """A request that came through an address of the session's, as a call.

        ``content`` is the content hash of a raw request, which may be megabytes.
        """
        raw = request.raw
        if raw is None:
            own = KindRequest(role, request.model, request.messages, request.params, {}, agent, "")
            return self.call(step, slot, own)
        key = CallKey(self.plan.session_id, step.phase, step.turn, slot)
        return Call(
            key=key,
            digest=request_digest(content, role, request.model, (), request.params),
            order=self.plan.order,
            role=role,
            model=request.model,
            messages=(),
            params=request.params,
            seed=derive_seed("call", self.plan.seed, step.phase, step.turn, slot, content),
            cell=self.plan.levels,
            agent=agent,
            raw=raw,
        )

    def works_as(self, call: Call) -> AgentSpec | None:
        """The built-in agent around a plain model, in a role that works in the folder."""
        role = next((one for one in self.kind.roles if one.name == call.role), None)
        if role is None or not role.tools:
            return None
        return AgentSpec(tools=role.tools, model=call.model)

    def call(self, step: StepResults, slot: str, request: KindRequest) -> Call:
        """The logical request at a slot, with its digest and seed.

        Raises:
            ValueError: The kind gives a parameter that no kind may.
        """
        role, model, messages, asked, own, agent, tag, fields, fresh = request
        for parameter, value in own.items():
            if (why := refused(parameter, value)) is not None:
                raise ValueError(f"ctx.ask: parameter {parameter!r} {why}")
        name = model or self.plan.roles[role]
        layers = layers_of(self.plan.params, self._model_params.get(name) or {}, role)
        params, timeout_s = resolved(asked, own, layers)
        key = CallKey(self.plan.session_id, step.phase, step.turn, slot)
        content = content_hash([role, name, messages_digest(messages), params.parts])
        return Call(
            key=key,
            digest=request_digest(content, role, name, messages, params),
            order=self.plan.order,
            role=role,
            model=name,
            messages=messages,
            params=params,
            # equal requests at one place get equal answers, so what variants share stays shared;
            # another request (another prompt) is another sample, as it is with real models
            seed=derive_seed("call", self.plan.seed, step.phase, step.turn, slot, content),
            cell=self.plan.levels,
            agent=agent,
            tag=tag,
            timeout_s=timeout_s,
            fields=dict(fields),
            fresh=fresh,
            options=self._told_options,
        )


def _no_models(stand_in: str, names: Sequence[str] | None) -> Upstreams:
    """For sessions whose programs may ask nobody."""
    return upstreams_of({}, stand_in, names)


def _never() -> bool:
    """For sessions that are played where they are."""
    return False


async def _nowhere(acted: Acted) -> None:
    """For sessions that keep no records."""


def messages_digest(messages: Sequence[ChatMessage]) -> list[list[JSON]]:
    """The messages in the shape that goes into a digest."""
    return [message.parts for message in messages]
