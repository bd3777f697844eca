"""What went wrong in a run, issue by issue with its turn and quote, and what of it is new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from sys import intern
from typing import Any, Final, NamedTuple

from matrix.store.reading.reader import RunTables
from matrix.store.tables.tables import factor_columns

_SERIOUS: Final = {"error": 0, "warning": 1}
_COLUMNS: Final = ("session_id", "turn", "kind", "subject", "detail", "severity", "position")
NEW, GONE, STILL = "new", "gone", "still there"


class Issue(NamedTuple):
    """One problem that a session's kind told of.

    Attributes:
        kind: What it is.
        severity: ``error`` or ``warning``.
        session, turn: Where it is.
        scenario, levels: Of that session.
        subject: Whom or what it concerns.
        quote: What was said, or what is wrong, in the kind's words.
    """

    kind: str
    severity: str
    session: str
    turn: int
    scenario: str
    levels: Mapping[str, str]
    subject: str
    quote: str


class IssueChange(NamedTuple):
    """One kind of issue in two runs, counted in places that both have played.

    Attributes:
        kind: The kind of issue.
        new, gone, still: Places that have it now and had not, had it and have not, have and had.
        example: The first of the new ones.
    """

    kind: str
    new: int
    gone: int
    still: int
    example: Issue | None

    @property
    def standing(self) -> str:
        """What became of it over all places."""
        if self.still or (self.new and self.gone):
            return STILL
        return NEW if self.new else GONE


class Since(NamedTuple):
    """What went wrong in a run against an earlier one.

    Attributes:
        run: The earlier run.
        places: Places that both have played.
        pairs_on: What a place is: round, scenario, and factors that have levels in common.
        same_draws: Whether rounds of one number have the same groups and draws in both.
        changes: Of each kind of issue that either has.
    """

    run: str
    places: int
    pairs_on: tuple[str, ...]
    same_draws: bool
    changes: tuple[IssueChange, ...]


def issues_in(tables: RunTables) -> list[Issue]:
    """Every problem of a run, the most serious first, then in the order of sessions and turns.

    Raises:
        StoreError: A table is damaged.
    """
    factors = factor_columns(tables.run.spec.get("factors") or {})
    columns = ["session_id", "scenario", "launch_order", *dict.fromkeys(factors.values())]
    sessions = tables.frame("sessions", columns).drop_duplicates("session_id", keep="last")
    # of a session once, as a large run has many issues
    rows = {
        str(row["session_id"]): (
            row["launch_order"],
            str(row["scenario"]),
            {name: str(row[column]) for name, column in factors.items()},
        )
        for row in sessions.to_dict("records")
    }
    found: list[tuple[tuple[int, int, int, int], Issue]] = []
    for piece in tables.pieces("events", _COLUMNS):
        for event in piece.filter(piece["severity"].is_valid()).to_pylist():
            row = rows.get(event["session_id"])
            if row is None:
                continue
            launched, scenario, levels = row
            order = (_SERIOUS.get(event["severity"], 2), launched)
            issue = _issue(event, scenario, levels)
            found.append(((*order, event["turn"], event["position"]), issue))
    return [one for _, one in sorted(found, key=lambda pair: pair[0])]


def _issue(event: Mapping[str, Any], scenario: str, levels: Mapping[str, str]) -> Issue:
    return Issue(
        intern(event["kind"]),
        intern(event["severity"]),
        event["session_id"],
        int(event["turn"]),
        scenario,
        levels,
        event["subject"] or "",
        event["detail"] or "",
    )


def issues_since(now: RunTables, issues: Sequence[Issue], before: RunTables) -> Since:
    """Which kinds of issue are new, gone or still there, place by place.

    A place is a round, a scenario and the levels of factors that both runs have levels of in
    common; what only one of them has played says nothing.

    Raises:
        StoreError: A table is damaged.
    """
    shared = _shared_factors(now, before)
    places, earlier = _places(now, shared), _places(before, shared)
    both = set(places.values()) & set(earlier.values())
    has = _kinds_at(issues, places, both)
    had = _kinds_at(issues_in(before), earlier, both)
    first: dict[str, Issue] = {}
    for one in issues:
        place = places.get(one.session)
        if place in both and place not in had.get(one.kind, set()):
            first.setdefault(one.kind, one)
    changes = [
        IssueChange(
            kind,
            len(has.get(kind, set()) - had.get(kind, set())),
            len(had.get(kind, set()) - has.get(kind, set())),
            len(has.get(kind, set()) & had.get(kind, set())),
            first.get(kind),
        )
        for kind in sorted({*has, *had})
    ]
    changes.sort(key=lambda one: (one.standing != NEW, one.standing == GONE, -one.new))
    same = now.run.spec.get("seed") == before.run.spec.get("seed")
    pairs_on = ("round", "scenario", *shared)
    return Since(before.run.run_id, len(both), pairs_on, same, tuple(changes))


Place = tuple[str, ...]


def _shared_factors(now: RunTables, before: RunTables) -> list[str]:
    factors = [run.run.spec.get("factors") or {} for run in (now, before)]
    return [
        name
        for name in factors[0]
        if name in factors[1] and set(map(str, factors[0][name])) & set(map(str, factors[1][name]))
    ]


def _places(tables: RunTables, shared: list[str]) -> dict[str, Place]:
    """Session that has ended -> where it was played."""
    columns = factor_columns(tables.run.spec.get("factors") or {})
    place = ["round", "scenario", *(columns[name] for name in shared)]
    frame = tables.frame("sessions", ["session_id", "outcome", *place])
    frame = frame[frame["outcome"].isin(["completed", "timeout", "failed"])]
    rows = frame[["session_id", *place]].itertuples(index=False, name=None)
    return {str(session): tuple(map(str, there)) for session, *there in rows}


def _kinds_at(
    issues: Sequence[Issue], places: Mapping[str, Place], both: set[Place]
) -> dict[str, set[Place]]:
    found: dict[str, set[Place]] = {}
    for one in issues:
        place = places.get(one.session)
        if place in both:
            assert place is not None
            found.setdefault(one.kind, set()).add(place)
    return found
