"""What there is of a session that was imported: its unit, scores and texts, with no transcript."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from matrix.model.metrics import SESSION_METRICS
from matrix.model.records import JSON
from matrix.report.text import WIDTH, facts, harmless, metric_value, score_digits, wrapped
from matrix.store.journal.transcript import SessionNotFound
from matrix.store.reading.reader import RunTables
from matrix.store.reading.told import units_in, untold_in
from matrix.store.tables.tables import factor_columns


class ImportedSession(NamedTuple):
    """One result of a file.

    Attributes:
        run: Id of the run that it was imported into.
        session: Its id.
        unit: What it is paired on, by its name in the file; empty where nothing is.
        scenario: Its scenario; empty where all are of one.
        levels: Factor -> level.
        outcome: How it ended; empty where the file does not say what failed.
        reason: Why it ended, as the file says.
        score_digits: Decimals of its score.
        scores: Metric -> value, the score first; only what the file tells.
        said: Who said what.
    """

    run: str
    session: str
    unit: str
    scenario: str
    levels: dict[str, str]
    outcome: str
    reason: str
    score_digits: int
    scores: dict[str, float]
    said: list[tuple[str, str]]


def imported_session(tables: RunTables, session: str) -> ImportedSession:
    """Read it.

    Args:
        tables: The run's.
        session: The whole id.

    Raises:
        SessionNotFound: There is no such session.
        StoreError: A table is damaged.
    """
    run, untold = tables.run, untold_in(tables)
    columns = factor_columns(run.plan.factors)
    read = ["scenario", "outcome", "end_reason", *columns.values(), *SESSION_METRICS]
    found = list(tables.of_sessions("sessions", list(dict.fromkeys(read)), {session}))
    if not found:
        raise SessionNotFound(f"{session!r} is no session of {run.run_id}")
    row = found[0]
    scores = {name: row[name] for name in SESSION_METRICS if name not in untold}
    rows = tables.of_sessions("scores", ["name", "value", "turn"], {session})
    scores |= {str(one["name"]): one["value"] for one in rows if one["turn"] is None}
    return ImportedSession(
        run.run_id,
        session,
        units_in(tables).get(session, ""),
        str(row["scenario"]) if len(run.plan.scenarios) > 1 else "",
        {name: str(row[column]) for name, column in columns.items()},
        "" if "failed" in untold else str(row["outcome"]),
        str(row["end_reason"] or ""),
        score_digits(run.plan.score_range),
        {name: float(value) for name, value in scores.items() if value is not None},
        _said(tables, session),
    )


def _said(tables: RunTables, session: str) -> list[tuple[str, str]]:
    rows: Sequence[dict[str, Any]] = sorted(
        tables.of_sessions("messages", ["speaker", "text", "position"], {session}),
        key=lambda row: int(row["position"]),
    )
    return [(str(row["speaker"]), str(row["text"] or "")) for row in rows]


def imported_session_as_text(shown: ImportedSession, *, width: int = WIDTH) -> str:
    """For a terminal; control characters are made harmless."""
    ended = ": ".join(filter(None, [shown.outcome, shown.reason]))
    told = [
        ("imported", f"into {shown.run}; nothing was played here, so there is no transcript"),
        ("unit", shown.unit),
        ("scenario", shown.scenario),
        *shown.levels.items(),
        ("outcome", ended),
        *((name, _value(name, value, shown)) for name, value in shown.scores.items()),
    ]
    parts = [f"session {shown.session}", facts([one for one in told if one[1]], width=width)]
    for speaker, text in shown.said:
        lines = [wrapped(line, "    ", width=width) for line in text.splitlines()]
        parts += ["", f"  {speaker}:", *lines]
    return harmless("\n".join(parts))


def _value(name: str, value: float, shown: ImportedSession) -> str:
    return metric_value(name, value, score=shown.score_digits)


def imported_session_as_data(shown: ImportedSession) -> JSON:
    """The same for programs."""
    return {
        "run_id": shown.run,
        "session_id": shown.session,
        "unit": shown.unit or None,
        "scenario": shown.scenario or None,
        "levels": dict(shown.levels),
        "outcome": shown.outcome or None,
        "reason": shown.reason,
        "scores": dict(shown.scores),
        "said": [{"speaker": speaker, "text": text} for speaker, text in shown.said],
    }
