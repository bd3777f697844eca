"""From a chart's specification to a picture that may stand inside a page.

Drawn by vl-convert (Vega-Lite in one process, without a browser). What it gives back is taken apart
and only what draws is put together again, so that no name in the data can become anything else.
"""

from __future__ import annotations

from typing import Final
from xml.etree import ElementTree as ET

from markupsafe import Markup

from matrix.report.page.charts import Chart

_SVG: Final = "http://www.w3.org/2000/svg"
_TAGS: Final = frozenset(
    ["svg", "g", "path", "rect", "line", "circle", "text", "tspan", "defs", "clipPath"]
)
_ATTRIBUTES: Final = frozenset(
    [
        *("width", "height", "viewBox", "d", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r"),
        *("rx", "ry", "dx", "dy", "transform", "fill", "fill-opacity", "stroke", "stroke-width"),
        *("stroke-dasharray", "stroke-opacity", "stroke-miterlimit", "opacity", "text-anchor"),
        *("font-size", "font-family", "font-weight", "id", "clip-path"),
    ]
)


def draw(chart: Chart) -> Markup:
    """The picture as SVG, with its title and what it says."""
    import vl_convert  # a second and 80 MB: only where something is drawn

    return cleaned(vl_convert.vegalite_to_svg(chart.spec, vl_version="5.21"), chart)


def cleaned(svg: str, chart: Chart) -> Markup:
    """A drawing of which nothing is left but shapes and words."""
    ET.register_namespace("", _SVG)
    root = ET.fromstring(svg)  # noqa: S314  made by the drawing program, from escaped text
    _clean(root)
    root.set("role", "img")
    title, told = ET.Element(f"{{{_SVG}}}title"), ET.Element(f"{{{_SVG}}}desc")
    title.text, told.text = chart.title, chart.told
    root.insert(0, title)
    root.insert(1, told)
    return Markup(ET.tostring(root, encoding="unicode"))  # noqa: S704  shapes and escaped words


def _clean(element: ET.Element) -> None:
    for name in list(element.attrib):
        value = element.attrib[name]
        local = "url(" not in value or value.startswith("url(#")
        if name not in _ATTRIBUTES or not local:
            del element.attrib[name]
    for child in list(element):
        if child.tag.rpartition("}")[2] not in _TAGS:
            element.remove(child)
        else:
            _clean(child)
