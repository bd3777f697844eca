"""Joining a scenario with one cell: its prompt, its archetypes, its models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from matrix.judging.rubric_file import RubricFile, read_rubric
from matrix.kinds.playtest.setup import roles
from matrix.kinds.playtest.setup.archetypes import Archetype, load_archetypes, unknown_archetypes
from matrix.kinds.playtest.setup.guide import parse_guide
from matrix.kinds.playtest.setup.options import PlaytestOptions
from matrix.kinds.playtest.setup.outline import FEWEST
from matrix.kinds.playtest.setup.profile import (
    Shape,
    expected_turns,
    prelude_profile,
    session_profile,
)
from matrix.kinds.protocol import Binding, PackLibrary, PreviousPlay, ScenarioPack
from matrix.kinds.text_files import is_markdown, read_text
from matrix.model.documents.mistakes import Mistakes
from matrix.model.errors import BadInput, Mistake, did_you_mean

MAX_PROMPT_BYTES = 100_000
FILE_PREFIX = "file://"

RUBRICS = "rubrics"
"""Name that a session finds the rubrics under by which its judge is asked about issues."""

Rubrics = dict[str, RubricFile]
"""Issue -> the rubric of its name."""


def bind_cell(
    pack: ScenarioPack,
    options: PlaytestOptions,
    named: Mapping[str, str],
    library: PackLibrary,
    max_turns: int,
) -> Binding:
    """Join a pack with one cell's options and role models.

    Raises:
        BadInput: Unknown prompt or archetype, unreadable file, or a role that cannot follow the
            archetypes; every mistake at once.
    """
    if options.interview is not None:
        told = "is of a session that was played: matrix replay RUN SESSION --ask PLAYER QUESTION"
        raise BadInput([Mistake("run spec", None, "options.interview", told)])
    return _joined(
        pack,
        options,
        named,
        lambda: _prompt(options.prompt, library),
        lambda: _pool(options, library),
        lambda: _rubrics(options.check_issues, library),
        max_turns,
    )


def rebind_session(
    kept: PreviousPlay,
    options: PlaytestOptions,
    named: Mapping[str, str],
    library: PackLibrary,
    pack: ScenarioPack | None,
) -> Binding:
    """Join a session that is to go on with other options, models or another scenario.

    Raises:
        BadInput: As :func:`bind_cell`.
    """
    before, texts = PlaytestOptions.model_validate(kept.plan.options), kept.texts
    own = {**texts["scenario"], "guide": texts["guide"]}
    same_prompt = options.prompt == before.prompt
    same_pool = (options.archetypes, options.group) == (before.archetypes, before.group)
    return _joined(
        pack or ScenarioPack(kept.plan.scenario, kept.plan.kind, "", "", own),
        options,
        named,
        lambda: str(texts["prompt"]) if same_prompt else _prompt(options.prompt, library),
        lambda: _kept_pool(texts["archetypes"]) if same_pool else _pool(options, library),
        lambda: _kept_rubrics(texts, options, library),
        kept.plan.max_turns,
    )


def _kept_rubrics(
    texts: Mapping[str, Any], options: PlaytestOptions, library: PackLibrary
) -> Rubrics:
    """Those that the session was judged by before, and the library's for what is asked anew."""
    kept = texts.get(RUBRICS, {})
    asked = options.check_issues
    new = _rubrics([kind for kind in asked if kind not in kept], library)
    return {**new, **{k: RubricFile.model_validate(kept[k]) for k in asked if k in kept}}


def _dumped(rubrics: Rubrics) -> dict[str, Any]:
    return {kind: rubric.model_dump(mode="json") for kind, rubric in rubrics.items()}


def _kept_pool(archetypes: Mapping[str, Any]) -> dict[str, Archetype]:
    return {id_: Archetype.model_validate(value) for id_, value in archetypes.items()}


def _joined(
    pack: ScenarioPack,
    options: PlaytestOptions,
    named: Mapping[str, str],
    find_prompt: Callable[[], str],
    find_pool: Callable[[], dict[str, Archetype]],
    find_rubrics: Callable[[], Rubrics],
    max_turns: int,
) -> Binding:
    mistakes = Mistakes()
    prompt = mistakes.collect(find_prompt) or ""
    pool = mistakes.collect(find_pool) or {}
    rubrics = mistakes.collect(find_rubrics) or {}
    speaks = options.spokesperson_archetype
    if speaks is not None and pool and speaks not in pool:
        told = f"found {speaks!r}; allowed: {', '.join(sorted(pool))}"
        told += did_you_mean(speaks, sorted(pool))
        mistakes.say("run spec", told, "options.spokesperson_archetype")
    mistakes.add(_role_mistakes(named))
    mistakes.stop_if_any()
    role_models = {role.name: named.get(role.name) or role.default_model for role in roles.ROLES}
    return _bound(pack, options, role_models, prompt, pool, rubrics, max_turns)


def _bound(
    pack: ScenarioPack,
    options: PlaytestOptions,
    role_models: Mapping[str, str],
    prompt: str,
    pool: Mapping[str, Archetype],
    rubrics: Rubrics,
    max_turns: int,
) -> Binding:
    content = dict(pack.content)
    guide = content.pop("guide")
    archetypes = {id_: archetype.model_dump(mode="json") for id_, archetype in pool.items()}
    pool_models = {id_: archetype.model for id_, archetype in pool.items()}
    lists_beats = len(parse_guide(guide).pulses) >= FEWEST
    expected = content["pulses_expected"]
    shape = Shape(max_turns, expected, len(prompt), len(guide), lists_beats)
    profile = session_profile(shape, options, role_models, pool_models)
    return Binding(
        resources={
            "scenario": content,
            "guide": guide,
            "prompt": prompt,
            "archetypes": archetypes,
            **({RUBRICS: _dumped(rubrics)} if rubrics else {}),
        },
        prelude=_prelude_content(content, options, role_models, archetypes),
        models=frozenset(entry.model for entry in profile)
        | {roles.model_of(roles.PLAYERS, role_models, model) for model in pool_models.values()},
        profile=profile,
        prelude_profile=prelude_profile(options, role_models, pool_models),
        turns=expected_turns(shape) if options.interview is None else (1.0, 1.0, 1.0),
    )


def _prelude_content(
    content: Mapping[str, Any],
    options: PlaytestOptions,
    role_models: Mapping[str, str],
    archetypes: Mapping[str, Any],
) -> dict[str, Any]:
    """What a group and its backstories depend on: nothing of the narrator or its prompt."""
    speaks = options.spokesperson_archetype
    return {
        "title": content["title"],
        "setting": content["setting"],
        "names": content["names"],
        "archetypes": dict(archetypes),
        "group": list(options.group)
        if options.group
        else [options.group_size_min, options.group_size_max],
        "players": role_models[roles.PLAYERS],
        **({} if speaks is None else {"speaks": speaks}),
    }


def _prompt(name: str, library: PackLibrary) -> str:
    if name.startswith(FILE_PREFIX) or is_markdown(name):
        path = _own_file(name, library)
    else:
        shared = library.shared("playtest", "prompts", ".md")
        if name not in shared:
            allowed = sorted(shared)
            listed = ", ".join(allowed) or "none found"
            message = (
                f"no prompt is called {name!r}; allowed: {listed}, or a file: <path>.md"
                f"{did_you_mean(name, allowed)}"
            )
            raise BadInput([Mistake("run spec", None, "options.prompt", message)])
        path = shared[name]
    text = read_text(path, MAX_PROMPT_BYTES)
    if not text.strip():
        raise BadInput(
            [Mistake(str(path), None, "", "is empty; write the narrator's prompt in it")]
        )
    return text


def _own_file(reference: str, library: PackLibrary) -> Path:
    try:
        return library.project_file(reference)
    except BadInput as error:
        raise BadInput(
            Mistake("run spec", None, "options.prompt", mistake.message)
            for mistake in error.mistakes
        ) from None


def _pool(options: PlaytestOptions, library: PackLibrary) -> dict[str, Archetype]:
    """The archetypes that may sit at the table."""
    known = load_archetypes(library.archetypes())
    mistakes = unknown_archetypes(options.archetypes, known, "archetypes")
    mistakes += unknown_archetypes(options.group or (), known, "group")
    if mistakes:
        raise BadInput(mistakes)
    requested = set(options.group or options.archetypes or known)
    return {id_: archetype for id_, archetype in known.items() if id_ in requested}


def _rubrics(kinds: Sequence[str], library: PackLibrary) -> Rubrics:
    """The rubrics of the issues that the judge is asked about.

    Raises:
        BadInput: One is not there, cannot be read, or asks for something else than a verdict.
    """
    known = library.shared("playtest", "rubrics", ".md") if kinds else {}
    mistakes = Mistakes()
    found: Rubrics = {}
    for kind in kinds:
        if kind not in known:
            told = f"no rubric is called {kind!r}; write scenarios/playtest/rubrics/{kind}.md"
            mistakes.say("run spec", told, "options.check_issues")
            continue
        rubric = mistakes.collect(partial(read_rubric, known[kind]))
        if rubric is not None and rubric.answer != "verdict":
            told = f"found answer: {rubric.answer}; what asks about an issue has answer: verdict"
            mistakes.say(str(known[kind]), told, "answer")
        elif rubric is not None:
            found[kind] = rubric
    mistakes.stop_if_any()
    return found


def _role_mistakes(named: Mapping[str, str]) -> list[Mistake]:
    return [
        Mistake(
            "run spec",
            None,
            f"roles.{role}",
            f"found {model!r}; only {' and '.join(roles.PER_ARCHETYPE)} can follow the archetypes, "
            "name a model",
        )
        for role, model in named.items()
        if roles.is_by_archetype(model) and role not in roles.PER_ARCHETYPE
    ]
