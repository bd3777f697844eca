"""Charts of a run for notebooks: those of its report, as Vega-Lite."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matrix.api.opened import Run
    from matrix.report.page.charts import Chart


class Plots:
    """``run.plot``: every method gives a chart of the run's report.

    A notebook draws a :class:`~matrix.report.page.charts.Chart`; its ``spec`` is Vega-Lite, its
    ``told`` what it says in words. Each raises ``BadInput`` where the run has nothing to draw.
    """

    def __init__(self, run: Run) -> None:
        self._run = run

    def intervals(self) -> Chart:
        """Means of the variants with their intervals."""
        return self._chart("intervals")

    def distributions(self) -> Chart:
        """Scores of single sessions, by variant."""
        return self._chart("distributions")

    def noise(self) -> Chart:
        """Where the noise comes from, in per cent of the variance."""
        return self._chart("noise")

    def cost_and_quality(self) -> Chart:
        """US dollars a session of each variant, beside its mean."""
        return self._chart("cost_and_quality")

    def spending(self) -> Chart:
        """US dollars spent as the run went on, against the cap."""
        return self._chart("spending")

    def money_by_role(self) -> Chart:
        """US dollars by role and model."""
        return self._chart("money_by_role")

    def _chart(self, name: str) -> Chart:
        from matrix import api

        return api.chart(self._run, name)

    def __repr__(self) -> str:
        from matrix.report.page.run_charts import CHARTS

        return f"<plots of {self._run.id}: {', '.join(CHARTS)}>"
