"""From a run's tables to complete rounds: one value per session, laid out by round and pair.

Only the columns that are needed are read, so that 100,000 sessions take seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from matrix.model.entries import Looked
from matrix.model.errors import BadInput, Mistake, did_you_mean
from matrix.model.metrics import SESSION_METRICS
from matrix.report.pairing import Pairing
from matrix.stats import complete_rounds
from matrix.stats.round_table import RoundTable
from matrix.store.journal import JOURNAL_NAME, JournalReader
from matrix.store.reader import RunTables
from matrix.store.run_folder import RunFile
from matrix.store.tables import factor_columns

NEEDLESS = ("decided", "dropped")
"""Why sessions were not launched that a look at the scores made needless."""


def session_values(
    tables: RunTables, run: RunFile, pairing: Pairing, factor: str, metric: str
) -> Any:
    """A frame of sessions: what they pair on, ``level``, outcome, cost, and ``value``.

    Raises:
        BadInput: The run has no such metric.
    """
    columns = factor_columns(run.plan.factors)
    extra = [name for name in pairing.strata if name != "scenario"]
    wanted = ["session_id", "round", "scenario", *columns.values(), *extra, pairing.column]
    data = _with_metric(tables, [*wanted, "outcome", "error_class", "cost_usd"], metric)
    data["level"] = data[columns[factor]].astype(str)
    return data


def _with_metric(tables: RunTables, wanted: Sequence[str], metric: str) -> Any:
    columns = list(dict.fromkeys(wanted))
    if metric in SESSION_METRICS:
        frame = tables.frame("sessions", list(dict.fromkeys([*columns, metric])))
        frame["value"] = frame[metric].astype(float)
        return frame
    frame = tables.frame("sessions", columns)
    scores = tables.frame("scores", ["session_id", "turn", "name", "value"])
    names = sorted(set(scores["name"]))
    if metric not in names:
        known = [*SESSION_METRICS, *names]
        hint = did_you_mean(metric, known)
        told = f"found {metric!r}; this run has: {', '.join(known)}{hint}"
        raise BadInput([Mistake("--metric", None, "", told)])
    mine = scores[(scores["name"] == metric) & scores["turn"].isna()]
    return frame.merge(
        mine.drop_duplicates("session_id", keep="last")[["session_id", "value"]],
        on="session_id",
        how="left",
    )


def round_table(
    data: Any, tables: RunTables, run: RunFile, pairing: Pairing, factor: str
) -> RoundTable:
    """Rounds by the plan's strata: every scenario with every level of every other factor.

    All planned strata count, so that a live run's rounds are not complete before they are.
    """
    import numpy as np

    columns = factor_columns(run.plan.factors)
    others = {columns[name]: seen for name, seen in pairing.factors.items() if name != factor}
    strata: Mapping[str, Sequence[str]] = {**pairing.strata, **others}
    levels = list(pairing.factors[factor])
    order = {key: index for index, key in enumerate(product(*strata.values()))}
    places = [data[column].astype(str) for column in strata]
    keys = zip(*places, strict=True) if places else [()] * len(data)
    variants = {level: index for index, level in enumerate(levels)}
    scored = data["outcome"].isin(["completed", "timeout"])
    outcomes = data["outcome"].astype(str)
    if factor == run.plan.compared:
        outcomes = outcomes.mask(data["error_class"].isin(NEEDLESS), "dropped")
    rounds = data[pairing.column].to_numpy(dtype=np.int64) - pairing.first
    missing = [] if run.status != "running" else _unlaunched(tables, factor, variants, order)
    return complete_rounds(
        np.concatenate([rounds, np.array([one[0] for one in missing], dtype=np.int64)]),
        np.array([*(order[key] for key in keys), *(one[1] for one in missing)], dtype=np.int64),
        np.array(
            [*(variants[level] for level in data["level"]), *(one[2] for one in missing)],
            dtype=np.int64,
        ),
        np.array([*data["value"].where(scored).to_numpy(dtype=float), *(np.nan for _ in missing)]),
        np.array([*outcomes.to_numpy(dtype=str), *("dropped" for _ in missing)]),
        n_rounds_planned=pairing.units,
        n_scenarios=len(order),
        n_variants=len(levels),
    )


def _unlaunched(
    tables: RunTables, factor: str, variants: Mapping[str, int], strata: Mapping[Any, int]
) -> list[tuple[int, int, int]]:
    """Places of a live run that have no row yet because a look dropped their variant."""
    look = _newest_look(tables)
    if look is None or look.factor != factor:
        return []
    return [
        (number, stratum, variants[gone.level])
        for gone in look.dropped
        for number in range(gone.from_round, look.rounds)
        for stratum in strata.values()
    ]


def _newest_look(tables: RunTables) -> Looked | None:
    path = tables.run_dir / JOURNAL_NAME
    if not path.is_file():
        return None
    reader = JournalReader(path)
    try:
        return reader.newest_look()
    finally:
        reader.close()
