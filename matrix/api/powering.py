"""How many rounds and how much money a difference takes, and what a plan can show."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matrix.api.opened import RESULTS, Run, open_run
from matrix.api.planning import plan
from matrix.model.documents.mistakes import together
from matrix.model.errors import BadInput, Mistake, RunNotFound, did_you_mean
from matrix.model.money import from_usd, show_usd
from matrix.report.planning.plan_power import question_of_plan
from matrix.report.planning.planning import Pilot, PowerAnswer, PowerQuestion, answer
from matrix.report.text import noted
from matrix.stats import ENGINE_FACTORS, PowerGoal, sd_of_difference

if TYPE_CHECKING:
    from matrix.engine.prepare.prepared import Prepared
    from matrix.report.compare.matchup import Matchup
    from matrix.store.run.run_folder import RunFile


def power(
    spec: str | Path | None = None,
    *,
    effect: float | None = None,
    sd: float | None = None,
    sd_a: float | None = None,
    sd_b: float | None = None,
    correlation: float = 0.0,
    pilot: str | Path | None = None,
    factor: str | None = None,
    metric: str | None = None,
    rounds: int | None = None,
    budget: float | None = None,
    variants: int | None = None,
    pairs: int | None = None,
    chance: float = 0.8,
    confidence: float | None = None,
    engine: str | None = None,
    failure_margin: float | None = None,
    yes_no: bool = False,
    results: str | Path = RESULTS,
) -> PowerAnswer:
    """What a difference takes in rounds, sessions and money, or what so many rounds can show.

    Variants, pairs, confidence, engine, failure margin and the cost of a round are those that are
    given, else those of ``spec``, else those of the pilot.

    Args:
        spec: A run spec to plan with.
        effect: Difference to be shown, in units of the metric.
        sd: Standard deviation of the difference of two variants from round to round.
        sd_a: That of one variant's rounds, where each one's is known instead; with ``sd_b``.
        sd_b: That of the other's.
        correlation: Between the two in a round, -1 to 1; 0 if they share nothing.
        pilot: A run to take the spread, the cost of a round and the failure rate from.
        factor: The factor compared in it; the declared one if left out.
        metric: What is compared in it; the declared one if left out.
        rounds: Rounds to be planned: what can they show?
        budget: Money in US dollars: what can it show?
        variants: Variants compared.
        pairs: Pairs of sessions in a round: scenarios times levels of other factors.
        chance: Wanted chance to show the effect (power).
        confidence: 0.95 for an error rate of 5 %.
        engine: ``fixed``, ``planned`` or ``open-ended``.
        failure_margin: Percentage points by which a winner may fail more often.
        yes_no: Whether scores are 0 or 1, as those of a pilot tell by themselves: a winner then
            takes a number of differing pairs, too.
        results: Folder of runs, for the pilot.

    Raises:
        BadInput: Every mistake.
    """
    given: dict[str, Any] = {
        "effect": effect, "sd": sd, "sd_a": sd_a, "sd_b": sd_b, "correlation": correlation,
        "rounds": rounds, "budget": budget, "variants": variants, "pairs": pairs,
        "chance": chance, "confidence": confidence, "engine": engine,
        "failure_margin": failure_margin, "pilot": pilot, "spec": spec, "yes_no": yes_no,
    }  # fmt: skip
    _, (base, seen) = together(
        lambda: _check(given), lambda: _sources(spec, pilot, factor, metric, results)
    )
    question = _overlaid(base, given, seen)
    if question.effect is None and question.rounds is None and question.budget_nano is None:
        raise BadInput([_mistake("--effect", "what is asked? give --effect, --rounds or --budget")])
    if question.budget_nano is not None and not question.round_nano:
        raise BadInput([_mistake("--budget", _unpriced(spec is not None, pilot is not None))])
    return answer(question)


def _unpriced(of_spec: bool, of_run: bool) -> str:
    """Why nobody knows what a round costs, and what would tell."""
    asked = "what does a round cost?"
    if of_spec:
        told = f"{asked} {_LEARNS}"
        return f"{told}, and this one's do not tell" if of_run else told
    told = f"{asked} give a spec or --from RUN; rounds of a spec have a price"
    if of_run:
        told += ", which those of this run do not tell: it was imported without, or judges again"
    return told


_LEARNS = (
    "the kind of this spec has no profile, so nobody knows before a round was played; "
    "--from RUN takes it from one"
)


def pilot_for(prepared: Prepared, run: str | Path, results: str | Path = RESULTS) -> Pilot:
    """What a run shows of the spread, cost and failures that a prepared one will meet.

    Raises:
        BadInput: No such run, or it did not compare what the prepared run is to compare.
    """
    from matrix.report.planning.piloting import among, pilot_of

    file, matchup = _matchup(_opened(run, results), prepared.compare_factor)
    return pilot_of(among(matchup, _variants(prepared)), prepared.spec.compare.metric, file)


def _variants(prepared: Prepared) -> Collection[str]:
    """Names of what a prepared run compares."""
    factor = prepared.compare_factor
    return () if factor is None else [str(one) for one in prepared.factors[factor]]


def _sources(
    spec: str | Path | None,
    pilot: str | Path | None,
    factor: str | None,
    metric: str | None,
    results: str | Path,
) -> tuple[PowerQuestion | None, Pilot | None]:
    """What the spec and the pilot say.

    Raises:
        BadInput: Every mistake in both.
    """
    from matrix.report.planning.piloting import among, pilot_of

    prepared, run = together(
        lambda: None if spec is None else plan(spec),
        lambda: None if pilot is None else _opened(pilot, results),
    )
    base = None if prepared is None else _of_spec(prepared)
    if run is None:
        return base, None
    file, matchup = _matchup(run, factor)
    if prepared is not None:
        matchup = among(matchup, _variants(prepared))
    chosen = metric or (matchup.metric if base is None else base.metric)
    seen = pilot_of(matchup, chosen, file)
    of_run = _of_run(matchup, chosen, seen)
    if base is None or prepared is None:
        return of_run, seen
    if (
        base.round_nano is None
        and of_run.round_nano
        and (prepared.play_money or not seen.simulated)
    ):
        share = base.sessions_per_round / of_run.sessions_per_round
        each = round(of_run.round_nano * share)
        price = f"{show_usd(each)} a {base.unit}, by what sessions of {file.run_id} cost"
        base = replace(base, round_nano=each, price=price + noted(seen.simulated))
    return replace(base, metric=chosen), seen


def _opened(run: str | Path, results: str | Path) -> Run:
    try:
        return open_run(run, results=results)
    except RunNotFound as error:
        raise BadInput([_mistake("--from", str(error))]) from None


def _matchup(run: Run, factor: str | None) -> tuple[RunFile, Matchup]:
    from matrix.report.compare.matching import factor_matchup
    from matrix.store.reading.reader import RunTables

    file = run.file
    return file, factor_matchup(RunTables(run.path), file, factor)


def _of_spec(prepared: Prepared) -> PowerQuestion:
    question = question_of_plan(prepared)
    if question is None:
        told = "has no factor with two levels or more, so there is nothing to compare"
        raise BadInput([Mistake(prepared.source, None, "", told)])
    return question if question.round_nano is not None else replace(question, price=_LEARNS)


def _of_run(matchup: Matchup, metric: str, seen: Pilot) -> PowerQuestion:
    compare = matchup.spec.compare
    goal = PowerGoal(
        alpha=round(1.0 - compare.confidence, 12),
        n_variants=len(matchup.variants),
        engine=matchup.spec.engine,
    )
    return PowerQuestion(
        goal=goal,
        sd=seen.sd,
        rounds=matchup.n_units,
        pairs=matchup.pairs_per_unit,
        repeats=max(1, round(matchup.sessions_per_unit / matchup.pairs_per_unit)),
        failure_margin=compare.failure_margin / 100.0,
        failure_icc=compare.failure_icc,
        round_nano=seen.round_nano or None,
        metric=metric,
        unit=matchup.unit,
        paired=matchup.paired,
        sessions_each=matchup.round_sessions(),
    )


def _overlaid(
    base: PowerQuestion | None, given: dict[str, Any], seen: Pilot | None
) -> PowerQuestion:
    """The question, with what was given over what a spec or a run says."""
    start = base or PowerQuestion(PowerGoal(), 1.0)
    goal = PowerGoal(
        alpha=start.goal.alpha
        if given["confidence"] is None
        else round(1.0 - given["confidence"], 12),
        power=given["chance"],
        n_variants=given["variants"] or start.goal.n_variants,
        engine=given["engine"] or start.goal.engine,
    )
    spread = _spread(given)
    if spread is None:
        spread = seen.sd if seen is not None else None
    if spread is None:
        told = "how much do differences vary from round to round? give --sd, --sd-a and --sd-b, or"
        raise BadInput([_mistake("--sd", f"{told} --from RUN")])
    asked = given["effect"] is not None or given["budget"] is not None
    planned = None if asked else start.rounds
    margin = given["failure_margin"]
    question = PowerQuestion(
        goal=goal,
        sd=spread,
        effect=given["effect"],
        rounds=given["rounds"] or planned,
        budget_nano=None if given["budget"] is None else from_usd(given["budget"]),
        pairs=given["pairs"] or start.pairs,
        repeats=1 if given["pairs"] else start.repeats,
        failure_margin=start.failure_margin if margin is None else margin / 100.0,
        failure_icc=start.failure_icc,
        metric=start.metric,
        unit=start.unit,
        paired=start.paired,
        sessions_each=None if given["pairs"] or given["variants"] else start.sessions_each,
        pilot=seen if _spread(given) is None else None,
        yes_no=(0.0, 1.0) if given["yes_no"] else None,
        price=start.price,
    )
    if seen is not None and seen.yes_no is not None:
        question = replace(question, yes_no=seen.yes_no)
    _check_yes_no(question)
    if start.round_nano is None:
        return question
    share = question.sessions_per_round / start.sessions_per_round
    return replace(question, round_nano=round(start.round_nano * share))


def _check_yes_no(question: PowerQuestion) -> None:
    """Raise for sizes that differences of two values cannot have."""
    if question.apart is None or question.yes_no is None:
        return
    low, high = question.yes_no
    whose, mistakes = f"as scores are {low:g} or {high:g}", []
    if question.effect is not None and question.effect >= question.apart:
        told = f"found {question.effect:g}; must be below {question.apart:g}, {whose}"
        mistakes.append(_mistake("--effect", told))
    if question.sd > question.apart and question.pilot is None:
        told = f"found {question.sd:g}; must be at most {question.apart:g}, {whose}"
        mistakes.append(_mistake("--sd", told))
    if mistakes:
        raise BadInput(mistakes)


def _spread(given: dict[str, Any]) -> float | None:
    if given["sd"] is not None:
        return float(given["sd"])
    if given["sd_a"] is None:
        return None
    return sd_of_difference(given["sd_a"], given["sd_b"], given["correlation"])


def _check(given: dict[str, Any]) -> None:
    """Raise for everything that is wrong with the numbers by themselves."""
    mistakes = []
    for name, flag in _POSITIVE.items():
        value = given[name]
        if value is not None and not 0 < value < inf:
            mistakes.append(_mistake(flag, f"found {value:g}; must be above 0"))
    for name, flag, low, high in _BETWEEN:
        value = given[name]
        if value is not None and not low < value < high:
            told = f"found {value:g}; must be above {low:g} and below {high:g}"
            mistakes.append(_mistake(flag, told))
    if given["variants"] is not None and given["variants"] < 2:
        mistakes.append(_mistake("--variants", f"found {given['variants']}; must be 2 or more"))
    if not -1 <= given["correlation"] <= 1:
        mistakes.append(
            _mistake("--correlation", f"found {given['correlation']:g}; must be from -1 to 1")
        )
    if given["failure_margin"] is not None and given["failure_margin"] > 100:
        told = f"found {given['failure_margin']:g}; must be at most 100 percentage points"
        mistakes.append(_mistake("--failure-margin", told))
    if given["engine"] not in (None, *ENGINE_FACTORS):
        hint = did_you_mean(given["engine"], list(ENGINE_FACTORS))
        told = f"found {given['engine']!r}; can be {', '.join(ENGINE_FACTORS)}{hint}"
        mistakes.append(_mistake("--engine", told))
    mistakes += _check_spread(given)
    if mistakes:
        raise BadInput(mistakes)


_POSITIVE = {
    "effect": "--effect", "sd": "--sd", "sd_a": "--sd-a", "sd_b": "--sd-b",
    "rounds": "--rounds", "budget": "--budget", "pairs": "--pairs",
    "failure_margin": "--failure-margin",
}  # fmt: skip
_BETWEEN = (("chance", "--power", 0.5, 1.0), ("confidence", "--confidence", 0.5, 1.0))


def _check_spread(given: dict[str, Any]) -> list[Mistake]:
    mistakes = []
    both = (given["sd_a"], given["sd_b"])
    if given["sd"] is not None and any(one is not None for one in both):
        mistakes.append(_mistake("--sd", "is that of the difference; give it or --sd-a and --sd-b"))
    elif (both[0] is None) != (both[1] is None):
        mistakes.append(_mistake("--sd-a", "and --sd-b belong together; give both"))
    elif None not in both and given["correlation"] == 1 and both[0] == both[1]:
        told = "at 1 and with equal spreads nothing varies, so there is nothing to plan with"
        mistakes.append(_mistake("--correlation", told))
    nothing = given["sd"] is None and both == (None, None) and given["pilot"] is None
    if nothing:
        told = "how much do differences vary from round to round? give it, --sd-a and --sd-b, or "
        mistakes.append(_mistake("--sd", f"{told}--from RUN"))
    return mistakes


def _mistake(flag: str, told: str) -> Mistake:
    return Mistake(flag, None, "", told)
