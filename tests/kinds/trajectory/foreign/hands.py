"""Two hands at a logbook that is nothing like the simulated agent's notebook."""

from matrix.agents import Reply, Turn

BET = """Fishmongers will fill a crossing at five
=========================================

**Mood:** {mood}

### What carries it

1. Ragna of the guild promised it [heard](../raw/1-call.txt)

### What sinks it

{sinks}
"""
SINKS = "1. Three passengers at five, 88 at seven [counted](../raw/2-tally.csv)"
CALL = """The five o'clock boat is off, for three passengers against 88.

| | |
|---|---|
| Decided | midsummer |
| Turns us around | {back} |

See [the bet](../bets/five.md).
"""


async def careful(turn: Turn) -> Reply:
    return keep(turn, sloppy=False)


async def careless(turn: Turn) -> Reply:
    return keep(turn, sloppy=True)


def keep(turn: Turn, *, sloppy: bool) -> Reply:
    raw, bets, calls = (turn.folder / name for name in ("raw", "bets", "calls"))
    raw.mkdir(exist_ok=True)
    names = {1: "1-call.txt", 2: "2-tally.csv", 3: "3-council.txt"}
    (raw / names[turn.turn]).write_text(turn.prompt)
    bet = bets / "five.md"
    if turn.turn == 1:
        bet.write_text(BET.format(mood="afloat", sinks="1. nothing yet"))
    elif turn.turn == 2 and not sloppy:
        bet.write_text(BET.format(mood="afloat", sinks=SINKS))
    elif turn.turn == 3:
        sinks = "1. nothing yet" if sloppy else SINKS
        bet.write_text(BET.format(mood="grounded", sinks=sinks))
        calls.mkdir()
        back = "if things change" if sloppy else "the guild books sixty seats for a fortnight"
        page = CALL.format(back=back)
        if sloppy:
            page = page.replace("../bets", "bets").replace(" against 88", "")
        (calls / "boat.md").write_text(page)
    return Reply(f"Log kept, entry {turn.turn}.", cost_usd=0.01)
