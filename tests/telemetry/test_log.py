"""The log: whole lines from many writers, short under a flood, never in the way of a run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.telemetry.flood import Flood
from matrix.telemetry.log import (
    LOG_NAME,
    LONGEST_TEXT,
    EarlierLives,
    EventLog,
    level_in,
    lives_in_log,
)
from matrix.telemetry.redaction import Redactor
from matrix.telemetry.spellings import REMOVED
from tests.waiting import LONGEST_WAIT_S


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / LOG_NAME


def test_an_event_is_a_line_of_json_with_time_level_process_and_its_fields(path: Path) -> None:
    log = EventLog(path, "worker-1", Redactor())
    log.warning("group.paused", group="openai", seconds=1.5)
    log.close()
    (line,) = lines_of(path)
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "WARNING", "process": "worker-1", "event": "group.paused",
        "group": "openai", "seconds": 1.5,
    }  # fmt: skip


def test_secrets_are_taken_out_of_every_field_and_long_ones_are_cut(path: Path) -> None:
    log = EventLog(path, "p", Redactor(["quince-84"]))
    log.error("x", reason="y" * LONGEST_TEXT + "quince-84", cell={"prompt": "quince-84"})
    log.close()
    (line,) = lines_of(path)
    assert line["cell"] == {"prompt": REMOVED}
    assert line["reason"] == "y" * LONGEST_TEXT


@pytest.mark.parametrize(
    ("asked", "written"),
    [("debug", 4), ("info", 3), ("WARNING", 2), ("error", 1), ("", 3), ("loud", 3)],
)
def test_the_level_is_what_the_variable_says(path: Path, asked: str, written: int) -> None:
    log = EventLog(path, "p", Redactor(), level=level_in({"MATRIX_LOG": asked}))
    for write in (log.debug, log.info, log.warning, log.error):
        write("x")
    log.close()
    assert len(lines_of(path)) == written


@pytest.mark.slow
def test_lines_of_several_processes_are_never_torn(path: Path) -> None:
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from matrix.telemetry.log import EventLog\n"
        "from matrix.telemetry.redaction import Redactor\n"
        "log = EventLog(Path(sys.argv[1]), sys.argv[2], Redactor())\n"
        "for number in range(300):\n"
        "    log.info(f'e{number}', text='x' * 1900, more='y' * 1900, still='z' * 1900)\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(path), f"p{number}"])
        for number in range(3)
    ]
    assert [writer.wait(LONGEST_WAIT_S) for writer in writers] == [0, 0, 0]
    lines = lines_of(path)
    assert len(lines) == 900
    for number in range(3):
        own = [line["event"] for line in lines if line["process"] == f"p{number}"]
        assert own == [f"e{n}" for n in range(300)]


def test_a_flood_of_one_kind_is_held_back_counted_and_told(path: Path) -> None:
    clock = Clock()
    log = EventLog(path, "p", Redactor(), clock=clock)
    for _ in range(10_000):
        log.warning("attempt.failed", error="RateLimited", model="m")
    log.warning("attempt.failed", error="ProviderTimeout", model="m")
    clock.now = 10.0
    log.warning("attempt.failed", error="RateLimited", model="m")
    log.warning("attempt.failed", error="RateLimited", model="m")
    log.close()
    lines = lines_of(path)
    assert len(lines) == 20 + 1 + 1 + 1
    assert lines[21]["held_back"] == 9_980
    assert lines[22] == lines[22] | {
        "event": "log.held_back", "of": "attempt.failed RateLimited m", "held_back": 1,
    }  # fmt: skip


@given(st.lists(st.floats(0, 50), max_size=300))
def test_a_flood_keeps_to_its_rate_and_loses_no_count(pauses: list[float]) -> None:
    flood, now, admitted, told = Flood(5, 10.0), 0.0, 0, 0
    for pause in pauses:
        now += pause
        held_back = flood.admit("k", now)
        if held_back is not None:
            admitted += 1
            told += held_back
        assert admitted <= 5 + now / 10.0 + 1e-6
    assert admitted + told + sum(flood.left().values()) == len(pauses)


def test_a_clock_that_jumps_back_admits_nothing_more() -> None:
    flood = Flood(1, 10.0)
    assert flood.admit("k", 100.0) == 0
    assert flood.admit("k", 0.0) is None


def test_a_value_that_is_no_json_costs_its_line_only(path: Path) -> None:
    log = EventLog(path, "p", Redactor())
    log.info("bad", value=object())
    log.info("half", text="half a pair: \ud800")
    log.info("good")
    log.close()
    assert lines_of(path)[-1]["event"] == "good"


def test_a_closed_log_takes_events_and_forgets_them(path: Path) -> None:
    log = EventLog(path, "p", Redactor())
    log.close()
    log.error("late")
    assert path.read_bytes() == b""


def test_the_newest_life_is_found_among_torn_and_foreign_lines(path: Path) -> None:
    assert lives_in_log(path) == EarlierLives()
    path.write_bytes(
        b'{"event":"run.started","life":1,"trace":"aa"}\n'
        b'{"event":"run.resumed","life":2,"trace":"bb"}\n'
        b'{"event":"other","life":9,"trace":"cc"}\n'
        b'{"event":"run.resumed","life":3\n'
        b'{"event":"run.resumed","life":"x","trace":"dd"}\n'
        b"\xff\xfe\n"
    )
    assert lives_in_log(path) == EarlierLives(2, "bb")


def test_what_was_lost_is_counted_over_the_lives_that_the_log_tells_of(path: Path) -> None:
    path.write_bytes(
        b'{"event":"run.started","life":1,"trace":"aa"}\n'
        b'{"event":"process.died","dead":"worker-0"}\n'
        b'{"event":"process.died","dead":"worker-0"}\n'  # told twice in one life: one death
        b'{"event":"process.died","dead":"worker-1"}\n'
        b'{"event":"node.lost","node":"n1"}\n'
        b'{"event":"run.resumed","life":2,"trace":"bb"}\n'
        b'{"event":"process.died","dead":"worker-0"}\n'
        b'{"event":"process.died","dead":7}\n'
        b'{"event":"node.lost","node":"n2","held_back":2}\n'
        b'{"event":"session","reason":"no \\"process.died\\" here"}\n'
    )
    assert lives_in_log(path) == EarlierLives(2, "bb", processes=3, nodes=4)
