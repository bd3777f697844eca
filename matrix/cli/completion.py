"""What shells offer after TAB: runs, sessions, metrics, specs.

Shells read what is offered as words of their own language (zsh evaluates them), so only names are
offered that no shell takes for anything but a name; others can still be typed, and where nothing is
offered the shell goes on with files. Whatever goes wrong here offers nothing, and says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

if TYPE_CHECKING:
    from matrix.store.journal.journal import JournalReader

_WORD: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+@%/-]{0,200}")
MOST: Final = 500
"""Names that are offered at most; nobody reads more."""
_SEEN_FOR_SCORES: Final = 20
"""Newest sessions that are read for the names of their scores."""
_EXTREMES: Final = ("best", "worst", "longest", "failed")

Offer = Callable[[typer.Context, str], list[str]]


def _words(find: Callable[[typer.Context], Iterable[str]]) -> Offer:
    """Offer what begins with what was typed, if a shell may be given it."""

    @wraps(find)
    def offered(ctx: typer.Context, incomplete: str) -> list[str]:
        found: dict[str, None] = {}
        with suppress(Exception):  # a prompt is no place for an error: nobody asked for anything
            for word in find(ctx):
                if word.startswith(incomplete) and _WORD.fullmatch(word):
                    found[word] = None
        return list(islice(found, MOST))

    # typer goes by annotations, and those of `find` are not these
    offered.__annotations__ = {"ctx": typer.Context, "incomplete": str, "return": list[str]}
    del offered.__wrapped__
    return offered


@_words
def runs(ctx: typer.Context) -> Iterator[str]:
    """Ids of the runs in the results folder, and ``last``."""
    yield "last"
    yield from sorted(path.parent.name for path in _results(ctx).glob("*/run.json"))


@_words
def sessions(ctx: typer.Context) -> Iterator[str]:
    """Ids of the sessions of the run that was named, and what stands for one."""
    yield from _EXTREMES
    with _journal(ctx) as reader:
        yield from reader.session_ids()


@_words
def metrics(ctx: typer.Context) -> Iterator[str]:
    """What sessions of the run that was named can be compared on."""
    from matrix.model.entries import TurnDone
    from matrix.model.metrics import FAILED, SESSION_METRICS

    yield from (*SESSION_METRICS, FAILED)
    with _journal(ctx) as reader:
        for session_id in reader.session_ids()[-_SEEN_FOR_SCORES:]:
            for entry in reader.session(session_id):
                if isinstance(entry, TurnDone):
                    yield from sorted(score.name for score in entry.scores)


@_words
def specs(ctx: typer.Context) -> Iterator[str]:
    """Run specs: by name, files here, and folders that have one. Other paths the shell knows."""
    from matrix.engine.prepare.spec_files import SPEC_NAME, spec_names

    here = Path()
    yield from spec_names(here)
    yield from sorted(path.name for path in here.glob("*.y*ml"))
    yield from sorted(path.parent.name for path in here.glob(f"*/{SPEC_NAME}"))


def _results(ctx: typer.Context) -> Path:
    return Path(ctx.params["results"])


def _journal(ctx: typer.Context) -> Any:
    """The journal of the run that stands before the cursor, the newest if none does."""
    from matrix.store.journal.journal import JOURNAL_NAME, JournalReader
    from matrix.store.run.run_folder import find_run

    run: str = ctx.params.get("run") or "last"
    reader: JournalReader = JournalReader(find_run(_results(ctx), run) / JOURNAL_NAME)
    return closing(reader)
