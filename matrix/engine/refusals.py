"""Why a call gets no attempt: a word that its session acts on, and words for people."""

from __future__ import annotations

from matrix.admission.gate import Refusal
from matrix.engine.books import session_envelope
from matrix.engine.messages import Refuse
from matrix.model.money import NanoUSD, show_usd

CAP_REACHED = "cap"
OVERRUN = "overrun: an attempt cost more than the most it should"
DRAINING = "interrupted"


def why_refused(
    refusal: Refusal, *, closed: bool, session_cap: NanoUSD | None
) -> tuple[Refuse, str]:
    """What a refusal of the gate means for its session, and why.

    ``closed`` says that an overrun has closed the ledger.
    """
    match refusal.envelope:
        case None:
            return "cap", OVERRUN if closed else CAP_REACHED
        case envelope if envelope == session_envelope(refusal.request.key.session_id):
            return "session-cap", f"its own cap of {show_usd(session_cap or 0)}"
        case envelope:
            return "cap", f"cap of {envelope}"
