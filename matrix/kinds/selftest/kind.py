"""The self-test kind: see the package."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import orjson
from pydantic import BaseModel

from matrix.judging.asking import Judge, judge_transcript
from matrix.judging.verdict import UNREADABLE, scores_form
from matrix.kinds.context import Context, ForkContext
from matrix.kinds.protocol import (
    REPORTED,
    Binding,
    FileRequest,
    LabelQuestion,
    PackLibrary,
    PreviousPlay,
    ReadFile,
    RoleInfo,
    RoleProfile,
    ScenarioPack,
)
from matrix.kinds.reporting import EndedRun, RunReport
from matrix.kinds.selftest import judging, reporting
from matrix.kinds.selftest.file import FILE_OPTIONS, is_selftest, pack_of, read_selftest
from matrix.kinds.selftest.generating import (
    INSTRUCTIONS,
    Generated,
    again,
    read_generated,
    request_for,
    unsafe_words,
)
from matrix.kinds.selftest.namespace import namespace_at
from matrix.kinds.selftest.settings import (
    GENERATOR,
    JUDGE,
    OF_A_SIMULATED_SYSTEM,
    SELFTEST,
    SYSTEM,
    Case,
    SelftestOptions,
    awaits,
    case_of,
    kept_requests,
)
from matrix.kinds.selftest.state import NOTHING_SAID, AnswerStep, DialogueMessage, SelftestState
from matrix.kinds.text_files import read_text
from matrix.model.documents.yaml_documents import Document, check, parse_document
from matrix.model.errors import FAILED_BY_ITSELF, BadInput, CallFailed, Mistake
from matrix.model.records import JSON, ChatMessage, Message
from matrix.model.seeds import derive_seed
from matrix.model.spec.aliases import SIMULATED_PREFIX

_TRIES: Final = 2
_TOKENS: Final[Mapping[str, int]] = {GENERATOR: 500, SYSTEM: 1500, JUDGE: 1000}
_READ: Final[Mapping[str, float]] = {GENERATOR: 250.0, SYSTEM: 150.0, JUDGE: 900.0}
_WRITTEN: Final[Mapping[str, float]] = {GENERATOR: 120.0, SYSTEM: 200.0, JUDGE: 120.0}
_OF_A_FILE: Final = "file://"


PASSED: Final = "passed"
"""The score that says whether a case passes."""


class SelftestKind:
    """A session is one case: a request, an answer, a judgement; then reply by reply."""

    name = SELFTEST
    file_options = FILE_OPTIONS
    file_names = ("selftest.yaml",)
    version = 1
    state_version = 1
    roles = (
        RoleInfo(GENERATOR, "sim/gpt-4o-mini", "writes the request and what to look for"),
        RoleInfo(SYSTEM, "sim/gpt-4o-mini", "answers it; the system under test"),
        RoleInfo(JUDGE, "sim/gpt-4o-mini", "scores the answer", judges=True),
    )
    tells = ("task_type", "session_id", "task_group_id")
    options_model = SelftestOptions
    state_model = SelftestState
    score_range = (0.0, 1.0)
    lower_is_better: frozenset[str] = frozenset({"questions"})
    score_names: frozenset[str] = frozenset(
        {"score", "passed", "status_match", "questions", "replies_passed", *judging.NAMES}
    )

    def claims(self, value: JSON) -> bool:
        return is_selftest(value)

    def read_file(self, request: FileRequest) -> ReadFile:
        return read_selftest(request)

    def read_pack(self, folder: Path, name: str) -> ScenarioPack:
        path = folder / "scenario.yaml"
        document = parse_document(read_text(path), str(path))
        value = document.value
        if isinstance(value, dict):
            value = {key: item for key, item in value.items() if key != "kind"}
        own = Document(document.source, value, document.lines, document.origins)
        case = check(own, Case)
        if why := unsafe_words(case):
            raise BadInput([Mistake(str(path), None, "", why)])
        return pack_of(name, case)

    def bind(
        self,
        pack: ScenarioPack,
        options: BaseModel,
        roles: Mapping[str, str],
        library: PackLibrary,
        max_turns: int,
    ) -> Binding:
        chosen, case = SelftestOptions.model_validate(options.model_dump()), case_of(pack.content)
        answers = min(1.0 + len(case.reply_flow) * case.requires_reply, float(max_turns))
        calls = {
            GENERATOR: _requests_written(case),
            SYSTEM: (1.0, answers, answers),
            JUDGE: (1.0, answers, 2 * answers),
        }
        return Binding(
            resources={
                "case": dict(pack.content),
                "instructions": _instructions(chosen.instructions, roles[SYSTEM], library),
            },
            prelude=None,
            models=frozenset(roles[role] for role in calls if any(calls[role])),
            profile=tuple(
                RoleProfile(role, roles[role], often, _READ[role], _WRITTEN[role])
                for role, often in calls.items()
                if any(often)
            ),
            turns=(1.0, answers, answers),
        )

    def rebind(
        self,
        kept: PreviousPlay,
        options: BaseModel,
        roles: Mapping[str, str],
        library: PackLibrary,
        pack: ScenarioPack | None = None,
    ) -> Binding:
        own = ScenarioPack(kept.plan.scenario, self.name, "", "", kept.texts["case"])
        chosen = SelftestOptions.model_validate(options.model_dump())
        was = SelftestOptions.model_validate(kept.plan.options).instructions
        bound = self.bind(pack or own, options, roles, library, kept.plan.max_turns)
        if chosen.instructions != was:
            return bound
        texts = {**bound.resources, "instructions": kept.texts["instructions"]}
        return Binding(texts, None, bound.models, bound.profile, turns=bound.turns)

    def fork(
        self, ctx: ForkContext, state: SelftestState, changes: Mapping[str, JSON]
    ) -> SelftestState:
        if "scenario" in changes:
            raise BadInput(
                [Mistake("scenario", None, "", "its request has been answered; run the other case")]
            )
        return state

    async def prelude(self, ctx: Context) -> JSON:
        return None

    async def start(self, ctx: Context) -> SelftestState:
        """Give the session a namespace, and have its request written."""
        began_at = float(await ctx.effect("namespace", _now))
        # of this session and this moment alone: variants of a round share their draws
        random = derive_seed(ctx.plan.session_id, repr(began_at)) & 0xFFFF_FFFF
        case = case_of(ctx.resource("case"))
        made = await _generated(ctx, case)
        if isinstance(made, str):
            ctx.event("request_unusable", detail=made, severity="warning")
            ctx.end("errored", f"the generator wrote no request that can be used: {made}")
            return SelftestState(namespace=namespace_at(began_at, random), trouble=made)
        name = namespace_at(began_at, random)
        ctx.event("namespace", subject=name)
        # kept before it is sent, so that a case whose system fails is run again with the same
        begun = {"session_id": name, "prompt": made.prompt, "hints": made.hints}
        ctx.log.append(Message(REPORTED, SELFTEST, orjson.dumps(begun).decode(), ctx.turn))
        return SelftestState(namespace=name, prompt=made.prompt, hints=made.hints)

    async def turn(self, ctx: Context, state: SelftestState) -> SelftestState:
        """The request, or the next reply: what the system answers, and how that is judged."""
        case, options = (
            case_of(ctx.resource("case")),
            SelftestOptions.model_validate(ctx.plan.options),
        )
        reply = case.reply_flow[ctx.turn - 2] if ctx.turn > 1 else None
        asked = state.prompt if reply is None else reply.reply
        expected = case.expected_status if reply is None else reply.expected_status
        said = [*state.said, DialogueMessage(role="user", content=asked)]
        ctx.log.append(Message("table", "user", asked, ctx.turn))
        answer = await ctx.ask(
            SYSTEM,
            [*_system(ctx.resource("instructions")), *(one.message for one in said)],
            max_tokens=_TOKENS[SYSTEM],
            tag="request" if reply is None else "reply",
            fields={
                "task_type": options.task_type,
                "session_id": state.namespace,
                "task_group_id": state.namespace,
            },
        )
        status, known_by, doubt = judging.status_of(answer.status, answer.text)
        ctx.log.append(Message("table", SYSTEM, answer.text, ctx.turn, status))
        said.append(DialogueMessage(role="assistant", content=answer.text, carry=answer.carry))
        more = case.requires_reply and ctx.turn <= len(case.reply_flow)
        awaited = more and awaits(status, expected)
        step = AnswerStep(
            asked=asked,
            answer=answer.text,
            expected=expected,
            actual=status,
            doubt=doubt,
            awaits=awaited,
        )
        ctx.event("status", subject=status, detail=f"known by {known_by}")
        if step.empty:
            ctx.event("empty_answer", detail=NOTHING_SAID, severity="warning")
        if doubt:
            ctx.event("status_contradicts", subject=status, detail=doubt, severity="warning")
        if not awaited:
            ctx.end("completed", f"the system ended with {status}")
        return state.model_copy(update={"said": tuple(said), "steps": (*state.steps, step)})

    def questions(self, kept: PreviousPlay) -> Mapping[str, LabelQuestion]:
        """Whether a case passes, and the four scores of its first answer."""
        case, rubric = (
            case_of(kept.texts["case"]),
            judging.rubric_of(SelftestOptions.model_validate(kept.plan.options)),
        )
        about = f"It tests: {case.description.strip()}\nThe status to end with is "
        about += f"{case.expected_status}.\nIs this answer good enough to pass?"
        low, high = rubric.scale
        each = {one.name: LabelQuestion(one.question, low, high) for one in rubric.criteria}
        return {PASSED: LabelQuestion(about, 0, 1, verdict=True), **each}

    async def finish(self, ctx: Context, state: SelftestState) -> None:
        """Record the scores of the request, and the case as the report shows it."""
        if not state.steps:
            return
        options, case = (
            SelftestOptions.model_validate(ctx.plan.options),
            case_of(ctx.resource("case")),
        )
        steps = [await _judged(ctx, state, n, options) for n in range(len(state.steps))]
        state = state.model_copy(update={"steps": tuple(steps)})
        rubric = judging.rubric_of(options)
        found = reporting.case_found(ctx.plan.scenario, case, state, options)
        first = state.steps[0]
        model, reason = first.judge_model, first.reasoning
        for name in judging.NAMES:
            value = first.scores.get(name)
            why = reason if value is not None else first.missing.get(name, first.unjudged)
            ctx.score(name, value, reason=why, judge_model=model, rubric_hash=rubric.hash)
        ctx.score(
            "score",
            None if first.overall is None else float(first.overall),
            reason=first.why_unscored or reason,
            judge_model=model,
            rubric_hash=rubric.hash,
        )
        ctx.score("status_match", float(first.status_match))
        ctx.score("questions", float(first.questions))
        if case.requires_reply:
            replies = [step.passed(options) for step in state.steps[1:]]
            share = None if None in replies else replies.count(True) / len(case.reply_flow)
            ctx.score("replies_passed", share)
        for fault in found["faults"]:
            ctx.event("fault", detail=fault, severity="warning")
        ctx.score(
            PASSED,
            None if found["pass"] is None else float(found["pass"]),
            judge_model=model,
            rubric_hash=rubric.hash,
        )
        ctx.log.append(Message(REPORTED, SELFTEST, orjson.dumps(found).decode(), ctx.turn))

    def guards(self, options: Mapping[str, JSON]) -> bool:
        return bool(options.get("project_files_must_stay", True))

    def report(self, run: EndedRun) -> RunReport:
        return reporting.report_of(run)


def _requests_written(case: Case) -> tuple[float, float, float]:
    """How often the generator is asked for a request: at least, as a rule, and at most."""
    if case.prompt:
        return 0.0, 0.0, 0.0
    return (0.0, 0.5, 2.0) if kept_requests(case) else (1.0, 1.0, 2.0)


async def _generated(ctx: Context, case: Case) -> Generated | str:
    """The request of a case: its own, or one that the generator writes; or why there is none."""
    if case.prompt:
        return Generated(case.prompt, case.hints or case.description)
    kept = kept_requests(case)
    if ctx.plan.round < len(kept) and (before := kept[ctx.plan.round]):
        return Generated(before["prompt"], before["hints"])
    asked, why = request_for(case), ""
    for attempt in range(_TRIES):
        try:
            answer = await ctx.ask(
                GENERATOR,
                [
                    ChatMessage("system", INSTRUCTIONS),
                    ChatMessage("user", asked + (again(why) if attempt else "")),
                ],
                max_tokens=_TOKENS[GENERATOR],
            )
        except CallFailed as failure:
            if failure.error_class not in FAILED_BY_ITSELF:
                raise
            return f"the generator: {failure}"[:500]  # which is not what is under test
        made = read_generated(answer.text)
        if not isinstance(made, str):
            return Generated(made.prompt, case.hints or made.hints)
        why = made
    return why


async def _judged(
    ctx: Context, state: SelftestState, number: int, options: SelftestOptions
) -> AnswerStep:
    """A step with what the judge makes of it; without scores if its answer cannot be read.

    Nobody is asked about an answer with nothing in it.
    """
    rubric, step = judging.rubric_of(options), state.steps[number]
    if step.empty:
        missing = dict.fromkeys(judging.NAMES, NOTHING_SAID)
        return step.model_copy(update={"reasoning": NOTHING_SAID, "missing": missing})
    hints = state.hints if not number else f"{state.hints}\n(This answers the user's reply.)"
    said = state.said[: 2 * number]
    asked = "\n\n".join(
        [*(f"{one.role}: {one.content}" for one in said), f"user: {step.asked}"]
        if said
        else [step.asked]
    )
    judge = Judge(JUDGE, ctx.plan.roles[JUDGE], scores_form(rubric), _TOKENS[JUDGE], SELFTEST)
    parts = judging.material(asked, step.answer, hints, step.expected, step.actual)
    try:
        (one,) = await judge_transcript(ctx, judge, parts)
    except CallFailed as failure:  # what the system did stays, and can be judged again
        return step.model_copy(update={"unjudged": f"the judge: {failure}"[:500]})
    if one.verdict is None:
        return step.model_copy(update={"judge_model": one.model, "unjudged": one.why or UNREADABLE})
    verdict = one.verdict
    return step.model_copy(
        update={
            "judge_model": one.model,
            "scores": dict(verdict.scores),
            "missing": dict(verdict.missing),
            "reasoning": f"({step.doubt}) {verdict.reason}" if step.doubt else verdict.reason,
        }
    )


async def _now() -> JSON:
    return time.time()  # as fine as it is: runs of one second are told apart by it


def _system(instructions: Any) -> list[ChatMessage]:
    return [ChatMessage("system", str(instructions))] if instructions else []


def _instructions(text: str, system: str, library: PackLibrary) -> str:
    """The system prompt itself.

    Raises:
        BadInput: It is in a file that is not there, or is no text.
    """
    if not text and system.startswith(SIMULATED_PREFIX):
        return OF_A_SIMULATED_SYSTEM
    if not text.startswith(_OF_A_FILE):
        return text
    return read_text(library.project_file(text))


KIND: Final = SelftestKind()
