"""Averages of every metric by scenario, by factor, and by whatever else a kind divides sessions by.

They describe, and test nothing: what is shown to be better is the comparison's to say.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from matrix.kinds.reporting import GroupsSessions
from matrix.model.errors import BadInput, Mistake, did_you_mean
from matrix.model.metrics import (
    FAILED,
    SESSION_METRICS,
    UNDIRECTED,
    judged_outcome,
    lower_is_better,
)
from matrix.model.records import PLAYED, Player
from matrix.report.text import score_digits
from matrix.store.reading.reader import RunTables
from matrix.store.reading.session_scores import session_scores
from matrix.store.reading.told import units_in, untold_in
from matrix.store.tables.tables import factor_columns

SCENARIO: Final = "scenario"
STORY: Final = "story"
"""Another word for a scenario."""
_REPEATS: Final = "judge."
_COLUMNS: Final = (
    "session_id", "round", "scenario", "outcome", "error_class", "end_reason", "launch_order",
    *SESSION_METRICS,
)  # fmt: skip


class Average(NamedTuple):
    """One metric in one group: mean and standard deviation of ``sessions`` that have it.

    ``spread`` is ``None`` of fewer than two.
    """

    mean: float
    spread: float | None
    sessions: int


class Grouping(NamedTuple):
    """One way of dividing a run's sessions.

    Attributes:
        name: What they are divided by.
        sizes: Level -> sessions that were played; one may be in several groups.
        averages: Metric -> level -> average, where any session has one.
        overlaps: Whether any session is in several groups.
        score_digits: Decimals of a score.
        directions: Metric -> 1 where more is better, -1 where less is; nothing of any other.
    """

    name: str
    sizes: Mapping[str, int]
    averages: Mapping[str, Mapping[str, Average]]
    overlaps: bool = False
    score_digits: int = 1
    directions: Mapping[str, int] = {}


class Configuration(NamedTuple):
    """One combination of levels, over all scenarios; ``score`` is ``None`` where none has one.

    ``failed`` and ``usd`` are ``None`` where the files of imported results do not tell them.
    """

    levels: Mapping[str, str]
    score: float | None
    sessions: int
    scored: int
    failed: int | None
    usd: float | None


class ScenarioCost(NamedTuple):
    """What the sessions of a scenario cost in dollars, whatever became of them."""

    scenario: str
    sessions: int
    usd: float


class RankedSession(NamedTuple):
    """A session by its score; ``unit`` is what an imported one is paired on, by its own name."""

    session: str
    score: float
    scenario: str
    levels: Mapping[str, str]
    outcome: str
    unit: str | None = None


class Grouped:
    """A run's sessions with every metric, to be divided."""

    def __init__(
        self,
        tables: RunTables,
        of_kind: Collection[str],
        kind: GroupsSessions | None,
        undirected: Collection[str] = (),
    ) -> None:
        """Read them.

        Args:
            tables: The run's.
            of_kind: Scores of which less is better.
            kind: Its kind, if that divides sessions by who takes part in them.
            undirected: Scores of which neither more nor less is better.

        Raises:
            StoreError: A table is damaged.
        """
        spec = tables.run.run_spec
        self.lower, self._undirected = of_kind, UNDIRECTED.union(undirected)
        self._imported = tables.run.imported
        self.factors = factor_columns(tables.run.spec.get("factors") or {})
        needed = dict.fromkeys([*_COLUMNS, *self.factors.values()])
        frame = tables.frame("sessions", list(needed))
        frame = frame.drop_duplicates("session_id", keep="last")
        frame = frame.sort_values(["launch_order", "session_id"]).reset_index(drop=True)
        limit = spec.compare.turn_limit
        ends = zip(frame["outcome"].astype(str), frame["error_class"], strict=True)
        judged = [judged_outcome(end, _text(error), limit) for end, error in ends]  # type: ignore[arg-type]
        frame["ends"] = judged
        begun = frame[frame["cost_usd"].notna()].groupby("scenario", observed=True, sort=False)
        spent = begun["cost_usd"].agg(["size", "sum"])
        frame = frame[frame["ends"].isin(PLAYED)].reset_index(drop=True)
        frame["session_id"] = frame["session_id"].astype(str)
        self.frame = frame
        untold = untold_in(tables)
        self.costs = [
            ScenarioCost(str(name), int(row["size"]), float(row["sum"]))
            for name, row in spent.iterrows()
            if "cost_usd" not in untold
        ]
        known = _metrics(tables, frame)
        self.metrics = {name: values for name, values in known.items() if name not in untold}
        self.score_digits = score_digits(tables.run.plan.score_range)
        self._untold, self._units = untold, units_in(tables)
        self._called = {STORY: SCENARIO, **({} if kind is None else kind.also_called)}
        self._members = {} if kind is None else _members(tables, kind, frame["session_id"].tolist())

    @property
    def names(self) -> list[str]:
        """What sessions can be divided by, in the order in which it is told."""
        found = [SCENARIO, *self.factors]
        return [*found, *(name for name in self._members if name not in found)]

    def by(self, name: str) -> Grouping:
        """Averages by one of ``names``, or by what people also call it.

        Raises:
            BadInput: There is nothing of this name.
        """
        known = self.names
        chosen = name if name in known else self._called.get(name, name)
        if chosen not in known:
            told = f"found {name!r}; can be all, {', '.join(known)}{did_you_mean(name, known)}"
            raise BadInput([Mistake("--by", None, "", told)])
        masks = self._masks(chosen)
        averages: dict[str, dict[str, Average]] = {}
        for metric, values in self.metrics.items():
            of_levels = {level: _average(values[mask]) for level, mask in masks.items()}
            present = {level: one for level, one in of_levels.items() if one is not None}
            if present:
                averages[metric] = present
        sizes = {level: int(mask.sum()) for level, mask in masks.items()}
        overlaps = sum(sizes.values()) > len(self.frame)
        found = {metric: self._direction(metric) for metric in averages}
        directions = {metric: sign for metric, sign in found.items() if sign}
        return Grouping(chosen, sizes, averages, overlaps, self.score_digits, directions)

    def _direction(self, metric: str) -> int:
        """1 where more is better, -1 where less is, 0 where nobody has said which."""
        if metric in self._undirected:
            return 0
        if self.less(metric):
            return -1
        # of columns of other people's files only the score is known to be good
        return 0 if self._imported and metric != "score" else 1

    def _masks(self, name: str) -> dict[str, Any]:
        if name in self._members:
            members = self._members[name]
            levels = sorted({level for own in members for level in own}, key=_as_sorted)
            return {level: np.array([level in own for own in members]) for level in levels}
        column = self.frame[self.factors.get(name, name)].astype(str)
        return {level: (column == level).to_numpy() for level in dict.fromkeys(column)}

    def ranking(self) -> list[Configuration]:
        """Combinations of levels, the best mean score first; those without a score are last."""
        columns = list(self.factors.values())
        if not columns:
            return []
        found = []
        for levels, own in self.frame.groupby(columns, observed=True, sort=False):
            scores = self.metrics["score"][own.index]
            average = _average(scores)
            found.append(
                Configuration(
                    dict(zip(self.factors, map(str, levels), strict=True)),
                    None if average is None else average.mean,
                    len(own),
                    0 if average is None else average.sessions,
                    None if FAILED in self._untold else int((own["ends"] != "completed").sum()),
                    None if "cost_usd" in self._untold else float(own["cost_usd"].sum() / len(own)),
                )
            )
        sign = 1.0 if self.less("score") else -1.0
        return sorted(found, key=lambda one: (one.score is None, sign * (one.score or 0.0)))

    def extremes(self, most: int) -> tuple[list[RankedSession], list[RankedSession]]:
        """The best and the worst sessions by score, so many of each, most extreme first.

        One that is as good as the best is not among the worst.
        """
        scores = pd.Series(self.metrics["score"]).dropna()
        ordered = scores.sort_values(ascending=self.less("score"), kind="stable")
        best = [self._ranked(int(row)) for row in ordered.index[:most]]
        below = ordered[ordered != ordered.iloc[0]] if len(ordered) else ordered
        worst = [self._ranked(int(row)) for row in below.index[::-1][:most]]
        return best, worst

    def less(self, metric: str) -> bool:
        """Whether less of it is better."""
        return lower_is_better(metric, self.lower)

    def _ranked(self, index: int) -> RankedSession:
        row = self.frame.loc[index]
        levels = {name: str(row[column]) for name, column in self.factors.items()}
        score = float(self.metrics["score"][index])
        session = str(row["session_id"])
        unit = self._units.get(session)
        return RankedSession(
            session, score, str(row["scenario"]), levels, str(row["outcome"]), unit
        )


def _metrics(tables: RunTables, frame: pd.DataFrame) -> dict[str, Any]:
    """Metric -> a value for each session, NaN where it has none; the score first.

    Sessions that failed have what was measured of them, as means without them would be those of
    survivors; only a score that no comparison takes is no score here either.
    """
    failed = (frame["ends"] != "completed").to_numpy(dtype=float)
    found = {name: frame[name].to_numpy(dtype=float) for name in SESSION_METRICS}
    found[FAILED] = failed
    scores = session_scores(tables, frame["session_id"].tolist(), _is_told)
    found |= {name: scores[name] for name in sorted(scores) if name not in found}
    scored = frame["ends"].isin(("completed", "timeout")).to_numpy()
    return found | {"score": np.where(scored, found["score"], np.nan)}


def _is_told(name: str) -> bool:
    return not name.startswith(_REPEATS)


def _members(
    tables: RunTables, kind: GroupsSessions, sessions: Sequence[str]
) -> dict[str, list[frozenset[str]]]:
    """What the kind divides by -> the groups of each session; nothing where nobody is known."""
    players = tables.frame("players", ["session_id", *Player._fields, "seq"])
    if players.empty:
        return {}
    latest = players.sort_values("seq").drop_duplicates(["session_id", "name"], keep="last")
    present: dict[str, list[Player]] = {}
    rows = latest[["session_id", *Player._fields]].itertuples(index=False, name=None)
    for session, *player in rows:
        present.setdefault(str(session), []).append(Player(*player))
    groups = [kind.groups_of(present.get(one, ())) for one in sessions]
    return {name: [own[name] for own in groups] for name in (groups[0] if groups else ())}


def _average(values: Any) -> Average | None:
    present = values[~np.isnan(values)]
    if not len(present):
        return None
    spread = float(present.std(ddof=1)) if len(present) > 1 else None
    return Average(float(present.mean()), spread, len(present))


def _as_sorted(level: str) -> tuple[int, str]:
    return (int(level) if level.isdecimal() else 0, level)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
