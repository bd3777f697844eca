"""Making matchups: the levels of a factor in one run, or two runs against each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from matrix.engine.prepare.registry import scoring_kind
from matrix.model.entries import NEEDLESS
from matrix.model.errors import BadInput, Mistake, StoreError, did_you_mean
from matrix.model.metrics import TurnLimit, at_turn_limit, judged_outcome
from matrix.model.spec.run_spec import RunSpec
from matrix.report.compare.matchup import Matchup, labels
from matrix.report.compare.pairing import MOMENT, Pairing, exported_kind, pairing_of
from matrix.store.journal.journal import newest_look
from matrix.store.reading.reader import RunTables
from matrix.store.run.run_folder import JudgedDesign, RunFile
from matrix.store.tables.tables import factor_columns


def factor_matchup(tables: RunTables, run: RunFile, factor: str | None = None) -> Matchup:
    """The levels of a factor, paired by round, scenario and every other factor.

    All planned strata count, so that a live run's rounds are not complete before they are.

    Raises:
        BadInput: No such factor, or nothing to compare.
    """
    pairing = pairing_of(run)
    chosen = _factor(factor or run.plan.compared, pairing.factors)
    column = factor_columns(run.plan.factors)[chosen]
    levels = tuple(pairing.factors[chosen])
    others = [name for name in pairing.factors if name != chosen]
    data, matchup = _of_one(tables, run, others, column)
    declared = chosen == run.plan.compared
    spec = run.run_spec
    matchup = replace(matchup, sides=_codes(data[column].astype(str), levels), variants=levels)
    matchup = replace(
        matchup,
        absent=_absent(matchup) if run.imported else None,
        alike=_alike(matchup, run),
        padding=_padding(matchup, pairing),
        factor=chosen,
        outcomes=_outcomes(data, spec.compare.turn_limit, needless=declared),
        spec=spec if declared else matchup.spec,
        dropped_later=_unlaunched(tables, run, chosen, levels, len(matchup.strata)),
        looked_at_cap=_looked_at_cap(tables, spec) if declared else None,
    )
    design = None if run.branched is None else run.branched.design
    return _by_design(matchup, design, run) if design is not None and declared else matchup


def _by_design(matchup: Matchup, design: JudgedDesign, run: RunFile) -> Matchup:
    """Sessions that are judged again, compared as they were launched: by plan and looks of then.

    Which sessions there are was decided by the scores of then. Looking at the new ones once, at
    the end, would be a look at the time that the old ones chose.

    Raises:
        BadInput: It is a part of them that says nothing of the variants.
    """
    if design.only_missing:
        told = "has only sessions that had no score before, so nothing is compared in it"
        raise BadInput([Mistake(run.run_id, None, "", told)])
    shape = (design.rounds, len(matchup.strata), len(matchup.variants))
    if len(matchup.units) and int(matchup.units.max()) >= design.rounds:
        told = (
            f"{run.run_id}: it has sessions of more rounds than the {design.rounds:,} of its plan"
        )
        raise StoreError(told)
    there = np.zeros(shape, dtype=np.bool_)
    there[matchup.units, matchup.places, matchup.sides] = True
    gone = np.zeros(shape, dtype=np.bool_)
    for place, level in enumerate(matchup.variants):
        gone[design.dropped.get(level, design.rounds) :, :, place] = True
    if design.stop_from is not None:
        gone[design.stop_from :] = True
    lost = ~there & ~gone
    lost[design.ended :] = False
    spec = matchup.spec
    compare = spec.compare.model_copy(update={"engine": design.engine})
    return replace(
        matchup,
        n_units=design.rounds,
        n_whole=design.whole,
        spec=spec.model_copy(update={"compare": compare}),
        dropped_later=[(int(a), int(b), int(c)) for a, b, c in np.argwhere(gone & ~there)],
        unjudged=[(int(a), int(b), int(c)) for a, b, c in np.argwhere(lost)],
        looked_at_cap=design.looked_at_cap,
    )


def design_of(tables: RunTables, run: RunFile, *, only_missing: bool) -> JudgedDesign | None:
    """What verdicts on a rejudging of this run go by; ``None`` where it compares nothing."""
    if run.plan.compared is None or run.imported:
        return None
    if run.branched is not None:
        again = run.branched.design
        return again and again.model_copy(update={"only_missing": only_missing})
    matchup = factor_matchup(tables, run)
    look = newest_look(tables.run_dir)
    return JudgedDesign(
        rounds=matchup.n_units,
        whole=matchup.n_whole,
        ended=matchup.ended_units,
        engine=matchup.spec.engine,
        looked_at_cap=matchup.looked_at_cap,
        dropped={} if look is None else {one.level: one.from_round for one in look.dropped},
        stop_from=None if look is None else look.stop_from,
        only_missing=only_missing,
    )


def whole_matchup(tables: RunTables, run: RunFile) -> Matchup:
    """All sessions of a run as one variant: for what is asked of the run by itself."""
    matchup = _of_one(tables, run, list(pairing_of(run).factors))[1]
    matchup = replace(matchup, padding=_padding(matchup, pairing_of(run)))
    if not run.imported:
        return matchup
    return replace(matchup, absent=_absent(matchup), alike=_alike(matchup, run))


def _padding(matchup: Matchup, pairing: Pairing) -> npt.NDArray[np.int64]:
    """Places that no moment is at, as their session has fewer than another, [n, 3]."""
    if not pairing.moments:
        return np.empty((0, 3), np.int64)
    there = set(pairing.moments)
    numbers = [int(level) - 1 for level in matchup.within[MOMENT]]
    missing = [
        (unit, place, side)
        for unit in range(matchup.n_units)
        for place, number in enumerate(numbers)
        if (unit, number) not in there
        for side in range(len(matchup.variants))
    ]
    return np.array(missing, dtype=np.int64).reshape(-1, 3)


def _alike(matchup: Matchup, run: RunFile) -> tuple[int, ...] | None:
    """Which strata are repeats of one pair; ``None`` for none, or where nothing pairs sessions.

    For imported results: nobody declared how far failures of one unit go together, and its repeats
    may be the same answers over again. Those of a run of ours are draws of their own.
    """
    elsewhere = run.imported and exported_kind(run) in ("", run.kind)
    if not elsewhere or not matchup.paired or _REPEAT not in matchup.within:
        return None
    others = list(zip(*(at for name, at in matchup.within.items() if name != _REPEAT), strict=True))
    first = {one: number for number, one in enumerate(dict.fromkeys(others))}
    return tuple(first[one] for one in others)


def _absent(matchup: Matchup) -> npt.NDArray[np.int64]:
    """Places of a run that no session has, [n, 3]: of imported results, what a file lacks."""
    shape = (matchup.n_units, len(matchup.strata), len(matchup.variants))
    there = np.zeros(shape, dtype=np.bool_)
    there[matchup.units, matchup.places, matchup.sides] = True
    return np.argwhere(~there)


def _of_one(
    tables: RunTables, run: RunFile, factors: Sequence[str], *extra: str
) -> tuple[Any, Matchup]:
    """All sessions of a run as one variant, paired on these factors too; and the rows read."""
    pairing = pairing_of(run)
    columns = factor_columns(run.plan.factors)
    strata: Mapping[str, Sequence[str]] = {
        **pairing.strata,
        **{columns[name]: pairing.factors[name] for name in factors},
    }
    own = [name for name in strata if name != MOMENT]
    data = _placed(_read(tables, [*extra, *own, pairing.column]), pairing)
    spec = run.run_spec
    keys, words = labels(strata)
    matchup = Matchup(
        factor="run",
        variants=(run.run_id,),
        unit=pairing.unit,
        n_units=pairing.units,
        basis=pairing.basis,
        scope=pairing.scope,
        strata=words,
        within=_with_fields(_within([*pairing.strata, *factors], keys), run),
        ids=data["session_id"].to_numpy(dtype=object),
        source=np.zeros(len(data), dtype=np.int64),
        units=data[_UNIT].to_numpy(dtype=np.int64),
        places=_places(data, strata, keys),
        sides=np.zeros(len(data), dtype=np.int64),
        outcomes=_outcomes(data, spec.compare.turn_limit, needless=False),
        at_limit=_at_limit(data),
        cost_usd=data["cost_usd"].to_numpy(dtype=float),
        sources=(tables,),
        kind=scoring_kind(run.kind, spec.options, kept=run.kind_facts),
        spec=_looked_at_once(spec),
        metric=run.plan.metric,
        paired=pairing.paired,
        grouped=pairing.grouped,
        n_whole=_whole(run),
        over=run.status != "running",
        simulated=run.simulation,
    )
    return data, matchup


_UNIT: Final = "unit"
_REPEAT: Final = "repeat"


def _placed(data: Any, pairing: Pairing) -> Any:
    """The same rows with the unit of each, from 0, and which moment of it they are of."""
    numbers = data[pairing.column].to_numpy(dtype=np.int64) - pairing.first
    if not pairing.moments:
        return data.assign(**{_UNIT: numbers})
    units, moments = np.array(pairing.moments, dtype=np.int64)[numbers].T
    return data.assign(**{_UNIT: units, MOMENT: (moments + 1).astype(str)})


def runs_matchup(first: tuple[RunTables, RunFile], second: tuple[RunTables, RunFile]) -> Matchup:
    """Two runs, paired by round within each scenario and combination of levels they share.

    Runs of one seed share the groups and draws of each round as well; with other seeds, rounds are
    paired in the order of their launch, which is as valid and only less sharp.

    Raises:
        BadInput: They have nothing in common that could be paired.
    """
    one, two = (run for _, run in (first, second))
    strata, mistakes = _paired_on(one, two)
    if one.run_id == two.run_id and first[0].run_dir == second[0].run_dir:
        mistakes.insert(0, f"{one.run_id} cannot be compared with itself; name another run")
    if mistakes:
        raise BadInput(Mistake("matrix compare", None, "", text) for text in mistakes)
    planned = [pairing_of(run).units for run in (one, two)]
    units = min(planned)
    spec = two.run_spec
    turn_limit = spec.compare.turn_limit
    keys, words = labels(strata)
    imported = one.imported and two.imported
    all_of = [_of_run(tables, run, strata, keys) for tables, run in (first, second)]
    frames = [frame[frame["round"] < units] for frame in all_of]
    matchup = Matchup(
        factor="run",
        variants=_names(first, second),
        unit=pairing_of(two).unit,
        n_units=units,
        basis=pairing_of(two).basis if imported else _basis(one, two),
        scope=_common(strata, one, two),
        strata=words,
        within=_with_fields(_within(list(strata), keys), one),
        **_columns(frames, turn_limit),
        sources=(first[0], second[0]),
        kind=scoring_kind(two.kind, spec.options, kept=two.kind_facts),
        spec=_looked_at_once(spec),
        metric=two.plan.metric,
        n_whole=min(_whole(run) for run in (one, two)),
        over=all(run.status != "running" for run in (one, two)),
        simulated=_simulation(one, two),
        shared_only=max(planned) > units,
    )
    rest = [frame[frame["round"] >= units] for frame in all_of]
    if any(map(len, rest)):
        matchup = replace(matchup, alone=replace(matchup, **_columns(rest, turn_limit)))
    if not (one.imported or two.imported):
        return matchup
    absent = _absent(matchup)
    theirs = [side for side, run in enumerate((one, two)) if run.imported]
    return replace(matchup, absent=absent[np.isin(absent[:, 2], theirs)])


def _columns(frames: Sequence[Any], turn_limit: TurnLimit) -> dict[str, Any]:
    """What a matchup of two runs has of each session, first run first."""
    side = np.repeat([0, 1], [len(frame) for frame in frames]).astype(np.int64)
    return {
        "ids": np.concatenate([frame["session_id"].to_numpy(dtype=object) for frame in frames]),
        "source": side,
        "units": np.concatenate([frame["round"].to_numpy(dtype=np.int64) for frame in frames]),
        "places": np.concatenate([frame["place"].to_numpy(dtype=np.int64) for frame in frames]),
        "sides": side,
        "outcomes": np.concatenate(
            [_outcomes(frame, turn_limit, needless=False) for frame in frames]
        ),
        "at_limit": np.concatenate([_at_limit(frame) for frame in frames]),
        "cost_usd": np.concatenate([frame["cost_usd"].to_numpy(dtype=float) for frame in frames]),
    }


def _names(*runs: tuple[RunTables, RunFile]) -> tuple[str, ...]:
    """What runs are called: by their ids, or by their folders where a copy has the same id."""
    ids = tuple(run.run_id for _, run in runs)
    if len(set(ids)) == len(ids):
        return ids
    folders = tuple(tables.run_dir.name for tables, _ in runs)
    return folders if len(set(folders)) == len(folders) else tuple(str(t.run_dir) for t, _ in runs)


def _simulation(one: RunFile, two: RunFile) -> str:
    """What to say of simulated models in two runs: of both, or of each by name."""
    if one.simulation == two.simulation:
        return one.simulation
    return "; ".join(f"{run.run_id} {run.simulation}" for run in (one, two) if run.simulation)


def _looked_at_once(spec: RunSpec) -> RunSpec:
    """The spec for a comparison that it does not declare: rounds were not stopped for its sake."""
    compare = spec.compare.model_copy(update={"engine": "fixed"})
    return spec.model_copy(update={"compare": compare, "stop": "never"})


def not_paired(one: RunFile, two: RunFile) -> list[str]:
    """Why two runs have nothing that could be paired; empty if they have. Neither needs tables."""
    return _paired_on(one, two)[1]


def _paired_on(one: RunFile, two: RunFile) -> tuple[dict[str, Sequence[str]], list[str]]:
    """What sessions of two runs pair on within a round, and why they cannot be paired."""
    mistakes = [
        f"{run.run_id} is a branch of {run.branched.run_id}: compare its variants instead"
        for run in (one, two)
        if run.branched is not None and run.branched.mode != "rejudge"
    ]
    if (why := _of_other_kinds(one, two)) or (
        one.imported and two.imported and (why := _not_the_same_units(one, two))
    ):
        mistakes.append(why)
    shared = [name for name in one.plan.factors
              if set(one.plan.factors[name]) & set(two.plan.factors.get(name, ()))
              and not _lone(one, two, name)]  # fmt: skip
    strata: dict[str, Sequence[str]] = {
        "scenario": [name for name in one.plan.scenarios if name in two.plan.scenarios],
        **{
            name: [level for level in one.plan.factors[name] if level in two.plan.factors[name]]
            for name in shared
        },
    }
    mistakes += [
        f"{name} has several levels in {run.run_id} and none of them in {other.run_id}, so nothing "
        "says which belong together"
        for run, other in ((one, two), (two, one))
        for name, levels in run.plan.factors.items()
        if name not in shared and len(levels) > 1
    ]
    if not strata["scenario"]:
        mistakes.append(
            f"no scenario is in both: {one.run_id} has {', '.join(one.plan.scenarios)}; "
            f"{two.run_id} has {', '.join(two.plan.scenarios)}"
        )
    return strata, mistakes


def _of_other_kinds(one: RunFile, two: RunFile) -> str:
    """Why sessions of two runs are not of one sort; empty if they are."""
    for run in (one, two):
        if run.imported and one.imported != two.imported and not exported_kind(run):
            return (
                f"{run.run_id} was imported from a file that does not say what was played; "
                "`matrix export RUN --to csv` writes one that does"
            )
        if run.imported and one.imported != two.imported and exported_kind(run) == run.kind:
            return (
                f"{run.run_id} has results that were made elsewhere and imported, and nobody here "
                "knows how; `matrix export RUN --to csv` of a run that was played writes a baseline"
            )
    kinds = [exported_kind(run) or run.kind for run in (one, two)]
    if one.imported != two.imported:  # where a file of a kind was is another folder elsewhere
        kinds = [PurePosixPath(kind).name for kind in kinds]
    if kinds[0] == kinds[1]:
        return ""
    return f"{one.run_id} is of the {kinds[0]} kind, {two.run_id} of {kinds[1]}"


def _not_the_same_units(one: RunFile, two: RunFile) -> str:
    """Why results of two imports cannot be paired; empty if they can, or are none."""
    if not (one.imported and two.imported):
        return ""
    units, others = (run.spec.get("options") or {} for run in (one, two))
    remedy = "import their files at once: `matrix import FILE FILE`"
    if not (units.get("units") and units.get("units") == others.get("units")):
        return f"{one.run_id} and {two.run_id} do not have the same units to be paired by; {remedy}"
    if max(int(own.get("repeats") or 1) for own in (units, others)) > 1:
        return f"{one.run_id} and {two.run_id} have repeats of their units; {remedy}"
    return ""


def _lone(one: RunFile, two: RunFile, name: str) -> bool:
    """Whether a factor has one level in each run: then it may be what differs between them."""
    return len(one.plan.factors[name]) == len(two.plan.factors[name]) == 1


def _basis(one: RunFile, two: RunFile) -> str:
    same = one.spec.get("seed") == two.spec.get("seed")
    how = "of the same seed" if same else "in the order of their launch, as their seeds differ"
    return f"paired by round {how}"


def _common(strata: Mapping[str, Sequence[str]], one: RunFile, two: RunFile) -> str:
    """What only one of the runs has is left out, and that is said."""
    parts = []
    for name, levels in strata.items():
        there = [
            run.plan.scenarios if name == "scenario" else run.plan.factors[name]
            for run in (one, two)
        ]
        if any(set(levels) != set(all_levels) for all_levels in there):
            parts.append(f"{name} {', '.join(levels)}")
    return f"about what both runs have: {'; '.join(parts)}" if parts else ""


def _of_run(
    tables: RunTables,
    run: RunFile,
    strata: Mapping[str, Sequence[str]],
    keys: Sequence[tuple[str, ...]],
) -> Any:
    """The sessions of a run in strata that the other has too, whatever round they are of."""
    columns = {"scenario": "scenario", **factor_columns(run.plan.factors)}
    mine = {columns[name]: levels for name, levels in strata.items()}
    data = _read(tables, [*mine, "round"])
    kept = np.ones(len(data), dtype=np.bool_)
    for column, levels in mine.items():
        kept &= data[column].astype(str).isin(list(levels))
    data = data[kept].copy()
    data["place"] = _places(data, mine, keys)
    return data


def _factor(name: str | None, factors: Mapping[str, Sequence[str]]) -> str:
    comparable = [factor for factor, levels in factors.items() if len(levels) > 1]
    if name is None or name not in factors:
        found = "no factor given" if name is None else f"found {name!r}"
        hint = did_you_mean(name or "", comparable)
        if not comparable:
            hint = "; `matrix compare RUN_A RUN_B` compares two runs"
        there = f"factors with several levels: {', '.join(comparable) or 'none'}"
        raise BadInput([Mistake("--factor", None, "", f"{found}; {there}{hint}")])
    if name not in comparable:
        told = f"{name!r} has only one level, so nothing to compare"
        raise BadInput([Mistake("--factor", None, "", told)])
    return name


def _read(tables: RunTables, extra: Sequence[str]) -> Any:
    columns = dict.fromkeys(["session_id", "outcome", "error_class", "cost_usd", *extra])
    return tables.frame("sessions", list(columns))


def _codes(texts: Any, levels: Sequence[str]) -> npt.NDArray[np.int64]:
    index = {level: number for number, level in enumerate(levels)}
    return np.array(texts.map(index), dtype=np.int64)


def _places(
    data: Any, strata: Mapping[str, Sequence[str]], keys: Sequence[tuple[str, ...]]
) -> npt.NDArray[np.int64]:
    """Each session's stratum: the number of its combination, the last part varying fastest."""
    place = np.zeros(len(data), dtype=np.int64)
    for column, levels in strata.items():
        place = place * len(levels) + _codes(data[column].astype(str), levels)
    assert not len(place) or place.max() < len(keys)
    return place


def _within(names: Sequence[str], keys: Sequence[tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
    """What pairs agree on, by name -> its level in each stratum."""
    return {name: tuple(key[place] for key in keys) for place, name in enumerate(names)}


def _with_fields(within: Mapping[str, tuple[str, ...]], run: RunFile) -> dict[str, tuple[str, ...]]:
    """What pairs agree on, with the fields of their scenarios; of what has a name, that stays."""
    table = run.plan.scenario_table
    names = dict.fromkeys(name for row in table.values() for name in row if name != "title")
    found = dict(within)
    for name in names:
        if name not in found and name not in run.plan.factors and "scenario" in within:
            found[name] = tuple(_told(table.get(one, {}).get(name)) for one in within["scenario"])
    return found


def _told(value: Any) -> str:
    """A field's value as a level; of a list, such as tags, all of them together."""
    if value is None or value == []:
        return "-"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _ends(data: Any) -> list[tuple[Any, str]]:
    """How each session ended: outcome and error class."""
    classes = data["error_class"].fillna("").astype(str)
    return list(zip(data["outcome"].astype(str), classes, strict=True))


def _outcomes(data: Any, turn_limit: TurnLimit, *, needless: bool) -> npt.NDArray[np.object_]:
    """What each session's end means to a verdict."""
    found = [
        "dropped" if needless and why in NEEDLESS else judged_outcome(outcome, why, turn_limit)
        for outcome, why in _ends(data)
    ]
    return np.array(found, dtype=object)


def _at_limit(data: Any) -> npt.NDArray[np.bool_]:
    """Which sessions had all their turns."""
    return np.array([at_turn_limit(*end) for end in _ends(data)], dtype=np.bool_)


def _whole(run: RunFile) -> int:
    """Planned units that have all their sessions: a last partial round can never be complete."""
    pairing = pairing_of(run)
    whole = run.plan.sessions // max(run.plan.cells, 1)
    return min(pairing.units, whole) if pairing.unit == "round" else pairing.units


def _looked_at_cap(tables: RunTables, spec: RunSpec) -> int | None:
    """Rounds at the look that was declared for the cap, if it was made."""
    look = newest_look(tables.run_dir) if spec.compare.look_at_cap else None
    return None if look is None else look.rounds


def _unlaunched(
    tables: RunTables, run: RunFile, factor: str, levels: Sequence[str], strata: int
) -> list[tuple[int, int, int]]:
    """Places of a live run that have no row yet because a look dropped their variant."""
    look = newest_look(tables.run_dir) if run.status == "running" else None
    if look is None or look.factor != factor:
        return []
    return list(look.left_out(levels, strata, look.rounds))
