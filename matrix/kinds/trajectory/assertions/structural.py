"""Structural assertions: what a folder shows by itself, without a judge and without a doubt.

Each is a function of a :class:`View` and its argument, and gives back whether it holds and what was
seen. The names and what they mean are those of the design that scenario folders are written
for; ``file_contains_any`` is this project's own. Packages add more under the entry point group
``matrix.assertions``, and a scenario by a ``checks.py`` beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple
from unicodedata import normalize

from matrix.kinds.trajectory.assertions.arguments import (
    contains_fault,
    count_fault,
    name_fault,
    path_fault,
    switch_fault,
    texts_of,
)
from matrix.kinds.trajectory.assertions.folder import View
from matrix.kinds.trajectory.assertions.hypotheses import (
    Gone,
    change_of,
    evidence_of,
    gone_after,
    hypotheses_of,
    is_demoted,
    is_told_of,
    kept_elsewhere,
    speaks_of_status,
    unread_of,
    with_indexed_status,
)
from matrix.kinds.trajectory.assertions.notes.decisions import reversal_of, vague
from matrix.kinds.trajectory.assertions.notes.evidence import (
    EvidenceRow,
    UnreadEvidence,
    unread_in,
)
from matrix.kinds.trajectory.assertions.notes.layout import Layout
from matrix.kinds.trajectory.assertions.notes.markdown import (
    links_in,
    places_in,
    referred_in,
    target_of,
)
from matrix.kinds.trajectory.assertions.notes.notebook import entries_in, read_hypothesis
from matrix.kinds.trajectory.assertions.notes.paths import absent, alternatives, hits, listed, plain
from matrix.model.records import JSON

_QUOTED: Final = 80
"""Characters of a row or line that are told."""


class Found(NamedTuple):
    """Whether an assertion holds, and what was seen.

    ``vacuous``: it holds because there is nothing that it could be about, or not all of it could
    be read.
    """

    holds: bool
    seen: str
    vacuous: bool = False


class AssertionContext(NamedTuple):
    """What an assertion is asked about.

    Attributes:
        view: The folder.
        layout: Where its notebook keeps what.
        demoted_at_start: Ids of hypotheses that the session began with as demoted.
        gone: Hypotheses that were gone before the turn.
    """

    view: View
    layout: Layout
    demoted_at_start: frozenset[str] = frozenset()
    gone: tuple[Gone, ...] = ()

    @property
    def gone_now(self) -> tuple[Gone, ...]:
        """Hypotheses that are gone after the turn."""
        return gone_after(self.view, self.layout, self.gone, self.demoted_at_start)


class Assertion(NamedTuple):
    """One kind of assertion.

    Attributes:
        check: Decides it.
        fault: Why an argument can mean nothing; empty if it can.
        compares: Whether it is about what a turn changed.
    """

    check: Callable[[AssertionContext, Any], Found]
    fault: Callable[[JSON], str]
    compares: bool = False


def _all(
    check: Callable[[AssertionContext, str], Found],
) -> Callable[[AssertionContext, Any], Found]:
    """A check of one text as a check of a text or a list of them, of which each has to hold."""

    def every(scene: AssertionContext, argument: Any) -> Found:
        found = [check(scene, str(one)) for one in texts_of(argument)]
        lost = [one for one in found if not one.holds]
        vacuous = not lost and all(one.vacuous for one in found)
        return Found(not lost, "; ".join(one.seen for one in lost or found), vacuous)

    return every


def _file_exists(scene: AssertionContext, pattern: str) -> Found:
    for one in alternatives(pattern):
        if there := hits(one, scene.view.now):
            return Found(True, f"there is {listed(there)}")
    return Found(False, absent(pattern, scene.view.now))


def _file_modified(scene: AssertionContext, pattern: str) -> Found:
    there = [hit for one in alternatives(pattern) for hit in hits(one, scene.view.now)]
    touched = [path for path in there if scene.view.touched(path)]
    if touched:
        return Found(True, f"this turn wrote {listed(touched)}")
    if there:
        return Found(False, f"this turn did not touch {listed(there)}")
    return Found(False, absent(pattern, scene.view.now))


def _hypothesis_count(scene: AssertionContext, least: Any) -> Found:
    paths = entries_in(scene.layout.hypotheses, scene.view.now, scene.layout)
    are = "is" if len(paths) == 1 else "are"
    told = f"there {are} {len(paths)}: {listed(paths)}" if paths else "there is none"
    return Found(len(paths) >= int(least), told)


def _evidence_increased(scene: AssertionContext, name: str) -> Found:
    change = change_of(scene.view, scene.layout, name, scene.gone_now)
    if isinstance(change, str):
        return Found(False, change)
    path, (before, _), (now, _) = change
    told = f"{path} had {before} for it, and has {now}"
    return Found(now > before, told + ("" if now > before else _unread_in(scene, path)))


def _evidence_unchanged(scene: AssertionContext, name: str) -> Found:
    change = change_of(scene.view, scene.layout, name, scene.gone_now)
    if isinstance(change, str):
        return Found(False, change)
    path, before, now = change
    told = f"{path} had {before[0]} for it and {before[1]} against, and has {now[0]} and {now[1]}"
    same = now[0] <= before[0] and now[1] <= before[1]
    unread = _unread_in(scene, path)
    return Found(same, told + unread, bool(unread) or not any((*before, *now)))


def _unread_in(scene: AssertionContext, path: str) -> str:
    return _told_unread(unread_in(path, scene.view.text(path), scene.layout))


def _told_unread(unread: Iterable[UnreadEvidence]) -> str:
    """What looks like evidence and could not be read, quoted; empty if there is none."""
    told = listed(f"{one.path}: {one.text[:_QUOTED]!r}" for one in unread)
    return f"; not read as a row: {told}" if told else ""


def _links_valid(scene: AssertionContext, requested: Any) -> Found:
    view = scene.view
    broken, count = [], 0
    for path in view.notes:
        for link in links_in(view.text(path)):
            count += 1
            target = target_of(link, path)
            if target is None or (target not in view.now and not view.has_folder(target)):
                broken.append(f"{path} -> {link}")
    if broken:
        return Found(False, f"{len(broken)} of {count} lead nowhere: {listed(broken)}")
    return Found(True, f"{count} link{'s' * (count != 1)}", not count)


def _reversal(scene: AssertionContext, requested: Any) -> Found:
    view, layout = scene.view, scene.layout
    paths = entries_in(layout.decisions, view.now, layout)
    conditions = {path: reversal_of(view.text(path), layout) for path in paths}
    lost = [
        f"{path} {why}"
        for path, condition in conditions.items()
        if (why := vague(condition) if condition else "has none")
    ]
    if lost:
        names = ", ".join(layout.reversal)
        looked = f" (of what headings and labels name by: {names}; `layout.reversal`)"
        return Found(False, listed(lost) + looked * (not all(conditions.values())))
    told = f"{len(paths)} decision{'s' * (len(paths) != 1)}, each says when it is taken back"
    return Found(True, told if paths else "no decision is there", not paths)


def is_sourced(row: EvidenceRow, view: View, layout: Layout) -> bool:
    """Whether it leads to a file of the sources."""
    sources = tuple(f"{plain(one)}/" for one in layout.sources)
    referred = referred_in(row.text, view.text(row.path))
    for place in (*places_in(row.text), *referred):
        for target in (target_of(place, row.path), target_of(place, "")):
            if target is None or not target.startswith(sources):
                continue
            if target in view.now or f"{target}.md" in view.now:
                return True
    return False


def _no_orphans(scene: AssertionContext, requested: Any) -> Found:
    rows = list(evidence_of(scene.view, scene.layout))
    lost = [row for row in rows if not is_sourced(row, scene.view, scene.layout)]
    if lost:
        told = listed(f"{row.path}: {row.text[:_QUOTED]}" for row in lost)
        return Found(False, f"{len(lost)} of {len(rows)} lead to no source: {told}")
    unread = _told_unread(unread_of(scene.view, scene.layout))
    if not rows:
        return Found(True, f"no row of evidence was recognised{unread}", vacuous=True)
    told = f"{len(rows)} row{'s' * (len(rows) != 1)} of evidence, each with its source"
    return Found(True, told + unread, bool(unread))


def _no_silent_demotion(scene: AssertionContext, requested: Any) -> Found:
    view, layout, gone = scene.view, scene.layout, scene.gone_now
    found = with_indexed_status(hypotheses_of(view, layout), view, layout)
    put_away = [read_hypothesis(p, view.text(p), layout) for p in kept_elsewhere(view, gone)]
    demoted = [one for one in (*found, *put_away) if is_demoted(one, layout)]
    moved = [one for one in demoted if one.id not in scene.demoted_at_start]
    if lost := [one for one in moved if not one.count(against=True)]:
        told = listed(f"{one.id} ({one.path})" for one in lost)
        return Found(False, f"demoted without evidence against: {told}")
    if lost_files := [one for one in gone if one.silent and not is_told_of(one, view, layout)]:
        told = listed(f"{one.id} ({one.path})" for one in lost_files)
        return Found(False, f"removed with its support, and nothing says so: {told}")
    told = "none is demoted at the end" if found else "there is no hypothesis"
    if moved:
        told = f"{len(moved)} demoted, each with evidence against"
    if mute := [one for one in found if not one.status]:
        told += f"; in {listed(one.path for one in mute)} no status is found"
        lines = [line for p in mute if (line := speaks_of_status(view.text(p.path), layout))]
        told += f", not even in {listed(repr(one[:_QUOTED]) for one in lines)}" if lines else ""
    return Found(True, told, bool(mute) or not (found or put_away))


def _contains_any(scene: AssertionContext, argument: str) -> Found:
    paths, _, requested = argument.partition(";")
    there = [hit for one in alternatives(paths) for hit in hits(one, scene.view.now)]
    texts = alternatives(requested)
    for path in there:
        low = normalize("NFC", scene.view.text(path)).casefold()
        for one in texts:
            if normalize("NFC", one).casefold() in low:
                return Found(True, f"{path} has {one!r}")
    if not there:
        return Found(False, absent(paths, scene.view.now))
    return Found(False, f"none of {listed(map(repr, texts))} is in {listed(there)}")


BUILT_IN: Final[Mapping[str, Assertion]] = {
    "file_exists": Assertion(_all(_file_exists), path_fault),
    "file_exists_glob": Assertion(_all(_file_exists), path_fault),
    "file_modified": Assertion(_all(_file_modified), path_fault, compares=True),
    "file_modified_glob": Assertion(_all(_file_modified), path_fault, compares=True),
    "file_modified_or_created": Assertion(_all(_file_exists), path_fault),
    "hypothesis_count_at_least": Assertion(_hypothesis_count, count_fault),
    "hypothesis_evidence_count_increased_for": Assertion(
        _all(_evidence_increased), name_fault, compares=True
    ),
    "hypothesis_evidence_count_unchanged_for": Assertion(
        _all(_evidence_unchanged), name_fault, compares=True
    ),
    "all_internal_links_valid": Assertion(_links_valid, switch_fault),
    "all_decisions_have_reversal_condition": Assertion(_reversal, switch_fault),
    "no_orphan_evidence": Assertion(_no_orphans, switch_fault),
    "no_silent_hypothesis_demotion": Assertion(_no_silent_demotion, switch_fault),
    "file_contains_any": Assertion(_all(_contains_any), contains_fault),
}
"""Name in ``expected.yaml`` -> the assertion."""
