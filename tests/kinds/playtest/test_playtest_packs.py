"""Laws of packs and archetypes: every mistake at once, each with its file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from matrix.kinds.library import FolderLibrary, shipped_root
from matrix.kinds.playtest.kind import KIND
from matrix.kinds.playtest.setup.archetypes import load_archetypes
from matrix.kinds.playtest.setup.pack import MAX_GUIDE_BYTES
from matrix.model.errors import BadInput

GOOD = """\
kind: playtest
title: The Ferry
summary: A ferry that never arrives.
setting: A grey harbour, 1931.
guide: guide.md
names: [Ada, Bram]
"""
ARCHETYPE = """\
id: joker
name: The Joker
style: Jokes
context: Sells things.
patterns: [You joke now and then.]
quirk_frequency: 0.3
tests_for: [tone]
model: grok
tier: 4
"""


def pack(folder: Path, text: str = GOOD, guide: str | bytes | None = "# The Ferry\n") -> Path:
    (folder / "scenario.yaml").write_text(text, encoding="utf-8")
    if isinstance(guide, bytes):
        (folder / "guide.md").write_bytes(guide)
    elif guide is not None:
        (folder / "guide.md").write_text(guide, encoding="utf-8")
    return folder


def mistakes_of(folder: Path) -> list[str]:
    with pytest.raises(BadInput) as caught:
        KIND.read_pack(folder, "ferry")
    return [str(mistake).replace(str(folder), "PACK") for mistake in caught.value.mistakes]


def test_a_good_pack_is_read_whole(tmp_path: Path) -> None:
    found = KIND.read_pack(pack(tmp_path), "ferry")
    assert (found.name, found.kind, found.title) == ("ferry", "playtest", "The Ferry")
    assert found.content == {
        "title": "The Ferry",
        "setting": "A grey harbour, 1931.",
        "pulses_expected": 20,
        "names": ["Ada", "Bram"],
        "guide": "# The Ferry\n",
    }


THREE = "# F\n\n## Pulses\n\n1. **One** - a\n2. **Two** - b\n3. **Three** - c\n"


def test_pulses_expected_are_those_of_the_guide_or_said_where_it_lists_none(
    tmp_path: Path,
) -> None:
    assert KIND.read_pack(pack(tmp_path, GOOD, THREE), "f").content["pulses_expected"] == 3
    told = pack(tmp_path, GOOD + "pulses_expected: 7\n", "# F\n\nIt happens.\n")
    assert KIND.read_pack(told, "f").content["pulses_expected"] == 7


def test_more_pulses_than_the_guide_lists_are_a_mistake(tmp_path: Path) -> None:
    fewer = pack(tmp_path, GOOD + "pulses_expected: 2\n", THREE)
    assert KIND.read_pack(fewer, "f").content["pulses_expected"] == 2
    found = mistakes_of(pack(tmp_path, GOOD + "pulses_expected: 9\n", THREE))
    told = "found 9, but guide.md lists 3; list them, or say less"
    assert found == [f"PACK/scenario.yaml:7: pulses_expected: {told}"]


def test_players_have_no_names_of_the_guides_people(tmp_path: Path) -> None:
    people = "# F\n\n## People\n\n- **Old BRAM Tolley-Ash** - x\n- a lady with an ada palm\n"
    found = mistakes_of(pack(tmp_path, GOOD.replace("[Ada, Bram]", "[Ada, Bra, Bram]"), people))
    told = "'Bram' is borne by 'Old BRAM Tolley-Ash' of guide.md; take another name"
    assert found == [f"PACK/scenario.yaml:6: names[2]: {told}"]


@pytest.mark.parametrize("name", FolderLibrary(shipped_root()).scenarios("playtest"))
def test_shipped_packs_are_good(name: str) -> None:
    folder = FolderLibrary(shipped_root()).folder("playtest", name)
    assert folder is not None
    content = KIND.read_pack(folder, name).content
    assert content["pulses_expected"] == 20
    assert len(content["names"]) >= 8


def test_every_mistake_of_a_pack_is_reported_at_once_with_its_line(tmp_path: Path) -> None:
    broken = """\
kind: playtests
titel: The Ferry
summary: ""
setting: A grey harbour.
guide: gone.md
pulses_expected: 0
names: [Ada, "x1", ada]
"""
    found = mistakes_of(pack(tmp_path, broken))
    keys = "kind, title, summary, setting, category, tags, guide, pulses_expected, names, words"
    unknown = f"unknown key; allowed: {keys}; did you mean 'title'?"
    at_7 = "PACK/scenario.yaml:7: names[1]: 'x1' is no first name; letters, spaces, ' and - only"
    missing = "found 'gone.md', but cannot be read: no such file"
    assert found == [
        "PACK/scenario.yaml:1: kind: found 'playtests'; should be 'playtest'",
        f"PACK/scenario.yaml:2: titel: {unknown}",
        "PACK/scenario.yaml:3: summary: found ''; string should have at least 1 character",
        f"PACK/scenario.yaml:5: guide: {missing}",
        "PACK/scenario.yaml:6: pulses_expected: found 0; should be greater than or equal to 1",
        at_7,
    ]


def test_a_name_listed_twice_is_a_mistake(tmp_path: Path) -> None:
    found = mistakes_of(pack(tmp_path, GOOD.replace("[Ada, Bram]", "[Ada, ada]")))
    assert found == ["PACK/scenario.yaml:6: names: name 'ada' is listed twice; each name once"]


@pytest.mark.parametrize("path", ["../guide.md", "/etc/hostname", "sub/../../guide.md"])
def test_the_guide_stays_inside_the_folder(tmp_path: Path, path: str) -> None:
    folder = tmp_path / "pack"
    folder.mkdir()
    (tmp_path / "guide.md").write_text("# Outside", encoding="utf-8")
    (found,) = mistakes_of(pack(folder, GOOD.replace("guide.md", path)))
    assert "must be a file inside" in found
    assert found.startswith("PACK/scenario.yaml:5: guide:")


def test_a_link_out_of_the_folder_is_followed_nowhere(tmp_path: Path) -> None:
    folder = tmp_path / "pack"
    folder.mkdir()
    (tmp_path / "secret.md").write_text("# Outside", encoding="utf-8")
    pack(folder, GOOD, None)
    (folder / "guide.md").symlink_to(tmp_path / "secret.md")
    assert "must be a file inside" in mistakes_of(folder)[0]


@pytest.mark.parametrize(
    ("guide", "message"),
    [
        (
            "x" * (MAX_GUIDE_BYTES + 1),
            "PACK/guide.md: cannot be read: it is larger than the 200,000 bytes that it may have",
        ),
        ("  \n", "PACK/guide.md: is empty; write the story in it"),
        (b"# A\n\n\xff\xfe", "PACK/guide.md:3: is not UTF-8 text; save it as UTF-8"),
    ],
)
def test_guides_are_bounded_text(tmp_path: Path, guide: str | bytes, message: str) -> None:
    assert mistakes_of(pack(tmp_path, GOOD, guide)) == [message]


def test_a_folder_without_a_scenario_says_so(tmp_path: Path) -> None:
    assert mistakes_of(tmp_path) == ["PACK/scenario.yaml: cannot be read: no such file"]


def archetypes(folder: Path, **texts: str) -> dict[str, Path]:
    files = {}
    for id_, text in texts.items():
        files[id_] = folder / f"{id_}.yaml"
        files[id_].write_text(text, encoding="utf-8")
    return files


def test_shipped_archetypes_are_the_ten() -> None:
    found = load_archetypes(FolderLibrary(shipped_root()).archetypes())
    assert set(found) == {
        "joker",
        "engaged",
        "questioner",
        "wildcard",
        "follower",
        "curious",
        "optimizer",
        "invested",
        "drifter",
        "experienced",
    }
    assert found["follower"].tier == 1
    assert found["joker"].model == "grok"


def test_every_mistake_in_every_archetype_is_reported_at_once(tmp_path: Path) -> None:
    files = archetypes(
        tmp_path,
        joker=ARCHETYPE.replace("0.3", "1.3").replace("tier: 4", "tier: cheap"),
        engaged=ARCHETYPE,
        drifter="id: drifter\n  name: [",
        curious=ARCHETYPE.replace("joker", "curious").replace("patterns", "pattern"),
    )
    with pytest.raises(BadInput) as caught:
        load_archetypes(files)
    found = [str(mistake).replace(str(tmp_path), "A") for mistake in caught.value.mistakes]
    assert len(found) == 5
    assert found[0].startswith("A/curious.yaml:5: pattern: unknown key; allowed: id, name,")
    assert found[0].endswith("did you mean 'patterns'?")
    assert found[1].startswith("A/drifter.yaml:2: not YAML")
    assert found[2] == "A/engaged.yaml: id: found 'joker'; must be 'engaged', the name of the file"
    assert found[3].startswith("A/joker.yaml:6: quirk_frequency: found 1.3")
    assert found[4].startswith("A/joker.yaml:9: tier: found 'cheap'")


def test_no_archetypes_at_all_is_a_mistake() -> None:
    with pytest.raises(BadInput, match="no archetype file"):
        load_archetypes({})
