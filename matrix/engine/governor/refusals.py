"""Why a call gets no attempt: a word that its session acts on, and words for people.

What stands before the first colon of a reason is what sessions that it cuts short are counted by.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from matrix.admission.gate import Refusal
from matrix.admission.ledger import Ledger
from matrix.admission.rounds import NoRoom
from matrix.engine.governor.books import session_envelope
from matrix.engine.wire.messages import Acquire, Refuse
from matrix.model.money import NANO_PER_USD, NanoUSD, from_usd, show_usd, show_usd_apart
from matrix.model.spec.budgets import Bound

if TYPE_CHECKING:
    from matrix.model.spec.run_spec import Limits

CAP_REACHED = "cap"
OVERRUN_WORD = "overrun"
"""What sessions are counted by that an overrun has cut short."""

DRAINING = "interrupted"
BEHIND = "it belongs to a turn that is over: its session goes on elsewhere"
PARKED = "its account was refused"

ROLE_CAP = "cap of role "
"""What the word begins with that sessions are counted by whom the cap of a role has cut short."""


def capped_role(word: str) -> str:
    """The role whose cap a session was cut short by, if ``word`` says so; else empty."""
    return word.removeprefix(ROLE_CAP) if word.startswith(ROLE_CAP) else ""


def role_caps_reached(roles: Sequence[str], limits: Limits) -> str:
    """What the end of the money of roles means."""
    caps = [f"{role} ({show_usd(from_usd(limits.role_usd[role]))})" for role in roles]
    return f"used up is the cap of role {', '.join(caps)}, so nothing more was started"


def round_has_no_room(found: NoRoom, bound: Bound | None = None) -> str:
    """Why no further round was begun, with the figures."""
    needs, left = show_usd_apart(found.needs, found.left)
    on = f" on role {found.role}" if found.role else ""
    whose = f"{'its' if on else 'the'} cap of {show_usd(found.cap)}"
    lacking, of_what, amount = found.needs - found.left, "", found.cap
    if bound is not None and not found.role:
        whose = f"the {show_usd(found.cap)} that {_left_by(bound)}"
        of_what, amount = "a budget of ", bound.budget.amount
    enough = show_usd(_whole_cents(amount + lacking))
    return (
        f"another whole round may cost up to {needs}{on}, and {left} is left of {whose}: "
        f"with {of_what}{enough} there would be room for it"
    )


def held_by_budget(bound: Bound) -> str:
    """That a budget had less for a run than its own cap."""
    return f"more than {show_usd(bound.cap)} could not be spent: that is what {_left_by(bound)}"


def _left_by(bound: Bound) -> str:
    own = show_usd(bound.own)
    return f"budget {bound.budget} had left for this run (its own cap is {own})"


def raising(roles: Iterable[str], bound: Bound | None) -> str:
    """Options of `matrix resume` that raise what ended a run: caps of roles, a budget, its own."""
    if more := "".join(f" --set limits.role_usd.{role}=USD" for role in roles):
        return more
    if bound is None:
        return " --max-cost USD"
    return f" --budget {bound.budget.name}=USD/{bound.budget.window}"


def _whole_cents(amount: NanoUSD) -> NanoUSD:
    """At least as much, in a number that can be typed."""
    cent = NANO_PER_USD // 100 if amount >= NANO_PER_USD // 10 else NANO_PER_USD // 1_000_000
    return -(-amount // cent) * cent


class Overrun(NamedTuple):
    """The attempt that cost more than was set aside for it: whose it was, and how much."""

    session_id: str
    who: str
    cost: NanoUSD
    held: NanoUSD


def who_asked(role: str, model: str, agent: str) -> str:
    """Who sent an attempt: an agent under test by its name, a model by its role."""
    if agent == model:
        return f"{role} {model}"
    return f"{role} on {model}" + (f" (for {agent})" if agent and agent != role else "")


def overrun_told(found: Overrun, session_id: str) -> str:
    """Why a session gets nothing more: whose attempt it was, where it was not its own."""
    cost, held = show_usd_apart(found.cost, found.held)
    told = f"{OVERRUN_WORD}: an attempt of {found.who} cost {cost} on a hold of {held}"
    if found.session_id == session_id:
        return f"{told}, so nothing more is sent in this run"
    return f"{told} in another session, and this one was stopped for that"


def why_refused(
    refusal: Refusal,
    asked: Acquire | None,
    ledger: Ledger,
    overrun: Overrun | None,
    session_cap: NanoUSD | None,
    left: NanoUSD = 0,
) -> tuple[Refuse, str]:
    """What a refusal of the gate means for its session, and why.

    Args:
        refusal: The gate's.
        asked: The question that it refuses, if that is still known.
        ledger: The run's money.
        overrun: What closed it, if an attempt cost more than it should.
        session_cap: The cap of each session, if there is one.
        left: What may still be spent of the part's cap that refuses it, if one does.
    """
    match refusal.envelope:
        case None if overrun is not None:
            return "cap", overrun_told(overrun, refusal.request.key.session_id)
        case None:
            return "cap", f"{CAP_REACHED}: {_held_at(refusal, asked, ledger.balance.free)}"
        case envelope if envelope == session_envelope(refusal.request.key.session_id):
            held = _held_at(refusal, asked, left)
            return "session-cap", f"its own cap of {show_usd(session_cap or 0)}: {held}"
        case envelope:
            return "cap", f"cap of {envelope}: {_held_at(refusal, asked, left)}"


def _held_at(refusal: Refusal, asked: Acquire | None, left: NanoUSD) -> str:
    """What one call would be held at, whether that is more than it should cost, what is left."""
    amount = refusal.request.bound
    shown, rest = show_usd_apart(amount, left)
    whose = "a call" if asked is None else f"one call of {asked.model}"
    told = f"{whose} is held at {shown}"
    if asked is not None and amount > asked.bound:
        times = f"{amount / asked.bound:.3g} times"
        told += f" ({times} the most that it should cost, as overruns have shown)"
    return f"{told}, and {rest} is left"
