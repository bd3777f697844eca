"""The value of a variable that is passed to an agent is nowhere in what a run leaves."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from matrix.store.journal import JOURNAL_NAME, JournalReader
from tests.agents.programs import agents, project_of, spec_of

CANARY = "canary-5d1e7b-sesame"
TELLS = """
import os, sys
sys.stdin.read()
token = os.environ["SOME_TOKEN"]
print("my token is", token, file=sys.stderr)
if sys.argv[1] == "fails":
    sys.exit(f"error: bad token {token}")
print("7, and my token is", token)
"""


@pytest.mark.parametrize("how", ["answers", "fails"])
@pytest.mark.parametrize("executor", ["--in-process", pytest.param("", marks=pytest.mark.ray)])
def test_an_agent_that_tells_its_token_tells_it_nobody(
    tmp_path: Path, how: str, executor: str
) -> None:
    agent = {
        "command": ["python3", "{project}/tells.py", how],
        "max_usd": 0.01,
        "sandbox": "none",
        "pass_env": ["SOME_TOKEN"],
    }
    forms = {"teller": agent, "mine": agents()["mine"]}
    project = project_of(tmp_path, spec_of(forms), SOME_TOKEN=CANARY)
    (tmp_path / "tells.py").write_text(TELLS)
    flags = [executor] if executor else []
    done = project.matrix("run", *flags, "--run-id", "it")
    session = project.tables("it").frame("sessions").session_id[0]
    shown = [done, project.matrix("show", "it"), project.matrix("show", "it", session)]
    project.matrix("export", "it", session, "-o", "out.json")
    for one in shown:
        assert CANARY not in one.out + one.err
    for file in (tmp_path / "results").rglob("*"):
        if file.is_file():
            assert CANARY.encode() not in file.read_bytes(), file
    for out in tmp_path.glob("out.json"):
        assert CANARY not in out.read_text()
    reader = JournalReader(project.path("it") / JOURNAL_NAME)
    said = repr([row.entry for row in reader.rows(0, reader.last_seq())])
    reader.close()
    assert CANARY not in said
    assert "[redacted]" in said
    assert zlib.crc32(said.encode())


def test_a_rotated_token_changes_nothing_on_resume(tmp_path: Path) -> None:
    agent = {
        "command": ["sh", "-c", 'cat > /dev/null; test -n "$SOME_TOKEN" && echo 7'],
        "max_usd": 0.01,
        "sandbox": "none",
        "pass_env": ["SOME_TOKEN"],
    }
    spec = spec_of({"one": agent, "mine": agents()["mine"]}, limits={"cost_usd": 0.12}, per_cell=5)
    first = project_of(tmp_path, spec | {"at_cap": "spend-all"}, SOME_TOKEN=CANARY)
    assert first.matrix("run", "--in-process", "--quiet", "--run-id", "it").code == 4
    second = project_of(tmp_path, spec, SOME_TOKEN=CANARY[::-1])
    done = second.matrix("resume", "it", "--max-cost", "9", "--in-process", "--quiet")
    assert done.code == 0, done.err
    assert set(second.tables("it").frame("sessions").outcome) == {"completed"}
