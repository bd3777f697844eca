"""One story, one prompt, one group from the command line; stories that are markdown and no more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.cli.main import main
from matrix.kinds.library import shipped_root
from matrix.kinds.playtest.setup.pack import MAX_LINE, read_scenario, read_story
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


@pytest.mark.slow
def test_a_story_and_a_prompt_in_markdown_are_one_session(project: Project) -> None:
    story = ("--story", "stories/Fog ferry.md", "--prompt", "mine.md")
    played(project, *story, "--narrator", "sim/opus-4.5", "--players", "3")
    (session,) = project.tables("it").frame("sessions").to_dict("records")
    assert session["scenario"] == "Fog-ferry"
    calls = project.tables("it").frame("calls")
    assert set(calls[calls.role == "narrator"].model) == {"sim/opus-4.5"}
    messages = project.tables("it").frame("messages")
    assert len(set(messages.speaker) - {"narrator", "spokesperson", "system"}) == 3


@pytest.mark.slow
def test_a_story_is_known_by_its_name_and_prompts_are_compared_as_before(project: Project) -> None:
    done = project.matrix("plan", "--story", "lost-temper", "--json")
    told = json.loads(done.out)
    assert "scenarios  lost-temper" in project.matrix("plan", "--story", "lost-temper").out
    assert told["factors"]["prompt"] == ["baseline", "pulse-aware", "tangent-focused", "structured"]


@pytest.mark.slow
def test_a_group_is_pinned(project: Project) -> None:
    story = ("--story", "lost-temper", "--prompt", "baseline")
    played(project, *story, "--group", "joker,wildcard,drifter", "--sessions", "2")
    shown = project.matrix("show", "it", "best", "--json")
    assert shown.code == 0, shown
    for archetype in ("joker", "wildcard", "drifter"):
        assert archetype in shown.out


@pytest.mark.slow
def test_who_speaks_is_pinned_by_archetype(project: Project) -> None:
    group = ("--group", "joker,wildcard,drifter", "--spokesperson", "drifter")
    played(project, "--story", "lost-temper", "--prompt", "baseline", *group, "--sessions", "2")
    players = project.tables("it").frame("players")
    assert set(players[players.is_spokesperson].archetype) == {"drifter"}
    assert set(players.archetype) == {"joker", "wildcard", "drifter"}
    calls = project.tables("it").frame("calls")
    assert set(calls[calls.role == "spokesperson"].model) == {"sim/kimi-k2"}


@pytest.mark.parametrize("more", [(), ("--group", "joker,joker")])
def test_a_spokesperson_whom_nobody_can_be_is_a_mistake(
    project: Project, more: tuple[str, ...]
) -> None:
    done = project.matrix("plan", "--spokesperson", "drifted", *more)
    assert done.code == 2
    assert "spokesperson_archetype: found 'drifted'" in done.err
    assert ("is one of joker" if more else "did you mean 'drifter'?") in done.err


@pytest.mark.slow
def test_one_session_has_a_report_to_read_and_says_where(project: Project) -> None:
    done = played(project, "--story", "lost-temper", "--prompt", "baseline", "--report")
    begins = "report of its session: "
    (line,) = [line for line in done.out.splitlines() if line.startswith(begins)]
    written = project.folder / line.removeprefix(begins)
    assert written.parent == project.path("it") / "reports"
    text = written.read_text()
    assert "| (spokesperson)" in text or "(spokesperson) |" in text
    assert "## Timeline" in text
    shown = project.matrix("report", "it", "--session", "best", "--format", "md").out
    assert shown.strip() == text.strip()


@pytest.mark.slow
def test_a_spec_lists_stories_and_prompts_that_are_markdown_files(project: Project) -> None:
    spec = {
        "scenarios": ["stories/Fog ferry.md", "put-*"],
        "factors": {"prompt": ["baseline", "mine.md"]},
        "per_cell": 1,
        "limits": {"cost_usd": 100},
    }
    project.write(spec)
    assert project.matrix("run", *PLAY).code == 0
    sessions = project.tables("it").frame("sessions")
    assert set(sessions.scenario) == {"Fog-ferry", "put-it-back"}
    assert set(sessions.prompt) == {"baseline", "mine.md"}


@pytest.mark.slow
def test_every_file_that_a_spec_lists_and_that_is_not_there_is_told(project: Project) -> None:
    listed = ["stories/Fog ferry.md", "gone.md", "nobody"]
    project.write({"scenarios": listed, "factors": {"prompt": ["gone-too.md"]}, "per_cell": 1})
    done = project.matrix("plan")
    assert done.code == 2
    assert "gone.md: no such file" in done.err
    assert "scenarios[2]: found 'nobody'; there are: house-too-many" in done.err
    (project.folder / "stories" / "copy").mkdir()
    (project.folder / "stories" / "copy" / "Fog ferry.md").write_text(FERRY + "\nMore.\n")
    listed = ["stories/Fog ferry.md", "stories/copy/Fog ferry.md"]
    project.write({"scenarios": listed, "factors": {"prompt": ["gone-too.md"]}, "per_cell": 1})
    done = project.matrix("plan")
    assert "would be called 'Fog-ferry', as another story is" in done.err


def test_what_a_pack_leaves_out_is_what_its_guide_says(tmp_path: Path) -> None:
    (tmp_path / "scenario.yaml").write_text("kind: playtest\ntitle: Fog\n")
    (tmp_path / "guide.md").write_text(FERRY)
    pack = read_scenario(tmp_path, "ferry")
    assert pack.title == "Fog"
    assert pack.summary.startswith("A ferry that should not run any more takes")
    assert pack.content["setting"] == "The Sound of Ulva, 1931; fog, a coal ferry, one lamp."


@pytest.mark.slow
def test_archetypes_stories_and_prompts_are_listed_the_project_s_own_first(
    project: Project,
) -> None:
    own = project.folder / "archetypes"
    own.mkdir()
    shipped = json.loads(project.matrix("list", "archetypes", "--json").out)
    assert len(shipped) == 10
    text = (shipped_root() / "archetypes" / "joker.yaml").read_text()
    (own / "grump.yaml").write_text(text.replace("id: joker", "id: grump"))
    names = [one["name"] for one in json.loads(project.matrix("list", "archetypes", "--json").out)]
    assert names == sorted([*(one["name"] for one in shipped), "grump"])
    (own / "grump.yaml").write_text(text)
    done = project.matrix("list", "archetypes")
    assert (done.code, "must be 'grump', the name of the file" in done.err) == (2, True)
    assert "lost-temper" in project.matrix("list", "stories").out
    assert "tangent-focused" in project.matrix("list", "prompts").out
    done = project.matrix("list", "archetype")
    assert (done.code, "did you mean 'archetypes'?" in done.err) == (2, True)


@pytest.mark.slow
def test_a_checkpoint_is_played_on_from_with_a_prompt_and_a_narrator_by_name(
    project: Project,
) -> None:
    group = ("--group", "joker,wildcard,drifter")
    played(project, "--story", "lost-temper", "--prompt", "baseline", *group)
    assert project.matrix("export", "it", "best", "--turn", "2", "-o", "two.json").code == 0
    again = ("replay", "--checkpoint", "two.json", "--run-id")
    more = ("--prompt", "mine.md", "--narrator", "sim/grok-4", "--spokesperson", "wildcard")
    done = project.matrix(*again, "by-options", *more)
    assert done.code == 0, done
    (session,) = project.tables("by-options").frame("sessions").to_dict("records")
    assert f"prompt=file://{project.folder.resolve()}/mine.md" in session["changed"]
    players = project.tables("by-options").frame("players")
    assert list(players[players.is_spokesperson].archetype) == ["wildcard"]
    calls = project.tables("by-options").frame("calls")
    assert set(calls[calls.role == "narrator"].model) == {"sim/grok-4"}
    sets = ("--set", f"prompt=file://{project.folder.resolve()}/mine.md", "--set",
            "narrator=sim/grok-4", "--set", "spokesperson_archetype=wildcard")  # fmt: skip
    assert project.matrix(*again, "by-set", *sets).code == 0
    (same,) = project.tables("by-set").frame("sessions").to_dict("records")
    assert (same["score"], same["changed"]) == (session["score"], session["changed"])
    done = project.matrix(*again, "twice", "--prompt", "baseline", "--set", "prompt=structured")
    assert (done.code, "--set prompt: is given twice" in done.err) == (2, True)
    done = project.matrix(*again, "nobody", "--spokesperson", "engaged")
    assert (done.code, "found 'engaged'" in done.err) == (2, True)
    assert not project.path("nobody").exists()


@pytest.mark.slow
def test_the_report_is_opened_by_what_is_handed_in(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project.folder)
    opened: list[str] = []

    def browse(address: str) -> bool:
        opened.append(address)
        return len(opened) == 1

    play = ("run", "--story", "lost-temper", "--prompt", "baseline", *PLAY)
    with pytest.raises(SystemExit) as ended:
        main([*play, "--open"], browse=browse)
    assert ended.value.code == 0
    assert opened == [(project.path("it").resolve() / "report.html").as_uri()]
    with pytest.raises(SystemExit):
        main(["report", "it", "--session", "best", "--open"], browse=browse)
    assert opened[1].endswith(".html")
    assert "no browser could be opened here" in capsys.readouterr().err
    for refused in ([*play, "--open", "--no-report"], ["report", "it", "--open", "--format", "md"]):
        with pytest.raises(SystemExit) as ended:
            main(refused, browse=browse)
        assert ended.value.code == 2
    assert len(opened) == 2


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
