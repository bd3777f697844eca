"""What a run spec of this kind can name: archetypes, stories, prompts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from matrix.kinds.playtest.setup.archetypes import Archetype, load_archetypes
from matrix.kinds.playtest.setup.binding import MAX_PROMPT_BYTES
from matrix.kinds.playtest.setup.pack import read_scenario
from matrix.kinds.protocol import ListedPart, PackLibrary, ScenarioPack
from matrix.kinds.text_files import read_text
from matrix.model.documents.mistakes import Mistakes

ARCHETYPES: Final = "archetypes"
STORIES: Final = "stories"
PROMPTS: Final = "prompts"
PARTS: Final = (ARCHETYPES, STORIES, PROMPTS)
_LINE: Final = 200


def list_part(part: str, library: PackLibrary) -> Sequence[ListedPart]:
    """All that there is of one of ``PARTS``, by name.

    Raises:
        BadInput: Every mistake in a file of it.
    """
    if part == ARCHETYPES:
        return [_archetype(one) for one in load_archetypes(library.archetypes()).values()]
    mistakes = Mistakes()
    if part == STORIES:
        names = library.scenarios("playtest")
        folders = {name: library.folder("playtest", name) for name in names}
        packs = [
            mistakes.collect(partial(read_scenario, folder, name))
            for name, folder in folders.items()
            if folder is not None
        ]
        mistakes.stop_if_any()
        return [_story(pack) for pack in packs if pack is not None]
    files = library.shared("playtest", "prompts", ".md")
    prompts = [mistakes.collect(partial(_prompt, name, path)) for name, path in files.items()]
    mistakes.stop_if_any()
    return [one for one in prompts if one is not None]


def _archetype(one: Archetype) -> ListedPart:
    fields = {
        "model": one.model,
        "tier": one.tier,
        "quirk": f"{one.quirk_frequency:.0%}",
        "tests": ", ".join(one.tests_for),
    }
    return ListedPart(one.id, one.style, fields)


def _story(pack: ScenarioPack) -> ListedPart:
    fields = {"title": pack.title, "pulses": pack.content["pulses_expected"]}
    return ListedPart(pack.name, pack.summary, fields)


def _prompt(name: str, path: Path) -> ListedPart:
    """A prompt has no summary: how it begins is what tells it from others."""
    words = " ".join(read_text(path, MAX_PROMPT_BYTES).split())
    about = words if len(words) <= _LINE else words[: _LINE - 3] + "..."
    return ListedPart(name, about, {"characters": len(words)})
