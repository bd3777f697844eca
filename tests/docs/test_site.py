"""The site that ``make docs`` builds: a home page, every page there is, and links that resolve."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

import matrix
from tests.docs.test_documentation import COMMANDS, ROOT


class Links(HTMLParser):
    """The targets of a page's links, and the places in it that can be linked to."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "a" and found.get("href"):
            self.targets.append(found["href"] or "")
        self.places |= {name for name in (found.get("id"), found.get("name")) if name}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    mkdocs = Path(sys.executable).with_name("mkdocs")
    done = subprocess.run(
        [mkdocs, "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


def text_of(page: Path) -> str:
    return re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_the_readme_is_the_home_page(site: Path) -> None:
    assert "under a cost cap that is never broken" in text_of(site / "index.html")


def test_every_page_of_the_repository_is_in_the_site_and_in_its_navigation(site: Path) -> None:
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")}
    pages |= {"commands", "python", "packs", "data-dictionary", "changelog"}
    home = Links()
    home.feed((site / "index.html").read_text(encoding="utf-8"))
    for page in pages:
        assert (site / page / "index.html").is_file()
        assert f"{page}/" in home.targets, page
    assert "part_soundness" in text_of(site / "packs" / "index.html")
    assert "Parquet" in text_of(site / "data-dictionary" / "index.html")


def test_every_command_is_there_with_its_help(site: Path) -> None:
    text = text_of(site / "commands" / "index.html")
    for name in COMMANDS:
        assert f"Usage: matrix {name}" in text
    assert "--max-cost USD" in text


def test_everything_that_python_gives_is_there(site: Path) -> None:
    text = text_of(site / "python" / "index.html")
    for name in set(matrix.__all__) - {"__version__", "stats"}:
        assert f"matrix.{name}" in text, name
    assert "Run.compare" in text
    assert "Hard cap in US dollars." in text


def test_every_link_of_every_page_leads_somewhere(site: Path) -> None:
    pages: dict[Path, Links] = {}
    for path in site.rglob("*.html"):
        pages[path] = Links()
        pages[path].feed(path.read_text(encoding="utf-8"))
    lost = []
    for path, page in pages.items():
        if path.name == "404.html":  # its links are from the root of wherever it is served
            continue
        for target in page.targets:
            if "://" in target or target.startswith("mailto:"):
                continue
            file, _, place = unquote(target).partition("#")
            found = (path.parent / file).resolve() if file else path
            found = found / "index.html" if found.is_dir() else found
            known = pages[found].places if found in pages else set()
            if not found.is_file() or (place and found.suffix == ".html" and place not in known):
                lost.append((path.relative_to(site), target))
    assert sum(len(page.targets) for page in pages.values()) > 200
    assert lost == []
