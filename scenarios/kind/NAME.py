"""NAME: what one session does. Play it: `matrix run`, or without the spec `matrix run NAME.py`."""

import matrix

AGENT = "You are the help desk of a telephone company. Answer in two sentences."
CUSTOMER = "You are a {mood} customer: {problem} Say SOLVED once you have been helped."


def customer(asked: matrix.Asked) -> str:
    """What the simulated customer says: calm ones are content sooner."""
    content = asked.rng.random() < (0.6 if asked.options["mood"] == "calm" else 0.3)
    return "SOLVED, thank you." if content else "It still does not work."


@matrix.scenario(
    roles={"agent": "sim/gpt-4o-mini", "customer": "sim/gpt-4o-mini"},
    cases="NAME.csv",  # each row is a scenario; its columns are parameters
    simulated={"agent": ["Please restart it.", "Let me look into it."], "customer": customer},
    scores=["resolved", "replies"],
    lower_is_better=["replies"],
)
async def NAME(ctx: matrix.ScenarioContext, problem: str, mood: str = "calm", most: int = 4):
    """A customer asks until the problem is solved.

    Args:
        problem: What is wrong.
        mood: How the customer is.
        most: Most replies of the agent.
    """
    agent = [{"role": "system", "content": AGENT}]
    heard = [{"role": "system", "content": CUSTOMER.format(mood=mood, problem=problem)}]
    said, replies = problem, 0
    ctx.say("customer", problem)
    while replies < most and "SOLVED" not in said:
        replies += 1
        agent.append({"role": "user", "content": said})
        reply = await ctx.ask("agent", agent)
        agent.append(reply.message)
        heard.append({"role": "user", "content": reply.text})
        answer = await ctx.ask("customer", heard)
        heard.append(answer.message)
        said = answer.text
    ctx.score("resolved", "SOLVED" in said)
    ctx.score("replies", replies)
