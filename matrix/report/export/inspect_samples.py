"""A session as a sample of Inspect's log: messages, scores, and a span for each turn.

Inspect's viewer has two speakers only, so that who speaks is said in the text. Prompts of calls are
in no table, so a model's event has what it answered, and not what it was asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from matrix.model.lines import harmless
from matrix.model.metrics import judged_outcome
from matrix.report.export.recorded import RecordedSession
from matrix.report.export.results_table import Results
from matrix.store.foreign.inspect_logs import RESULT, ROW

JSONObject = dict[str, Any]

LONGEST_TEXT: Final = 20_000
"""Characters of one message."""
_LONGEST_REASON: Final = 2_000
_MOST_ENTRIES: Final = 2_000
"""Messages, and events, of a session."""
_MOST_CHARACTERS: Final = 1_000_000
"""Of all that was said in a session."""


class SampleOf:
    """Makes samples of one run's sessions.

    Args:
        created: When the run was, for sessions that do not say when they were.
        metric: The score that decides, which is the first of a sample's.
        levels: Column -> what it says of a session in the sample's metadata.
        facts: What is said of each session of the run.
        results: The run's results as a table.
    """

    def __init__(
        self,
        created: datetime,
        metric: str,
        levels: Mapping[str, str],
        facts: Mapping[str, Any],
        results: Results,
    ) -> None:
        self._created, self._metric = created, metric
        self._levels, self._facts, self._results = levels, facts, results
        self._places = {session: place for place, session in enumerate(results.rows)}

    def sample(self, session: RecordedSession) -> JSONObject:
        """One sample, whole."""
        row, said = session.row, list(_said(session))
        usage, by_role = _usage(session, "model"), _usage(session, "role")
        last = next((one for one in reversed(said) if one["role"] == "assistant"), None)
        found: JSONObject = {
            **self._summary(session),
            "messages": said,
            "output": _output(last["model"], last["content"]) if last else _output("", ""),
            "events": list(self._events(session, said)),
            "store": {},
            "attachments": {},
            "model_usage": usage,
            "role_usage": by_role,
        }
        if (error := _error(row)) is not None:
            found["error"] = {"message": error, "traceback": "", "traceback_ansi": ""}
        return found

    def summary(self, session: RecordedSession) -> JSONObject:
        """What the list of samples shows of it."""
        found = self._summary(session)
        error = _error(session.row)
        return {
            **found,
            "model_usage": _usage(session, "model"),
            "completed": error is None,
            "message_count": min(len(session.messages), _MOST_ENTRIES),
            **({} if error is None else {"error": error}),
        }

    def scores(self, session: RecordedSession) -> dict[str, JSONObject]:
        """Scores of the whole session, the one that decides first."""
        row = session.row
        own = [{"name": "score", "value": row["score"], "label": "", "reason": ""}]
        rows = [*own, *(one for one in session.scores if one["turn"] is None)]
        rows.sort(key=lambda one: one["name"] != self._metric)
        found: dict[str, JSONObject] = {}
        for one in rows:
            if (value := one["value"]) is not None and value == value:
                said = [str(part) for part in (one["label"], one["reason"]) if part]
                told = harmless(": ".join(said))[:_LONGEST_REASON]
                found[str(one["name"])] = {
                    "value": float(value),
                    **({"explanation": told} if told else {}),
                }
        return found

    def _summary(self, session: RecordedSession) -> JSONObject:
        row = session.row
        first = session.messages[0] if session.messages else None
        levels = {name: str(row[column]) for name, column in self._levels.items()}
        ended = f"{row['end_reason'] or ''}"
        return {
            "id": f"{row['scenario']} {int(row['round'])}",
            "epoch": row["repeat"] or 1,
            "input": _spoken(first) if first is not None else "",
            "target": "",
            "scores": self.scores(session),
            "metadata": {
                "scenario": str(row["scenario"]),
                "round": int(row["round"]),
                **levels,
                "outcome": str(row["outcome"]),
                **({"end_reason": harmless(ended)[:_LONGEST_REASON]} if ended else {}),
                "cost_usd": float(row["cost_usd"]),
                **self._facts,
                **self._result(str(row["session_id"])),
            },
            "total_time": float(row["duration_s"]),
            "working_time": float(row["duration_s"]),
            "uuid": str(row["session_id"]),
        }

    def _result(self, session_id: str) -> JSONObject:
        """Its row of the run's results, by which an import has it as it was."""
        if session_id not in self._results.rows:
            return {}
        cells = self._results.rows[session_id]
        found = dict(zip(self._results.headers, cells, strict=True))
        return {RESULT: found, ROW: self._places[session_id]}

    def _events(self, session: RecordedSession, said: list[JSONObject]) -> Iterator[JSONObject]:
        start, before = session.row["started_at"] or self._created, 0.0
        clocks = defaultdict[int, float](float)
        for one in session.turns:
            clocks[one["turn"]] = max(clocks[one["turn"]], one["clock_s"])
        told = defaultdict[int, list[JSONObject]](list)
        for message in said:
            told[message["metadata"]["turn"]].append(_heard(message))
        for event in session.events[:_MOST_ENTRIES]:
            told[event["turn"]].append(_happened(event))
        for turn in sorted({*clocks, *told}):
            after = max(before, clocks[turn])
            span = f"turn-{turn}"
            name = f"turn {turn}" if turn else "start"
            begin = {"event": "span_begin", "id": span, "type": "turn", "name": name}
            end = {"event": "span_end", "id": span}
            if told[turn]:  # one in which nothing was said is no step to look at
                inside = [begin, *told[turn]]
                yield from (_at(one, span, start, before) for one in inside)
                yield _at(end, span, start, after)
            before = after


def _at(event: JSONObject, span: str, start: datetime, clock: float) -> JSONObject:
    when = start + timedelta(seconds=clock)
    return {**event, "span_id": span, "timestamp": when.isoformat(), "working_start": clock}


def _said(session: RecordedSession) -> Iterator[JSONObject]:
    """What was said, in the shape of a chat; of a very long session its beginning."""
    models = {
        str(name): (str(call["role"]), str(call["model"]))
        for call in session.calls
        for name in (call["role"], call["agent"])
        if name
    }
    left = _MOST_CHARACTERS
    for number, row in enumerate(session.messages):
        text = _spoken(row)
        left -= len(text)
        if number == _MOST_ENTRIES or left < 0:
            text, row = f"{len(session.messages) - number:,} more messages are left out", {
                **row, "speaker": ""
            }  # fmt: skip
        speaker = str(row["speaker"])
        role, model = models.get(speaker, ("", ""))
        yield {
            "id": f"{session.row['session_id']}-{int(row['position'])}",
            "role": "assistant" if model else "user",
            "content": text,
            "metadata": {"speaker": speaker, "turn": int(row["turn"]), "role": role},
            **({"model": model} if model else {}),
        }
        if number == _MOST_ENTRIES or left < 0:
            return


def _spoken(row: Mapping[str, Any]) -> str:
    text, label = harmless(str(row["text"])), row["label"]
    if len(text) > LONGEST_TEXT:
        text = f"{text[:LONGEST_TEXT]} [{len(text) - LONGEST_TEXT:,} more characters]"
    return harmless(f"{row['speaker']}{f' ({label})' if label else ''}: ") + text


def _heard(message: JSONObject) -> JSONObject:
    """A message as an event: of a model's, that it answered; of any other's, that it was said."""
    if "model" not in message:
        return {"event": "info", "source": "message", "data": message["content"]}
    return {
        "event": "model",
        "model": message["model"],
        "role": message["metadata"]["role"],
        "input": [],
        "tools": [],
        "tool_choice": "none",
        "config": {},
        "output": _output(message["model"], message["content"]),
    }


def _happened(event: Mapping[str, Any]) -> JSONObject:
    data = {
        name: harmless(str(event[name]))[:_LONGEST_REASON]
        for name in ("kind", "subject", "detail", "severity")
        if event[name]
    }
    return {"event": "info", "source": "event", "data": data}


def _output(model: str, text: str) -> JSONObject:
    if not text:
        return {"model": model, "choices": [], "completion": ""}
    message = {"role": "assistant", "content": text, "source": "generate", "model": model}
    choices = [{"message": message, "stop_reason": "stop"}]
    return {"model": model, "choices": choices, "completion": text}


def _usage(session: RecordedSession, by: str) -> dict[str, JSONObject]:
    """Tokens and money of the session's calls, by model or by role."""
    found: dict[str, JSONObject] = {}
    for call in session.calls:
        one = found.setdefault(
            str(call[by]),
            {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0, "total_cost": 0.0},
        )
        one["input_tokens"] += int(call["tokens_in"])
        one["output_tokens"] += int(call["tokens_out"])
        one["total_tokens"] += int(call["tokens_in"]) + int(call["tokens_out"])
        one["total_cost"] += float(call["cost_usd"])
    return found


def _error(row: Mapping[str, Any]) -> str | None:
    """Why there is no result of a session; ``None`` where there is one."""
    ended = judged_outcome(row["outcome"], row["error_class"] or "", "keep")
    if ended in ("completed", "timeout"):
        return None
    why = row["end_reason"] or row["error_class"] or "no reason given"
    return harmless(f"{row['outcome']}: {why}")[:_LONGEST_REASON]
