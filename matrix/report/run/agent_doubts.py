"""Agents of whose cost nothing was heard: a field that is not in their answers, an unused address.

Both leave figures that look like others: a turn counts with the most that it may cost, or with
nothing at all. A mistyped field or variable is the likeliest cause, so each is told by name.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from matrix.model.spec.agents import AgentSpec
from matrix.report.text import plural
from matrix.store.reading.reader import RunTables
from matrix.store.run.run_folder import RunFile

_PLACE = ["session_id", "phase", "turn", "slot"]


class AgentDoubt(NamedTuple):
    """Turns of an agent that say nothing of their cost.

    Attributes:
        agent: Its name.
        field: Where its cost was looked for; empty where it was to use a metered address.
        turns: Turns that it came to the end of.
        silent: Those without a cost, or without any request.
    """

    agent: str
    field: str
    turns: int
    silent: int

    @property
    def told(self) -> str:
        """It, in words."""
        of = f"in {self.silent:,} of {plural(self.turns, 'turn')}"
        if not self.field:
            return (
                f"agent {self.agent}: no request came through its address {of}; what it spent "
                "there, if anything, is not known"
            )
        each = "it counts" if self.silent == 1 else "each counts"
        return f"agent {self.agent} named no `{self.field}` {of}; {each} with its max_usd"


def agent_doubts(tables: RunTables, run: RunFile, calls: Any) -> tuple[AgentDoubt, ...]:
    """What is to be told, agent by agent.

    Args:
        tables: The run's.
        run: The run.
        calls: The rows of :class:`~matrix.report.run.savings.CallSums`.
    """
    if run.imported:
        return ()
    agents = run.run_spec.agents
    found = [_unnamed(name, agent, calls) for name, agent in agents.items()]
    metered = [name for name, agent in agents.items() if agent.meter is not None]
    found += _unasked(tables, metered) if metered else []
    return tuple(one for one in found if one is not None and one.silent)


def _unnamed(name: str, agent: AgentSpec, calls: Any) -> AgentDoubt | None:
    """Turns that were answered, and whose cost was not where it was to be."""
    field = "cost_usd" if agent.python is not None else agent.answer.cost_usd
    if agent.asks_models or agent.free or field is None:
        return None
    mine = calls[(calls["model"] == name) & calls["answered"]]
    mine = mine[mine["error_class"].fillna("") == ""]
    mine = mine[mine["disposition"].isin(["settled", "presumed"])]
    silent = int(mine[mine["disposition"] == "presumed"]["calls"].sum())
    return AgentDoubt(name, field, int(mine["calls"].sum()), silent)


def _unasked(tables: RunTables, names: list[str]) -> list[AgentDoubt | None]:
    """Turns of metered agents that came to an end without one request."""
    done = tables.frame("effects", [*_PLACE, "name", "failure"])
    done = done[done["failure"].fillna("").astype(str) == ""]
    asked = tables.frame("calls", [*_PLACE, "agent"])
    found: list[AgentDoubt | None] = []
    for name in names:
        turns = _places(done[done["name"] == f"agent {name}"])
        own = _places(asked[asked["agent"] == name])
        # a request's slot is its turn's, what it asked, and which of the same it is
        used = {(*turn, slot.rsplit(".", 2)[0]) for *turn, slot in own}
        silent = sum(one not in used for one in turns)
        found.append(AgentDoubt(name, "", len(turns), silent))
    return found


def _places(rows: Any) -> list[tuple[str, ...]]:
    return list(zip(*(rows[column].astype(str) for column in _PLACE), strict=True))
