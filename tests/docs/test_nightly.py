"""The page on nightly sweeps: its command is played for four nights, its files go through tools."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from matrix import api
from matrix.cli.main import main
from matrix.store.run.run_folder import RunFile

PAGE = Path(__file__).resolve().parents[2] / "docs" / "nightly.md"
PROJECT = "/srv/prompts"
"""Where the page has its project."""

FIRST_NIGHT = datetime(2026, 11, 1, 1, 30, tzinfo=UTC)

SMALL = ("--executor", "in-process", "--per-cell", "12", "--set", "options.group_size_max=2")
"""On top of the page's own flags: a sweep that does not take all night."""

WORSE = ",".join(
    f"{{factor: prompt, level: baseline, trait: {trait}, add: 0.9}}"
    for trait in ("contradiction", "forced_segue", "guide_deviation")
)
"""What a bad change of the prompt does: the narrator contradicts itself and wanders off."""


def blocks(language: str) -> list[str]:
    text = PAGE.read_text(encoding="utf-8")
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)
    return [block for named, block in found if named == language]


def the_command() -> list[str]:
    (line,) = blocks("")
    program, *words = shlex.split(line)
    assert program == "matrix"
    return words


# --- the command ----------------------------------------------------------------------------------

Night = Callable[..., tuple[int, str]]


@pytest.fixture
def night(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Night:
    """``night(number, *more)`` runs the page's command in the page's project, in that night.

    It returns the exit code and all that was printed.
    """
    spec = blocks("yaml")[0]
    place = re.findall(r"^# (\S+)\n", spec)[0]
    api.init(tmp_path)
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).write_text(spec, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def play(number: int, *more: str) -> tuple[int, str]:
        at = (FIRST_NIGHT + timedelta(days=number - 1)).timestamp()
        with pytest.raises(SystemExit) as ended:
            main([*the_command(), *SMALL, *more], clock=lambda: at)
        printed = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, printed.err + printed.out

    return play


def runs() -> list[RunFile]:
    return [one.run for one in api.list_runs("results") if one.run is not None]


@pytest.mark.slow
def test_the_first_night_a_planted_regression_and_a_night_that_was_interrupted(
    night: Night,
) -> None:
    changed = ("--set", f"simulation={{effects: [{WORSE}]}}")

    code, said = night(1)
    assert code == 0
    assert "no complete run of the name 'nightly' on simulated models is in results yet" in said
    (first,) = runs()
    assert first.run_id.startswith("nightly-20261101-013000-")

    code, said = night(2, *changed)
    assert code == 3
    assert f"held against {first.run_id}," in said
    assert "gate FAILED" in said
    second = runs()[-1]
    assert second.created_at == FIRST_NIGHT + timedelta(days=1)

    code, said = night(3, "--time-limit", "0.00001")
    assert code == 4
    third = runs()[-1]
    assert (third.status, third.end_reason) == ("incomplete", "time limit")

    code, said = night(4)
    assert code == 0
    assert f"{third.run_id} did not reach its end, and goes on first" in said
    assert said.index(f"held against {second.run_id},") < said.index(
        f"held against {third.run_id},"
    )
    assert [run.status for run in runs()] == ["complete"] * 4


# --- the files ------------------------------------------------------------------------------------


def only(found: list[str]) -> str:
    (one,) = found
    return one


def commands_of_files() -> dict[str, str]:
    """The command in each file of the page."""
    cron, ini, workflow = only(blocks("cron")), "\n".join(blocks("ini")), blocks("yaml")[1]
    return {
        "cron": only(re.findall(r"&& (.*)$", cron, re.M)),
        "systemd": only(re.findall(r"^ExecStart=(.*)$", ini, re.M)),
        "workflow": only(re.findall(r"- run: (matrix run .*)$", workflow, re.M)),
    }


@pytest.mark.parametrize("name", ["cron", "systemd", "workflow"])
def test_every_file_has_the_command_of_the_page(name: str) -> None:
    program, *words = shlex.split(commands_of_files()[name])
    assert Path(program).name == "matrix"
    assert program in ("matrix", ".venv/bin/matrix", f"{PROJECT}/.venv/bin/matrix")
    limit = words.index("--time-limit") + 1
    requested = the_command()
    requested[requested.index("--time-limit") + 1] = words[limit]
    assert [word for word in words if word != "--quiet"] == requested


FIELDS = {"minute": (0, 59), "hour": (0, 23), "day": (1, 31), "month": (1, 12), "weekday": (0, 7)}


def is_cron_time(fields: list[str]) -> bool:
    """Whether five fields of plain numbers and stars are a time that cron knows."""
    return len(fields) == len(FIELDS) and all(
        field == "*" or (re.fullmatch(r"\d{1,2}", field) and least <= int(field) <= most)
        for field, (least, most) in zip(fields, FIELDS.values(), strict=True)
    )


def test_the_line_for_cron_is_one() -> None:
    variable, line = only(blocks("cron")).splitlines()
    assert re.fullmatch(r"[A-Z]+=\S+", variable)
    *when, command = line.split(maxsplit=5)
    assert is_cron_time(when)
    assert not is_cron_time(["61", *when[1:]])
    assert command.startswith(f"cd {PROJECT} && ")
    assert "%" not in command, "cron would take it for the end of a line"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")
def test_systemd_has_nothing_to_say_against_the_units(tmp_path: Path) -> None:
    program = tmp_path / ".venv" / "bin" / "matrix"
    program.parent.mkdir(parents=True)
    program.symlink_to(shutil.which("true") or sys.executable)
    units = [unit.replace(PROJECT, str(tmp_path)) for unit in blocks("ini")]
    assert verified(tmp_path, units) == (0, "")
    broken = [unit.replace("Persistent=", "Persistant=") for unit in units]
    assert "Unknown key" in verified(tmp_path, broken)[1]


def verified(folder: Path, units: list[str]) -> tuple[int, str]:
    """Exit code and complaints of ``systemd-analyze verify``, which ends with 0 all the same."""
    names = []
    for unit in units:
        names.append(folder / re.findall(r"^# (\S+)\n", unit)[0])
        names[-1].write_text(unit, encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *names],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def fits_the_schema(path: Path) -> bool:
    """Whether the published schema of GitHub's workflows takes a file; it comes with the tool."""
    done = subprocess.run(
        [Path(sys.executable).with_name("check-jsonschema"), "--builtin-schema",
         "vendor.github-workflows", path],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode == 0


@pytest.mark.slow
def test_the_workflow_fits_githubs_schema_and_keeps_results_whatever_happens(
    tmp_path: Path,
) -> None:
    text = blocks("yaml")[1]
    path = tmp_path / "nightly.yml"
    path.write_text(text, encoding="utf-8")
    assert fits_the_schema(path)
    path.write_text(text.replace("runs-on:", "run-on:"), encoding="utf-8")
    assert not fits_the_schema(path)
    workflow = yaml.safe_load(text)
    assert is_cron_time(workflow[True]["schedule"][0]["cron"].split())  # YAML reads "on" as true
    job = workflow["jobs"]["sweep"]
    restore, save = (
        next(
            step for step in job["steps"] if step.get("uses", "").startswith(f"actions/cache/{do}")
        )
        for do in ("restore", "save")
    )
    assert save["if"] == "always()"
    assert restore["with"]["path"] == save["with"]["path"] == "results"
    words = shlex.split(commands_of_files()["workflow"])
    assert float(words[words.index("--time-limit") + 1]) < job["timeout-minutes"], (
        "the run has to end by itself, or nobody saves it"
    )
