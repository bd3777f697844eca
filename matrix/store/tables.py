"""The seven tables, as declarations: every column with its type, its meaning and its mark.

From these come the Parquet schemas (:mod:`matrix.store.parquet`), the data dictionary in
``results/README.md`` (:mod:`matrix.store.dictionary`) and the comparison of two runs
(:mod:`matrix.store.comparer`), so that the three cannot disagree.

A *deterministic* column is the same in every run of the same spec on simulated models whose cap
does not bind, whatever died on the way. A *volatile* one depends on when and where the run
happened. Schema changes are additive: columns are added at the end and never renamed or retyped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from matrix.model.errors import StoreError, did_you_mean

SCHEMA_VERSION: Final = 1
"""Version of the declarations below; written into the footer of every Parquet file."""

TableName = Literal["calls", "turns", "messages", "events", "scores", "players", "sessions"]
ColumnType = Literal["text", "id", "integer", "number", "flag", "time"]
Mark = Literal["deterministic", "volatile"]
Row: TypeAlias = tuple[object, ...]
"""One row of a table, in the order of its columns, without the leading ``run_id``."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        name: Its name in the Parquet file.
        type: ``text`` and ``id`` are strings, ``id`` dictionary-encoded because it repeats;
            ``integer`` is int64, ``number`` float64, ``flag`` bool, ``time`` UTC microseconds.
        description: What it says, in one sentence.
        mark: Whether it is the same in every run of the same spec (see the module).
        optional: Whether a row may have no value (null) here.
    """

    name: str
    type: ColumnType
    description: str
    mark: Mark = "deterministic"
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """One table.

    Attributes:
        sort: Columns that its files are sorted by.
        key: Deterministic columns that two runs are matched on.
        compared: Name of a flag column that selects the rows two runs have in common; ``None``
            for every row.
    """

    name: TableName
    description: str
    columns: tuple[Column, ...]
    sort: tuple[str, ...]
    key: tuple[str, ...]
    compared: str | None = None


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What the tables need to know of their run: it goes into rows, columns and footers."""

    run_id: str
    spec_hash: str
    prices_hash: str
    factors: tuple[str, ...]


def _volatile(name: str, kind: ColumnType, description: str, *, optional: bool = False) -> Column:
    return Column(name, kind, description, "volatile", optional)


_RUN = _volatile("run_id", "id", "The run this row belongs to.")
_SESSION = Column("session_id", "id", "The session (or prelude) this row belongs to.")
_SEQ = _volatile("seq", "integer", "Place in the journal of the entry this row was made from.")
_TURN = Column(
    "turn", "integer", "Turn in which it happened; 0 while the session was being set up."
)

_SESSIONS = Table(
    "sessions",
    "One row per session that has ended; at the end of a run, one per planned session.",
    (
        _RUN,
        Column("session_id", "id", "The session: a content hash, the same in every such run."),
        Column("round", "integer", "Round number from 0: the unit that statistics pair on."),
        Column("seed", "integer", "Seed shared by all variants of the same round and scenario."),
        Column("scenario", "id", "Name of the scenario pack."),
        Column("kind", "id", "Kind of scenario, e.g. `playtest`."),
        Column(
            "outcome",
            "id",
            "`completed`, `timeout`, `failed` (the system under test broke), `errored` "
            "(infrastructure) or `censored` (cap or interrupt: says nothing about the variant).",
        ),
        Column(
            "error_class",
            "id",
            "Class of the error that ended the session; for a planned "
            "session that did not end, what stopped the run.",
            optional=True,
        ),
        Column("turns", "integer", "Turns played."),
        Column("calls", "integer", "Model calls that were answered or finally failed."),
        Column(
            "cost_usd",
            "number",
            "Settled cost of those calls in US dollars, without the share of the prelude.",
        ),
        Column("tokens_in", "integer", "Input tokens of those calls, cached ones included."),
        Column("tokens_out", "integer", "Output tokens of those calls."),
        Column(
            "duration_s",
            "number",
            "The session's own clock at its end, in seconds: model "
            "working time, without waits for limits, money and retries.",
        ),
        Column(
            "score", "number", "Primary metric; only for `completed` and `timeout`.", optional=True
        ),
        Column("simulated", "flag", "Whether any role was played by a simulated model."),
        Column("parent_session_id", "id", "Session this one was branched from.", optional=True),
        Column("parent_turn", "integer", "Turn it was branched after.", optional=True),
        Column("cost_nano", "integer", "`cost_usd` exactly, in nano-dollars (1e-9 USD)."),
        Column("end_reason", "text", "Why the session ended, in words.", optional=True),
        Column("launch_order", "integer", "Place in the launch order of the whole run."),
        Column(
            "prelude_id",
            "id",
            "Prelude whose result the session shares; its calls, turns "
            "and messages are under that id.",
            optional=True,
        ),
        _volatile("started_at", "time", "When the session was first opened.", optional=True),
        _volatile("ended_at", "time", "When the session ended.", optional=True),
        _volatile(
            "seq",
            "integer",
            "Place in the journal of the session's end; null in a row "
            "that was added for a planned session that did not end.",
            optional=True,
        ),
    ),
    sort=("launch_order", "session_id"),
    key=("session_id",),
)

_TURNS = Table(
    "turns",
    "One row per checkpoint: the start of a session, each turn, and the finish.",
    (
        _RUN,
        _SESSION,
        Column(
            "turn",
            "integer",
            "Turn number from 1; 0 for the start; the last turn's for the finish.",
        ),
        Column("phase", "id", "`start`, `turn` or `finish`."),
        Column("messages", "integer", "Messages that it added to the log."),
        Column("events", "integer", "Events that it recorded."),
        Column("scores", "integer", "Scores that it recorded."),
        Column("calls", "integer", "Model calls that it made."),
        Column("tokens_in", "integer", "Input tokens of those calls."),
        Column("tokens_out", "integer", "Output tokens of those calls."),
        Column("cost_usd", "number", "Settled cost of those calls in US dollars."),
        Column("cost_nano", "integer", "`cost_usd` exactly, in nano-dollars."),
        Column("duration_s", "number", "Seconds by which it moved the session's clock."),
        Column("clock_s", "number", "The session's clock after it, in seconds."),
        Column("total_cost_usd", "number", "Settled cost of the session so far, in US dollars."),
        Column("total_cost_nano", "integer", "`total_cost_usd` exactly, in nano-dollars."),
        _volatile("ended_at", "time", "When the checkpoint was recorded."),
        _SEQ,
    ),
    sort=("session_id", "seq"),
    key=("session_id", "phase", "turn"),
)

_MESSAGES = Table(
    "messages",
    "One row per message of a session's log; history is never stored twice.",
    (
        _RUN,
        _SESSION,
        Column("position", "integer", "Place in the session's log, from 0."),
        _TURN,
        Column(
            "channel",
            "id",
            "`table` for what all hear, `private/<name>` for asides, "
            "`persona/<name>` for system prompts, or a name of the kind's own.",
        ),
        Column("speaker", "id", "Who says it."),
        Column("label", "id", "Classification or note.", optional=True),
        Column("text", "text", "The words."),
        _SEQ,
    ),
    sort=("session_id", "seq"),
    key=("session_id", "position"),
)

_CALLS = Table(
    "calls",
    "One row per attempt of a model call, preludes included; its costs add up to the run's.",
    (
        _RUN,
        _SESSION,
        Column("phase", "id", "`start`, `turn` or `finish`."),
        Column("turn", "integer", "Turn in which the call was made; 0 during the start."),
        Column(
            "slot",
            "id",
            "Place inside the turn, e.g. `1.0.2`: third call of the first child "
            "of the second step.",
        ),
        _volatile("attempt", "integer", "Attempt number of the call."),
        Column("role", "id", "Role that was asked."),
        Column("model", "id", "Model that was asked, aliases resolved."),
        _volatile(
            "disposition",
            "id",
            "`settled` (cost reported), `released` (cost nothing) or "
            "`presumed` (no usage known: the whole hold counts as spent).",
        ),
        Column(
            "error_class", "id", "Class of the error that this attempt ended in.", optional=True
        ),
        Column("tokens_in", "integer", "Input tokens, cached and cache-write ones included."),
        Column(
            "tokens_out",
            "integer",
            "Output tokens, reasoning included where the provider counts it so.",
        ),
        Column("tokens_cached", "integer", "Input tokens read from the provider's cache."),
        Column("tokens_cache_write", "integer", "Input tokens written to the provider's cache."),
        Column("tokens_reasoning", "integer", "Output tokens spent on reasoning."),
        _volatile("held_usd", "number", "Money set aside for the attempt, in US dollars."),
        _volatile("held_nano", "integer", "`held_usd` exactly, in nano-dollars."),
        _volatile(
            "cost_usd", "number", "What the attempt cost, settled or presumed, in US dollars."
        ),
        _volatile("cost_nano", "integer", "`cost_usd` exactly, in nano-dollars."),
        _volatile("waited_s", "number", "Seconds from asking to being granted."),
        _volatile("took_s", "number", "Wall time of the attempt, in seconds."),
        Column(
            "duration_s",
            "number",
            "Model working time of the answer, in seconds: what moves the session's clock.",
            optional=True,
        ),
        Column(
            "finish_reason", "id", "Why the model stopped, e.g. `stop` or `length`.", optional=True
        ),
        Column("digest", "text", "Content hash of the logical request."),
        Column(
            "answered",
            "flag",
            "Whether this attempt ended its call, with an answer or with "
            "the final error in `error_class`.",
        ),
        _volatile("started_at", "time", "When the attempt was sent."),
        _volatile("settled_at", "time", "When its settlement was recorded."),
        _volatile("hold_id", "integer", "The hold of this attempt: unique in the run."),
        _SEQ,
    ),
    sort=("session_id", "seq"),
    key=("session_id", "phase", "turn", "slot"),
    compared="answered",
)

_SCORES = Table(
    "scores",
    "One row per named measured value.",
    (
        _RUN,
        _SESSION,
        Column(
            "turn", "integer", "Turn that was scored; null for the whole session.", optional=True
        ),
        Column("name", "id", "Name of the value; `score` is the session's primary metric."),
        Column("value", "number", "The value; null where it could not be measured.", optional=True),
        Column("label", "id", "The verdict in a word, where there is one.", optional=True),
        Column("reason", "text", "Why, in the judge's words.", optional=True),
        Column("judge_model", "id", "Model that judged.", optional=True),
        Column("rubric_hash", "id", "Content hash of the rubric it judged by.", optional=True),
        _SEQ,
    ),
    sort=("session_id", "seq"),
    key=("session_id", "turn", "name"),
)

_EVENTS = Table(
    "events",
    "One row per thing that happened in a session: pulse, tangent, private moment, issue ...",
    (
        _RUN,
        _SESSION,
        _TURN,
        Column("kind", "id", "What happened."),
        Column("subject", "id", "Whom or what it concerns.", optional=True),
        Column("detail", "text", "More about it, in words.", optional=True),
        Column("value", "number", "A number that belongs to it.", optional=True),
        Column("severity", "id", "How serious it is.", optional=True),
        Column("position", "integer", "Place among the session's events, from 0."),
        _SEQ,
    ),
    sort=("session_id", "seq"),
    key=("session_id", "position"),
)

_PLAYERS = Table(
    "players",
    "One row per member of a group.",
    (
        _RUN,
        _SESSION,
        Column("name", "id", "Name at the table."),
        Column("archetype", "id", "Archetype the player was made from."),
        Column("model", "id", "Model that plays it."),
        Column("is_spokesperson", "flag", "Whether it speaks for the group."),
        Column("mood", "id", "Mood at the start."),
        _SEQ,
    ),
    sort=("session_id", "seq"),
    key=("session_id", "name"),
)

TABLES: Final[Mapping[TableName, Table]] = {
    table.name: table
    for table in (_CALLS, _TURNS, _MESSAGES, _EVENTS, _SCORES, _PLAYERS, _SESSIONS)
}
"""Every table, in the order in which a range of the journal becomes visible: a session's own row
last, so that whoever sees it finds its turns, messages and scores as well."""

_FACTORS_AFTER: Final = "kind"


def table_named(name: str) -> Table:
    """The declaration of a table.

    Raises:
        StoreError: There is no such table.
    """
    for table in TABLES.values():
        if table.name == name:
            return table
    raise StoreError(
        f"no table {name!r}; the tables are {', '.join(sorted(TABLES))}"
        f"{did_you_mean(name, sorted(TABLES))}"
    )


def factor_columns(factors: Iterable[str]) -> dict[str, str]:
    """Factor -> its column in ``sessions``: its own name, or ``factor_<name>`` on a collision.

    Names that differ in case only collide too, because SQL engines do not tell them apart.
    """
    taken = {column.name for column in _SESSIONS.columns}
    names: dict[str, str] = {}
    for factor in factors:
        name = factor
        while name.casefold() in taken:
            name = f"factor_{name}"
        taken.add(name.casefold())
        names[factor] = name
    return names


def columns_of(table: Table, factors: Iterable[str]) -> tuple[Column, ...]:
    """Columns of a table in a run with these factors; they are columns of ``sessions`` only."""
    if table.name != "sessions":
        return table.columns
    levels = tuple(
        Column(name, "id", f"Level of the factor `{factor}`.", optional=True)
        for factor, name in factor_columns(factors).items()
    )
    place = 1 + next(
        index for index, column in enumerate(table.columns) if column.name == _FACTORS_AFTER
    )
    return table.columns[:place] + levels + table.columns[place:]
