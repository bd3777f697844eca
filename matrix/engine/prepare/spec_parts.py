"""The parts of a run spec that stand on their own: kind, roles, factors, comparison, packs."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from matrix.engine.prepare.judges import read_judges
from matrix.engine.prepare.parameters import check_factors, check_names, parameter_named
from matrix.engine.prepare.registry import ask_kind, load_kind
from matrix.judging.listed import ListedJudge
from matrix.kinds.library import PACK_FILE, FolderLibrary
from matrix.kinds.protocol import ExplainsOptions, KeptKind, Kind, ScenarioPack
from matrix.model.documents.complaints import MISSING
from matrix.model.documents.mistakes import Mistakes
from matrix.model.documents.yaml_documents import check
from matrix.model.errors import BadInput, KindUnusable, Mistake, did_you_mean, near_matches
from matrix.model.spec.judges import JUDGES
from matrix.model.spec.params import COMMON, OWN
from matrix.model.spec.run_spec import RunSpec, level_name
from matrix.providers.simulated.settings import SimulationSettings


class SpecParts(NamedTuple):
    """What a spec says, each part checked by itself.

    Attributes:
        roles: Role -> model, before factors.
        factors: Factor -> levels, as text.
        compare: The factor that the verdict is about, if there is one.
        packs: Scenarios, in the order of the spec.
        judges: The judges that the spec lists, with their rubrics.
    """

    spec: RunSpec
    kind: Kind
    roles: dict[str, str]
    factors: dict[str, tuple[str, ...]]
    compare: str | None
    packs: list[ScenarioPack]
    judges: list[ListedJudge]


def read_parts(library: FolderLibrary, mistakes: Mistakes) -> SpecParts:
    """Read every part of the document, collecting mistakes.

    Raises:
        BadInput: What is wrong leaves nothing to go on with, or is in the options, which every
            cell would only repeat.
    """
    spec = _spec(mistakes)
    kind = _kind(spec, library, mistakes)
    options = mistakes.collect(
        lambda: check(mistakes.document, kind.options_model, ("options",)),
        partial(_option_told, kind),
    )
    mistakes.collect(lambda: check(mistakes.document, SimulationSettings, ("simulation",)))
    roles = _roles(spec, kind, mistakes)
    spec, judges = read_judges(spec, kind, library, mistakes)
    if judges:
        roles[JUDGES] = judges[0].models[0]
    check_names(spec, roles, mistakes)
    check_factors(spec, roles, mistakes)
    factors = _factors(spec, kind, mistakes)
    _check_effects(spec, factors, mistakes)
    parts = SpecParts(
        spec,
        kind,
        roles,
        factors,
        _compare_factor(spec, factors, mistakes),
        _packs(spec, kind, library, mistakes),
        judges,
    )
    if options is None:
        _check_levels(spec, kind, mistakes)
        mistakes.stop_if_any()
    return parts


def _check_levels(spec: RunSpec, kind: Kind, mistakes: Mistakes) -> None:
    """Levels that are no value of their option, where no cell is looked at that would tell it."""
    for name, levels in spec.factors.items():
        if name not in kind.options_model.model_fields:
            continue
        for index, level in enumerate(levels):
            document = replace(mistakes.document, value={"options": {name: level}})
            try:
                check(document, kind.options_model, ("options",))
            except BadInput as error:
                for one in error.mistakes:
                    if _top(one.path.removeprefix("options.")) == name:
                        mistakes.fault(("factors", name, index), one.message)


def _option_told(kind: Kind, mistake: Mistake) -> Mistake:
    """A mistake in an option; of one that is missing with what the kind knows of it."""
    name = mistake.path.removeprefix("options.")
    if mistake.message != MISSING or not isinstance(kind, ExplainsOptions):
        return mistake
    why = kind.why_no_option(name)
    return replace(mistake, message=f"{MISSING}: {why}") if why else mistake


def _spec(mistakes: Mistakes) -> RunSpec:
    """The spec; with mistakes in it, what is left without the parts that have them."""
    try:
        return check(mistakes.document, RunSpec)
    except BadInput as error:
        mistakes.add(error.mistakes)
        broken = {_top(mistake.path) for mistake in error.mistakes}
        value = mistakes.document.value
        if not isinstance(value, dict) or not broken <= value.keys():
            raise
    sound = {key: item for key, item in value.items() if key not in broken}
    for section in broken.intersection(("models", "params", "agents")):
        entries = value[section]
        if isinstance(entries, dict):
            wrong = _unreadable(mistakes, section, entries)
            sound[section] = {name: item for name, item in entries.items() if name not in wrong}
    mistakes.document = replace(mistakes.document, value=sound)
    try:
        return check(mistakes.document, RunSpec)
    except BadInput:
        raise BadInput(mistakes.found) from None


def unreadable_models(mistakes: Mistakes, names: Iterable[str]) -> set[str]:
    """Which of these models or agents have an entry in the spec that a mistake was found in."""
    names = list(names)
    return _unreadable(mistakes, "models", names) | _unreadable(mistakes, "agents", names)


def _unreadable(mistakes: Mistakes, section: str, names: Iterable[str]) -> set[str]:
    paths = [mistake.path for mistake in mistakes.found if _top(mistake.path) == section]
    return {
        name
        for name in names
        if any(f"{path}.".startswith((f"{section}.{name}.", f"{section}..")) for path in paths)
    }


def _kind(spec: RunSpec, library: FolderLibrary, mistakes: Mistakes) -> Kind:
    try:
        return load_kind(spec.kind, project=library.project)
    except KindUnusable as error:
        mistakes.fault(("kind",), str(error))
        raise BadInput(mistakes.found) from None


def _roles(spec: RunSpec, kind: Kind, mistakes: Mistakes) -> dict[str, str]:
    known = [role.name for role in kind.roles]
    roles = {role.name: role.default_model for role in kind.roles}
    if "all" in spec.roles:
        roles = dict.fromkeys(known, spec.roles["all"])
    for role, model in spec.roles.items():
        if role == "all":
            continue
        if role not in known:
            mistakes.fault(
                ("roles", role),
                f"unknown role; the {kind.name} kind has: {', '.join(known)}, or 'all'"
                + did_you_mean(role, known),
            )
        roles[role] = model
    return roles


def _factors(spec: RunSpec, kind: Kind, mistakes: Mistakes) -> dict[str, tuple[str, ...]]:
    known = [role.name for role in kind.roles]
    allowed = known + list(kind.options_model.model_fields)
    parameters = sorted(OWN | COMMON)
    parameters += [f"{role}.{parameter}" for role in known for parameter in parameters]
    factors: dict[str, tuple[str, ...]] = {}
    for name, levels in spec.factors.items():
        if name not in allowed and parameter_named(name, known) is None:
            why = kind.why_no_option(name) if isinstance(kind, ExplainsOptions) else ""
            mistakes.fault(
                ("factors", name),
                why
                or f"unknown factor; a factor is a role or an option of the {kind.name} kind: "
                + ", ".join(allowed)
                + f", or a parameter of calls: {', '.join(sorted(OWN))}, or ROLE.PARAMETER"
                + (did_you_mean(name, allowed) or did_you_mean(name, parameters)),
            )
            continue
        if not levels:
            mistakes.fault(("factors", name), "has no levels, so the matrix is empty")
        factors[name] = tuple(level_name(level) for level in levels)
    return factors


def _check_effects(
    spec: RunSpec, factors: Mapping[str, tuple[str, ...]], mistakes: Mistakes
) -> None:
    """A planted effect on a level that is nearly one of the plan's: it would change nothing.

    Levels that are merely left out are no mistake: a plan of some of them is looked at as well.
    """
    effects = spec.simulation.get("effects")
    for index, one in enumerate(effects if isinstance(effects, list | tuple) else ()):
        factor, level = (one.get("factor"), one.get("level")) if isinstance(one, dict) else (0, 0)
        levels = factors.get(str(factor), ())
        own = not mistakes.document.origins.keys() & {("factors",), ("factors", str(factor))}
        near = near_matches(str(level), levels) if own and str(level) not in levels else []
        if near and _letters(near[0]) != _letters(str(level)):
            told = f"found {level!r}; factor {factor} has: {', '.join(levels)}"
            path = ("simulation", "effects", index, "level")
            mistakes.fault(path, f"{told}; did you mean {near[0]!r}?")


def _letters(text: str) -> str:
    """Without its digits: v1 is another level than v2, and no slip of the pen."""
    return "".join(one for one in text if not one.isdecimal())


def _compare_factor(
    spec: RunSpec, factors: Mapping[str, tuple[str, ...]], mistakes: Mistakes
) -> str | None:
    chosen = spec.compare.factor
    if chosen is not None and chosen not in factors:
        mistakes.fault(
            ("compare", "factor"),
            f"found {chosen!r}; the factors are: {', '.join(factors) or 'none'}"
            + did_you_mean(chosen, list(factors)),
        )
    if chosen is not None:
        return chosen
    return next((name for name, levels in factors.items() if len(levels) > 1), None)


def _packs(
    spec: RunSpec, kind: Kind, library: FolderLibrary, mistakes: Mistakes
) -> list[ScenarioPack]:
    if isinstance(kind, KeptKind):
        library.packs = (
            mistakes.collect(partial(ask_kind, kind, "read its cases", kind.packs)) or {}
        )
        if not library.packs:
            return []
    known = library.scenarios(kind.name)
    names: list[str] = []
    for index, pattern in enumerate(spec.scenarios):
        found = fnmatch.filter(known, pattern)
        if not found:
            mistakes.fault(
                ("scenarios", index),
                f"no {kind.name} scenario matches {pattern!r}; there are: "
                f"{', '.join(known) or 'none'}{did_you_mean(pattern, known)}",
            )
        names += [name for name in found if name not in names]
    packs: list[ScenarioPack] = []
    for name in names:
        if (own := library.packs.get(name)) is not None:
            packs.append(own)
            continue
        folder = library.folder(kind.name, name)
        if folder is not None:
            read = partial(kind.read_pack, folder, name)
            source = str(folder / PACK_FILE)
            pack = mistakes.collect(partial(ask_kind, kind, "read this pack", read, source))
            packs += [pack] if pack is not None else []
    return packs


def _top(path: str) -> str:
    """``limits.turns`` -> ``limits``."""
    return path.partition(".")[0].partition("[")[0]
