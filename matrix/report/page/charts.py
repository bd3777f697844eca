"""Charts as data: specifications in Vega-Lite, made from plain rows.

Colours are for shape alone: what differs stands in rows of its own with its name, so that nothing
has to be told by colour. Texts and axes take the colour of the page, light or dark.
Source: https://vega.github.io/vega-lite/docs/ (version 5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, Final, NamedTuple

from matrix.model.lines import harmless, in_line

Spec = dict[str, Any]
Row = Mapping[str, Any]

SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v5.json"
WIDTH: Final = 480
MARK: Final = "#4c78a8"
"""Stands out from white (4.5 to 1) and from the dark page (3.9 to 1)."""
SECOND: Final = "#c06010"
_STEP: Final = 30
_INK: Final = "currentColor"

_CONFIG: Final[Spec] = {
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": _INK,
        "titleColor": _INK,
        "tickColor": _INK,
        "domainColor": _INK,
        "gridColor": _INK,
        "gridOpacity": 0.15,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 220,
    },
    # a number that is moved inwards at an end of the axis may lie on the next
    "axisX": {"labelFlush": False, "labelOverlap": "greedy", "labelSeparation": 8},
    "text": {"color": _INK},
}


class Chart(NamedTuple):
    """A chart: its specification, what it is called, and what it says, for who does not see it."""

    spec: Spec
    title: str
    told: str

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """What notebooks draw."""
        return {
            "application/vnd.vegalite.v5+json": self.spec,
            "text/plain": harmless(f"{self.title}: {self.told}"),
        }

    def __repr__(self) -> str:
        """What it says; its specification has all its data."""
        return in_line(f"<chart {self.title}: {self.told}>")


def _chart(rows: Sequence[Row], **spec: Any) -> Spec:
    return {
        "$schema": SCHEMA,
        "width": WIDTH,
        "padding": {"left": 28, "right": 22, "top": 6, "bottom": 6},  # fonts differ in width
        "background": None,
        "data": {"values": [dict(row) for row in rows]},
        "config": _CONFIG,
        **spec,
    }


def _names(field: str, rows: Sequence[Row]) -> Spec:
    """The axis of names, in the order of the rows."""
    order = list(dict.fromkeys(str(row[field]) for row in rows))
    return {"field": field, "type": "nominal", "sort": order, "title": None}


def _amount(field: str, title: str, *, zero: bool = False, **more: Any) -> Spec:
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"zero": zero, "nice": True},
        **more,
    }


def intervals(rows: Sequence[Row], metric: str) -> Chart:
    """Means with their intervals: rows of ``name``, ``mean``, ``low``, ``high``."""
    shown = [row for row in rows if row["mean"] is not None]
    spec = _chart(
        shown,
        height={"step": _STEP},
        encoding={"y": _names("name", shown)},
        layer=[
            {
                "mark": {"type": "rule", "color": MARK, "strokeWidth": 3, "opacity": 0.6},
                "encoding": {"x": _amount("low", metric), "x2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 90, "color": MARK, "opacity": 1},
                "encoding": {"x": _amount("mean", metric)},
            },
        ],
    )
    told = "; ".join(_interval_told(row) for row in shown)
    return Chart(spec, f"Mean {metric} of each variant, with its interval", told or "no mean yet")


def _interval_told(row: Row) -> str:
    bounds = "" if row["low"] is None else f", from {row['low']:.4g} to {row['high']:.4g}"
    return f"{row['name']} {row['mean']:.4g}{bounds}"


class ScoreRange(NamedTuple):
    """How far values go."""

    sessions: int
    low: float
    median: float
    high: float


def score_ranges(rows: Sequence[Row]) -> dict[str, ScoreRange]:
    """Name -> how far the values of its sessions go, from rows of ``name`` and ``value``."""
    values: dict[str, list[float]] = {}
    for row in rows:
        values.setdefault(str(row["name"]), []).append(float(row["value"]))
    return {
        name: ScoreRange(len(own), min(own), median(own), max(own)) for name, own in values.items()
    }


def distributions(rows: Sequence[Row], metric: str) -> Chart:
    """Scores of single sessions: rows of ``name`` and ``value``."""
    spec = _chart(
        rows,
        height={"step": _STEP + 10},
        encoding={"y": _names("name", rows)},
        layer=[
            {
                "mark": {
                    "type": "boxplot",
                    "extent": "min-max",
                    "size": 16,
                    "box": {"color": MARK, "opacity": 0.35},
                    "rule": {"color": MARK},
                    "ticks": {"color": MARK},
                    "median": {"color": _INK, "strokeWidth": 2},
                },
                "encoding": {"x": _amount("value", f"{metric} of a session")},
            },
            {
                "mark": {"type": "tick", "color": MARK, "opacity": 0.35, "size": 24},
                "encoding": {"x": _amount("value", f"{metric} of a session")},
            },
        ],
    )
    told = "; ".join(
        f"{name}: {one.sessions} sessions, from {one.low:.4g} to {one.high:.4g}, "
        f"median {one.median:.4g}"
        for name, one in score_ranges(rows).items()
    )
    return Chart(spec, f"{metric} of single sessions, by variant", told)


def cost_and_quality(rows: Sequence[Row], metric: str) -> Chart:
    """Cost beside quality: rows of ``name``, ``usd`` and ``mean``."""
    shown = [row for row in rows if row["mean"] is not None and row["usd"] is not None]
    place = {
        "x": _amount("usd", "US dollars a session", zero=True),
        "y": _amount("mean", metric),
    }
    spec = _chart(
        shown,
        height=220,
        encoding=place,
        layer=[
            {"mark": {"type": "point", "filled": True, "size": 110, "color": MARK, "opacity": 1}},
            {
                "mark": {"type": "text", "align": "left", "dx": 9, "color": _INK, "fontSize": 12},
                "encoding": {"text": {"field": "name"}},
            },
        ],
    )
    told = "; ".join(f"{r['name']}: ${r['usd']:.4g} a session, {r['mean']:.4g}" for r in shown)
    return Chart(spec, f"Cost beside {metric}", told)


def spending(rows: Sequence[Row], cap: float) -> Chart:
    """Money spent as the run went on: rows of ``minutes`` and ``usd``, and the cap."""
    rule = {"datum": cap, "type": "quantitative"}
    spec = _chart(
        rows,
        height=180,
        layer=[
            {
                "mark": {"type": "line", "interpolate": "step-after", "color": MARK},
                "encoding": {
                    "x": _amount("minutes", "minutes since the start", zero=True),
                    "y": _amount("usd", "US dollars spent", zero=True),
                },
            },
            {
                "mark": {"type": "rule", "strokeDash": [6, 4], "color": SECOND, "strokeWidth": 2},
                "encoding": {"y": rule},
            },
        ],
    )
    last = rows[-1]["usd"] if rows else 0.0
    return Chart(spec, "Money spent, against the cap", f"${last:.4g} spent of a cap of ${cap:.4g}")


def bars(rows: Sequence[Row], title: str, axis: str, unit: str) -> Chart:
    """Amounts by name: rows of ``name`` and ``value``."""
    spec = _chart(
        rows,
        height={"step": 24},
        mark={"type": "bar", "color": MARK, "height": 14},
        encoding={"y": _names("name", rows), "x": _amount("value", axis, zero=True)},
    )
    told = "; ".join(f"{row['name']} {row['value']:.4g} {unit}".strip() for row in rows)
    return Chart(spec, title, told)
