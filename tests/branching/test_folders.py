"""Working folders go where sessions go on; a folder that somebody sent is looked at first."""

from __future__ import annotations

import json
import shutil
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from matrix.api import (
    Run,
    archive,
    export,
    export_all,
    open_run,
    plan_replay_checkpoint,
    replay_checkpoint,
    restore_run,
)
from matrix.model.errors import BadInput, StoreError
from matrix.model.moments.checkpoint import HeldContents
from matrix.model.records import FolderLimits
from matrix.model.seeds import bytes_hash, content_hash
from matrix.store.blobs.blobs import BlobStore
from matrix.store.blobs.carrying import MOST_EXPORTED, carry, exported, measure
from matrix.store.blobs.initial import as_resource, initial_trees
from matrix.store.blobs.restoring import restore_tree
from matrix.store.blobs.trees import (
    MAX_DEPTH,
    Entry,
    FolderIndex,
    blobs_of,
    encode_tree,
    store_tree,
)
from matrix.store.upkeep.sweeping import sweep
from tests.branching.conftest import played
from tests.branching.looking import ids, left_behind
from tests.store.blobs.test_working_folders import facts

PLUGINS = Path(__file__).parents[1] / "plugins"
TURNS = 4
SPEC = {
    "name": "scribe",
    "kind": "scribe",
    "scenarios": ["one"],
    "factors": {"step": [1, 2]},
    "options": {"turns": TURNS},
    "per_cell": 1,
    "limits": {"cost_usd": 10},
}


@pytest.fixture(scope="module", autouse=True)
def installed() -> Iterator[None]:
    """The scribe is an installed kind."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(PLUGINS))
        yield


@pytest.fixture(scope="module")
def written(installed: None, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run whose sessions wrote in their folders for four turns."""
    folder = tmp_path_factory.mktemp("scribe")
    pack = folder / "scenarios" / "scribe" / "one"
    pack.mkdir(parents=True)
    (pack / "scenario.yaml").write_text("kind: scribe\ntitle: One\n")
    for name in ("scaffold", "bulk"):
        (pack / name).mkdir()
        (pack / name / f"{name}.txt").write_text(f"{name} of long ago")
    run = played(folder, SPEC)
    shutil.rmtree(folder / "scenarios")  # what sessions began with is in the run
    return run


@pytest.fixture
def mine(written: Run, tmp_path: Path) -> Run:
    """A copy of that run, to be hurt."""
    shutil.copytree(written.path, tmp_path / "copied" / "parent")
    return open_run(tmp_path / "copied" / "parent")


@pytest.fixture
def file(written: Run, tmp_path: Path) -> Path:
    """An exported checkpoint, where nothing else of its run is."""
    return export(written.path, ids(written)[0], tmp_path / "there" / "turn.json", turn=2)


def trees(run: Run, session: str) -> dict[tuple[str, int], str]:
    """The folder at every checkpoint, by content."""
    return {(done.phase, done.turn): done.tree for done in run.session(session).turns}


def restored(run: Run, tree: str, place: Path) -> dict[str, Any]:
    """Everything about a folder as the run's blobs give it, times included."""
    restore_tree(place, tree, BlobStore(run.path), 0)
    return dict(facts(place))


# --- from a run -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("turn", [0, 2, TURNS])
def test_an_unchanged_replay_has_the_parents_folders_and_needs_its_run_no_more(
    mine: Run, tmp_path: Path, turn: int
) -> None:
    session = ids(mine)[0]
    before = trees(mine, session)
    looks = restored(mine, before["turn", TURNS], tmp_path / "before")
    scores = left_behind(mine, session, "scores")
    run = mine.replay(session, turn=turn, results=tmp_path / "r", executor="in-process")
    shutil.rmtree(mine.path)
    (child,) = ids(run)
    assert trees(run, child) == before
    assert restored(run, before["turn", TURNS], tmp_path / "after") == looks
    assert left_behind(run, child, "scores") == scores
    assert list(run.sessions()["outcome"]) == ["completed"]
    sweep(run.path)
    for tree in before.values():
        restored(run, tree, tmp_path / "again")


@pytest.mark.slow
def test_a_branch_starts_every_repeat_from_the_folder_of_the_moment(
    written: Run, tmp_path: Path
) -> None:
    session = ids(written)[0]
    run = written.branch(
        session, turn=2, variants={"turns": [3, 4]}, times=2, results=tmp_path,
        executor="in-process",
    )  # fmt: skip
    assert list(run.sessions()["outcome"]) == ["completed"] * 4
    before = trees(written, session)
    for child in ids(run):
        found = trees(run, child)
        assert {place: found[place] for place in list(before)[:3]} == dict(list(before.items())[:3])
        assert found["turn", 3] == before["turn", 3], "only from that folder does this one come"


@pytest.mark.slow
def test_what_later_turns_are_given_comes_along_and_is_swept_away_by_nobody(
    mine: Run, tmp_path: Path
) -> None:
    """The bulk is put into the folder in turn 3, after the moment."""
    session = ids(mine)[0]
    last = trees(mine, session)["turn", TURNS]
    looks = restored(mine, last, tmp_path / "before")
    assert {"scaffold.txt", "in/here/bulk.txt"} <= set(looks)
    sweep(mine.path)
    file = export(mine.path, session, tmp_path / "there" / "turn.json", turn=2)
    run = mine.branch(
        session, turn=2, variants={"step": [1, 2]}, results=tmp_path / "r", executor="in-process"
    )
    shutil.rmtree(mine.path)
    sweep(run.path)
    again = replay_checkpoint(file, results=tmp_path / "s", executor="in-process")
    for one in (run, again):
        assert set(one.sessions()["outcome"]) == {"completed"}
        for child in ids(one):
            found = restored(one, trees(one, child)["turn", TURNS], tmp_path / "after")
            assert {"scaffold.txt", "in/here/bulk.txt"} <= set(found)


@pytest.mark.slow
def test_on_one_file_system_content_is_shared_and_else_copied(written: Run, tmp_path: Path) -> None:
    source = BlobStore(written.path)
    tree = trees(written, ids(written)[0])["turn", 2]
    requested = blobs_of(source, tree)
    carry(tmp_path / "linked", [(source, [tree])])
    held = HeldContents("a file", exported(source, tree))
    carry(tmp_path / "copied", [(held, [tree]), (held, [tree])])
    for name, shares in (("linked", True), ("copied", False)):
        target = BlobStore(tmp_path / name)
        assert blobs_of(target, tree) == requested
        for digest in requested:
            assert target.read(digest) == source.read(digest)
            assert target.path(digest).samefile(source.path(digest)) is shares
        assert list((target.folder / "unfinished").iterdir()) == []


def test_a_moment_whose_folder_is_gone_is_refused_before_anything_starts(
    mine: Run, tmp_path: Path
) -> None:
    session = ids(mine)[0]
    found = trees(mine, session)
    blobs = BlobStore(mine.path)
    (lost, *_) = blobs_of(blobs, found["turn", 1]) - blobs_of(blobs, found["turn", 3])
    blobs.path(lost).unlink()
    with pytest.raises(BadInput, match=f"after turn 1: cannot read blob {lost[:16]}"):
        mine.replay(session, turn=1, results=tmp_path / "r", executor="in-process")
    with pytest.raises(StoreError, match="nothing was started"):
        mine.replay(session, turn=3, results=tmp_path / "r", executor="in-process")
    assert list((tmp_path / "r").iterdir()) == []


# --- from a file ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_replay_from_a_file_has_the_parents_further_folders(
    written: Run, file: Path, tmp_path: Path
) -> None:
    session = ids(written)[0]
    run = replay_checkpoint(file, project=tmp_path, results=tmp_path / "r", executor="in-process")
    (child,) = ids(run)
    before = trees(written, session)
    assert trees(run, child) == {place: before[place] for place in list(before)[2:]}
    last = before["turn", TURNS]
    assert restored(run, last, tmp_path / "a") == restored(written, last, tmp_path / "b")
    for table in ("messages", "scores"):
        assert left_behind(run, child, table) == left_behind(written, session, table)


@pytest.mark.slow
def test_archived_and_brought_back_a_session_is_exported_and_replayed_as_before(
    mine: Run, file: Path, tmp_path: Path
) -> None:
    session = ids(mine)[0]
    before = sorted(BlobStore(mine.path).folder.rglob("*"))
    archive(mine.path)
    assert sorted(BlobStore(mine.path).folder.rglob("*")) == before
    with pytest.raises(StoreError, match="--restore"):
        export(mine.path, session, tmp_path / "x.json", turn=2)
    restore_run(mine.path)
    again = export(mine.path, session, tmp_path / "x.json", turn=2)
    assert again.read_bytes() == file.read_bytes()
    run = mine.replay(session, turn=2, results=tmp_path / "r", executor="in-process")
    assert trees(run, ids(run)[0]) == trees(mine, session)


def test_every_turn_is_exported_with_its_folder(written: Run, tmp_path: Path) -> None:
    session = ids(written)[0]
    export_all(written.path, session, tmp_path / "all")
    for turn in range(TURNS + 1):
        value = orjson.loads((tmp_path / "all" / f"turn-{turn}.json").read_bytes())
        tree = trees(written, session)["turn" if turn else "start", turn]
        folder = value["continuation"]["folder"]
        assert folder["tree"] == tree
        given = initial_trees(value["continuation"]["resources"].values())
        assert len(given) == 2
        assert set(folder["blobs"]) == blobs_of(BlobStore(written.path), tree, *given)


def test_a_key_in_a_file_of_the_folder_is_found_and_nothing_is_written(
    written: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = ids(written)[0]
    tree = trees(written, session)["turn", TURNS]
    restored(written, tree, tmp_path / "look")
    monkeypatch.setenv("OPENAI_API_KEY", (tmp_path / "look" / "diary").read_text())
    monkeypatch.setenv("MISTRAL_API_KEY", "not-in-there")
    with pytest.raises(StoreError, match="holds the key that OPENAI_API_KEY has"):
        export(written.path, session, tmp_path / "x.json", turn=TURNS)
    assert not (tmp_path / "x.json").exists()


def test_a_folder_that_is_too_large_for_a_file_is_said_with_how_large_it_may_be(
    tmp_path: Path,
) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "big").write_bytes(bytes(MOST_EXPORTED))
    blobs = BlobStore(tmp_path / "run")
    (tmp_path / "run").mkdir()
    tree = store_tree(tmp_path / "files", blobs, FolderIndex(), FolderLimits(), 0).tree
    with pytest.raises(StoreError, match=r"has 33,554,\d+ bytes .* can hold 33,554,432: export"):
        exported(blobs, tree)


# --- folders that nobody should make --------------------------------------------------------------


def told(file: Path, edit: Callable[[dict[str, Any]], object]) -> list[str]:
    value = orjson.loads(file.read_bytes())
    edit(value["continuation"])
    file.write_bytes(orjson.dumps(value))
    with pytest.raises(BadInput) as raised:
        plan_replay_checkpoint(file, project=file.parent)
    return [str(mistake) for mistake in raised.value.mistakes]


def held(*contents: bytes) -> dict[str, str]:
    """Blobs as a file has them."""
    return {bytes_hash(content): b64encode(content).decode() for content in contents}


def whole(*rows: Entry) -> tuple[bytes, bytes]:
    """A folder of these rows: the tree of the whole, and that of what is in it."""
    inner = encode_tree(list(rows))
    return encode_tree([Entry("", "folder", 0o755, 0, bytes_hash(inner))]), inner


def folder_in(file: Path, top: bytes, *others: bytes) -> list[str]:
    """What is said of a file with another folder in it."""
    folder = {"tree": bytes_hash(top), "blobs": held(top, *others)}
    return told(file, lambda there: there.update(folder=folder))


def test_content_that_was_edited_or_is_missing_is_noticed(file: Path) -> None:
    blobs = orjson.loads(file.read_bytes())["continuation"]["folder"]["blobs"]
    one, two = sorted(blobs)[:2]
    edits = {one: held(b"other").popitem()[1], two: "no base64!"}
    found = told(file, lambda there: there["folder"]["blobs"].update(edits))
    assert len(found) == 2
    assert all("was it edited?" in mistake for mistake in found)


@pytest.mark.parametrize(
    "entry",
    [
        Entry("../out", "file", 0o644, 0, bytes_hash(b"x")),
        Entry("..", "folder", 0o755, 0, bytes_hash(b"x")),
        Entry("nul\0", "file", 0o644, 0, bytes_hash(b"x")),
        Entry("half\ud800", "link", 0, 0, "a"),
        Entry("a", "pipe", 0o644, 0, bytes_hash(b"x")),
        Entry("a", "file", -1, 0, bytes_hash(b"x")),
        Entry("a", "file", 0o644, 2**63, bytes_hash(b"x")),
        Entry("a", "file", 0o644, 0, "../../../etc/passwd"),
        Entry("", "file", 0o644, 0, bytes_hash(b"x")),
        Entry("a", "file", True, 0, bytes_hash(b"x")),
        Entry("a", ["file"], 0o644, 0, bytes_hash(b"x")),  # type: ignore[arg-type]
    ],
)
def test_a_tree_names_only_what_a_folder_can_hold(file: Path, entry: Entry) -> None:
    (mistake,) = folder_in(file, *whole(entry), b"x")
    assert "names" in mistake


def test_one_name_for_a_link_and_a_folder_is_refused(file: Path) -> None:
    empty = encode_tree([])
    link = Entry("a", "link", 0, 0, "/")
    folder = Entry("a", "folder", 0o755, 0, bytes_hash(empty))
    (mistake,) = folder_in(file, *whole(link, folder), empty)
    assert "one thing twice" in mistake


def test_a_folder_to_begin_with_that_sessions_could_not_keep_is_a_mistake(tmp_path: Path) -> None:
    pack = tmp_path / "scenarios" / "scribe" / "one"
    (pack / "scaffold").mkdir(parents=True)
    (pack / "scenario.yaml").write_text("kind: scribe\ntitle: One\n")
    (pack / "scaffold" / "large").write_bytes(bytes(10_001))
    with pytest.raises(BadInput) as raised:
        played(tmp_path, SPEC)
    (mistake,) = raised.value.mistakes
    assert "folder scaffold of scenario 'one' cannot be used: large in the " in str(mistake)
    assert not (tmp_path / "results").exists()


def test_a_folder_that_a_later_turn_is_given_is_looked_at_as_well(file: Path) -> None:
    missing = as_resource("0" * 64)
    (mistake,) = told(
        file,
        lambda there: (
            there["resources"].update({content_hash(missing): missing}),
            there["plan"]["resources"].update({"initial folder: bulk": content_hash(missing)}),
        ),
    )
    assert f"does not hold blob {'0' * 16}" in mistake


@pytest.mark.slow
def test_what_is_no_folder_and_what_lacks_a_part_is_refused(file: Path) -> None:
    for top in (
        encode_tree([]),
        encode_tree([Entry("", "link", 0, 0, "/")]),
        b"[" * 10_000,
        json.dumps({"a": 1}).encode(),
    ):
        (mistake,) = folder_in(file, top)
        assert "no tree" in mistake
    (mistake,) = folder_in(file, *whole(Entry("a", "file", 0o644, 0, bytes_hash(b"x"))))
    assert f"does not hold blob {bytes_hash(b'x')[:16]}" in mistake
    found = told(file, lambda there: there["folder"].update(tree="0" * 64))
    assert any("folder.tree: is not in continuation.folder.blobs" in one for one in found)


def test_a_few_blobs_that_stand_for_a_folder_without_end_are_measured_not_made(
    file: Path,
) -> None:
    content = b"x" * 1000
    tree = encode_tree([Entry(str(n), "file", 0o644, 0, bytes_hash(content)) for n in range(10)])
    blobs = [content, tree]
    for _ in range(30):
        inner = bytes_hash(tree)
        tree = encode_tree([Entry(str(n), "folder", 0o755, 0, inner) for n in range(10)])
        blobs.append(tree)
    top = encode_tree([Entry("", "folder", 0o755, 0, bytes_hash(tree))])
    contents = HeldContents("here", {bytes_hash(blob): blob for blob in [top, *blobs]})
    found = measure(contents, bytes_hash(top))
    assert found.total_bytes == 10**31 * 1000
    (mistake,) = folder_in(file, top, *blobs)
    assert "files, folders and links (at most 20)" in mistake
    assert "bytes (at most 50,000)" in mistake


def test_folders_inside_each_other_have_an_end(file: Path) -> None:
    blobs = [encode_tree([])]
    for _ in range(MAX_DEPTH + 1):
        blobs.append(encode_tree([Entry("a", "folder", 0o755, 0, bytes_hash(blobs[-1]))]))
    top = encode_tree([Entry("", "folder", 0o755, 0, bytes_hash(blobs[-1]))])
    (mistake,) = folder_in(file, top, *blobs)
    assert f"more than {MAX_DEPTH} folders inside each other" in mistake


def test_a_kind_without_folders_takes_none(counter: Run, tmp_path: Path) -> None:
    path = export(counter.path, ids(counter)[0], tmp_path / "turn.json", turn=2)
    (mistake,) = folder_in(path, *whole())
    assert "sessions of the counter kind have none here" in mistake
