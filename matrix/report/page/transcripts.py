"""Sessions on a page: which of them are shown whole, and what is said in each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from matrix.kinds.protocol import is_read
from matrix.model.records import Message
from matrix.report.page.blocks import Said, ShownSession, ShownTurn, anchor_of, known
from matrix.report.page.known import levels_of, unit_of_row
from matrix.report.text import aside_of, number, plural, usd_each
from matrix.store.reading.told import units_in, untold_in

if TYPE_CHECKING:
    from matrix.store.reading.reader import RunTables

MOST_CHARS: Final = 2_500_000
"""Characters of transcripts on one page: with markup, some four megabytes."""
MOST_SESSIONS: Final = 400
MOST_OF_ONE: Final = 20_000
"""Characters of one message that are shown."""


def picked(frame: Any, sizes: Mapping[str, int], first: Sequence[str]) -> list[str]:
    """Sessions that are shown whole, as far as there is room, in the order of the run.

    Args:
        frame: The ``sessions`` table.
        sizes: Session -> characters that were said in it.
        first: Sessions that come before all others: the worst, the best, newest failures. Of the
            rest an even sample is taken, round by round.
    """
    order = [str(one) for one in frame.sort_values(["round", "scenario"])["session_id"]]
    rest = [one for one in order if sizes.get(one, 0) and one not in set(first)]
    step = max(1, -(-len(rest) // MOST_SESSIONS))
    taken, left = set[str](), MOST_CHARS
    for one in [*dict.fromkeys(first), *rest[::step]]:
        size = sizes.get(one, 0)
        if size and size <= left and len(taken) < MOST_SESSIONS:
            taken.add(one)
            left -= size
    return [one for one in order if one in taken]


def sizes_of(tables: RunTables) -> dict[str, int]:
    """Session -> characters that were said in it."""
    found: dict[str, int] = {}
    for piece in tables.pieces("messages", ["session_id", "text"]):
        said = zip(piece["session_id"].to_pylist(), piece["text"].to_pylist(), strict=True)
        for session, text in said:
            found[str(session)] = found.get(str(session), 0) + min(len(text or ""), MOST_OF_ONE)
    return found


def shown_sessions(tables: RunTables, frame: Any, wanted: Sequence[str]) -> list[ShownSession]:
    """The wanted sessions with all that was said in them.

    Args:
        tables: The run's tables.
        frame: The ``sessions`` table.
        wanted: Session ids, in the order in which they are shown.
    """
    messages = _of_each(tables, "messages", wanted)
    events = _of_each(tables, "events", wanted)
    casts = _casts(tables, wanted)
    rows = {str(row["session_id"]): row for row in frame.to_dict("records")}
    units, untold = units_in(tables), untold_in(tables)
    return [
        _session(
            rows[one],
            [levels_of(tables.run, rows[one]), unit_of_row(tables.run, rows[one], units)],
            _used(rows[one], untold),
            casts.get(one, ""),
            messages.get(one, []),
            events.get(one, []),
        )
        for one in wanted
    ]


def _used(row: Mapping[str, Any], untold: Collection[str]) -> str:
    """Turns and money, as far as they are known."""
    turns = "" if "turns" in untold else plural(int(row["turns"]), "turn")
    cost = "" if "cost_usd" in untold else f"${usd_each(float(row['cost_usd']))}"
    return ", ".join(filter(None, [turns, cost]))


_COLUMNS: Final = {
    "messages": ("turn", "channel", "speaker", "label", "text", "position"),
    "events": ("turn", "kind", "subject", "detail", "severity", "position"),
}


def _of_each(
    tables: RunTables, name: str, wanted: Sequence[str]
) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in tables.of_sessions(name, _COLUMNS[name], wanted):
        found.setdefault(row["session_id"], []).append(row)
    for rows in found.values():
        rows.sort(key=lambda row: row["position"])
    return found


def _casts(tables: RunTables, wanted: Sequence[str]) -> dict[str, str]:
    """Session -> who plays in it, and as what; whoever speaks for all comes first."""
    found: dict[str, list[tuple[bool, str]]] = {}
    columns = ("name", "archetype", "is_spokesperson")
    for row in tables.of_sessions("players", columns, wanted):
        speaks = bool(row["is_spokesperson"])
        told = f"{row['archetype']}, speaks for all" if speaks else row["archetype"]
        found.setdefault(row["session_id"], []).append((not speaks, f"{row['name']} ({told})"))
    return {
        one: ", ".join(told for _, told in sorted(cast, key=itemgetter(0)))
        for one, cast in found.items()
    }


def _session(
    row: Mapping[str, Any],
    place: Sequence[str],
    used: str,
    cast: str,
    messages: Sequence[Mapping[str, Any]],
    events: Sequence[Mapping[str, Any]],
) -> ShownSession:
    session = str(row["session_id"])
    score = row.get("score")
    told = "no score" if score is None or score != score else f"score {number(float(score), 3)}"
    title = " - ".join(filter(None, [str(row["scenario"]), *place, told]))
    facts = known(
        {
            "session": session,
            "outcome": str(row["outcome"]),
            "why": row["end_reason"] if isinstance(row.get("end_reason"), str) else "",
            "used": used,
            "players": cast,
        }
    )
    return ShownSession(anchor_of(session), title, facts, list(_turns(session, messages, events)))


def _turns(
    session: str, messages: Sequence[Mapping[str, Any]], events: Sequence[Mapping[str, Any]]
) -> list[ShownTurn]:
    by_turn: dict[int, list[Said]] = {}
    for row in messages:
        one = Message(
            row["channel"], row["speaker"], row["text"] or "", row["turn"], row["label"] or ""
        )
        if is_read(one):
            speaker = f"{one.speaker}{aside_of(one)}"
            by_turn.setdefault(one.turn, []).append(Said(speaker, one.label, _cut(one.text)))
    for row in events:
        by_turn.setdefault(row["turn"], []).append(
            Said(
                str(row["kind"]).replace("_", " "),
                row["subject"] or "",
                _cut(row["detail"] or ""),
                event=True,
                severity=row["severity"] or "",
            )
        )
    return [
        ShownTurn(
            anchor_of(session, turn), f"Turn {turn}" if turn else "Before the first turn", said
        )
        for turn, said in sorted(by_turn.items())
    ]


def _cut(text: str) -> str:
    if len(text) <= MOST_OF_ONE:
        return text
    return f"{text[:MOST_OF_ONE]} [... {len(text) - MOST_OF_ONE:,} more characters]"
