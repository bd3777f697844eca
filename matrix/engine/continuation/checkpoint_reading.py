"""From an exported file to a moment that can be gone on from, judged by what is installed here.

The file is untrusted: whoever wrote it could say anything in it. What is checked here is what only
the installed code can tell; what a file can say by itself was checked when it was read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matrix.engine.prepare.registry import kind_file, kinds, load_kind
from matrix.kinds.library import FolderLibrary
from matrix.kinds.protocol import Kind, PreviousPlay
from matrix.model.documents.mistakes import Mistakes
from matrix.model.documents.yaml_documents import Document, PathKey, check
from matrix.model.errors import BadInput, KindUnusable, did_you_mean
from matrix.model.moments.checkpoint import Checkpoint
from matrix.model.moments.checkpoint_file import CheckpointFile as CheckpointFile
from matrix.model.spec.run_spec import RunSpec
from matrix.providers.simulated.settings import SimulationSettings

_STATE: PathKey = ("continuation", "state")
_SPEC: PathKey = ("continuation", "spec")
_PLAN: PathKey = ("continuation", "plan")


def moment_in(file: CheckpointFile, source: str, project: Path) -> Checkpoint:
    """The moment that a file holds.

    Args:
        file: What was read.
        source: Where, for messages.
        project: Folder whose own packs come first.

    Raises:
        BadInput: The installed kind cannot go on from it; every mistake.
    """
    there = file.continuation
    mistakes = Mistakes(Document(source, file.model_dump(mode="json"), {}, {}))
    if there.spec is None:
        mistakes.fault(
            ("format",),
            f"found {file.format}; files of format 1 have no run spec and can only be read: write "
            f"it anew where its run is, with `matrix export {file.run} {there.plan.session_id} "
            f"--turn {file.turn} -o FILE`",
        )
    else:
        mistakes.collect(lambda: check(mistakes.document, RunSpec, _SPEC))
        simulation = (*_SPEC, "simulation")
        mistakes.collect(lambda: check(mistakes.document, SimulationSettings, simulation))
    kind = _kind(mistakes, there.plan.kind)
    mistakes.stop_if_any()
    assert kind is not None
    assert there.spec is not None
    moment = Checkpoint(
        run_id=file.run,
        spec=dict(there.spec),
        plan=there.session_plan(),
        turns=(there.checkpoint(),),
        prelude=there.prelude,
        texts={name: there.resources[key] for name, key in there.plan.resources.items()},
        contents=None if there.folder is None else there.folder.contents(source),
    )
    _check_session(kind, moment, mistakes, FolderLibrary(project))
    mistakes.stop_if_any()
    return moment


def _kind(mistakes: Mistakes, name: str) -> Kind | None:
    installed = kinds()
    if kind_file(name) is not None:
        told = f"{name} is a kind in a file, and code is not taken from a checkpoint file"
        mistakes.fault((*_PLAN, "kind"), f"{told}; go on from its run: matrix replay RUN SESSION")
        return None
    if name not in installed:
        mistakes.fault(
            (*_PLAN, "kind"),
            f"found {name!r}; installed kinds: {', '.join(sorted(installed))}; install the one "
            f"that the session was played with{did_you_mean(name, list(installed))}",
        )
        return None
    try:
        return load_kind(name)
    except KindUnusable as error:
        mistakes.fault((*_PLAN, "kind"), str(error))
        return None


def _check_session(
    kind: Kind, moment: Checkpoint, mistakes: Mistakes, library: FolderLibrary
) -> None:
    """Collect what the installed kind cannot go on from."""
    document, plan = mistakes.document, moment.plan
    if plan.part != "play":
        mistakes.fault((*_PLAN, "part"), f"found {plan.part!r}; only 'play' can be gone on from")
    mistakes.add(
        mistakes.at((*_PLAN, "roles"), f"says no model for the role {role.name}")
        for role in kind.roles
        if role.name not in plan.roles
    )
    if moment.versions == (kind.version, kind.state_version):  # said by whoever goes on from it
        mistakes.collect(lambda: check(document, kind.state_model, _STATE))
    options = mistakes.collect(lambda: check(document, kind.options_model, (*_PLAN, "options")))
    if options is None or mistakes.found:
        return
    try:
        kind.rebind(PreviousPlay(plan, moment.texts), options, plan.roles, library)
    except BadInput as error:
        mistakes.add(error.mistakes)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        mistakes.fault(
            ("continuation", "resources"), f"the {kind.name} kind cannot read them: {_short(error)}"
        )


def _short(error: Any) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]
