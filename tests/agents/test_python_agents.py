"""Agents of Python: they see every variable of their process, and share its working directory."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.program import run_program
from tests.executors.programs import Project

KEY, TOKEN = "sk-proj-Ab12Cd34Ef56Gh78Ij90Kl12", "Zq7hJx81vLmWp0plainvalue"
LOOKS = "sk-evil-SECRETSECRET"
MINE = f"""
import os

def _secrets():
    return os.environ["OPENAI_API_KEY"] + " and " + os.environ["MY_TOKEN"]

async def raises(turn):
    raise ValueError("bad key " + _secrets() + " or {LOOKS}")

async def says(turn):
    return "I know " + _secrets() + "\\nSTATUS: COMPLETE"

async def writes(turn):
    (turn.folder / "found.txt").write_text(_secrets())
    return "STATUS: COMPLETE"

async def goes(turn):
    os.chdir(turn.folder)
    return "STATUS: COMPLETE"

async def answers(turn):
    return "It is so.\\nSTATUS: COMPLETE"

async def waits(turn):
    return f"I have {{turn.timeout_s:g}} s\\nSTATUS: COMPLETE"

async def bytes_only(turn):
    from matrix.agents.turns import Reply
    return Reply(b"bytes")

async def ends(turn):
    raise SystemExit(3)

async def leaves(turn):
    os._exit(0)

async def forks(turn):
    child = os.fork()
    if not child:
        os._exit(7)
    left = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return f"It left with {{left}}.\\nSTATUS: COMPLETE"

class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError("no words")

async def unspeakable(turn):
    raise Unspeakable

async def unreadable(turn):
    from matrix.agents.turns import Reply
    class Odd(Reply):
        text = property(lambda self: 1 / 0)
    return Odd("words")

class Words(str):
    pass

class Count(int):
    pass

async def own_words(turn):
    return Words("It is so.\\nSTATUS: COMPLETE")

async def own_types(turn):
    from decimal import Decimal
    from matrix.agents.turns import Reply
    cost = Decimal("0.002") if turn.seed % 2 else __import__("numpy").float64(0.002)
    return Reply(Words("So.\\nSTATUS: COMPLETE"), cost, Count(3), Count(4), Words("COMPLETE"))

async def crashes(turn):
    import ctypes
    if "note 0" not in turn.prompt and "note 1" not in turn.prompt:
        ctypes.string_at(0)
    return "STATUS: COMPLETE"

async def prints(turn):
    import os, subprocess
    print("not for programs")
    os.write(1, b"nor by its number ")
    subprocess.run(["echo", "nor by a command"], check=True)
    return "STATUS: COMPLETE"

async def lowers(turn):
    import sys
    sys.setrecursionlimit(60)
    return "STATUS: COMPLETE"

async def deep(turn):
    import os
    here = os.getcwd()
    os.chdir(turn.folder)
    for _ in range(2500):
        os.mkdir("d")
        os.chdir("d")
    os.chdir(here)
    return "STATUS: COMPLETE"
"""


def played(
    folder: Path, system: str, *more: str, ray: bool = False, **keys: Any
) -> tuple[Project, Any]:
    (folder / "agents_of_mine.py").write_text(MINE)
    names = [*("raises", "says", "writes", "goes", "answers", "waits", "bytes_only", "ends")]
    names += [
        "own_words",
        "own_types",
        "deep",
        "prints",
        "lowers",
        "crashes",
        "leaves",
        "forks",
        "unspeakable",
        "unreadable",
    ]
    file = {
        "version": 1,
        "strictness": 0,
        "min_score_to_pass": 0,
        "project_files_must_stay": False,
        "agents": {
            name: {
                "python": f"agents_of_mine:{name}",
                "timeout_s": 300,
                **({"max_usd": 0.05} if name == "own_types" else {"free": True}),
            }
            for name in names
        },
        "system": system,
        "scenarios": [{"id": "digest", "description": "notes", "prompt": "Read the notes."}],
        **keys,
    }
    (folder / "selftest.yaml").write_text(yaml.safe_dump(file))
    project = Project(folder, {"OPENAI_API_KEY": KEY, "MY_TOKEN": TOKEN})
    executor = ["--executor", "ray" if ray else "in-process"]
    done = project.matrix("run", "selftest.yaml", *executor, "--run-id", "it", *more)
    return project, done


@pytest.mark.slow
@pytest.mark.parametrize("system", ["raises", "says", "writes"])
def test_keys_that_it_tells_are_told_nobody(system: str, tmp_path: Path) -> None:
    _, done = played(tmp_path, system)
    for secret in (KEY, TOKEN, *([LOOKS] if system == "raises" else [])):
        assert secret not in done.out + done.err
        for place in ("results", "reports", "docs"):
            for file in (tmp_path / place).rglob("*"):
                assert not file.is_file() or secret.encode() not in file.read_bytes(), file


@pytest.mark.slow
def test_one_that_goes_elsewhere_takes_the_run_nowhere(tmp_path: Path) -> None:
    project, done = played(tmp_path, "goes")
    assert done.code == 0, done
    assert "run it in results/it" in done.out + done.err
    assert project.matrix("show", "it").code == 0


@pytest.mark.slow
def test_what_it_prints_is_in_no_output_for_programs(tmp_path: Path) -> None:
    _, done = played(tmp_path, "prints", "--json")
    assert json.loads(done.out)["run_id"] == "it", done
    for said in ("not for programs", "nor by its number", "nor by a command"):
        assert said in done.err


@pytest.mark.slow
def test_how_deep_calls_may_go_is_not_its_to_say(tmp_path: Path) -> None:
    _, done = played(tmp_path, "lowers", "--per-cell", "3")
    assert done.code == 0, done


@pytest.mark.slow
def test_what_it_gives_back_may_be_of_types_of_its_own(tmp_path: Path) -> None:
    """A subclass of str, or numpy's number, is what libraries return where they return one."""
    levels = {"system": ["own_words", "own_types", "answers"]}
    project, done = played(tmp_path, "answers", "--per-cell", "2", factors=levels)
    assert done.code == 0, done
    sessions = project.tables("it").frame("sessions")
    assert set(sessions.outcome) == {"completed"}
    calls = project.tables("it").frame("calls")
    mine = calls[(calls.role == "system") & (calls.model == "own_types")]
    assert mine.cost_nano.tolist() == [2_000_000] * 2
    assert mine.tokens_in.tolist() == [3] * 2


@pytest.mark.long
@pytest.mark.slow
def test_folders_inside_each_other_without_end_are_in_nobodys_way(tmp_path: Path) -> None:
    _, done = played(tmp_path, "deep")
    assert done.code == 0, done
    assert not list((tmp_path / "results" / "it").rglob("scratch-*"))


@pytest.mark.slow
@pytest.mark.parametrize("judge", ["raises", "bytes_only"])
def test_a_judge_that_breaks_is_no_failure_of_what_it_judges(judge: str, tmp_path: Path) -> None:
    project, done = played(tmp_path, "answers", "--threshold", "failed=.05", judge={"model": judge})
    sessions = project.tables("it").frame("sessions")
    assert set(sessions.outcome) == {"completed"}, "the system did its work"
    assert sessions.score.isna().all()
    report = json.loads((tmp_path / "reports" / "selftest" / "it.json").read_text())
    assert report["cases"][0]["pass"] is None
    assert "ERROR digest" in done.out


@pytest.mark.slow
def test_a_generator_that_breaks_is_no_failure_of_the_system(tmp_path: Path) -> None:
    case = {"id": "digest", "description": "notes"}
    _, done = played(tmp_path, "answers", generator={"model": "raises"}, scenarios=[case])
    report = json.loads((tmp_path / "reports" / "selftest" / "it.json").read_text())
    assert report["cases"][0]["pass"] is None, done


@pytest.mark.parametrize(("keys", "seconds"), [({}, 300), ({"timeout_seconds": 20}, 20)])
def test_its_own_longest_turn_holds_unless_the_file_says_another(
    keys: dict[str, Any], seconds: int, tmp_path: Path
) -> None:
    project, _ = played(tmp_path, "waits", **keys)
    said = project.tables("it").frame("messages").text.str.cat()
    assert f"I have {seconds} s" in said


def test_its_own_longest_turn_holds_as_a_level_of_a_factor_too(tmp_path: Path) -> None:
    levels = {"system": ["waits", "answers"]}
    project, _ = played(tmp_path, "sim/gpt-4o-mini", factors=levels)
    assert "I have 300 s" in project.tables("it").frame("messages").text.str.cat()


@pytest.mark.parametrize(
    ("system", "told"),
    [
        ("bytes_only", "a Reply whose text is a bytes"),
        ("ends", "it ended itself (SystemExit: 3)"),
        ("leaves", "it ended itself (SystemExit: os._exit(0))"),
        ("unspeakable", "Unspeakable (its text cannot be read)"),
        ("unreadable", "ZeroDivisionError: division by zero"),
    ],
)
def test_what_went_wrong_is_told_as_it_was(system: str, told: str, tmp_path: Path) -> None:
    _, done = played(tmp_path, system)
    assert done.code == 1
    assert told in " ".join((done.out + done.err).split())


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.ray
def test_sessions_that_take_their_worker_along_are_given_up_and_the_run_goes_on(
    tmp_path: Path,
) -> None:
    """Seven of them are fourteen deaths alone, more than any other process may die in a minute."""
    cases = [
        {"id": f"case{n}", "description": "notes", "prompt": f"Read note {n}."} for n in range(9)
    ]
    project, done = played(tmp_path, "crashes", "--workers", "1", scenarios=cases, ray=True)
    ends = project.tables("it").frame("sessions").set_index("scenario").outcome
    assert (ends.drop(["case0", "case1"]) == "errored").all(), done
    assert (ends[["case0", "case1"]] == "completed").all(), done
    assert "has died" not in done.err, done


@pytest.mark.slow
def test_a_process_that_it_forked_ends_as_it_says(tmp_path: Path) -> None:
    project, _ = played(tmp_path, "forks")
    assert "It left with 7." in project.tables("it").frame("messages").text.str.cat()


STARTED = {"PYTHONNOUSERSITE": "1"}
"""So that the program is started, and finds modules as it does for everybody."""
HERE = sorted(name for name in sys.stdlib_module_names if find_spec(name) is not None)
HELPED = """
import cmd, imaplib, statistics, click
import own_helper
async def reply(turn):
    assert cmd.Cmd and imaplib.IMAP4 and click.Command
    return str(statistics.mean([1, 3]) * own_helper.TEN)
"""


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(
    ("executor", "names"),
    [
        ("in-process", [*HERE, "click", "yaml", "ray"]),
        pytest.param("ray", ["cmd", "imaplib", "statistics", "click"], marks=pytest.mark.slow),
    ],
    ids=["in-process", "on-ray"],
)
def test_files_of_the_project_stand_in_for_no_module_of_python_or_its_packages(
    executor: str, names: list[str], tmp_path: Path
) -> None:
    for name in names:
        (tmp_path / f"{name}.py").write_text("raise SystemExit(7)")
    (tmp_path / "own_helper.py").write_text("TEN = 10")
    (tmp_path / "helped.py").write_text(HELPED)
    spec = {
        "kind": "counter",
        "scenarios": ["one"],
        "agents": {"it": {"python": "helped:reply", "free": True}},
        "roles": {"counter": "it"},
        "per_cell": 1,
        "limits": {"cost_usd": 1, "turns": 1},
    }
    (tmp_path / "matrix.yaml").write_text(yaml.safe_dump(spec))
    done = run_program(tmp_path, "run", "--executor", executor, "--run-id", "it", variables=STARTED)
    assert done.code == 0, done
    said = Project(tmp_path).tables("it").frame("messages").text.str.cat()
    assert "20" in said, done


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "told"),
    [
        (
            "cmd",
            "module 'cmd' has no 'reply': it is not cmd.py of the project, whose name is taken",
        ),
        ("leaves", "module 'leaves' cannot be imported: SystemExit: 7"),
    ],
)
def test_a_module_that_cannot_be_the_agents_is_told_before_anything_starts(
    module: str, told: str, tmp_path: Path
) -> None:
    (tmp_path / "cmd.py").write_text("async def reply(turn): ...")
    (tmp_path / "leaves.py").write_text("raise SystemExit(7)\nasync def reply(turn): ...")
    played(tmp_path, "it", agents={"it": {"python": f"{module}:reply", "free": True}})
    done = run_program(
        tmp_path, "run", "selftest.yaml", "--executor", "in-process", variables=STARTED
    )
    assert done.code == 2
    assert told in " ".join(done.stderr.split())
