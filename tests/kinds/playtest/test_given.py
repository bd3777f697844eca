"""One story, one prompt, one group from the command line; stories that are markdown and no more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.kinds.playtest.setup.pack import MAX_LINE, read_story
from matrix.model.errors import BadInput
from tests.executors.programs import Done, Project

FERRY = """# The Fog Ferry

A ferry that should not run any more takes a small party across the sound.

## Setting

The Sound of Ulva, 1931; fog, a coal ferry, one lamp.

## Beats

1. The gangway: someone already stowed their luggage.
2. The lamp goes out and is lit again by nobody.
3. The captain asks who is missing.

## Ending

The ferry lands where it left.
"""
PLAY = ("--executor", "in-process", "--run-id", "it", "--max-turns", "6")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "stories").mkdir()
    (tmp_path / "stories" / "Fog ferry.md").write_text(FERRY)
    (tmp_path / "mine.md").write_text("You narrate. Tell one beat, then ask what they do.\n")
    return Project(tmp_path)


def played(project: Project, *arguments: str) -> Done:
    done = project.matrix("run", *arguments, *PLAY)
    assert done.code == 0, done
    return done


def test_a_story_and_a_prompt_in_markdown_are_one_session(project: Project) -> None:
    story = ("--story", "stories/Fog ferry.md", "--prompt", "mine.md")
    played(project, *story, "--narrator", "sim/opus-4.5", "--players", "3")
    (session,) = project.tables("it").frame("sessions").to_dict("records")
    assert session["scenario"] == "Fog-ferry"
    calls = project.tables("it").frame("calls")
    assert set(calls[calls.role == "narrator"].model) == {"sim/opus-4.5"}
    messages = project.tables("it").frame("messages")
    assert len(set(messages.speaker) - {"narrator", "spokesperson", "system"}) == 3


def test_a_story_is_known_by_its_name_and_prompts_are_compared_as_before(project: Project) -> None:
    done = project.matrix("plan", "--story", "lost-temper", "--json")
    told = json.loads(done.out)
    assert "scenarios  lost-temper" in project.matrix("plan", "--story", "lost-temper").out
    assert told["factors"]["prompt"] == ["baseline", "pulse-aware", "tangent-focused", "structured"]


def test_a_group_is_pinned(project: Project) -> None:
    story = ("--story", "lost-temper", "--prompt", "baseline")
    played(project, *story, "--group", "joker,wildcard,drifter", "--sessions", "2")
    shown = project.matrix("show", "it", "best", "--json")
    assert shown.code == 0, shown
    for archetype in ("joker", "wildcard", "drifter"):
        assert archetype in shown.out


def test_every_mistake_is_told_at_once_and_nothing_starts(project: Project) -> None:
    done = project.matrix("run", "--story", "lost-tempr", "--players", "9", "--group", "joker")
    assert done.code == 2
    assert "--story: found 'lost-tempr'" in done.err
    assert "did you mean 'lost-temper'" in done.err
    assert "--players: found '9'; a whole number from 2 to 8" in done.err
    assert not (project.folder / "results").exists()


def test_other_kinds_take_none_of_it(project: Project) -> None:
    (project.folder / "other.yaml").write_text("version: 1\nkind: counter\n")
    done = project.matrix("plan", "other.yaml", "--story", "lost-temper")
    assert done.code == 2
    assert "--story: is an option of a playtest file, and other.yaml is none" in done.err


def test_a_story_from_elsewhere_is_read_only_if_that_is_said(
    project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "diary.md"
    outside.write_text(FERRY)
    done = project.matrix("plan", "--story", str(outside))
    assert done.code == 2
    assert "--allow-outside" in done.err
    assert project.matrix("plan", "--story", str(outside), "--allow-outside").code == 0


def test_what_a_guide_says_of_itself_is_taken_from_it(project: Project) -> None:
    pack = read_story(project.folder / "stories" / "Fog ferry.md")
    assert (pack.name, pack.title) == ("Fog-ferry", "The Fog Ferry")
    assert pack.content["setting"] == "The Sound of Ulva, 1931; fog, a coal ferry, one lamp."
    assert pack.content["pulses_expected"] == 3
    assert pack.summary.startswith("A ferry that should not run any more")


@given(st.text(max_size=400), st.text("aB-_ .9é", min_size=1, max_size=12))
def test_any_text_is_a_story_or_one_mistake(
    tmp_path_factory: pytest.TempPathFactory, text: str, name: str
) -> None:
    path = tmp_path_factory.mktemp("any") / f"x{name}.md"
    path.write_text(text, encoding="utf-8", errors="replace")
    try:
        pack = read_story(path)
    except BadInput:
        return
    assert pack.title
    assert 0 < len(str(pack.content["setting"])) <= MAX_LINE
