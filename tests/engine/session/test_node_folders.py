"""Folders of a run on a node without its journal: shared, gone with the last, swept when stale."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from matrix.engine.executors.node_folder import NodeFolder
from matrix.engine.session.workspace import Workspaces
from matrix.engine.wire.blob_line import BlobLine
from matrix.engine.wire.link import ServerGone
from matrix.model.errors import FolderUnavailable
from matrix.model.records import FolderLimits
from matrix.store.blobs.blob_parts import BlobPart
from matrix.store.blobs.blob_server import BlobServer
from matrix.store.blobs.blobs import BlobStore
from matrix.store.blobs.remote_blobs import RemoteBlobs
from matrix.store.blobs.restoring import restore_tree
from tests.engine.lone_session import Journal
from tests.engine.session.test_effects import scribe, scribes, told
from tests.plugins.scribe_kind import ScribeKind
from tests.waiting import LONGEST_WAIT_S

RUN = Path("results/a-run")


def left(base: Path) -> list[str]:
    """Whatever is under the place of such folders."""
    return [path.name for place in base.glob("matrix-*") for path in place.iterdir()]


def test_processes_of_a_node_share_a_folder_and_the_last_one_removes_it(tmp_path: Path) -> None:
    one, two = (NodeFolder.open("n1", RUN, tmp_path) for _ in range(2))
    assert one.path == two.path
    assert one.path.name == RUN.name
    (one.path / "file").write_text("")
    one.close()
    assert (two.path / "file").exists()
    two.close()
    assert left(tmp_path) == []


def test_nodes_and_runs_have_folders_of_their_own(tmp_path: Path) -> None:
    places = [("n1", RUN), ("n2", RUN), ("n1", Path("elsewhere/a-run"))]
    opened = [NodeFolder.open(node, run, tmp_path) for node, run in places]
    assert len({one.path for one in opened}) == 3
    for one in opened:
        one.close()


KILLED = """
import os, sys
from pathlib import Path
from matrix.engine.executors.node_folder import NodeFolder
print(NodeFolder.open(sys.argv[1], Path("results/a-run"), Path(sys.argv[2])).path, flush=True)
os._exit(1)
"""


def killed(node: str, base: Path) -> Path:
    """The folder of a process that was killed."""
    command = [sys.executable, "-c", KILLED, node, str(base)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return Path(done.stdout.strip())


async def test_what_killed_processes_left_is_swept_unless_a_command_still_works_in_it(
    tmp_path: Path,
) -> None:
    used = killed("used", tmp_path)
    outlived = await Workspaces(used, BlobStore(used)).open("s1", FolderLimits())
    stale = killed("stale", tmp_path)
    assert stale.is_dir()
    first = NodeFolder.open("n1", RUN, tmp_path)
    assert not stale.exists()
    assert used.is_dir()
    outlived.release()
    NodeFolder.open("n2", RUN, tmp_path).close()
    assert not used.exists()
    assert first.path.is_dir()
    first.close()
    assert left(tmp_path) == []


def test_a_place_that_others_can_write_is_refused(tmp_path: Path) -> None:
    one = NodeFolder.open("n1", RUN, tmp_path)
    one.path.parent.parent.chmod(0o777)
    with pytest.raises(FolderUnavailable, match="set TMPDIR"):
        NodeFolder.open("n1", RUN, tmp_path)
    one.close()


# --- sessions on such a node ----------------------------------------------------------------------


class Mortal:
    """A server's process; dead, it says so."""

    def __init__(self, run_dir: Path) -> None:
        self._server = BlobServer(run_dir)
        self.dies_in = -1
        self.died = threading.Event()

    def keep(self, digests: Sequence[str]) -> list[str]:
        self._live()
        return self._server.keep(digests)

    def take(self, sender: str, parts: Sequence[BlobPart]) -> None:
        self._live()
        self._server.take(sender, parts)

    def give(self, digests: Sequence[str], offset: int) -> list[BlobPart]:
        self._live()
        return self._server.give(digests, offset)

    def _live(self) -> None:
        if self.dies_in == 0:
            self.died.set()
            raise ServerGone("killed")
        self.dies_in -= 1


def elsewhere(place: Path, line: BlobLine) -> Workspaces:
    place.mkdir()
    return Workspaces(place, RemoteBlobs(place, line), give_up=line.close)


@pytest.mark.slow
async def test_a_session_that_goes_from_node_to_node_leaves_the_folder_of_one_that_stayed(
    tmp_path: Path,
) -> None:
    stayed, run_dir = tmp_path / "stayed", tmp_path / "run"
    stayed.mkdir()
    run_dir.mkdir()
    alone = scribes(stayed)
    expected = told(alone, await alone.play())
    journal, end, number = Journal(ScribeKind(), scribe()), None, 0
    while end is None:
        number += 1
        line = BlobLine(BlobServer(run_dir))
        journal.workspaces = elsewhere(tmp_path / f"node-{number}", line)
        end = await journal.play(3)
    assert number > 3
    assert told(journal, end) == expected
    assert [path.name for path in run_dir.iterdir()] == ["blobs"], "it worked on its nodes only"
    for index, turn in enumerate(journal.turns):
        restore_tree(tmp_path / f"check-{index}", turn.tree, BlobStore(run_dir), 0)


async def test_a_server_that_dies_again_and_again_is_waited_for_and_no_session_notices(
    tmp_path: Path,
) -> None:
    stayed, run_dir = tmp_path / "stayed", tmp_path / "run"
    stayed.mkdir()
    run_dir.mkdir()
    alone = scribes(stayed)
    expected = told(alone, await alone.play())
    server = Mortal(run_dir)
    line = BlobLine(server)
    journal = Journal(ScribeKind(), scribe(), workspaces=elsewhere(tmp_path / "node", line))
    server.dies_in = 3
    playing = asyncio.ensure_future(journal.play())
    for life in range(4):
        assert await asyncio.to_thread(server.died.wait, LONGEST_WAIT_S)
        server = Mortal(run_dir)
        server.dies_in = life  # one dies at once
        line.reconnect(server)
        if life == 3:
            server.dies_in = -1
    assert told(journal, await playing) == expected


def test_who_waits_for_a_server_is_let_go_when_the_line_is_closed(tmp_path: Path) -> None:
    server = Mortal(tmp_path)
    server.dies_in = 0
    line, gone = BlobLine(server), threading.Event()

    def ask() -> None:
        with pytest.raises(ServerGone):
            line.keep([])
        gone.set()

    asking = threading.Thread(target=ask)
    asking.start()
    assert server.died.wait(LONGEST_WAIT_S)
    line.close()
    assert gone.wait(LONGEST_WAIT_S)
    asking.join()
