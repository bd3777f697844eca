"""How a run and its sessions ended: is there anything to go by, and what went wrong?"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from matrix.engine.prepare.judges import names_of
from matrix.engine.wire.defects import is_defect
from matrix.model.metrics import FAILED, SESSION_METRICS
from matrix.model.records import JSON, OUTCOMES
from matrix.report.text import one_line, plural
from matrix.store.reading.reader import RunTables
from matrix.telemetry.redaction import Redactor, secrets_in

ENDING_COLUMNS: Final = ("session_id", "outcome", "error_class", "end_reason", "score", "seq")
"""Columns of ``sessions`` that are read for this."""

_MOST_REASONS: Final = 20
"""Reasons of a class that programs are told, those of most sessions first."""
_CAME_TO_AN_END: Final = ("completed", "timeout")


@dataclass(frozen=True, slots=True)
class ErrorClass:
    """Sessions that did not do what they should, of one class.

    Attributes:
        name: The class of the error, or the outcome where the kind itself ended them.
        sessions: How many there are.
        newest: The one that ended last.
        reason: Why that one ended, in one line.
        reasons: Every reason, in one line each, and how many sessions ended for it, the most
            frequent first.
    """

    name: str
    sessions: int
    newest: str
    reason: str
    reasons: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Defect:
    """The first defect of the kind that a run came upon, with its traceback."""

    session_id: str
    traceback: str


@dataclass(frozen=True, slots=True)
class Endings:
    """What sessions came to.

    Attributes:
        outcomes: Outcome -> sessions.
        scored: Sessions that came to an end with a score.
        usable: The same; but of a kind that gives no scores, those that came to an end.
        errors: Classes of sessions that errored, or ended otherwise by an error, the most frequent
            first.
        others: Scores that sessions have where none has the compared one, and how many do.
        losses: Those that failed or reached a limit of time or turns without an error: the kind's
            own word on their variant.
        defect: The first defect of the kind, if there was one.
    """

    outcomes: Mapping[str, int]
    scored: int
    usable: int
    errors: tuple[ErrorClass, ...] = ()
    losses: tuple[ErrorClass, ...] = ()
    defect: Defect | None = None
    metric: str = "score"
    others: Mapping[str, int] = field(default_factory=dict)

    @property
    def errored(self) -> int:
        """Sessions that infrastructure, or a defect, has ended."""
        return self.outcomes["errored"]

    @property
    def ended(self) -> int:
        """Sessions that ended in any way but being cut short."""
        return sum(count for outcome, count in self.outcomes.items() if outcome != "censored")

    @property
    def errored_share(self) -> float:
        """Errored sessions among those that ended."""
        return self.errored / self.ended if self.ended else 0.0

    @property
    def problem(self) -> str:
        """Why nothing should be built on a run that has reached its end; empty if it can be."""
        if self.usable and self.usable >= self.errored:
            return ""
        if self.usable:
            what = "were scored" if self.scored else "came to an end"
            return f"more sessions errored ({self.errored:,}) than {what} ({self.usable:,})"
        if self.others:
            named = ", ".join(f"{name} has {n:,}" for name, n in self.others.items())
            first = next(iter(self.others))
            return (
                f"nothing has the compared metric {self.metric!r}: {named} values; "
                f"`--set compare.metric={first}` compares a new run on that, and "
                f"`matrix compare RUN --metric {first}` this one"
            )
        of, unscored = (
            plural(self.ended, "session"),
            sum(map(self.outcomes.__getitem__, _CAME_TO_AN_END)),
        )
        told = [
            f"{count:,} of {of} {what}"
            for count, what in (
                (self.errored, "errored"),
                (self.outcomes["failed"], "failed"),
                (unscored, "ended without a score"),
            )
            if count
        ]
        return f"nothing was scored: {', '.join(told) or 'no session has ended'}"


def endings_of(tables: RunTables, sessions: Any = None) -> Endings:
    """Read how the sessions of a run ended.

    Args:
        tables: The run's tables.
        sessions: Its sessions, with :data:`ENDING_COLUMNS` at least; read if left out.
    """
    if sessions is None:
        sessions = tables.frame("sessions", ENDING_COLUMNS)
    counts = sessions["outcome"].value_counts()
    errored = sessions[sessions["outcome"] == "errored"].sort_values("seq")
    lost = sessions[sessions["outcome"].isin(["errored", "failed", "timeout"])].sort_values("seq")
    by_error = lost["error_class"].fillna("") != ""  # a call that failed, a cap of its own
    failing, lost = lost[by_error], lost[~by_error & (lost["outcome"] != "errored")]
    redactor = Redactor(secrets_in(os.environ))
    found = _scored(tables, sessions)
    return Endings(
        outcomes={outcome: int(counts.get(outcome, 0)) for outcome in OUTCOMES},
        scored=found.scored,
        usable=found.usable,
        errors=tuple(_classes(failing, "error_class", redactor)),
        losses=tuple(_classes(lost, "outcome", redactor)),
        defect=_first_defect(errored, redactor),
        metric=tables.run.plan.metric,
        others=found.others,
    )


class _Scored(NamedTuple):
    """Sessions that ended with a score, those to go by, and other scores where none is compared."""

    scored: int
    usable: int
    others: Mapping[str, int] = {}


def _scored(tables: RunTables, sessions: Any) -> _Scored:
    """Sessions that ended with a score, and those that there is something to go by of.

    The score is the one called ``score``. Where no session has one, that is a fault of the run only
    if the kind gives scores at all, which its tables tell: a score that could not be read is a row.
    A rejudging has what it was made for where listed judges have scored, whatever the kind's own
    judge has come to. Of a kind of one's own, sessions without the score that is compared are
    nothing to go by, whatever else it gives.
    """
    over = sessions[sessions["outcome"].isin(_CAME_TO_AN_END)]
    scored, metric = int(over["score"].notna().sum()), tables.run.plan.metric
    own_kind = tables.run.kind_facts is not None
    asked = own_kind and metric not in {"score", FAILED, *SESSION_METRICS}
    if not len(over) or (scored and not asked):
        return _Scored(scored, scored)
    final = tables.frame("scores", ("session_id", "name", "value", "turn"))
    final = final[final["turn"].isna()]
    if scored:  # of something, which may not be what is compared
        others = _by_name(final[final["value"].notna()])
        return _Scored(scored, scored) if metric in others else _Scored(0, 0, others)
    if not len(final):
        if own_kind:
            return _Scored(0, 0)  # a kind of one's own, which was to score and never did
        # a cap of its own is no end of its own
        return _Scored(0, int(over["error_class"].isna().sum()))
    branched = tables.run.branched
    if branched is not None and branched.mode == "rejudge" and (names := names_of(tables.run.spec)):
        final = final[final["name"].isin(names)]  # it was made for these
    elif (final["name"] == "score").any():
        return _Scored(0, 0)
    final = final[final["value"].notna() & final["session_id"].isin(over["session_id"])]
    scored = int(over["session_id"].isin(final["session_id"]).sum())
    own = final[~final["name"].isin(names_of(tables.run.spec))]
    if own_kind and len(own) == len(final) and scored:
        compared = {*final["name"], *SESSION_METRICS, FAILED} - {"score"}
        if metric not in compared:
            return _Scored(0, 0, _by_name(own))
    return _Scored(scored, scored)


def _by_name(scores: Any) -> dict[str, int]:
    """Name of a score -> how many there are, the most frequent first."""
    return {str(name): int(count) for name, count in scores["name"].value_counts().items()}


def _classes(failing: Any, column: str, redactor: Redactor) -> list[ErrorClass]:
    found = []
    for name, those in failing.groupby(column, observed=True, dropna=True):
        newest = those.iloc[-1]
        counts = those["end_reason"].fillna("").astype(str).value_counts(sort=False)
        told = Counter[str]()
        for reason, count in counts.items():
            told[one_line(redactor.text(str(reason)))] += int(count)
        reason = one_line(redactor.text(str(newest["end_reason"] or "")))
        found.append(
            ErrorClass(
                str(name),
                len(those),
                str(newest["session_id"]),
                reason,
                tuple(told.most_common()),
            )
        )
    return sorted(found, key=lambda one: (-one.sessions, one.name))


def _first_defect(errored: Any, redactor: Redactor) -> Defect | None:
    for row in errored.itertuples():
        if is_defect(str(row.error_class)):
            told = str(row.end_reason or "")
            traceback = told.partition("\n")[2] or told
            return Defect(str(row.session_id), redactor.text(traceback))
    return None


def endings_as_data(endings: Endings) -> dict[str, JSON]:
    """The same for programs, beside the outcomes."""
    defect = endings.defect
    return {
        "scored": endings.scored,
        "reasons": [
            {
                "class": one.name,
                "sessions": one.sessions,
                "newest": one.newest,
                "reason": one.reason,
                "by_reason": [
                    {"reason": reason, "sessions": count}
                    for reason, count in one.reasons[:_MOST_REASONS]
                ],
            }
            for one in (*endings.errors, *endings.losses)
        ],
        "defect": None
        if defect is None
        else {"session_id": defect.session_id, "traceback": defect.traceback},
    }
