"""The chain: in which order agents run, whether one runs, and where a failure began."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Protocol

from matrix.kinds.criteria.settings import Condition


class Reads(Protocol):
    """What an agent depends on."""

    @property
    def reads(self) -> Sequence[str]: ...

    @property
    def when(self) -> Condition | None: ...


def before(agent: Reads) -> list[str]:
    """The agents that one depends on: those it reads, and the one it waits for."""
    return list(dict.fromkeys([*agent.reads, *([agent.when.agent] if agent.when else [])]))


def in_order(agents: Mapping[str, Reads]) -> list[str]:
    """Names so that each comes after those it depends on; else as they are written.

    Raises:
        CycleError: Some depend on each other.
    """
    sorter = TopologicalSorter({name: before(agent) for name, agent in agents.items()})
    sorter.prepare()
    place, order = {name: at for at, name in enumerate(agents)}, []
    while sorter.is_active():
        ready = sorted(sorter.get_ready(), key=lambda name: place.get(name, len(place)))
        order += ready
        sorter.done(*ready)
    return order


def circle(agents: Mapping[str, Reads]) -> list[str]:
    """Agents that depend on each other, from one back to itself; empty if none do."""
    try:
        in_order(agents)
    except CycleError as error:
        return [str(name) for name in error.args[1]][::-1]
    return []


def needed(
    agents: Mapping[str, Reads], requested: Iterable[str], given: Iterable[str] = ()
) -> set[str]:
    """All that has to run for the wanted ones: they, and what they depend on and is not given."""
    known, found, todo = set(given), set(), list(requested)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += [one for one in before(agents[name]) if one not in known]
    return found


_MARKS = re.compile(r"[*_`#>]+")


def says(output: str, words: str) -> bool:
    """Whether an output has these words, one after another; marks, case and spaces do not matter.

    >>> says("**Overall risk:**  High", "overall risk: high"), says("Highly", "high")
    (True, False)
    """
    inner = re.escape(_plain(words))
    return re.search(rf"(?<!\w){inner}(?!\w)", _plain(output)) is not None


def _plain(text: str) -> str:
    return " ".join(_MARKS.sub(" ", text).lower().replace(" :", ":").split())


def began(failed: Iterable[str], agents: Mapping[str, Reads]) -> list[str]:
    """Of agents that failed, those with none before them, however far, that failed too."""
    lost = set(failed)
    return [
        name
        for name in agents
        if name in lost and not (needed(agents, before(agents[name])) & lost)
    ]
