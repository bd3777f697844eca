"""An assistant without a model: it repeats notes in as many lines as it is asked for, or asks back.

As a command it reads the request from its input; `reply` is the same as a function.
"""

import json
import re
import sys

NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
COST_USD = 0.002


def answer(request: str, said_before: bool = False) -> tuple[str, str]:
    """The words, and the status."""
    length = re.search(r"(\d+|one|two|three|four|five) (?:short )?lines?", request)
    notes = re.findall(r"^[A-Z][^\n]*\.$", request, re.MULTILINE)
    if length is None and not said_before:
        return "What would you like to be different, and who is it for?", "AWAITING_RESPONSE"
    count = int(NUMBERS.get(length[1], 0) or length[1]) if length else 2
    lines = (notes or ["It can be done as you say.", "Nothing else would change."])[:count]
    return "\n".join(lines), "COMPLETE"


async def reply(turn):
    """The same as a function; `turn.messages` is the conversation so far."""
    from matrix.agents import Reply

    before = any(message.role == "assistant" for message in turn.messages)
    text, status = answer(turn.messages[-1].content, before)
    return Reply(text, cost_usd=COST_USD, status=status)


if __name__ == "__main__":
    prompt = sys.stdin.read()
    text, status = answer(prompt, "[assistant]" in prompt)
    print(json.dumps({"text": text, "status": status, "cost_usd": COST_USD}))
