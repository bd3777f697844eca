"""Reading a scenario's folder: ``inputs/`` in the order of their names, and ``expected.yaml``.

Such folders are written by others, so what is not known is kept rather than refused where it can
do no harm, and told as a note; what would change a verdict silently is a mistake.
"""

from __future__ import annotations

import ast
import datetime
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from matrix.kinds.protocol import ScenarioPack
from matrix.kinds.reporting import file_name
from matrix.kinds.text_files import read_text, real
from matrix.kinds.trajectory.assertions.own_checks import CHECKS, assertions_of, installed
from matrix.kinds.trajectory.assertions.pinned import Pin
from matrix.kinds.trajectory.expected import ExpectedReader
from matrix.kinds.trajectory.foreign import links_out_of, special_files_in
from matrix.kinds.trajectory.settings import (
    TRAJECTORY,
    Expected,
    ScenarioTurn,
    Thresholds,
    TrajectoryScenario,
)
from matrix.model.documents.mistakes import Mistakes
from matrix.model.documents.yaml_documents import Document, PathKey, parse_document
from matrix.model.errors import BadInput, Mistake, did_you_mean
from matrix.model.records import JSON

EXPECTED: Final = "expected.yaml"
INPUTS: Final = "inputs"

MAX_INPUT: Final = 1_000_000
"""Bytes of one input."""
MAX_TURNS: Final = 1000

_TOP: Final = ("scenario", "description", "pass_threshold", "turns", "final_state")
_OF_A_TURN: Final = ("turn", "input", "structural", "content", "date", "command")
_NUMBER: Final = re.compile(r"^turn[-_ ]?0*(\d+)[-_ ]?(.*)$", re.IGNORECASE)
_DATE: Final = re.compile(r"\b(\d{4}-\d{2}-\d{2})\b")
_FRONT_DATE: Final = re.compile(
    r"\A---[ \t]*\r?\n(?:(?!---)[^\n]*\n)*?date:[ \t]*[\"']?([^\s\"'#]+)", re.IGNORECASE
)


_LIKE_A_COMMAND: Final = re.compile(r"/[A-Za-z][\w:-]*(?=\s|\Z)")
"""How a command begins: ``/review``, and no path of a file."""
_WITHOUT_FRONT: Final = re.compile(r"\A---[ \t]*\r?\n(?:(?!---)[^\n]*\n)*---[ \t]*(?:\r?\n|\Z)")
"""Front matter of a command is about it, and no part of it."""


@dataclass(frozen=True, slots=True)
class ScenarioPlaces:
    """Where a scenario's parts are looked for beside its own folder, and what is allowed.

    Attributes:
        rubrics: Folder of rubrics; ``None`` if none is named.
        allow_code: Whether ``checks.py`` may be run.
        judge_models: Name in an assertion -> the model it stands for.
        snapshots: Folder of pinned final states.
    """

    rubrics: Path | None = None
    allow_code: bool = False
    judge_models: Mapping[str, str] = field(default_factory=dict)
    snapshots: Path | None = None


def is_scenario(folder: Path) -> bool:
    """Whether a folder is a scenario of this form."""
    return (folder / EXPECTED).is_file() and (folder / INPUTS).is_dir()


def scenarios_in(folder: Path) -> list[Path]:
    """The scenario itself, or those right inside the folder, in order."""
    if is_scenario(folder):
        return [folder]
    try:
        inside = sorted(folder.iterdir())
    except OSError:
        return []
    return [one for one in inside if (one / EXPECTED).is_file() or _half(one)]


def _half(folder: Path) -> bool:
    """A folder with inputs and nothing expected of them: meant as a scenario, and told of."""
    return (folder / INPUTS).is_dir()


def read_scenario(folder: Path, name: str, places: ScenarioPlaces) -> ScenarioPack:
    """Read and check a scenario.

    Raises:
        BadInput: Every mistake in it.
    """
    return _Reader(folder, name, places).read()


class _Reader:
    def __init__(self, folder: Path, name: str, places: ScenarioPlaces) -> None:
        self._folder, self._name, self._places = folder, name, places
        self._source = f"{name}/{EXPECTED}"
        self._notes: list[str] = []
        self._folders: dict[str, str] = {}

    def read(self) -> ScenarioPack:
        self._refuse(self._name, special_files_in(self._folder))
        path = self._folder / EXPECTED
        document = parse_document(read_text(path, 2_000_000, source=self._source), self._source)
        if not isinstance(document.value, dict):
            raise BadInput([document.mistake((), f"has no keys; known: {', '.join(_TOP)}")])
        self._mistakes, self._document = Mistakes(document), document
        code, own = self._code()
        self._reader = ExpectedReader(
            self._folder,
            self._places.rubrics,
            own,
            allow_code=self._places.allow_code,
            mistakes=self._mistakes,
            notes=self._notes,
        )
        self._reader.unknown((), document.value, _TOP)
        thresholds = self._thresholds()
        turns = self._turns()
        final = self._reader.read(("final_state",), document.value.get("final_state"), final=True)
        self._readme(document.value.get("pass_threshold"))
        pinned = self._pinned()
        self._mistakes.stop_if_any()
        said = document.value.get("description")
        description = said.strip() if isinstance(said, str) else ""
        scenario = TrajectoryScenario(
            name=self._name,
            description=description,
            turns=turns,
            final=final,
            thresholds=thresholds,
            code=code,
            judge_models=self._places.judge_models,
            pinned=pinned,
        )
        content: dict[str, JSON] = {
            "scenario": scenario.model_dump(mode="json"),
            "folders": dict(self._folders),
        }
        title = str(document.value.get("scenario") or self._name)
        fields: dict[str, JSON] = {"turns": len(turns), "category": _category(self._name)}
        notes = tuple(f"{self._name}: {note}" for note in self._notes)
        return ScenarioPack(self._name, TRAJECTORY, title, description, content, fields, notes)

    # --- parts ------------------------------------------------------------------------------

    def _refuse(self, where: str, faults: Iterable[tuple[str, str]]) -> None:
        """Stop at what must not be looked at any further."""
        if found := [Mistake(f"{where}/{path}", None, "", told) for path, told in faults]:
            raise BadInput(found)

    def _code(self) -> tuple[str, list[str]]:
        """The text of its own assertions, where it may be run, and their names."""
        path = self._folder / CHECKS
        if not path.is_file():
            return "", []
        source = f"{self._name}/{CHECKS}"
        text = read_text(path, 200_000, source=source)
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError) as error:
            self._mistakes.say(source, f"is no Python: {error}")
            return "", []
        if self._places.allow_code:
            try:
                assertions_of(text)
            except BaseException as error:  # SystemExit too: it is whatever its author wrote
                self._mistakes.say(source, f"cannot be loaded: {type(error).__name__}: {error}")
                return "", []
        own = [
            one.name
            for one in tree.body
            if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")
        ]
        for one in tree.body:
            if isinstance(one, ast.AsyncFunctionDef):
                self._mistakes.say(source, f"{one.name} is async; a check is a plain def")
        for name in sorted(set(own) & set(installed())):
            told = f"defines {name}, which is an assertion already; give it another name"
            self._mistakes.say(source, told)
        return text if self._places.allow_code else "", own

    def _thresholds(self) -> Thresholds:
        value = self._document.value.get("pass_threshold")
        if value is None:
            return Thresholds()
        if not isinstance(value, dict):
            told = "found no mapping; say structural: and content:, each from 0 to 1"
            self._mistakes.fault(("pass_threshold",), told)
            return Thresholds()
        self._reader.unknown(("pass_threshold",), value, tuple(Thresholds.model_fields), few=True)
        known = {name: value[name] for name in Thresholds.model_fields if name in value}
        for name, share in known.items():
            fits = isinstance(share, int | float) and not isinstance(share, bool)
            if not fits or not 0 <= share <= 1:
                told = f"found {share!r}; a share of runs is from 0 to 1"
                self._mistakes.fault(("pass_threshold", name), told)
            elif share == 0:
                self._notes.append(f"pass_threshold {name}: 0 is reached whatever happens")
        try:
            return Thresholds.model_validate(known)
        except ValidationError:
            return Thresholds()

    def _turns(self) -> tuple[ScenarioTurn, ...]:
        files = self._inputs()
        entries = self._entries()
        by_file: dict[str, tuple[int, Mapping[str, Any]]] = {}
        commands: list[tuple[int, Mapping[str, Any]]] = []
        for index, entry in entries:
            path = ("turns", index)
            name = self._input_of(entry, files)
            if name is None and entry.get("command"):
                commands.append((index, entry))
            elif name is None:
                self._no_input(path, entry, files)
                self._reader.read(path, entry)  # its other mistakes are told with it
            elif name in by_file:
                self._mistakes.fault((*path, "input"), f"{name!r} is expected of twice")
                self._reader.read(path, entry)
            else:
                by_file[name] = (index, entry)
        self._number_twice(entries, files)
        turns = []
        for name, path_ in files.items():
            found = by_file.get(name)
            if found is None:
                self._notes.append(f"nothing is expected of {INPUTS}/{name}; it is played")
            turn = self._mistakes.collect(partial(self._turn, name, path_, found))
            if turn is not None:
                turns.append((self._place(name, found), turn))
        for index, entry in commands:
            turns.append((self._place("", (index, entry)), self._command(index, entry)))
        if commands:
            turns.sort(key=lambda one: one[0])
        self._moved([turn for _, turn in turns], by_file, commands)
        if not turns and not self._mistakes.found:
            self._mistakes.say(self._source, f"has no turn: {INPUTS}/ is empty")
        if len(turns) > MAX_TURNS:
            self._mistakes.say(self._source, f"has {len(turns)} turns; at most {MAX_TURNS}")
        return tuple(turn for _, turn in turns)

    def _moved(
        self,
        turns: Sequence[ScenarioTurn],
        by_file: Mapping[str, tuple[int, Mapping[str, Any]]],
        commands: Sequence[tuple[int, Mapping[str, Any]]],
    ) -> None:
        """Turns are told by their place: numbers with gaps are said to be others."""
        said = {name: _number(name) or entry.get("turn") for name, (_, entry) in by_file.items()}
        said |= {str(one["command"]).strip(): one.get("turn") for _, one in commands}
        other = [
            f"{turn.name} is turn {place}"
            for place, turn in enumerate(turns, 1)
            if (said.get(turn.name) or _number(turn.name) or place) != place
        ]
        if other:
            more = f" and {len(other) - 3} more" * (len(other) > 3)
            told = "turns are told by their place, not by numbers with gaps or given twice: "
            self._notes.append(f"{told}{', '.join(other[:3])}{more}")

    def _number_twice(
        self, entries: Sequence[tuple[int, Mapping[str, Any]]], files: Mapping[str, Path]
    ) -> None:
        """Two turns of one number have no order; neither has a command with an input's number."""
        listed: dict[int, int] = {}
        named = {number: name for name in files if (number := _number(name)) is not None}
        for index, entry in entries:
            path, number = ("turns", index, "turn"), entry.get("turn")
            if not isinstance(number, int):
                continue
            if number in listed:
                told = f"turn {number} is given twice: turns[{listed[number]}] has it already"
                self._mistakes.fault(path, told)
            elif number in named and self._input_of(entry, files) is None and entry.get("command"):
                told = f"turn {number} is given twice: {INPUTS}/{named[number]} has it by its name"
                self._mistakes.fault(path, told)
            listed.setdefault(number, index)

    def _inputs(self) -> dict[str, Path]:
        folder = self._folder / INPUTS
        try:
            inside = sorted(folder.iterdir(), key=lambda path: path.name)
        except OSError as error:
            told = f"cannot be read: {error.strerror}"
            self._mistakes.say(f"{self._name}/{INPUTS}", told)
            return {}
        left = [one.name for one in inside if not _NUMBER.match(one.name) and _is_note(one)]
        meant = [one for one in inside if _is_meant(one)]
        found = [one for one in meant if one.name not in left] or meant
        if found != meant:
            self._notes += [
                f"{INPUTS}/{name} is about the inputs and none of them, so it is not played"
                for name in left
                if Path(name).stem.casefold() != "readme"
            ]
        if all(_number(one.name) is not None for one in found):
            found.sort(key=lambda one: (_number(one.name) or 0, one.name))
        return {one.name: one for one in found}

    def _entries(self) -> list[tuple[int, Mapping[str, Any]]]:
        value = self._document.value.get("turns")
        if value is None:
            return []
        if not isinstance(value, list):
            self._mistakes.fault(("turns",), "is a list of turns: each with turn, input, ...")
            return []
        found: list[tuple[int, Mapping[str, Any]]] = []
        for index, entry in enumerate(value):
            if not isinstance(entry, dict):
                self._mistakes.fault(("turns", index), f"found {entry!r}; a turn is a mapping")
                continue
            self._reader.unknown(("turns", index), entry, _OF_A_TURN)
            number = entry.get("turn")
            if number is not None and (type(number) is not int or number < 1):
                told = f"found {number!r}; a turn's number is a whole number from 1 on"
                self._mistakes.fault(("turns", index, "turn"), told)
            found.append((index, entry))
        return found

    def _input_of(self, entry: Mapping[str, Any], files: Mapping[str, Path]) -> str | None:
        said = entry.get("input")
        if isinstance(said, str):
            name = said.removeprefix("./").removeprefix(f"{INPUTS}/").rstrip("/")
            return name if name in files else None
        if said is not None or entry.get("command"):
            return None
        number = entry.get("turn")
        meant = [name for name in files if _number(name) == number]
        if len(meant) == 1:
            return meant[0]
        listed = list(files)
        if isinstance(number, int) and not any(map(_number, files)) and 1 <= number <= len(listed):
            return listed[number - 1]
        return None

    def _no_input(self, path: PathKey, entry: Mapping[str, Any], files: Mapping[str, Path]) -> None:
        if "input" in entry:
            said = str(entry["input"])
            hint = did_you_mean(said, list(files))
            told = f"found {said!r}; {INPUTS}/ has: {', '.join(files) or 'nothing'}{hint}"
            self._mistakes.fault((*path, "input"), told)
        else:
            told = f"turn {entry.get('turn')!r} has no input in {INPUTS}/, and no command"
            self._mistakes.fault(path, told)

    def _place(self, name: str, found: tuple[int, Mapping[str, Any]] | None) -> tuple[float, str]:
        """Where a turn stands among the others: by its number; a command comes after its file."""
        number = _number(name)
        if number is None and found is not None:
            said = found[1].get("turn")
            number = said if isinstance(said, int) else found[0] + 1
        return (float("inf") if number is None else float(number), name)

    def _turn(
        self, name: str, path: Path, found: tuple[int, Mapping[str, Any]] | None
    ) -> ScenarioTurn:
        expected, date = Expected(), ""
        if found is not None:
            index, entry = found
            expected = self._reader.read(("turns", index), entry)
            date = str(entry.get("date") or "")
            number, said = _number(name), entry.get("turn")
            if number is not None and isinstance(said, int) and number != said:
                self._notes.append(f"turn {said} has the input {name}; it is played in its place")
        kind, inside = _kind_of(name), real(self._folder / INPUTS)
        if not real(path).is_relative_to(inside):
            told = "is a link to what is not of the scenario; put it there itself"
            raise BadInput([Mistake(f"{self._name}/{INPUTS}/{name}", None, "", told)])
        if path.is_dir():
            self._refuse(f"{self._name}/{INPUTS}/{name}", links_out_of(path))
            self._folders[path.name] = str(real(path))
            date = date or _date_in(name)
            return ScenarioTurn(
                name=name, kind=kind, date=date, folder=path.name, expected=expected
            )
        text = read_text(path, MAX_INPUT, source=f"{self._name}/{INPUTS}/{name}")
        if not text.strip() or "\0" in text:
            told = "is empty" if not text.strip() else "is no text"
            raise BadInput([Mistake(f"{self._name}/{INPUTS}/{name}", None, "", told)])
        front = _FRONT_DATE.match(text)
        date = date or self._date(name, front[1] if front else "") or _date_in(name)
        body = _WITHOUT_FRONT.sub("", text, count=1).strip()
        command = body.startswith("/") and len(body.splitlines()) == 1
        if not command and _LIKE_A_COMMAND.match(body):
            self._notes.append(
                f"{INPUTS}/{name} begins with {body.split()[0]}, but a command is one line, and it "
                f"has {len(body.splitlines())}: it is played as an item"
            )
        said = body if command else text
        return ScenarioTurn(
            name=name, kind=kind, date=date, text=said, command=command, expected=expected
        )

    def _date(self, name: str, said: str) -> str:
        """What front matter says of the day; nothing, with a note, where that is none."""
        date = _real(said[:10])
        if said and not date:
            self._notes.append(f"{name} says date: {said}, which is no day such as 2026-03-02")
        return date

    def _command(self, index: int, entry: Mapping[str, Any]) -> ScenarioTurn:
        said, path = entry["command"], ("turns", index)
        if not isinstance(said, str) or not said.strip():
            self._mistakes.fault((*path, "command"), f"found {said!r}; it is a text: /review")
        elif not said.strip().startswith("/"):
            self._notes.append(f"the command {said.strip()!r} has no /; it is said as it is")
        return ScenarioTurn(
            name=str(said).strip(),
            kind="command",
            date=str(entry.get("date") or ""),
            text=str(said).strip(),
            command=True,
            expected=self._reader.read(path, entry),
        )

    # --- what is odd ------------------------------------------------------------------------

    def _readme(self, thresholds: Any) -> None:
        path = self._folder / "README.md"
        if not path.is_file():
            self._notes.append("has no README.md: what it covers, and why its thresholds")
            return
        text = read_text(path, MAX_INPUT, source=f"{self._name}/README.md")
        values = thresholds.values() if isinstance(thresholds, dict) else ()
        named = [one for value in values for one in _as_told(value)]
        told = "|".join(["threshold", *map(re.escape, named)])
        if thresholds is not None and not re.search(rf"(?<![\d.])(?:{told})", text, re.IGNORECASE):
            self._notes.append("README.md gives no reason for its pass_threshold")

    def _pinned(self) -> JSON:
        folder = self._places.snapshots
        path = None if folder is None else folder / f"{file_name(self._name)}.json"
        if path is None:
            return None
        if not (path.exists() or path.is_symlink()):  # a pipe is there, and refused
            self._notes.append(
                f"nothing is pinned of it in {folder}, so as_pinned is not looked at"
            )
            return None
        return self._mistakes.collect(partial(_read_pin, path, folder))


def _read_pin(path: Path, folder: Path | None) -> JSON:
    """A pinned state.

    Raises:
        BadInput: It cannot be read, or is none: what is pinned would not be looked at.
    """
    source = str(path)
    if folder is None or not real(path).is_relative_to(real(folder)):
        raise BadInput([Mistake(source, None, "", "is a link to what is not of the snapshots")])
    document: Document = parse_document(read_text(path, 2_000_000, source=source), source)
    try:
        Pin.model_validate(document.value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        told = f"{first['msg']}; it is no pinned state: write it again (matrix export --snapshot)"
        raise BadInput([Mistake(source, None, place, told)]) from None
    value: JSON = document.value
    return value


def _is_meant(path: Path) -> bool:
    return not path.name.startswith((".", "~")) and not path.name.endswith(("~", ".swp"))


def _is_note(path: Path) -> bool:
    """A file about the inputs, rather than one of them."""
    return path.stem.casefold() in ("readme", "index", "notes", "changelog")


def _number(name: str) -> int | None:
    found = _NUMBER.match(name) or re.match(r"^(\d+)[-_. ]", name)
    return int(found[1]) if found else None


def _kind_of(name: str) -> str:
    """``turn-01-interview-acme-ops.md`` -> ``interview``."""
    found = _NUMBER.match(Path(name).stem if "." in name else name)
    rest = _DATE.sub("", found[2]).strip("-_ ") if found else ""
    return re.split(r"[-_ ]", rest)[0]


def _date_in(name: str) -> str:
    found = _DATE.search(name)
    return _real(found[1]) if found else ""


def _real(date: str) -> str:
    """A date if there is such a day."""
    try:
        return datetime.date.fromisoformat(date).isoformat()
    except ValueError:
        return ""


def _category(name: str) -> str:
    return re.sub(r"^\d+[-_]", "", name)


def _as_told(threshold: Any) -> Iterator[str]:
    """How a README may name a threshold: ``0.75``, ``75 %``, ``75%``."""
    if isinstance(threshold, float) and 0 < threshold < 1:
        yield f"{threshold:g}"
        yield from (f"{100 * threshold:g}{gap}%" for gap in ("", " "))
