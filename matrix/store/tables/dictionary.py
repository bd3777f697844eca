"""The data dictionary: ``results/README.md``, rendered from the declarations of the tables.

``python -m matrix.store.tables.dictionary > results/README.md`` writes it; a test compares the two.
"""

from __future__ import annotations

import sys
from typing import Final

from matrix.store.run.schema import SCHEMA_VERSION, Column, Table, TableName
from matrix.store.tables.tables import TABLES

_TYPES: Final = {
    "text": "string",
    "id": "string",
    "integer": "int64",
    "number": "float64",
    "flag": "bool",
    "time": "timestamp, UTC",
}

_ORDER: Final[tuple[TableName, ...]] = (
    "sessions",
    "turns",
    "messages",
    "calls",
    "scores",
    "events",
    "players",
    "effects",
)

_HEAD: Final = """\
# Results

Runs land here, one folder each. Git ignores them, and keeps this page.

```
results/<run id>/
  run.json          what was run: spec, versions, prices, plan, status, totals
  journal.sqlite    the truth; everything else can be made again from it
  sessions/ turns/ messages/ calls/ scores/ events/ effects/ players/    Parquet tables
  report.md         what `matrix show` and the comparison say, written at the end of every life
  report.html       the same and all that it rests on as one page, for a browser
  reports/          reports of sessions, in runs of 20 or fewer; else on demand
```

A table is a folder of Parquet files with the same columns; read the folder. That works while the
run goes on: files appear whole or not at all, and a session's own row appears after everything
else about it. When the run ends, each table becomes one sorted file, and planned sessions that did
not end get a row too (`censored`), so that `sessions` has one row per planned session.

## Rules

- Tables join on `session_id`. `run_id` is in every table, so that runs can be read together.
- What is absent is null, never an empty string.
- Money is in US dollars (`_usd`), and exactly in nano-dollars (`_nano`, 1e-9 USD). The cost of a
  run is the sum of `calls.cost_nano` and `calls.overrun_nano`; `sessions` leaves out preludes,
  and attempts whose answer never came (a timeout, a process that was killed): a variant costs what
  its answers did.
- Times are in seconds (`_s`); points in time are UTC.
- A *prelude* is what models write once per round and scenario, shared by every variant. It has no
  row in `sessions`; its calls, turns and messages are under its own id (`sessions.prelude_id`).
- With `--baseline latest` or `--finish-last`, `.NAME.lock` beside the runs is the lock of the runs
  of that name ([docs/nightly.md](../docs/nightly.md)).
- With `--cache`, answers are kept in `answers.sqlite` beside the runs, which may be deleted. Calls
  answered from it have the disposition `cached`: they cost nothing, and their tokens are those that
  were paid for when they were bought.
- What people said of sessions (`matrix label`) is in `labels.jsonl` beside the runs: one line for
  each label or change of one, with what the judge gave. No run can do that work again: keep it.
- `simulated` says that a simulated model plays at least one role of the session, whatever plays the
  others: such numbers say nothing about real models. Which roles, and which of their levels, is in
  `run.json` (`stand_ins`; `mixed` says that real models play beside them).
- A turn that was played again replaces the earlier one in every table but `calls`: what was paid
  stays.
- *Deterministic* columns are the same in every run of the same spec on simulated models whose cap
  does not bind, whatever was killed on the way; in `calls`, this holds for the rows with
  `answered`. *Volatile* columns depend on when and where the run happened.
- Where a judge scored each transcript several times (`judge_repeats`), a score that it has part in
  is the mean over the repeats that could be read, null if none could, and `scores` has every
  repeat by itself as well: `judge.<n>` is the session's score by repeat n alone,
  `judge.<n>.<name>` what that repeat gave for the score `<name>`, such as
  `judge.2.quality_pacing`. A repeat that could not be read has a null value and the reason.
  `matrix.store.reading.judgings.judge_repeats` reads them as an array [sessions, repeats]: what
  differs within a row is the judge's own noise.
- The schema only grows: columns are added, never renamed. Its version ({version}), the run id, and
  the hashes of spec and prices are in every file's footer (`matrix.schema_version` ...).

## Examples

pandas:

```python
import pandas as pd

sessions = pd.read_parquet("results/<run id>/sessions")
print(sessions.groupby(["scenario", "outcome"])["score"].describe())
```

DuckDB, here the cost of every role and model, preludes included:

```python
import duckdb

print(duckdb.sql(\"\"\"
    SELECT role, model, count(*) AS attempts, sum(cost_nano + overrun_nano) / 1e9 AS usd
    FROM read_parquet('results/<run id>/calls/*.parquet')
    GROUP BY ALL ORDER BY usd DESC
\"\"\"))
```

polars, here what was said in the longest session:

```python
import polars as pl

sessions = pl.read_parquet("results/<run id>/sessions/*.parquet")
longest = sessions.sort("turns", "session_id", descending=True)["session_id"][0]
said = pl.scan_parquet("results/<run id>/messages/*.parquet").filter(session_id=longest)
print(said.sort("position").select("turn", "speaker", "text").collect())
```

`matrix.open_run("results/<run id>")` gives the same tables, and the comparison, as objects.

## Tables
"""

_FACTORS: Final = (
    "| *one per factor* | string | deterministic | Level of the factor; the column has its name, "
    "or `factor_<name>` if that is taken. |"
)


def render_dictionary() -> str:
    """The whole page as markdown."""
    head = _HEAD.replace("{version}", str(SCHEMA_VERSION))
    return head + "".join(_render_table(TABLES[name]) for name in _ORDER)


def _render_table(table: Table) -> str:
    rows = []
    for column in table.columns:
        rows.append(_render_column(column))
        if table.name == "sessions" and column.name == "kind":
            rows.append(_FACTORS)
    return (
        f"\n### {table.name}\n\n{table.description} Sorted by {_and(table.sort)}.\n\n"
        "| column | type | mark | description |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def _render_column(column: Column) -> str:
    type_ = _TYPES[column.type] + (" or null" if column.optional else "")
    return f"| `{column.name}` | {type_} | {column.mark} | {column.description} |"


def _and(names: tuple[str, ...]) -> str:
    return " and ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    sys.stdout.write(render_dictionary())
