"""Charts are data, and what is drawn of them is shapes and words and nothing else."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from matrix.report.page.charts import (
    Chart,
    bars,
    cost_and_quality,
    distributions,
    intervals,
    spending,
)
from matrix.report.page.drawing import cleaned, draw

NAME = "a<script>alert(1)</script>&\"'"
CHARTS = [
    intervals([{"name": NAME, "mean": 1.5, "low": 1.0, "high": 2.0}], "score"),
    intervals([{"name": NAME, "mean": 1.5, "low": None, "high": None}], "score"),
    distributions([{"name": NAME, "value": float(n)} for n in range(9)], "score"),
    cost_and_quality([{"name": NAME, "usd": 0.1, "mean": 3.0}], "score"),
    spending([{"minutes": float(n), "usd": n / 2} for n in range(5)], 3.0),
    bars([{"name": NAME, "value": 4.0}], "Money", "US dollars", "US dollars"),
]


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.title[:20])
def test_a_chart_is_data_and_draws_as_shapes(chart: Chart) -> None:
    assert chart.spec["$schema"].endswith("v5.json")
    assert chart.spec["data"]["values"]
    bundle = chart._repr_mimebundle_()
    assert bundle["application/vnd.vegalite.v5+json"] == chart.spec
    root = ET.fromstring(draw(chart))
    assert root.get("role") == "img"
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "g", "path", "rect", "line", "circle", "text", "tspan", "defs",
                    "clipPath", "title", "desc"}  # fmt: skip
    assert not [name for one in root.iter() for name in one.attrib if name.startswith("on")]


def test_nothing_but_shapes_is_left_of_a_drawing() -> None:
    chart = Chart({}, "A <title>", "told & told")
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" onload="x()" width="3"><script>x()</script>'
        '<g style="a:url(http://x)" fill="url(http://x)">'
        '<a href="javascript:x()"><path d="M0"/></a>'
        '<path d="M0,0" fill="url(#a)" onclick="x()"/><image href="http://x"/>'
        "<foreignObject><b>x</b></foreignObject></g></svg>"
    )
    shown = cleaned(svg, chart)
    for gone in ("onload", "script", "style", "http://x", "javascript", "onclick", "image", "<b>"):
        assert gone not in shown
    assert 'fill="url(#a)"' in shown
    assert "A &lt;title&gt;" in shown
