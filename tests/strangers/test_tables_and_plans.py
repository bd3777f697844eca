"""Tables and plans of a run that somebody has made up: one line, and nothing is begun."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from matrix.engine.governor.money_fold import money_in, money_so_far
from matrix.model.entries import Settled
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader, JournalWriter
from tests.executors.programs import Done, Project


def refused(done: Done, *told: str) -> None:
    assert done.code in (1, 2), done
    assert any(one in done.err for one in told), done
    assert "Traceback" not in done.err
    assert len(done.err.splitlines()) == 1, done.err


def with_column(name: str, value: Any) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        at = table.schema.get_field_index(name)
        rest = [type(value)(one) for one in table[name].to_pylist()[1:]]
        return table.set_column(at, name, pa.array([value, *rest]))

    return change


TABLES: dict[str, tuple[Callable[[pa.Table], pa.Table], str]] = {
    "two rows": (lambda table: pa.concat_tables([table, table]), "two rows of one session"),
    "infinite": (with_column("score", float("inf")), "it has inf as score, which nothing"),
    "huge": (with_column("score", 1e308), "it has 1e+308 as score, which nothing"),
    "an outcome": (with_column("outcome", "\x1b[31mwon"), "[31mwon' as outcome, which"),
    "a level": (with_column("step", "another"), "it has 'another' as step, which this run"),
    "a round": (with_column("round", 2**60), "it has the round 1152921504606846976"),
    "a round before": (with_column("round", -1), "it has the round -1"),
    "a type": (with_column("score", "x"), "Unable to merge: Field score has incompatible types"),
}


@pytest.mark.slow
@pytest.mark.parametrize("how", list(TABLES))
def test_a_table_that_no_run_writes_is_told(sent: Project, how: str) -> None:
    change, told = TABLES[how]
    (file,) = (sent.path("it") / "sessions").iterdir()
    table = pq.read_table(file, partitioning=None)
    pq.write_table(change(table), file)
    refused(sent.matrix("show", "it"), told)
    refused(sent.matrix("compare", "it"), told)
    assert sent.matrix("repair", "it").code == 0
    assert sent.matrix("show", "it").code == 0


@pytest.mark.parametrize("name", ["calls", "scores", "sessions"])
def test_what_is_no_number_of_money_or_scores_is_told(sent: Project, name: str) -> None:
    column, value = {
        "calls": ("cost_usd", float("nan")),
        "scores": ("value", float("inf")),
        "sessions": ("cost_usd", float("nan")),
    }[name]
    (file,) = (sent.path("it") / name).iterdir()
    table = pq.read_table(file, partitioning=None)
    at = table.schema.get_field_index(column)
    changed = pa.array([value] * table.num_rows, table.schema.field(at).type)
    pq.write_table(table.set_column(at, table.schema.field(at), changed), file)
    for command in (("compare", "it"), ("power", "--effect", "3", "--from", "it")):
        done = sent.matrix(*command)
        assert "Traceback" not in done.err
        assert "Warning" not in done.err
        assert done.code == 0 or f"it has {value:g} as {column}, which nothing" in done.err, done
    if name == "sessions":
        refused(sent.matrix("compare", "it"), "it has nan as cost_usd, which nothing")


PLANS: list[tuple[str, Any]] = [
    ("spec", None), ("cells", None), ("cells", []), ("cells", [{}]), ("sessions", 10**18),
    ("sessions", -5), ("sessions", "many"), ("models", []), ("models", {"a": []}),
    ("models", {"a": [1, 2, 3, 4]}), ("groups", {"a": "b"}), ("cell_costs", []),
    ("cell_costs", [{"counter": [1, 2]}]), ("prelude", {"a": [-1, 0, 0]}), ("factors", {}),
    ("factors", []), ("kind", "\x1b[31mnone"), ("time", "soon"), ("continued", [1, 2]),
    ("preludes_per_round", -1), ("compare_factor", 7), ("stand_ins", []), ("env_file", 3),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value"), PLANS)
def test_a_plan_that_cannot_be_is_one_line(sent: Project, key: str, value: Any) -> None:
    path = sent.path("it") / "plan.json"
    plan = json.loads(path.read_text())
    if value is None:
        del plan[key]
    else:
        plan[key] = value
    path.write_text(json.dumps(plan))
    done = sent.matrix(
        "resume", "it", "--per-cell", "3", "--executor", "in-process", "--max-cost", "1"
    )
    refused(done, "plan.json cannot be read (", "known: counter")
    assert "\x1b" not in done.err


CELLS: list[Callable[[dict[str, Any]], object]] = [
    lambda cell: cell.update(roles={}),
    lambda cell: cell.update(kind="playtest"),
    lambda cell: cell.update(levels={}),
    lambda cell: cell["levels"].update(step="unheard-of"),
    lambda cell: cell.update(resources={"scenario": "0" * 64}),
    lambda cell: cell.update(resources=3),
]


@pytest.mark.parametrize("number", range(len(CELLS)))
def test_a_cell_that_is_none_of_the_plan_is_one_line(sent: Project, number: int) -> None:
    path = sent.path("it") / "plan.json"
    plan = json.loads(path.read_text())
    CELLS[number](plan["cells"][0])
    path.write_text(json.dumps(plan))
    done = sent.matrix(
        "resume", "it", "--per-cell", "3", "--executor", "in-process", "--max-cost", "1"
    )
    refused(done, "plan.json cannot be read (")


def test_two_cells_that_are_the_same_are_one_line(sent: Project) -> None:
    path = sent.path("it") / "plan.json"
    plan = json.loads(path.read_text())
    for key in ("cells", "cell_costs"):
        plan[key] = [plan[key][0], *plan[key]]
    path.write_text(json.dumps(plan))
    done = sent.matrix(
        "resume", "it", "--per-cell", "3", "--executor", "in-process", "--max-cost", "1"
    )
    refused(done, "two cells are the same")


def settled_of(project: Project) -> Settled:
    with closing(JournalReader(project.path("it") / JOURNAL_NAME)) as reader:
        return next(row.entry for row in reader.since(0) if isinstance(row.entry, Settled))


@pytest.mark.parametrize("field", ["cost", "overrun", "saved"])
def test_a_journal_that_gives_money_back_is_not_gone_on_with(sent: Project, field: str) -> None:
    more: dict[str, Any] = {field: -(10**12), "hold_id": 10**6}
    journal = JournalWriter(sent.path("it") / JOURNAL_NAME)
    journal.append([settled_of(sent)._replace(**more)])
    journal.close()
    path = sent.path("it") / "run.json"
    said = json.loads(path.read_text())
    path.write_text(json.dumps({**said, "status": "incomplete", "end_reason": "died"}))
    done = sent.matrix("resume", "it", "--executor", "in-process", "--max-cost", "0.5")
    assert done.code == 1, done
    assert "nano-dollars, which no call can cost" in done.err
    assert "Traceback" not in done.err
    shown = sent.matrix("show", "it")
    assert "Traceback" not in shown.err


@pytest.mark.parametrize(
    ("section", "value"),
    [
        ("agents", True),
        ("agents", {"mine": 1}),
        ("judges", True),
        ("judges", [{}]),
        ("options", [1]),
        ("factors", "x"),
        ("scenarios", 7),
        ("limits", "x" * 100_000),
    ],
)
def test_a_section_of_a_spec_that_is_none_is_one_line(
    sent: Project, section: str, value: Any
) -> None:
    path = sent.path("it") / "run.json"
    said = json.loads(path.read_text())
    path.write_text(json.dumps({**said, "spec": {**said["spec"], section: value}}))
    for command in ("show", "compare", "report"):
        done = sent.matrix(command, "it")
        assert done.code != 0, done
        assert "Traceback" not in done.err
        assert f"{section}: found " in done.err
        assert done.err.count("\n") == 1
        assert len(done.err) < 1_000


def test_sums_that_none_can_be_are_made_again(sent: Project) -> None:
    path = sent.path("it") / JOURNAL_NAME
    before = money_in(sent.path("it")).charged
    journal = JournalWriter(path)
    money = money_so_far(journal).to_json()
    journal.keep("money", {**money, "settled_by_role": {"counter": -(10**12)}})
    journal.close()
    assert money_in(sent.path("it")).charged == before


@pytest.mark.slow
def test_a_repair_that_fails_leaves_the_tables_as_they_were(sent: Project) -> None:
    rows = sent.matrix("report", "it", "--format", "csv").out
    journal = JournalWriter(sent.path("it") / JOURNAL_NAME)
    journal.append([settled_of(sent)._replace(at=1e300, hold_id=10**6)])
    journal.close()
    done = sent.matrix("repair", "it")
    assert done.code == 1, done
    assert "Traceback" not in done.err
    assert sent.matrix("report", "it", "--format", "csv").out == rows
    assert not list(sent.path("it").glob(".before-repair-*"))
