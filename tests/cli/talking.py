"""A kind in one file to export runs of: two factors, failures, less is better, odd texts."""

from __future__ import annotations

TALK = '''
import matrix


def customer(asked):
    chance = 0.8 if asked.levels["mood"] == "calm" else 0.4
    return "SOLVED" if asked.rng.random() < chance else "Hm."


ODD = "+1, \\u202ewait.\\x1b[31m" + "x" * 30_000


@matrix.scenario(
    roles={"agent": "sim/gpt-4o-mini", "customer": "sim/gpt-4o-mini"},
    cases=[{"name": "=wifi", "problem": "No network."}, {"name": "bill", "problem": "Too much."}],
    simulated={"agent": ["Restart it.", ODD], "customer": customer},
    scores=["resolved", "replies", "unit"],
    lower_is_better=["replies"],
)
async def talk(ctx, problem: str, mood: str = "calm", most: int = 4):
    """A customer asks until the problem is solved."""
    said, replies = problem, 0
    while "SOLVED" not in said and replies < most:
        replies += 1
        reply = await ctx.ask("agent", said)
        said = (await ctx.ask("customer", reply.text[:100])).text
        await ctx.checkpoint()
    if ctx.rng("broken").random() < 0.1:
        ctx.end("failed", "=cmd|' /C calc'!A0")
    ctx.score("resolved", "SOLVED" in said)
    ctx.score("replies", replies)
    ctx.score("unit", 7)
'''
FACTORS = ("--set", "factors.mood=[calm, angry]", "--set", "factors.most=[2, 4]")
DECLARED = ("--set", "compare.metric=replies", "--set", "compare.margin=0.5")
