"""A kind that is a function or a class in one file: see :func:`matrix.scenario`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from matrix.kinds.context import Context, ForkContext
from matrix.kinds.function.cases import GROUPING, NAME, ScenarioCase, read_cases
from matrix.kinds.function.context import ScenarioContext
from matrix.kinds.function.declaring import Declared
from matrix.kinds.function.facts import KindFacts
from matrix.kinds.function.options import Parameter, model_of, parameters_of
from matrix.kinds.function.performance import CheckpointReached, Performance, as_stored
from matrix.kinds.function.scripts import scripted
from matrix.kinds.function.source import (
    Scenario,
    Source,
    gives_a_number,
    may_score,
    place_of,
    read_source,
    scenario_in,
    scores_named_in,
)
from matrix.kinds.protocol import (
    KEPT_KIND,
    Binding,
    PackLibrary,
    PreviousPlay,
    RoleInfo,
    RoleProfile,
    ScenarioPack,
)
from matrix.model.documents.mistakes import Mistakes
from matrix.model.documents.yaml_documents import Document, PathKey, check
from matrix.model.errors import BadInput, KindDefect, KindUnusable, Mistake, did_you_mean
from matrix.model.metrics import less_is_better, taken_name
from matrix.model.plan import Plan
from matrix.model.records import JSON, Call, ToolCall
from matrix.model.seeds import content_hash

CASE: Final = "case"
"""Name of a case's values among a session's texts and data."""


class FunctionState(BaseModel):
    """Where a session is.

    Attributes:
        seeds: Of a function, the session's seed in every turn; a branch has one of its own.
        value: What a class gave back.
        scored: Scores so far.
    """

    seeds: tuple[int, ...] = ()
    value: JSON = None
    scored: dict[str, float | None] = {}


class FunctionKind:
    """See the module. Nothing of the file is run until it is played or its options are looked at.

    Args:
        facts: What is known of it.
        folder: Folder of the file, where it was read.
        scenario: The function or class, where it is in hand.
        cases_unread: Whether its cases cannot be read, which whoever asks for them is told.
    """

    version = 1
    state_version = 1
    state_model: type[BaseModel] = FunctionState
    learns_costs = True

    def __init__(
        self,
        facts: KindFacts,
        folder: Path | None = None,
        scenario: Scenario | None = None,
        *,
        cases_unread: bool = False,
    ) -> None:
        self._facts, self._folder, self._given = facts, folder, scenario
        self._cases_unread = cases_unread
        self.name = f"{facts.file}:{facts.name}"
        self.roles = tuple(
            RoleInfo(name, role.model, f"plays {name}", judges=role.judges)
            for name, role in facts.roles.items()
        )
        self.score_range = facts.score_range
        self.kept: Mapping[str, JSON] = facts.model_dump(mode="json", exclude={"main"})
        if facts.scores:
            self.score_names = frozenset((*facts.scores, "score"))

    @cached_property
    def _code(self) -> str:
        return content_hash(self._facts.source)[:8]

    @cached_property
    def facts(self) -> Mapping[str, JSON]:
        """What readers of a run need, without the code."""
        told = self._facts.model_copy(update={"main": self.score_is})
        return told.model_dump(mode="json", exclude={"source"})

    @cached_property
    def lower_is_better(self) -> frozenset[str]:
        """Scores of which less is better; ``score`` is as the one that it is."""
        lower = frozenset(self._facts.lower_is_better)
        return lower | {"score"} if self.score_is in lower else lower

    @cached_property
    def _source(self) -> Source:
        return Source(self._facts.file, self._facts.source)

    @cached_property
    def _scores_named(self) -> tuple[str, ...]:
        return scores_named_in(self._source, self._facts.name)

    @property
    def scores_seen(self) -> frozenset[str]:
        """Scores whose names stand in the code: some, where others are put together."""
        return frozenset(self._scores_named)

    @cached_property
    def score_is(self) -> str:
        """The score that is the session's, in every session; empty where none is, or is ``score``.

        It is the first one declared, else the first in the code, and not what a session happened
        to give first: a session without it would have another's number for its score. What is
        declared stands, whatever the function gives back.
        """
        if not self._facts.source:
            return self._facts.main
        if declared := self._facts.scores:
            return "" if "score" in declared else declared[0]
        named = self._scores_named
        if "score" in named or gives_a_number(self._source, self._facts.name):
            return ""
        return named[0] if named else ""

    @cached_property
    def _scenario(self) -> Scenario:
        if self._given is not None:
            return self._given
        if not self._facts.source:
            raise KindUnusable(f"the code of {self.name} was not kept here; it is in its run")
        return scenario_in(self._source, self._facts.name)

    @property
    def _declared(self) -> Declared:
        return self._scenario.declared

    @property
    def thresholds(self) -> Mapping[str, float]:
        """What is declared; of a kind that a run has kept nothing, as that is not asked again."""
        return {} if self._folder is None else self._declared.thresholds

    @property
    def baseline(self) -> Path | None:
        if self._folder is None or not self._declared.baseline:
            return None
        return self._folder / self._declared.baseline

    @cached_property
    def _parameters(self) -> dict[str, Parameter]:
        return parameters_of(self._scenario.target, self._facts.file)

    @cached_property
    def _cases(self) -> list[ScenarioCase]:
        given = self._declared.cases
        if given is None:
            return []
        return read_cases(given, self._folder or Path(), self._facts.file)

    @cached_property
    def options_model(self) -> type[BaseModel]:
        """Parameters that cases say nothing of; any may be left out while cases cannot be read."""
        parameters = self._parameters
        if self._cases_unread:  # or what they would say is told to be missing, too
            parameters = {
                name: one._replace(default=None) if one.default is ... else one
                for name, one in parameters.items()
            }
        return model_of("Options", parameters, parameters.keys() - set(self._facts.of_cases))

    def why_no_option(self, name: str) -> str:
        """Why a name that the file has is no option, with what would make it one.

        Of a parameter that has to be said and is not: where it should be.
        """
        if (
            self._declared.cases is not None
            and name in self._parameters
            and name not in self._facts.of_cases
        ):
            first = self._cases[0]
            told = f"no case of {first.source.partition('[')[0]} has a value for it (they have: "
            told += f"{', '.join(dict.fromkeys(key for one in self._cases for key in one.values))})"
            return f"{told}; give it to them, or one to all as options.{name}"
        if name in self._facts.of_cases:
            some = [name in case.values for case in self._cases]
            told = f"{'every case has' if all(some) else 'cases have'} a value for {name}"
            return f"{told}; take it out of the cases, and it is an option and can be a factor"
        if self._is_class and not name.startswith("_"):
            value = getattr(self._scenario.target, name, None)
            if isinstance(value, bool | int | float | str):
                told = f"{self._facts.name}.{name} has no type, so it is no option"
                return f"{told}; write `{name}: {type(value).__name__} = {value!r:.60}`"
        return ""

    @cached_property
    def _arguments(self) -> type[BaseModel]:
        return model_of("Arguments", self._parameters)

    def packs(self) -> Mapping[str, ScenarioPack]:
        if self._declared.cases is None:
            title = (inspect.getdoc(self._scenario.target) or "").partition("\n")[0]
            name = self._facts.name
            return {name: ScenarioPack(name, self.name, title or name, "", {CASE: {}})}
        mistakes, found = Mistakes(), {}
        for case in self._cases:
            pack = mistakes.collect(lambda case=case: self._pack(case))  # type: ignore[misc]
            if pack is not None:
                found[case.name] = pack
        mistakes.stop_if_any()
        return found

    def _pack(self, case: ScenarioCase) -> ScenarioPack:
        own = {name: value for name, value in case.values.items() if name in self._parameters}
        known = [*self._parameters, NAME, *GROUPING]
        wrong = [
            Mistake(
                case.source,
                case.line,
                name,
                f"{self._facts.name} has no such parameter; it has: {', '.join(self._parameters)}; "
                f"a case may also have {NAME}, {', '.join(GROUPING)}{did_you_mean(name, known)}",
            )
            for name in case.values
            if name not in known
        ]
        lines: dict[PathKey, int] = {} if case.line is None else {(): case.line}
        document = Document(case.source, own, lines, {})
        try:
            values = check(document, model_of("Case", self._parameters, self._facts.of_cases))
        except BadInput as error:
            wrong += error.mistakes
        if wrong:
            raise BadInput(wrong)
        fields = {name: case.values[name] for name in GROUPING if name in case.values}
        title = str(fields.pop("title", case.name))
        if isinstance(tags := fields.get("tags"), str):
            fields["tags"] = [one.strip() for one in tags.split(",")]
        content = {CASE: values.model_dump(mode="json")}
        return ScenarioPack(case.name, self.name, title, "", content, fields)

    def check_plan(self, plan: Plan, packs: Mapping[str, ScenarioPack]) -> Sequence[str]:
        """Scores whose names say that less is better where the decorator does not.

        Raises:
            BadInput: Scores that are called as what is counted of every session.
        """
        named = dict.fromkeys((*self._facts.scores, *self._scores_named))
        mistakes = Mistakes()
        for taken in filter(None, map(taken_name, named)):
            mistakes.say(self._facts.file, taken, self._facts.name)
        mistakes.stop_if_any()
        found = [
            name for name in named if less_is_better(name) and name not in self.lower_is_better
        ]
        strange = [
            f"lower_is_better of {self.name} has {one!r}, and no score of that name stands in its "
            f"code{hint}"
            for one in self._facts.lower_is_better
            if one not in named and (hint := did_you_mean(one, list(named)))
        ]
        lower = ", ".join(f'"{name}"' for name in (*self._facts.lower_is_better, *found))
        if not named and not may_score(self._source, self._facts.name):
            strange.append(
                f"no score stands in the code of {self._facts.name}, so nothing will be compared: "
                "give one with ctx.score(name, value), or give a number back"
            )
        return [
            *strange,
            *(
                f"more of {name} counts as better, and its name says that less is: write "
                f"lower_is_better=[{lower}] in @matrix.scenario of {self.name}, or give it another "
                "name"
                for name in found
            ),
        ]

    def changed(self, project: Path) -> str:
        try:
            now = read_source(project / self._facts.file, self._facts.file).text
        except KindUnusable:
            return f"{self._facts.file} is not there as it was"
        return "" if now == self._facts.source else f"{self._facts.file} is not as it was"

    def holds_code(self, texts: Mapping[str, JSON], options: Mapping[str, JSON]) -> str:
        return f"runs the Python code of {self.name}"

    def texts_for_judges(self, texts: Mapping[str, JSON]) -> Mapping[str, str]:
        """The case's values that are texts, such as what was expected."""
        return {name: value for name, value in texts[CASE].items() if isinstance(value, str)}

    def scripted(self, call: Call) -> tuple[str, tuple[ToolCall, ...]] | None:
        return scripted(self._declared.simulated, call)

    def read_pack(self, folder: Path, name: str) -> ScenarioPack:
        raise BadInput([Mistake(str(folder), None, "", f"{self.name} has its cases in its file")])

    def bind(
        self,
        pack: ScenarioPack,
        options: BaseModel,
        roles: Mapping[str, str],
        library: PackLibrary,
        max_turns: int,
    ) -> Binding:
        return self._bound(pack.content[CASE], roles)

    def rebind(
        self,
        kept: PreviousPlay,
        options: BaseModel,
        roles: Mapping[str, str],
        library: PackLibrary,
        pack: ScenarioPack | None = None,
    ) -> Binding:
        return self._bound(kept.texts[CASE], roles)

    def _bound(self, case: JSON, roles: Mapping[str, str]) -> Binding:
        return Binding(
            resources={KEPT_KIND: dict(self.kept), CASE: case},
            prelude=None,
            models=frozenset(roles[role.name] for role in self.roles),
            profile=tuple(
                RoleProfile(role.name, roles[role.name], (0.0, 0.0, 0.0), 0.0, 0.0)
                for role in self.roles
            ),
        )

    def fork(
        self, ctx: ForkContext, state: FunctionState, changes: Mapping[str, JSON]
    ) -> FunctionState:
        given = ctx.resource(CASE)
        wrong = [
            Mistake(f"options.{name}", None, "", "is a value of the session's case, not an option")
            for name in changes
            if name in given
        ]
        if wrong:
            raise BadInput(wrong)
        return state

    async def prelude(self, ctx: Context) -> JSON:
        return None

    async def start(self, ctx: Context) -> FunctionState:
        if not self._is_class:
            return FunctionState()
        return await self._method("start", ctx, FunctionState())

    async def turn(self, ctx: Context, state: FunctionState) -> FunctionState:
        if self._is_class:
            return await self._method("turn", ctx, state)
        per_call = self._declared.turn_per_call
        play = Performance(
            *(ctx, state.seeds, self._judges),
            scores=self._facts.scores,
            turn_per_call=per_call,
            code=self._code,
        )
        mine = ScenarioContext(play, ctx)
        try:
            given = await self._scenario.target(mine, **self._values(ctx))
        except CheckpointReached:
            play.require_awaited()
            play.keep(ctx)
            return FunctionState(seeds=tuple(play.seeds), scored=play.scored)
        play.over()
        if given is not None:
            if not isinstance(given, int | float):
                told = f"{self._facts.name} gave back {type(given).__name__}"
                told += "; give back a number, which is the score, or nothing"
                raise KindDefect(f"{told} ({self._place})")
            if self.score_is and self._facts.scores:
                known = ", ".join(self._facts.scores)
                told = f"{self._facts.name} gave back {given!r}, which would be its `score`"
                raise KindDefect(
                    f"{told}, and scores=[...] has none: {known}; add 'score' to it, or give back "
                    f"nothing ({self._place})"
                )
            mine.score("score", given)
        if not play.ended:
            ctx.end("completed", "")
        return FunctionState(seeds=tuple(play.seeds), scored=play.scored)

    async def finish(self, ctx: Context, state: FunctionState) -> None:
        """Let a class score; the first score is the session's, where none is called so."""
        after = await self._method("finish", ctx, state) if self._is_class else state
        if "score" not in after.scored and self.score_is in after.scored:
            ctx.score("score", after.scored[self.score_is])

    async def _method(self, name: str, ctx: Context, state: FunctionState) -> FunctionState:
        """One method of a class, or nothing where it has none; its state is what it gives back."""
        found = getattr(self._instance(ctx), name, None)
        if found is None:
            return state
        play = Performance(
            *(ctx, (), self._judges),
            scores=self._facts.scores,
            scored=state.scored,
            at=ctx.turn,
        )
        mine = ScenarioContext(play, ctx)
        arguments = (mine,) if name == "start" else (mine, state.value)
        try:
            given = await found(*arguments)
        except CheckpointReached:
            told = f"{self._facts.name}.{name}: a class has its checkpoints between its turns"
            raise KindDefect(f"{told}; leave ctx.checkpoint out ({self._place})") from None
        play.over()
        try:
            value = as_stored(state.value if given is None else given, "the state")
        except (ValueError, RecursionError) as error:
            told = f"{self._facts.name}.{name}: {error}"
            raise KindDefect(f"{told} ({self._place})") from None
        return FunctionState(value=value, scored=play.scored)

    def _instance(self, ctx: Context) -> Any:
        instance = self._scenario.target()
        for name, value in self._values(ctx).items():
            setattr(instance, name, value)
        return instance

    def _values(self, ctx: Context) -> dict[str, Any]:
        """The value of every parameter: of the case, or else the option's."""
        raw = {**ctx.plan.options, **ctx.resource(CASE)}
        known = {name: raw[name] for name in self._parameters if name in raw}
        model = self._arguments.model_validate(known)
        return {name: getattr(model, name) for name in self._parameters}

    @property
    def _place(self) -> str:
        """Where its code begins: file and line."""
        return place_of(self._source, self._facts.name)

    @property
    def _is_class(self) -> bool:
        return isinstance(self._scenario.target, type)

    @cached_property
    def _judges(self) -> frozenset[str]:
        return frozenset(role.name for role in self.roles if role.judges)
