"""A kind in one file that does all that one can: cases, parallel calls, effects, checkpoints."""

from __future__ import annotations

from functools import partial
from typing import Any

import matrix


def customer(asked: matrix.Asked) -> str:
    """Is content sooner where it is calm."""
    content = asked.rng.random() < (0.5 if asked.levels.get("mood") == "calm" else 0.2)
    return "It is solved, thank you." if content else f"It still fails ({asked.rng.random():.4f})."


@matrix.scenario(
    roles={"agent": "sim/gpt-4o-mini", "customer": "sim/gpt-4o-mini", "judge": "sim/gpt-4o-mini"},
    cases=[
        {"name": "wifi", "problem": "No network."},
        {"name": "bill", "problem": "A wrong bill."},
    ],
    simulated={"agent": lambda asked: f"Advice {asked.rng.random():.6f}", "customer": customer},
    lower_is_better=("replies",),
)
async def chat(
    ctx: matrix.ScenarioContext, problem: str, mood: str = "calm", turns: int = 6, each: int = 1
) -> None:
    """A support chat.

    Args:
        problem: What is wrong.
        mood: How the customer is.
        turns: Most replies.
        each: Replies between two checkpoints.
    """
    agent: list[Any] = []
    customer: list[Any] = []
    said = problem
    ctx.say("customer", problem)
    seen = await ctx.effect("look", partial(_look, problem), arguments=problem)
    for turn in range(turns):
        agent.append({"role": "user", "content": said})
        reply = await ctx.ask("agent", [*agent])
        agent.append(reply.message)
        customer.append({"role": "user", "content": f"{mood}: {reply.text} {ctx.rng().random()}"})
        answer = await ctx.ask("customer", [*customer])
        customer.append(answer.message)
        said = answer.text
        if "solved" in said:
            break
        if (turn + 1) % each == 0:
            await ctx.checkpoint()
    marks = await ctx.parallel([partial(_mark, number=number) for number in range(3)])
    ctx.score("resolved", "solved" in said)
    ctx.score("replies", turn + 1)
    ctx.score("marks", sum(marks) + seen)


async def _look(problem: str) -> int:
    return len(problem)


async def _mark(ctx: matrix.ScenarioContext, number: int) -> int:
    return len((await ctx.ask("judge", f"Mark {number}.")).text)
