"""Which recorded output stands for an agent's own: that of the same variant and round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from matrix.kinds.criteria.settings import AGENT, AS_WRITTEN, JUDGE, ChainLink, Given, Task
from matrix.model.documents.mistakes import Mistakes
from matrix.model.errors import BadInput
from matrix.model.plan import Cell, Plan
from matrix.model.records import JSON

VARIANT: Final = "variant"
_OF_THE_JUDGE: Final = frozenset({JUDGE, "judge_instructions", "record", "pinned"})
"""Factors that change what becomes of outputs, and no output."""


class Setting(Protocol):
    """What a session is played with: a cell, or the plan of a session."""

    @property
    def levels(self) -> Mapping[str, str]: ...

    @property
    def options(self) -> JSON: ...

    @property
    def roles(self) -> Mapping[str, str]: ...


def changing(levels: Mapping[str, str], variant: str) -> dict[str, str]:
    """The variant, and the levels of all other factors that change outputs.

    Args:
        levels: Factor -> level.
        variant: The variant where it is no factor.
    """
    own = {
        name: level
        for name, level in levels.items()
        if name not in _OF_THE_JUDGE and not name.startswith(f"{JUDGE}.")
    }
    return {VARIANT: variant, **own}


def stand_in(task: Task, agent: str, setting: Setting, number: int) -> Given | None:
    """What stands for an agent's output in round ``number`` (from 0); ``None`` for nothing.

    Where one output of the agent with this input is all that is recorded, it is that of any round.
    """
    known = task.recorded.get(agent, ())
    fitting = [one for one in known if _fits(one.levels, setting)]
    if len(known) > 1:
        fitting = [one for one in fitting if one.round == number]
    if not fitting:
        return task.given.get(agent)
    return Given(source="recorded", **fitting[0].model_dump(exclude={"levels"}))


def in_words(levels: Mapping[str, str]) -> str:
    """Levels as a mistake has them."""
    return ", ".join(f"{name} {level}" for name, level in levels.items())


class _Lacking(NamedTuple):
    """What of a setting is not recorded; the same of several inputs is told once."""

    agents: tuple[str, ...]
    setting: str
    rounds: tuple[int, ...]
    all_rounds: bool


def check_recorded(
    plan: Plan, tasks: Mapping[str, tuple[Task, Sequence[ChainLink]]], source: str
) -> Iterator[str]:
    """See that all that a plan asks for is recorded; what is to be known of it beside that.

    Args:
        plan: The plan.
        tasks: Input -> the input, and the agents that are to have an output.
        source: What a mistake is told of.

    Raises:
        BadInput: Every output that is asked for and is not there.
    """
    lacking: dict[_Lacking, list[str]] = {}
    whole, rest = divmod(plan.sessions, len(plan.cells))
    for index, cell in enumerate(plan.cells):
        task, links = tasks[cell.scenario]
        asked = whole + (index < rest)
        if task.recorded and (one := _lacking_of(cell, task, links, asked)) is not None:
            lacking.setdefault(one, []).append(task.id)
    if lacking:
        raise _refusal(lacking, tasks, source)
    once = any(len(known) == 1 for task, _ in tasks.values() for known in task.recorded.values())
    if once and plan.rounds > 1:
        yield JUDGED_AGAIN


JUDGED_AGAIN: Final = (
    "one output of each agent and input is recorded, and judged in every round: what rounds "
    "differ in is the judge alone"
)


def _lacking_of(cell: Cell, task: Task, links: Sequence[ChainLink], rounds: int) -> _Lacking | None:
    missing = {one.name: _rounds_lacking(task, one.name, cell, rounds) for one in links}
    found = tuple(sorted(set().union(*missing.values())))
    if not found:
        return None
    agents = tuple(name for name, numbers in missing.items() if numbers)
    setting = in_words(changing(cell.levels, _variant(cell)))
    return _Lacking(agents, setting, found, len(found) == rounds)


def _rounds_lacking(task: Task, agent: str, cell: Cell, rounds: int) -> set[int]:
    known = task.recorded.get(agent, ())
    if agent in task.given or (len(known) == 1 and _fits(known[0].levels, cell)):
        return set()
    return set(range(rounds)) - {one.round for one in known if _fits(one.levels, cell)}


def _refusal(
    lacking: Mapping[_Lacking, Sequence[str]],
    tasks: Mapping[str, tuple[Task, Sequence[ChainLink]]],
    source: str,
) -> BadInput:
    mistakes = Mistakes()
    for one, inputs in lacking.items():
        where = f"{', '.join(inputs)} ({one.setting})"
        if not one.all_rounds:
            many = "s" * (len(one.rounds) > 1)
            where += f" in round{many} {_numbers(one.rounds)}"
        told = f"nothing is recorded of {', '.join(one.agents)} with {where}"
        mistakes.say(source, f"{told}; {_remedy(lacking, tasks)}")
    return BadInput(mistakes.found)


def _remedy(
    lacking: Mapping[_Lacking, Sequence[str]],
    tasks: Mapping[str, tuple[Task, Sequence[ChainLink]]],
) -> str:
    fewest = min(min(one.rounds) for one in lacking)
    if fewest and not any(one.all_rounds for one in lacking):
        return f"--per-cell {fewest} asks for what is there, --record makes a new one"
    outputs = [
        one for task, _ in tasks.values() for known in task.recorded.values() for one in known
    ]
    there = dict.fromkeys(in_words(one.levels) for one in outputs)
    return f"recorded is {'; '.join(there)}; --record makes a new one"


def _numbers(rounds: Sequence[int]) -> str:
    """Rounds as people count them: ``2-20``, or a list."""
    if len(rounds) > 2 and rounds[-1] - rounds[0] == len(rounds) - 1:
        return f"{rounds[0] + 1}-{rounds[-1] + 1}"
    return ", ".join(str(number + 1) for number in rounds)


def _fits(recorded: Mapping[str, str], setting: Setting) -> bool:
    """Whether an output of these levels is one of this setting."""
    there = {VARIANT: AS_WRITTEN, **recorded}
    asked = changing(setting.levels, _variant(setting))
    known = {AGENT: setting.roles[AGENT], **asked}
    return asked.keys() <= there.keys() and all(known.get(n) == level for n, level in there.items())


def _variant(setting: Setting) -> str:
    options: Any = setting.options
    return str(options.get(VARIANT, AS_WRITTEN))
