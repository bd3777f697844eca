"""The code of a kind that is a file, where a run is taken up again: as it was kept, or as it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from matrix.engine.prepare.prepared import Prepared
from matrix.engine.prepare.registry import kind_file, load_kind
from matrix.kinds.protocol import KeptKind, Kind
from matrix.model.errors import BadInput, KindUnusable, Mistake
from matrix.model.seeds import content_hash


def code_hash(kind: Kind) -> str:
    """Content hash of the code that sessions are played with; empty for an installed kind."""
    return content_hash(dict(kind.kept)) if isinstance(kind, KeptKind) else ""


class CodeOfNow(NamedTuple):
    """A run with the code to play it, what to say of that, and the file where it is another."""

    prepared: Prepared
    told: str = ""
    changed: str = ""


def with_code_of_now(prepared: Prepared, project: Path, *, redone: bool) -> CodeOfNow:
    """A run that is taken up again, with the code to play it, and what there is to say of that.

    It is the code that it was begun with, unless turns are redone: then what is in the file now.

    Args:
        prepared: The run.
        project: Where the file is.
        redone: Whether turns or errored sessions are played anew.

    Raises:
        BadInput: What is in the file now cannot play the run's sessions.
    """
    if not (why := _changed(prepared, project)):
        return CodeOfNow(prepared)
    file = kind_file(prepared.kind.name)
    if not redone or file is None or not (project / file.file).exists():
        return CodeOfNow(
            prepared,
            f"{why} when the run began: it goes on with the code that it was begun with, which it "
            "has kept; --redo-turn and --redo-errored play what they redo, and all after that, "
            "with what is in the file now; a new run has one code",
        )
    try:
        now = load_kind(prepared.kind.name, project=project)
    except KindUnusable as error:
        raise BadInput([Mistake(prepared.source, None, "kind", str(error))]) from None
    if wrong := _unlike(prepared, now):
        told = f"{wrong}, so the run's sessions are none of it; start a new run"
        raise BadInput([Mistake(now.name, None, "", told)])
    assert isinstance(now, KeptKind)
    resources = {**prepared.resources, code_hash(now): dict(now.kept)}
    told = f"{why} when the run began: what is played from here on is played with what it is now"
    return CodeOfNow(replace(prepared, kind=now, resources=resources), told, file.file)


def _changed(prepared: Prepared, project: Path) -> str:
    """That the file of a run's kind is not as it was; empty if it is, or there is none."""
    kind = prepared.kind
    return kind.changed(project) if isinstance(kind, KeptKind) else ""


def code_of_then(prepared: Prepared) -> str:
    """That a continuation is played with code that its file has no more; empty if it is not."""
    if not (why := _changed(prepared, prepared.env_file.parent)):
        return ""
    return (
        f"{why} when the run began: its sessions are played on with the code that they were begun "
        "with; what the file does now, a new run shows"
    )


def _unlike(prepared: Prepared, now: Kind) -> str:
    """Why sessions that were planned with other code cannot be played with this; empty if so."""
    before = [role.name for role in prepared.kind.roles]
    roles = [role.name for role in now.roles]
    if before != roles:
        return f"has the roles {', '.join(roles)}, and had {', '.join(before)}"
    for cell in prepared.plan.cells:
        try:
            now.options_model.model_validate(cell.options)
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(map(str, first["loc"]))
            return f"takes no option {name!r} as the run has it ({first['msg']})"
    return ""
