"""The value of a variable that is passed to an agent is nowhere in what a run leaves."""

from __future__ import annotations

import json
import sqlite3
from base64 import b64encode, urlsafe_b64encode
from binascii import hexlify
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.agents.secrets import Cleaner
from matrix.kinds.context import MOST_OUTPUT
from matrix.model.errors import AgentFailed
from matrix.model.spec.agents import AgentSpec
from matrix.store.blobs.blobs import BlobStore
from matrix.store.blobs.trees import blobs_of, decode_tree
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader
from tests.agents.programs import agents, project_of, spec_of
from tests.faults.laws import trees

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


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("how", ["answers", "fails"])
@pytest.mark.parametrize("executor", ["in-process", pytest.param("ray", marks=pytest.mark.ray)])
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
    flags = ["--executor", executor]
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


def _cleaner(token: str) -> Cleaner:
    agent = AgentSpec.model_validate(
        {"command": ["x"], "free": True, "sandbox": "none", "pass_env": ["T"]}
    )
    return Cleaner(agent, {"T": token})


PEM = "-----BEGIN KEY-----\nMIIEvQ77zzCanary\n9xTopSecretLastLine\n-----END KEY-----"
QUOTED = 'can"ary\\7-über'
WAYS: dict[str, Callable[[str], str]] = {
    "in base64, alone": lambda token: b64encode(token.encode()).decode(),
    "in base64, behind a name": lambda token: b64encode(f"me:{token}".encode()).decode(),
    "in base64, in the middle": lambda token: b64encode(f"mine:{token}!".encode()).decode(),
    "in hex": lambda token: token.encode().hex(),
    "in hex, in capitals": lambda token: token.encode().hex().upper(),
    "as it is": str,
    "as JSON": lambda token: json.dumps({"said": token}),
    "as JSON that is no ASCII": lambda token: json.dumps({"said": token}, ensure_ascii=False),
    "as Python": repr,
    "as an address": lambda token: f"GET /?q={quote(token)}",
    "cut off at the most that is kept": lambda token: "x" * (MOST_OUTPUT - 9) + token,
}


@pytest.mark.parametrize("token", [PEM, QUOTED, CANARY])
@pytest.mark.parametrize("way", list(WAYS))
def test_no_part_of_it_gets_through_however_it_is_written_or_cut(token: str, way: str) -> None:
    text = WAYS[way](token)
    kept = text[:MOST_OUTPUT]
    cleaned = _cleaner(token)(kept, len(kept) == len(text))
    for length in range(8, 24):
        for part in token.splitlines():
            for at in range(len(part) - length + 1):
                assert part[at : at + length] not in cleaned


ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "base64": b64encode,
    "base64 for addresses": urlsafe_b64encode,
    "hex": hexlify,
}
BREAKS = ["\n", "\r\n", "\n    ", "\n\t", "\\n", "\\r\\n"]
"""Ends of lines, with the indentation of the next; the last two as JSON has them."""


@given(
    size=st.integers(6, 3_000),
    lead=st.integers(0, 100),
    width=st.sampled_from([20, 60, 64, 70, 76]),
    broken=st.sampled_from(BREAKS),
    encode=st.sampled_from(sorted(ENCODERS)),
)
def test_no_letter_is_left_of_what_is_encoded_and_broken_into_lines(
    size: int, lead: int, width: int, broken: str, encode: str
) -> None:
    token = ("".join(f"{n:x}{chr(97 + n % 26)}-" for n in range(size)))[:size]
    letters = ENCODERS[encode](b"." * lead + token.encode()).decode()
    text = broken.join(letters[at : at + width] for at in range(0, len(letters), width))
    cleaned = _cleaner(token)(f"It is:\n{text}\n\nThat was all.")
    own = 2 * lead if encode == "hex" else lead * 8 // 6  # letters it shares with nothing
    told = cleaned.replace(broken, "").replace("\n", "")
    assert told.startswith("It is:" + letters[:own])
    assert told.endswith("[redacted]That was all.")
    assert len(told) <= len("It is:[redacted]That was all.") + own + 1


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("size", [20, 48, 300])
def test_a_file_of_many_megabytes_keeps_nothing_of_what_it_has_at_the_edge_of_a_window(
    tmp_path: Path, size: int
) -> None:
    token = "".join(f"{n:x}{chr(97 + n % 26)}-" for n in range(size))[:size]
    letters = b64encode(token.encode())
    broken = b"\n    ".join(letters[at : at + 20] for at in range(0, len(letters), 20))
    filler = b"an ordinary line of a log\n" * (16 * 2**20 // 26)
    (tmp_path / "log").write_bytes(filler + broken + filler)
    _cleaner(token).clean_files(tmp_path, 0)
    assert (tmp_path / "log").read_bytes() == filler + b"[redacted]" + filler


def test_ordinary_text_that_only_lacks_its_blanks_stays() -> None:
    text = "open\nsesame or open sesame, and sesa\nme"
    assert _cleaner("opensesame-9")(text) == text


def test_a_database_is_one_without_the_value_too(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db")) as made:
        made.execute("create table said (at integer, what text)")
        rows = [(n, CANARY if n == 200 else f"row {n}") for n in range(400)]
        made.executemany("insert into said values (?, ?)", rows)
        made.commit()
    _cleaner(CANARY).clean_files(tmp_path, 0)
    assert CANARY.encode() not in (tmp_path / "a.db").read_bytes()
    with closing(sqlite3.connect(tmp_path / "a.db")) as kept:
        assert kept.execute("pragma integrity_check").fetchone() == ("ok",)
        told = kept.execute("select what from said where at = 200").fetchone()
    assert told == ("[redacted]".ljust(len(CANARY), "*"),)


@pytest.mark.parametrize("target", ["{}", "../{}/x", "{}\udcff"])
def test_a_link_to_a_value_fails_the_turn_and_is_not_kept(tmp_path: Path, target: str) -> None:
    cleaner = _cleaner(CANARY)
    (tmp_path / "fine").symlink_to("../elsewhere")
    cleaner.clean_files(tmp_path, 0)
    (tmp_path / "link").symlink_to(target.format(CANARY))
    with pytest.raises(AgentFailed, match="link to the value of a secret") as found:
        cleaner.clean_files(tmp_path, 0)
    assert CANARY not in str(found.value)


@pytest.mark.parametrize("token", [CANARY, CANARY[:-1], CANARY[:-2]])
@pytest.mark.parametrize("before", ["", "a", "a:", "ab:"])
@pytest.mark.parametrize("pad", [True, False])
def test_base64_keeps_no_letter_of_the_end_of_a_value(token: str, before: str, pad: bool) -> None:
    text = b64encode((before + token).encode()).decode()
    text = text if pad else text.rstrip("=")
    cleaned = _cleaner(token)(f"Basic {text} and more")
    assert cleaned.endswith("[redacted] and more")
    assert len(cleaned.split()[1]) <= len("[redacted]") + (len(before) * 8 + 5) // 6


@pytest.mark.slow
@pytest.mark.parametrize("ends", ["print(token)", "sys.exit(token)"])
def test_a_key_of_several_lines_is_nowhere_in_what_a_run_leaves(tmp_path: Path, ends: str) -> None:
    agent = {
        "command": ["python3", "{project}/tells.py"],
        "answer": {"text": "text"},
        "max_usd": 0.01,
        "sandbox": "none",
        "pass_env": ["SOME_TOKEN"],
    }
    forms = {"teller": agent, "mine": agents()["mine"]}
    project = project_of(tmp_path, spec_of(forms), SOME_TOKEN=PEM)
    tells = f"import os, sys\nsys.stdin.read()\ntoken = os.environ['SOME_TOKEN']\n{ends}\n"
    (tmp_path / "tells.py").write_text(tells)
    project.matrix("run", "--executor", "in-process", "--quiet", "--run-id", "it")
    sessions = project.tables("it").frame("sessions").set_index("counter")
    assert (sessions.loc["teller"].error_class == "AgentFailed").all()
    reader = JournalReader(project.path("it") / JOURNAL_NAME)
    said = repr([row.entry for row in reader.rows(0, reader.last_seq())])
    reader.close()
    for line in ("MIIEvQ77zzCanary", "9xTopSecretLastLine"):
        assert line not in said
        for file in (tmp_path / "results").rglob("*"):
            assert file.is_dir() or line.encode() not in file.read_bytes(), file


SPELLS = """
import json, os, sys
sys.stdin.read()
token = os.environ["SOME_TOKEN"]
said = json.dumps(token) + " or " + json.dumps(token, ensure_ascii=False) + " or " + repr(token)
print(json.dumps({"text": "It is " + said, "status": token, "of": token}))
"""


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("token", ["Tr0ub4dor9\\x&horse", "pässword-für-älle", 'quo"ted-word'])
@pytest.mark.parametrize("answer", [{"text": "text", "status": "status"}, {"cost_usd": "none"}])
def test_a_value_that_json_holds_in_one_spelling_and_says_in_another_is_taken_out(
    tmp_path: Path, token: str, answer: dict[str, str]
) -> None:
    agent = {
        "command": ["python3", "{project}/tells.py"],
        "answer": answer,
        "max_usd": 0.01,
        "sandbox": "none",
        "pass_env": ["SOME_TOKEN"],
    }
    forms = {"teller": agent, "mine": agents()["mine"]}
    project = project_of(tmp_path, spec_of(forms), SOME_TOKEN=token)
    (tmp_path / "tells.py").write_text(SPELLS)
    project.matrix("run", "--executor", "in-process", "--quiet", "--run-id", "it")
    reader = JournalReader(project.path("it") / JOURNAL_NAME)
    said = repr([row.entry for row in reader.rows(0, reader.last_seq())])
    reader.close()
    assert "[redacted]" in said
    for part in ("r0ub4dor", "horse", "pässw", "ssword", "älle", "ted-word"):
        assert part not in said


WRITES = """
import base64, os, pathlib, sys
prompt, token = sys.stdin.read(), os.environ["SOME_TOKEN"]
kept = pathlib.Path("kept")
found = kept.read_text() if kept.exists() else ""
kept.write_text(token)
kept.chmod(0o440)
os.utime(kept, (3000, 3000))
pathlib.Path("deep/er").mkdir(parents=True, exist_ok=True)
pathlib.Path("deep/er/header").write_bytes(
    b"\\0Authorization: Basic " + base64.b64encode(b"me:" + token.encode()) + b"\\xff")
pathlib.Path("plain").write_text("nothing to hide")
pathlib.Path("empty").touch()
print("7", found)
"""


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("form", ["held", "metered"])
def test_a_token_that_an_agent_writes_into_its_files_is_in_no_file_that_is_kept(
    tmp_path: Path, form: str
) -> None:
    money = {"meter": "sim/haiku", "expected_usd": 0.01} if form == "metered" else {"max_usd": 0.1}
    agent = {
        "command": ["python3", "{project}/writes.py"],
        "sandbox": "none",
        "pass_env": ["SOME_TOKEN"],
        **money,
    }
    spec = spec_of({"writer": agent, "mine": agents()["mine"]})
    project = project_of(tmp_path, spec, SOME_TOKEN=CANARY)
    (tmp_path / "writes.py").write_text(WRITES)
    done = project.matrix("run", "--executor", "in-process", "--quiet", "--run-id", "it")
    assert done.code == 0, done.err
    run_dir = project.path("it")
    sessions = project.tables("it").frame("sessions").set_index("counter")
    assert (sessions.loc["writer"].outcome == "completed").all()
    blobs = BlobStore(run_dir)
    kept = {tree for tree in trees(run_dir).values() if tree}
    contents = [blobs.read(digest) for digest in blobs_of(blobs, *kept)]
    assert b"[redacted]" in contents  # what it had written, and the header beside it
    assert b"nothing to hide" in contents
    assert any(one.startswith(b"\0Authorization: Basic bW") for one in contents)
    for one in contents:
        assert CANARY.encode() not in one
        assert b64encode(b"me:" + CANARY.encode())[8:-4] not in one
    modes = {
        (entry.mode, entry.mtime_ns)
        for tree in kept
        for root in decode_tree(blobs, tree)
        for entry in decode_tree(blobs, root.ref)
        if entry.name == "kept"
    }
    assert modes == {(0o440, 3000 * 10**9)}


@pytest.mark.long
@pytest.mark.slow
def test_a_rotated_token_changes_nothing_on_resume(tmp_path: Path) -> None:
    agent = {
        "command": ["sh", "-c", 'cat > /dev/null; test -n "$SOME_TOKEN" && echo 7'],
        "max_usd": 0.01,
        "sandbox": "none",
        "pass_env": ["SOME_TOKEN"],
    }
    spec = spec_of({"one": agent, "mine": agents()["mine"]}, limits={"cost_usd": 0.12}, per_cell=5)
    first = project_of(tmp_path, spec | {"at_cap": "spend-all"}, SOME_TOKEN=CANARY)
    assert first.matrix("run", "--executor", "in-process", "--quiet", "--run-id", "it").code == 4
    second = project_of(tmp_path, spec, SOME_TOKEN=CANARY[::-1])
    done = second.matrix("resume", "it", "--max-cost", "9", "--executor", "in-process", "--quiet")
    assert done.code == 0, done.err
    assert set(second.tables("it").frame("sessions").outcome) == {"completed"}
