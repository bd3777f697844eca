"""Agents under test: how a turn of each form is played, and what of it is believed.

:class:`Turn` and :class:`Reply` are what an agent written in Python is given, and gives back::

    async def reply(turn: Turn) -> Reply:
        return Reply(text=f"You said: {turn.prompt}", cost_usd=0.002)
"""

from matrix.agents.turns import Reply, Turn

__all__ = ["Reply", "Turn"]
