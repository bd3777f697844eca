"""Who competes with whom: sessions of several variants side by side, and what they pair on.

Only the columns that a comparison needs are read, each once, so that 100,000 sessions take seconds
and little memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from matrix.engine.prepare.judges import lower_is_better_of, names_of
from matrix.judging.repeats import MAX_REPEATS, SESSION_SCORE, repeat_name
from matrix.kinds.protocol import Kind, NamesScores
from matrix.model.errors import BadInput, Mistake, StoreError, did_you_mean
from matrix.model.metrics import FAILED, OF_FAILURES_TOO, SESSION_METRICS, lower_is_better
from matrix.model.spec.run_spec import RunSpec
from matrix.report.text import score_digits
from matrix.stats import complete_rounds
from matrix.stats.rounds.round_table import RoundTable
from matrix.store.reading.judgings import stacked
from matrix.store.reading.reader import RunTables
from matrix.store.reading.session_scores import session_scores
from matrix.store.reading.told import tells_failures, untold_in
from matrix.store.run.run_folder import RUN_FILE, read_run

COMPOSITE = "composite"
"""Another word for the primary score, as play-tests call theirs."""

AVERAGED = ("repeat", "moment")
"""What pairs agree on and is averaged within a unit."""

JUDGE = "judge."
"""How names of scores begin that are repeats of the judge."""

_OF_SCORE = ("session_id", "turn", "value")

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Matchup:
    """Sessions side by side. All arrays have one entry per session, m in all.

    Attributes:
        factor: What the variants are levels of; ``run`` for two runs.
        variants: Names of the competitors.
        unit: What an independent observation is called: ``round``, ``checkpoint``, ``repeat``.
        n_units: How many of them were planned.
        basis: What they are, in words that follow their number.
        scope: What a verdict is about where its flags do not say it; may be empty.
        strata: What pairs agree on within a unit, as words: scenario and levels of other factors.
        within: What a breakdown can be by -> the level of each stratum: ``scenario`` (of a branch,
            ``repeat``) and every other factor.
        ids: Session ids, by source.
        source: Which of ``sources`` a session is in.
        units: Its unit, from 0.
        places: Its stratum.
        sides: Its variant.
        outcomes: What its end means to a verdict (`judged_outcome`); ``dropped`` where a look made
            it needless.
        at_limit: Whether it had all its turns.
        cost_usd: What it cost.
        sources: The tables that the sessions are in.
        kind: What played them.
        spec: What was declared of the comparison before launch.
        metric: The metric that was declared.
        n_whole: Units that were planned with all their sessions.
        over: Whether no session is running or will be launched.
        simulated: What to say of simulated models in it; empty if there are none.
        dropped_later: Places (unit, stratum, variant) of a live run that a look made needless.
        looked_at_cap: Rounds at the one look of a plan that the cap ended; ``None`` without.
        unjudged: Places (unit, stratum, variant) of sessions that are not judged again with the
            rest of their run; their pairs count for nothing.
        absent: Places (unit, stratum, variant) of imported results that their files do not have,
            [n, 3]; their pairs count for nothing.
        padding: Places of a unit that has fewer moments than another, [n, 3]: they are at the mean
            of its others, so that every unit weighs the same.
        paired: Whether sessions of one unit belong together; else each variant is a sample.
        alike: Number of the pair that each stratum is a repeat of, where a unit's repeats are no
            pairs of their own; ``None`` where every stratum is one.
        grouped: Whether that is a sample of units, over the sessions of which scores are averaged.
        metrics: Every metric by name, NaN where a session has none; empty where only some are
            needed, which are then read when they are asked for.
        alone: Of two runs, the sessions of the longer one in rounds that the other has not, which
            are in no pair; ``None`` where there are none.
        shared_only: Whether ``n_units`` are not all that were planned: of two runs, one has more.
    """

    factor: str
    variants: tuple[str, ...]
    unit: str
    n_units: int
    basis: str
    scope: str
    strata: tuple[str, ...]
    within: Mapping[str, tuple[str, ...]]
    ids: npt.NDArray[np.object_]
    source: npt.NDArray[np.int64]
    units: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]
    sides: npt.NDArray[np.int64]
    outcomes: npt.NDArray[np.object_]
    at_limit: npt.NDArray[np.bool_]
    cost_usd: Floats
    sources: tuple[RunTables, ...]
    kind: Kind
    spec: RunSpec
    metric: str
    n_whole: int
    over: bool
    simulated: str
    dropped_later: Sequence[tuple[int, int, int]] = ()
    looked_at_cap: int | None = None
    unjudged: Sequence[tuple[int, int, int]] = ()
    absent: npt.NDArray[np.int64] | None = None
    padding: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 3), np.int64))
    paired: bool = True
    alike: tuple[int, ...] | None = None
    grouped: bool = False
    metrics: Mapping[str, Floats] = field(default_factory=dict)
    alone: Matchup | None = None
    shared_only: bool = False

    def with_metrics(self, judged: str) -> Matchup:
        """The same with every metric: the table ``scores`` is large, and is read in one pass.

        Args:
            judged: The metric whose repeats of the judge are wanted too; of ``score``, also those
                of its parts.
        """
        read: dict[str, Floats] = {}
        repeats = frozenset(repeat_name(number, judged) for number in range(1, MAX_REPEATS + 1))

        def requested(name: str) -> bool:
            return not name.startswith(JUDGE) or judged == SESSION_SCORE or name in repeats

        for index, tables in enumerate(self.sources):
            mine = np.flatnonzero(self.source == index)
            ids = self.ids[mine]
            frame = tables.frame("sessions", ["session_id", *SESSION_METRICS])
            by_id = frame.drop_duplicates("session_id", keep="last").set_index("session_id")
            of_sessions = by_id.reindex(ids)
            found = session_scores(tables, ids.tolist(), requested)
            found |= {name: of_sessions[name].to_numpy(dtype=float) for name in SESSION_METRICS}
            for name, values in found.items():
                read.setdefault(name, np.full(len(self.ids), np.nan))[mine] = values
        return replace(self, metrics=MappingProxyType(read))

    def judge_repeats(self, judged: str) -> Floats:
        """What each repeat makes of each session, [sessions, repeats]."""
        return stacked(self.metrics, len(self.ids), judged)

    def measured(self) -> list[str]:
        """Everything that sessions can be compared on; repeats left out."""
        names = {name for name in self.metrics if not name.startswith(JUDGE)}
        names -= {*SESSION_METRICS, FAILED}
        untold = self.untold
        return [one for one in (*SESSION_METRICS, FAILED) if one not in untold] + sorted(names)

    @property
    def untold(self) -> frozenset[str]:
        """What files of imported results do not tell: it is 0 in the tables, and means nothing."""
        return frozenset().union(*(untold_in(tables) for tables in self.sources))

    @property
    def failures_untold_by(self) -> tuple[str, ...]:
        """Runs, of one or two, whose files do not tell what failed."""
        found = [one.run.run_id for one in self.sources if not tells_failures(one.run)]
        return tuple(dict.fromkeys(found))

    def require_told(self, metric: str) -> None:
        """See that a metric is something that was measured.

        Raises:
            BadInput: Imported files do not tell it.
        """
        if metric in (untold := self.untold):
            known = [name for name in (*SESSION_METRICS, FAILED) if name not in untold]
            told = f"found {metric!r}, of which the imported files tell nothing; they have: "
            told += ", ".join([*known, *self.score_names()])
            raise BadInput([Mistake("--metric", None, "", told)])

    def values(self, metric: str) -> Floats:
        """A metric of every session; NaN where it has none.

        Raises:
            BadInput: No session has such a metric.
        """
        if metric == FAILED:
            return np.where(np.isin(self.outcomes, ("failed", "timeout")), 1.0, 0.0)
        if metric == "cost_usd":
            return self.cost_usd
        if metric in self.metrics:
            return self.metrics[metric]
        found = np.full(len(self.ids), np.nan)
        known = False
        for index, tables in enumerate(self.sources):
            mine = np.flatnonzero(self.source == index)
            if metric in SESSION_METRICS:
                table = tables.table("sessions", ["session_id", metric])
                column = metric
            else:
                table = tables.table("scores", list(_OF_SCORE), only={"name": metric})
                column = "value"
                known = known or table.num_rows > 0
            frame = table.to_pandas()
            if "turn" in frame:
                frame = frame[frame["turn"].isna()]
            by_id = frame.drop_duplicates("session_id", keep="last").set_index("session_id")[column]
            found[mine] = by_id.reindex(self.ids[mine]).to_numpy(dtype=float)
        if metric not in SESSION_METRICS and not known:
            raise BadInput([self._unknown(metric)])
        return found

    def score_names(self) -> list[str]:
        """Scores that sessions as a whole have, besides ``score`` itself."""
        names = set(self.metrics) or {
            str(name)
            for tables in self.sources
            for name in tables.distinct("scores", "name", where_null="turn")
        }
        return sorted(names - set(SESSION_METRICS))

    def _unknown(self, metric: str) -> Mistake:
        own = self.score_names()
        if not own and (metric == self.spec.compare.metric or self._declares(metric)):
            told = f"nothing is scored yet, so no session has {metric!r}"
            return Mistake("--metric", None, "", told)
        known = [*SESSION_METRICS, FAILED, *own]
        shown = [name for name in known if not name.startswith(JUDGE)]
        who = "this run has" if len(self.sources) == 1 else "these runs have"
        hint = did_you_mean(metric, [*known, COMPOSITE])
        told = f"found {metric!r}; {who}: {', '.join(shown)}{hint}"
        return Mistake("--metric", None, "", told)

    def _declares(self, metric: str) -> bool:
        """Whether the kind or a judge of the spec says that sessions will have such a score."""
        named = self.kind.score_names if isinstance(self.kind, NamesScores) else frozenset[str]()
        return metric in named or metric in names_of(self.spec)

    def lower_is_better(self, metric: str) -> bool:
        """Whether less of a metric is better."""
        return lower_is_better(metric, lower_is_better_of(self.spec, self.kind))

    def is_due(self, metric: str) -> bool:
        """Whether every session should have a value of it, so that one without is missing."""
        return metric == "score" or metric in names_of(self.spec)

    @property
    def unpriced(self) -> bool:
        """Whether what a round of all variants costs is not among these costs.

        Of a run that judged sessions again they are of its judging alone, and of imported results
        what their files say, which may be nothing of some variant.
        """
        again = [one.run.branched for one in self.sources]
        if any(one is not None and one.mode == "rejudge" for one in again):
            return True
        if self.absent is None:
            return False
        spent = np.bincount(self.sides, self.cost_usd, minlength=len(self.variants))
        return not bool((spent > 0).all())

    @property
    def judged_twice(self) -> bool:
        """Whether two runs judge the transcripts of one."""
        return len(self.sources) == 2 and len(set(map(_played_in, self.sources))) == 1

    @property
    def score_digits(self) -> int:
        """Decimals of its scores."""
        return score_digits(self.kind.score_range)

    def round_table(self, metric: str) -> tuple[RoundTable, int]:
        """Complete rounds of a metric, and pairs left out because a session has no value of it.

        Where nothing pairs sessions, these are sessions.

        A completed session without a value costs its pair. It should have a *score*; of other
        metrics there may have been nothing to measure, such as how a tangent ended in a session
        without one: those pairs are counted apart.

        Raises:
            BadInput: No session has such a metric.
        """
        values, outcomes = self.values(metric), self.outcomes
        if metric in OF_FAILURES_TOO:
            # it has its value, and counts as a failure all the same
            outcomes = np.where(outcomes == "failed", "timeout", outcomes)
        missing = np.zeros(len(values), dtype=np.bool_)
        if metric != "score":
            missing = np.isnan(values) & np.isin(outcomes, ("completed", "timeout"))
        table = self._laid_out(values, outcomes)
        if not self.paired:
            return table, int(missing.sum())
        return table, len(set(zip(self.units[missing], self.places[missing], strict=True)))

    @property
    def ended_units(self) -> int:
        """Units, from the first, all of whose sessions have ended."""
        return self._laid_out(np.full(len(self.ids), np.nan), self.outcomes).prefix_length

    def cube(self, table: RoundTable, values: Floats) -> Floats:
        """A value of every session of the prefix, [rounds, strata, variants]; NaN if there is none.

        Args:
            table: Complete rounds of these sessions.
            values: One per session.
        """
        laid_out = np.full((table.prefix_length, table.n_scenarios, table.n_variants), np.nan)
        inside = self.units < table.prefix_length
        laid_out[self.units[inside], self.places[inside], self.sides[inside]] = values[inside]
        return laid_out

    def _laid_out(self, values: Floats, outcomes: npt.NDArray[Any]) -> RoundTable:
        later = np.array(self.dropped_later, dtype=np.int64).reshape(-1, 3)
        absent = np.empty((0, 3), np.int64) if self.absent is None else self.absent
        unjudged = np.array(self.unjudged, dtype=np.int64).reshape(-1, 3)
        more = np.concatenate([later, absent, unjudged, self.padding])
        why = ["dropped"] * len(later) + ["errored"] * (len(more) - len(later))
        try:
            table = complete_rounds(
                np.concatenate([self.units, more[:, 0]]),
                np.concatenate([self.places, more[:, 1]]),
                np.concatenate([self.sides, more[:, 2]]),
                np.concatenate([values, np.full(len(more), np.nan)]),
                np.concatenate([outcomes.astype(str), np.array(why, dtype=str)]),
                n_rounds_planned=self.n_units,
                n_scenarios=len(self.strata),
                n_variants=len(self.variants),
            )
        except ValueError as error:  # tables and plan contradict each other
            where = self.sources[0].run_dir
            told = f"the tables of {where} do not fit its plan: {error}"
            raise StoreError(f"{told}; `matrix repair {where}` makes them again") from None
        if len(self.padding):
            return self._averaged(table, self.padding)
        if self.absent is None:
            return table
        table = replace(table, never=self._never(table), alike=self.alike, lacking=True)
        if "repeat" not in self.within:
            return table
        return self._averaged(table, self.absent) if self.paired else self._of_units(table)

    def ended_as(self, side: int, outcomes: Sequence[str]) -> int:
        """How many sessions of a variant ended in one of these ways."""
        return int((np.isin(self.outcomes, outcomes) & (self.sides == side)).sum())

    @property
    def clustered(self) -> bool:
        """Whether sessions of a unit may go together: results from elsewhere with several each."""
        lone = self.absent is not None and not self.paired and "repeat" in self.within
        return lone or self.alike is not None

    @property
    def sessions_per_unit(self) -> int:
        """Sessions of a variant in a unit: strata, of results from elsewhere those it is in."""
        there = self._there()
        if there is None:
            return len(self.strata)
        of_units = np.asarray(there.any(axis=2) if self.paired else there).sum(axis=1)
        return max(1, round(float(of_units[of_units > 0].mean())))

    @property
    def pairs_per_unit(self) -> int:
        """The same, its repeats counted as one."""
        there = self._there()
        if there is None or self.alike is None:
            return self.sessions_per_unit
        alike = np.equal.outer(self.alike, np.unique(self.alike))
        return max(1, round(float((there.any(axis=2) @ alike).sum()) / len(there)))

    def _there(self) -> npt.NDArray[np.bool_] | None:
        """Which units of results from elsewhere are in which strata, by variant."""
        if self.absent is None or not self.n_units:
            return None
        lacking = np.zeros((self.n_units, len(self.strata), len(self.variants)), np.bool_)
        lacking[tuple(self.absent.T)] = True
        return ~lacking

    def round_usd(self) -> float | None:
        """What a round costs of results that were made elsewhere, by variant and all together.

        Files have some variants oftener than others, so each has its own mean over the units that
        it is in.
        ``None`` of runs that were played here, whose rounds are whole, and where it is not known.
        """
        if self.absent is None or self.unpriced:
            return None
        return self._per_unit(self.cost_usd)

    def round_sessions(self) -> float | None:
        """Sessions of all variants in a unit of results that were made elsewhere; else ``None``."""
        if self.absent is None:
            return None
        return self._per_unit(np.ones(len(self.sides)))

    def _per_unit(self, values: Floats) -> float:
        """The sum over variants of what each has of a value in a unit that it is in."""
        there = np.zeros((self.n_units, len(self.variants)), dtype=np.bool_)
        there[self.units, self.sides] = True
        totals = np.bincount(self.sides, values, minlength=len(self.variants))
        return float((totals / np.maximum(there.sum(axis=0), 1)).sum())

    def _averaged(self, table: RoundTable, places: npt.NDArray[np.int64]) -> RoundTable:
        """The same with repeats and moments that are not there at the mean of others of their unit.

        Then the mean of a unit's pairs is the difference of its variants' means, whoever was
        repeated how often, and scenarios weigh alike. Nothing is lacking at such a place, and it
        is at no risk of failure.
        """
        lacking = np.zeros(table.scores.shape, dtype=np.bool_)
        lacking[tuple(places[places[:, 0] < table.prefix_length].T)] = True
        scores, never = table.scores.copy(), np.zeros(lacking.shape, dtype=np.bool_)
        if table.never is not None:
            never |= table.never
        for mine in self._averaged_places():
            known = ~np.isnan(scores[:, mine])
            sums, counts = np.nansum(scores[:, mine], axis=1), known.sum(axis=1)
            means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
            there = np.logical_not(lacking[:, mine]).any(axis=1, keepdims=True)
            scores[:, mine] = np.where(lacking[:, mine], means[:, None], scores[:, mine])
            never[:, mine] |= lacking[:, mine] & there
        return replace(table, scores=scores, never=never)

    def _of_units(self, table: RoundTable) -> RoundTable:
        """The same with one score for each unit that one variant alone has.

        It is the mean of the unit's scores, at its first place, and nothing is lacking at others:
        rows of one unit are no independent observations. Failures stay those of all sessions.
        """
        never = np.ones(table.scores.shape, dtype=np.bool_)
        first = [mine[0] for mine in self._averaged_places()]
        assert table.never is not None
        never[:, first] = table.never[:, first]
        return replace(table, scores=self.unit_means(table.scores), never=never)

    def unit_means(self, cube: Floats) -> Floats:
        """The mean of each unit of a variant at its first place, and NaN at its others.

        Args:
            cube: Shape [rounds, strata, variants]; NaN where there is none.
        """
        found = np.full(cube.shape, np.nan)
        for mine in self._averaged_places():
            known = np.count_nonzero(~np.isnan(cube[:, mine]), axis=1)
            sums = np.nansum(cube[:, mine], axis=1)
            found[:, mine[0]] = np.where(known > 0, sums / np.maximum(known, 1), np.nan)
        return found

    def _averaged_places(self) -> list[list[int]]:
        """Strata that differ in nothing but what is averaged."""
        others = [levels for name, levels in self.within.items() if name not in AVERAGED]
        alike = list(zip(*others, strict=True)) or [()] * len(self.strata)
        return [
            [place for place, other in enumerate(alike) if other == one]
            for one in dict.fromkeys(alike)
        ]

    def _never(self, table: RoundTable) -> npt.NDArray[np.bool_]:
        """Places that no result was ever meant for: no variant has one, or nothing pairs them."""
        found = np.zeros(table.scores.shape, dtype=np.bool_)
        assert self.absent is not None
        found[tuple(self.absent[self.absent[:, 0] < table.prefix_length].T)] = True
        return found & found.all(axis=2, keepdims=True) if self.paired else found


def labels(strata: Mapping[str, Sequence[str]]) -> tuple[list[tuple[str, ...]], tuple[str, ...]]:
    """Every combination of what pairs agree on, and each in words."""
    from itertools import product

    keys = list(product(*strata.values()))
    return keys, tuple(", ".join(key) or "all" for key in keys)


def _played_in(tables: RunTables) -> str:
    """The run whose transcripts a run judges, as far up as runs judged again are beside it."""
    run, seen = tables.run, set[str]()
    while (parent := run.branched) is not None and parent.mode == "rejudge":
        folder = tables.run_dir.parent / parent.run_id
        if parent.run_id in seen or not (folder / RUN_FILE).is_file():
            return parent.run_id
        seen.add(parent.run_id)
        run = read_run(folder)
    return run.run_id
