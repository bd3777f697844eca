"""Options of the command line over a run spec of this kind: one story, one prompt, one group.

``matrix run --story innsmouth.md --prompt mine.md --narrator opus-4.5`` plays one session.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from matrix.kinds.library import FolderLibrary
from matrix.kinds.playtest.setup.options import MAX_GROUP
from matrix.kinds.playtest.setup.pack import read_scenario, read_story
from matrix.kinds.protocol import FileOption, FileRequest, ReadFile, ScenarioPack
from matrix.kinds.text_files import is_markdown
from matrix.model.documents.mistakes import Mistakes
from matrix.model.documents.yaml_documents import section
from matrix.model.errors import did_you_mean
from matrix.model.records import JSON

STORY: Final = "--story"
PROMPT: Final = "--prompt"
NARRATOR: Final = "--narrator"
PLAYERS: Final = "--players"
GROUP: Final = "--group"
SPOKESPERSON: Final = "--spokesperson"
OPTIONS: Final = (
    FileOption(STORY, "NAME", "this story only: its name, or a guide in a markdown file"),
    FileOption(PROMPT, "NAME", "this narrator prompt only: its name, or a markdown file"),
    FileOption(NARRATOR, "MODEL", "who narrates"),
    FileOption(PLAYERS, "N", "players in every group"),
    FileOption(GROUP, "A,B", "this group, by archetypes"),
    FileOption(SPOKESPERSON, "A", "archetype of whoever relays for the group"),
)
CHANGES: Final = (
    FileOption(STORY, "NAME", "another story from here on: its name, or a guide in markdown"),
    FileOption(PROMPT, "NAME", "another narrator prompt: its name, or a markdown file"),
    FileOption(NARRATOR, "MODEL", "who narrates from here on"),
    FileOption(GROUP, "A,B", "other archetypes, one for each player"),
    FileOption(SPOKESPERSON, "A", "who relays from here on, by archetype"),
)
"""Of ``matrix replay``."""
_KIND: Final = "playtest"


def with_given(request: FileRequest) -> ReadFile:
    """A run spec of this kind, with what was given over it, and the stories that are files in it.

    Where a story and a prompt are named, one session is played if nobody says how many.

    Raises:
        BadInput: Every mistake in what was given, and in such a story.
    """
    value = request.document.value
    assert isinstance(value, dict)
    given = {flag: str(text) for flag, text in request.given.items()}
    spec: dict[str, Any] = {**value}
    packs: dict[str, ScenarioPack] = {}
    mistakes = Mistakes(request.document)
    listed = value.get("scenarios")
    if STORY in given:
        pack = mistakes.collect(lambda: _story(given[STORY], request, mistakes))
        packs = {} if pack is None else {pack.name: pack}
    elif isinstance(listed, list) and any(map(is_markdown, listed)):
        packs = _stories(listed, request, mistakes)
    if packs:
        spec["scenarios"] = list(packs)
    if PROMPT in given:
        spec = _with_prompt(spec, given[PROMPT])
    if NARRATOR in given:
        spec["roles"] = {**section(spec, "roles"), "narrator": given[NARRATOR]}
    options = {**section(spec, "options"), **_group(given, mistakes)}
    if options:
        spec["options"] = options
    mistakes.stop_if_any()
    if STORY in given and PROMPT in given:
        spec = {name: item for name, item in spec.items() if name != "sessions"} | {"per_cell": 1}
    return ReadFile(spec, packs)


def changes_of(given: Mapping[str, str]) -> dict[str, JSON]:
    """What ``matrix replay`` is given, as changes of a session."""
    changes: dict[str, JSON] = {}
    if STORY in given:
        said = given[STORY]
        changes |= {"guide": _file(said)} if is_markdown(said) else {"scenario": said}
    if PROMPT in given:
        said = given[PROMPT]
        changes["prompt"] = _file(said) if is_markdown(said) else said
    if NARRATOR in given:
        changes["narrator"] = given[NARRATOR]
    return {**changes, **_group(given, Mistakes())}


def _stories(
    listed: Sequence[object], request: FileRequest, mistakes: Mistakes
) -> dict[str, ScenarioPack]:
    """What a spec lists where some of it is a markdown file: all of it, by name."""
    library = FolderLibrary(request.project, outside=request.outside)
    known = library.scenarios(_KIND)
    packs: dict[str, ScenarioPack] = {}
    for index, said in enumerate(map(str, listed)):
        here = ("scenarios", index)
        found: list[ScenarioPack | None] = []
        if is_markdown(said):
            found = [mistakes.collect(partial(_story_of_file, said, library))]
        else:
            for name in fnmatch.filter(known, said):
                folder = library.folder(_KIND, name)
                assert folder is not None  # it is known
                found.append(mistakes.collect(partial(read_scenario, folder, name)))
        if not found:
            told = f"found {said!r}; there are: {', '.join(known)}, or a markdown file"
            mistakes.fault(here, told + did_you_mean(said, known))
        for pack in filter(None, found):
            if packs.setdefault(pack.name, pack) != pack:
                told = f"{said} would be called {pack.name!r}, as another story is; rename the file"
                mistakes.fault(here, told)
    return packs


def _file(said: str) -> str:
    return f"file://{Path.cwd() / said}"


def _story(said: str, request: FileRequest, mistakes: Mistakes) -> ScenarioPack | None:
    library = FolderLibrary(request.project, outside=request.outside)
    if is_markdown(said):
        path = Path.cwd() / said
        library.require_meant(path, said)
        return read_story(path)
    folder = library.folder(_KIND, said)
    if folder is None:
        known = library.scenarios(_KIND)
        told = f"found {said!r}; there are: {', '.join(known)}, or a markdown file"
        mistakes.say(STORY, told + did_you_mean(said, known))
        return None
    return read_scenario(folder, said)


def _story_of_file(said: str, library: FolderLibrary) -> ScenarioPack:
    return read_story(library.project_file(said))


def _with_prompt(spec: Mapping[str, Any], said: str) -> dict[str, Any]:
    """The spec with one prompt, which is no factor that could be compared any more."""
    name = _file(said) if is_markdown(said) else said
    compare = dict(section(spec, "compare"))
    if compare.get("factor") == "prompt":
        del compare["factor"]
    return {
        **spec,
        "factors": {**section(spec, "factors"), "prompt": [name]},
        **({"compare": compare} if "compare" in spec else {}),
    }


def _group(given: Mapping[str, str], mistakes: Mistakes) -> dict[str, JSON]:
    """Options of the group."""
    options: dict[str, JSON] = {}
    if PLAYERS in given:
        said = given[PLAYERS]
        if said.isdecimal() and len(said) < 3 and 2 <= int(said) <= MAX_GROUP:
            options |= {"group_size_min": int(said), "group_size_max": int(said)}
        else:
            mistakes.say(PLAYERS, f"found {said!r}; a whole number from 2 to {MAX_GROUP}")
    if GROUP in given:
        names = [name.strip() for name in given[GROUP].split(",") if name.strip()]
        if PLAYERS in given and len(names) != options.get("group_size_min", len(names)):
            mistakes.say(GROUP, f"names {len(names)}, and {PLAYERS} says {given[PLAYERS]}")
        options["group"] = list(names)
    if SPOKESPERSON in given:
        options["spokesperson_archetype"] = given[SPOKESPERSON].strip()
    return options
