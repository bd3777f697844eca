"""How long a user waits: small runs to their verdicts, the first session, commands that show.

With ``--beside`` the same lines are typed with another checkout's program, in turn with this one's:
quote the ratio, for the machine is never the same twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.figures import Section
from benchmarks.measuring import cpu_of, watch
from benchmarks.runs import Played, matrix_command
from benchmarks.sizes import Sizes
from benchmarks.startup import first_playing_s, stages

_SMALL: Final = ((8, "< 4"), (40, "< 8"))
"""Sessions of small runs, and seconds to their verdicts."""

_LOOKS: Final = (
    ("show RUN", "< 0.8"),
    ("plan", "< 0.8"),
    ("list", "< 0.8"),
    ("validate", "< 0.8"),
    ("compare RUN", "< 1.5"),
    ("--help", ""),
)
_LIMIT_S: Final = 600.0


def measure(sizes: Sizes, section: Section) -> None:
    """Fill the section; every figure is a median."""
    here = matrix_command()[0]
    there = None if sizes.beside is None else str(sizes.beside.resolve() / ".venv/bin/matrix")
    programs = [here] if there is None else [here, there]
    for sessions, goal in _SMALL:
        line = f"run --sessions {sessions} --yes"
        played = [_played(sizes, programs, line, number) for number in range(sizes.repeats)]
        _add(section, f"matrix {line}", _walls(played), goal)
        first = median(first_playing_s(one[0]) for one in played)
        section.add("its first session", first, "s", "same runs: first answer", "< 2")
    on_ray = ["--executor ray"] if there is None else ["--executor ray", ""]
    line = "run --sessions 40 --yes"
    played = [
        _played(sizes, programs, line, f"ray-{number}", on_ray) for number in range(sizes.repeats)
    ]
    _add(section, f"matrix {line} --executor ray", _walls(played), "")
    found = [stages(one[0]) for one in played]
    for name in found[0]:
        goal = "< 5.5" if name.startswith("first") else ""
        section.add(name, median(one[name] for one in found), "s", "same runs, since start", goal)
    _looks(sizes, section, programs)
    section.note("wall seconds of whole commands; of another checkout as it starts by itself.")


def _played(
    sizes: Sizes,
    programs: Sequence[str],
    line: str,
    number: object,
    extra: Sequence[str] = ("", ""),
) -> list[Played]:
    """The same run by each program, one after the other."""
    found = []
    for place, program in enumerate(programs):
        folder = sizes.folder / f"{number}-{place}-{line.split()[2]}"
        folder.mkdir()
        typed = [*line.split(), *extra[place].split(), "--results", ".", "--run-id", "it"]
        watched = watch([program, *typed], folder=folder, limit_s=_LIMIT_S)
        found.append(Played(" ".join(["matrix", *typed]), folder / "it", watched))
    return found


def _walls(played: Sequence[Sequence[Played]]) -> list[list[float]]:
    return [[one.watched.wall_s for one in turn] for turn in played]


def _looks(sizes: Sizes, section: Section, programs: Sequence[str]) -> None:
    """Commands that only look, at a run that each program has played itself."""
    line = f"run --sessions {sizes.looked_at} --yes"
    folders = [one.run_dir for one in _played(sizes, programs, line, "looked-at")]
    for look, goal in _LOOKS:
        turns = []
        for _ in range(max(5, sizes.repeats)):
            typed = [
                [program, *look.replace("RUN", str(folder)).split(), *_where(look, folder)]
                for program, folder in zip(programs, folders, strict=True)
            ]
            turns.append([cpu_of(one, folder=sizes.folder, repeats=1)[1] for one in typed])
        _add(section, f"matrix {look}", turns, goal)


def _where(look: str, run_dir: Path) -> list[str]:
    return ["--results", str(run_dir.parent)] if look == "list" else []


def _add(section: Section, name: str, turns: Sequence[Sequence[float]], goal: str) -> None:
    """Seconds of this program, and how many times those of the other it takes."""
    section.add(name, median(turn[0] for turn in turns), "s", "to its end", goal)
    if len(turns[0]) > 1:
        section.add("of the other's", median(a / b for a, b in turns), "ratio", "pair by pair")
