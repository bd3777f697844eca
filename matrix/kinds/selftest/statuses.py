"""Whether a status that a case expects is one that the system under test can have at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from matrix.kinds.selftest.settings import Case
from matrix.model.documents.yaml_documents import PathKey
from matrix.model.errors import did_you_mean
from matrix.model.records import JSON
from matrix.model.spec.agents import AgentSpec


def states_of(agent: JSON) -> list[str]:
    """Statuses of a service's answers: its jobs' states; empty where any word may come.

    Args:
        agent: The entry of an agent, as the file has it.
    """
    try:
        spec = AgentSpec.model_validate(agent)
    except ValidationError:  # told where agents are read
        return []
    form = spec.http
    if form is None or form.poll is None or spec.answer.status not in (None, form.status):
        return []
    return [state.strip().upper() for state in form.done]


def never_reached(
    cases: Sequence[Case], agents: Mapping[str, JSON], systems: Sequence[str]
) -> Iterator[tuple[PathKey, str]]:
    """Statuses that no tested system can have, with what there is; nothing if any is not known.

    Args:
        cases: The cases.
        agents: The agents in the file.
        systems: Names of all that are tested.
    """
    known = {name: states_of(agents.get(name)) for name in systems}
    if not known or not all(known.values()):
        return
    states = list(dict.fromkeys(state for one in known.values() for state in one))
    for number, case in enumerate(cases):
        place: tuple[Any, ...] = ("scenarios", number)
        asked = [(place, case.expected_status)]
        if case.requires_reply:
            asked += [
                ((*place, "reply_flow", at), one.expected_status)
                for at, one in enumerate(case.reply_flow)
            ]
        for path, status in asked:
            if status not in states:
                told = f"found {status}, which no state of {', '.join(known)} is; there are: "
                told += f"{', '.join(states)}{did_you_mean(status, states)}"
                yield (*path, "expected_status"), told
