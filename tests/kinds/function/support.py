"""A support chat as one function."""

from __future__ import annotations

from typing import Any

import matrix


@matrix.scenario(roles={"agent": "sim/gpt-4o-mini", "customer": "sim/gpt-4o-mini"})
async def support(
    ctx: matrix.ScenarioContext, problem: str, mood: str = "calm", turns: int = 4
) -> None:
    """A customer asks for help until the problem is solved."""
    agent: list[Any] = [{"role": "system", "content": "You help customers."}]
    customer: list[Any] = [{"role": "system", "content": f"You are a {mood} customer. {problem}"}]
    said, replies = problem, 0
    ctx.say("customer", problem)
    while replies < turns and "solved" not in said:
        replies += 1
        reply = await ctx.ask("agent", [*agent, {"role": "user", "content": said}])
        agent += [{"role": "user", "content": said}, reply.message]
        heard = {"role": "user", "content": reply.text}
        answer = await ctx.ask("customer", [*customer, heard])
        customer += [heard, answer.message]
        said = answer.text
    ctx.score("resolved", "solved" in said)
    ctx.score("replies", replies)
