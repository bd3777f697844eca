"""Working an item into a notebook: which files are other afterwards."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Final

from matrix.providers.simulated.notebook.items import NotebookItem, file_slug
from matrix.providers.simulated.notebook.rules import NotebookRules
from matrix.providers.simulated.notebook.wording import denies, shared, stems

_OVERLAP: Final = 0.34
"""Share of a hypothesis that a sentence has to speak of to bear on it."""
_SAME: Final = 0.6
"""Share from which a belief is one that is there already."""
_ENOUGH: Final = 3
"""Rows from sources of their own that support a hypothesis; people of one persona."""
_STALE_DAYS: Final = 28
_FOR, _AGAINST = "## Evidence for", "## Evidence against"
_NONE: Final = "- (none yet)"
_AREAS: Final[Mapping[str, str]] = {
    "U": "click tap screen button find confus unders page label search scroll menu reada print",
    "F": "build api serve batte senso integ techn offli export sync code machi print-shop wirel",
    "B": "price pay reven budge contr marke compe sell licen invoi fee cheap money fund grant",
}
_ROW_DATE = re.compile(r"(\d{4}-\d{2}-\d{2})")
_STATUS = re.compile(r"^Status: .*$", re.MULTILINE)
_SOURCE = re.compile(r"\]\(([^()\[\]\n]+)\)")


class Notebook:
    """The files of a notebook, changed in memory."""

    def __init__(self, files: Mapping[str, str], rules: NotebookRules) -> None:
        """Begin with the files as they were read."""
        self._was, self.files, self._rules = dict(files), dict(files), rules
        self.did: list[str] = []

    @property
    def changed(self) -> dict[str, str]:
        """Files that are other than they were, in the order they were written in."""
        return {path: text for path, text in self.files.items() if self._was.get(path) != text}

    def work_in(self, item: NotebookItem) -> None:
        """Take one item in, as the instructions say."""
        source = self._source(item)
        self._person(item, source)
        used = self._evidence(item, source)
        used |= self._propose(item, source)
        self._decide(item, source)
        if not (used or item.decision or self._rules.leaves_noise):
            self._grasp(item, source)
        self._personas()
        self._index()

    def review(self, day: str) -> None:
        """Go through all that is there and say what needs looking at."""
        stale, quiet, kept = [], list[str](), list[str]()
        for path in self._paths("hypotheses"):
            name, title = _identity(path), _title(self.files[path])
            newest = max(_ROW_DATE.findall(self.files[path]), default="")
            if newest and _days(newest, day) > _STALE_DAYS and self._status(path) != "archived":
                stale.append(
                    f"- [{name}](../{path}): {title}. No new evidence since {newest}; flagged for "
                    "demotion or archive."
                )
                kept += self._archive(path, newest, day)
        for path in self._paths("people"):
            text = self.files[path]
            last = re.search(r"^Last contact: (\S+)", text, re.MULTILINE)
            if last and "Influence: high" in text and _days(last[1], day) > _STALE_DAYS:
                quiet.append(f"- [{_title(text)}](../{path}): not heard since {last[1]}.")
        rules = self._rules
        told = [f"# Review of {day}", ""]
        told += ["## Stale hypotheses", "", *(stale if rules.flags_stale else []), ""]
        told += ["## Quiet people", "", *(quiet if rules.flags_quiet else []), ""]
        told += ["## Minority signals that stay", "", *(kept or ["None."]), ""]
        self.files[f"reviews/{day}.md"] = "\n".join(told)
        self.did.append(
            f"Reviewed {day}: {len(stale) * rules.flags_stale} stale hypotheses, "
            f"{len(quiet) * rules.flags_quiet} quiet people."
        )
        self._index()

    # --- parts --------------------------------------------------------------------------------

    def _source(self, item: NotebookItem) -> str:
        """Where the item is kept word for word; where it would be, if it is not."""
        path = f"source/{item.kind}/{item.slug or 'item'}.md"
        if self._rules.copies:
            self.files[path] = item.text if item.text.endswith("\n") else f"{item.text}\n"
            self.did.append(f"Copied it to {path}.")
        return path

    def _person(self, item: NotebookItem, source: str) -> None:
        if not item.who:
            return
        path = f"people/{file_slug(item.who)}.md"
        old = self.files.get(path, "")
        habit = item.habit or _after(old, "Habit: ")
        said = re.findall(r"^- .*$", old, re.MULTILINE)
        row = f"- {item.date or 'undated'}: {item.kind} ([source](../{source}))"
        lines = [
            f"# {item.who}",
            "",
            f"Role: {item.role or _after(old, 'Role: ') or 'unknown'}",
            f"Influence: {item.influence or _after(old, 'Influence: ') or 'unknown'}",
        ]
        if self._rules.dates_people:
            lines.append(f"Last contact: {item.date or 'unknown'}")
        lines += [f"Habit: {habit}"] if habit else []
        self.files[path] = "\n".join([*lines, "", "## Heard", "", *said, row, ""])

    def _evidence(self, item: NotebookItem, source: str) -> bool:
        """Rows for and against what is there already."""
        used = False
        for path in self._paths("hypotheses"):
            title = _title(self.files[path])
            hits = [
                one for one in item.said if shared(title, one) >= _OVERLAP and _about(title, one)
            ]
            if not hits or self._status(path) == "archived":
                continue
            best = max(hits, key=lambda one: (shared(title, one), one))
            self._row(path, best, item, source, against=denies(title, best))
            used = True
        return used

    def _row(self, path: str, said: str, item: NotebookItem, source: str, *, against: bool) -> None:
        link = f" ([source](../{source}))" if self._rules.links_evidence else ""
        row = f"- {item.date or 'undated'}: {said}{link}"
        name = _identity(path)
        if against and not self._rules.keeps_what_contradicts:
            self._set_status(path, "demoted")
            self.did.append(f"Demoted {name}.")
            return
        self.files[path] = _with_row(self.files[path], _AGAINST if against else _FOR, row)
        self.did.append(f"Evidence {'against' if against else 'for'} {name}.")
        if against:
            self.did.append(f"This contradicts {name}, which stays {self._status(path)} for now.")
            pro, con = _rows(self.files[path], _FOR), _rows(self.files[path], _AGAINST)
            if len(con) > len(pro):
                self._set_status(path, "demoted")
                self.did.append(f"Demoted {name}: more speaks against it than for it.")
        else:
            self._promote(path)

    def _promote(self, path: str) -> None:
        rows = _rows(self.files[path], _FOR)
        sources = {target for row in rows for target in _SOURCE.findall(row)} or set(rows)
        needed = _ENOUGH if self._rules.waits_to_promote else 1
        if len(sources) >= needed and self._status(path) == "proposed":
            self._set_status(path, "supported")
            self.did.append(f"Promoted {_identity(path)}: {len(sources)} sources support it.")

    def _propose(self, item: NotebookItem, source: str) -> bool:
        used = False
        for belief in item.beliefs:
            titles = [_title(self.files[path]) for path in self._paths("hypotheses")]
            if any(shared(title, belief) >= _SAME for title in titles):
                used = True
                continue
            name = self._next_id(belief)
            path = f"hypotheses/{name}-{file_slug(belief)}.md"
            self.files[path] = (
                f"# {name}: {belief[:1].upper()}{belief[1:]}\n\nStatus: proposed\n"
                f"Since: {item.date or 'undated'}\n\n{_FOR}\n\n{_NONE}\n\n{_AGAINST}\n\n{_NONE}\n"
            )
            self.did.append(f"Proposed {name}: {belief}.")
            self._row(path, f"{item.who or 'Somebody'} says so", item, source, against=False)
            used = True
        return used

    def _decide(self, item: NotebookItem, source: str) -> None:
        if not (decision := item.decision):
            return
        path = f"decisions/{file_slug(decision)}.md"
        about = [
            one
            for one in self._paths("hypotheses")
            if shared(_title(self.files[one]), item.text) >= _OVERLAP
        ]
        rests = [
            f"- [{_identity(one)}](../{one}): {_title(self.files[one])} "
            f"({len(_rows(self.files[one], _FOR))} for, "
            f"{len(_rows(self.files[one], _AGAINST))} against)"
            for one in about
        ]
        back = "If things change."
        if self._rules.measures_reversal:
            back = item.way_back or "If two of the next five conversations contradict it."
        self.files[path] = (
            f"# Decision: {decision[:1].upper()}{decision[1:]}\n\n"
            f"Date: {item.date or 'undated'}\n\n## Rests on\n\n"
            + "\n".join([*rests, f"- [what was said](../{source})"])
            + f"\n\n## Reversal condition\n\n{back}\n"
        )
        self.did.append(f"Recorded the decision: {decision}.")

    def _grasp(self, item: NotebookItem, source: str) -> None:
        """What an agent does that must find something in everything."""
        paths = self._paths("hypotheses")
        if paths and item.said:
            self._row(paths[-1], item.said[0], item, source, against=False)

    def _personas(self) -> None:
        if not self._rules.sees_personas:
            return
        habits = {path: _after(self.files[path], "Habit: ") for path in self._paths("people")}
        habits = {path: habit for path, habit in habits.items() if habit}
        for habit in habits.values():
            alike = [path for path, other in habits.items() if len(stems(habit) & stems(other)) > 1]
            if len(alike) < _ENOUGH:
                continue
            common = set.intersection(*(stems(habits[path]) for path in alike))
            words = [one for one in habit.split() if stems(one) & common]
            path = f"personas/{file_slug(' '.join(words))}.md"
            seen = [f"- [{_title(self.files[one])}](../{one}): {habits[one]}" for one in alike]
            told = "\n".join([f"# Persona: {' '.join(words).strip('.,')}", "", *seen, ""])
            if path not in self.files:
                self.did.append(f"A persona emerges from {len(alike)} people: {' '.join(words)}.")
            self.files[path] = told
            return

    def _archive(self, path: str, newest: str, day: str) -> list[str]:
        """What becomes of a demoted hypothesis about which nothing new came in."""
        if self._status(path) != "demoted" or _days(newest, day) <= 2 * _STALE_DAYS:
            return []
        self._set_status(path, "archived")
        self.did.append(f"Archived {_identity(path)}.")
        rows = _rows(self.files[path], _FOR)
        if self._rules.keeps_minority:
            return [f"- {_identity(path)}: {row.removeprefix('- ')}" for row in _up(rows)]
        text = self.files[path]
        for row in (*rows, *_rows(text, _AGAINST)):
            text = text.replace(f"{row}\n", "")
        self.files[path] = text
        return []

    def _index(self) -> None:
        if not self._rules.indexes:
            return
        lines = ["# Index", ""]
        for folder in ("hypotheses", "decisions", "people", "personas", "reviews"):
            for path in self._paths(folder):
                shown = path if self._rules.links_within else f"../{path}"
                lines.append(f"- [{_title(self.files[path])}]({shown})")
        self.files["INDEX.md"] = "\n".join([*lines, ""])

    # --- the files ----------------------------------------------------------------------------

    def _paths(self, folder: str) -> list[str]:
        return sorted(
            path
            for path in self.files
            if path.startswith(f"{folder}/") and not path.rpartition("/")[2].startswith("_")
        )

    def _status(self, path: str) -> str:
        return _after(self.files[path], "Status: ")

    def _set_status(self, path: str, status: str) -> None:
        self.files[path] = _STATUS.sub(f"Status: {status}", self.files[path], count=1)

    def _next_id(self, belief: str) -> str:
        words = stems(belief)
        counts = {area: len(words & set(cues.split())) for area, cues in _AREAS.items()}
        area = max(counts, key=lambda one: counts[one])
        area = area if counts[area] else "V"
        taken = [_identity(path) for path in self._paths("hypotheses")]
        number = 1 + sum(name.startswith(f"H-{area}") for name in taken)
        return f"H-{area}{number}"


def _about(title: str, said: str) -> bool:
    return len(stems(title) & stems(said)) > 1


def _identity(path: str) -> str:
    found = re.match(r"(H-[A-Z]\d+)", path.rpartition("/")[2])
    return found[1] if found else path


def _title(text: str) -> str:
    first = next((line for line in text.splitlines() if line.startswith("# ")), "# ")
    return re.sub(r"^H-[A-Z]\d+: ", "", first[2:])


def _after(text: str, label: str) -> str:
    found = re.search(rf"^{re.escape(label)}(.*)$", text, re.MULTILINE)
    return found[1].strip() if found else ""


def _section(text: str, heading: str) -> tuple[int, int]:
    at = text.find(f"{heading}\n")
    if at < 0:
        return len(text), len(text)
    end = text.find("\n## ", at + len(heading))
    return at, len(text) if end < 0 else end


def _rows(text: str, heading: str) -> list[str]:
    start, end = _section(text, heading)
    found = [line for line in text[start:end].splitlines() if line.startswith("- ")]
    return [line for line in found if line != _NONE]


def _with_row(text: str, heading: str, row: str) -> str:
    start, end = _section(text, heading)
    if start == len(text):
        return f"{text.rstrip()}\n\n{heading}\n\n{row}\n"
    part = text[start:end]
    if row in part:
        return text
    part = part.replace(f"{_NONE}\n", "").rstrip("\n")
    part = part if "\n" in part else f"{part}\n"
    return f"{text[:start]}{part}\n{row}\n{text[end:]}"


def _up(rows: Sequence[str]) -> list[str]:
    """Links of rows as they are from a folder beside theirs."""
    return list(rows)


def _days(earlier: str, later: str) -> int:
    try:
        return (date.fromisoformat(later) - date.fromisoformat(earlier)).days
    except ValueError:
        return 0
