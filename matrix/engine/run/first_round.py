"""Whether the kind's code fails in every session, as its first round says: then no other is bought.

Whatever costs money goes on where some sessions err by chance. But where every session of the first
round ended with one and the same defect of the kind's code, and nothing else has come of the run,
every other session would end so as well.
"""

from __future__ import annotations

from matrix.engine.wire.defects import DefectAt
from matrix.model.plan import Plan
from matrix.model.records import SessionPlan


class FirstRound:
    """Told how every session of a run ended, in this life of it or an earlier one.

    Where a round is one session it takes the second round as well: one alone may have erred by
    chance.
    """

    def __init__(self, plan: Plan) -> None:
        first = plan.round(0).sessions
        if len(first) == 1 and plan.rounds > 1:
            first += plan.round(1).sessions
        self._awaited = {one.session_id for one in first}
        self.sessions = len(first)
        self.rounds = len({one.round for one in first})
        self._defects: set[str] = set()
        self._last: DefectAt | None = None
        self._left, self._goes_on = plan.sessions, False

    def ended(self, plan: SessionPlan, defect: DefectAt | None) -> None:
        """A session is over; ``defect`` is what ended it, if it is one of the kind's code."""
        self._awaited.discard(plan.session_id)
        self._left -= 1
        self._goes_on = self._goes_on or defect is None
        if not self._goes_on and defect is not None:
            self._last = defect
            self._defects.add(defect.identity)
            self._goes_on = len(self._defects) > 1

    @property
    def defect(self) -> DefectAt | None:
        """What every session ended with so far, the whole first round among them; not the last."""
        return self._last if self._left and not (self._awaited or self._goes_on) else None

    def told(self, defect: DefectAt, resume: str) -> str:
        """Why no other round is begun, and what somebody has to do about it.

        Args:
            defect: What every session ended with.
            resume: The command that plays them again.
        """
        which = "the first round" if self.rounds == 1 else f"the first {self.rounds} rounds"
        many = f"all {self.sessions} sessions" if self.sessions > 1 else "the only session"
        return (
            f"{many} of {which} ended with the same defect of the kind's code, so no other round "
            f"is begun: {defect.told}\n"
            f"Mend the code; then `{resume}` plays them again with what it is then, and goes on "
            "with the rest."
        )
