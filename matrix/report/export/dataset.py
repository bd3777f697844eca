"""A run as a data set: its tables, and a card by which the library of Hugging Face loads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import yaml

from matrix.model.errors import BadInput, Mistake, StoreError
from matrix.model.files import read_plain
from matrix.model.lines import harmless, in_line
from matrix.report.run.report_file import escaped
from matrix.report.run.summary import Summary
from matrix.report.run.summary_text import head_line, verdict_line
from matrix.store.reading.reader import RunTables
from matrix.store.run.made_here import NOT_MADE_HERE, is_made_here
from matrix.store.run.run_folder import RunFile
from matrix.store.tables.tables import TABLES, columns_of

CARD: Final = "README.md"
_MOST_BYTES: Final = 8_000_000_000
"""Of one file of a table."""
_FIRST: Final = "sessions"


def dataset(tables: RunTables, summary: Summary) -> dict[str, Callable[[], bytes]]:
    """The files of a data set: name below its folder -> what makes it.

    Tables without rows are left out, because ``load_dataset`` fails on them.

    Raises:
        BadInput: None of the run's sessions has ended.
        StoreError: A table is missing.
    """
    files = {
        name: tables.files(name) for name in (_FIRST, *(one for one in TABLES if one != _FIRST))
    }
    files = {name: own for name, own in files.items() if own}
    if _FIRST not in files:
        raise BadInput(
            [Mistake(summary.run.run_id, None, "", "none of its sessions has ended yet")]
        )
    parts = {
        name: {f"{name}/{number:05}.parquet": path for number, path in enumerate(own)}
        for name, own in files.items()
    }
    card = card_of(summary, {name: list(own) for name, own in parts.items()})
    copies = {
        inside: partial(_copied, path) for own in parts.values() for inside, path in own.items()
    }
    return {**copies, CARD: card.encode}


def _copied(path: Path) -> bytes:
    try:
        return read_plain(path, _MOST_BYTES)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from None


def card_of(summary: Summary, files: Mapping[str, list[str]]) -> str:
    """The card: what loads the tables, what the run was and came to, and what the columns mean."""
    run = summary.run
    head: dict[str, Any] = {
        "pretty_name": harmless(run.run_id),
        "tags": ["llm-evaluation", *(["simulated"] if run.simulated else [])],
        "configs": [
            {
                "config_name": name,
                "data_files": own,
                **({"default": True} if name == _FIRST else {}),
            }
            for name, own in files.items()
        ],
    }
    front = yaml.safe_dump(head, sort_keys=False, allow_unicode=True, width=1_000)
    return f"---\n{front}---\n\n" + "\n".join(_body(summary, files)) + "\n"


def _body(summary: Summary, files: Mapping[str, list[str]]) -> list[str]:
    run = summary.run
    lines = [f"# {escaped(head_line(summary))}", ""]
    if run.simulated:
        told = "Simulated models played in it: its numbers say nothing about real ones."
        lines += [f"**{escaped(run.simulation or 'simulated')}.** {told}", ""]
    if not is_made_here(summary.run_dir, run):
        lines += [f"Received: {escaped(NOT_MADE_HERE)}", ""]
    lines += [f"**Verdict:** {escaped(verdict_line(summary))}", "", *_facts(run), ""]
    lines += ["```python", "from datasets import load_dataset", ""]
    lines += [f'sessions = load_dataset("THIS FOLDER", "{_FIRST}", split="train")', "```", ""]
    lines += ["Tables join on `session_id`. What is absent is null; money is in US dollars.", ""]
    for name in files:
        table = next(one for one in TABLES.values() if one.name == name)
        lines += [f"## {name}", "", table.description, "", "| column | description |", "|---|---|"]
        for column in columns_of(table, run.plan.factors):
            told = escaped(column.description).replace("\\`", "`")
            lines.append(f"| `{_code(column.name)}` | {told} |")
        lines.append("")
    return lines


def _facts(run: RunFile) -> list[str]:
    """What was run, a line each."""
    factors = "; ".join(f"{name}: {', '.join(levels)}" for name, levels in run.plan.factors.items())
    told = {
        "kind": run.kind,
        "scenarios": ", ".join(run.plan.scenarios),
        "factors": factors,
        "compared": run.plan.compared or "",
        "metric": run.plan.metric,
        "sessions": f"{run.plan.sessions:,} planned in {run.plan.rounds:,} rounds",
        "made by": f"matrix {run.versions.matrix}, {run.created_at:%Y-%m-%d}",
    }
    return [f"- {name}: {escaped(text[:2_000])}" for name, text in told.items() if text]


def _code(name: str) -> str:
    """A name between backticks in a cell of a table."""
    return in_line(name).replace("`", "'").replace("|", "\\|")
