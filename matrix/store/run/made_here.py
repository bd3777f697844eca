"""Which runs this user made: by a mark that takes a key of the user's own, which no file holds.

A run's folder may have been sent by somebody else. What it names (addresses, variables with keys,
programs, prices, caps) is its user's own word only where this program wrote it for that user. So
the mark is about all that a run does when it is taken up again; a run that was changed since, or
made on another machine, has none that holds.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from matrix.model.files import read_plain
from matrix.model.seeds import canonical
from matrix.store.run.own_files import FOLDER_MODE, make_private_with

if TYPE_CHECKING:
    from matrix.store.run.run_folder import RunFile

PLAN_NAME: Final = "plan.json"
"""What a run does when it is taken up again."""

NOT_MADE_HERE: Final = (
    "is not a run that you made here, or was changed since: what it says of itself, and whether it "
    "was simulated, is the word of whoever wrote it"
)
KEY_NAME: Final = "runs.key"
_KEY_BYTES: Final = 32


def mark_of(run_dir: Path, run: RunFile, environment: Mapping[str, str] = os.environ) -> str:
    """The mark of a run as it is; empty where there can be none.

    Args:
        run_dir: Its folder, with its plan.
        run: What ``run.json`` says, or will say.
        environment: Where the user's own folder is looked for.
    """
    try:
        key = _key(_place(environment))
        plan = sha256(read_plain(run_dir / PLAN_NAME)).hexdigest()
        caps = [[*one.path, one.value] for one in run.caps_given]
        told = canonical([run.run_id, run.kind, run.spec, caps, plan])
    except (OSError, RuntimeError, TypeError):  # no home, no space, no plan, or no JSON of ours
        return ""
    return hmac.new(key, told, sha256).hexdigest()


def is_made_here(run_dir: Path, run: RunFile, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether this user made a run, and nobody else has changed it."""
    return bool(run.mark) and hmac.compare_digest(run.mark, mark_of(run_dir, run, environment))


def mark_of_file(name: str, environment: Mapping[str, str] = os.environ) -> str:
    """The mark of a file that runs share, by the random name that it got when it was begun.

    It is empty where there can be none. What was written into a file of this user's later is not
    in it: it tells whether a file came from elsewhere, not whether it was changed.
    """
    try:
        key = _key(_place(environment))
    except (OSError, RuntimeError):
        return ""
    return hmac.new(key, canonical(["file", name]), sha256).hexdigest()


def _place(environment: Mapping[str, str]) -> Path:
    """Where programs keep what is of a user and of one machine (XDG base directories 0.8)."""
    state = environment.get("XDG_STATE_HOME", "")
    folder = Path(state) if state.startswith("/") else Path.home() / ".local" / "state"
    return folder / "matrix" / KEY_NAME


def _key(path: Path) -> bytes:
    """The user's key, made at its first use; whoever else makes one meanwhile was first."""
    with suppress(FileNotFoundError):
        return _whole(path)
    path.parent.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
    fresh = path.with_name(f"{KEY_NAME}.{secrets.token_hex(4)}")
    make_private_with(fresh, secrets.token_bytes(_KEY_BYTES))
    try:
        os.link(fresh, path)
    except FileExistsError:
        pass
    finally:
        fresh.unlink()
    return _whole(path)


def _whole(path: Path) -> bytes:
    key = read_plain(path)
    if len(key) < _KEY_BYTES:
        raise OSError(f"{path} is no key")
    return key
