"""The tables, as declarations: every column with its type, its meaning and its mark."""

from __future__ import annotations

from matrix.store.run.schema import Column, Table, volatile

_RUN = volatile("run_id", "id", "The run this row belongs to.")
_SESSION = Column("session_id", "id", "The session (or prelude) this row belongs to.")
_SEQ = volatile("seq", "integer", "Place in the journal of the entry this row was made from.")
_TURN = Column(
    "turn", "integer", "Turn in which it happened; 0 while the session was being set up."
)

SESSIONS = Table(
    "sessions",
    "One row per session that has ended; at the end of a run, one per planned session.",
    (
        _RUN,
        Column("session_id", "id", "The session: a content hash, the same in every such run."),
        Column(
            "round",
            "integer",
            "Round number from 0: the unit that statistics pair on. In "
            "a branched run, the moment that was branched from.",
        ),
        Column("seed", "integer", "Seed shared by all variants of the same round and scenario."),
        Column("scenario", "id", "Name of the scenario pack."),
        Column("kind", "id", "Kind of scenario, by its name."),
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
        Column("turns", "integer", "Turns that came to their end."),
        Column("calls", "integer", "Model calls that were answered or finally failed."),
        Column(
            "cost_usd",
            "number",
            "Cost of those calls in US dollars, settled or presumed, without the share of the "
            "prelude.",
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
            "score",
            "number",
            "Primary metric; only for `completed` and `timeout`, and null there too if the judge "
            "that has part in it could not be read.",
            optional=True,
        ),
        Column(
            "simulated",
            "flag",
            "Whether a simulated model plays any role of the session; `run.json` says which.",
        ),
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
        volatile("started_at", "time", "When the session was first opened.", optional=True),
        volatile("ended_at", "time", "When the session ended.", optional=True),
        volatile(
            "parent_run", "id", "Run of the session this one was branched from.", optional=True
        ),
        Column(
            "changed",
            "text",
            "What is other than in the parent session, as `option=level`; null for nothing.",
            optional=True,
        ),
        Column(
            "repeat",
            "integer",
            "Number from 1 among the continuations of one moment with the same change.",
            optional=True,
        ),
        volatile(
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

TURNS = Table(
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
        Column("cost_usd", "number", "Cost of those calls in US dollars, settled or presumed."),
        Column("cost_nano", "integer", "`cost_usd` exactly, in nano-dollars."),
        Column("duration_s", "number", "Seconds by which it moved the session's clock."),
        Column("clock_s", "number", "The session's clock after it, in seconds."),
        Column("total_cost_usd", "number", "Cost of the session so far, in US dollars."),
        Column("total_cost_nano", "integer", "`total_cost_usd` exactly, in nano-dollars."),
        volatile("ended_at", "time", "When the checkpoint was recorded."),
        _SEQ,
    ),
    sort=("session_id", "seq"),
    key=("session_id", "phase", "turn"),
)

MESSAGES = Table(
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
        Column(
            "confidence",
            "number",
            "How sure the classification is, 0 to 1, where it says so.",
            optional=True,
        ),
        Column("text", "text", "The words."),
        _SEQ,
    ),
    sort=("session_id", "seq"),
    key=("session_id", "position"),
)

CALLS = Table(
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
        volatile("attempt", "integer", "Attempt number of the call."),
        Column("role", "id", "Role that was asked."),
        Column("agent", "id", "Player or agent that asked.", optional=True),
        Column("tag", "id", "What it was asked for: a rubric, a stage.", optional=True),
        Column("model", "id", "Model that was asked, aliases resolved."),
        volatile(
            "answered_by",
            "id",
            "The provider's own name of the model that answered.",
            optional=True,
        ),
        volatile(
            "disposition",
            "id",
            "`settled` (cost reported), `released` (cost nothing), `presumed` (no usage known: "
            "the whole hold counts as spent) or `cached` (answered from an earlier run's answer: "
            "never sent, cost nothing).",
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
        volatile("held_usd", "number", "Money set aside for the attempt, in US dollars."),
        volatile("held_nano", "integer", "`held_usd` exactly, in nano-dollars."),
        volatile(
            "cost_usd",
            "number",
            "What the attempt cost, settled or presumed, up to its hold, in US dollars.",
        ),
        volatile("cost_nano", "integer", "`cost_usd` exactly, in nano-dollars."),
        volatile("waited_s", "number", "Seconds from asking to being granted."),
        volatile("took_s", "number", "Wall time of the attempt, in seconds."),
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
        volatile("started_at", "time", "When the attempt was sent."),
        volatile("settled_at", "time", "When its settlement was recorded."),
        volatile("hold_id", "integer", "The hold of this attempt: unique in the run."),
        volatile(
            "saved_usd",
            "number",
            "What a `cached` answer cost when it was bought, in US dollars; 0 for the others.",
        ),
        volatile("saved_nano", "integer", "`saved_usd` exactly, in nano-dollars."),
        volatile(
            "overrun_usd",
            "number",
            "What the attempt cost above its hold, which `cost_usd` leaves out, in US dollars.",
        ),
        volatile("overrun_nano", "integer", "`overrun_usd` exactly, in nano-dollars."),
        _SEQ,
    ),
    sort=("session_id", "seq"),
    key=("session_id", "phase", "turn", "slot"),
    compared="answered",
)

SCORES = Table(
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

EVENTS = Table(
    "events",
    "One row per thing that happened in a session, as its kind tells it.",
    (
        _RUN,
        _SESSION,
        _TURN,
        Column("kind", "id", "What happened."),
        Column("subject", "id", "Whom or what it concerns.", optional=True),
        Column("detail", "text", "More about it, in words.", optional=True),
        Column("value", "number", "A number that belongs to it.", optional=True),
        Column("severity", "id", "How serious it is.", optional=True),
        Column("data", "text", "More about it, for programs: JSON.", optional=True),
        Column("position", "integer", "Place among the session's events, from 0."),
        _SEQ,
    ),
    sort=("session_id", "seq"),
    key=("session_id", "position"),
)

EFFECTS = Table(
    "effects",
    "One row per thing that a session did to the world and that is recorded: a command, an agent's "
    "turn. One that failed in a call of its own is in `calls` only.",
    (
        _RUN,
        _SESSION,
        Column("phase", "id", "`start`, `turn` or `finish`."),
        _TURN,
        Column("slot", "text", "Its place inside the turn, as in `calls`."),
        Column("name", "text", "What was done, e.g. `command pytest` or `agent claude-code`."),
        Column(
            "exit_code",
            "integer",
            "The command's. If a signal ended it: minus its number, or 128 plus it, as shells tell "
            "it, for a gateway's command and one in a sandbox. Null if it took too long or there "
            "is none.",
            optional=True,
        ),
        volatile("out_bytes", "integer", "Bytes that it printed."),
        volatile("err_bytes", "integer", "Bytes that it printed as errors."),
        volatile(
            "truncated", "flag", "Whether some of them were not kept: 256 KiB of each are, at most."
        ),
        Column(
            "changed_bytes",
            "integer",
            "Bytes of the files in the working folder that it left new or changed.",
        ),
        Column("failure", "id", "Class of the error that it ended with.", optional=True),
        volatile("took_s", "number", "Wall time, in seconds."),
        volatile("done_at", "time", "When it was recorded."),
        _SEQ,
    ),
    sort=("session_id", "seq"),
    key=("session_id", "phase", "turn", "slot"),
)

PLAYERS = Table(
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
