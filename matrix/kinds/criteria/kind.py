"""The criteria kind: see the package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import orjson
from pydantic import BaseModel

from matrix.judging.answers import says_nothing
from matrix.judging.asking import Judge, judge_transcript
from matrix.judging.criteria import Checklist
from matrix.judging.marks import tell_claim, tell_misnamed, tell_quotations
from matrix.judging.request import Part
from matrix.kinds.context import Context, ForkContext
from matrix.kinds.criteria import reporting
from matrix.kinds.criteria.chain import before, says
from matrix.kinds.criteria.file import FILE_OPTIONS, USE, is_criteria, read_criteria
from matrix.kinds.criteria.settings import (
    AGENT,
    AS_WRITTEN,
    CRITERIA,
    JUDGE,
    ChainLink,
    CriteriaOptions,
    Given,
    Task,
)
from matrix.kinds.criteria.stand_ins import check_recorded, stand_in
from matrix.kinds.criteria.state import AgentResult, CriteriaState, share_passed
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
from matrix.kinds.text_files import read_text
from matrix.model.documents.mistakes import Mistakes
from matrix.model.documents.yaml_documents import parse_document
from matrix.model.errors import FAILED_BY_ITSELF, BadInput, CallFailed, Mistake
from matrix.model.plan import Plan
from matrix.model.records import JSON, ChatMessage, Message
from matrix.model.seeds import content_hash

OUTPUTS: Final = "table"
"""Channel of a session's log that outputs are in."""

MAX_PROMPT: Final = 200_000
_TOKENS_OF_A_FINDING: Final = 120
_TOKENS_AROUND: Final = 300
_EXPECTED_OUTPUT: Final = 700.0
_EXPECTED_FINDING: Final = 35.0
_OF_A_FILE: Final = "file://"


class CriteriaKind:
    """A session is one input, a turn one agent of the chain."""

    name = CRITERIA
    version = 1
    state_version = 1
    file_options = FILE_OPTIONS
    file_names = ("agents.yaml", "criteria.yaml")
    roles = (
        RoleInfo(AGENT, "sim/gpt-4o-mini", "plays every agent that has no model of its own"),
        RoleInfo(JUDGE, "sim/gpt-4o-mini", "finds which criteria are met", judges=True),
    )
    options_model = CriteriaOptions
    state_model = CriteriaState
    score_range = (0.0, 1.0)
    lower_is_better: frozenset[str] = frozenset({"judge_disagrees"})

    def claims(self, value: JSON) -> bool:
        return is_criteria(value)

    def holds_code(self, texts: Mapping[str, JSON], options: Mapping[str, JSON]) -> str:
        """What it writes over in the project, which is not for a stranger to say."""
        record = options.get("record")
        return f"writes what its agents say to {str(record)[:200]!r}" if record else ""

    def read_file(self, request: FileRequest) -> ReadFile:
        return read_criteria(request)

    def read_pack(self, folder: Path, name: str) -> ScenarioPack:
        path = folder / "scenario.yaml"
        document = parse_document(read_text(path), str(path))
        if isinstance(document.value, dict):
            document.value.pop("kind", None)
        packs = list(read_criteria(FileRequest(document, folder)).packs.values())
        if len(packs) != 1:
            told = f"found {len(packs)} inputs; a scenario of its own has one"
            raise BadInput([Mistake(str(path), None, "inputs", told)])
        return ScenarioPack(name, CRITERIA, packs[0].title, packs[0].summary, packs[0].content)

    def bind(
        self,
        pack: ScenarioPack,
        options: BaseModel,
        roles: Mapping[str, str],
        library: PackLibrary,
        max_turns: int,
    ) -> Binding:
        chosen = CriteriaOptions.model_validate(options.model_dump())
        content = pack.content
        chain, task = _chain(content["chain"]), Task.model_validate(content["task"])
        prompts = _prompts(chain, content["variants"], chosen, library)
        return _bound(content, chain, task, prompts, roles, max_turns)

    def rebind(
        self,
        kept: PreviousPlay,
        options: BaseModel,
        roles: Mapping[str, str],
        library: PackLibrary,
        pack: ScenarioPack | None = None,
    ) -> Binding:
        chosen = CriteriaOptions.model_validate(options.model_dump())
        was = CriteriaOptions.model_validate(kept.plan.options)
        content = kept.texts if pack is None else pack.content
        chain, task = _chain(content["chain"]), Task.model_validate(content["task"])
        if pack is None and chosen.variant == was.variant:
            prompts = dict(kept.texts["prompts"])
        else:
            prompts = _prompts(chain, content["variants"], chosen, library)
        return _bound(content, chain, task, prompts, roles, kept.plan.max_turns)

    def check_plan(self, plan: Plan, packs: Mapping[str, ScenarioPack]) -> Sequence[str]:
        """See that a plan which judges recorded outputs asks for none that is not there."""
        tasks = {
            name: (Task.model_validate(pack.content["task"]), _chain(pack.content["chain"]))
            for name, pack in packs.items()
        }
        return tuple(check_recorded(plan, tasks, USE))

    def fork(
        self, ctx: ForkContext, state: CriteriaState, changes: Mapping[str, JSON]
    ) -> CriteriaState:
        if "scenario" in changes:
            told = "agents have answered this input already; run the other one"
            raise BadInput([Mistake("scenario", None, "", told)])
        return state

    async def prelude(self, ctx: Context) -> JSON:
        return None

    async def start(self, ctx: Context) -> CriteriaState:
        return CriteriaState()

    async def turn(self, ctx: Context, state: CriteriaState) -> CriteriaState:
        """The next agent: its output, or why there is none."""
        chain, task = _chain(ctx.resource("chain")), Task.model_validate(ctx.resource("task"))
        link = chain[ctx.turn - 1]
        result = await _played(ctx, link, task, state)
        if result.other_task:
            told = "recorded for another prompt, input or output of another agent"
            ctx.event("recorded_otherwise", subject=link.name, detail=told, severity="warning")
        if ctx.turn == len(chain):
            ctx.end("completed", "every agent has had its turn")
        return state.model_copy(update={"results": (*state.results, result)})

    def questions(self, kept: PreviousPlay) -> Mapping[str, LabelQuestion]:
        """Whether the output of each agent passes."""
        task = Task.model_validate(kept.texts["task"])
        return {
            link.name: LabelQuestion(_whether_it_passes(link, task), 0, 1, True, link.name)
            for link in _chain(kept.texts["chain"])
            if link.judged
        }

    async def finish(self, ctx: Context, state: CriteriaState) -> None:
        """Have the outputs judged, record what passed, and every cell as the report shows it."""
        chain, task = _chain(ctx.resource("chain")), Task.model_validate(ctx.resource("task"))
        pairs = [(link, state.of(link.name) or _never(link)) for link in chain]
        pairs = await _all_judged(ctx, task, state, pairs)
        for link, one in pairs:
            _tell(ctx, link, one)
        words = [one.word(link) for link, one in pairs if link.judged]
        by_error = any(one.outcome == "errored" for _, one in pairs)
        share = None if by_error else share_passed(words)
        for link, one in pairs:
            if link.judged:
                word = one.word(link)
                value = {"PASS": 1.0, "FAIL": 0.0}.get(word)
                ctx.score(
                    link.name,
                    value,
                    label=word,
                    reason=reporting.why(one, link),
                    judge_model=one.judge_model,
                    rubric_hash=_checklist(ctx, link).form.hash,
                )
        met = [one.met for _, result in pairs for one in result.findings]
        ctx.score("score", None if share is None else float(share))
        # of what was judged alone it would be a share of other criteria than in other sessions
        ctx.score("criteria_met", None if share is None or not met else sum(met) / len(met))
        ctx.score("judge_disagrees", float(sum(one.disagrees(link) for link, one in pairs)))
        told = reporting.cells(task, pairs, lambda link: _checklist(ctx, link).form.hash, ctx.log)
        ctx.log.append(Message(REPORTED, CRITERIA, orjson.dumps(told).decode(), ctx.turn))

    def report(self, run: EndedRun) -> RunReport:
        return reporting.report_of(run)


def _never(link: ChainLink) -> AgentResult:
    """What is to be said of an agent that the session ended before."""
    return AgentResult(
        agent=link.name, outcome="errored", reason="the session ended before its turn"
    )


def _whether_it_passes(link: ChainLink, task: Task) -> str:
    """The input, the criteria, and what they make together."""
    listed = "\n".join(f"{n}. {one}" for n, one in enumerate(link.criteria, 1))
    least = f"{link.fail_threshold} or more of these are not met"
    return f"Input {task.id}: {task.text}\n\nIt fails if {least}:\n{listed}\n\nDoes it pass?"


def _chain(value: Any) -> list[ChainLink]:
    return [ChainLink.model_validate(one) for one in value]


def _bound(
    content: Mapping[str, Any],
    chain: Sequence[ChainLink],
    task: Task,
    prompts: Mapping[str, str],
    roles: Mapping[str, str],
    max_turns: int,
) -> Binding:
    turns = float(min(len(chain), max_turns))
    profile = [*_expected(chain, task, prompts, roles)]
    return Binding(
        resources={
            "task": task.model_dump(mode="json"),
            "chain": [link.model_dump(mode="json") for link in chain],
            "variants": dict(content["variants"]),
            "prompts": dict(prompts),
        },
        prelude=None,
        models=frozenset(one.model for one in profile),
        profile=tuple(profile),
        turns=(turns, turns, turns),
    )


def _expected(
    chain: Sequence[ChainLink], task: Task, prompts: Mapping[str, str], roles: Mapping[str, str]
) -> list[RoleProfile]:
    found = []
    for link in chain:
        read = len(task.text) / 4 + _EXPECTED_OUTPUT * len(link.reads)
        often = (1.0, 1.0, 1.0) if link.when is None else (0.0, 0.5, 1.0)
        if link.name not in task.given and link.name not in task.recorded:
            model = link.own_model or roles[AGENT]
            asked = read + len(prompts[link.name]) / 4
            written = min(_EXPECTED_OUTPUT, float(link.max_tokens))
            found.append(RoleProfile(AGENT, model, often, asked, written))
        if link.judged:
            many = len(link.criteria)
            shown = read + _EXPECTED_OUTPUT + 250 + _EXPECTED_FINDING * many
            twice = (often[0], often[1], 2 * often[2])
            wrote = 60 + _EXPECTED_FINDING * many
            found.append(RoleProfile(JUDGE, roles[JUDGE], twice, shown, wrote))
    return found


def _prompts(
    chain: Sequence[ChainLink],
    variants: Mapping[str, Mapping[str, str]],
    options: CriteriaOptions,
    library: PackLibrary,
) -> dict[str, str]:
    """Agent -> its system prompt itself.

    Raises:
        BadInput: No such variant, or a file that is not there or is no text.
    """
    known = [AS_WRITTEN, *variants]
    if options.variant not in known:
        told = f"found {options.variant!r}; there are: {', '.join(known)}"
        raise BadInput([Mistake("run spec", None, "options.variant", told)])
    others, mistakes, found = variants.get(options.variant, {}), Mistakes(), {}
    for link in chain:
        reference = others.get(link.name, link.prompt)
        found[link.name] = mistakes.collect(partial(_prompt, reference, library))
    mistakes.stop_if_any()
    return {name: text or "" for name, text in found.items()}


def _prompt(reference: str, library: PackLibrary) -> str:
    shipped = library.shared(CRITERIA, "prompts", ".md") if reference.isidentifier() else {}
    if reference in shipped:
        path = shipped[reference]
    elif reference.startswith(_OF_A_FILE):
        path = library.project_file(reference)
    else:
        return reference
    text = read_text(path)
    if not text.strip() or len(text) > MAX_PROMPT:
        told = f"found {len(text)} characters; a prompt has 1 to {MAX_PROMPT}"
        raise BadInput([Mistake(str(path), None, "", told)])
    return text


async def _played(ctx: Context, link: ChainLink, task: Task, state: CriteriaState) -> AgentResult:
    """What the agent makes of it, or why it does not run."""
    given = stand_in(task, link.name, ctx.plan, ctx.plan.round)
    if given is None and task.recorded:
        told = "nothing is recorded of it in this variant and round, and no agent is called"
        return AgentResult(agent=link.name, outcome="errored", reason=told)
    if given is not None and given.outcome != "ran":
        return AgentResult(
            agent=link.name,
            outcome=given.outcome,
            reason=given.reason,
            source=given.source,
            task=given.task,
            recorded_round=given.round,
        )
    if given is None and (missing := _missing(link, state)) is not None:
        what = "is blocked" if missing.outcome == "blocked" else "gave no answer"
        reason = f"{missing.agent} {what}"
        return AgentResult(agent=link.name, outcome="blocked", reason=reason)
    if (held := _held_back(ctx, link, state, given)) is not None:
        return AgentResult(agent=link.name, outcome="skipped", reason=held)
    asked = _asked(ctx, link, task, state)
    digest = content_hash([[one.role, one.content] for one in asked])
    if given is not None and says_nothing(given.output):
        reason = f"its {given.source} output is empty"
        return AgentResult(agent=link.name, outcome="failed", reason=reason, source=given.source)
    if given is not None:
        other = bool(given.task) and given.task != digest
        at = ctx.log.append(Message(OUTPUTS, link.name, given.output, ctx.turn, given.source))
        return AgentResult(
            agent=link.name,
            outcome="ran",
            at=at,
            source=given.source,
            task=given.task,
            other_task=other,
            recorded_round=given.round,
        )
    try:
        answer = await ctx.ask(
            AGENT,
            asked,
            model=link.own_model or None,
            max_tokens=link.max_tokens,
            agent=link.name,
            tag=link.stage or link.name,
        )
    except CallFailed as failure:
        by_itself = failure.error_class in FAILED_BY_ITSELF
        outcome = "failed" if by_itself else "errored"
        return AgentResult(
            agent=link.name, outcome=outcome, reason=str(failure)[:2000], task=digest
        )
    if says_nothing(answer.text):  # what reads it would be judged by what nobody said
        told = "its output is empty"
        return AgentResult(agent=link.name, outcome="failed", reason=told, task=digest)
    at = ctx.log.append(Message(OUTPUTS, link.name, answer.text, ctx.turn, answer.status))
    return AgentResult(agent=link.name, outcome="ran", at=at, task=digest)


def _missing(link: ChainLink, state: CriteriaState) -> AgentResult | None:
    """The first agent that it depends on and that has no output, though it was to have one."""
    for name in before(link):
        one = state.of(name)
        if one is not None and one.outcome in ("failed", "errored", "blocked"):
            return one
    return None


def _held_back(
    ctx: Context, link: ChainLink, state: CriteriaState, given: Given | None
) -> str | None:
    """Why it does not run though nothing is missing; ``None`` if it does."""
    if link.when is None or given is not None:
        return None
    other = state.of(link.when.agent)
    if other is None or other.at < 0:
        return f"{link.when.agent} did not run"
    if says(ctx.log[other.at].text, link.when.says):
        return None
    return f"{link.when.agent} does not say {link.when.says!r}"


def _read(ctx: Context, link: ChainLink, state: CriteriaState) -> list[tuple[str, str]]:
    """The outputs that an agent is given, by whom."""
    there = [(name, state.of(name)) for name in link.reads]
    return [(name, ctx.log[one.at].text) for name, one in there if one is not None and one.at >= 0]


def _asked(ctx: Context, link: ChainLink, task: Task, state: CriteriaState) -> list[ChatMessage]:
    """The request: its prompt, then the input, alone or with what others made of it."""
    prompt, read = str(ctx.resource("prompts")[link.name]), _read(ctx, link, state)
    parts = [f"## From {name}\n\n{text.strip()}" for name, text in read]
    said = "\n\n".join([f"## Input\n\n{task.text}", *parts]) if parts else task.text
    system = [ChatMessage("system", prompt)] if prompt else []
    return [*system, ChatMessage("user", said)]


def _checklist(ctx: Context, link: ChainLink) -> Checklist:
    options = CriteriaOptions.model_validate(ctx.plan.options)
    return Checklist(link.criteria, link.fail_threshold, options.judge_instructions)


async def _all_judged(
    ctx: Context, task: Task, state: CriteriaState, pairs: Sequence[tuple[ChainLink, AgentResult]]
) -> list[tuple[ChainLink, AgentResult]]:
    """Every result, with what the judge finds of those that have an output; side by side."""
    judged = [(link, one) for link, one in pairs if one.has_output and link.judged]
    if not judged:
        return list(pairs)
    found = await ctx.parallel(
        [partial(_judged, link=link, task=task, state=state, result=one) for link, one in judged]
    )
    by_name = {one.agent: one for one in found}
    return [(link, by_name.get(link.name, one)) for link, one in pairs]


async def _judged(
    ctx: Context, link: ChainLink, task: Task, state: CriteriaState, result: AgentResult
) -> AgentResult:
    """A result with what the judge finds of it."""
    material = [
        Part("Agent", f"{link.title or link.name}{f' ({link.stage})' if link.stage else ''}"),
        Part("Input", task.text),
        *(Part(f"Given to it by {name}", text) for name, text in _read(ctx, link, state)),
        Part("Output", ctx.log[result.at].text),
    ]
    tokens = _TOKENS_AROUND + _TOKENS_OF_A_FINDING * len(link.criteria)
    model = ctx.plan.roles[JUDGE]
    judge = Judge(JUDGE, model, _checklist(ctx, link).form, tokens, link.name)
    try:
        (one,) = await judge_transcript(ctx, judge, material)
    except CallFailed as failure:
        return result.model_copy(update={"unjudged": f"the judge: {failure}"[:2000]})
    if one.verdict is None:
        told = f"the judge's answer could not be read: {one.why}"
        return result.model_copy(update={"unjudged": told, "judge_model": one.model})
    asked = [*link.criteria, _checklist(ctx, link).instructions]
    tell_quotations(ctx, link.name, one.model, one.verdict.said, material, asked)
    tell_misnamed(ctx, link.name, one.model, [each.named for each in one.verdict.findings])
    return result.judged(one.verdict, one.model)


def _tell(ctx: Context, link: ChainLink, result: AgentResult) -> None:
    word = result.word(link)
    severity = "warning" if word in ("FAIL", "ERROR", "blocked") else ""
    ctx.event("agent", subject=link.name, detail=word, severity=severity)
    if result.disagrees(link):
        tell_claim(ctx, link.name, result.claimed, word)


KIND: Final = CriteriaKind()
