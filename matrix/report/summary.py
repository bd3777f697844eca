"""What a run came to: outcomes with denominators, money by role, variants, verdict, next steps."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from matrix.model.errors import BadInput
from matrix.model.money import show_usd, to_usd
from matrix.model.records import JSON, OUTCOMES
from matrix.report.compare import FactorComparison, VariantRow, compare_factor
from matrix.report.text import (
    WIDTH,
    columns,
    duration,
    facts,
    interval,
    number,
    plural,
    tokens,
    wrapped,
)
from matrix.store.reader import RunTables
from matrix.store.run_folder import RunFile
from matrix.store.transcript import SessionNotFound

DEFAULT_RESULTS = "results"
"""Folder of runs that commands look in when they are not told otherwise."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A run in numbers.

    Attributes:
        errors: Error class -> sessions that failed or errored with it.
        censored: Why sessions were cut short -> how many.
        role_nano: Role -> money spent on it, in nano-dollars, like all money here.
        comparison: The compared factor's levels and verdict.
        no_comparison: Why there is no comparison, if there is none.
        extremes: ``best``, ``worst``, ``longest``, ``failed`` -> session id, as far as there are.
    """

    run: RunFile
    run_dir: Path
    outcomes: Mapping[str, int]
    errors: Mapping[str, int]
    censored: Mapping[str, int]
    role_nano: Mapping[str, int]
    settled_nano: int
    presumed_nano: int
    calls: int
    tokens_in: int
    tokens_out: int
    turns: int
    comparison: FactorComparison | None
    no_comparison: str
    extremes: Mapping[str, str]

    @property
    def spent_nano(self) -> int:
        return self.settled_nano + self.presumed_nano


def summarize_run(run_dir: Path, run: RunFile) -> Summary:
    """Read a run's tables and sum them up; works while the run goes on, too."""
    tables = RunTables(run_dir)
    sessions = tables.frame(
        "sessions",
        [
            "session_id",
            "outcome",
            "error_class",
            "turns",
            "calls",
            "tokens_in",
            "tokens_out",
            "score",
        ],
    )
    counts = sessions["outcome"].value_counts()
    money = _money(tables)
    comparison, no_comparison = _comparison(tables, run)
    return Summary(
        run=run,
        run_dir=run_dir,
        outcomes={outcome: int(counts.get(outcome, 0)) for outcome in OUTCOMES},
        errors=_classes(sessions[sessions["outcome"] != "censored"]),
        censored=_classes(sessions[sessions["outcome"] == "censored"]),
        role_nano=money["roles"],
        settled_nano=money["settled"],
        presumed_nano=money["presumed"],
        calls=money["calls"],
        tokens_in=int(sessions["tokens_in"].sum()),
        tokens_out=int(sessions["tokens_out"].sum()),
        turns=int(sessions["turns"].sum()),
        comparison=comparison,
        no_comparison=no_comparison,
        extremes=_extremes(sessions),
    )


def _money(tables: RunTables) -> dict[str, Any]:
    calls = tables.frame("calls", ["role", "disposition", "cost_nano", "answered"])
    by_state = calls.groupby("disposition", observed=True)["cost_nano"].sum()
    spent = calls[calls["disposition"] != "released"]
    roles = spent.groupby("role", observed=True)["cost_nano"].sum().sort_values(ascending=False)
    return {
        "roles": {str(role): int(cost) for role, cost in roles.items()},
        "settled": int(by_state.get("settled", 0)),
        "presumed": int(by_state.get("presumed", 0)),
        "calls": int(calls["answered"].sum()),
    }


def _classes(sessions: Any) -> dict[str, int]:
    found = sessions["error_class"].dropna().value_counts()
    return {str(name): int(count) for name, count in found.items() if name}


def _comparison(tables: RunTables, run: RunFile) -> tuple[FactorComparison | None, str]:
    """The comparison, or why there is none: a young run may not have its metric yet."""
    if run.plan.compared is None:
        return None, "No factor with several levels, so there is nothing to compare."
    try:
        return compare_factor(tables, run), ""
    except BadInput as error:
        reasons = "; ".join(mistake.message for mistake in error.mistakes)
        return None, f"No verdict on {run.plan.compared} by {run.plan.metric}: {reasons}"


def _extremes(sessions: Any) -> dict[str, str]:
    scored = sessions.dropna(subset=["score"])
    found: dict[str, str] = {}
    if len(scored):
        found["best"] = str(scored.loc[scored["score"].idxmax(), "session_id"])
        found["worst"] = str(scored.loc[scored["score"].idxmin(), "session_id"])
    if len(sessions):
        found["longest"] = str(sessions.loc[sessions["turns"].idxmax(), "session_id"])
    broken = sessions[sessions["outcome"].isin(["failed", "errored"])]
    if len(broken):
        found["failed"] = str(broken.iloc[0]["session_id"])
    return found


def extreme_session(run_dir: Path, which: str) -> str:
    """The session that scored best or worst, took longest, or failed first.

    Raises:
        SessionNotFound: No session is of this sort.
    """
    frame = RunTables(run_dir).frame("sessions", ["session_id", "outcome", "turns", "score"])
    found = _extremes(frame)
    if which not in found:
        raise SessionNotFound(f"no session to show as {which!r}: none has ended that way")
    return found[which]


# --- as text ----------------------------------------------------------------------------------


def verdict_line(summary: Summary) -> str:
    """The verdict in one sentence, or why there is none."""
    if summary.comparison is None:
        return summary.no_comparison
    suffix = " (simulated)" if summary.run.simulated else ""
    return summary.comparison.sentence + suffix


def summary_as_text(summary: Summary, *, width: int = WIDTH) -> str:
    """The whole summary, for the end of a run and for ``matrix show RUN``."""
    parts = [_head(summary), facts(_facts(summary), width=width)]
    if summary.comparison is not None:
        parts += ["", _variants(summary.comparison)]
        parts += ["", wrapped(verdict_line(summary), "Verdict: ", width=width)]
        parts += [wrapped(summary.comparison.rests_on, "  rests on: ", width=width)]
    else:
        parts += ["", wrapped(verdict_line(summary), width=width)]
    parts += ["", "Next:", *(f"  {line}" for line in _next(summary))]
    return "\n".join(parts)


def _head(summary: Summary) -> str:
    run = summary.run
    status = run.status if run.end_reason in ("", "done") else (f"{run.status}: {run.end_reason}")
    took = "" if run.totals is None else f" in {duration(run.totals.elapsed_s)}"
    return f"run {run.run_id} ({status}){took}"


def _facts(summary: Summary) -> list[tuple[str, str]]:
    run = summary.run
    total = sum(summary.outcomes.values())
    shown = ", ".join(f"{n:,} {name}" for name, n in summary.outcomes.items() if n) or "none yet"
    rows = [("sessions", f"{shown}; {total:,} of {run.plan.sessions:,} planned")]
    if summary.errors:
        found = ", ".join(f"{name} {count:,}" for name, count in summary.errors.items())
        rows.append(("errors", found))
    if summary.censored:
        cut = ", ".join(f"{count:,} by {name}" for name, count in summary.censored.items())
        rows.append(("censored", f"{cut} (cut short, so they count for no variant)"))
    rows.append(
        (
            "used",
            f"{plural(summary.turns, 'turn')}, {plural(summary.calls, 'call')}, "
            f"{tokens(summary.tokens_in)} tokens in, {tokens(summary.tokens_out)} out",
        )
    )
    simulated = " (simulated)" if run.simulated else ""
    presumed = f", of it {show_usd(summary.presumed_nano)} presumed" * bool(summary.presumed_nano)
    rows.append(
        (
            "spent",
            f"{show_usd(summary.spent_nano)}{presumed} of {show_usd(run.cap_nano)}{simulated}",
        )
    )
    roles = ", ".join(
        f"{role} {show_usd(cost)} ({cost / max(1, summary.spent_nano):.0%})"
        for role, cost in summary.role_nano.items()
    )
    if roles:
        rows.append(("by role", roles))
    return rows


def _variants(comparison: FactorComparison) -> str:
    confidence = f"{100 * (1 - comparison.verdict.rules.alpha):.4g} % interval"
    headers = [
        comparison.factor,
        comparison.metric,
        confidence,
        "scored",
        "failed",
        "errored",
        "censored",
        "$ each",
    ]
    digits = 1 if comparison.metric == "score" else 3
    rows = [_variant_cells(row, digits) for row in comparison.rows]
    return columns(headers, rows, right=(1, 3, 4, 5, 6, 7))


def _variant_cells(row: VariantRow, digits: int) -> list[str]:
    cost = row.cost_per_completed_usd
    return [
        row.level,
        number(row.mean, digits),
        interval(row.low, row.high, digits),
        f"{row.ended:,}/{row.sessions:,}",
        f"{row.failed:,}",
        f"{row.errored:,}",
        f"{row.censored:,}",
        "-" if cost is None else f"{cost:.4f}",
    ]


def _next(summary: Summary) -> list[str]:
    run = summary.run
    folder = str(summary.run_dir.parent)
    where = "" if folder == DEFAULT_RESULTS else f" --results {shlex.quote(folder)}"
    lines = []
    if run.status in ("incomplete", "failed"):
        more = " --max-cost USD" if run.end_reason == "cap" else ""
        lines.append(f"matrix resume {run.run_id}{where}{more}")
    if "worst" in summary.extremes:
        lines.append(f"matrix show {run.run_id} worst{where}   # the lowest score")
    lines.append(
        f"python -c \"import pandas as pd; print(pd.read_parquet('{summary.run_dir}"
        "/sessions').describe())\""
    )
    return lines


def summary_as_data(summary: Summary) -> JSON:
    """The same for programs."""
    comparison = summary.comparison
    return {
        "run_id": summary.run.run_id,
        "run_dir": str(summary.run_dir),
        "status": summary.run.status,
        "end_reason": summary.run.end_reason,
        "simulated": summary.run.simulated,
        "sessions": {"planned": summary.run.plan.sessions, **summary.outcomes},
        "errors": dict(summary.errors),
        "censored": dict(summary.censored),
        "calls": summary.calls,
        "turns": summary.turns,
        "tokens_in": summary.tokens_in,
        "tokens_out": summary.tokens_out,
        "spent_usd": to_usd(summary.spent_nano),
        "presumed_usd": to_usd(summary.presumed_nano),
        "cap_usd": to_usd(summary.run.cap_nano),
        "by_role_usd": {role: to_usd(cost) for role, cost in summary.role_nano.items()},
        "comparison": None if comparison is None else comparison_as_data(comparison),
    }


def comparison_as_data(comparison: FactorComparison) -> JSON:
    """A comparison for programs."""
    verdict = comparison.verdict
    levels = [row.level for row in comparison.rows]
    return {
        "factor": comparison.factor,
        "metric": comparison.metric,
        "verdict": verdict.kind,
        "winner": None if verdict.winner is None else levels[verdict.winner],
        "sentence": comparison.sentence,
        "rests_on": comparison.rests_on,
        "reasons": list(verdict.reasons),
        "flags": list(verdict.flags),
        "rounds": {
            "planned": verdict.rounds_planned,
            "complete": verdict.rounds_complete,
            "used": verdict.rounds_used,
            "still_needed": verdict.extra_rounds,
        },
        "variants": [asdict(row) for row in comparison.rows],
        "pairs": [
            {
                "a": levels[pair.a],
                "b": levels[pair.b],
                "rounds": pair.n,
                "difference": pair.difference,
                "low": None if pair.interval is None else pair.interval.low,
                "high": None if pair.interval is None else pair.interval.high,
                "p": pair.p,
                "level": pair.level,
            }
            for pair in verdict.comparisons
        ],
    }
