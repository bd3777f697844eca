"""A verdict as one plain sentence."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from matrix.stats.estimates.figures import count, decimals_for, ends, of_each, percent
from matrix.stats.estimates.proportions import discordant_needed
from matrix.stats.rounds.rules import Reason
from matrix.stats.verdicts.ruling import inside
from matrix.stats.verdicts.verdict import Verdict
from matrix.stats.verdicts.wording import Wording

PROBABLY = 1.2816
"""Standard errors of a lead from which on it is called probable: nine in ten, by a flat prior."""


def verdict_sentence(
    verdict: Verdict,
    names: Sequence[str],
    metric: str = "",
    unit: str = "",
    paired_on: str = "round",
) -> str:
    """Say a verdict in one sentence that is right without knowing statistics.

    Args:
        verdict: What to say.
        names: Names of the variants, in the order of their indices.
        metric: What was measured, e.g. ``quality``; left out if empty.
        unit: Unit of differences, e.g. ``points``; left out if empty.
        paired_on: What the verdict's rounds are called.

    Raises:
        ValueError: If the number of names is not that of the variants.
    """
    if len(names) != len(verdict.variants):
        raise ValueError(f"{len(verdict.variants)} variants need as many names; got {len(names)}")
    words = Wording(verdict, tuple(names), f" on {metric}" if metric else "", unit, paired_on)
    say = {
        "not_enough_data": _not_enough_data,
        "equivalent": _equivalent,
        "winner": _winner,
        "no_difference": _no_difference,
    }
    return say[verdict.kind](words)


def _winner(words: Wording) -> str:
    if words.verdict.reasons[0] == "others fail too often":
        return _only_one_left(words)
    out = sum(one.why != "score" for one in words.verdict.beaten)
    others, left = len(words.names) - 1 - out, " left" * bool(out)
    beaten = ""
    if len(words.names) > 2:
        beaten = words.beaten(before=words.verdict.decided_at if words.sequential else None)
    if others == 1:
        whom, closest = words.worse, ""
    else:
        whom = f"{'both' if others == 2 else f'all {others}'} other variants{left}"
        closest = f", the closest being {words.worse},"
    fragile = ", but fragile: the scores that are missing could overturn it"
    return (
        f"{words.better} beats {whom}{words.on_metric}{closest} by {words.lead} over "
        f"{words.rounds}{words.looked}{fragile if 'fragile' in words.verdict.flags else ''}"
        f"{beaten}."
    )


def _only_one_left(words: Wording) -> str:
    others = len(words.names) - 1
    whom = words.worse if others == 1 else f"every other variant, {words.worse} most of all,"
    rounds = f" over {count(words.verdict.rounds_used, f'complete {words.paired_on}')}"
    if words.unpaired:  # whose failures are counted over all their sessions, which are told
        rounds = ""
    return (
        f"{words.better} is the one to keep: {whom} fails more often by more than "
        f"{words.failure_margin} ({words.failures}){rounds}{words.looked}. Scores do "
        "not decide it: none of the others is shown to score better."
    )


def _equivalent(words: Wording) -> str:
    low, high = ends(words.interval)
    margin = words.with_unit(f"{words.verdict.rules.delta or 0.0:g}")
    everyone = all(inside(pair, words.verdict.rules.delta) for pair in words.verdict.comparisons)
    names = words.names if everyone else words.in_question
    if len(names) == 2:
        who, which = " and ".join(names), "the difference"
    else:
        among = "All" if everyone else "The"
        left = "" if everyone else " left"
        who, which = f"{among} {len(names)} variants{left}", "even the largest difference"
    ahead, fragile = "", "" if everyone else words.beaten()
    if words.verdict.ahead is not None:
        ahead = f"; {words.names[words.verdict.ahead]} is statistically ahead"
    if "fragile" in words.verdict.flags:
        fragile += "; fragile: the scores that are missing could overturn it"
    return (
        f"{who} are practically equivalent{words.on_metric}: {which} lies within {margin} either "
        f"way ({percent(words.interval)} interval of {words.better}'s lead over {words.worse}: "
        f"{low} to {high}) over "
        f"{words.rounds}{words.looked}{ahead}{fragile}."
    )


def _no_difference(words: Wording) -> str:
    low, high = (end.lstrip("-") for end in ends(words.interval))
    reach = f"{low} lower to {high} higher"
    way, difference = "higher", words.pair.difference or 0.0
    if difference < 0:
        reach, way = f"{high} higher to {low} lower", "lower"
    names = words.in_question
    ends_apart = "," if words.looked or words.unpaired else ""
    over = f"over {words.rounds}{words.looked}{ends_apart}"
    left = "" if names == words.names else " left"
    shown = f"No winner shown among {len(names)} variants{left}{words.on_metric}"
    if len(names) == 2:
        shown = f"No difference shown between {' and '.join(names)}{words.on_metric}"
    if abs(difference) >= PROBABLY * (words.pair.se or inf):
        likely = f"{words.better} is probably better than {words.worse}{words.on_metric}"
        head = f"{f'{shown}: ' * (len(names) > 2)}{likely}, not proven"
        seen = f"{over} it averaged {words.amount} {way}"
    else:
        head = shown
        seen = f"{over} {words.better} averaged {words.amount} {way} than {words.worse}"
    return (
        f"{head}: {seen}, and the truth may lie anywhere from {reach} for {words.better} "
        f"({percent(words.interval)} interval){words.failures_apart}{words.beaten()}"
        f"{words.outscored()}."
    )


def _not_enough_data(words: Wording) -> str:
    verdict = words.verdict
    reason, extra = verdict.reasons[0], verdict.extra_rounds
    if reason == "failure gate not passed" and extra is None:
        return f"No winner: {_scores_better(words)}, but {_fails_more(words)}{words.beaten()}."
    why = {
        "too few rounds": _too_few_rounds,
        "plan not over": _plan_not_over,
        "identical so far": _identical,
        "too few discordant pairs": _too_few_discordant,
        "interval wider than margin": _too_wide,
        "failure gate not passed": _gate_not_settled,
    }[reason](words)
    yet = "yet" if "plan not over" in verdict.reasons else "to name a winner"
    if extra is None:
        more = f"how many more {words.paired_on}s it takes cannot be said"
        return f"Not enough data {yet}: {why}{words.beaten()}{words.outscored()}; {more}."
    sure = ("too few rounds",) if words.sequential else ("too few rounds", "plan not over")
    about = "" if reason in sure else "about "
    even = ", for an even chance" if is_even_chance(verdict) else ""
    more = f"{about}{_more(words, reason, extra)}{even}"
    return f"Not enough data {yet}: {why}{words.beaten()}{words.outscored()}; {more}."


def is_even_chance(verdict: Verdict) -> bool:
    """Whether the rounds still needed go by failures: at their rate, which half of runs exceed."""
    pair = verdict.decisive
    if pair is None or verdict.reasons[0] != "failure gate not passed":
        return False
    return any((pair.failures.both, pair.failures.only_a, pair.failures.only_b))


def _more(words: Wording, reason: Reason, extra: int) -> str:
    """How many more rounds it takes, and how many for a winner where that is another number."""
    wins = words.verdict.winner_rounds
    if wins == extra or (reason == "too few rounds" and wins is not None):
        return _needed(words, wins)
    what = "a verdict" if reason == "plan not over" else "that"
    winner = "how many to name a winner cannot be said"
    if wins is not None:
        winner = f"{wins + _played(words, extra):,} to name a winner"
    return f"{_needed(words, extra, f' for {what}')}, and {winner}"


def _needed(words: Wording, extra: int, what: str = "") -> str:
    """So many more rounds; all of them in a new run where this one's plan may not grow."""
    if played := _played(words, extra):
        return f"{count(played + extra, words.paired_on)} needed{what}, in a new run"
    whose = of_each(paired=not words.unpaired)
    return f"{count(extra, f'more {words.paired_on}')}{whose} needed{what}"


def _played(words: Wording, extra: int) -> int:
    """Rounds that a new run has to play again for ``extra`` more; 0 where this one may grow."""
    verdict, whole = words.verdict, words.verdict.rounds_complete + extra
    a_run, grows = words.paired_on == "round", verdict.rules.engine == "open-ended"
    return verdict.rounds_complete if a_run and not grows and whole > verdict.rounds_planned else 0


def _too_few_rounds(words: Wording) -> str:
    verdict = words.verdict
    if words.unpaired:
        return _too_few_of_one(words)
    complete = count(verdict.rounds_complete, f"complete {words.paired_on}")
    so_far = f"{complete} so far"
    pair = min(verdict.claims, key=lambda pair: pair.n)
    needed = "are needed"
    if pair.n < verdict.rounds_complete:
        both = f"{words.names[pair.a]} and {words.names[pair.b]}"
        so_far, needed = f"{so_far}, {pair.n:,} with scores of both {both}", "of those are needed"
    least = f"{so_far}, and at least {verdict.rules.first_look} {needed}"
    wins, extra = verdict.winner_rounds, verdict.extra_rounds
    if wins is None or extra is None or wins <= extra:
        return least
    return f"{least} for any verdict, {verdict.rounds_complete + wins:,} to name a winner"


def _too_few_of_one(words: Wording) -> str:
    """Of samples that share nothing: the one that has fewest."""
    pair = min(words.verdict.claims, key=lambda pair: pair.n)
    of_a, of_b = pair.sizes or (pair.n, pair.n)
    fewest = words.names[pair.a if of_a <= of_b else pair.b]
    least = f"and at least {words.verdict.rules.first_look} of each variant are needed"
    return f"{count(pair.n, words.paired_on)} of {fewest} with a score so far, {least}"


def _plan_not_over(words: Wording) -> str:
    done = (
        f"{words.verdict.rounds_complete:,} of {words.verdict.rounds_planned:,} planned "
        f"{words.paired_on}s are complete"
    )
    if not words.sequential:
        return f"{done}, and this comparison looks once, at the end"
    if "failure gate not passed" in words.verdict.reasons:
        return f"{done}, looked at after every one; {_gate_not_settled(words)}"
    so_far = f"{done}, looked at after every one, without a verdict so far"
    if words.verdict.decisive is None or words.verdict.decisive.interval is None:
        return so_far
    return f"{so_far} ({words.better} averages better than {words.worse} by {words.lead})"


def _identical(words: Wording) -> str:
    size = words.with_unit(f"{abs(words.pair.difference or 0.0):.4g}")
    if words.unpaired:
        return (
            f"all scores of {words.better} are alike, and so are all of {words.worse} (a "
            f"difference of {size}{words.on_metric} over {words.rounds}), so chance cannot be "
            "judged"
        )
    return (
        f"{words.better} and {words.worse} differ by the same amount ({size}){words.on_metric} in "
        f"each of {words.rounds}, identical so far, so chance cannot be judged"
    )


def _too_few_discordant(words: Wording) -> str:
    return (
        f"{words.better} and {words.worse} came out differently in only "
        f"{count(words.pair.discordant or 0, 'pair')} over {words.rounds}, and at least "
        f"{discordant_needed(words.pair.level)} are needed"
    )


def _too_wide(words: Wording) -> str:
    half = f"{words.interval.half_width:.{decimals_for(words.interval)}f}"
    return (
        f"the difference between {words.better} and {words.worse}{words.on_metric} is known only "
        f"to within {words.with_unit(half)} either way over {words.rounds}, and the margin is "
        f"{words.verdict.rules.delta:g}"
    )


def _fails_more(words: Wording) -> str:
    """That the better one fails more often, or did: chance alone may have made a few of it."""
    seen = words.verdict.decisive.failures.interval if words.verdict.decisive else None
    if seen is not None and seen.low > 0.0:
        allowed = f"at most {words.failure_margin} more is allowed"
        return f"it fails more often ({words.failures}; {allowed})"
    return (
        f"it failed more often, by chance or not ({words.failures}{words.failure_bound}): that it "
        f"fails at most {words.failure_margin} more often is not shown"
    )


def _gate_not_settled(words: Wording) -> str:
    return (
        f"{_scores_better(words)}, but it is not settled that it fails at most "
        f"{words.failure_margin} more often ({words.failures}{words.failure_bound})"
    )


def _scores_better(words: Wording) -> str:
    return (
        f"{words.better} scores better than {words.worse}{words.on_metric} by {words.lead} over "
        f"{words.rounds}"
    )
