"""Judges of play-tests whose answers tests know: agents, as run specs name them."""

from __future__ import annotations

import re

from matrix.agents import Turn

PLANTED = "has always stood open"
"""The words by which a transcript of the tests contradicts itself."""


ASSISTANT = "As an AI language model"
"""The words by which its narrator falls out of its role."""


async def right(turn: Turn) -> str:
    """Fails what has the planted words, and quotes them with their number."""
    if "Judge that report alone" in turn.messages[0].content:
        newest = turn.prompt.rpartition("] narrator: ")[2]
        word = "FAIL" if ASSISTANT in newest and "character_break (" in turn.prompt else "PASS"
        return f"VERDICT: {word} - as it says"
    if "## guide\n<<<\n# " not in turn.prompt:
        return "VERDICT: UNCERTAIN - nobody shows the guide"
    found = re.search(rf"^\[(\d+)\] narrator: [^\n]*{PLANTED}", turn.prompt, re.MULTILINE)
    if found is None or "contradict" not in turn.messages[0].content:
        return "VERDICT: PASS - nothing is against anything"
    return f'VERDICT: FAIL - [{found[1]}] says "{PLANTED}"'


async def wrong(turn: Turn) -> str:
    """The contrary of that, and it names the first message of all."""
    passes = "PASS" in await right(turn)
    return f"VERDICT: {'FAIL' if passes else 'PASS'} - as [0] says"


async def nonsense(turn: Turn) -> str:
    """No verdict."""
    return "What a lovely story! I give it both PASS and FAIL."
