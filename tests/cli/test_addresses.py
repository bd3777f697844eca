"""Models at an address of the user's own: reached before the start, named when they fail later."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from matrix import api
from matrix.cli.so_far import progress_line
from matrix.engine.run.progress import Progress, Silent
from matrix.model.errors import BadInput
from tests.cli.program import Matrix

OWN = """\
scenarios: [put-it-back]
factors: {{prompt: [baseline]}}
per_cell: 1
roles: {{all: mine, judge: yours}}
limits: {{turns: 2, cost_usd: 2, attempts: 2}}
models:
  mine: {{target: openai/x, api_base: "{url}", price: {{input: 1, output: 1}}}}
  yours: {{target: openai/y, api_base: "{url}", price: {{input: 1, output: 1}}}}
providers: {{processes: 1}}
"""


class Deaf:
    """Takes connections, keeps what the first of each brings, and closes them."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                self.heard.append(connection.recv(65536))

    def close(self) -> None:
        if self._thread.is_alive():
            self._socket.shutdown(socket.SHUT_RDWR)
            self._thread.join()
        self._socket.close()


@pytest.fixture
def deaf() -> Iterator[Deaf]:
    server = Deaf()
    yield server
    server.close()


class Seen(Silent):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def progress(self, progress: Progress) -> None:
        self.lines.append(progress_line(progress))


@pytest.fixture
def closed_url() -> Iterator[str]:
    with socket.socket() as taken:  # bound, so that nobody else listens there
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


@pytest.mark.slow
def test_a_run_is_refused_when_nobody_answers_at_a_model_s_address(
    here: Path, matrix: Matrix, closed_url: str
) -> None:
    (here / "matrix.yaml").write_text(OWN.format(url=closed_url))
    done = matrix("run", "--executor", "in-process")
    assert done.stderr.splitlines() == [
        f"matrix.yaml: models.{name}.api_base: {closed_url} cannot be reached: Connection refused; "
        "start the service, or correct the address"
        for name in ("mine", "yours")
    ]
    assert (done.stdout, done.code) == ("", 2)
    assert not (here / "results").exists()
    assert matrix("plan").code == 0, "a plan needs nobody"


@pytest.mark.slow
def test_an_address_is_connected_to_once_and_nothing_is_sent_before_the_start(
    here: Path, deaf: Deaf
) -> None:
    (here / "matrix.yaml").write_text(OWN.format(url=deaf.url))
    seen = Seen()
    run = api.run(
        here, results=here / "results", run_id="one", executor="in-process", listener=seen
    )
    first, *rest = deaf.heard
    assert first == b""
    assert rest
    assert all(heard.startswith(b"POST ") for heard in rest)
    assert run.id == "one"
    line = seen.lines[-1]
    assert re.search(r"; 0 turns; .* 0 429s, [1-9]\d* retries", line)
    assert f"(newest: {deaf.url}: ProviderUnavailable: " in line


@pytest.mark.slow
def test_a_run_is_not_taken_up_again_while_nobody_answers(here: Path, deaf: Deaf) -> None:
    (here / "matrix.yaml").write_text(OWN.format(url=deaf.url))
    options: dict[str, Any] = {"results": here / "results", "executor": "in-process"}
    api.run(here, run_id="one", **options)
    before = (here / "results" / "one" / "run.json").read_bytes()
    deaf.close()
    with pytest.raises(BadInput, match=f"{deaf.url} cannot be reached: "):
        api.resume("one", redo_errored=True, **options)
    assert (here / "results" / "one" / "run.json").read_bytes() == before
