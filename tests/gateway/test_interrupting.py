"""A command that did not end by itself is begun again, and nothing of it is paid twice."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from matrix.store.run.run_folder import read_run
from tests.cli.program import environment, run_program
from tests.executors.programs import Done, Project, finished, wait_for
from tests.gateway.conftest import program
from tests.gateway.provider import Provider
from tests.waiting import LONGEST_WAIT_S

pytestmark = pytest.mark.slow

Running = subprocess.Popen[str]
Act = Callable[[Running, int], None]
"""Does something to a gateway, which may have this end of its terminal."""

CALM = """
import signal
from pathlib import Path
def tell(name, text=""):
    Path(f"{name}.new").write_text(str(text))
    os.rename(f"{name}.new", name)
def rest():
    while True:
        signal.pause()
"""
"""What follows can say something in a file, and wait to be disturbed."""

IN_THE_MIDDLE = f"""
{CALM}
def ask(times):
    for number in range(times):
        assert post(CHAT, asked(seed=number, max_tokens=500))[0] == 200
if Path("go").exists():
    ask(5)
    sys.exit(7)
ask(3)
if os.fork() == 0:
    tell("child", os.getpid())
rest()
"""
"""Asks for three things and waits; when it may go on, for five, of which three are the same."""


async def disturbed(project: Project, agent: str, act: Act, *more: str) -> Done:
    """How a gateway without a terminal ends, to whose command this is done."""
    return await asyncio.to_thread(_disturbed, project, agent, act, more, None)


async def disturbed_at_a_terminal(project: Project, agent: str, act: Act) -> Done:
    """How a gateway ends that has a terminal."""
    ours, theirs = pty.openpty()
    try:
        return await asyncio.to_thread(_disturbed, project, agent, act, (), (ours, theirs))
    finally:
        os.close(ours)
        os.close(theirs)


def _disturbed(
    project: Project, agent: str, act: Act, more: tuple[str, ...], ends: tuple[int, int] | None
) -> Done:
    (project.folder / "agent.py").write_text(program(agent))
    ours, theirs = ends or (-1, None)
    own = ("--max-cost", "5", "--run-id", "it", *more)
    with project.started("gateway", *own, "--", sys.executable, "agent.py", terminal=theirs) as run:
        act(run, ours)
        return finished(run)


def when(folder: Path, *said: str) -> None:
    """Return when the command has said all this in its folder."""
    wait_for(lambda: all((folder / name).exists() for name in said))


def is_gone(folder: Path, said: str) -> bool:
    """Whether the process that has said its number in this file has ended."""
    stat = Path("/proc") / (folder / said).read_text() / "stat"
    try:
        return stat.read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


async def looked(folder: Path, *args: str) -> str:
    """What a command that looks at a run prints."""
    done = await asyncio.to_thread(run_program, folder, *args)
    assert done.code == 0, done.stderr
    return done.stdout


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_interrupted_it_is_incomplete_and_resumed_nothing_is_paid_twice(
    provider: Provider, tmp_path: Path, number: signal.Signals
) -> None:
    project = Project(tmp_path, provider.environment)

    def act(run: Running, terminal: int) -> None:
        when(tmp_path, "child")
        run.send_signal(number)

    done = await disturbed(project, IN_THE_MIDDLE, act)
    assert done.code == 4, done.err
    wait_for(lambda: is_gone(tmp_path, "child"))
    assert "for 3 requests; `matrix show it`" in done.err
    assert "(incomplete: interrupted)" in done.err
    assert "`matrix resume it` starts the command again" in done.err
    assert (await looked(tmp_path, "list")).endswith("  incomplete (interrupted)\n")
    shown = await looked(tmp_path, "show", "it")
    assert shown.startswith("run it (incomplete: interrupted) in ")
    assert "1 censored; 1 of 1 planned" in shown
    assert "completed" not in shown
    assert len(project.tables("it").frame("effects")) == 0
    (tmp_path / "go").touch()
    again = await asyncio.to_thread(project.matrix, "resume", "it", "--quiet")
    assert again.code == 7, again.err
    assert provider.billed == 5
    assert project.tables("it").frame("calls").answered.sum() == 5
    assert (await looked(tmp_path, "list")).endswith("  complete, exit code 7\n")


STUBBORN = f"""
{CALM}
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
tell("begun")
rest()
"""
POLITE = f"""
{CALM}
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
tell("begun")
rest()
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("agent", "times", "number"),
    [
        (POLITE, 1, signal.SIGTERM),
        (STUBBORN, 1, signal.SIGTERM),
        (STUBBORN, 2, signal.SIGTERM),
        (STUBBORN, 1, signal.SIGHUP),
    ],
)
async def test_what_was_asked_to_end_is_not_done_whatever_it_says(
    provider: Provider, tmp_path: Path, agent: str, times: int, number: signal.Signals
) -> None:
    def act(run: Running, terminal: int) -> None:
        when(tmp_path, "begun")
        run.send_signal(number)
        assert run.stderr is not None
        told = next(line for line in run.stderr if "nothing new is started" in line)
        assert "its command is asked to end; " in told
        assert told.endswith("and the run can be resumed\n")
        if times == 2:
            run.send_signal(number)

    done = await disturbed(Project(tmp_path, provider.environment), agent, act)
    assert done.code == 4, done.err
    assert "`matrix resume it`" in done.err
    file = read_run(tmp_path / "results" / "it")
    assert (file.status, file.end_reason) == ("incomplete", "interrupted")


@pytest.mark.long
async def test_at_a_time_limit_the_command_is_asked_to_end(
    provider: Provider, tmp_path: Path
) -> None:
    agent = f"{CALM}\nPath('go').exists() or rest()\n"
    limit = ("--set", "limits.run_minutes=0.01")
    project = Project(tmp_path, provider.environment)
    done = await disturbed(project, agent, lambda run, terminal: None, *limit)
    assert done.code == 4, done.err
    assert "(incomplete: time limit)" in done.err
    (tmp_path / "go").touch()
    longer = ("--set", "limits.run_minutes=600")
    again = await asyncio.to_thread(project.matrix, "resume", "it", "--quiet", *longer)
    assert again.code == 0, again.err


@pytest.mark.long
async def test_ctrl_c_that_a_program_goes_on_from_is_no_interrupt(
    provider: Provider, tmp_path: Path
) -> None:
    agent = f"""
{CALM}
def pressed(*_):
    post(CHAT, asked(seed=1))
    os._exit(3)
signal.signal(signal.SIGINT, pressed)
post(CHAT, asked())
tell("begun")
rest()
"""

    def act(run: Running, terminal: int) -> None:
        when(tmp_path, "begun")
        os.write(terminal, b"\x03")

    done = await disturbed_at_a_terminal(Project(tmp_path, provider.environment), agent, act)
    assert done.code == 3, done.err
    assert provider.billed == 2
    assert (await looked(tmp_path, "list")).endswith("  complete, exit code 3\n")


@pytest.mark.long
@pytest.mark.parametrize("shell", [False, True])
async def test_ctrl_c_that_a_program_dies_of_interrupts_the_run(
    provider: Provider, tmp_path: Path, shell: bool
) -> None:
    dies = "signal.signal(signal.SIGINT, signal.SIG_DFL)"
    if shell:
        dies = "signal.signal(signal.SIGINT, lambda *_: os._exit(130))"
    agent = f"{CALM}\n{dies}\ntell('begun')\nrest()\n"

    def act(run: Running, terminal: int) -> None:
        when(tmp_path, "begun")
        os.write(terminal, b"\x03")

    done = await disturbed_at_a_terminal(Project(tmp_path, provider.environment), agent, act)
    assert done.code == 4, done.err
    assert "`matrix resume it` starts the command again" in done.err
    assert read_run(tmp_path / "results" / "it").end_reason == "interrupted"


FAMILY = f"""
{CALM}
def child(name, asked_to_end):
    leader = os.getpid()
    if os.fork() == 0:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: asked_to_end(leader))
        tell(name, os.getpid())
        rest()
def tidy(leader):
    while os.getppid() == leader:
        pass
    os.system("touch tidied")
    os._exit(0)
child("polite", tidy)
child("stubborn", lambda leader: None)
rest()
"""
"""One child tidies up when its parent has ended, and one does nothing that it is told."""


@pytest.mark.long
@pytest.mark.parametrize("at_a_terminal", [False, True])
async def test_what_a_command_has_started_is_asked_to_end_and_has_its_grace_too(
    provider: Provider, tmp_path: Path, at_a_terminal: bool
) -> None:
    def act(run: Running, terminal: int) -> None:
        when(tmp_path, "polite", "stubborn")
        run.terminate()

    end = disturbed_at_a_terminal if at_a_terminal else disturbed
    done = await end(Project(tmp_path, provider.environment), FAMILY, act)
    assert done.code == 4, done.err
    assert (tmp_path / "tidied").exists()
    wait_for(lambda: is_gone(tmp_path, "polite") and is_gone(tmp_path, "stubborn"))


HASTY = """
import asyncio, os, signal
from matrix.api.runs.metering import gateway, plan_gateway
from matrix.engine.run.progress import Silent

class Hasty(Silent):
    '''Asks for the end so many turns of the loop after the start.'''

    def __init__(self, turns, number):
        self.turns, self.number = turns, number

    def starting(self, prepared, run_id, run_dir):
        asyncio.get_running_loop().call_soon(self.step)

    def step(self):
        if self.turns == 0:
            os.kill(os.getpid(), self.number)
        else:
            self.turns -= 1
            asyncio.get_running_loop().call_soon(self.step)

for turns in (0, 20, 40, 80, 160):
    for number in (signal.SIGINT, signal.SIGTERM):
        name = f"{number.name}-{turns}"
        command = ["sh", "-c", f"test -e go || {{ touch begun-{name}; sleep 100000; }}"]
        cap = [(("limits", "cost_usd"), 1.0, "--max-cost")]
        prepared = plan_gateway(command, stand_in="sim/opus-4.5", overrides=cap)
        done = gateway(prepared, run_id=name, listener=Hasty(turns, number))
        print(name, done.run.file.status, done.run.file.end_reason, done.exit_code)
"""


def test_whenever_the_end_is_asked_for_it_comes_and_nothing_is_begun_after(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(HASTY)],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=LONGEST_WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ends = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert len(ends) == 10
    assert set(ends.values()) == {"incomplete interrupted None"}
    assert not {"begun-SIGINT-0", "begun-SIGTERM-0"} & {path.name for path in tmp_path.iterdir()}
    (tmp_path / "go").touch()
    for name in ("SIGINT-0", "SIGTERM-160"):
        assert run_program(tmp_path, "resume", name, "--quiet").code == 0
