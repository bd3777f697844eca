"""A real browser for tests of pages: Debian's headless Chromium, through Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

Scheme = Literal["light", "dark"]
PROGRAM = shutil.which("chromium-headless-shell")
_QUIET = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def a_browser() -> Iterator[Browser]:
    """One that asks nobody anything; without one the test is skipped, but fails where CI is set."""
    if PROGRAM is None:
        told = "no browser here: `make browser` installs chromium-headless-shell"
        if os.environ.get("CI"):
            pytest.fail(told)
        pytest.skip(told)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=list(_QUIET))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Browser, path: Path, width: int, scheme: Scheme) -> Iterator[Page]:
    """A page as it stands on a disk; whatever it complains of, or asks for, fails the test."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    troubles = list[str]()
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on(
        "request",
        lambda asked: None if asked.url.startswith("file:") else troubles.append(asked.url),
    )
    page.goto(path.as_uri())
    try:
        yield page
    finally:
        page.close()
    assert troubles == []
