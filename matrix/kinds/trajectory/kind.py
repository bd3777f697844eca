"""The trajectory kind: see the package."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import orjson
from pydantic import BaseModel

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
from matrix.kinds.trajectory import reporting
from matrix.kinds.trajectory.assertions.folder import (
    NOTHING_CHANGED,
    View,
    as_text,
    links_in,
    scan,
    told_changes,
    told_links,
)
from matrix.kinds.trajectory.assertions.hypotheses import (
    gone_after,
    hypotheses_of,
    is_demoted,
    with_indexed_status,
)
from matrix.kinds.trajectory.assertions.notes.paths import absent
from matrix.kinds.trajectory.assertions.own_checks import assertions_of
from matrix.kinds.trajectory.assertions.pinned import compared, pin
from matrix.kinds.trajectory.assertions.structural import Assertion, AssertionContext
from matrix.kinds.trajectory.content import (
    judged,
    keep_material,
    left_out,
    material_of,
    model_of,
    told_folder,
)
from matrix.kinds.trajectory.file import (
    DEFAULT_LEVEL,
    FILE_NAME,
    FILE_OPTIONS,
    VARIABLES,
    is_adapter,
    read_adapter,
    stands_for,
)
from matrix.kinds.trajectory.foreign import links_out_of, special_files_in
from matrix.kinds.trajectory.given import with_given
from matrix.kinds.trajectory.points import (
    INBOX,
    all_ids,
    head_of,
    ids_of,
    layers_of,
    nothing_checked,
    prompt_of,
    shown_of,
    words_of,
)
from matrix.kinds.trajectory.scenario import ScenarioPlaces, read_scenario
from matrix.kinds.trajectory.settings import (
    AGENT,
    FINAL,
    JUDGE,
    SCAFFOLD,
    TRAJECTORY,
    Content,
    Expected,
    ScenarioTurn,
    TrajectoryOptions,
    TrajectoryScenario,
)
from matrix.kinds.trajectory.state import (
    CONTENT,
    FAIL,
    FOLDER_AS_BEFORE,
    PASS,
    STRUCTURAL,
    TURN_ENDED,
    WAITING,
    AssertionResult,
    TrajectoryState,
    share,
)
from matrix.model.errors import FAILED_BY_ITSELF, BadInput, CallFailed, Mistake
from matrix.model.plan import Plan
from matrix.model.records import JSON, ChatMessage, FolderLimits, Message
from matrix.model.seeds import content_hash

_TOKENS: Final = 4000
_READ_OF_A_TURN: Final = 2500.0
_WRITTEN_OF_A_TURN: Final = 500.0
_READ_OF_A_JUDGE: Final = 2500.0
_WRITTEN_BY_A_JUDGE: Final = 60.0


class TrajectoryKind:
    """A session is one run of one scenario; a turn is one input and what the agent makes of it."""

    name = TRAJECTORY
    version = 1
    state_version = 1
    file_options = FILE_OPTIONS
    file_names = (FILE_NAME,)
    variables = VARIABLES
    roles = (
        RoleInfo(
            AGENT,
            DEFAULT_LEVEL,
            "works every input into the folder; under test",
            tools=("read", "write", "edit", "list", "search"),
        ),
        RoleInfo(JUDGE, DEFAULT_LEVEL, "decides what the folder itself cannot show", judges=True),
    )
    tells = ("date", "input_name", "scenario")
    options_model = TrajectoryOptions
    state_model = TrajectoryState
    score_range = (0.0, 1.0)
    lower_is_better: frozenset[str] = frozenset()
    folder_limits = FolderLimits()

    def claims(self, value: JSON) -> bool:
        return is_adapter(value)

    def file_of(self, folder: Path) -> Path | None:
        return stands_for(folder)

    def with_options(self, request: FileRequest) -> ReadFile:
        return with_given(request)

    def read_file(self, request: FileRequest) -> ReadFile:
        return read_adapter(request)

    def read_pack(self, folder: Path, name: str) -> ScenarioPack:
        return read_scenario(folder, name, ScenarioPlaces())

    def bind(
        self,
        pack: ScenarioPack,
        options: BaseModel,
        roles: Mapping[str, str],
        library: PackLibrary,
        max_turns: int,
    ) -> Binding:
        chosen = TrajectoryOptions.model_validate(options.model_dump())
        scenario = TrajectoryScenario.model_validate(pack.content["scenario"])
        agents = frozenset(pack.content.get("agents") or ())
        folders = {name: Path(place) for name, place in pack.content["folders"].items()}
        if (scaffold := _scaffold(pack, chosen, library)) is not None:
            folders[SCAFFOLD] = scaffold
        bound = _bound(scenario, chosen, roles, agents, max_turns, folders)
        # what is played for its folder, or for its first turns, needs no assertion
        wanted = chosen.keep_workdir or 0 < chosen.stop_after_turn < len(scenario.turns)
        found = None if wanted else nothing_checked(scenario, chosen)
        return bound if found is None else replace(bound, unchecked="; ".join(found))

    def check_plan(self, plan: Plan, packs: Mapping[str, ScenarioPack]) -> Sequence[str]:
        """Which scenarios are played though nothing in them is looked at."""
        noted = []
        for cell in plan.cells:
            scenario = TrajectoryScenario.model_validate(packs[cell.scenario].content["scenario"])
            if found := nothing_checked(scenario, TrajectoryOptions.model_validate(cell.options)):
                noted.append(f"{cell.scenario}: {found[0]}; it is played all the same")
        return list(dict.fromkeys(noted))

    def rebind(
        self,
        kept: PreviousPlay,
        options: BaseModel,
        roles: Mapping[str, str],
        library: PackLibrary,
        pack: ScenarioPack | None = None,
    ) -> Binding:
        chosen = TrajectoryOptions.model_validate(options.model_dump())
        scenario = TrajectoryScenario.model_validate(kept.texts["scenario"])
        agents = frozenset(kept.texts["agents"])
        bound = _bound(scenario, chosen, roles, agents, kept.plan.max_turns, {})
        names = kept.texts.get("folders", [])  # they stay what the session was begun with
        return replace(bound, resources={**bound.resources, "folders": names})

    def fork(
        self, ctx: ForkContext, state: TrajectoryState, changes: Mapping[str, JSON]
    ) -> TrajectoryState:
        faults = {
            "scenario": "the agent has worked on its inputs already; run the other one",
            "scaffold": "sessions began with theirs; run again with the other one",
        }
        if wrong := [Mistake(name, None, "", faults[name]) for name in faults if name in changes]:
            raise BadInput(wrong)
        return state

    async def prelude(self, ctx: Context) -> JSON:
        return None

    async def start(self, ctx: Context) -> TrajectoryState:
        """Lay out what sessions begin with."""
        if SCAFFOLD in ctx.resource("folders"):
            await ctx.copy_folder(SCAFFOLD)
        scenario, options = _scenario(ctx), _options(ctx)
        now = await asyncio.to_thread(scan, ctx.workspace)
        view, layout = View(ctx.workspace, now), options.layout
        found = await asyncio.to_thread(
            lambda: with_indexed_status(hypotheses_of(view, layout), view, layout)
        )
        demoted = tuple(one.id for one in found if is_demoted(one, options.layout))
        layers = layers_of(scenario, options)
        told = {
            "begun": scenario.name,
            "inputs": ctx.resource("inputs"),
            "layers": layers,
            "thresholds": scenario.thresholds.model_dump(),
        }
        ctx.log.append(Message(REPORTED, TRAJECTORY, orjson.dumps(told).decode(), 0))
        return TrajectoryState(demoted=demoted)

    async def turn(self, ctx: Context, state: TrajectoryState) -> TrajectoryState:
        """One input: what the agent makes of it, and what the folder shows afterwards."""
        scenario, options = _scenario(ctx), _options(ctx)
        turn = scenario.turns[ctx.turn - 1]
        if turn.folder:
            await ctx.copy_folder(turn.folder, f"{INBOX}/{turn.folder}")
        before = await asyncio.to_thread(scan, ctx.workspace)
        links = await asyncio.to_thread(links_in, ctx.workspace)
        shown = shown_of(turn)
        if turn.folder:
            came = View(ctx.workspace, before)
            shown += "\n\n" + await asyncio.to_thread(told_folder, came, f"{INBOX}/{turn.folder}")
        asked_at = ctx.log.append(Message("table", "input", shown, ctx.turn, head_of(turn)))
        said, failed = await self._asked(ctx, turn, scenario, options)
        said_at = ctx.log.append(said)
        view = await _view(ctx, before)
        changed = await asyncio.to_thread(told_changes, view)
        if made := told_links(links, await asyncio.to_thread(links_in, ctx.workspace)):
            changed = made if changed == NOTHING_CHANGED else f"{changed}\n\n{made}"
        ctx.log.append(Message("table", "folder", changed, ctx.turn))
        last = ctx.turn == len(scenario.turns)
        stopped = 0 < options.stop_after_turn <= ctx.turn and not last
        results = [] if failed is None else [failed]
        results += await self._of_turn(ctx, state, view, turn.expected, failed, final=False)
        failures = state.failures + (failed is not None)
        if last:
            results += await self._of_turn(ctx, state, view, scenario.final, failed, final=True)
            now = await asyncio.to_thread(pin, view, options.layout)
            results += _of_pinned(ctx, now, scenario)
        if (last or stopped) and failures == ctx.turn:
            ctx.end("failed", f"the agent failed in every turn: {said.text}")
        elif last or stopped:
            told = f"after turn {ctx.turn}, as asked; the final state is not judged"
            ctx.end("completed", told if stopped else "every input was worked in")
        for one in results:
            if one.word:
                _tell(ctx, one)
        gone = await asyncio.to_thread(
            gone_after, view, options.layout, state.gone, frozenset(state.demoted)
        )
        done = {"turn": ctx.turn, "results": [one.model_dump(mode="json") for one in results]}
        ctx.log.append(Message(REPORTED, TRAJECTORY, orjson.dumps(done).decode(), ctx.turn))
        return state.model_copy(
            update={
                "results": (*state.results, *results),
                "asked_at": (*state.asked_at, asked_at),
                "said_at": (*state.said_at, said_at),
                "final": last,
                "failures": failures,
                "gone": gone,
            }
        )

    async def _asked(
        self,
        ctx: Context,
        turn: ScenarioTurn,
        scenario: TrajectoryScenario,
        options: TrajectoryOptions,
    ) -> tuple[Message, AssertionResult | None]:
        """What the agent says; with a result where its turn failed, and the weeks go on."""
        prompt = prompt_of(turn, ctx.turn, len(scenario.turns), options)
        try:
            answer = await ctx.ask(
                AGENT,
                [ChatMessage("user", prompt)],
                max_tokens=_TOKENS,
                tag=turn.kind or "input",
                fields={"date": turn.date, "input_name": turn.name, "scenario": scenario.name},
            )
        except CallFailed as failure:
            if failure.error_class not in FAILED_BY_ITSELF:
                raise
            why = str(failure)[:2000]
            failed = AssertionResult(
                id=f"t{ctx.turn:02d}.{TURN_ENDED}",
                turn=ctx.turn,
                layer=STRUCTURAL,
                name=TURN_ENDED,
                word=FAIL,
                why=why,
                error=failure.error_class,
            )
            return Message("table", AGENT, why, ctx.turn, "failed"), failed
        return Message("table", AGENT, answer.text, ctx.turn, answer.status), None

    async def _of_turn(
        self,
        ctx: Context,
        state: TrajectoryState,
        view: View,
        expected: Expected,
        failed: AssertionResult | None,
        *,
        final: bool,
    ) -> list[AssertionResult]:
        """What the assertions about a turn come to; they all fail where its agent has failed.

        The folder is then as it was before the turn, and what holds of that is not its doing.
        """
        if failed is None:
            return await self._looked(ctx, state, view, expected, final=final)
        which, skipped = ("the last" if final else "its"), _options(ctx).skip_content
        return [
            AssertionResult(
                id=name,
                turn=0 if final else ctx.turn,
                layer=CONTENT if isinstance(check, Content) else STRUCTURAL,
                name=check.judge if isinstance(check, Content) else check.name,
                about=check.rubric if isinstance(check, Content) else words_of(check.argument),
                word=FAIL,
                why=f"{which} turn failed, {FOLDER_AS_BEFORE}",
            )
            for name, check in ids_of(expected, 0 if final else ctx.turn)
            if not (isinstance(check, Content) and skipped)
        ]

    async def _looked(
        self, ctx: Context, state: TrajectoryState, view: View, expected: Expected, *, final: bool
    ) -> list[AssertionResult]:
        """What the structural assertions show; those of content with what they will be shown."""
        scenario, options = _scenario(ctx), _options(ctx)
        known: Mapping[str, Assertion] = assertions_of(scenario.code)
        scene = AssertionContext(view, options.layout, frozenset(state.demoted), state.gone)
        number, found = (0 if final else ctx.turn), list[AssertionResult]()
        for name, check in ids_of(expected, number):
            if isinstance(check, Content):
                if options.skip_content:
                    continue
                shown = await asyncio.to_thread(
                    material_of, view, check, final, options.judged_chars
                )
                target = check.target_glob or check.target_file
                lost = bool(target) and not shown
                found.append(
                    AssertionResult(
                        id=name,
                        turn=number,
                        layer=CONTENT,
                        name=check.judge,
                        about=check.rubric,
                        word=FAIL if lost else WAITING,
                        why=absent(target, view.now) if lost else "",
                        part=left_out(view, check, final, shown),
                        shown=keep_material(ctx, name, shown),
                    )
                )
                continue
            seen = await asyncio.to_thread(known[check.name].check, scene, check.argument)
            found.append(
                AssertionResult(
                    id=name,
                    turn=number,
                    layer=STRUCTURAL,
                    name=check.name,
                    about=words_of(check.argument),
                    word=PASS if seen.holds else FAIL,
                    why=seen.seen[:2000],
                    vacuous=seen.vacuous,
                )
            )
        return found

    def holds_code(self, texts: Mapping[str, JSON], options: Mapping[str, JSON]) -> str:
        """Whether its scenario has assertions of its own."""
        scenario = texts.get("scenario")
        held = isinstance(scenario, Mapping) and scenario.get("code")
        return "runs Python code of the scenario's own" if held else ""

    def questions(self, kept: PreviousPlay) -> Mapping[str, LabelQuestion]:
        """Whether each judged assertion holds."""
        scenario = TrajectoryScenario.model_validate(kept.texts["scenario"])
        found = {}
        turns = {
            name: number
            for number, turn in enumerate(scenario.turns, 1)
            for name, _ in ids_of(turn.expected, number)
        }
        for name, check in all_ids(scenario):
            if isinstance(check, Content):
                told = "\n".join(f"{key}: {text}" for key, text in check.context.items())
                question = LabelQuestion(
                    f"{check.text}\n\n{told}\n\nDoes it pass?", 0, 1, True, name
                )
                turn = turns.get(name, 0)
                if turn:  # as the judge: with what came in
                    seen = name if check.target_glob or check.target_file else AGENT
                    question = question._replace(
                        target="transcript", turn=turn, speakers=("input", seen)
                    )
                found[name] = question
        return found

    async def finish(self, ctx: Context, state: TrajectoryState) -> None:
        """Ask the judges, and record what every assertion came to."""
        scenario, agents = _scenario(ctx), frozenset(ctx.resource("agents"))
        checks = {n: one for n, one in all_ids(scenario) if isinstance(one, Content)}
        waiting = [one for one in state.results if one.word == WAITING]
        verdicts: dict[str, AssertionResult] = {}
        if waiting:
            asked = await ctx.parallel(
                [
                    partial(
                        judged,
                        checks=checks,
                        result=one.model_copy(update={"word": ""}),
                        scenario=scenario,
                        state=state,
                        agents=agents,
                    )
                    for one in waiting
                ]
            )
            verdicts = {one.id: one for one in asked}
        results = [verdicts.get(one.id, one) for one in state.results]
        for one in results:
            if one.id in verdicts:
                _tell(ctx, one)
        _record(ctx, results)
        told = {
            "scenario": scenario.name,
            "thresholds": scenario.thresholds.model_dump(),
            "final": state.final,
            "results": [one.model_dump(mode="json", exclude={"shown"}) for one in results],
        }
        ctx.log.append(Message(REPORTED, TRAJECTORY, orjson.dumps(told).decode(), ctx.turn))

    def report(self, run: EndedRun) -> RunReport:
        return reporting.report_of(run)


def _of_pinned(
    ctx: Context, now: dict[str, JSON], scenario: TrajectoryScenario
) -> list[AssertionResult]:
    """The final state as a later run is compared with it, and how it differs from the pinned."""
    text = orjson.dumps({"pin": now}).decode()
    ctx.log.append(Message(REPORTED, TRAJECTORY, text, ctx.turn))
    if not isinstance(scenario.pinned, dict):
        return []
    other = compared(scenario.pinned, now)
    return [
        AssertionResult(
            id=f"{FINAL}.{reporting.AS_PINNED}",
            turn=0,
            layer=STRUCTURAL,
            name=reporting.AS_PINNED,
            word=FAIL if other else PASS,
            why="; ".join(other)[:2000] or "as the pinned final state",
        )
    ]


async def _view(ctx: Context, before: Mapping[str, int]) -> View:
    changed = await ctx.changed_files()
    old: dict[str, str] = {}
    for path in (*changed.changed, *changed.removed):
        if path in before and (content := await ctx.file_before(path)) is not None:
            old[path] = as_text(content)
    now = await asyncio.to_thread(scan, ctx.workspace)
    return View(ctx.workspace, now, before, changed, old)


def _tell(ctx: Context, one: AssertionResult) -> None:
    severity = "" if one.word == PASS else "warning"
    told = f"{one.word}: {one.why}" if one.why else one.word
    ctx.event(
        "assertion",
        subject=one.id,
        detail=told,
        value=one.counts,
        severity=severity,
        turn=one.turn or None,
    )


def _record(ctx: Context, results: list[AssertionResult]) -> None:
    """The scores of a session: all assertions, each layer, each kind of assertion, each judge."""
    for layer in (STRUCTURAL, CONTENT):
        of_layer = [one for one in results if one.layer == layer]
        if of_layer:
            ctx.score(layer, share(of_layer))
        for name in dict.fromkeys(one.name for one in of_layer if layer == STRUCTURAL):
            ctx.score(name, share(one for one in of_layer if one.name == name))
    for one in results:
        if one.layer == CONTENT:
            ctx.score(
                one.id,
                one.counts,
                label=one.word,
                reason=one.why,
                judge_model=one.model,
                rubric_hash=one.rubric,
            )
    ctx.score("score", share(results))


def _scenario(ctx: Context) -> TrajectoryScenario:
    return TrajectoryScenario.model_validate(ctx.resource("scenario"))


def _options(ctx: Context) -> TrajectoryOptions:
    return TrajectoryOptions.model_validate(ctx.plan.options)


def _scaffold(pack: ScenarioPack, options: TrajectoryOptions, library: PackLibrary) -> Path | None:
    """The folder that sessions begin with.

    Raises:
        BadInput: There is no such folder, or it has what no session may be given.
    """
    if not options.scaffold:
        return None
    named: Mapping[str, str] = pack.content.get("scaffolds") or {}
    if options.scaffold in named:
        folder = Path(named[options.scaffold])
    elif (shared := library.shared_folder(TRAJECTORY, "scaffolds", options.scaffold)) is not None:
        folder = shared
    else:
        folder = library.project_folder(options.scaffold)
    faults = [*special_files_in(folder), *links_out_of(folder)]
    if wrong := [Mistake(f"{folder}/{path}", None, "", told) for path, told in faults]:
        raise BadInput(wrong)
    return folder


def _bound(
    scenario: TrajectoryScenario,
    options: TrajectoryOptions,
    roles: Mapping[str, str],
    agents: frozenset[str],
    max_turns: int,
    folders: Mapping[str, Path],
) -> Binding:
    turns = float(min(len(scenario.turns), max_turns, options.stop_after_turn or max_turns))
    profile = [RoleProfile(AGENT, roles[AGENT], (turns,) * 3, _READ_OF_A_TURN, _WRITTEN_OF_A_TURN)]
    models = dict[str, int]()
    for _, check in all_ids(scenario):
        if isinstance(check, Content) and not options.skip_content:
            model = model_of(check.model, roles[JUDGE], scenario, agents)
            models[model] = models.get(model, 0) + 1
    for model, count in models.items():
        often = (float(count), float(count), 2.0 * count)
        read, written = _READ_OF_A_JUDGE, _WRITTEN_BY_A_JUDGE
        profile.append(RoleProfile(JUDGE, model, often, read, written, float(count)))
    hashes = [[turn.name, turn.text] for turn in scenario.turns]
    return Binding(
        resources={
            "scenario": scenario.model_dump(mode="json"),
            "agents": sorted(agents),
            "folders": sorted(folders),
            "inputs": content_hash(hashes),
        },
        prelude=None,
        models=frozenset(one.model for one in profile),
        profile=tuple(profile),
        turns=(turns, turns, turns),
        last_turn=int(turns),
        folders=folders,
    )


KIND: Final = TrajectoryKind()
