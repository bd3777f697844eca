"""How the sessions of a run ended: is there anything to go by, and what went wrong?"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from matrix.engine.prepare.judges import names_of
from matrix.engine.wire.defects import is_defect
from matrix.model.records import JSON, OUTCOMES
from matrix.report.text import one_line, plural
from matrix.store.reading.reader import RunTables
from matrix.telemetry.redaction import Redactor, secrets_in

ENDING_COLUMNS: Final = ("session_id", "outcome", "error_class", "end_reason", "score", "seq")
"""Columns of ``sessions`` that are read for this."""

_CAME_TO_AN_END: Final = ("completed", "timeout")


@dataclass(frozen=True, slots=True)
class ErrorClass:
    """Sessions that did not do what they should, of one class.

    Attributes:
        name: The class of the error, or the outcome where the kind itself ended them.
        sessions: How many there are.
        newest: The one that ended last.
        reason: Why that one ended, in one line.
    """

    name: str
    sessions: int
    newest: str
    reason: str


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
    scored, usable = _scored(tables, sessions)
    return Endings(
        outcomes={outcome: int(counts.get(outcome, 0)) for outcome in OUTCOMES},
        scored=scored,
        usable=usable,
        errors=tuple(_classes(failing, "error_class", redactor)),
        losses=tuple(_classes(lost, "outcome", redactor)),
        defect=_first_defect(errored, redactor),
    )


def _scored(tables: RunTables, sessions: Any) -> tuple[int, int]:
    """Sessions that ended with a score, and those that there is something to go by of.

    The score is the one called ``score``. Where no session has one, that is a fault of the run only
    if the kind gives scores at all, which its tables tell: a score that could not be read is a row.
    A rejudging has what it was made for where listed judges have scored, whatever the kind's own
    judge has come to.
    """
    over = sessions[sessions["outcome"].isin(_CAME_TO_AN_END)]
    scored = int(over["score"].notna().sum())
    if scored or not len(over):
        return scored, scored
    final = tables.frame("scores", ("session_id", "name", "value", "turn"))
    final = final[final["turn"].isna()]
    if not len(final):
        if tables.run.kind_facts is not None:
            return 0, 0  # a kind of one's own, which was to score and never did
        return 0, int(over["error_class"].isna().sum())  # a cap of its own is no end of its own
    branched = tables.run.branched
    if branched is not None and branched.mode == "rejudge" and (names := names_of(tables.run.spec)):
        final = final[final["name"].isin(names)]  # it was made for these
    elif (final["name"] == "score").any():
        return 0, 0
    valued = final.loc[final["value"].notna(), "session_id"]
    scored = int(over["session_id"].isin(valued).sum())
    return scored, scored


def _classes(failing: Any, column: str, redactor: Redactor) -> list[ErrorClass]:
    found = []
    for name, those in failing.groupby(column, observed=True, dropna=True):
        newest = those.iloc[-1]
        reason = one_line(redactor.text(str(newest["end_reason"] or "")))
        found.append(ErrorClass(str(name), len(those), str(newest["session_id"]), reason))
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
            }
            for one in (*endings.errors, *endings.losses)
        ],
        "defect": None
        if defect is None
        else {"session_id": defect.session_id, "traceback": defect.traceback},
    }
