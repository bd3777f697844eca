"""The declarations, the schemas, and the page that documents them."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.model.entries import Acted, TurnDone, session_of
from matrix.model.errors import StoreError
from matrix.model.records import CallKey
from matrix.store.run.schema import RunInfo
from matrix.store.tables.dictionary import render_dictionary
from matrix.store.tables.parquet import arrow_schema, arrow_table, write_tables
from matrix.store.tables.projection import ProjectedRows
from matrix.store.tables.publisher import Publisher
from matrix.store.tables.tables import TABLES, columns_of, factor_columns, table_named
from tests.store.journals import INFO, LONG_STORY, FastDisk, tell, write_journal

README = Path(__file__).parents[3] / "results" / "README.md"


def test_the_data_dictionary_is_current() -> None:
    assert README.read_text() == render_dictionary(), (
        "python -m matrix.store.tables.dictionary > results/README.md"
    )


def test_every_example_of_the_data_dictionary_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_journal(tmp_path, tell(LONG_STORY))
    with Publisher(tmp_path, INFO, disk=FastDisk()) as one:
        one.finalize([], "cap")
    examples = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert len(examples) == 3
    for example in examples:
        exec(example.replace("results/<run id>", str(tmp_path)), {})
        assert capsys.readouterr().out


def test_sessions_begin_with_the_promised_columns() -> None:
    names = [column.name for column in columns_of(TABLES["sessions"], ("prompt", "model"))]
    assert names[:21] == [
        "run_id", "session_id", "round", "seed", "scenario", "kind", "prompt", "model", "outcome",
        "error_class", "turns", "calls", "cost_usd", "tokens_in", "tokens_out", "duration_s",
        "score", "simulated", "parent_session_id", "parent_turn", "cost_nano",
    ]  # fmt: skip


def test_scores_have_exactly_the_promised_columns() -> None:
    names = [column.name for column in TABLES["scores"].columns]
    assert names[1:-1] == [
        "session_id", "turn", "name", "value", "label", "reason", "judge_model", "rubric_hash",
    ]  # fmt: skip


@given(factors=st.lists(st.sampled_from(["Score", "score", "factor_score", "seed", "tone", "Tone"]),
                        unique=True))  # fmt: skip
def test_factor_columns_never_collide_even_where_case_is_ignored(factors: list[str]) -> None:
    names = [column.name.casefold() for column in columns_of(TABLES["sessions"], factors)]
    assert len(set(names)) == len(names)
    assert list(factor_columns(factors)) == factors


def test_a_factor_keeps_its_name_unless_it_is_taken() -> None:
    assert factor_columns(["tone", "score"]) == {"tone": "tone", "score": "factor_score"}


@pytest.mark.parametrize("table", TABLES.values(), ids=str)
def test_every_table_says_what_it_holds(table: str) -> None:
    declared = table_named(getattr(table, "name", ""))
    names = [column.name for column in declared.columns]
    assert names[0] == "run_id"
    assert names[-1] == "seq"
    assert len(set(names)) == len(names)
    assert set(declared.sort) | set(declared.key) <= set(names)
    marks = {column.name: column.mark for column in declared.columns}
    assert all(marks[name] == "deterministic" for name in declared.key)
    assert all(column.description.endswith(".") for column in declared.columns)


def test_required_columns_are_never_null_and_rows_fit_their_columns() -> None:
    projection = ProjectedRows(INFO, lambda session_id, before: ())
    told = tell(LONG_STORY)
    key = CallKey(session_of(told[0]), "turn", 9, "0")
    ran = [1, "out", "", False, 300_000, 0]
    did = Acted(key, "command pytest", "d", ran, None, "", 0.5, 1.0, 77)
    for seq, entry in enumerate([*told, did], start=1):
        projection.add(seq, entry)
    (effect,) = projection.rows["effects"]
    assert effect[4:10] == ("command pytest", 1, 300_000, 0, True, 77)
    for name, declared in TABLES.items():
        table = arrow_table(arrow_schema(declared, INFO), "run-1", projection.rows[name])
        assert table.num_rows
        for column in columns_of(declared, INFO.factors):
            assert column.optional or table[column.name].null_count == 0, column.name


def test_every_count_of_a_turn_stands_in_its_own_column() -> None:
    told = [entry for entry in tell(LONG_STORY) if isinstance(entry, TurnDone)]
    said = [len(one.messages) for one in told]
    noticed = [len(one.events) for one in told]
    given = [len(one.scores) for one in told]
    assert len({tuple(said), tuple(noticed), tuple(given)}) == 3, "else a mix-up would not show"
    projection = ProjectedRows(INFO, lambda session_id, before: ())
    for seq, entry in enumerate(tell(LONG_STORY), start=1):
        projection.add(seq, entry)
    schema = arrow_schema(TABLES["turns"], INFO)
    table = arrow_table(schema, "run-1", projection.rows["turns"])
    assert table["messages"].to_pylist() == said
    assert table["events"].to_pylist() == noticed
    assert table["scores"].to_pylist() == given


def test_a_value_of_the_wrong_type_is_named_by_its_column() -> None:
    info = RunInfo("run", "", "", ())
    schema = arrow_schema(TABLES["players"], info)
    row = ("s", "Ada", "explorer", "sim/x", "yes", "calm", 3)
    with pytest.raises(StoreError, match="column is_spokesperson does not fit"):
        arrow_table(schema, "run", [row])


def test_row_groups_are_bounded_by_bytes_and_text_is_not_dictionary_encoded() -> None:
    info = RunInfo("run", "", "", ())
    schema = arrow_schema(TABLES["messages"], info)
    rows = [("s", n, 1, "table", "Ada", None, None, f"{n:01000d}", n) for n in range(1000)]
    parts = [arrow_table(schema, "run", rows[at : at + 70]) for at in range(0, 1000, 70)]
    sink = io.BytesIO()
    write_tables(sink, schema, TABLES["messages"], parts, row_group_bytes=100_000)
    file = pq.ParquetFile(pa.BufferReader(sink.getvalue()))
    assert file.metadata.num_rows == 1000
    groups = [file.metadata.row_group(at) for at in range(file.metadata.num_row_groups)]
    assert max(group.total_byte_size for group in groups) < 150_000
    columns = {groups[0].column(at).path_in_schema: groups[0].column(at) for at in range(9)}
    assert "RLE_DICTIONARY" in columns["speaker"].encodings
    assert "RLE_DICTIONARY" not in columns["text"].encodings
    assert columns["text"].compression == "ZSTD"


@pytest.mark.parametrize(
    "result", [None, [], ["x"], {"result": 5}, {"result": {"facts": {}}}, [None] * 9, "text"]
)
@pytest.mark.parametrize("name", ["command x", "agent x", "anything"])
def test_what_a_kind_calls_a_command_or_an_agents_turn_breaks_no_table(
    name: str, result: object
) -> None:
    projection = ProjectedRows(INFO, lambda session_id, before: ())
    projection.add(1, Acted(CallKey("s", "turn", 1, "0"), name, "d", result, None, "", 0.0, 0.0))
    table = arrow_table(arrow_schema(TABLES["effects"], INFO), "r", projection.rows["effects"])
    assert table["exit_code"].to_pylist() == [None]
