"""Folders that sessions begin with: one hash for one content, the same files wherever copied."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from matrix.model.errors import FolderRefused, StoreError
from matrix.model.records import FolderLimits
from matrix.store.blobs.blobs import BlobStore
from matrix.store.blobs.initial import (
    as_resource,
    copy_tree,
    hash_folder,
    initial_trees,
    keep_folder,
)
from tests.store.blobs.test_working_folders import facts

LIMITS = FolderLimits(file_bytes=1000, total_bytes=5000, entries=20)


@pytest.fixture
def scaffold(tmp_path: Path) -> Path:
    root = tmp_path / "scaffold"
    (root / "deep" / "empty").mkdir(parents=True)
    (root / "deep" / "run.sh").write_text("echo hail\n")
    (root / "deep" / "run.sh").chmod(0o700)
    (root / "picture").write_bytes(bytes(range(256)))
    (root / "link").symlink_to("deep/run.sh")
    return root


def kept(root: Path, run_dir: Path) -> tuple[str, BlobStore]:
    run_dir.mkdir(exist_ok=True)
    blobs, tree = BlobStore(run_dir), hash_folder(root, LIMITS)
    keep_folder(root, tree, LIMITS, blobs)
    return tree, blobs


def test_times_and_permissions_of_a_checkout_make_no_other_hash(
    scaffold: Path, tmp_path: Path
) -> None:
    tree = hash_folder(scaffold, LIMITS)
    other = tmp_path / "elsewhere"
    shutil.copytree(scaffold, other, symlinks=True)
    for path in (other, *other.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | 0o075)
        os.utime(path, (7, 7), follow_symlinks=False)
    assert hash_folder(other, LIMITS) == tree
    (other / "picture").chmod(0o744)
    assert hash_folder(other, LIMITS) != tree, "that a file can be run is part of it"
    (other / "picture").chmod(0o644)
    (other / "deep" / "empty").rmdir()
    assert hash_folder(other, LIMITS) != tree


def test_a_copy_has_the_content_and_the_same_times_wherever_and_whenever_it_is_made(
    scaffold: Path, tmp_path: Path
) -> None:
    tree, blobs = kept(scaffold, tmp_path / "run")
    shutil.rmtree(scaffold)
    made: list[dict[str, Any]] = []
    for name in ("one", "two"):
        root = tmp_path / name
        root.mkdir()
        copy_tree(root, "", tree, blobs)
        copy_tree(root, "in/here", tree, blobs)
        made.append(dict(facts(root)))
        assert (root / "deep" / "run.sh").stat().st_mode & 0o777 == 0o755
        assert (root / "in" / "here" / "picture").read_bytes() == bytes(range(256))
        assert os.readlink(root / "in" / "here" / "link") == "deep/run.sh"  # noqa: PTH115
        assert (root / "in" / "here" / "deep" / "empty").is_dir()
    assert made[0] == made[1]


def test_files_that_are_there_are_replaced_and_others_are_left(
    scaffold: Path, tmp_path: Path
) -> None:
    tree, blobs = kept(scaffold, tmp_path / "run")
    root = tmp_path / "work"
    (root / "deep").mkdir(parents=True)
    (root / "mine").write_text("mine")
    outside = tmp_path / "outside"
    outside.write_text("not to be touched")
    (root / "picture").symlink_to(outside)
    (root / "deep" / "run.sh").write_text("old")
    copy_tree(root, "", tree, blobs)
    assert (root / "mine").read_text() == "mine"
    assert (root / "deep" / "run.sh").read_text() == "echo hail\n"
    assert not (root / "picture").is_symlink()
    assert outside.read_text() == "not to be touched"


@pytest.mark.parametrize("way", ["deep", "in", "in/here"])
def test_a_link_that_an_agent_left_for_a_folder_is_not_followed(
    scaffold: Path, tmp_path: Path, way: str
) -> None:
    tree, blobs = kept(scaffold, tmp_path / "run")
    root, outside = tmp_path / "work", tmp_path / "outside"
    outside.mkdir()
    (root / way).parent.mkdir(parents=True)
    (root / way).symlink_to(outside)
    with pytest.raises(FolderRefused, match=f"{way} in the working folder is no folder"):
        copy_tree(root, "" if way == "deep" else "in/here", tree, blobs)
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("to", ["../out", "/out", "a/../../out"])
def test_nothing_is_copied_outside_the_folder(scaffold: Path, tmp_path: Path, to: str) -> None:
    tree, blobs = kept(scaffold, tmp_path / "run")
    (tmp_path / "work").mkdir()
    with pytest.raises(FolderRefused, match="no place inside the working folder"):
        copy_tree(tmp_path / "work", to, tree, blobs)


def test_one_that_changes_between_looking_and_keeping_is_refused(
    scaffold: Path, tmp_path: Path
) -> None:
    tree = hash_folder(scaffold, LIMITS)
    (scaffold / "picture").write_text("another")
    (tmp_path / "run").mkdir()
    blobs = BlobStore(tmp_path / "run")
    with pytest.raises(StoreError, match="has changed while the run was being set up"):
        keep_folder(scaffold, tree, LIMITS, blobs)
    assert not blobs.has(tree)


def test_what_sessions_may_not_hold_is_refused_when_it_is_looked_at(scaffold: Path) -> None:
    (scaffold / "large").write_bytes(bytes(1001))
    with pytest.raises(FolderRefused, match="large in the working folder has 1,001 bytes"):
        hash_folder(scaffold, LIMITS)
    with pytest.raises(FolderRefused, match="No such file"):
        hash_folder(scaffold / "not there", LIMITS)


def test_only_a_text_that_says_nothing_else_names_a_folder() -> None:
    texts = [as_resource("a" * 64), "initial folder", {"initial folder": 7}, ["initial folder"]]
    assert initial_trees([*texts, {"initial folder": "x", "more": 1}]) == {"a" * 64}
