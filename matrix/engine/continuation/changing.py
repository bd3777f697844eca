"""One moment of a session with one set of changes: options, models, scenario, texts, state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from matrix.engine.continuation.changes import SCENARIO, ContinuationRequest, Variant, as_level
from matrix.engine.continuation.inheritance import Forked
from matrix.engine.prepare.estimate import with_steps
from matrix.engine.prepare.judges import judges_in, with_judges
from matrix.engine.prepare.parameters import ParameterName, check_level, parameter_named
from matrix.engine.prepare.registry import ask_kind
from matrix.engine.session.session_log import SessionLog
from matrix.judging.listed import OPPONENT, ListedJudge
from matrix.kinds.context import MessageLog
from matrix.kinds.library import FolderLibrary
from matrix.kinds.protocol import Binding, Kind, PreviousPlay, ScenarioPack
from matrix.model.documents.mistakes import Mistakes
from matrix.model.documents.yaml_documents import Document, check
from matrix.model.errors import BadInput, Mistake, did_you_mean
from matrix.model.files import read_plain
from matrix.model.moments.checkpoint import Checkpoint
from matrix.model.records import JSON, Player, SessionPlan
from matrix.model.seeds import content_hash
from matrix.model.spec.judges import JUDGES
from matrix.model.spec.params import OWN
from matrix.store.blobs.initial import initial_tree_of

FILE_PREFIX = "file://"
MAX_TEXT = 200_000
"""Most bytes of a text that is read from a file."""

_DEFAULT = object()


@dataclass(frozen=True, slots=True)
class Changed:
    """A moment's session as it goes on.

    Attributes:
        plan: The parent's plan with the changes in it, and ``changed`` saying what they are.
        texts: Name -> text or data, for every name in the plan's resources.
        binding: What the kind makes of it.
        changes: What really is other than it was.
    """

    plan: SessionPlan
    texts: Mapping[str, JSON]
    binding: Binding
    changes: Variant


def check_names(
    kind: Kind, moments: Sequence[Checkpoint], requested: ContinuationRequest, mistakes: Mistakes
) -> ContinuationRequest:
    """Collect changes of what nobody knows; returns what is wanted without them."""
    roles, options = [role.name for role in kind.roles], list(kind.options_model.model_fields)
    texts = _texts_of(moments[0], {*roles, *options})
    known = [*roles, *options, SCENARIO, *texts]
    sound = {
        name: values
        for name, values in requested.changes.items()
        if name in known or parameter_named(name, roles) is not None
    }
    for name in requested.changes:
        if name not in sound:
            mistakes.add(
                [
                    Mistake(
                        requested.origin(name),
                        None,
                        "",
                        f"unknown change; what can be changed is a role ({', '.join(roles)}), an "
                        f"option ({', '.join(options)}), {SCENARIO}, or a parameter of calls "
                        f"({', '.join(sorted(OWN))}, or ROLE.PARAMETER)"
                        + (f", or a text ({', '.join(texts)})" if texts else "")
                        + (did_you_mean(name, known) or did_you_mean(name, sorted(OWN))),
                    )
                ]
            )
    return replace(requested, changes=sound)


def change_moment(
    kind: Kind,
    moment: Checkpoint,
    variant: Variant,
    requested: ContinuationRequest,
    library: FolderLibrary,
    mistakes: Mistakes,
    judges: Sequence[ListedJudge] | None = None,
) -> Changed | None:
    """Join a moment with one variant; ``None`` where that has mistakes, which are collected.

    ``judges`` are listed ones in place of those that its session has.
    """
    before = len(mistakes.found)
    plan = moment.plan
    roles = {role: str(variant.get(role, model)) for role, model in plan.roles.items()}
    if judges:
        roles[JUDGES] = ", ".join(dict.fromkeys(m for one in judges for m in one.models))
    params = _params(kind, plan, variant, requested, mistakes)
    options = {**plan.options}
    options |= {name: value for name, value in variant.items() if name in _options(kind)}
    document = Document(
        requested.flag,
        {"options": options},
        {},
        {("options", name): requested.origin(name) for name in variant},
    )
    checked = mistakes.collect(lambda: check(document, kind.options_model, ("options",)))
    pack = _pack(kind, plan, variant, requested, library, mistakes)
    files = _files(moment, variant, {*roles, *_options(kind)}, requested, library, mistakes)
    if checked is None or len(mistakes.found) > before:
        return None
    kept = PreviousPlay(plan, moment.texts)
    binding = mistakes.collect(
        lambda: ask_kind(
            kind,
            f"join session {plan.session_id} with these changes",
            lambda: kind.rebind(kept, checked, roles, library, pack),
            requested.flag,
        ),
        lambda mistake: _as_given(mistake, requested),
    )
    if binding is None:
        return None
    agents = moment.spec.get("agents") or {}
    binding = with_steps(binding, kind.roles, agents)
    listed = judges_in(moment.texts) if judges is None else judges
    binding = with_judges(binding, listed, kind, mistakes)
    changed = replace(
        plan,
        scenario=plan.scenario if pack is None else pack.name,
        options=checked.model_dump(mode="json"),
        roles=roles,
        params=params,
        levels={**plan.levels, **{name: as_level(value) for name, value in variant.items()}},
    )
    begun_with = {name: text for name, text in moment.texts.items() if initial_tree_of(text)}
    texts = {**begun_with, **binding.resources, **files}
    opponents = requested.opponents or {}
    if plan.session_id in opponents:
        texts[OPPONENT] = opponents[plan.session_id]
    elif requested.again and OPPONENT in moment.texts:  # who was beside it when it was judged last
        texts[OPPONENT] = moment.texts[OPPONENT]
    changes = _really(plan, changed, moment.texts, files, variant)
    words = ", ".join(f"{name}={as_level(variant[name])}" for name in changes)
    hashes = {name: content_hash(value) for name, value in texts.items()}
    return Changed(replace(changed, resources=hashes, changed=words), texts, binding, changes)


def fork_moment(
    kind: Kind,
    moment: Checkpoint,
    changed: Changed,
    requested: ContinuationRequest,
    mistakes: Mistakes,
) -> Forked | None:
    """What the changes make of the state; ``None`` with mistakes, which are collected."""
    plan = changed.plan
    of_kind = {**plan.roles, **plan.options, **changed.texts, SCENARIO: ""}
    changes = {name: value for name, value in changed.changes.items() if name in of_kind}
    if not changes:  # parameters of calls are none of the kind's business
        return Forked(moment.state)
    context = _Fork(changed.plan, moment, changed.texts)
    state = kind.state_model.model_validate_json(moment.state)
    forked = mistakes.collect(
        lambda: ask_kind(
            kind,
            f"carry session {moment.plan.session_id} over",
            lambda: (kind.fork(context, state, changes),),
            requested.flag,
        ),
        lambda mistake: _as_given(mistake, requested),
    )
    if forked is None:
        return None
    (state,) = forked
    added = context.messages.since(len(moment.log))
    return Forked(state.model_dump_json().encode(), added, tuple(context.players))


@dataclass(slots=True)
class _Fork:
    """What a kind sees of a moment while it carries the state over."""

    plan: SessionPlan
    moment: Checkpoint
    texts: Mapping[str, JSON]
    players: list[Player] = field(default_factory=list)
    messages: SessionLog = field(init=False)

    def __post_init__(self) -> None:
        self.messages = SessionLog(self.moment.log)

    @property
    def turn(self) -> int:
        return self.moment.turn

    @property
    def log(self) -> MessageLog:
        return self.messages

    @property
    def prelude(self) -> JSON:
        return self.moment.prelude

    def resource(self, name: str) -> JSON:
        return self.texts[name]

    def player(self, player: Player) -> None:
        self.players.append(player)


def _params(
    kind: Kind,
    plan: SessionPlan,
    variant: Variant,
    requested: ContinuationRequest,
    mistakes: Mistakes,
) -> dict[str, dict[str, JSON]]:
    """Parameters of calls, with those that are to be other set for their role, or for every one."""
    params = {role: dict(own) for role, own in plan.params.items()}
    for name, value in variant.items():
        if name in plan.roles or name in _options(kind):
            continue
        parameter = parameter_named(name, plan.roles)
        if parameter is None:
            continue
        said = Document(requested.origin(name), {}, {}, {})
        level = mistakes.collect(partial(check_level, said, (), parameter, value))
        for role in plan.roles if parameter.role is None else [parameter.role]:
            params.setdefault(role, {})[parameter.name] = level
    return params


def _options(kind: Kind) -> set[str]:
    return set(kind.options_model.model_fields)


def _texts_of(moment: Checkpoint, taken: set[str]) -> list[str]:
    """Texts that can be given as files: those that no option names."""
    return [
        name for name, text in moment.texts.items() if isinstance(text, str) and name not in taken
    ]


def _pack(
    kind: Kind,
    plan: SessionPlan,
    variant: Variant,
    requested: ContinuationRequest,
    library: FolderLibrary,
    mistakes: Mistakes,
) -> ScenarioPack | None:
    name = variant.get(SCENARIO, plan.scenario)
    if name == plan.scenario:
        return None
    folder = library.folder(kind.name, name) if isinstance(name, str) else None
    if folder is None:
        known = library.scenarios(kind.name)
        hint = did_you_mean(str(name), known)
        message = f"found {name!r}; {kind.name} scenarios: {', '.join(known) or 'none'}{hint}"
        mistakes.add([Mistake(requested.origin(SCENARIO), None, "", message)])
        return None
    return mistakes.collect(lambda: kind.read_pack(folder, str(name)))


def _files(
    moment: Checkpoint,
    variant: Variant,
    taken: set[str],
    requested: ContinuationRequest,
    library: FolderLibrary,
    mistakes: Mistakes,
) -> dict[str, str]:
    """Texts that are given as files."""
    found: dict[str, str] = {}
    for name in _texts_of(moment, taken):
        if name in variant:
            try:
                found[name] = _read(variant[name], library)
            except (ValueError, OSError) as error:
                mistakes.add([Mistake(requested.origin(name), None, "", str(error))])
            except BadInput as error:
                mistakes.add(
                    Mistake(requested.origin(name), None, "", mistake.message)
                    for mistake in error.mistakes
                )
    return found


def _read(reference: Any, library: FolderLibrary) -> str:
    if not isinstance(reference, str) or not reference.startswith(FILE_PREFIX):
        raise ValueError(f"found {reference!r}; name a file with the text: {FILE_PREFIX}PATH")
    path = library.project_file(reference)
    if path.stat().st_size > MAX_TEXT:
        raise ValueError(f"{path} is larger than the {MAX_TEXT:,} bytes that a text may have")
    text = read_plain(path, MAX_TEXT).decode("utf-8")
    if not text.strip():
        raise ValueError(f"{path} is empty; write the text in it")
    return text


def _really(
    before: SessionPlan,
    after: SessionPlan,
    texts: Mapping[str, JSON],
    files: Mapping[str, str],
    variant: Variant,
) -> dict[str, JSON]:
    """The changes that make a difference: values that were other before, as they are now."""
    now: dict[str, JSON] = {**after.roles, **after.options, **files, SCENARIO: after.scenario}
    old: dict[str, JSON] = {**texts, **before.roles, **before.options, SCENARIO: before.scenario}
    for name in variant:
        if (parameter := parameter_named(name, after.roles)) is not None and name not in now:
            now[name] = _values_of(parameter, after)
            old[name] = _values_of(parameter, before)
    # plans may leave out options at their defaults, and older plans know none of later versions
    return {
        name: now.get(name, variant[name])
        for name in variant
        if now.get(name, _DEFAULT) != old.get(name, _DEFAULT)
    }


def _values_of(parameter: ParameterName, plan: SessionPlan) -> JSON:
    roles = plan.roles if parameter.role is None else [parameter.role]
    return [plan.params.get(role, {}).get(parameter.name) for role in roles]


def _as_given(mistake: Mistake, requested: ContinuationRequest) -> Mistake:
    """A mistake that a kind found in an option or role, placed where it was given."""
    name = (mistake.path or mistake.source).removeprefix("options.").removeprefix("roles.")
    name = name.partition("[")[0]
    if mistake.line is not None or name not in requested.changes:
        return mistake
    return Mistake(requested.origin(name), None, "", mistake.message)
