"""Blobs from another node: only what is missing travels, in bounded parts, and nothing is named
that is not durable where the journal is."""

from __future__ import annotations

import errno
import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TypeVar

import pytest

from matrix.model.errors import BlobsRefused, StoreError
from matrix.model.records import FolderLimits
from matrix.model.seeds import bytes_hash
from matrix.store.blobs.blob_parts import MESSAGE_BYTES, PART_BYTES, BlobPart, parts_of
from matrix.store.blobs.blob_server import BlobPort, BlobServer
from matrix.store.blobs.blobs import UNFINISHED, BlobStore
from matrix.store.blobs.remote_blobs import RemoteBlobs
from matrix.store.blobs.restoring import restore_tree
from matrix.store.blobs.trees import FolderIndex, blobs_of, store_tree
from matrix.store.run.disk import Disk
from tests.store.blobs.test_working_folders import Diary, facts

T = TypeVar("T")

LARGE = random.Random(1).randbytes(3 * PART_BYTES)
"""Nothing that deflating makes shorter."""


class Wire:
    """Passes on to a server and notes what has travelled; it can break at one of the calls."""

    def __init__(self, server: BlobPort, break_at: int | None = None) -> None:
        self.server, self._break_at = server, break_at
        self.sent: list[list[BlobPart]] = []
        self.given: list[list[BlobPart]] = []
        self.calls = 0

    def keep(self, digests: Sequence[str]) -> list[str]:
        return self._call(lambda: self.server.keep(digests))

    def take(self, sender: str, parts: Sequence[BlobPart]) -> None:
        self.sent.append(list(parts))
        self._call(lambda: self.server.take(sender, parts))

    def give(self, digests: Sequence[str], offset: int) -> list[BlobPart]:
        parts = self._call(lambda: self.server.give(digests, offset))
        self.given.append(parts)
        return parts

    def _call(self, call: Callable[[], T]) -> T:
        self.calls += 1
        if self.calls - 1 == self._break_at:
            raise Broken
        return call()


class Broken(Exception):
    """This process was killed."""


class Node:
    """A node without the journal: a working folder, and what it has of the run's blobs."""

    def __init__(self, place: Path, server: BlobPort) -> None:
        self.root = place / "files"
        self.root.mkdir(parents=True)
        self.wire = Wire(server)
        self.blobs = RemoteBlobs(place / "copies", self.wire)
        self.index = FolderIndex()

    def store(self) -> str:
        self.index = store_tree(self.root, self.blobs, self.index, FolderLimits(), 0)
        return self.index.tree

    def restore(self, tree: str) -> None:
        self.index = restore_tree(self.root, tree, self.blobs, 0)

    @property
    def sent(self) -> set[str]:
        return {part.digest for message in self.wire.sent for part in message}


@pytest.fixture
def home(tmp_path: Path) -> BlobStore:
    """The run's blobs where the journal is."""
    (tmp_path / "run").mkdir()
    return BlobStore(tmp_path / "run")


def server_of(home: BlobStore, disk: Disk | None = None) -> BlobServer:
    return BlobServer(home.folder.parent, disk)


def fill(root: Path) -> None:
    (root / "sub").mkdir()
    (root / "sub" / "small").write_text("small")
    (root / "large").write_bytes(LARGE)
    (root / "link").symlink_to("large")
    for number in range(12):
        (root / "sub" / str(number)).write_text(f"content {number}")


def assert_whole(home: BlobStore, tree: str, root: Path, place: Path) -> None:
    """The journal's node alone has all of a folder."""
    restore_tree(place, tree, home, 0)
    assert facts(place) == facts(root)


def test_what_one_node_stored_is_restored_on_another_from_the_journals_node(
    tmp_path: Path, home: BlobStore
) -> None:
    one, other = Node(tmp_path / "one", server_of(home)), Node(tmp_path / "two", server_of(home))
    fill(one.root)
    tree = one.store()
    assert_whole(home, tree, one.root, tmp_path / "check")
    shutil.rmtree(tmp_path / "one" / "copies")
    other.restore(tree)
    assert facts(other.root) == facts(one.root)
    assert other.store() == tree
    assert other.sent == set()


@pytest.mark.slow
def test_only_what_the_journals_node_has_not_travels(tmp_path: Path, home: BlobStore) -> None:
    one, other = Node(tmp_path / "one", server_of(home)), Node(tmp_path / "two", server_of(home))
    fill(one.root)
    first = one.store()
    assert one.sent == blobs_of(home, first)
    one.wire.sent.clear()
    (one.root / "sub" / "small").write_text("another")
    second = one.store()
    assert one.sent == blobs_of(home, second) - blobs_of(home, first)
    assert len(one.sent) == 4, "the file, its folder, the folder of that, and the top"
    (other.root / "copy").write_bytes(LARGE)  # what another session has stored
    other.store()
    assert bytes_hash(LARGE) not in other.sent
    before = other.wire.calls
    other.restore(other.index.tree)
    assert other.wire.calls == before, "what this node still has is not fetched"


def test_messages_are_bounded_whatever_the_files_are(tmp_path: Path, home: BlobStore) -> None:
    one, other = Node(tmp_path / "one", server_of(home)), Node(tmp_path / "two", server_of(home))
    fill(one.root)
    tree = one.store()
    other.restore(tree)
    for messages in (one.wire.sent, other.wire.given):
        sizes = [sum(len(part.data) for part in message) for message in messages]
        assert max(sizes) <= MESSAGE_BYTES
        parts = [part for message in messages for part in message]
        assert max(len(part.data) for part in parts) <= PART_BYTES
        assert sum(part.digest == bytes_hash(LARGE) for part in parts) > 3
    assert len(one.wire.sent) <= 4, "small files travel together"
    assert len(other.wire.given) <= 6


@pytest.mark.slow
def test_killed_at_any_call_nothing_is_named_that_is_not_there_and_a_later_life_goes_on(
    tmp_path: Path, home: BlobStore
) -> None:
    whole = Node(tmp_path / "whole", server_of(home))
    fill(whole.root)
    expected = whole.store()
    for moment in range(whole.wire.calls):
        run_dir = tmp_path / str(moment) / "run"
        run_dir.mkdir(parents=True)
        mine = BlobStore(run_dir)
        node = Node(tmp_path / str(moment), Wire(server_of(mine), break_at=moment))
        shutil.rmtree(node.root)
        shutil.copytree(whole.root, node.root, symlinks=True)
        shutil.copystat(whole.root, node.root)
        with pytest.raises(Broken):
            node.store()
        for path in mine.folder.glob("??/*"):
            assert mine.read(path.parent.name + path.name) is not None, "what is named is whole"
        node.wire.server = server_of(mine)
        assert node.store() == expected
        assert_whole(mine, expected, whole.root, tmp_path / str(moment) / "check")


def test_a_part_that_comes_twice_changes_nothing_and_one_whose_beginning_is_lost_comes_again(
    tmp_path: Path, home: BlobStore
) -> None:
    here = BlobStore(tmp_path / "here")
    with here.batch() as batch:
        digest = batch.add(LARGE)
        batch.commit()
    parts = list(parts_of(here, [digest]))
    for part in parts[:-1]:
        for _ in range(2):  # each by another process
            server_of(home).take("one", [part])
    assert server_of(home).keep([digest]) == [digest]
    server_of(home).take("two", parts[2:])
    assert server_of(home).keep([digest]) == [digest]
    server_of(home).take("one", parts[-1:])
    server_of(home).take("one", parts[-1:])
    assert server_of(home).keep([digest]) == []
    assert home.read(digest) == LARGE
    assert list((home.folder / UNFINISHED).iterdir()) == []


@pytest.mark.parametrize("where", ["content", "length", "torn"])
def test_content_of_another_hash_is_refused_and_nothing_of_it_is_left(
    tmp_path: Path, home: BlobStore, where: str
) -> None:
    here = BlobStore(tmp_path / "here")
    with here.batch() as batch:
        digest = batch.add(b"one" * 1000)
        batch.commit()
    (part,) = parts_of(here, [digest])
    data = bytearray(part.data)
    match where:
        case "content":
            data[len(data) // 2] ^= 1
        case "length":
            data[-8] ^= 1
        case _:
            del data[4:]
    with pytest.raises(StoreError, match=r"damaged.*--redo-errored"):
        server_of(home).take("one", [part._replace(data=bytes(data))])
    assert server_of(home).keep([digest]) == [digest]
    assert list((home.folder / UNFINISHED).iterdir()) == []


def test_content_that_is_damaged_or_gone_where_the_journal_is_is_not_restored(
    tmp_path: Path, home: BlobStore
) -> None:
    one = Node(tmp_path / "one", server_of(home))
    fill(one.root)
    tree = one.store()
    digest = bytes_hash(b"small")
    home.path(digest).write_text("another")
    with pytest.raises(StoreError, match=r"damaged.*copy of the run's folder"):
        Node(tmp_path / "two", server_of(home)).restore(tree)
    home.path(digest).unlink()
    with pytest.raises(StoreError, match="cannot read blob"):
        Node(tmp_path / "three", server_of(home)).restore(tree)


class FullDisk(Diary):
    """A disk that fails also when a file is flushed."""

    def sync_file(self, handle: IO[bytes]) -> None:
        self._step("flush", Path())


@pytest.mark.parametrize("step", range(6))
def test_a_full_disk_where_the_journal_is_refuses_blobs_and_loses_nothing(
    tmp_path: Path, home: BlobStore, step: int
) -> None:
    node = Node(tmp_path / "one", server_of(home, FullDisk(fail_at=step)))
    (node.root / "a").write_text("one")
    with pytest.raises(BlobsRefused, match=r"No space left.*matrix resume run"):
        node.store()
    assert node.index.tree == ""
    node.wire.server = server_of(home)
    assert_whole(home, node.store(), node.root, tmp_path / "check")


def test_a_disk_of_the_node_that_takes_no_more_is_told_with_the_node(
    tmp_path: Path, home: BlobStore
) -> None:
    node = Node(tmp_path / "one", server_of(home))
    (node.root / "a").write_text("one")
    (tmp_path / "one" / "copies").write_text("no folder")
    with pytest.raises(BlobsRefused, match=r"on node .*cannot write") as refused:
        node.store()
    assert errno.errorcode[errno.ENOTDIR] not in str(refused.value)
