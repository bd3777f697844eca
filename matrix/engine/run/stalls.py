"""Says where code of a kind holds up everything else: a loop without ``await``, a call that waits.

Sessions share one event loop, so code that does not give it back stops all of them, and nobody
could say so from within. A thread sees that the loop no longer moves, and looks where it stands.
"""

from __future__ import annotations

import asyncio
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

PATIENCE_S: Final = 30.0
"""How long nothing may move before it is told."""

_BEATS: Final = 4
"""How often the loop shows that it moves in that time."""

_LOOP: Final = asyncio.events.__file__
_HOME: Final = str(Path(__file__).parents[2])
_NOT_THEIRS: Final = tuple(
    f"{folder}/" for folder in (_HOME, *map(sysconfig.get_path, ("stdlib", "purelib", "platlib")))
)


@contextmanager
def stalls(tell: Callable[[str], None], *, patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Have ``tell`` called, from a thread, whenever code holds up the running loop for so long.

    Args:
        tell: Is given the file and line of the code, once for each time.
        patience_s: Seconds.
    """
    loop, mine = asyncio.get_running_loop(), threading.get_ident()
    over, moved = threading.Event(), threading.Event()
    pending: list[asyncio.TimerHandle] = []

    def beat() -> None:
        moved.set()
        pending[:] = [loop.call_later(patience_s / _BEATS, beat)]

    def watch() -> None:
        told = False
        while not over.is_set():
            if moved.wait(patience_s):
                moved.clear()
                told = False
                over.wait(patience_s / _BEATS)
            elif not (told or over.is_set()):
                told = True
                if where := code_at(sys._current_frames().get(mine)):
                    tell(where)

    beat()
    thread = threading.Thread(target=watch, name="stalls", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        moved.set()
        for one in pending:
            one.cancel()


def code_at(frame: FrameType | None) -> str:
    """Where the innermost frame is that is neither this program's nor a library's, as file:line.

    Of those that the event loop has called. Empty where there is none: then it is no code of a
    user's that holds it up.
    """
    while frame is not None and frame.f_code.co_filename != _LOOP:
        name = frame.f_code.co_filename
        if not name.startswith((*_NOT_THEIRS, "<")):
            return f"{Path(name).name}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
