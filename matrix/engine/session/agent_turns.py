"""Asking an agent in the place of a model: where its turn is played, and what is recorded of it.

An agent that is held by the turn is a call like any other, whose answer also says how the turn left
the working folder: money, answer and folder are one journal entry. A metered one is an effect, its
requests the calls. One with tools is a conversation with its model; its tools do the same again
when they are given the same answers, so nothing of them needs a record.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import orjson

from matrix.agents.folder_tools import FolderTools
from matrix.agents.sandbox import PORT
from matrix.agents.turns import WorkingTime, carried, facts_of
from matrix.model.errors import (
    AgentFailed,
    AgentTimedOut,
    CallFailed,
    ProviderError,
    UndeclaredConcurrency,
)
from matrix.model.records import JSON, Answer, Call, ChatMessage, Usage
from matrix.model.spec.agents import AgentSpec

if TYPE_CHECKING:
    from matrix.engine.session.scope import Scope
    from matrix.engine.session.workspace import Workspace, Workspaces
    from matrix.gateway.address import GatewayAddress
    from matrix.gateway.desk import Counts


MOST_WRITTEN_AT_ONCE = 4096
"""Tokens of one answer of the built-in agent, whose files are written in its answers."""


class Agents(NamedTuple):
    """The agents of a run, and what their turns need.

    Attributes:
        specs: Name -> agent.
        asks: Name -> models that stand behind it.
        project: The project's folder.
        variables: Where the variables of ``pass_env`` are found.
        places: Where they work.
    """

    specs: Mapping[str, AgentSpec]
    asks: Mapping[str, tuple[str, ...]]
    project: Path
    variables: Mapping[str, str]
    places: Workspaces


def check_alone(agent: str, workspace: Workspace | None, prefix: str) -> None:
    """See that nobody else works in the folder at the same time.

    Raises:
        UndeclaredConcurrency: The agent was asked inside a parallel block.
    """
    if workspace is not None and prefix:
        raise UndeclaredConcurrency(
            f"agent {agent!r} inside ctx.parallel: it works in the session's folder, and what it "
            "finds there would depend on timing; ask it before or after the block"
        )


async def folder_before(workspace: Workspace | None) -> None:
    """Know what is in the folder, so that what the agent leaves can be told from it."""
    if workspace is not None:
        await workspace.store()


async def folder_after(workspace: Workspace | None, answer: Answer) -> None:
    """See that the folder is as the agent left it, in whichever life of the session that was."""
    if workspace is None or not answer.effect:
        return
    tree = orjson.loads(answer.effect)["tree"]
    if tree != workspace.tree:
        await workspace.restore(tree)


async def turn_with_tools(scope: Scope, agents: Agents, agent: AgentSpec, call: Call) -> Answer:
    """A turn of the built-in agent: its model is asked until it uses no tool any more.

    Args:
        scope: Where its model is asked.
        agents: All agents.
        agent: This one.
        call: What is asked of it.

    Raises:
        CallFailed: Its model failed, or it did not end.
    """
    messages, began = list(call.messages), scope.elapsed_s
    async with agents.places.place(call.key.session_id, apart=call.apart) as place:
        tools = FolderTools(place.path, agent.tools or (), call.key.turn)
        for _ in range(agent.steps):
            answer = await scope.ask(
                call.role,
                messages,
                model=agent.model,
                max_tokens=max(call.params.max_tokens, MOST_WRITTEN_AT_ONCE),
                tools=tools.tools,
                agent=call.model,
                tag=call.tag,
            )
            if not answer.tool_calls:
                return answer._replace(duration_s=scope.elapsed_s - began)
            _check_time(agent, call, scope.elapsed_s - began)
            messages.append(answer.message)
            messages += [
                ChatMessage("tool", tools.use(one), tool_call_id=one.id)
                for one in answer.tool_calls
            ]
    raise CallFailed(
        AgentFailed.__name__,
        f"agent {call.model!r}: had not ended after {agent.steps} requests; allow more `steps`",
        call.role,
    )


def _check_time(agent: AgentSpec, call: Call, worked_s: float) -> None:
    """See that a built-in agent that goes on has time left; what a test says is for each request.

    Raises:
        CallFailed: It has none.
    """
    if agent.timeout_s is not None and worked_s > agent.timeout_s:
        raise CallFailed(
            AgentTimedOut.__name__,
            f"agent {call.model!r}: still worked after {agent.timeout_s:g} s, and was ended",
            call.role,
        )


def _all_lost(counts: Counts) -> tuple[str, str] | None:
    """Class and words of the failure of an agent none of whose requests was answered.

    It has not been tried, whatever it says: for what it asked, which is its own fault, or for
    what its provider did, which is not.
    """
    if not counts.requests or counts.refused + counts.failed < counts.requests:
        return None
    often = "once" if counts.requests == 1 else f"{counts.requests:,} times"
    asked = f"asked {often}, and"
    if counts.failure is not None:
        error_class, message = counts.failure
        return error_class, f"{asked} got no answer: {message}"
    return AgentFailed.__name__, f"{asked} was refused each time: {counts.refusal}"


async def metered_turn(scope: Scope, agents: Agents, agent: AgentSpec, call: Call) -> Answer:
    """A turn of an agent whose own requests are calls of the session.

    Raises:
        CallFailed: The agent failed; recorded, and the same on resume.
        SessionStop: The run is ending.
    """
    from matrix.agents.playing import play
    from matrix.agents.provider import stored, turn_of

    models = agents.asks[call.model]
    port = PORT if agent.enclosed and agent.network == "none" else None

    async def work(address: GatewayAddress, working: WorkingTime) -> JSON:
        async with agents.places.place(call.key.session_id, apart=call.apart) as place:
            before = await place.store()
            turn = turn_of(agent, call, place.path, address.environment)
            try:
                played = await play(
                    agent,
                    turn,
                    place,
                    working,
                    project=agents.project,
                    variables=agents.variables,
                    listen=None if port is None else address.serve,
                )
                if lost := _all_lost(address.desk.counts):
                    await place.restore(before)
                    return {"failure": list(lost)}
                await stored(place, played)
            except ProviderError as error:
                await place.restore(before)  # one that fails leaves the folder as it was
                lost = _all_lost(address.desk.counts)
                return {"failure": list(lost or (type(error).__name__, str(error)))}
        return {
            "text": played.told.text,
            "worked_s": round(played.worked_s, 6),
            "conversation": played.told.conversation,
            "facts": facts_of(played),
        }

    said = await scope.metered_by(call, f"agent {call.model}", models, work, port)
    if "failure" in said:
        error_class, reason = said["failure"]
        raise CallFailed(error_class, f"agent {call.model!r}: {reason}", call.role)
    return Answer(
        said["text"],
        Usage(),
        0,
        said["worked_s"],
        call.model,
        carry=carried(call.model, said["conversation"]),
        effect=orjson.dumps(said["facts"]).decode(),
    )
