"""Pages of runs of every kind, in a real browser: whole, at rest, and within reach of the keys."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.executors.programs import Project, counter_spec, play_spec
from tests.kinds.trajectory import folders
from tests.report.page.browser import Scheme, a_browser, opened

pytestmark = pytest.mark.slow

PLANTED = [
    "<script>document.title='PWNED-7'</script>",
    "<img src=x onerror=\"document.title='PWNED-7'\">",
    "[a](javascript:document.title='PWNED-7')",
    "</details></section><h1>Verdict: FAKE beats all</h1>",
    "\u202ePWNED-7\u202c \x1b[31mred",
    "x" * 200_000,
]
"""What a model may say."""


def _counter(folder: Path) -> Project:
    project = Project(folder)
    project.write(counter_spec(options={"turns": 3}, per_cell=12))
    return project


def _playtest(folder: Path) -> Project:
    project = Project(folder)
    project.write(play_spec(per_cell=2, limits={"turns": 4, "cost_usd": 20}))
    return project


def _trajectory(folder: Path) -> Project:
    project = folders.project(folder)
    said = [{"judge": "said", "rubric": "judges/says.md", "expected_meaning": "asked"}]
    turns = [
        {"turn": 1, "structural": [{"file_exists": "a.md"}, {"file_exists": "b.md"}]},
        {"turn": 2, "content": said},
    ]
    planted = "\n".join(f"WRITE a.md | {one[:1000]}" for one in PLANTED)
    inputs = {"turn-01-a.md": planted, "turn-02-b.md": "\n".join(PLANTED)}
    folders.scenario(folder, "01<b>x</b>", inputs, {"turns": turns})
    folders.scenario(folder, "02", {"turn-01-a.md": "RAISE"}, {"turns": [turns[0]]})
    return project


KINDS: dict[str, tuple[Callable[[Path], Project], tuple[str, ...]]] = {
    "counter": (_counter, ("run",)),
    "playtest": (_playtest, ("run",)),
    "trajectory": (_trajectory, ("run", "scenarios", "--runs", "3")),
    "selftest": (Project, ("run", "selftest")),
    "criteria": (Project, ("run", "criteria-pilot")),
    "cut short": (_counter, ("run", "--max-cost", "0.0001", "--set", "at_cap=spend-all")),
    "nothing played": (_counter, ("run", "--max-cost", "0.00001", "--set", "at_cap=spend-all")),
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser() as found:
        yield found


@pytest.fixture(scope="module", params=list(KINDS))
def page_file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page that a run has written at its end."""
    make, command = KINDS[request.param]
    project = make(tmp_path_factory.mktemp("page"))
    written = Project(project.folder, {"MATRIX_REPORT": "1"})
    done = written.matrix(*command, "--executor", "in-process", "--run-id", "it", "-y")
    path = written.path("it") / "report.html"
    assert path.is_file(), done
    assert "report: results/it/report.html" in done.out, done
    assert path.stat().st_size < 5_000_000
    return path


def _is_reached(page: Page) -> list[str]:
    """What can be opened or followed and is never focused by the Tab key."""
    count = int(page.evaluate("document.querySelectorAll('a, summary, [tabindex=\"0\"]').length"))
    reached = set[str]()
    for _ in range(min(count, 80) + 5):
        page.keyboard.press("Tab")
        reached.add(str(page.evaluate("document.activeElement.outerHTML.slice(0, 90)")))
    first: list[str] = page.evaluate(
        "[...document.querySelectorAll('a, summary, [tabindex=\"0\"]')].slice(0, 60)"
        ".filter(one => one.checkVisibility()).map(one => one.outerHTML.slice(0, 90))"
    )
    return [one for one in first if one not in reached]


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_page_is_whole_wherever_it_is_opened(
    browser: Browser, page_file: Path, width: int, scheme: Scheme
) -> None:
    with opened(browser, page_file, width, scheme) as page:
        assert page.title() != "PWNED-7"
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate("document.querySelectorAll('script, iframe, object').length") == 0
        assert page.evaluate("document.querySelectorAll('[style], [onerror]').length") == 0
        assert page.evaluate("document.querySelectorAll('h1').length") == 1
        links: list[str] = page.evaluate(
            "[...document.querySelectorAll('a')].map(one => one.getAttribute('href'))"
        )
        assert all(link.startswith("#") for link in links)
        lost = [
            link for link in links if not page.evaluate(f"!!document.getElementById({link[1:]!r})")
        ]
        assert lost == []
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        assert _is_reached(page) == []


_SAYS_SO = """
(tables => tables.some(one => one.scrollWidth > one.clientWidth) && tables.every(one =>
    (one.scrollWidth > one.clientWidth) === one.querySelector('.more').checkVisibility()
))([...document.querySelectorAll('.scroll')].filter(one => one.checkVisibility()))
"""


def test_a_table_that_goes_on_sideways_says_so(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file, 390, "light") as page:
        # a timeline of scrolling is active only from the browser's next frame on
        page.wait_for_function(_SAYS_SO)


def test_a_link_opens_the_turn_that_it_names(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file, 1280, "light") as page:
        links = page.locator("#look a")
        if not links.count():
            pytest.skip("no session has ended")
        href = links.last.get_attribute("href") or ""
        links.last.click()
        place = page.locator(href)
        assert place.is_visible()
        box = place.bounding_box()
        assert box is not None
        assert -5 <= box["y"] <= 900


def test_what_was_planted_is_text(browser: Browser, page_file: Path) -> None:
    text = page_file.read_text()
    assert "<script" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert re.search(r"content=\"default-src 'none'; style-src 'sha256-", text)
    if "PWNED-7" in text:
        with opened(browser, page_file, 1280, "light") as page:
            assert "<script>document.title" in (page.text_content("main") or "")


def test_each_chart_has_its_data_and_its_words(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file, 1280, "light") as page:
        charts: list[dict[str, Any]] = json.loads(
            page.evaluate(
                "JSON.stringify([...document.querySelectorAll('figure')].map(one => ({"
                "title: one.querySelector('svg > title')?.textContent,"
                "told: one.querySelector('svg > desc')?.textContent,"
                "rows: one.querySelectorAll('details tbody tr').length,"
                "shapes: one.querySelectorAll('svg path, svg line, svg rect').length})))"
            )
        )
        for chart in charts:
            assert chart["title"]
            assert chart["told"]
            assert chart["rows"] > 0
            assert chart["shapes"] > 3
