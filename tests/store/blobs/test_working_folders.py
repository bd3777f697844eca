"""A stored folder is restored exactly; only what changed is stored; nothing is named too early."""

from __future__ import annotations

import errno
import io
import os
import random
import shutil
import socket
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matrix.model.entries import Acted, Opened, Tally, TurnDone
from matrix.model.errors import BlobsRefused, FolderRefused, RunLocked, StoreError
from matrix.model.records import CallKey, FolderLimits
from matrix.store.blobs.blobs import UNFINISHED, BlobStore
from matrix.store.blobs.restoring import empty_folder, restore_tree
from matrix.store.blobs.trees import EMPTY, FolderIndex, Known, Stamp, blobs_of, store_tree
from matrix.store.journal.journal import JOURNAL_NAME, JournalWriter
from matrix.store.run.disk import Disk
from matrix.store.run.own_files import FILE_MODE
from matrix.store.upkeep.sweeping import FOLDERS, sweep
from tests.engine.plans import plan
from tests.sampling import examples

LIMITS = FolderLimits()
LATER = 10**10
"""Far enough from the last change of a file to rely on its times, in ns."""


class Fact(NamedTuple):
    """What must come back of one path."""

    kind: int
    mode: int
    mtime_ns: int
    content: object


def facts(root: Path) -> dict[str, Fact]:
    """Everything that must come back of a folder."""
    found: dict[str, Fact] = {}
    for path in [root, *root.rglob("*")]:
        info = path.lstat()
        content: object = None
        if stat.S_ISLNK(info.st_mode):
            content = os.readlink(path)  # noqa: PTH115  a Path would tidy it up
        elif stat.S_ISREG(info.st_mode):
            content = path.read_bytes()
        kind, mode = stat.S_IFMT(info.st_mode), stat.S_IMODE(info.st_mode)
        found[str(path.relative_to(root))] = Fact(kind, mode, info.st_mtime_ns, content)
    return found


def now_ns(root: Path) -> int:
    """The time by the clock of the file system."""
    probe = root.parent / "probe"
    probe.write_text("")
    return probe.stat().st_mtime_ns


@pytest.mark.parametrize("said", [0, 5, 1 << 20])
def test_no_more_of_a_blob_is_read_than_it_says_it_holds(tmp_path: Path, said: int) -> None:
    store = BlobStore(tmp_path)
    with store.batch() as batch:
        digest = batch.add(bytes(20 << 20))
        batch.commit()
    packed = store.path(digest).read_bytes()
    store.path(digest).write_bytes(packed[:-8] + said.to_bytes(8, "little"))
    pieces, read = store.pieces(digest), list[int]()
    with pytest.raises(StoreError, match="is damaged"):
        read.extend(map(len, pieces))
    assert sum(read) <= said


class Folder:
    """A working folder and its store."""

    def __init__(self, place: Path, disk: Disk | None = None) -> None:
        self.root = place / "files"
        self.root.mkdir()
        self.blobs = BlobStore(place / "run", disk)
        (place / "run").mkdir()
        self.index = FolderIndex()

    def store(self, limits: FolderLimits = LIMITS, later_ns: int = 0) -> str:
        now = now_ns(self.root) + later_ns
        self.index = store_tree(self.root, self.blobs, self.index, limits, now)
        return self.index.tree

    def restore(self, tree: str) -> None:
        self.index = restore_tree(self.root, tree, self.blobs, now_ns(self.root))

    def stored(self) -> set[Path]:
        return {path for path in self.blobs.folder.rglob("*") if path.is_file()}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


# --- any sequence of operations -------------------------------------------------------------------

NAME = st.sampled_from(["a", "b", "c.txt", "ä", "with space\n"])
PLACE = st.lists(NAME, min_size=1, max_size=3).map("/".join)
CONTENT = st.binary(max_size=8)
TARGET = st.sampled_from(["a", "b/c.txt", "../..", "/etc/passwd", "nowhere//./x", "."])
TIME = st.integers(0, 2**31 * 10**9)
OPERATION = st.one_of(
    st.tuples(st.just("write"), PLACE, CONTENT),
    st.tuples(st.just("append"), PLACE, CONTENT),
    st.tuples(st.just("flip"), PLACE),
    st.tuples(st.just("mkdir"), PLACE),
    st.tuples(st.just("link"), PLACE, TARGET),
    st.tuples(st.just("hardlink"), PLACE, PLACE),
    st.tuples(st.just("rename"), PLACE, PLACE),
    st.tuples(st.just("delete"), PLACE),
    st.tuples(st.just("chmod"), PLACE, st.integers(0, 0o777)),
    st.tuples(st.just("touch"), PLACE, TIME),
    st.tuples(st.just("store")),
    st.tuples(st.just("restore")),
)


def operate(root: Path, what: str, *values: Any) -> None:
    """One thing that a command may do to a folder; what is impossible does nothing."""
    path = root / values[0]
    try:
        match what:
            case "write":
                path.parent.mkdir(parents=True, exist_ok=True)
                if not path.is_symlink():  # never outside
                    path.write_bytes(values[1])
            case "append" if not path.is_symlink():
                with path.open("ab") as target:
                    target.write(values[1])
            case "flip" if not path.is_symlink():  # the same size, within one tick of the clock
                path.write_bytes(bytes(255 - byte for byte in path.read_bytes()))
            case "mkdir":
                path.mkdir(parents=True)
            case "link":
                path.symlink_to(values[1])
            case "hardlink":
                os.link(path, root / values[1], follow_symlinks=False)
            case "rename":
                path.rename(root / values[1])
            case "delete" if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            case "delete":
                path.unlink()
            case "chmod" if not path.is_symlink():
                path.chmod(values[1] | (0o700 if path.is_dir() else 0o600))
            case "touch":
                os.utime(path, ns=(values[1], values[1]), follow_symlinks=False)
    except OSError:
        pass


def inside(root: Path, place: str) -> bool:
    """Whether no folder on the way to a path is a link."""
    real = os.path.realpath((root / place).parent)  # Path.resolve does not take loops
    return Path(real).is_relative_to(os.path.realpath(root))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("nothing", b""),
        ("a word", b"word"),
        ("repeats far beyond a piece", b"All work and no play. " * 400_000),
        ("nothing that repeats", random.Random(1).randbytes(3_000_000)),
    ],
)
def test_content_comes_back_whole_and_says_its_length_without_being_unpacked(
    tmp_path: Path, name: str, content: bytes
) -> None:
    blobs = BlobStore(tmp_path)
    with blobs.batch() as batch:
        added, streamed = batch.add(content), batch.add_stream(io.BytesIO(content))
        batch.commit()
    assert streamed == (added, len(content))
    assert blobs.read(added) == content, name
    assert blobs.size(added) == len(content)
    assert max(map(len, blobs.pieces(added)), default=0) <= 1 << 20
    on_disk = blobs.path(added).stat().st_size
    assert on_disk < len(content) * 1.01 + 32
    if "repeats far" in name:
        assert on_disk < len(content) / 100


@pytest.mark.slow
@given(operations=st.lists(OPERATION, max_size=40))
@settings(max_examples=examples(150))
def test_whatever_was_done_every_stored_state_comes_back_exactly(
    operations: list[tuple[Any, ...]],
) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Folder(Path(place))
        states: list[tuple[str, dict[str, Fact]]] = []
        for what, *values in [*operations, ("store",)]:
            if what == "store":
                states.append((folder.store(), facts(folder.root)))
            elif what == "restore":
                if not states:
                    continue
                folder.restore(states[len(states) // 2][0])
                assert facts(folder.root) == states[len(states) // 2][1]
            elif all(inside(folder.root, v) for v in values if isinstance(v, str)):
                operate(folder.root, what, *values)
        for tree, expected in reversed(states):
            folder.restore(tree)
            assert facts(folder.root) == expected
            assert folder.store() == tree, "storing what was restored gives the same tree"


# --- what is stored -------------------------------------------------------------------------------


def test_only_what_changed_is_stored(folder: Folder) -> None:
    for number in range(20):
        path = folder.root / f"part-{number % 4}" / str(number)
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{number} " * 1000)
    folder.store()
    before = folder.stored()
    assert folder.store() == folder.index.tree
    assert folder.stored() == before
    (folder.root / "part-1" / "5").write_text("another")
    folder.store()
    added = folder.stored() - before
    assert len(added) == 4, "the file, its folder, the folder of that, and the top"
    assert sum(path.stat().st_size for path in added) < 2500


def test_equal_files_are_stored_once(folder: Folder) -> None:
    for name in ("a", "b"):
        (folder.root / name).write_text("the same")
        os.utime(folder.root / name, ns=(1, 1))
    folder.store()
    assert len(folder.stored()) == 3


def test_files_that_did_not_change_are_not_read_again(folder: Folder) -> None:
    path = folder.root / "a"
    path.write_text("one")
    tree = folder.store(later_ns=LATER)
    known = folder.index.files["a"]
    assert folder.store(later_ns=2 * LATER) == tree
    assert folder.index.files["a"] is known


def test_a_file_that_changed_at_the_time_it_was_read_is_read_again(folder: Folder) -> None:
    (folder.root / "a").write_text("old")
    old = folder.store()
    digest = folder.index.files["a"].digest
    (folder.root / "a").write_text("new")
    found = (folder.root / "a").stat()
    # as if "old" had been read in the tick of the clock in which "new" was written
    folder.index.files["a"] = Known(Stamp.of(found), digest, found.st_ctime_ns + 1)
    assert folder.store(later_ns=LATER) != old


def test_what_runs_as_somebody_else_is_kept_without_that(folder: Folder) -> None:
    (folder.root / "run.sh").write_text("#!/bin/sh\n")
    (folder.root / "run.sh").chmod(0o6751)
    tree = folder.store()
    folder.restore(tree)
    assert stat.S_IMODE((folder.root / "run.sh").stat().st_mode) == 0o751


def test_a_restored_file_has_its_own_modes_and_links_are_kept_as_links(folder: Folder) -> None:
    (folder.root / "run.sh").write_text("#!/bin/sh\n")
    (folder.root / "run.sh").chmod(0o751)
    (folder.root / "secret").symlink_to("/etc/passwd")
    (folder.root / "kept").mkdir(mode=0o500)
    expected = facts(folder.root)
    tree = folder.store()
    contents = [path.read_bytes() for path in folder.stored()]
    assert Path("/etc/passwd").read_bytes() not in contents
    empty_folder(folder.root)
    assert list(folder.root.iterdir()) == []
    folder.restore(tree)
    assert facts(folder.root) == expected


def test_a_folder_that_was_never_stored_is_restored_as_an_empty_one(folder: Folder) -> None:
    (folder.root / "closed").mkdir(mode=0)
    (folder.root / "leftover").symlink_to("closed")
    folder.restore(EMPTY)
    assert list(folder.root.iterdir()) == []


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (FolderLimits(file_bytes=99), r"sub/large in the working folder has 100 bytes; at most 99"),
        (FolderLimits(total_bytes=149), r"more than 149 bytes \(sub/large"),
        (FolderLimits(entries=2), "holds 3 files, folders and links, and at most 2 are kept"),
    ],
)
def test_what_is_too_large_is_refused_by_name_and_nothing_is_stored(
    folder: Folder, limits: FolderLimits, said: str
) -> None:
    (folder.root / "a").write_bytes(bytes(50))
    (folder.root / "sub").mkdir()
    (folder.root / "sub" / "large").write_bytes(bytes(100))
    with pytest.raises(FolderRefused, match=said):
        folder.store(limits)
    assert folder.stored() == set()
    folder.store(FolderLimits(file_bytes=100, total_bytes=150, entries=3))


def test_what_is_no_file_folder_or_link_is_refused_by_name(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(folder.root / "pipe")
    with pytest.raises(FolderRefused, match="pipe in the working folder is no file"):
        folder.store()
    (folder.root / "pipe").unlink()
    monkeypatch.chdir(folder.root)  # the path of a socket is short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        with pytest.raises(FolderRefused, match="socket in the working folder is no file"):
            folder.store()


def test_folders_without_end_are_refused(folder: Folder) -> None:
    (folder.root / "/".join(["d"] * 150)).mkdir(parents=True)
    with pytest.raises(FolderRefused, match="more than 100 folders inside each other"):
        folder.store()


def test_a_name_that_is_no_text_is_refused_readably(folder: Folder) -> None:
    (folder.root / "sub").mkdir()
    (folder.root / "sub" / "bad\udcff\udcfe.md").write_text("x")
    with pytest.raises(FolderRefused, match="is no UTF-8") as told:
        folder.store()
    assert r"the name 'sub/bad\xff\xfe.md' in" in str(told.value)


def test_a_time_that_no_tree_can_have_is_refused(folder: Folder) -> None:
    (folder.root / "a").write_text("x")
    os.utime(folder.root / "a", (10**10, 10**10))
    with pytest.raises(FolderRefused, match="a has a modification time 10000000000 s after 1970"):
        folder.store()


def test_too_many_files_are_counted_before_any_is_stored(folder: Folder) -> None:
    for number in range(40):
        (folder.root / f"f{number}").write_text(str(number))
    with pytest.raises(FolderRefused, match="holds 40 files, folders and links, and at most 39"):
        folder.store(LIMITS._replace(entries=39))
    assert not folder.blobs.folder.exists()


def test_a_content_that_is_here_already_is_written_no_second_time(tmp_path: Path) -> None:
    disk = Diary()
    folder = Folder(tmp_path, disk)
    for number in range(50):
        (folder.root / f"f{number}").touch()
    folder.store()
    assert sum(what == "write" for what, _ in disk.steps) == 3  # nothing, the folder, and its tree


def test_a_folder_that_was_replaced_by_a_link_is_refused(folder: Folder) -> None:
    folder.root.rmdir()
    folder.root.symlink_to("/etc")
    with pytest.raises(FolderRefused, match="no longer a folder"):
        folder.store()
    folder.restore(EMPTY)
    assert not folder.root.is_symlink()


# --- durability -----------------------------------------------------------------------------------


class Diary(Disk):
    """Notes what happens in which order, and fails at the given step."""

    def __init__(self, fail_at: int | None = None) -> None:
        self.steps: list[tuple[str, Path]] = []
        self._fail_at = fail_at

    def write(self, path: Path, fill: Callable[[IO[bytes]], object], mode: int = FILE_MODE) -> None:
        self._step("write", path)
        super().write(path, fill, mode)

    def put(self, path: Path, fill: Callable[[IO[bytes]], object]) -> None:
        self._step("write", path)
        super().put(path, fill)

    def sync_file(self, handle: IO[bytes]) -> None:
        self._step("flush", Path(handle.name))
        super().sync_file(handle)

    def rename(self, source: Path, target: Path) -> None:
        self._step("rename", target)
        super().rename(source, target)

    def sync_folder(self, folder: Path) -> None:
        self._step("sync", folder)
        super().sync_folder(folder)

    def _step(self, what: str, path: Path) -> None:
        if len(self.steps) == self._fail_at:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.steps.append((what, path))


def fill(folder: Folder) -> None:
    (folder.root / "sub").mkdir()
    (folder.root / "a").write_text("one")
    (folder.root / "sub" / "b").write_text("two")


def test_blobs_are_written_and_flushed_before_they_have_names_and_all_folders_after(
    tmp_path: Path,
) -> None:
    disk = Diary()
    folder = Folder(tmp_path, disk)
    fill(folder)
    folder.store()
    kinds = [what for what, _ in disk.steps]
    assert kinds == sorted(kinds, key=["write", "flush", "rename", "sync"].index)
    flushed, written = ({p for what, p in disk.steps if what == w} for w in ("flush", "write"))
    assert flushed == written
    named = {path.parent for what, path in disk.steps if what == "rename"}
    synced = {path for what, path in disk.steps if what == "sync"}
    assert synced == named | {folder.blobs.folder, tmp_path / "run"}


def test_a_full_disk_at_any_step_loses_nothing_and_names_the_remedy(tmp_path: Path) -> None:
    disk = Diary()
    whole = Folder(tmp_path, disk)
    fill(whole)
    expected = whole.store()
    for step in range(len(disk.steps)):
        place = tmp_path / str(step)
        place.mkdir()
        folder = Folder(place, Diary(fail_at=step))
        shutil.rmtree(folder.root)
        shutil.copytree(whole.root, folder.root)
        with pytest.raises(BlobsRefused, match="matrix resume run"):
            folder.store()
        folder.blobs = BlobStore(place / "run")
        assert folder.index.tree == EMPTY
        assert folder.store() == expected
        folder.restore(expected)
        assert facts(folder.root) == facts(whole.root)
        assert not list((folder.blobs.folder / UNFINISHED).iterdir())


def test_a_damaged_blob_is_found_out_and_not_restored(folder: Folder) -> None:
    (folder.root / "a").write_text("one")
    tree = folder.store()
    folder.blobs.path(folder.index.files["a"].digest).write_text("two")
    with pytest.raises(StoreError, match="damaged"):
        folder.restore(tree)
    folder.blobs.path(folder.index.files["a"].digest if folder.index.files else tree).unlink()
    with pytest.raises(StoreError, match="cannot read blob"):
        folder.restore(tree)


# --- sweeping -------------------------------------------------------------------------------------


def turn_with(tree: str, number: int) -> TurnDone:
    return TurnDone(
        "s1", "turn", number, b"{}", (), (), (), (), Tally(), None, (1, 1), 0.0, tree
    )  # fmt: skip


def test_sweeping_removes_only_what_no_entry_names(folder: Folder) -> None:
    run_dir = folder.blobs.folder.parent
    trees = []
    for number in range(4):
        (folder.root / "a").write_text(f"content {number}")
        trees.append(folder.store())
    (folder.blobs.folder / UNFINISHED / "torn").write_text("half")
    left = run_dir / FOLDERS / "s9" / "files"
    left.mkdir(parents=True)
    journal = JournalWriter(run_dir / JOURNAL_NAME)
    effect = Acted(CallKey("s1", "turn", 3, "0"), "make", "d", None, None, trees[2], 0.1, 0.0)
    journal.append([Opened(plan(), 0.0), turn_with(trees[1], 2), effect, turn_with(EMPTY, 4)])
    with pytest.raises(RunLocked):
        sweep(run_dir)
    journal.close()
    sizes = {path: path.stat().st_size for path in folder.stored()}
    swept = sweep(run_dir)
    kept = {
        folder.blobs.path(digest) for tree in trees[1:3] for digest in blobs_of(folder.blobs, tree)
    }
    assert folder.stored() == kept
    assert swept == (len(sizes) - len(kept), sum(sizes[p] for p in sizes.keys() - kept))
    assert not left.exists()
    for number in (1, 2):
        folder.restore(trees[number])
        assert (folder.root / "a").read_text() == f"content {number}"
    assert sweep(run_dir) == (0, 0)
