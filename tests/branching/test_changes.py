"""How changes enter a play-test: texts, models, scenario, the people at the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from matrix.api import Run, replay_checkpoint
from matrix.engine.prepare.registry import load_kind
from matrix.kinds.library import FolderLibrary
from matrix.kinds.protocol import PreviousPlay
from matrix.model.errors import BadInput
from matrix.model.seeds import content_hash
from matrix.store.reading.checkpoints import Moments
from tests.branching.looking import ids, left_behind

pytestmark = pytest.mark.usefixtures("flags")


def test_rebinding_without_a_change_reads_nothing_and_gives_the_same_texts(
    parent: Run, tmp_path: Path
) -> None:
    nothing = FolderLibrary(tmp_path, tmp_path)
    kind = load_kind(parent.file.kind)
    for session in ids(parent):
        plan = parent.session(session).plan
        moments = Moments(parent.path)
        texts = moments.after(session, 1).texts
        moments.close()
        options = kind.options_model.model_validate(plan.options)
        binding = kind.rebind(PreviousPlay(plan, texts), options, plan.roles, nothing)
        hashes = {name: content_hash(value) for name, value in binding.resources.items()}
        assert hashes == plan.resources


@pytest.mark.slow
def test_another_model_plays_from_then_on(play: Run, tmp_path: Path) -> None:
    run = play.replay(
        ids(play)[0],
        turn=2,
        changes={"narrator": "sim/opus-4.5", "players": "sim/gpt-4o-mini"},
        results=tmp_path,
        executor="in-process",
    )
    calls = run.frame("calls").groupby("role", observed=True)["model"].unique()
    assert list(calls["narrator"]) == ["sim/opus-4.5"]
    assert list(calls["players"]) == ["sim/gpt-4o-mini"]
    assert set(run.frame("players")["model"]) == {"sim/gpt-4o-mini"}
    assert list(run.sessions()["changed"]) == ["narrator=sim/opus-4.5, players=sim/gpt-4o-mini"]


def test_another_archetype_is_another_persona_of_the_same_person(play: Run, tmp_path: Path) -> None:
    session = ids(play)[0]
    run = play.replay(
        session,
        turn=2,
        changes={"group": ["joker", "drifter", "optimizer"]},
        results=tmp_path,
        executor="in-process",
    )
    (child,) = ids(run)
    before = {player.name: player for player in play.session(session).players}
    after = {player.name: player for player in run.session(child).players}
    assert list(after) == list(before)
    moved = [name for name in after if after[name] != before[name]]
    assert [(after[name].archetype, before[name].archetype) for name in moved] == [
        ("drifter", "curious")
    ]
    said = left_behind(play, session, "messages")
    messages = run.session(child).messages
    turns = play.session(session).turns
    kept = sum(len(done.messages) for done in turns if done.turn <= 2 and done.phase != "finish")
    assert left_behind(run, child, "messages")[:kept] == said[:kept]
    persona = messages[kept]
    assert persona.channel == f"persona/{moved[0]}"
    assert "Archetype: The Drifter" in persona.text
    old = next(message for message in messages if message.channel == f"persona/{moved[0]}")
    assert (
        old.text.partition("## How you play")[0].partition("## Who you are")[2]
        == (persona.text.partition("## How you play")[0].partition("## Who you are")[2])
    )
    assert len(run.frame("players")) == 3


@pytest.mark.slow
def test_another_guide_and_another_scenario_are_read_from_their_files(
    play: Run, tmp_path: Path
) -> None:
    guide = tmp_path / "mine.md"
    guide.write_text("# Another story\n\nA lighthouse and nothing else.\n")
    run = play.replay(
        ids(play)[0],
        turn=1,
        changes={"guide": f"file://{guide}"},
        results=tmp_path,
        executor="in-process",
    )
    plan, before = run.session(ids(run)[0]).plan, play.session(ids(play)[0]).plan
    assert plan.resources["guide"] == content_hash(guide.read_text())
    others = {name: key for name, key in plan.resources.items() if name != "guide"}
    assert others.items() <= dict(before.resources).items()
    moved = play.replay(
        ids(play)[0],
        turn=1,
        changes={"scenario": "put-it-back"},
        results=tmp_path,
        executor="in-process",
    )
    assert list(moved.sessions()["scenario"]) == ["put-it-back"]
    assert moved.session(ids(moved)[0]).plan.resources["prompt"] == before.resources["prompt"]


def test_a_checkpoint_in_hand_is_as_good_as_its_run(play: Run, tmp_path: Path) -> None:
    session = ids(play)[0]
    moments = Moments(play.path)
    checkpoint = moments.after(session, 3)
    moments.close()
    run = replay_checkpoint(checkpoint, project=tmp_path, results=tmp_path, executor="in-process")
    assert left_behind(run, ids(run)[0], "messages") == left_behind(play, session, "messages")


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"prompt": "pulse-awre"}, "--set prompt: no prompt is called 'pulse-awre'"),
        ({"group": ["joker"]}, "--set group: options.group: "),
        ({"group": ["joker", "curious"]}, "--set group: found 2 archetypes; one for each"),
        ({"group": ["joker", "curious", "wizard"]}, "--set group: found 'wizard'; allowed: "),
        ({"group_size_max": 4}, "--set group_size_max: the group has been drawn"),
        ({"narrator": "sim/opsu"}, "factors.narrator"),
        ({"scenario": "put-it-bak"}, "--set scenario: found 'put-it-bak'; playtest scenarios: "),
        ({"guide": "file://gone.md"}, "--set guide: no such file: "),
        ({"guide": "a story"}, "--set guide: found 'a story'; name a file"),
        ({"promt": "x"}, "--set promt: unknown change; what can be changed is a role"),
        ({"stuck_after": 1}, "--set stuck_after: options.stuck_after: found 1"),
    ],
)
def test_a_change_that_cannot_be_made_is_named_and_nothing_starts(
    play: Run, tmp_path: Path, changes: dict[str, object], found: str
) -> None:
    with pytest.raises(BadInput) as raised:
        play.replay(
            ids(play)[0], turn=2, changes=changes, results=play.path.parent, executor="in-process"
        )
    (mistake,) = raised.value.mistakes
    assert found in str(mistake)
    assert [path.name for path in play.path.parent.iterdir() if path.is_dir()] == ["parent"]


def test_all_mistakes_come_at_once(play: Run) -> None:
    changes = {"prompt": "no", "scenario": "no", "promt": "x", "guide": "no"}
    with pytest.raises(BadInput) as raised:
        play.replay(ids(play)[0], turn=2, changes=changes, executor="in-process")
    sources = {mistake.source for mistake in raised.value.mistakes}
    assert {"--set promt", "--set scenario", "--set guide"} <= sources
