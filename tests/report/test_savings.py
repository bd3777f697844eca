"""What caches saved: as many dollars as prices say, told in the summary, or nothing at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.admission.tariffs import Rates, Tariff, Tier
from matrix.engine.prepare.plan_file import read_tariffs
from matrix.model.entries import Entry, Opened, Settled
from matrix.model.money import from_usd
from matrix.model.records import Answer, CallKey, Usage
from matrix.report.run.savings import (
    CALL_COLUMNS,
    PromptCacheUse,
    call_sums,
    prompt_cache_use,
    saved_by_prompt_cache,
)
from matrix.report.run.summary import Summary, summarize_run
from matrix.report.run.summary_data import summary_as_data
from matrix.report.run.summary_text import summary_as_text
from matrix.store.journal.journal import JOURNAL_NAME, JournalWriter
from matrix.store.run.made_here import PLAN_NAME
from matrix.store.run.run_folder import read_run
from matrix.store.tables.publisher import Publisher
from tests.report.synthetic import Row, make_run, plan_of

ROW = Row({"prompt": "plain"})
OPUS = Tariff.from_usd_per_mtok(5, 25, cached_usd=0.5, cache_write_usd=6.25)
MODEL = "opus-4.5"


def settled(number: int, usage: Usage, saved: int | None = None, cost: int | None = None) -> Entry:
    """A call that was sent and paid, or one that was answered from the response cache."""
    key = CallKey(ROW.session_id, "turn", 1, str(number))
    paid = OPUS.cost(usage) if cost is None else cost
    return Settled(
        number, key, 1, "narrator", MODEL, "digest", 0 if saved else 2 * paid,
        "settled" if saved is None else "cached", 0 if saved else paid, usage, 0.0, 1.0, "",
        Answer("yes", usage, 0 if saved else paid, 1.0, MODEL), 2.0, saved or 0,
    )  # fmt: skip


def summed_up(path: Path, entries: list[Entry], *, priced: bool = True) -> Summary:
    """The summary of a run whose journal holds these entries."""
    make_run(path, [], {"prompt": ("plain", "warm")}, rounds=1)
    if priced:
        plan = {"models": {MODEL: ["litellm", "anthropic/opus", OPUS.to_json(), "anthropic"]}}
        (path / PLAN_NAME).write_bytes(orjson.dumps(plan))
    journal = JournalWriter(path / JOURNAL_NAME)
    journal.append([Opened(plan_of(ROW), 1.0), *entries])
    journal.close()
    with Publisher(path, read_run(path).info) as publisher:
        publisher.rebuild()
    return summarize_run(path, read_run(path))


def test_hits_and_the_money_they_saved_are_in_the_summary(tmp_path: Path) -> None:
    cost = from_usd("1.04")
    entries = [
        settled(1, Usage(1_000, 100), saved=cost),
        settled(2, Usage(1_000, 100), saved=2 * cost),
        settled(3, Usage(1_000, 100)),
    ]
    summary = summed_up(tmp_path / "run", entries)
    assert summary.cache == (2, 3, 3 * cost)
    assert summary.spent_nano == OPUS.cost(Usage(1_000, 100)), "hits cost nothing"
    text = summary_as_text(summary)
    assert "  cache     2 of 3 calls answered by what was bought before, saved $3.12\n" in text
    assert summary_as_data(summary)["cache"] == {"calls": 2, "saved_usd": 3.12}


def test_what_the_providers_cache_saved_is_net_of_what_writing_cost(tmp_path: Path) -> None:
    entries = [
        settled(1, Usage(1_000_000, 0, cache_write=1_000_000)),
        settled(2, Usage(1_000_000, 0, cached=1_000_000)),
        settled(3, Usage(2_000_000, 0), saved=1),
    ]
    summary = summed_up(tmp_path / "run", entries)
    saved = from_usd("4.5") - from_usd("1.25")
    assert summary.prompt_cache == (1_000_000, 2_000_000, saved), "only what was sent counts"
    assert "  prompt cache  50 % of input tokens, saved $3.25\n" in summary_as_text(summary)


def test_a_cache_that_only_cost_says_so(tmp_path: Path) -> None:
    entries = [settled(1, Usage(1_000_000, 0, cache_write=1_000_000))]
    text = summary_as_text(summed_up(tmp_path / "run", entries))
    assert "  prompt cache  0 % of input tokens, cost more than none would have by $1.25\n" in text


def test_without_caches_nothing_is_said_of_them(tmp_path: Path) -> None:
    summary = summed_up(tmp_path / "run", [settled(1, Usage(1_000, 100))])
    assert " cache " not in summary_as_text(summary)
    assert summary.prompt_cache == (0, 1_000, 0)


def test_without_a_price_no_saving_is_made_up(tmp_path: Path) -> None:
    entries = [settled(1, Usage(1_000, 100, cached=500))]
    summary = summed_up(tmp_path / "run", entries, priced=False)
    assert summary.prompt_cache == (500, 1_000, None)
    assert "50 % of input tokens, at a price that is not known\n" in summary_as_text(summary)
    assert summary_as_data(summary)["prompt_cache"]["saved_usd"] is None


def test_a_folder_with_a_damaged_plan_has_no_prices(tmp_path: Path) -> None:
    (tmp_path / PLAN_NAME).write_bytes(b"[1, 2")
    assert read_tariffs(tmp_path) == {}


def test_tables_of_an_empty_run_have_no_caches() -> None:
    kinds = ("in", "out", "cached", "cache_write", "reasoning")
    calls = pd.DataFrame({name: [] for name in ("model", "disposition")} | {
        f"tokens_{kind}": pd.Series([], dtype="int64") for kind in kinds
    })  # fmt: skip
    found = prompt_cache_use(calls, {})
    assert found == PromptCacheUse(0, 0, 0)
    assert found.share == 0.0


TEXTS = ("role", "tag", "model", "disposition", "error_class")
CALLS = pa.schema(
    [
        (name, pa.string() if name in TEXTS else pa.bool_() if name == "answered" else pa.int64())
        for name in CALL_COLUMNS
    ]
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            field.name: st.sampled_from([None, "settled", "cached"])
            if field.name in TEXTS
            else (st.booleans() if field.name == "answered" else st.none() | st.integers(0, 99))
            for field in CALLS
        }
    ),
    max_size=12,
)


@pytest.mark.slow
@given(ROWS, st.integers(1, 12))
def test_sums_of_calls_do_not_depend_on_how_the_table_was_cut(
    rows: list[dict[str, Any]], size: int
) -> None:
    pieces = [pa.Table.from_pylist(rows[at : at + size], CALLS) for at in range(0, 12, size)]
    found = call_sums(pieces, {})
    sums = found.rows
    assert found.prompt_cache == call_sums([pa.Table.from_pylist(rows, CALLS)], {}).prompt_cache
    assert sum(sums["calls"]) == len(rows)
    assert sum(sums["tokens_in"]) == sum(row["tokens_in"] or 0 for row in rows)
    for row in sums.to_dict("records"):
        alike = [one for one in rows if all(_same(one[name], row[name]) for name in TEXTS)]
        alike = [one for one in alike if one["answered"] == row["answered"]]
        assert row["calls"] == len(alike)
        assert row["cost_nano"] == sum(one["cost_nano"] or 0 for one in alike)


def _same(found: str | None, summed: Any) -> bool:
    return bool(found == summed or (found is None and pd.isna(summed)))


COUNT = st.integers(0, 10**7)
RATE = st.integers(0, 10**13)


@given(COUNT, COUNT, COUNT, COUNT, RATE, RATE, RATE, st.booleans())
def test_what_was_saved_is_what_each_token_was_cheaper_by(
    plain: int,
    cached: int,
    written: int,
    out: int,
    input_: int,
    read: int,
    write: int,
    tiered: bool,
) -> None:
    rates = Rates(input_, 7, read, write, 7)
    double = Rates(*(2 * rate for rate in rates))
    tariff = Tariff(rates, (Tier(200_000, double),) if tiered else ())
    usage = Usage(plain + cached + written, out, cached, written)
    factor = 2 if tiered and usage.input >= 200_000 else 1
    exact = factor * (cached * (input_ - read) + written * (input_ - write))
    assert abs(saved_by_prompt_cache(tariff, usage) * 10**9 - exact) < 10**9
