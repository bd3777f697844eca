"""A prepared run as text and as data: what it will do, and what that is expected to cost."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from matrix.admission.tariffs import ATTO_PER_NANO
from matrix.engine.prepare.checkup import guessed_agents
from matrix.engine.prepare.estimate import CostInterval
from matrix.engine.prepare.judges import lower_is_better_of
from matrix.engine.prepare.parameters import parameter_named, reasons_unasked
from matrix.engine.prepare.prepared import Prepared
from matrix.kinds.protocol import OwnsTerminal, measure_told
from matrix.model.metrics import lower_is_better
from matrix.model.money import from_usd, show_usd, to_usd
from matrix.model.records import JSON
from matrix.model.spec.agents import AgentSpec
from matrix.model.spec.judges import JUDGES
from matrix.model.spec.params import layers_of
from matrix.model.spec.run_spec import RunSpec
from matrix.report.planning.plan_power import power_as_data, power_facts
from matrix.report.planning.planning import Pilot
from matrix.report.text import WIDTH, about, columns, facts, harmless, models_told, plural, wrapped
from matrix.stats.rounds.rules import MIN_ROUNDS

_UNFORESEEN = "unknown: this kind has no profile, so its first round is played first and says it"


def plan_as_text(
    prepared: Prepared,
    *,
    cells: bool = False,
    width: int = WIDTH,
    pilot: Pilot | None = None,
) -> str:
    """A few lines that say what a run will do and can show; with ``cells``, the whole matrix.

    Args:
        prepared: The run.
        cells: Whether to list every cell.
        width: Columns to wrap to.
        pilot: What an earlier run shows of the spread to be expected.
    """
    head = f"{prepared.spec.name}: {_shape(prepared)}"
    if prepared.simulated:
        told = models_told(prepared.simulated)
        head += f", {told}" if prepared.mixed else f", on {told}"
    parts = [wrapped(head, width=width), facts(_facts(prepared, pilot), width=width)]
    if cells:
        parts += ["", _cells(prepared)]
    return "\n".join(parts)


def branch_in_words(prepared: Prepared) -> str:
    """How large a branch is, and what it may cost, in one sentence without its end."""
    sessions = plural(prepared.plan.sessions, "session")
    cost = f"expected to cost {_money(prepared.estimate)}"
    if prepared.unforeseen:
        cost = "at a cost that nobody knows beforehand"
    return (
        f"{_shape(prepared)} = {sessions}, {cost}, "
        f"under a cap of {show_usd(prepared.spec.limits.cap_nano)}"
    )


def _shape(prepared: Prepared) -> str:
    if (continued := prepared.plan.continued) is not None:
        if prepared.plan.judged_again:
            return f"{plural(len(continued.origins), 'session')}, judged again"
        moments = plural(len(continued.origins), "moment")
        variants = plural(prepared.plan.variants, "variant")
        return f"{moments} x {variants} x {plural(continued.repeats, 'repeat')}"
    scenarios = len({cell.scenario for cell in prepared.plan.cells})
    factors = [plural(len(levels), f"{name}") for name, levels in prepared.factors.items()]
    return " x ".join([plural(scenarios, "scenario"), *factors])


def _facts(prepared: Prepared, pilot: Pilot | None) -> list[tuple[str, str]]:
    spec, plan = prepared.spec, prepared.plan
    turns = min(spec.limits.turns, prepared.last_turn or spec.limits.turns)
    rows = [
        (
            "sessions",
            f"{plan.sessions:,}, judged again"
            if plan.judged_again
            else f"{plan.sessions:,} = {_rounds(prepared)}; at most "
            f"{plural(turns, 'turn')} each, {spec.limits.open_sessions:,} open at once",
        ),
        ("scenarios", ", ".join(dict.fromkeys(cell.scenario for cell in plan.cells))),
    ]
    rows += _origins(prepared)
    for name, levels in prepared.factors.items():
        note = f"   (compared on {_measure(prepared)})" if name == prepared.compare_factor else ""
        rows.append((name, ", ".join(levels) + note))
    rows += [("models", told)] if (told := _models(prepared)) else []
    rows += [(("agents", "")[index > 0], told) for index, told in enumerate(_agents(prepared))]
    if spec.params:
        rows.append(("params", _params(spec)))
    if prepared.unforeseen:
        rows.append(("estimate", _UNFORESEEN))
    elif not isinstance(prepared.kind, OwnsTerminal):  # how much a program will ask nobody knows
        rows.append(("estimate", f"{_money(prepared.estimate)}{_by_role(prepared)}"))
    if guessed := guessed_agents(prepared):
        rows.append(("", guessed))
    if not (prepared.play_money or prepared.unforeseen):
        rows.append(("time", _time(prepared)))
    policy = "whole rounds only" if spec.at_cap == "whole-rounds" else "spent to the end"
    budget = f"; budget {spec.limits.budget}" if spec.limits.budget else ""
    given = ""
    if (at := prepared.cap_given_at) is not None:
        given = f", as given when it was resumed at {at:%Y-%m-%d %H:%M} UTC"
    rows.append(("cap", f"{show_usd(spec.limits.cap_nano)}{given}, {policy}{budget}"))
    if spec.stop == "when-decided":
        rows.append(("stop", _stop(prepared)))
    rows += _above_the_cap(prepared) + _cut_by_own_cap(prepared)
    rows += _ended_by_roles(prepared) + _without_room(prepared)
    rows += _moving_judges(prepared) + _unplanted(prepared)
    rows += [("note", note) for note in prepared.notes]
    return rows if plan.judged_again else rows + power_facts(prepared, pilot)


def _measure(prepared: Prepared) -> str:
    """The compared metric with its direction."""
    metric, kind = prepared.spec.compare.metric, prepared.kind
    less = lower_is_better(metric, lower_is_better_of(prepared.spec, kind))
    return measure_told(kind, metric, lower=less)


def _params(spec: RunSpec) -> str:
    """The parameters of every role that the spec gives any."""
    given = {role: params.given for role, params in spec.params.items() if params.given}
    each = (
        f"{role} {' '.join(f'{name}={_shown(value)}' for name, value in params.items())}"
        for role, params in given.items()
    )
    return harmless("; ".join(each))


def _shown(value: JSON) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _moving_judges(prepared: Prepared) -> list[tuple[str, str]]:
    """That a factor changes the parameters of roles that measure what the others do."""
    judges = [role.name for role in prepared.kind.roles if role.judges]
    tested = next((role.name for role in prepared.kind.roles if not role.judges), "ROLE")
    rows = []
    for factor in prepared.factors:
        moved = [role for role in judges if _levels_reach(prepared, factor, role)]
        if moved:
            told = f"{factor} also changes {' and '.join(moved)}, by which variants are measured"
            rows.append(("WARNING", f"{told}; vary one role instead, e.g. {tested}.{factor}."))
    return rows


def _levels_reach(prepared: Prepared, factor: str, role: str) -> bool:
    """Whether a parameter that is a factor for every role differs between cells in this one."""
    named = parameter_named(factor, ())
    if named is None:
        return False
    values = (cell.params.get(role, {}).get(named.name) for cell in prepared.plan.cells)
    return len({str(value) for value in values}) > 1


def _above_the_cap(prepared: Prepared) -> list[tuple[str, str]]:
    """That the cap is expected to end the run before its plan."""
    cap, expected = prepared.spec.limits.cap_nano, prepared.estimate.middle
    if expected <= cap:
        return []
    rounds = cap * prepared.plan.rounds // expected
    what = "session" if prepared.plan.judged_again else "round"
    told = (
        f"The plan is expected to cost {show_usd(expected)}, above its cap of "
        f"{show_usd(cap)}: about {plural(rounds, what)} of {prepared.plan.rounds:,} fit."
    )
    if prepared.spec.compare.look_at_cap:
        told += " It is looked at where the cap ends it, once."
    elif prepared.compare_factor is not None and prepared.spec.engine == "fixed":
        told += (
            " It looks once, when all its rounds ran, so that run has no verdict: plan fewer, or "
            "use --stop-early, which may be looked at wherever it ends."
        )
    return [("WARNING", told)]


def _without_room(prepared: Prepared) -> list[tuple[str, str]]:
    """Models that may reason out of the tokens that a kind allows for the text alone."""
    found: dict[str, dict[str, None]] = {}
    for cell in prepared.plan.cells:
        for role, model in cell.roles.items():
            entry = prepared.models.get(model)
            if entry is None or not reasons_unasked(entry):
                continue
            said: set[str] = set()
            for layer in layers_of(cell.params, entry.params, role):
                said |= layer.keys()
            if said.isdisjoint(("effort", "thinking_tokens", "max_tokens")):
                found.setdefault(model, {})[role] = None
    return [
        (
            "WARNING",
            f"{harmless(model)} may reason before it answers, and use up the tokens that are meant "
            f"for its text: give it room with params.{next(iter(roles))}.effort, or max_tokens "
            f"(as {' and '.join(roles)}).",
        )
        for model, roles in found.items()
    ]


def _cut_by_own_cap(prepared: Prepared) -> list[tuple[str, str]]:
    """That sessions are expected to cost more than each of them may."""
    cap = prepared.spec.limits.session_usd
    dearest = max(cost.total.middle for cost in prepared.cell_costs)
    if cap is None or dearest <= from_usd(cap):
        return []
    told = (
        f"A session is expected to cost up to {show_usd(dearest)}, and limits.session_usd ends it "
    )
    return [
        ("WARNING", f"{told}at {show_usd(from_usd(cap))}: as a timeout, mostly without a score.")
    ]


def _ended_by_roles(prepared: Prepared) -> list[tuple[str, str]]:
    """That a role is expected to cost more in the whole run than it may."""
    rows = []
    for role, usd in prepared.spec.limits.role_usd.items():
        cap, rounds = from_usd(usd), prepared.plan.sessions / prepared.plan.round_size
        cost = round(prepared.round_cost_of(role).middle * rounds)
        if cost > cap:
            told = (
                f"Role {role} is expected to cost {show_usd(cost)}, and limits.role_usd.{role} "
                f"ends the run at {show_usd(cap)}, after about {cap / cost:.0%} of its sessions."
            )
            rows.append(("WARNING", told))
    return rows


def _unplanted(prepared: Prepared) -> list[tuple[str, str]]:
    """Effects for simulated models on levels that the plan does not have: they do nothing."""
    effects = prepared.spec.simulation.get("effects", ())
    idle = [
        f"{one['factor']}={one['level']}"
        for one in effects
        if one["level"] not in prepared.factors.get(one["factor"], ())
    ]
    if not idle:
        return []
    told = f"planted on {', '.join(dict.fromkeys(map(harmless, idle)))}, which this plan does not "
    return [("effects", f"{told}have: nothing comes of them")]


def _stop(prepared: Prepared) -> str:
    more = "" if prepared.spec.engine == "planned" else ", and rounds may be added later"
    looks = f"looked at after every round from the {MIN_ROUNDS}th on"
    return f"when decided: {looks}; beaten variants get no more rounds{more}"


def _origins(prepared: Prepared) -> list[tuple[str, str]]:
    """For continuations: where they start."""
    if prepared.plan.continued is None:
        return []
    origins = prepared.plan.continued.origins
    shown = [f"{one.session_id} after turn {one.turn}" for one in origins[:3]]
    more = [f"{len(origins) - 3:,} more"] if len(origins) > 3 else []
    return [("from", f"run {origins[0].run_id}: {', '.join([*shown, *more])}")]


def _rounds(prepared: Prepared) -> str:
    if prepared.plan.continued is not None:
        return _shape(prepared)
    cells = len(prepared.plan.cells)
    whole, rest = divmod(prepared.plan.sessions, cells)
    text = f"{plural(whole, 'round')} x {plural(cells, 'cell')}"
    return f"{text} + {rest} of a last, partial round" if rest else text


def _models(prepared: Prepared) -> str:
    first = prepared.plan.cells[0].roles
    varied = [role for role in first if role in prepared.factors]
    listed = dict.fromkeys(model for judge in prepared.spec.judges for model in judge.model)
    told = {JUDGES: " and ".join(listed)} if JUDGES in first and listed else {}
    fixed = {role: model for role, model in first.items() if role not in varied}
    return ", ".join(f"{role} {told.get(role, model)}" for role, model in fixed.items())


def _agents(prepared: Prepared) -> Iterator[str]:
    """A line for each agent: what it is, and how its money is bounded."""
    for name, agent in prepared.agents.items():
        if agent.asks_models:
            asked = list(prepared.models[name].asks)
            more = f" and {len(asked) - 3} more" if len(asked) > 3 else ""
            how = f"each call held by itself, of {', '.join(asked[:3])}{more}"
        elif agent.free:
            how = "free"
        else:
            how = f"a turn held at {show_usd(agent.most)}, expected {show_usd(agent.expected)}"
        billed = "; billed by subscription, its dollars are equivalents" if agent.subscribed else ""
        yield f"{name} ({_form(agent)}; {how}{billed})"


def _form(agent: AgentSpec) -> str:
    """What an agent is, and what it may do on this machine."""
    if agent.command is None:
        return "service" if agent.form == "http" else agent.form
    if not agent.enclosed:
        return "command without a sandbox"
    return "command in a sandbox" + (", network open" if agent.network == "open" else "")


def _money(amount: CostInterval) -> str:
    return f"{show_usd(amount.middle)}, from {show_usd(amount.low)} to {show_usd(amount.high)}"


def _time(prepared: Prepared) -> str:
    text = f"about {about(prepared.time.middle)}"
    if prepared.unlimited_groups:
        groups = ", ".join(prepared.unlimited_groups)
        text += f", if no rate limit binds; none is known for {groups}"
    return text


def _by_role(prepared: Prepared) -> str:
    shares = [f"{role} {show_usd(i.middle)}" for role, i in prepared.role_costs.items()]
    return f"   ({', '.join(shares)})"


def _cells(prepared: Prepared) -> str:
    whole, rest = divmod(prepared.plan.sessions, len(prepared.plan.cells))
    rows = []
    for index, cell in enumerate(prepared.plan.cells):
        cost = prepared.cell_costs[index].total
        rows.append(
            [
                cell.scenario,
                *(cell.levels.get(name, "") for name in prepared.factors),
                f"{whole + (index < rest):,}",
                *(
                    ("unknown", "")
                    if prepared.unforeseen
                    else (show_usd(cost.middle), f"{show_usd(cost.low)} to {show_usd(cost.high)}")
                ),
            ]
        )
    headers = ["scenario", *prepared.factors, "sessions", "each", "range"]
    return columns(headers, rows, right=(len(headers) - 3, len(headers) - 2))


def plan_as_data(prepared: Prepared, pilot: Pilot | None = None) -> JSON:
    """The same for programs."""
    plan = prepared.plan
    whole, rest = divmod(plan.sessions, len(plan.cells))
    return {
        "name": prepared.spec.name,
        "kind": prepared.kind.name,
        "simulated": bool(prepared.simulated),
        "simulated_roles": list(prepared.stand_ins),
        "spec_hash": prepared.spec_hash,
        "sessions": plan.sessions,
        "rounds": plan.rounds,
        "seed": plan.seed,
        "factors": {name: list(levels) for name, levels in prepared.factors.items()},
        "compare": {"factor": prepared.compare_factor, "metric": prepared.spec.compare.metric},
        "models": {
            name: {
                "target": entry.target,
                "provider": entry.provider,
                "usd_per_mtok": {
                    "input": entry.tariff.rates.input / ATTO_PER_NANO / 1e3,
                    "output": entry.tariff.rates.output / ATTO_PER_NANO / 1e3,
                },
            }
            for name, entry in prepared.models.items()
        },
        "estimate_usd": None if prepared.unforeseen else _interval_usd(prepared.estimate),
        "estimate_by_role_usd": {
            role: _interval_usd(interval)
            for role, interval in prepared.role_costs.items()
            if not prepared.unforeseen
        },
        "estimate_s": None if prepared.play_money else prepared.time._asdict(),
        "unlimited_groups": prepared.unlimited_groups,
        "cap_usd": prepared.spec.limits.cost_usd,
        "at_cap": prepared.spec.at_cap,
        "stop": prepared.spec.stop,
        "engine": prepared.spec.engine,
        "budget": prepared.spec.limits.budget,
        "can_show": power_as_data(prepared, pilot),
        "cells": [
            {
                "scenario": cell.scenario,
                "levels": dict(cell.levels),
                "roles": dict(cell.roles),
                "params": {role: dict(own) for role, own in cell.params.items()},
                "sessions": whole + (index < rest),
                "session_usd": None
                if prepared.unforeseen
                else _interval_usd(prepared.cell_costs[index].total),
            }
            for index, cell in enumerate(plan.cells)
        ],
    }


def _interval_usd(amount: CostInterval) -> dict[str, float]:
    return {"low": to_usd(amount.low), "middle": to_usd(amount.middle), "high": to_usd(amount.high)}
