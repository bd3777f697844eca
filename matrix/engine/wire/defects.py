"""Exceptions of a kind: what tells them from trouble around it, and how they are written down.

Whatever a kind raises that is none of this project's own errors is a defect of its code. Its
traceback is kept whole (up to a bound), begins in the kind's code, and has no secrets in it: it
goes into the journal, the tables, the log and the summary.
"""

from __future__ import annotations

import asyncio
import os
import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple

from matrix.model.entries import Ended
from matrix.model.errors import CallFailed, KindDefect, MatrixError, SessionStop
from matrix.model.records import storable_text
from matrix.model.seeds import content_hash
from matrix.telemetry.redaction import redact, secrets_in

MAX_DEFECT: Final = 12_000
"""Characters of an exception with its traceback that a row keeps."""

_MAX_LINE: Final = 500
"""Characters of the line that sums it up."""

_CUT: Final = "\n  ...\n"

_FRAME: Final = re.compile(r'^  File "(.+?)", line (\d+)', re.MULTILINE)
"""A frame of a traceback: its file and line."""

_AROUND: Final = frozenset(
    {
        contextmanager.__code__.co_filename,
        *(
            str(Path(__file__).parents[1] / f"{name}.py")
            for name in ("wire/defects", "session/durable_session", "wire/telemetry_events")
        ),
        str(Path(__file__).parents[2] / "kinds/function/kind.py"),  # plays code of files
    }
)
"""Files whose frames come before the kind's in every traceback and say nothing."""


@contextmanager
def by_the_kind() -> Iterator[None]:
    """Run code of a kind, or look at what it gave.

    Code that ends its program, or cancels itself where nobody cancelled it, ends its session only.

    Raises:
        KindDefect: It raised what is none of this project's errors.
    """
    try:
        yield
    except MatrixError:
        raise
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise KindDefect(described(error)) from error
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        raise KindDefect(described(error)) from error


def described(error: BaseException) -> str:
    """An exception in one line, and under it the traceback, without secrets."""
    begin = _own(error.__traceback__) or error.__traceback__
    told = "".join(traceback.format_exception(type(error), error, begin)).rstrip()
    whole = storable_text(f"{summed_up(error)}\n{told}")
    whole = redact(whole, secrets_in(os.environ))
    if len(whole) <= MAX_DEFECT:
        return whole
    half = (MAX_DEFECT - len(_CUT)) // 2  # where it began and what it came to, not the repeats
    return whole[:half] + _CUT + whole[-half:]


def summed_up(error: BaseException) -> str:
    """An exception in one line."""
    said = " ".join(str(error).split())
    name = type(error).__name__
    if isinstance(error, AttributeError | TypeError) and "'coroutine'" in said:
        said += "; was `await` forgotten?"
    return f"{name}: {said}"[:_MAX_LINE] if said else name


def is_defect(error_class: str) -> bool:
    """Whether a session of this error class came upon a defect of its kind."""
    return error_class == KindDefect.__name__


class DefectAt(NamedTuple):
    """A defect of a kind's code, told from others.

    Attributes:
        identity: Equal where an exception of the same class came by the same lines, whatever it
            says of its session.
        told: The exception and its place in the kind's code, in one line.
    """

    identity: str
    told: str


def defect_of(ended: Ended) -> DefectAt | None:
    """The defect that ended a session; ``None`` if none did."""
    if not is_defect(ended.error_class):
        return None
    summary, _, told = ended.reason.partition("\n")
    # nodes of a cluster may have a package in different folders
    frames = [(Path(file).name, line) for file, line in _FRAME.findall(told)]
    identity = content_hash([summary.partition(":")[0], frames])
    own = [(file, line) for file, line in frames if file == frames[0][0]]
    place = f" ({own[-1][0]}:{own[-1][1]})" if own else ""
    return DefectAt(identity, summary + place)


def prelude_failed(why: str) -> SessionStop:
    """What ends the sessions of a round whose prelude failed; ``why`` has class and reason."""
    error_class, _, reason = why.partition(": ")
    if is_defect(error_class):
        return KindDefect(reason)
    return CallFailed(
        "PreludeFailed", f"what the variants of this round share could not be made: {why}"
    )


def _own(frames: TracebackType | None) -> TracebackType | None:
    """The traceback from the first frame on that is not the engine's."""
    while frames is not None and frames.tb_frame.f_code.co_filename in _AROUND:
        frames = frames.tb_next
    return frames
