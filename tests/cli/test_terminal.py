"""On a terminal: the live table is drawn, goes on, and the summary follows it."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.program import Matrix
from tests.cli.terminal import ESCAPES, Terminal

SMALL = (
    "run",
    "--executor",
    "in-process",
    "--set",
    "scenarios=[the-borrowed-hour]",
    "--run-id",
    "seen",
)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")

SLOW = """\
scenarios: [put-it-back]
factors: {{prompt: [baseline, pulse-aware]}}
per_cell: 1
roles: {{all: mine, judge: mine}}
limits: {{turns: 2, cost_usd: 2}}
models:
  mine: {{target: openai/x, api_base: "{url}", price: {{input: 1, output: 1}}}}
providers: {{processes: 1}}
"""


def on_terminal(folder: Path, *args: str, columns: int = 80, answer: str = "") -> tuple[str, int]:
    """All that the program writes to a terminal of its own, and its exit code."""
    with Terminal(folder, *args, columns=columns, answer=answer) as terminal:
        code = terminal.ended()
        return terminal.written, code


@pytest.fixture
def never_answers() -> Iterator[str]:
    """An address where every request is taken and none is answered."""
    server, kept = socket.create_server(("127.0.0.1", 0)), []

    def take() -> None:
        while True:
            try:
                kept.append(server.accept()[0])
            except OSError:
                return

    thread = threading.Thread(target=take)
    thread.start()
    yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"
    server.shutdown(socket.SHUT_RDWR)
    thread.join()
    for one in (server, *kept):
        one.close()


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 200])
def test_the_live_table_is_drawn_and_the_summary_follows(project: Path, columns: int) -> None:
    written, code = on_terminal(project, *SMALL, "--per-cell", "6", columns=columns)
    text = ESCAPES.sub("", written)
    assert code == 0
    plan, _, rest = text.partition("run seen in results/seen\n")
    live, _, summary = rest.rpartition("run seen (complete) in ")
    assert plan.startswith("my-prompts: 1 scenario x 2 prompts, on simulated models\n")
    assert "so far (no verdict before the end):" in live
    assert "played" in live
    assert "sessions  12 of 12 ended (12 completed), 0 open" in live
    row = r"^baseline +\d\d\.\d +\d\d\.\d to \d\d\.\d +n = 6 of 6$"
    assert re.search(row, live, re.MULTILINE)
    assert "Verdict: " in summary
    assert "\x1b[?25h" in written, "the cursor is shown again"
    commands = ("  python -c", "  matrix show")  # to be copied whole
    lines = [line.rstrip() for line in (plan + live + summary).splitlines()]
    too_long = [
        line for line in lines if len(line) > min(columns, 120) and not line.startswith(commands)
    ]
    assert too_long == []


@pytest.mark.slow
def test_the_screen_holds_in_the_end_what_a_pipe_is_given(project: Path, matrix: Matrix) -> None:
    with Terminal(project, *SMALL, "--per-cell", "2", columns=100) as terminal:
        assert terminal.ended() == 0
        screen = terminal.screen()
    piped = matrix(*SMALL[:-1], "piped", "--per-cell", "2", variables={"COLUMNS": "100"})
    for line in (piped.stderr + piped.stdout).replace("piped", "seen").splitlines():
        if " in " not in line and len(line) <= 100:  # how long it took is another time
            assert line.rstrip() in screen
    assert sum(line.startswith("sessions  ") for line in screen) == 1, "one table, the last"
    assert sum(line.startswith("played ") for line in screen) == 1
    assert not any(line.startswith(("running ", "starting")) for line in screen)


@pytest.mark.slow
def test_what_is_said_meanwhile_stands_whole_above_the_table(project: Path) -> None:
    with Terminal(project, *SMALL, "--per-cell", "2", columns=40) as terminal:
        assert terminal.ended() == 0
        screen = terminal.screen()
    told = "".join(screen[: next(i for i, line in enumerate(screen) if line.startswith("played"))])
    words = r"after the first round, the whole is expected to cost \$[\d.]+, from \$[\d.]+ to \$"
    assert re.search(words.replace(" ", " ?"), told)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("variable", ["CI", "TERM"])
def test_where_nothing_can_be_redrawn_there_are_plain_lines(project: Path, variable: str) -> None:
    variables = {"CI": "true"} if variable == "CI" else {"TERM": "dumb"}
    with Terminal(project, *SMALL, "--sessions", "2", variables=variables) as terminal:
        assert terminal.ended() == 0
        assert "run seen in results/seen\n" in terminal.written
        assert not ESCAPES.search(terminal.written)


@pytest.mark.slow
def test_no_color_and_columns_are_honoured(project: Path) -> None:
    variables = {"NO_COLOR": "1", "COLUMNS": "44"}
    args = (*SMALL, "--sessions", "2")
    with Terminal(project, *args, columns=200, variables=variables) as terminal:
        assert terminal.ended() == 0
        live = terminal.written.partition("run seen in results/seen\n")[2]
    table = live.rpartition("run seen (complete) in ")[0]
    colours = [code for code in COLOUR.findall(table) if re.search(r"[34][0-7]", code)]
    assert colours == []
    last = ESCAPES.sub("", table[table.rindex("played") :]).splitlines()
    assert max(len(line) for line in last) <= 44


@pytest.mark.long
@pytest.mark.slow
def test_a_model_that_does_not_answer_is_seen_to_be_waited_for(
    here: Path, never_answers: str
) -> None:
    (here / "matrix.yaml").write_text(SLOW.format(url=never_answers))
    with Terminal(
        here, "run", "--executor", "in-process", "--run-id", "slow", columns=100
    ) as terminal:
        terminal.wait_for(r"[1-9] in flight \(the oldest for \d+ s\)")
        terminal.press_ctrl_c()
        told = r"stopping \(interrupted\): nothing new is started; .* can be resumed"
        terminal.wait_for(told)
        terminal.wait_for(r"stopping \d+ s")
        terminal.press_ctrl_c()
        assert terminal.ended() == 4
        screen = terminal.screen()
    last = "error: stopped at once; `matrix resume slow` goes on from the last turns"
    assert screen[-2:] == [last, ""]
    assert sum(line.startswith("stopping ") and "(" not in line for line in screen) == 1


@pytest.mark.long
@pytest.mark.slow
def test_every_part_of_the_live_table_has_a_line_of_its_own(project: Path) -> None:
    written, _ = on_terminal(project, *SMALL, "--per-cell", "1")
    live = ESCAPES.sub("", written).partition("run seen in results/seen\n")[2]
    for label in ("sessions", "calls", "money", "trouble"):
        assert re.search(rf"^{label} +\d|^{label} +\$", live, re.MULTILINE), label


@pytest.mark.slow
def test_quiet_draws_nothing_on_a_terminal_either(project: Path) -> None:
    written, code = on_terminal(project, *SMALL, "--sessions", "2", "--quiet")
    assert code == 0
    assert written.startswith("Not enough data to name a winner")
    assert written.count("\n") == 1


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(("answer", "code"), [("n\n", 0), ("y\n", 4)])
def test_above_its_cap_a_run_asks_first(project: Path, answer: str, code: int) -> None:
    args = (*SMALL, "--per-cell", "20", "--max-cost", "0.3", "--open-sessions", "4")
    written, ended = on_terminal(project, *args, answer=answer)
    assert "Start it all the same? [y/N]: " in written
    assert ended == code
    assert (project / "results").exists() == (answer == "y\n")


@pytest.mark.slow
def test_yes_does_not_ask(project: Path) -> None:
    args = (*SMALL, "--per-cell", "20", "--max-cost", "0.3", "--open-sessions", "4", "--yes")
    written, code = on_terminal(project, *args)
    assert "Start it" not in written
    assert code == 4
