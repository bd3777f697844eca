"""The plan: ids and seeds that depend on what they name and on nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matrix.model.plan import Cell, Plan, RoundPlan, combinations
from matrix.model.records import SessionPlan
from tests.sampling import examples
from tests.waiting import LONGEST_WAIT_S

ROOT = Path(__file__).parents[2]


def cell_of(scenario: str, prelude: Any = None, **levels: str) -> Cell:
    return Cell(
        scenario=scenario,
        kind="playtest",
        levels=levels,
        options={"group_size": 4, **levels},
        roles={"narrator": "sim/opus", "players": "sim/haiku"},
        resources={"guide": f"hash-of-{scenario}"},
        prelude=prelude,
    )


def grid(scenarios: Iterable[str], levels: int, prelude: Any = None) -> tuple[Cell, ...]:
    return tuple(
        cell_of(scenario, prelude, prompt=f"prompt-{level}")
        for scenario in scenarios
        for level in range(levels)
    )


def plan_of(cells: tuple[Cell, ...], sessions: int = 12, seed: int = 1) -> Plan:
    return Plan(cells, sessions, seed, max_turns=20, max_session_s=600.0)


def sessions_of(plan: Plan) -> list[SessionPlan]:
    return [session for planned in plan.all_rounds() for session in planned.sessions]


PLANS = st.builds(
    lambda scenarios, levels, sessions, seed, prelude: plan_of(
        grid([f"scenario-{n}" for n in range(scenarios)], levels, prelude), sessions, seed
    ),
    st.integers(1, 3),
    st.integers(1, 4),
    st.integers(1, 60),
    st.integers(0, 2**63 - 1),
    st.sampled_from([None, {"group_size": 4}, "anything"]),
)


# --- how many, and in which order ----------------------------------------------------------------


@given(PLANS)
def test_the_sessions_of_all_rounds_are_the_sessions_planned(plan: Plan) -> None:
    sizes = [len(planned.sessions) for planned in plan.all_rounds()]
    assert sum(sizes) == plan.sessions
    assert len(sizes) == plan.rounds
    assert all(size == len(plan.cells) for size in sizes[:-1])
    assert 1 <= sizes[-1] <= len(plan.cells)


@given(PLANS)
def test_the_launch_order_counts_all_sessions_without_a_gap(plan: Plan) -> None:
    sessions = sessions_of(plan)
    assert [session.order for session in sessions] == list(range(plan.sessions))
    assert [session.round for session in sessions] == sorted(s.round for s in sessions)


@given(PLANS)
def test_the_order_of_a_session_tells_its_cell(plan: Plan) -> None:
    for session in sessions_of(plan):
        cell = plan.cells[session.order % len(plan.cells)]
        assert (session.scenario, session.levels) == (cell.scenario, cell.levels)


def test_a_last_partial_round_holds_whole_scenarios_first() -> None:
    plan = plan_of(grid(["a", "b", "c"], 2), sessions=10)
    last = plan.round(1)
    assert [(s.scenario, s.levels["prompt"]) for s in last.sessions] == [
        ("a", "prompt-0"), ("a", "prompt-1"), ("b", "prompt-0"), ("b", "prompt-1"),
    ]  # fmt: skip


@pytest.mark.parametrize("number", [-1, 2, 10**9])
def test_there_is_no_round_beyond_the_plan(number: int) -> None:
    with pytest.raises(IndexError, match="the plan has 2"):
        plan_of(grid("ab", 3), sessions=7).round(number)


def test_the_first_factor_varies_slowest() -> None:
    assert [tuple(c.values()) for c in combinations({"a": ("1", "2"), "b": ("x", "y", "z")})] == [
        ("1", "x"), ("1", "y"), ("1", "z"), ("2", "x"), ("2", "y"), ("2", "z"),
    ]  # fmt: skip
    assert combinations({}) == [{}]


# --- identities ----------------------------------------------------------------------------------


@given(PLANS)
def test_no_two_sessions_or_preludes_share_an_id(plan: Plan) -> None:
    ids = [s.session_id for s in sessions_of(plan)]
    ids += [p.session_id for planned in plan.all_rounds() for p in planned.preludes]
    assert len(set(ids)) == len(ids)


@given(PLANS, st.integers(1, 60))
def test_planning_more_sessions_keeps_the_ids_of_those_there_were(plan: Plan, more: int) -> None:
    longer = replace(plan, sessions=plan.sessions + more)
    before = [s.session_id for s in sessions_of(plan)]
    assert [s.session_id for s in sessions_of(longer)][: plan.sessions] == before


def test_an_id_depends_on_what_the_session_is_and_on_nothing_else() -> None:
    cell = cell_of("shadow-bay", prompt="pulse-aware")
    plan = plan_of((cell,))

    def first(of: Plan) -> str:
        return of.round(0).sessions[0].session_id

    unrelated = [
        replace(plan, sessions=500),
        replace(plan, max_session_s=1.0),
        replace(plan, cells=(cell, cell_of("tower"))),
        replace(plan, cells=(replace(cell, prelude={"group_size": 4}),)),
        replace(plan, cells=(replace(cell, options=dict(reversed(cell.options.items()))),)),
        replace(plan, cells=(replace(cell, roles=dict(reversed(list(cell.roles.items())))),)),
    ]
    assert {first(other) for other in unrelated} == {first(plan)}
    related = [
        replace(plan, seed=2),
        replace(plan, max_turns=21),
        *(
            replace(plan, cells=(replace(cell, **change),))
            for change in (
                {"scenario": "tower"},
                {"kind": "criteria"},
                {"levels": {"prompt": "plain"}},
                {"options": {"group_size": 5}},
                {"roles": {"narrator": "sim/qwen"}},
                {"resources": {"guide": "edited"}},
            )
        ),
    ]
    ids = {first(other) for other in related} | {plan.round(1).sessions[0].session_id}
    assert len(ids) == len(related) + 1
    assert first(plan) not in ids


SHOW_IDS = """
import json
from tests.model.test_plan import grid, plan_of, shown
print(json.dumps(shown(plan_of(grid(["shadow-bay", "tower"], 3, {"n": 1}), sessions=20, seed=9))))
"""


def shown(plan: Plan) -> list[list[Any]]:
    return [
        [s.session_id, s.seed, s.prelude_id]
        for planned in plan.all_rounds()
        for s in (*planned.preludes, *planned.sessions)
    ]


def test_ids_and_seeds_are_the_same_in_every_process() -> None:
    here = shown(plan_of(grid(["shadow-bay", "tower"], 3, {"n": 1}), sessions=20, seed=9))
    salt = "1" if os.environ.get("PYTHONHASHSEED") == "0" else "0"
    output = subprocess.run(
        [sys.executable, "-c", SHOW_IDS],
        env={**os.environ, "PYTHONHASHSEED": salt, "PYTHONPATH": str(ROOT)},
        cwd=ROOT, capture_output=True, check=True, timeout=LONGEST_WAIT_S,
    ).stdout  # fmt: skip
    assert json.loads(output) == here


# --- seeds ---------------------------------------------------------------------------------------


@given(PLANS)
def test_every_variant_of_a_round_and_scenario_meets_the_same_seed(plan: Plan) -> None:
    seeds: dict[tuple[int, str], set[int]] = {}
    for session in sessions_of(plan):
        seeds.setdefault((session.round, session.scenario), set()).add(session.seed)
    assert all(len(found) == 1 for found in seeds.values())
    assert len({min(found) for found in seeds.values()}) == len(seeds)


@given(st.integers(0, 2**62), st.integers(1, 2**62))
def test_another_run_seed_changes_every_seed(seed: int, more: int) -> None:
    cells = grid(["a", "b"], 2)
    one, other = plan_of(cells, seed=seed), plan_of(cells, seed=seed + more)
    assert not {s.seed for s in sessions_of(one)} & {s.seed for s in sessions_of(other)}


# --- preludes ------------------------------------------------------------------------------------


def preludes_by_session(planned: RoundPlan) -> dict[tuple[str, str], str | None]:
    return {(s.scenario, s.levels["prompt"]): s.prelude_id for s in planned.sessions}


@settings(max_examples=examples(50))
@given(PLANS)
def test_each_session_that_needs_a_prelude_names_one_of_its_own_round(plan: Plan) -> None:
    for planned in plan.all_rounds():
        named = {s.prelude_id for s in planned.sessions} - {None}
        assert named == {p.session_id for p in planned.preludes}
        for prelude in planned.preludes:
            (seed,) = {s.seed for s in planned.sessions if s.prelude_id == prelude.session_id}
            assert (prelude.part, prelude.levels, prelude.prelude_id) == ("prelude", {}, None)
            assert (prelude.seed, prelude.round) == (seed, planned.number)
            first = min(s.order for s in planned.sessions if s.prelude_id == prelude.session_id)
            assert prelude.order == first


def test_cells_whose_preludes_have_equal_content_share_one_per_round_and_scenario() -> None:
    cells = (
        cell_of("a", {"size": 4}, prompt="p"),
        cell_of("a", {"size": 4}, prompt="q"),
        cell_of("a", {"size": 5}, prompt="r"),
        cell_of("b", {"size": 4}, prompt="p"),
        cell_of("b", None, prompt="q"),
    )
    plan = plan_of(cells, sessions=10)
    for planned in plan.all_rounds():
        named = preludes_by_session(planned)
        assert named["a", "p"] == named["a", "q"]
        assert named["b", "q"] is None
        assert len({named["a", "p"], named["a", "r"], named["b", "p"]}) == 3
        assert len(planned.preludes) == 3
    first, second = plan.all_rounds()
    assert not {p.session_id for p in first.preludes} & {p.session_id for p in second.preludes}


def test_a_partial_round_prepares_only_for_the_sessions_it_has() -> None:
    plan = plan_of(grid(["a", "b"], 2, prelude={"size": 4}), sessions=5)
    assert [p.scenario for p in plan.round(0).preludes] == ["a", "b"]
    assert [p.scenario for p in plan.round(1).preludes] == ["a"]
