"""Answers about plans as text and as data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matrix.model.money import show_usd, to_usd
from matrix.model.records import JSON
from matrix.report.text import (
    WIDTH,
    columns,
    facts,
    metric_value,
    names_listed,
    noted,
    plural,
    wrapped,
)
from matrix.stats import PowerGoal
from matrix.stats.estimates.figures import of_each
from matrix.stats.planning.gate_chance import MOST_ROUNDS
from matrix.stats.rounds.rules import MIN_ROUNDS

if TYPE_CHECKING:
    from matrix.report.planning.planning import Failed, Need, PowerAnswer, PowerQuestion, Shown

_ENGINES = {
    "fixed": "one look, when the plan is over",
    "planned": "a look after every round, none added later; most runs stop well before",
    "open-ended": "a look after every round, more can be added; most runs stop well before",
}


def answer_as_text(answer: PowerAnswer, *, width: int = WIDTH) -> str:
    """The answer in plain sentences, what it rests on, and a small table around it."""
    parts = [wrapped(sentence, width=width) for sentence in _sentences(answer)]
    return "\n".join([*parts, facts(_facts(answer), width=width), "", _table(answer)])


def answer_in_words(answer: PowerAnswer) -> str:
    """The answer alone, in sentences."""
    return " ".join(_sentences(answer))


def _sentences(answer: PowerAnswer) -> list[str]:
    told = []
    if answer.needed is not None:
        told.append(_needed(answer.needed, answer.question))
    if answer.shown is not None:
        told.append(_shown(answer.shown, answer.question))
        if not answer.shown.can_win:
            told.append(cannot_win(answer.question, answer.shown.rounds, answer.gate_pairs))
    return told


def _needed(need: Need, question: PowerQuestion) -> str:
    if need.rounds.at_rate == MOST_ROUNDS:
        return (
            f"A difference of {_value(need.effect)} names no winner with a chance of "
            f"{100 * question.goal.power:.3g} %, however many {question.unit}s: if "
            f"{failing(question)}, the failure gate is not passed."
        )
    rounds = question.counted(need.rounds.total)
    return (
        f"A difference of {_value(need.effect)} "
        f"({need.effect / question.sd:.2g} standard deviations) takes {rounds}: "
        f"{plural(need.sessions, 'session')}{_money(need.cost_nano)}."
    )


def _shown(shown: Shown, question: PowerQuestion) -> str:
    start = f"{question.counted(shown.rounds)} ({plural(shown.sessions, 'session')})"
    cost = _money(shown.cost_nano)
    if question.budget_nano is not None:
        cost = ""
        start = f"{show_usd(question.budget_nano)} pays for {start}, which"
    if shown.rounds < MIN_ROUNDS:
        return f"{start} can show nothing: any verdict takes {MIN_ROUNDS} {question.unit}s."
    if shown.effect is None:
        return f"{start} can promise {no_promise(shown, question)}{cost}."
    chance = f"with a chance of {100 * question.goal.power:.3g} %"
    size = f"{_value(shown.effect)} ({shown.effect / question.sd:.2g} standard deviations)"
    return f"{start} can show a difference of {size} or more, {chance}{cost}."


def no_promise(shown: Shown, question: PowerQuestion) -> str:
    """That no difference is shown with the chance wanted, and why."""
    if question.asked_of_scores(shown.gate_chance) is not None and question.yes_no is None:
        return (
            f"no winner, whatever the scores: {100 * question.missing:.2g} % of sessions have "
            f"none, as in that run, and it takes {MIN_ROUNDS} {question.unit}s with scores of both"
        )
    if question.asked_of_scores(shown.gate_chance) is not None:
        low, high = (_value(end) for end in question.yes_no or (0.0, 1.0))
        return (
            f"no winner: of scores that are {low} or {high}, so few show no difference with a "
            f"chance of {100 * question.goal.power:.3g} %"
        )
    return (
        f"no winner with a chance of {100 * question.goal.power:.3g} %, whatever the scores: if "
        f"{failing(question)}, the failure gate is passed with one of "
        f"{100 * shown.gate_chance:.0f} %"
    )


def cannot_win(question: PowerQuestion, rounds: int, gate_pairs: int) -> str:
    """Why so many rounds cannot name a winner by its scores alone, and what would help."""
    pairs = rounds * question.pairs
    needed = -(-gate_pairs // question.pairs)
    what = plural(gate_pairs, question.gate_unit)
    if needed <= MIN_ROUNDS:
        return f"No winner can be named: a verdict takes {MIN_ROUNDS} {question.unit}s."
    of_import = question.unit in ("unit", "row")  # which has no spec
    more = "or allow more: --failure-margin" if of_import else (
        "or declare a larger compare.failure_margin"
    )  # fmt: skip
    return (
        f"No winner can be named unless the better one also fails less: that it fails at most "
        f"{100 * question.failure_margin:.3g} points more often takes "
        f"{what} without a failure, and {question.counted(rounds)} "
        f"{'has' if rounds == 1 else 'have'} {pairs:,}. Plan {question.counted(needed)}, "
        f"{more}."
    )


def _facts(answer: PowerAnswer) -> list[tuple[str, str]]:
    question = answer.question
    goal, unit = question.goal, question.unit
    rows = []
    if answer.needed is not None and (scores := answer.needed.rounds.scores) is not None:
        chance = f"for a chance of {100 * goal.power:.3g} %"
        rows.append(("scores", f"{question.counted(scores)}, {chance}"))
    if question.missing:
        share = f"{100 * question.missing:.2g} %"
        told = f"{share} of sessions have none, as in that run: counted, as it takes {MIN_ROUNDS} "
        rows.append(("", f"{told}{unit}s with scores of both, by simulation"))
    rows += _of_values(question)
    if question.failure_margin < 1.0:  # else nobody knows them, or any number is allowed
        rows.append(("failures", gate_words(question, answer.gate_pairs, answer.gate_rounds)))
    pilot = question.pilot
    if pilot is not None and question.fails:
        more = answer.gate_rounds_at_rate
        needs = "more than can be counted" if more is None else question.counted(more)
        sure = f"for a chance of {100 * goal.power:.3g} % to pass"
        rows.append(("", f"if {failing(question)}: {needs} {sure}, by simulation"))
    if answer.needed is not None and answer.needed.rounds.at_rate not in (None, MOST_ROUNDS):
        rows.append(("both", question.counted(answer.needed.rounds.total)))
    rows += [("any verdict", question.counted(MIN_ROUNDS)), ("looks", _ENGINES[goal.engine])]
    sure = f"{100 * (1 - goal.alpha):.4g} % confidence"
    rows.append(("plan", f"{goal.n_variants} variants{_per_unit(question)}, {sure}"))
    rows += [("price", question.price)] if question.price else []
    return rows + _from(answer)


def _per_unit(question: PowerQuestion) -> str:
    if question.unit == question.gate_unit:
        return ""
    return f", {plural(question.pairs, question.gate_unit)} per {question.unit}"


def _of_values(question: PowerQuestion) -> list[tuple[str, str]]:
    """What is counted for yes/no scores, or that scores are taken not to be of that kind."""
    if question.yes_no is not None:
        low, high = (_value(end) for end in question.yes_no)
        whose = "" if question.pilot is None else f", as in {question.pilot.run_id}"
        return [("yes/no", f"scores are {low} or {high}{whose}; {differing_counted(question)}")]
    if question.pilot is not None or question.sd > 1.0:
        return []  # scores of 0 and 1 differ by less
    told = f"a winner takes {question.differing_pairs} differing pairs besides"
    return [("values", f"taken to be more than two; of yes/no scores (--yes-no) {told}")]


def differing_counted(question: PowerQuestion) -> str:
    """That the rule on differing pairs is in all rounds and chances."""
    if not question.paired:
        return "chances are those of the verdict's own rule for rates of two samples"
    return f"counts that a yes/no winner takes {question.differing_pairs} differing pairs"


def failing(question: PowerQuestion) -> str:
    """How many sessions are expected to fail, and why."""
    if question.pilot is not None and question.pilot.failed:
        best, *others = question.pilot.failed
        told = names_listed([f"{one.level} in {_share(one)}" for one in others])
        return f"the better one fails as {best.level} did, in {_share(best)}, and {told}"
    return f"{100 * question.failure_rate:.2g} % fail, as in that run"


def _share(one: Failed) -> str:
    return f"{one.failed:,} of {one.sessions:,}"


def gate_words(question: PowerQuestion, pairs: int, rounds: int) -> str:
    """What the failure gate takes, as pairs and as rounds."""
    what = plural(pairs, question.gate_unit)
    return (
        f"{what} without a failure = {question.counted(rounds)}, to show at "
        f"most {100 * question.failure_margin:.3g} points more failures"
    )


def _from(answer: PowerAnswer) -> list[tuple[str, str]]:
    question = answer.question
    if (pilot := question.pilot) is None:
        return [("spread", f"{_value(question.sd)} from {question.unit} to {question.unit}")]
    low, high = (_value(end) for end in pilot.sd_range)
    of = f"from {plural(pilot.rounds, question.unit)} of {pilot.run_id}"
    if not question.paired:  # several spreads made one: there are more rows than it rests on
        of = f"from {pilot.run_id}, as well known as of {plural(pilot.rounds, question.unit)} alike"
    text = f"{_value(pilot.sd)}, between {low} and {high}: {of}"
    if answer.needed_at_worst is not None:
        text += f"; at the upper end it takes {question.counted(answer.needed_at_worst)}"
    text += noted(pilot.simulated)
    return [("spread", text)]


def _table(answer: PowerAnswer) -> str:
    question, priced = answer.question, answer.question.round_nano is not None
    units = f"{question.unit if question.unit in ('unit', 'row') else 'round'}s"
    headers = ["difference", units, "sessions", *(["cost"] if priced else [])]
    headers += [f"with {n:,}" for n in answer.columns]
    rows = [
        [
            _value(need.effect),
            *(
                [f"{need.rounds.total:,}", f"{need.sessions:,}"]
                if need.rounds.at_rate != MOST_ROUNDS
                else ["none", "-"]
            ),
            *([_cost_of(need)] if need.cost_nano is not None else []),
            *(f"{100 * chance:.0f} %" for chance in need.powers),
        ]
        for need in answer.table
    ]
    chance = f"chance to name it with so many {question.unit}s"
    note = f"{units}{of_each(paired=question.paired)} to name a winner; {chance}"
    return f"{columns(headers, rows, right=range(len(headers)))}\n({note})"


def _cost_of(need: Need) -> str:
    return "-" if need.rounds.at_rate == MOST_ROUNDS else show_usd(need.cost_nano or 0)


def _value(value: float) -> str:
    """Three figures: the question may have more of them than a score is shown with."""
    return metric_value("", value)


def _money(nano: int | None) -> str:
    return "" if nano is None else f", about {show_usd(nano)}"


def answer_as_data(answer: PowerAnswer) -> JSON:
    """The same for programs."""
    question, pilot = answer.question, answer.question.pilot
    return {
        "effect": question.effect,
        "sd": question.sd,
        "metric": question.metric,
        **_goal_as_data(question.goal),
        "pairs_per_round": question.pairs,
        "failure_margin": question.failure_margin,
        "yes_no": None
        if question.yes_no is None
        else {"values": list(question.yes_no), "differing_pairs": question.differing_pairs},
        "round_usd": _usd(question.round_nano),
        "budget_usd": _usd(question.budget_nano),
        "from": None
        if pilot is None
        else {
            "run_id": pilot.run_id,
            "rounds": pilot.rounds,
            "sd_low": pilot.sd_range[0],
            "sd_high": pilot.sd_range[1],
            "failure_rate": pilot.failure_rate,
            "failed": [one._asdict() for one in pilot.failed],
            "missing": pilot.missing,
            "simulated": bool(pilot.simulated),
        },
        "needed": None if answer.needed is None else _need_as_data(answer.needed),
        "needed_at_worst": answer.needed_at_worst,
        "shown": None if answer.shown is None else _shown_as_data(answer.shown),
        "failure_gate": {
            "pairs": answer.gate_pairs,
            "rounds": answer.gate_rounds,
            "rounds_at_rate": answer.gate_rounds_at_rate,
        },
        "fewest_rounds": MIN_ROUNDS,
        "table": [
            {
                **_need_as_data(need),
                "chances": {
                    str(n): chance for n, chance in zip(answer.columns, need.powers, strict=True)
                },
            }
            for need in answer.table
        ],
        "sentences": list(_sentences(answer)),
    }


def _goal_as_data(goal: PowerGoal) -> dict[str, JSON]:
    return {
        "variants": goal.n_variants,
        "confidence": round(1 - goal.alpha, 12),
        "power": goal.power,
        "engine": goal.engine,
    }


def _need_as_data(need: Need) -> dict[str, JSON]:
    """What an effect takes; ``None`` for what no number of rounds would show."""
    none = need.rounds.at_rate == MOST_ROUNDS
    return {
        "effect": need.effect,
        "rounds": None if none else need.rounds.total,
        "rounds_for_scores": None if need.rounds.scores == MOST_ROUNDS else need.rounds.scores,
        "rounds_for_failures": need.rounds.failures,
        "sessions": None if none else need.sessions,
        "cost_usd": None if none else _usd(need.cost_nano),
    }


def _shown_as_data(shown: Shown) -> JSON:
    return {
        "rounds": shown.rounds,
        "effect": shown.effect,
        "sessions": shown.sessions,
        "cost_usd": _usd(shown.cost_nano),
        "can_name_a_winner": shown.can_win,
    }


def _usd(nano: int | None) -> float | None:
    return None if nano is None else to_usd(nano)
