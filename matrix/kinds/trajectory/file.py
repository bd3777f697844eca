"""The adapter (``trajectory.yaml``): which agent is tested, what it begins with, who judges.

It is read into a run spec, with a pack for each folder of a scenario; keys of a run spec
(``limits``, ``factors``, ``agents`` ...) may stand in it too. A folder of a scenario can be played
without one: with the adapter that is found beside or above it, or else with simulated models.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from matrix.kinds.library import FolderLibrary
from matrix.kinds.protocol import FileOption, FileRequest, ReadFile, ScenarioPack
from matrix.kinds.text_files import real
from matrix.kinds.trajectory.content import model_of
from matrix.kinds.trajectory.points import all_ids
from matrix.kinds.trajectory.scenario import EXPECTED, ScenarioPlaces, read_scenario, scenarios_in
from matrix.kinds.trajectory.settings import (
    AGENT,
    JUDGE,
    JUDGE_TIMEOUT_S,
    SMALL_CAP_USD,
    TRAJECTORY,
    TURN_TIMEOUT_S,
    AdapterFile,
    Content,
    TrajectoryScenario,
)
from matrix.model.documents.mistakes import Mistakes
from matrix.model.documents.yaml_documents import Document, check
from matrix.model.errors import BadInput, did_you_mean
from matrix.model.records import JSON
from matrix.model.spec.aliases import SIMULATED_PREFIX
from matrix.model.spec.run_spec import RunSpec

FILE_NAME: Final = "trajectory.yaml"

ONLY, RUNS, STOP, SKIP = "--scenarios", "--runs", "--stop-after-turn", "--skip-content"
KEEP, CODE, EACH = "--keep-workdir", "--allow-code", "--json-results"
TURN_TIMEOUT, JUDGE_TIMEOUT = "--turn-timeout", "--judge-timeout"
TURN_MODEL, JUDGE_MODEL, BINARY = "--turn-model", "--judge-model", "--claude-bin"

FILE_OPTIONS: Final = (
    FileOption(RUNS, "N", "Runs of every scenario; the same as --per-cell."),
    FileOption(ONLY, "A,B", "Only these scenarios, by names or their beginnings."),
    FileOption(STOP, "N", "End after turn N; the final state is not judged."),
    FileOption(SKIP, "", "Ask no judge; structural assertions only."),
    FileOption(KEEP, "", "Write the working folders out at the end."),
    FileOption(EACH, "", "Write a JSON file for every run of a scenario."),
    FileOption(TURN_TIMEOUT, "SECONDS", "Longest turn."),
    FileOption(JUDGE_TIMEOUT, "SECONDS", "Longest judging."),
    FileOption(TURN_MODEL, "MODEL", "Model of the agent."),
    FileOption(JUDGE_MODEL, "MODEL", "Model of the judge."),
    FileOption(BINARY, "PATH", "Program of the agent `claude`."),
    FileOption(CODE, "", "Run checks.py of scenarios on this machine."),
)
"""What the command line takes for an adapter, or a folder of a scenario."""

DEFAULT_LEVEL: Final = "sim/sonnet"
"""Who works and judges where nothing is said."""

_SET_BY: Final = {
    "MATRIX_CLAUDE_BIN": BINARY,
    "MATRIX_TURN_TIMEOUT": TURN_TIMEOUT,
    "MATRIX_JUDGE_TIMEOUT": JUDGE_TIMEOUT,
    "MATRIX_TURN_MODEL": TURN_MODEL,
    "MATRIX_JUDGE_MODEL": JUDGE_MODEL,
}
VARIABLES: Final = {name: f"{flag} of a trajectory test" for name, flag in _SET_BY.items()}
"""Variables that say the same as flags, under them."""

OF_A_SPEC: Final = frozenset(RunSpec.model_fields) - {"version", "kind", "scenarios"}
"""Keys of a run spec that may stand in the file."""

CLAUDE: Final = "claude"
"""The agent, and the judge, that are a command in the shape of ``claude -p``."""
DEFAULT_MODEL: Final = "sonnet"
_MODEL: Final = "--model"
"""What the model stands behind in a command of that shape."""

SHIPPED_SCAFFOLD: Final = "notebook"
"""What sessions of the simulated agent begin with where nobody says anything else."""

_UP: Final = 4
"""How many folders above a scenario an adapter is looked for."""


def is_adapter(value: JSON) -> bool:
    """Whether a file without a kind is an adapter: it has keys of one, or names one folder.

    ``judge`` and ``prompts`` alone are none: a run spec in which they are a mistake has them, too.
    """
    if not isinstance(value, dict) or "kind" in value or "inputs" in value:
        return False
    named = value.get("scenarios")
    if isinstance(named, list) and any(isinstance(one, dict) for one in named):
        return False  # they are cases of another kind's file
    own = AdapterFile.model_fields.keys() - {"version", "scenarios", "judge", "prompts"}
    return bool(own & value.keys()) or isinstance(named, str)


def stands_for(folder: Path) -> Path | None:
    """The file that is read for a folder of scenarios; ``None`` if it is none.

    The adapter is the same wherever one stands: another agent would be tested otherwise. What lies
    above a checkout is of somebody else.
    """
    there = scenarios_in(folder)
    if not there:
        return None
    full = real(folder)
    for above in (full, *full.parents[:_UP]):
        if (above / FILE_NAME).is_file():
            return above / FILE_NAME
        if (above / ".git").exists():
            break
    return next((one / EXPECTED for one in there if (one / EXPECTED).is_file()), None)


def read_adapter(request: FileRequest) -> ReadFile:
    """The run spec and the packs of an adapter, or of folders without one.

    Raises:
        BadInput: Every mistake in it, in the folders, and in the options that were given.
    """
    document = _own_document(request)
    file = check(document, AdapterFile, also=OF_A_SPEC)
    given, mistakes = given_to(request), Mistakes(document)
    folders = mistakes.collect(partial(_folders, request, file, document.source))
    rubrics = mistakes.collect(partial(_folder, "rubrics", file.rubrics, request, document))
    pinned = mistakes.collect(partial(_folder, "snapshots", file.snapshots, request, document))
    scaffolds = mistakes.collect(partial(_scaffolds, file, request, document))
    settings = mistakes.collect(partial(numbers_in, given))
    mistakes.stop_if_any()
    assert folders is not None
    assert rubrics is not None
    assert pinned is not None
    assert scaffolds is not None
    assert settings is not None
    places = ScenarioPlaces(rubrics[0], CODE in given, file.judge_models, pinned[0])
    packs: dict[str, ScenarioPack] = {}
    for name, folder in picked(given, folders).items():
        if not (folder / EXPECTED).is_file():
            mistakes.say(str(folder), f"has inputs/ and no {EXPECTED}")
            continue
        pack = mistakes.collect(partial(read_scenario, folder, name, places))
        if pack is not None:
            packs[name] = pack
    mistakes.stop_if_any()
    packs = _with_namesakes(packs)
    spec = {name: item for name, item in document.value.items() if name in OF_A_SPEC}
    _require_meant(file, spec, given, request)
    claude = _with_program(file.claude, (request.path.parent, request.project))
    agents = {**_claudes(file, claude, spec, given), **(spec.get("agents") or {})}
    named = {"scaffolds": scaffolds, "agents": sorted(agents)}
    packs = {name: _with(pack, named) for name, pack in packs.items()}
    run = _run(request, file, spec, packs, scaffolds, settings, agents)
    packs = {name: _with_judges_told(pack, run) for name, pack in packs.items()}
    return ReadFile(run, packs)


def _own_document(request: FileRequest) -> Document:
    """The adapter; an empty one where a scenario is played without."""
    if request.path.name == EXPECTED:
        return Document(FILE_NAME, {}, {}, {})
    return request.document


def given_to(request: FileRequest) -> dict[str, str]:
    """Flag -> what was given, by flags or else by variables."""
    by_variable = {
        _SET_BY[name]: text for name, text in request.variables.items() if name in _SET_BY
    }
    return by_variable | {flag: str(value) for flag, value in request.given.items()}


def _folders(request: FileRequest, file: AdapterFile, source: str) -> dict[str, Path]:
    """Name -> folder of every scenario that is meant."""
    if request.folder is not None:
        requested = {str(request.folder): request.folder}
    else:
        requested = {
            one: _placed(one, request, lambda place: bool(scenarios_in(place)))
            for one in file.scenarios
        }
    found: dict[str, Path] = {}
    mistakes = Mistakes()
    for said, folder in requested.items():
        inside = scenarios_in(folder)
        if not inside:
            told = f"found {said!r}, with no scenario in it: inputs/ and {EXPECTED}"
            mistakes.say(source, told, "scenarios")
        for one in inside:
            name = real(one).name
            if real(found.get(name, one)) != real(one):
                mistakes.say(source, f"there are two scenarios called {name!r}", "scenarios")
            found[name] = one
    mistakes.stop_if_any()
    return found


def picked(given: Mapping[str, str], folders: Mapping[str, Path]) -> dict[str, Path]:
    """The scenarios that are wanted of those that there are, by names or their beginnings.

    Raises:
        BadInput: A name that is none of them, or could be several.
    """
    if ONLY not in given:
        return dict(folders)
    found: dict[str, Path] = {}
    mistakes = Mistakes()
    for name in filter(None, (part.strip().rstrip("/") for part in given[ONLY].split(","))):
        last = name.rpartition("/")[2]
        meant = [last] if last in folders else [one for one in folders if one.startswith(last)]
        if len(meant) == 1:
            found[meant[0]] = folders[meant[0]]
        else:
            what = f"may be {', '.join(meant)}" if meant else "is none"
            hint = did_you_mean(last, list(folders))
            mistakes.say(
                ONLY, f"found {name!r}, which {what}; there are: {', '.join(folders)}{hint}"
            )
    if not found and not mistakes.found:
        mistakes.say(ONLY, f"names none; there are: {', '.join(folders)}")
    mistakes.stop_if_any()
    return found


def _placed(said: str, request: FileRequest, meant: Callable[[Path], bool] = Path.is_dir) -> Path:
    """Where a folder is that the adapter names: beside the adapter, or else in the project."""
    places = [request.path.parent / said, request.project / said]
    found = next((one for one in places if meant(one)), places[-1])
    FolderLibrary(request.project, outside=request.outside).require_meant(found, said)
    return found


def _folder(key: str, said: str, request: FileRequest, document: Document) -> tuple[Path | None]:
    """A folder that the adapter names, if it names one."""
    if not said:
        return (None,)
    folder = _placed(said, request)
    if not folder.is_dir():
        raise BadInput([document.mistake((key,), f"found {said!r}; there is no folder {folder}")])
    return (folder,)


def _scaffolds(file: AdapterFile, request: FileRequest, document: Document) -> dict[str, str]:
    """Name -> folder that sessions begin with; named by its own name where it is the only one."""
    said = file.scaffold
    named = {Path(said).name: said} if isinstance(said, str) and said else said or {}
    assert not isinstance(named, str)
    mistakes, found = Mistakes(document), {}
    for name, folder in named.items():
        place = real(_placed(folder, request))
        if not place.is_dir():
            key = ("scaffold", name) if isinstance(said, Mapping) else ("scaffold",)
            mistakes.fault(key, f"found {folder!r}; there is no folder {place}")
        found[name] = str(place)
    mistakes.stop_if_any()
    return found


def numbers_in(given: Mapping[str, str]) -> dict[str, float]:
    """Numbers among the options, by flag.

    Raises:
        BadInput: One is no number, or out of bounds.
    """
    mistakes, found = Mistakes(), {}
    for flag, whole in ((RUNS, True), (STOP, True), (TURN_TIMEOUT, False), (JUDGE_TIMEOUT, False)):
        if flag not in given:
            continue
        try:
            number = float(given[flag])
        except ValueError:
            number = float("nan")
        if not 0 < number <= 86_400 or (whole and number != int(number)):
            what = "a whole number from 1 on" if whole else "a number of seconds above 0"
            mistakes.say(flag, f"found {given[flag]!r}; it is {what}, at most 86400")
        found[flag] = number
    mistakes.stop_if_any()
    return found


def _require_meant(
    file: AdapterFile, spec: Mapping[str, Any], given: Mapping[str, str], request: FileRequest
) -> None:
    """See that a model, or a program, that is given is the one that plays.

    Raises:
        BadInput: The adapter names somebody who would play instead.
    """
    mistakes = Mistakes()
    own = set(spec.get("agents") or ())
    for role, said, flag in ((AGENT, file.agent, TURN_MODEL), (JUDGE, file.judge, JUDGE_MODEL)):
        if flag in given and said in own:
            told = f"names a model, and {role}: {said} is an agent of the adapter; say its model "
            mistakes.say(flag, f"{told}under agents.{said}")
        levels = _levels(spec, role)
        if flag in given and levels and not (role == AGENT and CLAUDE in levels):
            told = f"says who plays where one does; factors.{role} has {', '.join(levels)}"
            mistakes.say(flag, f"{told}: name the model there")
    command = file.claude.get("command")
    if TURN_MODEL in given and isinstance(command, list) and _MODEL not in command[:-1]:
        told = "names a model, and the command of claude in the adapter takes none; write "
        mistakes.say(TURN_MODEL, f"{told}{_MODEL}, NAME in it, which this then sets")
    if BINARY in request.given and CLAUDE not in (file.agent, file.judge, *_levels(spec, AGENT)):
        told = f"is the program of the agent {CLAUDE}, which does not play: agent: {file.agent}"
        mistakes.say(BINARY, told)
    mistakes.stop_if_any()


def _with_program(own: Mapping[str, JSON], folders: Sequence[Path]) -> Mapping[str, JSON]:
    """What is said of ``claude``, with its program as it is found from anywhere.

    A path is that of a file in one of these folders; else it may be of the session's own.
    """
    said = own.get("command")
    if not (isinstance(said, list) and said and isinstance(said[0], str) and _is_path(said[0])):
        return own
    found = next((folder / said[0] for folder in folders if (folder / said[0]).is_file()), None)
    return own if found is None else {**own, "command": [str(found.absolute()), *said[1:]]}


def _is_path(program: str) -> bool:
    """Whether a program is a path from some folder, and no name to be looked for on ``PATH``."""
    return "/" in program and not program.startswith(("/", "{"))


def _claudes(
    file: AdapterFile,
    own: Mapping[str, JSON],
    spec: Mapping[str, Any],
    given: Mapping[str, str],
) -> dict[str, JSON]:
    """The agent, and judges, in the shape of ``claude -p``, where they are named.

    A path that was given is from where the user stands: sessions run it in folders of their own.
    """
    binary = given.get(BINARY, CLAUDE)
    if _is_path(binary):
        binary = str(Path(binary).expanduser().absolute())
    found: dict[str, JSON] = {}
    if CLAUDE in (file.agent, *_levels(spec, AGENT)):
        model = given.get(TURN_MODEL, DEFAULT_MODEL)
        work = ["--permission-mode", "acceptEdits"]
        found[CLAUDE] = _with_own(
            _claude(binary, model, work, 2.0), _with_given(own, binary, given)
        )
    if file.judge == CLAUDE:
        judge = {name: item for name, item in own.items() if name not in ("command", "reads")}
        for name in (given.get(JUDGE_MODEL, DEFAULT_MODEL), "sonnet", "opus", "haiku"):
            found.setdefault(
                f"{CLAUDE}-{JUDGE}-{name}", _with_own(_claude(binary, name, [], 0.5), judge)
            )
        first = next(one for one in found if one.startswith(f"{CLAUDE}-{JUDGE}-"))
        found[f"{CLAUDE}-{JUDGE}"] = found[first]
    return found


def _with_given(
    own: Mapping[str, JSON], binary: str, given: Mapping[str, str]
) -> Mapping[str, JSON]:
    """The same with the program and the model that are given, in a command of its own as well."""
    command = own.get("command")
    if not isinstance(command, list) or not command:
        return own
    words = [binary if BINARY in given else command[0], *command[1:]]
    if TURN_MODEL in given:
        words[words.index(_MODEL) + 1] = given[TURN_MODEL]
    return {**own, "command": words}


def _with_own(usual: Mapping[str, JSON], own: Mapping[str, JSON]) -> dict[str, JSON]:
    """A preset with what is said of it; of ways to know what a turn costs there is one."""
    ways = {"max_usd", "meter", "free"}
    rest = {name: item for name, item in usual.items() if not (ways & own.keys() and name in ways)}
    return {**rest, **own}


def _claude(binary: str, model: str, more: Sequence[str], most: float) -> dict[str, JSON]:
    command = [binary, "-p", "--output-format", "json", _MODEL, model, *more]
    fields = {"text": "result", "cost_usd": "total_cost_usd"}
    fields |= {"tokens_in": "usage.input_tokens", "tokens_out": "usage.output_tokens"}
    fields |= {"failed": "is_error"}
    return {
        "command": command,
        "max_usd": most,
        "answer": fields,
        "sandbox": "none",
        "home": "own",  # where its login is
    }


def _with_namesakes(packs: Mapping[str, ScenarioPack]) -> dict[str, ScenarioPack]:
    """Packs with a note where two scenarios give themselves the same name."""
    found: dict[str, ScenarioPack] = {}
    for name, pack in packs.items():
        same = [one for one, other in found.items() if other.title == pack.title]
        notes = [f"{name}: is called {pack.title!r}, as {one} is; a copy?" for one in same[:1]]
        found[name] = replace(pack, notes=(*pack.notes, *notes))
    return found


def _with_judges_told(pack: ScenarioPack, run: Mapping[str, Any]) -> ScenarioPack:
    """A pack with a note for every model that an assertion asks for and does not get."""
    scenario, agents = (
        TrajectoryScenario.model_validate(pack.content["scenario"]),
        frozenset(run["agents"]),
    )
    asked = Counter(
        check.model
        for _, check in all_ids(scenario)
        if isinstance(check, Content) and check.model and not run["options"]["skip_content"]
    )
    levels = _levels(run, JUDGE) or [run["roles"].get(JUDGE, DEFAULT_LEVEL)]
    notes = [
        f"{pack.name}: model: {requested} (in {count} place{'s' * (count != 1)}) is judged by "
        f"{level}, as all others are: nothing stands for it (judge_models)"
        for requested, count in asked.items()
        for level in levels
        if model_of(requested, level, scenario, agents) == level != requested
        and requested not in scenario.judge_models
        and level != f"{SIMULATED_PREFIX}{requested}"
    ]
    return replace(pack, notes=(*pack.notes, *notes))


def _with(pack: ScenarioPack, more: Mapping[str, JSON]) -> ScenarioPack:
    content = {**pack.content, **more}
    return ScenarioPack(
        pack.name, pack.kind, pack.title, pack.summary, content, pack.fields, pack.notes
    )


def _run(
    request: FileRequest,
    file: AdapterFile,
    spec: Mapping[str, Any],
    packs: Mapping[str, ScenarioPack],
    scaffolds: Mapping[str, str],
    settings: Mapping[str, float],
    agents: Mapping[str, JSON],
) -> dict[str, JSON]:
    given = given_to(request)
    turns = max(int(str(pack.fields["turns"])) for pack in packs.values())
    options: dict[str, JSON] = {
        "prompts": file.prompts.model_dump(mode="json"),
        "layout": file.layout.model_dump(mode="json"),
        "skip_content": SKIP in given,
        "allow_code": CODE in given,
        "keep_workdir": KEEP in given,
        "json_results": EACH in given,
        "stop_after_turn": int(settings.get(STOP, 0)),
    }
    bare = not scaffolds and request.path.name == EXPECTED
    options["scaffold"] = next(iter(scaffolds), SHIPPED_SCAFFOLD if bare else "")
    roles, params = _roles(file, given), _params(file, spec, settings, agents)
    counted = {"per_cell", "sessions"} & spec.keys() and RUNS not in settings
    runs = {} if counted else {"per_cell": int(settings.get(RUNS, 1))}
    several = {"scaffold": list(scaffolds)} if len(scaffolds) > 1 else {}
    longest = turns * settings.get(TURN_TIMEOUT, file.turn_timeout_s) / 60
    return {
        "name": TRAJECTORY,
        "kind": TRAJECTORY,
        "scenarios": list(packs),
        "at_cap": "spend-all",
        **spec,
        **({"factors": {**several, **(spec.get("factors") or {})}} if several else {}),
        **runs,
        "agents": dict(agents),
        "limits": {
            "cost_usd": SMALL_CAP_USD,
            "turns": turns,
            "session_minutes": min(1440.0, max(60.0, 1.5 * longest)),
            **(spec.get("limits") or {}),
        },
        "roles": {**roles, **(spec.get("roles") or {})},
        "params": {**params, **(spec.get("params") or {})},
        "options": {**options, **(spec.get("options") or {})},
    }


def _roles(file: AdapterFile, given: Mapping[str, str]) -> dict[str, str]:
    """Who plays what: as the adapter says; a model that is given plays where no command does."""
    found = {}
    for role, said, flag in ((AGENT, file.agent, TURN_MODEL), (JUDGE, file.judge, JUDGE_MODEL)):
        if said == CLAUDE:
            found[role] = CLAUDE if role == AGENT else f"{CLAUDE}-{JUDGE}"
        elif flag in given:
            found[role] = given[flag]
        elif said is not None:
            found[role] = said
    return found


def _levels(spec: Mapping[str, Any], role: str) -> list[str]:
    """Who is compared in a role, if several are."""
    factors = spec.get("factors")
    levels = factors.get(role) if isinstance(factors, dict) else None
    return [one for one in levels if isinstance(one, str)] if isinstance(levels, list) else []


def _params(
    file: AdapterFile,
    spec: Mapping[str, Any],
    settings: Mapping[str, float],
    agents: Mapping[str, JSON],
) -> dict[str, dict[str, JSON]]:
    """Longest turn and judging; a default that nobody wrote must not cut an agent's own."""
    params: dict[str, dict[str, JSON]] = {AGENT: {}, JUDGE: {}}
    for role, who, flag, said, default in (
        (AGENT, file.agent, TURN_TIMEOUT, file.turn_timeout_s, TURN_TIMEOUT_S),
        (JUDGE, file.judge, JUDGE_TIMEOUT, file.judge_timeout_s, JUDGE_TIMEOUT_S),
    ):
        of_agent = who == CLAUDE or not {who, *_levels(spec, role)}.isdisjoint(agents)
        if flag in settings or said != default or not of_agent or who == CLAUDE:
            params[role]["timeout_s"] = settings.get(flag, said)
    if file.judge not in agents and file.judge != CLAUDE:
        params[JUDGE]["temperature"] = 0.0
    return params
