"""`matrix export --to inspect`, read back by inspect_ai and shown by its viewer."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import matrix
from tests.interop.libraries import library
from tests.report.page.browser import a_browser

pytestmark = pytest.mark.long


def test_inspect_reads_every_log_and_finds_turns_speakers_and_scores(talked: Path) -> None:
    log = library("inspect_ai.log")
    run = matrix.open_run("talk", results=talked / "results")
    sessions = run.sessions().set_index("session_id")
    seen = set()
    for info in log.list_eval_logs(str(talked / "logs")):
        read = log.read_eval_log(info)
        assert read.status == "success"
        assert set(read.eval.task_args) == {"mood", "most"}
        for sample in read.samples:
            row = sessions.loc[sample.uuid]
            assert (row.mood, row.most) == tuple(read.eval.task_args.values())
            spans = [event for event in sample.events if event.event == "span_begin"]
            assert spans
            assert {span.type for span in spans} == {"turn"}
            models = [event for event in sample.events if event.event == "model"]
            assert {event.role for event in models} <= {"agent", "customer"}
            assert [event.output.completion for event in models] == [
                message.text for message in sample.messages
            ]
            assert (sample.error is not None) == (row.outcome == "failed")
            if sample.error is None:
                assert sample.scores["score"].value == row.score
            usage = sample.model_usage["sim/gpt-4o-mini"]
            assert (usage.input_tokens, usage.output_tokens) == (row.tokens_in, row.tokens_out)
            seen.add(sample.uuid)
        summaries = log.read_eval_log_sample_summaries(info)
        assert {one.uuid for one in summaries} == {one.uuid for one in read.samples}
    assert seen == set(sessions.index)


@contextmanager
def viewing(logs: Path) -> Iterator[str]:
    """The address of ``inspect view`` of these logs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = [str(Path(sys.executable).with_name("inspect")), "view", "start"]
    place = ["--log-dir", str(logs), "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen([*program, *place], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            assert any("Running on" in line for line in server.stdout), "the viewer has ended"
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


def test_inspect_view_opens_a_session_turn_by_turn(talked: Path) -> None:
    library("inspect_ai")
    with viewing(talked / "logs") as address, a_browser() as browser:
        page = browser.new_page()
        page.set_default_timeout(300_000)  # a busy machine is slow, and a viewer that hangs ends
        page.goto(f"{address}/#/tasks/{min((talked / 'logs').iterdir()).name}")
        page.get_by_text("bill 0").first.click()
        page.get_by_text("TURN 1", exact=False).first.wait_for()
        text = page.inner_text("body")
        assert "customer: " in text
        assert "agent: " in text
        page.close()
