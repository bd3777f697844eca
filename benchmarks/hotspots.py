"""Where the time goes: a profile of play-tests on one loop, summed up by part of the program.

Work that the engine hands to threads (journal, tables) is done in line, so that one profile sees
all of it. Waits for the disk count, as time of SQLite. The profiler makes Python functions look
dearer than C functions: read shares, not seconds.
"""

from __future__ import annotations

import asyncio
import cProfile
import gc
import pstats
import re
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, ParamSpec, TypeVar, cast

import matrix
from benchmarks.figures import Section
from benchmarks.runs import PLENTY_USD, check_tables
from benchmarks.sizes import Sizes
from matrix import api
from matrix.engine.prepare.prepared import Prepared
from matrix.engine.run.progress import Silent
from matrix.model.documents.overrides import from_flags

P = ParamSpec("P")
R = TypeVar("R")

_TOP: Final = 15
_IDLE: Final = re.compile(r"'(?:poll|select|control)' of 'select\.")
_BUILTINS: Final = (
    ("sqlite", re.compile(r"sqlite3")),
    ("json", re.compile(r"orjson")),
    ("zlib", re.compile(r"zlib")),
    ("hashes", re.compile(r"_hashlib|_blake2|_sha|_md5")),
    ("regular expressions", re.compile(r"'re\.|_sre")),
    ("arrow", re.compile(r"pyarrow")),
    ("pydantic", re.compile(r"pydantic_core")),
    ("fsync", re.compile(r"fsync|fdatasync")),
    ("random numbers", re.compile(r"_random\.|seed")),
)
_HOME: Final = Path(matrix.__file__).parent
_OTHERS: Final = (
    (re.compile(r"/asyncio/|/selectors\.py|/concurrent/"), "asyncio"),
    (re.compile(r"/site-packages/(\w+)"), ""),
    (re.compile(r"/random\.py"), "random numbers"),
    (re.compile(r"/re/|/sre_"), "regular expressions"),
)

Function = tuple[str, int, str]
"""File, line and name, as the profiler keys functions."""


class _Stat(NamedTuple):
    """What the profiler says of a function: its own seconds, and by whom it was called."""

    self_s: float
    callers: dict[Function, float]


def measure(sizes: Sizes, section: Section) -> None:
    """Fill the section with shares of self time, by part and by function."""
    beside = _Beside()
    stats, calls = profile_run(sizes, beside)
    active = {key: stat for key, stat in stats.items() if not _IDLE.search(key[2])}
    whole = sum(stat.self_s for stat in active.values())
    how = f"cProfile, in-process executor, {sizes.profiled} play-tests"
    section.add("profiled time", whole, "s", how)
    section.add("profiled time per call", whole * 1000 / calls, "ms", "same run")
    section.add("of that: off the processor", beside.waited_s, "s", "disk, other programs")
    share = 100 * beside.seconds / whole
    section.add("garbage collection, in whatever part it strikes", share, "%", "gc.callbacks")
    for part, seconds in sorted(parts_of(active).items(), key=lambda item: -item[1]):
        if seconds / whole >= 0.002:
            section.add(f"self time in {part}", 100 * seconds / whole, "%", "same run")
    for key, stat in sorted(active.items(), key=lambda item: -item[1].self_s)[:_TOP]:
        section.add(f"function {_label(key)}", 100 * stat.self_s / whole, "%", "self time")


def profile_run(sizes: Sizes, beside: _Beside) -> tuple[dict[Function, _Stat], int]:
    """Profile one run of play-tests; its functions, and the calls that it made."""
    flags = {"sessions": sizes.profiled, "max_cost": float(PLENTY_USD)}
    prepared = api.plan(None, overrides=from_flags(flags))
    start = partial(api.start, prepared, executor="in-process", listener=_InLine())
    start(results=sizes.folder / "warm-up")  # imports and caches are not what is asked about
    profiler = cProfile.Profile()
    with beside:
        run = profiler.runcall(start, results=sizes.folder / "profile")
    totals = run.file.totals
    assert totals is not None
    check_tables(run.path, sessions=sizes.profiled, calls=totals.calls)
    raw = cast("dict[Function, Any]", pstats.Stats(profiler).stats)  # type: ignore[attr-defined]
    return {key: _stat(value) for key, value in raw.items()}, totals.calls


def parts_of(stats: dict[Function, _Stat]) -> dict[str, float]:
    """Self seconds by part; small built-in functions count for the part that called them."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for key, stat in stats.items():
        own = _part(key)
        if own is not None or not stat.callers:
            seconds[own or "Python"] += stat.self_s
            continue
        for caller, share in stat.callers.items():
            seconds[_part(caller) or "Python"] += share
    return seconds


def _part(key: Function) -> str | None:
    file, _, name = key
    if file == "~":
        return next((part for part, found in _BUILTINS if found.search(name)), None)
    if Path(file).is_relative_to(_HOME):
        inside = Path(file).relative_to(_HOME)
        return "simulated models" if "simulated" in inside.parts else inside.parts[0]
    for pattern, part in _OTHERS:
        if (found := pattern.search(file)) is not None:
            return part or found[1]
    return "standard library"


def _label(key: Function) -> str:
    file, line, name = key
    if file == "~":
        return re.sub(r" at 0x\w+", "", name)
    path = Path(file)
    return f"{path.parent.name}/{path.name}:{line} {name}"


def _stat(value: Any) -> _Stat:
    _, _, self_s, _, callers = value
    return _Stat(self_s, {caller: numbers[2] for caller, numbers in callers.items()})


class _Beside:
    """Seconds that the garbage collector takes inside the block, and seconds that are waited."""

    def __init__(self) -> None:
        self.seconds = self.waited_s = 0.0
        self._began = 0.0

    def __enter__(self) -> None:
        self.waited_s = time.process_time() - time.perf_counter()
        gc.callbacks.append(self._note)

    def __exit__(self, *_: object) -> None:
        gc.callbacks.remove(self._note)
        self.waited_s += time.perf_counter() - time.process_time()

    def _note(self, phase: str, info: dict[str, int]) -> None:
        now = time.perf_counter()
        if phase == "start":
            self._began = now
        else:
            self.seconds += now - self._began


class _InLine(Silent):
    """A listener that makes the run's loop do the work of its threads in line."""

    def starting(self, prepared: Prepared, run_id: str, run_dir: Path) -> None:
        asyncio.get_running_loop().set_default_executor(NoThreads())


class NoThreads(ThreadPoolExecutor):
    """An executor that does everything at once, on the thread that asks for it."""

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        done: Future[R] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:
            done.set_exception(error)
        return done
