"""What looking at an agent's notes takes after a turn: walking the folder, and all assertions."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.figures import Section
from benchmarks.sizes import Sizes
from matrix.kinds.context import ChangedFiles
from matrix.kinds.trajectory.assertions.folder import View, differences, scan
from matrix.kinds.trajectory.assertions.notes.layout import Layout
from matrix.kinds.trajectory.assertions.structural import BUILT_IN, AssertionContext

_ASKED: Final[dict[str, Any]] = {
    "file_exists_glob": "source/**/*7*.md OR source/**/*1*.md",
    "file_modified_or_created": "hypotheses/0.md",
    "hypothesis_count_at_least": 1,
    "hypothesis_evidence_count_unchanged_for": "H-V4",
    "all_internal_links_valid": True,
    "all_decisions_have_reversal_condition": True,
    "no_orphan_evidence": True,
    "no_silent_hypothesis_demotion": True,
    "file_contains_any": "decisions/*.md ; nothing like it OR fewer than",
}
_GOALS: Final = {50: ("first", "< 15"), 2000: ("later", "< 200")}


def measure(sizes: Sizes, section: Section) -> None:
    """Fill the section: the first look at a folder, and the median of later ones."""
    for count in (50, 2000):
        with TemporaryDirectory(dir=sizes.folder) as folder:
            root = Path(folder)
            _write(root, count)
            first, *later = [_look(root) for _ in range(1 + max(5, sizes.repeats))]
        which, goal = _GOALS[count]
        for name, took in (("first", first), ("later", median(later))):
            told = goal if name == which else ""
            section.add(f"{count} files, {name} look", 1000 * took, "ms", "", told)
    section.note("A later look finds most files as they were: what they say is remembered.")


def _look(root: Path) -> float:
    began = time.perf_counter()
    before = scan(root)
    view = View(root, scan(root), before, ChangedFiles())
    differences(view)
    for name, argument in _ASKED.items():
        found = BUILT_IN[name].check(AssertionContext(view, Layout()), argument)
        assert found.holds, (name, found)
    return time.perf_counter() - began


def _write(root: Path, count: int) -> None:
    """A notebook in which everything is in order."""
    for number in range(count):
        base = number - number % 4
        folder, text = (
            ("hypotheses", _hypothesis(number)),
            ("source/interview", "Some words of a talk. " * 40),
            (
                "decisions",
                f"# D\n\n## Reversal condition\n\nIf fewer than {number} come\n\n"
                f"[on](../hypotheses/{base}.md)\n",
            ),
            ("people", f"# P\n\nHeard in [it](../source/interview/{base + 1}.md)\n"),
        )[number % 4]
        path = root / folder / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if base + 3 < count else "# The last\n\nIf fewer than 3 come\n")


def _hypothesis(number: int) -> str:
    rows = "".join(
        f"- 2026-01-0{day}: seen ([source](../source/interview/{number + 1}.md))\n"
        for day in range(1, 6)
    )
    return f"# H-V{number}: Belief {number}\n\nStatus: proposed\n\n## Evidence for\n\n{rows}"
