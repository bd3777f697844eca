"""Scenario packs of play-tests: ``scenario.yaml`` beside a story guide in markdown."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from matrix.kinds.playtest.setup.guide import Guide, parse_guide
from matrix.kinds.playtest.setup.wording import mistake_in
from matrix.kinds.protocol import ScenarioPack
from matrix.kinds.text_files import read_text
from matrix.model.documents.mistakes import Mistakes
from matrix.model.documents.yaml_documents import Document, check, parse_document
from matrix.model.errors import BadInput, Mistake

MAX_SCENARIO_BYTES = 50_000
MAX_GUIDE_BYTES = 200_000
DEFAULT_PULSES = 20

_WORD = re.compile(r"[^\W\d_]+")
_WHERE = re.compile(r"\b(?:setting|where and when|time and place)\b", re.IGNORECASE)

MAX_LINE = 1000
Line = Annotated[str, Field(min_length=1, max_length=MAX_LINE, pattern=r"\S")]


def _first_name(name: str) -> str:
    if not all(char.isalpha() or char in "' -" for char in name) or not name[:1].isalpha():
        raise ValueError(f"{name!r} is no first name; letters, spaces, ' and - only")
    return name


PersonName = Annotated[str, Field(min_length=2, max_length=24), AfterValidator(_first_name)]


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    seen: set[str] = set()
    for name in names:
        if name.casefold() in seen:
            raise ValueError(f"name {name!r} is listed twice; each name once")
        seen.add(name.casefold())
    return names


class StoryPack(BaseModel):
    """One story to play, as its ``scenario.yaml`` describes it."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    kind: Literal["playtest"] = Field(description="Kind of scenario; always 'playtest' here.")
    title: Line = Field(
        default="", description="Title of the story, as players hear it; the guide's if left out."
    )
    summary: Line = Field(
        default="", description="What it is about, in one line, for lists; the guide's premise."
    )
    setting: Line = Field(
        default="",
        description="Where and when, without giving anything away; what the guide says of it.",
    )
    category: str = Field(default="", max_length=60, description="What it can be grouped by.")
    tags: tuple[str, ...] = Field(
        default=(), max_length=20, description="More of what it can be grouped by."
    )
    guide: str = Field(
        default="guide.md", min_length=1, description="The story guide, a file in this folder."
    )
    pulses_expected: int | None = Field(
        default=None,
        ge=1,
        le=200,
        description="Pulses a full session has, at most as many as the guide lists; if left out, "
        "as many as that, or 20 where it lists none.",
    )
    names: Annotated[tuple[PersonName, ...], AfterValidator(_distinct)] = Field(
        default=(),
        max_length=200,
        description="First names that fit the setting, and that nobody in the guide bears.",
    )
    words: dict[str, str] = Field(
        default_factory=dict,
        description="What models are told otherwise than by the shipped wording.yaml, by the name "
        "of the text: who the narrator is, what a pulse is, what the judge looks at.",
    )


def read_scenario(folder: Path, name: str) -> ScenarioPack:
    """Read and check a pack's folder.

    Raises:
        BadInput: Every mistake in scenario and guide, at once.
    """
    path = folder / "scenario.yaml"
    document = parse_document(read_text(path, MAX_SCENARIO_BYTES), str(path))
    mistakes = Mistakes(document)
    scenario = mistakes.collect(lambda: check(document, StoryPack))
    guide = mistakes.collect(lambda: _read_guide(folder, document))
    _check_words(mistakes)
    read = parse_guide(guide or "")
    if scenario is not None and guide is not None:
        _check_together(mistakes, scenario, read)
    mistakes.stop_if_any()
    assert scenario is not None
    assert guide is not None
    return _packed(name, _filled(scenario, guide, name), guide, read)


def read_story(path: Path) -> ScenarioPack:
    """A story that is a guide in markdown and nothing else: its title and setting are the guide's.

    Raises:
        BadInput: It cannot be read, or is empty.
    """
    text = read_text(path, MAX_GUIDE_BYTES, source=str(path))
    if not text.strip():
        raise BadInput([Mistake(str(path), None, "", "is empty; write the story in it")])
    read, name = parse_guide(text), _name_of(path)
    return _packed(name, _filled(StoryPack(kind="playtest"), text, path.stem), text, read)


def _filled(scenario: StoryPack, text: str, name: str) -> StoryPack:
    """A scenario with what it leaves out taken from the text of its guide, or else its name."""
    guide = parse_guide(text)
    title = scenario.title or _line(guide.title) or _in_words(name)
    premise = _line(guide.premise)
    return scenario.model_copy(
        update={
            "title": title,
            "summary": scenario.summary or premise or title,
            "setting": scenario.setting or _line(_setting(text)) or premise or title,
        }
    )


def _in_words(name: str) -> str:
    return name.replace("-", " ").replace("_", " ").title()


def _setting(guide: str) -> str:
    """What stands under a heading that says where and when; empty if nothing does."""
    found: list[str] = []
    inside = False
    for line in guide.splitlines():
        if line.lstrip().startswith("#"):
            inside = bool(_WHERE.search(line))
        elif inside:
            found.append(line.strip().lstrip("-*+ "))
    return " ".join(found)


def _name_of(path: Path) -> str:
    """What a story in a file is called: the file's name, as names of scenarios are written."""
    return re.sub(r"[^\w.-]+", "-", path.stem).strip("-.") or "story"


def _line(text: str) -> str:
    """A text in one line of bounded length, ending with a whole sentence if it can."""
    whole = " ".join(text.split())
    if len(whole) <= MAX_LINE:
        return whole
    cut = whole[:MAX_LINE]
    return cut[: cut.rfind(". ") + 1] or cut


def _check_words(mistakes: Mistakes) -> None:
    """Collect what is wrong with texts that a story says otherwise, whatever else is."""
    value = mistakes.document.value
    words = value.get("words") if isinstance(value, dict) else None
    for key, text in (words if isinstance(words, dict) else {}).items():
        if isinstance(text, str) and (told := mistake_in(str(key), text)):
            mistakes.fault(("words", key), told)


def _check_together(mistakes: Mistakes, scenario: StoryPack, guide: Guide) -> None:
    """Collect more pulses than the guide lists, and names that its people have."""
    expected, listed = scenario.pulses_expected, len(guide.pulses)
    if expected and 0 < listed < expected:  # fewer may be meant: a list may have more in it
        told = f"found {expected}, but {scenario.guide} lists {listed}; list them, or say less"
        mistakes.fault(("pulses_expected",), told)
    borne = _borne(guide)
    for index, name in enumerate(scenario.names):
        if bearers := [borne[word] for word in _WORD.findall(name.casefold()) if word in borne]:
            told = f"{name!r} is borne by {bearers[0]!r} of {scenario.guide}; take another name"
            mistakes.fault(("names", index), told)


def _borne(guide: Guide) -> dict[str, str]:
    """Word of a name -> somebody among the guide's people who bears it."""
    return {
        word.casefold(): person.name
        for person in guide.people
        for word in _WORD.findall(person.name)
        if word[0].isupper()  # an entry may be a description
    }


def _packed(name: str, scenario: StoryPack, guide: str, read: Guide) -> ScenarioPack:
    expected = scenario.pulses_expected or len(read.pulses) or DEFAULT_PULSES
    return ScenarioPack(
        name=name,
        kind="playtest",
        title=scenario.title,
        summary=scenario.summary,
        content={
            "title": scenario.title,
            "setting": scenario.setting,
            "pulses_expected": expected,
            "names": list(scenario.names),
            "guide": guide,
            **({"words": scenario.words} if scenario.words else {}),
        },
        fields={
            **({"category": scenario.category} if scenario.category else {}),
            **({"tags": list(scenario.tags)} if scenario.tags else {}),
        },
    )


def _read_guide(folder: Path, document: Document) -> str:
    named = document.value.get("guide", "guide.md") if isinstance(document.value, dict) else ""
    if not isinstance(named, str) or not named:
        return ""  # the schema says so already
    root = Path(os.path.realpath(folder))
    path = Path(os.path.realpath(root / named))  # Path.resolve() raises for links in circles
    if not path.is_relative_to(root):
        message = f"found {named!r}; the guide must be a file inside {folder}"
        raise BadInput([document.mistake(("guide",), message)])
    try:
        text = read_text(path, MAX_GUIDE_BYTES, source=str(folder / named))
    except BadInput as error:
        if path.is_file():
            raise
        message = f"found {named!r}, but {error.mistakes[0].message}"
        raise BadInput([document.mistake(("guide",), message)]) from None
    if not text.strip():
        raise BadInput([Mistake(str(folder / named), None, "", "is empty; write the story in it")])
    return text
