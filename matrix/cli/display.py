"""Progress while a run goes on: a live table on a terminal, plain lines elsewhere.

Everything goes to standard error, so that standard output holds only results.
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

from matrix.cli.printing import say, text_width
from matrix.model.lines import harmless

if TYPE_CHECKING:
    from matrix.engine.prepare.prepared import Prepared
    from matrix.engine.run.progress import Progress

LOG_EVERY_S = 10.0
REFRESH_PER_S = 4
SHOW_CURSOR = "\x1b[?25h"
DUMB = ("dumb", "unknown")
"""What terminals are called that have no cursor to move."""


class Quiet:
    """Shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Nothing to take down; what is printed from here on needs somewhere to go."""
        let_go_of_the_dead()

    def starting(self, prepared: Prepared, run_id: str, run_dir: Path) -> None:
        """Nothing to show."""

    def progress(self, progress: Progress) -> None:
        """Nothing to show."""

    def note(self, text: str) -> None:
        """Notes are shown even when quiet: they explain an early end."""
        _say(text)

    def remark(self, text: str) -> None:
        """Nothing that must be seen."""

    def last_word(self, text: str) -> None:
        """Shown even when quiet."""
        from matrix.engine.run.progress import write_past_everything

        write_past_everything(text)


class LogLines(Quiet):
    """A line every ten seconds, for logs and pipes."""

    def __init__(self) -> None:
        self._last = 0.0

    def starting(self, prepared: Prepared, run_id: str, run_dir: Path) -> None:
        """The plan, and where results go."""
        from matrix.report.planning.plan import plan_as_text

        _say(plan_as_text(prepared))
        from matrix.store.run.run_folder import from_here

        _say(f"run {run_id} in {from_here(run_dir)}")
        self._last = time.monotonic()

    def progress(self, progress: Progress) -> None:
        """One line, at most every ten seconds."""
        from matrix.cli.so_far import progress_line

        now = time.monotonic()
        if now - self._last >= LOG_EVERY_S:
            self._last = now
            _say(progress_line(progress))

    def remark(self, text: str) -> None:
        """A line."""
        _say(text)


class LiveDisplay(Quiet):
    """A table that is redrawn in place, a few times a second, by a thread of its own.

    So it shows that time goes on also while nothing is heard of the run.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        from rich.console import Console

        self._console = Console(file=sys.stderr, highlight=False, markup=False, emoji=False)
        self._live: Any = None
        self._range: tuple[float, float] | None = None
        self._clock = clock
        self._newest: tuple[Progress | None, float] = (None, clock())

    def starting(self, prepared: Prepared, run_id: str, run_dir: Path) -> None:
        """The plan stays above the live table."""
        from rich.live import Live

        from matrix.report.planning.plan import plan_as_text

        self._range = prepared.kind.score_range
        width = text_width(sys.stderr)
        self._console.print(harmless(plan_as_text(prepared, width=width)), soft_wrap=True)
        from matrix.store.run.run_folder import from_here

        self._console.print(harmless(f"run {run_id} in {from_here(run_dir)}\n"), soft_wrap=True)
        self._newest = (None, self._clock())
        self._live = Live(
            get_renderable=self._table, console=self._console, refresh_per_second=REFRESH_PER_S
        )
        self._live.start()

    def progress(self, progress: Progress) -> None:
        """What is drawn next."""
        self._newest = (progress, self._clock())

    def _table(self) -> Any:
        from matrix.cli.live_table import LiveTable
        from matrix.cli.so_far import so_far
        from matrix.report.text import duration

        progress, taken = self._newest
        later_s = self._clock() - taken
        if progress is None:
            return f"starting, {duration(later_s)}"
        return LiveTable(so_far(progress, self._range, later_s=later_s))

    def note(self, text: str) -> None:
        """Above the table, and whole: a line is not broken where it could not be copied."""
        with suppress(OSError):
            self._console.print(harmless(text), soft_wrap=True)

    def remark(self, text: str) -> None:
        """Above the table, as wide as that is; what is there to be copied stays whole."""
        from matrix.report.text import wrapped

        if "`" not in text:
            text = wrapped(text, width=text_width(sys.stderr))
        self.note(text)

    def last_word(self, text: str) -> None:
        """Below the table, with the cursor that it had hidden."""
        super().last_word(f"{SHOW_CURSOR}\n{text}")

    def close(self) -> None:
        """Leave the last table on the screen."""
        super().close()
        if self._live is not None:
            self._live.stop()
            self._live = None
            self._console.print()


def can_be_redrawn(stream: IO[str], environ: Mapping[str, str]) -> bool:
    """Whether lines of a stream can be drawn again: a terminal that somebody looks at.

    Logs of ``CI`` keep every drawing as lines of their own, and a dumb terminal cannot go up.
    """
    return stream.isatty() and not environ.get("CI") and environ.get("TERM") not in DUMB


def _say(text: str) -> None:
    """A line on standard error; a run does not end because nobody can read it."""
    with suppress(OSError):
        say(text, err=True)


def let_go_of_the_dead() -> None:
    """Standard output and error go nowhere if whoever read them is gone, as a closed terminal is.

    Writing to it would fail, and end in place of its orderly end a run that its end interrupts.
    """
    for descriptor in (1, 2):
        look = select.poll()
        look.register(descriptor, 0)
        if any(event & (select.POLLHUP | select.POLLERR) for _, event in look.poll(0)):
            with open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), descriptor)
