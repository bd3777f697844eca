"""From a page's values to HTML: one template, in which every text is escaped."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final

from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup

from matrix.model.lines import harmless
from matrix.report.page.blocks import Page
from matrix.version import __version__

_TEMPLATES: Final = ("report.html", "blocks.html")


def page_as_html(page: Page) -> str:
    """The page in one file: no script, no request, nothing that is not in it."""
    style = _style()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    found = _environment().get_template("report.html")
    return found.render(page=page, style=Markup(style), digest=digest, version=__version__)  # noqa: S704


@lru_cache(maxsize=1)
def _style() -> str:
    return _read("report.css")


def _read(name: str) -> str:
    return (files("matrix.report.page") / "templates" / name).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _environment() -> Environment:
    made = Environment(
        loader=DictLoader({name: _read(name) for name in _TEMPLATES}),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=_shown,
    )
    made.filters["kind"] = lambda block: type(block).__name__
    return made


def _shown(value: Any) -> Any:
    """Text of strangers without what turns its order, or is no character at all."""
    return value if isinstance(value, Markup) or not isinstance(value, str) else harmless(value)
