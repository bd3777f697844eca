"""Joining a cluster: whoever cannot is told why and what to do, soon, and has written nothing."""

from __future__ import annotations

import os
import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.machines import TOKEN, Machines, machines
from tests.executors.programs import Project, counter_spec

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module")
def guarded() -> Iterator[Machines]:
    """A cluster of one machine that wants a token."""
    with machines(TOKEN) as made:
        made.head(2)
        yield made


def project_in(folder: Path, environment: dict[str, str]) -> Project:
    project = Project(folder, environment)
    project.write(counter_spec(per_cell=2))
    return project


@pytest.mark.long
@pytest.mark.parametrize(
    "said",
    [
        *("flag", "auto"),
        *(
            pytest.param(one, marks=pytest.mark.long)
            for one in ("MATRIX_RAY_ADDRESS", "RAY_ADDRESS")
        ),
    ],
)
def test_a_cluster_with_a_token_is_joined_by_any_spelling(
    tmp_path: Path, guarded: Machines, said: str
) -> None:
    variables = {said: guarded.address} if said.isupper() else {}
    flags = {"flag": ["--address", guarded.address], "auto": ["--address", "auto"]}.get(said, [])
    project = project_in(tmp_path, guarded.environment_of("head", **variables))
    done = project.matrix("run", "--quiet", "--run-id", "one", *flags)
    assert done.code == 0, done.err
    assert set(project.tables("one").frame("sessions").outcome) == {"completed"}


@pytest.mark.long
def test_a_run_that_is_to_go_on_says_on_which_cluster(tmp_path: Path, guarded: Machines) -> None:
    project = Project(tmp_path, guarded.environment_of("head"))
    project.write(counter_spec(per_cell=20_000))
    done = project.matrix(
        *("run", "--quiet", "--run-id", "one", "--address", guarded.address, "--time-limit", "0.02")
    )
    assert done.code == 4, done
    assert f"matrix resume one --address {guarded.address} goes on" in " ".join(done.err.split())


@pytest.mark.long
@pytest.mark.parametrize(
    ("address", "variables", "words"),
    [
        ("{own}", {}, "got none; put the head's ~/.ray/auth_token"),
        ("{own}", {"HOME": "/nonexistent"}, "got none; put the head's ~/.ray/auth_token"),
        ("{own}", {"RAY_AUTH_TOKEN": "0" * 64}, "has another one; put the head's"),
        ("127.0.0.1:1", {}, "nobody answers at 127.0.0.1:1 (Connection refused); start Ray"),
        ("ray://127.0.0.1:10001", {}, "`ray job submit -- matrix run`"),
        ("http://127.0.0.1:8265", {}, "is an address of Ray's dashboard or jobs"),
        ("", {}, "found an empty address, as of a variable that is empty or not set"),
        (" ", {}, "that does not mean no cluster: give HOST:PORT or auto, or local"),
        ("here", {}, "is no address of a Ray; it is auto or HOST:PORT"),
    ],
)
def test_why_a_cluster_is_not_joined_is_told_and_nothing_is_written(
    tmp_path: Path, guarded: Machines, address: str, variables: dict[str, str], words: str
) -> None:
    project = project_in(tmp_path, guarded.environment_of("stranger", **variables))
    if "RAY_AUTH_TOKEN" not in variables:
        (guarded.folder / "stranger" / ".ray" / "auth_token").unlink()
    given = address.format(own=guarded.address)
    for command in (["run", "--quiet"], ["doctor"]):
        done = project.matrix(*command, "--address", given)
        said = " ".join((done.out + done.err).split())
        assert words in said or command == ["doctor"]  # which has its own line breaks
        assert done.code == 2, said
        assert "Traceback" not in said
    assert not list(tmp_path.glob("results/*"))


@pytest.mark.parametrize("variable", ["MATRIX_RAY_ADDRESS", "RAY_ADDRESS"])
def test_an_address_that_is_wrong_is_told_with_the_place_it_stands_in(
    tmp_path: Path, guarded: Machines, variable: str
) -> None:
    project = project_in(tmp_path, guarded.environment_of("head", **{variable: "127.0.0.1:1"}))
    done = project.matrix("run", "--quiet")
    assert done.code == 2
    assert f"{variable}: nobody answers at 127.0.0.1:1" in " ".join(done.err.split())


def test_a_machine_without_a_node_of_the_cluster_is_told_so(
    tmp_path: Path, guarded: Machines
) -> None:
    """Another process namespace cannot see the nodes of this one, as another machine cannot."""
    unshare = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc")
    project = project_in(tmp_path, guarded.environment_of("head"))
    import subprocess

    from tests.executors.programs import PROGRAM

    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system lets nobody have a namespace")
    done = subprocess.run(
        [*unshare, *PROGRAM, "run", "--quiet", "--address", guarded.address],
        cwd=project.folder,
        env=dict(project.environment),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    remedy = "`RAY_AUTH_MODE=token ray start --address=...`"
    assert f"no node of it runs on this machine; {remedy}" in " ".join(done.stderr.split())


class Stranger(socketserver.BaseRequestHandler):
    """What is no Ray: takes a connection and says something, or nothing until it is closed."""

    says = b""

    def handle(self) -> None:
        if self.says:
            self.request.sendall(self.says)
        while self.request.recv(1024):
            pass


@pytest.mark.long
@pytest.mark.parametrize("says", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH", b"\0\0"])
def test_what_takes_connections_and_is_no_ray_is_told_so(tmp_path: Path, says: bytes) -> None:
    """Without starting Ray, which would wait long."""
    handler = type("Handler", (Stranger,), {"says": says})
    project = project_in(tmp_path, dict(os.environ) | {"RAY_AUTH_MODE": "none of Ray's modes"})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        done = project.matrix("run", "--address", f"127.0.0.1:{server.server_address[1]}")
        server.shutdown()
    assert done.code == 2
    assert "takes connections and does not talk as Ray does; see whether it is a Ray" in done.err
    assert not list(tmp_path.glob("results/*"))
