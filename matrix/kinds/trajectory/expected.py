"""Reading what a scenario expects: structural assertions, and what judges are asked.

What is not known is kept or passed over with a note where it can do no harm; what would change a
verdict silently is a mistake.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from matrix.kinds.trajectory.assertions.notes.paths import alternatives, never_matches
from matrix.kinds.trajectory.assertions.own_checks import CHECKS, installed
from matrix.kinds.trajectory.rubrics import find_rubric
from matrix.kinds.trajectory.settings import Content, Expected, Structural
from matrix.model.documents.mistakes import Mistakes
from matrix.model.documents.yaml_documents import PathKey
from matrix.model.errors import did_you_mean

_OF_CONTENT: Final = ("judge", "rubric", "target_glob", "target_file", "model")
_TARGETS: Final = frozenset(["target", "targets", "file", "files", "path", "glob"])
"""What is meant as a target, and would only be told to the judge as one more word."""
_BEGINNING: Final = 5
"""Letters of a key from which what begins like it is taken for it."""
_CONTEXT: Final = ("expected_meaning", "must_not", "risk_area")


class ExpectedReader:
    """Reads what is expected at each point of one scenario."""

    def __init__(
        self,
        folder: Path,
        rubrics: Path | None,
        own_checks: Sequence[str],
        *,
        allow_code: bool,
        mistakes: Mistakes,
        notes: list[str],
    ) -> None:
        """Know the scenario; ``own_checks`` are the functions of its ``checks.py``."""
        self._folder, self._rubrics = folder, rubrics
        self._own, self._allow_code = own_checks, allow_code
        self._mistakes, self._notes = mistakes, notes
        self._assertions = installed()

    def read(self, path: PathKey, value: Any, *, final: bool = False) -> Expected:
        """What stands under one turn, or under the final state."""
        if value is None:
            return Expected()
        if not isinstance(value, dict):
            self._mistakes.fault(path, "is a mapping with structural: and content:")
            return Expected()
        if final:
            self.unknown(path, value, ("structural", "content"))
        structural = list(self._structural((*path, "structural"), value.get("structural"), final))
        content = list(self._content((*path, "content"), value.get("content")))
        return Expected(structural=tuple(structural), content=tuple(content))

    def _structural(self, path: PathKey, value: Any, final: bool) -> Iterator[Structural]:
        for place, name, argument in self._assertion_entries(path, value):
            assertion = self._assertions.get(name)
            if assertion is None:
                if name in self._own and self._allow_code:
                    yield Structural(name=name, argument=argument)
                else:
                    self._mistakes.fault(place, self._unknown_assertion(name))
                continue
            if argument is False and assertion.fault(True) == "":
                self._notes.append(f"{name}: false is not checked; leave the line out")
                continue
            if why := assertion.fault(argument):
                self._mistakes.fault((*place, name), why)
                continue
            if final and assertion.compares:
                told = "in the final state is about what the last turn did"
                self._notes.append(f"{name} {told}")
            yield Structural(name=name, argument=True if argument is None else argument)

    def _assertion_entries(self, path: PathKey, value: Any) -> Iterator[tuple[PathKey, str, Any]]:
        if value is None:
            return
        if isinstance(value, dict):
            value = [{name: item} for name, item in value.items()]
        if not isinstance(value, list):
            self._mistakes.fault(path, "is a list of assertions, such as - file_exists: INDEX.md")
            return
        for index, entry in enumerate(value):
            place = (*path, index)
            if isinstance(entry, str):
                yield place, entry, True
            elif isinstance(entry, dict) and entry:
                for name, argument in entry.items():
                    yield place, name, argument
            else:
                told = f"found {entry!r}; an assertion is a name with what it is about"
                self._mistakes.fault(place, told)

    def _unknown_assertion(self, name: str) -> str:
        if name in self._own:
            return f"{name} is code of the scenario's own ({CHECKS}); --allow-code runs it"
        names = [*self._assertions, *self._own]
        near = did_you_mean(name, names)
        return f"unknown assertion {name!r}{near}; there are: {', '.join(names)}"

    def _content(self, path: PathKey, value: Any) -> Iterator[Content]:
        if value is None:
            return
        if not isinstance(value, list):
            self._mistakes.fault(path, "is a list of judgements: each with judge and rubric")
            return
        taken: dict[str, int] = {}
        for index, entry in enumerate(value):
            place = (*path, index)
            if not isinstance(entry, dict):
                self._mistakes.fault(place, f"found {entry!r}; it is a mapping with a rubric")
                continue
            one = self._judgement(place, entry)
            if one is None:
                continue
            taken[one.judge] = taken.get(one.judge, 0) + 1
            if taken[one.judge] > 1:
                one = one.model_copy(update={"judge": f"{one.judge}.{taken[one.judge]}"})
            yield one

    def _judgement(self, place: PathKey, entry: Mapping[str, Any]) -> Content | None:
        before = len(self._mistakes.found)
        self.unknown(place, entry, (*_OF_CONTENT, *_CONTEXT), quiet=True)
        for name in _TARGETS & entry.keys():
            told = "is no key; say target_glob, or target_file, for what the judge is shown"
            self._mistakes.fault((*place, name), told)
        rubric = entry.get("rubric")
        if not isinstance(rubric, str) or not rubric.strip():
            self._mistakes.fault((*place, "rubric"), "names no file: it is the rubric in markdown")
            return None
        text = self._mistakes.collect(
            partial(find_rubric, rubric, self._folder, self._rubrics),
            lambda mistake: self._mistakes.at((*place, "rubric"), mistake.message),
        )
        for name in ("target_glob", "target_file"):
            for one in alternatives(str(entry.get(name) or "")):
                if why := never_matches(one):
                    self._mistakes.fault((*place, name), f"{one!r} can never match: {why}")
        if entry.get("target_glob") and entry.get("target_file"):
            self._mistakes.fault(place, "has target_glob and target_file; give one of the two")
        if text is None or len(self._mistakes.found) > before:
            return None
        context = {
            name: _as_text(item)
            for name, item in entry.items()
            if name not in _OF_CONTENT and item is not None
        }
        return Content(
            judge=str(entry.get("judge") or Path(rubric).stem),
            rubric=rubric,
            text=text,
            target_glob=str(entry.get("target_glob") or ""),
            target_file=str(entry.get("target_file") or ""),
            context=context,
            model=str(entry.get("model") or ""),
        )

    def unknown(
        self,
        path: PathKey,
        value: Mapping[str, Any],
        known: Sequence[str],
        *,
        quiet: bool = False,
        few: bool = False,
    ) -> None:
        """A key that is nearly one we know is a typing mistake; any other is its author's own.

        One beside the very key that it resembles is so too if assertions could stand in it. What
        only begins like a key of ours (``struct``) is one if it holds what such a key holds; where
        nothing but a few words can stand (``few``), less of a likeness will do.
        """
        for name in value:
            if name in known:
                continue
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.6 if few else 0.8)
            if not near and not quiet and isinstance(value[name], (list, dict)):
                near = [one for one in known if len(name) >= _BEGINNING and one.startswith(name)]
            beside = near and near[0] in value and not isinstance(value[name], (list, dict))
            if near and not beside:
                told = f"unknown key {name!r}; did you mean {near[0]!r}?"
                self._mistakes.fault((*path, name), told)
            elif not quiet:
                where = f" in {'.'.join(map(str, path))}" if path else ""
                self._notes.append(f"the key {name!r}{where} is not known, and passed over")


def _as_text(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(f"- {_as_text(one)}" for one in value)
    if isinstance(value, dict):
        return "\n".join(f"{name}: {_as_text(one)}" for name, one in value.items())
    return str(value).strip()
