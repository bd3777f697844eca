"""From a spec and what goes over it to a run that could start."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from matrix.engine.prepare.check_comparison import check_baseline
from matrix.engine.prepare.keys import notes_on_variables
from matrix.engine.prepare.prepare_run import prepare
from matrix.engine.prepare.prepared import Prepared
from matrix.engine.prepare.registry import known_variables
from matrix.engine.prepare.spec_files import locate_spec
from matrix.engine.run.surroundings import require_agent_files
from matrix.kinds.protocol import DeclaresGates
from matrix.model.documents.mistakes import together
from matrix.model.documents.overrides import (
    OUTSIDE,
    Override,
    check_variables,
    from_environment,
    from_flags,
    from_models,
)
from matrix.model.errors import BadInput, Mistake


def plan(
    spec: str | Path | None = None,
    *,
    sessions: int | None = None,
    per_cell: int | None = None,
    max_cost: float | None = None,
    budget: str | None = None,
    seed: int | None = None,
    max_turns: int | None = None,
    at_cap: str | None = None,
    stop_early: bool | None = None,
    models: Mapping[str, str] | None = None,
    settings: Mapping[str, Any] | None = None,
    overrides: Iterable[Override] = (),
    options: Mapping[str, str | bool] | None = None,
    allow_outside: bool = False,
) -> Prepared:
    """Check everything and expand the plan, without starting anything.

    Arguments are those of :func:`run`; ``MATRIX_*`` variables go under them, over the file.
    ``options`` are those that a kind has for its own files, such as ``{"--inputs": "T1,T2"}``.
    ``allow_outside`` has ``file://`` and links lead out of the project, and to hidden files, as
    ``MATRIX_ALLOW_OUTSIDE`` does for every command.

    Raises:
        BadInput: Every mistake.
    """
    here = Path.cwd()
    _, file = together(
        lambda: check_variables(known_variables),
        lambda: locate_spec(Path(spec) if spec is not None else None, here),
    )
    flags = {
        "sessions": sessions,
        "per_cell": per_cell,
        "max_cost": max_cost,
        "budget": budget,
        "seed": seed,
        "max_turns": max_turns,
        "at_cap": at_cap,
        "stop_early": stop_early,
    }
    layers = [
        *from_environment(),
        *((tuple(path.split(".")), value, path) for path, value in (settings or {}).items()),
        *from_models(f"{role}={model}" for role, model in (models or {}).items()),
        *from_flags(flags, "{}"),
        *overrides,
    ]
    outside = allow_outside or os.environ.get(OUTSIDE, "").lower() in ("1", "true", "yes")
    return prepare(file, layers, given=options, allow_outside=outside)


def validate(
    spec: str | Path | None = None,
    *,
    notes: list[str] | None = None,
    allow_outside: bool = False,
) -> list[Mistake]:
    """Every mistake in a spec and the packs it names, and in what its agents run of the project.

    What is odd and no mistake is added to ``notes``; ``allow_outside`` is that of :func:`plan`.
    Keys, programs and addresses are not looked at, as they are of the machine: :func:`doctor` does;
    a variable of ``pass_env`` that is not set here is a note.
    """
    try:
        prepared = plan(spec, allow_outside=allow_outside)
        if notes is not None:
            notes += as_seen_here(prepared).notes
        together(lambda: require_agent_files(prepared), lambda: _check_paired(prepared))
    except BadInput as error:
        return list(error.mistakes)
    return []


def as_seen_here(prepared: Prepared) -> Prepared:
    """A plan with notes of what keeps it from being run on this machine as it is now."""
    return replace(prepared, notes=(*prepared.notes, *notes_on_variables(prepared, os.environ)))


def _check_paired(prepared: Prepared) -> None:
    """See that the file that a kind's runs are held against is there, and can be compared with one.

    Raises:
        BadInput: It is not, or cannot be.
    """
    check_baseline(prepared)
    kind = prepared.kind
    if not isinstance(kind, DeclaresGates) or kind.baseline is None:
        return
    from matrix.api.gating import LATER, THIS_RUN
    from matrix.api.runs.importing import import_results
    from matrix.api.runs.run_descriptions import run_file
    from matrix.report.compare.matching import not_paired

    with TemporaryDirectory(prefix="matrix-baseline-") as folder:
        baseline = import_results(kind.baseline, results=folder, run_id="baseline").file
    wrong = not_paired(baseline, run_file(prepared, THIS_RUN, LATER))
    if wrong:
        where = str(kind.baseline)
        raise BadInput(Mistake(kind.name, None, "baseline", f"{where}: {one}") for one in wrong)
