"""The file of a criteria test: a form of its own, read as a run spec.

It is read into a run spec and a pack for each of its inputs; keys of a run spec (``limits``,
``factors``, ``per_cell`` ...) may stand in it too, but for ``agents``, which are the tested ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from matrix.kinds.criteria.chain import before, circle, in_order, needed
from matrix.kinds.criteria.inputs import read_inputs
from matrix.kinds.criteria.recorded import RecordedFile, read_recorded
from matrix.kinds.criteria.settings import (
    AS_WRITTEN,
    CRITERIA,
    JUDGE,
    TAKEN,
    AgentEntry,
    ChainLink,
    CriteriaFile,
    Given,
    Recording,
    Task,
)
from matrix.kinds.library import FolderLibrary
from matrix.kinds.protocol import FileOption, FileRequest, PackLibrary, ReadFile, ScenarioPack
from matrix.kinds.text_files import read_text
from matrix.model.documents.mistakes import Mistakes
from matrix.model.documents.yaml_documents import Document, check
from matrix.model.errors import BadInput, Mistake, did_you_mean
from matrix.model.records import JSON
from matrix.model.spec.run_spec import RunSpec

AGENTS, INPUTS, RECORD, USE = "--agents", "--inputs", "--record", "--use-recorded"

FILE_OPTIONS: Final = (
    FileOption(AGENTS, "A,B", "Only these agents, and what they read of others."),
    FileOption(INPUTS, "T1,T2", "Only these inputs."),
    FileOption(RECORD, "", "Keep the outputs in the file that `recorded` names."),
    FileOption(USE, "", "Judge the recorded outputs; no agent is called."),
)
"""What the command line takes for such a file."""

OF_A_SPEC: Final = frozenset(RunSpec.model_fields) - {"version", "kind", "scenarios", "agents"}
"""Keys of a run spec that may stand in the file."""

SMALL_CAP_USD: Final = 10.0
"""Cap of a file that says none."""

REPORTS: Final = Path("reports") / CRITERIA
"""Where in a project each run is written to."""


def is_criteria(value: JSON) -> bool:
    """Whether a file without a kind is a criteria test: it has agents, and inputs for them."""
    if not isinstance(value, dict) or "kind" in value or "inputs" not in value:
        return False
    return isinstance(value.get("agents"), dict)  # a run spec has agents, too, but no inputs


def read_criteria(request: FileRequest) -> ReadFile:
    """The run spec and the packs of a file.

    Raises:
        BadInput: Every mistake in it, and in the options that were given.
    """
    document, mistakes = request.document, Mistakes(request.document)
    file, library = _checked(document), _library(request)
    _check_agents(file, mistakes)
    tasks = mistakes.collect(lambda: read_inputs(file.inputs, library, document.source))
    mistakes.stop_if_any()
    assert tasks is not None
    requested = mistakes.collect(lambda: _picked(AGENTS, request.given, list(file.agents)))
    inputs = mistakes.collect(lambda: _picked(INPUTS, request.given, [task.id for task in tasks]))
    recorded = mistakes.collect(lambda: _recorded(request, file))
    mistakes.stop_if_any()
    assert requested is not None
    assert inputs is not None
    chosen = [task for task in tasks if task.id in inputs]
    return _as_run(request, file, _links(file, requested, chosen, library, recorded), recorded)


def _library(request: FileRequest) -> FolderLibrary:
    return FolderLibrary(request.project, outside=request.outside)


class _Chain:
    """Links in order, and the inputs with what is given for them."""

    def __init__(self, links: Sequence[ChainLink], tasks: Sequence[Task]) -> None:
        self.links, self.tasks = links, tasks


def _links(
    file: CriteriaFile,
    requested: Sequence[str],
    tasks: Sequence[Task],
    library: PackLibrary,
    recorded: RecordedFile | None,
) -> _Chain:
    mistakes, chosen = Mistakes(), []
    fixtures = [name for name, agent in file.agents.items() if _is_given(name, agent, requested)]
    names = needed(file.agents, requested, fixtures) | _read_fixtures(file, requested, fixtures)
    for task in tasks:
        given: dict[str, Given] = {}
        known: dict[str, tuple[Recording, ...]] = {}
        if recorded is not None:
            known = _of_recording(recorded, task, names, mistakes)
        for name in [one for one in fixtures if one in names and one not in known]:
            text = mistakes.collect(partial(_fixture, file.agents[name].fixture, task, library))
            if text is not None:
                given[name] = Given(output=text, source="fixture")
        chosen.append(task.model_copy(update={"given": given, "recorded": known}))
    mistakes.stop_if_any()
    order = [name for name in in_order(file.agents) if name in names]
    return _Chain([_link(name, file.agents[name], name in requested) for name in order], chosen)


def _is_given(name: str, agent: AgentEntry, requested: Sequence[str]) -> bool:
    """Whether a fixture stands for its output: it is not tested, or nothing can run it."""
    runs = agent.prompt or agent.model or agent.run
    return bool(agent.fixture) and (name not in requested or not runs)


def _read_fixtures(
    file: CriteriaFile, requested: Sequence[str], fixtures: Sequence[str]
) -> set[str]:
    running = needed(file.agents, requested, fixtures)
    return {one for name in running for one in before(file.agents[name]) if one in fixtures}


def _fixture(reference: str, task: Task, library: PackLibrary) -> str:
    return read_text(library.project_file(reference.replace("{input}", task.id)))


def _of_recording(
    recorded: RecordedFile, task: Task, names: Iterable[str], mistakes: Mistakes
) -> dict[str, tuple[Recording, ...]]:
    """All that is recorded of an input, whatever the variant and round."""
    there: dict[str, list[Recording]] = {}
    for one in recorded.outputs:
        if one.input == task.id:
            own = Recording.model_validate(one.model_dump(exclude={"input", "agent"}))
            there.setdefault(one.agent, []).append(own)
    if lacking := sorted(set(names) - there.keys()):
        told = f"nothing is recorded of {', '.join(lacking)} with {task.id}; --record it first"
        mistakes.say(USE, told)
    return {name: tuple(known) for name, known in there.items() if name in names}


def _link(name: str, agent: AgentEntry, requested: bool) -> ChainLink:
    return ChainLink(
        name=name,
        title=agent.name,
        stage=agent.stage,
        prompt=agent.prompt,
        own_model=name if agent.run is not None else agent.model,
        max_tokens=agent.max_tokens,
        reads=agent.reads,
        when=agent.when,
        criteria=agent.criteria,
        fail_threshold=agent.fail_threshold,
        judged=requested and bool(agent.criteria),
    )


def _as_run(
    request: FileRequest, file: CriteriaFile, chain: _Chain, recorded: RecordedFile | None
) -> ReadFile:
    value = request.document.value
    spec = {name: item for name, item in value.items() if name in OF_A_SPEC}
    links = [link.model_dump(mode="json") for link in chain.links]
    variants = {name: dict(prompts) for name, prompts in file.variants.items()}
    rounds = 1 if recorded is None else max(recorded.rounds, 1)
    packs = {
        task.id: ScenarioPack(
            task.id,
            CRITERIA,
            task.category or task.id,
            task.text[:200],
            {"task": task.model_dump(mode="json"), "chain": links, "variants": variants},
            {"category": task.category} if task.category else {},
        )
        for task in chain.tasks
    }
    options: dict[str, JSON] = {"judge_instructions": file.judge.instructions}
    if RECORD in request.given:
        options["record"] = _recording_path(request, file)
    if recorded is not None:
        options["simulated_outputs"] = recorded.simulated
        options["pinned"] = {
            name: one.model_dump(mode="json") for name, one in recorded.judged_by.items()
        }
    judge = {"temperature": file.judge.temperature, "max_tokens": file.judge.max_tokens}
    if file.judge.run is not None:
        judge = {"max_tokens": file.judge.max_tokens}
    params = {JUDGE: {name: item for name, item in judge.items() if item is not None}}
    run = {
        "name": CRITERIA,
        "kind": CRITERIA,
        "scenarios": list(packs),
        "at_cap": "spend-all",
        **({} if {"per_cell", "sessions"} & spec.keys() else {"per_cell": rounds}),
        **({"factors": {"variant": [AS_WRITTEN, *variants]}} if variants else {}),
        **spec,
        "agents": _agents(value, chain.links),
        "limits": {
            "cost_usd": SMALL_CAP_USD,
            "turns": len(links),
            **(spec.get("limits") or {}),
        },
        "roles": {**_roles(file), **(spec.get("roles") or {})},
        "params": {**params, **(spec.get("params") or {})},
        "options": {**options, **(spec.get("options") or {})},
    }
    return ReadFile(run, packs)


def _agents(value: Mapping[str, Any], links: Sequence[ChainLink]) -> dict[str, JSON]:
    """The commands, services and functions, as a run spec has them."""
    entries = value["agents"]
    found = {
        link.name: entries[link.name]["run"] for link in links if entries[link.name].get("run")
    }
    judge = (value.get("judge") or {}).get("run")
    return found | ({JUDGE: judge} if judge else {})


def _roles(file: CriteriaFile) -> dict[str, str]:
    judge = JUDGE if file.judge.run is not None else file.judge.model
    return {} if judge is None else {JUDGE: judge}


def _recording_path(request: FileRequest, file: CriteriaFile) -> str:
    """Where it is, within the project.

    Raises:
        BadInput: The file would have it elsewhere, where it would be written over what is there.
    """
    path = file.recorded or f"{Path(request.document.source).stem}.recorded.json"
    _library(request).require_meant(request.project / path, path)
    return path


def _recorded(request: FileRequest, file: CriteriaFile) -> RecordedFile | None:
    if USE not in request.given:
        return None
    if RECORD in request.given:
        raise BadInput([Mistake(USE, None, "", f"is given with {RECORD}; give one of the two")])
    return read_recorded(request.project / _recording_path(request, file), USE)


def _picked(flag: str, given: Mapping[str, str | bool], known: Sequence[str]) -> list[str]:
    """What an option names, by names or their beginnings; all that is known without it.

    Raises:
        BadInput: A name that stands for none, or for several.
    """
    if flag not in given:
        return list(known)
    found, mistakes = [], Mistakes()
    for name in filter(None, (part.strip() for part in str(given[flag]).split(","))):
        meant = [name] if name in known else [one for one in known if one.startswith(name)]
        if len(meant) == 1:
            found += meant
        elif meant:
            mistakes.say(flag, f"found {name!r}, which may be {', '.join(meant)}; say which")
        else:
            hint = did_you_mean(name, known)
            mistakes.say(flag, f"found {name!r}; there are: {', '.join(known)}{hint}")
    if not found and not mistakes.found:
        mistakes.say(flag, f"names none; there are: {', '.join(known)}")
    mistakes.stop_if_any()
    return found


def _checked(document: Document) -> CriteriaFile:
    return check(document, CriteriaFile, also=OF_A_SPEC)


def _check_agents(file: CriteriaFile, mistakes: Mistakes) -> None:
    names = list(file.agents)
    if file.judge.run is not None and file.judge.model:
        mistakes.fault(("judge", "model"), "is given beside run; give one of the two")
    read = {one for agent in file.agents.values() for one in before(agent)}
    for name, agent in file.agents.items():
        if not agent.criteria and name not in read:
            mistakes.fault(
                ("agents", name, "criteria"),
                "has no criterion, and no other agent reads this one, so nothing would come of it; "
                "give it criteria, or leave it out",
            )
        for part, why in _faults(agent, name, names):
            mistakes.fault(("agents", name, *part), why)
    for variant, prompts in file.variants.items():
        if variant == AS_WRITTEN:
            mistakes.fault(("variants", variant), "is what the agents say themselves; rename it")
        for one in prompts:
            if one not in names:
                told = f"found {one!r}; there are: {', '.join(names)}{did_you_mean(one, names)}"
                mistakes.fault(("variants", variant), told)
    if not mistakes.found and (around := circle(file.agents)):
        mistakes.fault(("agents",), f"they wait for each other: {' -> '.join(around)}")


def _no_other(found: str, name: str, names: Sequence[str], doing: str) -> str:
    """Why this is not another agent; empty if it is."""
    others = [one for one in names if one != name]
    if found == name:
        there = f"; name another: {', '.join(others)}" if others else ""
        return f"found {found!r}: an agent cannot {doing}{there}"
    return (
        ""
        if found in names
        else f"found {found!r}; it is another agent" + did_you_mean(found, others)
    )


def _faults(
    agent: AgentEntry, name: str, names: Sequence[str]
) -> Iterator[tuple[tuple[str, ...], str]]:
    if name in TAKEN:
        yield (), "is the name of a score, or of the judge; give it another"
    if not (agent.prompt or agent.run or agent.model or agent.fixture):
        yield (), "nothing says what it is; give prompt, run, model or fixture"
    if agent.run is not None and agent.model:
        yield ("model",), "is given beside run; give one of the two"
    for one in agent.reads:
        if why := _no_other(one, name, names, "read its own output"):
            yield ("reads",), why
    if agent.when is not None and (
        why := _no_other(agent.when.agent, name, names, "wait for what it says itself")
    ):
        yield ("when", "agent"), why
    if any(not one.strip() for one in agent.criteria):
        yield ("criteria",), "has a criterion without a word in it"
    if len(set(agent.criteria)) < len(agent.criteria):
        yield ("criteria",), "has a criterion twice; each is judged once"
    if agent.criteria and agent.fail_threshold > len(agent.criteria):
        many = len(agent.criteria)
        yield (
            ("fail_threshold",),
            f"found {agent.fail_threshold}; with {many} criteria it could never fail",
        )
