"""Planted mistakes of the simulated agent, against the assertions of the shipped trajectories.

The agent does what the instructions in its folder say. A mistake is one of their sentences taken
out; ``python -m benchmarks.mistakes`` plays the seven scenarios with each, and prints which
assertions fail. What fails besides what the mistake is about stands in ``follow``, with the reason.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from matrix import api
from matrix.api.runs.kind_reports import kind_report
from matrix.kinds.library import shipped_root

SCAFFOLD: Final = "scenarios/trajectory/scaffolds/notebook"
INSTRUCTIONS: Final = "NOTEBOOK.md"


@dataclass(frozen=True, slots=True)
class Planted:
    """One mistake.

    Attributes:
        rule: Number of the instruction that is taken out.
        instead: What stands there instead.
        fails: Assertions and judges that are about it.
        follow: Those that it fails as well.
        why: Why these follow from it.
    """

    rule: int
    fails: frozenset[str]
    follow: frozenset[str] = frozenset()
    why: str = ""
    instead: str = ""


def _planted(rule: int, *fails: str, follow: tuple[str, ...] = (), why: str = "") -> Planted:
    return Planted(rule, frozenset(fails), frozenset(follow), why)


MISTAKES: Final[dict[str, Planted]] = {
    "keeps no source": _planted(
        1,
        "file_exists_glob",
        "no_orphan_evidence",
        follow=("all_internal_links_valid",),
        why="rows and people link to the copies that were not made",
    ),
    "evidence without a source": _planted(3, "no_orphan_evidence"),
    "promotes on one voice": _planted(4, "file_contains_any", "proposed_not_promoted"),
    "demotes in silence": _planted(
        5,
        "no_silent_hypothesis_demotion",
        "contradiction_kept",
        follow=("file_contains_any", "file_modified_glob"),
        why="what was demoted at once is neither promoted later nor changed again",
    ),
    "finds evidence in noise": _planted(
        6,
        "hypothesis_evidence_count_unchanged_for",
        "noise_left_alone",
        follow=("found_in_the_drawer",),
        why="the shopping list of the drawer is noise, too",
    ),
    "vague reversal condition": _planted(
        7, "all_decisions_have_reversal_condition", "decision_can_be_followed"
    ),
    "no index": _planted(8, "file_modified_or_created", "file_contains_any"),
    "broken links": _planted(9, "all_internal_links_valid"),
    "loses touch": _planted(10, "file_contains_any", "quiet_one_is_named"),
    "overlooks a persona": _planted(
        11, "file_exists_glob", "persona_of_three", "file_contains_any"
    ),
    "overlooks what is stale": _planted(12, "file_contains_any", "stale_is_named"),
    "overlooks who is quiet": _planted(13, "file_contains_any", "quiet_one_is_named"),
    "compresses the minority away": _planted(14, "file_contains_any", "minority_is_kept"),
}
"""Mistake -> what takes it in, and what notices it."""


def without_rule(text: str, number: int) -> str:
    """Instructions without one of their numbered rules."""
    lines, kept, inside = text.splitlines(), list[str](), False
    for line in lines:
        starts = line[:1].isdigit()
        inside = line.startswith(f"{number}. ") or (inside and not starts)
        if not inside or not line.strip():
            kept.append(line)
    return "\n".join(kept) + "\n"


def failures_of(mistake: str | None, folder: Path) -> set[str]:
    """Assertions that fail in any of the seven scenarios, by their names.

    Args:
        mistake: Which one is planted; ``None`` for none.
        folder: An empty project.
    """
    shipped = shipped_root() / SCAFFOLD
    own = folder / "scenarios" / "trajectory" / "scaffolds" / "planted"
    shutil.copytree(shipped, own)
    if mistake is not None:
        file = own / INSTRUCTIONS
        file.write_text(without_rule(file.read_text(), MISTAKES[mistake].rule))
    spec = folder / "matrix.yaml"
    shutil.copyfile(shipped_root() / "scenarios" / "runs" / "trajectory.yaml", spec)
    prepared = api.plan(spec, settings={"options.scaffold": "planted"})
    run = api.start(prepared, results=folder / "results", executor="in-process")
    told = kind_report(run)
    assert told is not None
    return {
        result["name"]
        for one in told.data["runs"]
        for result in one["results"]
        if result["word"] != "PASS"
    }


def main() -> None:
    """Print the matrix: a row for each mistake, a column for each assertion."""
    rows: dict[str, set[str]] = {}
    for mistake in (None, *MISTAKES):
        with tempfile.TemporaryDirectory() as folder:
            rows[mistake or "none"] = failures_of(mistake, Path(folder))
    columns = sorted(set().union(*rows.values()))
    first = max(map(len, rows))
    for number, name in enumerate(columns, 1):
        sys.stdout.write(f"{number:3} {name}\n")
    head = " ".join(f"{number:3}" for number in range(1, len(columns) + 1))
    sys.stdout.write(f"\n{'':{first}} {head}\n")
    for mistake, failed in rows.items():
        cells = " ".join("  x" if name in failed else "  ." for name in columns)
        why = MISTAKES[mistake].why if mistake in MISTAKES else ""
        sys.stdout.write(f"{mistake:{first}} {cells}{'   ' if why else ''}{why}\n")


if __name__ == "__main__":
    main()
