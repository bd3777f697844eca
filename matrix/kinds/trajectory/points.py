"""Turns and assertions of a scenario: what an agent is asked, and what each assertion is called."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import orjson

from matrix.kinds.trajectory.settings import (
    COMMAND_PROMPT,
    FINAL,
    Content,
    Expected,
    ScenarioTurn,
    Structural,
    TrajectoryOptions,
    TrajectoryScenario,
)
from matrix.kinds.trajectory.state import CONTENT, STRUCTURAL

_DATED: Final = "\n\n(It is {date}.)"
"""What follows a command that has a date, as other inputs are told theirs."""
INBOX: Final = "inbox"
"""Where in the working folder a turn's folder of files is put."""


def prompt_of(turn: ScenarioTurn, number: int, turns: int, options: TrajectoryOptions) -> str:
    """What the agent is asked; the input itself is filled in last, and never looked into."""
    prompts = options.prompts
    text = prompts.command if turn.command else prompts.folder if turn.folder else prompts.artifact
    if turn.command and turn.date and text == COMMAND_PROMPT:
        text += _DATED
    when = turn.date or f"item {number} of {turns}"
    filled = {"name": turn.name, "kind": turn.kind or "note", "turn": str(number)}
    filled |= {"turns": str(turns), "date": turn.date, "when": when}
    before, mark, after = text.partition("{input}")
    for name, value in filled.items():
        before, after = before.replace(f"{{{name}}}", value), after.replace(f"{{{name}}}", value)
    return (
        before + ((f"{INBOX}/{turn.folder}" if turn.folder else turn.text) if mark else "") + after
    )


def ids_of(expected: Expected, turn: int) -> Iterator[tuple[str, Any]]:
    """Every assertion of one point with its id, which no other of the scenario has."""
    where, seen = f"t{turn:02d}" if turn else FINAL, dict[str, int]()
    checks: tuple[Structural | Content, ...] = (*expected.structural, *expected.content)
    for check in checks:
        name = check.judge if isinstance(check, Content) else check.name
        seen[name] = seen.get(name, 0) + 1
        more = f".{seen[name]}" if seen[name] > 1 else ""
        yield f"{where}.{name}{more}", check


def all_ids(scenario: TrajectoryScenario, last: int = 0) -> Iterator[tuple[str, Any]]:
    """Every assertion of a scenario with its id, in order; those up to a turn, if one is given."""
    turns = scenario.turns[: last or None]
    for number, turn in enumerate(turns, 1):
        yield from ids_of(turn.expected, number)
    if len(turns) == len(scenario.turns):
        yield from ids_of(scenario.final, 0)


def layers_of(scenario: TrajectoryScenario, options: TrajectoryOptions) -> dict[str, str]:
    """What a run of a scenario is to show, whether it gets so far or not: id -> layer."""
    return {
        name: CONTENT if isinstance(check, Content) else STRUCTURAL
        for name, check in all_ids(scenario, options.stop_after_turn)
        if not (isinstance(check, Content) and options.skip_content)
    }


def nothing_checked(
    scenario: TrajectoryScenario, options: TrajectoryOptions
) -> tuple[str, str] | None:
    """Why nothing would be looked at in any run of a scenario, and what helps; else ``None``.

    Its agent would be paid all the same, and a run that checks nothing tells nothing.
    """
    cut = 0 < options.stop_after_turn < len(scenario.turns)
    pinned = scenario.pinned is not None and not cut
    if pinned or layers_of(scenario, options):
        return None
    flags = ["--skip-content"] * options.skip_content
    flags += [f"--stop-after-turn {options.stop_after_turn}"] * cut
    if next(all_ids(scenario), None) is None:
        why, helps = "asserts nothing", "write structural: or content: under a turn or final_state"
    else:
        these = "it" if len(flags) == 1 else "them"
        why, helps = f"has no assertion left with {' and '.join(flags)}", f"leave {these} out"
    return why, f"{helps}, or give --keep-workdir to play it for the folders that it leaves"


def words_of(argument: Any) -> str:
    """An assertion's argument, to be read."""
    if argument is True:
        return ""
    return argument if isinstance(argument, str) else orjson.dumps(argument).decode()


def head_of(turn: ScenarioTurn) -> str:
    """What stands over an input in a transcript."""
    return f"{turn.name}, {turn.date}" if turn.date and turn.date not in turn.name else turn.name


def shown_of(turn: ScenarioTurn) -> str:
    """An input as a transcript has it."""
    return turn.text or f"the folder {turn.name}, as {INBOX}/{turn.folder}"
