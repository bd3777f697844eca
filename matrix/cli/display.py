"""Progress while a run goes on: a live picture on a terminal, plain lines elsewhere.

Everything goes to standard error, so that standard output holds only results.
"""

from __future__ import annotations

import os
import select
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from matrix.cli.printing import say, text_width
from matrix.model.lines import harmless

if TYPE_CHECKING:
    from matrix.engine.prepare.prepared import Prepared
    from matrix.engine.run.progress import Progress
    from matrix.engine.wire.messages import Counters

LOG_EVERY_S = 10.0
ETA_FROM = 0.1
"""Share of the sessions that must have ended before a time left is worth showing: sessions run
side by side, so the first to end says little about the rest."""


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
        now = time.monotonic()
        if now - self._last >= LOG_EVERY_S:
            self._last = now
            _say(progress_line(progress))

    def remark(self, text: str) -> None:
        """A line."""
        _say(text)


class LiveDisplay(Quiet):
    """A picture that is redrawn in place."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(file=sys.stderr, highlight=False, markup=False, emoji=False)
        self._live: Any = None
        self._range: tuple[float, float] | None = None

    def starting(self, prepared: Prepared, run_id: str, run_dir: Path) -> None:
        """The plan stays above the live picture."""
        from rich.live import Live
        from rich.text import Text

        from matrix.report.planning.plan import plan_as_text

        self._range = prepared.kind.score_range
        width = text_width(sys.stderr)
        self._console.print(harmless(plan_as_text(prepared, width=width)), soft_wrap=True)
        from matrix.store.run.run_folder import from_here

        self._console.print(f"run {run_id} in {from_here(run_dir)}\n", soft_wrap=True)
        self._live = Live(Text("starting ..."), console=self._console, refresh_per_second=4)
        self._live.start()

    def progress(self, progress: Progress) -> None:
        """Redraw."""
        if self._live is not None:
            self._live.update(live_picture(progress, self._range))

    def note(self, text: str) -> None:
        """Above the picture."""
        with suppress(OSError):
            self._console.print(harmless(text))

    def remark(self, text: str) -> None:
        """Above the picture."""
        self.note(text)

    def close(self) -> None:
        """Leave the last picture on the screen."""
        super().close()
        if self._live is not None:
            self._live.stop()
            self._live = None
            self._console.print()


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


def progress_line(progress: Progress) -> str:
    """The run in one line."""
    from matrix.model.money import show_usd
    from matrix.report.text import duration

    balance, counters = progress.picture.balance, progress.counters
    parts = [
        f"{progress.ended:,}/{progress.to_play:,} sessions{_needless(progress)}",
        f"{progress.open:,} open",
        *(
            f"{count:,} {outcome}"
            for outcome, count in progress.outcomes.items()
            if count and outcome != "completed"
        ),
        f"{counters.turns:,} turns",
        f"{progress.calls_per_s:,.0f} calls/s",
        f"spent {show_usd(balance.charged)} + held {show_usd(balance.held)} "
        f"of {show_usd(balance.cap)}",
    ]
    if counters.retries:
        parts.append(
            f"{counters.rate_limited:,} 429s, {counters.retries:,} retries{_newest(counters)}"
        )
    if left := _time_left(progress):
        parts.append(left)
    return f"[{duration(progress.elapsed_s)}] " + "; ".join(parts)


def _newest(counters: Counters) -> str:
    """Of the newest retry, who was asked and what went wrong."""
    return f" (newest: {harmless(counters.trouble)})" if counters.trouble else ""


def _time_left(progress: Progress) -> str:
    """``ETA 40 s``, or nothing while there is no basis for it or nothing left."""
    from matrix.report.text import duration

    share = progress.ended / max(1, progress.to_play)
    if progress.eta_s is None or not ETA_FROM <= share < 1.0:
        return ""
    return f"ETA {duration(progress.eta_s)}"


def _needless(progress: Progress) -> str:
    """What looks at the scores have left out of the plan, if anything."""
    return f" ({progress.unplayed:,} of {progress.planned:,} not needed)" * bool(progress.unplayed)


def _so_far(progress: Progress) -> str:
    """What stands above the variants."""
    if not progress.variants:
        return ""
    if not progress.looks:
        return "so far (no verdict before the end):"
    newest = f"; newest look after round {progress.looked}" if progress.looked else ""
    return f"so far (looked at after every round{newest}):"


def _within(
    scale: tuple[float, float] | None, low: float | None, high: float | None
) -> tuple[float | None, float | None]:
    """An interval of a mean, cut off where no score can lie."""
    if scale is None or low is None or high is None:
        return low, high
    return max(low, scale[0]), min(high, scale[1])


def live_picture(progress: Progress, scale: tuple[float, float] | None = None) -> Any:
    """The run as a renderable: a bar, the numbers, the variants so far on the scale of scores."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    from matrix.model.money import show_usd
    from matrix.report.text import duration, interval, number, score_digits

    balance, counters = progress.picture.balance, progress.counters
    eta = f"   {left}" if (left := _time_left(progress)) else ""
    over = progress.ended == progress.to_play
    state = "stopping" if progress.draining else "played" if over else "running"
    grid = Table.grid(padding=(0, 2))
    outcomes = ", ".join(f"{n:,} {name}" for name, n in progress.outcomes.items() if n) or "none"
    grid.add_row(
        "sessions",
        f"{progress.ended:,} of {progress.to_play:,} ended ({outcomes}), {progress.open:,} open"
        f"{_needless(progress)}",
    )
    grid.add_row(
        "calls",
        f"{counters.answered:,} answered, {progress.calls_per_s:,.0f}/s, "
        f"{counters.in_flight:,} in flight, {counters.waiting:,} waiting; {counters.turns:,} turns",
    )
    grid.add_row(
        "money",
        f"{show_usd(balance.charged)} spent, {show_usd(balance.held)} held, "
        f"cap {show_usd(balance.cap)}",
    )
    grid.add_row(
        "trouble",
        f"{counters.rate_limited:,} rate-limit errors (429), {counters.retries:,} retries"
        + _newest(counters),
    )
    bar = Table.grid()  # a bar on its own would not end its line
    bar.add_row(ProgressBar(total=max(1, progress.to_play), completed=progress.ended, width=60))
    variants, digits = Table.grid(padding=(0, 2)), score_digits(scale)
    for variant in progress.variants:
        variants.add_row(
            Text(variant.level),
            number(variant.mean, digits),
            interval(*_within(scale, variant.low, variant.high), digits),
            f"n = {variant.n:,}",
        )
    return Group(
        Text(f"{state} {duration(progress.elapsed_s)}{eta}"),
        bar,
        grid,
        Text(_so_far(progress)),
        variants,
    )
