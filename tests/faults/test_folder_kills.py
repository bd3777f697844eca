"""SIGKILL at any moment of sessions that write files by commands: the same folders come out."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from matrix.model.entries import Acted, TurnDone
from matrix.store.blobs.blobs import BlobStore
from matrix.store.blobs.restoring import restore_tree
from matrix.store.upkeep.sweeping import sweep
from tests.executors.programs import SLOW, Project, counter_spec, kill_at
from tests.faults.counting import Chaos
from tests.faults.laws import assert_kept, entries_in, trees
from tests.plugins.scribe_kind import BULK, SCAFFOLD

PLUGINS = Path(__file__).parents[1] / "plugins"
TURNS = 5
SESSIONS = 4

SHORT = [(2, 3)]
"""Seed of the moments, and how often the run is killed."""

LONG = [(1, 2), *((seed, 1 + seed % 5) for seed in range(10, 30))]


def scribe_spec() -> dict[str, Any]:
    return counter_spec(
        kind="scribe", options={"turns": TURNS}, per_cell=SESSIONS // 2, simulation=SLOW
    )


def scribe_project(folder: Path) -> Project:
    """A project in whose programs the scribe is installed."""
    path = os.pathsep.join([str(PLUGINS), os.environ.get("PYTHONPATH", "")])
    project = Project(folder, {"PYTHONPATH": path})
    pack = folder / "scenarios" / "scribe" / "one"
    pack.mkdir(parents=True)
    (pack / "scenario.yaml").write_text("kind: scribe\ntitle: One\n")
    for name, content in ((SCAFFOLD, "to begin with"), (BULK, "in bulk")):
        (pack / name / "deep").mkdir(parents=True)
        (pack / name / "deep" / "file").write_text(content)
        (pack / name / "link").symlink_to("deep/file")
    project.write(scribe_spec())
    return project


def tally(run_dir: Path) -> Counter[str]:
    """Command -> how often it was begun."""
    path = run_dir / "tally"
    return Counter(path.read_text().splitlines()) if path.exists() else Counter()


def told_of_files(run_dir: Path) -> dict[tuple[str, int], set[str]]:
    """What kind of change and turn -> files, as the kind was told of them in any session."""
    found: dict[tuple[str, int], set[str]] = {}
    for done in entries_in(run_dir):
        if not isinstance(done, TurnDone):
            continue
        for event in done.events:
            how = event.kind.removeprefix("files ")
            if how != event.kind:
                found.setdefault((how, done.turn), set()).add(event.detail)
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an undisturbed run."""
    project = scribe_project(tmp_path_factory.mktemp("whole"))
    done = project.matrix("run", "--executor", "in-process", "--run-id", "whole", "--quiet")
    assert done.code == 0, done.err
    return project.path("whole")


def test_undisturbed_every_command_is_done_once(whole: Path) -> None:
    assert told_of_files(whole)[("added", 1)] == {"diary note turn-1/word"}
    assert told_of_files(whole)[("changed", 4)] == {"diary note"}
    assert told_of_files(whole)[("removed", 4)] == {"turn-2/word"}
    assert told_of_files(whole)[("added", 4)] == {"turn-4/word"}
    counts = tally(whole)
    assert len(counts) == SESSIONS * TURNS * 2
    assert set(counts.values()) == {1}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "kills"),
    [*SHORT, *(pytest.param(*case, marks=pytest.mark.long) for case in LONG)],
)
def test_killed_at_random_moments_a_run_leaves_the_same_folders(
    tmp_path: Path, whole: Path, chaos: Chaos, seed: int, kills: int
) -> None:
    project, rng = scribe_project(tmp_path), random.Random(seed)
    run_dir = project.path("hurt")
    commands = SESSIONS * TURNS * 2
    command = ["run", "--executor", "in-process", "--run-id", "hurt", "--quiet"]
    for moment in sorted(rng.sample(range(1, commands - 2), kills)):
        with project.started(*command) as process:
            # commands tell when they begin: the moment is in the middle of one
            assert kill_at(process, lambda moment=moment: len(tally(run_dir)) >= moment)  # type: ignore[misc]
        chaos.hurt("driver", "SIGKILL")
        command = ["resume", "hurt", "--executor", "in-process", "--quiet"]
    kept = entries_in(run_dir)
    recorded = {entry.key for entry in kept if isinstance(entry, Acted)}
    before = tally(run_dir)
    done = project.matrix(*command)
    assert done.code == 0, done.err
    chaos.resumed()
    chaos.whole(run_dir, whole)
    assert_kept(run_dir, kept)
    assert trees(run_dir) == trees(whole)
    assert told_of_files(run_dir) == told_of_files(whole)
    after = tally(run_dir)
    assert after.keys() == tally(whole).keys(), "every command is done at least once"
    assert max(after.values()) <= 1 + kills
    for key in recorded:
        what = f"{key.session_id} {key.turn} {'write' if key.slot == '1' else 'read'}"
        assert after[what] == before[what], "a recorded effect is not done again"
    for number, tree in enumerate(sorted(set(trees(run_dir).values()) - {""})):
        restore_tree(tmp_path / "trees" / str(number), tree, BlobStore(run_dir), 0)
    sweep(run_dir)
    assert trees(run_dir) == trees(whole)


@pytest.mark.long
def test_a_replay_that_is_killed_goes_on_from_the_folder_that_it_brought_along(
    tmp_path: Path, whole: Path
) -> None:
    project = scribe_project(tmp_path)
    (parent, *_) = sorted({e.session_id for e in entries_in(whole) if isinstance(e, TurnDone)})
    run_dir = project.path("again")
    replay = [
        "replay",
        str(whole),
        parent,
        "--turn",
        "2",
        "--executor",
        "in-process",
        "--run-id",
        "again",
    ]
    with project.started(*replay, "--quiet") as process:
        assert kill_at(process, lambda: len(tally(run_dir)) >= 3)
    done = project.matrix("resume", "again", "--executor", "in-process", "--quiet")
    assert done.code == 0, done.err
    found = {(key.phase, key.turn, key.slot): tree for key, tree in trees(run_dir).items()}
    expected = {
        (key.phase, key.turn, key.slot): tree
        for key, tree in trees(whole).items()
        if key.session_id == parent and (key.turn > 2 or not key.slot)  # effects stay the parent's
    }
    assert found == expected


@pytest.mark.ray
@pytest.mark.long
def test_on_ray_with_its_workers_where_the_journal_is_the_same_folders_come_out(
    tmp_path: Path, whole: Path
) -> None:
    project = scribe_project(tmp_path)
    done = project.matrix("run", "--executor", "ray", "--run-id", "ray", "--quiet")
    assert done.code == 0, done.err
    assert trees(project.path("ray")) == trees(whole)
