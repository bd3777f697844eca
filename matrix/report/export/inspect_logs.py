"""A run as logs of Inspect (``.eval``), one for each variant: what ``inspect view`` opens."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Sequence
from typing import Any, Final

from matrix.model.errors import BadInput, Mistake
from matrix.model.lines import in_line
from matrix.model.seeds import content_hash
from matrix.report.export.inspect_samples import JSONObject, SampleOf
from matrix.report.export.recorded import recorded
from matrix.report.export.results_table import Results, results_of
from matrix.report.text import noted
from matrix.store.foreign.inspect_logs import RUN_FACTS
from matrix.store.reading.reader import RunTables
from matrix.store.run.run_folder import RunFile
from matrix.store.tables.tables import factor_columns

MOST_SAMPLES: Final = 20_000
"""Sessions of one log; Inspect's viewer takes seconds for a tenth of them."""
_MOST_BYTES: Final = 1_000_000_000
"""Of a log before it is packed."""
_MOST_LOGS: Final = 500
_OF_SESSION: Final = (
    "session_id", "round", "scenario", "outcome", "error_class", "cost_usd", "duration_s", "score",
    "end_reason", "started_at", "repeat",
)  # fmt: skip


def inspect_logs(tables: RunTables) -> dict[str, Callable[[], bytes]]:
    """A run's logs: name of the file -> what makes it.

    Raises:
        BadInput: There are too many of them, one would be too long, or nothing has ended.
        StoreError: A table cannot be read.
    """
    run = tables.run
    columns = factor_columns(run.plan.factors)
    found = tables.table("sessions", [*columns.values(), *_OF_SESSION])
    variants: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in found.to_pylist():
        if row["outcome"] != "censored":  # cut short, or never begun
            levels = tuple(str(row[column]) for column in columns.values())
            variants.setdefault(levels, []).append(row)
    if told := _refused(list(map(len, variants.values()))):
        raise BadInput([Mistake(run.run_id, None, "", told)])
    results = results_of(tables)
    return {
        _file_name(run, levels): _maker(
            tables, dict(zip(columns, levels, strict=True)), rows, results
        )
        for levels, rows in variants.items()
    }


def _refused(sizes: Sequence[int]) -> str:
    """Why there are no logs; empty if there are."""
    if not sizes:
        return "none of its sessions has ended yet"
    if len(sizes) > _MOST_LOGS:
        return f"has {len(sizes):,} variants, a log for each; at most {_MOST_LOGS:,}"
    if max(sizes) > MOST_SAMPLES:
        told = f"has {max(sizes):,} sessions of one variant; at most {MOST_SAMPLES:,} in a log"
        return f"{told}: `--to csv` and `--to hf` take any number"
    return ""


def _file_name(run: RunFile, levels: Sequence[str]) -> str:
    """One part of a path, of plain characters, and another one for each variant."""
    words = re.sub(r"[^A-Za-z0-9.]+", "-", "-".join(levels)).strip("-.")[:60]
    apart = f"_{words or 'all'}-{content_hash(list(levels))[:6]}" if levels else ""
    return f"{run.run_id}{apart}.eval"


def _maker(
    tables: RunTables,
    levels: dict[str, str],
    rows: Sequence[dict[str, Any]],
    results: Results,
) -> Callable[[], bytes]:
    return lambda: _Log(tables, levels, results).packed(rows)


class _Log:
    """One log while it is written."""

    def __init__(self, tables: RunTables, levels: dict[str, str], results: Results) -> None:
        run = tables.run
        self._tables, self._run, self._levels, self._results = tables, run, levels, results
        facts = {"run": run.run_id, **({"simulated": run.simulation} if run.simulation else {})}
        columns = factor_columns(run.plan.factors)
        self._samples = SampleOf(run.created_at, run.plan.metric, columns, facts, results)
        self._left = _MOST_BYTES
        self._sums: dict[str, list[float]] = {}

    def packed(self, rows: Sequence[dict[str, Any]]) -> bytes:
        """The whole file.

        Raises:
            BadInput: It would be too long.
        """
        target, summaries, models = io.BytesIO(), list[JSONObject](), dict[str, str]()
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for session in recorded(self._tables, rows):
                for call in session.calls:
                    models.setdefault(str(call["role"]), str(call["model"]))
                sample = self._samples.sample(session)
                self._write(archive, f"samples/{_entry(sample)}.json", sample)
                summaries.append(self._samples.summary(session))
                for name, score in sample["scores"].items():
                    self._sums.setdefault(name, []).append(score["value"])
            header = self._header(summaries, models)
            start = {"version": 2, "eval": header["eval"], "plan": header["plan"]}
            self._write(archive, "_journal/start.json", start)
            self._write(archive, "summaries.json", summaries)
            self._write(archive, "header.json", header)
        return target.getvalue()

    def _write(self, archive: zipfile.ZipFile, name: str, value: object) -> None:
        data = json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        self._left -= len(data)
        if self._left < 0:
            told = f"a log of it would hold more than {_MOST_BYTES:,} bytes; `--to hf` takes any"
            raise BadInput([Mistake(self._run.run_id, None, "", told)])
        # a date of its own would make another file of the same run
        archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)

    def _header(self, summaries: Sequence[JSONObject], models: dict[str, str]) -> JSONObject:
        run, told = self._run, "; ".join(f"{name}={level}" for name, level in self._levels.items())
        lost = sum(not one["completed"] for one in summaries)
        created = run.created_at.isoformat()
        identity = content_hash([run.run_id, self._levels])[:22]
        return {
            "version": 2,
            "status": "success" if run.status == "complete" else "cancelled",
            "eval": {
                "run_id": run.run_id,
                "eval_id": identity,
                "task_id": identity,
                "created": created,
                "task": run.name,
                "task_args": self._levels,
                "model": _main_model(self._levels, models) or "none",
                "model_roles": {role: {"model": model} for role, model in models.items()},
                "dataset": {
                    "name": run.kind,
                    "samples": len({one["id"] for one in summaries}),
                    "sample_ids": list(dict.fromkeys(one["id"] for one in summaries)),
                },
                "config": {"epochs": max(one["epoch"] for one in summaries)},
                "metadata": {
                    "variant": in_line(f"{told}{noted(run.simulation)}"),
                    "matrix": run.versions.matrix,
                    **self._facts(),
                },
            },
            "plan": {"name": "plan", "steps": [], "config": {}},
            "results": {
                "total_samples": len(summaries),
                "completed_samples": len(summaries) - lost,
                "scores": [_mean(name, values) for name, values in self._sums.items()],
            },
            "stats": {"started_at": created, "completed_at": created, "model_usage": {}},
        }

    def _facts(self) -> JSONObject:
        """What the run was, as its results in a table say it."""
        return {RUN_FACTS: self._results.facts.model_dump_json(exclude_defaults=True)}


def _entry(sample: JSONObject) -> str:
    """A sample's place in the archive: what a name cannot have is written as in an address."""
    name = re.sub(r"[^A-Za-z0-9._ -]", lambda found: f"%{ord(found[0]):02X}", sample["id"])
    return f"{name}_epoch_{sample['epoch']}"


def _main_model(levels: dict[str, str], models: dict[str, str]) -> str:
    """The model that the log is called by: of a role that variants differ in, else of the first."""
    varied = [models[name] for name in levels if name in models]
    return next(iter([*varied, *models.values()]), "")


def _mean(name: str, values: Sequence[float]) -> JSONObject:
    mean = {"name": "mean", "value": sum(values) / len(values)}
    return {
        "name": name,
        "scorer": name,
        "scored_samples": len(values),
        "metrics": {"mean": mean},
    }
