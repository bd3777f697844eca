"""Whatever strangers send ends in a result or in one line, and nothing outside is written.

A few examples of each, always the same, are played in ``make test``; ten minutes of others in
``make long``. What is handed in is a document that works with a few places made other, because what
is wholly random is refused at the first key.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from matrix import api
from matrix.judging.rubric_file import read_rubric
from matrix.model.errors import MatrixError
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader
from matrix.store.reading.reader import RunTables
from matrix.store.tables.tables import TABLES
from tests.executors.programs import Project, counter_spec, play_spec
from tests.kinds.trajectory import folders
from tests.strangers.mutations import mutated, torn

FEW = settings(
    max_examples=25,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
MANY = settings(
    max_examples=600, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
)
EXAMPLES = [pytest.param(FEW, id="few"), pytest.param(MANY, id="many", marks=pytest.mark.long)]


@contextmanager
def one_line(home: Path) -> Iterator[None]:
    """What is raised is ours and is told in lines; nothing beside the project's folder is other."""
    before = {path: path.read_bytes() for path in home.iterdir() if path.is_file()}
    told = ["it"]
    try:
        yield
    except MatrixError as error:
        told = str(error).splitlines()
    assert told
    after = {path: path.read_bytes() for path in home.iterdir() if path.is_file()}
    assert after == before
    assert not list(home.rglob("ran"))


def play(how: settings, strategy: st.SearchStrategy[Any], look: Callable[[Any], None]) -> None:
    how(given(strategy)(look))()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a secret, and a project in it that one stands in."""
    (tmp_path / "secret").write_text("qq7")
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "there")
    return tmp_path


SPECS: list[dict[str, Any]] = [
    counter_spec(
        judges=[{"rubric": "file://ends.md", "model": "sim/haiku"}],
        agents={"it": {"command": ["sh"], "sandbox": "none", "free": True}},
        models={"m": {"target": "openai/gpt-4o", "api_base": "http://127.0.0.1:9"}},
        groups={"g": {"rpm": 10}},
        params={"counter": {"temperature": 0.5}},
    ),
    play_spec(simulation={"faults": {"rate_429": 0.1}}, stop={"futility": False}),
]


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("how", EXAMPLES)
@pytest.mark.parametrize("number", range(len(SPECS)))
def test_specs(home: Path, how: settings, number: int) -> None:
    (home / "there" / "ends.md").write_text("---\nanswer: verdict\n---\nDoes it count?\n")

    def look(spec: Any) -> None:
        (home / "there" / "matrix.yaml").write_text(json.dumps(spec))
        with one_line(home):
            api.plan("matrix.yaml")

    play(how, mutated(SPECS[number]), look)


@pytest.mark.slow
@pytest.mark.parametrize("how", EXAMPLES)
def test_bytes_of_specs(home: Path, how: settings) -> None:
    def look(content: bytes) -> None:
        (home / "there" / "matrix.yaml").write_bytes(content)
        with one_line(home):
            api.plan("matrix.yaml")

    play(how, torn(yaml.safe_dump(SPECS[1]).encode()), look)


SHIPPED = Path(api.__file__).parents[2] / "scenarios"
PACK = SHIPPED / "playtest" / "house-too-many"


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("how", EXAMPLES)
@pytest.mark.parametrize("part", ["scenario.yaml", "archetype"])
def test_packs(home: Path, how: settings, part: str) -> None:
    own = home / "there" / "scenarios" / "playtest" / "mine"
    shutil.copytree(PACK, own)
    archetype = home / "there" / "archetypes" / "curious.yaml"
    shutil.copytree(SHIPPED.parent / "archetypes", archetype.parent)
    path = own / "scenario.yaml" if part == "scenario.yaml" else archetype
    document = yaml.safe_load(path.read_text())
    Project(home / "there").write(play_spec(scenarios=["mine"], factors={}))

    def look(changed: Any) -> None:
        path.write_text(json.dumps(changed))
        with one_line(home):
            api.validate("matrix.yaml")
            api.plan("matrix.yaml")

    play(how, mutated(document), look)


FILES: dict[str, dict[str, Any]] = {
    "agents.yaml": {
        "version": 1,
        "inputs": [{"id": "a", "category": "even", "text": "one"}, "file://ends.md"],
        "judge": {"model": "sim/haiku", "temperature": 0},
        "roles": {"agent": "sim/gpt-4o-mini"},
        "agents": {
            "first": {"prompt": "do it", "criteria": ["it is there"], "fail_threshold": 1},
            "next": {
                "prompt": "file://ends.md",
                "reads": ["first"],
                "when": {"agent": "first", "says": "HIGH"},
                "criteria": ["it is there"],
                "fixture": "made/{input}.md",
            },
        },
    },
    "selftest.yaml": {
        "version": 1,
        "generator": {"model": "sim/opus", "temperature": 0.2, "max_tokens": 200},
        "judge": {"model": "sim/opus", "strictness": "medium"},
        "run": {"timeout_seconds": 60},
        "scenarios": [
            {"id": "s", "description": "d", "expected_status": "COMPLETE"},
            {"id": "r", "description": "d", "expected_status": "COMPLETE", "requires_reply": True},
        ],
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("how", EXAMPLES)
@pytest.mark.parametrize("name", list(FILES))
def test_files_of_other_forms(home: Path, how: settings, name: str) -> None:
    (home / "there" / "ends.md").write_text("Does it count?\n")

    def look(changed: Any) -> None:
        (home / "there" / name).write_text(json.dumps(changed))
        with one_line(home):
            api.plan(name)

    play(how, mutated(FILES[name]), look)


EXPECTED = {
    "scenario": "01",
    "description": "d",
    "pass_threshold": {"structural": 1.0, "content": 0.8},
    "turns": [
        {
            "turn": 1,
            "input": "turn-01-a.md",
            "date": "2026-03-02",
            "structural": [{"file_exists": "a.md OR b/*.md"}, {"hypothesis_count_at_least": 1}],
            "content": [
                {
                    "judge": "x",
                    "rubric": "judges/says.md",
                    "target_glob": "a/*.md",
                    "model": "opus",
                }
            ],
        },
        {"turn": 2, "command": "/review"},
    ],
    "final_state": {"structural": ["no_orphan_evidence", {"file_contains_any": "a.md ; b"}]},
}


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("how", EXAMPLES)
@pytest.mark.parametrize("part", ["expected.yaml", "trajectory.yaml"])
def test_trajectories(home: Path, how: settings, part: str) -> None:
    there = home / "there"
    folders.project(there)
    folders.scenario(there, "01", {"turn-01-a.md": "x", "turn-03-b.md": "y"}, EXPECTED)
    adapter = {**folders.ADAPTER, "layout": {"demoted": ["demoted"]}, "prompts": {"command": "x"}}
    (there / "trajectory.yaml").write_text(json.dumps(adapter))
    path = there / ("scenarios/01/expected.yaml" if part == "expected.yaml" else part)

    def look(changed: Any) -> None:
        path.write_text(json.dumps(changed))
        with one_line(home):
            api.plan("scenarios/01")

    play(how, mutated(EXPECTED if part == "expected.yaml" else adapter), look)


RUBRIC = """---
answer: scores
scale: [0, 10]
criteria:
  tone: "Is it kind?"
  length: {question: "Is it short?", weight: 2}
---
Read it.
"""


@pytest.mark.parametrize("how", EXAMPLES)
def test_rubrics(home: Path, how: settings) -> None:
    def look(content: bytes) -> None:
        (home / "there" / "r.md").write_bytes(content)
        with one_line(home):
            assert read_rubric(home / "there" / "r.md").form.system

    play(how, torn(RUBRIC.encode()), look)


# --- what runs leave ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a play-test, and its best session as a file."""
    project = Project(tmp_path_factory.mktemp("played"))
    project.write(play_spec(per_cell=1))
    done = project.matrix("run", "--executor", "in-process", "--run-id", "it")
    assert done.code == 0, done.err
    assert project.matrix("export", "it", "best", "-o", "best.json").code == 0
    return project.folder


@pytest.mark.slow
@pytest.mark.parametrize("how", EXAMPLES)
def test_exported_sessions(home: Path, played: Path, how: settings) -> None:
    document = json.loads((played / "best.json").read_text())

    def look(changed: Any) -> None:
        (home / "there" / "best.json").write_text(json.dumps(changed))
        with one_line(home):
            api.plan_replay_checkpoint("best.json", max_cost=1.0)

    play(how, mutated(document), look)


def look_at(run: str) -> None:
    """What commands read of a run."""
    for listed in api.list_runs("results"):
        assert listed.run is not None or listed.problem
    opened = api.open_run(run)
    opened.summary()
    for name in TABLES:
        RunTables(opened.path).table(str(name))
    api.compare(run)
    api.diff("best", "worst", run=run)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("how", EXAMPLES)
@pytest.mark.parametrize("name", ["run.json", "plan.json"])
def test_descriptions_of_runs(home: Path, played: Path, how: settings, name: str) -> None:
    shutil.copytree(played / "results", home / "there" / "results")
    path = home / "there" / "results" / "it" / name
    document = json.loads(path.read_text())

    def look(changed: Any) -> None:
        path.write_text(json.dumps(changed))
        with one_line(home):
            look_at("it")
        with one_line(home):
            api.plan_replay("it", "best", turn=1, max_cost=1.0)

    play(how, mutated(document), look)


CELLS: list[Any] = [
    None, 0, -1, 2**62, 2**63 - 1, 1e308, "", "x", "\x1b[31m", b"", b"\0" * 20, "9" * 400, "[",
]  # fmt: skip


KEYS = {"meta": "key", "sessions": "id", "entries": "seq", "resources": "hash"}


@pytest.mark.slow
@pytest.mark.parametrize("how", EXAMPLES)
def test_journals(home: Path, played: Path, how: settings) -> None:
    shutil.copytree(played / "results", home / "there" / "results")
    path = home / "there" / "results" / "it" / JOURNAL_NAME
    whole = path.read_bytes()
    columns = [
        (table, column)
        for table, names in {
            "meta": ["key", "value"],
            "sessions": ["id", "session_id"],
            "entries": ["seq", "kind", "session", "body"],
            "resources": ["hash", "body"],
        }.items()
        for column in names
    ]

    def look(change: tuple[tuple[str, str], int, Any]) -> None:
        (table, column), row, value = change
        path.write_bytes(whole)
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA ignore_check_constraints = 1")
            key = KEYS[table]
            rows = [one for (one,) in db.execute(f"SELECT {key} FROM {table}")]
            try:
                place = (value, rows[row % len(rows)])
                db.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", place)
                db.commit()
            except (sqlite3.Error, OverflowError):
                return
        with one_line(home):
            reader = JournalReader(path)
            try:
                list(reader.since(0))
                reader.resources()
            finally:
                reader.close()
        with one_line(home):
            api.plan_replay("it", "best", turn=1, max_cost=1.0)
        with one_line(home):
            api.repair("it")

    changes = st.tuples(st.sampled_from(columns), st.integers(0, 10**6), st.sampled_from(CELLS))
    play(how, changes, look)


@st.composite
def odd_column(draw: st.DrawFn) -> Any:
    return draw(
        st.sampled_from(
            [
                lambda rows: pa.nulls(rows),
                lambda rows: pa.array(["x"] * rows),
                lambda rows: pa.array([""] * rows),
                lambda rows: pa.array([-1] * rows),
                lambda rows: pa.array([2**62] * rows),
                lambda rows: pa.array([1e308] * rows),
                lambda rows: pa.array([float("nan")] * rows),
                lambda rows: pa.array([float("-inf")] * rows),
                lambda rows: pa.array([b"\xff"] * rows),
                lambda rows: pa.array([{"a": [1]}] * rows),
                lambda rows: pa.array([True] * rows),
                lambda rows: pa.array(["x"] * rows).dictionary_encode(),
                lambda rows: pa.array([10**15] * rows, pa.timestamp("us")),
            ]
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize("how", EXAMPLES)
def test_tables(home: Path, played: Path, how: settings) -> None:
    shutil.copytree(played / "results", home / "there" / "results")
    run_dir = home / "there" / "results" / "it"
    files = {name: next((run_dir / str(name)).iterdir()) for name in TABLES}
    whole = {name: pq.read_table(path, partitioning=None) for name, path in files.items()}

    def look(change: tuple[Any, int, Any]) -> None:
        name, column, make = change
        table = whole[name]
        at = column % table.num_columns
        changed = table.set_column(at, table.schema.names[at], make(table.num_rows))
        pq.write_table(changed, files[name])
        with one_line(home):
            look_at("it")
        pq.write_table(table, files[name])

    changes = st.tuples(st.sampled_from(list(TABLES)), st.integers(0, 100), odd_column())
    play(how, changes, look)


# --- what models answer -------------------------------------------------------------------------

PIECES = [
    "VERDICT:", "PASS", "FAIL", "UNCERTAIN", "{", "}", "[", "]", '"', ":", ",", "\n", " ",
    "```", "```json\n", '"score"', '"criteria"', "tone",
    "length", "5", "1e999", "NaN", "-1", "**", "# ", "> ",
    "\x1b[31m", "\u202e", "\0", "A" * 2000, "[ASIDE", "(" * 200, "A or B", "true", "null",
]  # fmt: skip


@pytest.mark.parametrize("how", EXAMPLES)
def test_answers_of_judges(home: Path, how: settings) -> None:
    texts = [
        "---\nanswer: verdict\n---\nDoes it count?\n",
        RUBRIC,
        "---\nanswer: choice\n---\nWhich one?\n",
        "---\nanswer: criteria\ncriteria: [It is so., It is short.]\n---\nRead.\n",
    ]
    forms = []
    for text in texts:
        (home / "there" / "r.md").write_text(text)
        forms.append(read_rubric(home / "there" / "r.md").form)

    def look(pieces: list[str]) -> None:
        for form in forms:
            form.parse("".join(pieces))

    play(how, st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=40), look)
