"""Reading a notebook in markdown: its hypotheses, and which of them a name stands for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from matrix.kinds.trajectory.assertions.notes.evidence import EvidenceRow, evidence_in
from matrix.kinds.trajectory.assertions.notes.layout import Layout
from matrix.kinds.trajectory.assertions.notes.markdown import CACHED, HEADING, prose
from matrix.kinds.trajectory.assertions.notes.named_values import value_of
from matrix.kinds.trajectory.assertions.notes.paths import plain

_ID = re.compile(r"^([A-Za-z]{1,3}-?[A-Za-z]?\d{1,4})(?![A-Za-z0-9])")


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One hypothesis: its file, id, status in small letters, and evidence."""

    path: str
    id: str
    status: str
    evidence: tuple[EvidenceRow, ...] = field(default=())

    def count(self, *, against: bool) -> int:
        """Pieces of evidence for it, or against it."""
        return sum(row.against is against for row in self.evidence)


def entries_in(folder: str, paths: Iterable[str], layout: Layout) -> list[str]:
    """Entries of a folder of the notebook and of those inside it: notes but for the index."""
    names = {name.casefold() for name in layout.index_names}
    notes = _notes_in(folder, paths)
    inside = Counter(path.rpartition("/")[0] for path in notes)
    return [
        path
        for path in notes
        if _file_name(path).casefold() not in names or _is_all_of_its_folder(path, folder, inside)
    ]


def indexes_in(folder: str, paths: Iterable[str], layout: Layout) -> list[str]:
    """The notes of a folder that say what is in it."""
    names = {name.casefold() for name in layout.index_names}
    return [one for one in _notes_in(folder, paths) if _file_name(one).casefold() in names]


def _notes_in(folder: str, paths: Iterable[str]) -> list[str]:
    prefix = f"{plain(folder)}/"
    return [
        path
        for path in sorted(paths)
        if path.startswith(prefix)
        and path.lower().endswith((".md", ".markdown"))
        and not any(part.startswith("_") for part in path.removeprefix(prefix).split("/"))
    ]


def _is_all_of_its_folder(path: str, folder: str, inside: Mapping[str, int]) -> bool:
    """Whether it is the only note of a folder of its own, as where each entry has a folder."""
    own = path.rpartition("/")[0]
    named = _file_name(path).casefold() in ("readme", "index")
    return named and own != plain(folder) and inside[own] == 1


def _file_name(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0] or path.rpartition("/")[2]


def stem(path: str) -> str:
    """The name of an entry: of its file, without the ending; of its folder, if that is README."""
    name, folder = _file_name(path), path.rpartition("/")[0].rpartition("/")[2]
    return folder if folder and name.casefold() in ("readme", "index") else name


@lru_cache(maxsize=CACHED)
def read_hypothesis(path: str, text: str, layout: Layout) -> Hypothesis:
    """A hypothesis as its file says it."""
    return Hypothesis(
        path,
        _identity(path, text),
        value_of(text, layout.status, known=layout.demoted).casefold(),
        evidence_in(path, text, layout),
    )


def resolve(
    requested: str,
    found: Sequence[Hypothesis],
    gone: Sequence[Hypothesis],
    times: Mapping[str, int],
) -> Hypothesis | str:
    """Which hypothesis a name stands for; or why for none.

    An id as it is written, or a slug; else ``H2`` is the second by modification time; else the
    only one there is, unless the name was another's that is gone.

    Args:
        requested: The name.
        found: What there is.
        gone: What there was earlier.
        times: Path -> modification time, of both.
    """
    name = requested.strip().casefold().removesuffix(".md")
    if same := _named(name, found):
        if len(same) == 1:
            return same[0]
        return f"{requested} is ambiguous: {_told(same)}"
    order = sorted((*found, *gone), key=lambda one: (times.get(one.path, 0), one.path))
    numbered = re.fullmatch(r"h-?(\d{1,4})", name)
    place = int(numbered[1]) if numbered is not None else 0
    lost = _named(name, gone)
    lost = lost or ([one for one in order[place - 1 : place] if one in gone] if place else [])
    if lost:
        return f"{requested} was {_told(lost)}, which is gone; there are: {_told(found) or 'none'}"
    if 1 <= place <= len(order):
        return order[place - 1]
    if len(found) == 1:
        return found[0]
    return f"no hypothesis is {requested}; there are: {_told(found) or 'none'}"


def _named(name: str, found: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Those with a name: by id, else by file, else by how the file's name begins, or a part."""
    ways: tuple[Callable[[Hypothesis], bool], ...] = (
        lambda one: one.id.casefold() == name,
        lambda one: name in (stem(one.path).casefold(), one.path.casefold().removesuffix(".md")),
        lambda one: _begins(stem(one.path), name),
        lambda one: len(name) > 3 and _slug(name) in _slug(stem(one.path)),
    )
    return next((same for way in ways if (same := [one for one in found if way(one)])), [])


def _told(found: Iterable[Hypothesis]) -> str:
    return ", ".join(f"{one.id} ({one.path})" for one in found)


def _begins(name: str, requested: str) -> bool:
    rest = name.casefold().removeprefix(requested)
    return len(rest) < len(name) and not rest[:1].isalnum()


def _slug(text: str) -> str:
    return "-" + re.sub(r"[^a-z0-9]+", "-", text.casefold()).strip("-") + "-"


def _identity(path: str, text: str) -> str:
    """Its id: what front matter says, else how its title or its file's name begins."""
    if own := value_of(text, ("id", "hypothesis id"), headings=False):
        return own.strip("` ")
    title = next((found[2] for line in prose(text) if (found := HEADING.match(line))), "")
    for name in (title.removeprefix("Hypothesis").lstrip(" :"), stem(path)):
        if found := _ID.match(name.strip("*` ")):
            return found[1]
    return stem(path)
