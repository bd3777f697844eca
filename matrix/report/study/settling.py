"""How many more rounds would settle a comparison, and what they would cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from matrix.model.money import NANO_PER_USD, NanoUSD, show_usd
from matrix.report.compare.compare import MatchupVerdict
from matrix.report.compare.leading import cube_of
from matrix.report.compare.unscored import uncounted_places
from matrix.report.text import names_listed, plural
from matrix.stats.estimates.figures import of_each
from matrix.stats.planning.planning import failure_gate_pairs
from matrix.stats.verdicts.ruling import inside
from matrix.stats.verdicts.sentence import is_even_chance
from matrix.stats.verdicts.wording import outscored
from matrix.store.run.run_folder import resume_command

TWICE_AS_CLOSE = 3
"""Times the rounds so far that it takes on top of them to halve an interval."""


@dataclass(frozen=True, slots=True)
class Settling:
    """What more rounds would do.

    Attributes:
        rounds: Further rounds to a verdict; 0 if there is one, ``None`` if no number can be given.
        winner_rounds: Further rounds to a winner, the failure gate included; 0 and ``None`` alike.
        cost_nano: What these would cost; ``None`` where it is not known.
        round_nano: Mean cost of a round of the variants still in the run, in nano-dollars; ``None``
            before the first round is complete, and where it is not known.
        sentence: The same in words.
    """

    rounds: int | None
    winner_rounds: int | None
    cost_nano: NanoUSD | None
    round_nano: NanoUSD | None
    sentence: str


def settling_of(judged: MatchupVerdict) -> Settling:
    """What it would take to settle this, at this run's cost of a round."""
    verdict = judged.verdict
    each = _round_nano(judged)
    unit = judged.matchup.unit
    if judged.void is not None:
        return Settling(None, None, None, each, judged.void.remedy)
    if judged.by_late_margin:
        told = "Nothing is settled by a margin that was given after launch; declare it before one."
        return Settling(None, None, None, each, told)
    if verdict.kind in ("winner", "equivalent"):
        out = uncounted_places(judged.matchup, judged.table)
        left_out = names_listed([one.told for one in out])
        where = f"the scenarios that it counts (not {left_out})" if out else ""
        about = where or "these scenarios"
        told = f"Settled for {about}: it needs no more {unit}s."
        if "fragile" in verdict.flags:
            told = (
                f"Settled for {about} by the scores that there are, not against those that are "
                f"missing, which could overturn it: more {unit}s would not tell what they are."
            )
        return Settling(0, 0, 0, each, told)
    if judged.matchup.looked_at_cap is not None:
        told = "The one look that was declared is made: to know more takes a new run."
        return Settling(None, None, None, each, f"{told} {_plan(judged)}")
    if verdict.kind == "no_difference":
        # of those to come as many will lack a score as of those that are there
        more = TWICE_AS_CLOSE * max(verdict.rounds_complete, 1)
        why = (
            "No margin was declared, so nothing says how closely the difference has to be known."
            if verdict.rules.delta is None
            else "The plan has said what it can: the difference is known as closely as the margin."
        )
        told = f"{why} To know it twice as closely takes {_closer(judged, more, each)}."
        return Settling(None, None, None, each, f"{told} {_plan(judged)}")
    rounds = verdict.extra_rounds
    if rounds is None:
        told = f"How many more {unit}s would settle it cannot be said from these scores."
        if verdict.reasons[0] == "failure gate not passed":
            told = (
                f"If it fails as often as it did here, no number of {unit}s is likely to settle "
                "it; if it fails no more than the other, a plan says how many do."
            )
        return Settling(None, None, None, each, f"{told} {_plan(judged)}")
    cost = None if each is None else rounds * each
    about = "" if verdict.reasons[0] in ("too few rounds", "plan not over") else "about "
    lead = "At least " if verdict.reasons[0] == "too few rounds" else ""
    anew = _anew(judged, each)
    if not anew:
        needed = f"{lead}{about}{_so_many(judged, rounds, each)}"
        even = " for an even chance" if is_even_chance(verdict) else ""
        anew = f"{needed} would be needed{even} to say more{_to_win(judged, rounds, each)}. "
    told = f"{anew[0].upper()}{anew[1:]}{_plan(judged)}"
    return Settling(rounds, verdict.winner_rounds, cost, each, told)


def advice_of(judged: MatchupVerdict) -> str:
    """What to do on the strength of a verdict, in a sentence; empty where it is void."""
    verdict, names = judged.verdict, judged.matchup.variants
    if judged.void is not None or judged.by_late_margin:
        return ""
    if verdict.kind == "winner" and verdict.winner is not None:
        name = names[verdict.winner]
        if any(one.error.concerns(name, other) for one in judged.elsewhere for other in names):
            return f"label sessions of this run before choosing {name}: see what to mind."
        if "fragile" in verdict.flags:
            return f"look at what has no score before choosing {name}."
        return f"choose {name}, as far as these scenarios and scores stand for what matters to you."
    if verdict.kind == "equivalent":
        return _among_equals(judged)
    pair = verdict.decisive
    if "failure gate not passed" in verdict.reasons and pair is not None:
        failed = verdict.variants[pair.b].failures
        look = "; see what went wrong in its failed sessions" if failed else ""
        return f"do not choose {names[pair.b]} for its score alone while that is open{look}."
    if worse := _to_leave(judged):
        return worse
    if verdict.kind == "no_difference":
        return "keep what you have: neither that they differ is shown, nor that they do not."
    return "keep what you have: nothing is shown so far."


def _to_leave(judged: MatchupVerdict) -> str:
    """To leave variants that others are shown to beat, though none of these beats all; often empty.

    Not for others that may fail more often, of which is said that it is open.
    """
    verdict, names = judged.verdict, judged.matchup.variants
    margin, lost = verdict.rules.failure_margin, dict[int, list[str]]()
    beaten = outscored(verdict)
    for loser, pairs in beaten.items():
        sound = [names[one.b] for one in pairs if one.failures.b_non_inferior(margin)]
        if sound:
            lost[loser] = sound
    if not lost:
        by = {loser: [names[one.b] for one in pairs] for loser, pairs in beaten.items()}
        return _not_yet_left(judged, by) if by else ""
    left = [name for index, name in enumerate(names) if index not in lost]
    if len(left) < 2:
        return ""
    told = "; ".join(
        f"{names[loser]}, which scores worse than {names_listed(others)}"
        for loser, others in lost.items()
    )
    none, rest = ("neither", "other") if len(left) == 2 else ("none", "others")
    return (
        f"leave {told}. Of {names_listed(left)} {none} is shown to beat the {rest}: keep or take "
        "any of these."
    )


def _not_yet_left(judged: MatchupVerdict, by: Mapping[int, Sequence[str]]) -> str:
    """Not to leave variants for their scores alone: each of those ``by`` may fail more often."""
    names, rules, table = judged.matchup.variants, judged.verdict.rules, judged.table
    told = "; ".join(
        f"{names[loser]} scores worse than {names_listed(others)}" for loser, others in by.items()
    )
    least = failure_gate_pairs(rules.failure_margin, rules.alpha)
    few = least is not None and table.prefix_length * table.n_scenarios < least
    which = "it" if len(by) == 1 else "them"
    takes = f", which takes {least:,} pairs without a failure to rule out" if few else ""
    return (
        f"{told}. Do not leave {which} for that alone while it is open whether what scores better "
        f"fails more often{takes}."
    )


def _among_equals(judged: MatchupVerdict) -> str:
    """What to do where scores are equal within the margin; failures may not be."""
    verdict, names = judged.verdict, judged.matchup.variants
    margin = verdict.rules.failure_margin
    open_yet = [
        pair
        for one in verdict.comparisons
        if inside(one, verdict.rules.delta)
        for pair in (one, one.reversed())
        if not pair.failures.b_non_inferior(margin)
    ]
    if not open_yet:
        return (
            "choose by cost or taste: by this score none is better or worse by the margin, and "
            "none fails more often by the failure margin."
        )
    worst = max(open_yet, key=lambda pair: pair.failures.difference or 0.0)
    more, fewer = (verdict.variants[index] for index in (worst.b, worst.a))
    return (
        "by this score none is better or worse by the margin; that is not shown of failures "
        f"({names[worst.b]} failed {more.failures:,} of {more.sessions:,}, {names[worst.a]} "
        f"{fewer.failures:,} of {fewer.sessions:,}): look at those before you choose by cost."
    )


def _to_win(judged: MatchupVerdict, rounds: int, each: NanoUSD | None) -> str:
    """What a winner takes, where that is more than any verdict does."""
    wins = judged.verdict.winner_rounds
    if wins is None or wins <= rounds:
        return ""
    cost = "" if each is None else f" (about {show_usd(wins * each)})"
    return f", and {wins:,}{cost} to name a winner"


def _anew(judged: MatchupVerdict, each: NanoUSD | None) -> str:
    """That more rounds take a new run, where this one's plan has them not and may not grow."""
    verdict, sources = judged.verdict, judged.matchup.sources
    requested = verdict.rounds_complete + max(verdict.extra_rounds or 0, verdict.winner_rounds or 0)
    if any(one.run.imported for one in sources):
        return ""  # nothing was declared of them
    if len(sources) != 1:
        return _both_anew(judged, requested, each)
    run = sources[0].run
    decided = run.run_spec.stop == "when-decided" and run.status == "complete"
    decided &= verdict.rounds_complete < run.plan.rounds
    if requested <= run.plan.rounds and not decided:
        return ""
    more, unit = requested - verdict.rounds_complete, judged.matchup.unit
    again = run.branched
    if again is not None and again.design is not None:
        whose = f"run {again.run_id}"
        if requested <= again.design.rounds:
            return f"{plural(more, f'more {unit}')} of {whose} would have to be played first. "
        return f"About {plural(requested, unit)} are needed: more than {whose} was planned with. "
    if verdict.rules.engine == "open-ended" and not decided:
        plays = f"`{resume_command(sources[0].run_dir, f' --per-cell {requested}')}`"
        needed = _so_many(judged, more, each)
        return f"About {needed} would be needed to say more; {plays} plays them. "
    of_all = _round_nano(judged, of_all=True)
    cost = "" if of_all is None else f" (about {show_usd(requested * of_all)} for all its variants)"
    return f"About {plural(requested, unit)} are needed, all in a new run{cost}: " + (
        "this one stopped when it was decided. "
        if decided and requested <= run.plan.rounds
        else "this one's plan, declared before its scores, may not grow. "
    )


def _both_anew(judged: MatchupVerdict, requested: int, each: NanoUSD | None) -> str:
    """The same of two runs: rounds that are added to them after a look are looked at twice."""
    verdict, unit = judged.verdict, judged.matchup.unit
    grows = verdict.rules.engine == "open-ended" or unit != "round"
    if grows or requested <= verdict.rounds_planned:
        return ""
    cost = "" if each is None else f" (about {show_usd(requested * each)} for both)"
    return (
        f"About {plural(requested, unit)} are needed, all in new runs{cost}: these were planned "
        "with fewer, and adding some after this look errs more often than it says. "
    )


def _closer(judged: MatchupVerdict, more: int, each: NanoUSD | None) -> str:
    """So many more rounds; or a new run of them all, where this one may not grow."""
    unit, sources = judged.matchup.unit, judged.matchup.sources
    grows = judged.verdict.rules.engine == "open-ended" or sources[0].run.imported
    if grows or unit != "round":
        return _so_many(judged, more, each)
    whole, of_all = more + max(judged.verdict.rounds_complete, 1), _round_nano(judged, of_all=True)
    cost = "" if of_all is None else f" (about {show_usd(whole * of_all)} for all variants)"
    what = "a new run" if len(sources) == 1 else "new runs"
    return f"{what} of {plural(whole, unit)}{cost}, as what was planned may not grow"


def _plan(judged: MatchupVerdict) -> str:
    run = judged.matchup.sources[0].run.run_id
    return f"`matrix power --from {run}` plans it in full, with the failures that were seen."


def _so_many(judged: MatchupVerdict, rounds: int, each: NanoUSD | None) -> str:
    unit = judged.matchup.unit
    counted = f"{plural(rounds, f'more {unit}')}{of_each(paired=judged.matchup.paired)}"
    if each is None:
        return counted
    one = unit if judged.matchup.paired else f"{unit} of all variants"
    return f"{counted} (about {show_usd(rounds * each)}, at {show_usd(each)} a {one} so far)"


def _round_nano(judged: MatchupVerdict, *, of_all: bool = False) -> NanoUSD | None:
    """Mean cost of a round of the variants that are still in the run, preludes included.

    With ``of_all`` of those that were dropped as well: what a new run would have.
    """
    table = judged.table
    if not table.prefix_length or judged.matchup.unpriced:
        return None
    if (imported := judged.matchup.round_usd()) is not None:
        return round(imported * NANO_PER_USD)
    cost = np.nansum(cube_of(judged, judged.matchup.cost_usd), axis=1)
    rounds = np.maximum(table.live.sum(axis=0), 1)
    each = np.where(table.live, cost, 0.0).sum(axis=0) / rounds
    counted = each if of_all else each[table.live[-1]]
    return round(float(counted.sum()) * _overhead(judged) * NANO_PER_USD)


def _overhead(judged: MatchupVerdict) -> float:
    """What a run cost in all, over what its sessions did: they share preludes."""
    matchup = judged.matchup
    if len(matchup.sources) != 1:
        return 1.0
    totals, sessions = matchup.sources[0].run.totals, float(matchup.cost_usd.sum())
    if totals is None or sessions <= 0:
        return 1.0
    return max(1.0, (totals.settled_nano + totals.presumed_nano) / NANO_PER_USD / sessions)
