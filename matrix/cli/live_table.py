"""The live table of a run: :class:`SoFar` as rich draws it, in the columns that there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

    from matrix.cli.so_far import SoFar

BAR: Final = 60
"""Columns of the bar, if there are so many."""
NARROW: Final = 60
"""Columns below which intervals are left out."""


class LiveTable:
    """A run as it is shown, drawn in whatever columns the terminal has at that moment."""

    def __init__(self, shown: SoFar) -> None:
        self._shown = shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Head, bar, facts, variants: from what must be seen to what may be cut off."""
        shown, width = self._shown, options.max_width
        head = Text(shown.state, style="bold")
        head.append(f" {shown.elapsed}" + (f"   {shown.eta}" if shown.eta else ""), "not bold")
        yield head
        bar = Table.grid()  # a bar on its own would not end its line
        total = max(1, shown.to_play)
        bar.add_row(ProgressBar(total=total, completed=shown.ended, width=min(BAR, width)))
        yield bar
        yield _facts(shown)
        if shown.variants:
            yield Text(shown.heading)
            yield _variants(shown, narrow=width < NARROW)


def _facts(shown: SoFar) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(overflow="fold")
    for label, text in shown.facts:
        grid.add_row(Text(label), Text(text, style="red" if label == "failure" else ""))
    return grid


def _variants(shown: SoFar, *, narrow: bool) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(overflow="fold")
    for _ in range(2 if narrow else 3):
        grid.add_column(no_wrap=True, justify="right")
    for name, scored, mean, interval in shown.variants:
        figures = [mean, f"n = {scored}"] if narrow else [mean, interval, f"n = {scored}"]
        grid.add_row(Text(name), *(Text(figure) for figure in figures))
    return grid
