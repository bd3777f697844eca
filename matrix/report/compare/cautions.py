"""What to keep in mind with a verdict: missing scores, limits of turns, early stops, two widths."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from matrix.model.lines import in_line
from matrix.model.metrics import unit_of
from matrix.report.compare.judges.labelled import by_parts
from matrix.report.compare.unscored import uncounted_places
from matrix.report.text import metric_value, names_listed, plural
from matrix.stats import Comparison, Interval, mcnemar
from matrix.stats.estimates.figures import decimals_for, ends, percent
from matrix.stats.verdicts.sensitivity import Sensitivity
from matrix.stats.verdicts.sequential import lead_after_looks
from matrix.stats.verdicts.wording import with_unit
from matrix.store.reading.told import facts_given

if TYPE_CHECKING:
    from matrix.report.compare.compare import MatchupVerdict
    from matrix.stats.rounds.round_table import RoundTable

NOTABLE_P = 0.1
"""McNemar's mid-p below which shares of sessions at their limit of turns are called different."""


def cautions_of(judged: MatchupVerdict) -> tuple[str, ...]:
    """Sentences that belong beside the verdict, the weightiest first; empty where there are none.

    Args:
        judged: The comparison with its verdict.
    """
    unscored = tuple(_unscored(judged))
    fragile = "fragile" in judged.verdict.flags
    return (
        *_of_files(judged),
        *_two_codes(judged),
        *_paid_again(judged),
        *_unknown(judged),
        *_places(judged),
        *_elsewhere(judged),
        *_parts(judged),
        *_at_cap(judged),
        *(unscored if fragile else ()),
        *_at_limit(judged),
        *_errored(judged),
        *_overstated(judged),
        *(() if fragile else unscored),
        *_other_units(judged),
        *_other_weights(judged),
        *_two_widths(judged),
    )


def _of_files(judged: MatchupVerdict) -> Iterator[str]:
    """What files of runs' results say of how those were played."""
    for tables in judged.matchup.sources:
        if (facts := facts_given(tables.run)) is None:
            continue
        if facts.unlike:
            unlike = names_listed([in_line(one) for one in facts.unlike])
            yield f"The runs are not alike in {unlike}: what differs between them may be that."
        if facts.code_changes:
            changed = names_listed([in_line(one) for one in facts.code_changes])
            yield (
                f"{changed} was changed while the run was played: some sessions were played with "
                "what it was, others with what it became, and the file does not say which. If "
                "that changes what a score means, this compares two measures."
            )
        if facts.redone:
            yield (
                "Some sessions were begun anew, and cost, and count, what was asked before and "
                "after; the file does not say which."
            )


def _times(judged: MatchupVerdict, source: int) -> tuple[Any, npt.NDArray[np.int64]]:
    """When each session of one source began and ended, in the matchup's order, and its variant."""
    matchup = judged.matchup
    mine = matchup.source == source
    columns = ["session_id", "started_at", "ended_at"]
    sessions = matchup.sources[source].frame("sessions", columns).set_index("session_id")
    return sessions.reindex(list(matchup.ids[mine])), matchup.sides[mine]


def _two_codes(judged: MatchupVerdict) -> Iterator[str]:
    """Sessions by variant that code was another for than for the others of their run."""
    for index, tables in enumerate(judged.matchup.sources):
        first = {one.what: one.at for one in reversed(tables.run.code_changes)}
        if not first:
            continue
        times, sides = _times(judged, index)
        for what, at in first.items():
            after = np.asarray(times.ended_at >= at)
            if not after.any() or not (times.ended_at < at).any():
                continue  # who never began was played with neither
            counts = [
                f"{int(after[here].sum()):,} of {int(here.sum()):,} sessions of {name}"
                for side, name in enumerate(judged.matchup.variants)
                if (here := sides == side).any()
            ]
            yield (
                f"{in_line(what)} was changed while the run was there: {names_listed(counts)} were "
                "played with what it is since, the others with what it was. If that changes what a "
                "score means, this compares two measures; a new run has one code."
            )


def _paid_again(judged: MatchupVerdict) -> Iterator[str]:
    """Sessions by variant whose costs hold what was paid before they were begun anew."""
    for index, tables in enumerate(judged.matchup.sources):
        if not tables.run.redone:
            continue
        times, sides = _times(judged, index)
        anew = [(times.started_at < at) & (times.ended_at >= at) for at in tables.run.redone]
        again = np.any(anew, axis=0)
        if again.any():
            counts = [
                f"{int(again[sides == side].sum()):,} of {name}"
                for side, name in enumerate(judged.matchup.variants)
            ]
            yield (
                f"Sessions that were begun anew ({', '.join(counts)}) cost, and count, what was "
                "asked before and after: their money, calls and tokens say more of that than of "
                "their variants."
            )


def _places(judged: MatchupVerdict) -> Iterator[str]:
    """Scenarios that some difference leaves out, for want of scores."""
    places = uncounted_places(judged.matchup, judged.table)
    if mute := [one.name for one in places if one.mute and not one.variants]:
        yield (
            f"Nothing here is about {names_listed(mute)}: of a variant or more, no session there "
            f"has a {judged.metric}."
        )
    if mute := [one.told for one in places if one.mute and one.variants]:
        yield (
            f"No session has a {judged.metric} in {names_listed(mute)}: what is said of that "
            "beside another leaves it out, and its mean is of what is left."
        )
    if thin := [one.told for one in places if not one.mute]:
        yield (
            f"A difference here leaves out {names_listed(thin)}: there, two variants have fewer "
            f"than two pairs with a {judged.metric} of both."
        )


def _elsewhere(judged: MatchupVerdict) -> Iterator[str]:
    """That the judge errs differently for variants of these names, by labels of other runs."""
    for one in judged.elsewhere:
        error = one.error
        yield (
            f"Labels of run {one.run} show that this judge errs differently for {error.first} and "
            f"{error.second} (by {error.difference:+.2f}, {error.sure}), and too few sessions are "
            "labelled here to say whether it does so again: label some (`matrix label "
            f"{judged.matchup.sources[0].run.run_id}`) before you act on this."
        )


def _parts(judged: MatchupVerdict) -> Iterator[str]:
    """That a judge is shown to err differently on what a score is made of."""
    for part in by_parts(judged.matchup, judged.metric):
        for one in part.differs:
            yield (
                f"Labels show that the judge errs differently for {one.first} and {one.second} on "
                f"{part.metric} (by {one.difference:+.2f}, {one.sure}), which {judged.metric} is "
                "made of: how much of their difference that makes is not worked out. Compare "
                f"{part.metric} by itself (`--metric {part.metric}`) before you act on this."
            )


def _at_cap(judged: MatchupVerdict) -> Iterator[str]:
    """That the plan was looked at where its cap ended it, and what was played since."""
    matchup = judged.matchup
    if matchup.looked_at_cap is None:
        return
    ended = matchup.round_table(judged.metric)[0].prefix_length
    since = ended - matchup.looked_at_cap
    more = (
        f" {plural(since, matchup.unit)} played since {'is' if since == 1 else 'are'} not in it."
        if since > 0
        else ""
    )
    yield (
        f"The cap ended the plan after {plural(matchup.looked_at_cap, matchup.unit)} of "
        f"{matchup.n_units:,}, and the one look was made then, as declared before launch "
        f"(compare.look_at_cap): its verdict stands, whatever is played later.{more}"
    )


def _unknown(judged: MatchupVerdict) -> Iterator[str]:
    """Variants that no claim can be about, as none of their sessions has a score."""
    verdict, names = judged.verdict, judged.matchup.variants
    unknown = [names[one.index] for one in verdict.variants if one.mean is None]
    if unknown and verdict.kind == "winner" and judged.matchup.is_due(judged.metric):
        yield f"Nothing is known of {names_listed(unknown)}: this is about the other variants."


def _unscored(judged: MatchupVerdict) -> Iterator[str]:
    """Sessions without a score by variant, and whether they could change who wins."""
    verdict, names = judged.verdict, judged.matchup.variants
    if not judged.matchup.is_due(judged.metric) or verdict.kind != "winner":
        return
    counts = {
        names[one.index]: one.unscored
        for one in verdict.variants
        if one.unscored and one.mean is not None
    }
    if not counts:
        return
    total = sum(counts.values())
    each = ", ".join(f"{name} {count:,}" for name, count in counts.items())
    told = f"{plural(total, 'session')} {_have(total)} no score ({each})"
    worst = _most_shaken(verdict.sensitivity)
    if worst is None:
        return
    winner, rival = names[worst.variant], names[worst.rival]
    if not worst.overturned:
        they = "it" if total == 1 else "they"
        yield f"{told}; whatever {they} had scored{_within(judged)}, {winner} would still win."
    elif worst.turns_at is None:
        those = f"those of {rival} gone as well as can be"
        if worst.missing:
            those = f"those of {winner} gone as badly and those of {rival} as well as can be"
        yield f"{told}; had {those}{_within(judged)}, {winner} would not win."
    else:
        own = verdict.variants[worst.variant].mean or 0.0
        yield (
            f"{told}; if the {worst.missing:,} of {winner} had averaged below "
            f"{worst.turns_at:.1f} (its others average {own:.1f}), it would not win."
        )


def _within(judged: MatchupVerdict) -> str:
    """Between what missing scores are taken to lie, where nothing bounds them."""
    if judged.verdict.rules.score_bounds is not None:
        return ""
    seen = judged.table.scores[~np.isnan(judged.table.scores)]
    low, high = (metric_value("", float(end)) for end in (seen.min(), seen.max()))
    return f" (from {low} to {high}, the least and the most that was seen)"


def _most_shaken(found: tuple[Sensitivity, ...]) -> Sensitivity | None:
    """The one that the fewest bad scores overturn."""
    return max(
        found,
        key=lambda one: (one.overturned, -np.inf if one.turns_at is None else one.turns_at),
        default=None,
    )


def _at_limit(judged: MatchupVerdict) -> Iterator[str]:
    """Shares of sessions that had all their turns, where they differ notably.

    The pair that differs most is told, at a level that is not corrected for that or for clusters:
    it is there to be looked at, and claims nothing.
    """
    matchup, table = judged.matchup, judged.table
    cube = matchup.cube(table, matchup.at_limit.astype(float)) == 1.0
    if (found := _most_unlike(cube, table, table.at_risk)) is None:
        return
    more, fewer = found
    of = table.sessions
    kept = matchup.spec.compare.turn_limit == "keep"
    counts = "they count by their score" if kept else "they count by their score, and as failures"
    yield (
        f"{int(cube[:, :, more].sum()):,} of {int(of[more]):,} sessions of "
        f"{matchup.variants[more]} ended at their limit of turns, against "
        f"{int(cube[:, :, fewer].sum()):,} of {int(of[fewer]):,} of {matchup.variants[fewer]}: a "
        "hint and no proof, as one in ten pairs of equal variants differs so, and more where "
        f"sessions of a round go together; {counts} (compare.turn_limit)."
    )


def _errored(judged: MatchupVerdict) -> Iterator[str]:
    """Shares of sessions that errored, where they differ notably: told as those at a limit are."""
    table = judged.table
    if judged.matchup.absent is not None:
        yield from _lacking(judged)
        return

    def in_both(a: int, b: int) -> npt.NDArray[np.bool_]:
        return np.broadcast_to(table.both_live(a, b)[:, None], table.errored.shape[:2])

    if (found := _most_unlike(table.errored, table, in_both)) is None:
        return
    more, fewer = found
    names, of = judged.matchup.variants, table.live.sum(axis=0) * table.n_scenarios
    counts = [int(table.errored[:, :, one].sum()) for one in (more, fewer)]
    is_out = any(one.variant == more for one in judged.verdict.beaten)
    so = "it is out as it is" if is_out else "if they are the variant's own, this flatters it"
    yield (
        f"{counts[0]:,} of {int(of[more]):,} sessions of {names[more]} errored, against "
        f"{counts[1]:,} of {int(of[fewer]):,} of {names[fewer]}: errors count as nobody's fault, "
        f"and are in no score and no failure gate; {so}."
    )


def _lacking(judged: MatchupVerdict) -> Iterator[str]:
    """Rows that files lack, where one variant lacks notably more, or a winner rests on that."""
    matchup, table = judged.matchup, judged.table
    if not matchup.paired:
        return  # no row was meant to be there
    never = np.zeros_like(table.errored) if table.never is None else table.never
    cube, meant = table.errored & ~never, np.asarray(~never.all(axis=2))
    found = _most_unlike(cube, table, lambda *_: meant)
    winner = judged.verdict.winner
    if found is None and winner is not None and "fragile" in judged.verdict.flags:
        lost = cube.sum(axis=(0, 1))
        fewest = int(np.argmin(lost))
        found = (winner, fewest) if lost[winner] > lost[fewest] else None
    if found is None:
        return
    more, fewer = found
    names, of = matchup.variants, plural(int(meant.sum()), "row")
    counts = [f"{int(cube[:, :, one].sum()):,}" for one in (more, fewer)]
    yield (
        f"Of {names[more]} {counts[0]} of {of} are not there, of {names[fewer]} {counts[1]}: what "
        "is not there is in no score and no failure gate; if it is not there because it failed or "
        "went badly, this flatters it."
    )


def _most_unlike(
    cube: npt.NDArray[np.bool_],
    table: RoundTable,
    counted: Callable[[int, int], npt.NDArray[np.bool_]],
) -> tuple[int, int] | None:
    """The two variants, the one with more first, whose shares differ most; ``None`` if none do."""
    pairs = list(combinations(range(table.n_variants), 2))
    if not cube.any() or not pairs:
        return None
    apart = {pair: _p_mid(cube, counted(*pair), *pair) for pair in pairs}
    a, b = min(pairs, key=apart.__getitem__)
    if apart[a, b] >= NOTABLE_P:
        return None
    more, fewer = sorted((a, b), key=lambda one: -int(cube[:, :, one].sum()))
    return more, fewer


def _p_mid(cube: npt.NDArray[np.bool_], kept: npt.NDArray[np.bool_], a: int, b: int) -> float:
    of_a, of_b = cube[:, :, a] & kept, cube[:, :, b] & kept
    return mcnemar(int((of_a & ~of_b).sum()), int((of_b & ~of_a).sum())).p_mid


def _overstated(judged: MatchupVerdict) -> Iterator[str]:
    """After an early stop: that the lead is overstated, and by how much."""
    verdict = judged.verdict
    if verdict.kind != "winner" or verdict.rules.engine == "fixed" or verdict.decisive is None:
        return
    if verdict.decided_at is None or verdict.decided_at >= verdict.rounds_planned:
        return
    pair = verdict.decisive
    found = lead_after_looks(judged.table, verdict.rules, pair.b, pair.a, verdict.decided_at)
    if found is None:
        return
    rising = judged.sign > 0
    interval = found.interval if rising else found.interval.negated()
    unit = unit_of(judged.metric, judged.matchup.kind.score_range)
    low, high = ends(interval)
    shown = f"{judged.sign * found.estimate:.{decimals_for(interval)}f}"
    if pair.interval is not None and (low, high) == ends(_interval(pair)):
        return  # it could not have ended any earlier, so nothing was picked
    if float(shown) >= judged.sign * found.unadjusted:
        return
    if shown == f"{judged.sign * found.unadjusted:.{decimals_for(_interval(pair))}f}":
        return  # the allowance is too small to be seen
    size = with_unit(shown, unit)
    yield (
        "A lead that ended a run early is overstated, as it was looked at until it was large: "
        f"allowing for that, its size is about {size} ({percent(interval)} interval {low} to "
        f"{high} for the size at this stop; median-unbiased, by stage-wise ordering)."
    )


def _other_units(judged: MatchupVerdict) -> Iterator[str]:
    """Why the means of two variants say the one is better, and their difference the other."""
    verdict, matchup = judged.verdict, judged.matchup
    means = [one.mean for one in verdict.variants]
    for pair in verdict.comparisons:
        of_a, of_b = means[pair.a], means[pair.b]
        if not matchup.paired or of_a is None or of_b is None:
            continue
        if (of_b - of_a) * (pair.difference or 0.0) < 0.0:
            first, second = matchup.variants[pair.a], matchup.variants[pair.b]
            yield (
                f"The means of {first} and {second} are each over all {matchup.unit}s that it has "
                "a score of, and these are not the same ones: their difference is over the "
                f"{pair.n:,} that both have, and points the other way."
            )


def _other_weights(judged: MatchupVerdict) -> Iterator[str]:
    """That scenarios weigh alike, where units that did would say the opposite of a difference."""
    table, matchup = judged.table, judged.matchup
    for pair in judged.verdict.comparisons if table.n_scenarios > 1 else ():
        scored = table.scored(pair.a, pair.b)
        of_a, of_b = (table.scores[: len(scored), :, one] for one in (pair.a, pair.b))
        counted = [one[scored if matchup.paired else ~np.isnan(one)] for one in (of_a, of_b)]
        if not all(one.size for one in counted):
            continue
        if float(counted[1].mean() - counted[0].mean()) * (pair.difference or 0.0) < 0.0:
            first, second = matchup.variants[pair.a], matchup.variants[pair.b]
            yield (
                f"Scenarios weigh alike, however many {matchup.unit}s they have: if every "
                f"{matchup.unit} weighed alike, the difference of {first} and {second} would point "
                "the other way."
            )


def _two_widths(judged: MatchupVerdict) -> Iterator[str]:
    """Why one interval of a pair leaves 0 out, and the other does not."""
    verdict, names = judged.verdict, judged.matchup.variants
    if verdict.kind != "winner" or len(names) < 3:
        return
    winner, wide = verdict.winner, {(pair.a, pair.b): pair for pair in verdict.comparisons}
    narrow = [claim for claim in verdict.claims if winner in (claim.a, claim.b)]
    close = [one for one in narrow if _excludes(one) and not _excludes(wide[one.a, one.b])]
    if winner is None or not close:
        return
    plain = percent(_interval(close[0]))
    together = percent(_interval(wide[close[0].a, close[0].b]))
    rivals = " and ".join(names[one.a if one.b == winner else one.b] for one in close)
    yield (
        f"For {names[winner]} to be best it is enough to beat each rival at the plain {plain}; "
        f"the table of pairs has {together} intervals, because {len(names)} are compared at once, "
        f"and by those {rivals} may still equal it."
    )


def _excludes(pair: Comparison) -> bool:
    return pair.interval is not None and not pair.interval.contains(0.0)


def _interval(pair: Comparison) -> Interval:
    assert pair.interval is not None
    return pair.interval


def _have(count: int) -> str:
    return "has" if count == 1 else "have"
