"""Why a call gets no attempt: a word that its session acts on, and words for people.

What stands before the first colon of a reason is what sessions that it cuts short are counted by.
"""

from __future__ import annotations

from pathlib import Path

from matrix.admission.gate import Refusal
from matrix.admission.ledger import Ledger
from matrix.engine.books import session_envelope
from matrix.engine.launcher import NoRoom
from matrix.engine.messages import Acquire, Refuse
from matrix.model.money import NanoUSD, from_usd, show_usd
from matrix.model.spec import Limits
from matrix.store.run_folder import resume_command

CAP_REACHED = "cap"
OVERRUN = "overrun: an attempt cost more than the most it should"
OVERRUN_WORD = OVERRUN.partition(":")[0]
"""What sessions are counted by that an overrun has cut short."""

DRAINING = "interrupted"
PARKED = "its account was refused"

ROLE_CAP = "cap of role "
"""What the word begins with that sessions are counted by whom the cap of a role has cut short."""


def capped_role(word: str) -> str:
    """The role whose cap a session was cut short by, if ``word`` says so; else empty."""
    return word.removeprefix(ROLE_CAP) if word.startswith(ROLE_CAP) else ""


def role_cap_reached(role: str, limits: Limits, run_dir: Path) -> str:
    """What the end of a role's money means, and the remedy."""
    cap = show_usd(from_usd(limits.role_usd[role]))
    more = f" --set limits.role_usd.{role}=USD"
    return (
        f"the cap of role {role} ({cap}) is used up, so nothing more was started\n"
        f"`{resume_command(run_dir, more)}` raises it and goes on."
    )


def round_has_no_room(found: NoRoom, budget: str = "") -> str:
    """Why no further round was begun, with the figures."""
    needs, left, cap = map(show_usd, found)
    also = f", which budget {budget} bounds as well" if budget else ""
    return (
        f"another whole round may cost up to {needs}, and {left} is left of the cap of {cap}{also}"
    )


def why_refused(
    refusal: Refusal, asked: Acquire | None, ledger: Ledger, session_cap: NanoUSD | None
) -> tuple[Refuse, str]:
    """What a refusal of the gate means for its session, and why.

    Args:
        refusal: The gate's.
        asked: The question that it refuses, if that is still known.
        ledger: The run's money; an overrun may have closed it.
        session_cap: The cap of each session, if there is one.
    """
    match refusal.envelope:
        case None if ledger.closed:
            return "cap", OVERRUN
        case None:
            free = show_usd(ledger.balance.free)
            return "cap", f"{CAP_REACHED}: {_held_at(refusal, asked)}, and {free} is left"
        case envelope if envelope == session_envelope(refusal.request.key.session_id):
            return "session-cap", f"its own cap of {show_usd(session_cap or 0)}"
        case envelope:
            return "cap", f"cap of {envelope}: {_held_at(refusal, asked)}"


def _held_at(refusal: Refusal, asked: Acquire | None) -> str:
    """What one call would be held at, and whether that is more than it should cost."""
    amount = refusal.request.bound
    whose = "a call" if asked is None else f"one call of {asked.model}"
    told = f"{whose} is held at {show_usd(amount)}"
    if asked is None or amount <= asked.bound:
        return told
    times = f"{amount / asked.bound:.3g} times"
    return f"{told} ({times} the most that it should cost, as overruns have shown)"
