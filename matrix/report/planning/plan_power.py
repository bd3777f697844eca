"""What a prepared run can show, before it is played."""

from __future__ import annotations

from math import ceil

from matrix.engine.prepare.prepared import Prepared
from matrix.model.records import JSON
from matrix.report.planning.planning import Pilot, PowerQuestion, Shown, gate_pairs, shown_by
from matrix.report.planning.planning_text import (
    cannot_win,
    differing_counted,
    gate_words,
    no_promise,
)
from matrix.report.text import metric_value, plural
from matrix.stats import PowerGoal
from matrix.stats.rounds.rules import MIN_ROUNDS


def question_of_plan(prepared: Prepared, pilot: Pilot | None = None) -> PowerQuestion | None:
    """What a plan can show, as a question, with effects in standard deviations without a pilot.

    ``None`` if nothing is compared. Of a continuation the unit is the session that is gone on
    from, or the repeat of a single moment.
    """
    factor, plan, spec = prepared.compare_factor, prepared.plan, prepared.spec
    if factor is None or len(prepared.factors[factor]) < 2:
        return None
    variants = len(prepared.factors[factor])
    unit, rounds, pairs = "round", plan.sessions // len(plan.cells), len(plan.cells) // variants
    if (continued := plan.continued) is not None:
        moments = len(continued.origins)
        sessions = len({origin.session_id for origin in continued.origins})
        unit, rounds, pairs = "checkpoint", moments, continued.repeats
        if moments == 1:
            unit, rounds, pairs = "repeat", continued.repeats, 1
        elif 1 < sessions < moments:  # as `pairing_of` has it: a session's moments are averaged
            unit, rounds = "parent session", sessions
            pairs = round(moments * continued.repeats / sessions)
        pairs *= max(1, plan.variants // variants)
    goal = PowerGoal(
        alpha=round(1.0 - spec.compare.confidence, 12), n_variants=variants, engine=spec.engine
    )
    return PowerQuestion(
        goal=goal,
        sd=1.0 if pilot is None else pilot.sd,
        rounds=rounds,
        pairs=pairs,
        failure_margin=spec.compare.failure_margin / 100.0,
        failure_icc=spec.compare.failure_icc,
        round_nano=None if prepared.unforeseen else prepared.round_cost.middle,
        metric=spec.compare.metric,
        unit=unit,
        pilot=pilot,
        yes_no=None if pilot is None else pilot.yes_no,
    )


def power_facts(prepared: Prepared, pilot: Pilot | None = None) -> list[tuple[str, str]]:
    """Lines of the plan: what it can show, what a winner takes, a warning if that is more."""
    question = question_of_plan(prepared, pilot)
    if question is None or question.rounds is None:
        return []
    shown, pairs = shown_by(question, question.rounds), gate_pairs(question)
    words = gate_words(question, pairs, ceil(pairs / question.pairs))
    least = f"{MIN_ROUNDS} {question.unit}s{' with scores of both' if question.missing else ''}"
    rows = [
        ("can show", _can_show(shown, question)),
        ("a winner", f"takes {least}, and {words}"),
    ]
    if not shown.can_win:
        rows.append(("WARNING", cannot_win(question, shown.rounds, pairs)))
    return rows


def _can_show(shown: Shown, question: PowerQuestion) -> str:
    if shown.effect is None and shown.rounds >= MIN_ROUNDS:
        return no_promise(shown, question)
    if shown.effect is None:
        return f"nothing: {plural(shown.rounds, question.unit)}, and any verdict takes {MIN_ROUNDS}"
    chance = f"with a chance of {100 * question.goal.power:.3g} %"
    in_sd = shown.effect / question.sd
    if question.pilot is None:
        words = (
            f"differences from {in_sd:.2g} times their spread from {question.unit} to "
            f"{question.unit} up, {chance}"
        )
        hint = (
            f"; `matrix plan --from RUN` says it in units of {question.metric}, and what yes/no "
            "scores take"
        )
        return words + hint if question.unit == "round" else words
    size = metric_value("", shown.effect)
    counted = "" if question.yes_no is None else f"; {differing_counted(question)}"
    return (
        f"differences from {size} up, {chance}; their spread is {metric_value('', question.sd)} "
        f"from {question.unit} to {question.unit} in {question.pilot.run_id}{counted}"
    )


def power_as_data(prepared: Prepared, pilot: Pilot | None = None) -> JSON:
    """The same for programs."""
    question = question_of_plan(prepared, pilot)
    if question is None or question.rounds is None:
        return None
    shown = shown_by(question, question.rounds)
    return {
        "effect": None if pilot is None else shown.effect,
        "from": None if pilot is None else pilot.run_id,
        "effect_in_sd": None if shown.effect is None else shown.effect / question.sd,
        "failure_gate_pairs": gate_pairs(question),
        "fewest_rounds": MIN_ROUNDS,
        "pairs_per_round": question.pairs,
        "power": question.goal.power,
        "can_name_a_winner": shown.can_win,
    }
