"""Which sessions of a run went wrong or scored low, and what of each a model is shown of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

from matrix.judging.request import cut
from matrix.kinds.protocol import PROMPTS, UNREAD
from matrix.model.lines import in_line
from matrix.report.compare.matchup import JUDGE
from matrix.report.page.known import levels_of
from matrix.report.text import number
from matrix.store.reading.reader import RunTables

MOST_SESSIONS: Final = 60
"""That are read in one pass, the plainest failures first."""
_LOWEST: Final = 0.1
_FEWEST_LOWEST, _MOST_LOWEST = 3, 10
_TEXT: Final = 3_000
_HEAD: Final = 1_500
_MESSAGE: Final = 800
_BATCH_CHARS: Final = 36_000
_BATCH_SESSIONS: Final = 10
_OF_MESSAGES: Final = ("turn", "channel", "speaker", "text", "position")
_OF_EVENTS: Final = ("turn", "kind", "subject", "detail", "severity", "position")


class FailingSession(NamedTuple):
    """A session that went wrong: what is shown of it, and the number of its last turn."""

    session: str
    title: str
    text: str
    turns: int


def failing_sessions(
    tables: RunTables, lower: Collection[str], below: float | None = None
) -> list[FailingSession]:
    """Sessions that failed, errored, missed a check or scored low, in this order.

    Args:
        tables: The run's.
        lower: Scores of which less is better; they are no checks that can be missed.
        below: Scores up to this are low; the lowest tenth if left out.
    """
    frame = tables.frame("sessions")
    missed = _missed(tables, lower)
    chosen = _chosen(frame, missed, lower, below)
    rows = {str(row["session_id"]): row for row in frame.to_dict("records")}
    said = _by_session(tables, "messages", _OF_MESSAGES, chosen)
    events = _by_session(tables, "events", _OF_EVENTS, chosen)
    return [
        FailingSession(
            one,
            _title(tables, rows[one]),
            _text(rows[one], missed.get(one, []), events.get(one, []), said.get(one, [])),
            int(rows[one]["turns"]),
        )
        for one in chosen
    ]


def batches_of(sessions: Sequence[FailingSession]) -> list[list[FailingSession]]:
    """Sessions in requests of bounded size, in their order."""
    found: list[list[FailingSession]] = []
    size = 0
    for one in sessions:
        room = found and len(found[-1]) < _BATCH_SESSIONS and size + len(one.text) < _BATCH_CHARS
        if not room:
            found.append([])
            size = 0
        found[-1].append(one)
        size += len(one.text)
    return found


def _chosen(
    frame: Any, missed: dict[str, list[str]], lower: Collection[str], below: float | None
) -> list[str]:
    ordered = frame.sort_values(["launch_order", "session_id"])
    ids = ordered["session_id"].astype(str)
    broken = ids[ordered["outcome"].isin(["failed", "errored"])].tolist()
    scored = ordered[ordered["score"].notna()].sort_values(
        ["score", "launch_order"], ascending=["score" not in lower, True]
    )
    low = scored["session_id"].astype(str)
    if below is not None:
        under = scored["score"] >= below if "score" in lower else scored["score"] <= below
        low = low[under]
    else:
        few = max(_FEWEST_LOWEST, min(_MOST_LOWEST, round(len(scored) * _LOWEST)))
        low = low.head(few if len(scored) > few else 0)
    mine = [one for one in ids.tolist() if one in missed]
    return list(dict.fromkeys([*broken, *mine, *low.tolist()]))[:MOST_SESSIONS]


def _missed(tables: RunTables, lower: Collection[str]) -> dict[str, list[str]]:
    """Session -> yes/no scores that it missed, with the reason that was given."""
    scores = tables.frame("scores", ["session_id", "turn", "name", "value", "reason"])
    scores = scores[scores["turn"].isna() & scores["value"].notna()]
    found: dict[str, list[str]] = {}
    for name, rows in scores.groupby("name", observed=True):
        text = str(name)
        if text in lower or text == "score" or text.startswith(JUDGE):
            continue
        if not rows["value"].isin([0.0, 1.0]).all() or (rows["value"] == 0.0).all():
            continue  # it is no check, or nothing that anybody can pass
        for row in rows[rows["value"] == 0.0].to_dict("records"):
            why = row["reason"] if isinstance(row["reason"], str) else ""
            line = f"missed {in_line(text)}: {in_line(why)[:300]}".rstrip(": ")
            found.setdefault(str(row["session_id"]), []).append(line)
    return found


def _by_session(
    tables: RunTables, name: str, columns: Sequence[str], sessions: Sequence[str]
) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in tables.of_sessions(name, columns, sessions) if sessions else ():
        found.setdefault(str(row["session_id"]), []).append(row)
    for rows in found.values():
        rows.sort(key=lambda row: row["position"])
    return found


def _title(tables: RunTables, row: Any) -> str:
    told = [str(row["scenario"]), levels_of(tables.run, row), f"round {row['round']}"]
    return in_line(", ".join(filter(None, told)))


def _text(
    row: Any,
    missed: Sequence[str],
    events: Sequence[dict[str, Any]],
    said: Sequence[dict[str, Any]],
) -> str:
    why = row["end_reason"] if isinstance(row["end_reason"], str) else ""
    error = row["error_class"] if isinstance(row["error_class"], str) else ""
    ended = ": ".join(filter(None, [error or str(row["outcome"]), in_line(why)]))
    head = [f"ended: {ended}"[:500]]
    if row["score"] == row["score"] and row["score"] is not None:
        head.append(f"score: {number(float(row['score']), 3)}")
    head += missed
    for event in events:
        if event["severity"]:
            told = [event["kind"], event["subject"], event["detail"]]
            line = " ".join(in_line(str(one)) for one in told if one)
            head.append(f"problem in turn {event['turn']}: {line}"[:300])
    turns = [
        # a line of somebody's own is indented, so that none passes for one of these
        f"[turn {one['turn']}] {in_line(str(one['speaker']))}: "
        + cut(str(one["text"]), _MESSAGE).replace("\n", "\n    ")
        for one in said
        if one["channel"] not in UNREAD and not str(one["channel"]).startswith(PROMPTS)
    ]
    return "\n".join([cut("\n".join(head), _HEAD), cut("\n".join(turns), _TEXT)]).strip()
